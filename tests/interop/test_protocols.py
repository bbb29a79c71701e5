"""Arrays that have nothing but a protocol, through every function.

Arrays on a device are on the second device of a stand-in for CuPy.
"""

from __future__ import annotations

import array
import ctypes
import sys
from functools import partial

import ml_dtypes
import numpy as np
import pytest

import cudakern as ck
from cudakern.operators.arrays import foreign
from cudakern.operators.arrays.foreign import as_array
from cudakern.operators.arrays.native import address_of
from tests.helpers.every_function import CASES, expected_of, poisoned, run, run_in_place
from tests.helpers.foreign_arrays import (
    CPU,
    CUDA,
    HAS_VERSIONS,
    MANAGED,
    METAL,
    PINNED,
    ArrayOnly,
    BothOnDevice,
    CopiesForNumPy,
    DLPackOnly,
    InterfaceOnly,
    Lazy,
    Narrow,
    NumPyInterfaceOnly,
    Raising,
)
from tests.helpers.libraries import ABSENT
from tests.helpers.operator_samples import INDICES, X
from tests.helpers.places import same_bytes
from tests.helpers.recorded_cupy import recorded
from tests.helpers.refused import assert_refused, refusals
from tests.helpers.rows import each
from tests.helpers.strategies import DTYPES

#: Ways to offer memory of the host; all but the last one allow any dtype and strides.
ON_HOST = {
    "DLPack": DLPackOnly,
    "DLPack before version 1": lambda a: DLPackOnly(a, version=0),
    "DLPack of pinned memory": lambda a: DLPackOnly(a, (PINNED, 0)),
    "__array__": ArrayOnly,
    "__array_interface__": NumPyInterfaceOnly,
    "buffer": memoryview,
}
ON_DEVICE = {
    "DLPack on a device": lambda a: DLPackOnly(a, (CUDA, 1)),
    "DLPack on a device before version 1": lambda a: DLPackOnly(a, (CUDA, 1), version=0),
    "DLPack of managed memory": lambda a: DLPackOnly(a, (MANAGED, 1)),
    "CUDA array interface": lambda a: InterfaceOnly(a, 1),
    "both": lambda a: BothOnDevice(a, (CUDA, 1)),
    "both, read-only": lambda a: BothOnDevice(a, (CUDA, 1), read_only=True),
}
both = ON_DEVICE["both"]
VERSIONS = pytest.mark.skipif(not HAS_VERSIONS, reason="NumPy 2.0 writes to nothing of DLPack")
WRITABLE = {
    "DLPack": pytest.param(DLPackOnly, marks=VERSIONS),
    **{name: ON_DEVICE[name] for name in ("CUDA array interface", "both")},
}
NARROW = [ml_dtypes.bfloat16, *(getattr(ml_dtypes, n) for n in dir(ml_dtypes) if "float8_" in n)]


def test_libraries_are_there():
    """Only this test is skipped where libraries are missing."""
    if ABSENT:
        pytest.skip(f"tests of {', '.join(ABSENT)} need the extra interop")


@pytest.fixture
def record(tmp_path):
    """Put the stand-in in CuPy's place, with two devices; return the record of its work."""
    with recorded(tmp_path) as record:
        yield record


def read_in_place(addresses, case, way):
    """Run a case on operands offered in a way; return its results."""
    operands = [operand.copy() for operand in case.operands]
    pointers = [address_of(a) for a in operands]
    return run_in_place(case, [way(a) for a in operands], pointers, addresses)


@each("way", ON_HOST.values(), ids=ON_HOST)
@each("case", CASES.values(), ids=CASES)
def test_every_function_reads_the_memory_itself(addresses, case, way):
    for result in read_in_place(addresses, case, way):
        assert type(result) is np.ndarray


@each("way", ON_DEVICE.values(), ids=ON_DEVICE)
@each("case", CASES.values(), ids=CASES)
def test_every_function_reads_the_memory_of_a_device_itself(record, addresses, case, way):
    for result in read_in_place(addresses, case, way):
        assert type(result) is record.cupy.ndarray
        assert result.device.id == 1
    assert record.cupy.cuda.get_device_id() == 0


@each("way", ON_HOST.values(), ids=ON_HOST)
@each("dtype", [d for d in DTYPES if np.dtype(d).kind != "V"])
def test_every_layout_is_seen_where_it_is(dtype, way):
    base = np.arange(24).astype(dtype).reshape(4, 6)
    for view in (base, base.T, base[::-2, ::3], base[:0], base[1, 2, ...], base[:, :1]):
        found = as_array("gather", "x", way(view))
        assert type(found) is np.ndarray
        assert same_bytes(found, view)
        assert view.size == 0 or address_of(found) == address_of(view)
        assert found.shape == view.shape
        assert view.size <= 1 or found.strides == view.strides


def test_buffers_are_arrays():
    for value in (array.array("f", [1, 2, 3]), (ctypes.c_float * 3)(1, 2, 3)):
        assert ck.reduce(value, "sum") == 6
    assert ck.reduce(bytearray(b"\1\2"), "max") == 2


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize("way", WRITABLE.values(), ids=WRITABLE)
@each("case", [c for c in CASES.values() if c.has_out])
def test_outputs_are_written_in_place_and_returned(case, way):
    memory = poisoned(case)
    run(case, way, [way(a) for a in memory])
    for result, expected in zip(memory, expected_of(case), strict=True):
        assert same_bytes(result, expected)


@VERSIONS
def test_an_output_whose_array_method_copies_is_written_by_dlpack():
    memory = np.full(4, 77.0)
    out = CopiesForNumPy(memory)
    assert ck.reduce(np.arange(8.0).reshape(2, 4), "sum", 0, out=out) is out
    assert memory.tolist() == [4, 6, 8, 10]


@VERSIONS
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_outputs_keep_strides_and_classes_of_numpy(tmp_path):
    room = np.full((3, 6), 77, np.float32)
    ck.gather(X, INDICES, 1, out=DLPackOnly(room[:, ::2]))
    assert same_bytes(room[:, ::2].copy(), X[:, INDICES])
    assert (room[:, 1::2] == 77).all()
    for out in (
        np.memmap(tmp_path / "file", np.float32, "w+", shape=(3, 3)),
        np.matrix(room[:, :3]),
    ):
        assert ck.gather(X, INDICES, 1, out=out) is out
        assert same_bytes(np.asarray(out), X[:, INDICES])


@VERSIONS
@pytest.mark.usefixtures("record")
@each(
    ("dtype", "device", "way"),
    [(dtype, (CPU, 0), np.asarray) for dtype in NARROW]
    + [(dtype, (CUDA, 1), both) for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2)],
)
def test_narrow_floats_come_and_go_without_a_copy(addresses, dtype, device, way):
    x = np.arange(256, dtype=np.uint8).repeat(np.dtype(dtype).itemsize).view(dtype)
    memory = np.full(2, 77, dtype)
    given, out = Narrow(x, device), Narrow(memory, device)
    assert ck.gather(given, way(np.array([200, 7])), out=out) is out
    assert same_bytes(memory, x[[200, 7]])
    assert addresses[-1][::2] == (address_of(x), address_of(memory))
    if device[0] == CPU:
        assert same_bytes(ck.gather(given, [3]), x[[3]])


@VERSIONS
def test_narrow_floats_of_a_compiled_operator():
    x = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    tensor, total = (ck.TensorDesc(ck.DataType.BFLOAT16, shape) for shape in ((2, 3), (2, 1)))
    op = ck.compile_operator(
        ck.ReduceOperatorDesc("sum", tensor, total, (1,)), ck.FeatureLevel.EXTENDED
    )
    out = Narrow(np.full((2, 1), 77, ml_dtypes.bfloat16))
    for _ in range(2):
        assert op(Narrow(x), out=out) is out
        assert out.array.view(ml_dtypes.bfloat16).tolist() == [[3], [12]]


@each("dtype", NARROW)
def test_narrow_arrays_are_taken_as_they_are(dtype):
    x = np.arange(1, 7).astype(dtype).reshape(2, 3)
    assert as_array("gather", "x", x) is x
    assert as_array("gather", "x", ArrayOnly(x)) is x
    assert same_bytes(ck.gather(ArrayOnly(x), [1]), x[[1]])
    assert same_bytes(ck.gather(x, [5], mode="fill", fill_value=x[0, 1])[0], x[0, 1].repeat(3))


def test_narrow_scalars_and_lists_of_them_are_arrays():
    one = ml_dtypes.bfloat16(1)
    assert ck.reduce([one, one], "sum") == 2
    assert ck.reduce(one, "sum").dtype == ml_dtypes.bfloat16
    assert ck.one_hot([1], 2, values=(one, one)).dtype == ml_dtypes.bfloat16


@each(("name", "wider"), [("int4", "int8"), ("uint4", "uint8"), ("float4_e2m1fn", "float32")])
def test_types_of_less_than_a_byte_are_not_known(name, wider):
    with pytest.raises(ck.DTypeError) as caught:
        ck.argwhere(np.zeros(3, getattr(ml_dtypes, name)))
    assert str(caught.value).endswith(f'; got {name}; use x.astype("{wider}")')


READ = "must be writeable; got a read-only "
READ_ONLY = np.zeros(4)
READ_ONLY.flags.writeable = False
NO_ARRAY = "must be a numpy.ndarray or cupy.ndarray; got "
OUTPUTS = {
    "buffer": (bytearray(32), NO_ARRAY + "bytearray"),
    "__array__ alone": (ArrayOnly(np.zeros(4)), NO_ARRAY + "tests.ArrayOnly"),
    "read-only DLPack": (DLPackOnly(READ_ONLY), READ + "tests.DLPackOnly"),
    "DLPack that cannot say": (DLPackOnly(np.zeros(4), version=0), READ + "tests.DLPackOnly"),
    "DLPack that cannot say, and a copy": (
        CopiesForNumPy(np.zeros(4), version=0), READ + "tests.CopiesForNumPy",
    ),
    "another device": (
        DLPackOnly(np.zeros(4), (METAL, 0)),
        "must be an array; got tests.DLPackOnly (it is on a device of DLPack's type 8)",
    ),
    "shape": (
        DLPackOnly(np.zeros(3)), "must have shape (4,) for x.shape=(2, 4), axis=(0,); got (3,)",
    ),
    "overlap": (None, "must not overlap x; they share memory [T19]"),
}  # fmt: skip


@VERSIONS
@each(("given", "text"), OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_that_cannot_be_one(addresses, given, text):
    x = np.arange(8.0).reshape(2, 4)
    out = DLPackOnly(x[0]) if given is None else given
    call = partial(ck.reduce, DLPackOnly(x), "sum", 0, out=out)
    assert_refused(ck.BindingError, f"reduce: out {text}", call)
    assert x.tolist() == np.arange(8.0).reshape(2, 4).tolist()
    assert not READ_ONLY.any()
    assert not addresses


def test_a_collection_whose_elements_dask_has_not_is_read():
    assert ck.reduce(Lazy(X, None), "max") == np.inf


ERRORS = {
    RuntimeError("first\nsecond"): (ck.DTypeError, " (first)"),
    ValueError("ragged"): (ck.BindingError, " (ragged)"),
    BufferError("x" * 300): (ck.DTypeError, f" ({'x' * 200})"),
    KeyError(): (ck.DTypeError, ""),
    ZeroDivisionError("why"): (ck.DTypeError, " (why)"),
}


@each(("error", "expected"), ERRORS.items())
def test_errors_of_a_library_become_one_line(error, expected):
    kind, why = expected
    text = f"must be an array; got tests.Raising{why}"
    assert_refused(kind, f"gather: x {text}", lambda: ck.gather(Raising(error), INDICES))
    assert_refused(
        kind, f"gather: out {text}", lambda: ck.gather(X, INDICES, 1, out=Raising(error))
    )


def test_what_is_short_of_memory_says_so_itself():
    with pytest.raises(MemoryError):
        ck.gather(Raising(MemoryError()), INDICES)


@pytest.mark.usefixtures("record")
def test_narrow_floats_of_cupy_come_by_dlpack():
    x = np.arange(4).astype(ml_dtypes.bfloat16)
    exported = DLPackOnly(x.view("u2"), (CUDA, 1), code=4)
    result = ck.gather(exported, both(np.array([3])))
    assert result.tolist() == [3]
    assert result.dtype == ml_dtypes.bfloat16


class Failing(BothOnDevice):
    def __init__(self, error, *, negative=False):
        super().__init__(X)
        self.error, self.negative = error, negative

    def is_neg(self):
        return self.negative

    def __dlpack__(self, **_):
        raise self.error


def maximum(x, out=None):
    return ck.reduce(x, "max", out=out)


ZEROS, ROWS = np.zeros(4, ml_dtypes.bfloat16), np.zeros((12, 2), np.uint32)
EXPORT = Failing(BufferError("use detach()\nand more"))
NEGATIVE = Failing(None, negative=True)
FAR = [ON_DEVICE[name] for name in ("DLPack on a device", "CUDA array interface")]
NO_X, NO_OUT = (f"reduce: {name} must be an array; got tests." for name in ("x", "out"))
TABLES = {
    ck.DTypeError: {
        f"{NO_X}Narrow (it requires grad; use detach())": lambda: maximum(
            Narrow(ZEROS, requires_grad=True)
        ),
        f"{NO_X}Narrow (float8_e1m6 needs the package ml_dtypes)": lambda: maximum(
            Narrow(ZEROS, name="float8_e1m6")
        ),
        f"{NO_X}DLPackOnly (Unsupported dtype. dtype code: 10)": lambda: maximum(
            DLPackOnly(ZEROS.view("u1"), (CUDA, 1), code=10)
        ),
        f"{NO_X}Failing (use detach())": lambda: maximum(EXPORT),
        f"{NO_OUT}Failing (use detach())": lambda: maximum(both(X), EXPORT),
        f"{NO_X}Failing (its negative bit is set; use resolve_neg())": lambda: maximum(NEGATIVE),
    },
    ck.BindingError: {
        f"{NO_X}DLPackOnly (it is on a device of DLPack's type 8)": lambda: maximum(
            DLPackOnly(X, (METAL, 0))
        ),
        "reduce: out must be writeable; got a read-only tests.Narrow": lambda: maximum(
            Narrow(ZEROS[None], (CUDA, 1)), Narrow(ZEROS[:1], (CUDA, 1), read_only=True)
        ),
        "reduce: out must be writeable; got a read-only tests. ... ": [
            lambda name=name: maximum(both(X), ON_DEVICE[name](np.zeros((), np.float32)))
            for name in ON_DEVICE.keys() - WRITABLE.keys()
        ],
        "gather: indices must be where x is, on the host; got CUDA device 1": [
            lambda far=far: ck.gather(X, far(INDICES)) for far in FAR
        ],
    },
}


@pytest.mark.usefixtures("record")
@each(("error", "text", "call"), refusals(TABLES))
def test_answer(error, text, call):
    assert_refused(error, text, call)


@VERSIONS
def test_a_pair_of_outputs_is_looked_at_one_by_one():
    text = (
        "nonzero_coordinates: out.coordinates must be writeable; got a read-only tests.DLPackOnly"
    )
    out = DLPackOnly(np.zeros(1, np.uint32)), DLPackOnly(ROWS, version=0)
    assert_refused(ck.BindingError, text, lambda: ck.nonzero_coordinates(X, out=out))


def test_narrow_floats_without_the_package(monkeypatch):
    monkeypatch.setattr(foreign, "narrow_floats", dict)
    text = f"{NO_X}Narrow (bfloat16 needs the package ml_dtypes)"
    assert_refused(ck.DTypeError, text, lambda: maximum(Narrow(ZEROS)))


@pytest.mark.usefixtures("record")
def test_what_is_missing_is_said_as_of_cupy_arrays(monkeypatch):
    error = RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
    text = "^cudakern: no CUDA driver or device is visible; "
    with pytest.raises(ck.EngineUnavailableError, match=text):
        ck.argwhere(Failing(error))
    monkeypatch.setitem(sys.modules, "cupy", None)
    text = "^cudakern: CuPy is needed for arrays on a GPU and is not installed; "
    with pytest.raises(ck.EngineUnavailableError, match=text):
        ck.argwhere(both(X))
