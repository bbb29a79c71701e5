"""Blocks of nonzero_coordinates in many orders, few or many at once, and what they leave behind."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest

import cudakern as ck
from cudakern import engines
from cudakern.engines.base import THREADS
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.simulator import checked
from cudakern.simulator.launching import observation
from cudakern.simulator.libraries.execution_mode import ExecutionMode
from tests.helpers.bound import limit_blocks
from tests.helpers.execution_modes import force
from tests.helpers.nonzero import two_launches
from tests.helpers.places import HOST, put, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering, is_thorough, sample

pytestmark = pytest.mark.timeout(300)

TILES = 20
SLOTS = 4096
SEEDS = range(8)
RESIDENT = [1, 2, 7, 64]
LAST_EPOCH = 2**18 - 1
PREFIX = 2
#: Elements of a tile of each variant, as ``small`` has them.
ELEMENTS = {"stream": 1024, "strided": 2048}


def workspace():
    """Return the words that launches of this thread exchange."""
    address = engines.engine_for(engines.HOST).workspace(8 * (2 + SLOTS))
    return np.frombuffer((ctypes.c_uint64 * (2 + SLOTS)).from_address(address), np.uint64)


def descriptors(epoch, status, value):
    """Return words of tiles."""
    return np.uint64(status << 62) | np.uint64(epoch << 44) | np.asarray(value, np.uint64)


class Plans:
    """Tiles as small as they can be, few blocks, and no more of these at once than asked for."""

    def __init__(self, monkeypatch):
        self.monkeypatch, self.set = monkeypatch, monkeypatch.setattr
        tiling = lambda _problem, n, _bytes, words: (1, -(-n // (THREADS * words)))  # noqa: E731
        self.set(nonzero_plan, "_tiling", tiling)
        self.set(nonzero_plan, "MIN_TILE_BYTES", 0)
        self.set(observation, "_MOST_RESIDENT", 1)
        self.of(7)

    def of(self, blocks):
        limit_blocks(self.monkeypatch, blocks)


@pytest.fixture
def small(monkeypatch):
    workspace()[:] = 0
    yield Plans(monkeypatch)
    workspace()[:] = 0  # also what an unfinished launch has left


def make(rng, variant="stream", tiles=TILES):
    """Return an array for a variant whose tiles have anything from no to all elements set."""
    shares = rng.choice([0, 0.02, 0.5, 1], tiles)
    values = rng.random((tiles, ELEMENTS[variant])) < shares[:, None]
    if variant == "strided":
        return put(np.repeat(values.reshape(-1)[:-100], 2).astype(np.int16), HOST)[::2]
    return put(values.reshape(-1, 8)[:-3].astype(np.int32), HOST)


def run(x, size=None):
    """Return whether a call finds what NumPy finds."""
    rows = np.argwhere(x)
    if size is None:
        return same_bytes(ck.argwhere(x), rows)
    filled = np.full((size, x.ndim), -7, np.int64)
    filled[: len(rows)] = rows[:size]
    axes = ck.nonzero(x, size=size, fill_value=-7)
    return all(same_bytes(a, b) for a, b in zip(axes, filled.T, strict=True))


def assert_right(x, variant="stream", size=None):
    """A call finds what NumPy finds, and its blocks leave the words that the next one needs."""
    before = workspace().copy()
    epoch = int(before[0]) >> 32
    assert run(x, size)
    counts = np.add.reduceat(x.reshape(-1) != 0, range(0, x.size, ELEMENTS[variant]))
    after = before
    after[0] = epoch + 1 << 32
    after[2 : 2 + counts.size] = descriptors(epoch, PREFIX, np.cumsum(counts))
    if epoch == LAST_EPOCH:
        after[:] = 0
    assert np.array_equal(workspace(), after)


@each(("resident", "variant", "fills"), covering(RESIDENT, ELEMENTS, [False, True]))
def test_every_order_gives_the_same(small, resident, variant, fills):
    """Where a size is asked for, rows that are missing are filled."""
    for seed in sample(SEEDS, len(SEEDS), RESIDENT.index(resident)):
        small.of([7, 7, 2, TILES][seed % 4])
        x = make(np.random.default_rng(seed), variant)
        count = np.count_nonzero(x)
        sizes = [count + 4000, count + 1, count, count - 9, 0] if fills else []
        for size in [None, *sizes]:
            with checked(seed, resident) as report:
                assert_right(x, variant, size)
            assert not report.findings, seed


def in_two_launches(seed, kind):
    """Return an array whose tiles of 8,192 elements have anything from no to all of them set."""
    rng = np.random.default_rng(seed)
    shares = np.repeat(rng.choice([0, 0, 0.01, 0.5, 1], 12), 8192)
    values = rng.random(shares.size) < shares
    if kind == "columns":
        memory = values.reshape(3, 256, 128).transpose(0, 2, 1).astype(np.int16)
        return put(memory, HOST).transpose(0, 2, 1)
    return put(np.repeat(values[:-100], 2).astype(np.int16), HOST)[:: 2 if kind == "strided" else 1]


@each(("resident", "kind", "fills"), covering(RESIDENT, ["columns", "strided", "stream"], [0, 1]))
def test_two_launches_give_the_same_in_every_order(small, resident, kind, fills):
    for seed in sample(SEEDS, len(SEEDS), RESIDENT.index(resident)):
        small.of([7, 2, 64][seed % 3])
        x = in_two_launches(seed, kind)
        count = np.count_nonzero(x)
        with two_launches():
            for size in [count + 4000, count - 9, 0] if fills else [None]:
                with checked(seed, resident) as report:
                    assert run(x, size)
                assert not report.findings, seed
                assert report.launches in {2, 4}  # argwhere counts first if memory is too much


def test_looking_back_over_hundreds_of_tiles(small):
    """More than a warp reads at once, where each block has one tile."""
    small.of(300)
    # The library of launches of few threads, which is there, runs.
    with force(ExecutionMode.THREAD_LOOPS):
        for seed in SEEDS[:2]:
            assert_right(make(np.random.default_rng(seed), tiles=300))


def leave_behind(rng, epoch):
    """Have the workspace as launches before this epoch may have left it."""
    words = workspace()
    words[:2] = epoch << 32, 0
    for slot in range(2, words.size):
        if rng.random() < 0.9:
            former = int(rng.choice([0, rng.integers(epoch), epoch - 1]))
            status, value = int(rng.integers(1, 3)), int(rng.integers(2**44))
            words[slot] = descriptors(former, status, value)


@pytest.mark.usefixtures("small")
@each("seed", [None, *sample(range(10), 4)])
def test_epochs_begin_anew(seed):
    def three_launches():
        for tiles, size in ((TILES, None), (TILES // 2, None), (TILES, 9000), (TILES + 3, None)):
            assert_right(make(rng, tiles=tiles), size=size)
            if tiles == TILES // 2:
                assert not workspace().any()

    rng = np.random.default_rng(seed)
    leave_behind(rng, LAST_EPOCH - 1)
    if seed is None:
        three_launches()
    else:
        with checked(seed, 1 + seed):
            three_launches()
    assert workspace()[0] == 2 << 32


@pytest.mark.usefixtures("small")
def test_threads_have_workspaces_of_their_own():
    calls, at_once, wrong, addresses = (
        150 if is_thorough() else 24,
        threading.Barrier(3, timeout=60),
        [],
        {workspace().ctypes.data},
    )

    def work(seed):
        rng = np.random.default_rng(seed)
        arrays = [make(rng, tiles=tiles + seed) for tiles in (5, 9, 13)]
        addresses.add(workspace().ctypes.data)
        at_once.wait()
        if len(addresses) < 4:
            return  # launches would wait for each other's words without end
        wrong.extend(k for k in range(calls) if not run(arrays[k % 3], [None, 9000][k % 2]))
        if workspace()[0] != calls << 32:
            wrong.append("an epoch is missing")
        at_once.wait()  # so no memory is used again

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(addresses) == 4
    assert not workspace().any()
