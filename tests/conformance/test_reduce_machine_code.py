"""The machine code of reduce for every architecture, compiled without a GPU.

Its kernels are many: of each function of each data type, two are read, for two architectures; which
ones rotates. So do rarer ones. CUDAKERN_TEST_ALL_CODE=1 reads all of them for all architectures.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from cudakern.dtypes import DataType
from cudakern.operators.reduce_kernels import Reduction, specialisations
from cudakern.operators.reduce_types import ReduceFunction, result_type
from tests.conformance import test_nonzero_machine_code
from tests.conformance.test_machine_code import ARCHITECTURES, resource_faults, variant_of
from tests.helpers import nvrtc

if TYPE_CHECKING:
    from cudakern.engines.base import KernelSpec

worse = test_nonzero_machine_code.worse

BATCH = 40  # kernels compiled together
#: Vectors that a thread has in flight: all that it reads in a turn.
LOADS = 8
#: The same where the compiler takes in the first ones before it reads the last: with as many states
#: besides; where integers become doubles, of which few are converted at a time anyhow; where floats
#: do, and for |x| of int64, both on sm_120.
LOADS_BESIDE_8_STATES, LOADS_TO_CONVERT, LOADS_TO_WIDEN = 6, 3, 7
LOADS_BESIDE_OFFSETS = 4  # 64-bit ones of several dimensions, and 8 states
#: Registers of a thread, by variant; and what they may be where launch bounds leave more: to places
#: and complex numbers, to long code and 64-bit offsets.
REGISTERS = {"stream": 64, "warps": 64, "tiles": 64, "columns": 112, "strided": 64, "vectors": 128}
SOME_REGISTERS, MOST_REGISTERS = 80, 128
#: Variants whose blocks share results, and count themselves in.
SHARED = {"stream", "columns", "strided", "vectors"}
#: Opcodes of local and of generic memory, of jump tables.
UNWANTED = {"LDL", "STL", "LD", "ST", "BRX", "BRXU", "JMX", "JMXU"}
ATOMICS = {"ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS"}
#: Functions that divide nothing, not even where they end, unless they are of complex numbers.
PLAIN = ("Sum", "SumSquare", "Extreme", "ExtremePlace", "L1", "Multiply")
LONG_DIVISION = re.compile(r"__cuda_\w+_(div|rem)_[us]64")


def base_of(spec: KernelSpec) -> str:
    return variant_of(spec).split("_")[0]


def group_of(spec: KernelSpec) -> tuple[str, ...]:
    """Return the function of a kernel, and the data type of x."""
    macros = dict(spec.defines)
    return macros["CK_FUNCTION"], macros["CK_INPUT_T"]


def divides_nothing(spec: KernelSpec) -> bool:
    """Return whether a function divides and converts nothing, from integers or to them."""
    macros = dict(spec.defines)
    function = macros["CK_FUNCTION"].split("<")[0].removeprefix("ck::")
    floats = "int" in macros["CK_INPUT_T"] and "int" not in macros["CK_NUMBER_T"]
    return function in PLAIN and "Complex" not in macros["CK_INPUT_T"] and not floats


def one(variant, function, kind, *, result=None, wide=False, rank=0, width=0, **options):
    """Return the kernel of a variant, by the names of function and data types."""
    function, kind = ReduceFunction[function], DataType[kind]
    found = result_type(function, kind, result and DataType[result])
    reduction = Reduction(function, kind, found, **options)
    return reduction.specialise(variant, wide=wide, rank=rank, width=width)


def rare() -> list[KernelSpec]:
    """Return kernels that are not listed: of one of what makes a kernel rare, or of several."""
    return [
        one("stream", "SUM", "FLOAT32", wide=True, rank=1),
        one("stream", "ARGMAX", "FLOAT16", wide=True, rank=8, ignore_nan=True),
        one("warps", "ARGMIN", "FLOAT64", wide=True, rank=1),
        one("warps", "AVERAGE", "BFLOAT16", wide=True, rank=3),
        one("tiles", "MAX", "INT8", wide=True, width=1),
        one("tiles", "ARGMAX", "FLOAT32", wide=True, width=16, last_index=True),
        one("columns", "SUM", "FLOAT16", wide=True, width=16),
        one("columns", "ARGMIN", "FLOAT32", wide=True, width=16, ignore_nan=True),
        one("vectors", "L2", "FLOAT32", wide=True, rank=1, width=16),
        one("vectors", "ARGMAX", "FLOAT32", wide=True, rank=3, width=16),
        one("vectors", "L2", "BOOL", wide=True, rank=3, width=8),
        one("vectors", "MAX", "FLOAT16", wide=True, rank=3, width=16),
        one("warps", "L1", "COMPLEX64", rank=1),
        one("strided", "SUM", "INT64", wide=True, rank=1, width=8),
        one("strided", "ARGMIN", "FLOAT32", wide=True, rank=8, width=4, last_index=True),
        one("strided", "SUM", "COMPLEX128", rank=8, width=16),
        one("strided", "LOG_SUM_EXP", "FLOAT64", rank=8, width=8),
        one("stream", "MAX", "FLOAT32", rank=3, ignore_nan=True),
        one("stream", "LOG_SUM_EXP", "FLOAT32", rank=8),
        one("warps", "ARGMAX", "INT64", rank=3, last_index=True),
        one("vectors", "MIN", "BFLOAT16", rank=3, width=16, ignore_nan=True),
        one("vectors", "SUM", "FLOAT64", rank=8, width=16),
        one("stream", "SUM", "FLOAT32", result="FLOAT64", rank=1),
        one("tiles", "SUM", "INT8", result="INT64", width=1),
        one("columns", "SUM", "FLOAT16", result="FLOAT32", width=16),
        one("vectors", "SUM", "INT8", result="FLOAT32", rank=1, width=4),
        one("warps", "L1", "COMPLEX64", result="FLOAT32", rank=1),
    ]


def batches() -> list[tuple[str, list[KernelSpec]]]:
    """Return what is compiled together, for which architecture."""
    wanted: dict[str, list[KernelSpec]] = {arch: [] for arch in ARCHITECTURES}
    groups: dict[tuple[str, ...], list[KernelSpec]] = {}
    for spec in specialisations():
        groups.setdefault(group_of(spec), []).append(spec)
    turns = [(specs, 2) for specs in groups.values()] + [([spec], 1) for spec in rare()]
    everything = os.environ.get("CUDAKERN_TEST_ALL_CODE") == "1"
    count = len(ARCHITECTURES)
    for number, (specs, several) in enumerate(turns):
        for turn, arch in enumerate(ARCHITECTURES):
            if everything:
                wanted[arch] += specs
            elif turn < several:  # 49 groups meet all pairs of an architecture and a variant
                picked = ARCHITECTURES[(number + number // count + 3 * turn) % count]
                wanted[picked].append(specs[(number + 3 * turn) % len(specs)])
    return [
        (arch, specs[first : first + BATCH])
        for arch, specs in wanted.items()
        for first in range(0, len(specs), BATCH)
    ]


BATCHES = batches()


def max_registers(spec: KernelSpec) -> int:
    macros = dict(spec.defines)
    function = macros["CK_FUNCTION"]
    is_long = "LogSumExp" in function and macros["CK_NUMBER_T"] == "double"
    if is_long or macros["CK_OFFSET_T"] == "ck::uint64":
        return MOST_REGISTERS
    some = "Place" in function or "Complex" in macros["CK_INPUT_T"]
    return max(REGISTERS[base_of(spec)], SOME_REGISTERS if some else 0)


def loads_of(spec: KernelSpec) -> int:
    """Return how many 16-byte loads a thread must have in flight."""
    macros, variant = dict(spec.defines), base_of(spec)
    if variant == "strided" or (variant == "vectors" and macros["CK_WIDTH"] != "16"):
        return 0
    converts = "int" in macros["CK_INPUT_T"] and macros["CK_NUMBER_T"] == "double"
    if converts and variant in {"stream", "warps", "vectors"}:
        return LOADS_TO_CONVERT
    widens = macros["CK_INPUT_T"] == "float" and macros["CK_NUMBER_T"] == "double"
    magnitudes = "ck::L1<" in macros["CK_FUNCTION"] and macros["CK_INPUT_T"] == "ck::int64"
    if (widens or magnitudes) and variant in {"stream", "warps"}:
        return LOADS_TO_WIDEN
    of_two_bytes = macros["CK_INPUT_T"].endswith(("int16", "Float16"))
    if variant != "vectors" or not of_two_bytes:
        return LOADS
    many = macros["CK_OFFSET_T"] == "ck::uint64" and macros["CK_RANK"] != "1"
    return LOADS_BESIDE_OFFSETS if many else LOADS_BESIDE_8_STATES


def code_faults(spec: KernelSpec, code: list[str]) -> list[str]:
    variant = base_of(spec)
    names = [nvrtc.opcode(line).split(".")[0] for line in code]
    unwanted = [line for line, name in zip(code, names, strict=True) if name in UNWANTED]
    wrong = [f"of no use here: {line}" for line in unwanted]
    loads, least = nvrtc.loads_in_flight(code, 128, "NA"), loads_of(spec)
    if max(loads, default=0) < least:
        wrong.append(f"16-byte loads in flight: {loads}, not {least}")
    # Blocks count themselves in, those of a group and then the groups. There is no other atomic
    # operation: above all, none of floats. Each has a fence.
    arrivals = 2 if variant in SHARED else 0
    atomics = [line for line, name in zip(code, names, strict=True) if name in ATOMICS]
    if [nvrtc.matches(line, "ATOMG", "INC", "STRONG", "GPU") for line in atomics] != [
        True
    ] * arrivals:
        wrong.append(f"atomic operations: {atomics}, not {arrivals} that count")
    fences = [line for line, name in zip(code, names, strict=True) if name == "MEMBAR"]
    if [nvrtc.matches(line, "MEMBAR", "GPU") for line in fences] != [True] * arrivals:
        wrong.append(f"fences: {fences}, not {arrivals} for other blocks")
    divides = nvrtc.divides if divides_nothing(spec) else LONG_DIVISION.search
    wrong += [f"a division: {line}" for line in code if divides(line)]
    return wrong


@pytest.mark.parametrize(
    ("arch", "specs"),
    [pytest.param(*batch, id=f"{batch[0]}-{n}") for n, batch in enumerate(BATCHES)],
)
def test_machine_code(arch, specs):
    cubin = nvrtc.compile_kernels(specs, arch)
    usage, code = nvrtc.resource_usage([cubin]), nvrtc.sass(cubin)
    assert set(usage) == {spec.entry for spec in specs}
    wrong = [(s, w) for s in specs for w in resource_faults(usage[s.entry], max_registers(s))]
    wrong += [(spec, w) for spec in specs for w in code_faults(spec, code[spec.entry])]
    assert not wrong, "\n".join((arch, *(f"{spec.entry}: {fault}" for spec, fault in wrong)))


def test_every_function_of_every_data_type_is_read_for_two_architectures():
    read = Counter(group_of(spec) for _, specs in BATCHES for spec in specs)
    listed = {group_of(spec) for spec in specialisations()}
    assert len(listed) == 170
    assert min(read[group] for group in listed) >= 2
    assert {spec.entry for spec in rare()} <= {spec.entry for _, specs in BATCHES for spec in specs}
    assert {(arch, base_of(spec)) for arch, specs in BATCHES for spec in specs} == {
        (arch, base_of(spec)) for arch in ARCHITECTURES for spec in specialisations()
    }


STRIDED = one("strided", "SUM", "FLOAT32", wide=True, rank=3, width=4)
WORSE = {  # what is changed, and the faults it makes
    "half the loads": (
        one("stream", "SUM", "FLOAT32", rank=1), "constexpr int kLoads = 8;\n  constexpr uint32 kI",
        "constexpr int kLoads = 4;\n  constexpr uint32 kI", "16-byte loads"),
    "half of a stage": (
        one("columns", "SUM", "FLOAT16", width=16), "kStageLoads = 8", "kStageLoads = 4",
        "16-byte loads"),
    "an atomic sum": (
        one("warps", "SUM", "FLOAT32", rank=1), "state[0] = fold_lanes<F>(state[0], 32);",
        "atomicAdd(static_cast<float*>(a.out) + row, state[0]);", "atomic operations"),
    "no fence": (STRIDED, "atom.acq_rel.gpu.global.inc", "atom.relaxed.gpu.global.inc", "fences"),
    "a division": (STRIDED, "tile * width + q", "tile * width + q % a.units", "a division"),
    "a table": (STRIDED, "state[kItems];", "state[kItems]; volatile int t[9]; t[q % 9] = t[q % 8];",
                "of no use here: (LDL|STL)"),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "old", "new", "fault"), WORSE.values(), ids=[*WORSE])
def test_worse_code_is_seen(worse, spec, old, new, fault):
    worse(old, new)
    code = nvrtc.sass(nvrtc.compile_kernel(spec, "sm_90"))[spec.entry]
    faults = code_faults(spec, code)
    assert faults, "this change must not pass"
    assert all(re.match(fault, wrong) for wrong in faults), faults
