"""Kernels that misuse what threads do together: groups, clusters, CUB, masks, named barriers."""

from __future__ import annotations

from tests.simulator.tables import Broken, broken, in_and_out, ramp, zeros

GROUPS = (
    broken("tile_that_is_synchronized_by_half_of_it", "barrier_divergence", in_and_out()),
    broken(
        "coalesced_group_used_by_some_of_its_threads",
        "barrier_divergence",
        in_and_out(32),
        block=(32,),
    ),
    broken(
        "grid_that_one_block_does_not_synchronize",
        "deadlock",
        lambda: (ramp(32), zeros(96)),
        grid=(3,),
        block=(32,),
        also=("barrier_divergence",),
        cooperative=True,
    ),
    broken(
        "grid_that_the_first_threads_do_not_synchronize",
        "race",
        lambda: (ramp(32), zeros(96)),
        grid=(3,),
        block=(32,),
        also=("barrier_divergence", "deadlock"),
        cooperative=True,
    ),
    broken("block_that_half_of_it_synchronizes", "barrier_divergence", in_and_out(), strict=True),
    broken(
        "cluster_read_without_its_barrier",
        "race",
        in_and_out(),
        grid=(2,),
        block=(32,),
        also=("uninitialized",),
    ),
    broken(
        "cluster_written_before_its_other_block_is_ready",
        "race",
        in_and_out(),
        grid=(2,),
        block=(32,),
    ),
    broken("cluster_written_past_the_end", "out_of_bounds", in_and_out(), grid=(2,), block=(32,)),
)


def exited_lane(name, call):
    """Return a collective whose mask names a lane that has exited."""
    code = f"""
extern "C" __global__ void k(const int* x, int* out) {{
  const int lane = threadIdx.x, v = x[lane];
  if (lane == 7) return;
  out[lane] = {call};  // fault
}}
"""
    return Broken(name, code, "barrier_divergence", in_and_out(32), block=(32,))


COLLECTIVES = (
    exited_lane("shuffle_that_names_an_exited_lane", "__shfl_down_sync(~0u, v, 1)"),
    exited_lane("match_that_names_an_exited_lane", "__match_any_sync(~0u, v)"),
    exited_lane("reduction_that_names_an_exited_lane", "__reduce_max_sync(~0u, v)"),
    exited_lane("vote_that_names_an_exited_lane", "__ballot_sync(0xf0u, v > 3)"),
)

LIBRARIES = (
    broken(
        "cub_block_reduce_twice_without_a_barrier",
        "race",
        lambda: (ramp(128), zeros(1)),
        block=(128,),
        array="storage",
    ),
    broken(
        "cub_block_scan_twice_without_a_barrier",
        "race",
        in_and_out(128),
        block=(128,),
        array="storage",
    ),
    broken(
        "cub_storage_shared_by_warps",
        "race",
        lambda: (ramp(128)[::-1].copy(), zeros(128)),
        array="storage",
    ),
    broken(
        "barrier_of_libcudacxx_arrived_at_too_early",
        "race",
        in_and_out(),
        array="s",
        also=("uninitialized",),
    ),
)

NAMED_BARRIERS = (
    broken(
        "named_barrier_with_a_count_that_others_do_not_have",
        "barrier_divergence",
        in_and_out(96),
        block=(96,),
        also=("misuse",),
    ),
    broken(
        "halves_of_a_warp_at_two_shuffles_that_another_warp_waits_for",
        "barrier_divergence",
        in_and_out(),
    ),
    broken(
        "named_barrier_of_the_wrong_number", "barrier_divergence", in_and_out(), also=("deadlock",)
    ),
    broken(
        "named_barrier_for_too_few_warps",
        "race",
        in_and_out(96),
        block=(96,),
        also=("uninitialized", "barrier_divergence"),
        array="s",
    ),
    broken(
        "named_barrier_arrived_at_by_the_reader",
        "race",
        in_and_out(),
        array="s",
        also=("uninitialized",),
    ),
)
