"""Where threads that passed by a barrier meet those that came to it, for checked launches.

A thread that leaves a loop before others, or goes around a condition, may execute what lies behind
a barrier, and end, while others wait at the barrier. That differs from a thread that returns early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.control_flow import control_flow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.simulator.ptx.control_flow import ControlFlow
    from cudakern.simulator.ptx.operations import Body, Op

_MOST_JOINS = 32  # of a function, a bit each


class BarrierJoins(NamedTuple):
    """Bits of joins, by the identities of operations."""

    passed: dict[int, int]  # of the operation that a join begins with
    behind: dict[int, int]  # of each barrier: the last join behind it; 0 for none


def barrier_joins(body: Body) -> BarrierJoins:
    """Return the joins behind the barriers of an entry.

    A join is a block that a thread comes to from the barrier, unless it ends before, and from which
    no way leads back to the barrier. Code branches there: the compiler merges other code before the
    end with what threads do before they return early.
    """
    joins = BarrierJoins({}, {})
    flow = control_flow(body.statements)
    barriers = [(i, op) for i, ops in enumerate(flow.blocks) for op in ops if _meets_block(op)]
    joins.behind.update((id(op), 0) for _, op in barriers)
    if not barriers or not body.function.is_entry:
        return joins
    behind, reached = _behind(flow), _reached(flow)
    joining = ~_straight_ends(flow)
    bits: dict[int, int] = {}  # by the blocks of joins
    for i, barrier in barriers:
        last = _last(behind, behind[i] & joining & ~(1 << i))
        if last is None or reached[last] >> i & 1:  # then so do those before it
            continue
        if last in bits or len(bits) < _MOST_JOINS:
            bit = bits.setdefault(last, 1 << len(bits))
            joins.behind[id(barrier)] = joins.passed[id(flow.blocks[last][0])] = bit
    return joins


def _straight_ends(flow: ControlFlow) -> int:
    """Return, as bits, the blocks from which one way leads to the end."""
    ends = 0
    for i, follow in reversed([*enumerate(flow.follow)]):
        if not follow or (len(follow) == 1 and ends >> follow[0] & 1):
            ends |= 1 << i
    return ends


def _last(behind: Sequence[int], blocks: int) -> int | None:
    """Return which of some blocks is behind all others of them; None if there are none."""
    last = None
    while blocks:
        last = blocks.bit_length() - 1
        blocks &= behind[last] & ~(1 << last)
    return last


def _meets_block(op: Op) -> bool:
    return op.form.meeting is not None and not op.form.meeting.mask


def _behind(flow: ControlFlow) -> list[int]:
    """Return for each block, as bits, those that all ways from it to the end lead through."""
    count = len(flow.blocks)
    behind = [(1 << count) - 1] * count
    before = None
    while before != behind:
        before = [*behind]
        for i in reversed(range(count)):
            leaves = any("leaves" in op.form.effects for op in flow.blocks[i])
            ways = -1 if flow.follow[i] and not leaves else 0
            for target in flow.follow[i]:
                ways &= behind[target]
            behind[i] &= 1 << i | ways
    return behind


def _reached(flow: ControlFlow) -> list[int]:
    """Return for each block, as bits, those that a way leads to from it."""
    reached = [0] * len(flow.blocks)
    before = None
    while before != reached:
        before = [*reached]
        for i in reversed(range(len(reached))):
            for target in flow.follow[i]:
                reached[i] |= 1 << target | reached[target]
    return reached
