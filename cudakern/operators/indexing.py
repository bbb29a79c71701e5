"""Index tensors: their types, their modes, fill values, and the check behind ``mode="raise"``."""

from __future__ import annotations

from math import isfinite, isinf
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern import _dtypes as dtypes
from cudakern._arrays import (
    Array,
    address_of,
    converted,
    copied,
    current,
    empty,
    layout_of,
    place_of,
)
from cudakern._dtypes import DataType
from cudakern._hints import did_you_mean
from cudakern._layout import (
    MAX_DIMENSIONS,
    VECTOR_BYTES,
    WORD_BYTES,
    ArgumentPacker,
    Dimension,
    Layout,
    merge,
)
from cudakern.engines import engine_for
from cudakern.engines.base import KernelSpec, Launch, Tensor
from cudakern.errors import ArgumentError, BindingError, DTypeError, IndexRangeError, reason, shown
from cudakern.feature_level import FeatureLevel

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What the copy operators take at each feature level, newest first: data, and indices.
DATA_TYPES = (
    (
        FeatureLevel.EXTENDED,
        dtypes.FLOATS_16_32 | dtypes.INTEGERS_8_TO_32 | dtypes.SIXTY_FOUR_BITS | dtypes.EXTENSIONS,
    ),
    (
        FeatureLevel.LEVEL_4_1,
        dtypes.FLOATS_16_32 | dtypes.INTEGERS_8_TO_32 | dtypes.SIXTY_FOUR_BITS,
    ),
    (FeatureLevel.LEVEL_2_1, dtypes.FLOATS_16_32 | dtypes.INTEGERS_8_TO_32),
    (FeatureLevel.LEVEL_1_0, dtypes.FLOATS_16_32),
)
INDEX_DATA_TYPES = (
    (FeatureLevel.LEVEL_3_0, dtypes.INDEX_TYPES),
    (FeatureLevel.LEVEL_1_0, frozenset({DataType.UINT32})),
)

THREADS = 256
#: Blocks of a grid at most; kernels stride over what is left. Far more than any GPU holds at once.
MAX_BLOCKS = 2**16

#: The fill pattern where there is no fill value.
NO_FILL = bytes(VECTOR_BYTES)

#: Index modes as ``kernels/common/indexing.cuh`` names them. "raise" checks, then clamps.
MODES = {"clamp": "kClamp", "wrap": "kWrap", "fill": "kFill", "raise": "kClamp"}
#: Index dtypes: name in kernel entry points, and type in device code.
INDEX_TYPES = {
    "int32": ("i32", "ck::int32"),
    "int64": ("i64", "ck::int64"),
    "uint32": ("u32", "ck::uint32"),
    "uint64": ("u64", "ck::uint64"),
}
#: What a negative index may be: counted from the end, or out of range.
_NEGATIVE = ("from_end", "invalid")
#: Words of other libraries for these.
_OTHER_MODES = {
    **dict.fromkeys(("clip", "nearest", "edge", "border", "promiseinbounds"), "'clamp'"),
    **dict.fromkeys(("modulo", "periodic", "circular"), "'wrap'"),
    **dict.fromkeys(("constant", "pad", "zeros"), "'fill'"),
    **dict.fromkeys(("error", "strict"), "'raise'"),
}
_OTHER_NEGATIVE = {
    **dict.fromkeys(("wrap", "numpy", "python"), "'from_end'"),
    **dict.fromkeys(("outofrange", "fill", "raise", "error"), "'invalid'"),
}
_INDEX_DTYPES = frozenset(map(np.dtype, INDEX_TYPES))
_WIDENED = {
    np.dtype(narrow): np.dtype(wide)
    for wide, narrow in (("i4", "i1"), ("i4", "i2"), ("u4", "u1"), ("u4", "u2"))
}
#: Dimensions of indices in the check: as many as an operand has, and the components of a tuple.
_CHECK_RANK = MAX_DIMENSIONS + 1
#: Components of an index tuple at most, by operator.
CHECKED_COMPONENTS = {"gather": 1, "gather_nd": MAX_DIMENSIONS}


def compares_wide(indices: Layout, *, wide: bool) -> bool:
    """Return whether a kernel compares indices with extents as 64-bit values."""
    return wide or indices.itemsize > 4  # noqa: PLR2004  bytes of a 32-bit index


class _NotGiven(int):
    """The value of a parameter that was left out, which an equal number is not."""


#: The fill value where none is given. It shows as 0.
ZERO = _NotGiven(0)


def check_mode(operator: str, mode: str, negative: str, fill_value: object) -> None:
    """Raise ArgumentError unless ``mode`` is one of MODES, and the others go with it."""
    if not isinstance(mode, str) or mode not in MODES:
        hint = did_you_mean(mode, MODES, _OTHER_MODES)
        requirement = f"must be 'clamp', 'wrap', 'fill' or 'raise'; got {shown(mode)}{hint}"
        raise ArgumentError(operator, "mode", requirement)
    check_negative(operator, negative)
    if negative == "invalid" and mode not in {"fill", "raise"}:
        requirement = f"must be 'from_end' for mode={mode!r}; got 'invalid'"
        raise ArgumentError(operator, "negative", requirement)
    if fill_value is not ZERO and mode != "fill":
        requirement = f"must come with mode='fill'; got {shown(fill_value)} with mode={mode!r}"
        raise ArgumentError(operator, "fill_value", requirement)


def check_negative(operator: str, negative: object) -> None:
    """Raise ArgumentError unless it says what a negative index is."""
    if not isinstance(negative, str) or negative not in _NEGATIVE:
        hint = did_you_mean(negative, _NEGATIVE, _OTHER_NEGATIVE)
        requirement = f"must be 'from_end' or 'invalid'; got {shown(negative)}{hint}"
        raise ArgumentError(operator, "negative", requirement)


# Read as unsigned integers of their width, negative indices are at least 2^31, or 2^63: out of
# range of any axis that is not longer.


def index_type(indices: Array, negative: str) -> str:
    """Return which of INDEX_TYPES kernels read indices as."""
    name: str = indices.dtype.name
    return f"u{name}" if negative == "invalid" and name.startswith("int") else name


def widened(indices: Array, extents: Sequence[int], negative: str) -> Array:
    """Return indices that can be read as `index_type` says, for axes of these extents."""
    if negative == "invalid" and indices.dtype == np.int32 and max(extents, default=0) > 2**31:
        return converted(indices, np.dtype(np.int64))
    return indices


def as_indices(operator: str, given: object, indices: Array) -> Array:
    """Return indices as int32, int64, uint32 or uint64; narrower integers are widened.

    Raises
    ------
    DTypeError
        The indices are no integers.
    """
    if indices.dtype in _INDEX_DTYPES:
        return indices
    if indices.dtype in _WIDENED:
        return converted(indices, _WIDENED[indices.dtype])
    if isinstance(given, list | tuple) and indices.size == 0:
        return indices.astype(np.int64)  # an empty list has no dtype of its own
    require_index_dtype(operator, indices.dtype)
    return indices


def require_index_dtype(operator: str, dtype: np.dtype[Any]) -> None:
    """Raise DTypeError unless indices may have a dtype, maybe to be widened."""
    if dtype not in _INDEX_DTYPES and dtype not in _WIDENED:
        requirement = "must be int32, int64, uint32 or uint64"
        message = f"{operator}: indices.dtype {requirement}; got {dtype}"
        raise DTypeError(message)


def check_alignment(operator: str, name: str, layout: Layout) -> None:
    """Raise BindingError unless a layout is aligned."""
    if not layout.is_aligned:
        requirement = f"must lie on multiples of {min(layout.itemsize, WORD_BYTES)} bytes"
        found = f"an address {layout.phase} bytes beyond a multiple of 16, strides {layout.strides}"
        raise BindingError(operator, name, f"{requirement}; got {found}")


def element_bytes(operator: str, name: str, value: object, dtype: np.dtype[Any]) -> bytes:
    """Return the bytes of a scalar as one element of a dtype.

    Raises
    ------
    DTypeError
        The value is no scalar, or does not fit the dtype.
    """
    try:
        element = np.asarray(value)
        if element.ndim == 0:
            return _converted_element(element, dtype).tobytes()
    except Exception as error:
        found = f"{shown(value)} ({reason(error)})"
        message = f"{operator}: {name} must fit {dtype}; got {found}"
        raise DTypeError(message) from error
    message = f"{operator}: {name} must be a scalar; got shape {element.shape}"
    raise DTypeError(message)


def _converted_element(element: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a number in another dtype, rounded to its floats; raise if it has no counterpart.

    NumPy would make infinities of numbers that are too large, NaN of None and numbers of texts.
    """
    if element.dtype == dtype:
        return element
    value = element.item()
    if not (isinstance(value, int) or element.dtype in dtypes.copyable()):  # of any number of bits
        raise TypeError("it is no number")
    if isinstance(value, complex) and dtype.kind != "c":
        raise TypeError("it is complex")
    if dtype.kind in "iub":
        return np.array(_whole(value, dtype), dtype)
    value = value if isinstance(value, complex) else float(value)
    with np.errstate(all="ignore"):
        result = np.array(value, dtype)
        found = result.astype(np.complex128).item()
    for before, after in ((value.real, found.real), (value.imag, found.imag)):
        if before == 0 != after:
            raise ValueError("there is no zero")
        if isfinite(before) and not isfinite(after):
            raise OverflowError("it is out of range")
        if isinf(before) and not isinf(after):
            raise ValueError("there is no infinity")
    return result


def _whole(value: float, dtype: np.dtype[Any]) -> int:
    """Return a number as an integer that a dtype of integers or bool has."""
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


def fill_pattern(operator: str, fill_value: object, dtype: np.dtype[Any]) -> bytes:
    """Return one element of the fill value repeated to 16 bytes."""
    element = element_bytes(operator, "fill_value", fill_value, dtype)
    return element * (VECTOR_BYTES // dtype.itemsize)


def blocks_for(items: int, per_block: int) -> int:
    """Return how many blocks a kernel gets that strides over ``items``, ``per_block`` at a time."""
    return min(-(-items // per_block), MAX_BLOCKS)


def check_spec(operator: str, index_type: str) -> KernelSpec:
    """Return the kernel that looks for indices out of range."""
    short, device_type = INDEX_TYPES[index_type]
    return KernelSpec(
        f"{operator}.cu",
        f"ck_{operator}_check_{short}",
        (
            ("CK_VARIANT_CHECK", "1"),
            ("CK_INDEX_T", device_type),
            ("CK_MODE", "kClamp"),
            ("CK_OFFSET_T", "ck::uint64"),
            ("CK_RANK", str(_CHECK_RANK)),
        ),
    )


def check_launch(
    operator: str, indices: Layout, index_type: str, extents: Sequence[int], *, tuples: bool
) -> Launch:
    """Return the launch that writes the position of the first bad index."""
    dimensions = [
        Dimension(size, (stride,))
        for size, stride in zip(indices.shape, indices.strides, strict=True)
    ]
    component = dimensions.pop() if tuples else Dimension(1, (0,))
    room = CHECKED_COMPONENTS[operator]
    arguments = ArgumentPacker(wide=True).offset(indices.size, *extents)
    arguments.offset(*[1] * (room - len(extents)))
    arguments.dimensions((*merge(dimensions), component), _CHECK_RANK)
    return Launch(
        check_spec(operator, index_type),
        (blocks_for(indices.size, THREADS), 1, 1),
        (THREADS, 1, 1),
        0,
        2,
        arguments.done(),
    )


def raise_if_outside(
    operator: str,
    indices: Array,
    extents: Sequence[int],
    first: int,
    *,
    tuples: bool,
    negative: str,
    starts: Sequence[int] = (),
) -> None:
    """Raise IndexRangeError if an index lies outside its axis.

    Parameters
    ----------
    operator : str
        For the message.
    indices : array
        Not empty; of one of INDEX_TYPES.
    extents : sequence of int
        Of the axes of x that they select from.
    first : int
        The first of these axes.
    tuples : bool
        Whether the last dimension of the indices runs over the axes.
    negative : str
        What a negative index is.
    starts : sequence of int, optional
        Where the indices start in those that the message speaks of.

    Notes
    -----
    Synchronization: waits for the check and reads back 8 bytes.
    """
    address = address_of(indices)
    layout = layout_of(indices, address)
    if not layout.is_aligned:
        indices = copied(indices)
        address = address_of(indices)
        layout = layout_of(indices, address)
    place = place_of(indices)
    none = np.iinfo(np.uint64).max
    first_bad = empty((1,), np.dtype(np.uint64), place)
    with current(place):
        first_bad.fill(none)
    kind = index_type(indices, negative)
    launch = check_launch(operator, layout, kind, extents, tuples=tuples)
    tensors = (
        Tensor("indices", layout, read=True, written=False),
        Tensor("first_bad", Layout((1,), (8,), 8), read=True, written=True),
    )
    engine_for(place).prepare(launch, place, tensors)(address, address_of(first_bad))
    position = int(first_bad[0])
    if position == none:
        return
    where = tuple(int(k) for k in np.unravel_index(position, indices.shape))
    value = int(indices[where])
    component = where[-1] if tuples else 0
    axis, extent = first + component, extents[component]
    lowest = -extent if kind.startswith("int") else 0
    where = tuple(map(add, where, starts)) if starts else where
    named = f"indices[{', '.join(map(str, where))}]" if where else "indices"
    requirement = f"must lie in [{lowest}, {extent - 1}] for x.shape[{axis}]={extent}"
    message = f"{operator}: {named} {requirement}; got {value}"
    raise IndexRangeError(message)


def require_extents(operator: str, extents: Sequence[int], first: int, count: int) -> None:
    """Raise IndexRangeError if an axis of x is empty that so many indices select from."""
    for axis, extent in enumerate(extents, first):
        if extent == 0:
            requirement = f"x.shape[{axis}] must be at least 1 for {count} indices"
            message = f"{operator}: {requirement}; got 0"
            raise IndexRangeError(message)
