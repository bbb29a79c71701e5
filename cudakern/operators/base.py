"""What all operators share: plans, bound launches, descriptors, compiled operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import partial
from operator import index
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from cudakern._arrays import share_memory
from cudakern._hints import did_you_mean
from cudakern._layout import Layout
from cudakern.engines import engine_for
from cudakern.engines.base import Launch, Tensor
from cudakern.errors import ArgumentError, BindingError, DescriptorError, DTypeError, shown
from cudakern.feature_level import FeatureLevel
from cudakern.tensor import TensorDesc, check_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cudakern._dtypes import DataType
    from cudakern.engines.base import PreparedLaunch

    #: Data types by the feature level that introduced them, newest first.
    TypeTable = tuple[tuple[FeatureLevel, frozenset[DataType]], ...]

#: Bound launches kept per function or compiled operator; beyond, one at random makes room, so that
#: a loop over a few more finds nearly all. A table that started anew would find none.
MAX_BOUND = 1024
#: Dimensions of every tensor below feature level 3_0.
EARLY_RANK = 4
#: Words for an axis, and what to write instead.
AXIS_WORDS = {"first": "0", "rows": "0", "index": "0", "columns": "1", "last": "-1"}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a problem is solved: which kernel variant, and its launch.

    Attributes
    ----------
    variant : str
        Name of the variant, as in the kernel source.
    launch : Launch or None
        None when there is nothing to do: the result is empty.
    workspace : int or None
        Bytes of memory that the blocks exchange words in, whose address follows those of the
        tensors: 0 if this launch needs none, None if no launch of the operator does.
    splits, states_bytes : int
        Blocks that share each result, and the bytes of states that one of them hands over.
    """

    variant: str
    launch: Launch | None
    workspace: int | None = None
    splits: int = 1
    states_bytes: int = 0


class BoundLaunch:
    """A plan prepared for one place: takes addresses, checks that outputs overlap nothing, runs."""

    __slots__ = ("_layouts", "_names", "_operator", "_pairs", "_run", "_workspace", "place")

    def __init__(
        self,
        operator: str,
        plan: Plan,
        place: int,
        names: Sequence[str],
        layouts: Sequence[Layout],
        outputs: int = 1,
    ) -> None:
        self._operator = operator
        self._names = tuple(names)
        self._layouts = tuple(layouts)
        self.place = place
        # Output o and tensor k are apart unless their addresses differ by less than their spans.
        spans = [layout.span for layout in layouts]
        self._pairs = tuple(
            (o, k, spans[k][0] - spans[o][1], spans[k][1] - spans[o][0])
            for o in range(len(layouts) - outputs, len(layouts))
            for k in range(o)
        )
        first_output = len(layouts) - outputs
        tensors = [
            Tensor(name, layout, i < first_output, i >= first_output)
            for i, (name, layout) in enumerate(zip(names, layouts, strict=True))
        ]
        self._run: PreparedLaunch | None = None
        self._workspace: Callable[[], int] | None = None
        if plan.launch is None:
            return
        engine, size = engine_for(place), plan.workspace
        if size is not None:
            words = Layout((size // 8,), (8,), 8)
            tensors.append(Tensor("workspace", words, read=True, written=True))
            self._workspace = partial(engine.workspace, place, size) if size else int
        self._run = engine.prepare(plan.launch, place, tensors)

    def __call__(self, addresses: Sequence[int]) -> None:
        """Check for overlaps and run on arrays at these addresses, inputs first."""
        run = self._run
        if run is None:
            return
        for o, k, low, high in self._pairs:  # as in check, without the call: the hot path
            if low < addresses[o] - addresses[k] < high:
                self._require_apart(o, k, addresses)
        if self._workspace is None:
            run(*addresses)
        else:
            run(*addresses, self._workspace())

    def check(self, addresses: Sequence[int]) -> None:
        """Raise BindingError (rule T19) if an output overlaps another tensor."""
        for o, k, low, high in self._pairs:
            if low < addresses[o] - addresses[k] < high:
                self._require_apart(o, k, addresses)

    def _require_apart(self, o: int, k: int, addresses: Sequence[int]) -> None:
        if share_memory(self._layouts[o], addresses[o], self._layouts[k], addresses[k]):
            requirement = f"must not overlap {self._names[k]}; they share memory"
            raise BindingError(self._operator, self._names[o], requirement, "T19")


B = TypeVar("B")
_random = Random()  # noqa: S311  no secrets; its own, so that a seed of the caller's stays as it is


class BoundTable(Generic[B]):
    """Bound launches by the static facts they were made for; safe to use from many threads.

    No lock: each step on the dictionary is one of its own operations, and a launch that is
    forgotten while it runs is still that of its caller.
    """

    limit = MAX_BOUND

    def __init__(self) -> None:
        self._table: dict[Any, B] = {}
        self.find: Callable[[Any], B | None] = self._table.get
        self.clear = self._table.clear

    def __len__(self) -> int:
        """Return how many launches are kept."""
        return len(self._table)

    def add(self, key: object, bound: B) -> B:
        """Keep what was made for some facts; of two made at once for the same, the first one."""
        added = self._table.setdefault(key, bound)
        while len(keys := list(self._table)) > self.limit:
            other = _random.choice(keys)
            if other != key:
                self._table.pop(other, None)
        return added


def normalize_axis(operator: str, axis: int, rank: int) -> int:
    """Return an axis counted from the first one.

    Raises
    ------
    DTypeError
        The axis is no integer.
    ArgumentError
        It is out of range.
    """
    try:
        position = index(axis)
    except Exception:  # noqa: BLE001  whatever a scalar of another library raises
        hint = did_you_mean(axis, (), AXIS_WORDS)
        message = f"{operator}: axis must be an int; got {shown(axis)}{hint}"
        raise DTypeError(message) from None
    if not -rank <= position < rank:
        requirement = f"must lie in [{-rank}, {rank - 1}]; got {axis}"
        raise ArgumentError(operator, "axis", requirement)
    return position % rank


def as_extent(operator: str, field: str, given: object) -> int:
    """Return a size that was given as an integer of any kind.

    Raises
    ------
    DTypeError
        It is no integer.
    ArgumentError
        It is negative.
    """
    try:
        found = index(given)  # type: ignore[arg-type]  # what else was given, the error says
    except Exception:  # noqa: BLE001  whatever a scalar of another library raises
        message = f"{operator}: {field} must be an int; got {shown(given)}"
        raise DTypeError(message) from None
    if found < 0:
        raise ArgumentError(operator, field, f"must be at least 0; got {found}")
    return found


def as_level(operator: str, given: object) -> FeatureLevel:
    """Return a feature level that was given as a member or by its value.

    Raises
    ------
    ArgumentError
        There is no such level.
    """
    try:
        return FeatureLevel(given)  # type: ignore[arg-type]  # what else was given, the error says
    except Exception:  # noqa: BLE001  whatever a comparison with an array raises
        requirement = f"must be a FeatureLevel, such as FeatureLevel.LEVEL_6_4; got {shown(given)}"
        raise ArgumentError(operator, "feature_level", requirement) from None


@dataclass(frozen=True)
class OperatorDesc(ABC):
    """A DirectML operator descriptor: tensors and options, immutable and hashable."""

    operator: ClassVar[str]
    introduced: ClassVar[FeatureLevel]

    #: Names of the fields that are tensors, in binding order.
    input_fields: ClassVar[tuple[str, ...]]
    output_fields: ClassVar[tuple[str, ...]] = ("output_tensor",)

    def inputs(self) -> tuple[tuple[str, TensorDesc], ...]:
        """Return the input tensors with their field names, in binding order."""
        return tuple((name, getattr(self, name)) for name in self.input_fields)

    def outputs(self) -> tuple[tuple[str, TensorDesc], ...]:
        """Return the output tensors with their field names, in binding order."""
        return tuple((name, getattr(self, name)) for name in self.output_fields)

    def options(self) -> str:
        """Return the fields that are no tensors, such as ``axis=0, index_dimensions=1``."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return ", ".join(
            f"{name}={value.name if isinstance(value, IntEnum) else value}"
            for name, value in values
            if not isinstance(value, TensorDesc)
        )

    @abstractmethod
    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the operator's first broken rule, type tables excepted."""

    @abstractmethod
    def check_types(self, level: FeatureLevel) -> None:
        """Raise DescriptorError if the type tables do not list the data types at a level."""

    @abstractmethod
    def plan(self, layouts: Sequence[Layout]) -> Plan:
        """Return the plan for tensors bound with these layouts, in binding order."""

    def constant(self) -> complex | None:
        """Return what the output is full of if the inputs have no element, and None otherwise."""
        return None

    def require(self, rule: str, field: str, condition: bool, requirement: str) -> None:  # noqa: FBT001
        """Raise DescriptorError with a rule's id unless a condition holds."""
        if not condition:
            raise DescriptorError(self.operator, field, requirement, rule)

    def require_same_rank(self, rule: str, level: FeatureLevel) -> None:
        """Raise DescriptorError unless all tensors have as many dimensions: 4 below level 3_0."""
        ranks = tuple(len(tensor.sizes) for _, tensor in (*self.inputs(), *self.outputs()))
        requirement = f"must all have the same number of dimensions; got {ranks}"
        self.require(rule, "tensors", len(set(ranks)) == 1, requirement)
        legal = level >= FeatureLevel.LEVEL_3_0 or ranks[0] == EARLY_RANK
        requirement = f"must have {EARLY_RANK} dimensions below feature level 3_0; got {ranks[0]}"
        self.require(rule, "tensors", legal, requirement)

    def require_type(self, rule: str, field: str, level: FeatureLevel, table: TypeTable) -> None:
        """Raise DescriptorError unless a table lists the data type of a tensor at a level."""
        data_type: DataType = getattr(self, field).data_type
        allowed = next(types for since, types in table if level >= since)
        names = ", ".join(sorted(kind.name for kind in allowed))
        requirement = f"must be one of {names} at {level.label}; got {data_type.name}"
        self.require(rule, f"{field}.data_type", data_type in allowed, requirement)

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
        for output, tensors in ((False, self.inputs()), (True, self.outputs())):
            for field, tensor in tensors:
                check_tensor(self.operator, field, tensor, level, output=output)
        self.check_rules(level)
        self.check_types(level)
