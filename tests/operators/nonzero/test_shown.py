"""What a result of nonzero_coordinates shows of itself."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.places import HOST, get, put
from tests.helpers.recorded_cupy import on_device, recorded
from tests.helpers.rows import each

LONG = "[0], [1], [2], ..., [61], [62], [63]"
DENSE = "[0, 1], [0, 2], [0, 3], ..., [4, 5], [4, 6], [4, 7]"


@each(
    ("x", "options", "count", "rows", "shape"),
    [
        ([0, 7, 5], {}, 2, "[1], [2]", (3, 1)),
        ([[0, 3], [5, 0]], {}, 2, "[0, 1], [1, 0]", (4, 2)),
        (np.ones(10), {}, 10, ", ".join(f"[{i}]" for i in range(10)), (10, 1)),
        (np.ones(11), {}, 11, "[0], [1], [2], ..., [8], [9], [10]", (11, 1)),
        (np.arange(40).reshape(5, 8), {}, 39, DENSE, (40, 2)),
        (np.arange(40).reshape(5, 8), {"size": 2}, "39, 2 of 39 kept", "[0, 1], [0, 2]", (2, 2)),
        (np.ones(275), {"size": 64}, "275, 64 of 275 kept", LONG, (64, 1)),
        (np.ones(64), {"size": 64}, 64, LONG, (64, 1)),
        (np.ones(64), {"size": 275}, 64, LONG, (275, 1)),
        ([1, 1], {"size": 0}, "2, 0 of 2 kept", "", (0, 1)),
        (3, {}, 1, "[0]", (1, 1)),
        (0, {}, 0, "", (1, 1)),
        (np.zeros((0, 3)), {}, 0, "", (0, 2)),
        (np.ones((1,) * 8), {}, 1, "[0, 0, 0, 0, 0, 0, 0, 0]", (1, 8)),
    ],
)
@each("dtype", ["uint32", "int64"])
def test_rows_that_are_defined(x, options, count, rows, shape, dtype):
    found = ck.nonzero_coordinates(x, dtype=dtype, **options)
    expected = (
        f"NonzeroCoordinates(count={count}, coordinates=[{rows}], shape={shape}, dtype={dtype})"
    )
    assert repr(found) == str(found) == f"{found}" == expected


def test_rows_beyond_the_count_are_not_shown():
    out = np.zeros(1, np.uint32), np.full((6, 2), 777, np.int64)[::2]
    found = ck.nonzero_coordinates([[0, 3, 0]], dtype="int64", out=out)
    assert "777" not in repr(found)
    assert "coordinates=[[0, 1]], shape=(3, 2), dtype=int64" in repr(found)


def test_it_stays_a_tuple():
    found = ck.nonzero_coordinates([0, 7, 5])
    count, coordinates = found
    assert (count is found.count, coordinates is found[1], len(found)) == (True, True, 2)
    assert found == (count, coordinates)
    assert repr(copy.copy(found)) == repr(found)
    other = found._replace(count=np.array([1], np.uint32))
    assert type(other) is ck.NonzeroCoordinates
    assert "count=1, coordinates=[[1]], shape" in repr(other)


@each("pair", [(1, 2), (None, np.zeros((2, 1))), (np.zeros(1), np.zeros((2, 1)))])
def test_what_is_no_result_is_shown_nevertheless(pair):
    assert repr(ck.NonzeroCoordinates(*pair)).startswith("NonzeroCoordinates(count=<")


@pytest.mark.device
def test_what_is_on_a_device_is_not_shown(place):
    found = ck.nonzero_coordinates(put(np.array([[0, 3], [5, 0]]), place))
    contents = "2, coordinates=[[0, 1], [1, 0]]" if place == HOST else "<on the device>"
    shown = f"NonzeroCoordinates(count={contents}, shape=(4, 2), dtype=uint32)"
    assert repr(found) == shown
    assert repr(found._replace(coordinates=get(found.coordinates))) == shown


def test_nothing_on_a_gpu_is_read(tmp_path):
    with recorded(tmp_path) as record:
        assert "<on the device>" in repr(ck.nonzero_coordinates(on_device(np.eye(2))))
    assert not record.synchronisations


def test_nothing_lazy_is_computed():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    from cudakern import dask as cd  # noqa: PLC0415

    x = da.from_array(np.array([[0, 3], [5, 0]]), chunks=1)
    shown = "NonzeroCoordinates(count=<dask.Array>, shape=(4, 2), dtype=uint32)"
    assert repr(cd.nonzero_coordinates(x.map_blocks(lambda _: 1 / 0, dtype=x.dtype))) == shown
