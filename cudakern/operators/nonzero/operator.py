"""Nonzero-coordinates as an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.operators.examples import Example, Sizes, tensor
from cudakern.operators.nonzero.descriptor import NonzeroCoordinatesOperatorDesc
from cudakern.operators.nonzero.function import NAME, argwhere, nonzero, nonzero_coordinates
from cudakern.operators.nonzero.plan import specialisations
from cudakern.operators.operator import Operator
from cudakern.values.dtypes import DataType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def _found(title: str, x: np.ndarray[Any, Any], rows: Iterable[Sizes], remark: str) -> Example:
    """Return an example whose tensors have the same number of dimensions."""
    coordinates = np.array(list(rows), np.uint32)
    ones = (1,) * (x.ndim - 2)
    desc = NonzeroCoordinatesOperatorDesc(
        tensor(x.shape),
        tensor((*ones, 1, 1), DataType.UINT32),
        tensor((*ones, x.size, coordinates.shape[1]), DataType.UINT32),
    )
    count = np.full((*ones, 1, 1), len(coordinates), np.uint32)
    expected = count, coordinates.reshape(*ones, *coordinates.shape)
    return Example(title, desc, (x,), expected, remark)


def examples() -> Iterator[Example]:
    """Yield the examples of ``DML_NONZERO_COORDINATES_OPERATOR_DESC``."""
    yield _found(
        "nonzero_coordinates, example 1",
        np.array([[[[1, 0, 0, 2], [-0.0, 3.5, 0, -5.2]]]], np.float32),
        [(0, 0, 0), (0, 0, 3), (0, 1, 1), (0, 1, 3)],
        "the last four rows of coordinates are undefined",
    )
    x = np.zeros((2, 6), np.float32)
    x[(1, 1, 0), (0, 2, 5)] = 1, 2, 3
    yield _found(
        "nonzero_coordinates, order of coordinates",
        x,
        [(0, 5), (1, 0), (1, 2)],
        "printed without an input; the rows behind the third are undefined",
    )


OPERATOR = Operator(
    name=NAME,
    functions=(nonzero_coordinates, argwhere, nonzero),
    specialisations=specialisations,
    descriptors=(NonzeroCoordinatesOperatorDesc,),
    examples=examples,
)
