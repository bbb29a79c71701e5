"""What wrong arguments are answered with, word by word, before anything is launched."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import cudakern as ck
from cudakern import DataType, TensorDesc
from cudakern import _dtypes as dtypes
from cudakern._dtypes import known

X = np.arange(6, dtype=np.float32).reshape(2, 3)
I = np.array([0, -1], np.int32)  # noqa: E741  as in the operators' formulas
LONG = np.broadcast_to(np.int8(1), (2, 2**40))
ZEROS = np.broadcast_to(np.int64(0), 2**40)
FUNCTIONS = (
    "reduce: function must be one of argmax, argmin, average, l1, l2, log_sum, log_sum_exp, max, "
    "min, multiply, sum, sum_square; got "
)
MODE = "gather: mode must be 'clamp', 'wrap', 'fill' or 'raise'; got "
NEGATIVE = "negative must be 'from_end' or 'invalid'; got "
KNOWN = (
    "float32, float16, uint32, uint16, uint8, int32, int16, int8, float64, uint64, int64, bool, "
    "complex64, complex128, bfloat16"
)
COPIED = (
    f"{KNOWN}, float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, "
    "float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu"
)
REDUCED = f"reduce: dtype must be one of {KNOWN}; got "

NAMES = {
    **{
        f"{FUNCTIONS}{given!r}; did you mean {meant}?": lambda given=given: ck.reduce(X, given)
        for given, meant in {
            "mean": "'average'", "avg": "'average'", "Average": "'average'", "averag": "'average'",
            "ReduceMean": "'average'", "prod": "'multiply'", "mul": "'multiply'", "SUM": "'sum'",
            "summ": "'sum'", "add": "'sum'", "ReduceSum": "'sum'", "amax": "'max'",
            "maximum": "'max'", "amin": "'min'", "nanmax": "'max' with nan='ignore'",
            "nanargmin": "'argmin' with nan='ignore'", "logsumexp": "'log_sum_exp'",
            "ReduceLogSumExp": "'log_sum_exp'", "norm": "'l2'", "arg_max": "'argmax'",
            "sumsq": "'sum_square'",
        }.items()
    },
    **{
        f"{FUNCTIONS}{given!r}": lambda given=given: ck.reduce(X, given)
        for given in ("median", "std", "any", "", "x" * 58, 12, None, 2.5)
    },
    **{
        f"{MODE}{given!r}; did you mean {meant!r}?": lambda given=given: ck.gather(X, I, mode=given)
        for given, meant in {
            "clip": "clamp", "CLAMP": "clamp", "nearest": "clamp", "promise_in_bounds": "clamp",
            "constant": "fill", "filled": "fill", "error": "raise", "modulo": "wrap",
        }.items()
    },
    MODE + "'mirror'": lambda: ck.gather(X, I, mode="mirror"),
    f"gather: {NEGATIVE}'from-end'; did you mean 'from_end'?":
        lambda: ck.gather(X, I, negative="from-end"),
    f"one_hot: {NEGATIVE}'out_of_range'; did you mean 'invalid'?":
        lambda: ck.one_hot(I, 3, negative="out_of_range"),
    f"one_hot: {NEGATIVE}None": lambda: ck.one_hot(I, 3, negative=None),
    "reduce: nan must be 'propagate' or 'ignore'; got 'omit'; did you mean 'ignore'?":
        lambda: ck.reduce(X, "max", nan="omit"),
}  # fmt: skip
ARGUMENTS = {
    "gather: negative must be 'from_end' for mode='clamp'; got 'invalid'":
        lambda: ck.gather(X, I, negative="invalid"),
    "gather_nd: negative must be 'from_end' for mode='wrap'; got 'invalid'":
        lambda: ck.gather_nd(X, I, mode="wrap", negative="invalid"),
    "gather: fill_value must come with mode='fill'; got 0 with mode='clamp'":
        lambda: ck.gather(X, I, fill_value=0),
    "gather_nd: fill_value must come with mode='fill'; got -1.5 with mode='raise'":
        lambda: ck.gather_nd(X, I, mode="raise", fill_value=-1.5),
    "gather: fill_value must come with mode='fill'; got None with mode='wrap'":
        lambda: ck.gather(X, I, mode="wrap", fill_value=None),
    "gather_nd: indices must have at most 2 in the last dimension for batch_dims=0; got shape (4,);"
    " for single indices, use indices[..., None]":
        lambda: ck.gather_nd(X, np.array([0, 1, 1, 0])),
    "gather_nd: batch_dims must lie in [0, 0]; got 1; for single indices, use indices[..., None]":
        lambda: ck.gather_nd(X, I, 1),
    "gather_nd: batch_dims must lie in [0, 0]; got 1": lambda: ck.gather_nd(X, [0, 1, 2], 1),
    "gather_nd: batch_dims must lie in [0, 0]; got -1": lambda: ck.gather_nd(X, I, -1),
    MODE + "array([[0., 1., 2.], [3., 4., 5.]], dtype=float32)":
        lambda: ck.gather(X, I, mode=X),
    f"gather: {NEGATIVE}array([ 0, -1], dtype=int32)": lambda: ck.gather(X, I, negative=I),
    f"one_hot: {NEGATIVE}array([ 0, -1], dtype=int32)": lambda: ck.one_hot(I, 3, negative=I),
    "gather: indices must give a result of less than 2^63 bytes; "
    "got shape (1099511627776, 1099511627776)": lambda: ck.gather(LONG, ZEROS),
    "gather_nd: indices must give a result of less than 2^63 bytes; "
    "got shape (1099511627776, 1099511627776)": lambda: ck.gather_nd(LONG, ZEROS[:, None]),
    "reduce: x must have elements for max, which has no identity; got shape (0, 3); give initial":
        lambda: ck.reduce(X[:0], "max"),
    "reduce: x must have elements for argmax, which has no identity; got shape (0, 3)":
        lambda: ck.reduce(X[:0], "argmax"),
    "reduce: keepdims must be True or False; got array([ 0, -1], dtype=int32)":
        lambda: ck.reduce(X, "sum", keepdims=I),
    "reduce: last_index must be True or False; got array([], dtype=float64)":
        lambda: ck.reduce(X, "argmax", last_index=np.array([])),
    "reduce: initial must be None for average; got 5":
        lambda: ck.reduce(X, "average", initial=5),
    "nonzero_coordinates: size must be at least 0; got -1":
        lambda: ck.nonzero_coordinates(X, size=-1),
    "nonzero_coordinates: size must give a result of less than 2^63 bytes; got 1152921504606846976":
        lambda: ck.nonzero_coordinates(X, size=2**60),
    "nonzero: size must give a result of less than 2^63 bytes; got 1152921504606846976":
        lambda: ck.nonzero(X, size=2**60),
    "compile_operator: desc must be an operator descriptor, such as GatherOperatorDesc(...); "
    "got 'gather'": lambda: ck.compile_operator("gather"),
    "compile_operator: desc must be an operator descriptor, such as GatherOperatorDesc(...); "
    "got the class GatherOperatorDesc": lambda: ck.compile_operator(ck.GatherOperatorDesc),
    "compile_operator: desc must be an operator descriptor, such as GatherOperatorDesc(...); "
    "got an object of TensorDesc":
        lambda: ck.compile_operator(TensorDesc(DataType.FLOAT32, (2,))),
    "compile_operator: desc must be an operator descriptor, such as GatherOperatorDesc(...); "
    "got None": lambda: ck.compile_operator(None),
    "compile_operator: feature_level must be a FeatureLevel, such as FeatureLevel.LEVEL_6_4; "
    "got 'LEVEL_6_4'": lambda: ck.compile_operator(GATHER, "LEVEL_6_4"),
    "gather: feature_level must be a FeatureLevel, such as FeatureLevel.LEVEL_6_4; got 64":
        lambda: GATHER.validate(64),
}  # fmt: skip
DTYPES = {
    "gather: axis must be an int; got 'last'; did you mean -1?": lambda: ck.gather(X, I, "last"),
    "one_hot: axis must be an int; got 'columns'; did you mean 1?":
        lambda: ck.one_hot(I, 3, axis="columns"),
    "gather: axis must be an int; got 'depth'": lambda: ck.gather(X, I, "depth"),
    "reduce: axis must be an int, a tuple of ints or None; got 'all'; did you mean None?":
        lambda: ck.reduce(X, "sum", "all"),
    "reduce: axis must be an int, a tuple of ints or None; got (0, 'first')":
        lambda: ck.reduce(X, "sum", (0, "first")),
    "reduce: initial must be a scalar; got shape (2,)":
        lambda: ck.reduce(X, "sum", initial=[1, 2]),
    "reduce: initial must fit float32; got 1j (it is complex)":
        lambda: ck.reduce(X, "max", dtype="complex64", initial=1j),
    REDUCED + "'fp16'; did you mean 'float16'?": lambda: ck.reduce(X, "sum", dtype="fp16"),
    REDUCED + "'flaot32'; did you mean 'float32'?": lambda: ck.reduce(X, "sum", dtype="flaot32"),
    REDUCED + "'torch.float64'; did you mean 'float64'?":
        lambda: ck.reduce(X, "sum", dtype="torch.float64"),
    REDUCED + "float8_e5m2": lambda: ck.reduce(X, "sum", dtype=ml_dtypes.float8_e5m2),
    REDUCED + "datetime64": lambda: ck.reduce(X, "sum", dtype="datetime64"),
    "nonzero_coordinates: dtype must be one of uint32, int64; got 'uint31'; did you mean 'uint32'?":
        lambda: ck.nonzero_coordinates(X, dtype="uint31"),
    "nonzero_coordinates: size must be an int; got 2.0":
        lambda: ck.nonzero_coordinates(X, size=2.0),
    f"one_hot: dtype must be one of {COPIED}; got 'bflot16'; did you mean 'bfloat16'?":
        lambda: ck.one_hot(I, 3, dtype="bflot16"),
    f"reduce: x.dtype must be one of {KNOWN}; got float8_e4m3":
        lambda: ck.reduce(np.zeros(3, ml_dtypes.float8_e4m3), "sum"),
    f"nonzero_coordinates: x.dtype must be one of {KNOWN}; got float8_e5m2":
        lambda: ck.nonzero_coordinates(np.zeros(3, ml_dtypes.float8_e5m2)),
    f"gather: x.dtype must be one of {COPIED}; got <U1": lambda: ck.gather(["a"], I),
}  # fmt: skip


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [(ck.ArgumentError, *case) for case in (NAMES | ARGUMENTS).items()]
    + [(ck.DTypeError, *case) for case in DTYPES.items()],
)
def test_message(launches, error, text, call):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    assert str(caught.value) == text
    assert not launches


def test_an_argument_error_is_a_descriptor_error_without_a_rule():
    with pytest.raises(ck.DescriptorError) as caught:
        ck.gather(X, I, 2)
    error = caught.value
    assert isinstance(error, ValueError)
    assert (type(error), error.operator, error.field, error.rule) == (
        ck.ArgumentError, "gather", "axis", None,
    )  # fmt: skip


def test_what_needs_the_package_ml_dtypes(monkeypatch):
    monkeypatch.setattr(dtypes, "bfloat16", lambda: None)
    for given, got in {
        "bfloat16": "bfloat16",
        "torch.bfloat16": "'torch.bfloat16'",
        "float8_e5m2": "float8_e5m2",
    }.items():
        with pytest.raises(ck.DTypeError) as caught:
            dtypes.as_dtype("reduce", given, [np.dtype("float32")])
        required = "reduce: dtype must be one of float32"
        assert str(caught.value) == f"{required}; got {got}; it needs the package ml_dtypes"


FAR, NONE = "it is out of range", "it is no number"
WHOLE, ONE = "a fraction would be lost", "a bool is 0 or 1"
UNFIT = [
    ("float16", 1e6, FAR),
    ("float16", -65520, FAR),
    ("float16", np.float64(1e300), FAR),
    ("float16", np.array(7e4, np.float32), FAR),
    ("float32", 2**128, FAR),
    ("float64", 10**309, "int too large to convert to float"),
    ("complex64", 1e39j, FAR),
    ("bfloat16", 3.4e38, FAR),
    ("bfloat16", 10**40, FAR),
    ("float8_e4m3fn", 1000, FAR),
    ("float8_e4m3fn", np.inf, "there is no infinity"),
    ("float8_e8m0fnu", 0, "there is no zero"),
    ("float8_e8m0fnu", -2, FAR),
    ("float32", None, NONE),
    ("float32", "3", NONE),
    ("float32", b"3", NONE),
    ("float32", np.datetime64(3, "s"), NONE),
    ("int32", None, NONE),
    ("bool", "True", NONE),
    ("float32", 1j, "it is complex"),
    ("int8", 1 + 0j, "it is complex"),
    ("int8", 128, FAR),
    ("uint8", -1, FAR),
    ("int64", 2**63, FAR),
    ("int64", 1e19, FAR),
    ("int32", 0.5, WHOLE),
    ("int32", np.nan, "it is no integer"),
    ("int32", -np.inf, "it is no integer"),
    ("bool", 2, ONE),
    ("bool", 1.5, WHOLE),
]


@pytest.mark.parametrize(("dtype", "value", "why"), UNFIT)
def test_a_scalar_that_does_not_fit_is_an_error(launches, dtype, value, why):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x, tuples = np.ones(3, dtype), I[:, None]
    calls = {
        "gather: fill_value": lambda: ck.gather(x, I, mode="fill", fill_value=value),
        "gather_nd: fill_value": lambda: ck.gather_nd(x, tuples, mode="fill", fill_value=value),
        "one_hot: values[1]": lambda: ck.one_hot(I, 3, values=(1, value), dtype=dtype),
        "reduce: initial": lambda: ck.reduce(x, "sum", dtype=dtype, initial=value),
    }
    if dtype not in known() or value is None:  # no initial value is none
        del calls["reduce: initial"]
    for name, call in calls.items():
        with pytest.raises(ck.DTypeError) as caught:
            call()
        assert str(caught.value) == f"{name} must fit {dtype}; got {value!r:.60} ({why})"
    assert not launches


def test_an_array_of_values_must_fit_too():
    with pytest.raises(ck.DTypeError) as caught:
        ck.one_hot(I, 3, values=np.array([0, 300]), dtype="int8")
    text = "one_hot: values[1] must fit int8; got np.int64(300) (it is out of range)"
    assert str(caught.value) == text


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
]


@pytest.mark.parametrize(("dtype", "value", "expected"), FIT)
def test_a_scalar_that_fits_is_rounded(dtype, value, expected):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    found = ck.gather(np.ones(3, dtype), [7], mode="fill", fill_value=value)
    assert found.dtype == dtype
    assert found.tobytes() == np.array([expected], dtype).tobytes()


def owned(count=1):
    """Return a descriptor whose last inputs are owned by the operator."""
    flags = [ck.TensorFlags.NONE] * (2 - count) + [ck.TensorFlags.OWNED_BY_DML] * count
    tensors = [
        TensorDesc(DataType.FLOAT32, (2, 3), flags=flags[0]),
        TensorDesc(DataType.INT32, (1, 2), flags=flags[1]),
    ]
    return ck.GatherOperatorDesc(*tensors, TensorDesc(DataType.FLOAT32, (2, 3)), 0, 1)


GATHER = owned(0)
ROWS = I.reshape(1, 2)
BINDINGS = {
    "reduce: out must have dtype float or complex for sum of float32; got int64":
        lambda: ck.reduce(X, "sum", 0, out=np.zeros(3, np.int64)),
    "reduce: out must hold indices up to 128; got int8":
        lambda: ck.reduce(np.zeros((2, 129)), "argmax", 1, out=np.zeros(2, np.int8)),
    "nonzero_coordinates: out.coordinates must have shape (4, 2) for x.shape=(2, 3), size=4; "
    "got (6, 2)":
        lambda: ck.nonzero_coordinates(
            X, size=4, out=(np.zeros(1, np.uint32), np.zeros((6, 2), np.uint32))
        ),
    "gather: indices_tensor is OWNED_BY_DML: it must be given to initialize(), not to the call "
    "[T16]": lambda: ck.compile_operator(owned()).initialize(ROWS)(X, ROWS),
    "gather: indices_tensor is OWNED_BY_DML: it must be given to initialize() before the call "
    "[T16]": lambda: ck.compile_operator(owned())(X, ROWS),
    "gather: inputs must be 1 tensors (input_tensor); got 0 [T20]":
        ck.compile_operator(owned()).initialize(ROWS),
    "gather: inputs must be 1 tensors (input_tensor); got 3 [T20]":
        lambda: ck.compile_operator(owned()).initialize(ROWS)(X, ROWS, ROWS),
    "gather: input_tensor must have sizes (2, 3) and strides (3, 1) in elements, or be a contiguous"
    " buffer of one dimension; got (2, 3) and (1, 2)":
        lambda: ck.compile_operator(GATHER)(np.asfortranarray(X), ROWS),
    "gather: input_tensor must have sizes (2, 3) and strides (3, 1) in elements, or be a contiguous"
    " buffer of one dimension; got (2, 3) and (15, 5) in bytes":
        lambda: ck.compile_operator(GATHER)(
            np.lib.stride_tricks.as_strided(np.zeros(9, np.float32), (2, 3), (15, 5)), ROWS
        ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "call"), BINDINGS.items())
def test_message_about_arrays(launches, text, call):
    with pytest.raises(ck.BindingError) as caught:
        call()
    assert str(caught.value) == text
    assert not launches


def test_a_compiled_operator_shows_what_it_is():
    assert repr(ck.compile_operator(GATHER, ck.FeatureLevel.LEVEL_3_0)) == (
        "<CompiledOperator gather, axis=0, index_dimensions=1; input_tensor (2, 3) FLOAT32; "
        "indices_tensor (1, 2) INT32; output_tensor (2, 3) FLOAT32; feature level 3_0; "
        "variant packed>"
    )
    one = TensorDesc(DataType.FLOAT32, (4, 0))
    total = ck.ReduceOperatorDesc("sum", one, TensorDesc(DataType.FLOAT32, (1, 1)), (0, 1))
    assert repr(ck.compile_operator(total, ck.FeatureLevel.EXTENDED)) == (
        "<CompiledOperator reduce, function=SUM, axes=(0, 1); input_tensor (4, 0) FLOAT32; "
        "output_tensor (1, 1) FLOAT32; feature level extended; variant empty>"
    )
