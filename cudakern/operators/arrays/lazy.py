"""Dask arrays as operands and results: conversion, rechunking, tasks, trees."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from math import isnan
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array
from dask.base import is_dask_collection
from dask.layers import ArrayValuesDep

from cudakern.engines import HOST
from cudakern.errors import ArgumentError, describe_value, dtype_error
from cudakern.operators.arrays.foreign import as_array, is_of_numbers, send_numbers
from cudakern.operators.arrays.native import Array, common_device, copy_elements, device_of, empty
from cudakern.operators.indexing.indices import as_indices, require_index_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

#: dask.array.Array. Dask has no types, so this is as precise as it gets.
Lazy = Any
#: Partial results that are combined at once. Fixed, as their order decides the result's bits.
SPLIT_EVERY = 8


def require_known(operator: str, out: object = None, **arguments: object) -> None:
    """Raise for an output, and for a lazy argument that the graph depends on."""
    if out is not None:
        requirement = "must be None: results are lazy; dask.array.store writes them to arrays"
        raise ArgumentError(operator, "out", f"{requirement}; got {type(out).__name__}")
    for name, value in arguments.items():
        parts = value if isinstance(value, list | tuple) else [value]
        if any(map(_is_collection, parts)):
            requirement = f"must be known when the graph is built; got {describe_value(value)}"
            raise dtype_error(operator, name, f"{requirement}; call compute() on {name} first")


def _is_collection(value: object) -> bool:
    try:
        return bool(is_dask_collection(value))
    except Exception:  # noqa: BLE001  whatever the class of a value raises
        return False


def as_lazy(operator: str, name: str, value: object, **beside: object) -> Lazy:
    """Return an operand as a dask array, of one chunk if it is another array.

    Numbers become a chunk on the device of the operands ``beside`` them.
    """
    array = _meta(operator, name, value)
    if not isinstance(value, da.Array):
        return of_one_chunk(operator, name, value, array, beside)
    if any(map(isnan, value.shape)):
        hint = f"call {name}.compute_chunk_sizes() first"
        requirement = f"must have chunks of known sizes; got shape {value.shape}; {hint}"
        raise ArgumentError(operator, name, requirement)
    return value


def of_one_chunk(
    operator: str, name: str, value: object, array: Array, beside: Mapping[str, object]
) -> Lazy:
    """Return the array that a value was converted to as a dask array."""
    if is_of_numbers(value):
        names, values = (name, *beside), (value, *beside.values())
        others = [_meta(operator, *other) for other in beside.items()]
        array, *_ = send_numbers(operator, names, (array, *others), map(is_of_numbers, values))
    return da.from_array(array, chunks=array.shape, asarray=False)


def _meta(operator: str, name: str, value: object) -> Array:
    """Return an operand as an array; for a dask array, one on the device of its chunks."""
    if isinstance(value, da.Array):
        value = meta_from_array(value)
    elif _is_collection(value):
        raise dtype_error(operator, name, f"must be an array; got {type(value).__name__}")
    return as_array(operator, name, value)


def as_lazy_indices(
    operator: str, value: object, data: Lazy | None = None, **beside: object
) -> tuple[Lazy, Array | None]:
    """Return indices into ``data`` as a dask array of integers, and as an array if not lazy."""
    if isinstance(value, da.Array):
        lazy = as_lazy(operator, "indices", value)
        require_index_dtype(operator, lazy, lazy.dtype, data)
        return lazy, None
    array = as_indices(operator, value, as_array(operator, "indices", value), data)
    return of_one_chunk(operator, "indices", value, array, beside), array


def device_of_chunks(lazy: Lazy) -> int:
    """Return the device of chunks: `HOST`, or the one that the array was made for."""
    return device_of(_meta("", "", lazy))


def require_one_device(operator: str, **operands: Lazy) -> None:
    """Raise BindingError if chunks of some operands are on the host, of others on any GPU."""
    if HOST in map(device_of_chunks, operands.values()):
        metas = [_meta(operator, "", lazy) for lazy in operands.values()]
        common_device(operator, tuple(operands), metas)


def meta_like(lazy: Lazy, ndim: int, dtype: np.dtype[Any]) -> Array:
    """Return an empty array that describes chunks on the device of another array's to dask."""
    return empty((0,) * ndim, dtype, device_of_chunks(lazy))


def meta_of_states(ndim: int) -> Array:
    """Return an empty array that describes states to dask: on the host, where dask may use it."""
    return np.empty((0,) * ndim, np.uint8)


def rechunk(lazy: Lazy, chunks: int | tuple[int, ...] | dict[int, Any]) -> Lazy:
    """Return an array with other chunks along some axes.

    Dask does not rechunk an array whose axes are all empty; here each axis gets one chunk. CuPy
    joins chunks of NumPy's own dtypes alone; others are rechunked as unsigned integers.
    """
    if lazy.ndim and not any(lazy.shape):
        empty_array = meta_like(lazy, lazy.ndim, lazy.dtype)
        return da.from_array(empty_array, chunks=lazy.shape, asarray=False)
    if lazy.dtype.isbuiltin == 1:
        return lazy.rechunk(chunks)
    words = _view(lazy, np.dtype(f"u{lazy.dtype.itemsize}"))
    return _view(words.rechunk(chunks), lazy.dtype)


def _view(lazy: Lazy, kind: np.dtype[Any]) -> Lazy:
    """Return a view of an array as elements of the same size."""
    symbols, meta = range(lazy.ndim), meta_like(lazy, lazy.ndim, kind)
    return map_chunks("view", methodcaller("view", kind), symbols, meta, lazy, symbols)


def starts_of(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return where chunks of these sizes start."""
    return tuple(accumulate(sizes[:-1], initial=0))


def start_of_block(starts: list[tuple[int, ...]], block: tuple[int, ...]) -> tuple[int, ...]:
    """Return where a block starts, given where those along each axis do."""
    return tuple(along[k] for along, k in zip(starts, block, strict=True))


def start_of_each(lazy: Lazy, axes: Sequence[int]) -> Iterator[Any]:
    """Yield arguments by which blockwise gives each task the start of its chunk, by axis."""
    for axis in axes:
        sizes = lazy.chunks[axis]
        yield ArrayValuesDep((sizes,), np.array(starts_of(sizes)))
        yield (axis,)


def flatten(nested: object) -> list[Any]:
    """Return the leaves of nested lists, in which dask hands over contracted chunks."""
    if not isinstance(nested, list):
        return [nested]
    return [leaf for inner in nested for leaf in flatten(inner)]


def only_chunk(nested: object) -> Array:
    """Return the chunk of an axis that has no other."""
    (chunk,) = flatten(nested)
    return chunk


def concatenate(parts: Sequence[Array], axis: int) -> Array:
    """Concatenate arrays along an axis, byte by byte."""
    if len(parts) == 1:
        return parts[0]
    before, after = parts[0].shape[:axis], parts[0].shape[axis + 1 :]
    total = sum(part.shape[axis] for part in parts)
    result = empty((*before, total, *after), parts[0].dtype, device_of(parts[0]))
    start = 0
    for part in parts:
        stop = start + part.shape[axis]
        copy_elements(result[(slice(None),) * axis + (slice(start, stop),)], part)
        start = stop
    return result


def map_chunks(
    name: str,
    function: Callable[..., object],
    symbols: Sequence[int] | str,
    meta: Array,
    *operands: object,
    **options: object,
) -> Lazy:
    """Return a function's results for chunks; ``symbols`` name the dimensions of the result."""
    return da.blockwise(
        function,
        symbols,
        *operands,
        token=f"cudakern-{name}",
        align_arrays=False,
        meta=meta,
        **options,
    )


def tree(
    operator: str,
    states: Lazy,
    axes: Sequence[int],
    combine: Callable[..., object],
    finish: Callable[..., object],
    meta: Array,
    *,
    keepdims: bool = False,
) -> Lazy:
    """Combine states, one for each block, in a tree; ``combine`` and ``finish`` take a list."""
    return da.reduction(
        states,
        _keep,
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


def _keep(state: object, **_: object) -> object:
    """Return a state; dask hands over ``axis`` and ``keepdims``, too."""
    return state


def _of_list(function: Callable[..., object], states: object, **_: object) -> object:
    """Apply a function to states, which dask has in lists of lists."""
    return function(flatten(states))
