"""Reduce over dask arrays: a partial result of each chunk, combined in a tree."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np

from cudakern._arguments import element_bytes
from cudakern._arrays import Array, current, empty, place_of
from cudakern._dtypes import DataType, as_dtype, known
from cudakern._foreign import as_array
from cudakern.dask.operands import (
    Lazy,
    as_lazy,
    flattened,
    joined,
    like,
    of_states,
    only,
    refuse_lazy,
    refuse_output,
    start_of_each,
    tree,
)
from cudakern.operators.reduce.function import (
    ReduceCall,
    as_axes,
    check_flags,
    find_call,
)
from cudakern.operators.reduce.function import reduce as reduce_array
from cudakern.operators.reduce.plan import Reduction
from cudakern.operators.reduce.types import (
    ARG_FUNCTIONS,
    EXTREMES,
    NAME,
    ReduceFunction,
    as_function,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from cudakern._array_types import Axes, Function, NanRule, Scalar

_KEY = f"cudakern-{NAME}"
_SUM, _MAX, _MIN = ReduceFunction.SUM, ReduceFunction.MAX, ReduceFunction.MIN
_AVERAGE, _L2 = ReduceFunction.AVERAGE, ReduceFunction.L2
#: What the states of functions are that cannot be combined themselves.
_STATES = {_AVERAGE: _SUM, _L2: ReduceFunction.SUM_SQUARE, ReduceFunction.LOG_SUM: _SUM}
#: Functions whose states are added up.
_ADDED = {*_STATES, ReduceFunction.L1, ReduceFunction.SUM_SQUARE}


def reduce(
    x: Any,  # noqa: ANN401  arrays of many libraries
    function: Function,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    dtype: DTypeLike | None = None,
    nan: NanRule = "propagate",
    last_index: bool = False,
    initial: Scalar | None = None,
    out: None = None,
) -> Lazy:
    """Reduce a dask array by a function along some of its axes, as `cudakern.reduce` does.

    Parameters
    ----------
    x : dask array, or what `cudakern.reduce` takes
        The data.
    function, axis, keepdims, dtype, nan, last_index, initial
        As for `cudakern.reduce`.
    out : None
        Results are lazy.

    Returns
    -------
    dask array
        Chunked as x is along the axes that are kept.

    Raises
    ------
    ArgumentError, DTypeError, BindingError
        As `cudakern.reduce` raises, when the graph is built; or chunks of x have unknown sizes.

    Notes
    -----
    Partial results of chunks are combined up to 8 at a time:

    - ``sum``, ``l1``, ``sum_square``: sums; ``multiply``: products
    - ``average``: sums, and the number of elements, which is known
    - ``l2``, ``log_sum``: sums of squares, and sums
    - ``log_sum_exp``: themselves, each shifted by its maximum
    - ``max``, ``min``: themselves; ``argmax``, ``argmin``: the value, and its index in all of x

    Integers wrap in the result's type, whatever the chunks. Partial results of floats are in the
    type that `cudakern.reduce` adds them up in, float32 for float16: only the last step rounds to
    the result's. Their order follows the chunks, so sums and products of floats may have other last
    bits than those of one array, or of other chunks; the same chunks give the same bits. Where
    no reduced axis has several chunks, all bits are those of `cudakern.reduce`.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> x = da.arange(6, chunks=2).reshape(2, 3)
    >>> cd.reduce(x, "argmax", axis=1).compute()
    array([2, 2])
    """
    refuse_output(NAME, out)
    refuse_lazy(NAME, function=function, axis=axis, keepdims=keepdims, dtype=dtype, nan=nan)
    refuse_lazy(NAME, last_index=last_index, initial=initial)
    x = as_lazy(NAME, "x", x)
    if type(function) is not str:
        function = as_function(function)
    if axis is not None and type(axis) is not int:
        axis = as_axes(axis)
    if dtype is not None:
        dtype = as_dtype(NAME, dtype, known())
    check_flags(keepdims=keepdims, last_index=last_index)
    keepdims, last_index = bool(keepdims), bool(last_index)
    call = find_call(x, function, axis, keepdims, dtype, nan, last_index, initial, of_out=False)
    start = None
    if initial is not None:
        start = element_bytes(NAME, "initial", initial, call.initial_dtype)
    meta = like(x, len(call.shape), call.dtype)
    symbols = tuple(range(x.ndim))
    if all(x.numblocks[d] == 1 for d in call.axes):
        kept = tuple(d for d in symbols if keepdims or d not in call.axes)
        return da.blockwise(
            _reduce_whole,
            kept,
            x,
            symbols,
            adjust_chunks=dict.fromkeys(call.axes, 1) if keepdims else None,
            token=_KEY,
            meta=meta,
            call=call,
            initial=start,
            keep=keepdims,
        )
    positions = call.function in ARG_FUNCTIONS
    states = (_Places if positions else _Values)(call, start, x.dtype, x.shape)
    partial_results = da.blockwise(
        states.of_chunk,
        symbols,
        x,
        symbols,
        *(start_of_each(x, call.axes) if positions else ()),
        adjust_chunks=dict.fromkeys(call.axes, 1),
        token=f"{_KEY}-chunk",
        align_arrays=False,
        meta=of_states(x.ndim),
    )
    return tree(
        partial_results, call.axes, states.combine, states.finish, _KEY, meta, keepdims=keepdims
    )


def _nan(call: ReduceCall) -> NanRule:
    return "ignore" if call.ignore_nan else "propagate"


def _reduce_whole(chunk: object, call: ReduceCall, initial: bytes | None, *, keep: bool) -> Array:
    """Return the result for a chunk that has all that is reduced."""
    return reduce_array(
        only(chunk),
        call.function,
        call.axes,
        keepdims=keep,
        dtype=call.dtype,
        nan=_nan(call),
        last_index=call.last_index,
        initial=_scalar(call, initial),
    )


def _scalar(call: ReduceCall, initial: bytes | None) -> Any:  # noqa: ANN401  of any dtype
    """Return an initial value that was checked, as the function takes it."""
    return None if initial is None else np.frombuffer(initial, call.initial_dtype)[0]


@dataclass(frozen=True)
class _States:
    """Partial results, whose reduced axes have size 1; of an empty chunk, 0 along the first.

    Attributes
    ----------
    call : ReduceCall
        What is computed.
    initial : bytes or None
        An initial value, of the call's ``initial_dtype``.
    kind : numpy.dtype
        Of x.
    shape : tuple of int
        Of x.
    """

    call: ReduceCall
    initial: bytes | None
    kind: np.dtype[Any]
    shape: tuple[int, ...]

    def of_nothing(self, chunk: Array, dtype: np.dtype[Any]) -> Array | None:
        """Return the state of a chunk without an element for a result; None if there are some."""
        axes = self.call.axes
        if all(chunk.shape[d] for d in axes):
            return None
        shape = [1 if d in axes else n for d, n in enumerate(chunk.shape)]
        shape[axes[0]] = 0
        return empty(shape, dtype, place_of(chunk))


class _Values(_States):
    """States that are arrays: sums, products, largest or smallest elements."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """What values are kept in until the last step."""
        call = self.call
        if call.function in EXTREMES:
            return self.kind
        if call.dtype.kind in "iub":
            return call.dtype
        kinds = DataType.from_numpy(self.kind), DataType.from_numpy(call.dtype)
        return Reduction(call.function, *kinds).accumulator.numpy

    def of_chunk(self, chunk: Array) -> Array:
        """Return the state of a chunk."""
        chunk = as_array(NAME, "x", chunk)
        function, axes = self.call.function, self.call.axes
        nothing = self.of_nothing(chunk, self.dtype)
        if nothing is not None:
            return nothing
        is_norm = function is _L2 and chunk.dtype.kind == "c"  # the sum of |x|^2, not of x * x
        parts = [chunk.real, chunk.imag] if is_norm else [chunk]
        function = _STATES.get(function, function)
        return joined([self._reduced(part, function, self.dtype) for part in parts], axes[0])

    def combine(self, states: object, axis: object, keepdims: object) -> Array:
        """Return the state of several chunks."""
        del axis, keepdims
        state = joined(flattened(states), self.call.axes[0])
        if state.shape[self.call.axes[0]] <= 1:
            return state
        function = self.call.function
        return self._reduced(state, _SUM if function in _ADDED else function, self.dtype)

    def finish(self, states: object, axis: object, keepdims: bool) -> Array:  # noqa: FBT001  dask's
        """Return the result."""
        del axis
        call = self.call
        state = joined(flattened(states), call.axes[0])
        if call.function in {_AVERAGE, _L2}:
            return self._average_or_root(state, keepdims=keepdims)
        function = _SUM if call.function in _ADDED - {*_STATES} else call.function
        initial = _scalar(call, self.initial)
        return self._reduced(state, function, call.dtype, initial=initial, keepdims=keepdims)

    def _reduced(
        self,
        x: Array,
        function: ReduceFunction,
        dtype: np.dtype[Any],
        *,
        initial: Any = None,  # noqa: ANN401  of any dtype
        keepdims: bool = True,
    ) -> Array:
        nan = _nan(self.call)
        return reduce_array(
            x, function, self.call.axes, keepdims=keepdims, dtype=dtype, nan=nan, initial=initial
        )

    def _average_or_root(self, state: Array, *, keepdims: bool) -> Array:
        """Return sums divided by the number of elements, or their square roots.

        In float64, as CuPy makes subnormal float32 zero; kernels of ours convert.
        """
        total = self._reduced(state, _SUM, self.dtype, keepdims=keepdims)
        widest = np.complex128 if self.dtype.kind == "c" else np.float64
        wide = reduce_array(total, _SUM, (), dtype=widest)
        numbers = wide.reshape(-1).view(np.float64)
        with current(place_of(state)), np.errstate(all="ignore"):
            if self.call.function is _L2:
                np.sqrt(numbers, out=numbers)
            else:
                numbers /= prod(self.shape[d] for d in self.call.axes)
        return reduce_array(wide, _SUM, (), dtype=self.call.dtype)


class _Places(_States):
    """States that are pairs: the largest or smallest values, and where they are in all of x."""

    @property
    def extreme(self) -> ReduceFunction:
        """What the value is."""
        return _MAX if self.call.function is ReduceFunction.ARGMAX else _MIN

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of values: float64 for floats, which CuPy compares without making subnormals zero."""
        return self.kind if self.kind.kind in "iub" else np.dtype(np.float64)

    def of_chunk(self, chunk: Array, *starts: int) -> tuple[Array, Array]:
        """Return the state of a chunk that starts there along the reduced axes."""
        chunk = as_array(NAME, "x", chunk)
        call, nan = self.call, _nan(self.call)
        values = self.of_nothing(chunk, self.dtype)
        if values is not None:
            return values, empty(values.shape, np.dtype(np.int64), place_of(chunk))
        values = reduce_array(
            chunk, self.extreme, call.axes, keepdims=True, dtype=self.dtype, nan=nan
        )
        rest = reduce_array(
            chunk, call.function, call.axes, keepdims=True, nan=nan, last_index=call.last_index
        )
        with current(place_of(chunk)):
            places, step = rest * 0, 1
            for axis, start in zip(call.axes[::-1], starts[::-1], strict=True):
                places += (rest % chunk.shape[axis] + int(start)) * step
                rest = rest // chunk.shape[axis]
                step *= self.shape[axis]
            if call.ignore_nan:
                places *= values == values  # noqa: PLR0124  where all are NaN, 0 in all of x, too
        return values, places

    def combine(self, states: object, axis: object, keepdims: object) -> tuple[Array, Array]:
        """Return the state of several chunks."""
        del axis, keepdims
        call = self.call
        along = call.axes[0]
        pairs = _pairs(states)
        values, places = (joined(parts, along) for parts in zip(*pairs, strict=True))
        if values.shape[along] <= 1:
            return values, places
        best = reduce_array(values, self.extreme, along, keepdims=True, nan=_nan(call))
        function, beyond = (_MAX, -1) if call.last_index else (_MIN, np.iinfo(np.int64).max)
        with current(place_of(values)):
            chosen = values == best
            if self.dtype.kind == "f":
                chosen |= np.isnan(values) & np.isnan(best)
            places = np.where(chosen, places, beyond)
        return best, reduce_array(places, function, along, keepdims=True)

    def finish(self, states: object, axis: object, keepdims: bool) -> Array:  # noqa: FBT001  dask's
        """Return the result."""
        _, places = self.combine(states, axis, keepdims)
        return reduce_array(places, _MAX, self.call.axes, keepdims=keepdims, dtype=self.call.dtype)


def _pairs(states: object) -> list[tuple[Array, Array]]:
    """Return pairs that are in lists of lists."""
    return flattened(states)
