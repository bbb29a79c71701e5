"""The checks of the machine code, on a sample; ``python -m perf.static`` makes them for all."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pytest

from cudakern.engines import sources
from cudakern.engines.base import KernelSpec
from cudakern.errors import KernelCompileError
from cudakern.operators import specialisations
from cudakern.operators.gather.plan import specialise
from perf.static import cubins
from perf.static.budgets import RESERVED_SHARED, resource_faults
from perf.static.budgets_indexing import MAX_REGISTERS
from perf.static.figures import survey
from perf.static.kernels import ARCHITECTURES, operator_of, variant_of
from perf.static.reading import divides, loads_in_flight

VARIANTS: dict[str, list[KernelSpec]] = {}
for spec in specialisations():
    VARIANTS.setdefault(f"{operator_of(spec)}-{variant_of(spec)}", []).append(spec)
SOURCES = sorted({spec.source for spec in specialisations()})


def without_labels(code):
    """Return the instructions without the names of jump targets, which count through a cubin."""
    return [re.sub(r"\.L_x_\d+", "", line) for line in code]


def without_reserved(usage):
    """Return usage without the shared memory that sm_90 takes of each kernel if one uses some."""
    return replace(usage, shared=usage.shared % RESERVED_SHARED)


@pytest.mark.parametrize("source", SOURCES)
def test_one_kernel_of_each_variant_keeps_its_budgets(source):
    specs = [kernels[-1] for kernels in VARIANTS.values() if kernels[-1].source == source]
    figures = survey("sm_90", specs)
    assert [one.entry for one in figures] == [spec.entry for spec in specs]
    wrong = [f"{one.entry}: {fault}" for one in figures for fault in one.faults]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("source", SOURCES)
def test_kernels_compiled_together_are_the_kernels_that_run(source):
    specs = [kernels[0] for kernels in VARIANTS.values() if kernels[0].source == source]
    together = cubins.compile_kernels(specs, "sm_90")
    code, usage = cubins.sass(together), cubins.resource_usage([together])
    for spec in (specs[0], specs[-1]):
        alone = cubins.compile_kernel(spec, "sm_90")
        listing = cubins.sass(alone)[spec.entry]
        assert without_labels(listing.code) == without_labels(code[spec.entry].code)
        assert [*listing.labels.values()] == [*code[spec.entry].labels.values()]
        (own,) = cubins.resource_usage([alone]).values()
        assert without_reserved(own) == without_reserved(usage[spec.entry])


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
    with pytest.raises(KernelCompileError, match="never referenced"):
        cubins.compile_kernel(KernelSpec("warns", "plain", "ck_warns", ()), "sm_80")


def test_a_division_is_seen(kernels):
    text = 'extern "C" __global__ void CK_ENTRY(CK_T* out, CK_T by) { *out /= by; }\n'
    (kernels / "divides.cu").write_text(text, encoding="utf-8")
    for number in ("unsigned", "unsigned long long"):
        spec = KernelSpec("divides", "plain", "ck_divides", (("CK_T", number),))
        for arch in ARCHITECTURES:
            code = cubins.sass(cubins.compile_kernel(spec, arch))["ck_divides"].code
            calls = [line for line in code if "__cuda_" in line]
            assert len(calls) == (number == "unsigned long long"), (number, arch)
            assert all(map(divides, calls)), (calls, arch)
            assert sum(map(divides, code)) > len(calls), (number, arch)


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
    assert divides(instruction) == is_division


def test_a_spill_is_seen(kernels):
    text = """
        extern "C" __global__ void CK_ENTRY(int* out, int at) {
          volatile int table[64];
          for (int k = 0; k < 64; ++k) { table[out[k]] = k; }
          out[64] = table[at];
        }
    """
    (kernels / "spills.cu").write_text(text, encoding="utf-8")
    cubin = cubins.compile_kernel(KernelSpec("spills", "plain", "ck_spills", ()), "sm_90")
    usage = cubins.resource_usage([cubin])["ck_spills"]
    assert "stack" in resource_faults(usage, MAX_REGISTERS)[0]
    assert "registers" in resource_faults(usage, usage.registers - 1)[1]


def test_a_missing_tool_is_named():
    with pytest.raises(FileNotFoundError, match=r"nvabsent must be installed .*pip install"):
        cubins.tool("nvabsent")


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
    assert loads_in_flight(code) == groups


def test_variants_hold_all_kernels():
    spec = specialise("rows", 16, "int32", "clamp", wide=False)
    assert spec in VARIANTS["gather-rows"]
    assert sum(len(specs) for specs in VARIANTS.values()) == len([*specialisations()])
