"""One-hot: indices become vectors that are on at one position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from cudakern.engines import HOST
from cudakern.errors import ArgumentError, describe_error, describe_value, dtype_error
from cudakern.operators.arrays import native
from cudakern.operators.arrays.foreign import as_array, as_output, is_of_numbers, send_numbers
from cudakern.operators.arrays.native import Array
from cudakern.operators.binding import Binding, Call, Work, kind_of
from cudakern.operators.indexing.indices import (
    as_indices,
    check_negative,
    index_type,
    require_order,
    widen,
)
from cudakern.operators.nvtx_ranges import nvtx_range
from cudakern.operators.one_hot.plan import OneHotProblem, plan_one_hot
from cudakern.process.caches import register
from cudakern.values.dtypes import as_dtype, copyable_dtypes, known_dtypes, require_dtype
from cudakern.values.layout import VECTOR_BYTES, Layout
from cudakern.values.validation import as_bytes, as_extent, normalize_axis

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from cudakern.operators.annotations import (
        AnyArray,
        Direction,
        DType,
        Integer,
        NegativeIndex,
        OnGPU,
        OnHost,
        Operand,
        Out,
        T,
        TypedVectors,
        Vectors,
    )

NAME = "one_hot"
_NAMES = ("indices", "values", "out")
_COUNT = 2
_OFF_ON = (0, 1)


@dataclass(frozen=True, slots=True)
class OffOn:
    """Off and on."""

    dtype: np.dtype[Any]  # of the result
    #: Off, then on, each repeated to 16 bytes; zeros where they are in an array.
    pattern: bytes = bytes(2 * VECTOR_BYTES)
    array: Array | None = None  # off and on, its two elements


def off_on(values: object, dtype: object) -> OffOn:
    """Return the values that were given, in a dtype or in their own; raise unless they fit."""
    wanted = None if dtype is None else as_dtype(NAME, dtype, copyable_dtypes())
    if isinstance(values, list | tuple):
        if len(values) != _COUNT:
            _refuse(f"{len(values)} of them")
        dtype = _common_dtype(values) if wanted is None else wanted
        return OffOn(dtype, _pattern(values, dtype))
    array = as_array(NAME, "values", values)
    if array.size != _COUNT:
        _refuse(f"shape {array.shape}")
    require_dtype(NAME, "values", array.dtype, copyable_dtypes())
    if wanted is not None and array.dtype != wanted:
        if native.device_of(array) == HOST:  # elsewhere, a look at them would synchronise
            _pattern(array.ravel(), wanted)
        elif not known_dtypes().keys() >= {array.dtype, wanted}:
            requirement = f"must be {wanted} on a GPU, where 8-bit floats are not converted"
            raise dtype_error(NAME, "values.dtype", f"{requirement}; got {array.dtype}")
        array = native.convert(array, wanted)
    return OffOn(array.dtype, array=array)


def _refuse(found: str) -> None:
    requirement = f"must be two scalars or an array of two elements; got {found}"
    raise ArgumentError(NAME, "values", requirement)


def _pattern(values: Iterable[object], dtype: np.dtype[Any]) -> bytes:
    """Return off and on as bytes, each repeated; raise DTypeError if one does not fit."""
    elements = (as_bytes(NAME, f"values[{k}]", value, dtype) for k, value in enumerate(values))
    return b"".join(element * (VECTOR_BYTES // dtype.itemsize) for element in elements)


def _common_dtype(values: Sequence[object]) -> np.dtype[Any]:
    """Return the dtype of NumPy's scalars among two values; without any, of Python's numbers."""
    own = [
        v for v in values if isinstance(v, np.generic) or not isinstance(v, complex | float | int)
    ]
    if not own:
        if all(isinstance(value, bool) for value in values):
            return np.dtype(np.bool_)
        some_complex = any(isinstance(value, complex) for value in values)
        return np.dtype(np.complex64 if some_complex else np.float32)
    try:
        dtype: np.dtype[Any] = np.result_type(*(np.asarray(value).dtype for value in own))
    except Exception as error:
        requirement = (
            f"must be scalars of one dtype; got {describe_value(values)} ({describe_error(error)})"
        )
        raise dtype_error(NAME, "values", requirement) from error
    require_dtype(NAME, "values", dtype, copyable_dtypes())
    return dtype


def new_axis(indices: Array, depth: object, axis: object, negative: object) -> tuple[int, int]:
    """Return the length and the position of the new axis; raise if these are not legal."""
    native.require_rank(NAME, "indices", indices, 0)
    require_order(NAME, "depth", depth, indices)
    length = as_extent(NAME, "depth", depth)
    axis = normalize_axis(NAME, axis, indices.ndim + 1)
    check_negative(NAME, negative)
    return length, axis


def result_shape(indices: Array, depth: int, axis: int, dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Return the shape of a result; raise ArgumentError if no memory could hold it."""
    shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
    native.require_size(NAME, "depth", shape, dtype.itemsize)
    return shape


#: Axis, depth, dtype and pattern of the result, and the meaning of negative indices.
_Request = tuple[int, int, "np.dtype[Any]", bytes, str]


def _bind(request: _Request, arrays: tuple[Array, ...], layouts: list[Layout], device: int) -> Work:
    axis, depth, dtype, pattern, negative = request
    indices, _, out = arrays
    shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
    reason, options = f"for axis={axis}, depth={depth}", copyable_dtypes()
    native.check_output(NAME, "out", out, shape, dtype, device, reason, options)
    source, values, to = layouts
    kind = index_type(indices, negative)
    return Work(plan_one_hot(OneHotProblem(source, values, to, axis, kind, pattern)))


class _Beside:
    """Stands for values that are in an array beside the options."""


def _parse(options: tuple[Any, ...], indices: Any, *others: Any) -> Call:  # noqa: ANN401
    depth, axis, values, dtype, negative, *_ = options
    if values is _Beside:
        values, *others = others  # type: ignore[assignment]
    out = others[0] if others else None
    given, indices = indices, as_indices(NAME, indices, as_array(NAME, "indices", indices))
    depth, axis = new_axis(indices, depth, axis, negative)
    pair = off_on(values, dtype)
    array = pair.array
    if indices is not given or array is not None:
        of_numbers = map(is_of_numbers, (given, values))
        indices, array = send_numbers(NAME, _NAMES[:2], (indices, array), of_numbers, {"out": out})
    indices = widen(indices, (depth,), negative)
    request = (axis, depth, pair.dtype, pair.pattern, negative)
    if out is not None:
        return Call(request, (indices, array), (as_output(NAME, "out", out),))
    inputs = (indices,) if array is None else (indices, array)
    device = native.common_device(NAME, _NAMES[: len(inputs)], inputs)
    shape = result_shape(indices, depth, axis, pair.dtype)
    return Call(request, (indices, array), make=(native.maker(shape, pair.dtype, device),))


_binding = Binding(NAME, _NAMES, _parse, _bind, aligned=(0, 1))
_one, _two, _three = _binding.call_one, _binding.call_two, _binding.call_three
register(NAME, _binding.caches)


@overload
def one_hot(
    indices: OnGPU, depth: Integer, *, out: None = None, **how: Unpack[TypedVectors]
) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def one_hot(indices: OnHost, depth: Integer, **how: Unpack[Direction]) -> NDArray[np.float32]: ...
@overload
def one_hot(
    indices: OnHost, depth: Integer, *, dtype: DType[T], **how: Unpack[Vectors]
) -> NDArray[T]: ...
@overload
def one_hot(
    indices: OnHost, depth: Integer, *, out: None = None, **how: Unpack[TypedVectors]
) -> NDArray[Any]: ...
@overload
def one_hot(
    indices: AnyArray, depth: Integer, *, out: None = None, **how: Unpack[TypedVectors]
) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def one_hot(indices: Operand, depth: Integer, *, out: Out, **how: Unpack[TypedVectors]) -> Out: ...
@nvtx_range(NAME)
def one_hot(
    indices: Any,
    depth: Integer,
    *,
    axis: Integer = -1,
    values: Any = _OFF_ON,
    dtype: Any = None,
    negative: NegativeIndex = "from_end",
    out: Array | None = None,
) -> Array:
    """Turn each index into a vector of ``depth`` elements along ``axis``, on at its position.

    ``result[o, d, i] = on if d == indices[o, i] else off``, with the axes before ``axis`` folded
    into ``o``, those behind it into ``i``.

    Parameters
    ----------
    indices : array of int, shape (...)
        Positions along the new axis, of 0 to 8 dimensions: int32, int64, uint32 or uint64; narrower
        integers are widened. Negative ones count from the end once. An index that is still out of
        range is on nowhere.
    depth : int
        Length of the new axis; 0 gives an empty result.
    axis : int, optional
        Where the new axis is in the result; negative values count from the last.
    values : (off, on) or array of two elements, optional
        Two scalars, or off and on in an array of any shape and strides, where the indices are.
    dtype : dtype, optional
        Of the result: any supported one, which the values must fit; those of an array on a GPU are
        converted without a look at them, but not from or to 8-bit floats. None means the values'
        own: that of the array, the common one of NumPy's scalars; for Python's numbers float32,
        complex64 if one is complex, bool if both are bools.
    negative : {"from_end", "invalid"}, optional
        Whether a negative index counts from the end, or is out of range.
    out : array, optional
        Where to put the result: of its shape and dtype, any strides, overlapping no input.

    Returns
    -------
    array, shape indices.shape[:axis] + (depth,) + indices.shape[axis:]
        ``out`` if given. Of NumPy for arrays on the host, of CuPy for arrays on a GPU.

    Raises
    ------
    ArgumentError
        ``axis`` or ``depth`` is out of range, ``negative`` is not a legal word, there are too many
        dimensions, or not two values.
    DTypeError
        A dtype is not supported, ``depth`` or ``axis`` is not an integer, the indices are a tuple
        of arrays, or a value does not fit.
    BindingError
        ``out`` does not fit, an array overlaps it, or arrays are on different devices.

    Notes
    -----
    Synchronization: none. An array of values is read on its device; scalars travel with the launch.
    Determinism: the result is made of copied bytes, the same in every run and on every engine.
    Where an array of values on a GPU has another dtype, CuPy converts it: subnormal float32 to 0.
    PyTorch's ``one_hot`` gives int64 and raises for an index out of range.
    Numbers, and lists of numbers, are copied to the GPU where other arrays of the call are; while a
    CUDA graph is captured, that is an ArgumentError.
    Source: DirectML reference, ``DML_ONE_HOT_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.one_hot([0, 2, -1, 5], 3, dtype="int32")
    array([[1, 0, 0],
           [0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]], dtype=int32)
    """
    array = None
    if type(values) is not tuple and native.are_own((values,)):
        array, values = values, _Beside
    options = (
        depth, axis, values, dtype, negative,
        type(depth), type(axis), None if values is _OFF_ON else kind_of(values), type(dtype),
        type(negative),
    )  # fmt: skip
    if array is None:
        return _one(options, indices) if out is None else _two(options, indices, out, out)
    if out is None:
        return _two(options, indices, array)
    return _three(options, indices, array, out, out)
