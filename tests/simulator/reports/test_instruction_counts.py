"""Counts of the PTX instructions that warps execute, in kernels that can be counted by hand."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule, traffic
from tests.helpers.rows import each

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<4>;"
#: Instructions of every entry, before its body and after it.
AROUND = "ld.param.u64 mov.u32 ret"
FUNCTIONS = """
.func (.param .b32 y) twice(.param .b32 x) {
  .reg .b32 %r<2>;
  ld.param.b32 %r0, [x];
  shl.b32 %r1, %r0, 1;
  st.param.b32 [y], %r1;
  ret;
}
.func leave() {
  .reg .pred %p; .reg .b32 %r;
  mov.u32 %r, %laneid;
  setp.lt.u32 %p, %r, 8;
  @%p exit;
  ret;
}
"""
LOOP = """
  mov.b32 %r1, 0;
again:
  add.s32 %r1, %r1, 1;
  setp.le.u32 %p0, %r1, %r0;
  @%p0 bra again;
"""
BRANCH = """
  and.b32 %r1, %r0, MASK;
  setp.eq.u32 %p0, %r1, 0;
  @%p0 bra even;
  mul.lo.s32 %r2, %r0, 3;
  bra done;
even:
  sub.s32 %r2, %r0, 1;
done:
  xor.b32 %r2, %r2, 1;
"""
CALL = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), twice, (a); }"


@dataclass(frozen=True)
class Case:
    """An entry's body, in which %r0 is the thread, and how often a block executes instructions."""

    name: str
    body: str
    counts: str
    block: int = 32

    def __str__(self) -> str:
        return self.name

    @property
    def text(self) -> str:
        """The entry."""
        return (
            f".visible .entry {self.name}(.param .u64 out) {{ {REGISTERS}\n"
            f"ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\n{self.body}\nret; }}\n"
        )

    @property
    def expected(self) -> dict[str, int]:
        """The expected counts of a block."""
        pairs = (pair.split() for pair in self.counts.split(", "))
        return {name: int(count) for count, *names in pairs for name in names}


CASES = [
    Case("straight", "add.s32 %r1, %r0, 1; add.s32 %r1, %r1, 1; mul.lo.s32 %r2, %r1, %r1;",
         f"1 mul.lo.s32 {AROUND}, 2 add.s32"),
    Case("two_warps", "add.s32 %r1, %r0, 1;", f"2 add.s32 {AROUND}", block=33),
    # a lane whose predicate does not hold still takes part
    Case("predicated", "setp.lt.u32 %p0, %r0, 0; @%p0 add.s32 %r1, %r0, 1;",
         f"1 setp.lt.u32 add.s32 {AROUND}"),
    # lane l turns l + 1 times
    Case("loop", LOOP, f"1 mov.b32 {AROUND}, 32 add.s32 setp.le.u32 bra"),
    # thread t turns t + 1 times: the warps 32, 64 and 70 times
    Case("warps_of_loops", LOOP, f"3 mov.b32 {AROUND}, 166 add.s32 setp.le.u32 bra", block=70),
    # every warp goes both ways; one side takes the branch to the end
    Case("divergent", BRANCH.replace("MASK", "1"),
         f"2 and.b32 setp.eq.u32 mul.lo.s32 sub.s32 xor.b32 {AROUND}, 4 bra", block=64),
    # the first warp goes one way, the second the other
    Case("uniform", BRANCH.replace("MASK", "32"),
         f"2 and.b32 setp.eq.u32 xor.b32 {AROUND}, 1 mul.lo.s32 sub.s32, 3 bra", block=64),
    Case("called", CALL + CALL,
         "1 ld.param.u64 mov.u32, 2 call ld.param.b32 shl.b32, 4 st.param.b32, 3 ret"),
    # only lanes from 16 on call; all lanes execute what follows
    Case("called_by_some", f"setp.lt.u32 %p0, %r0, 16; @%p0 bra over; {CALL} over:",
         "1 ld.param.u64 mov.u32 setp.lt.u32 bra call ld.param.b32 shl.b32, 2 st.param.b32 ret"),
    # eight lanes exit in the function: the first warp's other lanes execute the rest
    Case("left", "call leave, (); add.s32 %r1, %r0, 1;",
         "2 ld.param.u64 call setp.lt.u32 exit, 4 mov.u32, 1 add.s32, 2 ret", block=40),
    Case("table", "and.b32 %r1, %r0, 1; t: .branchtargets a, b; brx.idx %r1, t;"
         " a: add.s32 %r2, %r0, 1; bra.uni c; b: sub.s32 %r2, %r0, 1; c: xor.b32 %r2, %r2, 1;",
         f"1 and.b32 brx.idx add.s32 bra.uni sub.s32 xor.b32 {AROUND}"),
]  # fmt: skip


@pytest.fixture(scope="module")
def module():
    """Return the module of all entries and functions."""
    return RawModule(code=HEAD + FUNCTIONS + "".join(case.text for case in CASES))


@each("case", CASES, ids=str)
def test_counts(module, case):
    for block in (nullcontext(), ck.simulator.checked(seed=3, resident_blocks=2)):
        with block, traffic() as report:
            module.get_function(case.name)((3,), (case.block,), (np.zeros(1, np.float32),))
        (executed,) = report.kernels
        assert executed.instructions == {name: 3 * count for name, count in case.expected.items()}
        assert executed.instruction_count == 3 * sum(case.expected.values())


def test_trips_of_cuda_code():
    code = """extern "C" __global__ void turns(const int* trips, float* y) {
      float s = 0;
      #pragma unroll 1
      for (int k = 0; k < trips[threadIdx.x]; ++k) s = __fdividef(s, 3.0f);
      y[threadIdx.x] = s;
    }"""
    trips = np.random.default_rng(0).integers(1, 50, 128).astype(np.int32)
    with traffic() as report:
        RawKernel(code, "turns")((1,), (128,), (trips, np.zeros(128, np.float32)))
    (executed,) = report.kernels
    counted = {name: n for name, n in executed.instructions.items() if name.startswith("div.")}
    assert list(counted.values()) == [trips.reshape(4, 32).max(1).sum()]
