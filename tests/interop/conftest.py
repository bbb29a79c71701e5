"""What launches were given: the addresses of their arrays. Tests whose library is missing go."""

from __future__ import annotations

import pytest

from cudakern.operators import base
from tests.helpers.libraries import ABSENT

collect_ignore = [f"test_{library}.py" for library in ABSENT]


@pytest.fixture
def addresses(monkeypatch):
    """List the addresses that each launch of an operator was given, inputs first."""
    given = []
    run = base.BoundLaunch.__call__

    def call(self, addresses):
        given.append(tuple(addresses))
        return run(self, addresses)

    monkeypatch.setattr(base.BoundLaunch, "__call__", call)
    return given
