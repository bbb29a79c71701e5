"""Tables of the pages whose rows tests elsewhere hold: each row names its tests here."""

from __future__ import annotations

import pytest

from tests.helpers.readmes import has_test, read, rows, section

README = "README.md"
REFERENCE = "cudakern/operators/reference.md"
LOANS, MEMORY = "engines/cuda/test_loans.py::", "engines/cuda/test_memory.py::"
WORKSPACES = "engines/cuda/test_workspaces.py::"
TORCH, JAX, NUMBA = (
    "interop/" + name for name in ("test_torch.py::", "test_jax.py::", "test_numba.py::")
)
PROTOCOLS, REFUSED = "interop/test_protocols.py::", "interop/test_refused.py::"

ADVANTAGES = (README, "## What CuPy and PyTorch lack")
COORDINATES = "operators/nonzero/test_coordinates.py::"
GATHER = "operators/gather/test_function.py::"
EDGES = "operators/reduce/test_edges.py::"

#: By page, heading and first cell. A row with a claim that no test holds fails.
HELD = {
    ADVANTAGES: {
        "nonzero without a wait, in a CUDA graph": [
            MEMORY + "test_costs",
            "engines/cuda/test_graphs.py::test_calls_are_captured_in_the_strictest_mode",
        ],
        "nonzero of a bounded size": [
            "operators/nonzero/test_function.py::test_every_size_and_fill_value",
            COORDINATES + "test_equals_numpy",
        ],
        "a rule for indices out of range": [
            GATHER + "test_gather_equals_numpy",
            GATHER + "test_gather_raise_names_the_first_bad_index_and_leaves_out_alone",
        ],
        "the same bits each time": [
            "operators/reduce/test_kernels.py::test_every_order_gives_the_same_bits"
        ],
        "a rule for NaN": [EDGES + "test_nan_and_infinities", EDGES + "test_one_nan_among_many"],
        "bfloat16 and 8-bit floats": [
            COORDINATES + "test_every_dtype_and_density",
            GATHER + "test_gather_every_dtype",
            "operators/test_fallbacks.py::test_results_may_have_any_dtype_that_is_copied",
            "operators/reduce/test_function.py::test_reduce_is_right_for_any_values",
        ],
        "kernels that run and are checked without a GPU": [
            "simulator/test_broken_kernels.py::test_fault_is_found",
        ],
    },
    (REFERENCE, "## Streams, graphs, memory"): {
        "tensor of PyTorch": [
            LOANS + "test_a_tensor_of_a_busy_side_stream",
            LOANS + "test_a_call_stands_in_the_stream_of_its_operand_too",
        ],
        "of Numba, or any with a stream in its CUDA array interface": [
            LOANS + "test_arrays_of_numba_bound_to_a_stream"
        ],
        "of JAX, or any other with DLPack": [
            LOANS + "test_a_library_of_an_unknown_stream_is_asked_and_its_arrays_kept",
            LOANS + "test_arrays_of_jax_are_kept_until_the_call_has_run",
        ],
        "CUDA array interface without a stream": [
            LOANS + "test_a_library_of_an_unknown_stream_is_asked_and_its_arrays_kept"
        ],
        "all with numbers beside arrays on a GPU": [
            MEMORY + "test_costs",
            "operators/test_numbers.py::test_numbers_of_any_dtype",
        ],
        "all with indices": [MEMORY + "test_costs"],
        '`gather`, `gather_nd` with `mode="raise"`': [MEMORY + "test_costs"],
        "`one_hot` with an array of values": [
            "operators/test_fallbacks.py::test_values_of_one_hot_may_have_any_alignment"
        ],
        "`nonzero_coordinates`, `reduce`": [
            MEMORY + "test_costs",
            MEMORY + "test_costs_of_misaligned_outputs",
        ],
        "`nonzero`, `argwhere`": [
            MEMORY + "test_costs",
            WORKSPACES + "test_argwhere_keeps_what_it_allocated_if_most_of_it_is_needed",
            WORKSPACES + "test_argwhere_counts_first_where_memory_matters",
        ],
    },
    (REFERENCE, "## Other libraries"): {
        "of PyTorch": [
            TORCH + "test_every_dtype_in_every_layout",
            TORCH + "test_outputs_are_written_in_place_and_returned",
            TORCH + "test_results_become_tensors_without_a_copy",
            TORCH + "test_a_narrow_result_becomes_a_tensor_as_words",
            LOANS + "test_a_call_stands_in_the_stream_of_its_operand_too",
            LOANS + "test_a_tensor_of_a_busy_side_stream",
            LOANS + "test_captured_by_pytorch",
        ],
        "of JAX": [
            JAX + "test_every_dtype",
            JAX + "test_arrays_never_change_so_they_are_no_outputs",
            JAX + "test_results_of_the_host_become_arrays_without_a_copy_on_64_bytes",
            JAX + "test_results_on_a_gpu_become_arrays_without_a_copy",
            LOANS + "test_arrays_of_jax_are_kept_until_the_call_has_run",
            LOANS + "test_a_library_of_an_unknown_stream_is_refused_under_capture",
        ],
        "of Numba": [
            NUMBA + "test_every_function_reads_device_arrays_where_they_are",
            NUMBA + "test_device_arrays_are_written_in_place_and_returned",
            NUMBA + "test_compiled_functions_take_results_where_they_are",
            LOANS + "test_arrays_of_numba_bound_to_a_stream",
            LOANS + "test_a_captured_call_takes_what_is_on_another_stream_as_it_is",
        ],
        "with DLPack alone": [
            PROTOCOLS + "test_every_function_reads_the_memory_itself",
            PROTOCOLS + "test_outputs_are_written_in_place_and_returned",
            PROTOCOLS + "test_outputs_that_nobody_says_may_be_written_to",
        ],
        "lazy, of Dask": [
            REFUSED + "test_no_function_computes_an_operand",
            REFUSED + "test_no_function_computes_an_output",
        ],
    },
}


@pytest.mark.parametrize(("page", "title"), HELD)
def test_every_row_is_held_by_tests(page, title):
    held = HELD[page, title]
    assert [row for row, *_ in rows(section(page, title))] == [*held]
    assert all(held.values())
    assert [name for names in held.values() for name in names if not has_test(name)] == []


def test_what_others_lack_is_public_and_short():
    found = rows(section(*ADVANTAGES))
    assert len(found) <= 8
    assert all("](https://" in elsewhere for _, _, elsewhere in found)


def test_what_runs_in_the_simulator_is_held_by_tests():
    found = rows(section("cudakern/simulator/README.md", "## What runs"))
    named = [f"simulator/{cell.strip('`')}" for _, _, cell in found if "::" in cell]
    assert len(named) > 20
    for test in named:
        file, _, name = test.partition("::")
        is_row = file.endswith(".cu") and f"//// {name}(" in read(f"tests/{file}")
        assert is_row or has_test(test), test
