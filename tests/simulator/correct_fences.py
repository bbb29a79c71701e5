"""Correct kernels that hand data from thread to thread: fences, releases and acquires, scopes."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import Correct, ints, poison, zeros

#: A thread writes data and tells another one, of another block or of another warp.
HANDOFF = r"""
extern "C" __global__ void k(int* data, int* ready, int* out) {
  if (threadIdx.x % 32 != 0) return;
  if (ROLE == 0) {
    data[0] = 42;  // fault
    WRITER
  } else {
    READER
    out[0] = data[0];  // fault
  }
}
"""
FENCE = "__threadfence();"
EXCHANGE, POLL = "atomicExch(ready, 1);", "while (atomicAdd(ready, 0) == 0) {}"
SET_VOLATILE = "*(volatile int*)ready = 1;"
POLL_VOLATILE = "while (*(volatile int*)ready == 0) {}"
ATOMIC = "#include <cuda/atomic>\n"


def stored(how):
    """Return a store to the flag in PTX."""
    return f'asm volatile("st.{how}.global.s32 [%0], 1;" ::"l"(ready) : "memory");'


def polled(how):
    """Return a loop of loads of the flag in PTX."""
    return (
        f'for (int seen = 0; seen == 0;) asm volatile("ld.{how}.global.s32 %0, [%1];" '
        ': "=r"(seen) : "l"(ready) : "memory");'
    )


def updated(instruction):
    """Return a reduction of the flag in PTX."""
    return f'asm volatile("{instruction} [%0], 1;" ::"l"(ready) : "memory");'


def fenced(how):
    """Return a fence in PTX."""
    return f'asm volatile("fence.{how};" ::: "memory");'


def referred(scope, call):
    """Return a call of an atomic reference to the flag."""
    return f"cuda::atomic_ref<int, cuda::thread_scope_{scope}>(*ready).{call}"


def by_reference(scope):
    """Return how libcu++ tells of the data and waits for it."""
    load = referred(scope, "load(cuda::std::memory_order_acquire)")
    store = referred(scope, "store(1, cuda::std::memory_order_release);")
    return store, f"while ({load} == 0) {{}}"


def text_of_handoff(writer, reader, *, in_block=False):
    """Return the text and the launch of a handoff."""
    head = ATOMIC if "cuda::" in writer + reader else ""
    role = "threadIdx.x / 32" if in_block else "blockIdx.x"
    text = HANDOFF.replace("ROLE", role).replace("WRITER", writer).replace("READER", reader)
    return head + text, ((1,), (64,)) if in_block else ((2,), (1,))


def handoff(name, writer, reader, *, in_block=False, strict=True):
    """Return a handoff that is in order."""
    code, launch = text_of_handoff(writer, reader, in_block=in_block)
    return Correct(
        f"handoff_by_{name}",
        code,
        *launch,
        lambda _: (poison(1, np.int32), zeros(1), poison(1, np.int32)),
        lambda *_: {0: np.full(1, 42, np.int32), 2: np.full(1, 42, np.int32)},
        strict=strict,
    )


HANDOFFS = (
    handoff("fences_and_atomics", FENCE + EXCHANGE, POLL + FENCE),
    handoff("fences_and_volatile_flag", FENCE + SET_VOLATILE, POLL_VOLATILE + FENCE, strict=False),
    handoff("release_and_acquire", stored("release.gpu"), polled("acquire.gpu")),
    handoff("release_and_fence", stored("release.gpu"), polled("relaxed.gpu") + FENCE),
    handoff("fence_and_acquire", FENCE + EXCHANGE, polled("acquire.sys")),
    handoff(
        "fences_and_relaxed_accesses",
        fenced("acq_rel.gpu") + stored("relaxed.gpu"),
        polled("relaxed.sys") + fenced("acq_rel.sys"),
    ),
    handoff("reduction_that_releases", updated("red.release.gpu.global.add.s32"), POLL + FENCE),
    handoff("atomic_reference", *by_reference("device")),
    handoff(
        "waiting_and_notifying",
        referred("device", "store(1);") + referred("device", "notify_all();"),
        referred("device", "wait(0);"),
    ),
    handoff(
        "fences_of_libcudacxx",
        "cuda::atomic_thread_fence(cuda::std::memory_order_release, cuda::thread_scope_device);"
        + EXCHANGE,
        POLL
        + "cuda::atomic_thread_fence(cuda::std::memory_order_acquire, cuda::thread_scope_device);",
    ),
    handoff(
        "release_and_acquire_of_the_block",
        *(stored("release.cta"), polled("acquire.cta")),
        in_block=True,
    ),
    handoff(
        "fences_of_the_block",
        *("__threadfence_block(); atomicExch_block(ready, 1);",),
        "while (atomicAdd_block(ready, 0) == 0) {} __threadfence_block();",
        in_block=True,
    ),
    handoff("atomic_reference_of_the_block", *by_reference("block"), in_block=True),
)


BETWEEN_THREADS = (
    Correct(
        "release_that_others_count_on",
        r"""
// The second block adds to the flag that the first one released: the sum releases that data, too.
extern "C" __global__ void k(int* data, int* flag, int* out) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    __threadfence();
    atomicAdd(flag, 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(flag, 0) == 0) {
    }
    atomicAdd(flag, 1);
  } else {
    while (atomicAdd(flag, 0) != 2) {
    }
    __threadfence();
    out[0] = data[0];
  }
}
""",
        (3,),
        (1,),
        lambda _: (poison(1, np.int32), zeros(1), poison(1, np.int32)),
        lambda *_: {2: np.full(1, 42, np.int32)},
    ),
    Correct(
        "queue_of_one_writer_and_one_reader",
        r"""
#include <cuda/atomic>
extern "C" __global__ void k(const int* x, int n, int* ring, int* counts, int* out) {
  using Count = cuda::atomic_ref<int, cuda::thread_scope_device>;
  Count written(counts[0]), read(counts[1]);
  if (blockIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      while (i - read.load(cuda::std::memory_order_acquire) == 4) {
      }
      ring[i % 4] = x[i] * 3;
      written.store(i + 1, cuda::std::memory_order_release);
    }
  } else {
    for (int i = 0; i < n; ++i) {
      while (written.load(cuda::std::memory_order_acquire) <= i) {
      }
      out[i] = ring[i % 4];
      read.store(i + 1, cuda::std::memory_order_release);
    }
  }
}
""",
        (2,),
        (1,),
        lambda rng: (ints(rng, 21), np.int32(21), poison(4, np.int32), zeros(2), zeros(21)),
        lambda x, *_: {4: 3 * x},
    ),
    Correct(
        "values_guarded_by_a_sequence_number",
        r"""
// Whoever reads may meet whoever writes: all of these accesses are strong.
extern "C" __global__ void k(volatile int* pair, volatile int* number, int* out) {
  if (blockIdx.x == 0) {
    for (int i = 1; i <= 5; ++i) {
      *number = 2 * i - 1;
      __threadfence();
      pair[0] = i;
      pair[1] = -i;
      __threadfence();
      *number = 2 * i;
    }
  } else {
    int before, after, sum;
    do {
      before = *number;
      __threadfence();
      sum = pair[0] + pair[1];
      __threadfence();
      after = *number;
    } while (before != after || before % 2 != 0 || before == 0);
    out[0] = sum;
  }
}
""",
        (2,),
        (1,),
        lambda _: (zeros(2), zeros(1), poison(1, np.int32)),
        lambda *_: {0: np.array([5, -5], np.int32), 2: zeros(1)},
        strict=False,
    ),
    Correct(
        "lock_in_shared_memory",
        r"""
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int lock, total, most;
  if (threadIdx.x == 0) lock = total = most = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS_block(&lock, 0, 1) != 0) {
    }
    __threadfence_block();
    total += x[threadIdx.x];
    most = max(most, x[threadIdx.x]);
    __threadfence_block();
    atomicExch_block(&lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = total * 1000 + most;
}
""",
        (1,),
        (128,),
        lambda rng: (ints(rng, 128, low=0), poison(1, np.int32)),
        lambda x, _: {1: np.array([x[::32].sum() * 1000 + x[::32].max()], np.int32)},
    ),
    Correct(
        "addition_by_compare_and_swap_as_documented",
        r"""
// The first read only guesses: if it is wrong, atomicCAS says so.
__device__ double add(double* address, double value) {
  unsigned long long* const bits = (unsigned long long*)address;
  unsigned long long old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed,
                    __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}
extern "C" __global__ void k(const double* x, double* sum) {
  add(sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
""",
        (2,),
        (64,),
        lambda rng: (ints(rng, 128, np.float64), np.zeros(1)),
        lambda x, _: {1: x.sum(keepdims=True)},
    ),
)
