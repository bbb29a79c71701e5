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
from tests.helpers.operator_samples import I8, I64, TABLE, rows_of_functions
from tests.helpers.places import CUDA, beside, put
from tests.helpers.recorded_cupy import on_device
from tests.helpers.rows import each

KIB = 1024
EYE = np.eye(12, 10)
#: What is called, its arrays, and bytes at most beside the results; workspaces are kept. Behind
#: coordinates, up to 1 MiB of the memory for all of them stays.
CASES = rows_of_functions("COSTS")


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
    x = on_device(TABLE)
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


def test_two_launches_have_memory_for_bits(record):
    x = on_device(np.eye(512, 1024, dtype=np.float32)).T
    record.clear()
    found = ck.nonzero_coordinates(x)
    assert (len(record.launches), len(record.synchronisations), len(record.waits)) == (2, 0, 0)
    assert record.live == size(tuple(found))
    assert record.peak == record.live + x.size // 8 + 16 * 64  # counts of 64 tiles


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
        x = on_device(EYE, device)
        for call in (ck.argwhere, ck.nonzero) * 3:
            call(x)
        assert len(words) == device + 1
    with ThreadPoolExecutor(4) as pool:
        assert {len(rows) for rows in pool.map(ck.argwhere, [x] * 100)} == {10}
    assert len(words) <= 2 + 3


@each("call", [ck.argwhere, ck.nonzero])
def test_a_call_without_memory_takes_no_word(words, record, monkeypatch, call):
    x = on_device(EYE)
    for known in (False, True):
        before = len(words)
        with monkeypatch.context() as patch:
            patch.setattr(record.cupy.ndarray, "__new__", mock.Mock(side_effect=MemoryError))
            for _ in range(3):
                with pytest.raises(MemoryError):
                    call(x)
        assert call(x)[0].shape, known
        assert len(words) <= before + 1 - known


@each("call", [ck.argwhere, ck.nonzero])
def test_the_word_of_an_interrupted_call_is_nobody_elses(words, record, monkeypatch, call):
    """The kernel may still write to it."""
    x, stream = on_device(EYE), type(record.cupy.cuda.get_current_stream())
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
def test_a_known_call_may_be_all_that_a_new_thread_does():
    """The driver asks for a context, which a thread of CuPy's gets with its first allocation."""
    x, indices, out = (put(array, CUDA) for array in (TABLE, I64, np.empty_like(TABLE)))
    for _ in range(2):
        ck.gather(x, indices, out=out)
    out.fill(-1)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(ck.gather, x, indices, out=out).result() is out
    assert np.array_equal(out.get(), TABLE[I64])


@pytest.mark.gpu
def test_memory_comes_from_rmm():
    rmm = pytest.importorskip("rmm", reason="RMM is not installed")
    import cupy  # noqa: PLC0415  optional
    from rmm.allocators.cupy import rmm_cupy_allocator  # noqa: PLC0415  optional

    rmm.reinitialize(pool_allocator=False)
    counted = rmm.mr.StatisticsResourceAdaptor(rmm.mr.get_current_device_resource())
    rmm.mr.set_current_device_resource(counted)
    x, indices = put(TABLE, CUDA), put(I8, CUDA)
    with cupy.cuda.using_allocator(rmm_cupy_allocator):
        result = ck.gather(x, indices)
    assert np.array_equal(result.get(), TABLE[I8])
    assert counted.allocation_counts.total_count == 2, "the indices and the result"
