"""GatherND over dask arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.operators.arrays.lazy import Lazy, rechunk, require_known
from cudakern.operators.gather_nd import function as eager
from cudakern.operators.indexing.indices import ZERO, check_mode
from cudakern.operators.indexing.lazy_lookup import LazyLookup, lazy_operands, look_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.operators.annotations import Element, IndexMode, Integer, NegativeIndex


def gather_nd(
    x: Any,  # noqa: ANN401  arrays of many libraries
    indices: Any,  # noqa: ANN401
    batch_dims: Integer = 0,
    *,
    mode: IndexMode = "clamp",
    fill_value: Element = ZERO,
    negative: NegativeIndex = "from_end",
    out: None = None,
) -> Lazy:
    """Select elements or slices of a dask array by tuples of indices, as `cudakern.gather_nd` does.

    **An index out of range takes the nearest one: mode="raise" makes it an error.**

    Parameters
    ----------
    x, indices, batch_dims, mode, fill_value, negative, out
        As for `gather` and `cudakern.gather_nd`.

    Returns
    -------
    dask array
        Chunked as the indices, then as x; along the batch, at the ends of the chunks of both.

    Notes
    -----
    Indices may have several chunks along the last axis, too. If x has several chunks along the axes
    that they select from, tasks wait for the number of tuples into each.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> x = da.arange(6, chunks=2).reshape(2, 3)
    >>> cd.gather_nd(x, [[1, 0], [0, -1]]).compute()
    array([3, 2])
    """
    name = "gather_nd"
    require_known(name, out, batch_dims=batch_dims, mode=mode)
    require_known(name, fill_value=fill_value, negative=negative)
    check_mode(name, mode, negative, fill_value)
    x, positions, at_hand = lazy_operands(name, x, indices, 1)
    selection = eager.select(x, positions, batch_dims, mode, fill_value, negative)
    call = LazyLookup(name, selection, x.shape, x.dtype, eager.gather_nd)
    batch = selection.first
    for axis in range(batch):
        chunks = _cut_alike(x.chunks[axis], positions.chunks[axis])
        x, positions = rechunk(x, {axis: chunks}), rechunk(positions, {axis: chunks})
    positions = rechunk(positions, {positions.ndim - 1: -1})
    symbols = (*range(batch), *range(x.ndim, x.ndim + positions.ndim - batch))
    return look_up(call, x, positions, symbols, at_hand)


def _cut_alike(*chunks: Sequence[int]) -> tuple[int, ...]:
    """Return chunks that end wherever a chunk of any of several arrays ends."""
    ends = sorted({end for sizes in chunks for end in np.cumsum(sizes).tolist()} - {0}) or [0]
    return tuple(np.diff([0, *ends]).tolist())
