"""Threads and blocks that wait for each other: they get on, or the launch ends with an error."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule, checked
from tests.helpers.rows import each
from tests.helpers.samples import covering, sample
from tests.helpers.simulated import fails, run

pytestmark = pytest.mark.timeout(120)

POLLS = {
    "volatile": "while (*(volatile int*)flag == 0) {}",
    "volatile_pointer": "volatile int* seen = flag; while (seen[0] == 0);",
    "volatile_sleep": "while (*(volatile int*)flag == 0) __nanosleep(100);",
    "volatile_fence": "do __threadfence(); while (*(volatile int*)flag == 0);",
    "atomic": "while (atomicAdd(flag, 0) == 0) {}",
    "compare_and_swap": "while (atomicCAS(flag, 1, 1) == 0) __nanosleep(20);",
    "exchange": "int seen; while ((seen = atomicOr(flag, 0)) == 0);",
}
#: A thread waits until another one has set the flag, and stores what that one wrote before.
WAIT = """extern "C" __global__ void wait_NAME(int* flag, int* data, int setter) {
  const int me = blockIdx.x * blockDim.x + threadIdx.x;
  if (me == setter) {
    ((volatile int*)data)[0] = 42;
    __threadfence();
    SET
  } else if (threadIdx.x == 0 || gridDim.x == 1) {
    POLL
    data[1 + me] = ((volatile int*)data)[0];
  }
}
#line 1 "never.cu"
extern "C" __global__ void never_NAME(int* flag, int n) {
  if (threadIdx.x == n) {
    POLL
  }
}
"""
SETS = {"volatile": "*(volatile int*)flag = 1;", "atomic": "atomicExch(flag, 1);"}


def way(poll):
    return "volatile" if poll.startswith("volatile") else "atomic"


MODULE = RawModule(
    code="".join(
        WAIT.replace("NAME", poll).replace("SET", SETS[way(poll)]).replace("POLL", body)
        for poll, body in POLLS.items()
    )
)


def waits(poll, grid, block, setter):
    """Launch a kernel whose threads wait for one thread; assert that all saw what it wrote."""
    flag, data = np.zeros(1, np.int32), np.zeros(1 + grid * block, np.int32)
    MODULE.get_function(f"wait_{poll}")((grid,), (block,), (flag, data, setter))
    assert flag == 1
    waiting = data[1:].reshape(grid, block)[:, slice(None) if grid == 1 else 0].ravel()
    expected = np.full(waiting.size, 42)
    if grid == 1 or setter % block == 0:
        expected[setter if grid == 1 else setter // block] = 0
    assert waiting.tolist() == expected.tolist()


@each("poll", POLLS)
@each("setter", [0, 1, 33, 69])
def test_a_thread_waits_for_another_one(poll, setter):
    waits(poll, 1, 70, setter)


@each("poll, setter", sample(covering(POLLS, [0, 10, 40]), 3))
def test_blocks_wait_for_another_one(poll, setter):
    waits(poll, 41, 3, 3 * setter)


@each(
    "poll, grid, block, setter",
    [
        *((poll, 1, 40, 39) for poll in POLLS),
        *((poll, 6, 2, 10) for poll in POLLS),
        *((poll, 41, 2, 20) for poll in ("volatile", "atomic", "exchange")),
        *((poll, 41, 2, 80) for poll in ("volatile", "atomic", "exchange")),
    ],
)
@each("resident", [1, 4])
def test_waiting_in_checked_launches(poll, grid, block, setter, resident):
    for seed in range(2):
        with checked(seed, resident):
            waits(poll, grid, block, setter)


@each("poll", ["volatile", "volatile_sleep", "atomic", "compare_and_swap"])
def test_waiting_for_nobody_is_a_finding(poll):
    with pytest.raises(ck.SimulatorError) as caught, checked():
        MODULE.get_function(f"never_{poll}")((2,), (4,), (np.zeros(1, np.int32), 2))
    assert caught.value.kind == "deadlock"
    assert {f.kind for f in caught.value.findings} == {"deadlock"}
    assert caught.value.findings[0].source == ("never.cu", 3)


SPINS = {
    "two_flags": "while (atomicAdd(x, 0) + atomicAdd(x + 1, 0) == 0) __threadfence();",
    "all_threads": "while (atomicCAS(x, 1, 1) != 1) __nanosleep(100);",
    "one_thread": "if (threadIdx.x == 17) while (atomicAdd(x, 0) == 0) {}",
    "others_at_a_barrier": "if (threadIdx.x == 17) while (__ldcv(x) == 0) {} __syncthreads();",
    "a_lock": "while (atomicExch(x + 2, 1) == 1) {} ",
    "each_other": "while (atomicAdd(x, 0) == 0) {} atomicExch(x, 1);",
}
SPINNING = "".join(
    f'#line 1 "test.cu"\nextern "C" __global__ void {name}(volatile int* v) {{\n'
    f" int* x = (int*)v;\n {body}\n}}\n"
    for name, body in SPINS.items()
)


@pytest.mark.parametrize(("name", "grid"), sample(covering(SPINS, [1, 5]), 2))
@pytest.mark.timeout(45)  # the runtime waits 60 s before it gives up without having found a cycle
def test_deadlock(name, grid):
    error = fails(SPINNING, [np.zeros(3, np.int32)], grid=grid, block=40, eager=True, name=name)
    assert error.kind == "deadlock"
    assert "test.cu:3: the launch must not wait forever" in str(error)
    if "17" in SPINS[name]:
        assert error.thread == (17, 0, 0)
    assert error.block[0] < grid


def test_atomics_that_change_nothing_are_no_deadlock():
    text = r"""
    extern "C" __global__ void k(int* largest, int n) {
      for (int i = 0; i < n; ++i) atomicMax(largest, i % 7);
    }"""
    largest = np.array([7], np.int32)
    run(text, [largest, np.int32(60000)], block=3)
    assert largest[0] == 7


@each("resident", [1, 2, None])
def test_a_block_waits_for_a_later_one(resident):
    text = r"""
    extern "C" __global__ void k(int* flags) {
      if (blockIdx.x == 0) while (atomicAdd(&flags[1], 0) == 0) {}
      atomicExch(&flags[blockIdx.x], 1);
    }"""
    flags = np.zeros(2, np.int32)
    if resident == 1:
        assert fails(text, [flags], grid=2, resident=1).kind == "deadlock"
    else:
        run(text, [flags], grid=2, resident=resident)
        assert flags.tolist() == [1, 1]


def test_a_chain_of_blocks():
    code = """extern "C" __global__ void chain(volatile int* turn, int* order) {
      if (threadIdx.x == 0) {
        while (*turn != blockIdx.x);
        order[blockIdx.x] = *turn;
        __threadfence();
        *turn = blockIdx.x + 1;
      }
    }"""
    for mode in (nullcontext(), checked(0, 2), checked(1, 8)):
        turn, order = np.zeros(1, np.int32), np.zeros(30, np.int32)
        with mode:
            RawKernel(code, "chain")((30,), (32,), (turn, order))
        assert (turn[0], order.tolist()) == (30, [*range(30)])


ENDLESS = {
    "hoisted": "while (flag[0] == 0) {}",
    "kept": "int k = 0; while (flag[k] == 0) k = (k + 1) & 3;",
}


ENDLESS_MODULE = RawModule(
    code="".join(
        f'#line 1 "k.cu"\nextern "C" __global__ void {name}(const int* flag, int* data) {{\n'
        f"  {loop}\n  data[0] += 1;\n}}\n"
        for name, loop in ENDLESS.items()
    )
)


@each("name", ENDLESS)
def test_an_endless_loop_is_a_finding(name):
    kernel = ENDLESS_MODULE.get_function(name)
    flag, data = np.zeros(4, np.int32), np.zeros(1, np.int32)
    with pytest.raises(ck.SimulatorError) as caught, checked():
        kernel((1,), (1,), (flag, data))
    (finding,) = caught.value.findings
    assert finding.kind == "deadlock"
    assert finding.source == ("k.cu", 2)
    assert "a loop must end" in finding.message
    with checked():  # later launches work
        kernel((1,), (1,), (np.ones(4, np.int32), data))
    assert data[0] == 1


def test_a_long_loop_without_any_access_goes_on():
    code = """extern "C" __global__ void k(unsigned* x) {
  unsigned s = x[0];
  for (unsigned k = 0; k < 300000000u; ++k) s = s * 1664525u + 1013904223u;
  x[0] = s;
}"""
    x = np.ones(1, np.uint32)
    with checked():
        RawKernel(code, "k")((1,), (1,), (x,))
    a, c, n, m = 1664525, 1013904223, 300_000_000, 2**32
    power = pow(a, n, (a - 1) * m)
    assert x[0] == (power + c * ((power - 1) // (a - 1))) % m
