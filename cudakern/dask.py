"""The functions of cudakern over dask arrays, lazily: same names, arguments and results.

Chunks are arrays of NumPy, which the simulator runs on, or of CuPy. Nothing is computed while a
graph is built, but whatever the arguments and shapes decide is checked then. Equal calls have equal
keys. The graphs work on every scheduler; for one worker per GPU, as dask-cuda documents it::

    from dask.distributed import Client
    from dask_cuda import LocalCUDACluster

    cluster = LocalCUDACluster()
    client = Client(cluster)

Importing this module needs dask: the extra ``dask``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import isnan, nan, prod
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import dask.array as da
    from dask.array.utils import meta_from_array
    from dask.base import is_dask_collection, tokenize
    from dask.highlevelgraph import HighLevelGraph
    from dask.layers import ArrayValuesDep
except ImportError as error:
    ABSENT = 'cudakern: dask is not installed; run: pip install "cudakern[dask]"'
    raise ImportError(ABSENT) from error
if getattr(da, "array_expr_enabled", bool)():  # younger than the oldest dask that serves
    PLANNED = "cudakern: dask's array.query-planning must be off, as it is unless set; got True"
    raise ImportError(PLANNED)

import cudakern as ck
from cudakern._arguments import as_extent, element_bytes, normalize_axis
from cudakern._arrays import (
    Array,
    common_place,
    converted,
    copied,
    copy_elements,
    current,
    empty,
    fill_elements,
    flip_bits,
    place_of,
    require_rank,
    require_size,
)
from cudakern._dtypes import DataType, as_dtype, copyable, known, require_dtype
from cudakern._foreign import as_array
from cudakern.engines import HOST
from cudakern.errors import ArgumentError, DTypeError, shown
from cudakern.operators.gather_nd.function import check_shapes
from cudakern.operators.index_check import raise_if_outside, require_extents
from cudakern.operators.indices import (
    ZERO,
    as_indices,
    check_mode,
    check_negative,
    require_index_dtype,
    widened,
)
from cudakern.operators.nonzero.function import (
    NonzeroCoordinates,
    as_rows,
    as_table,
    count_type,
    require_input,
)
from cudakern.operators.one_hot.function import off_on
from cudakern.operators.reduce.function import ReduceCall, as_axes, check_flags, find_call
from cudakern.operators.reduce.reduction import Reduction
from cudakern.operators.reduce.types import ARG_FUNCTIONS, EXTREMES, ReduceFunction, as_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import DTypeLike

    from cudakern._array_types import Axes, Function, IndexMode, NanRule, NegativeIndex, Scalar

__all__ = ["argwhere", "gather", "gather_nd", "nonzero", "nonzero_coordinates", "one_hot", "reduce"]

#: dask.array.Array. Dask has no types, so this is as precise as it gets.
Lazy = Any
#: Partial results that are combined at once. Fixed, as their order decides about bits.
SPLIT_EVERY = 8
_COORDINATES = "nonzero_coordinates"
_INT64 = np.dtype(np.int64)
_SUM, _MAX, _MIN = ReduceFunction.SUM, ReduceFunction.MAX, ReduceFunction.MIN
_AVERAGE, _L2 = ReduceFunction.AVERAGE, ReduceFunction.L2
#: The functions that give partial results of those whose own cannot be combined.
_PARTIAL = {_AVERAGE: _SUM, _L2: ReduceFunction.SUM_SQUARE, ReduceFunction.LOG_SUM: _SUM}
#: Functions whose partial results are added up.
_ADDED = {*_PARTIAL, ReduceFunction.L1, ReduceFunction.SUM_SQUARE}


# -------------------------------------------------------------------------------- gather, gather_nd
#
# Indices travel to the chunks of x that they may select from. Each of these gives a result whose
# bits are zero where it has nothing, and a tree merges the bits of all.


def gather(
    x: Any,  # noqa: ANN401  arrays of many libraries
    indices: Any,  # noqa: ANN401
    axis: int = 0,
    *,
    mode: IndexMode = "clamp",
    fill_value: Scalar = ZERO,
    negative: NegativeIndex = "from_end",
    out: None = None,
) -> Lazy:
    """Select slices of a dask array along ``axis``, as `cudakern.gather` does.

    Parameters
    ----------
    x, indices : dask array, or what `cudakern.gather` takes
        Chunked in any way. Indices that are no dask array are one chunk of the result; if they are
        on the host, only those chunks of x are needed that they select from.
    axis, mode, fill_value, negative
        As for `cudakern.gather`.
    out : None
        Results are lazy.

    Returns
    -------
    dask array
        Chunked as the indices in place of ``axis``, otherwise as x.

    Raises
    ------
    ArgumentError, DTypeError, BindingError
        As `cudakern.gather` raises, when the graph is built; or chunks have unknown sizes.
    IndexRangeError
        In ``mode="raise"``, when the result is computed: an index is out of range, the first one of
        some chunk, whose position in all of the indices is given. When the graph is built: the axis
        is empty while there are indices.

    Notes
    -----
    Where x has n chunks along ``axis``, there are n tasks for each chunk of the result, each of
    which allocates as much; a tree merges up to 8 at a time. The result is a copy of bytes,
    whatever the chunks.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> cd.gather(da.arange(0, 60, 10, chunks=2), [2, 0, -1, 7]).compute()
    array([20,  0, 50, 50])
    """
    _require_known("gather", out, axis=axis, mode=mode, fill_value=fill_value, negative=negative)
    check_mode("gather", mode, negative, fill_value)
    x, positions, at_hand = _operands("gather", x, indices, 0)
    axis = normalize_axis("gather", axis, x.ndim)
    call = _Lookup("gather", axis, axis + 1, mode, negative, x.shape[axis : axis + 1], x.dtype)
    symbols = tuple(range(x.ndim, x.ndim + positions.ndim))
    return _look_up(call, x, positions, symbols, at_hand, fill_value)


def gather_nd(
    x: Any,  # noqa: ANN401  arrays of many libraries
    indices: Any,  # noqa: ANN401
    batch_dims: int = 0,
    *,
    mode: IndexMode = "clamp",
    fill_value: Scalar = ZERO,
    negative: NegativeIndex = "from_end",
    out: None = None,
) -> Lazy:
    """Select elements or slices of a dask array by tuples of indices, as `cudakern.gather_nd` does.

    Parameters
    ----------
    x, indices : dask array, or what `cudakern.gather_nd` takes
        As for `gather`; indices may have several chunks along the last axis, too.
    batch_dims, mode, fill_value, negative
        As for `cudakern.gather_nd`.
    out : None
        Results are lazy.

    Returns
    -------
    dask array
        Chunked as the indices, then as x; along the batch, where chunks of either end.

    Raises
    ------
    ArgumentError, DTypeError, BindingError, IndexRangeError
        As for `gather`.

    Notes
    -----
    As for `gather`, n being the chunks of x along all axes that are indexed.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> x = da.arange(6, chunks=2).reshape(2, 3)
    >>> cd.gather_nd(x, [[1, 0], [0, -1]]).compute()
    array([3, 2])
    """
    name = "gather_nd"
    rest: Any = {"mode": mode, "fill_value": fill_value, "negative": negative}
    _require_known(name, out, batch_dims=batch_dims, **rest)
    check_mode(name, mode, negative, fill_value)
    x, positions, at_hand = _operands(name, x, indices, 1)
    batch = check_shapes(x.shape, positions.shape, batch_dims)
    stop = batch + positions.shape[-1]
    call = _Lookup(name, batch, stop, mode, negative, x.shape[batch:stop], x.dtype, tuples=True)
    for axis in range(batch):
        chunks = _cut_alike(x.chunks[axis], positions.chunks[axis])
        x, positions = _rechunked(x, {axis: chunks}), _rechunked(positions, {axis: chunks})
    positions = _rechunked(positions, {positions.ndim - 1: -1})
    symbols = (*range(batch), *range(x.ndim, x.ndim + positions.ndim - batch))
    return _look_up(call, x, positions, symbols, at_hand, fill_value)


def _operands(
    operator: str, x: object, indices: object, least: int
) -> tuple[Lazy, Lazy, Array | None]:
    """Return x and indices as dask arrays, and the latter as an array if they are at hand.

    What `cudakern.operators.lookup.as_operands` demands of arrays is checked.
    """
    data = _as_lazy(operator, "x", x)
    positions, found = _as_lazy_indices(operator, indices)
    require_dtype(operator, "x", data.dtype, copyable())
    require_rank(operator, "x", data, 1)
    require_rank(operator, "indices", positions, least)
    at_hand = found is not None and place_of(found) == HOST
    return data, positions, found if at_hand else None


def _cut_alike(*chunks: Sequence[int]) -> tuple[int, ...]:
    """Return chunks that end where those of any of several arrays do."""
    ends = sorted({end for sizes in chunks for end in np.cumsum(sizes).tolist()} - {0}) or [0]
    return tuple(np.diff([0, *ends]).tolist())


@dataclass(frozen=True)
class _Lookup:
    """What indices select, and what those out of range mean."""

    operator: str
    first: int  # of the axes of x that indices select from
    stop: int  # the axis behind the last one of them
    mode: str
    negative: str
    extents: tuple[int, ...]  # of these axes, in all of x
    kind: np.dtype[Any]  # of x
    tuples: bool = False  # the last dimension of the indices runs over the axes
    fill: bytes = b""  # one element of the fill value; empty for other modes than "fill"

    def look_up(self, x: Array, indices: Array, mode: str, negative: str) -> Array:
        """Return what indices select from a chunk; zeros or the fill value out of range."""
        x = as_array(self.operator, "x", x)
        if x.dtype != self.kind:
            message = f"{self.operator}: x.dtype must be {self.kind} in all chunks; got {x.dtype}"
            raise DTypeError(message)
        value = np.frombuffer(self.fill, x.dtype)[0] if self.fill else ZERO
        function: Any = ck.gather_nd if self.tuples else ck.gather
        return function(x, indices, self.first, mode=mode, negative=negative, fill_value=value)

    def check(self, indices: Array, *starts: int) -> Array:
        """Return a chunk of the indices, which starts there, or raise for the first bad one."""
        indices = as_array(self.operator, "indices", indices)
        if indices.size:
            found = as_indices(self.operator, indices, indices)
            raise_if_outside(
                self.operator,
                widened(found, self.extents, self.negative),
                self.extents,
                self.first,
                tuples=self.tuples,
                negative=self.negative,
                starts=[int(start) for start in starts],
            )
        return indices

    def of_whole(self, x: object, indices: object) -> Array:
        """Return the result where the axes that are selected from are in one chunk."""
        return self.look_up(_only(x), _only(indices), self.mode, self.negative)

    def of_chunk(self, starts: tuple[int, ...], x: Array, indices: Array) -> Array:
        """Return what indices select from a chunk that starts there; zero bits for the rest."""
        indices = as_array(self.operator, "indices", indices)
        place = place_of(indices)
        local = empty(indices.shape, _INT64, place)
        columns: list[Any] = [(..., k) for k in range(len(starts))] if self.tuples else [...]
        with current(place):
            for column, extent, start in zip(columns, self.extents, starts, strict=True):
                local[column] = self.positions(indices[column], extent) - start
        return self.flipped(self.look_up(x, local, "fill", "invalid"))

    def positions(self, indices: Array, extent: int) -> Array:
        """Return where indices point along an axis, as int64; anywhere outside if nowhere."""
        if indices.dtype != np.uint64:
            indices = converted(indices, _INT64)
        low, high = (-1, extent) if self.mode == "fill" else (0, extent - 1)
        if self.mode == "wrap":
            indices = indices % max(extent, 1)
        elif indices.dtype == np.uint64:
            indices = np.minimum(indices, max(high, 0))
        else:
            if self.negative == "from_end":
                indices = indices + extent * (indices < 0)
            indices = np.minimum(np.maximum(indices, low), high)
        return indices.astype(np.int64)

    def merge(self, parts: list[Array]) -> Array:
        """Return the result of several chunks of x from those of each."""
        first, *others = parts
        result = copied(first)
        for part in others:
            copy_elements(result, part, merge=True)
        return result

    def finish(self, parts: list[Array]) -> Array:
        """Return the result of all chunks of x."""
        return self.flipped(self.merge(parts))

    def flipped(self, result: Array) -> Array:
        """Make zero bits of the fill value, or the fill value of zero bits."""
        if any(self.fill):
            flip_bits(result, self.fill)
        return result


def _look_up(
    call: _Lookup,
    x: Lazy,
    indices: Lazy,
    symbols: tuple[int, ...],
    at_hand: Array | None,
    fill_value: object,
) -> Lazy:
    """Return the result; ``symbols`` name the dimensions of indices, those of x are 0, 1, ..."""
    name, first, stop = call.operator, call.first, call.stop
    new = slice(first, -1) if call.tuples else slice(None)
    shape = x.shape[:first] + indices.shape[new] + x.shape[stop:]
    if call.mode == "fill":
        call = replace(call, fill=element_bytes(name, "fill_value", fill_value, x.dtype))
    _require_one_place(name, x=x, indices=indices)
    require_size(name, "indices", shape, x.dtype.itemsize)
    if call.mode != "fill" and 0 not in shape:
        require_extents(name, call.extents, first, indices.size)
    if call.mode == "raise":
        if 0 not in shape:
            axes, meta = range(indices.ndim), _like(indices, indices.ndim, indices.dtype)
            starts = _start_of_each(indices, axes)
            indices = _mapped(f"{name}-check", call.check, axes, meta, indices, axes, *starts)
        call = replace(call, mode="clamp", negative="from_end")
    meta = _like(x, len(shape), x.dtype)
    if all(count == 1 for count in x.numblocks[first:stop]):
        kept = (*range(first), *symbols[new], *range(stop, x.ndim))
        return _mapped(name, call.of_whole, kept, meta, x, range(x.ndim), indices, symbols)
    parts = _of_chunks(call, x, indices, new, _chunks_hit(call, x, at_hand))
    return _tree(name, parts, range(stop - first), call.merge, call.finish, meta)


def _chunks_hit(call: _Lookup, x: Lazy, at_hand: Array | None) -> list[list[int]]:
    """Return the chunks of x that indices may select from: along each axis, one at least."""
    hit = []
    for k, extent in enumerate(call.extents):
        sizes = x.chunks[call.first + k]
        chunks = list(range(len(sizes)))
        if at_hand is not None:
            found = call.positions(at_hand[..., k] if call.tuples else at_hand, extent)
            inside = found[(found >= 0) & (found < extent)]
            chunks = np.unique(np.searchsorted(_starts_of(sizes), inside, "right") - 1).tolist()
        hit.append(chunks or [0])
    return hit


def _of_chunks(call: _Lookup, x: Lazy, indices: Lazy, new: slice, hit: list[list[int]]) -> Lazy:
    """Return what indices select from each chunk of x: its numbers along the axes come first.

    Written by hand: dask would fuse a blockwise layer with those before it, and compute chunks of x
    again for each chunk of the indices.
    """
    first, stop = call.first, call.stop
    name = f"cudakern-{call.operator}-chunk-{tokenize(call, x.name, indices.name, hit)}"
    starts = [_starts_of(sizes) for sizes in x.chunks[first:stop]]
    chunks = x.chunks[:first] + indices.chunks[new] + x.chunks[stop:]
    behind, last = len(chunks) - (x.ndim - stop), (0,) * call.tuples
    of_batch = first if call.tuples else 0
    graph: dict[Any, Any] = {}
    for numbers in product(*(range(len(along)) for along in hit)):
        chosen = tuple(along[number] for along, number in zip(hit, numbers, strict=True))
        take = partial(call.of_chunk, _start(starts, chosen))
        for block in product(*(range(len(sizes)) for sizes in chunks)):
            graph[name, *numbers, *block] = (
                take,
                (x.name, *block[:first], *chosen, *block[behind:]),
                (indices.name, *block[:of_batch], *block[first:behind], *last),
            )
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[x, indices])
    leading = tuple((1,) * len(along) for along in hit)
    return da.Array(layers, name, leading + chunks, meta=_of_states(len(leading + chunks)))


# ----------------------------------------------------------- argwhere, nonzero, nonzero_coordinates


def argwhere(x: Any) -> Lazy:  # noqa: ANN401  arrays of many libraries
    """Return the coordinates of elements of a dask array that are not zero, as `cudakern.argwhere`.

    Parameters
    ----------
    x : dask array, or what `cudakern.argwhere` takes
        Chunked in any way.

    Returns
    -------
    dask array of int64, shape (nan, x.ndim)
        In row-major order of all of x. Its chunks have unknown sizes, as those of dask's own.

    Raises
    ------
    ArgumentError, DTypeError
        As `cudakern.argwhere` raises, when the graph is built; or chunks have unknown sizes.

    Notes
    -----
    Only chunks of consecutive elements have their coordinates in order: x is rechunked to such, of
    about as many bytes, unless it has them. Each task waits for its count.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> cd.argwhere(da.from_array([[0, 3], [5, 0]], chunks=1)).compute()
    array([[0, 1],
           [1, 0]])
    """
    return _rows(_searched("argwhere", x, 0))


def nonzero(x: Any, *, size: int | None = None, fill_value: int = -1) -> tuple[Lazy, ...]:  # noqa: ANN401
    """Return the coordinates of elements of a dask array that are not zero, as `cudakern.nonzero`.

    Parameters
    ----------
    x, size, fill_value
        As for `cudakern.nonzero`; x may be a dask array, chunked in any way.

    Returns
    -------
    tuple of dask arrays of int64, shape (nan,) or (size,)
        One for each dimension. With ``size``, of one chunk; else their chunks have unknown sizes.

    Raises
    ------
    ArgumentError, DTypeError
        As `cudakern.nonzero` raises, when the graph is built; or chunks have unknown sizes.

    Notes
    -----
    As for `argwhere`. With ``size``, a tree keeps the first rows of up to 8 chunks at a time.

    Examples
    --------
    >>> import dask
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> dask.compute(*cd.nonzero(da.from_array([[0, 3], [5, 0]], chunks=1), size=3))
    (array([ 0,  1, -1]), array([ 1,  0, -1]))
    """
    _require_known("nonzero", size=size, fill_value=fill_value)
    x = _searched("nonzero", x, 1)
    if size is None:
        rows = _rows(x)
    else:
        wanted = as_rows("nonzero", size, x, _INT64)
        fill = element_bytes("nonzero", "fill_value", fill_value, _INT64)
        rows = _table(_first(x, wanted), x, wanted, _INT64, fill)
    return tuple(rows[:, d] for d in range(x.ndim))


def nonzero_coordinates(
    x: Any,  # noqa: ANN401  arrays of many libraries
    *,
    size: int | None = None,
    dtype: DTypeLike = "uint32",
    out: None = None,
) -> NonzeroCoordinates[Any]:
    """Return how many elements of a dask array are not zero, and their coordinates in order.

    Parameters
    ----------
    x, size, dtype
        As for `cudakern.nonzero_coordinates`; x may be a dask array, chunked in any way.
    out : None
        Results are lazy.

    Returns
    -------
    NonzeroCoordinates
        Dask arrays of one chunk each, of the shapes and dtypes that `cudakern.nonzero_coordinates`
        gives. Coordinates beyond the count are undefined.

    Raises
    ------
    ArgumentError, DTypeError
        As `cudakern.nonzero_coordinates` raises, when the graph is built; or chunks have unknown
        sizes.

    Notes
    -----
    As for `nonzero` with ``size``. Without one, a single chunk has room for the coordinates of all
    elements. Compute count and coordinates in one call, lest x is computed twice.

    Examples
    --------
    >>> import dask
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> found = cd.nonzero_coordinates(da.from_array([[0, 3], [5, 7]], chunks=1), size=2)
    >>> dask.compute(*found)
    (array([3], dtype=uint32), array([[0, 1],
           [1, 0]], dtype=uint32))
    """
    _require_known(_COORDINATES, out, size=size, dtype=dtype)
    x = _searched(_COORDINATES, x, 0)
    kind, wanted = as_table(x, size, dtype)
    found, of_count = _first(x, wanted), count_type(x)
    meta = _like(x, 1, of_count)
    name = f"{_COORDINATES}-count"
    count = _mapped(name, _count, "n", meta, found, "f", new_axes={"n": 1}, kind=of_count)
    return NonzeroCoordinates(count, _table(found, x, wanted, kind, None))


def _searched(operator: str, given: object, least: int) -> Lazy:
    """Return x as a dask array of a supported dtype and ``least`` to 8 dimensions."""
    x = _as_lazy(operator, "x", given)
    require_input(operator, x, least)
    return x


def _consecutive(x: Lazy) -> Lazy:
    """Return x in chunks of consecutive elements, of about as many as before.

    Such a chunk has size 1 along the first axes, a part of one axis, and all of the others.
    """
    split = [d for d in range(x.ndim) if x.numblocks[d] > 1]
    if x.size == 0 or not split or all(max(sizes) <= 1 for sizes in x.chunks[: split[-1]]):
        return x
    chunks: list[int] = []
    room, inner = prod(map(max, x.chunks)), x.size
    for n in x.shape:
        inner //= n
        whole = chunks and chunks[-1] != 1
        chunks.append(-1 if whole else max(1, min(n, room // inner)))
    return _rechunked(x, tuple(chunks))


def _rows(x: Lazy) -> Lazy:
    """Return the coordinates of what is not zero, chunk by chunk."""
    return _of_each(x, _coordinates, "rows", (x.ndim,), _like(x, 2, _INT64))


def _first(x: Lazy, wanted: int) -> Lazy:
    """Return how many elements are not zero, and so many of their coordinates, as a pair."""
    pairs = _of_each(x, partial(_found, wanted), "chunk", (), _of_states(1))
    combine = partial(_combined, wanted)
    return _tree(_COORDINATES, pairs, (0,), combine, combine, _of_states(1), keepdims=True)


def _of_each(
    x: Lazy, take: Callable[..., object], word: str, rest: tuple[int, ...], meta: Array
) -> Lazy:
    """Return what a function makes of each consecutive chunk and its start, one after the other."""
    x = _consecutive(x)
    name = f"cudakern-{_COORDINATES}-{word}-{tokenize(x.name, take)}"
    starts = [_starts_of(sizes) for sizes in x.chunks]
    graph: dict[Any, Any] = {
        (name, number, *[0 for _ in rest]): (partial(take, _start(starts, block)), (x.name, *block))
        for number, block in enumerate(product(*map(range, x.numblocks)))
    }
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[x])
    sizes = (nan,) * len(graph) if rest else (1,) * len(graph)
    return da.Array(layers, name, (sizes, *[(n,) for n in rest]), meta=meta)


def _coordinates(start: tuple[int, ...], chunk: Array) -> Array:
    """Return the coordinates of what is not zero in a chunk that starts there."""
    rows = ck.argwhere(chunk)
    with current(place_of(rows)):
        for d, first in enumerate(start):
            column = rows[:, d]
            column += first
    return rows


def _found(wanted: int, start: tuple[int, ...], chunk: Array) -> tuple[int, Array]:
    """Return the count of a chunk that starts there, and its first coordinates."""
    chunk = as_array(_COORDINATES, "x", chunk)
    if not start:
        start, chunk = (0,), chunk.reshape(1)
    rows = _coordinates(start, chunk)
    return _combined(wanted, [(len(rows), rows)])


def _combined(wanted: int, pairs: list[tuple[int, Array]]) -> tuple[int, Array]:
    """Return the count of several chunks, and no more of their coordinates than are wanted."""
    counts, rows = zip(*pairs, strict=True)
    together = _joined(rows, 0)
    return sum(counts), copied(together[:wanted]) if len(together) > wanted else together


def _count(pair: object, kind: np.dtype[Any]) -> Array:
    """Return the count where the coordinates are."""
    ((number, rows),) = _flattened(pair)
    count = empty((1,), kind, place_of(rows))
    fill_elements(count, np.array(number, kind).tobytes())
    return count


def _table(found: Lazy, x: Lazy, wanted: int, kind: np.dtype[Any], fill: bytes | None) -> Lazy:
    """Return the coordinates, in as many rows as are wanted; ``fill`` goes where there are none."""
    shape, meta = (wanted, max(1, x.ndim)), _like(x, 2, kind)
    more: Any = {"new_axes": dict(zip("rc", shape, strict=True)), "shape": shape, "kind": kind}
    name = f"{_COORDINATES}-table"
    return _mapped(name, _table_of, "rc", meta, found, "f", fill=fill, **more)


def _table_of(
    pair: object, shape: tuple[int, int], kind: np.dtype[Any], fill: bytes | None
) -> Array:
    """Return the coordinates of a pair in rows of the shape."""
    ((_, rows),) = _flattened(pair)
    table = empty(shape, kind, place_of(rows))
    copy_elements(table[: len(rows)], converted(rows, kind))
    if fill is not None:
        fill_elements(table[len(rows) :], fill)
    return table


# ------------------------------------------------------------------------------------------ one_hot


def one_hot(
    indices: Any,  # noqa: ANN401  arrays of many libraries
    depth: int,
    *,
    axis: int = -1,
    values: Any = (0, 1),  # noqa: ANN401
    dtype: DTypeLike | None = None,
    negative: NegativeIndex = "from_end",
    out: None = None,
) -> Lazy:
    """Turn each index of a dask array into a vector, as `cudakern.one_hot` does.

    Parameters
    ----------
    indices : dask array, or what `cudakern.one_hot` takes
        Chunked in any way.
    depth, axis, dtype, negative
        As for `cudakern.one_hot`.
    values : (off, on), array or dask array of two elements, optional
        As for `cudakern.one_hot`. Where those of a dask array do not fit ``dtype``, the error is
        raised when the result is computed.
    out : None
        Results are lazy.

    Returns
    -------
    dask array
        Chunked as the indices; the new axis is one chunk, so chunks are ``depth`` times as long.

    Raises
    ------
    ArgumentError, DTypeError, BindingError
        As `cudakern.one_hot` raises, when the graph is built; or chunks have unknown sizes.

    Notes
    -----
    The result is made of copied bytes, whatever the chunks.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> cd.one_hot(da.from_array([0, 2, -1], chunks=2), 3, dtype="int32").compute()
    array([[1, 0, 0],
           [0, 0, 1],
           [0, 0, 1]], dtype=int32)
    """
    name = "one_hot"
    _require_known(name, out, depth=depth, axis=axis, dtype=dtype, negative=negative)
    positions, _ = _as_lazy_indices(name, indices)
    require_rank(name, "indices", positions, 0)
    depth = as_extent(name, "depth", depth)
    axis = normalize_axis(name, axis, positions.ndim + 1)
    check_negative(name, negative)
    lazy = None
    if isinstance(values, da.Array):
        lazy = _rechunked(_as_lazy(name, "values", values), -1)
        # Zeros fit every dtype; what there will be is checked when it is there.
        pair = off_on(name, np.broadcast_to(np.zeros((), lazy.dtype), lazy.shape), dtype)
    else:
        _require_known(name, values=values)
        pair = off_on(name, values, dtype)
        lazy = None if pair.array is None else _as_lazy(name, "values", pair.array)
    _require_one_place(name, indices=positions, **({} if lazy is None else {"values": lazy}))
    shape = (*positions.shape[:axis], depth, *positions.shape[axis:])
    require_size(name, "depth", shape, pair.dtype.itemsize)
    symbols, new = tuple(range(positions.ndim)), positions.ndim
    return _mapped(
        name,
        _vectors,
        (*symbols[:axis], new, *symbols[axis:]),
        _like(positions, len(shape), pair.dtype),
        positions,
        symbols,
        *(() if lazy is None else (lazy, range(-lazy.ndim, 0))),
        new_axes={new: depth},
        depth=depth,
        axis=axis,
        negative=negative,
        result=pair.dtype,
        pattern=pair.pattern,
    )


def _vectors(
    indices: Array,
    values: object = None,
    *,
    depth: int,
    axis: int,
    negative: NegativeIndex,
    result: np.dtype[Any],
    pattern: bytes,
) -> Array:
    """Return the vectors of a chunk of indices; values are in an array or, repeated, in bytes."""
    if values is None:
        both = np.frombuffer(pattern, result)
        pair = both[0], both[both.size // 2]
    else:
        pair = _only(values)
    return ck.one_hot(indices, depth, axis=axis, values=pair, dtype=result, negative=negative)


# ------------------------------------------------------------------------------------------- reduce


def reduce(
    x: Any,  # noqa: ANN401  arrays of many libraries
    function: Function,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    dtype: DTypeLike | None = None,
    nan: NanRule = "propagate",
    last_index: bool = False,
    initial: Scalar | None = None,
    out: None = None,
) -> Lazy:
    """Reduce a dask array by a function along some of its axes, as `cudakern.reduce` does.

    Parameters
    ----------
    x, function, axis, keepdims, dtype, nan, last_index, initial
        As for `cudakern.reduce`; x may be a dask array, chunked in any way.
    out : None
        Results are lazy.

    Returns
    -------
    dask array
        Chunked as x is along the axes that are kept.

    Raises
    ------
    ArgumentError, DTypeError, BindingError
        As `cudakern.reduce` raises, when the graph is built; or chunks of x have unknown sizes.

    Notes
    -----
    Partial results of chunks are combined up to 8 at a time:

    - ``sum``, ``l1``, ``sum_square``: sums; ``multiply``: products
    - ``average``: sums, and the number of elements, which is known
    - ``l2``, ``log_sum``: sums of squares, and sums
    - ``log_sum_exp``: themselves, each shifted by its maximum
    - ``max``, ``min``: themselves; ``argmax``, ``argmin``: the value, and its index in all of x

    Integers wrap in the result's type, whatever the chunks. Partial results of floats are in the
    type that `cudakern.reduce` adds them up in, float32 for float16: only the last step rounds to
    the result's. Their order follows the chunks, so sums and products of floats may have other last
    bits than those of one array, or of other chunks; the same chunks give the same bits. Where
    no reduced axis has several chunks, all bits are those of `cudakern.reduce`.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> x = da.arange(6, chunks=2).reshape(2, 3)
    >>> cd.reduce(x, "argmax", axis=1).compute()
    array([2, 2])
    """
    _require_known("reduce", out, function=function, axis=axis, keepdims=keepdims, dtype=dtype)
    _require_known("reduce", nan=nan, last_index=last_index, initial=initial)
    x = _as_lazy("reduce", "x", x)
    if type(function) is not str:
        function = as_function(function)
    if axis is not None and type(axis) is not int:
        axis = as_axes(axis)
    if dtype is not None:
        dtype = as_dtype("reduce", dtype, known())
    check_flags(keepdims=keepdims, last_index=last_index)
    keepdims, last_index = bool(keepdims), bool(last_index)
    call = find_call(x, function, axis, keepdims, dtype, nan, last_index, initial, of_out=False)
    start = None
    if initial is not None:
        start = element_bytes("reduce", "initial", initial, call.initial_dtype)
    meta, symbols = _like(x, len(call.shape), call.dtype), tuple(range(x.ndim))
    positions = call.function in ARG_FUNCTIONS
    states = (_Places if positions else _Values)(call, start, x.dtype, x.shape, keepdims)
    one = dict.fromkeys(call.axes, 1)
    if all(x.numblocks[d] == 1 for d in call.axes):
        kept = tuple(d for d in symbols if keepdims or d not in call.axes)
        one = one if keepdims else {}
        return _mapped("reduce", states.of_whole, kept, meta, x, symbols, adjust_chunks=one)
    starts = _start_of_each(x, call.axes) if positions else ()
    no_arrays, name = _of_states(x.ndim), "reduce-chunk"
    parts = _mapped(
        name, states.of_chunk, symbols, no_arrays, x, symbols, *starts, adjust_chunks=one
    )
    return _tree("reduce", parts, call.axes, states.combine, states.finish, meta, keepdims=keepdims)


@dataclass(frozen=True)
class _States:
    """Partial results, whose reduced axes have size 1; of an empty chunk, 0 along the first."""

    call: ReduceCall
    initial: bytes | None  # one element of the call's ``initial_dtype``
    kind: np.dtype[Any]  # of x
    shape: tuple[int, ...]  # of x
    keepdims: bool

    def reduced(
        self,
        x: Array,
        function: ReduceFunction,
        *,
        keepdims: bool = True,
        **options: Any,  # noqa: ANN401
    ) -> Array:
        """Return x reduced along the axes of the call, with its rule for NaN."""
        return ck.reduce(x, function, self.call.axes, keepdims=keepdims, nan=self.nan, **options)

    def result(self, x: Array, function: ReduceFunction, **options: Any) -> Array:  # noqa: ANN401
        """Return x reduced to the result, from the initial value on."""
        dtype, initial = self.call.dtype, self.initial
        if initial is not None:
            options["initial"] = np.frombuffer(initial, self.call.initial_dtype)[0]
        return self.reduced(x, function, dtype=dtype, keepdims=self.keepdims, **options)

    def of_whole(self, chunk: object) -> Array:
        """Return the result for a chunk that has all that is reduced."""
        return self.result(_only(chunk), self.call.function, last_index=self.call.last_index)

    @property
    def nan(self) -> NanRule:
        """The rule for NaN, as functions take it."""
        return "ignore" if self.call.ignore_nan else "propagate"

    def of_nothing(self, chunk: Array, dtype: np.dtype[Any]) -> Array | None:
        """Return the state of a chunk without an element for a result; None if there are some."""
        axes = self.call.axes
        if all(chunk.shape[d] for d in axes):
            return None
        shape = [1 if d in axes else n for d, n in enumerate(chunk.shape)]
        shape[axes[0]] = 0
        return empty(shape, dtype, place_of(chunk))


class _Values(_States):
    """States that are arrays: sums, products, largest or smallest elements."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """What values are kept in until the last step."""
        call = self.call
        if call.function in EXTREMES:
            return self.kind
        if call.dtype.kind in "iub":
            return call.dtype
        kinds = DataType.from_numpy(self.kind), DataType.from_numpy(call.dtype)
        return Reduction(call.function, *kinds).accumulator.numpy

    def of_chunk(self, chunk: Array) -> Array:
        """Return the state of a chunk."""
        chunk = as_array("reduce", "x", chunk)
        function, axes = self.call.function, self.call.axes
        nothing = self.of_nothing(chunk, self.dtype)
        if nothing is not None:
            return nothing
        is_norm = function is _L2 and chunk.dtype.kind == "c"  # the sum of |x|^2, not of x * x
        parts = [chunk.real, chunk.imag] if is_norm else [chunk]
        function = _PARTIAL.get(function, function)
        return _joined([self.reduced(part, function, dtype=self.dtype) for part in parts], axes[0])

    def combine(self, states: list[Array]) -> Array:
        """Return the state of several chunks."""
        function, along = self.call.function, self.call.axes[0]
        state = _joined(states, along)
        if state.shape[along] <= 1:
            return state
        return self.reduced(state, _SUM if function in _ADDED else function, dtype=self.dtype)

    def finish(self, states: list[Array]) -> Array:
        """Return the result."""
        call = self.call
        state = _joined(states, call.axes[0])
        if call.function in {_AVERAGE, _L2}:
            return self._average_or_root(state)
        function = _SUM if call.function in _ADDED - {*_PARTIAL} else call.function
        return self.result(state, function)

    def _average_or_root(self, state: Array) -> Array:
        """Return sums divided by the number of elements, or their square roots.

        In float64, as CuPy makes subnormal float32 zero; kernels of ours convert.
        """
        total = self.reduced(state, _SUM, dtype=self.dtype, keepdims=self.keepdims)
        widest = np.complex128 if self.dtype.kind == "c" else np.float64
        wide = ck.reduce(total, _SUM, (), dtype=widest)
        numbers = wide.reshape(-1).view(np.float64)
        with current(place_of(state)), np.errstate(all="ignore"):
            if self.call.function is _L2:
                np.sqrt(numbers, out=numbers)
            else:
                numbers /= prod(self.shape[d] for d in self.call.axes)
        return ck.reduce(wide, _SUM, (), dtype=self.call.dtype)


class _Places(_States):
    """States that are pairs: the largest or smallest values, and where they are in all of x."""

    @property
    def extreme(self) -> ReduceFunction:
        """What the value is."""
        return _MAX if self.call.function is ReduceFunction.ARGMAX else _MIN

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of values: float64 for floats, which CuPy compares without making subnormals zero."""
        return self.kind if self.kind.kind in "iub" else np.dtype(np.float64)

    def of_chunk(self, chunk: Array, *starts: int) -> tuple[Array, Array]:
        """Return the state of a chunk that starts there along the reduced axes."""
        chunk = as_array("reduce", "x", chunk)
        call = self.call
        values = self.of_nothing(chunk, self.dtype)
        if values is not None:
            return values, empty(values.shape, _INT64, place_of(chunk))
        values = self.reduced(chunk, self.extreme, dtype=self.dtype)
        rest = self.reduced(chunk, call.function, last_index=call.last_index)
        with current(place_of(chunk)):
            places, step = rest * 0, 1
            for axis, start in zip(call.axes[::-1], starts[::-1], strict=True):
                places += (rest % chunk.shape[axis] + int(start)) * step
                rest = rest // chunk.shape[axis]
                step *= self.shape[axis]
            if call.ignore_nan:
                places *= values == values  # noqa: PLR0124  where all are NaN, 0 in all of x, too
        return values, places

    def combine(self, states: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Return the state of several chunks."""
        call = self.call
        along = call.axes[0]
        values, places = (_joined(parts, along) for parts in zip(*states, strict=True))
        if values.shape[along] <= 1:
            return values, places
        best = ck.reduce(values, self.extreme, along, keepdims=True, nan=self.nan)
        function, beyond = (_MAX, -1) if call.last_index else (_MIN, np.iinfo(np.int64).max)
        with current(place_of(values)):
            chosen = values == best
            if self.dtype.kind == "f":
                chosen |= np.isnan(values) & np.isnan(best)
            places = np.where(chosen, places, beyond)
        return best, ck.reduce(places, function, along, keepdims=True)

    def finish(self, states: list[tuple[Array, Array]]) -> Array:
        """Return the result."""
        call = self.call
        _, places = self.combine(states)
        return ck.reduce(places, _MAX, call.axes, keepdims=self.keepdims, dtype=call.dtype)


# ------------------------------------------------------------------------- what all functions share


def _require_known(operator: str, out: object = None, **arguments: object) -> None:
    """Raise if there is an output, or an argument that the graph depends on is not known yet."""
    if out is not None:
        requirement = "must be None: results are lazy; dask.array.store writes them to arrays"
        raise ArgumentError(operator, "out", f"{requirement}; got {type(out).__name__}")
    for name, given in arguments.items():
        found = given if isinstance(given, list | tuple) else [given]
        if any(map(is_dask_collection, found)):
            requirement = "must be known when the graph is built"
            hint = f"call compute() on {name} first"
            message = f"{operator}: {name} {requirement}; got {shown(given)}; {hint}"
            raise DTypeError(message)


def _as_lazy(operator: str, name: str, given: object) -> Lazy:
    """Return an operand as a dask array: of one chunk, where it is none yet.

    Raises ArgumentError where the sizes of its chunks are not known, DTypeError if it is no array.
    """
    if not isinstance(given, da.Array):
        if is_dask_collection(given):
            message = f"{operator}: {name} must be an array; got {type(given).__name__}"
            raise DTypeError(message)
        array = as_array(operator, name, given)
        return da.from_array(array, chunks=array.shape, asarray=False)
    as_array(operator, name, meta_from_array(given))
    if any(map(isnan, given.shape)):
        hint = f"call {name}.compute_chunk_sizes() first"
        requirement = f"must have chunks of known sizes; got shape {given.shape}; {hint}"
        raise ArgumentError(operator, name, requirement)
    return given


def _as_lazy_indices(operator: str, given: object) -> tuple[Lazy, Array | None]:
    """Return indices as a dask array of integers, and as an array if they are none yet."""
    if isinstance(given, da.Array):
        lazy = _as_lazy(operator, "indices", given)
        require_index_dtype(operator, lazy.dtype)
        return lazy, None
    found = as_indices(operator, given, as_array(operator, "indices", given))
    return _as_lazy(operator, "indices", found), found


def _place(lazy: Lazy) -> int:
    """Return where chunks are: `HOST`, or the device that the array was made for."""
    return place_of(as_array("", "", meta_from_array(lazy)))


def _require_one_place(operator: str, **operands: Lazy) -> None:
    """Raise BindingError if chunks of some are on the host, and of others on a GPU.

    Which GPU that is depends on the worker.
    """
    if HOST in map(_place, operands.values()):
        metas = [as_array(operator, "", meta_from_array(lazy)) for lazy in operands.values()]
        common_place(operator, tuple(operands), metas)


def _like(lazy: Lazy, ndim: int, dtype: np.dtype[Any]) -> Array:
    """Return an empty array that tells dask of chunks in the place of another array's."""
    return empty((0,) * ndim, dtype, _place(lazy))


def _of_states(ndim: int) -> Array:
    """Return an empty array that tells dask of states: on the host, where dask may use it."""
    return np.empty((0,) * ndim, np.uint8)


def _rechunked(lazy: Lazy, chunks: int | tuple[int, ...] | dict[int, Any]) -> Lazy:
    """Return an array with other chunks along some axes.

    Dask does not rechunk an array whose axes are all empty; here each axis gets one chunk. And it
    has CuPy join chunks, which does so for NumPy's own dtypes; of others it gets unsigned integers.
    """
    if lazy.ndim and not any(lazy.shape):
        return da.from_array(_like(lazy, lazy.ndim, lazy.dtype), chunks=lazy.shape, asarray=False)
    if lazy.dtype.isbuiltin == 1:
        return lazy.rechunk(chunks)
    words = _viewed(lazy, np.dtype(f"u{lazy.dtype.itemsize}"))
    return _viewed(words.rechunk(chunks), lazy.dtype)


def _viewed(lazy: Lazy, kind: np.dtype[Any]) -> Lazy:
    """Return a view of an array as elements of the same size."""
    symbols = range(lazy.ndim)
    return _mapped("view", _view, symbols, _like(lazy, lazy.ndim, kind), lazy, symbols, kind=kind)


def _view(chunk: Array, kind: np.dtype[Any]) -> Array:
    return chunk.view(kind)


def _starts_of(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return where chunks of these sizes start."""
    ends = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
    return tuple(ends.tolist())


def _start(starts: list[tuple[int, ...]], block: tuple[int, ...]) -> tuple[int, ...]:
    """Return where a block starts, given where those along each axis do."""
    return tuple(of[k] for of, k in zip(starts, block, strict=True))


def _start_of_each(lazy: Lazy, axes: Sequence[int]) -> Iterator[Any]:
    """Yield arguments by which blockwise gives each task the start of its chunk, by axis."""
    for axis in axes:
        sizes = lazy.chunks[axis]
        yield ArrayValuesDep((sizes,), np.array(_starts_of(sizes)))
        yield (axis,)


def _flattened(nested: object) -> list[Any]:
    """Return what lists of lists hold: dask hands over contracted chunks in such lists."""
    if not isinstance(nested, list):
        return [nested]
    return [leaf for inner in nested for leaf in _flattened(inner)]


def _only(nested: object) -> Array:
    """Return the chunk of an axis that has no other."""
    (chunk,) = _flattened(nested)
    return chunk


def _joined(parts: Sequence[Array], axis: int) -> Array:
    """Return arrays one after the other along an axis, byte by byte."""
    if len(parts) == 1:
        return parts[0]
    before, after = parts[0].shape[:axis], parts[0].shape[axis + 1 :]
    total = sum(part.shape[axis] for part in parts)
    result = empty((*before, total, *after), parts[0].dtype, place_of(parts[0]))
    start = 0
    for part in parts:
        stop = start + part.shape[axis]
        copy_elements(result[(slice(None),) * axis + (slice(start, stop),)], part)
        start = stop
    return result


def _mapped(
    name: str,
    function: Callable[..., object],
    symbols: Sequence[int] | str,
    meta: Array,
    *operands: object,
    **options: object,
) -> Lazy:
    """Return what a function makes of chunks: ``symbols`` name the dimensions of the result."""
    return da.blockwise(
        function,
        symbols,
        *operands,
        token=f"cudakern-{name}",
        align_arrays=False,
        meta=meta,
        **options,
    )


def _tree(
    operator: str,
    states: Lazy,
    axes: Sequence[int],
    combine: Callable[..., object],
    finish: Callable[..., object],
    meta: Array,
    *,
    keepdims: bool = False,
) -> Lazy:
    """Return what a tree makes of states, one for each block, along some axes of blocks.

    ``combine`` and ``finish`` take a list of states.
    """
    return da.reduction(
        states,
        _as_it_is,
        partial(_of_list, finish),
        combine=partial(_of_list, combine),
        axis=tuple(axes),
        keepdims=keepdims,
        dtype=meta.dtype,
        split_every=SPLIT_EVERY,
        name=f"cudakern-{operator}",
        concatenate=False,
        meta=meta,
    )


def _as_it_is(state: object, **_: object) -> object:
    """Return a state; dask hands over ``axis`` and ``keepdims``, too."""
    return state


def _of_list(function: Callable[..., object], states: object, **_: object) -> object:
    """Return what a function makes of states, which dask has in lists of lists."""
    return function(_flattened(states))
