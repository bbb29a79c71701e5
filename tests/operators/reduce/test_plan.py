"""The kernel and the arguments that each reduction gets, without an engine."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cudakern.engines.base import THREADS
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.operators.reduce.plan import ReduceProblem, plan_reduce
from cudakern.operators.reduce.reduction import (
    Reduction,
    specialisations,
)
from cudakern.operators.reduce.tuning import COUNTER_BYTES
from cudakern.operators.reduce.types import ReduceFunction, result_type
from cudakern.values.dtypes import DataType
from cudakern.values.layout import Layout, packed_strides
from tests.helpers.rows import each
from tests.helpers.samples import examples
from tests.helpers.strategies import memory_layouts

KIB = 1024


def problem(shape, axes=None, kind="FLOAT32", function="SUM", *, strides=None, phase=0, out=None,
            dtype=None, **options):  # fmt: skip
    """Return a problem over all axes by default; strides of x and out in bytes, packed by default.

    Sizes of out along the axes are 1.
    """
    axes = tuple(range(len(shape))) if axes is None else axes
    kind, function = DataType[kind], ReduceFunction[function]
    result = DataType[dtype] if dtype else result_type(function, kind)
    x = Layout(shape, strides or packed_strides(shape, kind.itemsize), kind.itemsize, phase)
    sizes = tuple(1 if k in axes else size for k, size in enumerate(shape))
    written = Layout(sizes, out or packed_strides(sizes, result.itemsize), result.itemsize)
    return ReduceProblem(Reduction(function, kind, result, **options), x, written, axes)


I1, C16 = "INT8", "COMPLEX128"


def rows(length, *more, **options):
    return problem((2000, length), (1,), *more, **options)


def columns(shape, *more, **options):
    return problem(shape, (0,), *more, **options)


IMAGES = (32, 64, 56, 56)
SWAPPED = {"strides": (4, 4000)}
#: For `tests.operators.test_plans`.
PLAN = plan_reduce
#: What is compiled when it is needed.
RARE = r"_o64|_r2|_r3_w16|_r8|_i_|_t512|_l16|_n\d+"
PINNED = [  # x, kernel without function and types, blocks apart, blocks that share results
    ("everything", problem((10**6,)), "blocks_r1", 1, 245),
    ("everything, as many blocks as it takes", problem((2**28,)), "blocks_r1", 1, 512),
    ("16,384 elements", problem((16384,)), "blocks_r1", 1, 4),
    ("an element more", problem((16385,)), "blocks_r1", 1, 5),
    ("everything, swapped", problem((1000, 2000), **SWAPPED), "blocks_r1", 1, 489),
    ("rows of 3", rows(3), "tiles", 6, 1),
    ("rows of 3, padded", rows(3, strides=(16, 4)), "columns_r1_w4", 8, 1),
    ("rows of 4", rows(4), "lanes_r1", 8, 1),
    ("rows of 4, 4 B off", rows(4, phase=4), "tiles", 8, 1),
    ("rows of 257", rows(257), "tiles", 667, 1),
    ("rows of 512", rows(512), "warps_r1", 250, 1),
    ("rows of 1025, 4 B off", rows(1025, phase=4), "blocks_r1", 2000, 1),
    ("rows of 3001", rows(3001), "blocks_r1", 2000, 1),
    ("rows of 4097", rows(4097), "blocks_r1", 2000, 1),
    ("rows of 200,000", rows(200_000), "blocks_r1", 2000, 1),
    ("many rows of 20,000", problem((16_896, 20_000), (1,)), "blocks_r1", 16_896, 1),
    ("rows of a long function", rows(4, "FLOAT64", "LOG_SUM_EXP"), "lanes_r1", 16, 1),
    ("of many elements a vector", rows(512, "INT32", "LOG_SUM_EXP"), "strided_r1_w4", 250, 1),
    ("a row more than a wave of blocks", problem((529, 2**18), (1,)), "blocks_r1", 529, 4),
    ("rows of a vocabulary", problem((8, 129_280), (1,)), "blocks_r1", 8, 32),
    ("16384 columns", columns((4096, 16384)), "columns_r1_w16", 512, 2),
    ("600,000 columns", columns((64, 600_000)), "columns_r1_w16", 4688, 1),
    ("many columns", columns((500, 300_000)), "columns_r1_w16", 2344, 1),
    ("2 columns", columns((2**20, 2)), "columns_r1_w4_i", 1, 512),
    ("3 MiB of 2 columns", columns((393_216, 2)), "columns_r1_w4_i", 1, 192),
    ("a row more", columns((393_217, 2)), "columns_r1_w4_i", 1, 193),
    ("3001 columns", columns((3000, 3001)), "columns_r1_w4", 94, 3),
    ("few rows of 100,001 columns", columns((23, 100_001)), "columns_r1_w4", 1563, 1),
    ("columns, 4 B off", columns((2**13, 1024), phase=4), "columns_r1_w4", 32, 16),
    ("columns of bool", columns((2**20, 32), "BOOL"), "columns_r1_w8_i", 1, 1024),
    ("swapped rows", problem((1000, 2000), (1,), **SWAPPED), "columns_r1_w16", 32, 8),
    ("middle axis", problem((64, 512, 512), (1,)), "columns_r2_w16", 1024, 1),
    ("middle, small slabs", problem((64, 100, 33), (1,)), "tiles", 64, 1),
    ("middle, tiny slabs", problem((50_000, 2, 3), (1,)), "tiles", 298, 1),
    ("short pieces", problem((100, 5000, 100), (0, 2)), "strided_r3_w16", 5000, 1),
    ("few of short pieces", problem((100, 64, 100), (0, 2)), "strided_r3_w16", 64, 3),
    ("rank 8", problem((3, 4, 5, 6, 7, 8, 9, 10), (1, 3, 5, 7)), "strided_r8_w4", 945, 1),
    ("every second", rows(1000, strides=(8000, 8)), "strided_r1_w4", 250, 1),
    ("every second of 4224 rows", problem((4224, 1000), (1,), strides=(8000, 8)),
     "strided_r1_w4", 528, 1),
    ("one element, many times", problem((1000,) * 2, strides=(0, 0)), "strided_r1_w4", 1, 245),
    ("complex, 8 B off", problem((10**6,), kind=C16, phase=8), "strided_r1_w16", 1, 489),
    ("per element", problem((1000, 1000), ()), "columns_r1_w16", 977, 1),
    ("per element, odd", problem((1001,), ()), "tiles", 1, 1),
    ("scalar", problem(()), "columns_r1_w4", 1, 1),
    ("just below 2^31 bytes", problem((2**31 - 16,), kind=I1), "blocks_r1", 1, 512),
    ("2^31 bytes, nearly", problem((2**31 - 15,), kind=I1), "blocks_r1_o64", 1, 512),
    ("warps of 16 GiB", problem((2**20, 2**12), (1,)), "warps_r1_o64", 2**17, 1),
    ("tiles of 6 GiB", problem((2**29, 3), (1,)), "tiles_o64", 196_801, 1),
    ("columns of 4 GiB", columns((2**20, 1025)), "columns_r1_w4_o64", 33, 16),
    ("vectors of 16 GiB", columns((2**20, 2**12)), "columns_r1_w16_o64", 128, 4),
    ("2^32 - 4096 elements", problem((2**32 - 4096,), kind=I1, strides=(0,)), "strided_r1_w1_o64",
     1, 512),
    ("one fewer", problem((2**32 - 4097,), kind=I1, strides=(0,)), "strided_r1_w1", 1, 512),
    ("odd columns of any order", columns((3000, 3001), function="MAX"), "periods_r1_w16", 25, 10),
    ("3 MiB of 2 columns of any order", columns((393_216, 2), function="MAX"), "periods_r1_w16",
     1, 32),
    ("a row more of any order", columns((393_217, 2), function="MAX"), "periods_r1_w16", 1, 64),
    ("8 columns", columns((2**24, 8)), "columns_r1_w16_i", 1, 1024),
    ("few rows of odd columns", columns((600, 1001)), "columns_r1_w4_t512", 126, 1),
    ("out far apart", problem((2, 100), (1,), out=(2**31 - 16, 4)), "lanes_r1_o64", 1, 1),
]  # fmt: skip


def shortened(name):
    """Return a kernel's name without function and types, and without offsets of 32 bits."""
    variant, *words = name.split("_")
    return "_".join([variant, *(word for word in words if re.fullmatch(r"[rwt]\d+|o64|i", word))])


def results_of(plan):
    """Return the results of a block."""
    name = {"columns": "results", "tiles": "results", "periods": "width"}.get(plan.variant)
    return plan.arguments[name] if name else 1


@each(
    ("wanted", "blocks", "splits"),
    [pytest.param(wanted, *rest, id=name) for name, wanted, _, *rest in PINNED],
)
def test_blocks_are_pinned(wanted, blocks, splits):
    assert plan_reduce(wanted).grid == (blocks, splits, 1)


THREADS_OF_PERIODS = [  # columns; then ranges of them, columns of each, and threads
    (2, "FLOAT32", {"ranges": 1, "width": 2, "span": 1, "groups": 256, "period": 2}),
    (33, "FLOAT32", {"ranges": 1, "width": 33, "span": 33, "groups": 7, "period": 4}),
    (513, "FLOAT32", {"ranges": 5, "width": 103, "span": 27, "groups": 8, "period": 0}),
    (513, "INT8", {"ranges": 3, "width": 171, "span": 12, "groups": 16, "period": 0}),
    (3001, C16, {"ranges": 94, "width": 32, "span": 32, "groups": 8, "period": 0}),
]


@each(("count", "kind", "threads"), THREADS_OF_PERIODS)
def test_threads_of_periods_are_pinned(count, kind, threads):
    plan = plan_reduce(columns((3000, count), kind, "ARGMAX"))
    assert plan.variant == "periods"
    assert {name: plan.arguments[name] for name in threads} == threads


WORKSPACES = [  # x, bytes of states that its blocks exchange
    ("one block", problem((4096,)), 0),
    ("1024 blocks of 16 columns", columns((2**20, 16)), 64 * KIB),
    ("4 blocks for each 32 columns", columns((2**20, 4096)), 64 * KIB),
    ("8 blocks, 64-bit positions", columns((2**20, 4096), function="ARGMAX"), 256 * KIB),
]  # fmt: skip


@each(("wanted", "states"), [pytest.param(*rest, id=name) for name, *rest in WORKSPACES])
def test_workspace_is_pinned(wanted, states):
    assert plan_reduce(wanted).workspace == (COUNTER_BYTES + states if states else 0)


NAMES = [
    ({}, "sum_f32_f32"),
    ({"dtype": "FLOAT64"}, "sum_f32_f64"),
    ({"kind": I1, "dtype": "INT64"}, "sum_i8_i64"),
    ({"function": "MAX", "ignore_nan": True}, "max_f32_f32_ignore"),
    ({"function": "ARGMAX", "last_index": True}, "argmax_f32_i64_last"),
    ({"function": "ARGMIN", "ignore_nan": True, "last_index": True}, "argmin_f32_i64_ignore_last"),
]


@each(("options", "name"), NAMES)
def test_names_tell_types_and_choices(options, name):
    entry = plan_reduce(problem((10**7,), **options)).kernel.entry
    assert entry == f"ck_reduce_blocks_{name}_r1_o32"


def test_places_follow_an_x_that_is_walked_in_another_order():
    swapped = problem((1000, 2000), function="ARGMAX", **SWAPPED)
    plan = plan_reduce(swapped)
    assert plan.kernel.entry == "ck_reduce_strided_argmax_f32_i64_r3_w4_o32"
    assert plan.arguments["along"] == ((2000, 4000, 1), (1000, 4, 2000))
    # So do those of complex extremes, of which the first is found.
    first = problem((1000, 2000), None, "COMPLEX64", "MAX", strides=(8, 8000))
    assert plan_reduce(first).kernel.entry == "ck_reduce_strided_max_c64_c64_r3_w8_o32"
    # If places ascend in memory or do not matter, x is one row.
    assert plan_reduce(problem((1000, 2000), function="ARGMAX")).variant == "blocks"
    assert plan_reduce(replace(swapped, reduction=problem((1,)).reduction)).variant == "blocks"


def test_listed_kernels_have_names_of_their_own_and_are_those_that_are_planned():
    listed = {spec.entry: spec for spec in specialisations()}
    assert len(listed) == len(list(specialisations())) == 178 * 8 + 167 - 7 * 4
    planned = [plan_reduce(pinned).kernel for _, pinned, *_ in PINNED]
    assert all(listed.get(spec.entry, spec) == spec for spec in planned)
    rare = [spec.entry for spec in planned if spec.entry not in listed]
    assert all(re.search(RARE, entry) for entry in rare)


KINDS = ["INT8", "FLOAT16", "FLOAT32", "INT64", "COMPLEX64", "COMPLEX128"]


@st.composite
def problems(draw):
    """Draw a function of an x of 2^34 elements at most, mostly of a few packed dimensions."""
    kind = draw(st.sampled_from(KINDS))
    function = draw(st.sampled_from(["SUM", "ARGMAX", "MAX"]))
    packed, rank = draw(st.booleans()), draw(st.sampled_from([1, 2, 2, 3, 3, 4, 8]))
    shape = []
    for _ in range(rank):
        most = 2**34 // prod(shape)
        likely = st.sampled_from([n for n in (1, 2, 4, 8, 32) if n <= most])
        size = st.one_of(st.integers(1, most), st.integers(1, min(40, most)), likely)
        shape.insert(draw(st.integers(0, len(shape))), draw(size))
    axes = tuple(k for k in range(rank) if draw(st.booleans()))
    compact = problem(tuple(shape), axes, kind, function)
    item = compact.x.itemsize
    if packed:
        phase = draw(st.sampled_from([0, min(item, 8)]))
        return problem(tuple(shape), axes, kind, function, phase=phase)
    x = draw(memory_layouts(shape, item, aligned=True))
    out = draw(memory_layouts(compact.out.shape, compact.out.itemsize, output=True, aligned=True))
    strides = {"strides": x.strides, "out": out.strides, "phase": x.offset % 16}
    return problem(tuple(shape), axes, kind, function, **strides)


@settings(max_examples=examples(500), deadline=None)
@given(problems())
@example(problem((2048, 200_000), (1,)))
@example(problem((4300, 2**14 + 1), (1,)))
@example(columns((2**14, 2**20)))
@example(problem((3000, 2**31), (1,), I1, "L2", dtype="FLOAT32", strides=(0, 0)))
def test_blocks_share_results_within_the_limits(wanted):
    plan, a = plan_reduce(wanted), plan_reduce(wanted).arguments
    wide = plan.kernel.entry.endswith("_o64")
    reduced = wanted.x.size // wanted.out.size
    blocks, splits, _ = plan.grid
    assert blocks < 2**31
    assert splits < 2**16
    assert plan.shared_bytes <= 48 * KIB
    assert (plan.workspace > 0) == (splits > 1)
    ordered = not wanted.reduction.is_any_order
    if ordered and plan.variant == "warps":  # a lane keeps the state of a chunk
        loads = int(dict(plan.kernel.defines)["CK_LOADS"])
        assert a["length"] * wanted.x.itemsize <= 32 * loads * 32 * 16
    if splits > 1:
        assert blocks <= COUNTER_BYTES // 4  # that count arrivals
        assert wanted.x.size * wanted.x.itemsize >= blocks * splits * 4 * KIB  # a share is large
        room = plan.workspace - COUNTER_BYTES
        state = wanted.reduction.state_bytes(wide=wide)
        assert room >= max(64 * KIB, blocks * splits * results_of(plan) * state)
        assert room & (room - 1) == 0
        # Engines distinguish workspaces by their sizes, so no other operator has this size.
        slots = plan.workspace // 8 - nonzero_plan.HEADER_WORDS
        assert nonzero_plan.slots_for(slots) != slots
        if ordered:  # shares are parts of the tree
            assert a["share"] & (a["share"] - 1) == 0
    spans = wanted.x.span, wanted.out.span
    fits = all(low >= -(2**31) and high <= 2**31 for low, high in spans)
    assert wide or (fits and max(reduced, wanted.out.size) < 2**32)


@settings(max_examples=examples(500), deadline=None)
@given(st.data())
def test_what_is_staged_fits_shared_memory(data):
    kind, size = data.draw(st.sampled_from(KINDS)), st.integers(1, 5000)
    shape = (data.draw(st.one_of(st.just(1), size)), data.draw(size), data.draw(size))
    item = DataType[kind].itemsize
    wanted = problem(shape, (1,), kind, phase=item * data.draw(st.integers(0, 15)) % 16)
    assume(item <= 8 or wanted.x.phase == 0)
    plan = plan_reduce(wanted)
    a = plan.arguments
    if plan.variant == "tiles":
        bytes_of_tile = a["tile_slabs"] * a["rows"] * a["row_bytes"]
        assert 16 + wanted.x.phase + bytes_of_tile <= 32 * KIB  # with what its sector begins with
        assert 16 + bytes_of_tile <= a["stage_bytes"] <= plan.shared_bytes
    if plan.variant == "periods":
        vector = int(dict(plan.kernel.defines)["CK_WIDTH"])
        assert a["groups"] * a["span"] <= THREADS
        assert (a["ranges"] - 1) * a["width"] < a["columns"] <= a["ranges"] * a["width"]
        if a["period"]:  # turns of all threads are whole rows
            assert (a["ranges"], a["step"]) == (1, a["groups"] * a["span"])
            assert a["span"] * vector == a["period"] * a["columns"] * item
        else:  # wherever in a vector a row starts; rows of a thread start at the same place in one
            assert (a["width"] + vector // item - 1) * item <= a["span"] * vector
            assert a["step"] == a["groups"]
            assert a["groups"] * a["columns"] * item % vector == 0
