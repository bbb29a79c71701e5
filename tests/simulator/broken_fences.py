"""Kernels whose threads tell each other too little: fences, releases, acquires, scopes, locks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.simulator.correct_fences import (
    EXCHANGE,
    FENCE,
    POLL,
    POLL_VOLATILE,
    SET_VOLATILE,
    by_reference,
    fenced,
    polled,
    stored,
    text_of_handoff,
)
from tests.simulator.tables import Broken, ramp, zeros

FENCE_OF_THE_BLOCK = "__threadfence_block();"


def handoff(name, writer, reader, *, flag=False, **options):
    """Return a handoff that is not in order; of `flag` whether its accesses race, too."""
    mark = "  // fault" if flag else ""
    code, (grid, block) = text_of_handoff(writer + mark, reader + mark)
    array = None if flag else 0
    return Broken(
        f"handoff_{name}",
        code,
        "race",
        lambda: (zeros(1), zeros(1), zeros(1)),
        *(grid, block),
        array=array,
        **options,
    )


def last_block(name, before, after):
    """Return a sum by the last block to finish, with what stands around its count of blocks."""
    code = r"""
extern "C" __global__ void k(const int* x, int* partial, unsigned* done, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];  // fault
    BEFORE
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  AFTER
  if (threadIdx.x < gridDim.x) out[threadIdx.x] = partial[threadIdx.x];  // fault
}
"""
    return Broken(
        f"last_block_{name}",
        code.replace("BEFORE", before).replace("AFTER", after),
        "race",
        lambda: (ramp(3), zeros(3), zeros(1, dtype=np.uint32), zeros(3)),
        grid=(3,),
        block=(32,),
        array=1,
    )


FENCES = (
    handoff("without_fences", EXCHANGE, POLL),
    handoff("without_a_fence_of_the_writer", EXCHANGE, POLL + FENCE),
    handoff("without_a_fence_of_the_reader", FENCE + EXCHANGE, POLL),
    handoff("with_the_fence_after_the_flag", EXCHANGE + FENCE, POLL + FENCE),
    handoff("with_the_fence_before_the_poll", FENCE + EXCHANGE, FENCE + POLL),
    handoff("by_a_volatile_flag_alone", SET_VOLATILE, POLL_VOLATILE),
    handoff("by_a_volatile_flag_and_one_fence", FENCE + SET_VOLATILE, POLL_VOLATILE),
    handoff("with_relaxed_polling", stored("release.gpu"), polled("relaxed.gpu")),
    handoff("with_a_relaxed_store", stored("relaxed.gpu"), polled("acquire.gpu")),
    last_block("without_fences", "", ""),
    last_block("without_a_fence_of_the_writers", "", FENCE),
    # The barrier behind the counter serves, unless strict.
    replace(last_block("without_a_fence_of_the_reader", FENCE, ""), strict=True),
    Broken(
        "barrier_of_the_grid_without_fences",
        r"""
extern "C" __global__ void k(const int* x, int* between, int* out, unsigned* arrived) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  between[i] = 2 * x[i];  // fault
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {
    }
  }
  __syncthreads();
  out[i] = between[n - 1 - i];  // fault
}
""",
        "race",
        lambda: (ramp(64), zeros(64), zeros(64), zeros(1, dtype=np.uint32)),
        grid=(2,),
        block=(32,),
        array=1,
    ),
    Broken(
        "release_overwritten_by_another_block",
        r"""
// What the second block stores is no part of the first one's release, which nobody else reads.
extern "C" __global__ void k(int* data, int* flag, int* out) {
  if (blockIdx.x == 0) {
    data[0] = 42;  // fault
    __threadfence();
    atomicExch(flag, 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(flag, 0) != 1) {
    }
    asm volatile("st.relaxed.gpu.global.s32 [%0], 2;" ::"l"(flag) : "memory");
    atomicExch(flag + 1, 1);
  } else {
    while (atomicAdd(flag + 1, 0) == 0) {
    }
    int seen;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    out[0] = data[0] + seen;  // fault
  }
}
""",
        "race",
        lambda: (zeros(1), zeros(2), zeros(1)),
        grid=(3,),
        block=(1,),
        array=0,
        index=0,
    ),
    Broken(
        "guess_that_is_used_elsewhere",
        r"""
extern "C" __global__ void k(int* sum, int* out) {
  int old = *sum, assumed;  // fault
  out[blockIdx.x] = old;
  do {
    assumed = old;
    old = atomicCAS(sum, assumed, assumed + 1);  // fault
  } while (assumed != old);
}
""",
        "race",
        lambda: (zeros(1), zeros(3)),
        grid=(3,),
        block=(1,),
        array=0,
        index=0,
    ),
)

SCOPES = (
    handoff("with_fences_of_the_block", FENCE_OF_THE_BLOCK + EXCHANGE, POLL + FENCE_OF_THE_BLOCK),
    handoff("with_one_fence_of_the_block", FENCE_OF_THE_BLOCK + EXCHANGE, POLL + FENCE),
    handoff(
        "with_a_fence_of_the_cluster", fenced("acq_rel.cluster") + EXCHANGE, polled("acquire.gpu")
    ),
    handoff(
        "with_atomics_of_the_block",
        FENCE + "atomicExch_block(ready, 1);",
        "while (atomicAdd_block(ready, 0) == 0) {}" + FENCE,
        flag=True,
    ),
    handoff("with_a_release_of_the_block", stored("release.cta"), polled("acquire.gpu"), flag=True),
    handoff(
        "with_an_acquire_of_the_block", stored("release.gpu"), polled("acquire.cta"), flag=True
    ),
    handoff("by_an_atomic_reference_of_the_block", *by_reference("block"), flag=True),
    Broken(
        "counter_of_the_grid_by_atomics_of_the_block",
        r"""
extern "C" __global__ void k(const int* x, int* count) {
  if (x[blockIdx.x * blockDim.x + threadIdx.x] % 2 == 0) atomicAdd_block(count, 1);  // fault
}
""",
        "race",
        lambda: (ramp(128), zeros(1)),
        grid=(2,),
        array=1,
        index=0,
    ),
)


def lock(name, enter, leave, array=1, mark=""):
    """Return a sum guarded by a lock."""
    code = f"""
extern "C" __global__ void k(int* lock, int* total) {{
  {enter}{mark}
  total[0] += 1;  // fault
  {leave}{mark}
}}
"""
    arguments = lambda: (zeros(1), zeros(1))  # noqa: E731
    return Broken(f"lock_{name}", code, "race", arguments, (3,), (1,), array=array)


TAKE, GIVE = "while (atomicCAS(lock, 0, 1) != 0) {}", "atomicExch(lock, 0);"

LOCKS = (
    lock("given_back_without_a_fence", TAKE + FENCE, GIVE),
    lock("taken_without_a_fence", TAKE, FENCE + GIVE),
    lock("given_back_by_a_plain_store", TAKE + FENCE, FENCE + "*lock = 0;", None, "  // fault"),
    lock(
        "of_the_block",
        "while (atomicCAS_block(lock, 0, 1) != 0) {}" + FENCE,
        FENCE + "atomicExch_block(lock, 0);",
        *(None, "  // fault"),
    ),
)
