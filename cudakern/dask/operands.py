"""What the functions over dask arrays share: operands, what chunks of results are, trees."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array
from dask.base import is_dask_collection
from dask.layers import ArrayValuesDep

from cudakern._arrays import Array, common_place, copy_elements, empty, place_of
from cudakern._foreign import as_array
from cudakern.engines import HOST
from cudakern.errors import ArgumentError, DTypeError, shown
from cudakern.operators.indices import as_indices, require_index_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: dask.array.Array. Dask has no types, so this is as precise as it gets.
Lazy = Any
#: Partial results that are combined at once. Fixed, as their order decides about bits.
SPLIT_EVERY = 8


def refuse_output(operator: str, out: object) -> None:
    """Raise ArgumentError if there is an output: nothing can be written to a dask array."""
    if out is not None:
        requirement = "must be None: results are lazy; dask.array.store writes them to arrays"
        raise ArgumentError(operator, "out", f"{requirement}; got {type(out).__name__}")


def refuse_lazy(operator: str, **arguments: object) -> None:
    """Raise DTypeError if an argument that the graph depends on is not known yet."""
    for name, given in arguments.items():
        found = given if isinstance(given, list | tuple) else [given]
        if any(map(is_dask_collection, found)):
            requirement = "must be known when the graph is built"
            hint = f"call compute() on {name} first"
            message = f"{operator}: {name} {requirement}; got {shown(given)}; {hint}"
            raise DTypeError(message)


def as_lazy(operator: str, name: str, given: object) -> Lazy:
    """Return an operand as a dask array: of one chunk, where it is none yet.

    Raises
    ------
    ArgumentError
        The sizes of its chunks are not known.
    DTypeError
        It is no array.
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


def as_lazy_indices(operator: str, given: object) -> tuple[Lazy, Array | None]:
    """Return indices as a dask array, and as an array if they are none yet.

    Raises
    ------
    ArgumentError
        The sizes of their chunks are not known.
    DTypeError
        They are no integers.
    """
    if isinstance(given, da.Array):
        lazy = as_lazy(operator, "indices", given)
        require_index_dtype(operator, lazy.dtype)
        return lazy, None
    found = as_indices(operator, given, as_array(operator, "indices", given))
    return as_lazy(operator, "indices", found), found


def place(lazy: Lazy) -> int:
    """Return where chunks are: `HOST`, or the device that the array was made for."""
    return place_of(as_array("", "", meta_from_array(lazy)))


def require_one_place(operator: str, **operands: Lazy) -> None:
    """Raise BindingError if chunks of some are on the host, and of others on a GPU.

    Which GPU that is depends on the worker.
    """
    if HOST in map(place, operands.values()):
        metas = [as_array(operator, "", meta_from_array(lazy)) for lazy in operands.values()]
        common_place(operator, tuple(operands), metas)


def like(lazy: Lazy, ndim: int, dtype: np.dtype[Any]) -> Array:
    """Return what tells dask of chunks: they are where those of another array are."""
    return empty((0,) * ndim, dtype, place(lazy))


def of_states(ndim: int) -> Array:
    """Return what tells dask of states: an array on the host, on which it may compute."""
    return np.empty((0,) * ndim, np.uint8)


def rechunked(lazy: Lazy, chunks: dict[int, Any]) -> Lazy:
    """Return an array with other chunks along some axes.

    Dask leaves one as it is whose axes are all empty; here each gets a single chunk.
    """
    if lazy.ndim and not any(lazy.shape):
        return da.from_array(like(lazy, lazy.ndim, lazy.dtype), chunks=lazy.shape, asarray=False)
    return lazy.rechunk(chunks)


def starts_of(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return where chunks of these sizes start."""
    ends = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
    return tuple(ends.tolist())


def start_of_each(lazy: Lazy, axes: Sequence[int]) -> Iterator[Any]:
    """Yield what has blockwise give each task where its chunk starts, axis by axis."""
    for axis in axes:
        sizes = lazy.chunks[axis]
        yield ArrayValuesDep((sizes,), np.array(starts_of(sizes)))
        yield (axis,)


def flattened(nested: object) -> list[Any]:
    """Return what is in lists of lists, such as those that dask hands contracted chunks in."""
    if not isinstance(nested, list):
        return [nested]
    return [leaf for inner in nested for leaf in flattened(inner)]


def only(nested: object) -> Array:
    """Return the chunk of an axis that has no other."""
    (chunk,) = flattened(nested)
    return chunk


def joined(parts: Sequence[Array], axis: int) -> Array:
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


def tree(
    states: Lazy,
    axes: tuple[int, ...],
    combine: Callable[..., object],
    finish: Callable[..., object],
    name: str,
    meta: Array,
    *,
    keepdims: bool = False,
) -> Lazy:
    """Return what a tree makes of states, one for each block, along some axes of blocks.

    ``combine`` and ``finish`` take states in lists of lists, and keywords ``axis`` and
    ``keepdims``.
    """
    return da.reduction(
        states,
        _as_it_is,
        finish,
        combine=combine,
        axis=axes,
        keepdims=keepdims,
        dtype=meta.dtype,
        split_every=SPLIT_EVERY,
        name=name,
        concatenate=False,
        meta=meta,
    )


def _as_it_is(state: object, axis: object, keepdims: object) -> object:
    """Return a state; the arguments are those that dask gives every function there."""
    del axis, keepdims
    return state
