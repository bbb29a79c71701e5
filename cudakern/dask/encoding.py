"""One-hot over dask arrays: chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np

from cudakern._arguments import as_extent, normalize_axis
from cudakern._arrays import Array, require_rank, require_size
from cudakern.dask.operands import (
    Lazy,
    as_lazy,
    as_lazy_indices,
    like,
    only,
    refuse_lazy,
    refuse_output,
    require_one_place,
)
from cudakern.operators.indices import check_negative
from cudakern.operators.one_hot import function as operator
from cudakern.operators.one_hot.function import off_on

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from cudakern._array_types import NegativeIndex

_NAME = operator.NAME


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
    refuse_output(_NAME, out)
    refuse_lazy(_NAME, depth=depth, axis=axis, dtype=dtype, negative=negative)
    positions, _ = as_lazy_indices(_NAME, indices)
    require_rank(_NAME, "indices", positions, 0)
    depth = as_extent(_NAME, "depth", depth)
    axis = normalize_axis(_NAME, axis, positions.ndim + 1)
    check_negative(_NAME, negative)
    pair: tuple[Any, ...] = ()
    if isinstance(values, da.Array):
        lazy = as_lazy(_NAME, "values", values)
        # Zeros fit every dtype; what there will be is checked when it is there.
        given = off_on(_NAME, np.broadcast_to(np.zeros((), lazy.dtype), lazy.shape), dtype)
        pair = lazy.rechunk(-1), tuple(range(-lazy.ndim, 0))
    else:
        refuse_lazy(_NAME, values=values)
        given = off_on(_NAME, values, dtype)
        if given.array is not None:
            lazy = as_lazy(_NAME, "values", given.array)
            pair = lazy, tuple(range(-lazy.ndim, 0))
    require_one_place(_NAME, indices=positions, **({"values": pair[0]} if pair else {}))
    shape = (*positions.shape[:axis], depth, *positions.shape[axis:])
    require_size(_NAME, "depth", shape, given.dtype.itemsize)
    symbols = tuple(range(positions.ndim))
    return da.blockwise(
        _of_chunk,
        (*symbols[:axis], positions.ndim, *symbols[axis:]),
        positions,
        symbols,
        *pair,
        new_axes={positions.ndim: depth},
        token=f"cudakern-{_NAME}",
        align_arrays=False,
        meta=like(positions, len(shape), given.dtype),
        depth=depth,
        axis=axis,
        negative=negative,
        result=given.dtype,
        pattern=given.pattern,
    )


def _of_chunk(
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
        off_on = np.frombuffer(pattern, result)
        pair = off_on[0], off_on[off_on.size // 2]
    else:
        pair = only(values)
    return operator.one_hot(indices, depth, axis=axis, values=pair, dtype=result, negative=negative)
