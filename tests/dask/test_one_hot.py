"""One-hot over dask arrays."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
import cudakern.dask as cd
from tests.helpers.chunked import chunked
from tests.helpers.one_hot import expected
from tests.helpers.places import same_bytes
from tests.helpers.samples import examples
from tests.helpers.strategies import random_bytes, random_indices


@settings(max_examples=examples(60))
@given(st.data())
def test_any_chunks_axis_and_values(data):
    rank = data.draw(st.integers(0, 3))
    shape = tuple(data.draw(st.sampled_from([1, 2, 3, 7, 0])) for _ in range(rank))
    depth, axis = data.draw(st.integers(0, 9)), data.draw(st.integers(0, rank))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    kind = data.draw(st.sampled_from(["int64", "uint64"]))
    indices = random_indices(rng, shape, kind, max(depth, 1))
    values = random_bytes(rng, (2,), data.draw(st.sampled_from(["bool", "float16", "complex128"])))
    negative = data.draw(st.sampled_from(["from_end", "invalid"]))
    form = data.draw(st.sampled_from(["array", "scalars", "lazy", "lazy of two dimensions"]))
    given_values = {
        "array": lambda: values,
        "scalars": lambda: (values[0], values[1]),
        "lazy": lambda: da.from_array(values, chunks=1),
        "lazy of two dimensions": lambda: da.from_array(values.reshape(2, 1), chunks=1),
    }[form]()
    if form == "scalars" and values.dtype.kind == "b":
        values = values.astype(bool) & True  # NumPy's scalars are true or false
    lazy = data.draw(chunked(indices))
    result = cd.one_hot(
        lazy, depth, axis=axis - data.draw(st.sampled_from([0, rank + 1])), values=given_values,
        negative=negative,
    )  # fmt: skip
    right = expected(indices, depth, axis, values, negative)
    assert (result.shape, result.dtype) == (right.shape, right.dtype)
    assert same_bytes(result.compute(), right)


def test_lazy_values_that_do_not_fit_raise_when_computed():
    result = cd.one_hot([0, 1], 2, values=da.from_array([0, 300], chunks=1), dtype="int8")
    with pytest.raises(ck.DTypeError, match="must fit int8; got"):
        result.compute()
