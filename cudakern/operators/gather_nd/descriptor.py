"""The DirectML descriptors of gather_nd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, SupportsIndex

from cudakern.operators.descriptor import OperatorDesc
from cudakern.operators.feature_level import FeatureLevel
from cudakern.operators.gather_nd.plan import plan_gather_nd
from cudakern.operators.indexing.indices import DATA_TYPES, INDEX_DATA_TYPES, NO_FILL
from cudakern.operators.indexing.rows import rows_of_tuples
from cudakern.operators.tensor import TensorDesc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.engines.base import Launch
    from cudakern.values.layout import Layout


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
    Source: DirectML reference, ``DML_GATHER_ND_OPERATOR_DESC``, rules N1 to N9 of descriptors.md.

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

    operator: ClassVar[str] = "gather_nd"
    input_fields: ClassVar[tuple[str, ...]] = ("input_tensor", "indices_tensor")
    aligned_fields: ClassVar[tuple[str, ...]] = ("indices_tensor",)
    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_2_1
    type_tables = (("N2", "input_tensor", DATA_TYPES), ("N2", "indices_tensor", INDEX_DATA_TYPES))

    if TYPE_CHECKING:  # takes integers of any kind, and keeps Python's

        def __init__(
            self,
            input_tensor: TensorDesc,
            indices_tensor: TensorDesc,
            output_tensor: TensorDesc,
            input_dimension_count: SupportsIndex,
            indices_dimension_count: SupportsIndex,
        ) -> None: ...

    @property
    def batch_dims(self) -> int:
        """How many dimensions the input and the indices have in common."""
        return int(getattr(self, "batch_dimension_count", 0))  # of GatherND1OperatorDesc

    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the first broken rule of N1 to N9, type tables excepted."""
        x, indices = self.input_tensor.sizes, self.indices_tensor.sizes
        out, rank, batch = self.output_tensor.sizes, len(x), self.batch_dims
        self.require_same_rank("N1", level)
        self.require_data_type_of("N2", "input_tensor")
        counts = {
            "input_dimension_count": self.input_dimension_count,
            "indices_dimension_count": self.indices_dimension_count,
        }
        for field, count in counts.items():
            self.require_between("N3", field, 1, count, rank)
        self.require_between("N4", "batch_dimension_count", 0, batch, min(counts.values()) - 1)
        tuple_size = indices[-1]
        room = self.input_dimension_count - batch
        requirement = f"must be 1 to {room} in the last dimension; got {tuple_size}"
        self.require("N5", "indices_tensor.sizes", 1 <= tuple_size <= room, requirement)
        for field, count in zip(self.input_fields, counts.values(), strict=True):
            self.require_padding("N6", field, count)
        x_sizes = x[rank - self.input_dimension_count :]
        index_sizes = indices[rank - self.indices_dimension_count :]
        requirement = f"must start with the batch {x_sizes[:batch]}; got {index_sizes[:batch]}"
        agree = index_sizes[:batch] == x_sizes[:batch]
        self.require("N7", "indices_tensor.sizes", agree, requirement)
        result = (*index_sizes[:-1], *x_sizes[batch + tuple_size :])
        requirement = f"must have at least {len(result)} dimensions; got {rank}"
        self.require("N8", "output_tensor.sizes", len(result) <= rank, requirement)
        legal = 0 not in x_sizes[batch : batch + tuple_size] or 0 in out
        requirement = "must be at least 1 in the indexed dimensions"
        self.require_sizes("T4", "input_tensor", legal, requirement)
        expected = (1,) * (rank - len(result)) + result
        self.require_sizes("N9", "output_tensor", out == expected, f"must be {expected}")

    def plan(self, layouts: Sequence[Layout]) -> Launch | None:
        """Return the plan: the padding dimensions are cropped, indices out of range clamp."""
        x, indices, out = layouts
        tuple_size = indices.shape[-1]
        copied = self.input_dimension_count - self.batch_dims - tuple_size
        problem = rows_of_tuples(
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
    """DirectML's gather by index tuples with a batch, otherwise as `GatherNDOperatorDesc`.

    Parameters
    ----------
    batch_dimension_count : int
        How many of the dimensions that count, from the first on, the input and the indices have in
        common.

    Notes
    -----
    Source: DirectML reference, ``DML_GATHER_ND1_OPERATOR_DESC``, rules N1 to N9 of descriptors.md.

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

    if TYPE_CHECKING:  # takes integers of any kind, and keeps Python's

        def __init__(
            self,
            input_tensor: TensorDesc,
            indices_tensor: TensorDesc,
            output_tensor: TensorDesc,
            input_dimension_count: SupportsIndex,
            indices_dimension_count: SupportsIndex,
            batch_dimension_count: SupportsIndex,
        ) -> None: ...
