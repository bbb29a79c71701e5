"""The 8-bit floats of ml_dtypes in the functions that copy: every pattern of bits survives."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import cudakern as ck
from tests.helpers import oracle
from tests.helpers.checked import PLAIN_AND_CHECKED_ONCE
from tests.helpers.gather_nd import gather_nd
from tests.helpers.one_hot import expected
from tests.helpers.places import POISON, put, same_bytes

pytestmark = PLAIN_AND_CHECKED_ONCE

FLOAT8 = [getattr(ml_dtypes, name) for name in dir(ml_dtypes) if name.startswith("float8_")]


def poisoned(shape, dtype, place):
    return put(np.full(shape, POISON, np.uint8).view(dtype), place)


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("mode", oracle.MODES)
def test_gather_copies_every_pattern(place, dtype, mode):
    x = np.arange(256, dtype=np.uint8).view(dtype).reshape(64, 4)
    indices = np.append(np.arange(64)[::-1], [-1, 64, -65, 200])
    for fill in (2, np.nan, x[3, 1]):
        given = oracle.options(mode, fill)
        out = poisoned((68, 4), dtype, place)
        assert ck.gather(put(x, place), put(indices, place), out=out, **given) is out
        assert same_bytes(out, oracle.gather(x, indices, 0, mode, fill))
        result = ck.gather_nd(put(x, place), put(indices[:, None], place), **given)
        assert same_bytes(result, gather_nd(x, indices[:, None], 0, mode, fill))


@pytest.mark.parametrize("dtype", FLOAT8)
def test_one_hot_writes_every_pattern(place, dtype):
    indices = np.array([[0, 4], [-1, 9]])
    for off in range(0, 256, 17):
        values = np.array([off, 255 - off], np.uint8).view(dtype)
        for given in (put(values, place), tuple(values)):
            out = poisoned((2, 2, 5), dtype, place)
            assert ck.one_hot(put(indices, place), 5, values=given, out=out) is out
            assert same_bytes(out, expected(indices, 5, 2, values))


@pytest.mark.parametrize("dtype", FLOAT8)
def test_one_hot_by_the_name_of_a_dtype(place, dtype):
    indices = put(np.array([1, 0]), place)
    result = ck.one_hot(indices, 2, values=(1, 2), dtype=dtype.__name__)
    assert same_bytes(result, np.array([[1, 2], [2, 1]]).astype(dtype))


def test_all_of_them_are_there():
    assert len(FLOAT8) == 8
