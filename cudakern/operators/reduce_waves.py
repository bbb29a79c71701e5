"""How many blocks share a row: what the waves of blocks cost that a large GPU runs at once.

The shape alone decides, for 132 multiprocessors of 4 blocks; smaller GPUs run more waves of the
same. Costs are in the bytes that such a GPU reads meanwhile, 4.3 TB/s. They are estimates.
"""

from __future__ import annotations

from cudakern.operators.indexing import THREADS
from cudakern.operators.reduce_shares import (
    BLOCKS,
    MIN_SHARE_BYTES,
    ONE_BLOCK_BYTES,
)

MULTIPROCESSORS = 132
#: Blocks that reach the rate of memory: one waits for a turn while another one reads.
FULL = 2 * MULTIPROCESSORS
#: What a block or a warp has in flight: 8 vectors for each of its threads.
BLOCK_TURN = THREADS * 8 * 16
WARP_TURN = BLOCK_TURN * 32 // THREADS
#: Until the last of the blocks that share a result has folded their states, about 1.25 us. More
#: than a block has threads are folded in groups first.
EXCHANGE = 5 * 1024 * 1024
#: Equal shares do not end at the same time: what of a wave is lost waiting.
UNEVEN = 8
#: Blocks that shares are made for, parts of a wave and whole ones, with the least bytes of a share.
#: After 8 waves no tail matters.
_AIMS = (
    *((MULTIPROCESSORS * part, MIN_SHARE_BYTES) for part in (1, 2, 3, 4)),
    *((BLOCKS * waves, BLOCK_TURN) for waves in (2, 3, 4, 8)),
)


def splits_of(rows: int, row_bytes: int) -> int:
    """Return how many blocks share a row."""
    if row_bytes <= ONE_BLOCK_BYTES:
        return 1
    counts = sorted({1, *(min(blocks // rows, row_bytes // least) for blocks, least in _AIMS)} - {0})
    return min(counts, key=lambda splits: _cost(rows, row_bytes, splits))


def warps_are_faster(rows: int, row_bytes: int) -> bool:
    """Return whether rows take fewer turns of a warp each than of a block each, waves in all."""
    by_warps = -(-rows * 32 // (BLOCKS * THREADS)) * -(-row_bytes // WARP_TURN)
    return by_warps < -(-rows // BLOCKS) * -(-row_bytes // BLOCK_TURN)


def _cost(rows: int, row_bytes: int, splits: int) -> int:
    """Return the cost of so many blocks for each row.

    A last wave of few blocks takes as long as one that reaches the rate of memory.
    """
    waves, rest = divmod(rows * splits, BLOCKS)
    share = -(-row_bytes // splits)
    blocks = waves * BLOCKS + (max(rest, FULL) if rest else 0)
    exchanges = (splits > 1) + (splits > THREADS)
    waiting = min(rows * splits, BLOCKS) // UNEVEN
    return (blocks + waiting) * share + exchanges * EXCHANGE
