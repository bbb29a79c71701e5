"""The examples of the DirectML reference: descriptors, inputs and documented results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cudakern.operators.descriptor import OperatorDesc
from cudakern.operators.tensor import TensorDesc
from cudakern.values.dtypes import DataType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Sizes: TypeAlias = tuple[int, ...]


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


def tensor(sizes: Sizes, data_type: DataType = DataType.FLOAT32) -> TensorDesc:
    """Return a packed tensor."""
    return TensorDesc(data_type, sizes)


def example(
    title: str,
    desc: OperatorDesc,
    inputs: Iterable[Iterable[float]],
    expected: Iterable[float],
    remark: str = "",
    rejected: OperatorDesc | None = None,
) -> Example:
    """Return an example of one output, its values given in row-major order."""
    tensors = [each for _, each in (*desc.inputs(), *desc.outputs())]
    arrays = [
        np.array(list(values), each.data_type.numpy).reshape(each.sizes)
        for values, each in zip((*inputs, expected), tensors, strict=True)
    ]
    return Example(title, desc, tuple(arrays[:-1]), (arrays[-1],), remark, rejected)


def numbered(operator: str, *rows: tuple[Any, ...]) -> Iterator[Example]:
    """Yield the numbered examples of an operator, from arguments of `example` without titles."""
    for number, row in enumerate(rows, 1):
        yield example(f"{operator}, example {number}", *row)


def indexed(
    desc_type: Callable[..., OperatorDesc], x: Sizes, indices: Sizes, out: Sizes, *options: int
) -> OperatorDesc:
    """Return a descriptor of a look-up, with indices of uint32."""
    return desc_type(tensor(x), tensor(indices, DataType.UINT32), tensor(out), *options)
