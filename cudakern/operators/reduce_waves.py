"""How many blocks share a row: what the waves of blocks cost that a large GPU runs at once.

The shape alone decides, for 132 multiprocessors of 4 blocks; smaller GPUs run more waves of the
same. Costs are in the bytes that such a GPU reads meanwhile, 4.3 TB/s. They are estimates.
"""

from __future__ import annotations

from cudakern.operators import reduce_shares
from cudakern.operators.indexing import THREADS
from cudakern.operators.reduce_shares import BLOCKS

#: Blocks that reach the rate of memory, about two on each multiprocessor: one waits for a turn
#: while the other one reads. A block has a thread for the state of each of them.
FULL = 256
#: What a block or a warp has in flight: 8 vectors for each of its threads.
BLOCK_TURN = THREADS * 8 * 16
WARP_TURN = BLOCK_TURN * 32 // THREADS
#: Until the last of the blocks that share a result has folded their states, about 1.25 us. More
#: than a block has threads are folded in groups first.
EXCHANGE = 5 * 1024 * 1024
#: Equal shares do not end at the same time: what of a wave is lost waiting.
UNEVEN = 8
#: Blocks that shares are made for: parts of a wave, and whole ones, in which a share is a turn at
#: least. After 8 of them no tail matters.
_PARTS = (FULL // 2, FULL, BLOCKS)
_WAVES = tuple(BLOCKS * waves for waves in (2, 3, 4, 8))
#: Rows that blocks are counted in for.
_MOST_ROWS = reduce_shares.COUNTER_BYTES // 4


def splits_of(rows: int, row_bytes: int) -> int:
    """Return how many blocks share a row."""
    if row_bytes <= reduce_shares.ONE_BLOCK_BYTES or rows > _MOST_ROWS:
        return 1
    parts = (min(n // rows, row_bytes // reduce_shares.MIN_SHARE_BYTES) for n in _PARTS)
    waves = (min(n // rows, row_bytes // BLOCK_TURN) for n in _WAVES)
    counts = sorted({1, *parts, *waves} - {0})
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
