"""Gather and gather_nd over dask arrays: the right bytes for every mode, type and way to cut."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
import cudakern.dask as cd
from tests.helpers import gather_nd as tuples
from tests.helpers import oracle
from tests.helpers.chunked import chunked
from tests.helpers.places import same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering, examples, is_thorough
from tests.helpers.strategies import (
    DTYPES,
    INDEX_DTYPES,
    OF_EACH_WIDTH,
    fill_values,
    random_bytes,
    random_indices,
)

#: One of each width, unless thorough. The last one has no zero.
KINDS = [*(DTYPES if is_thorough() else OF_EACH_WIDTH), "float8_e4m3fn", "float8_e8m0fnu"]

INDEX_KINDS = [*INDEX_DTYPES, "int8", "uint16"] if is_thorough() else ["int64", "uint64"]


@st.composite
def operands(draw, function):
    """Draw shapes, and data of any bits."""
    kind = draw(st.sampled_from(DTYPES if is_thorough() else ["float16", "complex128"]))
    size = st.sampled_from([1, 2, 3, 5, 9, 9, 0])
    few = st.integers(0, 2)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    index_kind = draw(st.sampled_from(INDEX_KINDS))
    shape = [draw(size) for _ in range(draw(st.integers(1, 3)))]
    if function == "gather":
        first, stop = (axis := draw(st.integers(0, len(shape) - 1))), axis + 1
        shape[axis] = max(1, shape[axis])
        wanted = tuple(draw(size) for _ in range(draw(few)))
        indices = random_indices(rng, wanted, index_kind, shape[axis])
    else:
        first = draw(st.integers(0, len(shape) - 1))
        stop = draw(st.integers(first, len(shape)))
        shape[first:stop] = [max(1, n) for n in shape[first:stop]]
        wanted = (*shape[:first], *[draw(size) for _ in range(draw(few))], stop - first)
        indices = tuples.random_tuples(rng, wanted, index_kind, shape[first:stop])
    x = random_bytes(rng, tuple(shape), kind)
    mode = draw(st.sampled_from(oracle.MODES))
    return x, indices, first, mode, draw(st.sampled_from(fill_values(kind)))


def given_as(data, x, indices):
    """Return both as dask arrays, or one as it is."""
    form = data.draw(st.sampled_from(["both", "both", "x", "x", "indices"]))
    lazy = data.draw(chunked(x)) if form != "indices" else x
    positions = data.draw(chunked(indices)) if form != "x" else indices
    if form == "x" and indices.dtype == np.int64 and indices.size and data.draw(st.booleans()):
        positions = indices.tolist()
    return lazy, positions


def assert_right(lazy, right):
    assert (lazy.shape, lazy.dtype) == (right.shape, right.dtype)
    assert same_bytes(lazy.compute(), right)


@settings(max_examples=examples(80))
@given(st.data())
def test_gather_of_any_chunks(data):
    x, indices, axis, mode, fill = data.draw(operands("gather"))
    lazy, positions = given_as(data, x, indices)
    result = cd.gather(lazy, positions, axis - data.draw(st.sampled_from([0, x.ndim])),
                       **oracle.options(mode, fill))  # fmt: skip
    assert_right(result, oracle.gather(x, indices, axis, mode, fill))


@settings(max_examples=examples(40))
@given(st.data())
def test_gather_nd_of_any_chunks(data):
    x, indices, batch, mode, fill = data.draw(operands("gather_nd"))
    lazy, positions = given_as(data, x, indices)
    result = cd.gather_nd(lazy, positions, batch, **oracle.options(mode, fill))
    assert_right(result, tuples.gather_nd(x, indices, batch, mode, fill))


@each("kind", KINDS)
def test_every_type_is_copied_bit_by_bit(kind):
    if kind not in DTYPES:
        kind = getattr(pytest.importorskip("ml_dtypes"), kind)
    x = random_bytes(np.random.default_rng(3), (9, 4), kind)
    indices = np.array([8, -9, 3, 77, 4], np.int64)
    fill = x[2, 1]
    lazy, positions = da.from_array(x, chunks=(2, 3)), da.from_array(indices, chunks=2)
    right = x[[8, 0, 3, 8, 4]]
    assert same_bytes(cd.gather(lazy, positions).compute(), right)
    right[3] = fill
    assert same_bytes(cd.gather(lazy, positions, mode="fill", fill_value=fill).compute(), right)


X = np.arange(60).reshape(5, 12)
OUTSIDE = {
    "gather: indices[3, 1] must lie in [-12, 11] for x.shape[1]=12; got 12":
        ("gather", (4, 2), (3, 1), 12, {"axis": 1}),
    "gather: indices[5] must lie in [-5, 4] for x.shape[0]=5; got -6":
        ("gather", (7,), (5,), -6, {}),
    "gather: indices[5] must lie in [0, 4] for x.shape[0]=5; got -1":
        ("gather", (7,), (5,), -1, {"negative": "invalid"}),
    "gather_nd: indices[2, 1, 1] must lie in [-12, 11] for x.shape[1]=12; got 13":
        ("gather_nd", (3, 2, 2), (2, 1, 1), 13, {}),
    "gather_nd: indices[4, 2, 0] must lie in [-12, 11] for x.shape[1]=12; got -13":
        ("gather_nd", (5, 3, 1), (4, 2, 0), -13, {"batch_dims": 1}),
}  # fmt: skip


@each(("message", "chunks", "kind"), covering(OUTSIDE, [1, 2, -1], ["int64", "int64", "int16"]))
def test_the_position_of_a_bad_index_is_that_in_all_indices(message, chunks, kind):
    function, shape, where, value, options = OUTSIDE[message]
    indices = np.zeros(shape, kind)
    lazy = da.from_array(X, chunks=(2, 5))
    positions = da.from_array(indices, chunks=chunks)
    good = getattr(cd, function)(lazy, positions, mode="raise", **options)
    right = oracle.gather if function == "gather" else tuples.gather_nd
    where_else = [value for name, value in options.items() if name != "negative"] or [0]
    assert same_bytes(good.compute(), right(X, indices, *where_else))
    indices[where] = value
    bad = getattr(cd, function)(
        lazy, da.from_array(indices, chunks=chunks), mode="raise", **options
    )
    with pytest.raises(ck.IndexRangeError) as caught:
        bad.compute()
    assert str(caught.value) == message


def test_an_empty_axis_is_refused_when_the_graph_is_built():
    x = da.zeros((0, 3), chunks=(1, 2))
    with pytest.raises(ck.IndexRangeError) as caught:
        cd.gather(x, [0, 1])
    assert str(caught.value) == "gather: x.shape[0] must be at least 1 for 2 indices; got 0"
    assert cd.gather(x, [0, 1], mode="fill", fill_value=7).compute().tolist() == [[7] * 3] * 2
    assert cd.gather(x, np.zeros((0, 2), np.int32), mode="raise").compute().shape == (0, 2, 3)


@each(("mode", "kind"), covering(["clamp", "wrap", "raise"], [np.int64, np.uint64]))
def test_nothing_is_selected_from_nothing(mode, kind):
    x = da.from_array(np.zeros((0, 0)), chunks=((0, 0), (0,)))
    result = cd.gather(x, np.array([0, 5], kind), mode=mode)
    assert result.compute().shape == result.shape == (2, 0)


def test_a_batch_is_cut_where_either_operand_is():
    x, indices = da.zeros((6, 3), chunks=(4, 2)), da.zeros((6, 5, 1), chunks=(3, 4, 1), dtype=int)
    assert cd.gather_nd(x, indices, 1).chunks == ((3, 1, 2), (4, 1))


def test_only_chunks_that_are_hit_are_needed():
    def poisoned(block, block_id=None):
        assert block_id[0] in {1, 3}, "not hit"
        return block

    x = da.from_array(np.arange(50), chunks=10).map_blocks(poisoned, dtype=np.int64)
    assert cd.gather(x, [12, 39, -11, 10]).compute().tolist() == [12, 39, 39, 10]
    square = x.reshape(10, 5)
    found = cd.gather_nd(square, np.array([[2, 4], [7, 0]])).compute()
    assert found.tolist() == [14, 35]


@each("mode", ["clamp", "fill"])
def test_chunks_hand_on_what_is_selected_from_them_alone(mode):
    x = da.from_array(np.arange(400).reshape(40, 10), chunks=(4, 5))
    indices = da.from_array(np.arange(-9, 45), chunks=9)
    for lazy in (cd.gather(x, indices, mode=mode), cd.gather_nd(x, indices[:, None], mode=mode)):
        (name,) = (name for name in lazy.dask.layers if "-chunk-" in name)
        parts = dask.get(lazy.dask, [*lazy.dask.layers[name]])
        outside = 5 * x[0].nbytes if mode == "fill" else 0
        assert sum(slices.nbytes for *_, slices in parts) == lazy.nbytes - outside


def test_positions_beyond_63_bits():
    x = da.arange(10, chunks=3)
    indices = da.from_array(np.array([2**64 - 1, 2**63, 4, 10], np.uint64), chunks=2)
    assert cd.gather(x, indices).compute().tolist() == [9, 9, 4, 9]
    filled = cd.gather(x, indices, mode="fill", fill_value=-1)
    assert filled.compute().tolist() == [-1, -1, 4, -1]
    assert cd.gather(x, indices, mode="wrap").compute().tolist() == [5, 8, 4, 0]


@each("chunks", [4, 2])
def test_chunks_of_another_type_than_dask_was_told_are_refused(chunks):
    x = da.zeros(4, chunks=chunks).map_blocks(lambda block: block.astype("f4"), dtype="f8")
    with pytest.raises(ck.DTypeError) as caught:
        cd.gather(x, da.from_array([1, 3], chunks=1)).compute()
    assert str(caught.value) == "gather: x.dtype must be float64 in all chunks; got float32"
