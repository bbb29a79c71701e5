"""One worker a GPU, started as dask-cuda documents it."""

# ruff: noqa: ARG005  every call is given x and indices
from __future__ import annotations

import dask.array as da
import distributed
import numpy as np
import pytest

import cudakern.dask as cd


@pytest.fixture(scope="module")
def client():
    """Return a client of a cluster of one worker for each GPU."""
    dask_cuda = pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")
    with (
        dask_cuda.LocalCUDACluster(dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


X = np.random.default_rng(7).integers(-9, 9, (300, 40)).astype(np.float32)
I = np.random.default_rng(8).integers(-300, 300, 77)  # noqa: E741  as in the operators' formulas
CALLS = {
    "sum": (lambda x, i: cd.reduce(x, "sum", 0), X.sum(0)),
    "argmax": (lambda x, i: cd.reduce(x, "argmax"), X.argmax()),
    "gather": (cd.gather, X[I]),
    "gather_nd": (lambda x, i: cd.gather_nd(x, i[:, None]), X[I]),
    "one_hot": (lambda x, i: cd.one_hot(i % 9, 9), (I[:, None] % 9) == np.arange(9)),
    "argwhere": (lambda x, i: cd.argwhere(x), np.argwhere(X)),
    "nonzero of a size": (lambda x, i: cd.nonzero(x, size=99)[1], np.nonzero(X)[1][:99]),
}  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("name", CALLS)
def test_every_function_on_gpus(client, name):
    cupy = pytest.importorskip("cupy")
    call, expected = CALLS[name]
    x, indices = (
        da.from_array(array, chunks=50).map_blocks(
            cupy.asarray, meta=cupy.empty((0,) * array.ndim, array.dtype)
        )
        for array in (X, I)
    )
    lazy = call(x, indices)
    assert isinstance(lazy._meta, cupy.ndarray)  # noqa: SLF001
    result = client.compute(lazy).result()
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_array_equal(result.get(), expected)


@pytest.mark.gpu
def test_subnormal_numbers_are_kept():
    cupy = pytest.importorskip("cupy")
    bits = cupy.asarray(np.array([1, 3, 2, 0x80000000], np.uint32)).view(np.float32)
    x = da.from_array(bits, chunks=1, asarray=False)
    assert cd.reduce(x, "argmax").compute().get() == 1
    assert cd.reduce(x, "sum").compute().view(np.uint32).get() == 6
    kept = cd.gather(x, da.from_array(cupy.asarray([2, 0]), chunks=1, asarray=False)).compute()
    assert kept.view(np.uint32).get().tolist() == [2, 1]
