"""The DirectML descriptors of reduce, argmax and argmin."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import TYPE_CHECKING, ClassVar, SupportsIndex

from cudakern.errors import DescriptorError, describe_value, did_you_mean_member
from cudakern.operators.descriptor import OperatorDesc
from cudakern.operators.feature_level import FeatureLevel
from cudakern.operators.reduce import types
from cudakern.operators.reduce.plan import ReduceProblem, plan_reduce
from cudakern.operators.reduce.reduction import Reduction
from cudakern.operators.reduce.types import ReduceFunction
from cudakern.operators.tensor import TensorDesc, as_integers
from cudakern.values.validation import integer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cudakern.engines.base import Launch
    from cudakern.operators.annotations import FunctionName
    from cudakern.operators.descriptor import TypeTable
    from cudakern.values.layout import Layout


class AxisDirection(IntEnum):
    """Which of equal elements argmax and argmin find, with the values of ``DML_AXIS_DIRECTION``."""

    INCREASING = 0
    DECREASING = 1


class _ReducingDesc(OperatorDesc):
    """The common part of the descriptors."""

    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axes: tuple[int, ...]

    input_fields: ClassVar[tuple[str, ...]] = ("input_tensor",)
    aligned_fields: ClassVar[tuple[str, ...]] = ("input_tensor", "output_tensor")

    def __post_init__(self) -> None:
        super().__post_init__()
        axes = as_integers(type(self).__name__, "axes", self.axes)
        object.__setattr__(self, "axes", axes)

    @abstractmethod
    def _function(self) -> ReduceFunction:
        """Return the function; raise DescriptorError if there is none (R1)."""

    def _last_index(self) -> bool:
        return False

    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the first broken rule of R1 to R9."""
        function = self._function()
        x, out, axes = self.input_tensor, self.output_tensor, self.axes
        rank = len(x.sizes)
        self.require_same_rank("R2", level)
        requirement = f"must lie in [0, {rank - 1}]; got {axes}"
        self.require("R3", "axes", all(0 <= axis < rank for axis in axes), requirement)
        requirement = f"must name no axis twice; got {axes}"
        self.require("R5", "axes", len(set(axes)) == len(axes), requirement)
        expected = tuple(1 if d in axes else n for d, n in enumerate(x.sizes))
        requirement = f"must be {expected} for axes={axes}"
        self.require_sizes("R8", "output_tensor", out.sizes == expected, requirement)
        field, kind, result = "output_tensor.data_type", x.data_type, out.data_type
        if level is FeatureLevel.EXTENDED:
            words, allowed = types.result_types(function, kind)
            requirement = f"must be {words} for {function.label} of {kind.name}; got {result.name}"
            self.require("R9", field, result in allowed, requirement)
        elif function not in types.ARG_FUNCTIONS:
            self.require_data_type_of("R9", "input_tensor")
        count = prod(x.sizes[axis] for axis in axes)
        requirement = f"must hold indices up to {count - 1}; got {result.name}"
        self.require("R9", field, types.holds_indices(function, result, count), requirement)
        legal = 0 not in x.sizes or 0 in out.sizes or self.constant() is not None
        self.require_sizes("T4", "input_tensor", legal, f"must be at least 1 for {function.label}")

    @property
    def type_tables(self) -> tuple[tuple[str, str, TypeTable], ...]:
        """The legal data types of tensors, which depend on the function."""
        function = self._function()
        of_input = ("R10", "input_tensor", types.input_data_types(function))
        of_output = ("R10", "output_tensor", types.INDEX_DATA_TYPES)
        return (of_input, of_output) if function in types.ARG_FUNCTIONS else (of_input,)

    def constant(self) -> complex | None:
        if 0 not in self.input_tensor.sizes:
            return None
        return types.of_nothing(self._function(), self.output_tensor.data_type)

    def plan(self, layouts: Sequence[Layout]) -> Launch | None:
        x, out = layouts
        if x.size == 0:
            return None
        function = self._function()
        reduction = Reduction(
            function,
            self.input_tensor.data_type,
            self.output_tensor.data_type,
            ignore_nan=function in types.NAN_FUNCTIONS,
            last_index=self._last_index(),
        )
        return plan_reduce(ReduceProblem(reduction, x, out, tuple(sorted(self.axes))))


@dataclass(frozen=True)
class ReduceOperatorDesc(_ReducingDesc):
    """DirectML's reduce: a function of the input over some of its axes.

    Parameters
    ----------
    function : ReduceFunction
        What is computed; a name that `cudakern.reduce` takes will do.
    input_tensor, output_tensor : TensorDesc
        Of the same number of dimensions; the output has size 1 along the axes.
    axes : sequence of int
        The dimensions that are reduced, in any order; none means the function of each element.

    Raises
    ------
    DTypeError
        An axis is not an integer.

    Notes
    -----
    MAX, MIN, ARGMAX and ARGMIN take NaN as absent; of equal elements, ARGMAX and ARGMIN find the
    first. Source: DirectML reference, ``DML_REDUCE_OPERATOR_DESC``, rules R1 to R10 of
    descriptors.md. R6, no more axes than dimensions, follows from R3 and R5.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> desc = ck.ReduceOperatorDesc(
    ...     function=ck.ReduceFunction.SUM,
    ...     input_tensor=ck.TensorDesc(ck.DataType.FLOAT32, (2, 3)),
    ...     output_tensor=ck.TensorDesc(ck.DataType.FLOAT32, (2, 1)),
    ...     axes=(1,),
    ... )
    >>> ck.compile_operator(desc)(np.array([[1, 4, 4], [2, 8, 2]], np.float32))
    array([[ 9.],
           [12.]], dtype=float32)
    """

    function: ReduceFunction
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axes: tuple[int, ...]

    operator: ClassVar[str] = "reduce"
    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_1_0

    if TYPE_CHECKING:  # takes names and integers of any kind

        def __init__(
            self,
            function: FunctionName | ReduceFunction,
            input_tensor: TensorDesc,
            output_tensor: TensorDesc,
            axes: Iterable[SupportsIndex],
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        with suppress(DescriptorError):  # rule R1 reports it
            object.__setattr__(self, "function", self._function())

    def _function(self) -> ReduceFunction:
        function = types.function_of(self.function)
        if function is None:
            requirement = types.requirement_of(self.function)
            requirement = requirement.replace(" with nan='ignore'", "")  # always so here
            raise DescriptorError(self.operator, "function", requirement, "R1")
        return function


@dataclass(frozen=True)
class _ArgDesc(_ReducingDesc):
    """The common part of argmax and argmin."""

    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axes: tuple[int, ...]
    axis_direction: AxisDirection

    introduced: ClassVar[FeatureLevel] = FeatureLevel.LEVEL_3_0

    if TYPE_CHECKING:  # takes integers of any kind, and keeps Python's

        def __init__(
            self,
            input_tensor: TensorDesc,
            output_tensor: TensorDesc,
            axes: Iterable[SupportsIndex],
            axis_direction: AxisDirection,
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        with suppress(Exception):  # check_rules reports it
            direction = AxisDirection(integer_of(self.axis_direction))
            object.__setattr__(self, "axis_direction", direction)

    def check_rules(self, level: FeatureLevel) -> None:
        """Raise DescriptorError for the first broken rule of R2 to R9, then the direction's."""
        super().check_rules(level)
        direction: object = self.axis_direction
        if not isinstance(direction, AxisDirection):
            found = describe_value(direction) + did_you_mean_member(direction, AxisDirection)
            requirement = f"must be INCREASING or DECREASING; got {found}"
            raise DescriptorError(self.operator, "axis_direction", requirement)

    def _function(self) -> ReduceFunction:
        return types.BY_LABEL[self.operator]

    def _last_index(self) -> bool:
        return self.axis_direction is AxisDirection.DECREASING


@dataclass(frozen=True, init=False)  # the constructor is inherited
class ArgmaxOperatorDesc(_ArgDesc):
    """DirectML's argmax: where the largest element is, over some axes of the input.

    Parameters
    ----------
    input_tensor, output_tensor : TensorDesc
        Of the same number of dimensions; the output has size 1 along the axes.
    axes : sequence of int
        The dimensions that are reduced, in any order; an index counts through them in row-major
        order, ascending.
    axis_direction : AxisDirection
        INCREASING for the first of equal elements, DECREASING for the last.

    Raises
    ------
    DTypeError
        An axis is not an integer.

    Notes
    -----
    NaN counts as absent. Source: DirectML reference, ``DML_ARGMAX_OPERATOR_DESC``, rules R2 to R10
    of descriptors.md.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> desc = ck.ArgmaxOperatorDesc(
    ...     input_tensor=ck.TensorDesc(ck.DataType.FLOAT32, (2, 3)),
    ...     output_tensor=ck.TensorDesc(ck.DataType.UINT32, (2, 1)),
    ...     axes=(1,),
    ...     axis_direction=ck.AxisDirection.DECREASING,
    ... )
    >>> ck.compile_operator(desc)(np.array([[1, 4, 4], [2, 8, 2]], np.float32))
    array([[2],
           [1]], dtype=uint32)
    """

    operator: ClassVar[str] = "argmax"


@dataclass(frozen=True, init=False)  # the constructor is inherited
class ArgminOperatorDesc(_ArgDesc):
    """DirectML's argmin: where the smallest element is, otherwise as `ArgmaxOperatorDesc`.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> desc = ck.ArgminOperatorDesc(
    ...     input_tensor=ck.TensorDesc(ck.DataType.FLOAT32, (2, 3)),
    ...     output_tensor=ck.TensorDesc(ck.DataType.UINT32, (2, 1)),
    ...     axes=(1,),
    ...     axis_direction=ck.AxisDirection.DECREASING,
    ... )
    >>> ck.compile_operator(desc)(np.array([[1, 4, 4], [2, 8, 2]], np.float32))
    array([[0],
           [2]], dtype=uint32)
    """

    operator: ClassVar[str] = "argmin"
