"""How many blocks share a result: many keep a large GPU busy, few have few states to fold."""

from __future__ import annotations

from cudakern.engines.base import THREADS
from cudakern.operators.reduce import tuning


def column_splits(columns: int, nbytes: int) -> int:
    """Return how many blocks share each range of columns; a range has ``nbytes``.

    A full wave is best; several waves are better than one that leaves much of a GPU idle.
    """
    most = nbytes // tuning.COLUMN_MIN_SHARE_BYTES
    if nbytes <= tuning.GROUP_BLOCKS * tuning.COLUMN_GROUP_SHARE_BYTES:
        most = min(most, tuning.GROUP_BLOCKS)
    counts = (waves * tuning.COLUMN_BLOCKS // columns for waves in tuning.COLUMN_WAVES)

    def cost(splits: int) -> float:
        waves = -(-columns * splits // tuning.COLUMN_BLOCKS)
        return (waves + tuning.COLUMN_WAVE_COST * (waves > 1)) / splits

    return min(sorted({max(1, min(most, count)) for count in counts}), key=cost)


def grid_splits(results: int, nbytes: int, states_bytes: int) -> int:
    """Return how many blocks share a result of ``nbytes``; each hands over ``states_bytes``."""
    if results >= tuning.BLOCKS:
        return 1
    return max(
        1, nbytes // max(even_share(results * nbytes), tuning.SHARE_OF_STATES * states_bytes)
    )


def even_share(nbytes: int) -> int:
    """Return the bytes of x in a share if x has ``nbytes``."""
    if nbytes <= tuning.ONE_BLOCK_BYTES:
        return tuning.ONE_BLOCK_BYTES
    return max(
        tuning.MIN_SHARE_BYTES,
        min(nbytes // tuning.MIN_SHARES, tuning.SHARE_BYTES),
        nbytes // tuning.MAX_SHARES,
    )


def row_splits(rows: int, row_bytes: int) -> int:
    """Return how many blocks share a row."""
    if row_bytes <= tuning.ONE_BLOCK_BYTES or rows > tuning.MOST_ROWS:
        return 1
    parts = (min(n // rows, row_bytes // tuning.MIN_SHARE_BYTES) for n in tuning.PARTS)

    def cost(splits: int) -> int:  # few blocks do not reach the rate of memory
        share = -(-row_bytes // splits)
        exchanges = (splits > 1) + (splits > THREADS)
        return max(rows * splits, tuning.FULL) * share + exchanges * tuning.EXCHANGE

    return min(sorted({1, *parts} - {0}), key=cost)


def warps_are_faster(rows: int, row_bytes: int) -> bool:
    """Return whether all rows take fewer turns with a warp each than with a block each.

    A single row that a warp reads in one turn is for a warp: it folds less than a block.
    """
    if rows == 1 and row_bytes <= tuning.WARP_TURN:
        return True
    by_warps = -(-rows * 32 // (tuning.BLOCKS * THREADS)) * -(-row_bytes // tuning.WARP_TURN)
    return by_warps < -(-rows // tuning.BLOCKS) * -(-row_bytes // tuning.BLOCK_TURN)
