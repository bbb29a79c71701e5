"""Types of the public signatures. No operator imports them at run time.

NumPy's arrays, sequences and scalars give `numpy.ndarray`. The type of any other array does not
say whether it is on a GPU, so the result is Any. CuPy has no types: its arrays are Any to mypy and
unknown to pyright, and results are Any as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cudakern.operators.reduce.types import ReduceFunction


class SupportsDLPack(Protocol):
    """An array of CuPy, PyTorch, JAX, NumPy or another library that speaks DLPack."""

    @property
    def __dlpack__(self) -> Any:  # noqa: ANN401  its parameters differ between libraries
        """The method that exports the memory."""


class SupportsCudaArrayInterface(Protocol):
    """An array of Numba or another library on a GPU."""

    @property
    def __cuda_array_interface__(self) -> Any:  # noqa: ANN401  a dictionary, of no one type
        """Address, shape and dtype."""


#: Arrays other than NumPy's. Their overload comes first: for an argument of unknown type, such as
#: CuPy's arrays, pyright would otherwise infer a result of NumPy.
OnGPU: TypeAlias = SupportsCudaArrayInterface
#: Arrays of all libraries, so overloads for NumPy's come before. NumPy's are named here, too, since
#: pyright says that arrays of bool have no ``__dlpack__``.
AnyArray: TypeAlias = NDArray[Any] | SupportsDLPack | SupportsCudaArrayInterface
Scalar: TypeAlias = complex | np.generic
#: Values besides arrays that NumPy converts to an array.
Numbers: TypeAlias = Scalar | Sequence[Any]
OnHost: TypeAlias = NDArray[Any] | Numbers
Operand: TypeAlias = AnyArray | Numbers

#: Element type of an operand, or of a result.
T = TypeVar("T", bound=np.generic)
#: Element type that all reductions but argmax and argmin keep.
F = TypeVar("F", bound=np.inexact[Any])
#: The type of ``out``, which is returned.
Out = TypeVar("Out", bound=AnyArray)
#: The type of ``out`` if that may be several arrays.
Outputs = TypeVar("Outputs", bound=AnyArray | Sequence[AnyArray])

IndexMode: TypeAlias = Literal["clamp", "wrap", "fill", "raise"]
NegativeIndex: TypeAlias = Literal["from_end", "invalid"]
NanRule: TypeAlias = Literal["propagate", "ignore"]
ArgName: TypeAlias = Literal["argmax", "argmin"]
FoldName: TypeAlias = Literal[
    "average", "l1", "l2", "log_sum", "log_sum_exp", "max", "min", "multiply", "sum", "sum_square"
]
FunctionName: TypeAlias = ArgName | FoldName
#: Functions of reduce whose result is a position, those whose result is not, and all of them.
Arg: TypeAlias = ArgName | Literal[ReduceFunction.ARGMAX, ReduceFunction.ARGMIN]
Fold: TypeAlias = (
    FoldName
    | Literal[
        ReduceFunction.AVERAGE,
        ReduceFunction.L1,
        ReduceFunction.L2,
        ReduceFunction.LOG_SUM,
        ReduceFunction.LOG_SUM_EXP,
        ReduceFunction.MAX,
        ReduceFunction.MIN,
        ReduceFunction.MULTIPLY,
        ReduceFunction.SUM,
        ReduceFunction.SUM_SQUARE,
    ]
)
Function: TypeAlias = FunctionName | ReduceFunction
Flag: TypeAlias = bool | np.bool_
Integer: TypeAlias = SupportsIndex
Axes: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | None
#: An integer that is an element of an array, as which ``__index__`` alone does not serve.
IntegerElement: TypeAlias = int | np.integer[Any] | np.bool_
DType: TypeAlias = type[T] | np.dtype[T]

# Options that the overloads of a function have in common, since no result's type depends on them.


class Modes(TypedDict, total=False):
    """Options of gather and gather_nd."""

    mode: IndexMode
    fill_value: Scalar
    negative: NegativeIndex


class Rules(TypedDict, total=False):
    """Options of reduce besides the dtype."""

    keepdims: Flag
    nan: NanRule
    last_index: Flag
    initial: Scalar | None


class AllRules(Rules, total=False):
    """Options of reduce."""

    dtype: DTypeLike | None


class Direction(TypedDict, total=False):
    """Options of one_hot besides values and dtype."""

    axis: Integer
    negative: NegativeIndex


class Vectors(Direction, total=False):
    """Options of one_hot besides the dtype."""

    values: Operand


class TypedVectors(Vectors, total=False):
    """Options of one_hot."""

    dtype: DTypeLike | None
