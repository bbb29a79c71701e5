"""The machine code of every kernel, for every architecture, compiled without a GPU.

A batch is one variant of an operator: some dozens of kernels that are compiled together. Two
architectures get all of them; the others, whose code differs little, the ones with int64 indices or
coordinates, which need most registers. CUDAKERN_TEST_ALL_CODE=1 gives all of them to all seven.
"""

from __future__ import annotations

import os
import re
import shutil

import pytest

from cudakern.engines import sources
from cudakern.engines.base import KernelSpec
from cudakern.operators.catalogue import specialisations
from cudakern.operators.gather_kernels import specialise
from tests.helpers import nvrtc

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
#: Architectures that get a sample, unless all are asked for.
SAMPLED = (
    ()
    if os.environ.get("CUDAKERN_TEST_ALL_CODE") == "1"
    else ("sm_75", "sm_80", "sm_86", "sm_89", "sm_100")
)
NONZERO = "nonzero_coordinates"
#: Of a thread, with 256 threads a block: for 4 blocks a multiprocessor, or 3.
MAX_REGISTERS, NONZERO_REGISTERS = 64, 80
RESERVED_SHARED = 1024  # bytes that sm_90 and later take for themselves
#: Variants that write a packed output.
STREAMS = {"rows", "planes", "spliced", "packed", "scalars", "stream"}
SLOTS = 4  # 16-byte reads of a thread that rows and planes promise to have in flight
#: The same for variants of nonzero_coordinates, and modifiers of these reads: no place in L1.
NONZERO_LOADS: dict[str, tuple[int, tuple[str, ...]]] = {"stream": (8, ("NA",)), "columns": (4, ())}
LOOK_BACK_READS = 8  # words of other blocks that a thread reads at once
#: All kernels but those of reduce, which are too many: test_reduce_machine_code.py reads them.
SPECS = [spec for spec in specialisations() if spec.source != "reduce.cu"]


def operator_of(spec: KernelSpec) -> str:
    return spec.source.removesuffix(".cu")


def variant_of(spec: KernelSpec) -> str:
    macros = dict(spec.defines)
    name = next(key for key in macros if key.startswith("CK_VARIANT_"))
    name = name.removeprefix("CK_VARIANT_").lower()
    if name == "strided":
        return f"strided_r{macros['CK_RANK']}"
    return "last_axis_staged" if macros.get("CK_STAGED") == "1" else name


def batches() -> dict[str, list[KernelSpec]]:
    found: dict[str, list[KernelSpec]] = {}
    for spec in SPECS:
        found.setdefault(f"{operator_of(spec)}-{variant_of(spec)}", []).append(spec)
    return found


BATCHES = batches()


def is_sampled(spec: KernelSpec) -> bool:
    macros = dict(spec.defines)
    return "ck::int64" in {macros.get("CK_INDEX_T"), macros.get("CK_COORDINATE_T")}


def max_registers(spec: KernelSpec) -> int:
    return NONZERO_REGISTERS if operator_of(spec) == NONZERO else MAX_REGISTERS


def resource_faults(usage: nvrtc.Usage, registers: int) -> list[str]:
    wrong = []
    if usage.stack or usage.local:
        wrong.append(f"{usage.stack} bytes of stack and {usage.local} of local memory, not none")
    if usage.registers > registers:
        wrong.append(f"{usage.registers} registers, more than {registers}")
    if usage.shared > RESERVED_SHARED:
        wrong.append(f"{usage.shared} bytes of static shared memory, not none")
    return wrong


def stores_vectors(spec: KernelSpec) -> bool:
    """Return whether this is a variant that writes 16 bytes at a time."""
    variant = variant_of(spec)
    strided = variant in {"strided_r2", "strided_r4"} and dict(spec.defines)["CK_WIDTH"] == "16"
    return strided or variant in STREAMS or operator_of(spec) == NONZERO


def keeps_loads_in_flight(spec: KernelSpec) -> bool:
    """Return whether this is a variant that copies 16-byte slots, several at a time."""
    return variant_of(spec) in {"rows", "planes"} and operator_of(spec).startswith("gather")


def reads_index_vectors(spec: KernelSpec) -> bool:
    """Return whether this is the variant scalars with 16 bytes of indices to an output vector."""
    if variant_of(spec) != "scalars":
        return False
    macros = dict(spec.defines)
    index_bytes = 8 if "64" in macros["CK_INDEX_T"] else 4
    return 16 // int(macros["CK_WIDTH"]) * index_bytes >= 16


def is_disassembled(spec: KernelSpec) -> bool:
    has_32_bit_offsets = dict(spec.defines)["CK_OFFSET_T"] == "ck::uint32"
    return has_32_bit_offsets or stores_vectors(spec)


def code_faults(spec: KernelSpec, code: list[str]) -> list[str]:
    wrong = []
    stores = [line for line in code if nvrtc.matches(line, "STG")]
    if dict(spec.defines)["CK_OFFSET_T"] == "ck::uint32":
        wrong += [f"a division: {line}" for line in code if nvrtc.divides(line)]
    if stores_vectors(spec) and not any(
        nvrtc.matches(line, "STG", "E", "EF", "128") for line in stores
    ):
        wrong.append("no 16-byte store with the evict-first hint")
    if (keeps_loads_in_flight(spec) or reads_index_vectors(spec)) and not any(
        nvrtc.matches(line, "LDG", "E", "128") for line in code
    ):
        wrong.append("no 16-byte load")
    if keeps_loads_in_flight(spec):
        # Whole tiles read all slots at once. In the last, partial tile the compiler may move a read
        # behind the test whether its slot exists: those are groups of their own.
        groups = nvrtc.loads_in_flight(code)
        if max(groups, default=0) < SLOTS:
            wrong.append(f"16-byte loads in flight: {groups}, not {SLOTS} in whole tiles")
        wrong += [
            f"another store than STG.E.EF.128: {line}"
            for line in stores
            if not nvrtc.matches(line, "STG", "E", "EF", "128")
        ]
    return wrong + (nonzero_faults(spec, code) if operator_of(spec) == NONZERO else [])


def nonzero_faults(spec: KernelSpec, code: list[str]) -> list[str]:
    wrong = []
    promised, modifiers = NONZERO_LOADS.get(variant_of(spec), (0, ()))
    groups = nvrtc.loads_in_flight(code, 128, *modifiers)
    if max(groups, default=0) < promised:
        kind = " ".join(("16-byte", *modifiers))
        wrong.append(f"{kind} loads in flight: {groups}, not {promised}")
    groups = nvrtc.loads_in_flight(code, 64, "STRONG", "GPU")
    if max(groups, default=0) < LOOK_BACK_READS:
        wrong.append(f"reads of the look-back in flight: {groups}, not {LOOK_BACK_READS}")
    # A block waits for others with relaxed reads. Fences, or what an acquiring read puts behind
    # itself, belong only where the workspace is emptied, after the last of them.
    reads = [k for k, line in enumerate(code) if nvrtc.matches(line, "LDG", "STRONG")]
    before = code[: max(reads, default=0)]
    names = ("MEMBAR", "CCTL")
    fences = [line for line in before if any(nvrtc.matches(line, name) for name in names)]
    wrong += [f"a fence: {nvrtc.opcode(line)}" for line in fences]
    return wrong


def without_labels(code: list[str]) -> list[str]:
    """Return the instructions without the names of jump targets, which count through a cubin."""
    return [re.sub(r"\.L_x_\d+", "", line) for line in code]


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_machine_code(arch, batch):
    specs = BATCHES[batch]
    if arch in SAMPLED:
        specs = [spec for spec in specs if is_sampled(spec)]
    cubin = nvrtc.compile_kernels(specs, arch)
    usage = nvrtc.resource_usage([cubin])
    assert set(usage) == {spec.entry for spec in specs}
    read = [spec for spec in specs if is_disassembled(spec)]
    code = nvrtc.sass(cubin) if read else {}
    wrong = [(s, w) for s in specs for w in resource_faults(usage[s.entry], max_registers(s))]
    wrong += [(spec, w) for spec in read for w in code_faults(spec, code[spec.entry])]
    assert not wrong, "\n".join((arch, *(f"{spec.entry}: {fault}" for spec, fault in wrong)))


@pytest.mark.parametrize("batch", BATCHES)
def test_kernels_compiled_together_are_the_kernels_that_run(batch):
    specs = [BATCHES[batch][0], *BATCHES[batch][1:][-1:]]
    together = nvrtc.compile_kernels(specs, "sm_90")
    code, usage = nvrtc.sass(together), nvrtc.resource_usage([together])
    for spec in specs:
        alone = nvrtc.compile_kernel(spec, "sm_90")
        assert without_labels(nvrtc.sass(alone)[spec.entry]) == without_labels(code[spec.entry])
        assert nvrtc.resource_usage([alone])[spec.entry] == usage[spec.entry]


def test_every_kernel_has_an_entry_point_of_its_own():
    entries = [spec.entry for spec in specialisations()]
    assert len(entries) == len(set(entries))


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """Return a copy of the folder of the kernel sources, from which they are now loaded."""
    copy = tmp_path / "kernels"
    shutil.copytree(sources.kernel_folder(), copy)
    monkeypatch.setattr(sources, "kernel_folder", lambda: copy)
    return copy


def test_an_edited_header_changes_the_digest(tmp_path, monkeypatch):
    original = sources.load_source("gather.cu")
    for number, header in enumerate(["", "types.cuh", "row_copy.cuh"]):
        copy = tmp_path / str(number)
        shutil.copytree(sources.kernel_folder(), copy)
        if header:
            with (copy / "common" / header).open("a", encoding="utf-8") as file:
                file.write("// edited\n")
        with monkeypatch.context() as patch:
            patch.setattr(sources, "kernel_folder", lambda copy=copy: copy)
            edited = sources.load_source("gather.cu")
        assert (edited.text == original.text) == (not header)
        assert (edited.digest == original.digest) == (not header)


def test_a_warning_is_an_error(kernels):
    text = 'extern "C" __global__ void CK_ENTRY(int* out) { int unused; *out = 0; }\n'
    (kernels / "warns.cu").write_text(text, encoding="utf-8")
    with pytest.raises(nvrtc.CompilationError, match="never referenced"):
        nvrtc.compile_kernel(KernelSpec("warns.cu", "ck_warns", ()), "sm_80")


def test_a_division_is_seen(kernels):
    text = 'extern "C" __global__ void CK_ENTRY(CK_T* out, CK_T by) { *out /= by; }\n'
    (kernels / "divides.cu").write_text(text, encoding="utf-8")
    for number in ("unsigned", "unsigned long long"):
        spec = KernelSpec("divides.cu", "ck_divides", (("CK_T", number),))
        for arch in ARCHITECTURES:
            code = nvrtc.sass(nvrtc.compile_kernel(spec, arch))["ck_divides"]
            calls = [line for line in code if "__cuda_" in line]
            assert len(calls) == (number == "unsigned long long"), (number, arch)
            assert all(map(nvrtc.divides, calls)), (calls, arch)
            assert sum(map(nvrtc.divides, code)) > len(calls), (number, arch)


@pytest.mark.parametrize(
    ("instruction", "is_division"),
    [
        ("CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_u64)", True),
        ("CALL.REL.NOINC `($__internal_7_$__cuda_sm20_rem_s64)", True),
        ("CALL.REL.NOINC `($__internal_4_$__cuda_sm70_warpsync)", False),
        ("CALL.REL.NOINC `($__internal_2_$__cuda_sm70_shflsync_up_p)", False),
        ("@P0 CALL.REL.NOINC `(.L_x_1)", False),
        ("UI2F.U32.RP UR4, UR5", True),
        ("@!P1 MUFU.RCP R4, R5", True),
        ("MUFU.RSQ R4, R5", False),
        ("IMAD.HI.U32 R9, R8, R7, RZ", False),
    ],
)
def test_a_division_is_told_from_other_instructions(instruction, is_division):
    assert nvrtc.divides(instruction) == is_division


def test_a_spill_is_seen(kernels):
    text = """
        extern "C" __global__ void CK_ENTRY(int* out, int at) {
          volatile int table[64];
          for (int k = 0; k < 64; ++k) { table[k] = out[k]; }
          out[64] = table[at];
        }
    """
    (kernels / "spills.cu").write_text(text, encoding="utf-8")
    cubin = nvrtc.compile_kernel(KernelSpec("spills.cu", "ck_spills", ()), "sm_90")
    usage = nvrtc.resource_usage([cubin])["ck_spills"]
    assert "stack" in resource_faults(usage, MAX_REGISTERS)[0]
    assert "registers" in resource_faults(usage, usage.registers - 1)[1]


def test_a_missing_tool_is_named():
    with pytest.raises(FileNotFoundError, match=r"nvabsent must be installed .*pip install"):
        nvrtc.tool("nvabsent")


READ = "LDG.E.128.CONSTANT"


@pytest.mark.parametrize(
    ("code", "groups"),
    [
        ([], []),
        ([f"{READ} R4, desc[UR4][R2.64]"], [1]),
        ([f"{READ} R4, [R2.64]", f"{READ} R8, [R2.64]", "STG.E.128 [R2.64], R4"], [2]),
        ([f"{READ} R4, [R2]", "IADD R3, R7, 0x1", f"{READ} R8, [R2]", "MOV R1, R9"], [1, 1]),
        ([f"{READ} R4, [R2]", f"{READ} R8, [R6.64+UR4]"], [1, 1]),
        ([f"{READ} R4, [R4]", "@!P0 BRA `(.L_x_1)", "MOV R10, UR4", f"{READ} R12, [R2]"], [2]),
        ([f"{READ} R4, [R2]", "@!UP0 MOV R5, 0x1", "LDG.E.64 R8, [R2]", "MOV R1, R8"], [1]),
    ],
)
def test_loads_in_flight_are_counted(code, groups):
    assert nvrtc.loads_in_flight(code) == groups


def test_a_batch_is_one_variant():
    spec = specialise("rows", 16, "int32", "clamp", wide=False)
    assert spec in BATCHES["gather-rows"]
    assert sum(len(specs) for specs in BATCHES.values()) == len(SPECS)
