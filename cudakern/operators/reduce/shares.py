"""How many blocks share a result: many keep a large GPU busy, few have few states to fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cudakern.engines.base import THREADS
from cudakern.operators.reduce import tuning
from cudakern.values.layout import MULTIPROCESSORS, VECTOR_BYTES, round_up

if TYPE_CHECKING:
    from collections.abc import Mapping

WARP = 32
WARPS = THREADS // WARP


def row_share(rows: int, length: int, unit_bytes: int, chunk: int) -> int:
    """Return the units of a row for a block: all, or a power of two; a warp takes ``chunk``."""
    row_bytes = length * unit_bytes
    if row_bytes <= tuning.MIN_SHARE_BYTES or rows > tuning.COUNTERS:
        return length
    if rows >= tuning.FULL:  # the last rows must not be left alone
        most = max(1, row_bytes // tuning.TAIL_SHARE_BYTES)

        def cost(splits: int) -> float:
            return -(-rows * splits // tuning.BLOCKS) / splits + tuning.TAIL_COST * splits

        splits = min((s for s in tuning.TAIL_SPLITS if s <= most), key=cost)
        return min(length, 1 << (-(-length // splits) - 1).bit_length())
    least = max(chunk, tuning.MIN_SHARE_BYTES // unit_bytes, length * rows // tuning.BLOCKS)
    least = max(least, -(-length // tuning.MOST_SPLITS))
    share: int = 1 << (least - 1).bit_length()
    return min(length, share)


def row_team(
    rows: int, row_bytes: int, turn: int, costs: Mapping[int, float], *, by_warps: bool
) -> int:
    """Return how many warps read a row, so that all rows take the fewest turns of a warp.

    A row that a warp has in flight at once is for a warp: others had nothing to do. ``costs`` are
    those of a turn, by warps; ``by_warps`` says whether one warp may read a row.
    """
    if row_bytes <= tuning.WARP_TURN and by_warps:
        return 1

    def cost(warps: int) -> float:
        turns = -(-row_bytes // (turn * warps))
        waves = -(-rows * warps // (tuning.BLOCKS * WARPS))
        return turns * waves * costs[warps]

    return min((team for team in costs if team > 1 or by_warps), key=cost)


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

    width: int  # units of a block
    strips: int  # threads that read a unit's rows, or warps, if sides of them do
    sides: int  # of a warp, if they combine what they find
    interleaved: bool  # whether sides of a warp read neighbouring rows; else each thread does
    rows: int  # of a thread in flight
    most_threads: int  # of a block of the kernel
    share: int = 0  # rows of a block: all, or a power of two
    round: int = 0  # states of a unit that shared memory has room for: a power of two if not all
    turns: int = 0  # times that a thread reads neighbouring rows, if it leaves a state once

    @property
    def part(self) -> int:
        """Rows whose states a thread, or the threads of a warp, combine at a time."""
        return self.rows * (self.sides if self.interleaved else 1)

    @property
    def strip_shift(self) -> int:
        """The logarithm of the strips that leave states together, if threads do it once."""
        return 0 if self.interleaved else self.sides.bit_length() - 1

    @property
    def states(self) -> int:
        """States of each result that a block leaves, if threads do it once."""
        return self.strips >> self.strip_shift

    @property
    def threads(self) -> int:
        """Threads of a block."""
        lanes = WARP if self.interleaved else self.width
        return round_up(self.strips * lanes, WARP)


def column_grid(
    units: int, length: int, unit_bytes: int, items: int, state_bytes: int,
    *, any_order: bool, packed: bool,
) -> ColumnGrid:  # fmt: skip
    """Return the grid for so many units of ``items`` elements, whose states have ``state_bytes``.

    ``packed`` says whether rows of all units lie one behind the other.
    """
    vectors, short = items > 1, items == 1 and length <= tuning.COLUMN_SHORT
    grid = _column_threads(units, length, unit_bytes, items, state_bytes, any_order, packed)
    share, blocks = length, -(-units // grid.width)
    full = tuning.BLOCKS if vectors else tuning.FULL
    if blocks < (tuning.FULL // 8 if short else full):
        even = length * blocks // (tuning.BLOCKS * (2 if vectors and grid.interleaved else 1))
        fair = max(grid.strips * grid.part, even)
        fair = max(fair, tuning.MIN_SHARE_BYTES // (unit_bytes * grid.width))
        fair = max(fair, -(-length // most_splits(grid.width * state_bytes)))
        share = min(length, 1 << (fair - 1).bit_length())
    reach = grid.strips * grid.part  # rows of a block at a time
    most_turns = tuning.COLUMN_TURNS if state_bytes <= VECTOR_BYTES else 2
    most_turns = most_turns if grid.strips & (grid.strips - 1) == 0 else 1
    can_be_once = not any_order and grid.states in tuning.COLUMN_STATES
    can_be_once = can_be_once and (grid.interleaved or grid.width & (grid.width - 1) == 0)
    splits = -(-length // (reach * most_turns))
    if can_be_once and blocks <= tuning.COUNTERS and splits <= tuning.COLUMN_SPLITS:
        share = min(share, reach * most_turns)
    turns = 1 << (-(-share // reach) - 1).bit_length()
    if can_be_once and turns <= most_turns:
        return grid._replace(share=share, round=grid.states, turns=turns)
    if any_order:
        return grid._replace(share=share, round=grid.states)
    parts, most = -(-share // grid.part), tuning.COLUMN_STAGE_BYTES // (grid.width * state_bytes)
    held = parts if parts <= most else 1 << (most.bit_length() - 1)
    sides = grid.sides if grid.interleaved else 1
    return grid._replace(share=share, round=held, sides=sides)


def _column_threads(
    units: int, length: int, unit_bytes: int, items: int, state_bytes: int,
    any_order: bool, packed: bool,  # noqa: FBT001
) -> ColumnGrid:  # fmt: skip
    """Return how threads lie over units and rows, without the shares of blocks."""
    vectors, short = items > 1, items == 1 and length <= tuning.COLUMN_SHORT
    if packed and units <= WARP // tuning.COLUMN_ROWS:
        sides = 1 << (WARP // units).bit_length() - 1
        return ColumnGrid(units, WARPS, sides, True, tuning.COLUMN_ROWS, THREADS)  # noqa: FBT003
    twice = unit_bytes <= tuning.COLUMN_TWICE_BYTES and not any_order
    most_rows = tuning.COLUMN_ROWS * (2 if twice else 1)
    if not (vectors or short or any_order) and WARP // 8 < units < 2 * WARP and units & (units - 1):
        return ColumnGrid(units, THREADS // units, 1, False, most_rows, THREADS)  # noqa: FBT003
    power = 1 << (units - 1).bit_length()  # of two, at least the units
    width = tuning.COLUMN_WIDTH
    if short or vectors:  # narrow blocks rather than shares
        full = tuning.BLOCKS if vectors else MULTIPROCESSORS
        least = tuning.COLUMN_VECTOR_BYTES if vectors else tuning.COLUMN_LEAST_BYTES
        least = min(least // unit_bytes, tuning.COLUMN_LEAST)
        while width > least and -(-units // width) < full:
            width //= 2
    while width < power and 2 * length <= THREADS // width * tuning.COLUMN_ROWS:
        width *= 2  # there are too few rows for all strips
    width = min(width, power, THREADS)
    while not any_order and width > 1 and width * state_bytes > tuning.COLUMN_STAGE_BYTES:
        width //= 2
    more = short and length > THREADS // width * most_rows
    threads = tuning.COLUMN_THREADS if more else THREADS
    strips = threads // width
    many = strips * tuning.COLUMN_ROWS < length and (not short or length <= strips * most_rows)
    rows = most_rows if many and not vectors else tuning.COLUMN_ROWS
    return ColumnGrid(width, strips, max(1, WARP // width), False, rows, threads)  # noqa: FBT003
