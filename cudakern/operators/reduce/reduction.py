"""Reductions and their kernels: function, types, rules for NaN and ties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from cudakern.engines.base import RESIDENT_BLOCKS, THREADS, KernelSpec
from cudakern.operators.reduce import tuning, types
from cudakern.operators.reduce.types import ReduceFunction
from cudakern.values.dtypes import DataType
from cudakern.values.layout import VECTOR_BYTES, WORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Tuning constants that kernels get as macros.
_MACROS = {
    "CK_COUNTERS": tuning.COUNTER_BYTES // 4,
    "CK_STAGE_BYTES": tuning.STAGE_BYTES,
    "CK_STAGE_STATES": tuning.STAGE_STATES,
}

WARP = 32
WARPS = THREADS // WARP
#: Data types: names in entry points and in device code.
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
#: Shared memory of a block at most, in bytes, by variant.
_MOST_SHARED = {
    "blocks": 4096,
    "strided": 4096,
    "tiles": 40 * 1024,
    "columns": 40 * 1024,
    "periods": 24 * 1024,
}
#: The functions' structs in device code, such as ``LogSumExp``.
_TEMPLATES = {
    **{function: function.name.title().replace("_", "") for function in ReduceFunction},
    **dict.fromkeys(types.EXTREMES, "Extreme"),
    **dict.fromkeys(types.ARG_FUNCTIONS, "ExtremePlace"),
}
#: Complex numbers by their parts.
_COMPLEX_OF = {part: kind for kind, part in types.PARTS.items()}
_MAXIMA = frozenset({ReduceFunction.MAX, ReduceFunction.ARGMAX})
_LONG = frozenset({DataType.INT64, DataType.UINT64, DataType.BOOL})
_INTEGRAL = frozenset(k for k in DataType if k.name.startswith(("INT", "UINT", "BOOL")))
_DOUBLE = frozenset({DataType.FLOAT64, DataType.COMPLEX128})


@dataclass(frozen=True, slots=True)
class Reduction:
    """The computation of a kernel: a function, its types and its rules."""

    function: ReduceFunction  # what is computed
    #: Of x and of out.
    kind: DataType
    result: DataType
    #: Whether NaN counts as absent for max, min, argmax and argmin, instead of winning.
    ignore_nan: bool = False
    #: Whether argmax and argmin give the last of equal positions, instead of the first.
    last_index: bool = False
    has_initial: bool = False  # whether there is an initial value
    #: Whether the result of log_sum_exp is its state, two numbers as a complex one. Complex inputs
    #: are states.
    keeps_state: bool = False

    @property
    def number(self) -> DataType:
        """The type of the arithmetic; for complex numbers, that of their parts."""
        kind, result = self.kind, self.result
        if self.function in types.NAN_FUNCTIONS:
            if kind in {DataType.INT64, DataType.UINT64}:
                return kind
            if kind in _INTEGRAL:
                return DataType.INT32 if kind.name.startswith("INT") else DataType.UINT32
            return DataType.FLOAT64 if kind in _DOUBLE else DataType.FLOAT32
        if kind in _INTEGRAL and result in _INTEGRAL:
            return DataType.UINT64 if result in _LONG else DataType.UINT32
        exact = kind in _INTEGRAL or kind in _DOUBLE or result in _DOUBLE
        return DataType.FLOAT64 if exact else DataType.FLOAT32

    @property
    def is_long(self) -> bool:
        """Whether the code for an element is long."""
        return self.function is ReduceFunction.LOG_SUM_EXP and self.number is DataType.FLOAT64

    @property
    def reads_vectors(self) -> bool:
        """Whether kernels of rows take it: long code for each of many elements takes too long."""
        return not self.is_long or self.kind.itemsize >= WORD_BYTES

    @property
    def is_any_order(self) -> bool:
        """Whether all orders have the same bits: ``kAnyOrder`` of the function in device code."""
        if self.function in types.NAN_FUNCTIONS:
            return True
        is_sum = self.function not in {ReduceFunction.LOG_SUM_EXP, ReduceFunction.MULTIPLY}
        exact = is_sum and self.kind.itemsize == 1
        return exact or self.number in {DataType.UINT32, DataType.UINT64}

    @property
    def is_pair(self) -> bool:
        """Whether a state is a pair, or is computed from pairs."""
        of_pairs = self.function is ReduceFunction.LOG_SUM_EXP or self.kind in types.PARTS
        return self.has_places or of_pairs

    @property
    def is_complex(self) -> bool:
        """Whether the arithmetic is complex."""
        parted = {*types.NORMS, ReduceFunction.LOG_SUM_EXP}
        return self.kind in types.PARTS and self.function not in parted

    @property
    def accumulator(self) -> DataType:
        """The type of sums and products."""
        return _COMPLEX_OF[self.number] if self.is_complex else self.number

    @property
    def has_places(self) -> bool:
        """Whether states have places: results of argmax and argmin, and the first of equal ones."""
        of_complex = self.function in types.EXTREMES and self.kind in types.PARTS
        return of_complex or self.function in types.ARG_FUNCTIONS

    @property
    def state(self) -> DataType:
        """The type of a state of log_sum_exp as one number."""
        return _COMPLEX_OF[self.number]

    @property
    def initial(self) -> DataType:
        """The type in which an initial value is combined: for max and min, that of results."""
        if self.function in types.EXTREMES:
            return self.result
        return _COMPLEX_OF[self.number] if self.result in types.PARTS else self.number

    def state_bytes(self, *, wide: bool) -> int:
        """Return the size of a state: ``State`` of the function in device code."""
        value = self.accumulator.itemsize
        if self.has_places:
            place = 8 if wide else 4
            step = max(min(value, 8), place)
            return -(-(value + place) // step) * step
        if self.function is ReduceFunction.MULTIPLY and self.is_complex:
            return value + value // 2
        return 2 * value if self.function is ReduceFunction.LOG_SUM_EXP else value

    def column_bytes(self, *, wide: bool) -> int:
        """Return the bytes of x that a thread of periods keeps states of, one for each element."""
        converts = self.kind in _INTEGRAL and self.number is DataType.FLOAT64
        most = tuning.MOST_STATE_BYTES if converts else tuning.MOST_COLUMN_BYTES
        elements = most // self.state_bytes(wide=wide)
        return max(1, min(elements, VECTOR_BYTES // self.kind.itemsize)) * self.kind.itemsize

    def results_bytes(self, *, wide: bool) -> int:
        """Return the bytes of x that a thread of columns reads at once: at most 8 results."""
        most = tuning.MOST_STATE_BYTES // self.state_bytes(wide=wide)
        most = min(most, tuning.MOST_RESULTS, VECTOR_BYTES // self.kind.itemsize)
        return (1 << (max(1, most).bit_length() - 1)) * self.kind.itemsize

    def specialise(
        self,
        variant: str,
        *,
        wide: bool,
        rank: int = 0,
        width: int = 0,
        threads: int = THREADS,
        loads: int = 0,
        interleaved: bool = False,
        once: int = 0,
        alone: bool = False,
        on_vectors: bool = False,
    ) -> KernelSpec:
        """Return a variant's kernel; ``width`` is in bytes.

        Blocks leave ``once`` states of a result, once.
        """
        bits, state = 64 if wide else 32, self.state_bytes(wide=wide)
        kind, result = INPUT_TYPES[self.kind], INPUT_TYPES[self.result]
        defines = [
            ("CK_FUNCTION", self._struct("ck::Input", "ck::Number", places=self.has_places)),
            ("CK_INPUT_T", kind[1]),
            ("CK_NUMBER_T", INPUT_TYPES[self.accumulator][1]),
            ("CK_OUTPUT_T", result[1]),
            ("CK_OFFSET_T", f"ck::uint{bits}"),
            ("CK_STATE_BYTES", str(state)),
            ("CK_LOADS", str(loads or self._loads(variant))),
            *((name, str(value)) for name, value in _MACROS.items()),
        ]
        if self.has_initial:
            last = Reduction(self.function, self.initial, self.initial, self.ignore_nan)
            initial, number = (INPUT_TYPES[k][1] for k in (self.initial, last.accumulator))
            defines.append(("CK_INITIAL_T", initial))
            defines.append(("CK_INITIAL", last._struct(initial, number, places=False)))
        defines += [("CK_RANK", str(rank))] if rank else []
        defines += [("CK_WIDTH", str(width))] if width else []
        suffix = "_ignore" if self.ignore_nan else ""
        suffix += "_last" if self.last_index else ""
        suffix += "_initial" if self.has_initial else ""
        suffix += "_state" if self.keeps_state else ""
        dtypes = f"{kind[0]}_{result[0]}{suffix}"
        defines += [("CK_ONCE", str(once))] if once else []
        defines += [("CK_ALONE", "1")] if alone else []
        defines += [("CK_ON_VECTORS", "1")] if on_vectors else []
        if variant == "periods":
            defines.append(("CK_PAD", str(column_pad(state, width // self.kind.itemsize))))
        defines += [("CK_INTERLEAVED", "1")] if interleaved else []
        shape = (f"_r{rank}" if rank else "") + (f"_w{width}" if width else "")
        shape += f"_t{threads}" if threads != THREADS else ""
        shape += f"_l{loads}" if loads else ""
        shape += "_i" if interleaved else ""
        shape += f"_n{once}" if once else ""
        shape += ("_a" if alone else "") + ("_v" if on_vectors else "")
        entry = f"ck_reduce_{variant}_{self.function.label}_{dtypes}{shape}_o{bits}"
        blocks = self._resident_blocks(variant, width, wide=wide)
        blocks = max(1, blocks * THREADS // threads)
        return KernelSpec(
            "reduce", variant, entry, tuple(defines), threads, blocks, _MOST_SHARED.get(variant, 0)
        )

    def _loads(self, variant: str) -> int:
        """Return how many vectors of a row a lane reads at a time."""
        if variant != "warps":
            return tuning.BLOCK_LOADS
        exponentials = self.function is ReduceFunction.LOG_SUM_EXP and not self.is_long
        exponentials = exponentials and self.kind is DataType.FLOAT32
        return tuning.EXPONENTIAL_LOADS if exponentials else tuning.WARP_LOADS

    def _resident_blocks(self, variant: str, width: int, *, wide: bool) -> int:
        """Return the blocks that share the registers of a multiprocessor.

        They are fewer where a thread has many states or 64-bit offsets besides the loads in flight,
        or long code.
        """
        converts = self.kind in _INTEGRAL and self.number is DataType.FLOAT64
        if variant in {"blocks", "columns"} and (self.is_long or (converts and wide)):
            return 1
        if variant in {"blocks", "warps"} and converts and not wide:
            return 2
        large = self.has_places or variant == "blocks"
        large = large and self.state_bytes(wide=wide) >= VECTOR_BYTES
        if wide or self.is_long or variant == "periods" or (large and variant != "strided"):
            return 2
        if variant == "columns" and width > self.kind.itemsize:
            return 2 if width >= tuning.MOST_RESULTS * self.kind.itemsize else 3
        return 3 if self.is_pair else RESIDENT_BLOCKS

    def _struct(self, x: str, number: str, *, places: bool) -> str:
        """Return the function in device code, for types of x and of what is computed with."""
        arguments, extreme = [x, number], self.function in types.EXTREMES
        if places:
            arguments.append("ck::Offset")
        if self.function in types.NAN_FUNCTIONS:
            arguments += [str(self.function in _MAXIMA).lower(), str(self.ignore_nan).lower()]
        if self.function in types.ARG_FUNCTIONS:
            arguments.append(str(self.last_index).lower())
        name = "FirstExtreme" if extreme and places else _TEMPLATES[self.function]
        name += "State" if self.keeps_state else ""
        return f"ck::{name}<{','.join(arguments)}>"


def column_pad(state: int, items: int) -> int:
    """Return the unused states behind the states that all threads have of an element.

    So neighbouring threads and neighbouring elements use different banks.
    """
    return 128 // state // items if items > 1 else 0


def reductions() -> Iterator[Reduction]:
    """Yield each function of each data type, with its default result."""
    for function, kind in product(ReduceFunction, INPUT_TYPES):
        if types.takes(function, kind):
            yield Reduction(function, kind, types.result_type(function, kind))


def specialisations() -> Iterator[KernelSpec]:
    """Yield the kernels of all functions and data types, with 32-bit offsets.

    Kernels are rare, and compile on first use, for a result of another dtype, other rules of NaN
    and ties, an initial value, more dimensions or 64-bit offsets.
    """
    for reduction in reductions():
        yield from kernels_of(reduction)


def kernels_of(reduction: Reduction) -> Iterator[KernelSpec]:
    """Yield a kernel of each variant, with 32-bit offsets."""
    ordered, item = not reduction.is_any_order, reduction.kind.itemsize
    row = partial(reduction.specialise, wide=False, rank=1)
    if reduction.reads_vectors:
        yield from (row("warps"), row("blocks"), row("lanes", loads=1))
        if ordered:
            yield row("blocks", once=WARPS, alone=True, on_vectors=True)
    yield reduction.specialise("tiles", wide=False)
    if not ordered:
        vector = reduction.column_bytes(wide=False)
        yield reduction.specialise("periods", wide=False, rank=1, width=vector)
    once, rows = WARPS * ordered, tuning.COLUMN_ROWS
    loads = rows * (2 if ordered and item <= tuning.COLUMN_TWICE_BYTES else 1)
    columns = partial(reduction.specialise, "columns", wide=False, rank=1, once=once)
    yield columns(width=item, loads=loads)
    if item < VECTOR_BYTES:
        yield columns(width=reduction.results_bytes(wide=False), loads=rows)
    yield reduction.specialise("strided", wide=False, rank=1, width=item)
    yield reduction.specialise("strided", wide=False, rank=3, width=item)
