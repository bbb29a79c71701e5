"""Lazy and sparse arrays have no elements in memory: they are refused, not computed or read."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.every_function import CASES, poisoned, run
from tests.helpers.foreign_arrays import Lazy
from tests.helpers.libraries import ABSENT
from tests.helpers.rows import each

LAZY = "must be computed; got a lazy {}; use its compute(), or cudakern.dask for dask arrays"
NO_ARRAY = "must be a numpy.ndarray or cupy.ndarray; got {}"
#: For each kind: a function that makes one of an array, and the errors for operands and outputs.
KINDS = {"lazy": (Lazy, *[(ck.BindingError, LAZY.format("tests.Lazy"))] * 2)}

if "dask" not in ABSENT:
    import dask.array as dask_array

    def never(block):
        message = "a chunk was computed"
        raise AssertionError(message) from None
        return block

    def dask(array):
        return dask_array.map_blocks(
            never, dask_array.asarray(array), dtype=array.dtype, meta=array
        )

    KINDS["dask"] = (dask, *[(ck.BindingError, LAZY.format("dask.Array"))] * 2)

    def test_computed_arrays_are_operands():
        assert ck.reduce(dask_array.arange(6, chunks=2).compute(), "sum") == 15


if "scipy" not in ABSENT:
    from scipy import sparse

    FORMATS = [name for name in sparse.__all__ if name[3:] in {"_array", "_matrix"}]
    for kind in [kind for kind in map(vars(sparse).get, FORMATS) if isinstance(kind, type)]:
        name = f"scipy.{kind.__name__}"
        KINDS[name] = (
            lambda array, kind=kind: kind(np.atleast_2d(array)),
            (ck.DTypeError, f"must be an array; got {name}; use {{}}.toarray()"),
            (ck.BindingError, NO_ARRAY.format(name)),
        )


@each("kind", KINDS)
@each("case", CASES.values(), ids=CASES)
def test_no_function_computes_an_operand_or_an_output(addresses, case, kind):
    make, of_operand, of_output = KINDS[kind]

    def refused(expected, put, outputs=None):
        error, text = expected
        with pytest.raises(error) as caught:
            run(case, put, outputs)
        assert type(caught.value) is error
        operand = str(caught.value).split()[1]
        assert str(caught.value).endswith(f" {text.format(operand)}")

    for k in range(len(case.operands)):
        order = iter(range(len(case.operands)))
        refused(of_operand, lambda a, k=k, order=order: make(a) if next(order) == k else a)
    if case.has_out:
        refused(of_output, np.asarray, [make(array) for array in poisoned(case)])
    assert not addresses
