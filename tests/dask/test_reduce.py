"""Reduce over dask arrays: right for every function, type, axis and way to cut x into chunks."""

from __future__ import annotations

from itertools import product
from math import prod

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
import cudakern.dask as cd
from cudakern.values.dtypes import bfloat16
from tests.helpers.chunked import chunked
from tests.helpers.log_sum_exp import MOST, errors, rows
from tests.helpers.places import same_bytes
from tests.helpers.reduce import EXTREMES, FUNCTIONS, POSITIONS, is_legal, reduce
from tests.helpers.reduce_cases import random_values
from tests.helpers.rows import each
from tests.helpers.samples import examples, is_thorough, sample

BFLOAT16 = bfloat16() or np.dtype("float16")
#: Of each kind one, unless thorough: to chunks, types of a kind are the same.
KINDS = ["int8", "float16", "float32", "complex64"]
KINDS += ["bool", "uint64", BFLOAT16, "float64"] if is_thorough() else []
#: A result of another type for each kind, which all functions but argmax and argmin can give.
OTHERS = {"int8": "int32", "float16": "float32", "float32": "float16", "complex64": "complex128"}


@st.composite
def calls(draw):
    """Draw x, a function and its arguments."""
    function = draw(st.sampled_from(FUNCTIONS))
    kind = draw(st.sampled_from([k for k in KINDS if is_legal(function, np.dtype(k))]))
    rank = draw(st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4]))
    longest = {0: 1, 1: 40, 2: 12, 3: 7, 4: 4}[rank]
    size = st.sampled_from([*range(1, longest + 1)] * 2 + [0])
    shape = tuple(draw(size) for _ in range(rank))
    axis = draw(st.sampled_from([None, (), *range(-rank, rank)]))
    if rank > 1 and draw(st.booleans()):
        axis = tuple(draw(st.sets(st.integers(0, rank - 1), min_size=1)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = random_values(rng, shape, kind, function)
    options = {"keepdims": draw(st.booleans())}
    if function in EXTREMES:
        options["nan"] = draw(st.sampled_from(["propagate", "ignore"]))
    if function in POSITIONS:
        options["last_index"] = draw(st.booleans())
        options["dtype"] = draw(st.sampled_from([None, "uint16"]))
    elif kind in OTHERS and draw(st.integers(0, 4)) == 0:
        whole = OTHERS[kind] == "int32" and function in {"average", "l2", "log_sum", "log_sum_exp"}
        options["dtype"] = "float32" if whole else OTHERS[kind]
    if function in {"sum", "multiply", "max", "min"} and draw(st.integers(0, 3)) == 0:
        options["initial"] = draw(st.sampled_from([0, 1]))
    return x, function, axis, options


def has_no_value(x, function, axis, options):
    """Return whether a result has no elements where one is needed."""
    given = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = {d % x.ndim for d in given}
    kept = prod(n for d, n in enumerate(x.shape) if d not in axes)
    return function in EXTREMES and "initial" not in options and x.size == 0 and kept > 0


@settings(max_examples=examples(10))
@given(st.data())
def test_every_function_of_any_chunks(data):
    x, function, axis, options = data.draw(calls())
    lazy = data.draw(chunked(x))
    if has_no_value(x, function, axis, options):
        with pytest.raises(ck.ArgumentError, match="must have elements"):
            cd.reduce(lazy, function, axis, **options)
        return
    reduced = cd.reduce(lazy, function, axis, **options)
    right = reduce(x, function, axis, **options, any_order=True)
    result = reduced.compute()
    assert (reduced.dtype, reduced.shape) == (right.dtype, right.shape)
    assert isinstance(reduced._meta, np.ndarray)  # noqa: SLF001
    right.assert_is(result)


@each("function", sample(["sum", *FUNCTIONS], 99))
@each("axis", [None, 1])
def test_one_chunk_gives_the_bits_of_one_array(function, axis):
    x = np.random.default_rng(1).random((6, 50), np.float32)
    lazy = da.from_array(x, chunks=(6 if axis is None else 2, 50))
    result = cd.reduce(lazy, function, axis).compute()
    assert result.tobytes() == ck.reduce(x, function, axis).tobytes()


@each("dtype", sample(["float32", "float16", "float64"], 3))
@each("chunk", sample([3, 1], 2))
def test_log_sum_exp_keeps_the_digits_of_a_result_near_zero(dtype, chunk):
    for name, x in rows(np.random.default_rng(4), 100, 40, dtype).items():
        lazy = da.from_array(x, chunks=(100, chunk))
        off = errors(x, cd.reduce(lazy, "log_sum_exp", 1).compute(scheduler="sync"))
        assert off.max() <= MOST[x.itemsize], (name, x[off.argmax()])


@each(
    ("function", "x", "dtype", "right"),
    [
        ("average", np.full(4, 60000, np.float16), None, 60000),  # the sum overflows float16
        ("sum", np.int8([100] * 4), None, -112),
        ("sum", np.int8([100] * 4), "int64", 400),
    ],
)
def test_partial_results_wrap_and_round_as_those_of_one_array(function, x, dtype, right):
    assert cd.reduce(da.from_array(x, chunks=2), function, dtype=dtype).compute() == right


def test_the_index_in_all_of_x_decides():
    """Chunks lie side by side, so row-major order goes back and forth between them."""
    x = np.zeros((4, 6), np.float32)
    x[1, 4] = x[2, 0] = x[1, 5] = x[3, 1] = 1
    x[0, 5] = x[2, 3] = np.nan
    nothing = np.full((4, 6), np.nan, np.float32)
    for last_index, right in ((False, 1 * 6 + 4), (True, 3 * 6 + 1)):
        options = {"nan": "ignore", "last_index": last_index}
        for array, index in ((x, right), (nothing, 0)):
            lazy = da.from_array(array, chunks=(4, 3))
            assert cd.reduce(lazy, "argmax", **options).compute() == index
    assert cd.reduce(da.from_array(x, chunks=(4, 3)), "argmax").compute() == 5  # the first NaN


#: Functions whose bits show how sums or products are combined.
TREES = ["average", "l1", "l2", "log_sum", "log_sum_exp", "multiply", "sum", "sum_square"]
#: Those that have other last bits over chunks.
APART = {("l2", "complex64"), ("log_sum_exp", "float16"), ("log_sum_exp", BFLOAT16)}


def tree_cases():
    """Yield functions and dtypes whose results over chunks can have the bits of one array's."""
    kinds = ["float32", "float16", "complex64", "int32"]
    kinds += [BFLOAT16, "float64", "uint8"] if is_thorough() else []
    for function, kind in product(TREES, kinds):
        if is_legal(function, np.dtype(kind)) and (function, kind) not in APART:
            yield function, kind


def near_one(shape, kind, seed=5):
    """Return numbers from 0.5 to 1.5, of integers from 50 to 150, whose products are finite."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 1.5, shape)
    if np.dtype(kind).kind == "c":
        x = np.exp(1j * x) * rng.uniform(0.9, 1.1, shape)
    return (x * 100 if np.dtype(kind).kind in "iu" else x).astype(kind)


@each(("function", "kind"), sample(tree_cases(), 8, 1))
def test_chunks_of_a_power_of_two_give_the_bits_of_one_array(function, kind):
    for length, chunk in ((300, 16), (70, 1), (129, 128)):
        x = near_one((3, length), kind)
        options = [{}, {"initial": 1}] if function in {"sum", "multiply"} else [{}]
        for others in options:
            result = cd.reduce(da.from_array(x, chunks=(3, chunk)), function, 1, **others)
            assert same_bytes(result.compute(), ck.reduce(x, function, 1, **others))


@each("axis", [None, (0, 2), (1, 2)])
def test_parts_of_the_outermost_reduced_axis_give_the_bits_of_one_array(axis):
    x = near_one((21, 4, 8), "float32")
    chunks = (2, 4, 8) if axis != (1, 2) else (3, 2, 8)
    result = cd.reduce(da.from_array(x, chunks=chunks), "sum", axis).compute()
    assert same_bytes(np.asarray(result), np.asarray(ck.reduce(x, "sum", axis)))


@each("kind", sample(["complex64", "float16", BFLOAT16, "float64"], 9))
def test_a_sum_of_negative_zeros_is_the_initial_value_or_negative(kind):
    zero = complex(-0.0, -0.0) if kind == "complex64" else -0.0
    x = np.full(200, zero, kind)
    for initial, chunks in product((None, zero, 0.0), (3, 200)):
        result = cd.reduce(da.from_array(x, chunks=chunks), "sum", initial=initial).compute()
        expected = np.add(x.dtype.type(zero), x.dtype.type(zero if initial is None else initial))
        assert same_bytes(np.asarray(result), np.asarray(expected))
    x[100] = 0
    result = cd.reduce(da.from_array(x, chunks=3), "sum", initial=zero).compute()
    assert not np.signbit(result.real)


ORDERS = [("argmax", None, "ignore")]
ORDERS += product(sorted(EXTREMES), (0, 1, None), ("propagate", "ignore")) if is_thorough() else []


@each(("function", "axis", "nan"), ORDERS)
def test_complex_numbers_are_in_the_order_of_numpy(function, axis, nan):
    rng = np.random.default_rng(3)
    x = (rng.choice([0, 1, 2, np.inf], (12, 6)) + 0j).astype(np.complex64)
    x.imag = rng.choice([-1, 0, 1], x.shape)
    x.real[[4, 9, 10, 10], [1, 0, 1, 2]] = np.nan
    x.imag[[0, 11, 10], [5, 0, 0]] = np.nan
    prefix = "nan" if nan == "ignore" else ""
    result = cd.reduce(da.from_array(x, chunks=(5, 2)), function, axis, nan=nan).compute()
    np.testing.assert_array_equal(result, getattr(np, prefix + function)(x, axis))


def test_the_same_chunks_give_the_same_bits():
    x = np.random.default_rng(2).standard_normal(1000).astype(np.float32)
    totals = {cd.reduce(da.from_array(x, chunks=7), "sum").compute().tobytes() for _ in range(3)}
    assert len(totals) == 1
