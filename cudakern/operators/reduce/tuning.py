"""The tuning constants of reduce."""

from __future__ import annotations

from cudakern.values.layout import MULTIPROCESSORS, SECTOR_BYTES

# Unit; reason; where the number comes from: an estimate, a limit of hardware or kernels, or what
# was measured on an H200.
#
# Kernels
RANKS = (1, 2, 3, 8)  # dimensions of a kernel's results; few kernels; estimate
MOST_STATE_BYTES = 64  # bytes of the states of a thread of vectors, which are registers; limit
MOST_RESULTS = 8  # results of a vector: more would leave too few loads in flight; limit
STEPS = 8  # states that a thread combines at a time; limit
STAGE_BYTES = 32 * 1024  # bytes of a tile: 8 vectors a thread; limit
MOST_SHARED_BYTES = 46 * 1024  # bytes of shared memory of a block, about; limit
STAGE_STATES = 256  # states that the warps of a block leave in shared memory; estimate
COUNTER_BYTES = 8192  # bytes of counters in front of a workspace; limit
COUNTERS = COUNTER_BYTES // 4  # results that blocks share at most, or groups of results; limit
SLACK = 4096  # elements that positions of a 32-bit kernel may run past the last one: a turn; limit
STAGE_ROOM = STAGE_BYTES - SECTOR_BYTES  # bytes of a tile: its first sector may be in part; limit
WARP_LOADS = 4  # vectors that a lane combines while as many are on their way; measured
EXPONENTIAL_LOADS = 8  # the same, of exponentials: a row is often one chunk; measured
BLOCK_LOADS = 4  # the same, if a block has a row; measured
STRIDED_UNITS = 8  # units of a lane in flight; estimate
#
# Which variant
LANE_ROWS = 2  # rows that a lane reads at a time, if there are many; measured
TILE_ROW_BYTES = 2048  # bytes of a misaligned row read as a tile at most; measured
TILE_SLAB_BYTES = 16 * 1024  # bytes of a slab of several columns read as a tile at most; estimate
TILE_ITEMS = 128  # parts of a tile's columns at least, if there are as many of 8 rows; estimate
TILE_PART = 64  # rows that a thread combines at most; limit
MIN_STAGE_BYTES = 4 * 1024  # bytes of a tile at least, if there are few tiles; estimate
MIN_ROW_BYTES = 128  # bytes of a row that a warp reads well: a line; limit
#
# How blocks share results. The power of two that is a share makes few or many blocks.
BLOCKS = 4 * MULTIPROCESSORS  # blocks that keep a large GPU busy; estimate
FULL = 2 * MULTIPROCESSORS  # blocks that reach the rate of memory; measured
MIN_SHARE_BYTES = 16 * 1024  # bytes of x in a share at least: a turn; estimate
MOST_SPLITS = 2048  # blocks that share a result at most; limit
MIN_STATES_BYTES = 64 * 1024  # bytes of states: no other operator's workspace has this size; limit
WARP_TURN = 32 * 8 * 16  # bytes of a warp in flight: 8 vectors a lane; limit
TEAM_COSTS = {1: 1, 8: 1.05, 4: 1.1, 2: 1.1}  # of a turn of so many warps for a row; estimate
BLOCK_COSTS = {8: 1, 1: 1}  # the same, of other rows and functions: blocks, if in doubt; estimate
TAIL_SPLITS = (1, 2, 4)  # blocks for each of many long rows; estimate
TAIL_SHARE_BYTES = 64 * 1024  # bytes of a row for each of them at least; estimate
TAIL_COST = 0.02  # turns of a row that each of them costs; estimate
#
# Columns
COLUMN_ROWS = 8  # rows that a thread combines at a time; limit
COLUMN_TWICE_BYTES = 4  # bytes of an element of which it combines twice as many; limit
COLUMN_THREADS = 512  # threads of a block of elements, of few rows; measured
COLUMN_WIDTH = 32  # units of a block: a line of elements, at least; measured
COLUMN_LEAST_BYTES = 32  # bytes of a row of a block at least: a sector; measured
COLUMN_VECTOR_BYTES = 128  # the same, of vectors: a line; measured
COLUMN_LEAST = 8  # units of a block at least; measured
COLUMN_STATES = (1, 2, 4, 8, 16)  # states of a result that a block leaves, if once; limit
COLUMN_TURNS = 8  # times that a thread reads rows, and leaves a state once; limit
COLUMN_SPLITS = 32  # blocks that share results so that each thread leaves a state once; estimate
COLUMN_SHORT = 1000  # rows that few blocks need not share; measured
COLUMN_STAGE_BYTES = 32 * 1024  # bytes of states that a block leaves at most; limit
#
# Columns of functions of any order
MOST_COLUMN_BYTES = 128  # bytes of the states of a thread, which has no offsets; limit
PERIOD_GROUP_BLOCKS = 32  # blocks that share few bytes at most; estimate
PERIOD_MOST_WHOLE = 512  # columns at most, if a block takes rows as a whole; limit
PERIOD_GROUPS = 8  # groups of threads that read a row each, of a range of columns; estimate
PERIOD_MIN_ROWS = 24  # rows at least: fewer leave too few loads of a range in flight; estimate
PERIOD_BLOCKS = 2 * MULTIPROCESSORS  # blocks that run at once: two fit; limit
PERIOD_WAVES = (1, 2, 3, 4)  # waves to try; estimate
PERIOD_WAVE_COST = 0.1  # waves that several waves cost more; measured: 5 to 10 %
PERIOD_MIN_SHARE_BYTES = 48 * 1024  # bytes of x for a block that shares columns; measured
PERIOD_GROUP_SHARE_BYTES = 96 * 1024  # bytes that are read while groups are folded; estimate
