"""Functions work on the device of their arrays, whichever is the current one.

The stand-in of CuPy has two devices, of which none reaches the memory of the other: so what is not
a launch, such as a conversion or a fill, fails on another device than that of its arrays.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import cudakern as ck
from cudakern.values.dtypes import narrow_floats
from tests.helpers.every_function import CASES, poisoned, results_of, run
from tests.helpers.operator_samples import INDICES, X, operator_for
from tests.helpers.places import same_bytes
from tests.helpers.rows import each
from tests.operators.gather.samples import DESC as GATHER
from tests.operators.gather_nd.samples import TUPLES

OFF = np.frombuffer(bytes(4) + X.tobytes(), np.uint8)  # X is misaligned here by four bytes
EMPTY = X[:, :0]
NARROW = X.astype(narrow_floats()["float8_e4m3fn"])
GAPS = replace(GATHER.output_tensor, strides=(5, 1), total_tensor_size_in_bytes=None)
SPREAD = replace(GATHER, output_tensor=GAPS)
#: What works besides launches: copies, conversions, fills, waits. Operands and what calls them.
BESIDES = {
    "narrow indices": (ck.gather, X, np.array([2, -1], np.int8)),
    "indices in a list": (lambda x: ck.gather(x, [2, 0]), X),
    "a check": (partial(ck.gather_nd, mode="raise"), X, TUPLES),
    "an error of a check": (
        lambda x, i: refused(partial(ck.gather, x, i, mode="raise")), X, INDICES,
    ),
    "a fill": (partial(ck.gather, mode="fill", fill_value=-0.0), EMPTY[:0], INDICES),
    "values of another dtype": (
        lambda i, v: ck.one_hot(i, 4, values=v, dtype="float32"), INDICES, np.array([2, 3]),
    ),
    "a misaligned array": (lambda b: ck.reduce(b[4:].view("f4").reshape(3, 4), "l1", 1), OFF),
    "a misaligned complex array": (lambda b: ck.reduce(b[4:].view("c8"), "argmax"), OFF),
    "a sum of nothing": (lambda x: ck.reduce(x, "sum", 1), EMPTY),
    "an initial value": (lambda x: ck.reduce(x, "max", 1, initial=2), EMPTY),
    "elements alone": (lambda x: ck.reduce(x, "log_sum", ()), X),
    "padding": (lambda x: ck.nonzero(x, size=9), X),
    "nothing to search": (ck.argwhere, EMPTY),
    "an output with strides": (operator_for(SPREAD), X, INDICES[None]),
    "8-bit floats": (partial(ck.gather, axis=1), NARROW, INDICES),
    "a fill with 8-bit floats": (
        partial(ck.gather, mode="fill", fill_value=3), NARROW[:0], INDICES,
    ),
    "values of 8-bit floats": (lambda i, v: ck.one_hot(i, 4, values=v), INDICES, NARROW[0, 2:]),
    "a result that is shown": (lambda x: repr(ck.nonzero_coordinates(x).count), X),
}  # fmt: skip


def refused(call):
    """Return what the error says that a call raises."""
    with pytest.raises(ck.IndexRangeError) as caught:
        call()
    return str(caught.value)


@pytest.fixture
def cupy():
    with ck.simulator.in_place_of_cupy(devices=2) as stand_in:
        yield stand_in


def put(cupy, array):
    """Return an array on device 1, which is not the current one."""
    with cupy.cuda.Device(1):
        return cupy.asarray(array)


def assert_on_device_1(cupy, results, expected):
    assert cupy.cuda.runtime.getDevice() == 0
    for result, wanted in zip(results, expected, strict=True):
        assert type(result) is cupy.ndarray
        assert result.data.device_id == result.device.id == 1
        assert same_bytes(result.get(), wanted)


@each("name", CASES)
@each("given", [False, True])
def test_results_are_where_the_operands_are(cupy, name, given):
    case = CASES[name]
    for _ in ("cold", "warm") if case.has_out or not given else ():
        outputs = [put(cupy, array) for array in poisoned(case)] if given else None
        found = run(case, partial(put, cupy), outputs)
        assert_on_device_1(cupy, found, results_of(case.expected))


@each("name", BESIDES)
def test_what_is_no_launch_is_there_too(cupy, name):
    call, *operands = BESIDES[name]
    expected, found = call(*operands), call(*[put(cupy, array) for array in operands])
    if isinstance(expected, str):
        assert found == expected
    else:
        assert_on_device_1(cupy, results_of(found), results_of(expected))
