"""Arguments of the functions besides arrays: axes, sizes, scalars."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from math import isfinite, isinf
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.errors import (
    ArgumentError,
    AxisError,
    any_of,
    describe_error,
    describe_value,
    did_you_mean,
    dtype_error,
)
from cudakern.process.lazy import is_cupy
from cudakern.values.dtypes import copyable_dtypes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

#: Words for an axis, and what to write instead.
AXIS_WORDS = {"first": "0", "rows": "0", "index": "0", "columns": "1", "last": "-1"}

_MAX_BITS = 128  # of integers that are given
_MAX_LISTED = 8  # integers that a message lists


def is_flag(value: object) -> bool:
    """Return whether a value is True or False, of Python or NumPy."""
    return isinstance(value, bool | np.bool_)


def as_flag(owner: str, argument: str, value: object) -> bool:
    """Return a flag as Python's; raise DTypeError for any other value, such as 1."""
    if not is_flag(value):
        raise dtype_error(owner, argument, f"must be True or False; got {describe_value(value)}")
    return bool(value)


def integer_of(value: object) -> int:
    """Return an integer of any kind as Python's; raise for any other value, such as True."""
    if type(value) is int:
        return value
    kind = str(getattr(value, "dtype", "")).rpartition(".")[2]  # of torch.bool
    if is_flag(value) or kind == "bool":
        raise TypeError("a flag is no integer")
    return index(value)  # type: ignore[arg-type]  # the error says what else was given


def as_integer(
    operator: str, name: str, value: object, words: Mapping[str, str] | None = None
) -> int:
    """Return an integer of any kind as Python's; raise DTypeError for others, True and False too.

    ``words`` maps names that users may write to the integers that they stand for.
    """
    try:
        integer = integer_of(value)
    except Exception:  # noqa: BLE001  whatever a scalar of another library raises
        hint = did_you_mean(value, (), words) or _integer_hint(value)
        requirement = f"must be an int; got {describe_value(value)}{hint}"
        raise dtype_error(operator, name, requirement) from None
    if integer.bit_length() > _MAX_BITS:  # a message could not show it
        bits = integer.bit_length()
        requirement = f"must be an int of at most {_MAX_BITS} bits; got one of {bits} bits"
        raise dtype_error(operator, name, requirement)
    return integer


def _integer_hint(value: object) -> str:
    """Return the end of a message: the integer that a float, or a list of one, is meant for."""
    number = value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
    if isinstance(number, int | float) and not isinstance(number, bool):
        with suppress(OverflowError, ValueError):  # of infinities and NaN
            return f"; did you mean {int(number)}?" if number == int(number) else ""
    return ""


def tuple_hint(value: Any) -> str:  # noqa: ANN401
    """Return the end of a message: the tuple that an integer, or a list of them, is meant for."""
    with suppress(Exception):  # whatever the class of a value raises
        if hasattr(value, "__cuda_array_interface__"):  # a look at it would wait for the GPU
            return ""
        if hasattr(value, "__len__"):
            integers = tuple(map(integer_of, value)) if len(value) <= _MAX_LISTED else ()
        else:
            integers = () if isinstance(value, Enum) else (integer_of(value),)
        return f"; did you mean {integers}?" if integers else ""
    return ""


def normalize_axis(operator: str, axis: object, rank: int) -> int:
    """Return an axis counted from the first one, or raise AxisError."""
    position = as_integer(operator, "axis", axis, AXIS_WORDS)
    if not -rank <= position < rank:
        requirement = f"must lie in [{-rank}, {rank - 1}]; got {axis}"
        raise AxisError(operator, requirement, position, rank)
    return position % rank


def normalize_axes(operator: str, axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Return axes counted from the first one, ascending; None means all."""
    if axis is None:
        return tuple(range(rank))
    listed = axis if isinstance(axis, tuple) else (axis,)
    if listed and rank == 0:
        for d in listed:
            as_integer(operator, "axis", d, AXIS_WORDS)
        raise AxisError(operator, f"must be None or () for a scalar; got {axis}", axis, rank)
    axes = tuple(sorted([normalize_axis(operator, d, rank) for d in listed]))
    if len(set(axes)) < len(axes):
        raise AxisError(operator, f"must name no axis twice; got {axis}", axis, rank)
    return axes


def require_word(
    operator: str, name: str, value: object, words: Collection[str], others: Mapping[str, str]
) -> None:
    """Raise ArgumentError unless a value is one of some words.

    ``others`` maps other words to what they stand for, as for `did_you_mean`.
    """
    if not isinstance(value, str) or value not in words:
        hint = did_you_mean(value, words, others)
        requirement = f"must be {any_of(map(repr, words))}; got {describe_value(value)}{hint}"
        raise ArgumentError(operator, name, requirement)


def as_extent(operator: str, field: str, value: object) -> int:
    """Return a size given as an integer of any kind; raise ArgumentError if it is negative."""
    extent = as_integer(operator, field, value)
    if extent < 0:
        raise ArgumentError(operator, field, f"must be at least 0; got {extent}")
    return extent


def as_bytes(operator: str, name: str, value: Any, dtype: np.dtype[Any]) -> bytes:  # noqa: ANN401
    """Return the bytes of a scalar as one element of a dtype; raise DTypeError unless it fits."""
    if is_cupy(value) and value.ndim == 0:  # NumPy would wait for it
        requirement = f"must fit {dtype}; got {describe_value(value)} (it is on a GPU; use .item())"
        raise dtype_error(operator, name, requirement)
    try:
        element = value if is_cupy(value) else np.asarray(value)
        if element.ndim == 0:
            element = element.astype(element.dtype.newbyteorder("="), copy=False)
            return _convert_element(element, dtype).tobytes()
    except Exception as error:
        requirement = f"must fit {dtype}; got {describe_value(value)} ({describe_error(error)})"
        raise dtype_error(operator, name, requirement) from error
    raise dtype_error(operator, name, f"must be a scalar; got shape {element.shape}")


def _convert_element(element: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a number in another dtype, rounded to its floats; raise if it has no counterpart.

    NumPy would convert a number that is too large to infinity, None to NaN and text to a number.
    """
    if element.dtype == dtype:
        return element
    value = element.item()
    if not (isinstance(value, int) or element.dtype in copyable_dtypes()):  # of any number of bits
        raise TypeError("it is no number")
    if isinstance(value, complex) and dtype.kind != "c":
        raise TypeError("it is complex")
    if dtype.kind in "iub":
        return np.array(_as_integer(value, dtype), dtype)
    value = value if isinstance(value, complex) else float(value)
    with np.errstate(all="ignore"):
        result = np.array(value, dtype)
        stored = result.astype(np.complex128).item()
    for before, after in ((value.real, stored.real), (value.imag, stored.imag)):
        if before == 0 != after:
            raise ValueError("there is no zero")
        if isfinite(before) and not isfinite(after):
            raise OverflowError("it is out of range")
        if isinf(before) and not isinf(after):
            raise ValueError("there is no infinity")
    return result


def _as_integer(value: float, dtype: np.dtype[Any]) -> int:
    """Return a number as a value of a dtype of integers or bool; raise if it is none."""
    if not isfinite(value):
        raise ValueError("it is no integer")
    if value != int(value):
        raise ValueError("a fraction would be lost")
    if dtype.kind == "b":
        if value not in (0, 1):
            raise ValueError("a bool is 0 or 1")
    elif not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise OverflowError("it is out of range")
    return int(value)
