"""Lookups in dask arrays by indices, for gather and gather_nd.

Indices travel to the chunks of x that they may select from. Each chunk finds the slices that they
select from it, and a tree joins what all chunks have found; at its end the slices get their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from cudakern.engines import HOST
from cudakern.errors import dtype_error
from cudakern.operators.arrays import lazy, native
from cudakern.operators.arrays.foreign import as_array
from cudakern.operators.arrays.lazy import Lazy, as_lazy, map_chunks, meta_like
from cudakern.operators.arrays.native import Array
from cudakern.operators.indexing.check import raise_if_outside, require_extents
from cudakern.operators.indexing.indices import Selection, as_indices, widen
from cudakern.operators.indexing.lookup import require_operands

_INT64 = np.dtype(np.int64)
#: The shape of a chunk of indices (of gather_nd, without the last axis), the flat positions in it
#: of indices that select from some chunks of x, and their slices of these, in the same order.
Found = tuple[tuple[int, ...], Array, Array]


def lazy_operands(
    operator: str, x: object, indices: object, least: int
) -> tuple[Lazy, Lazy, Array | None]:
    """Return x and indices as dask arrays, and the latter as an array if they are at hand."""
    data = as_lazy(operator, "x", x, indices=indices)
    positions, array = lazy.as_lazy_indices(operator, indices, data, x=x)
    require_operands(operator, data, positions, least)
    at_hand = array is not None and native.device_of(array) == HOST
    return data, positions, array if at_hand else None


@dataclass(frozen=True)
class LazyLookup:
    """A lookup in an array of several chunks."""

    operator: str
    selection: Selection
    shape: tuple[int, ...]  # of x
    kind: np.dtype[Any]  # of x
    function: Callable[..., Array]  # the same lookup in one array

    @property
    def extents(self) -> tuple[int, ...]:
        """Lengths of the axes that indices select from."""
        return self.selection.extents(self.shape)

    @property
    def columns(self) -> list[Any]:
        """Where the indices of each axis are, among all indices."""
        tuples = self.selection.tuples
        return [(..., k) for k in range(len(self.extents))] if tuples else [...]

    @property
    def axis(self) -> int:
        """The axis of what was found that runs over the slices."""
        return 0 if self.selection.tuples else self.selection.first

    def look_up(
        self, x: Array, indices: Array, first: int, mode: str = "clamp", negative: str = "from_end"
    ) -> Array:
        """Return what indices select from an array, from its axis ``first`` on."""
        options: dict[str, Any] = {"mode": mode, "negative": negative}
        if mode == "fill":
            element = self.selection.fill[: self.kind.itemsize]
            options["fill_value"] = np.frombuffer(element, self.kind)[0]
        return self.function(x, indices, first, **options)

    def chunk(self, x: object) -> Array:
        """Return a chunk of x as an array; DTypeError if it is of another type than dask knows."""
        array = as_array(self.operator, "x", x)
        if array.dtype != self.kind:
            requirement = f"must be {self.kind} in all chunks; got {array.dtype}"
            raise dtype_error(self.operator, "x.dtype", requirement)
        return array

    def check(self, indices: Array, *starts: int) -> Array:
        """Return a chunk of indices that begins at ``starts``; raise if one is out of range."""
        indices = as_array(self.operator, "indices", indices)
        if indices.size:
            readable = as_indices(self.operator, indices, indices)
            readable = widen(readable, self.extents, self.selection.negative)
            first = list(map(int, starts))
            raise_if_outside(self.operator, readable, self.selection, self.shape, first)
        return indices

    def of_whole(self, x: object, indices: object) -> Array:
        """Return the result if each axis that indices select from is in one chunk."""
        first, mode, negative = self.selection.first, self.selection.mode, self.selection.negative
        chunk = self.chunk(lazy.only_chunk(x))
        return self.look_up(chunk, lazy.only_chunk(indices), first, mode, negative)

    def of_chunk(self, starts: tuple[int, ...], x: Array, indices: Array) -> Found:
        """Return what indices find in a chunk that begins at ``starts``."""
        chunk, indices = self.chunk(x), as_array(self.operator, "indices", indices)
        first, sizes = self.selection.first, self.selection.extents(chunk.shape)
        with native.use_device(native.device_of(indices)):
            columns: list[Array] = []
            inside: Any = True
            for column, extent, start, size in zip(
                self.columns, self.extents, starts, sizes, strict=True
            ):
                columns.append(self.positions(indices[column], extent) - start)
                inside = inside & (columns[-1] >= 0) & (columns[-1] < size)
            places = np.flatnonzero(inside)
            local = [column.ravel()[places] for column in columns]
            if self.selection.tuples:
                outer = [
                    places // prod(inside.shape[d + 1 :]) % inside.shape[d] for d in range(first)
                ]
                chosen = np.stack([*outer, *local], axis=1)
            else:
                (chosen,) = local
        return inside.shape, places, self.look_up(chunk, chosen, self.axis)

    def positions(self, indices: Array, extent: int) -> Array:
        """Return positions along an axis as int64, outside of it for indices out of range."""
        if indices.dtype != np.uint64:
            indices = native.convert(indices, _INT64)
        mode, negative = self.selection.mode, self.selection.negative
        low, high = (-1, extent) if mode == "fill" else (0, extent - 1)
        if mode == "wrap":
            indices = indices % max(extent, 1)
        elif indices.dtype == np.uint64:
            indices = np.minimum(indices, max(high, 0))
        else:
            if negative == "from_end":
                indices = indices + extent * (indices < 0)
            indices = np.minimum(np.maximum(indices, low), high)
        return indices.astype(np.int64)

    def join(self, parts: list[Found]) -> Found:
        """Return what was found in several chunks of x."""
        (shape, *_), places, slices = zip(*parts, strict=True)
        return shape, lazy.concatenate(places, 0), lazy.concatenate(slices, self.axis)

    def finish(self, parts: list[Found]) -> Array:
        """Return the result of all chunks of x."""
        shape, places, slices = self.join(parts)
        device = native.device_of(places)
        order = native.empty((prod(shape),), _INT64, device)
        with native.use_device(device):
            order.fill(-1)  # for indices out of range, in mode "fill"
            order[places] = native.arange(len(places), device)
        indices = order.reshape(*shape, 1) if self.selection.tuples else order.reshape(shape)
        mode = self.selection.mode
        negative = "invalid" if mode == "fill" else "from_end"
        return self.look_up(slices, indices, self.axis, mode, negative)


def look_up(
    call: LazyLookup, x: Lazy, indices: Lazy, symbols: tuple[int, ...], at_hand: Array | None
) -> Lazy:
    """Return the result; ``symbols`` name the dimensions of indices, those of x are 0, 1, ..."""
    name, selection = call.operator, call.selection
    first, stop, mode = selection.first, selection.stop, selection.mode
    new = slice(first, -1) if selection.tuples else slice(None)
    shape = selection.shape(x, indices)
    lazy.require_one_device(name, x=x, indices=indices)
    native.require_size(name, "indices", shape, x.dtype.itemsize)
    if mode != "fill" and 0 not in shape:
        require_extents(name, selection, x.shape, indices.size)
    if mode == "raise":
        if 0 not in shape:
            axes, meta = range(indices.ndim), meta_like(indices, indices.ndim, indices.dtype)
            starts = lazy.start_of_each(indices, axes)
            indices = map_chunks(f"{name}-check", call.check, axes, meta, indices, axes, *starts)
        call = replace(call, selection=selection._replace(mode="clamp", negative="from_end"))
    meta = meta_like(x, len(shape), x.dtype)
    if all(count == 1 for count in x.numblocks[first:stop]):
        dimensions = (*range(first), *symbols[new], *range(stop, x.ndim))
        return map_chunks(name, call.of_whole, dimensions, meta, x, range(x.ndim), indices, symbols)
    parts = _of_chunks(call, x, indices, new, _chunks_hit(call, x, at_hand))
    return lazy.tree(name, parts, range(stop - first), call.join, call.finish, meta)


def _chunks_hit(call: LazyLookup, x: Lazy, at_hand: Array | None) -> list[list[int]]:
    """Return the chunks of x that indices may select from: along each axis, one at least."""
    hit = []
    sizes_of_axes = x.chunks[call.selection.first : call.selection.stop]
    for column, extent, sizes in zip(call.columns, call.extents, sizes_of_axes, strict=True):
        chunks = list(range(len(sizes)))
        if at_hand is not None:
            positions = call.positions(at_hand[column], extent)
            inside = positions[(positions >= 0) & (positions < extent)]
            chunks = np.unique(np.searchsorted(lazy.starts_of(sizes), inside, "right") - 1).tolist()
        hit.append(chunks or [0])
    return hit


def _of_chunks(call: LazyLookup, x: Lazy, indices: Lazy, new: slice, hit: list[list[int]]) -> Lazy:
    """Return what indices find in each chunk of x, whose numbers along the axes come first.

    The graph is written by hand: dask would fuse a blockwise layer with those before it and compute
    chunks of x again for each chunk of the indices.
    """
    first, stop = call.selection.first, call.selection.stop
    name = f"cudakern-{call.operator}-chunk-{tokenize(call, x.name, indices.name, hit)}"
    starts = [lazy.starts_of(sizes) for sizes in x.chunks[first:stop]]
    chunks = x.chunks[:first] + indices.chunks[new] + x.chunks[stop:]
    behind, last = len(chunks) - (x.ndim - stop), (0,) * call.selection.tuples
    of_batch = first if call.selection.tuples else 0
    graph: dict[Any, Any] = {}
    for numbers in product(*(range(len(along)) for along in hit)):
        chosen = tuple(along[number] for along, number in zip(hit, numbers, strict=True))
        take = partial(call.of_chunk, lazy.start_of_block(starts, chosen))
        for block in product(*(range(len(sizes)) for sizes in chunks)):
            graph[name, *numbers, *block] = (
                take,
                (x.name, *block[:first], *chosen, *block[behind:]),
                (indices.name, *block[:of_batch], *block[first:behind], *last),
            )
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[x, indices])
    leading = tuple((1,) * len(along) for along in hit)
    chunks = leading + chunks
    return da.Array(layers, name, chunks, meta=lazy.meta_of_states(len(chunks)))
