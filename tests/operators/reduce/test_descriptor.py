"""reduce, argmax and argmin through descriptors: documented examples, any legal one, strides."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import cudakern as ck
from cudakern import FeatureLevel
from tests.helpers import reduce as oracle
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import POISON, Buffer, get, put
from tests.helpers.reduce_cases import random_values
from tests.helpers.rows import each
from tests.helpers.samples import covering
from tests.operators.descriptors import Tensors, strided
from tests.operators.reduce.rules import ARG_DESCS, DECREASING, LEGAL, arg, reduce

pytestmark = PLAIN_UNLESS_THOROUGH


def test_axes_in_any_order_count_through_the_input_in_ascending_order(place):
    """The worked example of a DirectML author: index i1 * 5 + i3 for axes 1 and 3 of {2,3,4,5}."""
    x = np.zeros((2, 3, 4, 5), np.float32)
    x[0, 2, :, 3] = x[1, 1, :, 4] = 1
    for axes in ((1, 3), (3, 1)):
        result = ck.compile_operator(arg("argmax", x.shape, axes))(put(x, place))
        assert get(result).reshape(2, 4).tolist() == [[2 * 5 + 3] * 4, [1 * 5 + 4] * 4]


SIZES, AXES, REDUCED = (2, 3, 5, 8), (1, 3), (2, 1, 5, 1)
INPUT_STRIDES = {
    "packed": None,
    "padded": (991, 300, 50, 3),
    "transposed": (1, 2, 6, 30),
    "broadcast along an axis": (40, 0, 8, 1),
    "broadcast along a kept one": (0, 40, 8, 1),
    "one element": (0, 0, 0, 0),
    "sheared": (8, 1, 3, 1),
}
OUTPUT_STRIDES = {"packed": None, "padded": (50, 0, 7, 99), "transposed": (1, 7, 2, 0)}


@each("flat", [False, True])
@each("output_strides", OUTPUT_STRIDES)
@each(("input_strides", "function"), covering(INPUT_STRIDES, ["sum", "max", "argmin"]))
def test_strides_of_the_descriptor(place, input_strides, output_strides, function, flat):
    last = {"last_index": True, "dtype": "uint32"} if function in ARG_DESCS else {}
    desc = arg(function, SIZES, AXES, DECREASING) if last else reduce(function, SIZES, AXES)
    assert desc.output_tensor.sizes == REDUCED
    desc = strided(desc, INPUT_STRIDES[input_strides], OUTPUT_STRIDES[output_strides])
    rng = np.random.default_rng(5)
    tensors = Tensors(desc, place, lambda n, dtype: random_values(rng, (n,), dtype, function))
    tensors.run(flat=flat)
    x, out = tensors.arrays
    expected = oracle.reduce(x, function, AXES, keepdims=True, nan="ignore", **last)
    expected.assert_is(out)
    assert (tensors.outside() == POISON).all()


@each("function", sorted(oracle.EXTREMES))
def test_nan_counts_as_absent(place, function):
    x = np.array([[np.nan, 2, 1], [3, np.nan, 3], [np.nan] * 3], np.float32)
    result = get(ck.compile_operator(reduce(function, (3, 3), (1,)))(put(x, place)))[:, 0]
    expected = {"max": [2, 3, np.nan], "min": [1, 3, np.nan], "argmax": [1, 0, 0],
                "argmin": [2, 0, 0]}[function]  # fmt: skip
    np.testing.assert_array_equal(result, np.array(expected, result.dtype))
    if function in ARG_DESCS:
        last = ck.compile_operator(arg(function, (3, 3), (1,), DECREASING))(put(x, place))
        assert get(last)[:, 0].tolist() == [expected[0], 2, 0]


@each(
    ("function", "hint"),
    [
        ("SUM", "; did you mean 'sum'?"),
        ("nanmax", "; did you mean 'max'?"),  # NaN counts as absent without another word
        ("kurtosis", ""),
    ],
)
def test_what_stands_for_a_function_that_is_none(function, hint):
    words = ", ".join(oracle.FUNCTIONS)
    with pytest.raises(ck.DescriptorError) as caught:
        replace(LEGAL, function=function).validate()
    found = re.escape(f"reduce: function must be one of {words}; got ")
    assert re.fullmatch(f"{found}[^;]+{re.escape(hint)} \\[R1\\]", str(caught.value))


def test_nothing_from_nothing_at_the_extended_level(place):
    x = Buffer(b"", place).view((2, 0, 3), np.float32)
    for function in oracle.FUNCTIONS:
        desc = reduce(function, x.shape, (0, 2))
        result = ck.compile_operator(desc, FeatureLevel.EXTENDED)(x)
        assert (result.shape, result.dtype) == ((1, 0, 1), desc.output_tensor.data_type.numpy)
