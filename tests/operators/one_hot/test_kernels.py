"""one_hot's variants, checked where every loop of theirs goes round several times."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import cudakern as ck
from cudakern.engines import base
from cudakern.operators.one_hot import plan as one_hot_plan
from tests.helpers.bound import forget
from tests.helpers.checked import ORDERS
from tests.helpers.one_hot import expected
from tests.helpers.places import POISON, Buffer, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering

pytestmark = pytest.mark.cudakern_checked(seeds=ORDERS, resident_blocks=3)

# Tiles are small or large: either there are many, or threads have much to do in each.
CASES = [
    ("stream", (9000,), 3, np.uint8, 4096),
    ("stream", (40_000,), 1, np.uint8, 65536),  # more bits than are cleared at once
    ("stream", (9000,), 5, np.float32, 65536),  # more indices than are read at once
    ("stream", (7,), 5001, np.float32, 8192),  # a tile is part of a row
    ("stream", (3,), 9001, np.complex128, 65536),
    ("stream", (40, 7), 90, np.float64, 8192),
    ("stream", (2, 3), 9001, np.uint16, 8192),
    ("planes", (2, 901), 37, np.uint8, 4096),
    ("planes", (3, 5000), 9, np.uint16, 16384),
    ("planes", (2, 333), 50, np.float32, 8192),
    ("planes", (2, 333), 50, np.float64, 4096),
    ("planes", (2, 133), 90, np.complex128, 32768),
    ("planes", (1, 3000), 40, np.float32, 262144),
]


FORMS = ["scalars", "array"]
RUNS = [(*run, np.int64) for run in covering(CASES, FORMS)]
RUNS += product([("strided_few", (41,), 37, np.uint16, 8192)], FORMS, [np.int32])
RUNS += product([("strided", (14, 31), 20, np.int16, 8192)], FORMS, [np.int32, np.uint64])


# Each second row runs: as RUNS are 17, in both forms.
@each(("lead", "run"), product([0, 1], RUNS))
def test_few_blocks_do_it_all(monkeypatch, lead, run):
    """Two at most."""
    (variant, shape, depth, dtype, tile), form, index_type = run
    monkeypatch.setattr(base, "MAX_BLOCKS", 2)
    for name in ("TILE_BYTES", "MIN_TILE_BYTES"):
        monkeypatch.setattr(one_hot_plan, name, tile)
    monkeypatch.setattr(one_hot_plan, "TILES", 10**9)
    monkeypatch.setattr(one_hot_plan, "FEW", 10**9 if variant == "strided_few" else 0)
    forget(monkeypatch)
    low = 0 if index_type is np.uint64 else -2 * depth
    indices = np.random.default_rng(0).integers(low, 2 * depth, shape).astype(index_type)
    values = np.array([3, 7]).astype(dtype)
    result = expected(indices, depth, 1, values)
    made = np.array(result.shape) * (2 if variant == "strided" else 1)
    buffer = Buffer(bytes([POISON]) * (int(made.prod()) * values.itemsize + 16), "host")
    out = buffer.view(tuple(made), values.dtype, offset=lead * values.itemsize % 16)
    out = out[::-2, ::2, 1::2] if variant == "strided" else out
    given = tuple(values) if form == "scalars" else values
    with ck.simulator.traffic() as report:
        ck.one_hot(indices, depth, axis=1, values=given, out=out)
    assert same_bytes(out, result)
    (kernel,) = report.kernels
    assert kernel.kernel.startswith(f"ck_one_hot_{variant}_")
