"""Nonzero-coordinates: where elements are not zero; in NumPy, this is argwhere and nonzero."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

import numpy as np

from cudakern.engines import engine_for
from cudakern.errors import ArgumentError, BindingError, describe_class
from cudakern.operators.arrays import foreign, native
from cudakern.operators.arrays.foreign import as_array, as_output
from cudakern.operators.binding import Binding, Call, Work, kind_of
from cudakern.operators.nonzero import plan
from cudakern.operators.nonzero.counts import counts_of
from cudakern.operators.nonzero.plan import NonzeroProblem, plan_nonzero
from cudakern.operators.nvtx_ranges import nvtx_range
from cudakern.operators.tensor import MAX_ELEMENTS
from cudakern.process.caches import Family, register
from cudakern.process.lazy import is_cupy
from cudakern.values.dtypes import DataType, as_dtype, known_dtypes, require_dtype
from cudakern.values.validation import as_bytes, as_extent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cudakern.operators.annotations import (
        AnyArray,
        AnyDType,
        Else,
        Integer,
        IntegerElement,
        OnGPU,
        OnHost,
        Operand,
        Out,
    )
    from cudakern.operators.arrays.native import Array
    from cudakern.operators.binding import Parse
    from cudakern.values.layout import Layout

NAME = "nonzero_coordinates"
_NAMES = ("x", "out.count", "out.coordinates")
_UINT32, _UINT64, _INT64 = np.dtype(np.uint32), np.dtype(np.uint64), np.dtype(np.int64)
_KINDS = (_UINT32, _INT64)
#: The most elements: more than a memory holds, few enough for the words that blocks exchange.
MAX_COUNTED = 2**40
#: The most rows that are shown; of more, as many at either end, as NumPy does.
_SHOWN, _EDGE = 10, 3

_PAIRS, _TWO = (tuple, list), 2  # types of outputs, and how many there are
_NARROW = "uint32"  # the dtype of coordinates unless another is given
_DEFAULT = (None, _NARROW)  # size and dtype

A = TypeVar("A")


class NonzeroCoordinates(NamedTuple, Generic[A]):
    """How many elements are not zero, and where.

    Attributes
    ----------
    count : array of uint32, shape (1,)
        Of uint64, if there may be more than 2^32 - 1.
    coordinates : array of uint32 or int64, shape (x.size or size, max(1, x.ndim))
        A row for each of the first ``count``; those beyond are as they were.

    Examples
    --------
    >>> import cudakern as ck
    >>> count, coordinates = ck.nonzero_coordinates([0, 7, 5])
    >>> count, coordinates[: int(count[0])].tolist()
    (array([2], dtype=uint32), [[1], [2]])
    >>> ck.nonzero_coordinates([0, 7, 5])
    NonzeroCoordinates(count=2, coordinates=[[1], [2]], shape=(3, 1), dtype=uint32)
    """

    count: A  # type: ignore[assignment]  # hides the method of tuples
    coordinates: A

    def __repr__(self) -> str:
        """Show how many there are and the first and last of them, if both arrays are on the host.

        Nothing of an array on a GPU is read, which would wait for it, nor of a lazy one.
        """
        count, rows = _contents(self.count, self.coordinates)
        shape, dtype = (getattr(self.coordinates, word, "?") for word in ("shape", "dtype"))
        texts = None if rows is None else ["..." if row is None else str(row) for row in rows]
        found = "" if texts is None else f", coordinates=[{', '.join(texts)}]"
        return f"NonzeroCoordinates(count={count}{found}, shape={shape}, dtype={dtype})"

    def _repr_html_(self) -> str:
        """Show the same in a notebook."""
        from cudakern.display import notebook  # noqa: PLC0415  notebooks alone

        count, rows = _contents(self.count, self.coordinates)
        shape, dtype = (getattr(self.coordinates, word, "?") for word in ("shape", "dtype"))
        parts = []
        if rows:
            columns = len(rows[0] or ())
            texts = [["..."] * columns if row is None else map(str, row) for row in rows]
            numbers = [[*map(notebook.Number, row)] for row in texts]
            headings = [notebook.Number(f"axis {axis}") for axis in range(columns)]
            parts.append(notebook.render_table(headings, numbers))
        more = f"coordinates of shape {shape}, {dtype}"
        return notebook.render_box(f"nonzero coordinates: count {count}", *parts, more=more)


#: Rows; None stands for those that are left out.
_Rows = list[list[int] | None]


def _contents(count: Any, coordinates: Any) -> tuple[str, _Rows | None]:  # noqa: ANN401  any arrays
    """Return the count and the rows that are defined, as far as they can be read at once.

    With the count goes how many had room, unless all had.
    """
    if any(map(is_cupy, (count, coordinates))):
        return "<on the device>", None
    are_arrays = isinstance(count, np.ndarray) and isinstance(coordinates, np.ndarray)
    if not are_arrays or (*count.shape, count.dtype.kind, coordinates.ndim) != (1, "u", 2):
        return f"<{describe_class(count)}>", None  # such as a pair of somebody's own
    found = int(count[0])
    rows = coordinates[:found]
    text = str(found) if len(rows) == found else f"{found}, {len(rows)} of {found} kept"
    if len(rows) <= _SHOWN:
        return text, rows.tolist()
    return text, [*rows[:_EDGE].tolist(), None, *rows[-_EDGE:].tolist()]


@overload
def nonzero_coordinates(
    x: OnGPU, *, size: Integer | None = None, dtype: AnyDType = "uint32", out: None = None
) -> NonzeroCoordinates[Any]: ...
@overload
def nonzero_coordinates(
    x: OnHost, *, size: Integer | None = None, dtype: AnyDType = "uint32", out: None = None
) -> NonzeroCoordinates[NDArray[np.integer[Any]]]: ...
@overload
def nonzero_coordinates(
    x: AnyArray, *, size: Integer | None = None, dtype: AnyDType = "uint32", out: None = None
) -> NonzeroCoordinates[Any]: ...
@overload
def nonzero_coordinates(
    x: Operand,
    *,
    size: Integer | None = None,
    dtype: AnyDType = "uint32",
    out: Sequence[Out] | Else,
) -> NonzeroCoordinates[Out]: ...
@nvtx_range(NAME)
def nonzero_coordinates(
    x: Any, *, size: Integer | None = None, dtype: Any = _NARROW, out: Any = None
) -> NonzeroCoordinates[Any]:
    """Return how many elements are not zero, and their coordinates in ascending order.

    Parameters
    ----------
    x : array, shape (...)
        Of 0 to 8 dimensions, any supported dtype and any strides.
    size : int, optional
        Rows for coordinates; None means one for each element.
    dtype : dtype, optional
        Of the coordinates: uint32, or int64, which more than 2^32 - 1 elements need.
    out : (count, coordinates), optional
        Where to put the results: arrays of their shapes and dtypes, any strides and alignment,
        overlapping neither x nor each other.

    Returns
    -------
    NonzeroCoordinates
        ``count``, of shape (1,) and uint32, and ``coordinates``, of shape
        (x.size, max(1, x.ndim)), or (size, max(1, x.ndim)), whose rows beyond the count are not
        written. The count is of all coordinates: if it exceeds ``size``, the last had no room.
        Those of ``out`` if given. Of NumPy for arrays on the host, of CuPy for arrays on a GPU.

    Raises
    ------
    ArgumentError
        There are too many dimensions, too many elements for uint32, or ``size`` is negative.
    DTypeError
        A dtype is not supported, ``size`` is not an integer, or x is a tuple of arrays.
    BindingError
        ``out`` does not fit, or its arrays overlap x or each other.

    Notes
    -----
    Synchronization: none; the count stays on the device. Rows are in row-major order of the
    coordinates, whatever the strides. -0.0 is zero; NaN and subnormal numbers are not, nor is a
    bool whose byte is neither 0 nor 1. Determinism: the same result in every run.
    On a GPU, launches of a stream share a workspace of 32 KiB, or more for more than 2^28 bytes;
    those that it has in a CUDA graph share another, which goes with the graph. More than 2^26
    elements, and columns of 2^18 and more, take two launches, and memory for a bit each instead.
    Numbers, and lists of numbers, are copied to the GPU where other arrays of the call are; while a
    CUDA graph is captured, that is an ArgumentError.
    Source: DirectML reference, ``DML_NONZERO_COORDINATES_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> found = ck.nonzero_coordinates([[0, 3], [5, 0]])
    >>> found.coordinates[: int(found.count[0])]
    array([[0, 1],
           [1, 0]], dtype=uint32)
    >>> ck.nonzero_coordinates([[0, 3], [5, 7]], size=2).count  # one more than there is room for
    array([3], dtype=uint32)
    """
    plain = size is None and dtype is _NARROW
    options = _DEFAULT if plain else (size, dtype, type(size), type(dtype))
    found: NonzeroCoordinates[Any]
    if out is None:
        found = _one(options, x)
    elif isinstance(out, _PAIRS) and len(out) == _TWO:
        count, coordinates = out
        pair = tuple.__new__(NonzeroCoordinates, out)
        found = _three(options, x, count, coordinates, pair)
    else:
        found = _coordinates.call(options, (x, out))  # raises an error
    return found


def _parse(options: tuple[Any, ...], x: Any, *out: Any) -> Call:  # noqa: ANN401
    size, dtype, *_ = options
    given, x = x, as_input(NAME, x, 0)
    kind, rows = as_table(x, size, dtype)
    request, device = (kind, None, rows), native.device_of(x)
    if not out:
        make = (
            native.maker((1,), count_type(x), device),
            native.maker((rows, max(1, x.ndim)), kind, device),
        )
        return Call(request, (x,), make=make, finish=NonzeroCoordinates)
    if len(out) != _TWO:
        requirement = f"must be a pair (count, coordinates); got {type(out[0]).__name__}"
        raise BindingError(NAME, "out", requirement)
    pair = tuple(map(as_output, (NAME, NAME), _NAMES[1:], out))
    if x is not given:
        of_numbers = (foreign.is_of_numbers(given),)
        (x,) = foreign.send_numbers(NAME, ("x",), (x,), of_numbers, {_NAMES[1]: pair[0]})
    return Call(request, (x,), pair)


def as_table(x: Array, size: object, dtype: object) -> tuple[np.dtype[Any], int]:
    """Return the dtype of coordinates, and how many there is room for."""
    plain = isinstance(dtype, str) and dtype == "uint32"  # the common way
    kind = _UINT32 if plain else as_dtype(NAME, dtype, _KINDS)
    elements = x.size
    rows = elements if size is None else as_rows(NAME, size, x, kind)
    if elements > MAX_ELEMENTS and kind != _INT64:
        requirement = f"must be int64 for more than 2^32 - 1 elements; got {kind}"
        raise ArgumentError(NAME, "dtype", requirement)
    return kind, rows


def as_rows(operator: str, size: object, x: Array, kind: np.dtype[Any]) -> int:
    """Return the number of coordinates that a caller asks for."""
    rows = as_extent(operator, "size", size)
    native.require_size(operator, "size", (rows, max(1, x.ndim)), kind.itemsize, str(rows))
    return rows


def as_input(operator: str, value: object, least: int) -> Array:
    """Return x as an array of a supported dtype and ``least`` to 8 dimensions."""
    x = as_array(operator, "x", value)
    require_input(operator, x, least)
    if x.size > MAX_COUNTED:  # some strides are zero
        raise ArgumentError(operator, "x", f"must have at most 2^40 elements; got {x.size}")
    return x


def require_input(operator: str, x: Array, least: int) -> None:
    """Raise DTypeError or ArgumentError unless dtype and dimensions of x are supported."""
    require_dtype(operator, "x", x.dtype, known_dtypes())
    native.require_rank(operator, "x", x, least)


def count_type(x: Array) -> np.dtype[Any]:
    """Return the dtype of a count for x."""
    return _UINT64 if x.size > MAX_ELEMENTS else _UINT32


#: Dtype of the rows; the value of rows without coordinates, or None; how many rows the caller's own
#: output must have, or None.
_Request = tuple["np.dtype[Any]", int | None, int | None]


#: All coordinates, as NumPy gives them.
_ALL: _Request = (_INT64, None, None)


def _bind(request: _Request, arrays: tuple[Array, ...], layouts: list[Layout], device: int) -> Work:
    (x, count, rows), (kind, fill, wanted) = arrays, request
    native.check_output(NAME, _NAMES[1], count, (1,), count_type(x), device, "")
    if wanted is not None:
        reason = f"for x.shape={x.shape}" + ("" if wanted == x.size else f", size={wanted}")
        shape = wanted, max(1, x.ndim)
        native.check_output(NAME, _NAMES[2], rows, shape, kind, device, reason, _KINDS)
    if not x.size:
        return Work(before=lambda arrays: _write_nothing(arrays, fill, device))
    kind_of_x, count_bytes = DataType.from_numpy(x.dtype), count.dtype.itemsize
    problem = NonzeroProblem(layouts[0], layouts[2], kind_of_x, count_bytes, fill)
    return Work(plan_nonzero(problem))


def _write_nothing(arrays: tuple[Array, ...], fill: int | None, device: int) -> None:
    """Write the results for an x without elements."""
    _, count, rows = arrays
    with native.use_device(device):
        count.fill(0)
        if fill is not None:
            rows.fill(fill)


_caches = register(NAME, Family())


def _binding(parse: Parse) -> Binding:
    """Return a way to launches for calls that `parse` checks."""
    binding = Binding(NAME, _NAMES, parse, _bind, outputs=2, aligned=(0, 1, 2))
    _caches.add(binding.caches)
    return binding


_coordinates = _binding(_parse)
_one, _three = _coordinates.call_one, _coordinates.call_three


@overload
def argwhere(x: OnGPU) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def argwhere(x: OnHost) -> NDArray[np.int64]: ...
@overload
def argwhere(x: AnyArray) -> Any: ...  # noqa: ANN401  its device is not in its type
@nvtx_range("argwhere")
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
        The dtype is not supported, or x is a tuple of arrays.

    Notes
    -----
    Synchronization: one, with the current stream, to learn the count. The result is a view of
    memory for the coordinates of all elements; if more than 1 MiB of it would be useless, it is a
    copy. Where that memory would take more than 64 MiB, a first launch counts, and memory is
    allocated for as many as there are; x is then read twice.
    Source: DirectML reference, ``DML_NONZERO_COORDINATES_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.argwhere([[0, 3], [5, 0]])
    array([[0, 1],
           [1, 0]])
    """
    return _argwhere((), x)


@overload
def nonzero(
    x: OnGPU, *, size: Integer | None = None, fill_value: IntegerElement = -1
) -> tuple[Any, ...]: ...
@overload
def nonzero(
    x: OnHost, *, size: Integer | None = None, fill_value: IntegerElement = -1
) -> tuple[NDArray[np.int64], ...]: ...
@overload
def nonzero(
    x: AnyArray, *, size: Integer | None = None, fill_value: IntegerElement = -1
) -> tuple[Any, ...]: ...
@nvtx_range("nonzero")
def nonzero(
    x: Any, *, size: Integer | None = None, fill_value: IntegerElement = -1
) -> tuple[Array, ...]:
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
        One for each dimension, in row-major order. `gather_nd` takes them stacked:
        ``np.stack(found, axis=-1)``, which without ``size`` is what `argwhere` returns.

    Raises
    ------
    ArgumentError
        There are too many dimensions or none, or ``size`` is negative.
    DTypeError
        The dtype is not supported, ``size`` is not an integer, ``fill_value`` is not an int64, or
        x is a tuple of arrays.

    Notes
    -----
    Synchronization: none with ``size``; else one, as for `argwhere`. JAX's ``size`` is the same,
    its ``fill_value`` 0 unless given, which may be a coordinate.
    Source: DirectML reference, ``DML_NONZERO_COORDINATES_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.nonzero([[0, 3], [5, 0]])
    (array([0, 1]), array([1, 0]))
    >>> ck.nonzero([[0, 3], [5, 0]], size=3)
    (array([ 0,  1, -1]), array([ 1,  0, -1]))
    """
    options = size, fill_value, type(size), kind_of(fill_value)
    axes: tuple[Array, ...]
    axes = _nonzero((), x) if size is None else _nonzero_of_size(options, x)
    return axes


def _parse_nonzero_of_size(options: tuple[Any, ...], x: Any) -> Call:  # noqa: ANN401
    size, fill_value, *_ = options
    x = as_input("nonzero", x, 1)
    rows = as_rows("nonzero", size, x, _INT64)
    fill = int(np.frombuffer(as_bytes("nonzero", "fill_value", fill_value, _INT64), _INT64)[0])
    device = native.device_of(x)
    count = partial(native.temporary, device, native.maker((1,), count_type(x), device))
    listing = _Listing(x.ndim, device, by_axis=True)

    def finish(_: Array, table: Array) -> Any:  # noqa: ANN401
        return listing.result(table, rows)

    return Call((_INT64, fill, None), (x,), make=(count, listing.maker(rows)), finish=finish)


class _Listing(NamedTuple):
    """How all coordinates of an array are returned."""

    rank: int  # of the array
    device: int
    by_axis: bool  # whether those of each axis are next to each other, as the results of nonzero

    @property
    def columns(self) -> int:
        """How many numbers a coordinate has in a table."""
        return max(1, self.rank)

    def maker(self, rows: int) -> Callable[[], Array]:
        """Return what makes an uninitialised table, where the device is current."""
        if not self.by_axis:
            return native.maker((rows, self.columns), _INT64, self.device)
        make = native.maker((self.columns, rows), _INT64, self.device)
        return lambda: make().T

    def result(self, table: Array, found: int) -> Any:  # noqa: ANN401
        """Return the first rows of a table: as views, or copies if much of it would be useless."""
        found = min(found, len(table))  # if no kernel ran, the count is any number
        spans, length = (self.columns, len(table)) if self.by_axis else (1, table.size)
        wanted = found if self.by_axis else found * self.columns
        memory = table.T if self.by_axis else table
        if spans * (length - wanted) * _INT64.itemsize > plan.SPARE_BYTES:
            memory = native.copy_spans(memory, spans, wanted)
            length = wanted
        if not self.by_axis:
            return native.view_of(memory, (found, self.rank))
        starts = [axis * length * _INT64.itemsize for axis in range(spans)]
        return tuple([native.view_of(memory, (found,), start) for start in starts])


#: By function: the least dimensions of x, the argument and the requirement of an error.
_WAITING = {
    "argwhere": (0, "x", "must be given to nonzero(x, size=...), which does not wait for the GPU,"),
    "nonzero": (1, "size", "must be given, as without it the call waits for the GPU,"),
}


def _parse_all(operator: str, _: tuple[()], x: Any) -> Call:  # noqa: ANN401
    """Return the call for all coordinates: an ArgumentError while a graph is captured."""
    least, argument, requirement = _WAITING[operator]
    x = as_input(operator, x, least)
    listing = _Listing(x.ndim, native.device_of(x), by_axis=operator == "nonzero")
    borrow, read = counts_of(count_type(x), listing.device)
    is_captured = partial(engine_for(listing.device).is_captured, listing.device)
    counts_first = x.size * listing.columns * _INT64.itemsize > plan.UNCOUNTED_BYTES
    make = listing.maker(0 if counts_first else x.size)

    def make_table() -> Array:
        if is_captured():
            native.require_eager(operator, argument, requirement, listing.device)
        return make()

    def finish(count: Array, table: Array) -> Any:  # noqa: ANN401
        return listing.result(table, read(count))

    if counts_first:
        count_first = partial(_find_counted, listing, x, read)
        return Call(_ALL, (x,), make=(borrow, make_table), finish=count_first, is_alike=False)
    return Call(_ALL, (x,), make=(borrow, make_table), finish=finish)


def _find_counted(
    listing: _Listing, x: Array, read: Callable[[Array], int], count: Array, _: Array
) -> Any:  # noqa: ANN401
    """Return all coordinates in memory for as many, once they are counted."""
    found = read(count)
    table = listing.maker(found)()
    if found:
        again = native.empty((1,), count_type(x), listing.device)
        _coordinates.run(_ALL, (x, again, table))
    return listing.result(table, found)


_argwhere = _binding(partial(_parse_all, "argwhere")).call_one
_nonzero = _binding(partial(_parse_all, "nonzero")).call_one
_nonzero_of_size = _binding(_parse_nonzero_of_size).call_one
