"""What the variants of the searches move: `tests.operators.test_traffic`."""

from __future__ import annotations

import re

import numpy as np

import cudakern as ck
from cudakern.simulator import Requests, traffic
from perf.cases.base import SECTOR_BYTES, nbytes
from perf.cases.nonzero_coordinates import NonzeroWorkload
from tests.helpers.nonzero import two_launches
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
    Case("strided", 1.14, nonzero((256, 1000), 0.01, F4), x=padded),
    Case("strided", 1.01, nonzero((MEGA // 4,), 0.01, F4), x=backwards),
    Case("stream", 1.83, nonzero((256, 1024), 0.5), out=doubled),
]
# Two launches: the first reads x once and writes bits once, the second reads these and writes rows
# as above. The figure is of the rows.
TWO_LAUNCHES = [
    Case("bits", 1.01, nonzero(LINE, 0.01)),
    Case("bits", 1.10, nonzero((MEGA,), 0.5, F2, I8)),
    Case("columns", 1.10, nonzero((256, 4096), 0.5), x=transposed),
    Case("columns", 1.15, nonzero((256, 1000), 0.01, F4), x=transposed),
    Case("columns", 1.10, nonzero((4, 128, 512), 0.5, F2, I8), x=swapped),
    Case("strided_bits", 1.10, nonzero((MEGA // 4,), 0.5, F4), x=backwards),
    Case("rows", 1.10, nonzero(LINE, 1)),
    *rare(
        Case("columns", 1.10, nonzero((128, 1024), 0.5, F8, I8), x=swapped),
        Case("bits", 1.10, nonzero((MEGA // 16,), 0.5, C16)),
    ),
]


def of_arrays(kernel, *kinds):
    """Return the requests to x or to the results, without what blocks of a search share."""
    requests = Requests()
    for line in kernel.lines:
        if line.kind in kinds and "look_back.cuh" not in str(line.stack):
            requests.include(line)
    return requests


CASES = NONZERO + NONZERO_LAYOUTS + TWO_LAUNCHES


def hold(case):
    """Hold arrays against the least, and what blocks exchange against a share of it."""
    if case in TWO_LAUNCHES:
        hold_both(case)
        return
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


def hold_both(case):
    """Hold what each of two launches reads and writes against the least."""
    x = case.x(case.workload.inputs(np, 5)[0])
    with two_launches(256), traffic() as report:
        found = ck.nonzero_coordinates(x, dtype=case.workload.result)
    first, rows = report.kernels
    assert re.search(f"_{case.variant}_", first.kernel if case.variant != "rows" else rows.kernel)
    # Rows of bits have whole groups of words; a tile has 65,536 bits, and counts of 16 bytes.
    wide = -(-x.shape[-1] // 256) * 256 if "columns" in first.kernel else x.shape[-1]
    bits = x.size // x.shape[-1] * wide / 8 / SECTOR_BYTES
    tiles = bits * SECTOR_BYTES * 8 / 65536
    assert first.loads.sectors <= 1.01 * x.nbytes / SECTOR_BYTES
    assert first.stores.sectors <= 1.05 * bits + 256 + 8 * tiles  # a store for each part's count
    assert rows.loads.sectors <= 1.05 * bits + 256 + (tiles + 1) ** 2
    written = int(found.count[0]) * x.ndim * found.coordinates.itemsize
    assert rows.stores.bytes_requested <= written + 4
    assert rows.stores.sectors <= case.figure * written / SECTOR_BYTES + 2 * tiles


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
