"""Indices of all types: widened, held against their axes; negative ones that are out of range."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.operators.indexing.indices import widen
from tests.helpers import oracle
from tests.helpers.checked import PLAIN_AND_CHECKED
from tests.helpers.gather_nd import gather_nd
from tests.helpers.one_hot import expected as one_hot
from tests.helpers.places import Buffer, get, put, same_bytes
from tests.helpers.rows import each
from tests.helpers.strategies import INDEX_DTYPES

pytestmark = [PLAIN_AND_CHECKED, pytest.mark.device]

INVALID = {"negative": "invalid"}
FILL = {"mode": "fill", "fill_value": 99, **INVALID}


@each(("dtype", "wide"), [("int8", "int32"), ("uint16", "uint32")])
def test_narrow_indices_are_widened(place, dtype, wide):
    x, info = np.arange(300, dtype=np.int32), np.iinfo(dtype)
    indices = np.array([0, 1, 99, info.max, info.min], dtype)
    data, given = put(x, place), put(indices, place)
    expected = oracle.gather(x, indices.astype(wide), 0)
    assert same_bytes(ck.gather(data, given), expected)
    assert same_bytes(ck.gather_nd(data, given[:, None]), expected)
    hot = one_hot(indices.astype(wide), 100, 1, np.array([0, 1], np.float32))
    assert same_bytes(ck.one_hot(given, 100), hot)


@each("dtype", INDEX_DTYPES)
def test_raise_accepts_the_whole_range_only(place, dtype):
    info, extents = np.iinfo(dtype), (5, 3)
    x = np.arange(15, dtype=np.float32).reshape(extents)
    axes = [np.arange(-n if info.min else 0, n) for n in extents]
    good = np.stack(np.meshgrid(*axes), -1).astype(dtype)[::-1]
    data, given = put(x, place), put(good, place)
    result = ck.gather_nd(data, given, mode="raise")
    assert same_bytes(result, gather_nd(x, good))
    result = ck.gather(data, given[..., 0], mode="raise")
    assert same_bytes(result, oracle.gather(x, good[..., 0], 0))
    for k, (n, legal) in enumerate(zip(extents, axes, strict=True)):
        low = int(legal[0])
        for bad in sorted({low - 1, n, info.min, info.max} - set(legal.tolist())):
            if not info.min <= bad <= info.max:
                continue
            values = np.zeros((2, 2), dtype)
            values[1, k] = bad
            given = put(values, place)
            message = rf"must lie in \[{low}, {n - 1}\] for x.shape\[{k}\]={n}; got {bad}$"
            with pytest.raises(ck.IndexRangeError, match=rf"indices\[1, {k}\] {message}"):
                ck.gather_nd(data, given, mode="raise")
            with pytest.raises(ck.IndexRangeError, match=rf"indices\[1\] {message}"):
                ck.gather(data, given[:, k], k, mode="raise")


@each("dtype", ["int8", "int64"])
def test_raise_names_a_negative_index(place, dtype):
    x = put(np.arange(5, dtype=np.float32), place)
    indices = np.array([0, 4, -1, 5], dtype)
    text = "gather: indices[2] must lie in [0, 4] for x.shape[0]=5; got -1"
    with pytest.raises(ck.IndexRangeError) as caught:
        ck.gather(x, put(indices, place), mode="raise", **INVALID)
    assert str(caught.value) == text
    text = "gather_nd: indices[2, 0] must lie in [0, 4] for x.shape[0]=5; got -1"
    with pytest.raises(ck.IndexRangeError) as caught:
        ck.gather_nd(x, put(indices[:, None], place), mode="raise", **INVALID)
    assert str(caught.value) == text
    good = put(indices[:2], place)
    assert same_bytes(ck.gather(x, good, mode="raise", **INVALID), np.float32([0, 4]))


@pytest.mark.cudakern_checked(seeds=(None,))  # a checked launch walks along all of the axis
@each("extent", [2**31, 2**31 + 1, 2**32, 2**33])
@each("dtype", ["int32", "uint32"])
def test_axes_longer_than_indices_can_tell(place, dtype, extent):
    # Elements that all lie in one place: a long axis without the memory.
    x = Buffer(np.array([7], np.uint8), place).view((extent,), np.uint8, (0,))
    values = [0, 2**31 - 1] + ([-1, -(2**31)] if dtype == "int32" else [2**32 - 1, 2**31])
    indices = put(np.array(values, dtype), place)
    expected = [7 if 0 <= value < extent else 99 for value in values]
    assert get(ck.gather(x, indices, **FILL)).tolist() == expected
    assert get(ck.gather_nd(x, indices[:, None], **FILL)).tolist() == expected
    if 99 in expected:
        text = rf"indices\[2\] must lie in \[0, {extent - 1}\] .*; got {values[2]}$"
        with pytest.raises(ck.IndexRangeError, match=text):
            ck.gather(x, indices, mode="raise", **INVALID)


def test_depths_longer_than_indices_can_tell():
    # A result of such a depth takes gigabytes; its indices are those of gather.
    indices = np.array([-1], np.int32)
    assert widen(indices, (2**31,), "invalid") is indices
    assert widen(indices, (2**31 + 1,), "from_end") is indices
    assert same_bytes(widen(indices, (3, 2**31 + 1), "invalid"), np.array([-1], np.int64))


def test_warm_calls_know_what_a_negative_index_is(place):
    x, indices = put(np.arange(4, dtype=np.int32), place), put(np.array([-1, 9]), place)
    for _ in range(2):
        ends = ck.gather(x, indices, mode="fill", fill_value=99)
        assert get(ends).tolist() == [3, 99]
        assert get(ck.gather(x, indices, **FILL)).tolist() == [99, 99]
        assert get(ck.one_hot(indices, 2)).tolist() == [[0, 1], [0, 0]]
        assert get(ck.one_hot(indices, 2, **INVALID)).tolist() == [[0, 0], [0, 0]]
