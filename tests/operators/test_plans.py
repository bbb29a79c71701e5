"""Which kernel a problem gets: pinned, no engine involved; each operator's room has its tables."""

from __future__ import annotations

import pytest

from cudakern.operators.gather import plan as gather
from cudakern.operators.gather_nd import plan as gather_nd
from cudakern.operators.nonzero import plan as nonzero
from cudakern.operators.one_hot import plan as one_hot
from tests.helpers.rows import each
from tests.operators.gather import test_plan as of_gather
from tests.operators.gather_nd import test_plan as of_gather_nd
from tests.operators.nonzero import test_plan as of_nonzero
from tests.operators.one_hot import test_plan as of_one_hot

#: What plans problems of an operator, what lists all its kernels, and its tables.
ROOMS = {
    "gather": (gather.plan_gather, gather.specialisations, of_gather),
    "gather_nd": (gather_nd.plan_gather_nd, gather_nd.specialisations, of_gather_nd),
    "nonzero_coordinates": (nonzero.plan_nonzero, nonzero.specialisations, of_nonzero),
    "one_hot": (one_hot.plan_one_hot, one_hot.specialisations, of_one_hot),
}
LISTED = {name: {spec.entry: spec for spec in listed()} for name, (_, listed, _) in ROOMS.items()}


@each(
    ("operator", "problem", "kernel"),
    [
        pytest.param(operator, problem, kernel, id=f"{operator}-{name}")
        for operator, (*_, tables) in ROOMS.items()
        for name, problem, kernel in tables.PINNED
    ],
)
def test_kernel_is_pinned(operator, problem, kernel):
    plan, *_ = ROOMS[operator]
    launch = plan(problem)
    assert launch.kernel.entry == f"ck_{operator}_{kernel}"
    assert kernel.startswith(launch.variant)
    assert LISTED[operator][launch.kernel.entry] == launch.kernel
    assert plan(problem) == launch


@each(
    ("operator", "problem", "blocks"),
    [
        pytest.param(operator, problem, blocks, id=f"{operator}-{name}")
        for operator, (*_, tables) in ROOMS.items()
        for name, problem, blocks in getattr(tables, "BLOCKS", [])
    ],
)
def test_blocks_are_pinned(operator, problem, blocks):
    plan, *_ = ROOMS[operator]
    assert plan(problem).grid == (blocks, 1, 1)


@each(
    ("operator", "problem"),
    [(name, p) for name, (*_, tables) in ROOMS.items() for p in getattr(tables, "OF_NOTHING", [])],
)
def test_nothing_is_launched_for_nothing(operator, problem):
    assert ROOMS[operator][0](problem) is None


@each("operator", ROOMS)
def test_kernels_have_names_of_their_own(operator):
    assert len(LISTED[operator]) == len(list(ROOMS[operator][1]()))
    assert all(entry.startswith(f"ck_{operator}_") for entry in LISTED[operator])
