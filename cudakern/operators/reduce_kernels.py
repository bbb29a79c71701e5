"""The kernels of reduce: every specialisation of ``kernels/reduce.cu``, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from cudakern._dtypes import DataType
from cudakern._layout import VECTOR_BYTES
from cudakern.engines.base import KernelSpec
from cudakern.operators.reduce_types import (
    ARG_FUNCTIONS,
    EXTREMES,
    NAN_FUNCTIONS,
    ORDERED,
    ReduceFunction,
    initial_type,
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
#: Complex numbers by their parts.
_COMPLEX_OF = {DataType.FLOAT32: DataType.COMPLEX64, DataType.FLOAT64: DataType.COMPLEX128}
_COMPLEX = frozenset(_COMPLEX_OF.values())
_MAXIMA = frozenset({ReduceFunction.MAX, ReduceFunction.ARGMAX})
_NORMS = frozenset({ReduceFunction.L1, ReduceFunction.L2})
_LONG = frozenset({DataType.INT64, DataType.UINT64, DataType.BOOL})
_INTEGRAL = frozenset(k for k in DataType if k.name.startswith(("INT", "UINT", "BOOL")))
_DOUBLE = frozenset({DataType.FLOAT64, DataType.COMPLEX128})

#: Ranks that kernels of any layout are compiled for: dimensions kept or reduced.
RANKS = (1, 3, 8)
#: Bytes that a thread's states may take: of vectors of results, and of columns, which need no
#: offsets besides; but integers become doubles by way of more registers.
_MOST_STATE_BYTES = 64
_MOST_COLUMN_BYTES = 128
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
    has_initial : bool
        Whether there is an initial value.
    """

    function: ReduceFunction
    kind: DataType
    result: DataType
    ignore_nan: bool = False
    last_index: bool = False
    has_initial: bool = False

    @property
    def number(self) -> DataType:
        """What is computed with; for complex numbers, their parts."""
        kind, result = self.kind, self.result
        if self.function in NAN_FUNCTIONS:
            if kind in {DataType.INT64, DataType.UINT64, DataType.FLOAT64}:
                return kind
            if kind in _INTEGRAL:
                return DataType.INT32 if kind.name.startswith("INT") else DataType.UINT32
            return DataType.FLOAT32
        if kind in _INTEGRAL and result in _INTEGRAL:
            return DataType.UINT64 if result in _LONG else DataType.UINT32
        exact = kind in _INTEGRAL or kind in _DOUBLE or result in _DOUBLE
        return DataType.FLOAT64 if exact else DataType.FLOAT32

    @property
    def is_long(self) -> bool:
        """Whether taking an element is long code: ``kIsLong`` of the function in device code."""
        return self.function is ReduceFunction.LOG_SUM_EXP and self.number is DataType.FLOAT64

    @property
    def is_complex(self) -> bool:
        """Whether complex numbers are computed with."""
        return self.kind in _COMPLEX and self.function not in _NORMS

    @property
    def accumulator(self) -> DataType:
        """What sums and products are kept in."""
        return _COMPLEX_OF[self.number] if self.is_complex else self.number

    @property
    def initial(self) -> DataType:
        """What an initial value is combined in: results of max and min, otherwise numbers."""
        if self.function in EXTREMES:
            return initial_type(self.function, self.result)
        return _COMPLEX_OF[self.number] if self.result in _COMPLEX else self.number

    def state_bytes(self, *, wide: bool) -> int:
        """Return the size of a state: ``State`` of the function in device code."""
        number = self.number.itemsize
        if self.function in ARG_FUNCTIONS:
            return 2 * max(number, 8 if wide else 4)
        pair = self.is_complex or self.function is ReduceFunction.LOG_SUM_EXP
        return 2 * number if pair else number

    def column_bytes(self, *, wide: bool) -> int:
        """Return the bytes of x that a thread of columns has a state for each element of."""
        converts = self.kind in _INTEGRAL and self.number is DataType.FLOAT64
        most = _MOST_STATE_BYTES if converts else _MOST_COLUMN_BYTES
        return self._bytes_of_states(most, wide=wide)

    def results_bytes(self, *, wide: bool) -> int:
        """Return the bytes of x, of up to 8 results, that a thread of vectors reads at once."""
        most = self._bytes_of_states(_MOST_STATE_BYTES, wide=wide)
        return min(most, _MOST_RESULTS * self.kind.itemsize)

    def _bytes_of_states(self, most: int, *, wide: bool) -> int:
        elements = most // self.state_bytes(wide=wide)
        return max(1, min(elements, VECTOR_BYTES // self.kind.itemsize)) * self.kind.itemsize

    def specialise(self, variant: str, *, wide: bool, rank: int = 0, width: int = 0) -> KernelSpec:
        """Return a variant's kernel; ``width`` is in bytes."""
        bits = 64 if wide else 32
        kind, result = INPUT_TYPES[self.kind], INPUT_TYPES[self.result]
        defines = [
            (f"CK_VARIANT_{variant.upper()}", "1"),
            ("CK_FUNCTION", self._struct("ck::Input", "ck::Number")),
            ("CK_INPUT_T", kind[1]),
            ("CK_NUMBER_T", self._number_type),
            ("CK_OUTPUT_T", result[1]),
            ("CK_OFFSET_T", f"ck::uint{bits}"),
        ]
        if self.has_initial:
            last = Reduction(self.function, self.initial, self.initial, self.ignore_nan)
            initial = INPUT_TYPES[self.initial][1]
            defines.append(("CK_INITIAL_T", initial))
            defines.append(("CK_INITIAL", last._struct(initial, last._number_type)))
        defines += [("CK_RANK", str(rank))] if rank else []
        defines += [("CK_WIDTH", str(width))] if width else []
        suffix = "_ignore" if self.ignore_nan else ""
        suffix += "_last" if self.last_index else ""
        suffix += "_initial" if self.has_initial else ""
        types = f"{kind[0]}_{result[0]}{suffix}"
        shape = (f"_r{rank}" if rank else "") + (f"_w{width}" if width else "")
        entry = f"ck_reduce_{variant}_{self.function.label}_{types}{shape}_o{bits}"
        return KernelSpec("reduce.cu", entry, tuple(defines))

    @property
    def _number_type(self) -> str:
        """What is computed with, in device code."""
        return INPUT_TYPES[self.accumulator][1]

    def _struct(self, x: str, number: str) -> str:
        """Return the function in device code, for types of x and of what is computed with."""
        arguments = [x, number]
        if self.function in ARG_FUNCTIONS:
            arguments.append("ck::Offset")
        if self.function in NAN_FUNCTIONS:
            arguments += map(_literal, (self.function in _MAXIMA, self.ignore_nan))
        if self.function in ARG_FUNCTIONS:
            arguments.append(_literal(self.last_index))
        return f"ck::{_TEMPLATES[self.function]}<{','.join(arguments)}>"


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
    ties, of initial values, of more dimensions, and of 64-bit offsets.
    """
    for reduction in reductions():
        yield from kernels_of(reduction)


def kernels_of(reduction: Reduction) -> Iterator[KernelSpec]:
    """Yield a kernel of each variant, with 32-bit offsets."""
    item, vector = reduction.kind.itemsize, reduction.column_bytes(wide=False)
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
