"""one_hot's variants, checked where every loop of theirs goes round several times."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.engines import base
from cudakern.operators.one_hot import plan as one_hot_plan
from tests.helpers.bound import forget
from tests.helpers.checked import ORDERS
from tests.helpers.one_hot import expected
from tests.helpers.places import POISON, Buffer, same_bytes
from tests.helpers.samples import covering

pytestmark = pytest.mark.cudakern_checked(seeds=ORDERS, resident_blocks=3)

# Tiles are small or large: either there are many, or threads have much to do in each.
CASES = [
    ("stream", (9000,), 3, 1, np.uint8, 4096),
    ("stream", (40_000,), 1, 1, np.uint8, 65536),  # more bits than are cleared at once
    ("stream", (9000,), 5, 1, np.float32, 65536),  # more indices than are read at once
    ("stream", (7,), 5001, 1, np.float32, 8192),  # a tile is part of a row
    ("stream", (3,), 9001, 1, np.complex128, 65536),
    ("stream", (40, 7), 90, 1, np.float64, 8192),
    ("stream", (2, 3), 9001, 1, np.uint16, 8192),
    ("planes", (2, 901), 37, 1, np.uint8, 4096),
    ("planes", (3, 5000), 9, 1, np.uint16, 16384),
    ("planes", (2, 333), 50, 1, np.float32, 8192),
    ("planes", (2, 333), 50, 1, np.float64, 4096),
    ("planes", (2, 133), 90, 1, np.complex128, 32768),
    ("planes", (1, 3000), 40, 1, np.float32, 262144),
]


@pytest.mark.parametrize(("case", "values"), covering(CASES, ["scalars", "array"]))
def test_few_blocks_do_it_all(monkeypatch, case, values):
    variant, shape, depth, axis, dtype, tile = case
    for lead in (0, 1):
        kernels = run(monkeypatch, shape, depth, axis, dtype, tile, lead, values=values)
        assert [name.startswith(f"ck_one_hot_{variant}_w") for name in kernels] == [True]


@pytest.mark.parametrize("values", ["scalars", "array"])
@pytest.mark.parametrize("index_type", [np.int32, np.uint64])
def test_strided_layouts(monkeypatch, index_type, values):
    view = np.s_[::-1, ::2, 1::2]
    kernels = run(monkeypatch, (14, 31), 20, 1, np.int16, 8192, 0, view, index_type, values=values)
    assert [name.startswith("ck_one_hot_strided") for name in kernels] == [True]


def run(
    monkeypatch, shape, depth, axis, dtype, tile, lead, view=..., index_type=np.int64, *, values
) -> list[str]:
    """Run with grids of at most two blocks; return the kernels that ran."""
    monkeypatch.setattr(base, "MAX_BLOCKS", 2)
    for name in ("TILE_BYTES", "MIN_TILE_BYTES"):
        monkeypatch.setattr(one_hot_plan, name, tile)
    monkeypatch.setattr(one_hot_plan, "TILES", 10**9)
    forget(monkeypatch)
    low = 0 if index_type is np.uint64 else -2 * depth
    indices = np.random.default_rng(0).integers(low, 2 * depth, shape).astype(index_type)
    result_shape = np.array((*shape[:axis], depth, *shape[axis:]))
    if view is not ...:
        result_shape *= 2
    dtype = np.dtype(dtype)
    nbytes = int(np.prod(result_shape)) * dtype.itemsize + 16
    buffer = Buffer(bytes([POISON]) * nbytes, "host")
    out = buffer.view(tuple(result_shape), dtype, offset=lead * dtype.itemsize % 16)
    if view is not ...:
        out = out[view][tuple(slice(n // 2) for n in result_shape)]
    pair = np.array([3, 7]).astype(dtype)
    given = tuple(pair) if values == "scalars" else pair
    with ck.simulator.traffic() as report:
        ck.one_hot(indices, depth, axis=axis, values=given, out=out)
    assert same_bytes(out, expected(indices, depth, axis, pair))
    return [kernel.kernel for kernel in report.kernels]
