"""One-hot as an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.operators.examples import Example, Sizes, numbered, tensor
from cudakern.operators.one_hot.descriptor import OneHotOperatorDesc
from cudakern.operators.one_hot.function import NAME, one_hot
from cudakern.operators.one_hot.plan import specialisations
from cudakern.operators.operator import Operator
from cudakern.values.dtypes import DataType

if TYPE_CHECKING:
    from collections.abc import Iterator


def _of(
    indices: Sizes, values: Sizes, out: Sizes, axis: int, data_type: DataType = DataType.UINT32
) -> OneHotOperatorDesc:
    return OneHotOperatorDesc(tensor(indices, data_type), tensor(values), tensor(out), axis)


def examples() -> Iterator[Example]:
    """Return the examples of ``DML_ONE_HOT_OPERATOR_DESC``."""
    three, four, two, out = (1, 1, 3, 1), (1, 1, 1, 4), (1, 1, 1, 2), (1, 1, 3, 4)
    signed = _of(three, two, out, 3, DataType.INT32)
    of_three = ([0, 3, 2], [4, 2, 9]), [2, 4, 4, 4, 4, 4, 4, 2, 4, 4, 2, 4]
    return numbered(
        "one_hot",
        (_of(three, two, out, 3), ([0, 3, 2], [0, 1]), [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0]),
        (_of(four, two, out, 2), ([0, 2, 1, 0], [0, 1]), [1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0]),
        (_of(three, three, out, 3), *of_three, "the third value is not used"),
        (signed, ([-3, 100, 3], [0, 1]), [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    )


OPERATOR = Operator(
    name=NAME,
    functions=(one_hot,),
    specialisations=specialisations,
    descriptors=(OneHotOperatorDesc,),
    examples=examples,
)
