"""Gather and gather_nd over dask arrays.

Indices travel to the chunks of x that they may select from. Each of these gives a result whose bits
are zero where it has nothing, and a tree merges the bits of all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from cudakern._arguments import element_bytes, normalize_axis
from cudakern._arrays import (
    Array,
    converted,
    copied,
    current,
    empty,
    flip_bits,
    merge_bits,
    place_of,
    require_rank,
    require_size,
)
from cudakern._dtypes import copyable, require_dtype
from cudakern._foreign import as_array
from cudakern.dask.operands import (
    Lazy,
    as_lazy,
    as_lazy_indices,
    flattened,
    like,
    of_states,
    only,
    rechunked,
    refuse_lazy,
    refuse_output,
    require_one_place,
    start_of_each,
    starts_of,
    tree,
)
from cudakern.engines import HOST
from cudakern.errors import DTypeError
from cudakern.operators.gather import function as gather_operator
from cudakern.operators.gather_nd import function as gather_nd_operator
from cudakern.operators.gather_nd.function import check_shapes
from cudakern.operators.indices import (
    ZERO,
    as_indices,
    check_mode,
    raise_if_outside,
    require_extents,
    widened,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern._array_types import IndexMode, NegativeIndex, Scalar


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
    x : dask array, or what `cudakern.gather` takes
        The data, chunked along any axes.
    indices : dask array, or what `cudakern.gather` takes
        Chunked in any way. Others than dask arrays are one chunk of the result; if they are on the
        host, only those chunks of x are needed that they select from.
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
    Indices travel to the data. Where x has n chunks along ``axis``, there are n tasks for each
    chunk of the result, each of which allocates as much; a tree merges up to 8 at a time. The
    result is a copy of bytes, whatever the chunks.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> cd.gather(da.arange(0, 60, 10, chunks=2), [2, 0, -1, 7]).compute()
    array([20,  0, 50, 50])
    """
    name = gather_operator.NAME
    refuse_output(name, out)
    refuse_lazy(name, axis=axis, mode=mode, fill_value=fill_value, negative=negative)
    check_mode(name, mode, negative, fill_value)
    x, positions, at_hand = _operands(name, x, indices, 0)
    axis = normalize_axis(name, axis, x.ndim)
    call = _Lookup(name, axis, axis + 1, mode, negative, x.shape[axis : axis + 1], x.dtype)
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
    x : dask array, or what `cudakern.gather_nd` takes
        The data, chunked along any axes.
    indices : dask array, or what `cudakern.gather_nd` takes
        Chunked in any way, also along the last axis. Others than dask arrays as for `gather`.
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
    Where x has n chunks along the axes that are indexed, there are n tasks for each chunk of the
    result, as for `gather`.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> x = da.arange(6, chunks=2).reshape(2, 3)
    >>> cd.gather_nd(x, [[1, 0], [0, -1]]).compute()
    array([3, 2])
    """
    name = gather_nd_operator.NAME
    refuse_output(name, out)
    refuse_lazy(name, batch_dims=batch_dims, mode=mode, fill_value=fill_value, negative=negative)
    check_mode(name, mode, negative, fill_value)
    x, positions, at_hand = _operands(name, x, indices, 1)
    batch = check_shapes(x.shape, positions.shape, batch_dims)
    stop = batch + positions.shape[-1]
    call = _Lookup(name, batch, stop, mode, negative, x.shape[batch:stop], x.dtype, tuples=True)
    for axis in range(batch):
        chunks = _cut_alike(x.chunks[axis], positions.chunks[axis])
        x, positions = rechunked(x, {axis: chunks}), rechunked(positions, {axis: chunks})
    positions = rechunked(positions, {positions.ndim - 1: -1})
    symbols = (*range(batch), *range(x.ndim, x.ndim + positions.ndim - batch))
    return _look_up(call, x, positions, symbols, at_hand, fill_value)


def _operands(
    operator: str, x: object, indices: object, least: int
) -> tuple[Lazy, Lazy, Array | None]:
    """Return x and indices as dask arrays, and the latter as an array if they are at hand.

    What `cudakern.operators.indices.as_operands` demands of arrays is checked.
    """
    data = as_lazy(operator, "x", x)
    positions, found = as_lazy_indices(operator, indices)
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
    """What indices select, and what those out of range mean.

    Attributes
    ----------
    operator : str
        The function's name.
    first, stop : int
        The axes of x that indices select from: from the first to before ``stop``.
    mode, negative : str
        As the functions take them.
    extents : tuple of int
        Of these axes, in all of x.
    kind : numpy.dtype
        Of x.
    tuples : bool
        Whether the last dimension of the indices runs over the axes.
    fill : bytes
        One element of the fill value; empty for other modes than "fill".
    """

    operator: str
    first: int
    stop: int
    mode: str
    negative: str
    extents: tuple[int, ...]
    kind: np.dtype[Any]
    tuples: bool = False
    fill: bytes = b""

    def look_up(self, x: Array, indices: Array, mode: str, negative: str) -> Array:
        """Return what indices select from a chunk; zeros or the fill value out of range."""
        x = as_array(self.operator, "x", x)
        if x.dtype != self.kind:
            message = f"{self.operator}: x.dtype must be {self.kind} in all chunks; got {x.dtype}"
            raise DTypeError(message)
        value = np.frombuffer(self.fill, x.dtype)[0] if self.fill else ZERO
        rest: Any = {"mode": mode, "negative": negative, "fill_value": value}
        if self.tuples:
            return gather_nd_operator.gather_nd(x, indices, self.first, **rest)
        return gather_operator.gather(x, indices, self.first, **rest)

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
        return self.look_up(only(x), only(indices), self.mode, self.negative)

    def of_chunk(self, starts: tuple[int, ...], x: Array, indices: Array) -> Array:
        """Return what indices select from a chunk that starts there; zero bits for the rest."""
        indices = as_array(self.operator, "indices", indices)
        place = place_of(indices)
        local = empty(indices.shape, np.dtype(np.int64), place)
        columns: list[Any] = [(..., k) for k in range(len(starts))] if self.tuples else [...]
        with current(place):
            for column, extent, start in zip(columns, self.extents, starts, strict=True):
                local[column] = self.positions(indices[column], extent) - start
        result = self.look_up(x, local, "fill", "invalid")
        if any(self.fill):
            flip_bits(result, self.fill)
        return result

    def positions(self, indices: Array, extent: int) -> Array:
        """Return where indices point along an axis, as int64; anywhere outside if nowhere."""
        if indices.dtype != np.uint64:
            indices = converted(indices, np.dtype(np.int64))
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

    def merge(self, parts: object, axis: object, keepdims: object) -> Array:
        """Return the result of several chunks of x from those of each."""
        del axis, keepdims
        first, *others = flattened(parts)
        result = copied(first)
        for part in others:
            merge_bits(result, part)
        return result

    def finish(self, parts: object, axis: object, keepdims: object) -> Array:
        """Return the result of all chunks of x."""
        result = self.merge(parts, axis, keepdims)
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
    require_one_place(name, x=x, indices=indices)
    require_size(name, "indices", shape, x.dtype.itemsize)
    if call.mode != "fill" and 0 not in shape:
        require_extents(name, call.extents, first, indices.size)
    if call.mode == "raise":
        indices = indices if 0 in shape else _checked(call, indices)
        call = replace(call, mode="clamp", negative="from_end")
    kept = (*range(first), *symbols[new], *range(stop, x.ndim))
    meta = like(x, len(shape), x.dtype)
    if all(count == 1 for count in x.numblocks[first:stop]):
        return da.blockwise(
            call.of_whole,
            kept,
            x,
            tuple(range(x.ndim)),
            indices,
            symbols,
            token=f"cudakern-{name}",
            align_arrays=False,
            meta=meta,
        )
    parts = _of_chunks(call, x, indices, new, _chunks_hit(call, x, at_hand))
    leading = tuple(range(stop - first))
    return tree(parts, leading, call.merge, call.finish, f"cudakern-{name}", meta)


def _checked(call: _Lookup, indices: Lazy) -> Lazy:
    """Return indices that raise when they are computed and out of range."""
    symbols = tuple(range(indices.ndim))
    return da.blockwise(
        call.check,
        symbols,
        indices,
        symbols,
        *start_of_each(indices, symbols),
        token=f"cudakern-{call.operator}-check",
        align_arrays=False,
        meta=like(indices, indices.ndim, indices.dtype),
    )


def _chunks_hit(call: _Lookup, x: Lazy, at_hand: Array | None) -> list[list[int]]:
    """Return the chunks of x that indices may select from: along each axis, one at least."""
    hit = []
    for k, extent in enumerate(call.extents):
        sizes = x.chunks[call.first + k]
        chunks = list(range(len(sizes)))
        if at_hand is not None:
            found = call.positions(at_hand[..., k] if call.tuples else at_hand, extent)
            inside = found[(found >= 0) & (found < extent)]
            chunks = np.unique(np.searchsorted(starts_of(sizes), inside, "right") - 1).tolist()
        hit.append(chunks or [0])
    return hit


def _of_chunks(call: _Lookup, x: Lazy, indices: Lazy, new: slice, hit: list[list[int]]) -> Lazy:
    """Return what indices select from each chunk of x: its numbers along the axes come first.

    Written by hand: dask would fuse a blockwise layer with those before it, and compute chunks of x
    again for each chunk of the indices.
    """
    first, stop = call.first, call.stop
    name = f"cudakern-{call.operator}-chunk-{tokenize(call, x.name, indices.name, hit)}"
    starts = [starts_of(sizes) for sizes in x.chunks[first:stop]]
    chunks = x.chunks[:first] + indices.chunks[new] + x.chunks[stop:]
    behind, last = len(chunks) - (x.ndim - stop), (0,) * call.tuples
    of_batch = first if call.tuples else 0
    graph: dict[Any, Any] = {}
    for numbers in product(*(range(len(along)) for along in hit)):
        chosen = tuple(along[number] for along, number in zip(hit, numbers, strict=True))
        at = tuple(of[chunk] for of, chunk in zip(starts, chosen, strict=True))
        take = partial(call.of_chunk, at)
        for block in product(*(range(len(sizes)) for sizes in chunks)):
            graph[name, *numbers, *block] = (
                take,
                (x.name, *block[:first], *chosen, *block[behind:]),
                (indices.name, *block[:of_batch], *block[first:behind], *last),
            )
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[x, indices])
    leading = tuple((1,) * len(along) for along in hit)
    return da.Array(layers, name, leading + chunks, meta=of_states(len(leading + chunks)))
