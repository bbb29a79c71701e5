"""The examples of the DirectML reference: descriptors, inputs and documented results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.operators.descriptor import OperatorDesc
from cudakern.operators.gather.descriptor import GatherOperatorDesc
from cudakern.operators.gather_nd.descriptor import GatherND1OperatorDesc, GatherNDOperatorDesc
from cudakern.operators.nonzero.descriptor import NonzeroCoordinatesOperatorDesc
from cudakern.operators.one_hot.descriptor import OneHotOperatorDesc
from cudakern.operators.reduce.descriptor import (
    ArgmaxOperatorDesc,
    ArgminOperatorDesc,
    AxisDirection,
    ReduceOperatorDesc,
)
from cudakern.operators.reduce.types import ReduceFunction
from cudakern.operators.tensor import TensorDesc
from cudakern.values.dtypes import DataType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Example:
    """One documented example."""

    title: str
    desc: OperatorDesc  #: as documented, or as corrected
    inputs: tuple[np.ndarray[Any, Any], ...]
    #: Of each output. The last may hold fewer rows than the descriptor says: others are undefined.
    expected: tuple[np.ndarray[Any, Any], ...]
    remark: str = ""  #: what is odd about the documented form
    rejected: OperatorDesc | None = None  #: as printed, where that breaks a rule


def _tensor(sizes: Sizes, data_type: DataType = DataType.FLOAT32) -> TensorDesc:
    return TensorDesc(data_type, sizes)


def _example(
    title: str,
    desc: OperatorDesc,
    inputs: Iterable[Iterable[float]],
    expected: Iterable[float],
    remark: str = "",
    rejected: OperatorDesc | None = None,
) -> Example:
    """Return an example of one output, its values given in row-major order."""
    tensors = [tensor for _, tensor in (*desc.inputs(), *desc.outputs())]
    arrays = [
        np.array(list(values), tensor.data_type.numpy).reshape(tensor.sizes)
        for values, tensor in zip((*inputs, expected), tensors, strict=True)
    ]
    return Example(title, desc, tuple(arrays[:-1]), (arrays[-1],), remark, rejected)


def _indexed(
    desc_type: Callable[..., OperatorDesc], x: Sizes, indices: Sizes, out: Sizes, *options: int
) -> OperatorDesc:
    return desc_type(_tensor(x), _tensor(indices, DataType.UINT32), _tensor(out), *options)


_gather = partial(_indexed, GatherOperatorDesc)
_gather_nd = partial(_indexed, GatherND1OperatorDesc)


def _number(operator: str, *rows: tuple[Any, ...]) -> Iterator[Example]:
    """Yield the numbered examples of an operator, from arguments of `_example` without titles."""
    for number, row in enumerate(rows, 1):
        yield _example(f"{operator}, example {number}", *row)


def _gather_examples() -> Iterator[Example]:
    """Return the examples of ``DML_GATHER_OPERATOR_DESC``."""
    six, nine, tens = range(1, 7), range(1, 10), range(11, 15)
    indices, pairs = [0, 1, 1, 2], [1, 2, 3, 4, 3, 4, 5, 6]
    remark = (
        "printed with IndexDimensions = 2, for which the output would be {3,1,2}; "
        "IndexDimensions = 1 gives the printed output"
    )
    third, printed = (_gather((3, 2), (1, 2), (3, 2), 1, dimensions) for dimensions in (1, 2))
    return _number(
        "gather",
        (_gather((4,), (5,), (5,), 0, 1), (tens, [3, 1, 3, 0, 2]), [14, 12, 14, 11, 13]),
        (_gather((3, 2), (1, 4), (4, 2), 0, 1), (six, indices), pairs),
        (third, (six, [1, 0]), [2, 1, 4, 3, 6, 5], remark, printed),
        (_gather((1, 3, 3), (1, 1, 2), (3, 1, 2), 2, 2), (nine, [0, 2]), [1, 3, 4, 6, 7, 9]),
        (_gather((1, 3, 2), (1, 2, 2), (2, 2, 2), 1, 2), (six, indices), pairs),
    )


def _gather_nd_examples() -> Iterator[Example]:
    """Yield those of ``DML_GATHER_ND1_OPERATOR_DESC`` and ``DML_GATHER_ND_OPERATOR_DESC``."""
    yield from _number(
        "gather_nd",
        (_gather_nd((2, 2), (2, 1), (2, 2), 2, 2, 0), (range(4), [1, 0]), [2, 3, 0, 1]),
        (
            _gather_nd((1, 3, 2, 2), (1, 3, 2, 2), (1, 1, 3, 2), 3, 3, 1),
            (range(12), [0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0]),
            [0, 3, 7, 4, 9, 10],
        ),
    )
    yield _example(
        "gather_nd without batches, example 2",
        _indexed(GatherNDOperatorDesc, (1, 2, 2, 2), (1, 1, 2, 2), (1, 1, 2, 2), 3, 2),
        (range(8), [0, 1, 1, 0]),
        [2, 3, 4, 5],
    )
    x = np.arange(3 * 4 * 5 * 6 * 7).reshape(3, 4, 5, 6, 7)
    yield _example(
        "gather_nd, sizes of the output",
        _gather_nd(x.shape, (1, 1, 1, 2, 3), (1, 1, 2, 6, 7), 5, 3, 0),
        (x.ravel(), [2, 3, 4, 0, 1, 2]),
        (*x[2, 3, 4].ravel(), *x[0, 1, 2].ravel()),
        "the printed formula would give {5,6,7} at the end; the printed sizes hold",
    )
    x = np.arange(3 * 4 * 2 * 3).reshape(3, 4, 2, 3)
    indices = np.arange(3 * 4 * 5 * 6 * 2).reshape(3, 4, 5, 6, 2) % 2
    batch = np.ogrid[:3, :4, :1, :1]
    yield _example(
        "gather_nd, sizes of batches",
        _gather_nd((1, 1, 3, 4, 2, 3), (1, 3, 4, 5, 6, 2), (1, 1, 3, 4, 5, 6), 4, 5, 2),
        (x.ravel(), indices.ravel()),
        x[batch[0], batch[1], indices[..., 0], indices[..., 1]].ravel(),
        "printed with tuples of 7, for which the input would have at least 9 dimensions; "
        "the batches {3,4} hold with tuples of 2",
        _gather_nd((1, 1, 3, 4, 2, 3), (1, 3, 4, 5, 6, 7), (1, 1, 3, 4, 5, 6), 4, 5, 2),
    )


def _one_hot(
    indices: Sizes, values: Sizes, out: Sizes, axis: int, data_type: DataType = DataType.UINT32
) -> OneHotOperatorDesc:
    return OneHotOperatorDesc(_tensor(indices, data_type), _tensor(values), _tensor(out), axis)


def _one_hot_examples() -> Iterator[Example]:
    """Return the examples of ``DML_ONE_HOT_OPERATOR_DESC``."""
    three, four, two, out = (1, 1, 3, 1), (1, 1, 1, 4), (1, 1, 1, 2), (1, 1, 3, 4)
    signed = _one_hot(three, two, out, 3, DataType.INT32)
    of_three = ([0, 3, 2], [4, 2, 9]), [2, 4, 4, 4, 4, 4, 4, 2, 4, 4, 2, 4]
    return _number(
        "one_hot",
        (_one_hot(three, two, out, 3), ([0, 3, 2], [0, 1]), [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0]),
        (_one_hot(four, two, out, 2), ([0, 2, 1, 0], [0, 1]), [1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0]),
        (_one_hot(three, three, out, 3), *of_three, "the third value is not used"),
        (signed, ([-3, 100, 3], [0, 1]), [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    )


def _nonzero(title: str, x: np.ndarray[Any, Any], rows: Iterable[Sizes], remark: str) -> Example:
    """Return an example whose tensors have the same number of dimensions."""
    coordinates = np.array(list(rows), np.uint32)
    ones = (1,) * (x.ndim - 2)
    desc = NonzeroCoordinatesOperatorDesc(
        _tensor(x.shape),
        _tensor((*ones, 1, 1), DataType.UINT32),
        _tensor((*ones, x.size, coordinates.shape[1]), DataType.UINT32),
    )
    count = np.full((*ones, 1, 1), len(coordinates), np.uint32)
    expected = count, coordinates.reshape(*ones, *coordinates.shape)
    return Example(title, desc, (x,), expected, remark)


def _nonzero_examples() -> Iterator[Example]:
    """Yield the examples of ``DML_NONZERO_COORDINATES_OPERATOR_DESC``."""
    yield _nonzero(
        "nonzero_coordinates, example 1",
        np.array([[[[1, 0, 0, 2], [-0.0, 3.5, 0, -5.2]]]], np.float32),
        [(0, 0, 0), (0, 0, 3), (0, 1, 1), (0, 1, 3)],
        "the last four rows of coordinates are undefined",
    )
    x = np.zeros((2, 6), np.float32)
    x[(1, 1, 0), (0, 2, 5)] = 1, 2, 3
    yield _nonzero(
        "nonzero_coordinates, order of coordinates",
        x,
        [(0, 5), (1, 0), (1, 2)],
        "printed without an input; the rows behind the third are undefined",
    )


def _reduced(
    desc_type: Callable[..., OperatorDesc],
    data_type: DataType,
    x: list[int],
    *rows: tuple[Any, ...],
) -> Iterator[tuple[Any, ...]]:
    """Yield arguments of `_number` for an x of 3 by 3; a row has axes, the result, any remark."""
    for axes, *result in rows:
        out = tuple(1 if axis in axes else 3 for axis in range(2))
        yield desc_type(_tensor((3, 3)), _tensor(out, data_type), axes), (x,), *result


def _reduce_examples() -> Iterator[Example]:
    """Return the examples of ``DML_REDUCE_OPERATOR_DESC``."""
    desc_type, x = partial(ReduceOperatorDesc, ReduceFunction.SUM), [1, 2, 3, 3, 0, 4, 2, 4, 2]
    remark = "the comment beside the printed result has a 5 where the input has a 4"
    rows = ((0,), [6, 6, 9]), ((1,), [6, 7, 8]), ((0, 1), [21], remark)
    return _number("reduce", *_reduced(desc_type, DataType.FLOAT32, x, *rows))


def _arg_examples(
    desc_type: type[ArgmaxOperatorDesc | ArgminOperatorDesc],
    ties: list[int],
    *rows: tuple[Sizes, list[int]],
) -> Iterator[Example]:
    """Yield the examples of ``DML_ARGMAX_OPERATOR_DESC`` or ``DML_ARGMIN_OPERATOR_DESC``."""
    first = partial(desc_type, axis_direction=AxisDirection.INCREASING)
    x = [1, 2, 3, 3, 0, 4, 2, 5, 2]
    yield from _number(desc_type.operator, *_reduced(first, DataType.UINT32, x, *rows))
    for direction, position in ((AxisDirection.INCREASING, 0), (AxisDirection.DECREASING, 4)):
        desc = desc_type(_tensor((5,)), _tensor((1,), DataType.UINT32), (0,), direction)
        yield _example(f"{desc_type.operator}, equal elements", desc, (ties,), [position])


def examples() -> tuple[Example, ...]:
    """Return all examples of the pages of the operators' descriptors."""
    largest = ((0,), [1, 2, 1]), ((1,), [2, 2, 1]), ((0, 1), [7])
    smallest = ((0,), [0, 1, 2]), ((1,), [0, 1, 0]), ((0, 1), [4])
    return (
        *_gather_examples(),
        *_gather_nd_examples(),
        *_nonzero_examples(),
        *_one_hot_examples(),
        *_reduce_examples(),
        *_arg_examples(ArgmaxOperatorDesc, [3, 2, 1, 2, 3], *largest),
        *_arg_examples(ArgminOperatorDesc, [1, 2, 3, 2, 1], *smallest),
    )
