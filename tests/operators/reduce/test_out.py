"""reduce into out of another dtype than the result would have: as if that had been asked for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import cudakern as ck
from cudakern.engines import use
from perf.engines import NullEngine
from tests.helpers.places import get, put
from tests.helpers.reduce import FUNCTIONS, reduce
from tests.helpers.reduce_cases import random_values
from tests.helpers.strategies import DTYPES

PAIRS = [
    ("sum", "int8", "int64"),
    ("sum", "bool", "uint8"),
    ("sum", "float16", "float32"),
    ("sum", "float64", "float16"),
    ("multiply", "int32", "complex64"),
    ("average", "int16", "float32"),
    ("average", "float32", "float64"),
    ("l1", "complex64", "float64"),
    ("log_sum_exp", "uint8", "float32"),
    ("max", "int32", "int8"),
    ("min", "uint16", "float64"),
    ("argmax", "float32", "int32"),
    ("argmin", "int64", "uint8"),
]


@pytest.mark.parametrize(("function", "dtype", "kind"), PAIRS)
def test_results_have_the_dtype_of_out(place, function, dtype, kind):
    x = random_values(np.random.default_rng(24), (4, 50, 3), dtype, function)
    for axis, shape in ((1, (4, 3)), ((0, 1), (3,)), (0, (50, 3))):
        out = put(np.full(shape, 7, kind), place)
        assert ck.reduce(put(x, place), function, axis, out=out) is out
        reduce(x, function, axis, dtype=kind).assert_is(out)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_dtype_of_out_is_as_good_as_dtype(plans, function):
    with use(NullEngine()):
        for kind, result in product(DTYPES, DTYPES):
            x, out = np.ones((6, 5), kind), np.zeros(6, result)
            plans.clear()
            try:
                ck.reduce(x, function, 1, dtype=result, out=out)
            except ck.DTypeError as error:
                text = str(error).replace("reduce: dtype must be", "reduce: out must have dtype")
                with pytest.raises((ck.BindingError, ck.DTypeError)) as caught:
                    ck.reduce(x, function, 1, out=out)
                assert str(caught.value) == text
                assert ("x.dtype" in text) == isinstance(caught.value, ck.DTypeError)
            else:
                assert ck.reduce(x, function, 1, out=out) is out
                assert len(plans) == 1, "the second call finds the launch of the first one"


def test_reductions_of_nothing_and_initial_values_have_it(place):
    x = put(np.zeros((3, 0), np.int8), place)
    out = put(np.full(3, 7, np.float64), place)
    assert get(ck.reduce(x, "multiply", 1, out=out)).tolist() == [1, 1, 1]
    assert get(ck.reduce(x, "max", 1, initial=0.5, out=out)).tolist() == [0.5, 0.5, 0.5]
    one = put(np.ones((3, 2), np.int8), place)
    assert get(ck.reduce(one, "sum", 1, initial=0.25, out=out)).tolist() == [2.25, 2.25, 2.25]
