"""The addresses of the arrays of launches; tests whose library is missing are left out."""

from __future__ import annotations

import pytest

from tests.helpers.bound import launched
from tests.helpers.libraries import ABSENT

collect_ignore = [f"test_{library}.py" for library in ABSENT]


@pytest.fixture
def addresses(monkeypatch):
    """Return the list of the addresses that each launch of an operator got, inputs first."""
    return launched(monkeypatch)
