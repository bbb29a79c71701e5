"""What holds for every plan of a reduction: no engine involved."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cudakern.engines.base import THREADS
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.operators.reduce import plan as reduce_plan
from cudakern.operators.reduce.plan import (
    BLOCKS,
    COUNTER_BYTES,
    GROUP_BLOCKS,
    MAX_SHARES,
    MIN_SHARE_BYTES,
    plan_reduce,
)
from cudakern.operators.reduce.types import ARG_FUNCTIONS
from tests.helpers.strategies import memory_layouts
from tests.operators.reduce.plans import arguments_of, must_be_taken, problem, taken

KIB = 1024
KINDS = ["INT8", "FLOAT16", "FLOAT32", "INT64", "COMPLEX64", "COMPLEX128"]


def sizes(most):
    likely = st.sampled_from([n for n in (1, 2, 4, 8, 32) if n <= most])
    return st.one_of(st.integers(1, most), st.integers(1, min(40, most)), likely)


@st.composite
def problems(draw, most):
    """Draw a function of an x of so many elements at most, mostly of a few packed dimensions."""
    kind = draw(st.sampled_from(KINDS))
    function = draw(st.sampled_from(["SUM", "ARGMAX"] if "COMPLEX" not in kind else ["SUM"]))
    packed, rank = draw(st.booleans()), draw(st.sampled_from([1, 2, 2, 3, 3, 4, 8]))
    shape = []
    for _ in range(rank):
        shape.insert(draw(st.integers(0, len(shape))), draw(sizes(most // prod(shape))))
    axes = tuple(k for k in range(rank) if draw(st.booleans()))
    made = problem(tuple(shape), axes, kind, function)
    item = made.x.itemsize
    if packed:
        phase = draw(st.sampled_from([0, min(item, 8)]))
        return problem(tuple(shape), axes, kind, function, phase=phase)
    x = draw(memory_layouts(shape, item, aligned=True))
    out = draw(memory_layouts(made.out.shape, made.out.itemsize, output=True, aligned=True))
    strides = {"strides": x.strides, "out": out.strides, "phase": x.offset % 16}
    return problem(tuple(shape), axes, kind, function, **strides)


@settings(max_examples=300, deadline=None)
@given(problems(50_000))
@example(problem((3000, 33), (0,)))  # 24 blocks share them
@example(problem((700, 1030), (0,), "INT64", "ARGMAX"))  # two ranges
@example(problem((2000, 64), (0,), "FLOAT16"))
@example(problem((70, 1024), (1,)))
@example(problem((3, 40, 200), (0, 2), function="ARGMAX"))
def test_every_element_is_taken_once_for_its_result(given):
    found, wanted = taken(given, plan_reduce(given)), must_be_taken(given)
    count = 3 if given.reduction.function in ARG_FUNCTIONS else 2  # else no place counts
    found, wanted = (rows[np.lexsort(rows[:, :count].T)] for rows in (found, wanted))
    np.testing.assert_array_equal(found[:, :count], wanted[:, :count])


@settings(max_examples=500, deadline=None)
@given(problems(2**34))
@example(problem((2048, 200_000), (1,)))
@example(problem((2049, 200_000), (1,)))
def test_blocks_share_results_within_the_limits(given):
    plan = plan_reduce(given)
    a, launch = arguments_of(plan), plan
    item, wide = given.x.itemsize, launch.kernel.entry.endswith("_o64")
    state = given.reduction.state_bytes(wide=wide)
    width = int(dict(launch.kernel.defines).get("CK_WIDTH", item))
    # Groups of results, bytes of x and states for each: what blocks share.
    groups, nbytes, states = {
        "stream": lambda: (a.rows, a.reduced * item, 1),
        "warps": lambda: (-(-a.rows // 8), 8 * a.reduced * item, 8),
        "tiles": lambda: (-(-a.slabs // a.tile_slabs), a.tile_bytes, 0),
        "columns": lambda: (prod(given.out.shape) // a.columns * a.ranges,
                            a.rows * a.width * item, a.width),
        "vectors": lambda: (-(-a.units // a.width), a.width * a.length * width,
                            a.width * width // item),
        "strided": lambda: (-(-a.units // a.width), a.width * a.length * item, a.width),
    }[plan.variant]()  # fmt: skip
    assert launch.grid == (groups * a.splits, 1, 1)
    assert launch.grid[0] < 2**31
    assert launch.shared_bytes <= 48 * KIB
    assert (plan.workspace > 0) == (a.splits > 1)
    if a.splits > 1:
        folds = -(-a.splits // GROUP_BLOCKS)
        counters = -(-a.splits // THREADS) if plan.variant == "stream" else folds
        counters += counters > 1
        assert groups * counters <= COUNTER_BYTES // 4  # that count arrivals
        columns = plan.variant == "columns"
        least = reduce_plan.COLUMN_MIN_SHARE_BYTES if columns else MIN_SHARE_BYTES
        assert nbytes // a.splits >= least
        assert launch.grid[0] <= (8 * BLOCKS if plan.variant == "stream" else MAX_SHARES)
        room = plan.workspace - COUNTER_BYTES
        assert room >= max(64 * KIB, groups * (a.splits + folds) * states * state)
        assert room & (room - 1) == 0
        # Engines tell workspaces by their sizes: none is that of another operator.
        slots = plan.workspace // 8 - nonzero_plan.HEADER_WORDS
        assert nonzero_plan.slots_for(slots) != slots
    spans = given.x.span, given.out.span
    fits = all(low >= -(2**31) and high <= 2**31 for low, high in spans)
    assert wide or (fits and max(a.reduced, given.out.size) < 2**32)


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_what_is_staged_fits_shared_memory(data):
    kind, size = data.draw(st.sampled_from(KINDS)), st.integers(1, 5000)
    shape = (data.draw(st.one_of(st.just(1), size)), data.draw(size), data.draw(size))
    item = problem((1,), kind=kind).x.itemsize
    given = problem(shape, (1,), kind, phase=item * data.draw(st.integers(0, 15)) % 16)
    assume(given.x.itemsize <= 8 or given.x.phase == 0)
    plan = plan_reduce(given)
    a = arguments_of(plan)
    before = 16 + given.x.phase  # of the sector that x starts in
    if plan.variant == "tiles":
        assert before + a.tile_bytes <= 32 * KIB < plan.shared_bytes
        assert a.tile_bytes == a.tile_slabs * a.slab_bytes
    if plan.variant == "columns":
        vector = int(dict(plan.kernel.defines)["CK_WIDTH"])
        assert plan.shared_bytes <= 48 * KIB
        assert a.groups * a.span <= THREADS
        assert a.parts * a.across <= THREADS
        assert a.across in {a.width, THREADS}
        assert (a.ranges - 1) * a.width < a.columns <= a.ranges * a.width
        if a.period:  # turns of all threads are whole rows
            assert (a.ranges, a.step) == (1, a.groups * a.span)
            assert a.span * vector == a.period * a.columns * item
        else:  # wherever in a vector a row starts; rows of a thread start at the same place in one
            assert (a.width + vector // item - 1) * item <= a.span * vector
            assert a.step == a.groups
            assert a.groups * a.columns * item % vector == 0
