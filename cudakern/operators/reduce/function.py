"""Reduce: a function of x over some of its axes, such as their sum."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from cudakern.errors import ArgumentError, BindingError, describe_value, did_you_mean, dtype_error
from cudakern.operators.arrays import native
from cudakern.operators.arrays.foreign import as_array, as_output, is_of_numbers, send_numbers
from cudakern.operators.binding import Binding, Call, Work, kind_of
from cudakern.operators.nvtx_ranges import nvtx_range
from cudakern.operators.reduce import types
from cudakern.operators.reduce.plan import ReduceProblem, plan_reduce
from cudakern.operators.reduce.reduction import Reduction
from cudakern.operators.reduce.types import NAME, ReduceFunction
from cudakern.process.caches import register
from cudakern.values import validation
from cudakern.values.dtypes import DataType, as_dtype, conversion_hint, known_dtypes, require_dtype
from cudakern.values.validation import AXIS_WORDS, integer_of, tuple_hint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from cudakern.operators.annotations import (
        AllRules,
        AnyArray,
        Arg,
        Axes,
        DType,
        F,
        Flag,
        Fold,
        Function,
        NanRule,
        OnGPU,
        OnHost,
        Operand,
        Out,
        Rules,
        T,
    )
    from cudakern.operators.arrays.native import Array
    from cudakern.values.layout import Layout

_NAN_WORDS = ("propagate", "ignore")
_OTHER_NAN_WORDS = dict.fromkeys(("omit", "skip", "skipna", "drop"), "'ignore'")
_OTHER_AXIS_WORDS = {**AXIS_WORDS, "all": "None", "none": "None"}


@dataclass(frozen=True, slots=True)
class ReduceCall:
    """The meaning of a call's arguments for x of a dtype and shape."""

    reduction: Reduction
    axes: tuple[int, ...]  # the axes that are reduced, ascending
    shape: tuple[int, ...]  # of the result
    dtype: np.dtype[Any]  # of the result and of an initial value

    @property
    def function(self) -> ReduceFunction:
        """What is computed."""
        return self.reduction.function


def _as_axes(axis: object) -> int | tuple[int, ...]:
    """Return axes as an int or a tuple of those."""
    try:
        return tuple(map(integer_of, axis)) if isinstance(axis, tuple) else integer_of(axis)
    except Exception:  # noqa: BLE001  whatever a scalar of another library raises
        hint = did_you_mean(axis, (), _OTHER_AXIS_WORDS) or tuple_hint(axis)
        if isinstance(axis, str) and axis in types.BY_LABEL:
            hint = ": function and axis are swapped"
        requirement = f"must be an int, a tuple of ints or None; got {describe_value(axis)}{hint}"
        raise dtype_error(NAME, "axis", requirement) from None


def _as_flags(**flags: object) -> Iterator[bool]:
    """Yield flags as Python's; raise ArgumentError for any other value."""
    for name, value in flags.items():
        if not validation.is_flag(value):
            raise ArgumentError(NAME, name, f"must be True or False; got {describe_value(value)}")
        yield bool(value)


def call_of(
    x: Array,
    name: Any,  # noqa: ANN401  whatever the caller gave, as the others
    axis: Any,  # noqa: ANN401
    keepdims: object,
    dtype: Any,  # noqa: ANN401
    nan: object,
    last_index: object,
    initial: object,
    out: object = None,
) -> tuple[ReduceCall, bytes | None, Array | None]:
    """Return a call's meaning, its initial value, and its output."""
    if axis is not None and type(axis) is not int:
        axis = _as_axes(axis)
    if type(name) is not str:
        name = types.as_function(name, x)
    target = None if out is None else as_output(NAME, "out", out)
    of_out = dtype is None
    if not of_out:
        dtype = as_dtype(NAME, dtype, known_dtypes())
    elif target is not None:
        dtype = target.dtype
    keep, last = _as_flags(keepdims=keepdims, last_index=last_index)
    types.require_order(x, name)
    require_dtype(NAME, "x", x.dtype, known_dtypes())
    native.require_rank(NAME, "x", x, 0)
    function = types.as_function(name)
    _check_rules(function, nan, initial, last_index=last)
    axes = validation.normalize_axes(NAME, axis, x.ndim)
    count = prod([x.shape[d] for d in axes])
    shape = _shape_of(x, axes, keepdims=keep)
    kind = known_dtypes()[x.dtype]
    result = _result_of(function, kind, dtype, count, of_out=of_out)
    native.require_size(NAME, "x", shape, result.itemsize, f"shape {x.shape}")
    has_value = initial is not None or types.of_nothing(function, result) is not None
    if not has_value and x.size == 0 and 0 not in shape:
        requirement = f"must have elements for {function.label}, which has no identity"
        hint = "; give initial" if function in types.INITIAL_FUNCTIONS else ""
        raise ArgumentError(NAME, "x", f"{requirement}; got shape {x.shape}{hint}")
    reduction = Reduction(function, kind, result, nan == "ignore", last, initial is not None)
    call = ReduceCall(reduction, axes, shape, result.numpy)
    if initial is None:
        return call, None, target
    return call, validation.as_bytes(NAME, "initial", initial, call.dtype), target


def _check_rules(
    function: ReduceFunction, nan: object, initial: object, *, last_index: bool
) -> None:
    """Raise ArgumentError for a rule that is not for a function."""
    validation.require_word(NAME, "nan", nan, _NAN_WORDS, _OTHER_NAN_WORDS)
    if nan == "ignore" and function not in types.NAN_FUNCTIONS:
        requirement = f"must be 'propagate' for {function.label}; got 'ignore'"
        raise ArgumentError(NAME, "nan", requirement)
    if last_index and function not in types.ARG_FUNCTIONS:
        requirement = f"must be False for {function.label}; got True"
        raise ArgumentError(NAME, "last_index", requirement)
    if initial is not None and function not in types.INITIAL_FUNCTIONS:
        requirement = f"must be None for {function.label}; got {describe_value(initial)}"
        raise ArgumentError(NAME, "initial", requirement)


def _shape_of(x: Array, axes: tuple[int, ...], *, keepdims: bool) -> tuple[int, ...]:
    """Return the shape of x reduced along some axes."""
    if keepdims:
        return tuple([1 if d in axes else n for d, n in enumerate(x.shape)])
    return tuple([n for d, n in enumerate(x.shape) if d not in axes])


def _result_of(
    function: ReduceFunction,
    kind: DataType,
    dtype: np.dtype[Any] | None,
    count: int,
    *,
    of_out: bool,
) -> DataType:
    """Return the data type of results of ``count`` elements each, or raise if it is not legal."""
    result = types.result_type(function, kind)
    if dtype is not None:
        words, allowed = types.result_types(function, kind)
        result = known_dtypes().get(dtype, DataType.UNKNOWN)
        wanted = f"{words} for {function.label} of {kind.name.lower()}; got {dtype}"
        if result not in allowed and of_out:
            hint = conversion_hint(
                "out", dtype, [d for d, k in known_dtypes().items() if k in allowed]
            )
            raise BindingError(NAME, "out", f"must have dtype {wanted}{hint}")
        if result not in allowed:
            raise dtype_error(NAME, "dtype", f"must be {wanted}")
    if not types.holds_indices(function, result, count):
        requirement = f"must hold indices up to {count - 1}; got {result.name.lower()}"
        if of_out:
            raise BindingError(NAME, "out", requirement)
        raise dtype_error(NAME, "dtype", requirement)
    return result


def _bind(
    request: ReduceCall | tuple[ReduceCall, bytes],
    arrays: tuple[Array, ...],
    layouts: list[Layout],
    device: int,
) -> Work:
    call, initial = request if isinstance(request, tuple) else (request, None)
    x, out = arrays
    reason = f"for x.shape={x.shape}, axis={call.axes}"
    native.check_output(NAME, "out", out, call.shape, call.dtype, device, reason)
    if not out.size:
        return Work()
    if not x.size:
        constant = types.of_nothing(call.function, call.reduction.result)
        element = np.array(constant, call.dtype).tobytes() if initial is None else initial
        return Work(before=lambda arrays: native.fill_elements(arrays[1], element))
    source, result = layouts
    return Work(plan_reduce(ReduceProblem(call.reduction, source, result, call.axes, initial)))


def _parse(options: tuple[Any, ...], x: Any, out: Array | None = None) -> Call:  # noqa: ANN401
    function, axis, keepdims, dtype, nan, last_index, initial, *_ = options
    given, x = x, as_array(NAME, "x", x)
    call, element, target = call_of(
        x, function, axis, keepdims, dtype, nan, last_index, initial, out
    )
    if x is not given:
        (x,) = send_numbers(NAME, ("x",), (x,), (is_of_numbers(given),), {"out": target})
    request = call if element is None else (call, element)
    if target is not None:
        return Call(request, (x,), (target,))
    make = native.maker(call.shape, call.dtype, native.device_of(x))
    return Call(request, (x,), make=(make,))


_binding = Binding(NAME, ("x", "out"), _parse, _bind, aligned=(0, 1))
_one, _two = _binding.call_one, _binding.call_two
register(NAME, _binding.caches)


def run_reduction(
    reduction: Reduction, x: Array, axes: tuple[int, ...], *, keepdims: bool
) -> Array:
    """Return x reduced along some axes."""
    shape = _shape_of(x, axes, keepdims=keepdims)
    call = ReduceCall(reduction, axes, shape, reduction.result.numpy)
    out = native.empty(call.shape, call.dtype, native.device_of(x))
    _binding.run(call, (x, out))
    return out


@overload
def reduce(
    x: OnGPU, function: Function, axis: Axes = None, *, out: None = None, **how: Unpack[AllRules]
) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def reduce(
    x: OnHost, function: Arg, axis: Axes = None, **how: Unpack[Rules]
) -> NDArray[np.int64]: ...
@overload
def reduce(
    x: NDArray[F], function: Fold, axis: Axes = None, **how: Unpack[Rules]
) -> NDArray[F]: ...
@overload
def reduce(
    x: OnHost, function: Function, axis: Axes = None, *, dtype: DType[T], **how: Unpack[Rules]
) -> NDArray[T]: ...
@overload
def reduce(
    x: OnHost, function: Function, axis: Axes = None, *, out: None = None, **how: Unpack[AllRules]
) -> NDArray[Any]: ...
@overload
def reduce(
    x: AnyArray, function: Function, axis: Axes = None, *, out: None = None, **how: Unpack[AllRules]
) -> Any: ...  # noqa: ANN401  its device is not in its type
@overload
def reduce(
    x: Operand, function: Function, axis: Axes = None, *, out: Out, **how: Unpack[AllRules]
) -> Out: ...
@nvtx_range(NAME)
def reduce(
    x: Any,
    function: Function,
    axis: Axes = None,
    *,
    keepdims: Flag = False,
    dtype: Any = None,
    nan: NanRule = "propagate",
    last_index: Flag = False,
    initial: Any = None,
    out: Array | None = None,
) -> Array:
    """Reduce ``x`` by a function along some of its axes.

    **Sums of integers wrap in their own type: dtype="int64" adds them up in 64 bits.**

    Parameters
    ----------
    x : array, shape (...)
        The data, of 0 to 8 dimensions, any supported dtype and any strides. There is no log_sum_exp
        of complex numbers.
    function : str or ReduceFunction
        Of n elements x:

        - ``"sum"``, ``"multiply"``, ``"average"``: their sum, product, sum / n
        - ``"l1"``, ``"l2"``, ``"sum_square"``: sum of ``|x|``, root of the sum of ``|x|^2``, sum of
          ``x * x``
        - ``"log_sum"``, ``"log_sum_exp"``: natural logarithm of the sum, of the sum of ``exp(x)``,
          the latter to a few units in the last place of the result or of the largest element
        - ``"max"``, ``"min"``: the largest, the smallest
        - ``"argmax"``, ``"argmin"``: where that is, as a row-major index within the reduced axes,
          these ascending

        Complex numbers are in the order of their real parts, equal ones in that of their imaginary
        parts; one with a NaN in either part counts as NaN. Their max and min are the first such
        elements, with all bits, as in NumPy.
        Floats narrower than float64 are added and multiplied in float32, unless the result is wider
        than that. Integers wrap around in the result's type, and are float64 where the result is no
        integer. So l1 of the int8 -128 is 128, or -128 if the result is int8. A bool is whether its
        value is not 0.
    axis : int or tuple of int, optional
        The axes that are reduced; negative values count from the last. None means all of them, ()
        none: the function of each element on its own.
    keepdims : bool, optional
        Whether the result has the reduced axes, with size 1.
    dtype : dtype, optional
        Of the result; it may not hold less than x does, in the order bool, integers, floats,
        complex. l1 and l2 of complex numbers may be floats. argmax and argmin take any integer type
        that their indices fit in. None means that of ``out``; without one, x's own, but for argmax
        and argmin int64; for average, l2, log_sum and log_sum_exp of integers and bool float64; for
        sum, l1 and sum_square of bool int64.

        So int8 [100, 100] sums to -56. NumPy and PyTorch add narrow integers up in 64 bits.
    nan : {"propagate", "ignore"}, optional
        For max, min, argmax and argmin: whether a NaN wins over all numbers, or counts as absent.
        If all are NaN, "ignore" gives NaN, and index 0.
    last_index : bool, optional
        For argmax and argmin: whether the last of equal elements, or of NaNs, is found instead of
        the first.
    initial : scalar, optional
        For sum, multiply, max and min: what each result starts from. It must fit the result's
        dtype. It is added or multiplied before the result is rounded, compared as a value of the
        result's dtype. NaN counts as ``nan`` says. None means that there is none.
    out : array, optional
        Where to put the result: of its shape, any strides and alignment, not overlapping x. Without
        ``dtype``, it may have any dtype that ``dtype`` may be; otherwise it must have that one.

    Returns
    -------
    array, shape of x without the reduced axes, or with size 1 there
        ``out`` if given. Of NumPy for arrays on the host, of CuPy for arrays on a GPU.

    Raises
    ------
    ArgumentError
        There is no such function, or no such axis, or it is named twice; there are too many
        dimensions; ``keepdims`` or ``last_index`` is not a flag; ``nan``, ``last_index`` or
        ``initial`` is not for this function; or x has no elements where max, min, argmax or argmin
        need one.
    DTypeError
        A dtype is not supported, or not for this function and x; x is a tuple of arrays; an axis
        is not an integer; or ``initial`` is not a scalar that fits the result's dtype.
    BindingError
        ``out`` does not fit, x overlaps it, or it is on another device.

    Notes
    -----
    Synchronization: none. Determinism: elements are combined by a balanced binary tree, in the
    order of their indices: neighbours, then neighbours of these, and so on; an odd one passes up.
    ``initial`` is combined last. So equal rows get equal sums, whatever the batch, layout,
    alignment or device. Several axes are in the order in which memory has them, as row-major order
    is for a C-contiguous x. log_sum, log_sum_exp and l1 of complex numbers may have other last bits
    on another GPU architecture, with another version of NVRTC or in the simulator; others have not.
    On a GPU, launches of a stream share workspaces of 72 KiB and more, which few results of many
    elements need; those that it has in a CUDA graph share others, which go with the graph.
    Of no elements, sum, l1, l2 and sum_square are 0, multiply is 1, log_sum and log_sum_exp are
    -inf, average is NaN; with ``initial``, the result is that. +0 and -0 are equal. A sum of -0
    alone is -0, with ``initial`` that value.
    Numbers, and lists of numbers, are copied to the GPU where other arrays of the call are; while a
    CUDA graph is captured, that is an ArgumentError.
    Source: DirectML reference, ``DML_REDUCE_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.reduce([[1, 2], [3, 4]], "sum", axis=0)
    array([4, 6])
    >>> ck.reduce([[1, 7, 2], [7, 0, 7]], "argmax", axis=1, last_index=True)
    array([1, 2])
    >>> ck.reduce([[1, 7, 2], [7, 0, 7]], "max", axis=0, initial=3)
    array([7, 7, 7])
    """
    options = (
        function, axis, keepdims, dtype, nan, last_index, initial,
        type(function), type(axis) if type(axis) is not tuple else kind_of(axis),
        type(keepdims), type(dtype), type(nan), type(last_index),
        None if initial is None else kind_of(initial),
    )  # fmt: skip
    return _one(options, x) if out is None else _two(options, x, out, out)
