"""Reduce as an operator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cudakern.operators.examples import Example, Sizes, example, numbered, tensor
from cudakern.operators.operator import Operator
from cudakern.operators.reduce.descriptor import (
    ArgmaxOperatorDesc,
    ArgminOperatorDesc,
    AxisDirection,
    ReduceOperatorDesc,
)
from cudakern.operators.reduce.function import reduce
from cudakern.operators.reduce.reduction import specialisations
from cudakern.operators.reduce.types import NAME, ReduceFunction
from cudakern.values.dtypes import DataType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cudakern.operators.descriptor import OperatorDesc


def _reduced(
    desc_type: Callable[..., OperatorDesc],
    data_type: DataType,
    x: list[int],
    *rows: tuple[Any, ...],
) -> Iterator[tuple[Any, ...]]:
    """Yield arguments of `numbered` for an x of 3 by 3; a row has axes, the result, any remark."""
    for axes, *result in rows:
        out = tuple(1 if axis in axes else 3 for axis in range(2))
        yield desc_type(tensor((3, 3)), tensor(out, data_type), axes), (x,), *result


def _arg_examples(
    desc_type: type[ArgmaxOperatorDesc | ArgminOperatorDesc],
    ties: list[int],
    *rows: tuple[Sizes, list[int]],
) -> Iterator[Example]:
    """Yield the examples of ``DML_ARGMAX_OPERATOR_DESC`` or ``DML_ARGMIN_OPERATOR_DESC``."""
    first = partial(desc_type, axis_direction=AxisDirection.INCREASING)
    x = [1, 2, 3, 3, 0, 4, 2, 5, 2]
    yield from numbered(desc_type.operator, *_reduced(first, DataType.UINT32, x, *rows))
    for direction, position in ((AxisDirection.INCREASING, 0), (AxisDirection.DECREASING, 4)):
        desc = desc_type(tensor((5,)), tensor((1,), DataType.UINT32), (0,), direction)
        yield example(f"{desc_type.operator}, equal elements", desc, (ties,), [position])


def examples() -> Iterator[Example]:
    """Yield the examples of ``DML_REDUCE_OPERATOR_DESC``, and of those for argmax and argmin."""
    desc_type, x = partial(ReduceOperatorDesc, ReduceFunction.SUM), [1, 2, 3, 3, 0, 4, 2, 4, 2]
    remark = "the comment beside the printed result has a 5 where the input has a 4"
    rows = ((0,), [6, 6, 9]), ((1,), [6, 7, 8]), ((0, 1), [21], remark)
    yield from numbered("reduce", *_reduced(desc_type, DataType.FLOAT32, x, *rows))
    largest = ((0,), [1, 2, 1]), ((1,), [2, 2, 1]), ((0, 1), [7])
    smallest = ((0,), [0, 1, 2]), ((1,), [0, 1, 0]), ((0, 1), [4])
    yield from _arg_examples(ArgmaxOperatorDesc, [3, 2, 1, 2, 3], *largest)
    yield from _arg_examples(ArgminOperatorDesc, [1, 2, 3, 2, 1], *smallest)


OPERATOR = Operator(
    name=NAME,
    functions=(reduce,),
    specialisations=specialisations,
    descriptors=(ReduceOperatorDesc, ArgmaxOperatorDesc, ArgminOperatorDesc),
    examples=examples,
)
