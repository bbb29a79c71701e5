"""Arrays and scalars of ml_dtypes, which are NumPy's own, as operands."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern._foreign import as_array
from tests.helpers.foreign_arrays import ArrayOnly
from tests.helpers.places import same_bytes

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")

NARROW = [ml_dtypes.bfloat16] + [
    getattr(ml_dtypes, name) for name in dir(ml_dtypes) if name.startswith("float8_")
]


@pytest.mark.parametrize("dtype", NARROW)
def test_arrays_are_taken_as_they_are(dtype):
    x = np.arange(1, 7).astype(dtype).reshape(2, 3)
    assert as_array("gather", "x", x) is x
    assert as_array("gather", "x", ArrayOnly(x)) is x
    assert same_bytes(ck.gather(ArrayOnly(x), [1]), x[[1]])
    assert same_bytes(ck.gather(x, [5], mode="fill", fill_value=x[0, 1])[0], x[0, 1].repeat(3))


def test_scalars_and_lists_of_them_are_arrays():
    one = ml_dtypes.bfloat16(1)
    assert ck.reduce([one, one], "sum") == 2
    assert ck.reduce(one, "sum").dtype == ml_dtypes.bfloat16
    assert ck.one_hot([1], 2, values=(one, one)).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("name", ["int4", "uint4", "float4_e2m1fn"])
def test_types_of_less_than_a_byte_are_not_known(name):
    with pytest.raises(ck.DTypeError) as caught:
        ck.argwhere(np.zeros(3, getattr(ml_dtypes, name)))
    assert str(caught.value).endswith(f"; got {name}")
