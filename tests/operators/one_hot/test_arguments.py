"""What one_hot answers to wrong arguments of its own, word by word."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.places import put
from tests.helpers.refused import assert_refused, refusals
from tests.helpers.rows import each

pytestmark = pytest.mark.device

I = np.array([[0, 1, 2], [3, -1, 9]], np.int32)  # noqa: E741  as in the operator's formula
TWO = "values must be two scalars or an array of two elements; got "
VALUES = "values.dtype must be bool,  ...  or complex128; got "


KINDS = (
    "dtype must be bool, int8 to int64, uint8 to uint64, float16 to float64, bfloat16, float8_*, "
    "complex64 or complex128; got "
)
OUT = np.zeros((2, 3, 5), np.int64)


def call(depth=5, **options):
    return lambda: ck.one_hot(I, depth, **options)


def values(*pair, **options):
    return call(values=pair, **options)


TABLES = {
    ck.ArgumentError: {
        "depth must be at least 0; got -1": call(-1),
        "axis must lie in [-3, 2]; got 3": call(axis=3),
        "negative must be  ... ; did you mean 'invalid'?": call(negative="out_of_range"),
        f"{TWO}3 of them": values(0, 1, 2),
        f"{TWO}1 of them": values([0, 1]),
        f"{TWO}shape ()": call(values=1),
        f"{TWO}shape (3,)": call(values=np.arange(3)),
    },
    ck.DTypeError: {
        "depth must be an int; got 5.0; did you mean 5?": call(5.0),
        "axis must be an int; got 'columns'; did you mean 1?": call(axis="columns"),
        "values[0] must be a scalar; got shape (1,)": values([0], 1),
        f"{VALUES}<U1; it is text, and operators take numbers": values(0, "x"),
        f'{VALUES}object; if all are numbers, use np.asarray(values, "float64")': values(None, 1),
        f'{VALUES}datetime64[s]; use values.view("int64")': values(0, np.datetime64(1, "s")),
        "values must be scalars of one dtype; got ( ... )": values(
            np.float32(0), np.datetime64(1, "s")
        ),
        "values[1] must fit int64; got 10000000000000000000 ... ": values(0, 10**40, dtype=int),
        "values[1] must fit int8; got np.int64(300) (it is out of range)": call(
            values=np.array([0, 300]), dtype="int8"
        ),
        f"{KINDS}'bflot16'; did you mean 'bfloat16'?": call(dtype="bflot16"),
        f"{KINDS}<DataType.INT8: 8>; did you mean 'int8'?": call(dtype=ck.DataType.INT8),
    },
    ck.BindingError: {
        "out must have shape (2, 10, 3) for axis=1, depth=10; got (2, 3, 10)": call(
            10, axis=1, out=np.zeros((2, 3, 10), np.float32)
        ),
        'out must have dtype float32; got int64; use dtype="int64"': call(out=OUT),
        'out must have dtype int8; got int64; use dtype="int64"': call(out=OUT, dtype="int8"),
        "out must have dtype float32; got datetime64[s]": call(out=OUT.view("M8[s]")),
    },
}


@each(("error", "text", "call"), refusals(TABLES))
def test_answer(launches, error, text, call):
    assert_refused(error, f"one_hot: {text}", call)
    assert not launches


def test_a_warm_call_tells_values_and_dtypes_apart(place):
    indices, out = put(I, place), put(np.empty((2, 3, 5), np.float32), place)
    for pair in [(0, 1), (0, 2), (0.0, -0.0), (-0.0, 0.0), (1, 0)]:
        ck.one_hot(indices, 5, values=pair, out=out)
        found = out.reshape(-1).tolist()[:2]
        assert found == [pair[1], pair[0]]
        assert np.signbit(found).tolist() == np.signbit(pair[::-1]).tolist()
    halves = (np.float16(0), np.float16(1))
    for options in ({"dtype": np.float16}, {"values": halves}):
        with pytest.raises(ck.BindingError, match="must have dtype float16; got float32"):
            ck.one_hot(indices, 5, out=out, **options)
    for depth in (4, 6):
        with pytest.raises(ck.BindingError, match=f"depth={depth}; got"):
            ck.one_hot(indices, depth, out=out)
