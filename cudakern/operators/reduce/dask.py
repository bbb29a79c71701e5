"""Reductions over dask arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.operators.arrays import lazy
from cudakern.operators.arrays.foreign import as_array
from cudakern.operators.arrays.lazy import Lazy, concatenate, map_chunks, only_chunk
from cudakern.operators.arrays.native import Array, device_of, empty, use_device
from cudakern.operators.reduce import function as eager
from cudakern.operators.reduce import types
from cudakern.operators.reduce.function import ReduceCall, call_of
from cudakern.operators.reduce.types import ARG_FUNCTIONS, EXTREMES, NAME, ReduceFunction
from cudakern.values.dtypes import DataType

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from cudakern.operators.annotations import Axes, Flag, Function, NanRule, Scalar

_INT64 = np.dtype(np.int64)
_SUM, _MAX, _MIN = ReduceFunction.SUM, ReduceFunction.MAX, ReduceFunction.MIN
_AVERAGE, _L2 = ReduceFunction.AVERAGE, ReduceFunction.L2
#: The functions of chunks, for functions whose own results cannot be combined.
_PARTIAL = {_AVERAGE: _SUM, _L2: ReduceFunction.SUM_SQUARE, ReduceFunction.LOG_SUM: _SUM}
#: Functions whose partial results are added up.
_ADDED = {*_PARTIAL, ReduceFunction.L1, ReduceFunction.SUM_SQUARE}


def reduce(
    x: Any,  # noqa: ANN401  arrays of many libraries
    function: Function,
    axis: Axes = None,
    *,
    keepdims: Flag = False,
    dtype: DTypeLike | None = None,
    nan: NanRule = "propagate",
    last_index: Flag = False,
    initial: Scalar | None = None,
    out: None = None,
) -> Lazy:
    """Reduce a dask array by a function along some of its axes, as `cudakern.reduce` does.

    **Sums of integers wrap in their own type: dtype="int64" adds them up in 64 bits.**

    Parameters
    ----------
    x, function, axis, keepdims, dtype, nan, last_index, initial, out
        As for `cudakern.reduce`.

    Returns
    -------
    dask array
        Chunked as x is along the axes that are kept.

    Notes
    -----
    Partial results of chunks are combined up to 8 at a time:

    - ``sum``, ``l1``, ``sum_square``: sums; ``multiply``: products
    - ``average``: sums, and the number of elements, which is known
    - ``l2``, ``log_sum``: sums of squares, and sums
    - ``log_sum_exp``: a maximum, and the sum of the other exponentials beside it
    - ``max``, ``min``: themselves; ``argmax``, ``argmin``: the value, and its index in all of x

    Integers wrap in the result's type, whatever the chunks. Partial results of floats are in the
    type that `cudakern.reduce` adds them up in, float32 for float16: only the last step rounds to
    the result's.

    Chunks are combined in order, by a tree. So all bits are those of `cudakern.reduce` where no
    reduced axis has several chunks. They are, too, where one has, all its chunks but the last have
    the same power of two of elements, and the last has no more; but not those of l2 of complex
    numbers, and of log_sum_exp with results of 16 bits. Of several reduced axes, only the outermost
    in memory may have several chunks for that, and elements are counted in all of them. Other
    chunks may give other last bits of sums and products; the same chunks give the same.

    Of several largest or smallest complex numbers, zeros of either sign or NaNs, another one may be
    found.

    Examples
    --------
    >>> import dask.array as da
    >>> import cudakern.dask as cd
    >>> x = da.arange(6, chunks=2).reshape(2, 3)
    >>> cd.reduce(x, "argmax", axis=1).compute()
    array([2, 2])
    """
    types.require_order(x, function)
    lazy.require_known(NAME, out, function=function, axis=axis, keepdims=keepdims, dtype=dtype)
    lazy.require_known(NAME, nan=nan, last_index=last_index, initial=initial)
    x = lazy.as_lazy(NAME, "x", x)
    call, start, _ = call_of(x, function, axis, keepdims, dtype, nan, last_index, initial)
    keepdims = bool(keepdims)
    meta, symbols = lazy.meta_like(x, len(call.shape), call.dtype), tuple(range(x.ndim))
    finds_positions = call.function in ARG_FUNCTIONS
    values = _Exponentials if call.function is ReduceFunction.LOG_SUM_EXP else _Values
    states = (_Positions if finds_positions else values)(call, start, x.shape, keepdims)
    ones = dict.fromkeys(call.axes, 1)
    if all(x.numblocks[d] == 1 for d in call.axes):
        remaining = tuple(d for d in symbols if keepdims or d not in call.axes)
        ones = ones if keepdims else {}
        return map_chunks(NAME, states.of_whole, remaining, meta, x, symbols, adjust_chunks=ones)
    starts = lazy.start_of_each(x, call.axes) if finds_positions else ()
    no_arrays, name = lazy.meta_of_states(x.ndim), f"{NAME}-chunk"
    parts = map_chunks(
        name, states.of_chunk, symbols, no_arrays, x, symbols, *starts, adjust_chunks=ones
    )
    return lazy.tree(NAME, parts, call.axes, states.combine, states.finish, meta, keepdims=keepdims)


@dataclass(frozen=True)
class _States:
    """Partial results with reduced axes of size 1; for an empty chunk, the first has size 0."""

    call: ReduceCall
    initial: bytes | None  # one element of the result
    shape: tuple[int, ...]  # of x
    keepdims: bool

    def reduce(self, x: Array, function: ReduceFunction, **options: Any) -> Array:  # noqa: ANN401
        """Return x reduced along the axes of the call, which stay, with its rule for NaN."""
        nan = "ignore" if self.call.reduction.ignore_nan else "propagate"
        rules: dict[str, Any] = {"keepdims": True, "nan": nan, **options}
        return eager.reduce(x, function, self.call.axes, **rules)

    def result(self, x: Array, function: ReduceFunction, **options: Any) -> Array:  # noqa: ANN401
        """Return x reduced to the result, from the initial value on."""
        dtype, initial = self.call.dtype, self.initial
        if initial is not None:
            options["initial"] = np.frombuffer(initial, dtype)[0]
        return self.reduce(x, function, dtype=dtype, keepdims=self.keepdims, **options)

    def of_whole(self, chunk: object) -> Array:
        """Return the result for a chunk with all elements that are reduced."""
        last_index = self.call.reduction.last_index
        return self.result(only_chunk(chunk), self.call.function, last_index=last_index)

    def of_nothing(self, chunk: Array, dtype: np.dtype[Any]) -> Array | None:
        """Return the state of a chunk whose results have no element; None for other chunks."""
        axes = self.call.axes
        if all(chunk.shape[d] for d in axes):
            return None
        shape = [1 if d in axes else n for d, n in enumerate(chunk.shape)]
        shape[axes[0]] = 0
        return empty(tuple(shape), dtype, device_of(chunk))


class _Values(_States):
    """States that are arrays: sums, products, largest or smallest elements."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of values until the last step."""
        reduction = self.call.reduction
        if reduction.function in EXTREMES:
            return reduction.kind.numpy
        return self.call.dtype if self.call.dtype.kind in "iub" else reduction.accumulator.numpy

    def partial(self, x: Array, function: ReduceFunction) -> Array:
        """Return elements, or states, reduced to a state."""
        return self.reduce(x, function, dtype=self.dtype)

    def of_chunk(self, chunk: Array) -> Array:
        chunk = as_array(NAME, "x", chunk)
        function, axes = self.call.function, self.call.axes
        nothing = self.of_nothing(chunk, self.dtype)
        if nothing is not None:
            return nothing
        is_norm = function is _L2 and chunk.dtype.kind == "c"  # the sum of |x|^2, not of x * x
        parts = [chunk.real, chunk.imag] if is_norm else [chunk]
        function = _PARTIAL.get(function, function)
        return concatenate([self.partial(part, function) for part in parts], axes[0])

    def combine(self, states: list[Array]) -> Array:
        function, along = self.call.function, self.call.axes[0]
        state = concatenate(states, along)
        if state.shape[along] <= 1:
            return state
        return self.partial(state, _SUM if function in _ADDED else function)

    def finish(self, states: list[Array]) -> Array:
        call = self.call
        state = concatenate(states, call.axes[0])
        if call.function not in {_AVERAGE, _L2}:
            function = _SUM if call.function in _ADDED - {*_PARTIAL} else call.function
            return self.result(state, function)
        # In float64, as CuPy treats subnormal float32 as zero; kernels of this package convert.
        # Rounded to the dtype of the arithmetic, quotients and roots are those of that dtype.
        total = self.reduce(state, _SUM, dtype=self.dtype, keepdims=self.keepdims)
        widest = np.complex128 if self.dtype.kind == "c" else np.float64
        wide = eager.reduce(total, _SUM, (), dtype=widest)
        numbers = wide.reshape(-1).view(np.float64)
        with use_device(device_of(state)), np.errstate(all="ignore"):
            if call.function is _L2:
                np.sqrt(numbers, out=numbers)
            else:
                count = prod(self.shape[d] for d in call.axes)
                numbers /= float(call.reduction.number.numpy.type(count))
        rounded = eager.reduce(wide, _SUM, (), dtype=self.dtype)
        return eager.reduce(rounded, _SUM, (), dtype=call.dtype)


class _Exponentials(_Values):
    """States of log_sum_exp, as complex numbers."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.call.reduction.state.numpy

    def partial(self, x: Array, function: ReduceFunction) -> Array:  # noqa: ARG002  the call's
        """Return elements, or states, reduced to a state."""
        kind, state = DataType.from_numpy(x.dtype), self.call.reduction.state
        reduction = replace(self.call.reduction, kind=kind, result=state, keeps_state=True)
        return eager.run_reduction(reduction, x, self.call.axes, keepdims=True)

    def finish(self, states: list[Array]) -> Array:
        state = concatenate(states, self.call.axes[0])
        reduction = replace(self.call.reduction, kind=DataType.from_numpy(state.dtype))
        return eager.run_reduction(reduction, state, self.call.axes, keepdims=self.keepdims)


class _Positions(_States):
    """States that are pairs: the largest or smallest values, and where they are in all of x."""

    @property
    def extreme(self) -> ReduceFunction:
        return _MAX if self.call.function is ReduceFunction.ARGMAX else _MIN

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of values: double for floats, since CuPy treats subnormal float32 as zero."""
        kind = self.call.reduction.kind.numpy
        if kind.kind in "iub":
            return kind
        return np.dtype(np.complex128 if kind.kind == "c" else np.float64)

    def of_chunk(self, chunk: Array, *starts: int) -> tuple[Array, Array]:
        """Return the state of a chunk that begins at ``starts`` along the reduced axes."""
        chunk = as_array(NAME, "x", chunk)
        call = self.call
        values = self.of_nothing(chunk, self.dtype)
        if values is not None:
            return values, empty(values.shape, _INT64, device_of(chunk))
        values = self.reduce(chunk, self.extreme, dtype=self.dtype)
        rest = self.reduce(chunk, call.function, last_index=call.reduction.last_index)
        with use_device(device_of(chunk)):
            positions, step = rest * 0, 1
            for axis, start in zip(call.axes[::-1], starts[::-1], strict=True):
                positions += (rest % chunk.shape[axis] + int(start)) * step
                rest = rest // chunk.shape[axis]
                step *= self.shape[axis]
            if call.reduction.ignore_nan:
                positions *= values == values  # noqa: PLR0124  where all are NaN, 0 in all of x, too
        return values, positions

    def combine(self, states: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        along = self.call.axes[0]
        values, positions = (concatenate(parts, along) for parts in zip(*states, strict=True))
        if values.shape[along] <= 1:
            return values, positions
        best = self.reduce(values, self.extreme)
        function, beyond = (
            (_MAX, -1) if self.call.reduction.last_index else (_MIN, np.iinfo(np.int64).max)
        )
        with use_device(device_of(values)):
            chosen = values == best
            if self.dtype.kind in "fc":
                chosen |= np.isnan(values) & np.isnan(best)
            positions = np.where(chosen, positions, beyond)
        return best, self.reduce(positions, function)

    def finish(self, states: list[tuple[Array, Array]]) -> Array:
        _, positions = self.combine(states)
        return self.result(positions, _MAX)
