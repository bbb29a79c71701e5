"""All functions on a cluster: of two processes, one of which may die, or of one for each GPU."""

from __future__ import annotations

import os
import signal
import time

import dask.array as da
import distributed
import numpy as np
import pytest

import cudakern as ck
import cudakern.dask as cd
from tests.helpers.chunked import CLUSTER_I as I
from tests.helpers.chunked import CLUSTER_X as X
from tests.helpers.operator_samples import rooms, rows
from tests.helpers.rows import each
from tests.helpers.samples import is_thorough

#: Seconds that a test waits for other processes at most.
PATIENCE = 60
CHUNKS = 24


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Return a client of a cluster of two processes."""
    cluster = distributed.LocalCluster(
        processes=True,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        local_directory=str(tmp_path_factory.mktemp("cluster")),
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


CALLS = rows("CLUSTER", "lazy")
#: The others are like these to a cluster.
SOME = [*(next(iter(room.CLUSTER)) for _, room in rooms("lazy")), "count"]


@each("name", CALLS if is_thorough() else SOME)
def test_every_function_is_right_on_other_processes(client, name):
    call, expected = CALLS[name]
    x, indices = da.from_array(X, chunks=(9, 11)), da.from_array(I, chunks=3)
    result = client.compute(call(x, indices)).result(PATIENCE)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_errors_travel_back(client):
    with pytest.raises(ck.IndexRangeError) as caught:
        client.compute(cd.gather(np.ones(3), da.from_array([0, 7], chunks=1), mode="raise")).result(
            PATIENCE
        )
    assert str(caught.value) == "gather: indices[1] must lie in [-3, 2] for x.shape[0]=3; got 7"


def test_a_worker_that_is_killed_changes_nothing(client, tmp_path):
    """Both workers are in the middle of a chunk, and have the results of others."""

    def slow(block, block_id=None):
        (tmp_path / f"{block_id[0]} in {os.getpid()}").touch()
        give_up = time.monotonic() + PATIENCE
        while block_id[0] > CHUNKS // 3 and not (tmp_path / "killed").exists():
            assert time.monotonic() < give_up
            time.sleep(0.02)
        return block

    values = np.arange(CHUNKS * 5)
    x = da.from_array(values, chunks=5).map_blocks(slow, dtype=values.dtype)
    before = set(client.run(os.getpid).values())
    result = client.compute(cd.reduce(x, "sum_square"))
    give_up = time.monotonic() + PATIENCE
    at_work = set()
    while at_work != before:
        assert time.monotonic() < give_up
        time.sleep(0.02)
        started = [path.name.split(" in ") for path in tmp_path.iterdir()]
        at_work = {int(pid) for block, pid in started if int(block) > CHUNKS // 3}
    victim = before.pop()
    os.kill(victim, signal.SIGKILL)
    (tmp_path / "killed").touch()
    assert result.result(PATIENCE) == (values**2).sum()
    client.wait_for_workers(2, PATIENCE)
    assert victim not in client.run(os.getpid).values()


@pytest.fixture(scope="module")
def client_of_gpus():
    """Return a client of a cluster of one worker for each GPU, as dask-cuda documents it."""
    dask_cuda = pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")
    with (
        dask_cuda.LocalCUDACluster(dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.gpu
@each("name", CALLS)
def test_every_function_on_gpus(client_of_gpus, name):
    cupy = pytest.importorskip("cupy")
    call, expected = CALLS[name]
    x, indices = (
        da.from_array(array, chunks=chunks).map_blocks(
            cupy.asarray, meta=cupy.empty((0,) * array.ndim, array.dtype)
        )
        for array, chunks in ((X, (9, 11)), (I, 3))
    )
    lazy = call(x, indices)
    assert isinstance(lazy._meta, cupy.ndarray)  # noqa: SLF001
    result = client_of_gpus.compute(lazy).result()
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_allclose(result.get(), expected, rtol=1e-5)


@pytest.mark.gpu
def test_subnormal_numbers_are_kept():
    cupy = pytest.importorskip("cupy")
    bits = cupy.asarray(np.array([1, 3, 2, 0x80000000], np.uint32)).view(np.float32)
    x = da.from_array(bits, chunks=1, asarray=False)
    assert cd.reduce(x, "argmax").compute().get() == 1
    assert cd.reduce(x, "sum").compute().view(np.uint32).get() == 6
    kept = cd.gather(x, da.from_array(cupy.asarray([2, 0]), chunks=1, asarray=False)).compute()
    assert kept.view(np.uint32).get().tolist() == [2, 1]
