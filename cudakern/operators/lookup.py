"""What the functions that look elements up by indices do with their operands, once these are known.

A call is bound, checked for bad indices where the mode demands it, and launched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cudakern._arrays import (
    Array,
    check_output,
    common_place,
    copied,
    describe,
    empty,
    fill_elements,
    is_read_only,
    layout_of,
    place_of,
    require_eager,
    require_rank,
    require_size,
)
from cudakern._caches import kept
from cudakern._dtypes import copyable, require_dtype
from cudakern._foreign import as_array, as_output
from cudakern.operators.base import BoundLaunch, BoundTable, Plan
from cudakern.operators.indexing import (
    as_indices,
    index_type,
    raise_if_outside,
    require_extents,
    widened,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cudakern._layout import Layout

    #: Returns the plan for the layouts of x, indices and out, and the dtype of the indices.
    Planner = Callable[[Sequence[Layout], "Selection", str], Plan]


def as_operands(operator: str, x: object, indices: object, least: int) -> tuple[Array, Array]:
    """Return x and indices as arrays of supported dtypes, the latter of ``least`` dimensions."""
    data = as_array(operator, "x", x)
    positions = as_indices(operator, indices, as_array(operator, "indices", indices))
    require_dtype(operator, "x", data.dtype, copyable())
    require_rank(operator, "x", data, 1)
    require_rank(operator, "indices", positions, least)
    return data, positions


class Selection(NamedTuple):
    """What indices select, and what those out of range mean.

    Attributes
    ----------
    first, stop : int
        The axes of x that indices select from: from the first to before ``stop``.
    mode : str
        One of MODES.
    fill : bytes
        The fill value repeated to 16 bytes.
    negative : str
        What a negative index is: counted from the end, or invalid.
    """

    first: int
    stop: int
    mode: str
    fill: bytes
    negative: str


class _BoundLookup(BoundLaunch):
    """A bound launch, and whether a call takes more than to run it."""

    __slots__ = ("special",)
    special: bool


class LookupFunction:
    """The part of a function that comes after its operands' own checks.

    Parameters
    ----------
    operator : str
        The function's name.
    option : str
        The parameter that the first axis is given by.
    tuples : bool
        Whether the last dimension of the indices runs over the axes.
    plan : callable
        Returns the plan for bound layouts.
    """

    def __init__(self, operator: str, option: str, plan: Planner, *, tuples: bool) -> None:
        self._operator = operator
        self._option = option
        self._plan = plan
        self._tuples = tuples
        self.bound: BoundTable[_BoundLookup] = kept(operator, BoundTable())

    def __call__(
        self,
        operands: tuple[Array, Array],
        selection: Selection,
        shape: tuple[int, ...],
        out: Array | None,
    ) -> Array:
        """Return the result for x and indices, of this shape, in ``out`` if given.

        Raises
        ------
        ArgumentError
            The call would wait for the GPU, and is being captured into a graph.
        BindingError
            An array does not fit.
        IndexRangeError
            As the mode demands.
        """
        x, indices = operands
        if selection.mode == "raise":
            requirement = "must not be 'raise', which waits for the GPU,"
            require_eager(self._operator, "mode", requirement, place_of(x))
        if selection.negative == "invalid":
            extents = x.shape[selection.first : selection.stop]
            indices = widened(indices, extents, selection.negative)
        if out is None:
            place = common_place(self._operator, ("x", "indices"), (x, indices))
            require_size(self._operator, "indices", shape, x.dtype.itemsize)
            out = empty(shape, x.dtype, place)
        target = as_output(self._operator, "out", out)
        arrays = (x, indices, target)
        addresses, facts = describe(arrays)
        key = (selection, facts)
        bound = self.bound.find(key)
        if bound is None or is_read_only(target):
            if not layout_of(indices, addresses[1]).is_aligned:
                return self((x, copied(indices)), selection, shape, out)
            bound = self.bound.add(key, self._bind(selection, arrays, addresses, shape))
        if not bound.special or self._launches(selection, arrays, bound, addresses):
            bound(addresses)
        return out

    def _bind(
        self,
        selection: Selection,
        arrays: tuple[Array, ...],
        addresses: list[int],
        shape: tuple[int, ...],
    ) -> _BoundLookup:
        """Check everything that the static facts decide, plan, and prepare the launch."""
        operator, (x, indices, out) = self._operator, arrays
        place = common_place(operator, ("x", "indices"), (x, indices))
        reason = f"for {self._option}={selection.first}"
        check_output(operator, "out", out, shape, x.dtype, place, reason)
        layouts = tuple(map(layout_of, arrays, addresses))
        extents = x.shape[selection.first : selection.stop]
        launches = 0 not in extents
        plan = (
            self._plan(layouts, selection, index_type(indices, selection.negative))
            if launches
            else Plan("empty", None)
        )
        bound = _BoundLookup(operator, plan, place, ("x", "indices", "out"), layouts)
        checks = selection.mode == "raise" and bool(extents)
        bound.special = out.size > 0 and (checks or not launches)
        return bound

    def _launches(
        self,
        selection: Selection,
        arrays: tuple[Array, ...],
        bound: BoundLaunch,
        addresses: list[int],
    ) -> bool:
        """Do what a call takes besides its launch; return whether that is still to be done."""
        x, indices, target = arrays
        first, stop, mode, fill, negative = selection
        bound.check(addresses)
        extents = x.shape[first:stop]
        if 0 in extents:
            if mode != "fill":
                require_extents(self._operator, extents, first, indices.size)
            fill_elements(target, fill[: x.dtype.itemsize])
            return False
        raise_if_outside(
            self._operator, indices, extents, first, tuples=self._tuples, negative=negative
        )
        return True
