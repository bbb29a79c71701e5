"""Lookups in arrays by indices, for gather and gather_nd."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cudakern.operators.arrays import native
from cudakern.operators.arrays.foreign import as_array, as_output, is_of_numbers, send_numbers
from cudakern.operators.binding import Binding, Call, Work
from cudakern.operators.indexing.check import raise_if_outside, require_extents
from cudakern.operators.indexing.indices import (
    Selection,
    as_indices,
    check_mode,
    index_type,
    widen,
)
from cudakern.process.caches import register
from cudakern.values.dtypes import copyable_dtypes, require_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from cudakern.engines.base import Launch
    from cudakern.operators.arrays.native import Array
    from cudakern.operators.indexing.rows import RowProblem
    from cudakern.values.layout import Layout

    #: Takes x, indices, the option that gives the first axis, mode, fill value, and the meaning of
    #: negative indices.
    Select = Callable[[Array, Array, Any, str, object, str], Selection]
    #: Takes the layouts of x, indices and out, the first axis, the type that kernels read indices
    #: as, the mode and the fill pattern.
    RowsOf = Callable[[Layout, Layout, Layout, int, str, str, bytes], RowProblem]


def as_operands(
    operator: str, x: object, indices: object, least: int, out: object
) -> tuple[Array, Array]:
    """Return x and indices as arrays of supported dtypes; indices have ``least`` dimensions."""
    data = as_array(operator, "x", x)
    positions = as_indices(operator, indices, as_array(operator, "indices", indices), data)
    require_operands(operator, data, positions, least)
    if data is not x or positions is not indices:
        of_numbers = map(is_of_numbers, (x, indices))
        names, arrays = ("x", "indices"), (data, positions)
        data, positions = send_numbers(operator, names, arrays, of_numbers, {"out": out})
    return data, positions


def require_operands(operator: str, x: Array, indices: Array, least: int) -> None:
    """Raise DTypeError for an x of another dtype, ArgumentError for wrong numbers of dimensions."""
    require_dtype(operator, "x", x.dtype, copyable_dtypes())
    native.require_rank(operator, "x", x, 1)
    native.require_rank(operator, "indices", indices, least)


class Lookup:
    """The work of gather or gather_nd, whose indices have ``least`` dimensions or more.

    ``option`` names what gives the first axis.
    """

    def __init__(
        self,
        operator: str,
        option: str,
        least: int,
        select: Select,
        rows_of: RowsOf,
        plan: Callable[[RowProblem], Launch | None],
    ) -> None:
        self._operator, self._option = operator, option
        self._least, self._select = least, select
        self._rows_of, self._plan = rows_of, plan
        names = ("x", "indices", "out")
        self.binding = Binding(operator, names, self._parse, self._bind, aligned=(1,))
        register(operator, self.binding.caches)

    def _parse(
        self,
        options: tuple[Any, ...],
        x: Any,  # noqa: ANN401
        indices: Any,  # noqa: ANN401
        out: Array | None = None,
    ) -> Call:
        option, mode, fill_value, negative, *_ = options
        check_mode(self._operator, mode, negative, fill_value)
        x, indices = as_operands(self._operator, x, indices, self._least, out)
        selection = self._select(x, indices, option, mode, fill_value, negative)
        waits = selection.mode == "raise"
        if waits:
            requirement = "must not be 'raise', which waits for the GPU,"
            native.require_eager(self._operator, "mode", requirement, native.device_of(x))
        if selection.negative == "invalid":
            indices = widen(indices, selection.extents(x.shape), selection.negative)
        if out is not None:
            target = as_output(self._operator, "out", out)
            return Call(selection, (x, indices), (target,), is_alike=not waits)
        shape = selection.shape(x, indices)
        device = native.common_device(self._operator, ("x", "indices"), (x, indices))
        native.require_size(self._operator, "indices", shape, x.dtype.itemsize)
        make = native.maker(shape, x.dtype, device)
        return Call(selection, (x, indices), make=(make,), is_alike=not waits)

    def _bind(
        self, selection: Selection, arrays: tuple[Array, ...], layouts: list[Layout], device: int
    ) -> Work:
        x, indices, out = arrays
        shape, reason = selection.shape(x, indices), f"for {self._option}={selection.first}"
        native.check_output(self._operator, "out", out, shape, x.dtype, device, reason)
        extents = selection.extents(x.shape)
        if 0 in extents:
            return Work(before=partial(self._fill, selection) if out.size else None)
        kind, mode = index_type(indices, selection.negative), selection.mode
        source, where, to = layouts
        problem = self._rows_of(source, where, to, selection.first, kind, mode, selection.fill)
        checks = mode == "raise" and extents and out.size
        return Work(self._plan(problem), partial(self._check, selection) if checks else None)

    def _fill(self, selection: Selection, arrays: tuple[Array, ...]) -> None:
        """Fill the result if x has an empty axis."""
        x, indices, out = arrays
        if selection.mode != "fill":
            require_extents(self._operator, selection, x.shape, indices.size)
        native.fill_elements(out, selection.fill[: x.dtype.itemsize])

    def _check(self, selection: Selection, arrays: tuple[Array, ...]) -> None:
        """Raise IndexRangeError if an index is out of range."""
        x, indices, _ = arrays
        raise_if_outside(self._operator, indices, selection, x.shape)
