"""What the machine code of reduce is held to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudakern.operators.reduce.types import ReduceFunction
from cudakern.values.dtypes import DataType
from cudakern.values.layout import VECTOR_BYTES
from perf.static.faults import Fault, Kind
from perf.static.reading import divides, is_atomic, loads_in_flight, matches, opcode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.operators.reduce.reduction import Reduction
    from perf.static.kernels import BudgetedKernel

#: Vectors that a thread has in flight: all that it reads in a turn.
LOADS = 8
#: In these cases the compiler uses the first loads before it issues the last.
LOADS_BESIDE_8_STATES = 6
LOADS_TO_CONVERT = 3  # integers become doubles, and few are converted at a time
LOADS_TO_WIDEN = 7  # floats become doubles, or |x| of int64 is taken: on sm_120
LOADS_BESIDE_OFFSETS = 4  # 64-bit ones of several dimensions, and 8 states
#: Registers of a thread, by variant. Launch bounds leave more to places and complex numbers, and
#: most to long code and 64-bit offsets.
REGISTERS = {"stream": 64, "warps": 64, "tiles": 64, "columns": 128, "strided": 64, "vectors": 128}
SOME_REGISTERS, MOST_REGISTERS = 80, 128
#: Variants whose blocks share results, and count themselves in.
SHARED = {"stream", "columns", "strided", "vectors"}
#: Opcodes of local and of generic memory, of jump tables.
UNWANTED = {"LDL", "STL", "LD", "ST", "BRX", "BRXU", "JMX", "JMXU"}
#: Functions that end with a division or a square root of CUDA's own. Magnitudes of complex numbers
#: do, too. CUDA's code scales numbers before it flushes them, in so many additions at most.
ROOTED = {ReduceFunction.AVERAGE, ReduceFunction.L2}
ROOTED_COMPLEX = {ReduceFunction.L1, ReduceFunction.LOG_SUM}
FLUSHING_ADDITIONS = 8
#: Functions without a division, unless numbers are complex.
PLAIN = {*ReduceFunction} - ROOTED - {ReduceFunction.LOG_SUM, ReduceFunction.LOG_SUM_EXP}
_LONG_DIVISION = re.compile(r"__cuda_\w+_(div|rem)_[us]64")


def _reduction_of(kernel: BudgetedKernel) -> Reduction:
    """Return what a kernel computes."""
    assert kernel.reduction, kernel.entry
    return kernel.reduction


def _is_integer(kind: DataType) -> bool:
    return kind.name.startswith(("INT", "UINT"))


def _is_complex(kind: DataType) -> bool:
    return kind.name.startswith("COMPLEX")


def max_registers(kernel: BudgetedKernel) -> int:
    """Return how many registers a thread may have."""
    reduction = _reduction_of(kernel)
    if reduction.is_long or kernel.wide:
        return MOST_REGISTERS
    return max(REGISTERS[kernel.variant], SOME_REGISTERS if reduction.is_pair else 0)


def divides_nothing(kernel: BudgetedKernel) -> bool:
    """Return whether a kernel neither divides nor converts from or to integers."""
    reduction = _reduction_of(kernel)
    floats = _is_integer(reduction.kind) and not _is_integer(reduction.result)
    return reduction.function in PLAIN and not _is_complex(reduction.kind) and not floats


def flushes(kernel: BudgetedKernel, code: Sequence[str]) -> list[str]:
    """Return the instructions that take subnormal numbers for zero and may meet some."""
    # Divisions of integers have a conversion that does.
    wrong = [o for o in map(opcode, code) if ".FTZ" in o and not o.startswith("F2I.")]
    reduction = _reduction_of(kernel)
    rooted = ROOTED | ROOTED_COMPLEX if _is_complex(reduction.kind) else ROOTED
    if reduction.function not in rooted:
        return wrong
    additions = [name for name in wrong if name.startswith("FADD.")]
    others = [name for name in wrong if name.split(".")[0] not in {"FADD", "FMUL", "FSETP"}]
    return others + additions[FLUSHING_ADDITIONS:]


def loads_of(kernel: BudgetedKernel) -> int:
    """Return how many 16-byte loads a thread must have in flight; 0 where it need not."""
    reduction, variant = _reduction_of(kernel), kernel.variant
    kind, to_double = reduction.kind, reduction.accumulator is DataType.FLOAT64
    narrow = variant in {"vectors", "columns"} and kernel.width != VECTOR_BYTES
    if variant == "strided" or narrow or (variant == "columns" and kind.itemsize == 1):
        return 0  # of columns of bytes: beside 16 states, arithmetic decides
    converts = _is_integer(kind) and to_double
    if converts and variant in {"stream", "warps", "vectors", "columns"}:
        return LOADS_TO_CONVERT
    if variant == "columns" and kind.itemsize == 2:  # noqa: PLR2004
        return LOADS_BESIDE_8_STATES
    widens = kind is DataType.FLOAT32 and to_double
    magnitudes = reduction.function is ReduceFunction.L1 and kind is DataType.INT64
    if (widens or magnitudes) and variant in {"stream", "warps"}:
        return LOADS_TO_WIDEN
    if variant != "vectors" or kind.itemsize != 2:  # noqa: PLR2004
        return LOADS
    return LOADS_BESIDE_OFFSETS if kernel.wide and kernel.rank > 1 else LOADS_BESIDE_8_STATES


def code_faults(kernel: BudgetedKernel, code: Sequence[str]) -> list[Fault]:
    """Return what is wrong with the instructions of a kernel."""
    names = [opcode(line).split(".")[0] for line in code]
    pairs = [*zip(code, names, strict=True)]
    wrong = [Fault(Kind.USELESS, line) for line, name in pairs if name in UNWANTED]
    loads, least = loads_in_flight(code, 128, "NA"), loads_of(kernel)
    if max(loads, default=0) < least:
        wrong.append(Fault(Kind.LOADS, loads, least))
    # Blocks count themselves in, those of a group and then the groups, each time with a fence.
    # Other atomic operations are faults, above all those of floats.
    arrivals = 2 if kernel.variant in SHARED else 0
    atomics = [line for line in code if is_atomic(line)]
    counts = [matches(line, "ATOMG", "INC", "STRONG", "GPU") for line in atomics]
    if counts != [True] * arrivals:
        wrong.append(Fault(Kind.ATOMICS, atomics, arrivals))
    fences = [line for line, name in pairs if name == "MEMBAR"]
    if [matches(line, "MEMBAR", "GPU") for line in fences] != [True] * arrivals:
        wrong.append(Fault(Kind.FENCES, fences, arrivals))
    wrong += [Fault(Kind.FLUSH, name) for name in flushes(kernel, code)]
    divided = divides if divides_nothing(kernel) else _LONG_DIVISION.search
    return wrong + [Fault(Kind.DIVISION, line) for line in code if divided(line)]
