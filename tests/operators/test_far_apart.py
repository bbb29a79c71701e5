"""Arrays of more than 4 GiB and 2^32 elements on a GPU; the same in small on the host.

Where more than one process tests, each may take 13 GiB of the GPU's memory at a time.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.places import CUDA, HOST, POISON, Buffer, get, overwrite, put, same_bytes
from tests.helpers.rows import each

#: Arrays are of so many bytes in a row and one row more than that: on a GPU 4 GiB and 64 KiB.
SIDES = {HOST: 2**8, CUDA: 2**16}


class Memory(Buffer):
    """Memory that holds one byte everywhere, and can be larger than the host's."""

    def __init__(self, nbytes, value, place):
        self.place = place
        if place == HOST:
            self.memory = np.full(nbytes, value, np.uint8)
            return
        import cupy as cp  # noqa: PLC0415  optional

        gc.collect()  # what a failed test had
        cp.get_default_memory_pool().free_all_blocks()
        try:
            memory = cp.cuda.Memory(nbytes)
        except cp.cuda.runtime.CUDARuntimeError as error:
            if "cudaErrorMemoryAllocation" not in str(error):
                raise
            pytest.skip(f"{nbytes / 2**30:.1f} GiB of the GPU's memory are not free")
        self.memory = cp.ndarray(nbytes, np.uint8, cp.cuda.MemoryPointer(memory, 0))
        self.memory.data.memset(value, nbytes)

    def write(self, values, offset):
        """Write the bytes of an array of NumPy's at an offset in bytes."""
        raw = np.frombuffer(values.tobytes(), np.uint8)
        overwrite(self.view(raw.shape, np.uint8, offset=offset), raw)


def matrix(place, value=0):
    """Return memory for a row more than there are bytes in one, and the array of these rows."""
    side = SIDES[place]
    memory = Memory(side * (side + 1), value, place)
    return memory, memory.view((side + 1, side), np.uint8)


def drawn(low, high, shape, dtype=np.uint8):
    """Return random integers."""
    return np.random.default_rng(11).integers(low, high, shape, dtype)


@pytest.fixture
def side(place):
    return SIDES[place]


def test_gather_reads_far_apart(place, side):
    memory, x = matrix(place)
    last = drawn(1, 256, side)
    memory.write(last, side * side)
    elements = memory.view((side * (side + 1),), np.uint8)
    for dtype in ("int64", "uint64"):
        first = side * side
        indices = np.array([first + 5, first - 1, first, first + side - 1, first + side], dtype)
        expected = [last[5], 0, last[0], last[-1], last[-1]]
        assert get(ck.gather(elements, put(indices, place))).tolist() == expected
    rows = get(ck.gather(x, put(np.array([side, 0, -1, side + 9], np.int32), place)))
    assert rows.tolist() == [last.tolist(), [0] * side, last.tolist(), last.tolist()]
    columns = get(ck.gather(x, put(np.array([side - 1, 3], np.int32), place), 1))
    assert columns[:-1].tolist() == [[0, 0]] * side
    assert columns[-1].tolist() == [last[-1], last[3]]


def test_gather_writes_far_apart(place, side):
    memory, out = matrix(place, POISON)
    x = drawn(0, 256, (7, 16))
    count = out.size // 16
    chosen = Memory(4 * count, 0, place)
    last = drawn(0, 7, side // 16, np.int32)
    chosen.write(last, 4 * (count - last.size))
    ck.gather(
        put(x, place), chosen.view((count,), np.int32), out=memory.view((count, 16), np.uint8)
    )
    assert same_bytes(out[-1], x[last].reshape(-1))
    for row in (0, 1, side // 2 - 1, side // 2, side - 1):
        assert same_bytes(out[row], np.tile(x[0], side // 16))


@each("columns", [False, True])
def test_gather_nd_reads_far_apart(place, side, columns):
    memory, x = matrix(place)
    last = drawn(1, 256, side)
    memory.write(last, side * side)
    tuples = np.array([[side, 3], [0, 3], [-1, -1], [side, 0], [side - 1, side - 1]], np.int32)
    result = get(ck.gather_nd(x, put(tuples if columns else tuples[:, :1].copy(), place)))
    rows = np.stack([last, 0 * last, last, last, 0 * last])
    assert same_bytes(result, rows[range(5), tuples[:, 1]] if columns else rows)


def test_one_hot_writes_far_apart(place, side):
    _, out = matrix(place, POISON)
    indices = drawn(-side, side, side + 1, np.int32)
    ck.one_hot(put(indices, place), side, values=(3, 7), dtype="uint8", out=out)
    for row in (0, 1, side // 2 - 1, side // 2, side - 1, side):
        expected = np.full(side, 3, np.uint8)
        expected[indices[row]] = 7
        assert same_bytes(out[row], expected)


def test_nonzero_reads_far_apart(place, side):
    memory, x = matrix(place)
    at = [(0, 1), (side // 2, 0), (side - 1, side - 1), (side, 0), (side, side - 2)]
    for row, column in at:
        memory.write(np.uint8(9), row * side + column)
    found = ck.nonzero(x, size=7)
    assert np.stack([get(axis) for axis in found]).T.tolist() == [
        *map(list, at),
        [-1] * 2,
        [-1] * 2,
    ]
    (flat,) = ck.nonzero(memory.view((side * (side + 1),), np.uint8), size=5)
    assert get(flat).tolist() == [row * side + column for row, column in at]


def test_nonzero_coordinates_writes_far_apart(place, side):
    memory, _ = matrix(place, 1)
    elements = memory.view((side * (side + 1) // 2,), np.uint16)
    rows = Memory(4 * elements.size, POISON, place).view((elements.size, 1), np.uint32)
    count = put(np.array([POISON], np.uint32), place)
    ck.nonzero_coordinates(elements, out=(count, rows))
    assert get(count).tolist() == [elements.size]
    for first in (0, elements.size // 2 - 50, elements.size - 100):
        assert get(rows[first : first + 100, 0]).tolist() == [*range(first, first + 100)]


def test_reduce_reads_far_apart(place, side):
    memory, x = matrix(place)
    last = drawn(1, 200, side)
    last[[7, side - 3]] = 201
    memory.write(last, side * side)
    assert get(ck.reduce(x, "argmax")).item() == side * side + 7
    assert get(ck.reduce(x, "sum", dtype="int64")).item() == last.sum()
    assert same_bytes(ck.reduce(x, "max", 0), last)
    assert get(ck.reduce(x, "sum", 1, dtype="int64")).tolist() == [0] * side + [last.sum()]


def test_reduce_writes_far_apart(place, side):
    x = drawn(1, 256, side)
    _, out = matrix(place, POISON)
    repeated = Buffer(x, place).view((side + 1, side, 2), np.uint8, (0, 1, 0))
    ck.reduce(repeated, "sum", 2, out=out)
    for row in (0, side // 2 - 1, side // 2, side - 1, side):
        assert same_bytes(out[row], x + x)
