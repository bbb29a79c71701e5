"""Fixtures of the operators' tests."""

from __future__ import annotations

import pytest

from cudakern.operators import base


@pytest.fixture
def launches(monkeypatch):
    """Count the launches of operators."""
    made = []
    run = base.BoundLaunch.__call__
    monkeypatch.setattr(
        base.BoundLaunch, "__call__", lambda self, addresses: made.append(1) or run(self, addresses)
    )
    return made
