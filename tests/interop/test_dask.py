"""Arrays of Dask are lazy: plain functions name `cudakern.dask` instead of computing them."""

from __future__ import annotations

import dask.array as dask_array
import numpy as np
import pytest

import cudakern as ck
from tests.helpers.every_function import CASES, poisoned, run

TEXT = "must be computed; got a lazy dask.Array; use cudakern.dask"


def never(block):
    message = "a chunk was computed"
    raise AssertionError(message) from None
    return block


def lazy(array):
    return dask_array.map_blocks(never, dask_array.asarray(array), dtype=array.dtype, meta=array)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_function_computes_an_operand(addresses, case):
    for k in range(len(case.operands)):
        order = iter(range(len(case.operands)))
        with pytest.raises(ck.BindingError) as caught:
            run(case, lambda a, k=k, order=order: lazy(a) if next(order) == k else a)
        assert str(caught.value).endswith(f" {TEXT}")
    assert not addresses


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.has_out])
def test_no_function_computes_an_output(addresses, case):
    with pytest.raises(ck.BindingError) as caught:
        run(case, np.asarray, [lazy(array) for array in poisoned(case)])
    assert str(caught.value).endswith(f" {TEXT}")
    assert not addresses


def test_computed_arrays_are_operands():
    x = dask_array.arange(6, chunks=2)
    assert ck.reduce(x.compute(), "sum") == 15
