"""What nonzero_coordinates must find, arrays to search, and poisoned outputs of many layouts."""

from __future__ import annotations

from contextlib import nullcontext
from math import prod

import numpy as np
from hypothesis import strategies as st

import cudakern as ck
from cudakern.operators.nonzero import plan
from cudakern.values.dtypes import bfloat16
from cudakern.values.layout import packed_strides
from perf.engines import planned_with
from tests.helpers.places import POISON, get, same_bytes
from tests.helpers.strategies import MemoryLayout, memory_layouts, random_bytes

TILE = 65536  # bytes, or elements: no tile of any variant is larger
VECTOR = 16
LARGEST = 300_000  # bytes of an array
LAST_TILE, CLUSTERED = "last tile", "clustered"
DENSITIES = [0, 0.001, 0.01, 0.5, 0.99, 1, LAST_TILE, CLUSTERED]


def two_launches(words=32):
    """Have searches of any size take two launches, whose warps have so many words of bits."""
    sizes = {"COUNTED_SIZE": 0, "COUNTED_COLUMNS_SIZE": 0, "COUNTED_WORDS": (words, words)}
    return planned_with(plan, **sizes)


def sign_bytes(dtype):
    """Return which bytes of an element hold the sign of a float in their highest bit."""
    if dtype.kind == "c":
        return [dtype.itemsize // 2 - 1, dtype.itemsize - 1]
    return [dtype.itemsize - 1] if dtype.kind == "f" or dtype == bfloat16() else []


def is_nonzero(x):
    """Return, element by element, whether any bit is set, the signs of floats aside."""
    raw = np.array(get(x).view(f"V{x.dtype.itemsize}"), order="C")
    data = raw.reshape(-1).view(np.uint8).reshape(*x.shape, x.dtype.itemsize)
    data[..., sign_bytes(x.dtype)] &= 0x7F
    return data.any(axis=-1)


def expected_coordinates(x, dtype=np.int64):
    """Return the coordinates of x's non-zero elements, row after row; (0,) for that of a scalar."""
    found = is_nonzero(x)
    return np.argwhere(found.reshape(found.shape or (1,))).astype(dtype)


def where(rng, count, itemsize, density):
    """Return which of so many elements are to be non-zero."""
    mask = np.zeros(count, bool)
    if density == LAST_TILE:
        mask[(count * itemsize - 1) // TILE * TILE // itemsize :] = True
    elif density == CLUSTERED:
        ends = rng.integers(0, count + 1, rng.integers(1, 12))
        mask = np.searchsorted(np.sort(ends), np.arange(count), side="right") % 2 == 1
    else:
        mask = rng.random(count) < density
    return mask


def random_elements(rng, shape, dtype, density):
    """Return an array of which about such a share is non-zero: NaNs, subnormals, odd bools."""
    dtype = np.dtype(dtype)
    count, size = prod(shape), dtype.itemsize
    mask = where(rng, count, size, density)
    data = random_bytes(rng, (count,), dtype).view(np.uint8).reshape(count, size)
    kind = rng.integers(0, 8, count)
    data[kind < 2] = 0  # of these one bit is set, of others all
    one = np.flatnonzero(kind < 2)
    data[one, rng.integers(size, size=one.size)] = 1 << rng.integers(0, 8, one.size)
    data[kind == 2] = 0xFF
    empty = ~is_nonzero(data.view(dtype).reshape(count))
    data[empty, 0] = 1
    data[~mask] = 0
    for position in sign_bytes(dtype):
        data[~mask & (rng.random(count) < 0.3), position] = 0x80
    return data.view(dtype).reshape(shape)


@st.composite
def nonzero_shapes(draw, itemsize, largest):
    """Draw shapes: small ones of any rank, and sizes around the limits of a kernel's parts."""
    if draw(st.booleans()):
        rank = draw(st.integers(0, 8))
        low = st.sampled_from([0] + [1] * 24)
        longest = 3 if rank > 4 else 7
        return tuple(draw(st.integers(min(1, draw(low)), longest)) for _ in range(rank))
    limits = [n * TILE // itemsize for n in (1, 2, 3)] + [TILE, 3 * TILE]
    limits = [1, 32, VECTOR // itemsize, *[n for n in limits if n * itemsize < largest]]
    near = draw(st.sampled_from(limits)) + draw(st.integers(-2, 2))
    count = max(1, draw(st.one_of(st.just(near), st.integers(1, largest // itemsize))))
    outer = draw(st.sampled_from([1, 1, 2, 3, 40]))
    middle = draw(st.sampled_from([1, 1, 5]))
    shape = (outer, middle, max(1, count // (outer * middle)))
    shape = draw(st.permutations([n for n in shape if n > 1]))
    return tuple(shape) or (1,)


def laid_out(shape, strides, itemsize, front=0):
    """Return the memory layout with these strides in elements, behind so many more."""
    offset = itemsize * front
    offset += itemsize * sum(-s * (n - 1) for n, s in zip(shape, strides, strict=True) if s < 0 < n)
    last = itemsize * sum(abs(s) * (n - 1) for n, s in zip(shape, strides, strict=True) if n > 0)
    strides = tuple(s * itemsize for s in strides)
    return MemoryLayout(tuple(shape), strides, offset, itemsize * (front + 2) + last + 4)


#: Strides of coordinates of m rows and n columns, in elements.
COORDINATE_STRIDES = {
    "rows": lambda _m, n: (n, 1),
    "axes": lambda m, _n: (1, m),
    "every other row": lambda _m, n: (2 * n, 1),
    "every other element": lambda _m, n: (2 * n, 2),
    "low halves of axes": lambda m, _n: (2, 2 * m),
    "padded rows": lambda _m, n: (n + 3, 1),
    "padded axes": lambda m, _n: (1, m + 5),
    "upside down": lambda _m, n: (-n, 1),
    "axes from the last": lambda m, _n: (1, -m),
    "rows from the last": lambda m, _n: (-1, m),
    "all reversed": lambda _m, n: (-2 * n, -2),
}


@st.composite
def coordinate_layouts(draw, shape, itemsize):
    """Draw a memory layout of coordinates, one with a name or any other."""
    name = draw(st.sampled_from([*COORDINATE_STRIDES, "any", "any", "any"]))
    if name == "any":
        return draw(memory_layouts(shape, itemsize, output=True, aligned=True))
    front = draw(st.sampled_from([0, 0, 1, 3]))
    return laid_out(shape, COORDINATE_STRIDES[name](*shape), itemsize, front)


class Outputs:
    """A count and coordinates in poisoned memory."""

    def __init__(self, count_layout, coordinates_layout, dtype, place, count_dtype=np.uint32):
        self._layouts = count_layout, coordinates_layout
        self._dtypes = np.dtype(count_dtype), np.dtype(dtype)
        made = [
            layout.poisoned(kind, place)
            for layout, kind in zip(self._layouts, self._dtypes, strict=True)
        ]
        self._buffers, self.pair = zip(*made, strict=True)
        self.flat = tuple(
            buffer.view((layout.nbytes // kind.itemsize,), kind)
            for buffer, layout, kind in zip(self._buffers, self._layouts, self._dtypes, strict=True)
        )

    @classmethod
    def packed(cls, shape, dtype, place):
        """Return outputs for an x of a shape, with row after row of coordinates."""
        shape = prod(shape), max(1, len(shape))
        strides = packed_strides(shape, 1)
        layout = laid_out(shape, strides, np.dtype(dtype).itemsize)
        return cls(laid_out((1,), (1,), 4), layout, dtype, place)

    def assert_hold(self, coordinates, count=None):
        """Nothing but the count and these rows has been written, byte by byte."""
        values = len(coordinates) if count is None else count, coordinates
        places = ..., np.s_[..., : len(coordinates), :]
        for k, (layout, dtype) in enumerate(zip(self._layouts, self._dtypes, strict=True)):
            memory = np.full(layout.nbytes, POISON, np.uint8)
            view = np.ndarray(layout.shape, dtype, memory, layout.offset, layout.strides)
            view[places[k]] = values[k]
            np.testing.assert_array_equal(self._buffers[k].bytes(), memory)


def assert_found(result, coordinates, shape, size=None):
    """The result is new, of these rows as far as there is room, for an x of a shape."""
    assert type(result) is ck.NonzeroCoordinates
    assert same_bytes(result.count, np.array([len(coordinates)], np.uint32))
    rows = prod(shape) if size is None else size
    assert result.coordinates.shape == (rows, max(1, len(shape)))
    assert same_bytes(get(result.coordinates)[: len(coordinates)], coordinates[:rows])


@st.composite
def turned_layouts(draw, itemsize, largest):
    """Draw the layout of an array whose memory is contiguous along an axis before the last."""
    vectors = draw(st.integers(1, min(20, largest // (VECTOR * 3 * 40 * 4))))  # by all other axes
    rows = VECTOR // itemsize * vectors - draw(st.sampled_from([0, 0, 0, 1]))
    before = draw(st.lists(st.integers(1, 3), max_size=1))
    after = [
        draw(st.sampled_from([3, 16, 31, 32, 40])),
        *draw(st.lists(st.integers(1, 4), max_size=1)),
    ]
    shape = (*before, rows, *after)
    strides = [itemsize] * len(shape)
    run = rows * itemsize
    for axis in draw(st.permutations([d for d in range(len(shape)) if d != len(before)])):
        run += VECTOR * draw(st.sampled_from([0, 0, 1]))
        strides[axis] = run
        run *= shape[axis]
    offset = draw(st.sampled_from([0, 0, 0, VECTOR, itemsize]))
    return MemoryLayout(shape, tuple(strides), offset, offset + run)


def any_x(place, dtype, draw, largest):
    """Draw an array of any shape, density and layout, of about so many bytes at most."""
    dtype = np.dtype(dtype)
    if draw(st.integers(0, 4), "turned") == 0:
        layout = draw(turned_layouts(dtype.itemsize, largest), "layout")
    else:
        shape = draw(nonzero_shapes(dtype.itemsize, largest), "shape")
        layout = draw(memory_layouts(shape, dtype.itemsize), "layout")
    rng = np.random.default_rng(draw(st.integers(0, 2**32), "seed"))
    density = draw(st.sampled_from(DENSITIES), "density")
    return layout.holding(random_elements(rng, layout.shape, dtype, density), place)


def assert_any_call(place, dtype, kind, draw, largest=LARGEST):
    """Draw a call of nonzero_coordinates and hold its result against the expected one."""
    x = any_x(place, dtype, draw, largest)
    with two_launches() if draw(st.booleans(), "two launches") else nullcontext():
        _assert_call(x, place, kind, draw)


def _assert_call(x, place, kind, draw):
    expected = expected_coordinates(x, kind)  # one that is repeated keeps the last value written
    around = st.sampled_from([0, 1, max(0, len(expected) - 1), len(expected), len(expected) + 1])
    size = draw(st.one_of(st.none(), around, st.integers(0, x.size + 9)), "size")
    if not draw(st.booleans(), "give out"):
        assert_found(ck.nonzero_coordinates(x, size=size, dtype=kind), expected, x.shape, size)
        return
    shape = (x.size if size is None else size, max(1, x.ndim))
    outputs = Outputs(
        draw(memory_layouts((1,), 4, output=True, aligned=True), "count layout"),
        draw(coordinate_layouts(shape, np.dtype(kind).itemsize), "coordinates layout"),
        kind,
        place,
    )
    pair = draw(st.sampled_from([tuple, list, ck.NonzeroCoordinates._make]), "pair")
    result = ck.nonzero_coordinates(x, size=size, dtype=kind, out=pair(outputs.pair))
    assert type(result) is ck.NonzeroCoordinates
    assert all(map(lambda a, b: a is b, result, outputs.pair))
    outputs.assert_hold(expected[: shape[0]], len(expected))
