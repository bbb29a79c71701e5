"""What gather_nd moves, variant by variant, held against what it must move at least."""

from __future__ import annotations

from dataclasses import dataclass

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

F4, F8, F2, U1 = np.float32, np.float64, np.float16, np.uint8


@dataclass(frozen=True)
class Case:
    """A gather of ``count`` tuples a batch that moves at most ``figure`` times the roofline."""

    name: str
    variant: str
    shape: tuple[int, ...]
    tuple_size: int
    count: int
    figure: float
    dtype: type = F4
    index: type = np.int32
    batch: int = 0
    x: object = contiguous
    out: object = contiguous

    def __str__(self) -> str:
        return self.name

    def inputs(self):
        """Return x and the indices."""
        shape, first = self.shape, self.batch
        extents = shape[first : first + self.tuple_size]
        rng = np.random.default_rng(5)
        picked = [rng.integers(0, n, (*shape[:first], self.count)) for n in extents]
        return self.x(shape, self.dtype), np.stack(picked, -1).astype(self.index)

    def run(self, mode="clamp"):
        """Return what the launch moved, and the roofline's sectors of x, of indices, of out."""
        x, indices = self.inputs()
        rest = self.shape[self.batch + self.tuple_size :]
        out = self.out((*indices.shape[:-1], *rest), self.dtype)
        with ck.simulator.traffic() as report:
            ck.gather_nd(x, indices, self.batch, mode=mode, out=out)
        (found,) = report.kernels
        written = np.unique(sectors(out)).size
        return found, (self.read(x, indices, 1), -(-indices.nbytes // SECTOR), written)

    def read(self, x, indices, unit):
        """Return how many units of so many sectors the picked rows lie in, row by row."""
        batches = np.ix_(*map(np.arange, self.shape[: self.batch]))
        batches = [b[..., np.newaxis] for b in batches]
        rows = (sectors(x) // unit)[(*batches, *np.moveaxis(indices, -1, 0))]
        return different(rows, indices.ndim - 1)


# The roofline: of x the sectors of each row that is picked, row by row, as if nothing remembered
# them; the indices once; the output once.
ROWS = [
    # Tiles of 16 KiB read their tuples once; a sector of them that two tiles share, twice.
    Case("rows of 16 B by 1", "rows", (5000, 4), 1, 3200, 1.01),
    Case("rows of 16 B by 2", "rows", (70, 70, 4), 2, 3200, 1.01),
    Case("rows of 16 B by 2, int64", "rows", (70, 70, 4), 2, 3200, 1.01, index=np.int64),
    Case("rows of 16 B by 3", "rows", (20, 20, 10, 4), 3, 3200, 1.01),
    Case("rows of 16 B by 7, int64", "rows", (3,) * 7 + (4,), 7, 3200, 1.04, index=np.int64),
    Case("rows of 32 B by 2", "rows", (70, 70, 8), 2, 3200, 1.01),
    Case("rows of 48 B by 2", "rows", (50, 50, 12), 2, 3200, 1.02),
    Case("rows of 64 B by 2, int64", "rows", (50, 50, 16), 2, 3200, 1.01, index=np.int64),
    Case("rows of 128 B by 2, halves", "rows", (128, 128, 64), 2, 512, 1.01, F2),
    Case("batches of rows of 128 B", "rows", (4, 32, 32, 64), 2, 256, 1.01, F2, np.int64, 1),
    Case("two batches of rows of 16 B", "rows", (3, 5, 9, 9, 4), 2, 256, 0.85, batch=2),
    Case("rows of 1 KB", "rows", (10, 10, 256), 2, 300, 1.01),
    Case("rows of 4 KB, int64", "rows", (5, 8, 1024), 2, 64, 1.02, index=np.int64),
    Case("rows, padded source", "rows", (30, 30, 16), 2, 1600, 1.01, x=padded),
]
SPLICED = [
    Case("rows of 24 B", "spliced", (70, 70, 6), 2, 3200, 1.02),
    Case("rows of 100 B", "spliced", (20, 20, 100), 2, 640, 1.03, U1),
    Case("rows of 17 B, int64", "spliced", (70, 70, 17), 2, 3072, 1.03, U1, np.int64),
    Case("rows of 198 B", "spliced", (20, 20, 99), 2, 256, 1.06, F2),
    Case("batches of rows of 100 B", "spliced", (5, 10, 20, 25), 2, 128, 1.03, batch=1),
    Case("rows of 16001 B", "spliced", (4, 5, 16001), 2, 32, 1.03, U1),
]
# As in gather, the lanes of one instruction lie 16 bytes apart: a sector with several pieces of a
# row is read for each of them.
PACKED = [
    Case("rows of 3 B", "packed", (70, 70, 3), 2, 3072, 2.33, U1),
    Case("rows of 12 B", "packed", (70, 70, 3), 2, 3072, 1.95),
    Case("scalars of 4 B by 2", "packed", (100, 100), 2, 20480, 1.00),
    Case("scalars of 4 B by 2, int64", "packed", (100, 100), 2, 20480, 1.00, index=np.int64),
    Case("scalars of 4 B by 3", "packed", (30, 30, 30), 3, 20480, 1.00),
    Case("scalars of 8 B by 2", "packed", (100, 100), 2, 20480, 1.00, F8),
    Case("scalars of 1 B by 2, int64", "packed", (100, 100), 2, 20480, 1.00, U1, np.int64),
    Case("batches of scalars", "packed", (8, 1000), 1, 2048, 0.91, batch=1),
]
STRIDED = [
    Case("out padded, 64 B", "strided", (30, 40, 16), 2, 1600, 1.07, out=padded),
    Case("source reversed, 64 B", "strided", (30, 40, 16), 2, 1600, 1.18, x=backwards),
    Case("out transposed", "strided", (30, 40, 16), 2, 1600, 6.08, out=transposed),
]
CASES = ROWS + SPLICED + PACKED + STRIDED


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bytes_moved(case):
    found, roofline = case.run()
    assert found.kernel.startswith(f"ck_gather_nd_{case.variant}_")
    assert found.sectors <= case.figure * sum(roofline)
    assert found.atomics.requests == 0


@pytest.mark.parametrize("case", ROWS + SPLICED, ids=str)
def test_slices_of_16_bytes_and_more_keep_to_the_roofline(case):
    # The roofline has rows as whole halves of a line, 64 bytes, which memory is filled by.
    found, (_, indices, out) = case.run()
    halves = case.read(*case.inputs(), 2)
    assert found.sectors <= 1.05 * (2 * halves + indices + out)


@pytest.mark.parametrize("case", ROWS + SPLICED[:5] + PACKED, ids=str)
def test_stores_are_whole_vectors(case):
    found, (_, _, out) = case.run()
    assert found.stores.sectors == out
    assert found.stores.sectors_per_request == 16


@pytest.mark.parametrize("case", ROWS[:8], ids=str)
def test_tuples_are_staged_with_few_bank_conflicts(case):
    # An odd number of components apart: threads read without conflicts, and write with gaps.
    found, _ = case.run()
    words = case.index().itemsize // 4
    assert found.shared_loads.wavefronts_per_request <= words
    assert found.shared_stores.wavefronts_per_request <= 1.7 * words


@pytest.mark.parametrize("mode", ["wrap", "fill"])
@pytest.mark.parametrize("case", [ROWS[1], SPLICED[0], PACKED[0], STRIDED[0]], ids=str)
def test_every_mode_moves_the_same(case, mode):
    found, _ = case.run(mode)
    clamped, _ = case.run()
    assert found.kernel != clamped.kernel
    assert (found.loads, found.stores) == (clamped.loads, clamped.stores)
