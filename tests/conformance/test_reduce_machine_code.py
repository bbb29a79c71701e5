"""What the checks of the machine code find in kernels of reduce made worse."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from cudakern._dtypes import DataType
from cudakern.engines import nvrtc
from cudakern.operators.reduce.plan import kernels_of, reductions
from cudakern.operators.reduce.types import INITIAL_FUNCTIONS, ReduceFunction
from perf.static import cubins
from perf.static.budgets_reduce import code_faults, flushes
from perf.static.figures import survey
from perf.static.kernels import base_of
from perf.static.rare import one
from tests.conformance import test_nonzero_machine_code

worse = test_nonzero_machine_code.worse

STRIDED = one("strided", "SUM", "FLOAT32", wide=True, rank=3, width=4)
WORSE = {  # what is changed, and the faults it makes
    "half the loads": (
        one("stream", "SUM", "FLOAT32", rank=1), "constexpr int kLoads = 8;\n  constexpr uint32 kI",
        "constexpr int kLoads = 4;\n  constexpr uint32 kI", "16-byte loads"),
    "half of a stage": (
        one("tiles", "SUM", "FLOAT16", width=16), "kStageLoads = 8", "kStageLoads = 4",
        "16-byte loads"),
    "an atomic sum": (
        one("warps", "SUM", "FLOAT32", rank=1), "state[0] = fold_lanes<F>(state[0], 32);",
        "atomicAdd(static_cast<float*>(a.out) + row, state[0]);",
        "atomic operations|takes subnormal numbers for zero: REDG"),
    "no fence": (STRIDED, "atom.acq_rel.gpu.global.inc", "atom.relaxed.gpu.global.inc", "fences"),
    "a division": (STRIDED, "tile * width + q", "tile * width + q % a.units", "a division"),
    "a table": (STRIDED, "state[kItems];", "state[kItems]; volatile int t[9]; t[q % 9] = t[q % 8];",
                "of no use here: (LDL|STL)"),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "old", "new", "fault"), WORSE.values(), ids=[*WORSE])
def test_worse_code_is_seen(worse, spec, old, new, fault):
    worse(old, new)
    code = cubins.sass(cubins.compile_kernel(spec, "sm_90"))[spec.entry].code
    faults = code_faults(spec, code)
    assert faults, "this change must not pass"
    assert all(re.match(fault, wrong) for wrong in faults), faults


@pytest.mark.parametrize("function", sorted(INITIAL_FUNCTIONS), ids=lambda f: f.label)
def test_kernels_with_an_initial_value_keep_the_budgets(function):
    """One for each data type, of another variant in turn."""
    given = [replace(r, has_initial=True) for r in reductions() if r.function is function]
    turns = [[*kernels_of(reduction)] for reduction in given]
    specs = [kernels[turn % len(kernels)] for turn, kernels in enumerate(turns)]
    assert {*map(base_of, specs)} == {base_of(spec) for kernels in turns for spec in kernels}
    wrong = [f"{one.entry}: {fault}" for one in survey("sm_90", specs) for fault in one.faults]
    assert not wrong, "\n".join(wrong)


FLOATING = re.compile(r"(?:@!?U?P\d+ )?((?:FFMA|FMUL|FADD|MUFU)\S*)")
FLOATING_PTX = re.compile(r"\s((?!ld|st|mov|set|cvt|sel|shfl)[a-z][a-z0-9.]*)\.f(?:32|64)\s")
#: Functions that complex numbers do not have.
ORDERED = ("MAX", "MIN", "ARGMAX", "ARGMIN", "LOG_SUM_EXP")
#: Kernels that multiply and add.
FUSED = [
    one("stream", "LOG_SUM_EXP", "FLOAT32", rank=1),
    one("stream", "LOG_SUM_EXP", "FLOAT16", rank=1),
    one("vectors", "LOG_SUM_EXP", "FLOAT32", rank=1, width=16),
    one("stream", "L2", "COMPLEX64", rank=1),
    one("stream", "MULTIPLY", "COMPLEX64", rank=1),
]
#: Kernels whose results have the same bits everywhere.
REAL = ("ARGMAX", "ARGMIN", "AVERAGE", "L1", "L2", "MAX", "MIN", "MULTIPLY", "SUM", "SUM_SQUARE")
COMPLEX = ("AVERAGE", "L2", "MULTIPLY", "SUM", "SUM_SQUARE")
SAME = [
    one("tiles", function, kind, width=DataType[kind].itemsize)
    for kinds, functions in (
        (("FLOAT32", "FLOAT64"), REAL),
        (("COMPLEX64", "COMPLEX128"), COMPLEX),
    )
    for kind in kinds
    for function in functions
]


@pytest.fixture
def compiled(monkeypatch):
    """Return a function that compiles kernels for a target with more options of NVRTC."""
    ours = nvrtc.Program.options.fget

    def of(target, specs, *more):
        with monkeypatch.context() as patch:
            patch.setattr(nvrtc.Program, "options", property(lambda self: ours(self) + more))
            return cubins.compile_kernels(specs, target)

    return of


def code_of(cubin, specs):
    """Return the machine code of each kernel."""
    listings = cubins.sass(cubin)
    return [listings[spec.entry].code for spec in specs]


@pytest.mark.parametrize("function", [function.name for function in ReduceFunction])
def test_a_flush_of_subnormals_is_seen(compiled, function):
    kinds = ("FLOAT32",) if function in ORDERED else ("FLOAT32", "COMPLEX64")
    specs = [one("stream", function, kind, rank=1) for kind in kinds]
    found = [
        [flushes(*pair) for pair in zip(specs, code_of(cubin, specs), strict=True)]
        for cubin in (compiled("sm_90", specs), compiled("sm_90", specs, "-ftz=true"))
    ]
    assert not any(found[0])
    assert all(len(lines) > 10 for lines in found[1])


def arithmetic(cubin, specs):
    """Return the floating-point operations of kernels, in order."""
    matches = [[FLOATING.match(line) for line in code] for code in code_of(cubin, specs)]
    return [[match[1] for match in found if match] for found in matches]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_no_compiler_has_a_choice_between_one_rounding_and_two(compiled, arch):
    free = arithmetic(compiled(arch, FUSED), FUSED)
    assert all(free)
    assert free == arithmetic(compiled(arch, FUSED, "-fmad=false"), FUSED)


def test_a_choice_is_seen(worse, compiled):
    scaled, term = "scale_between(state.maximum, maximum)", "exponential(x[0] - shift)"
    worse(f"multiply_add(state.sum, {scaled}, {term})", f"state.sum * {scaled} + {term}")
    free, bound = (
        arithmetic(compiled("sm_90", FUSED[:1], *options), FUSED[:1])
        for options in ((), ("-fmad=false",))
    )
    assert free != bound


def test_operations_with_the_same_bits_everywhere_are_rounded_as_in_ieee_754(compiled):
    operations = {"add", "fma.rn", "mul", "div.rn", "sqrt.rn", "abs", "neg"}
    assert set(FLOATING_PTX.findall(compiled("compute_90", SAME).decode())) == operations
    approximate = compiled("compute_90", FUSED[:1]).decode()
    assert "ex2.approx.ftz" in FLOATING_PTX.findall(approximate)
