"""Kernels whose threads synchronize too little: fences, releases, acquires, scopes."""

from __future__ import annotations

from tests.simulator.checker.correct_fences import (
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
from tests.simulator.checker.tables import Broken, zeros

FENCE_OF_THE_BLOCK = "__threadfence_block();"


def handoff(name, writer, reader, *, flag=False, **options):
    """Return a handoff that is not in order; `flag` says whether accesses to the flag race, too."""
    mark = "  // fault" if flag else ""
    code, (grid, block) = text_of_handoff(writer + mark, reader + mark)
    array = None if flag else 0
    return Broken(
        f"handoff_{name}",
        code,
        "race",
        lambda: (zeros(1), zeros(1), zeros(1)),
        grid,
        block,
        array=array,
        **options,
    )


ROWS = (
    handoff("without_fences", EXCHANGE, POLL),
    handoff("without_a_fence_of_the_writer", EXCHANGE, POLL + FENCE),
    handoff("without_a_fence_of_the_reader", FENCE + EXCHANGE, POLL),
    handoff("with_the_fence_after_the_flag", EXCHANGE + FENCE, POLL + FENCE),
    handoff("with_the_fence_before_the_poll", FENCE + EXCHANGE, FENCE + POLL),
    handoff("by_a_volatile_flag_alone", SET_VOLATILE, POLL_VOLATILE),
    handoff("by_a_volatile_flag_and_one_fence", FENCE + SET_VOLATILE, POLL_VOLATILE),
    handoff("with_relaxed_polling", stored("release.gpu"), polled("relaxed.gpu")),
    handoff("with_a_relaxed_store", stored("relaxed.gpu"), polled("acquire.gpu")),
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
