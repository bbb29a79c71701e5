"""Arrays on a device of libraries that nobody has, on the stand-in for CuPy."""

from __future__ import annotations

import sys

import ml_dtypes
import numpy as np
import pytest

import cudakern as ck
from tests.helpers import fake_cupy
from tests.helpers.every_function import CASES, INDICES, X, expected_of, poisoned, run, run_in_place
from tests.helpers.foreign_arrays import (
    CUDA,
    MANAGED,
    BothOnDevice,
    DLPackOnly,
    InterfaceOnly,
    Narrow,
)
from tests.helpers.places import same_bytes

WAYS = {
    "DLPack": lambda a: DLPackOnly(a, (CUDA, 1)),
    "DLPack before version 1": lambda a: DLPackOnly(a, (CUDA, 1), version=0),
    "DLPack of managed memory": lambda a: DLPackOnly(a, (MANAGED, 1)),
    "CUDA array interface": lambda a: InterfaceOnly(a, 1),
    "both": lambda a: BothOnDevice(a, (CUDA, 1)),
    "both, read-only": lambda a: BothOnDevice(a, (CUDA, 1), read_only=True),
}
WRITABLE = ("CUDA array interface", "both")


@pytest.fixture(autouse=True)
def cupy(tmp_path):
    """Put the stand-in in CuPy's place, with two devices and empty tables."""
    with fake_cupy.installed(tmp_path) as fake:
        yield fake


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", CASES)
def test_every_function_reads_the_memory_itself(cupy, addresses, name, way):
    case = CASES[name]
    operands = [operand.copy() for operand in case.operands]
    arrays, pointers = [way(a) for a in operands], [address(a) for a in operands]
    for result in run_in_place(case, arrays, pointers, addresses):
        assert isinstance(result, fake_cupy.Array)
        assert result.data.device_id == 1
    assert cupy.state.current == 0


@pytest.mark.parametrize("way", [WAYS[name] for name in WRITABLE], ids=WRITABLE)
@pytest.mark.parametrize("case", [case for case in CASES.values() if case.has_out])
def test_outputs_are_written_in_place_and_returned(case, way):
    memory = poisoned(case)
    run(case, way, [way(array) for array in memory])
    for result, expected in zip(memory, expected_of(case), strict=True):
        assert same_bytes(result, expected)


def message(call, error):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    return str(caught.value)


@pytest.mark.parametrize("name", [name for name in WAYS if name not in WRITABLE])
def test_outputs_that_nobody_says_may_be_written_to(cupy, name):
    memory = np.full((3, 3), 77, np.float32)
    out = WAYS[name](memory)
    kind = type(out).__name__
    text = message(
        lambda: ck.gather(WAYS["both"](X), WAYS["both"](INDICES), 1, out=out), ck.BindingError
    )
    assert text == f"gather: out must be writeable; got a read-only tests.{kind}"
    assert (memory == 77).all()
    assert not cupy.state.launches


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_narrow_floats_come_and_go_without_a_copy(addresses, dtype):
    x = np.arange(256, dtype=np.uint8).repeat(np.dtype(dtype).itemsize).view(dtype)
    memory = np.full(2, 77, dtype)
    out = Narrow(memory, (CUDA, 1))
    assert ck.gather(Narrow(x, (CUDA, 1)), WAYS["both"](np.array([200, 7])), out=out) is out
    assert same_bytes(memory, x[[200, 7]])
    assert addresses[-1][::2] == (address(x), address(memory))


def test_narrow_floats_of_cupy_come_by_dlpack():
    x = np.arange(4).astype(ml_dtypes.bfloat16)
    exported = DLPackOnly(x.view("u2"), (CUDA, 1), code=4)
    result = ck.gather(exported, WAYS["both"](np.array([3])))
    assert result.values.tolist() == [3]
    assert result.dtype == ml_dtypes.bfloat16
    exported = DLPackOnly(x.view("u1"), (CUDA, 1), code=10)
    assert message(lambda: ck.argwhere(exported), ck.DTypeError) == (
        "argwhere: x must be an array; got tests.DLPackOnly (Unsupported dtype. dtype code: 10)"
    )


def test_narrow_floats_that_must_not_be_written_to():
    x = np.zeros(4, ml_dtypes.bfloat16)
    out = Narrow(x[:1].copy(), (CUDA, 1), read_only=True)
    text = message(lambda: ck.reduce(Narrow(x[None], (CUDA, 1)), "sum", out=out), ck.BindingError)
    assert text == "reduce: out must be writeable; got a read-only tests.Narrow"


@pytest.mark.parametrize("way", ["DLPack", "CUDA array interface"])
def test_places_that_differ_are_named(way):
    far = WAYS[way]
    assert message(lambda: ck.gather(X, far(INDICES)), ck.BindingError) == (
        "gather: indices must be where x is, on the host; got CUDA device 1"
    )
    near = BothOnDevice(X, (CUDA, 0))
    assert message(lambda: ck.gather(near, far(INDICES)), ck.BindingError) == (
        "gather: indices must be where x is, on CUDA device 0; got CUDA device 1"
    )
    out = np.zeros((3, 3), np.float32)
    assert message(lambda: ck.gather(far(X), far(INDICES), 1, out=out), ck.BindingError) == (
        "gather: out must be where the inputs are, on CUDA device 1; got the host"
    )
    values = np.zeros(2)
    assert message(lambda: ck.one_hot(far(INDICES), 3, values=values), ck.BindingError) == (
        "one_hot: values must be where indices is, on CUDA device 1; got the host"
    )


class Failing(BothOnDevice):
    def __init__(self, error, *, negative=False):
        super().__init__(X)
        self.error, self.negative = error, negative

    def is_neg(self):
        return self.negative

    def __dlpack__(self, **_):
        raise self.error


def test_errors_of_a_library_become_one_line():
    failing = Failing(BufferError("use detach()\nand more"))
    text = message(lambda: ck.argwhere(failing), ck.DTypeError)
    assert text == "argwhere: x must be an array; got tests.Failing (use detach())"
    x = WAYS["both"](X)
    text = message(lambda: ck.reduce(x, "max", 1, out=failing), ck.DTypeError)
    assert text == "reduce: out must be an array; got tests.Failing (use detach())"


def test_a_tensor_with_its_negative_bit_set_is_refused():
    text = message(lambda: ck.argwhere(Failing(None, negative=True)), ck.DTypeError)
    why = "its negative bit is set; use resolve_neg()"
    assert text == f"argwhere: x must be an array; got tests.Failing ({why})"


def test_what_is_missing_is_said_as_of_cupy_arrays(monkeypatch):
    error = RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
    text = message(lambda: ck.argwhere(Failing(error)), ck.EngineUnavailableError)
    assert text.startswith("cudakern: no CUDA driver or device is visible; ")
    monkeypatch.setitem(sys.modules, "cupy", None)
    text = message(lambda: ck.argwhere(WAYS["both"](X)), ck.EngineUnavailableError)
    assert text.startswith("cudakern: CuPy is needed for arrays on a GPU and is not installed; ")
