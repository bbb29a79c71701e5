"""What all operator descriptors have in common: their tensors, and how rules are checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar

from cudakern.errors import ArgumentError, DescriptorError, describe_value, did_you_mean_member
from cudakern.operators.feature_level import FeatureLevel
from cudakern.operators.tensor import TensorDesc, check_tensor
from cudakern.values.dtypes import list_types
from cudakern.values.validation import as_integer, integer_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.engines.base import Launch
    from cudakern.values.dtypes import DataType
    from cudakern.values.layout import Layout

    #: Data types by the feature level that introduced them, newest first.
    TypeTable = tuple[tuple[FeatureLevel, frozenset[DataType]], ...]

EARLY_RANK = 4  # dimensions of every tensor below feature level 3_0


def as_level(operator: str, value: object) -> FeatureLevel:
    """Return a feature level given as a member or by its value, or raise ArgumentError."""
    try:
        return FeatureLevel(integer_of(value))
    except Exception:  # noqa: BLE001  whatever a scalar of another library raises
        numbers = {level.label.replace("_", ""): level.name for level in FeatureLevel}
        word = str(value) if isinstance(value, float) else value  # of 6.4
        found = describe_value(value) + did_you_mean_member(word, FeatureLevel, numbers)
        requirement = f"must be a FeatureLevel, such as FeatureLevel.LEVEL_6_4; got {found}"
        raise ArgumentError(operator, "feature_level", requirement) from None


@dataclass(frozen=True)
class OperatorDesc(ABC):
    """A DirectML operator descriptor: tensors and options, immutable and hashable."""

    operator: ClassVar[str]
    introduced: ClassVar[FeatureLevel]

    def __post_init__(self) -> None:
        """Convert integers to Python's; raise DTypeError for a field that is not an integer."""
        for field in fields(self):
            if field.type == "int":
                value = as_integer(type(self).__name__, field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, value)

    #: Names of the fields that are tensors, in binding order.
    input_fields: ClassVar[tuple[str, ...]]
    output_fields: ClassVar[tuple[str, ...]] = ("output_tensor",)
    #: Tensors whose elements kernels take as a whole; others may have any alignment.
    aligned_fields: ClassVar[tuple[str, ...]]

    def inputs(self) -> tuple[tuple[str, TensorDesc], ...]:
        """Return the input tensors with their field names, in binding order."""
        return tuple((name, getattr(self, name)) for name in self.input_fields)

    def outputs(self) -> tuple[tuple[str, TensorDesc], ...]:
        """Return the output tensors with their field names, in binding order."""
        return tuple((name, getattr(self, name)) for name in self.output_fields)

    def tensors(self) -> tuple[tuple[str, TensorDesc], ...]:
        """Return all tensors with their field names, in binding order."""
        return *self.inputs(), *self.outputs()

    def options(self) -> str:
        """Return the fields besides tensors, such as ``axis=0, index_dimensions=1``."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return ", ".join(
            f"{name}={value.name if isinstance(value, IntEnum) else value}"
            for name, value in values
            if not isinstance(value, TensorDesc)
        )

    @abstractmethod
    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the first broken rule of the operator, type tables excepted."""

    @property
    @abstractmethod
    def type_tables(self) -> tuple[tuple[str, str, TypeTable], ...]:
        """The legal data types of tensors: rule, field of a tensor, its table."""

    @abstractmethod
    def plan(self, layouts: Sequence[Layout]) -> Launch | None:
        """Return the launch for tensors bound with these layouts, in binding order."""

    def constant(self) -> complex | None:
        """Return the output's elements if the input is empty, and None otherwise."""
        return None

    def require(self, rule: str, field: str, condition: bool, requirement: str) -> None:  # noqa: FBT001
        """Raise DescriptorError with a rule's id unless a condition holds."""
        if not condition:
            raise DescriptorError(self.operator, field, requirement, rule)

    def require_between(self, rule: str, field: str, low: int, value: int, high: int) -> None:
        """Raise DescriptorError unless a value lies between two others, these included."""
        legal = low <= value <= high
        self.require(rule, field, legal, f"must lie in [{low}, {high}]; got {value}")

    def require_sizes(self, rule: str, field: str, condition: bool, requirement: str) -> None:  # noqa: FBT001
        """Raise DescriptorError unless the sizes of a tensor meet a condition."""
        sizes = getattr(self, field).sizes
        self.require(rule, f"{field}.sizes", condition, f"{requirement}; got {sizes}")

    def require_padding(self, rule: str, field: str, count: int) -> None:
        """Raise DescriptorError unless all sizes of a tensor before the last ``count`` are 1."""
        sizes = getattr(self, field).sizes
        padded = all(n == 1 for n in sizes[: len(sizes) - count])
        self.require_sizes(rule, field, padded, f"must be 1 before the last {count}")

    def require_data_type_of(self, rule: str, field: str) -> None:
        """Raise DescriptorError unless the output has the data type of an input."""
        wanted, output_type = getattr(self, field).data_type, self.outputs()[0][1].data_type
        requirement = f"must be {field}'s, {wanted.name}; got {output_type.name}"
        self.require(rule, "output_tensor.data_type", output_type == wanted, requirement)

    def require_same_rank(self, rule: str, level: FeatureLevel) -> None:
        """Raise DescriptorError unless all tensors have as many dimensions: 4 below level 3_0."""
        ranks = tuple(len(tensor.sizes) for _, tensor in self.tensors())
        requirement = f"must all have the same number of dimensions; got {ranks}"
        self.require(rule, "tensors", len(set(ranks)) == 1, requirement)
        legal = level >= FeatureLevel.LEVEL_3_0 or ranks[0] == EARLY_RANK
        requirement = f"must have {EARLY_RANK} dimensions below feature level 3_0; got {ranks[0]}"
        self.require(rule, "tensors", legal, requirement)

    def require_type(self, rule: str, field: str, level: FeatureLevel, table: TypeTable) -> None:
        """Raise DescriptorError unless a table lists the data type of a tensor at a level."""
        data_type: DataType = getattr(self, field).data_type
        allowed = next(types for since, types in table if level >= since)
        if data_type not in allowed:
            requirement = f"must be {list_types(kind.name for kind in allowed)} at {level.label}"
            found = f"{requirement}; got {data_type.name}"
            raise DescriptorError(self.operator, f"{field}.data_type", found, rule)

    def validate(self, feature_level: FeatureLevel = FeatureLevel.LEVEL_6_4) -> None:
        """Hold the descriptor against every documented rule.

        Parameters
        ----------
        feature_level : FeatureLevel, optional
            The DirectML feature level, or EXTENDED.

        Raises
        ------
        DescriptorError
            For the first broken rule: the tensors' own in binding order, then the operator's in
            ascending order, then the type tables. Its attribute ``rule`` names it.
        """
        level = as_level(self.operator, feature_level)
        if level < self.introduced:
            requirement = f"must be at least {self.introduced.label}; got {level.label}"
            raise DescriptorError(self.operator, "feature_level", requirement)
        for field, tensor in self.tensors():
            output = field in self.output_fields
            check_tensor(self.operator, field, tensor, level, output=output)
        self.check_rules(level)
        for rule, field, table in self.type_tables:
            self.require_type(rule, field, level, table)
