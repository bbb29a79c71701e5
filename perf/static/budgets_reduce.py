"""What the machine code of reduce is held to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perf.static.kernels import base_of, is_pair, reduction_of
from perf.static.reading import divides, is_atomic, loads_in_flight, matches, opcode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.engines.base import KernelSpec

#: Vectors that a thread has in flight: all that it reads in a turn.
LOADS = 8
#: The same where the compiler takes in the first ones before it reads the last: with as many states
#: besides; where integers become doubles, of which few are converted at a time anyhow; where floats
#: do, and for |x| of int64, both on sm_120.
LOADS_BESIDE_8_STATES, LOADS_TO_CONVERT, LOADS_TO_WIDEN = 6, 3, 7
LOADS_BESIDE_OFFSETS = 4  # 64-bit ones of several dimensions, and 8 states
#: Registers of a thread, by variant; and what they may be where launch bounds leave more: to places
#: and complex numbers, to long code and 64-bit offsets.
REGISTERS = {"stream": 64, "warps": 64, "tiles": 64, "columns": 128, "strided": 64, "vectors": 128}
SOME_REGISTERS, MOST_REGISTERS = 80, 128
#: Variants whose blocks share results, and count themselves in.
SHARED = {"stream", "columns", "strided", "vectors"}
#: Opcodes of local and of generic memory, of jump tables.
UNWANTED = {"LDL", "STL", "LD", "ST", "BRX", "BRXU", "JMX", "JMXU"}
#: Functions that divide nothing, not even where they end, unless they are of complex numbers.
PLAIN = ("Sum", "SumSquare", "Extreme", "ExtremePlace", "L1", "Multiply")
#: Functions that end with a division or a square root of CUDA's own, as do magnitudes of complex
#: numbers; what these flush, they have scaled before. So many additions of theirs do.
ROOTED = ("Average", "L2")
ROOTED_COMPLEX = ("L1", "LogSum")
FLUSHING_ADDITIONS = 8
_LONG_DIVISION = re.compile(r"__cuda_\w+_(div|rem)_[us]64")


def max_registers(spec: KernelSpec) -> int:
    """Return how many registers a thread may have."""
    if reduction_of(spec).is_long or dict(spec.defines)["CK_OFFSET_T"] == "ck::uint64":
        return MOST_REGISTERS
    return max(REGISTERS[base_of(spec)], SOME_REGISTERS if is_pair(spec) else 0)


def divides_nothing(spec: KernelSpec) -> bool:
    """Return whether a function divides and converts nothing, from integers or to them."""
    macros = dict(spec.defines)
    floats = "int" in macros["CK_INPUT_T"] and "int" not in macros["CK_OUTPUT_T"]
    return _function(spec) in PLAIN and "Complex" not in macros["CK_INPUT_T"] and not floats


def _function(spec: KernelSpec) -> str:
    """Return the name of the function's struct."""
    return dict(spec.defines)["CK_FUNCTION"].split("<")[0].removeprefix("ck::")


def flushes(spec: KernelSpec, code: Sequence[str]) -> list[str]:
    """Return the instructions that take subnormal numbers for zero and may meet some."""
    # Divisions of integers have a conversion that does.
    wrong = [o for o in map(opcode, code) if ".FTZ" in o and not o.startswith("F2I.")]
    rooted = ROOTED + ROOTED_COMPLEX * ("Complex" in dict(spec.defines)["CK_INPUT_T"])
    if _function(spec) not in rooted:
        return wrong
    additions = [name for name in wrong if name.startswith("FADD.")]
    others = [name for name in wrong if name.split(".")[0] not in {"FADD", "FMUL", "FSETP"}]
    return others + additions[FLUSHING_ADDITIONS:]


def loads_of(spec: KernelSpec) -> int:
    """Return how many 16-byte loads a thread must have in flight; 0 where it need not."""
    macros, variant = dict(spec.defines), base_of(spec)
    item = reduction_of(spec).kind.itemsize
    narrow = variant in {"vectors", "columns"} and macros["CK_WIDTH"] != "16"
    if variant == "strided" or narrow or (variant == "columns" and item == 1):
        return 0  # of columns of bytes: beside 16 states, arithmetic decides
    converts = "int" in macros["CK_INPUT_T"] and macros["CK_NUMBER_T"] == "double"
    if converts and variant in {"stream", "warps", "vectors", "columns"}:
        return LOADS_TO_CONVERT
    if variant == "columns" and item == 2:  # noqa: PLR2004
        return LOADS_BESIDE_8_STATES
    widens = macros["CK_INPUT_T"] == "float" and macros["CK_NUMBER_T"] == "double"
    magnitudes = "ck::L1<" in macros["CK_FUNCTION"] and macros["CK_INPUT_T"] == "ck::int64"
    if (widens or magnitudes) and variant in {"stream", "warps"}:
        return LOADS_TO_WIDEN
    of_two_bytes = macros["CK_INPUT_T"].endswith(("int16", "Float16"))
    if variant != "vectors" or not of_two_bytes:
        return LOADS
    many = macros["CK_OFFSET_T"] == "ck::uint64" and macros["CK_RANK"] != "1"
    return LOADS_BESIDE_OFFSETS if many else LOADS_BESIDE_8_STATES


def code_faults(spec: KernelSpec, code: Sequence[str]) -> list[str]:
    """Return what is wrong with the instructions of a kernel, a line each."""
    names = [opcode(line).split(".")[0] for line in code]
    unwanted = [line for line, name in zip(code, names, strict=True) if name in UNWANTED]
    wrong = [f"of no use here: {line}" for line in unwanted]
    loads, least = loads_in_flight(code, 128, "NA"), loads_of(spec)
    if max(loads, default=0) < least:
        wrong.append(f"16-byte loads in flight: {loads}, not {least}")
    # Blocks count themselves in, those of a group and then the groups. There is no other atomic
    # operation: above all, none of floats. Each has a fence.
    arrivals = 2 if base_of(spec) in SHARED else 0
    atomics = [line for line in code if is_atomic(line)]
    counts = [matches(line, "ATOMG", "INC", "STRONG", "GPU") for line in atomics]
    if counts != [True] * arrivals:
        wrong.append(f"atomic operations: {atomics}, not {arrivals} that count")
    fences = [line for line, name in zip(code, names, strict=True) if name == "MEMBAR"]
    if [matches(line, "MEMBAR", "GPU") for line in fences] != [True] * arrivals:
        wrong.append(f"fences: {fences}, not {arrivals} for other blocks")
    wrong += [f"takes subnormal numbers for zero: {name}" for name in flushes(spec, code)]
    divided = divides if divides_nothing(spec) else _LONG_DIVISION.search
    return wrong + [f"a division: {line}" for line in code if divided(line)]
