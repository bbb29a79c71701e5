"""reduce's variants in many orders of threads and blocks: nothing is found, the bits are equal."""

from __future__ import annotations

import ctypes
from itertools import product

import numpy as np
import pytest

import cudakern as ck
from cudakern import engines
from cudakern.engines.base import THREADS
from cudakern.operators.reduce import shares
from cudakern.operators.reduce.tuning import COUNTER_BYTES
from cudakern.simulator import checked
from perf.engines import NullEngine
from tests.helpers.places import HOST, get, put, same_bytes
from tests.helpers.reduce import category, is_legal, reduce, result_dtype
from tests.helpers.reduce_cases import random_values
from tests.helpers.rows import each
from tests.helpers.samples import covering, is_thorough, sample
from tests.helpers.strategies import DTYPES

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("sharing")]

#: Seeds of orders, and how many blocks run at once.
ORDERS = [(0, 1), (1, 3), (2, 64)]
#: Shape, axis, view of the array of this shape: of each variant, with results that blocks share
#: and with others.
CASES = {
    "row": ((20_003,), None, np.s_[1:]),
    "rows": ((3, 9001), 1, np.s_[...]),
    "rows of pieces": ((4, 3, 700), (0, 2), np.s_[:, :, :-3]),
    "many rows": ((600, 342), 1, np.s_[:, :-1]),
    "short rows": ((900, 3), 1, np.s_[1:]),
    "short rows of vectors": ((50, 64), 1, np.s_[...]),
    "slabs": ((60, 40, 5), 1, np.s_[...]),
    "columns": ((900, 33), 0, np.s_[1:]),
    "wide columns": ((30, 3001), 0, np.s_[...]),
    "vectors of columns": ((900, 40), 0, np.s_[:, :32]),
    "backwards": ((50, 5, 90), (0, 2), np.s_[:, :, ::-2]),
    "every third column": ((900, 40), 0, np.s_[:, 3::3]),
}
#: Those whose variants others have, too.
OTHER_SHAPES = {"rows", "slabs", "wide columns", "rows of pieces"}
VARIANTS = {"blocks", "columns", "lanes", "periods", "strided", "tiles", "warps"}
FLOATING = ["average", "l1", "l2", "log_sum", "multiply", "sum_square"]
OPTIONS = {"argmax": {"last_index": True}, "max": {"initial": 0.5, "nan": "ignore"}}
SHAPES = CASES if is_thorough() else [name for name in CASES if name not in OTHER_SHAPES]
RUNS = covering(SHAPES, ["sum", "argmax", "max", "log_sum_exp"])
RUNS += [("row", function) for function in sample(FLOATING, 6)]


def counters(plan):
    """Return what launches of this thread leave where they count blocks."""
    if not plan.workspace:
        return np.zeros(0, np.uint32)
    address = engines.engine_for(engines.HOST).workspace(plan.workspace)
    memory = (ctypes.c_uint32 * (COUNTER_BYTES // 4)).from_address(address)
    return np.frombuffer(memory, np.uint32)


def make(name, function):
    """Return x for a case: few different values for positions, for which ties matter."""
    shape, _, view = CASES[name]
    rng = np.random.default_rng(8)
    if function == "argmax":
        return put(rng.integers(0, 3, shape).astype(np.float32), HOST)[view]
    values = random_values(rng, shape, "float32", function)
    return put(np.where(np.isfinite(values), values, 1).astype(np.float32), HOST)[view]


@each(("name", "function"), RUNS)
def test_every_order_gives_the_same_bits(plans, name, function):
    _, axis, _ = CASES[name]
    x, options, results = make(name, function), OPTIONS.get(function, {}), []
    for seed, resident in ORDERS if is_thorough() else ORDERS[1:]:
        with checked(seed, resident) as report:
            results.append(ck.reduce(x, function, axis, **options))
        assert not report.findings
        assert same_bytes(results[-1], results[0]), (seed, resident)
        assert not counters(plans[-1]).any()
    reduce(x, function, axis, **options).assert_is(results[0])


def test_cases_are_of_every_variant(plans):
    with engines.use(NullEngine()):
        for (shape, axis, view), function in product(CASES.values(), ("sum", "argmax")):
            ck.reduce(np.zeros(shape, np.float32)[view], function, axis)
    assert {plan.variant for plan in plans} == VARIANTS
    assert {plan.variant for plan in plans if plan.workspace} == VARIANTS - {
        "lanes",
        "tiles",
        "warps",
    }


def test_more_blocks_than_one_has_threads_share_a_row(plans, monkeypatch):
    monkeypatch.setattr(shares, "row_share", lambda *_: 512)
    x = np.random.default_rng(3).random((2, 150_000), np.float32)
    for order in ORDERS[1:]:
        with checked(*order) as report:
            result = ck.reduce(x, "sum", 1)
        assert not report.findings
        assert not counters(plans[0]).any()
        reduce(x, "sum", 1).assert_is(result)
    assert plans[0].grid[1] > THREADS


OF_INITIAL = ["max", "min", "multiply", "sum"]


@each(("name", "function"), covering(SHAPES, OF_INITIAL))
def test_initial_values_in_every_variant(place, plans, name, function):
    """Each variant takes one or two dtypes; sums take float32, too."""
    shape, axis, view = CASES[name]
    rng = np.random.default_rng(21)
    first = ([*CASES].index(name) + 3 * OF_INITIAL.index(function)) % len(CASES)
    legal = [dtype for dtype in DTYPES if is_legal(function, dtype)]
    for dtype in [*legal[first :: len(CASES)], *["float32"] * (function == "sum")]:
        kind = result_dtype(function, dtype)
        x = put(random_values(rng, shape, dtype, function), place)[view]
        nan = "ignore" if function in {"max", "min"} and rng.random() < 0.5 else "propagate"
        initial = random_values(rng, (), kind, function)[()]
        result = ck.reduce(x, function, axis, initial=initial, nan=nan)
        reduce(x, function, axis, initial=initial, nan=nan).assert_is(result)
        if dtype == "float32":
            assert "_initial_" in plans[-1].kernel.entry


FLOATS = [dtype for dtype in DTYPES if category(np.dtype(dtype)) > 1]


@each(("name", "dtype"), sample(covering(SHAPES, FLOATS), 2))
def test_negative_zeros_leave_the_sign_to_the_initial_value(place, name, dtype):
    """As NumPy's: -0.0 if all are that, and the initial value."""
    shape, axis, view = CASES[name]
    zero = -np.zeros((), dtype)[()]
    for value, initial in ((zero, zero), (zero, -zero), (-zero, zero)):
        x = put(np.full(shape, value, dtype), place)[view]
        result = ck.reduce(x, "sum", axis, initial=initial)
        assert same_bytes(result, np.asarray(get(x).sum(axis, initial=initial, dtype=dtype)))
