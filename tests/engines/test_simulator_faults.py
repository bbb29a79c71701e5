"""What a wrong kernel leads to: a SimulatorError that says where, and a process that lives on."""

from __future__ import annotations

import faulthandler
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from cudakern.errors import SimulatorError
from tests.helpers.simulated import assert_works, fails, run

ZIGLANG = shlex.join([sys.executable, "-m", "ziglang", "c++"])


@pytest.fixture
def compiler(request, monkeypatch):
    """Run a test with the compiler found here, or with that of the package ziglang."""
    if request.param == "ziglang":
        monkeypatch.setenv("CUDAKERN_CXX", ZIGLANG)


DIFFERENT_KINDS = r"""
extern "C" __global__ void k(int* x) {
  threadIdx.x == 3 ? (void)__syncthreads_or(1) : __syncthreads(); x[0] = 1;
}
"""
SOME_ELSEWHERE = r"""
extern "C" __global__ void k(int* x) {
  if (threadIdx.x >= 90) return;
  if (threadIdx.x < 60) __syncthreads();
  else asm volatile("bar.sync 1;");
}
"""
LANE_ELSEWHERE = r"""
extern "C" __global__ void k(int* x) {
  if (threadIdx.x == 5) __syncthreads();
  if (threadIdx.x < 6) x[0] = __ballot_sync(0x3fu, 1);
}
"""
DIFFERENT_MASKS = r"""
extern "C" __global__ void k(int* x) {
  if (threadIdx.x < 4) __syncwarp(threadIdx.x < 2 ? 0xfu : 0xcu);
  __syncthreads();
}
"""
NOT_IN_MASK = r"""
extern "C" __global__ void k(int* x) {
  if (threadIdx.x == 9) x[0] = __any_sync(0xffu, 1);
}
"""


@pytest.mark.parametrize(
    ("text", "thread", "message"),
    [
        (
            DIFFERENT_KINDS,
            (3, 0, 0),
            (
                "test.cu:3: all threads must reach a barrier by the same instruction; "
                "another came by bar.sync at test.cu:3"
            ),
        ),
        (
            SOME_ELSEWHERE,
            (0, 0, 0),
            (
                "test.cu:4: 96 threads of the block must reach barrier 0; "
                "60 came, 6 exited and 30 wait elsewhere"
            ),
        ),
        (
            LANE_ELSEWHERE,
            (0, 0, 0),
            (
                "test.cu:4: all lanes of mask 0x0000003f must reach vote.sync.ballot.b32 with that "
                "mask; 1 of them wait elsewhere"
            ),
        ),
        (
            DIFFERENT_MASKS,
            (0, 0, 0),
            (
                "test.cu:3: all lanes of mask 0x0000000f must reach bar.warp.sync with that mask; "
                "2 of them wait elsewhere"
            ),
        ),
        (
            NOT_IN_MASK,
            (9, 0, 0),
            (
                "test.cu:3: the mask of vote.sync.any.pred must name the calling lane; "
                "mask 0x000000ff, lane 9"
            ),
        ),
    ],
)
def test_divergence(text, thread, message):
    error = fails(text, [np.zeros(4, np.int32)], grid=4, block=96)
    assert error.kind == "barrier_divergence"
    assert str(error) == f"k: {message} (block {error.block}, thread {thread})"
    assert error.block in {(i, 0, 0) for i in range(4)}


def test_threads_that_exited_keep_nobody_waiting():
    text = r"""
    extern "C" __global__ void k(int* x) {
      const int lane = threadIdx.x % 32;
      if (blockIdx.x == 2 && threadIdx.x >= 60) return;
      __syncthreads();
      if (lane == 5) return;
      x[blockIdx.x * 96 + threadIdx.x] = 1 + __shfl_xor_sync(0xffffffffu, lane, 2);
    }"""
    x = np.zeros((4, 3, 32), np.int32)
    run(text, [x], grid=4, block=96)
    there = np.ones((4, 96), bool)
    there[2, 60:] = False
    there = there.reshape(4, 3, 32) & (np.arange(32) != 5)
    expected = np.broadcast_to(1 + (np.arange(32) ^ 2), x.shape) * there
    known = np.arange(32) != 7  # what a lane gets from one that has exited is undefined
    assert (x[:2, :, known] == expected[:2, :, known]).all()
    assert (x[2, 0, known] == expected[2, 0, known]).all()
    assert not x[~there].any()


SPINS = {
    "one thread": "if (threadIdx.x == 17) while (atomicAdd(x, 0) == 0) {}",
    "all threads": "while (atomicCAS(x, 1, 1) != 1) __nanosleep(100);",
    "two flags": "while (atomicAdd(x, 0) + atomicAdd(x + 1, 0) == 0) __threadfence();",
    "others at a barrier": "if (threadIdx.x == 17) while (__ldcv(x) == 0) {} __syncthreads();",
    "a lock": "while (atomicExch(x + 2, 1) == 1) {} ",
    "each other": "while (atomicAdd(x, 0) == 0) {} atomicExch(x, 1);",
}


@pytest.mark.parametrize(
    ("grid", "compiler"),
    [(1, "default"), (5, "default"), (5, "ziglang")],
    indirect=["compiler"],
)
@pytest.mark.parametrize("body", SPINS.values(), ids=list(SPINS))
@pytest.mark.timeout(45)  # it takes 60 s until the runtime gives up without having found one
@pytest.mark.usefixtures("compiler")
def test_deadlock(body, grid):
    text = f'extern "C" __global__ void k(volatile int* v) {{\n int* x = (int*)v;\n {body}\n}}'
    error = fails(text, [np.zeros(3, np.int32)], grid=grid, block=40, eager=True)
    assert error.kind == "deadlock"
    assert "test.cu:3: the launch must not wait forever" in str(error)
    if "17" in body:
        assert error.thread == (17, 0, 0)
    assert error.block[0] < grid


FAULTS = {
    "null": ("*(int*)(size_t)x[0] = 1;", "out_of_bounds", r"address \(nil\) is not"),
    "null read": ("x[i] = *(int*)(size_t)(x[0] + 8);", "out_of_bounds", "address 0x8 is not"),
    "wild": ("x[(1ll << 45) + i] = 1;", "out_of_bounds", "memory must be mapped"),
    "not canonical": ("*(int*)(1ull << 62) = 1;", "out_of_bounds", "mapped .* and vectors aligned"),
    "recursion": ("x[i] = down(i + x[0]);", "stack_overflow", "at most 131072 bytes of stack"),
    "large frame": ("x[i] = wide(i + x[0]);", "stack_overflow", "at most 131072 bytes of stack"),
    "trap": ("__trap();", "trap", "test.cu:17: the kernel must not execute a trap"),
    "assertion": ("assert(x[i] == 1);", "assert", r"test.cu:17: assertion `x\[i\] == 1` must hold"),
}
FAULT = r"""
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
extern "C" __global__ void k(int* x) {
  const int i = threadIdx.x;
  WAIT
  if (blockIdx.x == 1 && threadIdx.x == 35) {
    // The next line is the faulty one.
    BODY
  }
}
"""


def faulty(name, wait=""):
    return FAULT.replace("BODY", FAULTS[name][0]).replace("WAIT", wait)


def check(error, name):
    _, kind, message = FAULTS[name]
    assert error.kind == kind
    assert (error.block, error.thread) == ((1, 0, 0), (35, 0, 0))
    with pytest.raises(SimulatorError, match=message):
        raise error


@pytest.mark.parametrize(
    ("wait", "compiler"),
    [("", "default"), ("__syncthreads();", "default"), ("", "ziglang")],
    indirect=["compiler"],
)
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.usefixtures("compiler")
def test_fault(name, wait):
    faulthandler.enable(sys.__stderr__)  # as in many services
    check(fails(faulty(name, wait), [np.zeros(64, np.int32)], grid=3, block=64), name)
    assert faulthandler.is_enabled()


def test_faults_in_four_threads_at_once():
    barrier = Barrier(5)

    def fail(name):
        for _ in range(20):
            barrier.wait()
            with pytest.raises(SimulatorError) as caught:
                run(faulty(name), [np.zeros(64, np.int32)], grid=3, block=64, eager=True)
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
