"""What the arguments of reduce mean: axes, dtype and shape of the result.

Source: DirectML reference, ``DML_REDUCE_OPERATOR_DESC``; rules R1 to R5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any

import numpy as np

from cudakern._arrays import Array, require_rank, require_size
from cudakern._dtypes import DataType, known, require_dtype
from cudakern._hints import did_you_mean
from cudakern.errors import ArgumentError, BindingError, DTypeError, shown
from cudakern.operators.base import AXIS_WORDS, normalize_axis
from cudakern.operators.reduce_types import (
    ARG_FUNCTIONS,
    BY_LABEL,
    INITIAL_FUNCTIONS,
    NAME,
    NAN_FUNCTIONS,
    ReduceFunction,
    function_of,
    holds_indices,
    initial_type,
    of_nothing,
    result_type,
    result_types,
)

_IGNORED = {"propagate": False, "ignore": True}
#: What other libraries call these, and ONNX with "Reduce" in front; "nan" in front means "ignore".
_OTHER_NAMES = {
    **dict.fromkeys(("mean", "avg"), "'average'"),
    **dict.fromkeys(("prod", "product", "mul"), "'multiply'"),
    **dict.fromkeys(("amax", "maximum"), "'max'"),
    **dict.fromkeys(("amin", "minimum"), "'min'"),
    **dict.fromkeys(("norm", "euclidean"), "'l2'"),
    **dict.fromkeys(("asum", "abssum"), "'l1'"),
    **dict.fromkeys(("add", "total"), "'sum'"),
    **dict.fromkeys(("sumsq", "sumofsquares"), "'sum_square'"),
    **{f"nan{f.label}": f"'{f.label}' with nan='ignore'" for f in NAN_FUNCTIONS},
}
_OTHER_NAN_WORDS = dict.fromkeys(("omit", "skip", "skipna", "drop"), "'ignore'")
_OTHER_AXIS_WORDS = {**AXIS_WORDS, "all": "None", "none": "None"}


@dataclass(frozen=True, slots=True, eq=False)
class ReduceCall:
    """What the arguments of a call mean for x of a dtype and shape.

    Attributes
    ----------
    function : ReduceFunction
        What is computed.
    axes : tuple of int
        The axes that are reduced, ascending.
    shape, dtype
        Of the result.
    initial_dtype
        Of an initial value.
    ignore_nan, last_index : bool
        As in ReduceProblem.
    constant : complex or None
        What all of the result is if x is empty and there is no initial value.
    """

    function: ReduceFunction
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    initial_dtype: np.dtype[Any]
    ignore_nan: bool
    last_index: bool
    constant: complex | None

    def of_nothing(self, initial: bytes | None) -> bytes:
        """Return one element of the result if x is empty."""
        if initial is None:
            return np.array(self.constant, self.dtype).tobytes()
        return np.frombuffer(initial, self.initial_dtype).astype(self.dtype).tobytes()


def as_function(given: object) -> ReduceFunction:
    """Return a function that was given by name, as a member of the enumeration or by its value.

    Raises
    ------
    ArgumentError
        There is no such function.
    """
    found = function_of(given)
    if found is None:
        word = given.lower().removeprefix("reduce") if isinstance(given, str) else given
        hint = did_you_mean(word, BY_LABEL, _OTHER_NAMES)
        requirement = f"must be one of {', '.join(BY_LABEL)}; got {shown(given)}{hint}"
        raise ArgumentError(NAME, "function", requirement)
    return found


def as_axes(axis: object) -> int | tuple[int, ...]:
    """Return axes as an int or a tuple of those."""
    try:
        return tuple(map(index, axis)) if isinstance(axis, tuple) else index(axis)  # type: ignore[arg-type]  # so TypeError
    except Exception:  # noqa: BLE001  whatever a scalar of another library raises
        hint = did_you_mean(axis, (), _OTHER_AXIS_WORDS)
        message = f"{NAME}: axis must be an int, a tuple of ints or None; got {shown(axis)}{hint}"
        raise DTypeError(message) from None


def check_flags(**flags: object) -> None:
    """Raise ArgumentError for what is neither true nor false, as an array of several elements."""
    for name, given in flags.items():
        try:
            bool(given)
        except Exception:  # noqa: BLE001  whatever a tensor of another library raises
            requirement = f"must be True or False; got {shown(given)}"
            raise ArgumentError(NAME, name, requirement) from None


def find_call(
    x: Array,
    given: str | ReduceFunction,
    axis: int | tuple[int, ...] | None,
    keepdims: bool,  # noqa: FBT001  as in the key
    dtype: np.dtype[Any] | None,
    nan: object,
    last_index: bool,  # noqa: FBT001
    initial: object,
    *,
    of_out: bool,
) -> ReduceCall:
    """Check the arguments of a call and return what they mean; ``of_out``: dtype is that of out."""
    require_dtype(NAME, "x", x.dtype, known())
    require_rank(NAME, "x", x, 0)
    function = as_function(given)
    ignored = _IGNORED.get(nan) if isinstance(nan, str) else None
    if ignored is None:
        hint = did_you_mean(nan, _IGNORED, _OTHER_NAN_WORDS)
        requirement = f"must be 'propagate' or 'ignore'; got {shown(nan)}{hint}"
        raise ArgumentError(NAME, "nan", requirement)
    if ignored and function not in NAN_FUNCTIONS:
        requirement = f"must be 'propagate' for {function.label}; got 'ignore'"
        raise ArgumentError(NAME, "nan", requirement)
    if last_index and function not in ARG_FUNCTIONS:
        requirement = f"must be False for {function.label}; got True"
        raise ArgumentError(NAME, "last_index", requirement)
    if initial is not None and function not in INITIAL_FUNCTIONS:
        requirement = f"must be None for {function.label}; got {shown(initial)}"
        raise ArgumentError(NAME, "initial", requirement)
    axes = _normalized(axis, x.ndim)
    count = prod(x.shape[d] for d in axes)
    result = _result_of(function, DataType.from_numpy(x.dtype), dtype, count, of_out=of_out)
    if keepdims:
        shape = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
    else:
        shape = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    require_size(NAME, "x", shape, result.itemsize, f"shape {x.shape}")
    constant = of_nothing(function, result)
    has_value = constant is not None or initial is not None
    if not has_value and x.size == 0 and 0 not in shape:
        requirement = f"must have elements for {function.label}, which has no identity"
        hint = "; give initial" if function in INITIAL_FUNCTIONS else ""
        raise ArgumentError(NAME, "x", f"{requirement}; got shape {x.shape}{hint}")
    initial_dtype = initial_type(function, result).numpy
    return ReduceCall(
        function, axes, shape, result.numpy, initial_dtype, ignored, last_index, constant
    )


def _result_of(
    function: ReduceFunction,
    kind: DataType,
    dtype: np.dtype[Any] | None,
    count: int,
    *,
    of_out: bool,
) -> DataType:
    """Return the data type of results of ``count`` elements each: of a dtype, or the default.

    Raises
    ------
    DTypeError
        The function takes no such elements, or gives no such results.
    BindingError
        It gives no results of the dtype that out has.
    """
    requested = None if dtype is None or of_out else DataType.from_numpy(dtype)
    result = result_type(function, kind, requested)
    if dtype is not None and of_out:
        words, allowed = result_types(function, kind)
        result = known().get(dtype, DataType.UNKNOWN)
        if result not in allowed:
            requirement = f"must have dtype {words} for {function.label} of {kind.name.lower()}"
            raise BindingError(NAME, "out", f"{requirement}; got {dtype}")
    if not holds_indices(function, result, count):
        requirement = f"must hold indices up to {count - 1}; got {result.name.lower()}"
        if of_out:
            raise BindingError(NAME, "out", requirement)
        message = f"{NAME}: dtype {requirement}"
        raise DTypeError(message)
    return result


def _normalized(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Return axes counted from the first one, ascending."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple) else (axis,)
    if given and rank == 0:
        raise ArgumentError(NAME, "axis", f"must be None or () for a scalar; got {axis}")
    axes = tuple(sorted(normalize_axis(NAME, d, rank) for d in given))
    if len(set(axes)) < len(axes):
        raise ArgumentError(NAME, "axis", f"must name no axis twice; got {axis}")
    return axes
