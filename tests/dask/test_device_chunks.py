"""Chunks on a GPU: results stay there, and the arrays that describe chunks to dask say so."""

from __future__ import annotations

from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pytest

import cudakern as ck
import cudakern.dask as cd
from cudakern.simulator.cupy_stand_in import arrays
from cudakern.values.dtypes import narrow_floats
from tests.helpers import gather_nd as tuples
from tests.helpers import oracle
from tests.helpers.one_hot import expected
from tests.helpers.places import same_bytes
from tests.helpers.recorded_cupy import on_device, recorded
from tests.helpers.reduce import EXTREMES, FUNCTIONS, reduce
from tests.helpers.rows import each
from tests.helpers.samples import sample

X = np.array([[3, -1, 0.5, 2], [0, 7, 1e-45, -4], [1, 7, 2, 0]], np.float32)
I = np.array([2, 0, -1, 9, 1], np.int64)  # noqa: E741  as in the operators' formulas
T = np.array([[0, 3], [2, 1], [-1, 5]], np.int32)
LEAST = np.arange(1, 7, dtype=np.uint32)[::-1].copy().view(np.float32)
OFF_ON = np.array([0, 1], np.float32)
#: What NumPy gives for the calls.
RIGHT = SimpleNamespace(
    gather=lambda x, i, axis=0, mode="clamp", fill_value=0: oracle.gather(
        np.asarray(x), np.asarray(i), axis, mode.replace("raise", "clamp"), fill_value
    ),
    gather_nd=lambda x, i, batch=0: tuples.gather_nd(x, np.asarray(i), batch),
    one_hot=lambda i, depth, axis=1, values=OFF_ON: expected(i, depth, axis, np.asarray(values)),
    argwhere=np.argwhere,
    nonzero=lambda x, size=10: tuple(
        np.pad(np.argwhere(x), ((0, size - 10), (0, 0)), constant_values=-1).T
    ),
    nonzero_coordinates=lambda x, size: (np.uint32([10]), np.argwhere(x)[:size].astype(np.uint32)),
)
CALLS = {
    "gather": (lambda m, x, i: m.gather(x, i, 1), X, I),
    "gather, filled": (lambda m, x, i: m.gather(x, i, 0, mode="fill", fill_value=-0.0), X, I),
    "gather, wrapped": (lambda m, x, i: m.gather(x, i, 0, mode="wrap"), X, I),
    "gather, checked": (lambda m, x, i: m.gather(x, i, 0, mode="raise"), X, I % 3),
    "gather, unsigned": (lambda m, x, i: m.gather(x, i), X, (I % 11).astype(np.uint64)),
    "gather_nd": (lambda m, x, i: m.gather_nd(x, i), X, T),
    "gather_nd of batches": (lambda m, x, i: m.gather_nd(x, i[:, :1], 1), X, T),
    "one_hot": (lambda m, i: m.one_hot(i, 4, axis=0), I),
    "one_hot of an array": (lambda m, i, v: m.one_hot(i, 4, values=v), I, np.float16([2, 3])),
    "argwhere": (lambda m, x: m.argwhere(x), X),
    "nonzero": (lambda m, x: m.nonzero(x), X),
    "nonzero of a size": (lambda m, x: m.nonzero(x, size=20), X),
    "nonzero_coordinates": (lambda m, x: m.nonzero_coordinates(x, size=7), X),
}  # fmt: skip
#: Functions, operands and axes. Functions that distinguish subnormal numbers from zero get some.
REDUCTIONS = [
    *[
        (f, LEAST if f in EXTREMES | {"average", "sum"} else abs(X[:2].ravel()) + 1, None)
        for f in FUNCTIONS
    ],
    ("sum", X, 0),
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
    call, *operands = CALLS[case]
    record.clear()
    found = call(cd, *[lazily(array, 2) for array in operands])
    assert (record.launches, record.memsets) == ([], []), "a graph was computed"
    right = call(RIGHT, *operands)
    pairs = zip(found, right, strict=True) if isinstance(found, tuple) else [(found, right)]
    for lazy, values in pairs:
        assert same_bytes(computed(lazy), values)


@each(("function", "x", "axis"), REDUCTIONS)
@each("chunks", sample([2, -1], 2))
def test_every_function_reduces_chunks_where_they_are(function, x, axis, chunks):
    result = computed(cd.reduce(lazily(x, chunks), function, axis))
    reduce(x, function, axis).assert_is(result)


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
    "indices": lambda m, x, _: m.gather(x, I.tolist()),
    "tuples": lambda m, x, _: m.gather_nd(x, T.tolist()),
    "x": lambda m, _, i: m.gather([5, 6, 7], i),
    "values": lambda m, _, i: m.one_hot(i, 3, values=range(2)),
}


@each("name", NUMBERS)
def test_numbers_go_where_the_chunks_are(record, name):
    record.clear()
    call = NUMBERS[name]
    result = computed(call(cd, lazily(X, 2), lazily(I, 2)))
    assert same_bytes(result, call(RIGHT, X, I))
    assert len(record.copies) == 1


def test_arrays_on_a_device_are_operands_too():
    indices = on_device(I)
    result = computed(cd.gather(lazily(X, 2), indices))
    assert result.tolist() == ck.gather(X, I).tolist()
    with dask.config.set(scheduler="synchronous"):
        assert computed(cd.reduce(on_device(X), "sum")).shape == ()
