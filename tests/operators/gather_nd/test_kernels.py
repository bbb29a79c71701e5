"""gather_nd's variants, checked where every loop of theirs goes round several times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import cudakern as ck
from cudakern.engines import base
from cudakern.operators.gather_nd import plan as gather_nd_plan
from cudakern.values import layout
from tests.helpers import gather_nd as oracle
from tests.helpers.bound import forget
from tests.helpers.checked import ORDERS
from tests.helpers.gather_nd import random_tuples
from tests.helpers.oracle import options
from tests.helpers.places import HOST, POISON, Buffer, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering, sample

pytestmark = pytest.mark.cudakern_checked(seeds=ORDERS, resident_blocks=3)


@dataclass(frozen=True, eq=False)
class Case:
    """Operands, and the beginning of the name of the kernel that they get."""

    kernel: str
    x: tuple[int, ...]
    indices: tuple[int, ...]
    batch_dims: int
    dtype: type
    index_dtype: type
    view: tuple[slice, ...] = (np.s_[:],)
    out_offset: int = 0  # in bytes

    def __str__(self):
        rest = f"-off{self.out_offset}" if self.out_offset else ""
        return f"{self.kernel}-t{self.indices[-1]}-b{self.batch_dims}{rest}"


# Tiles are 16 KiB of the result for rows, at most 8 KiB for spliced here and 4 KiB for packed: each
# case has at least three for two blocks.
CASES = [
    Case("rows_w16", (5, 6, 64), (300, 2), 0, np.float32, np.int32),
    Case("rows_w16", (3, 4, 5, 4), (3, 1100, 2), 1, np.float32, np.int64),
    Case("rows_w16", (2, 2, 1, 3, 2, 2, 2, 8), (2200, 7), 0, np.int16, np.uint32),
    Case("rows_w16", (3, 4, 9000), (3, 1), 1, np.uint16, np.int64),
    Case("packed_w1", (40, 3), (4200, 1), 0, np.uint8, np.int32),
    Case("packed_w1", (2, 3, 2, 2, 1, 3, 2, 2), (12500, 8), 0, np.int8, np.int64),
    Case("packed_w2", (2, 3, 4, 5), (2, 3, 1100, 1), 2, np.float16, np.uint64),
    Case("packed_w4", (2, 2, 3, 2, 3, 2, 3), (1100, 6), 0, np.float32, np.int32),
    Case("packed_w4", (5, 4, 3, 2, 3), (5, 220, 3), 1, np.int32, np.int64),
    Case("packed_w8", (4, 5, 6, 7), (1700, 4), 0, np.float64, np.uint32),
    Case("spliced_w1", (3, 4, 17), (3, 500, 1), 1, np.uint8, np.int64),
    Case("spliced_w1", (4, 3, 17001), (3, 2), 0, np.uint8, np.int32),
    Case("spliced_w2", (2, 2, 2, 2, 3, 33), (400, 5), 0, np.int16, np.int64),
    Case("spliced_w4", (2, 2, 5, 4, 3, 5), (2, 2, 350, 3), 2, np.float32, np.uint64),
    Case("spliced_w8", (6, 5, 7, 3), (1100, 3), 0, np.float64, np.int32),
    # Tiles that begin and end within rows: there are no more rows in a tile than in these.
    Case("packed_w1", (20, 30, 2), (5000, 2), 0, np.uint8, np.int64, out_offset=1),
    Case("packed_w4", (20, 30, 8), (1300, 2), 0, np.uint8, np.int32, out_offset=4),
    Case("spliced_w4", (20, 30, 32), (800, 2), 0, np.uint8, np.int32, out_offset=4),
]
TILES = {"rows": 16384, "packed": 4096, "spliced": 8192}
STEPS, TAIL, RUNS = np.s_[::2, ::-1, ::3], np.s_[:, ::-1, :, 1::3], np.s_[..., 4:8]
STRIDED = [
    Case("strided_r2_w2", (12, 40, 30), (900, 2), 0, np.int16, np.int64, STEPS),
    Case("strided_r4_w4", (3, 10, 9, 8), (3, 500, 2), 1, np.float32, np.int32, TAIL),
    Case("strided_r2_w8", (2, 3, 2, 4, 3, 2, 3, 12), (900, 6), 0, np.int16, np.uint32, RUNS),
]
MODES = ["clamp", "wrap", "fill"]


@each(("case", "mode"), covering(CASES, MODES), ids=str)
def test_few_blocks_do_it_all(monkeypatch, case, mode):
    _, indices, expected = operands(case, mode)
    assert expected.nbytes > 2 * TILES[case.kernel.split("_")[0]]
    # Seven tuples or so at a time.
    monkeypatch.setattr(gather_nd_plan, "STAGED_BYTES", 8 * indices.itemsize * indices.shape[-1])
    assert run(monkeypatch, case, mode).startswith(f"{case.kernel}_")


@each(("case", "mode"), sample(covering(CASES, MODES), 4), ids=str)
def test_64_bit_offsets(monkeypatch, case, mode):
    monkeypatch.setattr(layout, "MAX_SPAN_32", 64)
    kernel = run(monkeypatch, case, mode)
    assert kernel.startswith(f"{case.kernel}_")
    assert kernel.endswith("_o64")


@each(("case", "mode"), covering(STRIDED, MODES), ids=str)
def test_strided_layouts(monkeypatch, case, mode):
    assert operands(case, mode)[2].size > 2 * 1024  # more than two blocks take in a turn
    kernel = run(monkeypatch, case, mode)
    assert kernel.startswith(f"{case.kernel}_")
    assert kernel.endswith("_o32")
    with monkeypatch.context() as narrow:
        narrow.setattr(layout, "MAX_SPAN_32", 64)
        kernel = run(narrow, case, mode)
    assert kernel.startswith("strided_r")
    assert kernel.endswith("_o64")


@cache
def operands(case, mode):
    """Return x, indices that are seldom out of range, and the result."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, case.x).astype(case.dtype)[case.view]
    batch, tuple_size = case.batch_dims, case.indices[-1]
    extents = x.shape[batch : batch + tuple_size]
    indices = random_tuples(rng, case.indices, case.index_dtype, extents, 0.2 / tuple_size)
    if tuple_size % 2 == 1:  # all first components, then all second ones
        indices = np.moveaxis(np.ascontiguousarray(np.moveaxis(indices, -1, 0)), 0, -1)
    return x, indices, oracle.gather_nd(x, indices, batch, mode, 107)


def run(monkeypatch, case, mode) -> str:
    """Look up with grids of at most two blocks; return the rest of the kernel's name."""
    monkeypatch.setattr(base, "MAX_BLOCKS", 2)
    forget(monkeypatch)
    x, indices, expected = operands(case, mode)
    buffer = Buffer(bytes([POISON]) * (case.out_offset + expected.nbytes + 64), HOST)
    out = buffer.view(expected.shape, x.dtype, offset=case.out_offset)
    with ck.simulator.traffic() as report:
        ck.gather_nd(x, indices, case.batch_dims, **options(mode, 107), out=out)
    assert same_bytes(out, expected)
    (kernel,) = report.kernels
    return kernel.kernel.removeprefix("ck_gather_nd_")
