"""Merging of dimensions, division constants, overlap: pure arithmetic, held against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cudakern.operators.arrays.native import share_memory
from cudakern.values.argument_struct import prepare_division
from cudakern.values.layout import (
    Dimension,
    Layout,
    alignment,
    merge,
    order_by,
    overlaps_itself,
    packed_strides,
)
from tests.helpers.rows import each
from tests.helpers.samples import examples


def hard_numerators(divisors, top):
    """For each divisor, numerators around its multiples and at the ends of the range."""
    multiples = top // divisors
    return [np.minimum(v, top) for v in (
        divisors, divisors - 1, divisors * 2 - 1, multiples * divisors, multiples * divisors - 1,
        np.full_like(divisors, top), np.full_like(divisors, top - 1), divisors * 0, divisors // 2,
    )]  # fmt: skip


def test_division_in_32_bits():
    rng, powers = np.random.default_rng(11), 2 ** np.arange(33, dtype=np.uint64)
    large = rng.integers(2**16, 2**32, 100_000, dtype=np.uint64)
    small = np.arange(1, 2**16, dtype=np.uint64)
    divisors = np.concatenate([small, large, powers[:-1], powers[1:] - np.uint64(1)])
    prepared = np.array([prepare_division(int(d), 32) for d in divisors], np.uint64)
    random = rng.integers(0, 2**32, divisors.size, dtype=np.uint64)
    for numerators in (*hard_numerators(divisors, np.uint64(2**32 - 1)), random):
        high = numerators * prepared[:, 1] >> np.uint64(32)
        total = high + (numerators - high >> prepared[:, 2])
        assert total.max() < 2**32, "the sum must fit 32 bits"
        assert (total >> prepared[:, 3] == numerators // divisors).all()


@given(st.integers(1, 2**64 - 1), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8))
@settings(max_examples=examples(500))
def test_division_in_64_bits(divisor, numerators):
    numerators += [divisor, divisor - 1, 2**64 - 1, (2**64 - 1) // divisor * divisor]
    _, multiplier, first, second = prepare_division(divisor, 64)
    assert multiplier < 2**64
    for n in numerators:
        high = n * multiplier >> 64
        assert high + (n - high >> first) < 2**64
        assert (high + (n - high >> first)) >> second == n // divisor


def test_merge_drops_ones_and_chains():
    dimensions = [
        Dimension(2, (120, 0)),
        Dimension(1, (7, 9)),
        Dimension(3, (40, 0)),
        Dimension(10, (4, 0)),
    ]
    assert merge(dimensions) == (Dimension(60, (4, 0)),)
    # One operand that does not chain keeps the dimensions apart for all.
    dimensions[3] = Dimension(10, (4, 4))
    assert merge(dimensions) == (Dimension(6, (40, 0)), Dimension(10, (4, 4)))


@st.composite
def dimension_lists(draw):
    rank = draw(st.integers(0, 5))
    stride = st.sampled_from([0, 1, 2, 4, 8, 12, -4, -8, 24])
    return [Dimension(draw(st.integers(1, 4)), (draw(stride), draw(stride))) for _ in range(rank)]


def offsets(dimensions):
    """All (offset, offset) pairs in row-major order."""
    return [
        tuple(sum(c * d.strides[k] for c, d in zip(at, dimensions, strict=True)) for k in (0, 1))
        for at in itertools.product(*(range(d.size) for d in dimensions))
    ]


@given(dimension_lists())
def test_merge_keeps_order_and_offsets(dimensions):
    merged = merge(dimensions)
    assert offsets(merged) == offsets(dimensions)
    assert merge(merged) == merged
    assert all(d.size > 1 for d in merged)


@given(dimension_lists())
def test_order_by_keeps_the_set_of_offsets(dimensions):
    ordered = order_by(dimensions, 1)
    assert sorted(offsets(ordered)) == sorted(offsets(dimensions))
    magnitudes = [abs(d.strides[1]) for d in ordered]
    assert magnitudes == sorted(magnitudes, reverse=True)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(-12, 12)), max_size=4),
    st.sampled_from([1, 2, 4]),
)
@settings(max_examples=examples(500))
def test_overlaps_itself_is_exact_for_small_layouts(dimensions, itemsize):
    shape = [n for n, _ in dimensions]
    strides = [s for _, s in dimensions]
    seen = [
        sum(c * s for c, s in zip(at, strides, strict=True)) + byte
        for at in itertools.product(*map(range, shape))
        for byte in range(itemsize)
    ]
    assert overlaps_itself(shape, strides, itemsize) == (len(set(seen)) < len(seen))


def test_overlaps_itself_knows_interleaved_layouts_and_ends():
    assert not overlaps_itself((3, 2), (2, 3))
    assert overlaps_itself((4, 2), (2, 6))
    assert overlaps_itself((2,), (3,), 4)
    assert overlaps_itself((2, 2), (5, 2), 4)
    assert not overlaps_itself((2, 2), (6, 3), 3)
    assert not overlaps_itself((2**31, 2**31), (2**31, 1))
    assert not overlaps_itself((0, 5), (0, 0))
    assert overlaps_itself((40,) * 8, (997, 991, 983, 977, 971, 967, 953, 947))


def test_overlap_that_takes_long_to_decide_counts():
    """NumPy's documentation has this example; no byte is in both."""
    a = Layout((1049,) * 3, (36674, 61119, 85569), 1)
    b = Layout((1049, 1049, 1), (12223, 12224, 1), 1)
    assert share_memory(a, 2**40, b, 2**40 + 64_023_025)


@each(
    ("offsets", "expected"),
    [((), 16), ((0,), 16), ((32, 48), 16), ((8,), 8), ((-4,), 4), ((16, 6), 2), ((3, 16), 1)],
)
def test_alignment_is_the_widest_common_power_of_two(offsets, expected):
    assert alignment(*offsets) == expected


def test_layout_span_covers_reversed_dimensions():
    layout = Layout((3, 4), (-16, 4), 4)
    assert layout == Layout((3, 4), (-16, 4), 4, 0)  # which lies on a multiple of 16
    assert layout.span == (-32, 16)
    assert Layout((3, 0), (8, 4), 4).span == (0, 0)
    assert packed_strides((2, 3, 4), 2) == (24, 8, 2)


def test_layout_last_keeps_the_last_dimensions():
    layout = Layout((5, 6, 3, 4), (999, 0, -16, 4), 4, 12)
    assert layout.last(2) == Layout((3, 4), (-16, 4), 4, 12)
    assert layout.last(4) == layout
    assert layout.last(0) == Layout((), (), 4, 12)


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from([-4, 0, 2, 4, 8, 12, 16, 24])), max_size=4
    ),
    st.sampled_from([1, 2, 4]),
)
@settings(max_examples=examples(500))
def test_dense_bytes_are_the_layouts_own(dimensions, itemsize):
    shape, strides = [n for n, _ in dimensions], [s for _, s in dimensions]
    touched = {
        sum(c * s for c, s in zip(at, strides, strict=True)) + byte
        for at in itertools.product(*map(range, shape))
        for byte in range(itemsize)
    }
    own = itemsize * math.prod(n for n, s in dimensions if s != 0)  # repeated elements count once
    dense = touched == set(range(own))
    assert Layout(tuple(shape), tuple(strides), itemsize).dense_bytes == (own if dense else 0)
