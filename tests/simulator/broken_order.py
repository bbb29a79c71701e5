"""Kernels whose threads are not ordered: races, divergence, deadlocks."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import broken, in_and_out, ramp, zeros


def race(name, arguments, **options):
    """Return a race in shared memory, where a value may also be read before it is written."""
    return broken(name, "race", arguments, also=("uninitialized",), **options)


MISSING_BARRIERS = (
    race("tree_reduction_without_barrier", in_and_out(), array="s"),
    race("tree_reduction_without_first_barrier", in_and_out(), array="s"),
    race("transposed_read_without_barrier", in_and_out(64, np.float32), block=(8, 8), array="tile"),
    race(
        "tile_reused_without_second_barrier", lambda: (ramp(256), zeros(64), np.int32(4)), array="s"
    ),
    race("broadcast_then_reuse_without_barrier", in_and_out(64, np.float32), array="s", index=0),
    race("hillis_steele_one_buffer_one_barrier", in_and_out(), array="s"),
    race("producer_and_consumer_warps_without_barrier", in_and_out(), array="s"),
    race("bins_used_before_all_are_cleared", in_and_out(), array="bins"),
    race("bins_read_before_all_are_counted", in_and_out(), array="bins"),
    race("fence_in_place_of_barrier", in_and_out(), array="s"),
    race("warp_barrier_in_place_of_block_barrier", in_and_out(), array="s"),
    race("warp_barrier_of_half_a_warp", in_and_out(32), block=(32,), array="s"),
    race("warp_synchronous_volatile_reduction", in_and_out(), array="s", strict=True),
    race("block_sum_called_twice_without_barrier", in_and_out(), array="sums"),
    race(
        "dynamic_shared_without_barrier",
        in_and_out(),
        shared_mem=256,
        array="dynamic shared memory",
    ),
    race(
        "template_without_barrier",
        in_and_out(64, np.float64),
        kernel="rotate<double, 64>",
        array="s",
    ),
)


RACES = (
    broken(
        "counter_without_atomics",
        "race",
        lambda: (ramp(128), zeros(1)),
        grid=(2,),
        array=1,
        index=0,
    ),
    broken(
        "same_value_written_by_all",
        "race",
        lambda: (ramp(64), zeros(1)),
        array=1,
        index=0,
        strict=True,
    ),
    broken(
        "one_element_written_by_all_blocks",
        "race",
        lambda: (ramp(192), zeros(4)),
        grid=(3,),
        array=1,
        index=2,
    ),
    broken(
        "result_of_the_neighbour_block",
        "race",
        lambda: (ramp(4), zeros(4), zeros(4)),
        grid=(4,),
        array=1,
    ),
    broken(
        "two_phases_with_a_barrier_of_the_block_only",
        "race",
        lambda: (ramp(128), zeros(128), zeros(128)),
        grid=(2,),
        array=1,
    ),
    broken(
        "atomic_add_and_plain_read",
        "race",
        lambda: (zeros(1), zeros(128)),
        grid=(2,),
        array=0,
        index=0,
    ),
    broken("atomic_add_and_plain_reset", "race", lambda: (zeros(1),), array=0, index=0),
    broken(
        "data_read_before_the_flag",
        "race",
        lambda: (zeros(1), zeros(1), zeros(1)),
        grid=(2,),
        block=(1,),
        array=0,
        index=0,
    ),
    broken(
        "flag_set_while_others_of_the_block_still_write",
        "race",
        lambda: (ramp(64), zeros(64), zeros(1), zeros(64)),
        grid=(2,),
        array=1,
    ),
    broken(
        "lock_of_another_critical_section",
        "race",
        lambda: (zeros(2), zeros(1)),
        grid=(4,),
        block=(1,),
        array=1,
        index=0,
    ),
    broken(
        "partial_sums_read_by_a_block_that_is_not_the_last",
        "race",
        lambda: (ramp(2), zeros(2), zeros(1, dtype=np.uint32), zeros(2)),
        grid=(2,),
        block=(1,),
        array=1,
    ),
    broken(
        "chain_with_a_block_that_does_not_wait",
        "race",
        lambda: (ramp(1), zeros(1), zeros(3), zeros(1)),
        grid=(3,),
        block=(1,),
        array=1,
        index=0,
    ),
    broken(
        "write_that_waits_for_one_of_two_readers",
        "race",
        lambda: (zeros(1), zeros(2), zeros(2)),
        grid=(3,),
        block=(1,),
        array=0,
        index=0,
    ),
    broken("shift_of_one_array_given_twice", "race", lambda: (ramp(64),) * 2),
    broken(
        "words_written_and_bytes_read",
        "race",
        lambda: (ramp(16, np.uint32), zeros(64, dtype=np.uint8)),
        array="s",
    ),
)


DIVERGENCE = (
    broken("barrier_in_a_divergent_branch", "barrier_divergence", in_and_out(), strict=True),
    broken("two_barriers_in_two_branches", "barrier_divergence", in_and_out()),
    broken(
        "return_before_a_barrier",
        "barrier_divergence",
        lambda: (ramp(50), zeros(50), np.int32(50)),
        strict=True,
    ),
    broken(
        "barrier_in_a_loop_of_unequal_length",
        "barrier_divergence",
        lambda: (ramp(100), zeros(64), np.int32(100)),
        strict=True,
    ),
    broken("counting_barrier_not_reached_by_all", "barrier_divergence", in_and_out(), strict=True),
    broken("shuffle_without_the_last_lane", "barrier_divergence", in_and_out(32), block=(32,)),
    broken(
        "shuffle_by_a_lane_outside_of_the_mask", "barrier_divergence", in_and_out(32), block=(32,)
    ),
    broken(
        "warp_barrier_that_names_an_exited_lane", "barrier_divergence", in_and_out(32), block=(32,)
    ),
    broken(
        "two_collectives_that_wait_for_each_other",
        "barrier_divergence",
        in_and_out(32),
        block=(32,),
    ),
    broken("collective_and_barrier_that_wait_for_each_other", "barrier_divergence", in_and_out()),
    broken("masks_that_do_not_agree", "barrier_divergence", in_and_out(32), block=(32,)),
)


DEADLOCKS = (
    broken(
        "flag_set_behind_a_barrier_the_poller_must_reach",
        "deadlock",
        lambda: (zeros(1), zeros(64)),
        also=("barrier_divergence",),
    ),
    broken("lock_never_released", "deadlock", lambda: (zeros(1), zeros(1)), grid=(3,), block=(32,)),
    broken(
        "two_blocks_that_wait_for_each_other",
        "deadlock",
        lambda: (zeros(2), zeros(2)),
        grid=(2,),
        block=(1,),
    ),
    broken(
        "wait_for_a_block_that_cannot_start",
        "deadlock",
        lambda: (zeros(1), zeros(100)),
        grid=(100,),
        block=(1,),
    ),
    broken(
        "locks_taken_in_two_orders",
        "deadlock",
        lambda: (zeros(2), zeros(1), zeros(1)),
        grid=(2,),
        block=(1,),
    ),
)
