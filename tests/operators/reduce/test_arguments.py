"""What reduce answers to wrong arguments of its own, word by word."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import cudakern as ck
from tests.helpers.places import get, put
from tests.helpers.reduce import EXTREMES, FUNCTIONS, POSITIONS
from tests.helpers.refused import assert_refused, nothing_allocated, refusals
from tests.helpers.rows import each

pytestmark = pytest.mark.device

X = np.array([[0, 1, 2], [3, 0, 5]], np.float32)
INTS = X.astype(np.int32)
COMPLEX = X.astype(np.complex64)
SCALAR = np.array(2.5, np.float32)
MANY = np.zeros((2, 129))
UNKNOWN = f"function must be one of {', '.join(FUNCTIONS)}; got "
AXIS = "axis must be an int, a tuple of ints or None; got "
SHAPE = "out must have shape"
KINDS = (
    "dtype must be bool, int8 to int64, uint8 to uint64, float16 to float64, bfloat16, "
    "complex64 or complex128; got "
)
REAL = "x.dtype must be real for log_sum_exp; got complex64"
FOR_INITIAL = {"max", "min", "multiply", "sum"}
#: Words of other libraries and misspelt ones, and what is meant.
MEANT = {
    "mean": "'average'", "avg": "'average'", "Average": "'average'", "averag": "'average'",
    "ReduceMean": "'average'", "prod": "'multiply'", "mul": "'multiply'", "SUM": "'sum'",
    "summ": "'sum'", "add": "'sum'", "ReduceSum": "'sum'", "amax": "'max'", "maximum": "'max'",
    "amin": "'min'", "nanmax": "'max' with nan='ignore'", "norm": "'l2'", "arg_max": "'argmax'",
    "nanargmin": "'argmin' with nan='ignore'", "logsumexp": "'log_sum_exp'",
    "ReduceLogSumExp": "'log_sum_exp'", "sumsq": "'sum_square'", "lse": "'log_sum_exp'",
    "men": "'average'", "sun": "'sum'", "mim": "'min'", "prd": "'multiply'", "amx": "'max'",
    "sums": "'sum'", "DML_REDUCE_FUNCTION_L2": "'l2'", "ReduceFunction.SUM_SQUARE": "'sum_square'",
}  # fmt: skip
#: Functions of NumPy that are made of reduce's, and how.
MADE = {
    "any": "'max' of x != 0",
    "all": "'min' of x != 0",
    "count_nonzero": "'sum' of x != 0",
    "var": "'average' of abs(x - mean) ** 2",
    "std": "the square root of 'average' of abs(x - mean) ** 2",
    "ptp": "'max' and 'min'",
    "nansum": "'sum' of where(isnan(x), 0, x)",
    "nanprod": "'multiply' of where(isnan(x), 1, x)",
    "nanmean": "'sum' of where(isnan(x), 0, x) divided by 'sum' of ~isnan(x)",
}
WORDS = MEANT | MADE
#: Functions of other libraries that are not.
ABSENT = {
    **dict.fromkeys(("median", "nanstd", "cumsum", "percentile", "histogram"), "NumPy and CuPy"),
    "nanquantile": "NumPy",
}
FUNCTIONS_OF_NUMPY = {np.sum: "'sum'", np.amax: "'max'", np.mean: "'average'", np.add: "'sum'",
                      np.linalg.norm: "'l2'", min: "'min'"}  # fmt: skip


#: For x and a function a dtype that no result has, and what it must be.
REFUSED = [
    (X, "sum", "int64", "float or complex"),
    (X.astype(ml_dtypes.bfloat16), "sum", "int64", "float or complex"),
    (INTS, "sum", "bool", "integer, float or complex"),
    (COMPLEX, "sum", "float64", "complex"),
    (COMPLEX, "max", "float32", "complex"),
    (COMPLEX, "l1", "int32", "float or complex"),
    (INTS, "average", "int32", "float or complex"),
    (INTS > 0, "log_sum", "int8", "float or complex"),
    (X, "argmax", "float64", "integer"),
    (X, "argmin", "bool", "integer"),
]


def call(x=X, function="sum", axis=None, **options):
    return lambda: ck.reduce(x, function, axis, **options)


def into(kind, *shape, x=X, function="sum", axis=0, **options):
    """Return a call with an output of a dtype and a shape: without one, that of columns."""
    return call(x, function, axis, out=np.zeros(shape or (3,), kind), **options)


TABLES = {
    ck.ArgumentError: {
        **{f"{UNKNOWN}{k!r}; did you mean {v}?": call(function=k) for k, v in WORDS.items()},
        **{
            f"{UNKNOWN}{name!r}": call(function=name)
            for name in (
                "kurtosis",
                "s",
                "",
                "x" * 58,
                10.0,
                ["sum"],
                True,
                np.True_,
                (0, 1),
            )
        },
        **{
            f"{UNKNOWN}{axis!r}; did you mean axis={axis}?": call(function=axis)
            for axis in (0, 10, -1, np.int64(1))
        },
        **{
            f"{UNKNOWN}{name!r}; there is none here, but in {libraries}": call(function=name)
            for name, libraries in ABSENT.items()
        },
        **{
            f"{UNKNOWN} ... ; did you mean {meant}?": call(function=function)
            for function, meant in FUNCTIONS_OF_NUMPY.items()
        },
        **{
            f"x must be an array; got {first!r}: x and function are swapped": call(first, second)
            for first in ("sum", "mean", "no such function")
            for second in (X, [1, 2], (1,), range(3))
        },
        "x must be an array; got 'l1': x and function are swapped": [
            call("l1", second)
            for second in (3, 12, 2.5, SCALAR, memoryview(X), ck.ReduceFunction.L1)
        ],
        "x must be an array; got 10: x and function are swapped": [
            call(ck.ReduceFunction.SUM, second) for second in (X, range(3))
        ],
        "axis must lie in [-2, 1]; got 2": call(axis=2),
        "axis must lie in [-2, 1]; got 9": call(axis=(0, 9)),
        "axis must be None or () for a scalar; got 0": call(SCALAR, axis=0),
        "axis must be None or () for a scalar; got (-1,)": call(SCALAR, axis=(-1,)),
        f"{UNKNOWN}None": [call(function=None), call("l1", None)],
        "axis must name no axis twice; got (0, -2)": call(axis=(0, -2)),
        "keepdims must be True or False; got array([1, 2])": call(keepdims=np.array([1, 2])),
        "last_index must be True or False; got array([], dtype=float64)": call(
            function="argmax", last_index=np.array([])
        ),
        "nan must be 'propagate' or 'ignore'; got 'omit'; did you mean 'ignore'?": call(
            function="max", nan="omit"
        ),
        "nan must be 'propagate' or 'ignore'; got None": call(function="max", nan=None),
        "nan must be 'propagate' or 'ignore'; got ['ignore']": call(function="max", nan=["ignore"]),
        **{
            f"nan must be 'propagate' for {name}; got 'ignore'": call(function=name, nan="ignore")
            for name in FUNCTIONS
            if name not in EXTREMES
        },
        **{
            f"last_index must be False for {name}; got True": call(function=name, last_index=True)
            for name in FUNCTIONS
            if name not in POSITIONS
        },
        **{
            f"initial must be None for {name}; got 5": call(function=name, initial=5)
            for name in FUNCTIONS
            if name not in FOR_INITIAL
        },
        "initial must be None for average; got array([[1., 0.], [0., 1.]])": call(
            function="average", initial=np.eye(2)
        ),
        **{
            f"x must have elements for {name}, which has no identity; got shape (0, 3){hint}": call(
                X[:0], name
            )
            for name in sorted(EXTREMES)
            for hint in ["" if name in POSITIONS else "; give initial"]
        },
        "x must have elements for max, which has no identity; got shape (2, 0); give initial": call(
            X[:, :0], "max", 1
        ),
    },
    ck.DTypeError: {
        **{
            f"{AXIS}{axis!r}": call(axis=axis)
            for axis in (1.0, "0", (0, 1.0), ((0,),), (None,), [], [0, 1.0], [None], "01", [0] * 9)
        },
        **{
            f"{AXIS}{axis!r}; did you mean {meant}?": call(axis=axis)
            for axis, meant in [
                ([0, 1], (0, 1)),
                ([1], (1,)),
                ({0, 1}, (0, 1)),
                (range(2), (0, 1)),
                (np.array([0, -1]), (0, -1)),
                ({1: 0}.values(), (0,)),
                ([np.int8(1)], (1,)),
            ]
        },
        f"{AXIS}'sum': function and axis are swapped": call(function=0, axis="sum"),
        f"{AXIS}'all'; did you mean None?": call(axis="all"),
        f"{AXIS}(0, 'first')": call(axis=(0, "first")),
        "axis must be an int of at most 128 bits; got one of 16610 bits": [
            call(x, axis=axis) for x in (X, SCALAR) for axis in (10**5000, (10**5000,))
        ],
        REAL: call(COMPLEX, "log_sum_exp"),
        f"{REAL} ... ": into("f4", 1, x=COMPLEX, function="log_sum_exp", axis=None),
        **{
            f"dtype must be {wanted} for {function} of {x.dtype}; got {kind}": call(
                x, function, dtype=kind
            )
            for x, function, kind, wanted in REFUSED
        },
        "dtype must hold indices up to 128; got int8": call(MANY, "argmax", 1, dtype="int8"),
        "dtype must hold indices up to 257; got uint8": call(MANY, "argmin", dtype="uint8"),
        f"{KINDS}'fp16'; did you mean 'float16'?": call(dtype="fp16"),
        f"{KINDS}'torch.float64'; did you mean 'float64'?": call(dtype="torch.float64"),
        f"{KINDS}<DataType.FLOAT32: 1>; did you mean 'float32'?": call(dtype=ck.DataType.FLOAT32),
        f"{KINDS}float8_e5m2": call(dtype=ml_dtypes.float8_e5m2),
        f"{KINDS}datetime64": call(dtype="datetime64"),
        f"{KINDS}>f4; did you mean 'float32'?": call(dtype=">f4"),
        f"{KINDS}[('a', '<f4')]": call(dtype=[("a", "f4")]),
        f"{KINDS}4": call(dtype=4),
        "initial must fit float32; got 1j (it is complex)": call(X, "max", initial=1j),
        "initial must fit uint8; got 300 (it is out of range)": call(
            np.int8([1]), initial=300, out=np.zeros((), "u1")
        ),
        "initial must be a scalar; got shape (2,)": call(initial=[1, 2]),
    },
    ck.BindingError: {
        f"{SHAPE} (2,) for x.shape=(2, 3), axis=(1,); got (2, 1)": into("f4", 2, 1, axis=1),
        f"{SHAPE} (2, 1) for x.shape=(2, 3), axis=(1,); got (2,)": into(
            "f4", 2, axis=1, keepdims=True
        ),
        f"{SHAPE} () for x.shape=(2, 3), axis=(0, 1); got (1,)": into("f4", 1, axis=None),
        f"{SHAPE} (3,) for x.shape=(0, 3), axis=(0,); got (0,)": into("f4", 0, x=X[:0]),
        "out must hold indices up to 128; got int8": call(MANY, "argmax", 1, out=np.zeros(2, "i1")),
        "out must have dtype float or complex for sum of float32; got object": into(
            object, x=X[:0]
        ),
        "out must have dtype float32; got float64": into("f8", dtype="f4"),
        "out must have dtype float64; got float32": into("f4", dtype="f8"),
        "out must have dtype int64; got int32": into("i4", function="argmax", dtype="i8"),
    },
}


@each(("error", "text", "call"), refusals(TABLES))
def test_answer(launches, error, text, call):
    with nothing_allocated():
        caught = assert_refused(error, f"reduce: {text}", call)
    assert error is ck.DTypeError or (caught.operator, caught.field) == ("reduce", text.split()[0])
    assert not launches


@each("dtype", ["int8", "uint8"])
def test_the_largest_index_fits(dtype):
    n = np.iinfo(dtype).max + 1
    x = np.zeros(n, np.int8)
    x[-1] = 1
    result = ck.reduce(x, "argmax", dtype=dtype)
    assert (result.dtype, int(result)) == (np.dtype(dtype), n - 1)
    text = f"reduce: dtype must hold indices up to {n}; got {dtype}"
    assert_refused(ck.DTypeError, text, call(np.zeros(n + 1, np.int8), "argmax", dtype=dtype))


WARM = {
    ck.DTypeError: {
        f"{AXIS}0.0": {"axis": 0.0},
        f"{AXIS}(0.0,)": {"axis": (0.0,)},
        "dtype must be float or complex for sum of float32; got int32": {"dtype": "int32"},
        "initial must fit float32; got 1j (it is complex)": {"initial": 1j},
    },
    ck.ArgumentError: {
        f"{UNKNOWN}10.0": {"function": 10.0},
        "nan must be 'propagate' for sum; got 'ignore'": {"nan": "ignore"},
        "last_index must be False for sum; got True": {"last_index": True},
        "keepdims must be True or False; got 1": {"keepdims": 1},
        "initial must be None for l2; got 1": {"function": "l2", "initial": 1},
    },
    ck.BindingError: {
        "out must have shape (2,) for  ... ; got (3,)": {"axis": 1},
        "out must have dtype float64; got float32": {"dtype": "float64"},
        "out must have shape (1, 3) for  ... ; got (3,)": {"keepdims": True},
        "out must have dtype integer for argmax of float32; got float32": {"function": "argmax"},
    },
}


@each(("error", "text", "options"), refusals(WARM))
def test_a_warm_call_refuses_what_a_cold_one_would(place, error, text, options):
    arguments = {"x": put(X, place), "function": "sum", "axis": 0, "out": put(X[0], place)}
    for _ in range(2):
        assert get(ck.reduce(**arguments)).tolist() == [3, 1, 7]
    assert_refused(error, f"reduce: {text}", call(**{**arguments, **options}))
