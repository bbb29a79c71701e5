"""Gather over dask arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cudakern.operators.arrays.lazy import Lazy, require_known
from cudakern.operators.gather import function as eager
from cudakern.operators.indexing.indices import ZERO, check_mode, require_order
from cudakern.operators.indexing.lazy_lookup import LazyLookup, lazy_operands, look_up

if TYPE_CHECKING:
    from cudakern.operators.annotations import Element, IndexMode, Integer, NegativeIndex


def gather(
    x: Any,  # noqa: ANN401  arrays of many libraries
    indices: Any,  # noqa: ANN401
    axis: Integer = 0,
    *,
    mode: IndexMode = "clamp",
    fill_value: Element = ZERO,
    negative: NegativeIndex = "from_end",
    out: None = None,
) -> Lazy:
    """Select slices of a dask array along ``axis``, as `cudakern.gather` does.

    **An index out of range takes the nearest one: mode="raise" makes it an error.**

    Parameters
    ----------
    x, indices, axis, mode, fill_value, negative, out
        As for `cudakern.gather`. Indices other than a dask array are one chunk of the result; if
        they are on the host, only the chunks of x that they select from are computed.

    Returns
    -------
    dask array
        Chunked as the indices in place of ``axis``, otherwise as x.

    Raises
    ------
    IndexRangeError
        In ``mode="raise"``, when the result is computed: an index is out of range. The message has
        the position, in all of the indices, of the first one of some chunk. When the graph is
        built: the axis is empty while there are indices.

    Notes
    -----
    If x has several chunks along the axis, tasks wait for the number of indices into each.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> cd.gather(da.arange(0, 60, 10, chunks=2), [2, 0, -1, 7]).compute()
    array([20,  0, 50, 50])
    """
    require_order("gather", "axis", axis, indices)
    require_known("gather", out, axis=axis, mode=mode, fill_value=fill_value, negative=negative)
    check_mode("gather", mode, negative, fill_value)
    x, positions, at_hand = lazy_operands("gather", x, indices, 0)
    selection = eager.select(x, positions, axis, mode, fill_value, negative)
    call = LazyLookup("gather", selection, x.shape, x.dtype, eager.gather)
    symbols = tuple(range(x.ndim, x.ndim + positions.ndim))
    return look_up(call, x, positions, symbols, at_hand)
