"""What launches were given: the addresses of their arrays. Tests whose library is missing go."""

from __future__ import annotations

import pytest

from tests.helpers.bound import launched
from tests.helpers.libraries import ABSENT

collect_ignore = [f"test_{library}.py" for library in ABSENT]


@pytest.fixture
def addresses(monkeypatch):
    """List the addresses that each launch of an operator was given, inputs first."""
    return launched(monkeypatch)
