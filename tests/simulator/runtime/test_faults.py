"""A wrong kernel raises a SimulatorError that says where, and the process survives."""

from __future__ import annotations

import faulthandler
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from cudakern.errors import SimulatorError
from cudakern.simulator import RawModule, checked
from tests.helpers.rows import each
from tests.helpers.samples import is_thorough
from tests.helpers.simulated import ZIGLANG, assert_works, fails, run


@pytest.fixture
def compiler(request, monkeypatch):
    """Run a test with the default compiler, or with that of the package ziglang."""
    if request.param == "ziglang":
        monkeypatch.setenv("CUDAKERN_CXX", ZIGLANG)


DIVERGENT = r"""
extern "C" __global__ void different_kinds(int* x) {
  threadIdx.x == 3 ? (void)__syncthreads_or(1) : __syncthreads(); x[0] = 1;
}
extern "C" __global__ void some_elsewhere(int* x) {
  if (threadIdx.x >= 90) return;
  if (threadIdx.x < 60) __syncthreads();
  else asm volatile("bar.sync 1;");
}
extern "C" __global__ void lane_elsewhere(int* x) {
  if (threadIdx.x == 5) __syncthreads();
  if (threadIdx.x < 6) x[0] = __ballot_sync(0x3fu, 1);
}
extern "C" __global__ void different_masks(int* x) {
  if (threadIdx.x < 4) __syncwarp(threadIdx.x < 2 ? 0xfu : 0xcu);
  __syncthreads();
}
extern "C" __global__ void not_in_mask(int* x) {
  if (threadIdx.x == 9) x[0] = __any_sync(0xffu, 1);
}
"""
#: By kernel: the line, the rest of the message, and the thread that is blamed.
DIVERGENCES = {
    "different_kinds": "3: all threads must reach a barrier by the same instruction; "
    "another came by bar.sync at test.cu:3 (thread 3)",
    "some_elsewhere": "7: 96 threads of the block must reach barrier 0; "
    "60 came, 6 exited and 30 wait elsewhere (thread 0)",
    "lane_elsewhere": "12: all lanes of mask 0x0000003f must reach vote.sync.ballot.b32 with that "
    "mask; 1 of them wait elsewhere (thread 0)",
    "different_masks": "15: all lanes of mask 0x0000000f must reach bar.warp.sync with that mask; "
    "2 of them wait elsewhere (thread 0)",
    "not_in_mask": "19: the mask of vote.sync.any.pred must name the calling lane; "
    "mask 0x000000ff, lane 9 (thread 9)",
}


@each("name", DIVERGENCES)
def test_divergence(name):
    error = fails(DIVERGENT, [np.zeros(4, np.int32)], grid=4, block=96, name=name)
    assert error.kind == "barrier_divergence"
    place = f"(block {error.block}, thread {error.thread})"
    plain = f"(thread {error.thread[0]})"
    assert error.thread[1:] == (0, 0)
    assert str(error).replace(place, plain) == f"{name}: test.cu:{DIVERGENCES[name]}"
    assert error.block in {(i, 0, 0) for i in range(4)}


FAULTS = {
    "null": ("*(int*)(size_t)x[0] = 1;", "out_of_bounds", r"address \(nil\) is not"),
    "null_read": ("x[i] = *(int*)(size_t)(x[0] + 8);", "out_of_bounds", "address 0x8 is not"),
    "wild": ("x[(1ll << 45) + i] = 1;", "out_of_bounds", "memory must be mapped"),
    "not_canonical": ("*(int*)(1ull << 62) = 1;", "out_of_bounds", "mapped .* and vectors aligned"),
    "recursion": ("x[i] = down(i + x[0]);", "stack_overflow", "at most 131072 bytes of stack"),
    "large_frame": ("x[i] = wide(i + x[0]);", "stack_overflow", "at most 131072 bytes of stack"),
    "trap": ("__trap();", "trap", "test.cu:5: the kernel must not execute a trap"),
    "assertion": ("assert(x[i] == 1);", "assert", r"test.cu:5: assertion `x\[i\] == 1` must hold"),
}
FUNCTIONS = r"""
__device__ __noinline__ int down(int n) {
  volatile int room[64];
  room[n & 63] = n;
  return n < -1 ? n : down(n + 1) + room[n & 63];
}
__device__ __noinline__ int wide(int n) {
  volatile int room[100000];
  room[n & 63] = n;
  return room[(n + 1) & 63];
}
"""
FAULT = r"""#line 1 "test.cu"
extern "C" __global__ void NAME(int* x) {
  const int i = threadIdx.x;
  WAIT
  if (blockIdx.x == 1 && threadIdx.x == 35) {
    BODY
  }
}
"""
#: Kernels named after their faults, and the same kernels with a barrier before the fault.
FAULTY = FUNCTIONS + "".join(
    FAULT.replace("NAME", name + suffix).replace("BODY", FAULTS[name][0]).replace("WAIT", wait)
    for name in FAULTS
    for suffix, wait in (("", ""), ("_later", "__syncthreads();"))
)


def check(error, name):
    _, kind, message = FAULTS[name]
    assert error.kind == kind
    assert (error.block, error.thread) == ((1, 0, 0), (35, 0, 0))
    with pytest.raises(SimulatorError, match=message):
        raise error


@pytest.mark.parametrize("compiler", ["default", "ziglang"][: 1 + is_thorough()], indirect=True)
@each("name", FAULTS)
@each("later", ["", "_later"])
@pytest.mark.usefixtures("compiler")
def test_fault(name, later):
    faulthandler.enable(sys.__stderr__)  # as in many services
    check(fails(FAULTY, [np.zeros(64, np.int32)], grid=3, block=64, name=name + later), name)
    assert faulthandler.is_enabled()


MODULE = RawModule(code=FAULTY)


@each("name", [name for name, (_, kind, _) in FAULTS.items() if kind == "out_of_bounds"])
def test_an_access_out_of_bounds_tells_how_to_find_its_line(name):
    """Following the advice leads to the line."""
    kernel, x = MODULE.get_function(name), np.zeros(64, np.int32)
    with pytest.raises(SimulatorError) as caught:
        kernel((3,), (64,), (x,))
    advice = ": run it inside of cudakern.simulator.checked() for the line"
    assert caught.value.message.endswith(advice)
    assert "test.cu" not in caught.value.message
    with pytest.raises(SimulatorError, match=r"out_of_bounds: test\.cu:5: "), checked():
        kernel((3,), (64,), (x,))


@each("name", FAULTS)
def test_a_fault_is_a_finding(name):
    kernel, x = MODULE.get_function(name), np.zeros(64, np.int32)
    with pytest.raises(SimulatorError) as caught, checked() as report:  # noqa: PT012
        kernel((3,), (64,), (x,))
        kernel((1,), (64,), (x,))  # its only block is right
    assert report.launches == 2
    assert caught.value.kind == FAULTS[name][1]
    assert caught.value.kind in {finding.kind for finding in report.findings}
    assert all("\n" not in finding.message for finding in report.findings)
    assert_works()


def test_faults_in_four_threads_at_once():
    barrier = Barrier(5)

    def fail(name):
        for _ in range(20):
            barrier.wait()
            with pytest.raises(SimulatorError) as caught:
                run(FAULTY, [np.zeros(64, np.int32)], grid=3, block=64, eager=True, name=name)
            check(caught.value, name)

    def work():
        for _ in range(20):
            barrier.wait()
            assert_works()

    with ThreadPoolExecutor(5) as pool:
        names = ["null", "recursion", "assertion", "trap"]
        for future in [*(pool.submit(fail, name) for name in names), pool.submit(work)]:
            future.result()


def test_a_failure_leaves_nothing_behind():
    # Other lanes still have results to read, others wait, others have not started.
    text = r"""
    extern "C" __global__ void k(int* x) {
      __syncwarp();
      if (threadIdx.x == 31) x = (int*)(size_t)x[0];
      if (threadIdx.x < 64) __syncthreads();
      x[0] = 1;
    }"""
    for _ in range(50):
        error = fails(text, [np.zeros(1, np.int32)], grid=2, block=128)
        assert error.kind in {"out_of_bounds", "barrier_divergence"}
    warps = r"""
    extern "C" __global__ void k(int* x) {
      for (int i = 0; i < 100; ++i) x[threadIdx.x] = __shfl_sync(0xffffffffu, x[threadIdx.x], i);
    }"""
    x = np.arange(128, dtype=np.int32)
    run(warps, [x], block=128)
    assert x.tolist() == np.repeat([0, 32, 64, 96], 32).tolist()


def test_the_first_failure_ends_blocks_that_spin():
    text = r"""
    extern "C" __global__ void k(int* x) {
      if (blockIdx.x == 0) while (atomicAdd(x, 1) != -1) {}  // memory changes: no deadlock
      __trap();
    }"""
    error = fails(text, [np.zeros(1, np.int32)], grid=2, block=4)
    assert (error.kind, error.block) == ("trap", (1, 0, 0))
