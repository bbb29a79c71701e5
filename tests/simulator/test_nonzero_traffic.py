"""What nonzero_coordinates moves, held against its roofline: x once, the coordinates once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import Requests
from tests.helpers.roofline import SECTOR, backwards, contiguous, misaligned, padded
from tests.helpers.samples import covering, sample

C16, F8, F4, F2, U1 = np.complex128, np.float64, np.float32, np.float16, np.uint8
U4, I8 = np.uint32, np.int64
MEGA = 2**20


def swapped(shape, dtype):
    """Return an array whose last two dimensions have changed places in memory."""
    return np.zeros((*shape[:-2], shape[-1], shape[-2]), dtype).swapaxes(-1, -2)


def doubled(shape, dtype):
    """Return DirectML's transposed coordinates: two words for each, column after column."""
    rows, columns = shape
    return np.zeros((columns, rows, 2), dtype)[..., 0].T


def by_axis(shape, dtype):
    return np.zeros(shape[::-1], dtype).T


@dataclass(frozen=True)
class Case:
    """A call that moves at most ``figure`` times the roofline's bytes."""

    name: str
    shape: tuple[int, ...]
    density: float
    figure: float
    dtype: type = U1
    kind: type = U4
    variant: str = "stream"
    x: object = contiguous
    out: object = contiguous

    def __str__(self) -> str:
        return self.name

    def run(self):
        """Return what the launch moved, and the roofline: sectors of x, and of coordinates."""
        x = self.x(self.shape, self.dtype)
        x[...] = np.random.default_rng(3).random(self.shape) < self.density
        coordinates = self.out((x.size, x.ndim), self.kind)
        count = np.zeros(1, np.uint32)
        with ck.simulator.traffic() as report:
            ck.nonzero_coordinates(x, dtype=self.kind, out=(count, coordinates))
        (found,) = report.kernels
        assert found.kernel.startswith(f"ck_nonzero_coordinates_{self.variant}_")
        written = int(count[0]) * x.ndim * coordinates.itemsize
        return found, (x.nbytes / SECTOR, written / SECTOR)


def of_arrays(found, kind):
    """Return the requests to x or to the results, without what blocks tell each other."""
    result = Requests()
    for line in found.lines:
        if line.kind == kind and "look_back.cuh" not in str(line.stack):
            result.include(line)
    return result


def packed(density, shape, dtype=U1, kind=U4, **more):
    """Return a case of a contiguous x: 1.03 up to a density of 1 %, 1.10 from 50 % on."""
    figure = 1.03 if density <= 0.01 else 1.10
    sizes = "x".join(map(str, shape))
    options = "".join(f", {getattr(m, '__name__', m)}" for m in more.values())
    name = f"{density:.1%} of {sizes} {np.dtype(dtype).name}, {np.dtype(kind).name}{options}"
    return Case(name, shape, density, figure, dtype, kind, **more)


LINE, SPACE = (MEGA,), (16, 256, 256)
SPARSE, DENSE = (0, *sample([0.001], 2, 1), 0.01), (0.5, *sample([0.99], 2, 1), 1)
CASES = [
    *(packed(d, shape) for d in SPARSE + DENSE for shape in (LINE, SPACE)),
    *(packed(d, (16, 128, 128), F4) for d in SPARSE + DENSE),
    *(packed(d, (MEGA // 4,), F4) for d in (0.01, 0.5)),
    *(packed(d, (16, 256, 128), F2, I8) for d in (0.01, 0.5)),
    *(packed(d, (MEGA // 8,), F8) for d in (0.01, 0.5)),
    *(packed(d, (MEGA // 16,), C16, I8) for d in (0.01, 0.5)),
    *(packed(d, SPACE, kind=k, out=by_axis) for d, k in ((0.01, U4), (0.5, I8))),
    packed(0.01, LINE, x=misaligned),
    packed(0.5, (2, 3, 4, 2, 2, 8, 512), kind=I8),
    packed(0.5, (40_000,)),  # one block
    packed(0.5, (4, 100, 100), F4, I8, out=by_axis),
]
# Other layouts. A lane reads 16 bytes of a column where 32 move; a cache would keep the rest.
STRIDED = [
    Case("transposed bytes", (256, 2048), 0.01, 2.1, variant="columns", x=swapped),
    Case("transposed halves", (256, 2048), 0.5, 1.5, F2, variant="columns", x=swapped),
    Case("transposed bytes, wide", (64, 16384), 0.5, 2.5, variant="parts", x=swapped),
    Case("transposed halves, wide", (32, 10000), 0.5, 2.05, F2, variant="parts", x=swapped),
    Case("transposed floats", (4, 128, 1024), 0.01, 2.1, F4, variant="columns", x=swapped),
    Case("transposed doubles", (128, 1024), 0.01, 2.1, F8, I8, "columns", swapped),
    Case("rows of a wider array", (256, 1000), 0.01, 1.2, F4, variant="strided", x=padded),
    Case("backwards", (MEGA // 4,), 0.01, 1.10, F4, variant="strided", x=backwards),
    Case("doubled coordinates", (256, 1024), 0.5, 1.9, out=doubled),
]


@pytest.mark.parametrize("case", sample(CASES, 3), ids=str)
def test_bytes_moved(case):
    found, (read, written) = case.run()
    arrays = of_arrays(found, "load").sectors + of_arrays(found, "store").sectors
    assert arrays <= case.figure * (read + written)
    # What blocks tell each other stays in the L2 cache.
    assert found.sectors - arrays <= max(512, read / 4)
    # x is read once, elements at its ends one by one.
    assert of_arrays(found, "load").sectors <= read + 32
    # Coordinates are written once, 4 bytes more are the count's, ...
    stores = of_arrays(found, "store")
    assert stores.bytes_requested == written * SECTOR + 4
    # ... in vectors: a run, of which a warp has one for each tile or 128 rows and more, has at most
    # three coordinates more at each end.
    runs = 8 * (read * SECTOR / 2**14 + 1) + written * SECTOR / 128
    assert stores.accesses <= written * SECTOR / 16 + 6 * runs


@pytest.mark.parametrize("case", sample(STRIDED, 2), ids=str)
def test_bytes_moved_in_other_layouts(case):
    found, roofline = case.run()
    arrays = of_arrays(found, "load").sectors + of_arrays(found, "store").sectors
    assert arrays <= case.figure * sum(roofline)


@pytest.mark.parametrize(("columns", "kind"), covering(range(1, 9), [U4, I8]))
def test_rows_are_put_together_without_conflicts(columns, kind):
    """Lanes write rows side by side; of 6 coordinates, those of an axis are in half the banks."""
    found, _ = Case("rows", (2,) * (columns - 1) + (4096,), 1, 1, kind=kind).run()
    lines = [line for line in found.lines if line.kind == "shared store"]
    lines = [line for line in lines if "coordinate_writer.cuh" in line.stack[0][0]]
    assert lines
    for line in lines:
        least = max(line.requests, line.bytes_requested / 128)
        # A buffer of 8 coordinates of 8 bytes has no row for each lane.
        least *= 2 if columns == 6 else 4 / 3 if columns * np.dtype(kind).itemsize > 48 else 1
        assert line.wavefronts <= 1.05 * least


def test_masks_are_built_without_conflicts():
    found, _ = packed(0, LINE).run()
    lines = [line for line in found.lines if line.kind.startswith("shared")]
    least = sum(max(line.requests, line.bytes_requested // 128) for line in lines)
    assert sum(line.wavefronts for line in lines) <= 1.1 * least
