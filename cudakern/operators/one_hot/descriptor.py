"""The DirectML descriptor of one_hot."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar, SupportsIndex

from cudakern.operators.descriptor import OperatorDesc
from cudakern.operators.feature_level import FeatureLevel
from cudakern.operators.indexing.indices import DATA_TYPES, INDEX_DATA_TYPES
from cudakern.operators.one_hot.plan import OneHotProblem, plan_one_hot
from cudakern.operators.tensor import TensorDesc
from cudakern.values.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.engines.base import Launch


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
    DirectML reference, ``DML_ONE_HOT_OPERATOR_DESC``, rules O1 to O7 of descriptors.md. O5, an axis
    of size 1 at least, follows from T4.

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

    operator: ClassVar[str] = "one_hot"
    input_fields: ClassVar[tuple[str, ...]] = ("indices_tensor", "values_tensor")
    aligned_fields = input_fields
    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_2_0
    type_tables = (("O7", "indices_tensor", INDEX_DATA_TYPES), ("O7", "values_tensor", DATA_TYPES))

    if TYPE_CHECKING:  # takes integers of any kind, and keeps Python's

        def __init__(
            self,
            indices_tensor: TensorDesc,
            values_tensor: TensorDesc,
            output_tensor: TensorDesc,
            axis: SupportsIndex,
        ) -> None: ...

    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the first broken rule of O1 to O6."""
        indices, values, out = self.indices_tensor, self.values_tensor, self.output_tensor
        rank, axis = len(indices.sizes), self.axis
        self.require_same_rank("O1", level)
        self.require_data_type_of("O2", "values_tensor")
        self.require_between("O3", "axis", 0, axis, rank - 1)
        expected = (*out.sizes[:axis], 1, *out.sizes[axis + 1 :])
        requirement = f"must be {expected} for axis={axis}"
        self.require_sizes("O4", "indices_tensor", indices.sizes == expected, requirement)
        enough = prod(values.sizes) >= 2  # noqa: PLR2004
        self.require_sizes("O6", "values_tensor", enough, "must hold at least 2 elements")

    def plan(self, layouts: Sequence[Layout]) -> Launch | None:
        """Return the plan: the axis of the indices, of size 1, is dropped."""
        indices, values, out = layouts
        kind = self.indices_tensor.data_type.name.lower()
        axis = self.axis
        sizes, strides = (of[:axis] + of[axis + 1 :] for of in (indices.shape, indices.strides))
        dropped = Layout(sizes, strides, indices.itemsize, indices.phase)
        return plan_one_hot(OneHotProblem(dropped, values, out, axis, kind))
