"""Regions: what threads execute from one suspension point to the next.

README.md says what points and regions are, `runtime/regions.hpp` which threads go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.model import Label
from cudakern.simulator.ptx.operations import Op

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cudakern.simulator.ptx.operations import Count

#: Regions with loops of their own may have so many statements in all: more take compilers long.
MOST_STATEMENTS = 1500


class Region(NamedTuple):
    """What is executed from a point on: statements by their numbers, in the order of the text."""

    point: int  # 0 for the entry's beginning
    start: int  # the statement behind the point
    statements: tuple[int, ...]
    reaches_end: bool  # of the text


def regions_of(
    statements: Sequence[Op | Label | Count], points: Mapping[int, int], most: int
) -> tuple[list[Region], set[int]]:
    """Return the regions with loops of their own, and the statements that the others have.

    Own loops have the shortest regions, of ``most`` statements together. What several points lead
    to is in several regions.
    """
    at = {s.name: i for i, s in enumerate(statements) if isinstance(s, Label)}
    targets = {
        i: [at[name] for name in op.targets if name in at]
        for i, op in enumerate(statements)
        if isinstance(op, Op) and op.targets
    }
    starts = {0: 0} | {points[id(s)]: i + 1 for i, s in enumerate(statements) if id(s) in points}
    regions = [
        _region(point, start, _find_reached(statements, targets, [start]), len(statements))
        for point, start in (starts.items() if most else ())
    ]
    own = []
    for region in sorted(regions, key=lambda region: len(region.statements)):
        most -= len(region.statements)
        if most < 0:
            break
        own.append(region)
        del starts[region.point]
    return own, _find_reached(statements, targets, [*starts.values()])


def _region(point: int, start: int, reached: set[int], end: int) -> Region:
    return Region(point, start, tuple(sorted(reached - {end})), end in reached)


def _find_reached(
    statements: Sequence[Op | Label | Count],
    targets: Mapping[int, Sequence[int]],
    pending: list[int],
) -> set[int]:
    """Return what is executed from some statements on, up to the next points."""
    reached: set[int] = set()
    while pending:
        i = pending.pop()
        while i < len(statements) and i not in reached:
            reached.add(i)
            op = statements[i]
            pending += targets.get(i, ())
            if isinstance(op, Op) and op.guard is None and (op.leaves or op.meets):
                break
            i += 1
        if i == len(statements):
            reached.add(i)
    return reached
