"""Gather: slices of an array along one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, overload

from cudakern.operators.binding import kind_of
from cudakern.operators.gather.plan import plan_gather, rows_of
from cudakern.operators.indexing.indices import ZERO, Selection, fill_pattern, require_order
from cudakern.operators.indexing.lookup import Lookup
from cudakern.operators.nvtx_ranges import nvtx_range
from cudakern.values.validation import normalize_axis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cudakern.operators import annotations as types
    from cudakern.operators.annotations import (
        Integer,
        Modes,
        Numbers,
        OnGPU,
        OnHost,
        Operand,
        Out,
        T,
    )
    from cudakern.operators.arrays.native import Array

NAME = "gather"


@overload
def gather(
    x: OnGPU, indices: Operand, axis: Integer = 0, *, out: None = None, **how: Unpack[Modes]
) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def gather(
    x: NDArray[T], indices: Operand, axis: Integer = 0, *, out: None = None, **how: Unpack[Modes]
) -> NDArray[T]: ...
@overload
def gather(
    x: Numbers, indices: OnGPU, axis: Integer = 0, *, out: None = None, **how: Unpack[Modes]
) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def gather(
    x: Numbers, indices: OnHost, axis: Integer = 0, *, out: None = None, **how: Unpack[Modes]
) -> NDArray[Any]: ...
@overload
def gather(
    x: Operand, indices: Operand, axis: Integer = 0, *, out: None = None, **how: Unpack[Modes]
) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def gather(
    x: Operand, indices: Operand, axis: Integer = 0, *, out: Out, **how: Unpack[Modes]
) -> Out: ...
@nvtx_range(NAME)
def gather(
    x: Any,
    indices: Any,
    axis: Integer = 0,
    *,
    mode: types.IndexMode = "clamp",
    fill_value: types.Element = ZERO,
    negative: types.NegativeIndex = "from_end",
    out: Array | None = None,
) -> Array:
    """Select slices of ``x`` along ``axis``.

    **An index out of range takes the nearest one: mode="raise" makes it an error.**

    ``result[o, m, i] = x[o, indices[m], i]``, with the axes before and after ``axis`` folded into
    ``o`` and ``i``, those of ``indices`` into ``m``.

    Parameters
    ----------
    x : array, shape (..., E, ...)
        The data, of 1 to 8 dimensions, any supported dtype and any strides.
    indices : array of int, shape (...)
        Positions along the axis, of 0 to 8 dimensions: int32, int64, uint32 or uint64; narrower
        integers are widened. Negative ones count from the end once, in every mode but "wrap".
    axis : int, optional
        The axis of length E; negative values count from the last.
    mode : {"clamp", "wrap", "fill", "raise"}, optional
        What an index out of range means: the nearest valid one, the index modulo E, ``fill_value``,
        or an error.
    fill_value : scalar, optional
        For ``mode="fill"`` alone; must fit the dtype of ``x``.
    negative : {"from_end", "invalid"}, optional
        Whether a negative index counts from the end, or is out of range: for the modes "fill" and
        "raise".
    out : array, optional
        Where to put the result: of its shape and dtype, any strides, overlapping no input.

    Returns
    -------
    array, shape x.shape[:axis] + indices.shape + x.shape[axis + 1:], dtype of x
        ``out`` if given. Of NumPy for arrays on the host, of CuPy for arrays on a GPU.

    Raises
    ------
    ArgumentError
        ``axis`` is out of range, ``mode``, ``negative`` and ``fill_value`` do not go together, or
        there are too many dimensions.
    DTypeError
        A dtype is not supported, ``axis`` is not an integer, an operand is a tuple of arrays, or
        ``fill_value`` does not fit.
    BindingError
        ``out`` does not fit, an array overlaps it, or arrays are on different devices.
    IndexRangeError
        An index is out of range in ``mode="raise"``, ``out`` being untouched then; or E is 0 while
        there are indices, in every mode but "fill".

    Notes
    -----
    Synchronization: none, except that ``mode="raise"`` waits for a check of the indices.
    Determinism: the result is a copy of bytes, the same in every run and on every engine.
    NumPy's ``take`` has the same shapes and raises by default; CuPy's wraps.
    Numbers, and lists of numbers, are copied to the GPU where other arrays of the call are; while a
    CUDA graph is captured, that is an ArgumentError.
    Source: DirectML reference, ``DML_GATHER_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.gather([10, 20, 30], [2, 0, -1, 7])
    array([30, 10, 30, 30])
    """
    kind = None if fill_value is ZERO else kind_of(fill_value)
    kinds = type(axis), type(mode), type(negative)
    options = axis, mode, fill_value, negative, kind, kinds
    if out is None:
        return _two(options, x, indices)
    return _three(options, x, indices, out, out)


def select(
    x: Array,
    indices: Array,
    axis: object,
    mode: Any,  # noqa: ANN401  one of the words, as `check_mode` has found
    fill_value: object,
    negative: Any,  # noqa: ANN401  likewise
) -> Selection:
    """Return what indices select along an axis of x."""
    require_order(NAME, "axis", axis, indices)
    axis = normalize_axis(NAME, axis, x.ndim)
    fill = fill_pattern(NAME, mode, fill_value, x.dtype)
    return Selection(axis, axis + 1, mode, fill, negative, tuples=False)


_lookup = Lookup(NAME, "axis", 0, select, rows_of, plan_gather)
_two, _three = _lookup.binding.call_two, _lookup.binding.call_three
