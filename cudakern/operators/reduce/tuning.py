"""The tuning constants of reduce."""

from __future__ import annotations

from cudakern.engines.base import THREADS
from cudakern.values.layout import MULTIPROCESSORS, SECTOR_BYTES

# Unit; reason; where the number comes from: an estimate, a limit of hardware or kernels, or what
# was measured on an H200.
#
# Kernels
RANKS = (1, 3, 8)  # dimensions kept or reduced of a strided kernel; few kernels; estimate
MOST_STATE_BYTES = 64  # bytes of the states of a thread of vectors, which are registers; limit
MOST_COLUMN_BYTES = 128  # bytes of the states of a thread of columns, which has no offsets; limit
MOST_RESULTS = 8  # results of a vector: more would leave too few loads in flight; limit
STAGE_BYTES = 32 * 1024  # bytes of shared memory that tiles go through; 4 blocks fit; limit
GATHERED_BYTES = 4096  # bytes of results behind a tile, written as vectors; estimate
COUNTER_BYTES = 8192  # bytes of counters in front of a workspace: 2,048 results; limit
GROUP_BLOCKS = 32  # blocks whose states one of them folds; the last one folds groups; estimate
SLACK = 4096  # elements that positions of a 32-bit kernel may run past the last one: a turn; limit
STAGE_ROOM = STAGE_BYTES - SECTOR_BYTES  # bytes of a tile: its first sector may be in part; limit
#
# Which variant
MAX_WARP_BYTES = 16 * 1024  # bytes of a row that a warp takes; longer ones take a block; estimate
ALIGNED_TILE_ROW_BYTES = 2047  # bytes of an aligned row read as a tile at most; estimate
TILE_ROW_BYTES = 4096  # bytes of a misaligned row read as a tile at most; estimate
TILE_SLAB_BYTES = 16 * 1024  # bytes of a slab of several columns read as a tile at most; estimate
MIN_STAGE_BYTES = 4 * 1024  # bytes of a tile at least, if there are few tiles; estimate
MOST_LANES = 8  # lanes that share a row only so that they meet in no bank; limit
MIN_PIECE_BYTES = 128  # bytes of a contiguous piece that a warp reads well: a line; limit
BLOCK_PIECE_BYTES = 2048  # bytes of a piece that a block reads well: half a turn; estimate
MIN_WARPS = 64  # rows of short pieces at least, if each has a warp of its own; estimate
MIN_WIDTH = 8  # threads that read neighbouring results together; a sector; estimate
#
# How blocks share results
BLOCKS = 4 * MULTIPROCESSORS  # blocks that keep a large GPU busy; estimate
MIN_SHARE_BYTES = 16 * 1024  # bytes of x in a share at least; estimate
SHARE_BYTES = 256 * 1024  # bytes of x in a share if there are enough blocks; measured
MAX_SHARES = 2048  # blocks that share results at most, in all; estimate
MIN_SHARES = 256  # blocks that share results before shares grow; estimate
SHARE_OF_STATES = 112  # bytes of a share for a byte of states: these stay 2 % of it; estimate
ONE_BLOCK_BYTES = 64 * 1024  # bytes of x that one block reads sooner than it counts in; estimate
MIN_STATES_BYTES = 64 * 1024  # bytes of states: no other operator's workspace has this size; limit
#
# How many blocks share a row: no more than run at once, since the last blocks of a wave leave
# memory idle. A time is given as the bytes that BLOCKS blocks read meanwhile, at 4.3 TB/s. Smaller
# GPUs run several waves of the same blocks.
FULL = 256  # blocks that reach the rate of memory: two on a multiprocessor; measured
BLOCK_TURN = THREADS * 8 * 16  # bytes of a block in flight: 8 vectors a thread; limit
WARP_TURN = BLOCK_TURN * 32 // THREADS  # bytes of a warp in flight; limit
EXCHANGE = 5 * 1024 * 1024  # bytes: 1.25 us until the last block has folded states; estimate
PARTS = (FULL // 2, FULL, BLOCKS)  # blocks to try; measured
MOST_ROWS = COUNTER_BYTES // 4  # rows that there are counters for; limit
#
# Columns
COLUMN_MOST_WHOLE = 512  # columns at most, if a block takes rows as a whole; limit
COLUMN_GROUPS = 8  # groups of threads that read a row each, of a range of columns; estimate
COLUMN_MIN_ROWS = 24  # rows at least: fewer leave too few loads of a range in flight; estimate
COLUMN_BLOCKS = 2 * MULTIPROCESSORS  # blocks that run at once: two fit; limit
COLUMN_WAVES = (1, 2, 3, 4)  # waves to try; estimate
COLUMN_WAVE_COST = 0.1  # waves that several waves cost more; measured: 5 to 10 %
COLUMN_MIN_SHARE_BYTES = 48 * 1024  # bytes of x for a block that shares columns; measured
COLUMN_GROUP_SHARE_BYTES = 96 * 1024  # bytes that are read while groups are folded; estimate
