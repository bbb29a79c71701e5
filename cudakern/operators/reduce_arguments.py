"""What the arguments of reduce mean: axes, dtype and shape of the result.

Source: DirectML reference, ``DML_REDUCE_OPERATOR_DESC``; rules R1 to R5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any

import numpy as np

from cudakern.arrays import MAX_BYTES, Array, require_data, require_rank
from cudakern.dtypes import DataType
from cudakern.errors import DescriptorError, DTypeError
from cudakern.operators.base import normalize_axis
from cudakern.operators.reduce_types import (
    ARG_FUNCTIONS,
    NAME,
    NAN_FUNCTIONS,
    ReduceFunction,
    as_function,
    holds_indices,
    of_nothing,
    result_type,
)

_IGNORED = {"propagate": False, "ignore": True}


@dataclass(frozen=True, slots=True, eq=False)
class ReduceCall:
    """What the arguments of a call mean for x of a dtype and shape.

    Attributes
    ----------
    function : ReduceFunction
        What is computed.
    axes : tuple of int
        The axes that are reduced, ascending.
    shape, dtype
        Of the result.
    ignore_nan, last_index : bool
        As in ReduceProblem.
    constant : complex or None
        What all of the result is if x is empty.
    """

    function: ReduceFunction
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    ignore_nan: bool
    last_index: bool
    constant: complex | None


def as_axes(axis: object) -> int | tuple[int, ...]:
    """Return axes as an int or a tuple of those."""
    try:
        return tuple(map(index, axis)) if isinstance(axis, tuple) else index(axis)  # type: ignore[arg-type]  # so TypeError
    except TypeError:
        message = f"{NAME}: axis must be an int, a tuple of ints or None; got {axis!r}"
        raise DTypeError(message) from None


def find_call(
    x: Array,
    given: str | ReduceFunction,
    axis: int | tuple[int, ...] | None,
    keepdims: bool,  # noqa: FBT001  as in the key
    dtype: np.dtype[Any] | None,
    nan: object,
    last_index: bool,  # noqa: FBT001
) -> ReduceCall:
    """Check the arguments of a call and return what they mean."""
    require_data(NAME, "x", x)
    require_rank(NAME, "x", x, 0)
    function = as_function(given)
    ignored = _IGNORED.get(nan) if isinstance(nan, str) else None
    if ignored is None:
        requirement = f"must be 'propagate' or 'ignore'; got {nan!r}"
        raise DescriptorError(NAME, "nan", requirement)
    if ignored and function not in NAN_FUNCTIONS:
        requirement = f"must be 'propagate' for {function.label}; got 'ignore'"
        raise DescriptorError(NAME, "nan", requirement)
    if last_index and function not in ARG_FUNCTIONS:
        requirement = f"must be False for {function.label}; got True"
        raise DescriptorError(NAME, "last_index", requirement)
    axes = _normalized(axis, x.ndim)
    kind = DataType.from_numpy(x.dtype)
    result = result_type(function, kind, None if dtype is None else DataType.from_numpy(dtype))
    count = prod(x.shape[d] for d in axes)
    if not holds_indices(function, result, count):
        message = f"{NAME}: dtype must hold indices up to {count - 1}; got {result.name.lower()}"
        raise DTypeError(message)
    if keepdims:
        shape = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
    else:
        shape = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    if prod(n for n in shape if n) * result.itemsize > MAX_BYTES:
        requirement = f"must give a result of less than 2^63 bytes; got shape {x.shape}"
        raise DescriptorError(NAME, "x", requirement)
    constant = of_nothing(function, result)
    if constant is None and x.size == 0 and 0 not in shape:
        requirement = f"must have elements for {function.label}, which has no identity"
        raise DescriptorError(NAME, "x", f"{requirement}; got shape {x.shape}")
    return ReduceCall(function, axes, shape, result.numpy, ignored, last_index, constant)


def _normalized(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Return axes counted from the first one, ascending."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple) else (axis,)
    if given and rank == 0:
        raise DescriptorError(NAME, "axis", f"must be None or () for a scalar; got {axis}", "R3")
    axes = tuple(sorted(normalize_axis(NAME, d, rank, "R3") for d in given))
    if len(set(axes)) < len(axes):
        raise DescriptorError(NAME, "axis", f"must name no axis twice; got {axis}", "R5")
    return axes
