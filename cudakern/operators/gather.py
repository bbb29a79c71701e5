"""Gather: slices of a tensor along one axis.

Source: DirectML reference, ``DML_GATHER_OPERATOR_DESC``; rules G1 to G9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, overload

from cudakern._ranges import named
from cudakern.feature_level import FeatureLevel
from cudakern.operators.base import OperatorDesc, Plan, normalize_axis
from cudakern.operators.gather_plan import GatherProblem, plan_gather
from cudakern.operators.indexing import (
    DATA_TYPES,
    INDEX_DATA_TYPES,
    NO_FILL,
    ZERO,
    check_alignment,
    check_mode,
    fill_pattern,
)
from cudakern.operators.lookup import LookupFunction, Selection, as_operands
from cudakern.tensor import TensorDesc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cudakern._array_types import (
        AnyArray,
        IndexMode,
        Modes,
        NegativeIndex,
        Numbers,
        OnGPU,
        Operand,
        Out,
        Scalar,
        T,
    )
    from cudakern._arrays import Array
    from cudakern._layout import Layout

NAME = "gather"


@dataclass(frozen=True)
class GatherOperatorDesc(OperatorDesc):
    """DirectML's gather: the last dimensions of the indices take the place of one of the input.

    Parameters
    ----------
    input_tensor, indices_tensor, output_tensor : TensorDesc
        All of the same number of dimensions, leading ones of size 1 as needed.
    axis : int
        The dimension of the input that is gathered.
    index_dimensions : int
        How many trailing dimensions of the indices take its place; 0 for a single index.

    Notes
    -----
    Signed indices count from the end once; indices out of range clamp. Source: DirectML reference,
    ``DML_GATHER_OPERATOR_DESC``, rules G1 to G9 of the README.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> desc = ck.GatherOperatorDesc(
    ...     input_tensor=ck.TensorDesc(ck.DataType.INT32, (3, 2)),
    ...     indices_tensor=ck.TensorDesc(ck.DataType.INT64, (1, 2)),
    ...     output_tensor=ck.TensorDesc(ck.DataType.INT32, (2, 2)),
    ...     axis=0,
    ...     index_dimensions=1,
    ... )
    >>> x = np.array([[1, 2], [3, 4], [5, 6]], np.int32)
    >>> ck.compile_operator(desc)(x, np.array([[2, 0]]))
    array([[5, 6],
           [1, 2]], dtype=int32)
    """

    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int
    index_dimensions: int

    operator: ClassVar[str] = NAME
    input_fields: ClassVar[tuple[str, ...]] = ("input_tensor", "indices_tensor")
    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_1_0

    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the first broken rule of G1 to G9, type tables excepted."""
        x, indices, out = self.input_tensor, self.indices_tensor, self.output_tensor
        rank, axis, count = len(x.sizes), self.axis, self.index_dimensions
        self.require_same_rank("G1", level)
        requirement = f"must be input_tensor's, {x.data_type.name}; got {out.data_type.name}"
        self.require("G2", "output_tensor.data_type", out.data_type == x.data_type, requirement)
        self.require("G4", "axis", 0 <= axis < rank, f"must lie in [0, {rank - 1}]; got {axis}")
        requirement = f"must lie in [0, {rank}]; got {count}"
        self.require("G5", "index_dimensions", 0 <= count <= rank, requirement)
        leading = indices.sizes[: rank - count]
        requirement = f"must be 1 before the last {count}; got {indices.sizes}"
        self.require("G6", "indices_tensor.sizes", all(n == 1 for n in leading), requirement)
        requirement = f"must be at most axis + 1 = {axis + 1}; got {count}"
        self.require("G8", "index_dimensions", count - 1 <= axis, requirement)
        requirement = f"must be 1 in the first {count - 1} dimensions; got {x.sizes}"
        cropped = x.sizes[: max(count - 1, 0)]
        self.require("G8", "input_tensor.sizes", all(n == 1 for n in cropped), requirement)
        full = (*x.sizes[:axis], *indices.sizes[rank - count :], *x.sizes[axis + 1 :])
        expected = (1, *full) if count == 0 else full[len(full) - rank :]
        empty_axis = x.sizes[axis] == 0 and 0 not in out.sizes
        requirement = f"must be at least 1 in dimension {axis}; got {x.sizes}"
        self.require("T4", "input_tensor.sizes", not empty_axis, requirement)
        rule = "G9" if count else "G7"
        requirement = (
            f"must be {expected} for axis={axis}, index_dimensions={count}; got {out.sizes}"
        )
        self.require(rule, "output_tensor.sizes", out.sizes == expected, requirement)

    def check_types(self, level: FeatureLevel) -> None:
        """Raise DescriptorError if the type tables do not list the data types at a level."""
        self.require_type("G2", "input_tensor", level, DATA_TYPES)
        self.require_type("G3", "indices_tensor", level, INDEX_DATA_TYPES)

    def plan(self, layouts: Sequence[Layout]) -> Plan:
        """Return the plan: the padding dimensions are cropped, indices out of range clamp."""
        x, indices, out = layouts
        check_alignment(NAME, "indices_tensor", indices)
        count, rank = self.index_dimensions, len(x.shape)
        cropped = max(count - 1, 0)  # leading dimensions of x that the output has no room for
        problem = GatherProblem(
            x.last(rank - cropped),
            indices.last(count),
            out if count else out.last(rank - 1),
            self.axis - cropped,
            self.indices_tensor.data_type.name.lower(),
            "clamp",
            NO_FILL,
        )
        return plan_gather(problem)


def _plan(layouts: Sequence[Layout], selection: Selection, index_type: str) -> Plan:
    x, indices, out = layouts
    axis, _, mode, fill, _ = selection
    return plan_gather(GatherProblem(x, indices, out, axis, index_type, mode, fill))


_look_up = LookupFunction(NAME, "axis", _plan, tuples=False)


@overload
def gather(
    x: OnGPU, indices: Operand, axis: int = 0, *, out: None = None, **how: Unpack[Modes]
) -> Any: ...  # noqa: ANN401  its place is not in its type
@overload
def gather(
    x: NDArray[T], indices: Operand, axis: int = 0, *, out: None = None, **how: Unpack[Modes]
) -> NDArray[T]: ...
@overload
def gather(
    x: Numbers, indices: Operand, axis: int = 0, *, out: None = None, **how: Unpack[Modes]
) -> NDArray[Any]: ...
@overload
def gather(
    x: AnyArray, indices: Operand, axis: int = 0, *, out: None = None, **how: Unpack[Modes]
) -> Any: ...  # noqa: ANN401  its place is not in its type
@overload
def gather(
    x: Operand, indices: Operand, axis: int = 0, *, out: Out, **how: Unpack[Modes]
) -> Out: ...
@named(NAME)
def gather(
    x: Any,
    indices: Any,
    axis: int = 0,
    *,
    mode: IndexMode = "clamp",
    fill_value: Scalar = ZERO,
    negative: NegativeIndex = "from_end",
    out: Array | None = None,
) -> Array:
    """Select slices of ``x`` along ``axis``.

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
        A dtype is not supported, or ``fill_value`` does not fit.
    BindingError
        ``out`` does not fit, an array overlaps it, or arrays are in different places.
    IndexRangeError
        An index is out of range in ``mode="raise"``, ``out`` being untouched then; or E is 0 while
        there are indices, in every mode but "fill".

    Notes
    -----
    Synchronization: none, except that ``mode="raise"`` waits for a check of the indices.
    Determinism: the result is a copy of bytes, the same in every run and on every engine.
    NumPy's ``take`` has the same shapes and raises by default; CuPy's wraps.
    Source: DirectML reference, ``DML_GATHER_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.gather([10, 20, 30], [2, 0, -1, 7])
    array([30, 10, 30, 30])
    """
    check_mode(NAME, mode, negative, fill_value)
    x, indices = as_operands(NAME, x, indices, 0)
    axis = normalize_axis(NAME, axis, x.ndim)
    shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
    fill = fill_pattern(NAME, fill_value, x.dtype) if mode == "fill" else NO_FILL
    return _look_up((x, indices), Selection(axis, axis + 1, mode, fill, negative), shape, out)
