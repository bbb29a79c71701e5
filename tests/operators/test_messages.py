"""What is answered where several functions or none are asked, word by word; numbers that fit."""

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

import cudakern as ck
from cudakern import DataType
from cudakern.values import dtypes
from cudakern.values.dtypes import known_dtypes
from tests.helpers.bindings import DESC, INDICES, OWNED, X, change
from tests.helpers.refused import assert_refused, refusals
from tests.helpers.rows import each

I = np.array([0, -1], np.int32)  # noqa: E741  as in the operators' formulas
KNOWN = (
    "float32, float16, uint32, uint16, uint8, int32, int16, int8, float64, uint64, int64, bool, "
    "complex64, complex128, bfloat16"
)
COPIED = (
    f"{KNOWN}, float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, "
    "float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu"
)


def test_what_needs_the_package_ml_dtypes(monkeypatch):
    monkeypatch.setattr(dtypes, "narrow_floats", dict)
    for given, got in {
        "bfloat16": "bfloat16",
        "torch.bfloat16": "'torch.bfloat16'",
        "float8_e5m2": "float8_e5m2",
    }.items():
        text = f"reduce: dtype must be one of float32; got {got}; it needs the package ml_dtypes"
        call = partial(dtypes.as_dtype, "reduce", given, [np.dtype("float32")])
        assert_refused(ck.DTypeError, text, call)


FAR, NONE = "it is out of range", "it is no number"
WHOLE, ONE = "a fraction would be lost", "a bool is 0 or 1"
UNFIT = [
    ("float16", 1e6, FAR),
    ("float16", np.float64(1e300), FAR),
    ("float32", 2**128, FAR),
    ("float64", 10**309, "int too large to convert to float"),
    ("complex64", 1e39j, FAR),
    ("bfloat16", 3.4e38, FAR),
    ("float8_e4m3fn", 1000, FAR),
    ("float8_e4m3fn", np.inf, "there is no infinity"),
    ("float8_e8m0fnu", 0, "there is no zero"),
    ("float32", None, NONE),
    ("float32", "3", NONE),
    ("float32", np.datetime64(3, "s"), NONE),
    ("bool", "True", NONE),
    ("float32", 1j, "it is complex"),
    ("int8", 128, FAR),
    ("uint8", -1, FAR),
    ("int64", 2**63, FAR),
    ("int32", 0.5, WHOLE),
    ("int32", np.nan, "it is no integer"),
    ("bool", 2, ONE),
]


@each(("dtype", "value", "why"), UNFIT)
def test_a_scalar_that_does_not_fit_is_an_error(launches, dtype, value, why):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x, tuples = np.ones(3, dtype), I[:, None]
    calls = {
        "gather: fill_value": lambda: ck.gather(x, I, mode="fill", fill_value=value),
        "gather_nd: fill_value": lambda: ck.gather_nd(x, tuples, mode="fill", fill_value=value),
        "one_hot: values[1]": lambda: ck.one_hot(I, 3, values=(1, value), dtype=dtype),
        "reduce: initial": lambda: ck.reduce(x, "sum", dtype=dtype, initial=value),
    }
    if dtype not in known_dtypes() or value is None:  # no initial value is none
        del calls["reduce: initial"]
    for name, call in calls.items():
        text = f"{name} must fit {dtype}; got {value!r:.60} ({why})"
        assert_refused(ck.DTypeError, text, call)
    assert not launches


FIT = [
    ("float16", 65519, 65504),
    ("float16", 1e-9, 0),
    ("float16", -np.inf, -np.inf),
    ("float32", 10**30, 1e30),
    ("bfloat16", 10**30, 1e30),
    ("float8_e4m3fn", 448, 448),
    ("float8_e5m2", np.inf, np.inf),
    ("float8_e8m0fnu", 4, 4),
    ("complex64", np.complex128(1 - 2j), 1 - 2j),
    ("int8", -128.0, -128),
    ("uint64", np.uint64(2**64 - 1), 2**64 - 1),
    ("bool", 1.0, True),
    ("int32", True, 1),
    ("float64", np.array(1.5, ">f8"), 1.5),
    ("int16", np.array(-3, ">i8"), -3),
]


@each(("dtype", "value", "expected"), FIT)
def test_a_scalar_that_fits_is_rounded(dtype, value, expected):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    found = ck.gather(np.ones(3, dtype), [7], mode="fill", fill_value=value)
    assert found.dtype == dtype
    assert found.tobytes() == np.array([expected], dtype).tobytes()


def test_scalars_of_another_byte_order_are_scalars():
    off, on = np.array(2, ">f4"), np.array(7, ">f4")
    for pair in ((off, on), (2, on), (off, 7)):
        found = ck.one_hot([1, 0], 2, values=pair)
        assert found.dtype == np.float32
        assert found.tolist() == [[2, 7], [7, 2]]
    assert ck.reduce(np.zeros(2, np.float32), "sum", initial=on) == 7


def test_a_dtype_of_another_byte_order_has_no_data_type():
    text = 'cudakern: dtype must be one of  ... ; got >f4; use dtype.newbyteorder("=")'
    assert_refused(ck.DTypeError, text, lambda: DataType.from_numpy(np.dtype(">f4")))


OWNING = change(DESC, "indices_tensor", flags=OWNED)
NEEDS = (
    "compile_operator: desc must be an operator descriptor, such as GatherOperatorDesc(...); got "
)
LEVEL = "feature_level must be a FeatureLevel, such as FeatureLevel.LEVEL_6_4; got "
ONCE = "gather: indices_tensor is OWNED_BY_DML: it must be given to initialize()"
INPUTS = "gather: inputs must be 2 tensors (input_tensor, indices_tensor)"
ONE_INPUT = "gather: inputs must be 1 tensors (input_tensor)"
OWN = "gather: owned inputs must be given to initialize: 1 tensors"
STRIDES = (
    "gather: input_tensor must have sizes (3, 4) and strides (4, 1) in elements, or be a contiguous"
    " buffer of one dimension; got (3, 4) and "
)


def compiled(*arrays, desc=DESC):
    return lambda: ck.compile_operator(desc)(*arrays)


def initialized(*arrays):
    return lambda: ck.compile_operator(OWNING).initialize(INDICES)(*arrays)


TABLES = {
    ck.ArgumentError: {
        f"{NEEDS}'gather'": lambda: ck.compile_operator("gather"),
        f"{NEEDS}the class GatherOperatorDesc": lambda: ck.compile_operator(ck.GatherOperatorDesc),
        f"{NEEDS}an object of TensorDesc": lambda: ck.compile_operator(DESC.input_tensor),
        f"{NEEDS}None": lambda: ck.compile_operator(None),
        f"compile_operator: {LEVEL}'LEVEL_6_4'": lambda: ck.compile_operator(DESC, "LEVEL_6_4"),
        f"gather: {LEVEL}64": lambda: DESC.validate(64),
    },
    ck.DTypeError: {
        f"gather: x.dtype must be one of {COPIED}; got <U1": lambda: ck.gather(["a"], I),
        f"reduce: x.dtype must be one of {KNOWN}; got float8_e4m3": lambda: ck.reduce(
            np.zeros(3, ml_dtypes.float8_e4m3), "sum"
        ),
        f"nonzero_coordinates: x.dtype must be one of {KNOWN}; got float8_e5m2": lambda: (
            ck.nonzero_coordinates(np.zeros(3, ml_dtypes.float8_e5m2))
        ),
    },
    ck.BindingError: {
        f"{ONCE}, not to the call [T16]": initialized(X, INDICES),
        f"{ONCE} before the call [T16]": compiled(X, INDICES, desc=OWNING),
        f"{INPUTS}; got 0 [T20]": compiled(),
        f"{INPUTS}; got 1 [T20]": compiled(X),
        f"{INPUTS}; got 3 [T20]": compiled(X, INDICES, X),
        f"{ONE_INPUT}; got 0 [T20]": initialized(),
        f"{ONE_INPUT}; got 3 [T20]": initialized(X, INDICES, INDICES),
        f"{OWN}; got 0 [T20]": lambda: ck.compile_operator(OWNING).initialize(),
        f"{OWN}; got 2 [T20]": lambda: ck.compile_operator(OWNING).initialize(X, INDICES),
        f"{STRIDES}(1, 3)": compiled(np.asfortranarray(X), INDICES),
        f"{STRIDES}(20, 5) in bytes": compiled(
            np.lib.stride_tricks.as_strided(np.zeros(15, np.float32), (3, 4), (20, 5)), INDICES
        ),
    },
}


@each(("error", "text", "call"), refusals(TABLES))
def test_answer(launches, error, text, call):
    assert_refused(error, text, call)
    assert not launches


def test_a_compiled_operator_shows_what_it_is():
    assert repr(ck.compile_operator(DESC, ck.FeatureLevel.LEVEL_3_0)) == (
        "<CompiledOperator gather, axis=0, index_dimensions=1; input_tensor (3, 4) FLOAT32; "
        "indices_tensor (1, 4) UINT32; output_tensor (4, 4) FLOAT32; feature level 3_0; "
        "variant rows>"
    )
