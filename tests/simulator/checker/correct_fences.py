"""Correct kernels that pass data from thread to thread: fences, releases and acquires, scopes."""

from __future__ import annotations

import numpy as np

from tests.simulator.checker.tables import Correct, poison, zeros

#: A thread writes data and signals another one, in another block or in another warp.
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
    """Return how libcu++ signals the data and waits for it."""
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


ROWS = (
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
        stored("release.cta"),
        polled("acquire.cta"),
        in_block=True,
    ),
    handoff(
        "fences_of_the_block",
        "__threadfence_block(); atomicExch_block(ready, 1);",
        "while (atomicAdd_block(ready, 0) == 0) {} __threadfence_block();",
        in_block=True,
    ),
    handoff("atomic_reference_of_the_block", *by_reference("block"), in_block=True),
)
