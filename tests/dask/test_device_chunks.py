"""Chunks on a GPU: results stay there, and the arrays that describe chunks to dask say so."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest

import cudakern as ck
import cudakern.dask as cd
from cudakern.simulator.cupy_stand_in import arrays
from cudakern.values.dtypes import narrow_floats
from tests.helpers import gather_nd as tuples
from tests.helpers.chunked import I, T, X
from tests.helpers.one_hot import expected
from tests.helpers.operator_samples import rows_of_functions
from tests.helpers.places import same_bytes
from tests.helpers.recorded_cupy import on_device, recorded
from tests.helpers.reduce import EXTREMES, FUNCTIONS, reduce
from tests.helpers.rows import each
from tests.helpers.samples import sample

LEAST = np.arange(1, 7, dtype=np.uint32)[::-1].copy().view(np.float32)
CALLS = rows_of_functions("CHUNKS", "lazy")
#: Functions, operands and axes. Functions that distinguish subnormal numbers from zero get some.
REDUCTIONS = [
    *[
        (f, LEAST if f in EXTREMES | {"average", "sum"} else abs(X[:2].ravel()) + 1, None)
        for f in FUNCTIONS
    ],
    ("l2", (X + 1j * X[::-1]).astype("c8"), 0),
]


def flushed(value):
    """Return what kernels of CuPy see of an array: subnormal float32 is zero."""
    if not isinstance(value, arrays.ndarray) or value.dtype != np.float32:
        return value
    values = value.get()
    least = np.finfo(np.float32).smallest_normal
    return arrays.to_cupy(np.where(abs(values) < least, values * 0, values))


@pytest.fixture(autouse=True)
def record(monkeypatch, tmp_path):
    """Put the stand-in in CuPy's place, whose kernels flush subnormal numbers as CuPy's do."""
    compute = arrays.compute

    def flushing(function, args, kwargs):
        arrays.require_here(args, kwargs)
        return compute(function, tuple(map(flushed, args)), kwargs)

    def refuse(*_):
        raise AssertionError("a kernel of CuPy for what tells dask of chunks")

    with recorded(tmp_path) as record, monkeypatch.context() as patch:
        patch.setattr(arrays, "compute", flushing)
        patch.setattr(arrays.ndarray, "sum", refuse)
        yield record


def lazily(array, chunks):
    """Return a dask array of chunks on a device."""
    blocks = da.from_array(array, chunks=chunks)
    name = f"on-device-{blocks.name}"
    graph = {
        (name, *at): on_device(np.array(blocks.blocks[at].compute()))
        for at in np.ndindex(blocks.numblocks)
    }
    meta = on_device(np.empty((0,) * array.ndim, array.dtype))
    return da.Array(graph, name, blocks.chunks, meta=meta)


def computed(lazy):
    """Compute chunks on their device; return all on the host."""
    meta = lazy._meta  # noqa: SLF001  dask has no other name for it
    assert type(meta) is arrays.ndarray
    assert (meta.ndim, meta.dtype) == (lazy.ndim, lazy.dtype)
    blocks = np.empty(lazy.numblocks, object)
    for at in np.ndindex(lazy.numblocks):
        chunk = lazy.to_delayed()[at].compute()
        assert type(chunk) is arrays.ndarray
        blocks[at] = chunk.get()
    return np.block(blocks.tolist())


@each("case", CALLS)
def test_results_stay_where_the_chunks_are(record, case):
    call, operands, right = CALLS[case]
    record.clear()
    found = call(*[lazily(array, 2) for array in operands])
    assert (record.launches, record.memsets) == ([], []), "a graph was computed"
    pairs = zip(found, right, strict=True) if isinstance(found, tuple) else [(found, right)]
    for lazy, values in pairs:
        assert same_bytes(computed(lazy), values)


@each(("function", "x", "axis"), REDUCTIONS)
@each("chunks", sample([2, -1], 2))
def test_every_function_reduces_chunks_where_they_are(function, x, axis, chunks):
    result = computed(cd.reduce(lazily(x, chunks), function, axis))
    reduce(x, function, axis, any_order=True).assert_is(result)


def test_chunks_of_8_bit_floats_are_joined():
    """CuPy has no kernels for them."""
    values = np.array([2, 3]).astype(narrow_floats()["float8_e4m3fn"])
    lazy = cd.one_hot(lazily(I, 2), 4, values=lazily(values, 1))
    assert same_bytes(computed(lazy), ck.one_hot(I, 4, values=values))


def test_an_operand_on_the_host_is_refused_when_the_graph_is_built():
    x = lazily(X, 2)
    text = "gather: indices must be where x is, on CUDA device 0; got the host"
    for given in (I, [*I[:, None]], da.from_array(I)):
        with pytest.raises(ck.BindingError) as caught:
            cd.gather(x, given)
        assert str(caught.value) == text
    with pytest.raises(ck.BindingError, match="one_hot: values must be where indices is"):
        cd.one_hot(lazily(I, 2), 3, values=np.array([0, 1]))


NUMBERS = {
    "indices": (lambda x, _: cd.gather(x, I.tolist()), X[I.clip(-3, 2)]),
    "tuples": (lambda x, _: cd.gather_nd(x, T.tolist()), tuples.gather_nd(X, T, 0)),
    "x": (lambda _, i: cd.gather([5, 6, 7], i), np.array([5, 6, 7])[I.clip(-3, 2)]),
    "values": (lambda _, i: cd.one_hot(i, 3, values=range(2)), expected(I, 3, 1, np.arange(2))),
}


@each("name", NUMBERS)
def test_numbers_go_where_the_chunks_are(record, name):
    record.clear()
    call, right = NUMBERS[name]
    result = computed(call(lazily(X, 2), lazily(I, 2)))
    assert same_bytes(result, right)
    assert len(record.copies) == 1


def test_arrays_on_a_device_are_operands_too():
    indices = on_device(I)
    result = computed(cd.gather(lazily(X, 2), indices))
    assert result.tolist() == ck.gather(X, I).tolist()
    with dask.config.set(scheduler="synchronous"):
        assert computed(cd.reduce(on_device(X), "sum")).shape == ()
