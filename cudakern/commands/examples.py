"""The examples of the DirectML reference: descriptors, inputs and documented results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.dtypes import DataType
from cudakern.operators.base import OperatorDesc
from cudakern.operators.gather import GatherOperatorDesc
from cudakern.tensor import TensorDesc

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Example:
    """One documented example.

    Attributes
    ----------
    title : str
        Operator and number.
    desc : OperatorDesc
        The descriptor as documented, or as corrected.
    inputs : tuple of numpy.ndarray
        In binding order.
    expected : numpy.ndarray
        The documented result.
    remark : str
        What is odd about the documented form.
    rejected : OperatorDesc or None
        The descriptor as printed, where it breaks a rule.
    """

    title: str
    desc: OperatorDesc
    inputs: tuple[np.ndarray[Any, Any], ...]
    expected: np.ndarray[Any, Any]
    remark: str = ""
    rejected: OperatorDesc | None = None


def _gather(
    x: tuple[int, ...], indices: tuple[int, ...], out: tuple[int, ...], axis: int, dimensions: int
) -> GatherOperatorDesc:
    return GatherOperatorDesc(
        input_tensor=TensorDesc(DataType.FLOAT32, x),
        indices_tensor=TensorDesc(DataType.UINT32, indices),
        output_tensor=TensorDesc(DataType.FLOAT32, out),
        axis=axis,
        index_dimensions=dimensions,
    )


def _gather_example(
    number: int,
    desc: GatherOperatorDesc,
    x: Iterable[float],
    indices: Iterable[int],
    expected: Iterable[float],
    remark: str = "",
    rejected: GatherOperatorDesc | None = None,
) -> Example:
    return Example(
        f"gather, example {number}",
        desc,
        (
            np.array(list(x), np.float32).reshape(desc.input_tensor.sizes),
            np.array(list(indices), np.uint32).reshape(desc.indices_tensor.sizes),
        ),
        np.array(list(expected), np.float32).reshape(desc.output_tensor.sizes),
        remark,
        rejected,
    )


def examples() -> tuple[Example, ...]:
    """Return all documented examples.

    Source: DirectML reference, ``DML_GATHER_OPERATOR_DESC``, "Examples".
    """
    return (
        _gather_example(
            1,
            _gather((4,), (5,), (5,), 0, 1),
            [11, 12, 13, 14],
            [3, 1, 3, 0, 2],
            [14, 12, 14, 11, 13],
        ),
        _gather_example(
            2,
            _gather((3, 2), (1, 4), (4, 2), 0, 1),
            range(1, 7),
            [0, 1, 1, 2],
            [1, 2, 3, 4, 3, 4, 5, 6],
        ),
        _gather_example(
            3,
            _gather((3, 2), (1, 2), (3, 2), 1, 1),
            range(1, 7),
            [1, 0],
            [2, 1, 4, 3, 6, 5],
            "printed with IndexDimensions = 2, for which the output would be {3,1,2}; "
            "IndexDimensions = 1 gives the printed output",
            _gather((3, 2), (1, 2), (3, 2), 1, 2),
        ),
        _gather_example(
            4,
            _gather((1, 3, 3), (1, 1, 2), (3, 1, 2), 2, 2),
            range(1, 10),
            [0, 2],
            [1, 3, 4, 6, 7, 9],
        ),
        _gather_example(
            5,
            _gather((1, 3, 2), (1, 2, 2), (2, 2, 2), 1, 2),
            range(1, 7),
            [0, 1, 1, 2],
            [1, 2, 3, 4, 3, 4, 5, 6],
        ),
    )
