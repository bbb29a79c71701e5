"""Fixtures of the operators' tests."""

from __future__ import annotations

import pytest

from cudakern.operators.reduce import function, plan, tuning
from tests.helpers.bound import forget, launched


@pytest.fixture
def launches(monkeypatch):
    """Count the launches of operators."""
    return launched(monkeypatch)


@pytest.fixture
def sharing(monkeypatch):
    """Have blocks of reduce share small results."""
    monkeypatch.setattr(tuning, "MIN_SHARE_BYTES", 2048)
    forget(monkeypatch)


@pytest.fixture
def plans(monkeypatch):
    """List the plans of reduce, of which none are from other tests."""
    launches = []

    def planned(problem):
        launches.append(plan.plan_reduce(problem))
        return launches[-1]

    monkeypatch.setattr(function, "plan_reduce", planned)
    forget(monkeypatch)
    return launches
