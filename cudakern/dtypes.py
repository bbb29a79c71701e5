"""Data types: DirectML's enumeration, the extension of the functions, and NumPy's counterparts."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np

from cudakern.errors import DTypeError


class DataType(IntEnum):
    """Element type of a tensor, with the values of ``DML_TENSOR_DATA_TYPE``.

    BOOL, BFLOAT16, COMPLEX64 and COMPLEX128 do not exist in DirectML; they need the feature level
    ``EXTENDED`` and have values that DirectML does not use.
    """

    UNKNOWN = 0
    FLOAT32 = 1
    FLOAT16 = 2
    UINT32 = 3
    UINT16 = 4
    UINT8 = 5
    INT32 = 6
    INT16 = 7
    INT8 = 8
    FLOAT64 = 9
    UINT64 = 10
    INT64 = 11
    UINT4 = 12
    INT4 = 13
    BOOL = 0x1001
    BFLOAT16 = 0x1002
    COMPLEX64 = 0x1003
    COMPLEX128 = 0x1004

    @property
    def bits(self) -> int:
        """Bits of an element; 0 for UNKNOWN."""
        return _BITS[self]

    @property
    def itemsize(self) -> int:
        """Bytes of an element, rounded up to whole bytes."""
        return (self.bits + 7) // 8

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype.

        Raises
        ------
        DTypeError
            There is none: UNKNOWN, UINT4, INT4, or BFLOAT16 without the package ml_dtypes.
        """
        if self is DataType.BFLOAT16:
            found = bfloat16()
            if found is None:
                message = (
                    "cudakern: BFLOAT16 needs the package ml_dtypes; run: pip install ml_dtypes"
                )
                raise DTypeError(message)
            return found
        if self.name in {"UNKNOWN", "UINT4", "INT4"}:
            message = f"cudakern: data_type must have a NumPy dtype; got {self.name}"
            raise DTypeError(message)
        return np.dtype(self.name.lower())

    @classmethod
    def from_numpy(cls, dtype: np.dtype[Any]) -> DataType:
        """Return the data type of a NumPy dtype.

        Raises
        ------
        DTypeError
            No operator supports the dtype (object, strings, dates, structures, other byte orders).
        """
        found = _table().get(dtype)
        if found is None:
            message = (
                f"cudakern: dtype must be one of {', '.join(d.name for d in _table())}; got {dtype}"
            )
            raise DTypeError(message)
        return found


_BITS = {
    DataType.UNKNOWN: 0,
    DataType.FLOAT32: 32,
    DataType.FLOAT16: 16,
    DataType.UINT32: 32,
    DataType.UINT16: 16,
    DataType.UINT8: 8,
    DataType.INT32: 32,
    DataType.INT16: 16,
    DataType.INT8: 8,
    DataType.FLOAT64: 64,
    DataType.UINT64: 64,
    DataType.INT64: 64,
    DataType.UINT4: 4,
    DataType.INT4: 4,
    DataType.BOOL: 8,
    DataType.BFLOAT16: 16,
    DataType.COMPLEX64: 64,
    DataType.COMPLEX128: 128,
}

FLOATS_16_32 = frozenset({DataType.FLOAT32, DataType.FLOAT16})
INTEGERS_8_TO_32 = frozenset(
    {
        DataType.INT32,
        DataType.INT16,
        DataType.INT8,
        DataType.UINT32,
        DataType.UINT16,
        DataType.UINT8,
    }
)
SIXTY_FOUR_BITS = frozenset({DataType.FLOAT64, DataType.INT64, DataType.UINT64})
EXTENSIONS = frozenset({DataType.BOOL, DataType.BFLOAT16, DataType.COMPLEX64, DataType.COMPLEX128})
INDEX_TYPES = frozenset({DataType.INT64, DataType.INT32, DataType.UINT64, DataType.UINT32})


@lru_cache(maxsize=1)
def bfloat16() -> np.dtype[Any] | None:
    """Return the bfloat16 dtype of ml_dtypes, or None where that package is not installed."""
    try:
        import ml_dtypes  # noqa: PLC0415  optional
    except ImportError:
        return None
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


@lru_cache(maxsize=1)
def _table() -> dict[np.dtype[Any], DataType]:
    table = {
        np.dtype(member.name.lower()): member
        for member in DataType
        if member.name not in {"UNKNOWN", "UINT4", "INT4", "BFLOAT16"}
    }
    found = bfloat16()
    if found is not None:
        table[found] = DataType.BFLOAT16
    return table


def supported(dtype: np.dtype[Any]) -> bool:
    """Return whether the copy operators move elements of this dtype."""
    return dtype in _table()


def supported_names() -> str:
    """Return the names of all dtypes, for messages."""
    return ", ".join(str(dtype) for dtype in _table())


def as_supported(operator: str, dtype: object) -> np.dtype[Any]:
    """Return what was given for a dtype as one that the functions support.

    Raises
    ------
    DTypeError
        They do not, or it is no dtype.
    """
    found: np.dtype[Any] | None
    try:
        found = np.dtype(dtype)  # type: ignore[call-overload]  # whatever the caller gave
    except TypeError:
        found = None
    if found is None or not supported(found):
        shown = repr(dtype) if found is None else str(found)
        message = f"{operator}: dtype must be one of {supported_names()}; got {shown}"
        raise DTypeError(message)
    return found
