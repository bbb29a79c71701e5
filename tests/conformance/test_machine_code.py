"""The checks of the machine code, on a sample; ``python -m perf static`` makes them for all."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pytest

from cudakern.compilation import nvrtc
from cudakern.engines import kernel_files, kernel_text
from cudakern.engines.base import KernelSpec
from cudakern.errors import KernelCompileError
from cudakern.operators.gather.plan import specialise as gather
from cudakern.operators.nonzero.plan import specialise as nonzero
from cudakern.operators.reduce.reduction import kernels_of, reductions
from cudakern.operators.reduce.types import INITIAL_FUNCTIONS, ReduceFunction
from perf.static import cubins
from perf.static.budgets import resource_faults, rules_of, survey
from perf.static.budgets_indexing import MAX_REGISTERS, max_registers
from perf.static.budgets_reduce import flushes
from perf.static.cubins import architectures
from perf.static.faults import Kind
from perf.static.kernels import BudgetedKernel, list_kernels, reduce_kernel
from perf.static.reading import divides, loads_in_flight
from tests.helpers.rows import each
from tests.helpers.samples import covering, sample

VARIANTS: dict[tuple[str, str], list[BudgetedKernel]] = {}
for kernel in list_kernels():
    VARIANTS.setdefault((kernel.operator, kernel.label), []).append(kernel)
OPERATORS = sorted({operator for operator, _ in VARIANTS})


def of_each_variant(operator):
    return [kernels[0] for (of, _), kernels in VARIANTS.items() if of == operator]


def without_labels(code):
    """Return the instructions without jump targets, which are numbered through a cubin."""
    return [re.sub(r"\.L_x_\d+", "", line) for line in code]


def without_reserved(usage):
    """Return usage without what sm_90 reserves for kernels once any kernel uses shared memory."""
    return replace(usage, shared=usage.shared % cubins.RESERVED_SHARED)


@each("function", sample(sorted(INITIAL_FUNCTIONS), 4))
def test_kernels_with_an_initial_value_keep_the_budgets(function):
    """There is one kernel for each data type; the variants take turns."""
    given = [replace(r, has_initial=True) for r in reductions() if r.function is function]
    turns = [[BudgetedKernel(spec, r) for spec in kernels_of(r)] for r in given]
    kernels = sample([turn[place % len(turn)] for place, turn in enumerate(turns)], 2)
    assert {k.variant for k in kernels} == {k.variant for turn in turns for k in turn}
    found = survey("sm_90", kernels)
    assert [one.entry for one in found] == [kernel.entry for kernel in kernels]
    wrong = [f"{one.entry}: {fault}" for one in found for fault in one.faults]
    assert not wrong, "\n".join(wrong)


@each("operator", sample(OPERATORS, 5, 3))
def test_kernels_compiled_together_are_the_kernels_that_run(operator):
    specs = sample([kernel.spec for kernel in of_each_variant(operator)], 2)
    together = cubins.compile_kernels(specs, "sm_90")
    code, usage = cubins.sass(together), cubins.resource_usage(together)
    for spec in (specs[0], specs[-1]):
        alone = cubins.cubin_of(kernel_files.program_of(spec, "sm_90"))
        listing = cubins.sass(alone)[spec.entry]
        assert without_labels(listing.code) == without_labels(code[spec.entry].code)
        assert [*listing.labels.values()] == [*code[spec.entry].labels.values()]
        (own,) = cubins.resource_usage(alone).values()
        assert without_reserved(own) == without_reserved(usage[spec.entry])


def test_every_kernel_has_an_entry_point_of_its_own():
    entries = [kernel.entry for kernel in list_kernels()]
    assert len(entries) == len(set(entries))


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """Return a copy of the folder of kernel sources, and load them from there."""
    copy = tmp_path / "kernels"
    shutil.copytree(kernel_text.kernel_folder(), copy)
    monkeypatch.setattr(kernel_text, "kernel_folder", lambda: copy)
    return copy


@pytest.fixture
def compile_text(kernels):
    """Return a function that compiles the text of a kernel, with macros, for a target."""

    def compile_text(text, target, macros=()):
        (kernels / "made.cu").write_text(text, encoding="utf-8")
        spec = KernelSpec("made", "plain", "ck_made", macros)
        return cubins.cubin_of(kernel_files.program_of(spec, target))

    return compile_text


@pytest.mark.parametrize("header", ["", "types.cuh", "row_copy.cuh"])
def test_an_edited_header_changes_the_digest(request, header):
    original = kernel_text.load_source("gather.cu")
    kernels = request.getfixturevalue("kernels")  # from now on
    if header:
        with (kernels / "common" / header).open("a", encoding="utf-8") as file:
            file.write("// edited\n")
    edited = kernel_text.load_source("gather.cu")
    assert (edited.text == original.text) == (not header)
    assert (edited.digest == original.digest) == (not header)


def test_a_warning_is_an_error(compile_text):
    text = 'extern "C" __global__ void CK_ENTRY(int* out) { int unused; *out = 0; }\n'
    with pytest.raises(KernelCompileError, match="never referenced"):
        compile_text(text, "sm_80")


@each("arch", sample(architectures(), 4))
def test_a_division_is_seen(compile_text, arch):
    text = """
        extern "C" __global__ void CK_ENTRY(unsigned* out, unsigned by) { *out /= by; }
        extern "C" __global__ void wide(unsigned long long* out, unsigned by) { *out /= by; }
    """
    listings = cubins.sass(compile_text(text, arch))
    for kernel, calls in (("ck_made", 0), ("wide", 1)):
        code = listings[kernel].code
        found = [line for line in code if "__cuda_" in line]
        assert len(found) == calls
        assert all(map(divides, found)), found
        assert sum(map(divides, code)) > calls


@each(
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


def test_a_spill_is_seen(compile_text):
    text = """
        extern "C" __global__ void CK_ENTRY(int* out, int at) {
          volatile int table[64];
          for (int k = 0; k < 64; ++k) { table[out[k]] = k; }
          out[64] = table[at];
        }
    """
    usage = cubins.resource_usage(compile_text(text, "sm_90"))["ck_made"]
    assert [fault.kind for fault in resource_faults(usage, MAX_REGISTERS)] == [Kind.SPILLS]
    spilled, registers = map(str, resource_faults(usage, usage.registers - 1))
    assert "stack" in spilled
    assert "registers" in registers


@each(("arch", "nbytes"), [("sm_75", 64), ("sm_90", 64 + 1024)])
def test_static_shared_memory_is_seen(compile_text, arch, nbytes):
    text = """
        extern "C" __global__ void CK_ENTRY(int* out) {
          __shared__ int turned[16];
          turned[threadIdx.x] = out[threadIdx.x];
          __syncthreads();
          out[threadIdx.x] = turned[15 - threadIdx.x];
        }
    """
    usage = cubins.resource_usage(compile_text(text, arch))["ck_made"]
    wrong = [f"{nbytes} bytes of static shared memory, not none"]
    assert [*map(str, resource_faults(usage, MAX_REGISTERS))] == wrong


def test_a_missing_tool_is_named():
    with pytest.raises(FileNotFoundError, match=r"nvabsent must be installed .*pip install"):
        cubins.tools("nvabsent")


READ = "LDG.E.128.CONSTANT"


@each(
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


STREAM = BudgetedKernel(nonzero("stream", 1, 4, wide=False))
COLUMNS = BudgetedKernel(nonzero("columns", 4, 8, wide=False))
STRIDED = BudgetedKernel(nonzero("strided", 2, 8, wide=True, rank=8))
REDUCED = reduce_kernel("strided", "SUM", "FLOAT32", wide=True, rank=3, width=4)
_NO_LOADS, _LOADS = "@exists ld.global.nc", "static constexpr int kLoads = "
_ROWS, _STAGE = "constexpr int kLoads = {};\n  const uint32 t", "CK_STAGE_BYTES / {} / kThreads"
_FOLD = "if (a.length > kChunk) state = fold_lanes(state, lane);"
_ATOMIC = "atomicAdd(static_cast<float*>(a.out) + row, state);"
_TABLE = "state[kUnits]; volatile int t[9]; t[lane % 9] = t[lane % 8];"
_INC = "atom.{}.gpu.global.inc"
#: A kernel, a text of its source and what replaces it, and the fault that this makes.
WORSE = [
    (STREAM, f"{_NO_LOADS}.L1::no_allocate", _NO_LOADS, "16-byte NA loads in flight: []"),
    (STREAM, f"{_LOADS}8", f"{_LOADS}4", "16-byte NA loads in flight: [4"),
    (COLUMNS, "uint32 kLoads = 4", "uint32 kLoads = 2", "16-byte loads in flight: [2"),
    (STRIDED, "kReads = 8", "kReads = 4", "reads of the look-back"),
    (STREAM, "lane, %%laneid;", "lane, 0;", "reads of the look-back behind a ticket: [0"),
    (STRIDED, "ld.relaxed", "ld.acquire", "a fence: CCTL"),
    (STREAM, "st.relaxed", "st.release", "a fence: MEMBAR|16-byte NA loads"),
    (STRIDED, "__stcs(address, value)", "*address = value", "no 16-byte store"),
    (
        reduce_kernel("blocks", "SUM", "INT32", rank=1),
        _ROWS.format(8),
        _ROWS.format(4),
        "16-byte loads",
    ),
    (
        reduce_kernel("tiles", "SUM", "FLOAT16"),
        _STAGE.format(16),
        _STAGE.format(32),
        "16-byte loads",
    ),
    (
        reduce_kernel("warps", "SUM", "FLOAT32", rank=1),
        _FOLD,
        _ATOMIC,
        "atomic operations|takes subnormal numbers for zero: REDG",
    ),
    (REDUCED, _INC.format("acq_rel"), _INC.format("relaxed"), "fences"),
    (REDUCED, "(warp >> a.team_shift);", "(warp >> a.team_shift) % a.rows;", "a division"),
    (REDUCED, "state[kUnits];", _TABLE, "of no use here: LDL|of no use here: STL"),
]


@pytest.fixture
def worse(kernels):
    """Return a function that replaces a text that occurs once in the kernel sources."""

    def replace(old, new):
        texts = {path: path.read_text(encoding="utf-8") for path in kernels.rglob("*.cu*")}
        (found,) = [path for path, text in texts.items() if old in text]
        assert texts[found].count(old) == 1
        found.write_text(texts[found].replace(old, new), encoding="utf-8")

    return replace


@pytest.mark.parametrize(("kernel", "old", "new", "fault"), sample(WORSE, 7))
@pytest.mark.parametrize("arch", sample(["sm_90", "sm_75"], 2))
def test_worse_code_is_seen(worse, arch, kernel, old, new, fault):
    if kernel.operator == "reduce" and arch != "sm_90":
        pytest.skip("of reduce, one architecture is enough")
    worse(old, new)
    cubin = cubins.cubin_of(kernel_files.program_of(kernel.spec, arch))
    code = cubins.sass(cubin)[kernel.entry].code
    faults = [str(fault) for fault in rules_of(kernel).code_faults(kernel, code)]
    assert faults, "this change must not pass"
    assert all(wrong.startswith(tuple(fault.split("|"))) for wrong in faults), faults


ROWS = BudgetedKernel(gather("rows", 16, "int32", "clamp", wide=False))


@each(("kernel", "most"), [(ROWS, 64), (STREAM, 72)])
def test_a_register_too_many_is_seen(kernel, most):
    limit = max_registers(kernel)
    assert resource_faults(cubins.Usage(most, 0, 0, 0), limit) == []
    (too_many,) = resource_faults(cubins.Usage(most + 1, 0, 0, 0), limit)
    assert str(too_many) == f"{most + 1} registers, more than {most}"


FLOATING = re.compile(r"(?:@!?U?P\d+ )?((?:FFMA|FMUL|FADD|MUFU)\S*)")
FLOATING_PTX = re.compile(r"\s((?!ld|st|mov|set|cvt|sel|shfl)[a-z][a-z0-9.]*)\.f(?:32|64)\s")
#: Kernels that multiply and add.
FUSED = [
    reduce_kernel("blocks", "LOG_SUM_EXP", "FLOAT32", rank=1),
    reduce_kernel("blocks", "LOG_SUM_EXP", "FLOAT16", rank=1),
    reduce_kernel("blocks", "L2", "COMPLEX64", rank=1),
    reduce_kernel("columns", "LOG_SUM_EXP", "FLOAT32", rank=1, width=16),
    reduce_kernel("blocks", "MULTIPLY", "COMPLEX64", rank=1),
]
#: Kernels whose results have the same bits everywhere.
REAL = ("ARGMAX", "ARGMIN", "AVERAGE", "L1", "L2", "MAX", "MIN", "MULTIPLY", "SUM", "SUM_SQUARE")
COMPLEX = ("AVERAGE", "L2", "MULTIPLY", "SUM", "SUM_SQUARE")
SAME = [
    reduce_kernel("tiles", function, kind)
    for function, kind in [
        *covering(REAL, ["FLOAT32", "FLOAT64"]),
        *covering(COMPLEX, ["COMPLEX64", "COMPLEX128"]),
    ]
]


@pytest.fixture
def compiled(monkeypatch):
    """Return a function that compiles kernels for a target with further options of NVRTC."""
    ours = nvrtc.Program.options.fget

    def of(target, kernels, *more):
        with monkeypatch.context() as patch:
            patch.setattr(nvrtc.Program, "options", property(lambda self: ours(self) + more))
            return cubins.compile_kernels([kernel.spec for kernel in kernels], target)

    return of


def code_of(cubin, kernels):
    """Return the machine code of each kernel."""
    listings = cubins.sass(cubin)
    return [listings[kernel.entry].code for kernel in kernels]


@each("function", sample([function.name for function in ReduceFunction], 12, 10))
def test_a_flush_of_subnormals_is_seen(compiled, function):
    kinds = ("FLOAT32",) if function == "LOG_SUM_EXP" else ("FLOAT32", "COMPLEX64")
    kernels = [reduce_kernel("blocks", function, kind, rank=1) for kind in kinds]
    found = [
        [flushes(*pair) for pair in zip(kernels, code_of(cubin, kernels), strict=True)]
        for cubin in (compiled("sm_90", kernels), compiled("sm_90", kernels, "-ftz=true"))
    ]
    assert not any(found[0])
    assert all(len(lines) > 10 for lines in found[1])


def arithmetic(cubin, kernels):
    """Return the floating-point operations of kernels, in order."""
    matches = [[FLOATING.match(line) for line in code] for code in code_of(cubin, kernels)]
    return [[match[1] for match in found if match] for found in matches]


@each("arch", sample(["sm_90", "sm_80"], 2))
def test_no_compiler_has_a_choice_between_one_rounding_and_two(compiled, arch):
    kernels = sample(FUSED, 2)
    free = arithmetic(compiled(arch, kernels), kernels)
    assert all(free)
    assert free == arithmetic(compiled(arch, kernels, "-fmad=false"), kernels)


def test_a_choice_is_seen(worse, compiled):
    worse("return rounded_product(a, b);", "return a * b;")
    squares = [reduce_kernel("blocks", "SUM_SQUARE", "FLOAT32", rank=1)]
    free, bound = (
        arithmetic(compiled("sm_90", squares, *options), squares)
        for options in ((), ("-fmad=false",))
    )
    assert free != bound


def test_operations_with_the_same_bits_everywhere_are_rounded_as_in_ieee_754(compiled):
    operations = {"add", "fma.rn", "mul", "mul.rn", "div.rn", "sqrt.rn", "abs", "neg"}
    assert set(FLOATING_PTX.findall(compiled("compute_90", SAME).decode())) == operations
    approximate = compiled("compute_90", FUSED[:1]).decode()
    assert "ex2.approx.ftz" in FLOATING_PTX.findall(approximate)
