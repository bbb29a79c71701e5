"""Types of the public signatures. No operator imports them at run time.

NumPy's arrays, sequences and scalars give `numpy.ndarray`. The type of any other array does not
say whether it is on a GPU, so the result is Any. CuPy has no types: its arrays are Any to mypy and
unknown to pyright, and results are Any as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Never, Protocol, SupportsIndex, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cudakern.operators.reduce.types import ReduceFunction

R_co = TypeVar("R_co", covariant=True)


class NothingElse(Protocol[R_co]):
    """What no value is, as ``NothingElse[Never]``: in a union, it has mypy name a wrong argument.

    Where arguments fit no overload, mypy lists all overloads. But if they would fit one without
    regard to type arguments, it says what does not fit that one. Every object would fit this type
    so, as every object has this method.
    """

    def __sizeof__(self) -> R_co:  # type: ignore[override]
        """Return the size in bytes."""


Else: TypeAlias = NothingElse[Never]


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
AnyArray: TypeAlias = NDArray[Any] | SupportsDLPack | SupportsCudaArrayInterface | Else
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

IndexMode: TypeAlias = Literal["clamp", "wrap", "fill", "raise"] | Else
NegativeIndex: TypeAlias = Literal["from_end", "invalid"] | Else
NanRule: TypeAlias = Literal["propagate", "ignore"] | Else
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
Function: TypeAlias = FunctionName | ReduceFunction | Else
Flag: TypeAlias = bool | np.bool_ | Else
Integer: TypeAlias = SupportsIndex | Else
Axes: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | Else | None
#: An integer that is an element of an array, as which ``__index__`` alone does not serve.
IntegerElement: TypeAlias = int | np.integer[Any] | np.bool_ | Else
#: An element of an array.
Element: TypeAlias = Scalar | Else
AnyDType: TypeAlias = DTypeLike | Else
DType: TypeAlias = type[T] | np.dtype[T]

# Options that the overloads of a function have in common, since no result's type depends on them.


class Modes(TypedDict, total=False):
    """Options of gather and gather_nd."""

    mode: IndexMode
    fill_value: Element
    negative: NegativeIndex


class Rules(TypedDict, total=False):
    """Options of reduce besides the dtype."""

    keepdims: Flag
    nan: NanRule
    last_index: Flag
    initial: Element | None


class AllRules(Rules, total=False):
    """Options of reduce."""

    dtype: AnyDType | None


class Direction(TypedDict, total=False):
    """Options of one_hot besides values and dtype."""

    axis: Integer
    negative: NegativeIndex


class Vectors(Direction, total=False):
    """Options of one_hot besides the dtype."""

    values: Operand


class TypedVectors(Vectors, total=False):
    """Options of one_hot."""

    dtype: AnyDType | None
