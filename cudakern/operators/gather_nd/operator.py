"""Gather by index tuples as an operator."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from cudakern.operators.examples import Example, example, indexed, numbered
from cudakern.operators.gather_nd.descriptor import GatherND1OperatorDesc, GatherNDOperatorDesc
from cudakern.operators.gather_nd.function import NAME, gather_nd
from cudakern.operators.gather_nd.plan import specialisations
from cudakern.operators.indexing.check import check_specs
from cudakern.operators.operator import Operator

if TYPE_CHECKING:
    from collections.abc import Iterator

_describe = partial(indexed, GatherND1OperatorDesc)


def examples() -> Iterator[Example]:
    """Yield those of ``DML_GATHER_ND1_OPERATOR_DESC`` and ``DML_GATHER_ND_OPERATOR_DESC``."""
    yield from numbered(
        "gather_nd",
        (_describe((2, 2), (2, 1), (2, 2), 2, 2, 0), (range(4), [1, 0]), [2, 3, 0, 1]),
        (
            _describe((1, 3, 2, 2), (1, 3, 2, 2), (1, 1, 3, 2), 3, 3, 1),
            (range(12), [0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0]),
            [0, 3, 7, 4, 9, 10],
        ),
    )
    yield example(
        "gather_nd without batches, example 2",
        indexed(GatherNDOperatorDesc, (1, 2, 2, 2), (1, 1, 2, 2), (1, 1, 2, 2), 3, 2),
        (range(8), [0, 1, 1, 0]),
        [2, 3, 4, 5],
    )
    x = np.arange(3 * 4 * 5 * 6 * 7).reshape(3, 4, 5, 6, 7)
    yield example(
        "gather_nd, sizes of the output",
        _describe(x.shape, (1, 1, 1, 2, 3), (1, 1, 2, 6, 7), 5, 3, 0),
        (x.ravel(), [2, 3, 4, 0, 1, 2]),
        (*x[2, 3, 4].ravel(), *x[0, 1, 2].ravel()),
        "the printed formula would give {5,6,7} at the end; the printed sizes hold",
    )
    x = np.arange(3 * 4 * 2 * 3).reshape(3, 4, 2, 3)
    indices = np.arange(3 * 4 * 5 * 6 * 2).reshape(3, 4, 5, 6, 2) % 2
    batch = np.ogrid[:3, :4, :1, :1]
    yield example(
        "gather_nd, sizes of batches",
        _describe((1, 1, 3, 4, 2, 3), (1, 3, 4, 5, 6, 2), (1, 1, 3, 4, 5, 6), 4, 5, 2),
        (x.ravel(), indices.ravel()),
        x[batch[0], batch[1], indices[..., 0], indices[..., 1]].ravel(),
        "printed with tuples of 7, for which the input would have at least 9 dimensions; "
        "the batches {3,4} hold with tuples of 2",
        _describe((1, 1, 3, 4, 2, 3), (1, 3, 4, 5, 6, 7), (1, 1, 3, 4, 5, 6), 4, 5, 2),
    )


OPERATOR = Operator(
    name=NAME,
    functions=(gather_nd,),
    specialisations=lambda: chain(specialisations(), check_specs(NAME)),
    descriptors=(GatherNDOperatorDesc, GatherND1OperatorDesc),
    examples=examples,
)
