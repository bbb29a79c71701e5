"""Reduce: a function of x over some of its axes, such as their sum.

Source: DirectML reference, ``DML_REDUCE_OPERATOR_DESC``; rules R1 to R10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, overload

from cudakern._arrays import (
    Array,
    check_output,
    copied,
    describe,
    empty,
    fill_elements,
    is_read_only,
    layout_of,
    place_of,
)
from cudakern._caches import kept
from cudakern._dtypes import DataType, as_dtype, known
from cudakern._foreign import as_array, as_output
from cudakern._layout import Layout
from cudakern._ranges import named
from cudakern.operators.base import BoundLaunch, BoundTable, Plan
from cudakern.operators.indexing import check_alignment, element_bytes
from cudakern.operators.reduce_arguments import as_axes, as_function, check_flags, find_call
from cudakern.operators.reduce_plan import plan_reduce
from cudakern.operators.reduce_problem import ReduceProblem
from cudakern.operators.reduce_types import NAME

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cudakern._array_types import (
        AllRules,
        AnyArray,
        Arg,
        Axes,
        DType,
        F,
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
    from cudakern.operators.reduce_arguments import ReduceCall

_NAMES = ("x", "out")
_calls: BoundTable[ReduceCall] = kept(f"{NAME} arguments", BoundTable())
_bound: BoundTable[BoundLaunch] = kept(NAME, BoundTable())


@overload
def reduce(
    x: OnGPU, function: Function, axis: Axes = None, *, out: None = None, **how: Unpack[AllRules]
) -> Any: ...  # noqa: ANN401  its place is not in its type
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
) -> Any: ...  # noqa: ANN401  its place is not in its type
@overload
def reduce(
    x: Operand, function: Function, axis: Axes = None, *, out: Out, **how: Unpack[AllRules]
) -> Out: ...
@named(NAME)
def reduce(
    x: Any,
    function: Function,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    dtype: Any = None,
    nan: NanRule = "propagate",
    last_index: bool = False,
    initial: Any = None,
    out: Array | None = None,
) -> Array:
    """Reduce ``x`` by a function along some of its axes.

    Parameters
    ----------
    x : array, shape (...)
        The data, of 0 to 8 dimensions, any supported dtype and any strides. Complex numbers have no
        order, so no max, min, argmax, argmin and log_sum_exp.
    function : str or ReduceFunction
        Of n elements x:

        - ``"sum"``, ``"multiply"``, ``"average"``: their sum, product, sum / n
        - ``"l1"``, ``"l2"``, ``"sum_square"``: sum of ``|x|``, root of the sum of ``|x|^2``, sum of
          ``x * x``
        - ``"log_sum"``, ``"log_sum_exp"``: natural logarithm of the sum, of the sum of ``exp(x)``,
          the latter shifted by the maximum
        - ``"max"``, ``"min"``: the largest, the smallest
        - ``"argmax"``, ``"argmin"``: where that is, as a row-major index within the reduced axes,
          these ascending

        Floats narrower than float64 are added and multiplied in float32, unless the result is wider
        than that. Integers wrap around in the result's type, also ``|x|`` of the least one, and are
        float64 where the result is no integer. A bool is whether its value is not 0.
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

        So sums and products of integers wrap in x's own type: int8 [100, 100] sums to -56. NumPy
        and PyTorch add narrow integers up in 64 bits; with ``dtype="int64"`` so does this function.
    nan : {"propagate", "ignore"}, optional
        For max, min, argmax and argmin: whether a NaN wins over all numbers, or counts as absent.
        If all are NaN, "ignore" gives NaN, and index 0.
    last_index : bool, optional
        For argmax and argmin: whether the last of equal elements, or of NaNs, is found instead of
        the first.
    initial : scalar, optional
        For sum, multiply, max and min: what each result starts from. It must fit the result's
        dtype, and be real for max and min. It is added or multiplied before the result is rounded,
        compared as a value of the result's dtype. NaN counts as ``nan`` says. None means that there
        is none.
    out : array, optional
        Where to put the result: of its shape, any strides, not overlapping x. Without ``dtype``, it
        may have any dtype that ``dtype`` may be; otherwise it must have that one.

    Returns
    -------
    array, shape of x without the reduced axes, or with size 1 there
        ``out`` if given. Of NumPy for arrays on the host, of CuPy for arrays on a GPU.

    Raises
    ------
    ArgumentError
        There is no such function, or no such axis, or it is named twice; there are too many
        dimensions; ``nan``, ``last_index`` or ``initial`` is not for this function; or x has no
        elements where max, min, argmax or argmin need one.
    DTypeError
        A dtype is not supported, or not for this function and x; an axis is no integer; or
        ``initial`` is no scalar that fits the result's dtype.
    BindingError
        ``out`` does not fit, x overlaps it, or it is in another place.

    Notes
    -----
    Synchronization: none. Determinism: the same bits in every run, whatever the number of
    multiprocessors. log_sum, log_sum_exp and l1 of complex numbers may have other last bits on
    another GPU architecture, with another version of NVRTC or in the simulator; others have not.
    On a GPU, launches of a stream share workspaces of 72 KiB and more, which few results of many
    elements need; those that it has in a CUDA graph share others, which go with the graph.
    Of no elements, sum, l1, l2 and sum_square are 0, multiply is 1, log_sum and log_sum_exp are
    -inf, average is NaN; with ``initial``, the result is that. +0 and -0 are equal.
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
    x = as_array(NAME, "x", x)
    if type(function) is not str:
        function = as_function(function)
    if axis is not None and type(axis) is not int:
        axis = as_axes(axis)
    target = None if out is None else as_output(NAME, "out", out)
    of_out = dtype is None
    if not of_out:
        dtype = as_dtype(NAME, dtype, known())
    elif target is not None:
        dtype = target.dtype
    try:
        # No two values of different meaning are equal here: 1.0 is no axis, and raised above.
        key = (
            function, axis, bool(keepdims), dtype, nan, bool(last_index), initial is None,
            x.dtype, x.shape,
        )  # fmt: skip
        call = _calls.find(key)
    except Exception:  # noqa: BLE001  whatever a tensor of another library raises
        check_flags(keepdims=keepdims, last_index=last_index)
        call = None  # nan is not hashable
    if call is None:
        call = _calls.add(key, find_call(x, *key[:6], initial, of_out=of_out))
    if initial is not None:
        initial = element_bytes(NAME, "initial", initial, call.initial_dtype)
    if target is None:
        target = out = empty(call.shape, call.dtype, place_of(x))
    _run(x, target, call, initial)
    return out


def _run(x: Array, out: Array, call: ReduceCall, initial: bytes | None) -> None:
    """Write the result."""
    arrays = (x, out)
    addresses, facts = describe(arrays)
    key = (call, initial, facts)
    bound = _bound.find(key)
    if bound is None or is_read_only(out):
        if not layout_of(x, addresses[0]).is_aligned:
            _run(copied(x), out, call, initial)
            return
        bound = _bound.add(key, _bind(arrays, addresses, call, initial))
    if x.size:
        bound(addresses)
    elif out.size:
        fill_elements(out, call.of_nothing(initial))


def _bind(
    arrays: tuple[Array, Array], addresses: list[int], call: ReduceCall, initial: bytes | None
) -> BoundLaunch:
    """Check everything that the static facts decide, plan, and prepare the launch."""
    x, out = arrays
    place = place_of(x)
    reason = f"for x.shape={x.shape}, axis={call.axes}"
    check_output(NAME, "out", out, call.shape, call.dtype, place, reason)
    layouts = list(map(layout_of, arrays, addresses))
    check_alignment(NAME, "out", layouts[1])
    if not x.size:
        return BoundLaunch(NAME, Plan("empty", None), place, _NAMES, layouts)
    problem = ReduceProblem(
        call.function,
        layouts[0],
        _with_axes(layouts[1], call.axes, x.ndim),
        call.axes,
        DataType.from_numpy(x.dtype),
        DataType.from_numpy(out.dtype),
        call.ignore_nan,
        call.last_index,
        initial,
    )
    return BoundLaunch(NAME, plan_reduce(problem), place, _NAMES, layouts)


def _with_axes(out: Layout, axes: tuple[int, ...], rank: int) -> Layout:
    """Return the layout of a result with the reduced axes, each of one element."""
    if len(out.shape) == rank:
        return out
    kept = iter(zip(out.shape, out.strides, strict=True))
    pairs = [(1, 0) if d in axes else next(kept) for d in range(rank)]
    shape, strides = zip(*pairs, strict=True)
    return Layout(shape, strides, out.itemsize, out.phase)
