"""What the checks of the machine code find in kernels of reduce made worse."""

from __future__ import annotations

import re

import pytest

from cudakern.engines import nvrtc
from cudakern.operators.reduce_types import ReduceFunction
from perf.machine_code import cubins
from perf.machine_code.budgets_reduce import code_faults, flushes
from perf.machine_code.rare import one
from tests.conformance import test_nonzero_machine_code

worse = test_nonzero_machine_code.worse

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


@pytest.mark.parametrize("function", [function.name for function in ReduceFunction])
def test_a_flush_of_subnormals_is_seen(monkeypatch, function):
    ordered = {"MAX", "MIN", "ARGMAX", "ARGMIN", "LOG_SUM_EXP"}
    options = nvrtc.Program.options.fget
    for kind in ("FLOAT32",) if function in ordered else ("FLOAT32", "COMPLEX64"):
        spec = one("stream", function, kind, rank=1)
        found = []
        for flag in ((), ("-ftz=true",)):
            with monkeypatch.context() as patch:
                patch.setattr(
                    nvrtc.Program, "options", property(lambda self, flag=flag: options(self) + flag)
                )
                cubin = cubins.compile_kernel(spec, "sm_90")
            found.append(flushes(spec, cubins.sass(cubin)[spec.entry].code))
        assert not found[0]
        assert len(found[1]) > 10
