"""Which kernel a problem gets: pinned, no engine involved; each operator's room has its tables."""

from __future__ import annotations

import re

import pytest

from tests.helpers.operator_samples import rooms
from tests.helpers.rows import each

ROOMS = {operator.name: (operator, room) for operator, room in rooms("test_plan")}
LISTED = {
    name: {spec.entry: spec for spec in operator.specialisations()}
    for name, (operator, _) in ROOMS.items()
}


def table(name):
    """Return the rows of this table that operators have, as parameters named after them."""
    return [
        pytest.param(operator, problem, wanted, id=f"{operator}-{title}")
        for operator, (_, room) in ROOMS.items()
        for title, problem, wanted, *_ in getattr(room, name, [])
    ]


@each(("operator", "problem", "kernel"), table("PINNED"))
def test_kernel_is_pinned(operator, problem, kernel):
    _, room = ROOMS[operator]
    launch = room.PLAN(problem)
    prefix, entry = f"ck_{operator}_", launch.parts[0].kernel.entry
    assert entry.startswith(prefix)
    assert getattr(room, "shortened", str)(entry.removeprefix(prefix)) == kernel
    assert kernel.startswith(launch.parts[0].variant)
    for spec in (part.kernel for part in launch.parts):
        if not hasattr(room, "RARE") or not re.search(room.RARE, spec.entry):
            assert LISTED[operator][spec.entry] == spec
    assert room.PLAN(problem) == launch


@each("operator", ROOMS)
def test_every_variant_is_pinned(operator):
    """But the launches that look for indices out of range, which have one plan."""
    variants = {spec.variant for spec in LISTED[operator].values()} - {"check"}
    _, room = ROOMS[operator]
    launches = [room.PLAN(problem) for _, problem, *_ in room.PINNED]
    assert {part.variant for launch in launches for part in launch.parts} == variants


@each(("operator", "problem", "blocks"), table("BLOCKS"))
def test_blocks_are_pinned(operator, problem, blocks):
    assert ROOMS[operator][1].PLAN(problem).grid == (blocks, 1, 1)


@each(
    ("room", "problem"),
    [(room, p) for _, room in ROOMS.values() for p in getattr(room, "OF_NOTHING", [])],
)
def test_nothing_is_launched_for_nothing(room, problem):
    assert room.PLAN(problem) is None


@each("operator", ROOMS)
def test_kernels_have_names_of_their_own(operator):
    assert len(LISTED[operator]) == len(list(ROOMS[operator][0].specialisations()))
    assert all(entry.startswith(f"ck_{operator}_") for entry in LISTED[operator])
