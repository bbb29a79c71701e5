"""The DirectML descriptor of gather.

Source: DirectML reference, ``DML_GATHER_OPERATOR_DESC``; rules G1 to G9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cudakern._arrays import check_alignment
from cudakern.feature_level import FeatureLevel
from cudakern.operators.descriptor import OperatorDesc
from cudakern.operators.gather.plan import plan_gather, rows_of
from cudakern.operators.indices import DATA_TYPES, INDEX_DATA_TYPES, NO_FILL
from cudakern.tensor import TensorDesc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern._layout import Layout
    from cudakern.engines.base import Launch


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

    operator: ClassVar[str] = "gather"
    input_fields: ClassVar[tuple[str, ...]] = ("input_tensor", "indices_tensor")
    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_1_0
    type_tables = (("G2", "input_tensor", DATA_TYPES), ("G3", "indices_tensor", INDEX_DATA_TYPES))

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

    def plan(self, layouts: Sequence[Layout]) -> Launch | None:
        """Return the plan: the padding dimensions are cropped, indices out of range clamp."""
        x, indices, out = layouts
        check_alignment(self.operator, "indices_tensor", indices)
        count, rank = self.index_dimensions, len(x.shape)
        cropped = max(count - 1, 0)  # leading dimensions of x that the output has no room for
        problem = rows_of(
            x.last(rank - cropped),
            indices.last(count),
            out if count else out.last(rank - 1),
            self.axis - cropped,
            self.indices_tensor.data_type.name.lower(),
            "clamp",
            NO_FILL,
        )
        return plan_gather(problem)
