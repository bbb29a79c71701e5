"""The DirectML descriptor of nonzero-coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar

from cudakern.operators.descriptor import OperatorDesc
from cudakern.operators.feature_level import FeatureLevel
from cudakern.operators.nonzero.plan import NonzeroProblem, plan_nonzero
from cudakern.operators.tensor import MAX_ELEMENTS, TensorDesc
from cudakern.values import dtypes
from cudakern.values.dtypes import DataType
from cudakern.values.layout import MAX_DIMENSIONS, Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.engines.base import Launch

#: Types of the input. Unlike the copy operators, this one has no 64-bit types in DirectML.
_DATA_TYPES = (
    (FeatureLevel.EXTENDED, dtypes.UP_TO_32_BITS | dtypes.SIXTY_FOUR_BITS | dtypes.EXTENSIONS),
    (FeatureLevel.LEVEL_3_0, dtypes.UP_TO_32_BITS),
)
_COORDINATE_DATA_TYPES = (
    (FeatureLevel.EXTENDED, frozenset({DataType.UINT32, DataType.INT64})),
    (FeatureLevel.LEVEL_3_0, frozenset({DataType.UINT32})),
)
_COUNT_DATA_TYPES = ((FeatureLevel.LEVEL_3_0, frozenset({DataType.UINT32})),)
_EARLY_DIMENSIONS = (4, 5)  # of every tensor of this operator below feature level 4_0


@dataclass(frozen=True)
class NonzeroCoordinatesOperatorDesc(OperatorDesc):
    """DirectML's nonzero-coordinates: how many elements are not zero, and where they are.

    Parameters
    ----------
    input_tensor : TensorDesc
        The elements.
    output_count_tensor : TensorDesc
        One element: how many are not zero.
    output_coordinates_tensor : TensorDesc
        As many rows of N coordinates as the input has elements.

    Notes
    -----
    Rows ascend in row-major order of the input's coordinates, whatever the strides. Rows beyond the
    count are not written. A row is the last N coordinates of an element; the leading ones that N
    drops are always 0. -0.0 is zero; NaN and subnormal numbers are not. Source: DirectML reference,
    ``DML_NONZERO_COORDINATES_OPERATOR_DESC``, rules Z1 to Z8 of descriptors.md. At DirectML's
    levels Z7 follows from T13.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> desc = ck.NonzeroCoordinatesOperatorDesc(
    ...     input_tensor=ck.TensorDesc(ck.DataType.INT32, (2, 2)),
    ...     output_count_tensor=ck.TensorDesc(ck.DataType.UINT32, (1,)),
    ...     output_coordinates_tensor=ck.TensorDesc(ck.DataType.UINT32, (4, 2)),
    ... )
    >>> count, coordinates = ck.compile_operator(desc)(np.array([[0, 5], [7, 0]], np.int32))
    >>> count, coordinates[: count[0]].tolist()
    (array([2], dtype=uint32), [[0, 1], [1, 0]])
    """

    input_tensor: TensorDesc
    output_count_tensor: TensorDesc
    output_coordinates_tensor: TensorDesc

    operator: ClassVar[str] = "nonzero_coordinates"
    input_fields: ClassVar[tuple[str, ...]] = ("input_tensor",)
    output_fields: ClassVar[tuple[str, ...]] = ("output_count_tensor", "output_coordinates_tensor")
    aligned_fields = (*input_fields, *output_fields)
    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_3_0
    type_tables = (("Z1", "input_tensor", _DATA_TYPES),)

    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the first broken rule of Z1 to Z8, type tables excepted."""
        x, count, out = self.input_tensor, self.output_count_tensor, self.output_coordinates_tensor
        least = 0 if level is FeatureLevel.EXTENDED else 1
        self._require_rank("Z1", "input_tensor", level, least)
        self.require_type("Z2", "output_count_tensor", level, _COUNT_DATA_TYPES)
        is_one = all(n == 1 for n in count.sizes)
        self.require_sizes("Z2", "output_count_tensor", is_one, "must be all 1")
        self._require_rank("Z2", "output_count_tensor", level, 1)
        self.require_type("Z3", "output_coordinates_tensor", level, _COORDINATE_DATA_TYPES)
        self._require_rank("Z3", "output_coordinates_tensor", level, 2)
        self.require_padding("Z4", "output_coordinates_tensor", 2)
        field = "output_coordinates_tensor.sizes"
        rows, width = out.sizes[-2:]
        elements = prod(x.sizes)
        requirement = f"must have a row for each of {elements} elements; got {rows} rows"
        self.require("Z5", field, rows == elements, requirement)
        rank = len(x.sizes)
        leading = next((i for i, n in enumerate(x.sizes) if n != 1), rank)  # dimensions of size 1
        low, high = max(1, rank - leading), max(1, rank)
        requirement = f"must be {low} to {high} in the last dimension; got {width}"
        self.require("Z6", field, low <= width <= high, requirement)
        requirement = f"must hold at most 2^32 - 1 elements; got {elements}"
        self.require("Z7", "input_tensor.sizes", elements <= MAX_ELEMENTS, requirement)
        ranks = (len(x.sizes), len(count.sizes), len(out.sizes))
        legal = level >= FeatureLevel.LEVEL_4_0 or len(set(ranks)) == 1
        requirement = f"must all have the same number of dimensions at {level.label}; got {ranks}"
        self.require("Z8", "tensors", legal, requirement)

    def _require_rank(self, rule: str, field: str, level: FeatureLevel, least: int) -> None:
        """Raise DescriptorError unless a tensor has ``least`` to 8 dimensions, 4 or 5 at 3_x."""
        rank = len(getattr(self, field).sizes)
        early = level < FeatureLevel.LEVEL_4_0
        low, high = _EARLY_DIMENSIONS if early else (least, MAX_DIMENSIONS)
        requirement = f"must have {low} to {high} entries at {level.label}; got {rank}"
        self.require(rule, f"{field}.sizes", low <= rank <= high, requirement)

    def plan(self, layouts: Sequence[Layout]) -> Launch:
        """Return the plan."""
        x, _, coordinates = layouts
        return plan_nonzero(NonzeroProblem(x, coordinates.last(2), self.input_tensor.data_type))
