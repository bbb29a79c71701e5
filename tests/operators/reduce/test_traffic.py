"""What the variants of reduce move: `tests.operators.test_traffic`."""

from __future__ import annotations

from perf.cases.reduce import ReduceWorkload
from tests.helpers.traffic import F4, I1, MEGA, Case, hold_to_least, misaligned


def reduce(shape, axes, dtype=F4, function="sum"):
    return ReduceWorkload(function, shape, axes, dtype)


# What blocks share in reduce are states, which planning keeps few.
CASES = [
    Case("blocks", 1.03, reduce((MEGA + 12345,), (0,), I1)),
    Case("tiles", 1.03, reduce((2**17, 3), (1,))),
    Case("lanes", 1.03, reduce((2**17, 4), (1,))),
    Case("warps", 1.03, reduce((600, 1000), (1,))),
    Case("columns", 1.03, reduce((64, 100, 512), (1,), I1)),
    Case("columns", 1.03, reduce((2**16, 8), ())),
    # A row's first and last vectors, and the vector behind each chunk of 2 KiB of a misaligned one.
    Case("blocks", 1.03, reduce((MEGA // 2,), (0,)), x=misaligned),
    Case("blocks", 1.04, reduce((128, 4096), (1,)), x=misaligned),
    Case("tiles", 1.03, reduce((2**17, 4), (1,)), x=misaligned),
    Case("warps", 1.08, reduce((512, 1024), (1,)), x=misaligned),
    # A sector that two requests meet counts twice. Ranges of columns meet within sectors, and
    # blocks that share them exchange states: that stays in L2, and more blocks take less time.
    Case("periods", 1.05, reduce((2**16, 33), (0,), I1)),
    # Elements are read one by one. Rows of 8 columns and more are read in turn: L1 and L2 have the
    # rest of their sectors.
    Case("columns", 2.01, reduce((2**16, 8), (0,)), x=misaligned),
    Case("columns", 1.89, reduce((600, 1001), (0,))),
    Case("columns", 1.46, reduce((8, 200, 333), (1,))),
    Case("columns", 1.13, reduce((2**16, 8), ()), x=misaligned),
    # Short pieces are less than sectors, and are read element by element.
    Case("strided", 1.07, reduce((48, 64, 14, 14), (0, 2, 3))),
    Case("strided", 1.37, reduce((32, 256, 7, 7), (0, 2, 3))),
]
hold = hold_to_least
