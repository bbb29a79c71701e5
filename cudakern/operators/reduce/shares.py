"""How many blocks share a result: many keep a large GPU busy, few have few states to fold."""

from __future__ import annotations

from cudakern.engines.base import THREADS
from cudakern.operators.reduce import tuning


def column_splits(columns: int, nbytes: int, all_bytes: int) -> int:
    """Return how many blocks share each range of columns; a range has ``nbytes``."""
    if nbytes <= tuning.COLUMN_ONE_BLOCK_BYTES:
        return 1
    blocks = tuning.COLUMN_BLOCKS * max(
        1, min(tuning.COLUMN_WAVES, all_bytes // tuning.COLUMN_SHARE_BYTES // tuning.COLUMN_BLOCKS)
    )
    splits = min(blocks // columns, nbytes // tuning.COLUMN_MIN_SHARE_BYTES)
    if nbytes <= tuning.GROUP_BLOCKS * tuning.COLUMN_GROUP_SHARE_BYTES:
        splits = min(splits, tuning.GROUP_BLOCKS)
    return max(1, splits)


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
    waves = (min(n // rows, row_bytes // tuning.BLOCK_TURN) for n in tuning.WAVES)
    counts = sorted({1, *parts, *waves} - {0})
    return min(counts, key=lambda splits: _cost(rows, row_bytes, splits))


def warps_are_faster(rows: int, row_bytes: int) -> bool:
    """Return whether all rows take fewer turns with a warp each than with a block each."""
    by_warps = -(-rows * 32 // (tuning.BLOCKS * THREADS)) * -(-row_bytes // tuning.WARP_TURN)
    return by_warps < -(-rows // tuning.BLOCKS) * -(-row_bytes // tuning.BLOCK_TURN)


def _cost(rows: int, row_bytes: int, splits: int) -> int:
    """Return the cost of so many blocks for each row.

    A last wave of few blocks takes as long as one that reaches the rate of memory.
    """
    waves, rest = divmod(rows * splits, tuning.BLOCKS)
    share = -(-row_bytes // splits)
    blocks = waves * tuning.BLOCKS + (max(rest, tuning.FULL) if rest else 0)
    exchanges = (splits > 1) + (splits > THREADS)
    waiting = min(rows * splits, tuning.BLOCKS) // tuning.UNEVEN
    return (blocks + waiting) * share + exchanges * tuning.EXCHANGE
