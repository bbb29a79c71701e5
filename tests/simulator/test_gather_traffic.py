"""What gather and gather_nd move, by variant, held against what they must move at least."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.roofline import (
    SECTOR,
    backwards,
    contiguous,
    different,
    padded,
    sectors,
    transposed,
)
from tests.helpers.samples import covering, sample

F4, F8, F2, U1 = np.float32, np.float64, np.float16, np.uint8


@dataclass(frozen=True)
class Case:
    """A gather of ``count`` indices that moves at most ``figure`` times the roofline's sectors."""

    name: str
    variant: str
    shape: tuple[int, ...]
    axis: int
    count: int
    figure: float
    dtype: type = F4
    index: type = np.int32
    x: object = contiguous
    out: object = contiguous

    operator = "gather"

    def __str__(self) -> str:
        return f"{self.operator}, {self.name}"

    def inputs(self):
        """Return x and the indices."""
        indices = np.random.default_rng(5).integers(0, self.shape[self.axis], self.count)
        return self.x(self.shape, self.dtype), indices.astype(self.index)

    def call(self, x, indices, mode):
        """Gather; return the output."""
        rest = self.shape[self.axis + 1 :]
        out = self.out((*self.shape[: self.axis], self.count, *rest), self.dtype)
        return ck.gather(x, indices, self.axis, mode=mode, out=out)

    def read(self, x, indices, unit):
        """Return how many units of so many sectors the picked rows lie in, row by row."""
        rows = np.take(sectors(x) // unit, indices, self.axis)
        return different(rows, self.axis + 1)


@dataclass(frozen=True)
class Tuples(Case):
    """A gather_nd of ``count`` tuples a batch; the axis is how many components they have."""

    batch: int = 0

    operator = "gather_nd"

    def inputs(self):
        extents = self.shape[self.batch : self.batch + self.axis]
        rng = np.random.default_rng(5)
        picked = [rng.integers(0, n, (*self.shape[: self.batch], self.count)) for n in extents]
        return self.x(self.shape, self.dtype), np.stack(picked, -1).astype(self.index)

    def call(self, x, indices, mode):
        rest = self.shape[self.batch + self.axis :]
        out = self.out((*indices.shape[:-1], *rest), self.dtype)
        return ck.gather_nd(x, indices, self.batch, mode=mode, out=out)

    def read(self, x, indices, unit):
        batches = np.ix_(*map(np.arange, self.shape[: self.batch]))
        batches = [b[..., np.newaxis] for b in batches]
        rows = (sectors(x) // unit)[(*batches, *np.moveaxis(indices, -1, 0))]
        return different(rows, indices.ndim - 1)


@cache
def run(case, mode="clamp"):
    """Return what the launch moved, and the roofline's sectors of x, of indices, of out."""
    x, indices = case.inputs()
    with ck.simulator.traffic() as report:
        out = case.call(x, indices, mode)
    (found,) = report.kernels
    return found, (
        case.read(x, indices, 1),
        -(-indices.nbytes // SECTOR),
        np.unique(sectors(out)).size,
    )


# The roofline: of x the sectors of each row that is picked, row by row, as if nothing remembered
# them; the indices once; the output once. The model has no cache, so what a kernel reads again and
# finds in L1 counts again.
ROWS = [
    # A warp writes 16 sectors. It reads a sector of indices again that another warp has, or one of
    # x where a row goes on: one too many in 33. The lanes beyond the end read, too: 30 in all.
    Case("rows of 16 B", "rows", (5000, 4), 0, 3200, 1.01),
    Case("rows of 16 B, int64", "rows", (5000, 4), 0, 3200, 1.01, index=np.int64),
    Case("rows of 32 B", "rows", (5000, 8), 0, 3200, 1.01),
    Case("rows of 48 B", "rows", (2000, 12), 0, 3200, 1.03),
    Case("rows of 64 B", "rows", (2000, 16), 0, 3200, 1.01),
    Case("rows of 64 B, int64", "rows", (2000, 16), 0, 3200, 1.01, index=np.int64),
    Case("rows of 80 B", "rows", (1000, 20), 0, 3200, 1.04),
    Case("rows of 96 B, halves", "rows", (1000, 48), 0, 1600, 1.03, F2),
    Case("rows of 240 B", "rows", (500, 60), 0, 800, 1.05),
    Case("rows of 1 KB", "rows", (100, 256), 0, 300, 1.04),
    Case("rows of 4 KB", "rows", (40, 1024), 0, 64, 1.04),
    Case("rows of 4 KB, int64", "rows", (40, 1024), 0, 64, 1.04, index=np.int64),
    Case("rows, padded source", "rows", (1000, 16), 0, 1600, 1.01, x=padded),
    Case("planes of 16 B", "planes", (5, 500, 4), 1, 704, 1.04),
    Case("planes of 64 B", "planes", (5, 200, 16), 1, 704, 1.02),
    Case("planes of 64 B, int64", "planes", (5, 200, 16), 1, 704, 1.05, index=np.int64),
    Case("planes of 1 KB", "planes", (5, 50, 256), 1, 70, 1.04),
]
# Rows of any alignment, read as the words they lie in. A word where two rows of x meet is read for
# both, and a sector of two words can be read by two requests.
SPLICED = [
    Case("rows of 24 B", "spliced", (5000, 6), 0, 3200, 1.02),  # pieces of 8 bytes
    Case("rows of 136 B", "spliced", (500, 34), 0, 640, 1.03),
    Case("rows of 1016 B", "spliced", (100, 254), 0, 64, 1.03),
    Case("rows of 100 B", "spliced", (500, 100), 0, 640, 1.03, U1),  # of 4
    Case("rows of 1020 B", "spliced", (100, 255), 0, 128, 1.03),
    Case("rows of 198 B", "spliced", (500, 99), 0, 256, 1.06, F2),  # of 2
    Case("rows of 17 B", "spliced", (5000, 17), 0, 3072, 1.02, U1),  # of 1
    Case("rows of 99 B", "spliced", (500, 99), 0, 512, 1.03, U1),
    Case("rows of 16001 B", "spliced", (20, 16001), 0, 32, 1.03, U1),
    Case("planes of 100 B", "spliced", (5, 200, 25), 1, 640, 1.03),
]
# A thread puts 16 bytes together from pieces as wide as rows are aligned, so the lanes of one
# instruction lie 16 bytes apart and meet all 16 sectors of the warp's 512 bytes; the next piece
# meets them again. x counts 16 / width times, fewer where the pieces of a row share a sector; all
# but the first should be found in L1. A tile reads its indices once.
PACKED = [
    Case("rows of 3 B", "packed", (5000, 3), 0, 3072, 2.45, U1),
    Case("rows of 6 B", "packed", (5000, 3), 0, 3072, 2.29, F2),
    Case("rows of 12 B", "packed", (5000, 3), 0, 3072, 1.99),
    Case("few scalars a row", "packed", (4, 1000), 1, 1024, 0.98),
]
# Single elements cost a sector each, less where a warp picks two of one sector.
SCALARS = [
    Case("scalars of 4 B", "scalars", (10000,), 0, 20480, 0.99),
    Case("scalars of 8 B", "scalars", (10000,), 0, 20480, 1.00, F8),
    Case("scalars of 8 B, int64", "scalars", (10000,), 0, 20480, 1.00, F8, np.int64),
    # Indices of a thread that are more than 16 bytes are read by vectors 32 or 64 bytes apart: each
    # sector of them twice.
    Case("scalars of 1 B", "scalars", (10000,), 0, 20480, 1.07, U1),
    Case("scalars of 2 B", "scalars", (10000,), 0, 20480, 1.09, F2),
    Case("scalars of 4 B, int64", "scalars", (10000,), 0, 20480, 1.18, index=np.int64),
]
# Blocks take one row each as long as there are less than 4096: every row reads all indices again.
# 16 rows: 15 times 128 sectors too many, of 18560.
LAST_AXIS = [
    Case("last axis", "last_axis", (16, 20000), 1, 1024, 1.11),
    Case("last axis, int64", "last_axis", (16, 20000), 1, 1024, 1.21, index=np.int64),
    Case("last axis of 2 B", "last_axis", (16, 8000), 1, 256, 1.10, F2),
    Case("last axis of 8 B", "last_axis", (16, 20000), 1, 1024, 1.10, F8),
]
# Rows are read once as a whole, which is less than a sector for each element that is picked.
STAGED = [
    Case("staged", "last_axis_staged", (64, 1000), 1, 512, 0.44),
    Case("staged, more indices", "last_axis_staged", (32, 1000), 1, 2048, 0.28),
    Case("staged, 1 B", "last_axis_staged", (64, 1000), 1, 1024, 0.19, U1),
    Case("staged, 8 B", "last_axis_staged", (64, 1000), 1, 512, 0.69, F8),
    Case("staged, int64", "last_axis_staged", (64, 1000), 1, 512, 0.55, index=np.int64),
]
STRIDED = [
    Case("out padded, 16 B", "strided", (1000, 4), 0, 1600, 1.00, out=padded),
    Case("out padded, 64 B", "strided", (1000, 16), 0, 1600, 1.01, out=padded),
    Case("out padded, 1 KB", "strided", (100, 256), 0, 100, 1.05, out=padded),
    # Elements of 4 bytes one by one: an index is read by every warp of its row.
    Case("source transposed", "strided", (1000, 16), 0, 1600, 1.02, x=transposed),
    Case("source reversed, 64 B", "strided", (1000, 16), 0, 1600, 1.10, x=backwards),
    Case("source reversed, 1 KB", "strided", (100, 256), 0, 100, 1.13, x=backwards),
    # Lanes follow out, where neighbours are of different rows of x: a sector for each element.
    Case("out transposed", "strided", (1000, 16), 0, 1600, 4.79, out=transposed),
]
ND_ROWS = [
    # Tiles of 16 KiB read their tuples once; a sector of them that two tiles share, twice.
    Tuples("rows of 16 B by 1", "rows", (5000, 4), 1, 3200, 1.01),
    Tuples("rows of 16 B by 2", "rows", (70, 70, 4), 2, 3200, 1.01),
    Tuples("rows of 16 B by 2, int64", "rows", (70, 70, 4), 2, 3200, 1.01, index=np.int64),
    Tuples("rows of 16 B by 3", "rows", (20, 20, 10, 4), 3, 3200, 1.01),
    Tuples("rows of 16 B by 7, int64", "rows", (3,) * 7 + (4,), 7, 3200, 1.04, index=np.int64),
    Tuples("rows of 32 B by 2", "rows", (70, 70, 8), 2, 3200, 1.01),
    Tuples("rows of 48 B by 2", "rows", (50, 50, 12), 2, 3200, 1.02),
    Tuples("rows of 64 B by 2, int64", "rows", (50, 50, 16), 2, 3200, 1.01, index=np.int64),
    Tuples("rows of 128 B by 2, halves", "rows", (128, 128, 64), 2, 512, 1.01, F2),
    Tuples(
        "batches of rows of 128 B", "rows", (4, 32, 32, 64), 2, 256, 1.01, F2, np.int64, batch=1
    ),
    Tuples("two batches of rows of 16 B", "rows", (3, 5, 9, 9, 4), 2, 256, 0.85, batch=2),
    Tuples("rows of 1 KB", "rows", (10, 10, 256), 2, 300, 1.01),
    Tuples("rows of 4 KB, int64", "rows", (5, 8, 1024), 2, 64, 1.02, index=np.int64),
    Tuples("rows, padded source", "rows", (30, 30, 16), 2, 1600, 1.01, x=padded),
]
ND_SPLICED = [
    Tuples("rows of 24 B", "spliced", (70, 70, 6), 2, 3200, 1.02),
    Tuples("rows of 100 B", "spliced", (20, 20, 100), 2, 640, 1.03, U1),
    Tuples("rows of 17 B, int64", "spliced", (70, 70, 17), 2, 3072, 1.03, U1, np.int64),
    Tuples("rows of 198 B", "spliced", (20, 20, 99), 2, 256, 1.06, F2),
    Tuples("batches of rows of 100 B", "spliced", (5, 10, 20, 25), 2, 128, 1.03, batch=1),
    Tuples("rows of 16001 B", "spliced", (4, 5, 16001), 2, 32, 1.03, U1),
]
# As in gather, the lanes of one instruction lie 16 bytes apart: a sector with several pieces of a
# row is read for each of them.
ND_PACKED = [
    Tuples("rows of 3 B", "packed", (70, 70, 3), 2, 3072, 2.33, U1),
    Tuples("rows of 12 B", "packed", (70, 70, 3), 2, 3072, 1.95),
    Tuples("scalars of 4 B by 2", "packed", (100, 100), 2, 20480, 1.00),
    Tuples("scalars of 4 B by 2, int64", "packed", (100, 100), 2, 20480, 1.00, index=np.int64),
    Tuples("scalars of 4 B by 3", "packed", (30, 30, 30), 3, 20480, 1.00),
    Tuples("scalars of 8 B by 2", "packed", (100, 100), 2, 20480, 1.00, F8),
    Tuples("scalars of 1 B by 2, int64", "packed", (100, 100), 2, 20480, 1.00, U1, np.int64),
    Tuples("batches of scalars", "packed", (8, 1000), 1, 2048, 0.91, batch=1),
]
ND_STRIDED = [
    Tuples("out padded, 64 B", "strided", (30, 40, 16), 2, 1600, 1.07, out=padded),
    Tuples("source reversed, 64 B", "strided", (30, 40, 16), 2, 1600, 1.18, x=backwards),
    Tuples("out transposed", "strided", (30, 40, 16), 2, 1600, 6.08, out=transposed),
]
STREAMED = ROWS + SPLICED + PACKED + SCALARS
ND_STREAMED = ND_ROWS + ND_SPLICED + ND_PACKED
CASES = STREAMED + LAST_AXIS + STAGED + STRIDED + ND_STREAMED + ND_STRIDED


@pytest.mark.parametrize("case", sample(CASES, 2), ids=str)
def test_bytes_moved(case):
    found, roofline = run(case)
    assert re.match(rf"ck_{case.operator}_{case.variant}_[a-z]\d", found.kernel)
    assert found.sectors <= case.figure * sum(roofline)
    assert found.atomics.requests == 0


@pytest.mark.parametrize("case", ROWS + SPLICED + STRIDED[:3] + ND_ROWS + ND_SPLICED, ids=str)
def test_rows_of_16_bytes_and_more_keep_to_the_roofline(case):
    # The roofline has rows as whole halves of a line, 64 bytes, which memory is filled by.
    found, (_, indices, out) = run(case)
    halves = case.read(*case.inputs(), 2)
    assert found.sectors <= 1.05 * (2 * halves + indices + out)


@pytest.mark.parametrize("case", SCALARS + LAST_AXIS, ids=str)
def test_single_elements_cost_at_most_a_fill(case):
    # Memory is filled 64 bytes at a time: two sectors for each pick, and the streams once.
    found, (_, indices, out) = run(case)
    picks = case.count * int(np.prod(case.shape[: case.axis]))
    assert found.sectors <= 2 * picks + indices + out


@pytest.mark.parametrize("case", PACKED, ids=str)
def test_a_sector_is_read_once_for_each_piece_at_most(case):
    found, (x, _, _) = run(case)
    width = int(found.kernel.split("_w")[1].split("_")[0])
    warps = found.stores.requests
    assert found.stores.accesses == 32 * warps
    # A row that two warps share can have a sector twice; each warp reads up to 32 indices twice.
    assert found.loads.sectors <= 16 // width * (x + 2 * warps + 32 * warps)


@pytest.mark.parametrize(
    "case", [c for c in STREAMED + ND_STREAMED if "16001" not in c.name], ids=str
)
def test_stores_are_whole_vectors(case):
    found, (_, _, out) = run(case)
    assert found.stores.sectors == out
    assert found.stores.sectors_per_request == 16
    assert found.stores.bytes_moved == found.stores.bytes_requested


@pytest.mark.parametrize("case", LAST_AXIS + STAGED, ids=str)
def test_stores_of_the_last_axis_are_whole_sectors(case):
    found, (_, _, out) = run(case)
    assert found.stores.sectors == out
    # A thread writes 16 bytes, but of single bytes 8.
    assert found.stores.sectors_per_request == min(16, 8 * np.dtype(case.dtype).itemsize)


@pytest.mark.parametrize("case", STAGED, ids=str)
def test_staged_rows_are_read_once(case):
    found, (_, indices, _) = run(case)
    rows, size = case.shape
    # A row that starts within a sector has one more, and its edges are read apart from the rest.
    row = -(-size * np.dtype(case.dtype).itemsize // SECTOR) + 2
    assert found.loads.sectors <= rows * (indices + row)


@pytest.mark.parametrize("case", STAGED, ids=str)
def test_bank_conflicts_of_picks_at_random(case):
    # Of 32 picks at random, about 3.5 meet in the busiest of 32 banks. The table is read by vectors
    # of up to 16 bytes without conflicts.
    found, _ = run(case)
    assert 1 <= found.shared_loads.wavefronts_per_request < 4.5
    assert 1 <= found.shared_stores.wavefronts_per_request <= 4


@pytest.mark.parametrize("case", ND_ROWS[:8], ids=str)
def test_tuples_are_staged_with_few_bank_conflicts(case):
    # An odd number of components apart: threads read without conflicts, and write with gaps.
    found, _ = run(case)
    words = case.index().itemsize // 4
    assert found.shared_loads.wavefronts_per_request <= words
    assert found.shared_stores.wavefronts_per_request <= 1.7 * words


OF_EACH_MODE = [ROWS[4], SPLICED[0], PACKED[0], SCALARS[0], STAGED[0]]
OF_EACH_MODE += [ND_ROWS[1], ND_SPLICED[0], ND_PACKED[0], ND_STRIDED[0]]


@pytest.mark.parametrize(
    ("case", "mode"), sample(covering(OF_EACH_MODE, ["wrap", "fill"]), 2), ids=str
)
def test_every_mode_moves_the_same(case, mode):
    found, _ = run(case, mode)
    clamped, _ = run(case)
    assert found.kernel != clamped.kernel
    assert (found.loads, found.stores) == (clamped.loads, clamped.stores)
