"""Functions that Numba compiled, before and after those of cudakern, and arrays of numba.cuda."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import cudakern as ck
from cudakern.operators.arrays.native import address_of
from tests.helpers.every_function import CASES, expected_of, poisoned, run, run_in_place
from tests.helpers.operator_samples import INDICES, X
from tests.helpers.places import same_bytes
from tests.helpers.rows import each


@numba.njit
def address_in(array):
    return array.ctypes.data


@numba.njit
def doubled(array):
    return array * 2


@each("case", CASES.values(), ids=CASES)
def test_compiled_functions_take_results_where_they_are(case):
    for result in run(case, np.asarray):
        assert address_in(result) == address_of(result)
        assert np.array_equal(doubled(result), result * 2.0)


def test_arrays_of_compiled_functions_are_operands(addresses):
    x = doubled(X)
    assert same_bytes(ck.gather(x, INDICES, 1), (X * 2)[:, INDICES])
    assert addresses[0][0] == address_of(x)


def test_typed_lists_are_sequences():
    assert ck.reduce(numba.typed.List([1.0, 2.0]), "sum") == 3


@pytest.fixture
def cuda():
    found = pytest.importorskip("numba.cuda")
    if not found.is_available():
        pytest.skip("this Numba has no CUDA")
    return found


@pytest.mark.gpu
@each("case", CASES.values(), ids=CASES)
def test_every_function_reads_device_arrays_where_they_are(cuda, addresses, case):
    arrays = [cuda.to_device(operand) for operand in case.operands]
    pointers = [array.__cuda_array_interface__["data"][0] for array in arrays]
    for result in run_in_place(case, arrays, pointers, addresses):
        assert cuda.as_cuda_array(result).__cuda_array_interface__["data"][0] == result.data.ptr


@pytest.mark.gpu
@each("case", [case for case in CASES.values() if case.has_out])
def test_device_arrays_are_written_in_place_and_returned(cuda, case):
    outputs = [cuda.to_device(array) for array in poisoned(case)]
    run(case, cuda.to_device, outputs)
    for result, expected in zip(outputs, expected_of(case), strict=True):
        assert same_bytes(result.copy_to_host(), expected)
