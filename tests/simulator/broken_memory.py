"""Kernels that touch what they must not: bounds, alignment, what nothing wrote."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from tests.simulator.tables import broken, in_and_out, ramp, zeros


def numbers_and_length():
    """Return an input, an output and their length."""
    return ramp(50, np.float64), zeros(50, dtype=np.float64), np.int32(50)


OUT_OF_BOUNDS = (
    broken(
        "read_past_the_end",
        "out_of_bounds",
        lambda: (ramp(100), zeros(101), np.int32(100)),
        grid=(2,),
        array=0,
        index=100,
    ),
    broken(
        "write_past_the_end",
        "out_of_bounds",
        lambda: (ramp(100), zeros(100), np.int32(100)),
        grid=(2,),
        array=1,
        index=100,
    ),
    broken("read_before_the_start", "out_of_bounds", numbers_and_length, array=0, index=-1),
    broken("null_pointer", "out_of_bounds", lambda: (ramp(64), zeros(64), np.uint64(0))),
    broken(
        "grid_without_a_guard",
        "out_of_bounds",
        lambda: (ramp(127), np.int32(7)),
        grid=(2,),
        array=0,
        index=127,
    ),
    broken(
        "vector_read_across_the_end",
        "out_of_bounds",
        lambda: (ramp(62, np.float32), zeros(64, dtype=np.float32), np.int32(62)),
        array=0,
    ),
    broken(
        "atomic_past_the_end", "out_of_bounds", lambda: (ramp(64), zeros(63)), array=1, index=63
    ),
    broken(
        "read_past_a_view_inside_its_array",
        "out_of_bounds",
        lambda: (ramp(100)[10:60], zeros(64), np.int32(50)),
        array=0,
        index=50,
    ),
    broken(
        "shared_array_overrun_into_the_next", "out_of_bounds", in_and_out(), array="a", index=64
    ),
    broken(
        "shared_array_read_before_the_start", "out_of_bounds", in_and_out(), array="b", index=-1
    ),
    broken(
        "shared_array_smaller_than_the_block",
        "out_of_bounds",
        in_and_out(65),
        block=(65,),
        array="s",
        index=64,
    ),
    broken(
        "dynamic_shared_too_small",
        "out_of_bounds",
        in_and_out(),
        shared_mem=4 * 63,
        array="dynamic shared memory",
        index=63,
    ),
    broken(
        "template_past_the_end",
        "out_of_bounds",
        lambda: (ramp(127, np.int64), zeros(128, dtype=np.int64), np.int32(127)),
        block=(32,),
        kernel="scale<long long, 4>",
        array=0,
        index=127,
    ),
)


MISALIGNED = (
    broken(
        "float4_from_the_second_float",
        "misaligned",
        lambda: (ramp(72, np.float32), zeros(64, dtype=np.float32)),
        block=(16,),
        array=0,
    ),
    broken(
        "double_at_a_multiple_of_four",
        "misaligned",
        lambda: (zeros(136, dtype=np.uint8), zeros(16, dtype=np.float64)),
        block=(16,),
        array=0,
    ),
    broken(
        "int_written_at_an_odd_byte",
        "misaligned",
        lambda: (np.int32(7), zeros(72, dtype=np.uint8)),
        block=(16,),
        array=1,
    ),
    broken(
        "double_in_dynamic_shared_after_an_int",
        "misaligned",
        in_and_out(16, np.float64),
        block=(16,),
        shared_mem=256,
        array="dynamic shared memory",
    ),
)


UNINITIALIZED = (
    broken("half_of_a_shared_array_written", "uninitialized", in_and_out(), array="s", index=40),
    broken(
        "reduction_of_a_block_not_full",
        "uninitialized",
        lambda: (ramp(63), zeros(1), np.int32(63)),
        array="s",
        index=63,
    ),
    broken(
        "shared_memory_left_by_another_block",
        "uninitialized",
        lambda: (ramp(64), zeros(8, 64)),
        grid=(8,),
        array="s",
    ),
    broken("shared_sum_never_cleared", "uninitialized", in_and_out(), array="total"),
    broken(
        "dynamic_shared_padding_read",
        "uninitialized",
        in_and_out(64, np.float32),
        shared_mem=4 * 66,
        array="dynamic shared memory",
        index=65,
    ),
    broken(
        "added_to_an_output_nothing_wrote",
        "uninitialized",
        lambda: (ramp(64), ck.simulator.empty(64, np.int32)),
        array=1,
    ),
    broken(
        "last_element_of_a_workspace_not_written",
        "uninitialized",
        lambda: (
            ramp(64, np.float64),
            ck.simulator.empty((64,), np.float64),
            ck.simulator.empty((64,), np.float64),
            np.int32(64),
        ),
        array=1,
        index=63,
    ),
    broken(
        "counter_of_blocks_never_cleared",
        "uninitialized",
        lambda: (ck.simulator.empty(1, np.uint32), zeros(1)),
        grid=(3,),
        array=0,
        index=0,
    ),
)
