"""Coordinates of the elements of dask arrays that are not zero."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import nan, prod
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from cudakern.operators.arrays import lazy, native
from cudakern.operators.arrays.foreign import as_array
from cudakern.operators.nonzero import function as eager
from cudakern.operators.nonzero.function import NonzeroCoordinates
from cudakern.values.validation import as_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from cudakern.operators.annotations import Integer, IntegerElement
    from cudakern.operators.arrays.lazy import Lazy
    from cudakern.operators.arrays.native import Array

_INT64 = np.dtype(np.int64)


def argwhere(x: Any) -> Lazy:  # noqa: ANN401  arrays of many libraries
    """Return the coordinates of elements of a dask array that are not zero, as `cudakern.argwhere`.

    Parameters
    ----------
    x
        As for `cudakern.argwhere`.

    Returns
    -------
    dask array of int64, shape (nan, x.ndim)
        In row-major order of all of x. Its chunks have unknown sizes, as those of dask's own.

    Notes
    -----
    Only chunks of consecutive elements have their coordinates in order: x is rechunked to such
    chunks, of about the same size, unless it has them. Each task waits for its count.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> cd.argwhere(da.from_array([[0, 3], [5, 0]], chunks=1)).compute()
    array([[0, 1],
           [1, 0]])
    """
    return _rows(_as_input("argwhere", x, 0))


def nonzero(
    x: Any,  # noqa: ANN401  arrays of many libraries
    *,
    size: Integer | None = None,
    fill_value: IntegerElement = -1,
) -> tuple[Lazy, ...]:
    """Return the coordinates of elements of a dask array that are not zero, as `cudakern.nonzero`.

    Parameters
    ----------
    x, size, fill_value
        As for `cudakern.nonzero`.

    Returns
    -------
    tuple of dask arrays of int64, shape (nan,) or (size,)
        One for each dimension. With ``size``, of one chunk; else their chunks have unknown sizes.

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
    lazy.require_known("nonzero", size=size, fill_value=fill_value)
    x = _as_input("nonzero", x, 1)
    if size is None:
        rows = _rows(x)
    else:
        wanted = eager.as_rows("nonzero", size, x, _INT64)
        fill = as_bytes("nonzero", "fill_value", fill_value, _INT64)
        rows = _table(_first(x, wanted), x, wanted, _INT64, fill)
    return tuple(rows[:, d] for d in range(x.ndim))


def nonzero_coordinates(
    x: Any,  # noqa: ANN401  arrays of many libraries
    *,
    size: Integer | None = None,
    dtype: DTypeLike = "uint32",
    out: None = None,
) -> NonzeroCoordinates[Any]:
    """Return how many elements of a dask array are not zero, and their coordinates in order.

    Parameters
    ----------
    x, size, dtype, out
        As for `cudakern.nonzero_coordinates`.

    Returns
    -------
    NonzeroCoordinates
        Dask arrays of one chunk each, of the shapes and dtypes that `cudakern.nonzero_coordinates`
        gives. Coordinates beyond the count are undefined.

    Notes
    -----
    As for `nonzero` with ``size``. Without one, a single chunk has room for the coordinates of all
    elements. Compute count and coordinates in one call; otherwise x is computed twice.

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
    lazy.require_known(eager.NAME, out, size=size, dtype=dtype)
    x = _as_input(eager.NAME, x, 0)
    kind, wanted = eager.as_table(x, size, dtype)
    pair, of_count = _first(x, wanted), eager.count_type(x)
    meta = lazy.meta_like(x, 1, of_count)
    name = f"{eager.NAME}-count"
    count = lazy.map_chunks(name, _count, "n", meta, pair, "f", new_axes={"n": 1}, kind=of_count)
    return NonzeroCoordinates(count, _table(pair, x, wanted, kind, None))


def _as_input(operator: str, value: object, least: int) -> Lazy:
    """Return x as a dask array of a supported dtype and ``least`` to 8 dimensions."""
    x = lazy.as_lazy(operator, "x", value)
    eager.require_input(operator, x, least)
    return x


def _consecutive(x: Lazy) -> Lazy:
    """Return x in chunks of consecutive elements, of about the same number as before.

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
    return lazy.rechunk(x, tuple(chunks))


def _rows(x: Lazy) -> Lazy:
    """Return the coordinates of elements that are not zero, chunk by chunk."""
    return _of_each(x, _coordinates, "rows", lazy.meta_like(x, 2, _INT64))


def _first(x: Lazy, wanted: int) -> Lazy:
    """Return a pair: how many elements are not zero, and their first coordinates."""
    meta, combine = lazy.meta_of_states(1), partial(_combine, wanted)
    pairs = _of_each(x, partial(_find, wanted), "chunk", meta)
    return lazy.tree(eager.NAME, pairs, (0,), combine, combine, meta, keepdims=True)


def _of_each(x: Lazy, take: Callable[..., object], word: str, meta: Array) -> Lazy:
    """Return the results of a function for each consecutive chunk and its start, in order."""
    x, columns = _consecutive(x), ((x.ndim,),) * (meta.ndim - 1)  # of rows
    name = f"cudakern-{eager.NAME}-{word}-{tokenize(x.name, take)}"
    starts = [lazy.starts_of(sizes) for sizes in x.chunks]
    graph: dict[Any, Any] = {
        (name, number, *[0 for _ in columns]): (
            partial(take, lazy.start_of_block(starts, block)),
            (x.name, *block),
        )
        for number, block in enumerate(product(*map(range, x.numblocks)))
    }
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[x])
    sizes = (nan if columns else 1,) * len(graph)
    return da.Array(layers, name, (sizes, *columns), meta=meta)


def _coordinates(start: tuple[int, ...], chunk: Array) -> Array:
    """Return the coordinates of elements that are not zero in a chunk from ``start`` on."""
    rows = eager.argwhere(chunk)
    with native.use_device(native.device_of(rows)):
        for d, first in enumerate(start):
            column = rows[:, d]
            column += first
    return rows


def _find(wanted: int, start: tuple[int, ...], chunk: Array) -> tuple[int, Array]:
    """Return the count of a chunk from ``start`` on, and its first coordinates."""
    chunk = as_array(eager.NAME, "x", chunk)
    if not start:
        start, chunk = (0,), chunk.reshape(1)
    rows = _coordinates(start, chunk)
    return _combine(wanted, [(len(rows), rows)])


def _combine(wanted: int, pairs: list[tuple[int, Array]]) -> tuple[int, Array]:
    """Return the count of several chunks, and the first coordinates, at most ``wanted``."""
    counts, rows = zip(*pairs, strict=True)
    together = lazy.concatenate(rows, 0)
    return sum(counts), native.copy_array(together[:wanted]) if len(together) > wanted else together


def _count(pair: object, kind: np.dtype[Any]) -> Array:
    """Return the count as an array on the device of the coordinates."""
    ((number, rows),) = lazy.flatten(pair)
    count = native.empty((1,), kind, native.device_of(rows))
    native.fill_elements(count, np.array(number, kind).tobytes())
    return count


def _table(pair: Lazy, x: Lazy, wanted: int, kind: np.dtype[Any], fill: bytes | None) -> Lazy:
    """Return the coordinates in ``wanted`` rows, with ``fill`` in those without coordinates."""
    shape, meta = (wanted, max(1, x.ndim)), lazy.meta_like(x, 2, kind)
    more: Any = {"new_axes": dict(zip("rc", shape, strict=True)), "shape": shape, "kind": kind}
    name = f"{eager.NAME}-table"
    return lazy.map_chunks(name, _table_of, "rc", meta, pair, "f", fill=fill, **more)


def _table_of(
    pair: object, shape: tuple[int, int], kind: np.dtype[Any], fill: bytes | None
) -> Array:
    """Return the coordinates of a pair as a table of the shape."""
    ((_, rows),) = lazy.flatten(pair)
    table = native.empty(shape, kind, native.device_of(rows))
    native.copy_elements(table[: len(rows)], native.convert(rows, kind))
    if fill is not None:
        native.fill_elements(table[len(rows) :], fill)
    return table
