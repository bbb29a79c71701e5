"""What the variants of the searches move: `tests.operators.test_traffic`."""

from __future__ import annotations

import numpy as np

from cudakern.simulator import Requests
from perf.cases.base import SECTOR_BYTES, nbytes
from perf.cases.nonzero_coordinates import NonzeroWorkload
from tests.helpers.rows import each
from tests.helpers.samples import covering
from tests.helpers.traffic import (
    C16,
    F2,
    F4,
    F8,
    I8,
    MEGA,
    U1,
    U4,
    Case,
    backwards,
    doubled,
    least,
    misaligned,
    padded,
    rare,
    run,
    swapped,
    transposed,
)


def nonzero(shape, density, dtype=U1, kind=U4, pattern="random"):
    return NonzeroWorkload(shape, dtype, density, pattern, kind)


def packed(density, shape, dtype=U1, kind=U4, **layouts):
    """Return a search of a packed x: 1.03 up to a density of 1 %, 1.10 from 50 % on."""
    figure = 1.03 if density <= 0.01 else 1.10
    return Case("stream", figure, nonzero(shape, density, dtype, kind), **layouts)


LINE, SPACE = (MEGA,), (16, 256, 256)
# Without the words that blocks exchange.
NONZERO = [
    *(packed(d, LINE) for d in (0, 0.01, 0.5)),
    *(packed(d, SPACE) for d in (0.01, 1)),
    *(packed(d, (16, 128, 128), F4) for d in (0, 1)),
    packed(0.5, (MEGA // 4,), F4),
    packed(0.5, (16, 256, 128), F2, I8),
    *rare(packed(0.01, (MEGA // 16,), C16, I8)),
    packed(0.01, SPACE, out=transposed),
    packed(0.01, LINE, x=misaligned),
    packed(0.5, (2, 3, 4, 2, 2, 8, 512), F4, I8),
    packed(0.5, (40_000,)),  # one block
    packed(0.5, (4, 100, 100), F4, I8, out=transposed),
    *rare(*(packed(d, (MEGA // 8,), F8) for d in (0.01, 0.5))),
]
# Other layouts. A lane reads 16 bytes of a column where 32 move; a cache would keep the rest.
NONZERO_LAYOUTS = [
    Case("parts", 2.44, nonzero((64, 16384), 0.5), x=swapped),
    Case("columns", 1.98, nonzero((4, 128, 1024), 0.01, F4), x=swapped),
    Case("strided", 1.14, nonzero((256, 1000), 0.01, F4), x=padded),
    Case("strided", 1.01, nonzero((MEGA // 4,), 0.01, F4), x=backwards),
    Case("stream", 1.83, nonzero((256, 1024), 0.5), out=doubled),
    *rare(
        Case("columns", 1.93, nonzero((256, 2048), 0.01), x=swapped),
        Case("columns", 1.35, nonzero((256, 2048), 0.5, F2), x=swapped),
        Case("columns", 1.99, nonzero((128, 1024), 0.01, F8, I8), x=swapped),
        Case("parts", 2.03, nonzero((32, 10000), 0.5, F2), x=swapped),
    ),
]


def of_arrays(kernel, *kinds):
    """Return the requests to x or to the results, without what blocks of a search share."""
    requests = Requests()
    for line in kernel.lines:
        if line.kind in kinds and "look_back.cuh" not in str(line.stack):
            requests.include(line)
    return requests


CASES = NONZERO + NONZERO_LAYOUTS


def hold(case):
    """Hold arrays against the least, and what blocks exchange against a share of it."""
    kernel, written = run(case)
    arrays = of_arrays(kernel, "load", "store").sectors
    assert arrays <= case.figure * least(case)
    # The words that blocks exchange stay in the L2 cache.
    read = nbytes(case.workload.operands[0])
    assert kernel.sectors - arrays <= max(512, read / SECTOR_BYTES / 4)
    if case not in NONZERO:
        return
    assert of_arrays(kernel, "load").sectors <= read / SECTOR_BYTES + 32  # elements at the ends
    stores = of_arrays(kernel, "store")
    assert stores.bytes_requested == written
    # A run, of which a warp has one for each tile or 128 rows and more, has at most three
    # coordinates more at each end.
    runs = 8 * (read / 2**14 + 1) + written / 128
    assert stores.accesses <= written / 16 + 6 * runs


@each(("columns", "kind"), covering(range(1, 9), [U4, I8]))
def test_rows_are_put_together_without_conflicts(columns, kind):
    """Lanes write rows side by side; of 6 coordinates, those of an axis are in half the banks."""
    kernel, _ = run(Case("stream", 1, nonzero((*(2,) * (columns - 1), 4096), 1, kind=kind)))
    lines = [line for line in kernel.lines if line.kind == "shared store"]
    lines = [line for line in lines if "coordinate_writer.cuh" in line.stack[0][0]]
    assert lines
    for line in lines:
        fewest = max(line.requests, line.bytes_requested / 128)
        # A buffer of 8 coordinates of 8 bytes has no row for each lane.
        fewest *= 2 if columns == 6 else 4 / 3 if columns * np.dtype(kind).itemsize > 48 else 1
        assert line.wavefronts <= 1.05 * fewest


def test_masks_are_built_without_conflicts():
    kernel, _ = run(packed(0, LINE))
    lines = [line for line in kernel.lines if line.kind.startswith("shared")]
    fewest = sum(max(line.requests, line.bytes_requested // 128) for line in lines)
    assert sum(line.wavefronts for line in lines) <= 1.1 * fewest
