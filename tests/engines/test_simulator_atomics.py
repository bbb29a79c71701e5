"""Atomics, and blocks and threads that wait for each other through memory."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from tests.helpers.simulated import run

RNG = np.random.default_rng(13)
WORDS = {"int": np.int32, "unsigned": np.uint32, "unsigned long long": np.uint64}
TYPES = {**WORDS, "long long": np.int64, "float": np.float32, "double": np.float64}
#: The functions and the types that CUDA has them for.
FUNCTIONS = {
    "Add": (operator.add, {*WORDS, "float", "double"}),
    "Sub": (operator.sub, {"int", "unsigned"}),
    "Min": (min, {*WORDS, "long long"}),
    "Max": (max, {*WORDS, "long long"}),
    "And": (operator.and_, {*WORDS}),
    "Or": (operator.or_, {*WORDS}),
    "Xor": (operator.xor, {*WORDS}),
}
CALLS = {
    f"atomic{function}{scope}": step_and_types
    for function, step_and_types in FUNCTIONS.items()
    for scope in ("", "_block", "_system")
}


def atomic_text(device_type):
    """Return a kernel that applies the ``which``-th of the calls to one cell."""
    cases = "".join(
        f"case {which}: old[i] = {call}(cell, x[i]); break;"
        for which, (call, (_, types)) in enumerate(CALLS.items())
        if device_type in types
    )
    return f"""
    extern "C" __global__ void k(T* cell, const T* x, T* old, int which) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      switch (which) {{ {cases} }}
    }}"""


@pytest.mark.parametrize(
    ("call", "device_type"),
    [(call, one) for call, (_, types) in CALLS.items() for one in TYPES if one in types],
)
def test_atomics_fold_every_operand_once(call, device_type):
    dtype, (step, _) = TYPES[device_type], CALLS[call]
    x = RNG.integers(0, 1000, 4 * 50).astype(dtype)
    cell, old = np.array([500], dtype), np.zeros_like(x)
    which = np.int32(list(CALLS).index(call))
    macros = (("T", device_type),)
    run(
        atomic_text(device_type), [cell, x, old, which], grid=4, block=50, macros=macros, eager=True
    )
    expected = np.array([500], dtype)
    with np.errstate(over="ignore"):
        for value in x:
            expected[0] = step(expected[0], value)
    assert cell[0] == expected[0]
    assert 500 in old  # what the first of the threads saw
    if call == "atomicAdd":
        seen = np.sort(np.append(old, cell))
        sums = 500 + np.append(0, np.cumsum(x[np.argsort(old, kind="stable")]))
        np.testing.assert_array_equal(seen, sums)


def test_increment_and_decrement_wrap():
    text = r"""
    extern "C" __global__ void k(unsigned* cells, unsigned* old) {
      old[threadIdx.x] = atomicInc(&cells[0], 6u);
      old[threadIdx.x + 40] = atomicDec(&cells[1], 4u);
      if (threadIdx.x == 0) atomicDec(&cells[2], 9u);  // above its bound: comes back to it
      if (threadIdx.x == 0) atomicInc(&cells[3], 9u);
    }"""
    cells, old = np.array([0, 2, 77, 77], np.uint32), np.zeros(80, np.uint32)
    run(text, [cells, old], block=40)
    assert cells.tolist() == [40 % 7, (2 - 40) % 5, 9, 0]
    assert sorted(old[:40].tolist()) == sorted(i % 7 for i in range(40))
    assert sorted(old[40:].tolist()) == sorted((2 - i) % 5 for i in range(40))


def test_integers_wrap():
    x, old = np.array([1], np.int32), np.zeros(1, np.int32)
    cell = np.array([2**31 - 1], np.int32)
    run(atomic_text("int"), [cell, x, old, np.int32(0)], macros=(("T", "int"),))
    assert (cell[0], old[0]) == (-(2**31), 2**31 - 1)


@pytest.mark.parametrize("device_type", WORDS)
def test_compare_and_swap_and_exchange(device_type):
    text = r"""
    extern "C" __global__ void k(T* cell, T* sum) {
      const T mine = threadIdx.x + 1;
      T seen = *sum, assumed;
      do {  // an addition, as it was written before there was one
        assumed = seen;
        seen = atomicCAS(sum, assumed, assumed + mine);
      } while (seen != assumed);
      __syncthreads();
      T carried = atomicExch(cell, mine);
      atomicAdd(cell + 1, carried);
    }"""
    cell, total = np.zeros(2, WORDS[device_type]), np.zeros(1, WORDS[device_type])
    run(text, [cell, total], block=100, macros=(("T", device_type),))
    assert total[0] == 5050
    assert cell.sum() == 5050


def test_compare_and_swap_compares_bits():
    text = r"""
    extern "C" __global__ void k(float* x) {
      unsigned short* halves = (unsigned short*)(x + 2);
      atomicCAS((int*)x, 0x7fc00000, __float_as_int(1.0f));
      atomicCAS((int*)x + 1, 0, __float_as_int(1.0f));
      atomicCAS(halves, (unsigned short)0x8000, (unsigned short)0x3c00);
      atomicCAS(halves + 1, (unsigned short)0, (unsigned short)0x3c00);
    }"""
    x = np.array([np.nan, -0.0, 0], np.float32)
    x[2:].view(np.uint16)[:] = 0x8000
    run(text, [x])
    assert x[0] == 1
    assert np.signbit(x[1])
    assert x[2:].view(np.uint16).tolist() == [0x3C00, 0x8000]


LOOK_BACK = r"""
extern "C" __global__ void k(const int* x, int* out, int n, unsigned* ticket,
                             unsigned long long* states) {
  __shared__ int tile[128];
  __shared__ unsigned block;
  __shared__ int before;
  const int t = threadIdx.x;
  if (t == 0) block = TICKET;
  __syncthreads();
  const int i = block * 128 + t;
  tile[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 1; step < 128; step *= 2) {
    const int left = t >= step ? tile[t - step] : 0;
    __syncthreads();
    tile[t] += left;
    __syncthreads();
  }
  if (t == 0) {
    const unsigned long long kPartial = 1ull << 32, kWhole = 2ull << 32;
    atomicExch(&states[block], (block == 0 ? kWhole : kPartial) | (unsigned)tile[127]);
    int sum = 0;
    for (int p = (int)block - 1; p >= 0;) {
      const unsigned long long state = atomicAdd(&states[p], 0ull);
      if (state >> 32 == 0) continue;
      sum += (int)(unsigned)state;
      if (state >> 32 == 2) break;
      --p;
    }
    atomicExch(&states[block], kWhole | (unsigned)(sum + tile[127]));
    before = sum;
  }
  __syncthreads();
  if (i < n) out[i] = before + tile[t];
}
"""


@pytest.mark.parametrize("order", ["atomicAdd(ticket, 1u)", "blockIdx.x"])
@pytest.mark.parametrize("resident", [1, 2, 5])
@pytest.mark.parametrize("eager", [False, True])
def test_look_back_scan(order, resident, eager):
    n = 128 * 37 - 5
    x, out = RNG.integers(-9, 9, n).astype(np.int32), np.zeros(n, np.int32)
    ticket, states = np.zeros(1, np.uint32), np.zeros(37, np.uint64)
    run(
        LOOK_BACK,
        [x, out, np.int32(n), ticket, states],
        grid=37,
        block=128,
        macros=(("TICKET", order),),
        resident=resident,
        eager=eager,
    )
    np.testing.assert_array_equal(out, np.cumsum(x))


@pytest.mark.parametrize(
    "poll", ["atomicAdd(flag, 0)", "(__nanosleep(20), *(volatile int*)flag)", "__ldcv(flag)"]
)
def test_a_thread_waits_for_a_later_one_of_its_block(poll):
    text = r"""
    extern "C" __global__ void k(int* flag, int* out) {
      if (threadIdx.x < 10) {
        while (POLL != 1) {}
        out[threadIdx.x] = 1 + *(volatile int*)(flag + 1);
      } else if (threadIdx.x == 90) {
        *(volatile int*)(flag + 1) = 41;
        __threadfence();
        *(volatile int*)flag = 1;  // a plain write: nothing tells the simulator of it
      }
    }"""
    flag, out = np.zeros(2, np.int32), np.zeros(10, np.int32)
    run(text, [flag, out], block=96, macros=(("POLL", poll),))
    assert out.tolist() == [42] * 10


def test_a_block_waits_for_a_later_one():
    text = r"""
    extern "C" __global__ void k(int* flags) {
      if (blockIdx.x == 0) while (atomicAdd(&flags[1], 0) == 0) {}
      atomicExch(&flags[blockIdx.x], 1);
    }"""
    flags = np.zeros(2, np.int32)
    run(text, [flags], grid=2)
    assert flags.tolist() == [1, 1]


def test_a_lock_admits_one_at_a_time():
    text = r"""
    extern "C" __global__ void k(int* lock, int* count) {
      for (int i = 0; i < 5; ++i) {
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(10);
        const int seen = *(volatile int*)count;
        __threadfence();  // others run here
        *(volatile int*)count = seen + 1;
        __threadfence();
        atomicExch(lock, 0);
      }
    }"""
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(text, [lock, count], grid=4, block=16, eager=True)
    assert (lock[0], count[0]) == (0, 4 * 16 * 5)


def test_atomics_that_change_nothing_are_no_deadlock():
    text = r"""
    extern "C" __global__ void k(int* largest, int n) {
      for (int i = 0; i < n; ++i) atomicMax(largest, i % 7);
    }"""
    largest = np.array([7], np.int32)
    run(text, [largest, np.int32(60000)], block=3)
    assert largest[0] == 7
