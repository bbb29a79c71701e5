"""Numbers, and lists and tuples of numbers, go where the arrays of a call are: on a device, too.

Arrays on a device are those of the stand-in of CuPy, which the simulator runs on.
"""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.every_function import CASES, expected_of, poisoned, results_of
from tests.helpers.foreign_arrays import Lazy
from tests.helpers.places import same_bytes
from tests.helpers.rows import each

#: Sequences of numbers, and of arrays that are rows of one, as NumPy has it.
SEQUENCES = {
    "lists": np.ndarray.tolist,
    "tuples": lambda a: tuple(map(tuple, a.tolist())) if a.ndim > 1 else tuple(a.tolist()),
    "NumPy's scalars": lambda a: [tuple(row.flat) for row in a] if a.ndim > 1 else (*a.flat,),
    "ranges": lambda a: [range(n, n + 1) for n in a.flat] if a.dtype.kind == "i" else a.tolist(),
}
ARRAYS = {
    "arrays without dimensions": lambda a: (*map(np.array, a),) if a.ndim == 1 else a.tolist(),
    "a list of arrays": list,
    "a list of what could be lazy": (
        lambda a: [Lazy(row, None) for row in a] if a.ndim > 1 else a.tolist()
    ),
}
#: By case, the operands that may be any numbers: what is compiled has no float64, and values of
#: one_hot in a list travel with the launch.
ANY = [
    (name, k)
    for name, case in CASES.items()
    for k, least in enumerate(case.least.values())
    if least is not None
]
OPERANDS = [(name, k) for name, k in ANY if len(CASES[name].operands) > 1]
ALONE = [operand for operand in ANY if operand not in OPERANDS]
TUPLES = ("gather_nd", 1)  # of which a list of arrays has an index for each axis
COMPILED = [("compiled gather", 1), ("compiled gather of owned", 1)]


@pytest.fixture
def cupy():
    with ck.simulator.in_place_of_cupy() as stand_in:
        yield stand_in


def on_host(array, cupy):
    """Return an array's elements, if it is on the device."""
    assert type(array) is cupy.ndarray
    assert array.data.device_id == 0
    return array.get()


@each(
    ("name", "k", "given"),
    [
        (name, k, given)
        for name, k in OPERANDS + ALONE
        for given in (*SEQUENCES, *ARRAYS)
        if (name, k) != TUPLES or not given.startswith("a list")
    ],
)
def test_sequences_are_arrays(name, k, given):
    operands = [*CASES[name].operands]
    operands[k] = (SEQUENCES | ARRAYS)[given](operands[k])
    same = [*CASES[name].operands]
    same[k] = np.asarray(operands[k])
    results, expected = (results_of(CASES[name].call(*these)) for these in (operands, same))
    for found, wanted in zip(results, expected, strict=True):
        assert np.array_equal(found, wanted)


@each(
    ("name", "k", "given"),
    [
        *[(*operand, given) for operand in OPERANDS for given in SEQUENCES],
        *[(*operand, given) for operand in COMPILED for given in ("lists", "tuples")],
    ],
)
def test_numbers_go_where_the_other_operands_are(cupy, name, k, given):
    operands = [*CASES[name].operands]
    numbers = SEQUENCES[given](operands[k])
    operands[k] = np.asarray(numbers)
    expected = results_of(CASES[name].call(*operands))
    operands = [*map(cupy.asarray, operands)]
    operands[k] = numbers
    for result, wanted in zip(results_of(CASES[name].call(*operands)), expected, strict=True):
        assert same_bytes(on_host(result, cupy), wanted)


@each("name", [name for name, case in CASES.items() if case.has_out])
def test_numbers_alone_go_where_the_output_is(cupy, name):
    case = CASES[name]
    outputs = [*map(cupy.asarray, poisoned(case))]
    typed = [[*map(list, a)] if a.ndim > 1 else [*a] for a in case.operands]  # NumPy's scalars
    out = {"out": tuple(outputs) if isinstance(case.expected, tuple) else outputs[0]}
    assert all(a is b for a, b in zip(results_of(case.call(*typed, **out)), outputs, strict=True))
    for result, expected in zip(outputs, expected_of(case), strict=True):
        assert same_bytes(on_host(result, cupy), expected)


@each(
    ("name", "k", "make"),
    [
        *[(*o, make) for o in OPERANDS for make in (np.array, memoryview)],
        *[(*o, lambda a: [np.array(a)]) for o in OPERANDS if o != TUPLES],
    ],
)
def test_arrays_of_the_host_stay_an_error(cupy, name, k, make):
    operands = [*map(cupy.asarray, CASES[name].operands)]
    operands[k] = make(CASES[name].operands[k])
    text = r" must be where \w+ is, on (the host|CUDA device 0); got (the host|CUDA device 0)$"
    with pytest.raises(ck.BindingError, match=text):
        CASES[name].call(*operands)


def test_a_number(cupy):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for number in (2, np.int8(2), np.uint64(2)):
        assert same_bytes(on_host(ck.gather(cupy.asarray(x), number, 1), cupy), x[:, 2])


def test_numbers_of_any_dtype(cupy):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in (bool, np.complex64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
        x = np.array([0, 1, 1]).astype(dtype)
        result = ck.gather([*x], cupy.asarray([2, 0]))
        assert same_bytes(on_host(result, cupy), x[[2, 0]]) or result.dtype == x.dtype


def test_owned_numbers_belong_to_no_place(cupy):
    """A descriptor's strides are kept on the device."""
    int64, owned = ck.DataType.INT64, ck.TensorFlags.OWNED_BY_DML
    x, two = ck.TensorDesc(int64, (3,), (2,), flags=owned), ck.TensorDesc(int64, (2,))
    operator = ck.compile_operator(ck.GatherOperatorDesc(x, two, two, 0, 1))
    ready = operator.initialize([5, 0, 7, 0, 9])
    assert on_host(ready(cupy.asarray([2, 1])), cupy).tolist() == [9, 7]
    assert ready([2, 1]).tolist() == ready(np.array([2, 1])).tolist() == [9, 7]
    assert type(ready([2, 1])) is np.ndarray


def test_nothing_of_a_device_leaves_the_host():
    """Without arrays on a device, numbers are the host's, also beside an output there."""
    assert type(ck.gather([1, 2], [1])) is np.ndarray
    out = np.empty(1, np.int64)
    assert ck.gather([1, 2], [1], out=out) is out
    assert out.tolist() == [2]
