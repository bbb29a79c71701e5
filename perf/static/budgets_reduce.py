"""What the machine code of reduce is held to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudakern.operators.reduce.tuning import LANE_ROWS
from cudakern.operators.reduce.types import ReduceFunction
from cudakern.values.dtypes import DataType
from cudakern.values.layout import VECTOR_BYTES
from perf.static.faults import Fault, Kind
from perf.static.reading import divides, is_atomic, loads_in_flight, matches, opcode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.operators.reduce.reduction import Reduction
    from perf.static.kernels import BudgetedKernel

#: Vectors that a thread has in flight: all that it reads in a turn, of functions of any order, of
#: columns and of tiles; of rows, while as many are combined.
LOADS, ROW_LOADS = 8, 4
#: In these cases the compiler uses the first loads before it issues the last.
LOADS_BESIDE_8_STATES = 6
LOADS_TO_CONVERT = 3  # integers become doubles, and few are converted at a time
LOADS_BESIDE_OFFSETS = 4  # 64-bit ones of several dimensions, and 8 states
#: Registers of a multiprocessor, and of a thread at most.
REGISTERS, MOST_REGISTERS = 65536, 255
#: Variants whose blocks share results, and count themselves in.
SHARED = {"blocks", "columns", "strided", "periods"}
#: Opcodes of local and of generic memory, of jump tables.
UNWANTED = {"LDL", "STL", "LD", "ST", "BRX", "BRXU", "JMX", "JMXU"}
#: Functions that end with a division or a square root of CUDA's own. Magnitudes of complex numbers
#: do, too. CUDA's code scales numbers before it flushes them, in so many additions at most.
ROOTED = {ReduceFunction.AVERAGE, ReduceFunction.L2}
ROOTED_COMPLEX = {ReduceFunction.L1, ReduceFunction.LOG_SUM}
FLUSHING_ADDITIONS = 9
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
    """Return how many registers a thread may have: as many as the launch bounds leave it."""
    threads = kernel.spec.threads * kernel.spec.resident_blocks
    return min(MOST_REGISTERS, REGISTERS // threads // 8 * 8)


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


def _decides_elsewhere(kernel: BudgetedKernel) -> bool:
    """Return whether something else than 16-byte loads in flight decides how fast a kernel is."""
    reduction, variant = _reduction_of(kernel), kernel.variant
    columns, kind = variant in {"columns", "periods"}, reduction.kind
    large = reduction.has_places and reduction.state_bytes(wide=kernel.wide) >= VECTOR_BYTES
    return (
        (columns and (kernel.width != VECTOR_BYTES or kind is DataType.COMPLEX128))  # not of 16
        or (variant == "periods" and kind.itemsize == 1)  # arithmetic, beside 16 states
        or (variant == "tiles" and large)  # states of 16 bytes and more
        or reduction.is_long  # exponentials in float64, or 8 of 16 bytes
        or (reduction.function is ReduceFunction.LOG_SUM_EXP and kind.itemsize == 2)  # noqa: PLR2004
    )


def loads_of(kernel: BudgetedKernel) -> int:
    """Return how many 16-byte loads a thread must have in flight; 0 where it need not."""
    reduction, variant = _reduction_of(kernel), kernel.variant
    kind, to_double = reduction.kind, reduction.accumulator is DataType.FLOAT64
    converts, rows = _is_integer(kind) and to_double, variant in {"blocks", "warps"}
    if variant == "strided" or (converts and rows) or _decides_elsewhere(kernel):
        return 0
    if converts and variant in {"columns", "periods"}:
        return LOADS_TO_CONVERT
    if variant == "lanes":  # a row each, if there are few
        return 0 if kernel.macros["CK_LOADS"] == "1" else LANE_ROWS
    if rows and not reduction.is_any_order:
        return ROW_LOADS
    if variant not in {"columns", "periods"} or kind.itemsize != 2:  # noqa: PLR2004
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
    # Blocks that share results count themselves in, with a fence. Other atomic operations are
    # faults, above all those of floats.
    shares = kernel.variant in SHARED and "CK_ALONE" not in kernel.macros
    arrivals = 1 if shares else 0
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
