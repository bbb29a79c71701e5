"""Coordinates of what is not zero, in row-major order of the whole, for any grid of chunks."""

from __future__ import annotations

from math import prod

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
import cudakern.dask as cd
from cudakern.operators.nonzero import function
from tests.helpers.chunked import chunked
from tests.helpers.nonzero import expected_coordinates, random_elements
from tests.helpers.rows import each
from tests.helpers.samples import examples, is_thorough
from tests.helpers.strategies import DTYPES

KINDS = DTYPES if is_thorough() else ["bool", "float32"]


@st.composite
def arrays(draw):
    """Draw an array, and a dask array that holds it."""
    rank = draw(st.sampled_from([0, 1, 1, 2, 2, 3, 4]))
    longest = {0: 1, 1: 50, 2: 12, 3: 6, 4: 4}[rank]
    size = st.sampled_from([*range(1, longest + 1)] * 2 + [0])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    density = draw(st.sampled_from([0, 0.1, 0.5, 1]))
    kind = draw(st.sampled_from(KINDS))
    x = random_elements(rng, tuple(draw(size) for _ in range(rank)), kind, density)
    return x, draw(chunked(x))


@settings(max_examples=examples(60))
@given(arrays(), st.data())
def test_coordinates_of_any_chunks(pair, data):
    x, lazy = pair
    right = expected_coordinates(x)
    size = data.draw(st.sampled_from([None, 0, 1, 3, len(right), len(right) + 2]))
    kind = data.draw(st.sampled_from(["uint32", "int64"]))
    rows = x.size if size is None else size
    found = cd.nonzero_coordinates(lazy, size=size, dtype=kind)
    assert (found.count.shape, found.count.dtype) == ((1,), np.uint32)
    assert (found.coordinates.shape, found.coordinates.dtype) == ((rows, max(1, x.ndim)), kind)
    count, coordinates = dask.compute(*found)
    assert count.tolist() == [len(right)]
    assert coordinates[: len(right)].tolist() == right[:rows].tolist()
    assert (coordinates.shape, coordinates.dtype) == ((rows, max(1, x.ndim)), kind)
    table = cd.argwhere(lazy)
    assert table.shape[1:] == (x.ndim,)
    assert np.isnan(table.shape[0])
    assert table.dtype == np.int64
    computed = table.compute()
    assert (computed.shape, computed.dtype) == ((len(right), x.ndim), np.int64)
    assert computed.tolist() == right[:, : x.ndim].tolist()


@settings(max_examples=examples(40))
@given(arrays().filter(lambda pair: pair[0].ndim), st.data())
def test_one_array_for_each_dimension(pair, data):
    x, lazy = pair
    right = expected_coordinates(x)
    axes = cd.nonzero(lazy)
    assert [axis.compute().tolist() for axis in axes] == right.T.tolist()
    size = data.draw(st.integers(0, len(right) + 2))
    fill = data.draw(st.sampled_from([-1, -1, 2**62]))
    padded = np.full((size, x.ndim), fill)
    padded[: len(right)] = right[:size]
    axes = cd.nonzero(lazy, size=size, fill_value=fill)
    assert [axis.shape for axis in axes] == [(size,)] * x.ndim
    found = dask.compute(*axes)
    assert [axis.dtype for axis in found] == [np.int64] * x.ndim
    assert [axis.tolist() for axis in found] == padded.T.tolist()


@each("shape", [(3, 400), (1, 2, 500, 6), (2, 2, 2, 2, 2, 30)])
def test_chunks_stay_about_as_large(shape, monkeypatch):
    """Rows that are all of x would fit into no memory where x does not."""
    sizes = []
    search = ck.argwhere
    monkeypatch.setattr(
        function, "argwhere", lambda chunk: sizes.append(chunk.size) or search(chunk)
    )
    chunks = tuple(max(1, n // 4) for n in shape)
    assert len(cd.argwhere(da.ones(shape, chunks=chunks, dtype=np.int8)).compute()) == prod(shape)
    assert sum(sizes) == prod(shape)
    assert max(sizes) <= prod(chunks)
    assert len(sizes) <= 2 * prod(shape) / prod(chunks)


def test_consecutive_chunks_are_taken_as_they_are():
    for shape, chunks in {(9, 4): (2, 4), (1, 9): (1, 2), (3, 4): (1, 2), (7,): (2,)}.items():
        x = da.ones(shape, chunks=chunks)
        assert not [layer for layer in cd.argwhere(x).dask.layers if "rechunk" in layer]


def test_more_elements_than_uint32_holds():
    x = da.zeros((2**17, 2**16), chunks=2**12, dtype=np.int8)
    with pytest.raises(ck.ArgumentError, match="dtype must be int64"):
        cd.nonzero_coordinates(x, size=3)
    found = cd.nonzero_coordinates(x, size=3, dtype="int64")
    assert (found.count.dtype, found.coordinates.shape) == (np.uint64, (3, 2))
