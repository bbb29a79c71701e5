"""Gather as an operator."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from cudakern.operators.examples import Example, indexed, numbered
from cudakern.operators.gather.descriptor import GatherOperatorDesc
from cudakern.operators.gather.function import NAME, gather
from cudakern.operators.gather.plan import specialisations
from cudakern.operators.indexing.check import check_specs
from cudakern.operators.operator import Operator

if TYPE_CHECKING:
    from collections.abc import Iterator

_describe = partial(indexed, GatherOperatorDesc)


def examples() -> Iterator[Example]:
    """Return the examples of ``DML_GATHER_OPERATOR_DESC``."""
    six, nine, tens = range(1, 7), range(1, 10), range(11, 15)
    indices, pairs = [0, 1, 1, 2], [1, 2, 3, 4, 3, 4, 5, 6]
    remark = (
        "printed with IndexDimensions = 2, for which the output would be {3,1,2}; "
        "IndexDimensions = 1 gives the printed output"
    )
    third, printed = (_describe((3, 2), (1, 2), (3, 2), 1, dimensions) for dimensions in (1, 2))
    return numbered(
        "gather",
        (_describe((4,), (5,), (5,), 0, 1), (tens, [3, 1, 3, 0, 2]), [14, 12, 14, 11, 13]),
        (_describe((3, 2), (1, 4), (4, 2), 0, 1), (six, indices), pairs),
        (third, (six, [1, 0]), [2, 1, 4, 3, 6, 5], remark, printed),
        (_describe((1, 3, 3), (1, 1, 2), (3, 1, 2), 2, 2), (nine, [0, 2]), [1, 3, 4, 6, 7, 9]),
        (_describe((1, 3, 2), (1, 2, 2), (2, 2, 2), 1, 2), (six, indices), pairs),
    )


OPERATOR = Operator(
    name=NAME,
    functions=(gather,),
    specialisations=lambda: chain(specialisations(), check_specs(NAME)),
    descriptors=(GatherOperatorDesc,),
    examples=examples,
)
