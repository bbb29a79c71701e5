"""One-hot: indices become vectors that are on at one place.

Source: DirectML reference, ``DML_ONE_HOT_OPERATOR_DESC``; rules O1 to O7.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, overload

from cudakern._arrays import (
    Array,
    check_output,
    common_place,
    copied,
    describe,
    empty,
    is_read_only,
    layout_of,
    require_rank,
    require_size,
)
from cudakern._caches import kept
from cudakern._foreign import as_array, as_output
from cudakern._layout import Layout
from cudakern._ranges import named
from cudakern.feature_level import FeatureLevel
from cudakern.operators.base import (
    BoundLaunch,
    BoundTable,
    OperatorDesc,
    Plan,
    as_extent,
    normalize_axis,
)
from cudakern.operators.indexing import (
    DATA_TYPES,
    INDEX_DATA_TYPES,
    as_indices,
    check_alignment,
    check_negative,
    index_type,
    widened,
)
from cudakern.operators.one_hot_plan import OneHotProblem, plan_one_hot
from cudakern.operators.one_hot_values import OffOn, off_on
from cudakern.tensor import TensorDesc

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cudakern._array_types import (
        AnyArray,
        Direction,
        DType,
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


@dataclass(frozen=True)
class OneHotOperatorDesc(OperatorDesc):
    """DirectML's one-hot: along the axis, the output is on where the index says and off elsewhere.

    Parameters
    ----------
    indices_tensor, values_tensor, output_tensor : TensorDesc
        All of the same number of dimensions. The first two elements of values_tensor, along its
        last dimension with more than one, are off and on.
    axis : int
        The dimension of the output that the indices are positions in; theirs has size 1.

    Notes
    -----
    Signed indices count from the end once; where an index is out of range, all is off. Source:
    DirectML reference, ``DML_ONE_HOT_OPERATOR_DESC``, rules O1 to O7 of the README. O5, an axis of
    size 1 at least, follows from T4.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> desc = ck.OneHotOperatorDesc(
    ...     indices_tensor=ck.TensorDesc(ck.DataType.INT64, (2, 1)),
    ...     values_tensor=ck.TensorDesc(ck.DataType.INT32, (1, 2)),
    ...     output_tensor=ck.TensorDesc(ck.DataType.INT32, (2, 3)),
    ...     axis=1,
    ... )
    >>> ck.compile_operator(desc)(np.array([[2], [0]]), np.array([[-1, 1]], np.int32))
    array([[-1, -1,  1],
           [ 1, -1, -1]], dtype=int32)
    """

    indices_tensor: TensorDesc
    values_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int

    operator: ClassVar[str] = NAME
    input_fields: ClassVar[tuple[str, ...]] = ("indices_tensor", "values_tensor")
    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_2_0

    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the first broken rule of O1 to O6."""
        indices, values, out = self.indices_tensor, self.values_tensor, self.output_tensor
        rank, axis = len(indices.sizes), self.axis
        self.require_same_rank("O1", level)
        requirement = f"must be values_tensor's, {values.data_type.name}; got {out.data_type.name}"
        same = out.data_type == values.data_type
        self.require("O2", "output_tensor.data_type", same, requirement)
        self.require("O3", "axis", 0 <= axis < rank, f"must lie in [0, {rank - 1}]; got {axis}")
        expected = (*out.sizes[:axis], 1, *out.sizes[axis + 1 :])
        requirement = f"must be {expected} for axis={axis}; got {indices.sizes}"
        self.require("O4", "indices_tensor.sizes", indices.sizes == expected, requirement)
        requirement = f"must hold at least 2 elements; got {values.sizes}"
        self.require("O6", "values_tensor.sizes", prod(values.sizes) >= 2, requirement)  # noqa: PLR2004

    def check_types(self, level: FeatureLevel) -> None:
        """Raise DescriptorError if the type tables do not list the data types at a level."""
        self.require_type("O7", "indices_tensor", level, INDEX_DATA_TYPES)
        self.require_type("O7", "values_tensor", level, DATA_TYPES)

    def plan(self, layouts: Sequence[Layout]) -> Plan:
        """Return the plan: the axis of the indices, of size 1, is dropped."""
        indices, values, out = layouts
        check_alignment(NAME, "indices_tensor", indices)
        check_alignment(NAME, "values_tensor", values)
        kind = self.indices_tensor.data_type.name.lower()
        axis = self.axis
        dropped = Layout(
            indices.shape[:axis] + indices.shape[axis + 1 :],
            indices.strides[:axis] + indices.strides[axis + 1 :],
            indices.itemsize,
            indices.phase,
        )
        return plan_one_hot(OneHotProblem(dropped, values, out, axis, kind, _on_offset(values)))


def _on_offset(values: Layout) -> int:
    """Return the bytes from off to on: one step along the last dimension that has one."""
    steps = [s for n, s in zip(values.shape, values.strides, strict=True) if n > 1]
    return steps[-1] if steps else 0


_bound: BoundTable[BoundLaunch] = kept(NAME, BoundTable())


@overload
def one_hot(
    indices: OnGPU, depth: int, *, out: None = None, **how: Unpack[TypedVectors]
) -> Any: ...  # noqa: ANN401  its place is not in its type
@overload
def one_hot(indices: OnHost, depth: int, **how: Unpack[Direction]) -> NDArray[np.float32]: ...
@overload
def one_hot(
    indices: OnHost, depth: int, *, dtype: DType[T], **how: Unpack[Vectors]
) -> NDArray[T]: ...
@overload
def one_hot(
    indices: OnHost, depth: int, *, out: None = None, **how: Unpack[TypedVectors]
) -> NDArray[Any]: ...
@overload
def one_hot(
    indices: AnyArray, depth: int, *, out: None = None, **how: Unpack[TypedVectors]
) -> Any: ...  # noqa: ANN401  its place is not in its type
@overload
def one_hot(indices: Operand, depth: int, *, out: Out, **how: Unpack[TypedVectors]) -> Out: ...
@named(NAME)
def one_hot(
    indices: Any,
    depth: int,
    *,
    axis: int = -1,
    values: Any = (0, 1),
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
        converted without a look at them. None means the values' own: that of the array, the common
        one of NumPy's scalars; for Python's numbers float32, complex64 if one is complex, bool if
        both are bools.
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
        ``axis`` or ``depth`` is out of range, ``negative`` is no such word, there are too many
        dimensions, or not two values.
    DTypeError
        A dtype is not supported, ``depth`` or ``axis`` is no integer, or a value does not fit.
    BindingError
        ``out`` does not fit, an array overlaps it, or arrays are in different places.

    Notes
    -----
    Synchronization: none. An array of values is read on its device; scalars travel with the launch.
    Determinism: the result is made of copied bytes, the same in every run and on every engine.
    Where an array of values on a GPU has another dtype, CuPy converts it: subnormal float32 to 0.
    PyTorch's ``one_hot`` gives int64 and raises for an index out of range.
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
    indices = as_indices(NAME, indices, as_array(NAME, "indices", indices))
    require_rank(NAME, "indices", indices, 0)
    depth = as_extent(NAME, "depth", depth)
    axis = normalize_axis(NAME, axis, indices.ndim + 1)
    check_negative(NAME, negative)
    indices = widened(indices, (depth,), negative)
    given = off_on(NAME, values, dtype)
    shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
    inputs = (indices,) if given.array is None else (indices, given.array)
    if out is None:
        place = common_place(NAME, _NAMES[: len(inputs)], inputs)
        out = _allocate(shape, given.dtype, place)
    _run(inputs, as_output(NAME, "out", out), shape, axis, given, negative)
    return out


_NAMES = ("indices", "values")


def _allocate(shape: tuple[int, ...], dtype: np.dtype[Any], place: int) -> Array:
    require_size(NAME, "depth", shape, dtype.itemsize)
    return empty(shape, dtype, place)


def _run(
    inputs: tuple[Array, ...],
    out: Array,
    shape: tuple[int, ...],
    axis: int,
    given: OffOn,
    negative: str,
) -> None:
    """Write the result."""
    arrays = (*inputs, out)
    addresses, facts = describe(arrays)
    key = (axis, shape[axis], given.dtype, given.pattern, negative, facts)
    bound = _bound.find(key)
    if bound is None or is_read_only(out):
        layouts = map(layout_of, inputs, addresses)
        if not all(layout.is_aligned for layout in layouts):
            _run(tuple(map(copied, inputs)), out, shape, axis, given, negative)
            return
        bound = _bound.add(key, _bind(arrays, addresses, shape, axis, given, negative))
    if given.array is None:
        addresses.insert(1, 0)
    bound(addresses)


def _bind(
    arrays: tuple[Array, ...],
    addresses: list[int],
    shape: tuple[int, ...],
    axis: int,
    given: OffOn,
    negative: str,
) -> BoundLaunch:
    """Check everything that the static facts decide, plan, and prepare the launch."""
    *inputs, out = arrays
    place = common_place(NAME, _NAMES[: len(inputs)], inputs)
    reason = f"for axis={axis}, depth={shape[axis]}"
    check_output(NAME, "out", out, shape, given.dtype, place, reason)
    layouts = list(map(layout_of, arrays, addresses))
    if given.array is None:
        layouts.insert(1, Layout((0,), (given.dtype.itemsize,), given.dtype.itemsize))
    problem = OneHotProblem(
        layouts[0],
        layouts[1],
        layouts[2],
        axis,
        index_type(inputs[0], negative),
        _on_offset(layouts[1]),
        given.pattern,
    )
    return BoundLaunch(NAME, plan_one_hot(problem), place, (*_NAMES, "out"), layouts)
