"""How many blocks share a result: many keep a large GPU busy, few have few states to fold."""

from __future__ import annotations

from typing import NamedTuple

from cudakern.engines.base import THREADS
from cudakern.operators.reduce import tuning
from cudakern.values.layout import WORD_BYTES

WARP = 32


def row_share(rows: int, length: int, unit_bytes: int, chunk: int) -> int:
    """Return the units of a row for a block: all, or a power of two; a warp takes ``chunk``."""
    if rows >= tuning.FULL or length * unit_bytes <= tuning.MIN_SHARE_BYTES:
        return length
    least = max(chunk, tuning.MIN_SHARE_BYTES // unit_bytes, length * rows // tuning.BLOCKS)
    least = max(least, -(-length // tuning.MOST_SPLITS))
    share: int = 1 << (least - 1).bit_length()
    return min(length, share)


def period_splits(columns: int, nbytes: int) -> int:
    """Return how many blocks share each range of columns; a range has ``nbytes``.

    A full wave is best; several waves are better than one that leaves much of a GPU idle.
    """
    most = nbytes // tuning.PERIOD_MIN_SHARE_BYTES
    if nbytes <= tuning.PERIOD_GROUP_BLOCKS * tuning.PERIOD_GROUP_SHARE_BYTES:
        most = min(most, tuning.PERIOD_GROUP_BLOCKS)
    counts = (waves * tuning.PERIOD_BLOCKS // columns for waves in tuning.PERIOD_WAVES)

    def cost(splits: int) -> float:
        waves = -(-columns * splits // tuning.PERIOD_BLOCKS)
        return (waves + tuning.PERIOD_WAVE_COST * (waves > 1)) / splits

    return min(sorted({max(1, min(most, count)) for count in counts}), key=cost)


def most_splits(states_bytes: int) -> int:
    """Return how many blocks may share results: one of them has room for all of their states."""
    return max(1, min(tuning.MOST_SPLITS, tuning.MOST_SHARED_BYTES * 7 // states_bytes))


class ColumnGrid(NamedTuple):
    """How the threads of a block lie over units of results and rows of them."""

    width: int  # units of a block: a power of two
    share: int  # rows of a block: all, or a power of two
    round: int  # states of a unit that shared memory has room for: a power of two if not all
    interleaved: bool  # whether neighbouring lanes read neighbouring rows

    @property
    def rows(self) -> int:
        """Rows whose states a thread, or the threads of a warp, combine at a time."""
        return tuning.COLUMN_ROWS * (WARP // self.width if self.interleaved else 1)


def column_grid(
    units: int, length: int, unit_bytes: int, state_bytes: int, threads: int,
    *, any_order: bool, packed: bool,
) -> ColumnGrid:  # fmt: skip
    """Return the grid for so many units, whose states have ``state_bytes``.

    ``packed`` says whether rows of all units lie one behind the other.
    """
    power = 1 << (units - 1).bit_length()  # of two, at least the units
    vectors, short = unit_bytes > WORD_BYTES, length <= tuning.COLUMN_SHORT
    width, full = tuning.COLUMN_WIDTH, tuning.BLOCKS if vectors else tuning.FULL
    if short or vectors:  # narrow blocks rather than shares
        least = tuning.COLUMN_VECTOR_BYTES if vectors else tuning.COLUMN_LEAST_BYTES
        while width > max(1, least // unit_bytes) and -(-units // width) < full:
            width //= 2
    while width < power and 2 * length <= threads // width * tuning.COLUMN_ROWS:
        width *= 2  # there are too few rows for all groups
    width = min(width, power, threads)
    while not any_order and width > 1 and width * state_bytes > tuning.COLUMN_STAGE_BYTES:
        width //= 2
    interleaved = packed and vectors and units == power == width <= WARP // 8
    grid = ColumnGrid(width, length, threads // width, interleaved)
    share, blocks = length, -(-units // width)
    if blocks < (tuning.FULL // 8 if short and not vectors else full):
        turn = threads // width * tuning.COLUMN_ROWS
        even = length * blocks // (2 * tuning.BLOCKS if interleaved else tuning.BLOCKS)
        fair = max(turn, even, tuning.MIN_SHARE_BYTES // (unit_bytes * width))
        fair = max(fair, -(-length // most_splits(width * state_bytes)))
        share = min(length, 1 << (fair - 1).bit_length())
    if any_order:
        return grid._replace(share=share)
    most = tuning.COLUMN_STAGE_BYTES // (width * state_bytes)
    if blocks <= tuning.COUNTERS and -(-length // (grid.rows * most)) <= most_splits(
        width * state_bytes
    ):
        share = min(share, grid.rows << (most.bit_length() - 1))  # without a second round
    parts = -(-share // grid.rows)
    held = parts if parts <= most else 1 << (most.bit_length() - 1)
    return grid._replace(share=share, round=held)


def warps_are_faster(rows: int, row_bytes: int) -> bool:
    """Return whether all rows take fewer turns with a warp each than with a block each.

    A row that a warp reads in one turn is for a warp: other warps of a block had nothing to do.
    """
    if row_bytes <= tuning.WARP_TURN:
        return True
    by_warps = -(-rows * 32 // (tuning.BLOCKS * THREADS)) * -(-row_bytes // tuning.WARP_TURN)
    return by_warps < -(-rows // tuning.BLOCKS) * -(-row_bytes // tuning.BLOCK_TURN)
