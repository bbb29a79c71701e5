"""Kernels that touch what they must not in ways that the text of their types hides."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import broken, in_and_out, ramp, zeros

LAYOUTS = (
    broken("ptx_offset_past_the_end", "out_of_bounds", in_and_out(), array=0, index=64),
    broken(
        "ptx_offset_before_the_start_of_shared_memory",
        "out_of_bounds",
        in_and_out(),
        array="s",
        index=-1,
    ),
    broken(
        "ptx_vector_that_is_misaligned",
        "misaligned",
        lambda: (ramp(72), zeros(64)),
        block=(16,),
        array=0,
    ),
    broken("halves_past_the_end", "out_of_bounds", in_and_out(64, np.float16), array="s", index=64),
    broken(
        "pair_of_halves_at_an_odd_half",
        "misaligned",
        lambda: (ramp(40, np.float16), zeros(32, dtype=np.float16)),
        block=(16,),
        array=0,
    ),
    broken(
        "structure_of_12_bytes_past_the_end",
        "out_of_bounds",
        in_and_out(48, np.float32),
        block=(16,),
        array=1,
    ),
    broken(
        "seven_bytes_past_the_end",
        "out_of_bounds",
        in_and_out(7, np.int8),
        block=(1,),
        array=1,
        index=7,
    ),
    broken(
        "seven_bytes_that_overlap",
        "race",
        lambda: (ramp(112, np.int8), zeros(112, dtype=np.int8)),
        block=(16,),
        array=1,
    ),
    broken("local_array_past_its_end", "out_of_bounds", in_and_out(9), block=(9,)),
    broken(
        "local_array_of_which_one_element_is_not_written",
        "uninitialized",
        in_and_out(8),
        block=(8,),
    ),
    broken("local_array_of_another_thread", "out_of_bounds", in_and_out(8), block=(8,)),
    broken("constant_written", "out_of_bounds", in_and_out(4), block=(4,)),
    broken(
        "variable_of_the_module_past_its_end",
        "out_of_bounds",
        in_and_out(9),
        block=(9,),
        array="table",
    ),
    broken(
        "structure_of_which_one_member_is_not_written", "uninitialized", in_and_out(), array="s"
    ),
    broken("heap_past_the_end", "out_of_bounds", in_and_out(17), block=(8,)),
    broken("heap_read_before_it_is_written", "uninitialized", in_and_out(16), block=(8,)),
)
