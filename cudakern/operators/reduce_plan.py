"""Planning of reduce: which dimensions are kept, which are reduced, and by which kernel.

How work is divided depends on the shape and the types alone, never on the device: so do the bits
of the result.
"""

from __future__ import annotations

from math import gcd, lcm
from typing import TYPE_CHECKING

from cudakern._layout import (
    SECTOR_BYTES,
    VECTOR_BYTES,
    ArgumentPacker,
    Dimension,
    alignment,
)
from cudakern.operators.indexing import THREADS
from cudakern.operators.reduce_columns import plan_columns
from cudakern.operators.reduce_grid import plan_strided, plan_vectors, takes_vectors
from cudakern.operators.reduce_shares import (
    BLOCKS,
    PIECE,
    POINT,
    plan_of,
    power_above,
    power_below,
    rank_of,
)
from cudakern.operators.reduce_waves import splits_of, warps_are_faster

if TYPE_CHECKING:
    from cudakern.operators.base import Plan
    from cudakern.operators.reduce_problem import ReduceProblem

#: Rows of more bytes take the time of a block each; of fewer, that of a warp, if there are enough
#: rows. Shorter ones yet are read through shared memory, aligned ones or others.
MAX_WARP_BYTES = 16 * 1024
ALIGNED_TILE_ROW_BYTES = 2047
TILE_ROW_BYTES = 4096
#: Bytes of a slab with several columns that are read through shared memory as a whole.
TILE_SLAB_BYTES = 16 * 1024
#: Bytes of a contiguous piece of a row that a warp reads well, and a block; rows of pieces for
#: warps at least.
MIN_PIECE_BYTES = 128
BLOCK_PIECE_BYTES = 2048
MIN_WARPS = 64
#: Bytes of shared memory that tiles go through, as in ``kernels/reduce/stage.cuh``: with
#: those that lie in front of a misaligned one.
STAGE_BYTES = 32 * 1024
STAGE_ROOM = STAGE_BYTES - SECTOR_BYTES
MIN_STAGE_BYTES = 4 * 1024
#: Bytes behind a tile, as in ``kernels/reduce/tiles.cuh``.
GATHERED_BYTES = 4096
_WARP = 32
_WARPS = THREADS // _WARP
_BANK_BYTES = 4
_MOST_LANES = 8


def plan_reduce(problem: ReduceProblem) -> Plan:
    """Choose the variant for a problem whose shapes and types are already known to be legal."""
    return (
        _plan_tiles(problem)
        or _plan_stream(problem)
        or plan_vectors(problem)
        or plan_columns(problem)
        or plan_strided(problem)
    )


def _plan_tiles(problem: ReduceProblem) -> Plan | None:
    """Return a plan for short rows, or slabs of few rows, next to each other."""
    item, slab = problem.x.itemsize, problem.slab()
    if slab is None or not problem.is_aligned:
        return None
    slabs, rows, columns = slab
    slab_bytes = rows * columns * item
    phase = problem.x.phase
    if columns == 1:
        aligned = alignment(phase, slab_bytes) == VECTOR_BYTES and slab_bytes % SECTOR_BYTES == 0
        most = ALIGNED_TILE_ROW_BYTES if aligned else TILE_ROW_BYTES
        fits = rows > 1 and slab_bytes <= most and slabs > 1
    else:
        fits = slab_bytes <= TILE_SLAB_BYTES and not takes_vectors(problem)
    if not fits:
        return None
    by_vectors = columns == 1 and alignment(phase, slab_bytes) == VECTOR_BYTES
    by_vectors = by_vectors and not problem.reduction.is_long
    width = VECTOR_BYTES if by_vectors else item
    units = slab_bytes // width if columns == 1 else rows
    room = min(STAGE_ROOM, max(MIN_STAGE_BYTES, slabs * slab_bytes // BLOCKS))
    # Tiles start with sectors of x and of out, unless that takes too many slabs.
    of_sector = lcm(_in_sectors(slab_bytes), _in_sectors(columns * problem.out.itemsize))
    if of_sector * slab_bytes > STAGE_ROOM:
        room, of_sector = STAGE_ROOM, 1
    tile_slabs = min(slabs, max(of_sector, room // slab_bytes // of_sector * of_sector))
    lanes = min(_WARP, power_below(max(1, THREADS // (tile_slabs * columns))))
    if columns == 1:  # neighbours that read a row together do not meet in banks
        step = slab_bytes // (VECTOR_BYTES if by_vectors else _BANK_BYTES)
        lanes = max(lanes, min(step & -step, _MOST_LANES) if step else 1)
    lanes = min(lanes, power_above(units))
    wide = problem.is_wide
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(problem.rest)
        .offset(slabs * slab_bytes, slabs, tile_slabs * slab_bytes)
        .uint32(tile_slabs, units, slab_bytes, lanes.bit_length() - 1)
        .divisor(columns, wide=False)
    )
    spec = problem.reduction.specialise("tiles", wide=wide, width=width)
    return plan_of("tiles", spec, -(-slabs // tile_slabs), STAGE_BYTES + GATHERED_BYTES, arguments)


def _plan_stream(problem: ReduceProblem) -> Plan | None:
    """Return a plan for rows that are made of contiguous pieces."""
    item, along = problem.x.itemsize, problem.along
    contiguous = along and along[-1].strides[0] == item
    if not contiguous or not problem.in_order or not problem.is_aligned:
        return None
    length, rows = along[-1].size, problem.results
    pieces, row_bytes, piece_bytes = problem.length // length, problem.length * item, length * item
    if piece_bytes < MIN_PIECE_BYTES and (pieces > 1 or rows > 1):
        return None
    by_blocks = pieces == 1 or piece_bytes >= BLOCK_PIECE_BYTES
    if by_blocks:
        by_warps = row_bytes <= MAX_WARP_BYTES and warps_are_faster(rows, row_bytes)
    else:
        by_warps = rows >= (MIN_WARPS if row_bytes <= MAX_WARP_BYTES else BLOCKS * _WARPS)
        if not by_warps:
            return None
    wide = problem.is_wide
    state = problem.reduction.state_bytes(wide=wide)
    splits = 1 if by_warps else splits_of(rows, row_bytes)
    parts = -(-splits // pieces)
    part = -(-length // parts)
    part = min(length, -(-part * item // MIN_PIECE_BYTES) * MIN_PIECE_BYTES // item)
    parts = -(-length // part)
    units = pieces * parts
    share = -(-units // splits)
    splits = -(-units // share)
    variant = "warps" if by_warps else "stream"
    rank = rank_of(problem.kept, along[:-1])
    arguments = (
        ArgumentPacker(wide=wide)
        .raw(problem.rest)
        .dimensions(problem.kept or POINT, rank)
        .dimensions([Dimension(d.size, d.strides[:1]) for d in along[:-1]] or PIECE, rank)
        .divisor(splits)
        .divisor(parts)
        .offset(rows, length, part, units, share)
    )
    spec = problem.reduction.specialise(variant, wide=wide, rank=rank)
    if by_warps:
        return plan_of(variant, spec, -(-rows // _WARPS), 0, arguments)
    return plan_of(variant, spec, rows, _WARPS * state, arguments, splits, state)


def _in_sectors(nbytes: int) -> int:
    """Return how many pieces of so many bytes are whole sectors."""
    return SECTOR_BYTES // gcd(SECTOR_BYTES, nbytes)
