"""The two values of one_hot: scalars that travel with the launch, or an array on its place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern._arrays import Array, converted, place_of
from cudakern._caches import Results, kept
from cudakern._dtypes import as_dtype, copyable, require_dtype
from cudakern._foreign import as_array
from cudakern._layout import VECTOR_BYTES
from cudakern.engines import HOST
from cudakern.errors import ArgumentError, DTypeError, reason, shown
from cudakern.operators.indexing import element_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

_BYTES = 2 * VECTOR_BYTES
_REAL = frozenset({bool, int, float})
_COUNT = 2


@dataclass(frozen=True, slots=True)
class OffOn:
    """Off and on.

    Attributes
    ----------
    dtype : numpy.dtype
        Of the result.
    pattern : bytes
        Off, then on, each repeated to 16 bytes; zeros where they are in an array.
    array : array or None
        Off and on, its two elements.
    """

    dtype: np.dtype[Any]
    pattern: bytes = bytes(_BYTES)
    array: Array | None = None


def off_on(operator: str, values: object, dtype: object) -> OffOn:
    """Return the values as they were given, of a dtype or of their own.

    Raises
    ------
    ArgumentError
        There are not two of them.
    DTypeError
        A dtype is not supported, or a value is no scalar or does not fit the dtype.
    """
    wanted = None if dtype is None else as_dtype(operator, dtype, copyable())
    if isinstance(values, list | tuple):
        if len(values) != _COUNT:
            _refuse(operator, f"{len(values)} of them")
        off, on = values
        if type(off) in _REAL and type(on) in _REAL:
            # 0.0 and -0.0 are equal and have different bytes.
            return _numbers(operator, off, on, off == 0 and str(off), on == 0 and str(on), wanted)
        return _scalars(operator, off, on, wanted)
    array = as_array(operator, "values", values)
    if array.size != _COUNT:
        _refuse(operator, f"shape {array.shape}")
    require_dtype(operator, "values", array.dtype, copyable())
    if wanted is not None and array.dtype != wanted:
        if place_of(array) == HOST:  # elsewhere, a look at them would synchronise
            _pattern(operator, array.ravel(), wanted)
        array = converted(array, wanted)
    return OffOn(array.dtype, array=array)


def _refuse(operator: str, found: str) -> None:
    requirement = f"must be two scalars or an array of two elements; got {found}"
    raise ArgumentError(operator, "values", requirement)


def _scalars(operator: str, off: object, on: object, wanted: np.dtype[Any] | None) -> OffOn:
    dtype = _common_dtype(operator, (off, on)) if wanted is None else wanted
    return OffOn(dtype, _pattern(operator, (off, on), dtype))


def _pattern(operator: str, values: Iterable[object], dtype: np.dtype[Any]) -> bytes:
    """Return off and on as bytes, each repeated; raise DTypeError where one does not fit."""
    elements = (
        element_bytes(operator, f"values[{k}]", value, dtype) for k, value in enumerate(values)
    )
    return b"".join(element * (VECTOR_BYTES // dtype.itemsize) for element in elements)


@lru_cache(maxsize=256, typed=True)
def _numbers(
    operator: str,
    off: complex,
    on: complex,
    _off_zero: object,
    _on_zero: object,
    wanted: np.dtype[Any] | None,
) -> OffOn:
    return _scalars(operator, off, on, wanted)


kept("one_hot values", Results(_numbers))


def _common_dtype(operator: str, values: tuple[object, object]) -> np.dtype[Any]:
    """Return the dtype of NumPy's scalars among two values; without any, of Python's numbers."""
    numbers = [
        isinstance(value, int | float | complex) and not isinstance(value, np.generic)
        for value in values
    ]
    if all(numbers):
        if all(isinstance(value, bool) for value in values):
            return np.dtype(np.bool_)
        some_complex = any(isinstance(value, complex) for value in values)
        return np.dtype(np.complex64 if some_complex else np.float32)
    try:
        own = [np.asarray(v).dtype for v, number in zip(values, numbers, strict=True) if not number]
        dtype: np.dtype[Any] = np.result_type(*own)
    except Exception as error:
        found = f"{shown(values)} ({reason(error)})"
        message = f"{operator}: values must be scalars of one dtype; got {found}"
        raise DTypeError(message) from error
    require_dtype(operator, "values", dtype, copyable())
    return dtype
