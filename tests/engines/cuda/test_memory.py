"""What calls cost a GPU: memory beside their results, launches, waits, as the reference has it.

On a stand-in for CuPy that counts; what allocators of CuPy's own see is marked for a GPU.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest

import cudakern as ck
from cudakern.operators.nonzero import counts
from tests.helpers.places import CUDA, put
from tests.helpers.recorded_cupy import on_device
from tests.helpers.rows import each

KIB = 1024
X = np.arange(120, dtype=np.float32).reshape(12, 10) % 7
FEW = np.eye(12, 10, dtype=np.int64)
MANY = np.eye(260, dtype=np.int8)  # whose coordinates would take 33 KiB more than 1 MiB
LONG = np.arange(60_000, dtype=np.float32) % 3
I8, I32, I64 = (np.arange(12, dtype=kind) % 5 for kind in ("int8", "int32", "int64"))


def beside(array, by=1):
    """Return a copy of an array that starts beside a multiple of its elements' size."""
    memory = np.zeros(array.nbytes + 16, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, memory, by)
    copy[...] = array
    return copy


#: What is called, its arrays, and bytes at most beside the results; workspaces are kept. Behind
#: coordinates, up to 1 MiB of the memory for all of them stays.
CASES = {
    "gather": (ck.gather, (X, I32), 0, 0),
    "gather, 64-bit indices": (ck.gather, (X, I64), 0, 0),
    "gather, narrow indices": (ck.gather, (X, I8), 4 * 12, 0),
    "gather, misaligned indices": (ck.gather, (X, beside(I64)), 8 * 12, 0),
    "gather, misaligned x": (ck.gather, (beside(X), I32), 0, 0),
    "gather, numbers": (lambda x: ck.gather(x, [3, 0, 3], 1), (X,), 3 * 8, 0),
    "one_hot, numbers for values": (lambda i: ck.one_hot(i, 9, values=range(2)), (I64,), 2 * 8, 0),
    "gather, raise": (lambda x, i: ck.gather(x, i, mode="raise"), (X, I32), 8, 0),
    "gather_nd": (ck.gather_nd, (X, I32[:, None]), 0, 0),
    "gather_nd, narrow indices": (ck.gather_nd, (X, I8[:, None]), 4 * 12, 0),
    "gather_nd, raise": (
        lambda x, i: ck.gather_nd(x, i, mode="raise"),
        (X, I8[:, None]),
        4 * 12 + 8,
        0,
    ),
    "one_hot": (lambda i: ck.one_hot(i, 9), (I64,), 0, 0),
    "one_hot, narrow indices": (lambda i: ck.one_hot(i, 9), (I8,), 4 * 12, 0),
    "one_hot, misaligned indices": (lambda i: ck.one_hot(i, 9), (beside(I32),), 4 * 12, 0),
    "nonzero_coordinates, to 64 KiB": (ck.nonzero_coordinates, (X,), 0, 0),
    "nonzero_coordinates": (ck.nonzero_coordinates, (LONG,), 0, 32 * KIB + 16),
    "nonzero_coordinates, misaligned": (ck.nonzero_coordinates, (beside(X),), X.nbytes, 0),
    "nonzero of a size": (lambda x: ck.nonzero(x, size=5), (X,), 4, 0),
    "nonzero": (ck.nonzero, (FEW,), 0, 0),
    "nonzero, much is spare": (ck.nonzero, (MANY,), MANY.size * 2 * 8, 0),
    "argwhere": (ck.argwhere, (FEW,), 0, 0),
    "argwhere, much is spare": (ck.argwhere, (MANY,), MANY.size * 2 * 8, 0),
    "argwhere, all is needed": (ck.argwhere, (FEW + 1,), 0, 0),
    "reduce": (lambda x: ck.reduce(x, "sum", axis=0), (X,), 0, 0),
    "reduce, few results": (lambda x: ck.reduce(x, "sum"), (LONG,), 0, 72 * KIB),
    "reduce, misaligned": (lambda x: ck.reduce(x, "sum", axis=0), (beside(X),), X.nbytes, 0),
}


def size(result):
    """Return the bytes of a call's results, with those behind them that stay."""
    arrays = result if isinstance(result, tuple) else (result,)
    memory = {a.data.mem.ptr: a.data.mem.size for a in arrays}
    spare = sum(memory.values()) - sum(a.nbytes for a in arrays)
    assert 0 <= spare <= 2**20
    return sum(memory.values())


@each("name", CASES)
def test_costs(record, name):
    call, arrays, most, kept = CASES[name]
    raises, before = name.endswith("raise"), record.live
    waits = raises or call in {ck.nonzero, ck.argwhere}
    arrays = [on_device(array) for array in arrays]
    results, kept = size(call(*arrays)), before + kept
    assert record.live == kept, "a workspace at most is left"
    for _ in range(3):
        record.clear()
        result = call(*arrays)
        waited = len(record.synchronisations) + len(record.waits)
        assert (len(record.launches), waited) == (1 + raises, waits)
        assert record.peak == kept + results + most
        assert record.live == kept + results
        del result
        assert record.live == kept


def test_costs_of_misaligned_outputs(record):
    x = on_device(X)
    sums, count, rows = (
        on_device(beside(np.zeros(shape, kind)))
        for shape, kind in ((10, "f4"), (1, "u4"), ((9, 2), "u4"))
    )
    for call, outputs in (
        (lambda: ck.reduce(x, "sum", axis=0, out=sums), (sums,)),
        (lambda: ck.nonzero_coordinates(x, size=9, out=(count, rows)), (count, rows)),
    ):
        record.clear()
        call()
        assert (len(record.launches), len(record.synchronisations)) == (1, 0)
        assert record.peak == sum(array.nbytes for array in outputs)
        assert record.live == 0


def test_nothing_to_search_launches_nothing(record):
    assert ck.nonzero_coordinates(on_device(np.zeros((0, 4)))).count.tolist() == [0]
    assert not record.launches


def test_sizes_of_workspaces_are_few(record):
    """A stream's workspaces add up to at most twice the largest one of each operator."""
    for count in (20_000, 50_000, 70_000, 100_000, 300_000, 500_000):
        x = on_device(np.ones(count, np.float32))
        ck.reduce(x, "sum")
        ck.nonzero_coordinates(x)
    assert record.live == 32 * KIB + 16 + 72 * KIB


@pytest.fixture
def words(record, monkeypatch):
    """List the words of the host's memory that are allocated for counts."""
    allocate, allocated = record.cupy.cuda.alloc_pinned_memory, []

    def note(nbytes):
        allocated.append(allocate(nbytes))
        return allocated[-1]

    monkeypatch.setattr(counts, "_of", {})
    ck.clear_caches()
    monkeypatch.setattr(record.cupy.cuda, "alloc_pinned_memory", note)
    return allocated


def test_words_for_counts_are_used_again(words):
    for device in (0, 1):
        x = on_device(FEW, device)
        for call in (ck.argwhere, ck.nonzero) * 3:
            call(x)
        assert len(words) == device + 1
    with ThreadPoolExecutor(4) as pool:
        assert {len(rows) for rows in pool.map(ck.argwhere, [x] * 100)} == {10}
    assert len(words) <= 2 + 3


@each("call", [ck.argwhere, ck.nonzero])
def test_the_word_of_an_interrupted_call_is_nobody_elses(words, record, monkeypatch, call):
    """The kernel may still write to it."""
    x, stream = on_device(FEW), type(record.cupy.cuda.get_current_stream())
    call(x)
    before = len(words)
    with monkeypatch.context() as patch:
        patch.setattr(stream, "synchronize", mock.Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            call(x)
    call(x)
    assert len(words) == before + 1


@pytest.mark.gpu
@each("name", CASES)
def test_memory_comes_from_the_current_allocator(name):
    import cupy  # noqa: PLC0415  optional

    call, arrays, most, kept = CASES[name]
    arrays = [put(array, CUDA) for array in arrays]
    live, sizes = {}, []

    def free(memory, _device):
        live.pop(memory)
        cupy.cuda.runtime.free(memory)

    def allocate(nbytes, _device):
        memory = cupy.cuda.runtime.malloc(max(1, nbytes))
        live[memory] = nbytes
        sizes.append(sum(live.values()))
        return memory

    allocator = cupy.cuda.PythonFunctionAllocator(allocate, free)
    results = size(call(*arrays))
    with cupy.cuda.using_allocator(allocator.malloc), cupy.cuda.Stream(non_blocking=True):
        cupy.cuda.Device().synchronize()
        result = call(*arrays)
        cupy.cuda.get_current_stream().synchronize()
        assert max(sizes, default=0) <= results + most + kept
        assert sum(live.values()) == results + kept
        del result
        assert sum(live.values()) == kept


@pytest.mark.gpu
def test_memory_comes_from_rmm():
    rmm = pytest.importorskip("rmm", reason="RMM is not installed")
    import cupy  # noqa: PLC0415  optional
    from rmm.allocators.cupy import rmm_cupy_allocator  # noqa: PLC0415  optional

    rmm.reinitialize(pool_allocator=False)
    counted = rmm.mr.StatisticsResourceAdaptor(rmm.mr.get_current_device_resource())
    rmm.mr.set_current_device_resource(counted)
    x, indices = put(X, CUDA), put(I8, CUDA)
    with cupy.cuda.using_allocator(rmm_cupy_allocator):
        result = ck.gather(x, indices)
    assert np.array_equal(result.get(), X[I8])
    assert counted.allocation_counts.total_count == 2, "the indices and the result"
