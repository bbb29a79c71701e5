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
