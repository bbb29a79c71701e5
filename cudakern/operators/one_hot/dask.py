"""One-hot over dask arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np

from cudakern.operators.arrays import lazy
from cudakern.operators.indexing.indices import require_order
from cudakern.operators.one_hot import function as eager
from cudakern.operators.one_hot.function import new_axis, off_on, result_shape

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from cudakern.operators.annotations import Integer, NegativeIndex
    from cudakern.operators.arrays.lazy import Lazy
    from cudakern.operators.arrays.native import Array


def one_hot(
    indices: Any,  # noqa: ANN401  arrays of many libraries
    depth: Integer,
    *,
    axis: Integer = -1,
    values: Any = (0, 1),  # noqa: ANN401
    dtype: DTypeLike | None = None,
    negative: NegativeIndex = "from_end",
    out: None = None,
) -> Lazy:
    """Turn each index of a dask array into a vector, as `cudakern.one_hot` does.

    Parameters
    ----------
    indices, depth, axis, values, dtype, negative, out
        As for `cudakern.one_hot`. If values of a dask array do not fit ``dtype``, the error is
        raised when the result is computed.

    Returns
    -------
    dask array
        Chunked as the indices; the new axis is one chunk, so chunks are ``depth`` times as long.

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
    require_order(name, "depth", depth, indices)
    lazy.require_known(name, out, depth=depth, axis=axis, dtype=dtype, negative=negative)
    beside = {} if isinstance(values, list | tuple) else {"values": values}
    positions, _ = lazy.as_lazy_indices(name, indices, **beside)
    depth, axis = new_axis(positions, depth, axis, negative)
    chunked = None
    if isinstance(values, da.Array):
        chunked = lazy.rechunk(lazy.as_lazy(name, "values", values), -1)
        # Zeros fit every dtype; the values are checked when they are computed.
        pair = off_on(np.broadcast_to(np.zeros((), chunked.dtype), chunked.shape), dtype)
    else:
        lazy.require_known(name, values=values)
        pair = off_on(values, dtype)
        if pair.array is not None:
            beside = {"indices": indices}
            chunked = lazy.of_one_chunk(name, "values", values, pair.array, beside)
    operands = {"indices": positions} | ({} if chunked is None else {"values": chunked})
    lazy.require_one_device(name, **operands)
    shape = result_shape(positions, depth, axis, pair.dtype)
    symbols, new = tuple(range(positions.ndim)), positions.ndim
    return lazy.map_chunks(
        name,
        _vectors,
        (*symbols[:axis], new, *symbols[axis:]),
        lazy.meta_like(positions, len(shape), pair.dtype),
        positions,
        symbols,
        *(() if chunked is None else (chunked, range(-chunked.ndim, 0))),
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
    result: np.dtype[Any],
    pattern: bytes,
    **how: Any,  # noqa: ANN401
) -> Array:
    """Return the vectors of a chunk of indices; values are in an array or, repeated, in bytes."""
    if values is None:
        both = np.frombuffer(pattern, result)
        pair = both[0], both[both.size // 2]
    else:
        pair = lazy.only_chunk(values)
    return eager.one_hot(indices, values=pair, dtype=result, **how)
