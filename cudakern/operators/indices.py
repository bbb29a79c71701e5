"""Indices: types, modes, fill values, the check behind ``mode="raise"``, lookups by them."""

from __future__ import annotations

from functools import partial
from itertools import product
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cudakern import _dtypes as dtypes
from cudakern._arguments import element_bytes
from cudakern._arrays import (
    Array,
    address_of,
    check_output,
    common_place,
    converted,
    copied,
    current,
    empty,
    fill_elements,
    layout_of,
    place_of,
    require_eager,
    require_rank,
    require_size,
)
from cudakern._caches import kept
from cudakern._dtypes import DataType, copyable, require_dtype
from cudakern._foreign import as_array, as_output
from cudakern._kernel_arguments import ArgumentPacker
from cudakern._layout import MAX_DIMENSIONS, VECTOR_BYTES, Dimension, Layout, merge
from cudakern.engines import engine_for
from cudakern.engines.base import THREADS, KernelSpec, Launch, Tensor, blocks_for
from cudakern.errors import ArgumentError, DTypeError, IndexRangeError, did_you_mean, shown
from cudakern.feature_level import FeatureLevel
from cudakern.operators.binding import Binding, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cudakern.operators.rows import RowProblem

    RowsOf = Callable[[Layout, Layout, Layout, int, str, str, bytes], RowProblem]

ITEMS_PER_THREAD = 4  # slots or items of a thread and turn in rows, planes and strided; limit
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
    """The value of a parameter that was left out. An equal number is another object."""


#: The fill value where none is given. It shows as 0.
ZERO = _NotGiven(0)


def check_mode(operator: str, mode: str, negative: str, fill_value: object) -> None:
    """Raise ArgumentError unless the mode is known and the other two go with it."""
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


# Kernels read indices as unsigned integers where negative ones are invalid: a negative one is then
# at least 2^31, or 2^63, and out of range of any axis that is not longer.


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
    """Return indices as int32, int64, uint32 or uint64.

    Narrower integers are widened; what is no integer raises DTypeError.
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
    """Raise DTypeError unless indices may have a dtype, or can be widened from it."""
    if dtype not in _INDEX_DTYPES and dtype not in _WIDENED:
        requirement = "must be int32, int64, uint32 or uint64"
        message = f"{operator}: indices.dtype {requirement}; got {dtype}"
        raise DTypeError(message)


def fill_pattern(operator: str, fill_value: object, dtype: np.dtype[Any]) -> bytes:
    """Return one element of the fill value repeated to 16 bytes."""
    element = element_bytes(operator, "fill_value", fill_value, dtype)
    return element * (VECTOR_BYTES // dtype.itemsize)


def check_spec(operator: str, index_type: str) -> KernelSpec:
    """Return the kernel that looks for indices out of range."""
    short, device_type = INDEX_TYPES[index_type]
    return KernelSpec(
        operator,
        "check",
        f"ck_{operator}_check_{short}",
        (
            ("CK_INDEX_T", device_type),
            ("CK_MODE", "kClamp"),
            ("CK_OFFSET_T", "ck::uint64"),
            ("CK_RANK", str(_CHECK_RANK)),
            ("CK_ITEMS", str(ITEMS_PER_THREAD)),
            ("CK_MAX_TUPLE", str(CHECKED_COMPONENTS[operator])),
        ),
    )


def check_specs() -> Iterator[KernelSpec]:
    """Yield all kernels that look for indices out of range."""
    return (check_spec(*names) for names in product(CHECKED_COMPONENTS, INDEX_TYPES))


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
    arguments = ArgumentPacker(wide=True).offset(items=indices.size)
    arguments.offset(extent=(*extents, *[1] * (room - len(extents))))
    arguments.dimensions(_CHECK_RANK, dimensions=(*merge(dimensions), component))
    return Launch(
        check_spec(operator, index_type),
        (blocks_for(indices.size, THREADS), 1, 1),
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
    """Raise IndexRangeError if an index lies outside its axis; wait for the check to know.

    Indices, of which there are some, select from axes of these extents, beginning with ``first``;
    with ``tuples``, their last dimension runs over the axes. The message counts positions from
    ``starts``.
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
    """Raise IndexRangeError if ``count`` indices select from an empty axis of x."""
    for axis, extent in enumerate(extents, first):
        if extent == 0:
            requirement = f"x.shape[{axis}] must be at least 1 for {count} indices"
            message = f"{operator}: {requirement}; got 0"
            raise IndexRangeError(message)


def as_operands(operator: str, x: object, indices: object, least: int) -> tuple[Array, Array]:
    """Return x and indices as arrays of supported dtypes; indices have ``least`` dimensions."""
    data = as_array(operator, "x", x)
    positions = as_indices(operator, indices, as_array(operator, "indices", indices))
    require_dtype(operator, "x", data.dtype, copyable())
    require_rank(operator, "x", data, 1)
    require_rank(operator, "indices", positions, least)
    return data, positions


class Selection(NamedTuple):
    """What indices select, and what those out of range mean."""

    #: The axes of x that indices select from: from the first to before ``stop``.
    first: int
    stop: int
    mode: str  # one of MODES
    fill: bytes  # the fill value repeated to 16 bytes
    negative: str  # what a negative index is: counted from the end, or invalid


class Lookup:
    """What gather and gather_nd do with their operands, once these are known.

    ``option`` is the parameter that gives the first axis. ``rows_of`` makes the problem of the
    layouts of x, indices and out, the first axis, the type that kernels read indices as, the mode
    and the fill pattern. With ``tuples``, the last dimension of the indices runs over the axes.
    """

    def __init__(
        self,
        operator: str,
        option: str,
        rows_of: RowsOf,
        plan: Callable[[RowProblem], Launch | None],
        *,
        tuples: bool,
    ) -> None:
        self._operator, self._option, self._tuples = operator, option, tuples
        self._rows_of, self._plan = rows_of, plan
        self.binding = Binding(operator, ("x", "indices", "out"), self._bind, aligned=(1,))
        self._run = self.binding.run
        kept(operator, self.binding.table)

    def __call__(self, x: Array, indices: Array, selection: Selection, out: Array | None) -> Array:
        """Return what is selected, in ``out`` if given.

        ArgumentError tells that the call would wait for the GPU while a graph is captured,
        BindingError that an array does not fit; IndexRangeError is raised as the mode demands.
        """
        if selection.mode == "raise":
            requirement = "must not be 'raise', which waits for the GPU,"
            require_eager(self._operator, "mode", requirement, place_of(x))
        if selection.negative == "invalid":
            extents = x.shape[selection.first : selection.stop]
            indices = widened(indices, extents, selection.negative)
        if out is None:
            shape = self._shape(x, indices, selection)
            place = common_place(self._operator, ("x", "indices"), (x, indices))
            require_size(self._operator, "indices", shape, x.dtype.itemsize)
            target = out = empty(shape, x.dtype, place)
        else:
            target = as_output(self._operator, "out", out)
        self._run(selection, (x, indices, target))
        return out

    def _shape(self, x: Array, indices: Array, selection: Selection) -> tuple[int, ...]:
        chosen = indices.shape[:-1] if self._tuples else indices.shape
        shape: tuple[int, ...] = chosen + x.shape[selection.stop :]
        return shape if self._tuples else x.shape[: selection.first] + shape

    def _bind(
        self, selection: Selection, arrays: tuple[Array, ...], layouts: list[Layout], place: int
    ) -> Work:
        x, indices, out = arrays
        shape, reason = self._shape(x, indices, selection), f"for {self._option}={selection.first}"
        kind = index_type(indices, selection.negative)
        check_output(self._operator, "out", out, shape, x.dtype, place, reason)
        extents = x.shape[selection.first : selection.stop]
        if 0 in extents:
            return Work(None, partial(self._fill, selection) if out.size else None)
        source, where, result = layouts
        mode, fill = selection.mode, selection.fill
        problem = self._rows_of(source, where, result, selection.first, kind, mode, fill)
        launch = self._plan(problem)
        checks = selection.mode == "raise" and extents and out.size
        return Work(launch, partial(self._check, selection) if checks else None)

    def _fill(self, selection: Selection, arrays: tuple[Array, ...]) -> bool:
        """Fill the result where x has nothing to select from."""
        x, indices, out = arrays
        if selection.mode != "fill":
            extents = x.shape[selection.first : selection.stop]
            require_extents(self._operator, extents, selection.first, indices.size)
        fill_elements(out, selection.fill[: x.dtype.itemsize])
        return False

    def _check(self, selection: Selection, arrays: tuple[Array, ...]) -> bool:
        """Raise IndexRangeError if an index is out of range."""
        x, indices, _ = arrays
        first, negative = selection.first, selection.negative
        extents = x.shape[first : selection.stop]
        raise_if_outside(
            self._operator, indices, extents, first, tuples=self._tuples, negative=negative
        )
        return True
