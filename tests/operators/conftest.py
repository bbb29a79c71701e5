"""Fixtures of the operators' tests."""

from __future__ import annotations

import sys

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


@pytest.fixture
def plans(monkeypatch):
    """List the plans of reduce, of which none are from other tests."""
    module, made = sys.modules["cudakern.operators.reduce"], []
    plan = module.plan_reduce
    monkeypatch.setattr(
        module, "plan_reduce", lambda problem: made.append(plan(problem)) or made[-1]
    )
    monkeypatch.setattr(module, "_bound", base.BoundTable())
    return made
