"""The twelve functions of reduce, and the data types of their results.

Source: DirectML reference, ``DML_REDUCE_FUNCTION`` and ``DML_REDUCE_OPERATOR_DESC``.
"""

from __future__ import annotations

import re
from contextlib import suppress
from enum import IntEnum
from math import inf, nan
from typing import TYPE_CHECKING

import numpy as np

from cudakern.errors import ArgumentError, any_of, describe_value, did_you_mean, dtype_error
from cudakern.operators.feature_level import FeatureLevel
from cudakern.values import dtypes
from cudakern.values.dtypes import DataType
from cudakern.values.validation import integer_of

if TYPE_CHECKING:
    from cudakern.operators.descriptor import TypeTable

NAME = "reduce"


class ReduceFunction(IntEnum):
    """What a reduction computes, with DirectML's values.

    Attributes
    ----------
    label : str
        The name that `cudakern.reduce` takes, such as ``"log_sum_exp"``.
    """

    label: str

    ARGMAX = 0
    ARGMIN = 1
    AVERAGE = 2
    L1 = 3
    L2 = 4
    LOG_SUM = 5
    LOG_SUM_EXP = 6
    MAX = 7
    MIN = 8
    MULTIPLY = 9
    SUM = 10
    SUM_SQUARE = 11


for _function in ReduceFunction:
    _function.label = _function.name.lower()

#: Functions whose result is a position.
ARG_FUNCTIONS = frozenset({ReduceFunction.ARGMAX, ReduceFunction.ARGMIN})
#: Functions whose result is an element.
EXTREMES = frozenset({ReduceFunction.MAX, ReduceFunction.MIN})
#: Functions that may take NaN as absent.
NAN_FUNCTIONS = ARG_FUNCTIONS | EXTREMES
#: Functions that may have an initial value.
INITIAL_FUNCTIONS = EXTREMES | {ReduceFunction.MULTIPLY, ReduceFunction.SUM}
#: Functions whose result is a float or complex number, whatever the input is.
FLOAT_FUNCTIONS = frozenset(
    {ReduceFunction.AVERAGE, ReduceFunction.L2, ReduceFunction.LOG_SUM, ReduceFunction.LOG_SUM_EXP}
)

BY_LABEL = {function.label: function for function in ReduceFunction}
#: In front of names: of ONNX, as in ReduceSum, and of DirectML, as in DML_REDUCE_FUNCTION_SUM.
_PREFIX = re.compile(r"^(dml_)?reduce(_?function[_.])?")
#: Names in other libraries. A leading "nan" means "ignore".
_OTHER_NAMES = {
    **dict.fromkeys(("mean", "avg"), "'average'"),
    **dict.fromkeys(("prod", "product", "mul"), "'multiply'"),
    **dict.fromkeys(("amax", "maximum"), "'max'"),
    **dict.fromkeys(("amin", "minimum"), "'min'"),
    **dict.fromkeys(("norm", "euclidean", "euclideannorm", "vectornorm"), "'l2'"),
    **dict.fromkeys(("asum", "abssum"), "'l1'"),
    **dict.fromkeys(("add", "total"), "'sum'"),
    **dict.fromkeys(("sumsq", "sumofsquares"), "'sum_square'"),
    **dict.fromkeys(("lse", "logaddexp"), "'log_sum_exp'"),
    **dict.fromkeys(("any", "some", "logicalor"), "'max' of x != 0"),
    **dict.fromkeys(("all", "every", "logicaland"), "'min' of x != 0"),
    **dict.fromkeys(("countnonzero", "nnz", "count", "l0"), "'sum' of x != 0"),
    **dict.fromkeys(("var", "variance"), "'average' of abs(x - mean) ** 2"),
    **dict.fromkeys(("std", "stddev"), "the square root of 'average' of abs(x - mean) ** 2"),
    "rms": "the square root of 'average' of x * x",
    **dict.fromkeys(("ptp", "range", "minmax", "aminmax"), "'max' and 'min'"),
    **dict.fromkeys(("absmax", "linf", "norminf"), "'max' of abs(x)"),
    "nansum": "'sum' of where(isnan(x), 0, x)",
    **dict.fromkeys(("nanprod", "nanmultiply"), "'multiply' of where(isnan(x), 1, x)"),
    **dict.fromkeys(
        ("nanmean", "nanaverage"), "'sum' of where(isnan(x), 0, x) divided by 'sum' of ~isnan(x)"
    ),
    "softmax": "exp(x - reduce(x, 'log_sum_exp', axis, keepdims=True))",
    "logsoftmax": "x - reduce(x, 'log_sum_exp', axis, keepdims=True)",
    **{f"nan{f.label}": f"'{f.label}' with nan='ignore'" for f in NAN_FUNCTIONS},
}
#: Functions that neither are these nor can be composed of them, and who has them.
ABSENT = {
    **dict.fromkeys(("argsort", "bincount", "cumprod", "cumsum", "histogram"), "NumPy and CuPy"),
    **dict.fromkeys(("median", "nanmedian", "nanstd", "nanvar", "percentile"), "NumPy and CuPy"),
    **dict.fromkeys(("quantile", "sort", "unique"), "NumPy and CuPy"),
    **dict.fromkeys(("nanpercentile", "nanquantile"), "NumPy"),
}
_INT32 = frozenset({DataType.INT32, DataType.UINT32})
_INT64 = frozenset({DataType.INT64, DataType.UINT64})
_INTEGERS = dtypes.INTEGERS_8_TO_32 | _INT64
_FLOATS = dtypes.FLOATS_16_32 | {DataType.BFLOAT16, DataType.FLOAT64}
#: The parts of complex numbers.
PARTS = {DataType.COMPLEX64: DataType.FLOAT32, DataType.COMPLEX128: DataType.FLOAT64}
_COMPLEX = frozenset(PARTS)
_SMALL = dtypes.UP_TO_32_BITS
_WIDE = dtypes.FLOATS_16_32 | _INT32 | _INT64
#: Categories of data types: a later one can express all values of an earlier one.
_CATEGORIES = {
    "bool": frozenset({DataType.BOOL}),
    "integer": _INTEGERS,
    "float": _FLOATS,
    "complex": _COMPLEX,
}
_EARLY = ((FeatureLevel.LEVEL_1_0, dtypes.FLOATS_16_32),)
_FROM_2_1 = ((FeatureLevel.LEVEL_2_1, dtypes.FLOATS_16_32 | _INT32), *_EARLY)
_POSITIONS = (FeatureLevel.LEVEL_4_1, _SMALL | _INT64), (FeatureLevel.LEVEL_2_1, _SMALL), *_EARLY
_EXTREMES = (FeatureLevel.LEVEL_5_0, _SMALL | _INT64), (FeatureLevel.LEVEL_3_0, _SMALL), *_FROM_2_1
_SUMS = (FeatureLevel.LEVEL_5_0, _WIDE), *_FROM_2_1
_NORMS = (FeatureLevel.LEVEL_5_0, _WIDE), *_EARLY
#: Types of the input at DirectML's levels, newest first, unless these are floats at all levels.
_INPUT_DATA_TYPES: dict[ReduceFunction, TypeTable] = {
    **dict.fromkeys(ARG_FUNCTIONS, _POSITIONS),
    **dict.fromkeys(EXTREMES, _EXTREMES),
    **dict.fromkeys((ReduceFunction.MULTIPLY, ReduceFunction.SUM), _SUMS),
    **dict.fromkeys((ReduceFunction.L1, ReduceFunction.SUM_SQUARE), _NORMS),
}
#: Types of the output of ARGMAX and ARGMIN.
INDEX_DATA_TYPES: TypeTable = (
    (FeatureLevel.EXTENDED, _INTEGERS),
    (FeatureLevel.LEVEL_3_0, _INT32 | _INT64),
    (FeatureLevel.LEVEL_1_0, frozenset({DataType.UINT32})),
)
#: Functions of bool that count.
_COUNTING = frozenset({ReduceFunction.SUM, ReduceFunction.L1, ReduceFunction.SUM_SQUARE})
#: Functions of complex numbers that give real ones, if asked for.
NORMS = frozenset({ReduceFunction.L1, ReduceFunction.L2})
_OF_NOTHING = {
    **dict.fromkeys(_COUNTING | NORMS, 0),
    ReduceFunction.MULTIPLY: 1,
    ReduceFunction.AVERAGE: nan,
    ReduceFunction.LOG_SUM: -inf,
    ReduceFunction.LOG_SUM_EXP: -inf,
}


def function_of(value: object) -> ReduceFunction | None:
    """Return a function given by name, as a member or by its value; None if there is none."""
    if isinstance(value, str):
        return BY_LABEL.get(value)
    try:
        return ReduceFunction(integer_of(value))
    except Exception:  # noqa: BLE001  whatever a scalar of another library raises
        return None


def as_function(value: object, x: object = None) -> ReduceFunction:
    """Return the function of a name or a member, or raise ArgumentError; x is in front of it.

    DirectML's numbers are for descriptors: here, an axis would be one.
    """
    function = function_of(value) if isinstance(value, str | ReduceFunction) else None
    if function is None:
        require_order(x, value)
        is_axis = isinstance(value, int | np.integer) and not isinstance(value, bool)
        hint = f"; did you mean axis={value}?" if is_axis else ""
        raise ArgumentError(NAME, "function", requirement_of(value) + hint)
    return function


def requirement_of(value: object) -> str:
    """Return the requirement for a function, and what replaces the one that was given."""
    name: object = value
    if not isinstance(value, str):
        name = None
        with suppress(Exception):  # whatever the class of a value raises
            name = value.__name__  # type: ignore[attr-defined]  # numpy.sum
    word = _PREFIX.sub("", name.lower()) if isinstance(name, str) else name
    if word in ABSENT:
        hint = f"; there is none here, but in {ABSENT[word]}"
    else:
        hint = did_you_mean(word, BY_LABEL, _OTHER_NAMES)
    return f"must be one of {', '.join(BY_LABEL)}; got {describe_value(value)}{hint}"


def require_order(x: object, function: object) -> None:
    """Raise ArgumentError if x and the function are swapped: a name or scalar, and an array."""
    if type(x) is np.ndarray and x.ndim == 0:
        x = x.item()
    swapped = isinstance(function, list | tuple | range)
    with suppress(Exception):  # whatever the class of a value raises
        swapped = swapped or len(function.shape) > 0  # type: ignore[attr-defined]
    if isinstance(x, str) and x in BY_LABEL:
        swapped = not (function is None or isinstance(function, str))
    if isinstance(x, str | int) and swapped:
        requirement = f"must be an array; got {describe_value(x)}: x and function are swapped"
        raise ArgumentError(NAME, "x", requirement)


def takes(function: ReduceFunction, kind: DataType) -> bool:
    """Return whether a function has a meaning for elements of a data type."""
    return function is not ReduceFunction.LOG_SUM_EXP or kind not in _COMPLEX


def input_data_types(function: ReduceFunction) -> TypeTable:
    """Return the legal types of a function's input at each feature level."""
    legal = frozenset(k for kinds in _CATEGORIES.values() for k in kinds if takes(function, k))
    return (FeatureLevel.EXTENDED, legal), *_INPUT_DATA_TYPES.get(function, _EARLY)


def result_types(function: ReduceFunction, kind: DataType) -> tuple[str, frozenset[DataType]]:
    """Return the legal types of a function's result for a data type: in words, and as a set."""
    if function in ARG_FUNCTIONS:
        return "integer", _INTEGERS
    names = list(_CATEGORIES)
    least = next(i for i, kinds in enumerate(_CATEGORIES.values()) if kind in kinds)
    if function in FLOAT_FUNCTIONS:
        least = max(least, names.index("float"))
    if function in NORMS:
        least = min(least, names.index("float"))
    allowed = names[least:]
    return any_of(allowed), frozenset().union(*(_CATEGORIES[name] for name in allowed))


def result_type(function: ReduceFunction, kind: DataType) -> DataType:
    """Return the data type of a result if no other is asked for; raise for an illegal input."""
    if not takes(function, kind):
        required = f"must be real for {function.label}"
        raise dtype_error(NAME, "x.dtype", f"{required}; got {kind.name.lower()}")
    if function in ARG_FUNCTIONS:
        return DataType.INT64
    if function in FLOAT_FUNCTIONS and kind not in _FLOATS | _COMPLEX:
        return DataType.FLOAT64
    if function in _COUNTING and kind is DataType.BOOL:
        return DataType.INT64
    return kind


def holds_indices(function: ReduceFunction, result: DataType, count: int) -> bool:
    """Return whether the result can be the index of any of ``count`` elements, if it is one."""
    if function not in ARG_FUNCTIONS or result not in _INTEGERS:
        return True
    return count - 1 <= np.iinfo(result.numpy).max


def of_nothing(function: ReduceFunction, result: DataType) -> complex | None:
    """Return the value of a function for no elements; None if it has none."""
    if function is ReduceFunction.AVERAGE and result in _COMPLEX:
        return complex(nan, nan)
    return _OF_NOTHING.get(function)
