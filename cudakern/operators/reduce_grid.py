"""Planning of reduce where blocks are grids: vectors of results, and any layout."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from cudakern._layout import (
    SECTOR_BYTES,
    VECTOR_BYTES,
    ArgumentPacker,
    Dimension,
    alignment,
    merge,
)
from cudakern.operators.indexing import THREADS
from cudakern.operators.reduce_shares import (
    BLOCKS,
    POINT,
    SHARE_OF_STATES,
    even_share,
    plan_of,
    power_above,
    rank_of,
    shares_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.operators.base import Plan
    from cudakern.operators.reduce_problem import ReduceProblem

#: Threads that read neighbouring results together: at best, and at least.
_WARP = 32
_MIN_WIDTH = 8
_WARPS = THREADS // _WARP


def plan_vectors(problem: ReduceProblem) -> Plan | None:
    """Return a plan for results whose elements lie next to each other, on whole vectors."""
    if not takes_vectors(problem):
        return None
    width = problem.reduction.results_bytes(wide=problem.is_wide)
    items = width // problem.x.itemsize
    *outer, inner = problem.kept
    vector = Dimension(inner.size // items, tuple(s * items for s in inner.strides))
    kept = merge((*outer, vector))
    return _plan_grid(problem, "vectors", kept, problem.logical, width, inner.strides[1])


def plan_strided(problem: ReduceProblem) -> Plan:
    """Return a plan for any layout."""
    return _plan_grid(problem, "strided", problem.kept, problem.along, problem.x.itemsize, 0)


def _plan_grid(
    problem: ReduceProblem,
    variant: str,
    kept: Sequence[Dimension],
    along: Sequence[Dimension],
    width_bytes: int,
    step: int,
) -> Plan:
    """Return a plan for blocks that are a grid of results by threads which share each."""
    reduction, wide = problem.reduction, problem.is_wide
    units, length = prod(d.size for d in kept), problem.length
    items = width_bytes // problem.x.itemsize
    state = reduction.state_bytes(wide=wide) * items
    along_first = bool(along) and (
        not kept or abs(along[-1].strides[0]) < abs(kept[-1].strides[0]) or kept[-1].strides[0] == 0
    )
    unit_bytes = length * width_bytes
    if along_first:
        groups = power_above(min(length, _WARP if units >= BLOCKS * _WARPS else THREADS))
        width = THREADS // groups
    else:
        width = _width_for(units, unit_bytes, state)
        width = max(width, THREADS // power_above(min(length, THREADS)))
    tiles = -(-units // width)
    splits = shares_of(tiles, width * unit_bytes, width * state)
    share = -(-length // splits)
    splits = -(-length // share)
    rank = rank_of(kept, along)
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(problem.rest)
        .dimensions(kept or POINT, rank)
        .dimensions(along or POINT, rank)
        .divisor(splits)
        .offset(units, length, share, step)
        .uint32(width.bit_length() - 1, along_first)
    )
    spec = reduction.specialise(variant, wide=wide, rank=rank, width=width_bytes)
    return plan_of(variant, spec, tiles, THREADS * state, arguments, splits, width * state)


def takes_vectors(problem: ReduceProblem) -> bool:
    """Return whether the results' elements lie next to each other, on whole vectors."""
    kept, item = problem.kept, problem.x.itemsize
    if not kept or kept[-1].strides[0] != item or item == VECTOR_BYTES:
        return False
    columns = kept[-1].size * item
    others = (d.strides[0] for d in (*kept[:-1], *problem.along))
    return columns % SECTOR_BYTES == 0 and alignment(problem.x.phase, *others) == VECTOR_BYTES


def _width_for(units: int, unit_bytes: int, state_bytes: int) -> int:
    """Return how many units a block has, where neighbouring threads have neighbouring ones."""
    if units >= BLOCKS * THREADS:
        return THREADS
    even = even_share(units * unit_bytes)
    width = _WARP
    while width > _MIN_WIDTH and units < width * BLOCKS:
        if even >= SHARE_OF_STATES * width * state_bytes:
            break
        width //= 2
    return min(width, power_above(units))
