"""Data types: DirectML's enumeration, the extension of the functions, and NumPy's counterparts."""

from __future__ import annotations

from contextlib import suppress
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.errors import (
    any_of,
    describe_value,
    did_you_mean,
    did_you_mean_member,
    dtype_error,
)
from cudakern.process.lazy import load

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class DataType(IntEnum):
    """Element type of a tensor, with the values of ``DML_TENSOR_DATA_TYPE``.

    BOOL, BFLOAT16, COMPLEX64 and COMPLEX128 do not exist in DirectML; they need the feature level
    ``EXTENDED`` and have values that DirectML does not use.

    Attributes
    ----------
    bits, itemsize : int
        Of an element: bits, 0 for UNKNOWN; bytes, rounded up to whole ones.
    """

    bits: int
    itemsize: int

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
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype.

        Raises
        ------
        DTypeError
            The type has none: UNKNOWN, UINT4, INT4, or BFLOAT16 without the package ml_dtypes.
        """
        if self is DataType.BFLOAT16:
            dtype = bfloat16()
            if dtype is None:
                advice = "needs the package ml_dtypes; run: pip install ml_dtypes"
                raise dtype_error("cudakern", "BFLOAT16", advice)
            return dtype
        if self.name in {"UNKNOWN", "UINT4", "INT4"}:
            raise dtype_error("cudakern", "data_type", f"must have a NumPy dtype; got {self.name}")
        return np.dtype(self.name.lower())

    @classmethod
    def from_numpy(cls, dtype: np.dtype[Any]) -> DataType:
        """Return the data type of a NumPy dtype.

        Raises
        ------
        DTypeError
            No operator supports the dtype (object, strings, dates, structures, other byte orders).
        """
        value: object = dtype
        if not isinstance(value, np.dtype):
            requirement = f"must be a numpy.dtype; got {describe_value(value)}"
            raise dtype_error("cudakern", "dtype", requirement)
        data_type = known_dtypes().get(dtype)
        if data_type is None:
            swapped = dtype.newbyteorder("=") in known_dtypes()
            found = f"{dtype}" + ('; use dtype.newbyteorder("=")' if swapped else "")
            requirement = f"must be {list_types(map(str, known_dtypes()))}; got {found}"
            raise dtype_error("cudakern", "dtype", requirement)
        return data_type


for _member in DataType:
    _digits = "".join(filter(str.isdigit, _member.name))
    _member.bits = int(_digits or 8 * (_member is DataType.BOOL))
    _member.itemsize = (_member.bits + 7) // 8

FLOATS_16_32 = frozenset({DataType.FLOAT32, DataType.FLOAT16})
INTEGERS_8_TO_32 = frozenset(k for k in DataType if "INT" in k.name and k.bits in {8, 16, 32})
UP_TO_32_BITS = FLOATS_16_32 | INTEGERS_8_TO_32
SIXTY_FOUR_BITS = frozenset({DataType.FLOAT64, DataType.INT64, DataType.UINT64})
EXTENSIONS = frozenset({DataType.BOOL, DataType.BFLOAT16, DataType.COMPLEX64, DataType.COMPLEX128})
INDEX_TYPES = frozenset({DataType.INT64, DataType.INT32, DataType.UINT64, DataType.UINT32})

#: What messages call data types that differ in their bits, in the order in which they are listed.
_FAMILIES = ("bool", "int", "uint", "float", "bfloat", "float8_*", "complex")
#: What other libraries call some dtypes.
_OTHER_NAMES = {
    **dict.fromkeys(("f16", "fp16", "half"), "float16"),
    **dict.fromkeys(("f32", "fp32", "float"), "float32"),
    **dict.fromkeys(("f64", "fp64", "double"), "float64"),
    **dict.fromkeys(("i32", "int"), "int32"),
    **dict.fromkeys(("i64", "long"), "int64"),
    "bf16": "bfloat16",
    "u32": "uint32",
    "u64": "uint64",
}


@lru_cache(maxsize=1)
def narrow_floats() -> dict[str, np.dtype[Any]]:
    """Return bfloat16 and the 8-bit floats of ml_dtypes by name; none without that package."""
    try:
        ml_dtypes = load("ml_dtypes")
    except ImportError:
        return {}
    names = sorted(n for n in vars(ml_dtypes) if n.startswith(("bfloat16", "float8_")))
    return {name: np.dtype(getattr(ml_dtypes, name)) for name in names}


def bfloat16() -> np.dtype[Any] | None:
    """Return the bfloat16 dtype of ml_dtypes, or None where that package is not installed."""
    return narrow_floats().get("bfloat16")


@lru_cache(maxsize=1)
def known_dtypes() -> dict[np.dtype[Any], DataType]:
    """Return the data types of all dtypes that have one."""
    table = {
        np.dtype(member.name.lower()): member
        for member in DataType
        if member.name not in {"UNKNOWN", "UINT4", "INT4", "BFLOAT16"}
    }
    narrow = bfloat16()
    if narrow is not None:
        table[narrow] = DataType.BFLOAT16
    return table


@lru_cache(maxsize=1)
def copyable_dtypes() -> dict[np.dtype[Any], np.dtype[Any]]:
    """Return the dtypes that functions copy: the known ones, and the 8-bit floats of ml_dtypes.

    Each leads to itself, and so does an equal one, such as that of long long, or with metadata.
    """
    return {dtype: dtype for dtype in (*known_dtypes(), *narrow_floats().values())}


def require_dtype(
    operator: str, name: str, dtype: np.dtype[Any], legal: Collection[np.dtype[Any]]
) -> None:
    """Raise DTypeError unless an argument's dtype is legal."""
    if dtype not in legal:
        found = f"{dtype}{hint_of(name, dtype, legal)}"
        requirement = f"must be {list_types(map(str, legal))}; got {found}"
        raise dtype_error(operator, f"{name}.dtype", requirement)


def list_types(names: Iterable[str]) -> str:
    """Return names of data types as messages list them: ``"int8 to int64"`` for all four."""
    families: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: (len(name), name)):
        head, _, tail = name.partition("_")  # of float8_e5m2
        families.setdefault(f"{head}_*" if tail else head.rstrip("0123456789"), []).append(name)
    words: list[str] = []
    for family in sorted(families, key=lambda family: _FAMILIES.index(family.lower())):
        first, *others = families[family]
        if len(others) > 1:
            words.append(family if family.endswith("*") else f"{first} to {others[-1]}")
        else:
            words += first, *others
    return any_of(words)


def hint_of(name: str, dtype: np.dtype[Any], legal: Collection[np.dtype[Any]]) -> str:
    """Return the end of a message about an operand's dtype: what to use instead, if that is known.

    ``name`` is the operand in Python.
    """
    if dtype.kind == "O":
        wide = "float64" if np.dtype(np.float64) in legal else "int64"
        return f'; if all are numbers, use np.asarray({name}, "{wide}")'
    if dtype.kind in "SUT":
        return "; it is text, and operators take numbers"
    fields = [field for field in dtype.names or () if dtype[field] in legal]
    if fields:
        return f"; use a field, such as {name}[{fields[0]!r}]"
    if dtype.kind in "mM" and np.dtype(np.float64) in legal:  # dates are no indices
        native = "" if dtype.isnative else f'.astype({name}.dtype.newbyteorder("="))'
        return f'; use {name}{native}.view("int64")'
    return conversion_hint(name, dtype, legal) or _near_hint(name, dtype, legal)


def _near_hint(name: str, dtype: np.dtype[Any], legal: Collection[np.dtype[Any]]) -> str:
    """Return the end of a message: float32 for 8-bit floats, float64 for longdouble."""
    near = [k for k in map(np.dtype, ("u1", "i1", "f4", "c8")) if np.can_cast(dtype, k)]
    near += [k for k in map(np.dtype, ("f8", "c16")) if np.can_cast(dtype, k, "same_kind")]
    return next((f'; use {name}.astype("{k}")' for k in near if k in legal), "")


def conversion_hint(name: str, dtype: np.dtype[Any], legal: Collection[np.dtype[Any]]) -> str:
    """Return the end of a message: what to use for a mask, or for an array of swapped bytes."""
    if dtype.kind == "b" and name.startswith("indices"):
        return f"; the positions of a mask are nonzero({name})[0], as tuples argwhere({name})"
    if dtype.isnative or dtype.newbyteorder("=") not in legal:
        return ""
    return f'; use {name}.astype({name}.dtype.newbyteorder("="))'


def data_type_hint(value: object) -> str:
    """Return the end of a message: the member of `DataType` that another's data type stands for."""
    dtype: np.dtype[Any] | None = None
    if not (value is None or isinstance(value, np.generic)):
        with suppress(Exception):
            dtype = np.dtype(value)  # type: ignore[call-overload]  # whatever the caller gave
    if dtype is not None:
        known = known_dtypes().get(dtype)
        return f"; did you mean DataType.{known.name}?" if known else ""
    others = {other: name.upper() for other, name in _OTHER_NAMES.items()}
    return did_you_mean_member(_last_word(value), DataType, others)


def _last_word(value: object) -> str:
    """Return what a dtype is called behind the name of its library, as of torch.float32."""
    name = value if isinstance(value, str) else describe_value(value)
    return name.rpartition(".")[2]


def as_dtype(operator: str, wanted: object, legal: Collection[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the legal dtype that a caller's value stands for; an error suggests the nearest."""
    dtype: np.dtype[Any] | None = None
    if wanted is not None:  # of which NumPy makes float64
        with suppress(Exception):
            dtype = np.dtype(wanted)  # type: ignore[call-overload]  # whatever the caller gave
    if dtype is not None and dtype in legal:
        return dtype
    word = _last_word(wanted)
    if not narrow_floats() and word.startswith(("bfloat16", "float8")):
        hint = "; it needs the package ml_dtypes"
    elif dtype is not None and dtype.newbyteorder("=") in legal:
        hint = f"; did you mean '{dtype.newbyteorder('=')}'?"
    else:
        others = {other: repr(name) for other, name in _OTHER_NAMES.items()}
        hint = did_you_mean(word, map(str, legal) if dtype is None else (), others)
    got = describe_value(wanted) if dtype is None else str(dtype)
    requirement = f"must be {list_types(map(str, legal))}; got {got:.60}{hint}"
    raise dtype_error(operator, "dtype", requirement)
