"""What the variants of reduce move: `tests.operators.test_traffic`."""

from __future__ import annotations

from perf.cases.reduce import ReduceWorkload
from tests.helpers.traffic import F2, F4, F8, I1, MEGA, Case, hold_to_least, misaligned, rare


def reduce(shape, axes, dtype=F4, function="sum"):
    return ReduceWorkload(function, shape, axes, dtype)


# What blocks share in reduce are states, which planning keeps at 2 % of what they read.
CASES = [
    Case("stream", 1.03, reduce((MEGA + 12345,), (0,), I1)),
    Case("tiles", 1.03, reduce((2**17, 3), (1,))),
    Case("tiles", 1.03, reduce((2**19, 4), (1,), I1, "max")),
    Case("warps", 1.03, reduce((600, 1000), (1,))),
    Case("vectors", 1.03, reduce((64, 100, 512), (1,), I1)),
    Case("vectors", 1.03, reduce((2**16, 8), ())),
    Case("stream", 1.03, reduce((MEGA // 2,), (0,)), x=misaligned),
    Case("tiles", 1.03, reduce((2**17, 4), (1,)), x=misaligned),
    Case("tiles", 1.03, reduce((512, 1024), (1,)), x=misaligned),
    Case("stream", 1.03, reduce((128, 4096), (1,)), x=misaligned),
    Case("columns", 1.03, reduce((2**16, 8), (0,)), x=misaligned),
    # A sector that two requests meet counts twice. Ranges of columns meet within sectors, and
    # blocks that share them exchange states: that stays in L2, and more blocks take less time.
    Case("columns", 1.04, reduce((2**16, 33), (0,), I1)),
    Case("columns", 1.12, reduce((600, 1001), (0,))),
    Case("columns", 1.10, reduce((8, 200, 333), (1,))),
    # Few elements of a row are read one by one.
    Case("strided", 1.13, reduce((2**16, 8), ()), x=misaligned),
    # Short pieces are less than sectors, and are read element by element or with few lanes.
    Case("strided", 1.15, reduce((48, 64, 14, 14), (0, 2, 3))),
    Case("warps", 1.21, reduce((32, 256, 7, 7), (0, 2, 3))),
    *rare(
        Case("stream", 1.03, reduce((30, 20_000), (1,), F8, "argmax")),
        Case("tiles", 1.03, reduce((50_000, 2, 3), (1,), F8)),
        Case("vectors", 1.03, reduce((2**18, 8), (), I1)),
        # A state has 24 bytes, which are three accesses.
        Case("vectors", 1.06, reduce((2**16, 8), (0,), F8, "argmax")),
        Case("columns", 1.27, reduce((1024, 1024), (0,), F2), x=misaligned),
        Case("strided", 1.17, reduce((2, 600_001), (0,), F2)),
        Case("strided", 1.44, reduce((96, 64, 14, 14), (0, 2, 3), F2)),
    ),
]
hold = hold_to_least
