"""gather_nd at its edges: extremes of ranks, nothing to copy, bad indices."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers import gather_nd as oracle
from tests.helpers.checked import PLAIN_AND_CHECKED
from tests.helpers.gather_nd import random_tuples
from tests.helpers.oracle import MODES, options
from tests.helpers.places import get, put, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering, sample
from tests.helpers.strategies import random_bytes

pytestmark = [PLAIN_AND_CHECKED, pytest.mark.device]


ENDS = [
    ((2, 1, 3, 2, 2, 1, 2, 3), (2, 1, 3, 2, 2, 1, 2, 1), 7),
    ((2, 2, 1, 2, 2, 2, 4, 3), (2, 2, 1, 2, 2, 2, 3, 2), 6),
    ((2, 2, 1, 2, 2, 2, 4, 3), (2, 2, 1, 2, 2, 2, 1), 6),
    ((3, 2, 2, 1, 2, 3, 2, 2), (9, 8), 0),
    ((3, 2, 2, 1, 2, 3, 2, 2), (3, 5, 7), 1),
    ((3, 2, 2, 1, 2, 3, 2, 2), (2, 1, 2, 1, 2, 1, 2, 1), 0),
    ((3, 2, 5), (3,), 0),
    ((4,), (1,), 0),
]  # fmt: skip


@each(("case", "mode"), covering(ENDS, MODES))
def test_gather_nd_at_the_ends_of_ranks_and_tuple_sizes(place, case, mode):
    x, indices, batch_dims = case
    rng = np.random.default_rng(len(x) + indices[-1])
    values = random_bytes(rng, x, np.int16)
    tuples = random_tuples(rng, indices, np.int64, x[batch_dims : batch_dims + indices[-1]])
    expected = oracle.gather_nd(values, tuples, batch_dims, mode, 5)
    arrays = put(values, place), put(tuples, place)
    assert same_bytes(ck.gather_nd(*arrays, batch_dims, **options(mode, 5)), expected)


@each("bad", sample(range(8), 2))
def test_gather_nd_holds_each_component_against_its_own_axis(place, bad):
    extents = (2, 3, 4, 5, 6, 7, 2, 3)
    x = np.arange(np.prod(extents), dtype=np.int32).reshape(extents)
    inside = np.array([1, 2, 3, 4, 5, 6, 1, 2])
    beyond, below = inside.copy(), -inside
    beyond[bad], below[bad] = extents[bad], -extents[bad] - 1
    indices = np.stack([inside, beyond, -inside, below])
    for mode in MODES:
        expected = oracle.gather_nd(x, indices, 0, mode, -9)
        assert mode != "fill" or (expected == -9).tolist() == [False, True, False, True]
        result = ck.gather_nd(put(x, place), put(indices, place), **options(mode, -9))
        assert same_bytes(result, expected)


@each(
    ("shape", "index_shape", "batch_dims"),
    [
        ((3, 0), (2, 1), 0),
        ((3, 4, 0), (5, 2), 0),
        ((3, 4), (0, 2), 0),
        ((0, 4), (0, 1), 1),
        ((0,), (0, 1), 0),
        ((2, 0, 3), (2, 0, 1), 1),
        ((2, 3, 0), (2, 3, 5, 0), 2),
        ((3, 4), (0, 0), 0),
    ],
)
@each("mode", [*MODES, "raise"])
def test_gather_nd_of_nothing_is_empty(place, shape, index_shape, batch_dims, mode):
    x = np.empty(shape, np.float32)
    indices = np.full(index_shape, 99, np.int64)
    expected = index_shape[:-1] + shape[batch_dims + index_shape[-1] :]
    result = ck.gather_nd(put(x, place), put(indices, place), batch_dims, **options(mode, 0))
    assert result.shape == expected
    assert result.size == 0


@each(
    ("shape", "index_shape", "batch_dims", "axis", "count"),
    [((0, 4), (3, 1), 0, 0, 3), ((2, 5, 0, 3), (2, 3, 2), 1, 2, 12), ((0, 0), (2,), 0, 0, 2)],
)
def test_gather_nd_from_an_empty_axis_fills_or_raises(
    place, shape, index_shape, batch_dims, axis, count
):
    x = put(np.empty(shape, np.float32), place)
    indices = put(np.zeros(index_shape, np.int64), place)
    filled = ck.gather_nd(x, indices, batch_dims, mode="fill", fill_value=3)
    assert filled.shape == index_shape[:-1] + shape[batch_dims + index_shape[-1] :]
    assert (get(filled) == 3).all()
    message = rf"^gather_nd: x.shape\[{axis}\] must be at least 1 for {count} indices; got 0$"
    for mode in ("clamp", "wrap", "raise"):
        with pytest.raises(ck.IndexRangeError, match=message):
            ck.gather_nd(x, indices, batch_dims, mode=mode)
