"""NumPy's names for coordinates of what is not zero: argwhere and nonzero.

Source: DirectML reference, ``DML_NONZERO_COORDINATES_OPERATOR_DESC``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from cudakern._arrays import Array, copy_elements, empty, place_of, require_eager, temporary
from cudakern._ranges import named
from cudakern.operators.indexing import element_bytes
from cudakern.operators.nonzero_coordinates import as_input, as_rows, find_coordinates, new_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cudakern._array_types import AnyArray, OnGPU, OnHost

_INT64 = np.dtype(np.int64)
#: Bytes of coordinates that are allocated before their number is known; from there on, elements are
#: counted first.
UNCOUNTED_BYTES = 64 * 2**20


@overload
def argwhere(x: OnGPU) -> Any: ...  # noqa: ANN401  its place is not in its type
@overload
def argwhere(x: OnHost) -> NDArray[np.int64]: ...
@overload
def argwhere(x: AnyArray) -> Any: ...  # noqa: ANN401  its place is not in its type
@named("argwhere")
def argwhere(x: Any) -> Array:
    """Return the coordinates of the elements that are not zero, as ``numpy.argwhere`` does.

    Parameters
    ----------
    x : array, shape (...)
        Of 0 to 8 dimensions, any supported dtype and any strides.

    Returns
    -------
    array of int64, shape (count, x.ndim)
        In row-major order.

    Raises
    ------
    ArgumentError
        There are too many dimensions.
    DTypeError
        The dtype is not supported.

    Notes
    -----
    Synchronization: one, on the current stream, to learn the count. Where the coordinates of all
    elements would take more than 64 MiB, a first launch counts, and memory is allocated for as many
    as there are; x is then read twice.
    Source: DirectML reference, ``DML_NONZERO_COORDINATES_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.argwhere([[0, 3], [5, 0]])
    array([[0, 1],
           [1, 0]])
    """
    x = as_input("argwhere", x, 0)
    requirement = "must be given to nonzero(x, size=...), which does not wait for the GPU,"
    require_eager("argwhere", "x", requirement, place_of(x))
    return _trimmed("argwhere", x)[:, : x.ndim]


@overload
def nonzero(x: OnGPU, *, size: int | None = None, fill_value: int = -1) -> tuple[Any, ...]: ...
@overload
def nonzero(
    x: OnHost, *, size: int | None = None, fill_value: int = -1
) -> tuple[NDArray[np.int64], ...]: ...
@overload
def nonzero(x: AnyArray, *, size: int | None = None, fill_value: int = -1) -> tuple[Any, ...]: ...
@named("nonzero")
def nonzero(x: Any, *, size: int | None = None, fill_value: int = -1) -> tuple[Array, ...]:
    """Return the coordinates of the elements that are not zero, as ``numpy.nonzero`` does.

    Parameters
    ----------
    x : array, shape (...)
        Of 1 to 8 dimensions, any supported dtype and any strides.
    size : int, optional
        How many coordinates to return, without a look at how many there are.
    fill_value : int, optional
        Stands for what is missing if there are fewer.

    Returns
    -------
    tuple of arrays of int64, shape (count,) or (size,)
        One for each dimension, in row-major order.

    Raises
    ------
    ArgumentError
        There are too many dimensions or none, or ``size`` is negative.
    DTypeError
        The dtype is not supported, ``size`` is no integer, or ``fill_value`` is no int64.

    Notes
    -----
    Synchronization: none with ``size``; else one, as for `argwhere`. JAX's ``size`` is the same,
    its ``fill_value`` 0 unless given, which cannot be told from a coordinate.
    Source: DirectML reference, ``DML_NONZERO_COORDINATES_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.nonzero([[0, 3], [5, 0]])
    (array([0, 1]), array([1, 0]))
    >>> ck.nonzero([[0, 3], [5, 0]], size=3)
    (array([ 0,  1, -1]), array([ 1,  0, -1]))
    """
    x = as_input("nonzero", x, 1)
    if size is None:
        requirement = "must be given, as without it the call waits for the GPU,"
        require_eager("nonzero", "size", requirement, place_of(x))
        return tuple(_trimmed("nonzero", x, by_axis=True).T)
    rows = as_rows("nonzero", size, x, _INT64)
    fill = int(np.frombuffer(element_bytes("nonzero", "fill_value", fill_value, _INT64), _INT64)[0])
    axes = empty((x.ndim, rows), _INT64, place_of(x))
    find_coordinates("nonzero", x, temporary(new_count(x)), axes.T, _INT64, fill)
    return tuple(axes)


def _trimmed(operator: str, x: Array, *, by_axis: bool = False) -> Array:
    """Return as many rows of int64 as there are; ``by_axis``, in memory column after column."""
    place, columns = place_of(x), max(1, x.ndim)

    def table(rows: int) -> Array:
        if by_axis:
            return empty((columns, rows), _INT64, place).T
        return empty((rows, columns), _INT64, place)

    count = new_count(x)
    if x.size * columns * _INT64.itemsize > UNCOUNTED_BYTES:
        find_coordinates(operator, x, count, table(0), _INT64)
        rows = table(int(count[0]))
        if rows.size:
            find_coordinates(operator, x, count, rows, _INT64)
        return rows
    rows = table(x.size)
    find_coordinates(operator, x, count, rows, _INT64)
    found = int(count[0])
    if 2 * found > x.size:
        return rows[:found]
    kept = table(found)  # what is not needed is not kept
    copy_elements(kept, rows[:found])
    return kept
