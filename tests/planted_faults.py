r"""Faults that tests must find: each is planted in a copy of the project, and the tests run there.

    python tests/planted_faults.py               all faults, about ten minutes
    python tests/planted_faults.py clamp race    those whose names contain one of the words
    python tests/planted_faults.py --list        print the names of all faults
    python tests/planted_faults.py --check       check that each has its place and its tests

A fault is written ``before§what stands there§the fault§after``; the text that it replaces occurs
once in the product, in any file. The tests that must find it are few and quick, and part of every
run of the tests. Whoever removes tests should therefore run this before and after.

Kernels are compiled into ``CUDAKERN_CACHE_DIR``, or a temporary folder where that is not set.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("cudakern", "kernels", "perf")
SUFFIXES = {".cpp", ".cu", ".cuh", ".hpp", ".py"}
#: Seconds for the tests of one fault; a fault that makes them hang or crash counts as found.
LIMIT = 300
FAILED, NOTHING_RAN = 1, {4, 5}


class Fault(NamedTuple):
    """A name, the tests below ``tests/`` that must find the fault, and the change to a text."""

    name: str
    tests: str
    change: str


def texts_of(change: str) -> tuple[str, str]:
    """Return the text of the product, and the text with the fault."""
    before, text, fault, after = change.split("§")
    return f"{before}{text}{after}", f"{before}{fault}{after}"


#: The tables of kernels.
BROKEN = "simulator/checker/test_broken_kernels.py::test_fault_is_found"
CORRECT = "simulator/checker/test_correct_kernels.py::test_result_and_nothing_found"
FAULTS = (
    Fault("clamp goes one too far",
          "operators/gather/test_descriptor.py::test_indices_out_of_range_clamp",
          "const U nearest = beyond ? extent.value §- 1 §§: position;"),
    Fault("wrap of negative indices is off by one",
          "operators/gather/test_function.py::test_gather_every_dtype",
          "extent.value - §1 - §§remainder"),
    Fault("check forgets that indices may be negative",
          "operators/indexing/test_indices.py::test_raise_accepts_the_whole_range_only",
          "if (§kIsSigned<I> && index < 0§false§) position += extent;"),
    Fault("fill looks at the last component alone",
          "operators/gather_nd/test_function.py -k own_axis",
          "valid §&§§= position.valid;"),
    Fault("64-bit indices are narrowed first",
          "operators/one_hot/test_function.py::test_one_hot_compares_whole_indices",
          "using Wide = Bytes<§(sizeof(I) > 4 || sizeof(O) > 4)§sizeof(O) > 4§ ? 8 : 4>;"),
    Fault("indices of long axes are not widened",
          "operators/indexing/test_indices.py::test_axes_longer_than_indices_can_tell",
          "max(extents, default=0) > 2**§31§33§"),
    Fault("raise names the component's axis wrongly",
          "operators/gather_nd/test_arguments.py::test_raise_names_the_first_bad_index",
          "axis, extent = selection.first§ + component§§, extents[component]"),
    Fault("last vector of rows is not written",
          "operators/gather/test_function.py::test_gather_poisoned_result_of_many_blocks",
          "if (kFull || slot §§+ 1 §< shape.pieces) store"),
    Fault("last piece of packed rows is not written",
          "operators/gather/test_function.py::test_gather_every_dtype",
          "const O last = begin + kPieces < end ? begin + kPieces : end§§ - 1§;"),
    Fault("barrier behind the rows of a stage is lost",
          "operators/gather/test_kernels.py::test_few_blocks_do_it_all",
          "§__syncthreads();  // the next rows take the same stage§§"),
    Fault("barrier before a table is filled again is lost",
          "operators/gather/test_kernels.py::test_few_blocks_do_it_all",
          "§__syncthreads();  // the table may still be in use§§"),
    Fault("words before x are read as x's",
          "operators/gather/test_kernels.py::test_words_around_x_are_not_read",
          "§place >= 0 && §§static_cast<uint64>(place)"),
    Fault("spliced rows get a word too little",
          "operators/gather/test_kernels.py::test_few_blocks_do_it_all",
          "(min(row_bytes, tile) - 1 + VECTOR_BYTES - width) // VECTOR_BYTES§ + 1§§"),
    Fault("tuples lie closer than the kernel thinks",
          "operators/gather_nd/test_kernels.py::test_few_blocks_do_it_all",
          "tuple_bytes = §(tuple_size | 1)§tuple_size§ * source.indices.itemsize"),
    Fault("batches of indices have no stride",
          "operators/gather_nd/test_function.py::test_gather_nd_every_dtype",
          "index_batch_stride=§outer[1]§0§)"),
    Fault("arguments of gather_nd lack their padding", "values/test_argument_struct.py",
          "table_bytes=shared§, unused=0§§)"),
    Fault("structures are not padded to their alignment",
          "operators/reduce/test_function.py::test_reduce_takes_lists_and_scalars",
          "Arguments(bytes(self._data)§ + bytes(-len(self._data) % 8)§§, tuple"),
    Fault("32-bit offsets reach twice as far", "operators/test_plans.py::test_kernel_is_pinned",
          "MAX_SPAN_32 = 2**§31§32§"),
    Fault("2^32 items have 32-bit numbers", "operators/test_plans.py::test_kernel_is_pinned",
          "items >= layout.MAX_ITEMS_32§§ * 2§\n        or layout.reach(dimensions, 0)"),
    Fault("division is wrong for divisor 1",
          "values/test_layout.py::test_division_in_32_bits",
          "§min(shift, 1)§1§, max(shift - 1, 0)"),
    Fault("dimensions merge where one operand jumps", "values/test_layout.py",
          "if merged and §all§any§(\n            outer == inner"),
    Fault("key leaves out what is asked for",
          "operators/indexing/test_indices.py::test_warm_calls_know_what_a_negative_index_is",
          "key = §request§type(request)§, facts"),
    Fault("key leaves out the address modulo 16",
          "operators/nonzero/test_coordinates.py::test_every_address",
          "packed or array.strides, §address & 15, §§device)"),
    Fault("key leaves out that an option is a flag",
          "operators/test_known_calls.py::test_equal_options_are_not_confused",
          "type(depth), §type(axis)§None§, None if values"),
    Fault("key leaves out the strides",
          "operators/nonzero/test_coordinates.py::test_every_rank_in_any_order_of_axes",
          "array.shape, §packed or array.strides, §§address & 15"),
    Fault("-0.0 and 0.0 are one value of one_hot",
          "operators/one_hot/test_arguments.py::test_a_warm_call_tells_values_and_dtypes_apart",
          "return §str(option) if type(option) is float else §§type(option)"),
    Fault("overlap with the first input is not looked for",
          "operators/test_arguments.py::test_an_output_overlaps_no_operand",
          "for k in {*range(§§1, §o)}"),
    Fault("undecided overlap passes",
          "values/test_layout.py::test_overlap_that_takes_long_to_decide_counts",
          "except np.exceptions.TooHardError:\n        return §True§False§"),
    Fault("read-only out is written by a warm call",
          "operators/test_arguments.py::test_a_warm_call_refuses_what_a_cold_one_would",
          "HOST if §array.flags.writeable§True§ else"),
    Fault("a known call overlaps what it reads",
          "operators/test_known_calls.py -k held_against_overlap",
          "if low < c - a < high§ or low_b§ and low_b§"),
    Fault("key leaves out strides of the third array",
          "operators/test_known_calls.py::test_other_facts_are_another_call",
          "z.shape, §z._c_contiguous or z.strides§True§"),
    Fault("an output of another address modulo 16 teaches a call",
          "operators/test_known_calls.py::test_an_output_elsewhere_modulo_16_bytes_is_bound_anew",
          "and not any(native.address_of(output) & §15§0§ for output in outputs)"),
    Fault("a known call keeps its arrays",
          "operators/test_known_calls.py::test_a_known_call_keeps_no_array",
          "return §finish§call.finish§(*reversed(outputs))"),
    Fault("a launch takes the function of the current device",
          "engines/cuda/test_engine.py::test_many_threads_share_a_prepared_launch",
          "with §self._cupy.cuda.Device(device)§nullcontext()§:  # CuPy has"),
    Fault("a thread without a context cannot launch",
          "engines/cuda/test_engine.py::test_many_threads_share_a_prepared_launch",
          "_NO_CONTEXT = §201§200§"),
    Fault("a call that was begun with another engine is kept",
          "operators/test_known_calls.py::test_a_call_that_is_under_way_is_not_kept",
          "if generation not in {None, §self.generation§generation§}"),
    Fault("a count is taken before there is memory for its rows",
          "engines/cuda/test_memory.py::test_a_call_without_memory_takes_no_word",
          "for make_next in §reversed(call.make)][::-1]§call.make]§"),
    Fault("all memory for coordinates stays", "engines/cuda/test_memory.py::test_costs",
          "> §plan.SPARE_BYTES§2**40§:"),
    Fault("the word of an interrupted call is free", "engines/cuda/test_memory.py -k interrupted",
          "return self._free§.pop()§[0]§"),
    Fault("read-only out is written",
          "operators/test_arguments.py::test_outputs_that_cannot_be_written",
          "if array is None§ or is_read_only(array)§§:"),
    Fault("message names x for the rank of indices",
          "operators/test_arguments.py::test_numbers_of_dimensions",
          'require_rank(operator, "§indices§x§", indices, least)'),
    Fault("message shows a range one too long", "operators/gather/test_arguments.py::test_answer",
          'requirement = f"must lie in [{lowest}, {extent§ - 1§§}] for'),
    Fault("wide strides of out overlap unseen",
          "values/test_layout.py::test_overlaps_itself_knows_interleaved_layouts_and_ends",
          "return not zero and §abs(offset) < itemsize§offset == 0§"),
    Fault("rule of gather has another number",
          "operators/test_rules.py::test_broken_rule_is_reported",
          'self.require_between("§G5§G8§", "index_dimensions"'),
    Fault("type tables are checked before the rules",
          "operators/test_rules.py::test_type_tables_are_checked_last_and_in_order",
          "        §self.check_rules(level)\n        for rule, field, table in self.type_tables:\n "
          "           self.require_type(rule, field, level, table§for rule, field, table in "
          "self.type_tables:\n            self.require_type(rule, field, level, table)\n        "
          "self.check_rules(level§)\n"),
    Fault("index types begin at another level", "operators/test_rules.py::test_types_of_each_level",
          "(FeatureLevel.§LEVEL_3_0§LEVEL_2_1§, dtypes.INDEX_TYPES)"),
    Fault("batches of gather_nd may be as long as the input",
          "operators/test_rules.py::test_broken_rule_is_reported",
          '"batch_dimension_count", 0, batch, min(counts.values())§ - 1§§)'),
    Fault("one row too few is legal for nonzero",
          "operators/test_rules.py::test_broken_rule_is_reported",
          'self.require("Z5", field, rows §== elements§>= elements - 1§, requirement)'),
    Fault("indices fit types that are one too small",
          "operators/reduce/test_arguments.py::test_the_largest_index_fits",
          "return count - §1§2§ <= np.iinfo(result.numpy).max"),
    Fault("minimum size is not rounded to 4 bytes",
          "operators/test_compiled_operator.py::test_t17_minimum_is_rounded_to_four_bytes",
          "+ 7) // 8§ + 3) // 4 * 4§)§"),
    Fault("addresses need be no multiples of 16",
          "operators/test_compiled_operator.py::test_array_that_does_not_fit_is_refused",
          "if beyond and self._level is §not §§FeatureLevel.EXTENDED:"),
    Fault("owned inputs are not copied",
          "operators/test_fallbacks.py::test_owned_inputs_are_copied_from_any_alignment",
          "owned[i] = §native.copy_array(array)§array§"),
    Fault("arrays out of order are packed again wrongly",
          "operators/test_fallbacks.py::test_owned_inputs_are_copied_from_any_alignment",
          "width = min(_alignment(target), §_alignment(source), §§target"),
    Fault("-0.0 counts as nonzero",
          "operators/nonzero/test_coordinates.py::test_a_scalar_has_the_coordinate_0",
          "number = ones§ >> 1 if is_float else ones§§"),
    Fault("last element is not searched",
          "operators/nonzero/test_coordinates.py::test_sizes_around_the_limits",
          "if (element §§+ 1 §< a.elements &&"),
    Fault("vectors behind the last are searched",
          "operators/nonzero/test_coordinates.py::test_sizes_around_the_limits",
          "load_if<true>(§r * 32 < mine§true§, source + r * 32);\n        if (--rest == 0)"),
    Fault("element behind the last is searched",
          "operators/nonzero/test_coordinates.py::test_every_rank_in_any_order_of_axes",
          "const bool exists = §start + ((word + r) * 32) < elements§true§;"),
    Fault("all columns of a lane have one bit",
          "operators/nonzero/test_coordinates.py::test_rows_lie_apart_in_memory",
          "(kRowBits - 1 - first - §i§0§)"),
    Fault("bits behind the columns count as elements",
          "operators/nonzero/test_coordinates.py::test_rows_lie_apart_in_memory",
          "quotient(bit, *row) * §gap§0§"),
    Fault("counts of columns may begin with anything",
          "operators/nonzero/test_schedules.py::test_two_launches_give_the_same_in_every_order",
          "zeros = §counts§0§ if first.variant"),
    Fault("look-back leaves the nearest tile out",
          "operators/nonzero/test_schedules.py::test_every_order_gives_the_same",
          "sum += r * 32 + lane <§=§§ nearest / 2 ?"),
    Fault("words of an old epoch stay",
          "operators/nonzero/test_schedules.py::test_epochs_begin_anew",
          "k §< slots§+ 1 < tiles§; k += 32) words"),
    Fault("row behind the count is not filled",
          "operators/nonzero/test_function.py::test_every_size_and_fill_value",
          "for (; row §§+ 1 §< table.capacity; row += step) {"),
    Fault("coordinates of an axis go to the next one",
          "operators/nonzero/test_coordinates.py::test_every_layout_of_coordinates",
          "put(axis§§ - 1§, static_cast<Coordinate>(part.remainder));"),
    Fault("columns beyond the last belong to their plane",
          "operators/one_hot/test_kernels.py::test_few_blocks_do_it_all",
          "const Offset p = position - plane§ - (label < right ? 0 : 1)§§;"),
    Fault("ends of the last plane are not written",
          "operators/one_hot/test_kernels.py::test_few_blocks_do_it_all",
          "§run_of(planes - 1).write_ends(palette);§§"),
    Fault("barrier before the next tile of bits is lost",
          "operators/one_hot/test_kernels.py::test_few_blocks_do_it_all",
          "run.write_ends(palette);§\n    __syncthreads();  // the next tile takes the same bits§"
          "§"),
    Fault("tile of planes has no margin",
          "operators/one_hot/test_plan.py::test_tiles_cover_the_output_and_fit_in_shared_memory",
          "margin = §2 * sector§0§  #"),
    Fault("off and on change places",
          "operators/one_hot/test_kernels.py::test_few_blocks_do_it_all",
          "const uint4 off = stage[§0], on = stage[1§1], on = stage[0§];"),
    Fault("NaN is lost among numbers", "operators/reduce/test_edges.py::test_nan_and_infinities",
          "§|| a != a §§? a : b;"),
    Fault("NaN is no place where it counts",
          "operators/reduce/test_edges.py::test_nan_and_infinities",
          "return §kIgnore ? better || (b != b && a == a) : better || (a != a && b == b)§better§;"),
    Fault("a place that is none wins ties", "operators/reduce/test_edges.py::test_ties_far_apart",
          "b.place §+ 1 > a.place + 1§> a.place§"),
    Fault("the first of ties is the nearer thread's",
          "operators/reduce/test_edges.py::test_ties_far_apart",
          "kLast§ ? b.place + 1 > a.place + 1 : b.place < a.place§§;"),
    Fault("last elements of a row are left out",
          "operators/reduce/test_function.py::test_l1_of_the_least_integers",
          "if (thread §§+ 1 §< count - tail) {"),
    Fault("ties of bfloat16 are rounded up",
          "operators/reduce/test_edges.py::test_limits_of_types",
          "const uint32 rounded = (bits + §0x7fff + (bits >> 16 & 1)§0x8000§) >> 16"),
    Fault("doubles become halves by way of floats",
          "operators/reduce/test_edges.py::test_limits_of_types",
          "return §__uint_as_float(bits | 1)§nearest§;"),
    Fault("blocks are counted before all have written",
          "operators/reduce/test_kernels.py::test_every_order_gives_the_same_bits",
          "  §__syncthreads();\n  §§bool last = false;"),
    Fault("barrier after parts are combined is lost",
          "operators/reduce/test_tree.py",
          "    §__syncthreads();\n    §§room += parts"),
    Fault("barrier after parts of other states are combined is lost",
          "operators/reduce/test_kernels.py::test_every_order_gives_the_same_bits",
          "  if (count == 1) return;\n  §__syncthreads();§§"),
    Fault("neighbours are not combined first", "operators/reduce/test_tree.py",
          "combine(§state[2 * k], state[2 * k + 1]§state[k], state[k + kCount / 2]§)"),
    Fault("rows off 16 bytes are combined in another order", "operators/reduce/test_tree.py",
          "const uint32 shift = §phase_ / sizeof(Input)§0§;"),
    Fault("later rounds are not combined in order", "operators/reduce/test_tree.py",
          "state = Function::combine(at(level, result), state);\n    at(§level§0§, result)"),
    Fault("initial value is taken by each share",
          "operators/reduce/test_kernels.py::test_initial_values_in_every_variant",
          "G::combine(§G::leaf(result)§G::combine(G::leaf(result), G::leaf(initial.value))§,"),
    Fault("sum of bool is a bool",
          "operators/reduce/test_types.py::test_result_if_none_is_asked_for",
          "if function in _COUNTING and kind is DataType.BOOL:\n        return DataType.§INT64§"
          "INT32§"),
    Fault("one merged part is enough for a stream", "operators/test_plans.py",
          "is_flat = §all§any§(len(part)"),
    Fault("rows of 16 KiB are not staged", "operators/test_plans.py",
          "LAST_AXIS_MAX_STAGED_BYTES = 16 * §1024§1023§"),
    Fault("windows pay for fewer picks than a sector each has", "operators/test_plans.py",
          "chunk * layout.SECTOR_BYTES + §1§999§)"),
    Fault("a long position loses its high byte", "operators/gather/test_windows.py",
          "(4 + i % 4) << 8 | (12 + i % 4) << §12§8§"),
    Fault("a window takes what lies behind a row", "operators/gather/test_windows.py",
          "(§end - offset < ring.bytes ? end - offset : §§ring.bytes) / kBytes"),
    Fault("a row off 16 bytes is read from its first word on",
          "operators/gather/test_windows.py",
          "const uint32 first = !whole && phase != 0 ? §16§0§"),
    Fault("stages of last_axis outgrow shared memory",
          "operators/gather/test_plan.py -k last_axis", "min(LAST_AXIS_WORDS §//§*§ words"),
    Fault("blocks of strided rows are counted from the other end",
          "operators/test_plans.py -k blocks",
          "blocks_for(§items, per_block§per_block, items§), 1, 1)\n"
          "    return Launch(spec, grid, 0, 3, arguments.done())\n\n\ndef pack_axes"),
    Fault("columns of 2^18 elements are too few", "operators/test_plans.py",
          "COUNTED_COLUMNS_SIZE = 2**18§§ + 1§"),
    Fault("bytes of x are counted short", "operators/nonzero/test_plan.py -k pinned",
          "return elements §*§//§ problem.x.itemsize + written"),
    Fault("3 MiB of columns are shared by many blocks", "operators/reduce/test_plan.py -k pinned",
          "if nbytes <§=§§ tuning.PERIOD_GROUP_BLOCKS *"),
    Fault("tiles are small rather than few", "operators/nonzero/test_plan.py -k pinned",
          "small = min(2 §*§//§ least"),
    Fault("a warp takes more chunks than it has lanes", "operators/reduce/test_plan.py",
          "by_warps = §length <= WARP * chunk§True§  # each lane"),
    Fault("threads lie beside each other for more columns than there are",
          "operators/reduce/test_plan.py -k pinned", "-(-(width + items - 1) §//§*§ items)"),
    Fault("many columns have narrow blocks", "operators/reduce/test_plan.py -k pinned",
          "while width > least and §-(-units // width) < full§True§:"),
    Fault("indices of a shared sector are read too often",
          "operators/one_hot/test_plan.py -k pinned",
          "again = §cheap * sector // planes§0§ if"),
    Fault("runs of planes are as short as can be", "operators/one_hot/test_plan.py -k pinned",
          "wanted = §max§min§(target // planes"),
    Fault("rows that are not written count", "operators/nonzero/test_plan.py -k pinned",
          "written = §min§max§(capacity, elements)"),
    Fault("log_sum of nothing is 0", "operators/reduce/test_edges.py::test_no_elements",
          "ReduceFunction.LOG_SUM: §-inf§0§"),
    Fault("narrow sums are kept in 32 bits", "operators/reduce/test_edges.py::test_limits_of_types",
          "return DataType.§UINT64 if result in _LONG else DataType.§§UINT32"),
    Fault("log_sum_exp loses digits where a maximum rises",
          "operators/reduce/test_log_sum_exp.py::test_rows_of_any_kind",
          "gap == kStep ? kOfStep : gap > 0 ? 0.0 : §1.0§0.0§)"),
    Fault("log_sum_exp loses digits near zero",
          "operators/reduce/test_log_sum_exp.py::test_what_python_gives",
          "(shift == 0 && maximum > kNearZero) return §log1p(fma(sum, kOfUnit, expm1(maximum)))"
          "§log(fma(sum, kOfUnit, exp(maximum)))§;"),
    Fault("state of a place is counted short", "operators/reduce/test_plan.py",
          "place = §8 if wide else §§4"),
    Fault("cache key leaves NVRTC's version out",
          "compilation/test_nvrtc.py::test_environments_of_different_versions_share_a_folder",
          '"\\0".join((§version(), §§*program.options, program.text))'),
    Fault("kernels flush subnormal numbers",
          "operators/reduce/test_edges.py::test_subnormal_numbers",
          '"-std=c++17", §§"-ftz=true", §*lines)'),
    Fault("workspace is shared by all streams",
          "engines/cuda/test_workspaces.py::test_streams_devices_and_sizes_have_workspaces_of_their_own",
          "key = (device, §0 if lasts else id(stream), §§nbytes)"),
    Fault("workspace is shared by streams that have a handle one after the other",
          "engines/cuda/test_workspaces.py -k of_the_same_handle",
          "key = (device, §graphs.stream_number(handle)§handle§, nbytes)"),
    Fault("CuPy is asked for new arrays of any dtype",
          "operators/test_fallbacks.py -k any_dtype_that_is_copied",
          "if §dtype.isbuiltin == 1§True§:\n        return partial"),
    Fault("kernel of one device serves another",
          "engines/cuda/test_engine.py::test_a_specialisation_is_compiled_once_and_loaded_once_per_device",
          "digest, §device§0§, line_info())"),
    Fault("stream does not wait for the lender's",
          "engines/cuda/test_loans.py::test_a_call_stands_in_the_stream_of_its_operand_too",
          "§stream.wait_event(event)§pass§"),
    Fault("threads of the simulator share workspaces",
          "operators/nonzero/test_schedules.py::test_threads_have_workspaces_of_their_own",
          "class _Workspaces§(threading.local)§§:"),
    Fault("captured call does not keep what it made",
          "engines/cuda/test_graphs.py::test_memory_lives_as_long_as_its_graph",
          "self._of(stream)§.memory.append(memory)§§"),
    Fault("shf.wrap clamps", "simulator/ptx/test_instructions.py -k logic",
          "return count §& 31§> 32 ? 32 : count§; }\n\nstatic inline u32 shf_l"),
    Fault("cvt rounds ties up", "simulator/ptx/test_instructions.py -k conversions",
          "rest >§ half || (rest == half && (whole & 1))§= half§"),
    Fault("shfl ignores the segment", "simulator/ptx/test_instructions.py -k warps",
          "most = §least | (clamp & ~segment)§clamp§"),
    Fault("bfe takes the sign one bit above", "simulator/ptx/test_instructions.py -k integers",
          "lesser<u32>(start + length§ - 1§§, kBits<T> - 1)"),
    Fault("race with an access of this epoch is missed", BROKEN,
          "(tag.time() <§§=§ block.base || (other / kLanes == self"),
    Fault("scope of a block is enough for all", BROKEN,
          "if (§§false && §narrower(reach(a.site), reach(&other)) < order.distance(serial"),
    Fault("writes are not held against reads", BROKEN,
          "§check_against(a, cell->first_read, false, byte, bytes);\n"
          "  check_against(a, cell->latest_read.reader(), false, byte, bytes);§§"),
    Fault("fences of the block carry nothing", CORRECT,
          "for (int i = kScopes - 1; i >§=§§ 0; --i) {\n    const Release* what"),
    Fault("a warp that reads hides the one before",
          "simulator/checker/test_checked.py -k each_warp_that_read",
          "return tag.is_older(a.first§§ + 1§) ||\n         (!tag.is_in_flight()"),
    Fault("stores acquire", "simulator/checker/test_checked.py -k a_store_acquires_nothing",
          "if ((kind & kAtomic) == 0) return §(kind & kReads) != 0§true§;"),
    Fault("a copy ends when it began", BROKEN,
          "detached ? §static_cast<uint32_t>(copy.mark) : t.time§t.time : "
          "static_cast<uint32_t>(copy.mark)§;"),
    Fault("a bulk copy carries what follows it", BROKEN,
          "  §t.time += t.time < kMaxTime;§§  // what the thread does from now on"),
    Fault("the source of a copy stays in flight", CORRECT,
          "return §read.is_in_flight()§false§ && read.has_thread_of(a.tag);"),
    Fault("what selects an undefined value counts for nothing",
          "simulator/ptx/test_undefined.py",
          "Union((Chosen(op.sources[2], a, b), *(§[c] if c.words else §§[]))"),
    Fault("who has seen a write does not come after it", CORRECT,
          "return §order.observed.size != 0§false§ && comes_after_observers("),
    Fault("warps of a multiprocessor are counted as threads",
          "simulator/runtime/test_residency.py::test_room",
          "least(kBlocksEach, kThreadsEach §/ kWarpSize §§/ warps)"),
    Fault("stores after the first are not held against read-only arrays",
          "simulator/reports/test_finding_messages.py -k what_may_be_read",
          "!(kWrite && b.read_only != §0§1§);\n    if (inside"),
    Fault("lanes at other lines are active",
          "simulator/ptx/test_runtime.py -k what_a_kernel_leaves",
          "return a.line == b.line §&&§||§ (a.file"),
    Fault("an mbarrier counts one arrival too few",
          "simulator/ptx/test_runtime.py -k what_a_kernel_leaves",
          "if (phase.pending >§§=§ kMaxCount"),
    Fault("mapped addresses lose a bit",
          "simulator/ptx/test_runtime.py -k blocks_of_a_cluster",
          "(address & ((1u << kRankShift) - §1§2§)) | (rank"),
    Fault("clocks go back", "simulator/ptx/test_runtime.py -k clocks_go_on",
          "1000000000u §+§-§ static_cast<uint64_t>(now.tv_nsec)"),
    Fault("a launch leaves its parameters on the stack",
          "simulator/runtime/test_signals.py -k little_stack",
          "  §§volatile char stack[65000]; stack[0] = 1; §launch->parameters = reinterpret_cast"),
    Fault("the compiler has the stack of who waits",
          "simulator/runtime/test_signals.py -k little_stack",
          "threading.stack_size(§_STACK_BYTES§32768§)"),
    Fault("a handler's launch has the workspace of what it interrupts",
          "simulator/runtime/test_signals.py -k launches_what",
          "workspaces, §self._workspaces.by_size§_§ = self._workspaces.by_size, {}"),
    Fault("a cut file is copied without a guard",
          "simulator/runtime/test_signals.py -k file_that_was_cut",
          "attempt.guard.armed = §true§false§;\n    function();"),
    Fault("a handler launches amid an observed launch",
          "simulator/runtime/test_signals.py -k cannot_do_everything", "if §_running§False§:"),
    Fault("a fork keeps the parent's count",
          "simulator/runtime/test_signals.py -k cannot_do_everything",
          "unlock_all();\n  §++forks;§§\n"),
    Fault("signals that the program blocks stay blocked",
          "simulator/runtime/test_signals.py -k faults_stay",
          "pthread_sigmask(§SIG_UNBLOCK§SIG_BLOCK§, &faults"),
    Fault("a handler's exception is lost", "simulator/runtime/test_signals.py -k ends_any",
          "if §report.raised[0] is not None§False§:"),
    Fault("small floats are not flushed", "simulator/ptx/test_flushed_floats.py -k special_values",
          "return §rarely(!(__builtin_fabsf(x) >= 0x1p-126f)) ? finished_small(x) : §§x;"),
    Fault("all kernels have their floats flushed",
          "simulator/ptx/test_flushed_floats.py -k floats_alone",
          "return True in kinds§ and False not in kinds§§ and not _knows_subnormal(body)"),
    Fault("compilers compute with subnormal constants",
          "simulator/ptx/test_flushed_floats.py -k floats_alone",
          "return any(§0 < value & _SIZE < _LEAST§False§ for value in values)"),
    Fault("a launch leaves subnormal floats to be zeros",
          "simulator/runtime/test_float_control.py -k _end",
          "~FloatControl() { §set(before_);§§ }"),
    Fault("a failed launch leaves subnormal floats to be zeros",
          "simulator/runtime/test_float_control.py -k _end",
          "  const FloatControl others(§false§true§);"),
    Fault("selections take the other float", "simulator/ptx/test_flushed_floats.py -k selections",
          'asm("vblendvps §%1, %2§%2, %1§, %0, %0"'),
    Fault("selections take the other integer",
          "simulator/ptx/test_flushed_floats.py -k selections",
          "c:pred (moves, select) = (§§!§{c} ? {a} : {b})"),
    Fault("a launch of many threads is one of few",
          "simulator/libraries/test_execution_modes.py -k library_of_a_launch",
          "prod(grid) * prod(block) >§=§§ _MANY"),
    Fault("addresses of functions are those of two libraries",
          "simulator/libraries/test_execution_modes.py -k addresses_of_functions",
          "is_fast = fast§ and by_address.isdisjoint(entries)§§"),
    Fault("a loop of its own saves nothing", "simulator/runtime/test_float_control.py -k _end",
          "names = self._cpp_names(n for n in saved if written is None or n §§not §in written)"),
    Fault("a row begins where the team did", "simulator/libraries/test_execution_modes.py -k nasty",
          "team.begin = team.end;\n  §team.thread.x = 0;§§\n"),
    Fault("rows are all in one plane", "simulator/runtime/test_process.py -k indices",
          "team.thread.y = 0;\n    §++team.thread.z;§§\n"),
    Fault("what is written at a point is not kept",
          "simulator/runtime/test_progress.py -k chain_of_blocks",
          "if step.meets else changed§ | step.written§§\n"),
    Fault("a selection has the predicate's next value", "simulator/ptx/test_simplify.py -k loop",
          "isinstance(predicate, Register)§ and self._bits.get(predicate.name, 0) & known§§\n"),
    Fault("fragments share places that a loop needs", "simulator/ptx/test_matrix.py -k loop",
          "if §source < start§False§:"),
    Fault("constants are known before they are written", "simulator/ptx/test_simplify.py -k loop",
          "if name in self._instead§ and self._bits[name] & known§§"),
    Fault("a register of two values is computed once",
          "simulator/libraries/test_execution_modes.py -k text_without",
          "if op.guard is not None or not op.writes§ or not several.isdisjoint(op.writes)§§:"),
    Fault("a carry is lost at a barrier", "simulator/libraries/test_execution_modes.py -k nasty",
          "leaves_one) and §id(op) not in points§True§\n"),
    Fault("checked launches store half of two bytes",
          "simulator/ptx/test_translate.py -k ptx_says",
          "memcpy(to, &value, §2§1§);"),
    Fault("sectors have 64 bytes", "simulator/reports/test_traffic.py::test_figures",
          "constexpr int kSectorShift = §5§6§;"),
    Fault("a broadcast is a bank conflict", "simulator/reports/test_traffic.py::test_figures",
          "} else if (§first[bank] != word && traffic.set.add(word)§true§) {"),
    Fault("strides are those between any two lanes",
          "simulator/reports/test_traffic_advice.py -k half",
          "if (r.lane[i] != r.lane[i - 1] + 1) §continue§{}§;"),
    Fault("a stride that few lanes have is that of all",
          "simulator/reports/test_traffic_advice.py -k random",
          "is_known = §2 * raw.alike > raw.neighbours§True§\n"),
    Fault("what kernels have in common is an origin",
          "simulator/reports/test_user_files.py -k in_common",
          "votes > most * (3 if need is _Need.MOST else §2§0§) // 4"),
    Fault("lines around the user's text are the user's",
          "simulator/cupy_stand_in/test_text_kernels.py -k around",
          "if row.file§ and not is_header(row.file)§§:"),
    Fault("sampled launches are not scaled",
          "simulator/reports/test_sampled_traffic.py::test_figures_are_scaled",
          "§(2 * count * observed.blocks + observed.sampled) // (2 * observed.sampled)§count§"),
    Fault("chunks start where they end", "dask/test_lookup.py::test_gather_of_any_chunks",
          "tuple(accumulate(sizes§[:-1], initial=0§§))"),
    Fault("places step by the sizes of a chunk",
          "dask/test_reduce.py::test_the_index_in_all_of_x_decides",
          "step *= §self§chunk§.shape[axis]"),
    Fault("position of a bad index is that in its chunk",
          "dask/test_lookup.py::test_the_position_of_a_bad_index_is_that_in_all_indices",
          "self.selection, self.shape§, first§§)"),
    Fault("sums of halves are halves between chunks",
          "dask/test_reduce.py::test_partial_results_wrap_and_round_as_those_of_one_array",
          "else §reduction.accumulator.numpy§self.call.dtype§"),
    Fault("budget of registers is ignored",
          "conformance/test_machine_code.py::test_a_register_too_many_is_seen",
          "if usage.registers > §registers§255§:"),
    Fault("first line takes all of the time", "perf/test_timing.py::test_lines_share_the_time",
          "max(0, self._end - now)§ // max(1, self._lines)§§"),
    Fault("a wrong result is timed", "perf/test_timing.py::test_a_wrong_result_has_no_time",
          'return §f"WRONG: {describe(error)}§"§"'),
    Fault("a header that includes a reduced one stays in its folder",
          "simulator/sources/test_host_code.py::test_headers_that_headers_include",
          "if not given.isdisjoint(file.included.values())§§ and not given§}"),
    Fault("the declaration of a variable stays when its definition goes",
          "simulator/sources/test_host_code.py::test_host_code_goes_and_the_rest_stays",
          'self.leave_out_variables(self._hidden, §"extern"§"never"§)'),
    Fault("bytes of a text in another encoding are replaced",
          "simulator/sources/test_host_code.py::test_bytes_of_texts_stay",
          'content.decode("utf-8-sig", "§surrogateescape§replace§")'),
    Fault("an address that a kernel keeps is that of a copy",
          "simulator/launching/test_guarded_arrays.py::test_an_address_in_the_heap",
          "if position §in kernel.kept_parameters§< 0§:"),
    Fault("what a call keeps is forgotten",
          "simulator/ptx/test_kept_addresses.py",
          "self._kept |= held if §kept >> i & 1§False§ else 0"),
    Fault("threads pass by a barrier unseen",
          f"{BROKEN}",
          "(w->threads[i].view.joins_passed & waiting.joins_behind) §!=§<§ 0) {"),
    Fault("volatile stores of different values are no race",
          f"{BROKEN}",
          "((a.kind | other.access) & (kAtomic | kReads)) §==§!=§ 0 && a.value"),
    Fault("lanes are active together at one line",
          f"{CORRECT}",
          "lanes[i].site§ == leader->site§->line == leader->site->line§;"),
    Fault("an arrival of copies orders what comes after it",
          f"{BROKEN}",
          "const uint32_t time = detached§§ && copy.kind != Copy::kArrival§ ?"),
    Fault("a copy of a kernel comes after what is like it",
          "simulator/reports/test_user_files.py",
          "for need in (_Need.§BOTH§MOST§, _Need.MOST):"),
    Fault("a match orders nothing for the end of mbarriers",
          f"{CORRECT}",
          "tag.time() §<=§>§ a.w->checked.order[tag.thread()].matched;"),
    Fault("a word written in part counts as written",
          "simulator/checker/test_checked.py::test_a_word_that_is_written_in_part",
          "unwritten[edges, ::step] |= found§§ & False§"),
    Fault("memory of no known array is not looked up",
          "simulator/checker/test_checked_arrays.py",
          "if (§§false && §is_in_unknown_memory(a) && a.at() % alignment == 0) return true;"),
    Fault("names that a script lacked are not told",
          "test_check_command.py::test_names_that_a_script_goes_on_without",
          "    if listeners§§ and False§:"),
    Fault("results of SciPy keep its arrays",
          "simulator/cupy_stand_in/test_scipy.py::test_scripts",
          "return §to_cupy(§(§np.asarray(value) if isinstance(value, np.matrix) else value)"),
)  # fmt: skip


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Plant the chosen faults; return 1 unless all are found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="parts of the names of faults; none for all")
    parser.add_argument("--list", action="store_true", help="show the faults and their tests")
    parser.add_argument("--check", action="store_true", help="whether all have places and tests")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project; this one by default")
    options = parser.parse_args()
    chosen = [
        f for f in FAULTS if not options.words or any(word in f.name for word in options.words)
    ]
    if options.check:
        return _check(options.root, chosen) | _check_operators(options.root)
    if options.list:
        for fault in chosen:
            say(f"{fault.name:45} {fault.tests}")
        return 0
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder) / "project"
        shutil.copytree(options.root, copy, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        os.environ.setdefault("CUDAKERN_CACHE_DIR", f"{folder}/cache")
        os.environ["PYTHONPATH"] = str(copy)
        if not _passes(copy, chosen):
            return 1
        outcomes = {fault.name: _outcome(copy, fault) for fault in chosen}
    missed = [name for name, outcome in outcomes.items() if outcome != "found"]
    say(
        f"{len(chosen) - len(missed)} of {len(chosen)} found; missed: {', '.join(missed) or 'none'}"
    )
    return int(bool(missed))


def _passes(copy: Path, faults: list[Fault]) -> bool:
    """Return whether the tests pass while no fault is planted; print what fails."""
    plain = [test for fault in faults if " -k " not in fault.tests for test in fault.tests.split()]
    runs = [" ".join(dict.fromkeys(plain)), *(f.tests for f in faults if " -k " in f.tests)]
    for tests in dict.fromkeys(filter(None, runs)):
        status, said, seconds = _run(copy, tests, 10 * LIMIT)
        say(f"without a fault: {said.strip().splitlines()[-1]} ({seconds:.0f} s)")
        if status:
            say(said)
            return False
    return True


def _outcome(copy: Path, fault: Fault) -> str:
    """Plant a fault and run its tests; print and return the outcome."""
    with _planted(copy, fault) as problem:
        status, said, seconds = (0, "", 0.0) if problem else _run(copy, fault.tests, LIMIT)
    outcome = problem or (
        "found" if status == FAILED or status < 0 else "no such test" if status in NOTHING_RAN
        else "missed" if status == 0 else f"status {status}: {said[-300:]}"
    )  # fmt: skip
    say(f"{outcome:8} {fault.name:45} {seconds:5.1f} s")
    return outcome


@contextmanager
def _planted(copy: Path, fault: Fault):
    """Plant a fault in the copy for a while; yield what is wrong with the fault itself, or ""."""
    texts = _product(copy)
    if problem := _unplaced(fault, texts):
        yield problem
        return
    text, other = texts_of(fault.change)
    (file,) = [file for file in texts if text in texts[file]]
    file.write_text(texts[file].replace(text, other), encoding="utf-8")
    try:
        yield ""
    finally:
        file.write_text(texts[file], encoding="utf-8")


def _product(root: Path) -> dict[Path, str]:
    """Return the texts of the files in which faults can be planted."""
    files = [f for p in PRODUCT for f in sorted((root / p).rglob("*")) if f.suffix in SUFFIXES]
    return {file: file.read_text(encoding="utf-8") for file in files}


def _unplaced(fault: Fault, texts: dict[Path, str]) -> str:
    """Return an error unless the text that a fault replaces occurs once in the product."""
    text = texts_of(fault.change)[0]
    files = [file.name for file in texts for _ in range(texts[file].count(text))]
    if len(files) == 1:
        return ""
    return f"its text stands {len(files)} times: {', '.join(dict.fromkeys(files))}"


def _missing(root: Path, fault: Fault) -> str:
    """Return an error if some of a fault's tests do not exist."""
    missing = []
    for test in fault.tests.partition(" -k ")[0].split():
        path, *names = test.split("::")
        file = root / "tests" / path
        text = file.read_text(encoding="utf-8") if names and file.is_file() else ""
        if not file.exists() or any(f"def {name.partition('[')[0]}(" not in text for name in names):
            missing.append(test)
    return f"no such test: {', '.join(missing)}" if missing else ""


def _check(root: Path, faults: list[Fault]) -> int:
    """Print which faults have no place or lack tests; return 1 if any does."""
    texts, wrong = _product(root), 0
    for fault in faults:
        for problem in filter(None, (_unplaced(fault, texts), _missing(root, fault))):
            say(f"{fault.name}: {problem}")
            wrong = 1
    return wrong


def _check_operators(root: Path) -> int:
    """Print which operators no fault is planted in; return 1 if there is one."""
    folders = sorted(path.parent.name for path in root.glob("cudakern/operators/*/operator.py"))
    lacking = [f for f in folders if not any(f"operators/{f}/" in one.tests for one in FAULTS)]
    for folder in lacking:
        say(f"no fault is found by tests/operators/{folder}")
    return int(bool(lacking))


def _run(copy: Path, tests: str, limit: float) -> tuple[int, str, float]:
    """Return the status of pytest, what it printed, and the seconds it took."""
    paths, _, words = tests.partition(" -k ")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=short"]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [*command, *(f"tests/{test}" for test in paths.split()), "-k", words],
            cwd=copy, capture_output=True, text=True, timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return FAILED, "hangs", limit
    return done.returncode, done.stdout, time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
