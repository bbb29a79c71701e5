"""Gather by index tuples: elements or slices of an array, with batch dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, overload

from cudakern.errors import ArgumentError
from cudakern.operators.binding import kind_of
from cudakern.operators.gather_nd.plan import plan_gather_nd
from cudakern.operators.indexing.indices import ZERO, Selection, fill_pattern
from cudakern.operators.indexing.lookup import Lookup
from cudakern.operators.indexing.rows import rows_of_tuples
from cudakern.operators.nvtx_ranges import nvtx_range
from cudakern.values.layout import MAX_DIMENSIONS
from cudakern.values.validation import as_integer

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

NAME = "gather_nd"


@overload
def gather_nd(
    x: OnGPU, indices: Operand, batch_dims: Integer = 0, *, out: None = None, **how: Unpack[Modes]
) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def gather_nd(
    x: NDArray[T],
    indices: Operand,
    batch_dims: Integer = 0,
    *,
    out: None = None,
    **how: Unpack[Modes],
) -> NDArray[T]: ...
@overload
def gather_nd(
    x: Numbers, indices: OnGPU, batch_dims: Integer = 0, *, out: None = None, **how: Unpack[Modes]
) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def gather_nd(
    x: Numbers, indices: OnHost, batch_dims: Integer = 0, *, out: None = None, **how: Unpack[Modes]
) -> NDArray[Any]: ...
@overload
def gather_nd(
    x: Operand, indices: Operand, batch_dims: Integer = 0, *, out: None = None, **how: Unpack[Modes]
) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def gather_nd(
    x: Operand, indices: Operand, batch_dims: Integer = 0, *, out: Out, **how: Unpack[Modes]
) -> Out: ...
@nvtx_range(NAME)
def gather_nd(
    x: Any,
    indices: Any,
    batch_dims: Integer = 0,
    *,
    mode: types.IndexMode = "clamp",
    fill_value: types.Element = ZERO,
    negative: types.NegativeIndex = "from_end",
    out: Array | None = None,
) -> Array:
    """Select elements or slices of ``x`` by tuples of indices.

    **An index out of range takes the nearest one: mode="raise" makes it an error.**

    ``result[b, m, i] = x[b, indices[b, m, 0], ..., indices[b, m, t - 1], i]``, with the common
    dimensions folded into ``b``, the others of the indices into ``m``, and those of ``x`` that no
    index selects from into ``i``.

    Parameters
    ----------
    x : array, shape (B..., E0, ..., Et-1, ...)
        The data, of 1 to 8 dimensions, any supported dtype and any strides.
    indices : array of int, shape (B..., ..., t)
        Tuples of t positions, in 1 to 8 dimensions: int32, int64, uint32 or uint64; narrower
        integers are widened. Negative ones count from the end once, in every mode but "wrap". With
        t = 0 every tuple selects all of its batch. What `nonzero` returns is
        ``np.stack(indices, axis=-1)`` here, or `argwhere`.
    batch_dims : int, optional
        How many leading dimensions ``x`` and ``indices`` have in common; fewer than either has.
    mode : {"clamp", "wrap", "fill", "raise"}, optional
        What an index out of range means: the nearest valid one, the index modulo the extent,
        ``fill_value`` for the whole slice, or an error. Each index is held against its own axis.
    fill_value : scalar, optional
        For ``mode="fill"`` alone; must fit the dtype of ``x``.
    negative : {"from_end", "invalid"}, optional
        Whether a negative index counts from the end, or is out of range: for the modes "fill" and
        "raise".
    out : array, optional
        Where to put the result: of its shape and dtype, any strides, overlapping no input.

    Returns
    -------
    array, shape indices.shape[:-1] + x.shape[batch_dims + t:], dtype of x
        ``out`` if given. Of NumPy for arrays on the host, of CuPy for arrays on a GPU.

    Raises
    ------
    ArgumentError
        ``batch_dims`` or t is out of range, the batches differ, ``mode``, ``negative`` and
        ``fill_value`` do not go together, or there are too many dimensions.
    DTypeError
        A dtype is not supported, ``batch_dims`` is not an integer, an operand is a tuple of arrays,
        indices are a list of arrays, or ``fill_value`` does not fit.
    BindingError
        ``out`` does not fit, an array overlaps it, or arrays are on different devices.
    IndexRangeError
        An index is out of range in ``mode="raise"``, ``out`` being untouched then; or an extent is
        0 while there are tuples, in every mode but "fill".

    Notes
    -----
    Synchronization: none, except that ``mode="raise"`` waits for a check of the indices.
    Determinism: the result is a copy of bytes, the same in every run and on every engine.
    TensorFlow's and ONNX's operators of this name have the same shapes; CuPy and NumPy write
    ``x[tuple(indices.T)]`` for ``batch_dims=0``.
    Numbers, and lists of numbers, are copied to the GPU where other arrays of the call are; while a
    CUDA graph is captured, that is an ArgumentError.
    Source: DirectML reference, ``DML_GATHER_ND1_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.gather_nd([[10, 11], [20, 21]], [[1, 0], [0, -1]])
    array([20, 11])
    >>> ck.gather_nd([[10, 11], [20, 21]], [[1], [0]], batch_dims=1)
    array([11, 20])
    """
    kind = None if fill_value is ZERO else kind_of(fill_value)
    kinds = type(batch_dims), type(mode), type(negative)
    options = batch_dims, mode, fill_value, negative, kind, kinds
    if out is None:
        return _two(options, x, indices)
    return _three(options, x, indices, out, out)


def select(
    x: Array,
    indices: Array,
    batch_dims: object,
    mode: Any,  # noqa: ANN401  one of the words, as `check_mode` has found
    fill_value: object,
    negative: Any,  # noqa: ANN401  likewise
) -> Selection:
    """Return what tuples select along the axes of x behind a batch."""
    batch, shape = as_integer(NAME, "batch_dims", batch_dims), indices.shape
    alike = x.shape[:batch] == shape[:batch]
    single = alike and 0 <= batch <= indices.ndim < MAX_DIMENSIONS and batch < x.ndim
    hint = "; for single indices, use indices[..., None]" if single else ""
    most, room = min(x.ndim, indices.ndim) - 1, x.ndim - batch
    if not 0 <= batch <= most:
        requirement = f"must lie in [0, {most}]; got {batch}{hint}"
        raise ArgumentError(NAME, "batch_dims", requirement)
    if shape[-1] > room:
        requirement = f"must have at most {room} in the last dimension for batch_dims={batch}"
        raise ArgumentError(NAME, "indices", f"{requirement}; got shape {shape}{hint}")
    if not alike:
        requirement = f"must start with the batch {x.shape[:batch]} of x; got shape {shape}"
        raise ArgumentError(NAME, "indices", requirement)
    fill = fill_pattern(NAME, mode, fill_value, x.dtype)
    return Selection(batch, batch + shape[-1], mode, fill, negative, tuples=True)


_lookup = Lookup(NAME, "batch_dims", 1, select, rows_of_tuples, plan_gather_nd)
_two, _three = _lookup.binding.call_two, _lookup.binding.call_three
