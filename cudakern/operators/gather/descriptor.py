"""The DirectML descriptor of gather."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, SupportsIndex

from cudakern.operators.descriptor import OperatorDesc
from cudakern.operators.feature_level import FeatureLevel
from cudakern.operators.gather.plan import plan_gather, rows_of
from cudakern.operators.indexing.indices import DATA_TYPES, INDEX_DATA_TYPES, NO_FILL
from cudakern.operators.tensor import TensorDesc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.engines.base import Launch
    from cudakern.values.layout import Layout


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
    ``DML_GATHER_OPERATOR_DESC``, rules G1 to G9 of descriptors.md.

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
    aligned_fields: ClassVar[tuple[str, ...]] = ("indices_tensor",)
    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_1_0
    type_tables = (("G2", "input_tensor", DATA_TYPES), ("G3", "indices_tensor", INDEX_DATA_TYPES))

    if TYPE_CHECKING:  # takes integers of any kind, and keeps Python's

        def __init__(
            self,
            input_tensor: TensorDesc,
            indices_tensor: TensorDesc,
            output_tensor: TensorDesc,
            axis: SupportsIndex,
            index_dimensions: SupportsIndex,
        ) -> None: ...

    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the first broken rule of G1 to G9, type tables excepted."""
        x, indices = self.input_tensor.sizes, self.indices_tensor.sizes
        out, axis, count = self.output_tensor.sizes, self.axis, self.index_dimensions
        rank = len(x)
        self.require_same_rank("G1", level)
        self.require_data_type_of("G2", "input_tensor")
        self.require_between("G4", "axis", 0, axis, rank - 1)
        self.require_between("G5", "index_dimensions", 0, count, rank)
        self.require_padding("G6", "indices_tensor", count)
        requirement = f"must be at most axis + 1 = {axis + 1}; got {count}"
        self.require("G8", "index_dimensions", count - 1 <= axis, requirement)
        cropped = all(n == 1 for n in x[: max(count - 1, 0)])
        requirement = f"must be 1 in the first {count - 1} dimensions"
        self.require_sizes("G8", "input_tensor", cropped, requirement)
        full = (*x[:axis], *indices[rank - count :], *x[axis + 1 :])
        expected = (1, *full) if count == 0 else full[len(full) - rank :]
        legal = x[axis] > 0 or 0 in out
        self.require_sizes("T4", "input_tensor", legal, f"must be at least 1 in dimension {axis}")
        requirement = f"must be {expected} for axis={axis}, index_dimensions={count}"
        rule = "G9" if count else "G7"
        self.require_sizes(rule, "output_tensor", out == expected, requirement)

    def plan(self, layouts: Sequence[Layout]) -> Launch | None:
        """Return the plan: the padding dimensions are cropped, indices out of range clamp."""
        x, indices, out = layouts
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
