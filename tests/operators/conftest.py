"""Fixtures of the operators' tests."""

from __future__ import annotations

import pytest

from cudakern.operators.reduce import function
from tests.helpers.bound import forget, launched


@pytest.fixture
def launches(monkeypatch):
    """Count the launches of operators."""
    return launched(monkeypatch)


@pytest.fixture
def plans(monkeypatch):
    """List the plans of reduce, of which none are from other tests."""
    made, plan = [], function.plan_reduce
    monkeypatch.setattr(
        function, "plan_reduce", lambda problem: made.append(plan(problem)) or made[-1]
    )
    forget(monkeypatch)
    return made
