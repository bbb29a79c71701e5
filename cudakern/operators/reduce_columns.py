"""Planning of reduce where results lie next to each other in x, but not on whole vectors."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from cudakern._layout import ArgumentPacker
from cudakern.engines.base import MULTIPROCESSORS
from cudakern.operators.indexing import THREADS
from cudakern.operators.reduce_shares import GROUP_BLOCKS, plan_of

if TYPE_CHECKING:
    from cudakern.operators.base import Plan
    from cudakern.operators.reduce_problem import ReduceProblem

#: Columns of rows that the threads of a block follow x through as a whole, at most.
MOST_WHOLE = 512
#: Groups of threads below each other that read ranges of columns; twice as many where rows have
#: sixteen phases of a vector.
GROUPS = 8
#: With fewer rows than these, too few loads of a range are in flight.
FEW_ROWS = 24
#: Blocks that run at once on a large GPU, two for each multiprocessor: so many there are, or in
#: WAVES at most of them for shares of SHARE_BYTES. Estimates, no measurement yet.
BLOCKS = 2 * MULTIPROCESSORS
SHARE_BYTES = 128 * 1024
WAVES = 7
#: Bytes of x for a block that shares columns: at least, and up to which all those that share some
#: are one group, as folding groups takes as long as reading so much.
MIN_SHARE_BYTES = 8 * 1024
GROUP_SHARE_BYTES = 96 * 1024
#: Bytes of x up to which one block is enough: counting blocks in takes longer than it saves.
ONE_BLOCK_BYTES = 32 * 1024


class _Threads(NamedTuple):
    """How the threads of a block lie over x.

    `span` are side by side, a vector each, and `groups` of these below each other. `period` is the
    rows that `span` vectors are; 0 if a block has a range of `width` columns.
    """

    span: int
    groups: int
    period: int
    width: int


def plan_columns(problem: ReduceProblem) -> Plan | None:
    """Return a plan for the columns of a contiguous x."""
    slab = problem.slab()
    if slab is None or not problem.is_aligned:
        return None
    slabs, rows, columns = slab
    item, wide, reduction = problem.x.itemsize, problem.is_wide, problem.reduction
    vector, state = reduction.column_bytes(wide=wide), reduction.state_bytes(wide=wide)
    threads = _threads(columns, item, vector)
    if threads.period == 0 and rows < FEW_ROWS:
        return None
    ranges = -(-columns // threads.width)
    splits = _splits(slabs * ranges, rows * threads.width * item, problem.x.size * item)
    share = -(-rows // min(splits, rows))
    splits = -(-rows // share)
    across = min(threads.width, THREADS)
    step = threads.groups * (threads.span if threads.period else 1)
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(problem.rest)
        .divisor(splits)
        .divisor(ranges)
        .offset(problem.x.size * item, rows, share, columns)
        .divisor(step)
        .divisor(threads.span, wide=False)
        .divisor(across, wide=False)
        .uint32(threads.width, threads.groups, THREADS // across, threads.period)
    )
    spec = reduction.specialise("columns", wide=wide, width=vector)
    shared = shared_bytes(state, vector // item, threads.width)
    states = state * threads.width
    return plan_of("columns", spec, slabs * ranges, shared, arguments, splits, states)


def shared_bytes(state: int, items: int, width: int = MOST_WHOLE) -> int:
    """Return the shared memory of a block: states of all threads, and of its columns twice."""
    pad = 128 // state // items if items > 1 else 0
    return state * (items * (THREADS + pad) + THREADS + width)


def _threads(columns: int, item: int, vector: int) -> _Threads:
    """Return how the threads of a block lie over rows of so many columns."""
    common = gcd(columns * item, vector)
    span, period, items = columns * item // common, vector // common, vector // item
    if span <= THREADS and columns <= MOST_WHOLE:
        return _Threads(span, THREADS // span, period, columns)
    groups = max(GROUPS, period)
    most = THREADS // groups * items - (items - 1)  # wherever in a vector a row starts
    ranges = -(-columns // most)
    width = -(-columns // ranges)
    return _Threads(-(-(width + items - 1) // items), groups, 0, width)


def _splits(columns: int, nbytes: int, all_bytes: int) -> int:
    """Return how many blocks share each of so many ranges of columns, of ``nbytes`` each."""
    if nbytes <= ONE_BLOCK_BYTES:
        return 1
    blocks = BLOCKS * max(1, min(WAVES, all_bytes // SHARE_BYTES // BLOCKS))
    splits = min(blocks // columns, nbytes // MIN_SHARE_BYTES)
    if nbytes <= GROUP_BLOCKS * GROUP_SHARE_BYTES:
        splits = min(splits, GROUP_BLOCKS)
    return max(1, splits)
