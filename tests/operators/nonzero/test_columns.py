"""Inputs that are contiguous along another axis than the last, which has very many elements."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern._dtypes import DataType
from cudakern._layout import Layout
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.operators.nonzero.plan import NonzeroProblem, plan_nonzero
from cudakern.simulator import engine
from tests.helpers.bound import forget
from tests.helpers.checked import PLAIN_AND_CHECKED
from tests.helpers.nonzero import assert_found, expected_coordinates, random_elements
from tests.helpers.places import put

#: Shapes in memory before the last two axes change places. A tile of 65536 elements has room for 2
#: to 8 of the rows that a vector has elements of.
CASES = [
    ((5000, 32), "uint8"),
    ((9000, 48), "bool"),
    ((20_001, 16), "int8"),
    ((9000, 24), "float16"),
    ((17_000, 12), "float32"),
    ((3, 5000, 32), "uint8"),
    ((2, 20_000, 8), "int16"),
]


@PLAIN_AND_CHECKED
@pytest.mark.parametrize(("shape", "dtype"), CASES, ids=str)
def test_a_tile_uses_some_rows_of_its_vectors(place, shape, dtype):
    x = random_elements(np.random.default_rng(len(shape)), shape, dtype, 0.03)
    turned = x.swapaxes(-1, -2)
    result = ck.nonzero_coordinates(put(x, place).swapaxes(-1, -2))
    assert_found(result, expected_coordinates(turned, np.uint32), turned.shape)


@PLAIN_AND_CHECKED
@pytest.mark.parametrize(("shape", "dtype"), [((5000, 16), "float32"), ((9000, 24), "float16")])
def test_dense_tiles_follow_each_other_in_a_block(monkeypatch, shape, dtype):
    # More places than there is room for: warps read masks for as long as they write rows, while
    # others make the masks of the tile after the next one.
    monkeypatch.setattr(nonzero_plan, "TILE_BLOCKS", 1)
    monkeypatch.setattr(engine, "MULTIPROCESSORS", 1)
    forget(monkeypatch)
    x = np.ones(shape, dtype)
    x[:, ::3] = -0.0
    expected = expected_coordinates(x.T, np.uint32)
    for _ in range(3):
        assert_found(ck.nonzero_coordinates(x.T), expected, x.T.shape)


@pytest.mark.parametrize(("shape", "dtype"), CASES, ids=str)
def test_the_cases_are_read_in_parts(shape, dtype):
    turned = np.empty(shape, dtype).swapaxes(-1, -2)
    x = Layout(turned.shape, turned.strides, turned.itemsize)
    coordinates = Layout((x.size, turned.ndim), (4 * turned.ndim, 4), 4)
    plan = plan_nonzero(NonzeroProblem(x, coordinates, DataType.from_numpy(turned.dtype)))
    assert plan.variant == "parts"
