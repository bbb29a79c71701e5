"""reduce against exact arithmetic: every function, dtype, out, set of axes and memory layout."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
from cudakern.engines import use
from perf.engines import NullEngine
from tests.helpers.places import POISON, get, put
from tests.helpers.reduce import EXTREMES, FUNCTIONS, is_legal, reduce, result_dtype
from tests.helpers.reduce_cases import (
    large_shapes,
    random_values,
    small_shapes,
)
from tests.helpers.rows import each
from tests.helpers.samples import covering, examples, sample
from tests.helpers.strategies import DTYPES, memory_layouts

pytestmark = pytest.mark.device

#: Functions, dtypes and options that every kind of kernel is compiled for: elements of each size,
#: and states of each kind.
COMBINATIONS = [
    ("argmax", "float32", {}),
    ("argmin", "int64", {"dtype": "int32", "last_index": True}),
    ("log_sum_exp", "float16", {}),
    ("sum", "int8", {}),
    ("sum", "int64", {}),
    ("sum", "float32", {}),
    ("multiply", "complex128", {}),
    ("max", "float16", {"initial": -0.5, "nan": "ignore"}),
    ("sum", "int16", {"initial": -3.5, "dtype": "complex64"}),
]


def reduced_shape(shape, axis, *, keepdims):
    return np.empty(shape, bool).any(axis, keepdims=keepdims).shape


def call(x, function, axis, options, *, keepdims=False, out=None):
    """Hold what reduce gives, which may be an error, against what it must be."""
    keywords = {**options, "keepdims": keepdims, "out": out}
    shape = reduced_shape(x.shape, axis, keepdims=keepdims)
    if x.size == 0 and 0 not in shape and function in EXTREMES and "initial" not in options:
        with pytest.raises(ck.DescriptorError, match=f"{function}, which has no identity"):
            ck.reduce(x, function, axis, **keywords)
        return
    result = ck.reduce(x, function, axis, **keywords)
    reduce(x, function, axis, **options, keepdims=keepdims).assert_is(result)
    assert out is None or result is out


@pytest.mark.device(on=False)  # of kernels
@each("shapes", [small_shapes, large_shapes])
@each("combination", sample(COMBINATIONS, 3))
@settings(max_examples=examples(40))
@given(data=st.data())
def test_reduce_is_right_for_any_layout(place, combination, shapes, data):
    (function, dtype, options), draw = combination, data.draw
    shape, axis = draw(shapes(), "shape, axis")
    rng = np.random.default_rng(draw(st.integers(0, 2**32), "seed"))
    values = random_values(rng, shape, dtype, function)
    layout = draw(memory_layouts(shape, values.itemsize), "x layout")
    x = layout.holding(values, place)
    keepdims = draw(st.booleans(), "keepdims")
    if not draw(st.booleans(), "give out"):
        call(x, function, axis, options, keepdims=keepdims)
        return
    kind = np.dtype(options.get("dtype", result_dtype(function, dtype)))
    result_shape = reduced_shape(shape, axis, keepdims=keepdims)
    out_layout = draw(
        memory_layouts(result_shape, kind.itemsize, output=True, aligned=True), "out layout"
    )
    buffer, out = out_layout.poisoned(kind, place)
    call(x, function, axis, options, keepdims=keepdims, out=out)
    outside = ~out_layout.touched(kind.itemsize)
    assert (buffer.bytes()[outside] == POISON).all(), "bytes beside out were written"


#: Each function of some dtypes, of others than the function before.
SOME_DTYPES = [(f, d, {}) for k, f in enumerate(FUNCTIONS) for d in sample(DTYPES, 12, k)]
OTHER_RESULTS = [
    ("sum", "int8", {"dtype": "int64"}),
    ("sum", "bool", {"dtype": "uint8"}),
    ("sum", "float16", {"dtype": "float32"}),
    ("sum", "float64", {"dtype": "float16"}),
    ("multiply", "int32", {"dtype": "complex64"}),
    ("average", "int16", {"dtype": "float32"}),
    ("average", "float32", {"dtype": "float64"}),
    ("l1", "complex64", {"dtype": "float64"}),
    ("log_sum_exp", "uint8", {"dtype": "float32"}),
    ("max", "int32", {"dtype": "int8"}),
    ("min", "uint16", {"dtype": "float64"}),
    ("argmax", "float32", {"dtype": "int32"}),
    ("argmin", "int64", {"dtype": "uint8"}),
]


@each(
    ("function", "dtype", "options"),
    [row for row in SOME_DTYPES + sample(OTHER_RESULTS, 2) if is_legal(*row[:2])],
)
@settings(max_examples=examples(10))
@given(data=st.data())
def test_reduce_is_right_for_any_values(place, function, dtype, options, data):
    """These shapes have one kind of kernel for each dtype."""
    columns = st.sampled_from([3, 5, 7])
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(2, 100), columns), "shape")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32), "seed"))
    x = put(random_values(rng, shape, dtype, function), place)
    call(x, function, 1, options, keepdims=data.draw(st.booleans(), "keepdims"))


@each("dtype", sample(["uint8", "int16", "int32", "float16", "float32"], 5))
def test_log_sum_exp_of_narrow_elements_in_float64(place, dtype):
    rng = np.random.default_rng(7)
    x = put(random_values(rng, (2003,), dtype, "log_sum_exp"), place)
    call(x, "log_sum_exp", 0, {"dtype": "float64"})


BIG = {
    "long row": ((300_000,), None),
    "few huge rows": ((4, 200_000), 1),
    "many tiny rows": ((100_000, 3), 1),
    "33 columns": ((9_000, 33), 0),
    "odd columns": ((600, 1001), 0),
    "many short columns": ((3, 100_000), 0),
    "middle": ((40, 150, 50), 1),
    "planes of channels": ((8, 16, 40, 50), (3, 0, 2)),
}


@pytest.mark.device(on=False)  # of kernels
@each(("case", "combination"), sample(covering(BIG, COMBINATIONS[:6]), 2))
def test_reduce_big(place, case, combination):
    function, dtype, options = combination
    shape, axis = BIG[case]
    x = put(random_values(np.random.default_rng(11), shape, dtype, function), place)
    call(x, function, axis, options)


def test_places_are_counted_through_pieces_of_rows(place):
    x = np.random.default_rng(26).random((4, 4, 4, 4, 4, 200), np.float32)
    call(put(x, place), "argmax", (1, 3, 5), {})


VIEWS = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.T,
    "permuted": lambda x: x.transpose(1, 2, 0),
    "reversed": lambda x: x[::-1, :, ::-1],
    "every other": lambda x: x[:, ::2, 1::3],
    "repeated": lambda x: np.broadcast_to(x[:1], x.shape),
}


@pytest.mark.device(on=False)  # of kernels
@each("view", VIEWS)
def test_reduce_big_views(place, view):
    for function, dtype, columns in (("sum", "float32", 40), ("argmax", "int64", 38)):
        values = random_values(np.random.default_rng(12), (30, 32, columns), "float32", "sum")
        x = VIEWS[view](put(values, place))
        for axis in (0, (0, 2), (2, 1), None):
            shape = reduced_shape(x.shape, axis, keepdims=False)
            out = put(np.zeros((*shape[::-1], 2), dtype), place)[..., 1].T
            call(x, function, axis, {}, out=out)


#: Shape, axis, and view of the array of this shape.
LAYOUTS = {
    "long rows": ((3, 5001), 1, np.s_[...]),
    "rows of pieces": ((3, 70, 251), (0, 2), np.s_[:, :, :-1]),
    "short rows": ((300, 3), 1, np.s_[...]),
    "short rows of vectors": ((50, 64), 1, np.s_[...]),
    "columns": ((500, 33), 0, np.s_[...]),
    "vectors of columns": ((500, 32), 0, np.s_[...]),
    "backwards": ((50, 5, 90), (0, 2), np.s_[:, :, ::-2]),
}


@pytest.mark.device(on=False)  # of kernels
def test_reduce_sums_2_to_the_24_numbers(place):
    call(put(np.random.default_rng(13).random(2**24, np.float32), place), "sum", None, {})


def test_reduce_accumulates_float16_in_float32(place):
    ones = put(np.ones(68_000, np.float16), place)
    assert float(ck.reduce(ones, "average")) == 1
    assert float(ck.reduce(ones[:5000], "sum")) == 5000
    assert float(ck.reduce(ones, "sum")) == np.inf
    assert float(ck.reduce(ones, "sum", dtype="float32")) == 68_000


def test_reduce_takes_lists_and_scalars():
    assert ck.reduce([1, 2, 3], "sum") == 6
    assert ck.reduce(2.5, "l1") == 2.5
    assert ck.reduce([[1.0, 2], [5, 4]], ck.ReduceFunction.ARGMAX, 1).tolist() == [1, 0]


def test_wrong_results_are_seen():
    for function in FUNCTIONS:
        x = random_values(np.random.default_rng(15), (3, 60, 3), "float32", function)
        expected = reduce(x, function, 1)
        exact = get(ck.reduce(x, function, 1))
        off = exact + 1 if function in {"argmax", "argmin"} else exact * np.float32(1 + 2.0**-12)
        assert not expected.wrong(exact).any()
        assert expected.wrong(off).all()
        assert expected.wrong(exact.astype(np.float64).astype("uint8")).all()
        assert expected.wrong(exact[:, None]).all()


@each("function", FUNCTIONS)
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


#: Signed integers, and results as wide, wider and narrower, with a sign and without, and of floats.
LEAST = [(f"int{n}", r) for n in (8, 16, 32, 64) for r in (f"int{n}", f"uint{n}", "int64", "uint8")]
LEAST += [("int8", "float16"), ("int16", "float32"), ("int32", "float64"), ("int64", "float64")]


@each(("kinds", "layout"), sample(covering(LEAST, LAYOUTS), 5))
def test_l1_of_the_least_integers(place, kinds, layout):
    (dtype, result), (shape, axis, view) = kinds, LAYOUTS[layout]
    least = np.iinfo(dtype).min
    x = np.random.default_rng(30).choice(np.array([least, least + 1, -1, 3], dtype), shape)
    call(put(x, place)[view], "l1", axis, {"dtype": result})


#: Shapes and axes: a row of whole turns and a rest, rows for warps, in tiles, vectors of columns.
OF_BYTES = [((40_001,), 0), ((560, 600), 1), ((70, 256), 1), ((313, 64), 0), ((3, 99, 32), 1)]
CALLS = [(f, {"last_index": last}) for f in ("argmax", "argmin") for last in (False, True)]
CALLS += [(f, {"dtype": "int64"}) for f in ("sum", "l1", "sum_square")]
CALLS += [(f, {"dtype": "float64"}) for f in ("l1", "average")]


@each(
    ("wanted", "case", "dtype"),
    covering(CALLS, OF_BYTES, [np.int8, np.uint8, np.bool_]),
)
def test_elements_of_one_byte(wanted, case, dtype):
    """Kernels take many at a time; true ones are any byte but 0."""
    (function, options), (shape, axis) = wanted, case
    rng = np.random.default_rng(25)
    for different in (1, 3, 256):
        values = rng.integers(-128, -128 + different, shape).astype(np.int8).view(np.uint8)
        values[rng.random(shape) < 0.4] = 0
        numbers = values != 0 if dtype is np.bool_ else values.view(dtype)
        result = ck.reduce(values.view(dtype), function, axis, **options)
        reduce(numbers, function, axis, **options).assert_is(result)
        if function == "average":
            np.testing.assert_array_equal(result, numbers.mean(axis))
