"""Indices: their types, the meaning of one out of range, and how kernels read them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cudakern.errors import ArgumentError, describe_value, dtype_error
from cudakern.operators.arrays.native import Array, convert
from cudakern.operators.binding import EXACT
from cudakern.operators.feature_level import FeatureLevel
from cudakern.values import dtypes
from cudakern.values.dtypes import DataType
from cudakern.values.layout import VECTOR_BYTES, Layout
from cudakern.values.validation import as_bytes, require_word

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Data types of the operands of copy operators by feature level, newest first: data and indices.
DATA_TYPES = (
    (FeatureLevel.EXTENDED, dtypes.UP_TO_32_BITS | dtypes.SIXTY_FOUR_BITS | dtypes.EXTENSIONS),
    (FeatureLevel.LEVEL_4_1, dtypes.UP_TO_32_BITS | dtypes.SIXTY_FOUR_BITS),
    (FeatureLevel.LEVEL_2_1, dtypes.UP_TO_32_BITS),
    (FeatureLevel.LEVEL_1_0, dtypes.FLOATS_16_32),
)
INDEX_DATA_TYPES = (
    (FeatureLevel.LEVEL_3_0, dtypes.INDEX_TYPES),
    (FeatureLevel.LEVEL_1_0, frozenset({DataType.UINT32})),
)

NO_FILL = bytes(VECTOR_BYTES)  # the fill pattern without a fill value

#: Index modes as ``kernels/common/indexing.cuh`` names them. "raise" checks, then clamps.
MODES = {"clamp": "kClamp", "wrap": "kWrap", "fill": "kFill", "raise": "kClamp"}
#: Index dtypes: name in kernel entry points, and type in device code.
INDEX_TYPES = {
    "int32": ("i32", "ck::int32"),
    "int64": ("i64", "ck::int64"),
    "uint32": ("u32", "ck::uint32"),
    "uint64": ("u64", "ck::uint64"),
}
#: What a negative index means: a position from the end, or one out of range.
_NEGATIVE = ("from_end", "invalid")
#: Words of other libraries for the modes, and for these.
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
_WIDENED = {np.dtype(f"{kind}{n}"): np.dtype(f"{kind}4") for kind in "iu" for n in (1, 2)}


def compares_wide(indices: Layout, *, wide: bool) -> bool:
    """Return whether a kernel compares indices with extents as 64-bit values."""
    return wide or indices.itemsize > 4  # noqa: PLR2004  bytes of a 32-bit index


class Selection(NamedTuple):
    """What indices select, and the meaning of those out of range."""

    #: The axes of x that indices select from: the first, and the one behind the last.
    first: int
    stop: int
    mode: str  # one of MODES
    fill: bytes  # the fill value repeated to 16 bytes
    negative: str  # what a negative index means: one of _NEGATIVE
    #: Whether the last dimension of the indices runs over the axes; then a batch precedes these.
    tuples: bool

    def extents(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the lengths of the axes in x of a shape."""
        return shape[self.first : self.stop]

    def shape(self, x: Array, indices: Array) -> tuple[int, ...]:
        """Return the shape of the result."""
        chosen = indices.shape[self.first : -1] if self.tuples else indices.shape
        return *x.shape[: self.first], *chosen, *x.shape[self.stop :]


class _NotGiven(int):
    """The value of an omitted parameter. An equal number is another object."""


#: The fill value if none is given. Signatures show it as 0.
ZERO = _NotGiven(0)
EXACT.add(_NotGiven)


def check_mode(operator: str, mode: object, negative: object, fill_value: object) -> None:
    """Raise ArgumentError unless the mode is known and the other two fit it."""
    require_word(operator, "mode", mode, MODES, _OTHER_MODES)
    check_negative(operator, negative)
    if negative == "invalid" and mode not in {"fill", "raise"}:
        requirement = f"must be 'from_end' for mode={mode!r}; got 'invalid'"
        raise ArgumentError(operator, "negative", requirement)
    if fill_value is not ZERO and mode != "fill":
        requirement = (
            f"must come with mode='fill'; got {describe_value(fill_value)} with mode={mode!r}"
        )
        raise ArgumentError(operator, "fill_value", requirement)


def check_negative(operator: str, negative: object) -> None:
    """Raise ArgumentError unless this is a meaning of negative indices."""
    require_word(operator, "negative", negative, _NEGATIVE, _OTHER_NEGATIVE)


# If negative indices are invalid, kernels read all as unsigned integers: a negative one is then at
# least 2^31, or 2^63, and out of range for any axis that is not longer.


def index_type(indices: Array, negative: str) -> str:
    """Return the name in INDEX_TYPES of the type that kernels read indices as."""
    name: str = indices.dtype.name
    return f"u{name}" if negative == "invalid" and name.startswith("int") else name


def widen(indices: Array, extents: Sequence[int], negative: str) -> Array:
    """Return indices that can be read as `index_type` says, for axes of these extents."""
    if negative == "invalid" and indices.dtype == np.int32 and max(extents, default=0) > 2**31:
        return convert(indices, np.dtype(np.int64))
    return indices


def as_indices(operator: str, value: object, indices: Array, x: Array | None = None) -> Array:
    """Return indices as int32, int64, uint32 or uint64, widened if they are narrower integers.

    An error tells whether ``x`` may be the indices.
    """
    if indices.dtype in _INDEX_DTYPES:
        return indices
    if indices.dtype in _WIDENED:
        return convert(indices, _WIDENED[indices.dtype])
    if isinstance(value, list | tuple):
        if indices.size == 0:
            return indices.astype(np.int64)  # an empty list has no dtype of its own
        if indices.dtype == np.float64:
            _require_one_type(operator, value)
    require_index_dtype(operator, value, indices.dtype, x)
    return indices


def _require_one_type(operator: str, value: Sequence[Any]) -> None:
    """Raise DTypeError for integers that NumPy converts to float64, as no integer type has all."""
    numbers = np.asarray(value, object).ravel().tolist()
    if all(isinstance(number, int | np.integer) for number in numbers):
        found = f"{min(numbers)} and {max(numbers)}, of which NumPy makes float64"
        requirement = f"must hold integers of one type, int64 or uint64; got {found}"
        raise dtype_error(operator, "indices", requirement)


def require_index_dtype(
    operator: str, value: object, dtype: np.dtype[Any], x: Array | None = None
) -> None:
    """Raise DTypeError unless indices may have a dtype, or can be widened from it.

    The error tells whether ``x`` may be the indices.
    """
    legal = _INDEX_DTYPES | _WIDENED.keys()
    if dtype in legal:
        return
    hint = dtypes.hint_of("indices", dtype, legal)
    if not hint:
        name = "indices" if hasattr(value, "astype") else "np.asarray(indices)"
        is_float = np.can_cast(dtype, np.float64, "same_kind")
        ways = [f'{name}.astype("int64")'] if is_float else []
        if x is not None and x.dtype in legal:
            ways.insert(0, f"{operator}(indices, x) if x and indices are swapped")
        hint = f"; use {', else '.join(ways)}" if ways else ""
    requirement = f"must be {dtypes.list_types(map(str, legal))}; got {dtype}{hint}"
    raise dtype_error(operator, "indices.dtype", requirement)


def require_order(operator: str, name: str, value: Any, indices: Any) -> None:  # noqa: ANN401
    """Raise DTypeError if the argument of this name and the indices are swapped, as in PyTorch."""
    swapped = False
    with suppress(Exception):  # whatever the class of a value raises
        is_number = isinstance(indices, int) or indices.ndim == 0
        swapped = is_number and (isinstance(value, list | tuple) or value.ndim > 0)
    if swapped:
        requirement = f"must be an int; got {describe_value(value)}: indices and {name} are swapped"
        raise dtype_error(operator, name, requirement)


def fill_pattern(operator: str, mode: str, fill_value: object, dtype: np.dtype[Any]) -> bytes:
    """Return one element of the fill value repeated to 16 bytes; zeros for another mode."""
    if mode != "fill":
        return NO_FILL
    element = as_bytes(operator, "fill_value", fill_value, dtype)
    return element * (VECTOR_BYTES // dtype.itemsize)
