"""gather against NumPy: every dtype, index type, mode and memory layout, bytes equal."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
from tests.helpers import oracle
from tests.helpers.checked import PLAIN, PLAIN_AND_CHECKED, PLAIN_UNLESS_THOROUGH
from tests.helpers.oracle import MODES
from tests.helpers.places import POISON, Buffer, get, put, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering, examples, sample
from tests.helpers.strategies import (
    COPIED,
    INDEX_DTYPES,
    OF_EACH_WIDTH,
    fill_values,
    gather_shapes,
    lookups,
    memory_layouts,
    random_bytes,
    random_indices,
)
from tests.operators.calls import assert_gives

pytestmark = [PLAIN_AND_CHECKED, pytest.mark.device]

KINDS = covering(INDEX_DTYPES, OF_EACH_WIDTH, MODES)


@pytest.mark.device(on=False)  # of kernels
@PLAIN_UNLESS_THOROUGH
@each(("index_dtype", "dtype", "mode"), sample(KINDS, 2))
@settings(max_examples=examples(60))
@given(data=st.data())
def test_gather_equals_numpy(place, index_dtype, dtype, mode, data):
    draw = data.draw
    shape, axis, index_shape = draw(gather_shapes(), "shapes")
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(draw(st.integers(0, 2**32), "seed"))
    x_values = random_bytes(rng, shape, dtype)
    index_values = random_indices(rng, index_shape, index_dtype, shape[axis])
    fill = draw(st.sampled_from(fill_values(dtype)), "fill")
    options = oracle.options(mode, fill)

    x_layout = draw(memory_layouts(shape, dtype.itemsize), "x layout")
    index_layout = draw(memory_layouts(index_shape, index_values.itemsize), "indices layout")
    x = x_layout.holding(x_values, place)
    indices = index_layout.holding(index_values, place)
    # Broadcast dimensions keep the last value written: read back what the arrays hold.
    expected = oracle.gather(get(x), get(indices), axis, mode, fill)
    negative_axis = axis - len(shape) if draw(st.booleans(), "negative axis") else axis
    call = partial(ck.gather, x, indices, negative_axis, **options)
    assert_gives(expected, place, draw, call)


@PLAIN_UNLESS_THOROUGH
@each("dtype", COPIED)
def test_gather_every_dtype(place, dtype):
    rng = np.random.default_rng(7)
    x = random_bytes(rng, (5, 7, 4), dtype)
    for index_dtype, mode in lookups(KINDS, dtype):
        indices = random_indices(rng, (3, 2), index_dtype, 7)
        for fill in fill_values(dtype):
            result = ck.gather(put(x, place), put(indices, place), 1, **oracle.options(mode, fill))
            assert same_bytes(result, oracle.gather(x, indices, 1, mode, fill))


def test_gather_takes_lists_and_python_scalars():
    assert ck.gather([10, 20, 30], [2, 0, -1, 7]).tolist() == [30, 10, 30, 30]
    assert ck.gather([10, 20, 30], 1).tolist() == 20
    assert ck.gather([[1.5, 2.5]], [], 1).shape == (1, 0)


OF_NOTHING = [((0, 4), 1, (3,)), ((3, 0), 0, (2,)), ((3, 4), 1, (0,)), ((2, 0, 3), 1, (0, 2))]


@each(("shape", "axis", "index_shape"), OF_NOTHING)
def test_gather_of_nothing_is_empty(place, shape, axis, index_shape):
    x, indices = put(np.empty(shape, np.float32), place), put(np.full(index_shape, 99), place)
    for mode in ("clamp", "wrap", "fill", "raise"):
        result = ck.gather(x, indices, axis, mode=mode)
        assert result.shape == x.shape[:axis] + index_shape + x.shape[axis + 1 :]


def test_gather_from_an_empty_axis_fills_or_raises(place):
    x = put(np.empty((2, 0), np.float32), place)
    indices = put(np.array([0, -1]), place)
    filled = ck.gather(x, indices, 1, mode="fill", fill_value=3)
    assert get(filled).tolist() == [[3, 3], [3, 3]]
    for mode in ("clamp", "wrap", "raise"):
        with pytest.raises(ck.IndexRangeError, match=r"x.shape\[1\] must be at least 1"):
            ck.gather(x, indices, 1, mode=mode)


def test_gather_raise_names_the_first_bad_index_and_leaves_out_alone(place):
    x = put(np.arange(6, dtype=np.int16), place)
    values = np.zeros((40, 50), np.int64)
    values[7, 9], values[7, 11], values[30, 2] = -7, 6, 10**12
    indices = put(values, place)
    out = put(np.full((40, 50), POISON, np.int16), place)
    with pytest.raises(ck.IndexRangeError) as error:
        ck.gather(x, indices, mode="raise", out=out)
    expected = "gather: indices[7, 9] must lie in [-6, 5] for x.shape[0]=6; got -7"
    assert str(error.value) == expected
    assert isinstance(error.value, IndexError)
    assert (get(out) == POISON).all()
    again = ck.gather(x, put(values[:7], place), mode="raise")  # nothing is broken by the error
    assert same_bytes(again, oracle.gather(get(x), values[:7], 0))


def test_gather_in_64_bit_offsets(place):
    # An axis of 2^33 elements that all lie in one place: 64-bit positions without the memory.
    buffer = Buffer(np.arange(8, dtype=np.uint8), place)
    x = buffer.view((2**33, 2), np.uint8, strides=(0, 1), offset=3)
    indices = np.array([0, 2**33 - 1, 2**33, -1, -(2**40)], np.int64)
    result = get(ck.gather(x, put(indices, place)))
    assert result.tolist() == [[3, 4]] * 5
    with pytest.raises(ck.IndexRangeError, match=f"got {2**33}$"):
        ck.gather(x, put(indices, place), mode="raise")


@PLAIN
def test_gather_in_64_bit_offsets_reads_far_apart():
    # 5 GB of address space of which three pages are touched.
    x = np.lib.stride_tricks.as_strided(np.zeros(5 * 2**30, np.uint8), (5, 16), (2**30, 1))
    x[...] = np.arange(80, dtype=np.uint8).reshape(5, 16)
    indices = np.array([4, 0, -1, 2], np.int32)
    assert same_bytes(ck.gather(x, indices), x[[4, 0, 4, 2]])
    assert same_bytes(ck.gather(x[:, ::-1], indices), np.ascontiguousarray(x[[4, 0, 4, 2], ::-1]))


def test_gather_poisoned_result_of_many_blocks(place):
    rng = np.random.default_rng(3)
    x = random_bytes(rng, (1000, 48), np.float32)
    indices = random_indices(rng, (30_000,), np.int32, 1000)
    out = put(np.full((30_000, 48), POISON, np.float32), place)
    ck.gather(put(x, place), put(indices, place), out=out)
    positions = np.where(indices < 0, indices.astype(np.int64) + 1000, indices)
    assert same_bytes(out, x[np.clip(positions, 0, 999)])
