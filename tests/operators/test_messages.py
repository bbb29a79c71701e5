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
WIDE = "bool, int8 to int64, uint8 to uint64, float16 to float64, bfloat16"
KNOWN = f"{WIDE}, complex64 or complex128"
COPIED = f"{WIDE}, float8_*, complex64 or complex128"


def test_what_needs_the_package_ml_dtypes(monkeypatch):
    monkeypatch.setattr(dtypes, "narrow_floats", dict)
    for given, got in {
        "bfloat16": "bfloat16",
        "torch.bfloat16": "'torch.bfloat16'",
        "float8_e5m2": "float8_e5m2",
    }.items():
        text = f"reduce: dtype must be float32; got {got}; it needs the package ml_dtypes"
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
    text = f'cudakern: dtype must be {KNOWN}; got >f4; use dtype.newbyteorder("=")'
    assert_refused(ck.DTypeError, text, lambda: DataType.from_numpy(np.dtype(">f4")))


TEXT, FLOAT32 = "; it is text, and operators take numbers", '; use x.astype("float32")'
OWNING = change(DESC, "indices_tensor", flags=OWNED)
NEEDS = (
    "compile_operator: desc must be an operator descriptor, such as GatherOperatorDesc(...); got "
)
LEVEL = "feature_level must be a FeatureLevel, such as FeatureLevel.LEVEL_6_4; got "
#: What others write in place of members of enumerations, and the members.
LEVELS = {
    "LEVEL_6_4": "LEVEL_6_4", "DML_FEATURE_LEVEL_5_0": "LEVEL_5_0", "6.4": "LEVEL_6_4",
    "6_1": "LEVEL_6_1", 6.2: "LEVEL_6_2", "extended": "EXTENDED",
    "FeatureLevel.EXTENDED": "EXTENDED",
}  # fmt: skip
DATA_TYPES = {
    "float32": "FLOAT32", "FLOAT32": "FLOAT32", "Float32": "FLOAT32", "flot32": "FLOAT32",
    "DataType.FLOAT32": "FLOAT32", "DML_TENSOR_DATA_TYPE_UINT32": "UINT32", "f4": "FLOAT32",
    "torch.float64": "FLOAT64", "fp16": "FLOAT16", "bf16": "BFLOAT16", "bool": "BOOL",
    "u8": "UINT64", np.float32: "FLOAT32", np.dtype("c16"): "COMPLEX128", np.dtype("i8"): "INT64",
    ml_dtypes.bfloat16: "BFLOAT16", float: "FLOAT64", bool: "BOOL",
}  # fmt: skip
TENSOR_FLAGS = {
    "OWNED_BY_DML": "OWNED_BY_DML", "owned_by_dml": "OWNED_BY_DML", "TensorFlags.NONE": "NONE",
    "DML_TENSOR_FLAG_OWNED_BY_DML": "OWNED_BY_DML", "none": "NONE",
}  # fmt: skip
KIND = "TensorDesc: data_type must be a DataType; got "
FLAGS = "TensorDesc: flags must be a TensorFlags; got "
SIZES = "TensorDesc: sizes must be a sequence of integers; got "
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
        **{
            f"compile_operator: {LEVEL}{level!r}; did you mean FeatureLevel.{meant}?": partial(
                ck.compile_operator, DESC, level
            )
            for level, meant in LEVELS.items()
        },
        **{
            f"gather: {LEVEL}{level!r}": partial(DESC.validate, level)
            for level in (64, 7.5, "7_5", "newest", None)
        },
    },
    ck.DTypeError: {
        **{
            f"{KIND}{kind!r:.60}; did you mean DataType.{meant}?": partial(
                ck.TensorDesc, kind, (1,)
            )
            for kind, meant in DATA_TYPES.items()
        },
        **{
            f"{KIND}{kind!r:.60}": partial(ck.TensorDesc, kind, (1,))
            for kind in (None, True, np.True_, 1.0, "", ml_dtypes.float8_e5m2, str, "quaternion")
        },
        **{
            f"{FLAGS}{flags!r}; did you mean TensorFlags.{meant}?": partial(
                ck.TensorDesc, DataType.INT8, (1,), flags=flags
            )
            for flags, meant in TENSOR_FLAGS.items()
        },
        f"{FLAGS}None": lambda: ck.TensorDesc(DataType.INT8, (1,), flags=None),
        f"{SIZES}4; did you mean (4,)?": lambda: ck.TensorDesc(DataType.INT8, 4),
        f"{SIZES}<DataType.INT8: 8>: data_type and sizes are swapped": lambda: ck.TensorDesc(
            (2, 3), DataType.INT8
        ),
        f"{SIZES}(2, 3.0)": lambda: ck.TensorDesc(DataType.INT8, (2, 3.0)),
        f"{SIZES}'23'": lambda: ck.TensorDesc(DataType.INT8, "23"),
        "ReduceOperatorDesc: axes must be a sequence of integers; got 1; did you mean (1,)?": (
            lambda: ck.ReduceOperatorDesc("sum", X, X, 1)
        ),
        **{
            f"cudakern: dtype must be a numpy.dtype; got {kind!r}": partial(
                DataType.from_numpy, kind
            )
            for kind in ("float32", np.float32, None)
        },
        f"gather: x.dtype must be {COPIED}; got <U1{TEXT}": lambda: ck.gather(["a"], I),
        f"reduce: x.dtype must be {KNOWN}; got float8_e4m3{FLOAT32}": lambda: ck.reduce(
            np.zeros(3, ml_dtypes.float8_e4m3), "sum"
        ),
        f"nonzero_coordinates: x.dtype must be {KNOWN}; got float8_e5m2{FLOAT32}": lambda: (
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
