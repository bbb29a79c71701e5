"""argwhere and nonzero against NumPy, and calls of nonzero_coordinates that follow each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
from tests.helpers.checked import PLAIN, PLAIN_AND_CHECKED, PLAIN_UNLESS_THOROUGH
from tests.helpers.nonzero import (
    LARGEST,
    Outputs,
    any_x,
    expected_coordinates,
    is_nonzero,
    random_elements,
)
from tests.helpers.places import put, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering, examples, is_thorough
from tests.helpers.strategies import OF_EACH_WIDTH

pytestmark = [PLAIN_AND_CHECKED, pytest.mark.device]

CALLED = ["argwhere", "nonzero", "nonzero of a size"]
EXTREMES = [-(2**63), 2**63 - 1]


def assert_nonzero(x, size=None, fill_value=-1):
    """What nonzero returns for x is right, entry by entry."""
    rows = np.argwhere(is_nonzero(x))
    if size is None:
        result = ck.nonzero(x)
    else:
        result = ck.nonzero(x, size=size, fill_value=fill_value)
        filled = np.full((int(size), x.ndim), fill_value, np.int64)
        filled[: len(rows)] = rows[: int(size)]
        rows = filled
    assert type(result) is tuple
    assert len(result) == x.ndim
    for found, column in zip(result, rows.T, strict=True):
        assert same_bytes(found, column)


@pytest.mark.device(on=False)  # of kernels
@PLAIN_UNLESS_THOROUGH
@each(("dtype", "function"), covering(OF_EACH_WIDTH if is_thorough() else ["float16"], CALLED))
@settings(max_examples=examples(40))
@given(data=st.data())
def test_equals_numpy(place, dtype, function, data):
    draw = data.draw
    x = any_x(place, dtype, draw, LARGEST)
    if function == "argwhere":
        assert same_bytes(ck.argwhere(x), np.argwhere(is_nonzero(x)))
    elif x.ndim == 0:
        with pytest.raises(ck.DescriptorError):
            ck.nonzero(x)
    elif function == "nonzero":
        assert_nonzero(x)
    else:
        count = np.count_nonzero(is_nonzero(x))
        near = [0, 1, count // 2, max(count - 1, 0), count, count + 1, x.size, x.size + 1]
        size = draw(st.one_of(st.sampled_from(near), st.integers(0, 2 * x.size)), "size")
        fills = st.one_of(st.sampled_from([0, -1, 7, *EXTREMES]), st.integers(*EXTREMES))
        assert_nonzero(x, size, draw(fills, "fill_value"))


def assert_sizes(x, place, fill_value):
    count = np.count_nonzero(x)
    for size in {0, 1, count - 1, count, count + 1, x.size, x.size + 1, 2 * x.size + 7} - {-1}:
        assert_nonzero(put(x, place), size, fill_value)


@pytest.mark.device(on=False)  # of kernels
@each("fill_value", [0, -1, 7, *EXTREMES])
@each("shape", [(90,), (7, 30), (2, 3, 700)])
def test_every_size_and_fill_value(place, shape, fill_value):
    for density in (0, 0.3, 1):
        x = random_elements(np.random.default_rng(2), shape, "float32", density)
        assert_sizes(x, place, fill_value)


def test_rows_behind_the_count_of_many_tiles(place):
    x = random_elements(np.random.default_rng(3), (2, 9000), "float32", 0.3)
    for size in (1, np.count_nonzero(x) + 1000):
        assert_nonzero(put(x, place), size, 7)


def test_counts_first_where_all_coordinates_would_be_many(place, monkeypatch):
    monkeypatch.setattr("cudakern.operators.nonzero.plan.UNCOUNTED_BYTES", 999)
    for shape in ((), (5, 10), (70, 70), (2, 9000)):
        for density in (0, 0.3, 1):
            x = random_elements(np.random.default_rng(4), shape, "float32", density)
            assert same_bytes(ck.argwhere(put(x, place)), np.argwhere(x))
            if shape:
                assert_nonzero(put(x, place))


@each("value", [0.0, -0.0, 1.5])
def test_a_scalar_has_a_row_without_coordinates(place, value):
    result = ck.argwhere(put(np.array(value, np.float32), place))
    assert same_bytes(result, np.zeros((int(value != 0), 0), np.int64))


@each("shape", [(0,), (3, 0), (0, 2, 0), (0, 2**40)])
def test_nothing_to_search(place, shape):
    x = put(np.zeros(shape, np.float16), place)
    assert same_bytes(ck.argwhere(x), np.zeros((0, len(shape)), np.int64))
    assert_nonzero(x)
    for size in (0, 1, 5):
        assert_nonzero(x, size, 9)


@PLAIN
def test_takes_lists_and_any_integer():
    assert ck.argwhere([[0, 5], [6, 0]]).tolist() == [[0, 1], [1, 0]]
    assert ck.argwhere(3).shape == (1, 0)
    assert [found.tolist() for found in ck.nonzero([[0, 5], [6, 0]])] == [[0, 1], [1, 0]]
    (found,) = ck.nonzero([0, 1, 1], size=np.int8(3), fill_value=np.uint16(9))
    assert found.tolist() == [1, 2, 9]
    (found,) = ck.nonzero([], size=2)
    assert found.tolist() == [-1, -1]


def test_the_same_arrays_again_and_again(place):
    """A call finds nothing of an earlier one's, whatever that one's size and result were."""
    rng = np.random.default_rng(4)
    shapes = [(3, 12_000), (7,), (40_001,)]
    outputs = [Outputs.packed(shape, "uint32", place) for shape in shapes]
    written = [np.zeros((0, len(shape)), np.int64) for shape in shapes]
    for density in (0.5, 0, 1, 0.001, 0.9):
        for k, shape in enumerate(shapes):
            x = random_elements(rng, shape, "float32", density)
            ck.nonzero_coordinates(put(x, place), out=outputs[k].pair)
            found = expected_coordinates(x)
            written[k] = np.concatenate([found, written[k][len(found) :]])
            outputs[k].assert_hold(written[k], len(found))
