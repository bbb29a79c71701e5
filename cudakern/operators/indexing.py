"""Index tensors: their types, their modes, fill values, and the check behind ``mode="raise"``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern import dtypes
from cudakern.arrays import Array, address_of, converted, current, empty, layout_of
from cudakern.dtypes import DataType
from cudakern.engines import engine_for
from cudakern.engines.base import KernelSpec, Launch, Tensor
from cudakern.errors import BindingError, DescriptorError, DTypeError, IndexRangeError
from cudakern.feature_level import FeatureLevel
from cudakern.layout import (
    MAX_DIMENSIONS,
    VECTOR_BYTES,
    WORD_BYTES,
    ArgumentPacker,
    Dimension,
    Layout,
    merge,
)

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
_WIDENED = {"int8": np.int32, "int16": np.int32, "uint8": np.uint32, "uint16": np.uint32}
#: Dimensions of indices in the check: as many as an operand has, and the components of a tuple.
_CHECK_RANK = MAX_DIMENSIONS + 1
#: Components of an index tuple at most, by operator.
CHECKED_COMPONENTS = {"gather": 1, "gather_nd": MAX_DIMENSIONS}


def compares_wide(indices: Layout, *, wide: bool) -> bool:
    """Return whether a kernel compares indices with extents as 64-bit values."""
    return wide or indices.itemsize > 4  # noqa: PLR2004  bytes of a 32-bit index


def check_mode(operator: str, mode: str) -> None:
    """Raise DescriptorError unless ``mode`` is one of MODES."""
    if not isinstance(mode, str) or mode not in MODES:
        requirement = f"must be 'clamp', 'wrap', 'fill' or 'raise'; got {mode!r}"
        raise DescriptorError(operator, "mode", requirement)


def as_indices(operator: str, given: object, indices: Array) -> Array:
    """Return indices as int32, int64, uint32 or uint64; narrower integers are widened.

    Raises
    ------
    DTypeError
        The indices are no integers.
    """
    name = indices.dtype.name if indices.dtype.isnative else "a foreign byte order"
    if name in INDEX_TYPES:
        return indices
    if name in _WIDENED:
        return converted(indices, np.dtype(_WIDENED[name]))
    if isinstance(given, list | tuple) and indices.size == 0:
        return indices.astype(np.int64)  # an empty list has no dtype of its own
    requirement = "must be int32, int64, uint32 or uint64"
    message = f"{operator}: indices.dtype {requirement}; got {indices.dtype}"
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
            if dtype.kind in "iub" and element.dtype.kind in "fc":
                raise ValueError("a fraction would be lost")  # noqa: TRY301
            if dtype.kind == "b" and element not in (0, 1):
                raise ValueError("a bool is 0 or 1")  # noqa: TRY301
            if element.dtype != dtype:  # NumPy converts values, and NaN to one of its own
                element = np.array(element.item(), dtype=dtype)
            return element.tobytes()
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{operator}: {name} must fit {dtype}; got {value!r} ({error})"
        raise DTypeError(message) from error
    message = f"{operator}: {name} must be a scalar; got shape {element.shape}"
    raise DTypeError(message)


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
    operator: str, indices: Array, x: Array, axes: Sequence[int], place: int, *, tuples: bool
) -> None:
    """Raise IndexRangeError if an index lies outside its axis.

    Parameters
    ----------
    operator : str
        For the message.
    indices : array
        Not empty; of one of INDEX_TYPES.
    x : array
        What the indices select from. Signed ones may count from the end of an axis.
    axes : sequence of int
        The axes of x that they select from.
    place : int
        Where the indices are.
    tuples : bool
        Whether the last dimension of the indices runs over the axes.

    Notes
    -----
    Synchronization: waits for the check and reads back 8 bytes.
    """
    none = np.iinfo(np.uint64).max
    first_bad = empty((1,), np.dtype(np.uint64), place)
    with current(place):
        first_bad.fill(none)
    address = address_of(indices)
    layout = layout_of(indices, address)
    extents = [x.shape[axis] for axis in axes]
    launch = check_launch(operator, layout, indices.dtype.name, extents, tuples=tuples)
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
    axis = axes[where[-1] if tuples else 0]
    extent = x.shape[axis]
    lowest = -extent if indices.dtype.kind == "i" else 0
    shown = f"indices[{', '.join(map(str, where))}]" if where else "indices"
    requirement = f"must lie in [{lowest}, {extent - 1}] for x.shape[{axis}]={extent}"
    message = f"{operator}: {shown} {requirement}; got {value}"
    raise IndexRangeError(message)
