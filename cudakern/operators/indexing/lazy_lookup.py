"""Lookups in dask arrays by indices, for gather and gather_nd.

Indices travel to the chunks of x that they may select from. Each chunk gives a result whose bits
are zero for indices into other chunks, and a tree merges the bits of all results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
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
    def fill(self) -> bytes:
        """One element of the fill value; zeros for other modes than "fill"."""
        return self.selection.fill[: self.kind.itemsize]

    def look_up(self, x: Array, indices: Array, mode: str, negative: str) -> Array:
        """Return what indices select from a chunk; zero bits or the fill value out of range."""
        x = as_array(self.operator, "x", x)
        if x.dtype != self.kind:
            requirement = f"must be {self.kind} in all chunks; got {x.dtype}"
            raise dtype_error(self.operator, "x.dtype", requirement)
        options = {"mode": mode, "negative": negative}
        if mode == "fill":
            options["fill_value"] = np.frombuffer(self.fill, x.dtype)[0]
        return self.function(x, indices, self.selection.first, **options)

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
        mode, negative = self.selection.mode, self.selection.negative
        return self.look_up(lazy.only_chunk(x), lazy.only_chunk(indices), mode, negative)

    def of_chunk(self, starts: tuple[int, ...], x: Array, indices: Array) -> Array:
        """Return what indices select from a chunk that begins at ``starts``; others give 0."""
        indices = as_array(self.operator, "indices", indices)
        device = native.device_of(indices)
        local = native.empty(indices.shape, _INT64, device)
        with native.use_device(device):
            for column, extent, start in zip(self.columns, self.extents, starts, strict=True):
                local[column] = self.positions(indices[column], extent) - start
        return self.flip(self.look_up(x, local, "fill", "invalid"))

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

    def merge(self, parts: list[Array]) -> Array:
        """Return the result of several chunks of x from those of each."""
        result = native.copy_array(parts[0])
        for part in parts[1:]:
            native.copy_elements(result, part, merge=True)
        return result

    def finish(self, parts: list[Array]) -> Array:
        """Return the result of all chunks of x."""
        return self.flip(self.merge(parts))

    def flip(self, result: Array) -> Array:
        """Turn the fill value into zero bits, or zero bits into the fill value."""
        if any(self.fill):
            native.fill_elements(result, self.fill, flip=True)
        return result


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
    return lazy.tree(name, parts, range(stop - first), call.merge, call.finish, meta)


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
    """Return what indices select from each chunk of x, whose numbers along the axes come first.

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
