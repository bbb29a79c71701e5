"""Gather by index tuples: elements or slices of a tensor, with batch dimensions.

Source: DirectML reference, ``DML_GATHER_ND_OPERATOR_DESC`` and ``DML_GATHER_ND1_OPERATOR_DESC``;
rules N1 to N9.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, overload

from cudakern._layout import MAX_DIMENSIONS
from cudakern._ranges import named
from cudakern.errors import ArgumentError, DTypeError, shown
from cudakern.feature_level import FeatureLevel
from cudakern.operators.base import OperatorDesc, Plan
from cudakern.operators.gather_nd_plan import GatherNDProblem, plan_gather_nd
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

NAME = "gather_nd"


@dataclass(frozen=True)
class GatherNDOperatorDesc(OperatorDesc):
    """DirectML's gather by index tuples, which the last dimension of the indices holds.

    Parameters
    ----------
    input_tensor, indices_tensor, output_tensor : TensorDesc
        All of the same number of dimensions, leading ones of size 1 as needed.
    input_dimension_count, indices_dimension_count : int
        How many trailing dimensions of the input and of the indices count.

    Notes
    -----
    Signed indices count from the end once; indices out of range clamp, each on its own dimension.
    Source: DirectML reference, ``DML_GATHER_ND_OPERATOR_DESC``, rules N1 to N9 of the README.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> desc = ck.GatherNDOperatorDesc(
    ...     input_tensor=ck.TensorDesc(ck.DataType.INT32, (2, 2)),
    ...     indices_tensor=ck.TensorDesc(ck.DataType.INT64, (3, 2)),
    ...     output_tensor=ck.TensorDesc(ck.DataType.INT32, (1, 3)),
    ...     input_dimension_count=2,
    ...     indices_dimension_count=2,
    ... )
    >>> x = np.array([[1, 2], [3, 4]], np.int32)
    >>> ck.compile_operator(desc)(x, np.array([[0, 1], [1, 0], [1, 1]]))
    array([[2, 3, 4]], dtype=int32)
    """

    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    input_dimension_count: int
    indices_dimension_count: int

    operator: ClassVar[str] = NAME
    input_fields: ClassVar[tuple[str, ...]] = ("input_tensor", "indices_tensor")
    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_2_1

    @property
    def batch_dims(self) -> int:
        """How many dimensions the input and the indices have in common."""
        return 0

    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the first broken rule of N1 to N9, type tables excepted."""
        x, indices, out = self.input_tensor, self.indices_tensor, self.output_tensor
        self.require_same_rank("N1", level)
        requirement = f"must be input_tensor's, {x.data_type.name}; got {out.data_type.name}"
        self.require("N2", "output_tensor.data_type", out.data_type == x.data_type, requirement)
        rank, batch = len(x.sizes), self.batch_dims
        counts = {
            "input_dimension_count": self.input_dimension_count,
            "indices_dimension_count": self.indices_dimension_count,
        }
        for field, count in counts.items():
            requirement = f"must lie in [1, {rank}]; got {count}"
            self.require("N3", field, 1 <= count <= rank, requirement)
        most = min(counts.values()) - 1
        requirement = f"must lie in [0, {most}]; got {batch}"
        self.require("N4", "batch_dimension_count", 0 <= batch <= most, requirement)
        tuple_size = indices.sizes[-1]
        room = self.input_dimension_count - batch
        requirement = f"must be 1 to {room} in the last dimension; got {tuple_size}"
        self.require("N5", "indices_tensor.sizes", 1 <= tuple_size <= room, requirement)
        for (field, tensor), count in zip(self.inputs(), counts.values(), strict=True):
            requirement = f"must be 1 before the last {count}; got {tensor.sizes}"
            leading = tensor.sizes[: rank - count]
            self.require("N6", f"{field}.sizes", all(n == 1 for n in leading), requirement)
        x_sizes = x.sizes[rank - self.input_dimension_count :]
        index_sizes = indices.sizes[rank - self.indices_dimension_count :]
        requirement = f"must start with the batch {x_sizes[:batch]}; got {index_sizes[:batch]}"
        agree = index_sizes[:batch] == x_sizes[:batch]
        self.require("N7", "indices_tensor.sizes", agree, requirement)
        result = (*index_sizes[:-1], *x_sizes[batch + tuple_size :])
        requirement = f"must have at least {len(result)} dimensions; got {rank}"
        self.require("N8", "output_tensor.sizes", len(result) <= rank, requirement)
        empty_axis = 0 in x_sizes[batch : batch + tuple_size] and 0 not in out.sizes
        requirement = f"must be at least 1 in the indexed dimensions; got {x.sizes}"
        self.require("T4", "input_tensor.sizes", not empty_axis, requirement)
        expected = (1,) * (rank - len(result)) + result
        requirement = f"must be {expected}; got {out.sizes}"
        self.require("N9", "output_tensor.sizes", out.sizes == expected, requirement)

    def check_types(self, level: FeatureLevel) -> None:
        """Raise DescriptorError if the type tables do not list the data types at a level."""
        self.require_type("N2", "input_tensor", level, DATA_TYPES)
        self.require_type("N2", "indices_tensor", level, INDEX_DATA_TYPES)

    def plan(self, layouts: Sequence[Layout]) -> Plan:
        """Return the plan: the padding dimensions are cropped, indices out of range clamp."""
        x, indices, out = layouts
        check_alignment(NAME, "indices_tensor", indices)
        tuple_size = indices.shape[-1]
        copied = self.input_dimension_count - self.batch_dims - tuple_size
        problem = GatherNDProblem(
            x.last(self.input_dimension_count),
            indices.last(self.indices_dimension_count),
            out.last(self.indices_dimension_count - 1 + copied),
            self.batch_dims,
            self.indices_tensor.data_type.name.lower(),
            "clamp",
            NO_FILL,
        )
        return plan_gather_nd(problem)


@dataclass(frozen=True)
class GatherND1OperatorDesc(GatherNDOperatorDesc):
    """DirectML's gather by index tuples with batch dimensions.

    Parameters
    ----------
    input_tensor, indices_tensor, output_tensor : TensorDesc
        All of the same number of dimensions, leading ones of size 1 as needed.
    input_dimension_count, indices_dimension_count : int
        How many trailing dimensions of the input and of the indices count.
    batch_dimension_count : int
        How many of these, counted from the first, the input and the indices have in common.

    Notes
    -----
    Source: DirectML reference, ``DML_GATHER_ND1_OPERATOR_DESC``, rules N1 to N9 of the README.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> desc = ck.GatherND1OperatorDesc(
    ...     input_tensor=ck.TensorDesc(ck.DataType.INT32, (2, 2)),
    ...     indices_tensor=ck.TensorDesc(ck.DataType.INT64, (2, 1)),
    ...     output_tensor=ck.TensorDesc(ck.DataType.INT32, (1, 2)),
    ...     input_dimension_count=2,
    ...     indices_dimension_count=2,
    ...     batch_dimension_count=1,
    ... )
    >>> x = np.array([[1, 2], [3, 4]], np.int32)
    >>> ck.compile_operator(desc)(x, np.array([[1], [0]]))  # an index for each row
    array([[2, 3]], dtype=int32)
    """

    batch_dimension_count: int

    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_3_0

    @property
    def batch_dims(self) -> int:
        """How many dimensions the input and the indices have in common."""
        return self.batch_dimension_count


def _plan(layouts: Sequence[Layout], selection: Selection, index_type: str) -> Plan:
    x, indices, out = layouts
    batch, _, mode, fill, _ = selection
    return plan_gather_nd(GatherNDProblem(x, indices, out, batch, index_type, mode, fill))


_look_up = LookupFunction(NAME, "batch_dims", _plan, tuples=True)


@overload
def gather_nd(
    x: OnGPU, indices: Operand, batch_dims: int = 0, *, out: None = None, **how: Unpack[Modes]
) -> Any: ...  # noqa: ANN401  its place is not in its type
@overload
def gather_nd(
    x: NDArray[T], indices: Operand, batch_dims: int = 0, *, out: None = None, **how: Unpack[Modes]
) -> NDArray[T]: ...
@overload
def gather_nd(
    x: Numbers, indices: Operand, batch_dims: int = 0, *, out: None = None, **how: Unpack[Modes]
) -> NDArray[Any]: ...
@overload
def gather_nd(
    x: AnyArray, indices: Operand, batch_dims: int = 0, *, out: None = None, **how: Unpack[Modes]
) -> Any: ...  # noqa: ANN401  its place is not in its type
@overload
def gather_nd(
    x: Operand, indices: Operand, batch_dims: int = 0, *, out: Out, **how: Unpack[Modes]
) -> Out: ...
@named(NAME)
def gather_nd(
    x: Any,
    indices: Any,
    batch_dims: int = 0,
    *,
    mode: IndexMode = "clamp",
    fill_value: Scalar = ZERO,
    negative: NegativeIndex = "from_end",
    out: Array | None = None,
) -> Array:
    """Select elements or slices of ``x`` by tuples of indices.

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
        t = 0 every tuple selects all of its batch.
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
        A dtype is not supported, or ``fill_value`` does not fit.
    BindingError
        ``out`` does not fit, an array overlaps it, or arrays are in different places.
    IndexRangeError
        An index is out of range in ``mode="raise"``, ``out`` being untouched then; or an extent is
        0 while there are tuples, in every mode but "fill".

    Notes
    -----
    Synchronization: none, except that ``mode="raise"`` waits for a check of the indices.
    Determinism: the result is a copy of bytes, the same in every run and on every engine.
    TensorFlow's and ONNX's operators of this name have the same shapes; CuPy and NumPy write
    ``x[tuple(indices.T)]`` for ``batch_dims=0``.
    Source: DirectML reference, ``DML_GATHER_ND1_OPERATOR_DESC``.

    Examples
    --------
    >>> import cudakern as ck
    >>> ck.gather_nd([[10, 11], [20, 21]], [[1, 0], [0, -1]])
    array([20, 11])
    >>> ck.gather_nd([[10, 11], [20, 21]], [[1], [0]], batch_dims=1)
    array([11, 20])
    """
    check_mode(NAME, mode, negative, fill_value)
    x, indices = as_operands(NAME, x, indices, 1)
    batch = check_shapes(x.shape, indices.shape, batch_dims)
    stop = batch + indices.shape[-1]
    shape = indices.shape[:-1] + x.shape[stop:]
    fill = fill_pattern(NAME, fill_value, x.dtype) if mode == "fill" else NO_FILL
    return _look_up((x, indices), Selection(batch, stop, mode, fill, negative), shape, out)


def check_shapes(x: tuple[int, ...], indices: tuple[int, ...], batch_dims: int) -> int:
    """Return batch_dims, or raise for the first rule that the shapes break with it."""
    try:
        batch = index(batch_dims)
    except Exception:  # noqa: BLE001  whatever a scalar of another library raises
        message = f"{NAME}: batch_dims must be an int; got {shown(batch_dims)}"
        raise DTypeError(message) from None
    most = min(len(x), len(indices)) - 1
    if not 0 <= batch <= most:
        requirement = f"must lie in [0, {most}]; got {batch}{_hint(x, indices, batch)}"
        raise ArgumentError(NAME, "batch_dims", requirement)
    room = len(x) - batch
    if indices[-1] > room:
        requirement = f"must have at most {room} in the last dimension for batch_dims={batch}"
        found = f"shape {indices}{_hint(x, indices, batch)}"
        raise ArgumentError(NAME, "indices", f"{requirement}; got {found}")
    if x[:batch] != indices[:batch]:
        requirement = f"must start with the batch {x[:batch]} of x; got shape {indices}"
        raise ArgumentError(NAME, "indices", requirement)
    return batch


def _hint(x: tuple[int, ...], indices: tuple[int, ...], batch: int) -> str:
    """Return the end of a message: what to write if indices alone stand where tuples should."""
    batched = 0 <= batch <= len(indices) < MAX_DIMENSIONS and indices[:batch] == x[:batch]
    return "; for single indices, use indices[..., None]" if batched and batch < len(x) else ""
