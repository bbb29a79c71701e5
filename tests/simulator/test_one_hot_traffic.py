"""What one_hot moves, variant by variant, held against what it must move at least."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.roofline import SECTOR, backwards, misaligned, padded, transposed

C16, F8, F4, F2, U1 = np.complex128, np.float64, np.float32, np.float16, np.uint8
I4, I8 = np.int32, np.int64


def aligned(shape, dtype):
    """Return an array on a line of memory."""
    return misaligned(shape, dtype, 0)


def sectors_of(array):
    """Return how many sectors an array lies in, where the simulator puts it."""
    low, _ = np.lib.array_utils.byte_bounds(array)
    places = np.full((), array.ctypes.data - low + low % 16)
    for size, stride in zip(array.shape, array.strides, strict=True):
        places = np.add.outer(places, np.arange(size) * stride)
    return np.unique(places // SECTOR).size


@dataclass(frozen=True)
class Case:
    """A call that moves at most ``figure`` times the roofline's sectors."""

    name: str
    variant: str
    shape: tuple[int, ...]
    depth: int
    figure: float
    dtype: type = F4
    index: type = I4
    axis: int = -1
    out: object = aligned
    values: object = (0, 1)

    def __str__(self) -> str:
        return self.name

    def run(self, highest=None):
        """Return what the launch moved, and the roofline's sectors of indices and out."""
        indices = aligned(self.shape, self.index)
        random = np.random.default_rng(5)
        indices[...] = random.integers(0, highest or self.depth, self.shape)
        axis = self.axis % (len(self.shape) + 1)
        out = self.out((*self.shape[:axis], self.depth, *self.shape[axis:]), self.dtype)
        given = self.values
        values = given if isinstance(given, tuple) else given.astype(self.dtype)
        with ck.simulator.traffic() as report:
            ck.one_hot(indices, self.depth, axis=axis, values=values, dtype=self.dtype, out=out)
        (found,) = report.kernels
        assert found.kernel.startswith(f"ck_one_hot_{self.variant}_")
        return found, (-(-indices.nbytes // SECTOR), sectors_of(out))


# The roofline: the indices once, the output once. The model has no cache, so what a kernel reads
# again and finds in L1 counts again.


def rows(dtype, index, nbytes, out):
    """Return a case of rows of about so many bytes, the depth odd if there are more than 32."""
    width = np.dtype(dtype).itemsize
    depth = max(nbytes // width, 2)
    depth += nbytes > 32 and depth % 2 == 0
    count = max(300_000 // (depth * width), 5) // 8 * 8 + 3
    where = "aligned" if out is aligned else "misaligned"
    name = f"{depth} of {width} B, {np.dtype(index).name}, {where}"
    return Case(name, "stream", (count,), depth, 1.01, dtype, index, out=out)


# Tiles of whole rows read their indices once, at most two sectors more. Tiles that are a part of a
# row read one or two indices each: a sector for 8 KiB.
ROWS = [
    rows(*case)
    for case in product(
        (U1, F2, F4, F8, C16), (I4, I8), (32, 48, 200, 1000, 4000, 100_000), (aligned, misaligned)
    )
    if case[0] is not C16 or case[3] is aligned  # 16 bytes behind a line is on a vector, still
]
SHORT = [
    Case("1 of 1 B", "stream", (30_003,), 1, 1.01, U1),
    Case("1 of 16 B", "stream", (3003,), 1, 1.01, C16),
    Case("3 of 1 B, int64", "stream", (30_003,), 3, 1.01, U1, I8),
    Case("10 of 1 B", "stream", (30_003,), 10, 1.01, U1),
    Case("2 of 4 B, misaligned", "stream", (10_003,), 2, 1.02, out=misaligned),
    Case("31 of 1 B, misaligned", "stream", (10_003,), 31, 1.01, U1, out=misaligned),
]
# Whole planes of a row, or parts of them; indices are read once, but for the sector in which two
# parts of a plane that is no multiple of 32 bytes meet.
INNER = [
    Case("21 planes of 4096 B", "planes", (4, 4096), 21, 1.00, U1, axis=1),
    Case("21 planes of 4096 B, int64", "planes", (4, 4096), 21, 1.00, U1, I8, axis=1),
    Case("21 planes of 3843 B", "planes", (4, 3843), 21, 1.02, U1, axis=1),
    Case("21 planes of 3843 B, int64", "planes", (4, 3843), 21, 1.02, U1, I8, axis=1),
    Case(
        "21 planes of 3843 B, misaligned", "planes", (4, 3843), 21, 1.02, U1, axis=1, out=misaligned
    ),
    Case("21 planes of 15372 B", "planes", (4, 3843), 21, 1.01, axis=1),
    Case("21 planes of 15372 B, misaligned", "planes", (4, 3843), 21, 1.01, axis=1, out=misaligned),
    Case("64 planes of 4096 B", "planes", (2, 1024), 64, 1.00, axis=1),
    Case("64 planes of 4096 B, int64", "planes", (2, 1024), 64, 1.00, index=I8, axis=1),
    Case("33 planes of 6008 B", "planes", (2, 751), 33, 1.01, F8, axis=1),
    Case("7 planes of 100 KB", "planes", (50_000,), 7, 1.00, F2, axis=0),
    Case("9 planes of 16016 B", "planes", (1001,), 9, 1.01, C16, axis=0),
    Case("90 planes of 32 B", "stream", (50, 16), 90, 1.00, F2, axis=1),
    Case("9000 planes of 64 B", "stream", (16,), 9000, 1.01, axis=0),
    Case("501 planes of 7 B", "stream", (9, 7), 501, 1.01, U1, axis=1),
    # More planes than a tile has: each group of them reads the indices.
    Case("300 planes of 4000 B", "planes", (1000,), 300, 1.01, axis=0),
    Case("300 planes of 4000 B, int64", "planes", (1000,), 300, 1.01, index=I8, axis=0),
    Case("300 planes of 2000 B, int64", "planes", (1000,), 300, 1.02, F2, I8, axis=0),
]
PAIR = np.array([[0], [1]])
IN_MEMORY = [
    # A sector more for each tile; two, if off and on lie in two.
    Case("values in memory", "stream", (20_003,), 33, 1.01, values=PAIR),
    Case("values in memory, complex", "stream", (20_003,), 5, 1.01, C16, values=PAIR),
    Case("planes, values in memory", "planes", (2, 1024), 64, 1.01, axis=1, values=PAIR),
]
# Elements one by one: an index is read by every warp of its row, a sector for 32 elements.
STRIDED = [
    Case("out padded, 4 B", "strided", (200,), 33, 1.32, out=padded),
    Case("out padded, 16 B", "strided", (200,), 33, 1.10, C16, out=padded),
    Case("out padded, 1 B", "strided", (200,), 63, 2.00, U1, out=padded),
    Case("out reversed", "strided", (200,), 33, 1.71, out=backwards),
    Case("every second element", "strided", (200,), 33, 1.14,
         out=lambda shape, dtype: np.zeros((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]),
]  # fmt: skip
# The same layouts, seen in the order of their memory.
PERMUTED = [
    Case("out transposed", "planes", (3000,), 33, 1.00, out=transposed),
    Case("out transposed, int64", "planes", (4096,), 33, 1.00, index=I8, out=transposed),
    Case("out transposed, the first axis", "stream", (3003,), 33, 1.00, axis=0, out=transposed),
]
PACKED = ROWS + SHORT + INNER + PERMUTED
CASES = PACKED + IN_MEMORY + STRIDED


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bytes_moved(case):
    found, roofline = case.run()
    assert found.sectors <= case.figure * sum(roofline)
    assert found.atomics.requests == 0


@pytest.mark.parametrize("case", PACKED, ids=str)
def test_each_byte_of_the_output_is_written_once(case):
    found, (_, written) = case.run()
    size = int(np.prod(case.shape)) * case.depth * np.dtype(case.dtype).itemsize
    assert found.stores.bytes_requested == size
    # Only the ends of the output, or of a row of planes, are written apart from the rest.
    rows = case.shape[0] if case.variant == "planes" and case.axis == 1 else 1
    assert found.stores.sectors <= written + 6 * rows
    pieces = 16 // np.dtype(case.dtype).itemsize
    assert found.stores.accesses <= size / 16 + 2 * rows * (pieces - 1)


@pytest.mark.parametrize("case", [c for c in PACKED if c.figure == 1.0], ids=str)
def test_indices_are_read_once(case):
    found, (read, _) = case.run()
    assert found.loads.sectors == read
    assert found.loads.accesses == np.prod(case.shape)
    assert found.shared_atomics.accesses == np.prod(case.shape)


@pytest.mark.parametrize("case", ROWS[::7], ids=str)
def test_bits_are_read_without_conflicts(case):
    found, _ = case.run()
    lines = [line for line in found.lines if line.kind == "shared load"]
    bits = [line for line in lines if line.bytes_requested == 4 * line.accesses]
    assert sum(line.accesses for line in bits) == found.stores.accesses
    # Two words of a bank can meet where the ends of a tile are written.
    assert sum(line.wavefronts for line in bits) <= 1.1 * sum(line.requests for line in bits)


@pytest.mark.parametrize("case", [ROWS[0], ROWS[30], INNER[2], INNER[7], STRIDED[0]], ids=str)
def test_what_the_indices_say_does_not_change_what_moves(case):
    found, _ = case.run()
    same, _ = case.run(highest=1)
    assert (found.loads, found.stores) == (same.loads, same.stores)
