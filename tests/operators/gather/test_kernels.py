"""gather's variants, checked where every loop of theirs goes round several times."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.engines import base
from cudakern.operators.gather import plan as gather_plan
from tests.helpers.bound import forget
from tests.helpers.checked import ORDERS
from tests.helpers.oracle import options
from tests.helpers.places import POISON
from tests.helpers.rows import each
from tests.helpers.samples import covering

pytestmark = pytest.mark.cudakern_checked(seeds=ORDERS, resident_blocks=3)

MODES = ["clamp", "wrap", "fill"]
CASES = [
    ("rows", (50, 64), (700,), 0, np.float32),
    ("planes", (3, 20, 64), (90,), 1, np.float32),
    ("packed", (40, 3), (3000,), 0, np.float32),
    ("packed", (5, 40, 3), (700,), 1, np.uint8),
    ("spliced", (40, 6), (3000,), 0, np.float32),
    ("spliced", (5, 40, 25), (700,), 1, np.float32),
    ("spliced", (40, 99), (900,), 0, np.uint8),
    ("spliced", (9, 17001), (7,), 0, np.uint8),
    ("spliced", (3, 9, 4500), (5,), 1, np.int16),
    ("scalars", (5000,), (6000,), 0, np.float32),
    ("scalars", (5000,), (6000,), 0, np.uint8),
    ("scalars_few", (5000,), (3000,), 0, np.uint8),
    ("last_axis_staged", (17, 300), (500,), 1, np.float32),
    ("last_axis_staged", (70, 64), (16,), 1, np.float32),
    ("last_axis_staged", (1200, 33), (24,), 1, np.uint8),
    ("last_axis_staged", (9, 8001), (1003,), 1, np.float16),
    ("last_axis", (17, 9000), (500,), 1, np.float64),
    ("last_axis", (9, 30000), (300,), 1, np.float32),
]


@each(("case", "mode"), covering(CASES, MODES))
def test_few_blocks_do_it_all(monkeypatch, case, mode):
    variant, shape, count, axis, dtype = case
    kernels = run(monkeypatch, shape, count, axis, dtype, mode)
    assert [name.startswith(f"ck_gather_{variant}_w") for name in kernels] == [True]


@each("mode", MODES)
def test_strided_layouts(monkeypatch, mode):
    kernels = run(monkeypatch, (6, 40, 30), (70,), 1, np.int16, mode, np.s_[::2, ::-1, ::3])
    assert [name.startswith("ck_gather_strided") for name in kernels] == [True]


def test_words_around_x_are_not_read():
    """The first row and the last begin and end within words."""
    buffer = np.arange(16 + 40 * 99, dtype=np.uint8)
    start = (5 - buffer.ctypes.data) % 16
    x = buffer[start : start + 40 * 99].reshape(40, 99)
    indices = np.tile([0, 39], 300)
    with ck.simulator.traffic() as report:
        assert (ck.gather(x, indices) == x[indices]).all()
    assert [kernel.kernel.startswith("ck_gather_spliced") for kernel in report.kernels] == [True]


def run(monkeypatch, shape, count, axis, dtype, mode, view=np.s_[...]) -> list[str]:
    """Gather with grids of at most two blocks a dimension; return the kernels that ran."""
    monkeypatch.setattr(base, "MAX_BLOCKS", 2)
    monkeypatch.setattr(gather_plan, "SCALAR_BLOCKS", 1)
    monkeypatch.setattr(gather_plan, "LAST_AXIS_BLOCKS", 2)
    monkeypatch.setattr(gather_plan, "LAST_AXIS_LEAST_BLOCKS", 3)
    forget(monkeypatch)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, shape).astype(dtype)[view]
    indices = rng.integers(-2 * x.shape[axis], 2 * x.shape[axis], count)
    out = np.full((*x.shape[:axis], *count, *x.shape[axis + 1 :]), POISON, np.uint8).astype(dtype)
    with ck.simulator.traffic() as report:
        ck.gather(x, indices, axis, **options(mode, 7), out=out)
    extent = x.shape[axis]
    position = np.where(indices < 0, indices + extent, indices)
    if mode == "wrap":
        expected = np.take(x, indices % extent, axis)
    else:
        expected = np.take(x, np.clip(position, 0, extent - 1), axis)
        if mode == "fill":
            outside = (position < 0) | (position >= extent)
            np.moveaxis(expected, axis, 0)[outside] = 7
    assert (out == expected).all()
    return [kernel.kernel for kernel in report.kernels]
