"""What the variants of gather_nd move: `tests.operators.test_traffic`."""

from __future__ import annotations

import numpy as np

from perf.cases.gather_nd import GatherNDWorkload
from tests.helpers.rows import each
from tests.helpers.samples import covering, sample
from tests.helpers.traffic import (
    F2,
    F4,
    F8,
    I4,
    I8,
    U1,
    Case,
    assert_mode_moves_the_same,
    backwards,
    hold_in_vectors,
    of_each_variant,
    padded,
    rare,
    run,
    transposed,
)


def gather_nd(shape, components, count, dtype=F4, index=I4, batch=0):
    indices = (*shape[:batch], count, components)
    return GatherNDWorkload(shape, indices, batch, dtype, index)


STRIDED = [
    Case("strided", 1.19, gather_nd((30, 40, 16), 2, 1600), out=padded),
    Case("strided", 1.18, gather_nd((30, 40, 16), 2, 1600), x=backwards),
    Case("strided", 6.07, gather_nd((30, 40, 16), 2, 1600), out=transposed),
]
# Tiles of 16 KiB read their tuples once; a sector of them that two tiles share, twice.
STAGED = [
    Case("rows", 1.01, gather_nd((5000, 4), 1, 3200)),
    Case("rows", 1.01, gather_nd((70, 70, 4), 2, 3200)),
    Case("rows", 1.01, gather_nd((70, 70, 4), 2, 3200, index=I8)),
    Case("rows", 1.04, gather_nd((*(3,) * 7, 4), 7, 3200, index=I8)),
    Case("rows", 1.02, gather_nd((50, 50, 12), 2, 3200)),
]
GATHER_ND = [
    Case("rows", 1.00, gather_nd((128, 128, 64), 2, 512, F2)),
    Case("rows", 0.84, gather_nd((3, 5, 9, 9, 4), 2, 256, batch=2)),
    Case("rows", 1.00, gather_nd((5, 8, 1024), 2, 64, index=I8)),
    Case("rows", 1.12, gather_nd((30, 30, 16), 2, 1600), x=padded),
    Case("spliced", 1.01, gather_nd((70, 70, 6), 2, 3200)),
    Case("spliced", 1.03, gather_nd((20, 20, 100), 2, 640, U1)),
    *rare(Case("spliced", 1.02, gather_nd((70, 70, 17), 2, 3072, U1, I8))),
    *rare(Case("spliced", 1.03, gather_nd((20, 20, 99), 2, 256, F2))),
    Case("spliced", 1.02, gather_nd((5, 10, 20, 25), 2, 128, batch=1)),
    Case("spliced", 1.03, gather_nd((4, 5, 16001), 2, 32, U1)),
    # As in gather: a sector with several pieces of a row is read for each of them.
    Case("packed", 2.34, gather_nd((70, 70, 3), 2, 3072, U1)),
    Case("packed", 1.95, gather_nd((70, 70, 3), 2, 3072)),
    Case("packed", 1.00, gather_nd((100, 100), 2, 20480)),
    Case("packed", 1.00, gather_nd((100, 100), 2, 20480, F8)),
    *rare(Case("packed", 0.98, gather_nd((100, 100), 2, 20480, U1, I8))),
    Case("packed", 0.91, gather_nd((8, 1000), 1, 2048, batch=1)),
]


CASES = STRIDED + STAGED + GATHER_ND
hold = hold_in_vectors


@each("case", STAGED, ids=str)
def test_tuples_are_staged_with_few_bank_conflicts(case):
    # An odd number of components apart: threads read without conflicts, and write with gaps.
    kernel, _ = run(case)
    words = np.dtype(case.workload.index_dtype).itemsize // 4
    assert kernel.shared_loads.wavefronts_per_request <= words
    assert kernel.shared_stores.wavefronts_per_request <= 1.7 * words


@each(("case", "mode"), sample(covering(of_each_variant(CASES), ["wrap", "fill"]), 4))
def test_every_mode_moves_the_same(case, mode):
    assert_mode_moves_the_same(case, mode)
