"""What the variants of gather move: `tests.operators.test_traffic`."""

from __future__ import annotations

from perf.cases.gather import GatherWorkload
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


def gather(shape, axis, count, dtype=F4, index=I4):
    return GatherWorkload(shape, axis, (count,), dtype, index, "random")


GATHER = [
    # A warp writes 16 sectors. It reads a sector of indices again that another warp has, or one of
    # x where a row goes on: one too many in 33.
    Case("rows", 1.01, gather((5000, 4), 0, 3200)),
    Case("rows", 1.01, gather((5000, 4), 0, 3200, index=I8)),
    Case("rows", 1.03, gather((2000, 12), 0, 3200)),
    Case("rows", 1.04, gather((40, 1024), 0, 64)),
    Case("rows", 1.13, gather((1000, 16), 0, 1600), x=padded),
    Case("planes", 1.03, gather((5, 500, 4), 1, 704)),
    Case("planes", 1.04, gather((5, 50, 256), 1, 70)),
    *rare(Case("planes", 1.04, gather((5, 200, 16), 1, 704, index=I8))),
    # Rows of any alignment, read as the words they lie in. A word where two rows of x meet is read
    # for both, and a sector of two words can be read by two requests.
    Case("spliced", 1.01, gather((5000, 6), 0, 3200)),  # pieces of 8 bytes
    Case("spliced", 1.03, gather((100, 255), 0, 128)),  # of 4
    *rare(Case("spliced", 1.03, gather((500, 99), 0, 256, F2))),  # of 2
    Case("spliced", 1.01, gather((5000, 17), 0, 3072, U1)),  # of 1
    Case("spliced", 1.03, gather((5, 200, 25), 1, 640)),
    # A thread puts 16 bytes together from pieces as wide as rows are aligned, so the lanes of one
    # instruction lie 16 bytes apart and meet all 16 sectors of the warp's 512 bytes; the next piece
    # meets them again. All but the first should be found in L1.
    *rare(Case("packed", 2.29, gather((5000, 3), 0, 3072, F2))),
    Case("packed", 0.99, gather((4, 1000), 1, 1024)),
    # Single elements cost a sector each, less where a warp picks two of one sector.
    *rare(Case("scalars", 1.00, gather((10000,), 0, 20480, F8))),
    Case("scalars", 1.00, gather((10000,), 0, 20480, F8, I8)),
    # Indices of a thread that are more than 16 bytes are read by vectors 32 or 64 bytes apart: each
    # sector of them twice.
    *rare(Case("scalars", 1.18, gather((10000,), 0, 20480, index=I8))),
]
# Blocks take one row each as long as there are less than 4096: every row reads all indices again.
LAST_AXIS = [
    Case("last_axis", 1.21, gather((16, 20000), 1, 1024, index=I8)),
    *rare(Case("last_axis", 1.10, gather((16, 20000), 1, 1024, F8))),
]
# Rows are read once as a whole, which is less than a sector for each element that is picked.
STAGED = [
    Case("last_axis_staged", 0.44, gather((64, 1000), 1, 512)),
    Case("last_axis_staged", 0.28, gather((32, 1000), 1, 2048)),
    Case("last_axis_staged", 0.19, gather((64, 1000), 1, 1024, U1)),
    *rare(Case("last_axis_staged", 0.69, gather((64, 1000), 1, 512, F8))),
]
# The same; the blocks read all indices, once each.
WINDOWS = [Case("windows", 0.56, gather((2112, 4112), 1, 1040))]
STRIDED = [
    Case("strided", 1.31, gather((1000, 4), 0, 1600), out=padded),
    Case("strided", 1.13, gather((1000, 16), 0, 1600), out=padded),
    # Elements of 4 bytes one by one: an index is read by every warp of its row. Elements of a
    # transposed source lie in a sector each.
    Case("strided", 4.46, gather((1000, 16), 0, 1600), x=transposed),
    Case("strided", 1.10, gather((1000, 16), 0, 1600), x=backwards),
    # Lanes follow out, where neighbours are of different rows of x: a sector for each element.
    Case("strided", 4.80, gather((1000, 16), 0, 1600), out=transposed),
]
CASES = GATHER + LAST_AXIS + STAGED + WINDOWS + STRIDED
hold = hold_in_vectors


@each("case", STAGED, ids=str)
def test_bank_conflicts_of_picks_at_random(case):
    # Of 32 picks at random, 3.5 and more meet in the busiest of 32 banks. The table is read by
    # vectors of up to 16 bytes without conflicts.
    kernel, _ = run(case)
    assert 1 <= kernel.shared_loads.wavefronts_per_request < 4.6
    assert 1 <= kernel.shared_stores.wavefronts_per_request <= 4


@each(("case", "mode"), sample(covering(of_each_variant(CASES), ["wrap", "fill"]), 4))
def test_every_mode_moves_the_same(case, mode):
    assert_mode_moves_the_same(case, mode)
