"""The kernels of reduce: every specialisation of ``kernels/reduce.cu``, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from cudakern.dtypes import DataType
from cudakern.engines.base import KernelSpec
from cudakern.layout import VECTOR_BYTES
from cudakern.operators.reduce_types import (
    ARG_FUNCTIONS,
    ORDERED,
    ReduceFunction,
    result_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Data types: name in entry points, and in device code.
INPUT_TYPES = {
    DataType.BOOL: ("b8", "ck::Bool"),
    DataType.INT8: ("i8", "ck::int8"),
    DataType.INT16: ("i16", "ck::int16"),
    DataType.INT32: ("i32", "ck::int32"),
    DataType.INT64: ("i64", "ck::int64"),
    DataType.UINT8: ("u8", "ck::uint8"),
    DataType.UINT16: ("u16", "ck::uint16"),
    DataType.UINT32: ("u32", "ck::uint32"),
    DataType.UINT64: ("u64", "ck::uint64"),
    DataType.FLOAT16: ("f16", "ck::Float16"),
    DataType.BFLOAT16: ("bf16", "ck::BFloat16"),
    DataType.FLOAT32: ("f32", "float"),
    DataType.FLOAT64: ("f64", "double"),
    DataType.COMPLEX64: ("c64", "ck::Complex<float>"),
    DataType.COMPLEX128: ("c128", "ck::Complex<double>"),
}
#: Bytes of an element, in device code's names of what is computed with.
_NUMBER_BYTES = {"int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "float": 4, "double": 8}
_TEMPLATES = {
    ReduceFunction.ARGMAX: "ExtremePlace",
    ReduceFunction.ARGMIN: "ExtremePlace",
    ReduceFunction.AVERAGE: "Average",
    ReduceFunction.L1: "L1",
    ReduceFunction.L2: "L2",
    ReduceFunction.LOG_SUM: "LogSum",
    ReduceFunction.LOG_SUM_EXP: "LogSumExp",
    ReduceFunction.MAX: "Extreme",
    ReduceFunction.MIN: "Extreme",
    ReduceFunction.MULTIPLY: "Multiply",
    ReduceFunction.SUM: "Sum",
    ReduceFunction.SUM_SQUARE: "SumSquare",
}
_COMPLEX = frozenset({DataType.COMPLEX64, DataType.COMPLEX128})
_MAXIMA = frozenset({ReduceFunction.MAX, ReduceFunction.ARGMAX})
_NORMS = frozenset({ReduceFunction.L1, ReduceFunction.L2})
_LONG = frozenset({DataType.INT64, DataType.UINT64, DataType.BOOL})
_INTEGRAL = frozenset(k for k in DataType if k.name.startswith(("INT", "UINT", "BOOL")))
_DOUBLE = frozenset({DataType.FLOAT64, DataType.COMPLEX128})

#: Ranks that kernels of any layout are compiled for: dimensions kept or reduced.
RANKS = (1, 3, 8)
#: Bytes that a thread's states may take.
_MOST_STATE_BYTES = 64
#: Results of a vector at most: with more, too few loads would be in flight beside their states.
_MOST_RESULTS = 8


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is computed, of what, as far as kernels are compiled for it.

    Attributes
    ----------
    function : ReduceFunction
        What is computed.
    kind, result : DataType
        Of x and of out.
    ignore_nan, last_index : bool
        As in `ReduceProblem`.
    """

    function: ReduceFunction
    kind: DataType
    result: DataType
    ignore_nan: bool = False
    last_index: bool = False

    @property
    def number(self) -> str:
        """Name of the type that is computed with; for complex numbers, of their parts."""
        kind, result = self.kind, self.result
        if self.function in ORDERED and self.function is not ReduceFunction.LOG_SUM_EXP:
            if kind in _INTEGRAL:
                signed = kind.name.startswith("INT")
                return f"{'' if signed else 'u'}int{64 if kind.bits == 64 else 32}"  # noqa: PLR2004
            return "double" if kind is DataType.FLOAT64 else "float"
        if kind in _INTEGRAL and result in _INTEGRAL:
            return "uint64" if result in _LONG else "uint32"
        exact = kind in _INTEGRAL or kind in _DOUBLE or result in _DOUBLE
        return "double" if exact else "float"

    @property
    def is_long(self) -> bool:
        """Whether taking an element is long code: ``kIsLong`` of the function in device code."""
        return self.function is ReduceFunction.LOG_SUM_EXP and self.number == "double"

    @property
    def is_complex(self) -> bool:
        """Whether complex numbers are computed with."""
        return self.kind in _COMPLEX and self.function not in _NORMS

    def state_bytes(self, *, wide: bool) -> int:
        """Return the size of a state: ``State`` of the function in device code."""
        number = _NUMBER_BYTES[self.number]
        if self.function in ARG_FUNCTIONS:
            return 2 * max(number, 8 if wide else 4)
        pair = self.is_complex or self.function is ReduceFunction.LOG_SUM_EXP
        return 2 * number if pair else number

    def vector_bytes(self, *, wide: bool) -> int:
        """Return the bytes of x that a thread may have a state for each element of."""
        most = _MOST_STATE_BYTES // self.state_bytes(wide=wide) * self.kind.itemsize
        return max(min(most, VECTOR_BYTES), self.kind.itemsize)

    def results_bytes(self, *, wide: bool) -> int:
        """Return the bytes of x, of up to 8 results, that a thread of vectors reads at once."""
        return min(self.vector_bytes(wide=wide), _MOST_RESULTS * self.kind.itemsize)

    def specialise(self, variant: str, *, wide: bool, rank: int = 0, width: int = 0) -> KernelSpec:
        """Return a variant's kernel; ``width`` is in bytes."""
        number = f"ck::{self.number}" if "int" in self.number else self.number
        if self.is_complex:
            number = f"ck::Complex<{number}>"
        options = ["ck::Input", "ck::Number"]
        if self.function in ARG_FUNCTIONS:
            options.append("ck::Offset")
        suffix = ""
        if _TEMPLATES[self.function].startswith("Extreme"):
            options += [_literal(self.function in _MAXIMA), _literal(self.ignore_nan)]
            suffix += "_ignore" if self.ignore_nan else ""
        if self.function in ARG_FUNCTIONS:
            options.append(_literal(self.last_index))
            suffix += "_last" if self.last_index else ""
        bits = 64 if wide else 32
        kind, result = INPUT_TYPES[self.kind], INPUT_TYPES[self.result]
        defines = [
            (f"CK_VARIANT_{variant.upper()}", "1"),
            ("CK_FUNCTION", f"ck::{_TEMPLATES[self.function]}<{','.join(options)}>"),
            ("CK_INPUT_T", kind[1]),
            ("CK_NUMBER_T", number),
            ("CK_OUTPUT_T", result[1]),
            ("CK_OFFSET_T", f"ck::uint{bits}"),
        ]
        defines += [("CK_RANK", str(rank))] if rank else []
        defines += [("CK_WIDTH", str(width))] if width else []
        types = f"{kind[0]}_{result[0]}{suffix}"
        shape = (f"_r{rank}" if rank else "") + (f"_w{width}" if width else "")
        entry = f"ck_reduce_{variant}_{self.function.label}_{types}{shape}_o{bits}"
        return KernelSpec("reduce.cu", entry, tuple(defines))


def _literal(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"


def reductions() -> Iterator[Reduction]:
    """Yield each function of each data type, with the results that are the default."""
    for function, kind in product(ReduceFunction, INPUT_TYPES):
        if kind not in _COMPLEX or function not in ORDERED:
            yield Reduction(function, kind, result_type(function, kind, None))


def specialisations() -> Iterator[KernelSpec]:
    """Yield the kernels of all functions and data types, with 32-bit offsets where both exist.

    Others, which are few at a time, are of results of another type, of other choices about NaN and
    ties, of more dimensions, and of 64-bit offsets.
    """
    for reduction in reductions():
        item, vector = reduction.kind.itemsize, reduction.vector_bytes(wide=False)
        yield reduction.specialise("stream", wide=False, rank=1)
        yield reduction.specialise("warps", wide=False, rank=1)
        yield reduction.specialise("tiles", wide=False, width=item)
        yield reduction.specialise("columns", wide=False, width=vector)
        yield reduction.specialise("strided", wide=False, rank=3, width=item)
        if item < VECTOR_BYTES:
            if not reduction.is_long:
                yield reduction.specialise("tiles", wide=False, width=VECTOR_BYTES)
            results = reduction.results_bytes(wide=False)
            yield reduction.specialise("vectors", wide=False, rank=1, width=results)
