"""gather_nd for tests: what it must compute, slow and obvious, and strategies for its operands."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from hypothesis import strategies as st

from tests.helpers.oracle import resolve
from tests.helpers.strategies import random_indices

RANK = 8
KINDS = ["any"] * 5 + ["rows", "rows", "spliced", "spliced", "packed", "packed", "scalars", "long"]


def gather_nd(x, indices, batch_dims=0, mode="clamp", fill_value=0):
    """Return what gather_nd returns, tuple by tuple."""
    raw = f"V{x.itemsize}"  # bytes, since NumPy normalises bools
    fill = np.array(fill_value, x.dtype).view(raw)
    extents = x.shape[batch_dims : batch_dims + indices.shape[-1]]
    source = x.view(raw)
    result = np.empty(indices.shape[:-1] + x.shape[batch_dims + len(extents) :], raw)
    for at in np.ndindex(indices.shape[:-1]):
        components = zip(indices[at].tolist(), extents, strict=True)
        position = [resolve(value, extent, mode) for value, extent in components]
        result[at] = fill if None in position else source[(*at[:batch_dims], *position)]
    return result.view(x.dtype)


@dataclass(frozen=True)
class Shapes:
    """Shapes of x and of the indices, which have ``batch_dims`` leading dimensions in common."""

    x: tuple[int, ...]
    indices: tuple[int, ...]
    batch_dims: int

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the axes that the components of a tuple select from."""
        return self.x[self.batch_dims : self.batch_dims + self.indices[-1]]

    @property
    def result(self) -> tuple[int, ...]:
        """Shape of the result."""
        return self.indices[:-1] + self.x[self.batch_dims + self.indices[-1] :]


@st.composite
def gather_nd_shapes(draw, itemsize):
    """Draw shapes, among them what each kernel variant is made for."""
    kind = draw(st.sampled_from(KINDS))
    if kind == "any":
        return draw(_any_shapes())
    inner = draw(_rows(kind, itemsize))
    short = prod(inner) * itemsize < 4000
    batch = draw(st.lists(st.integers(1, 4), max_size=2 if short else 1))
    extents = draw(st.lists(st.sampled_from([1, 2, 3, 6]), min_size=1, max_size=4 if short else 2))
    most = {"rows": 90, "spliced": 120, "packed": 700, "scalars": 1500, "long": 4}[kind]
    count = draw(st.integers(1, max(1, most // prod(batch))))
    split = draw(st.sampled_from([(), (), (2,)]))
    x = (*batch, *extents, *inner)
    return Shapes(x, (*batch, *split, count, len(extents)), len(batch))


def _rows(kind, itemsize):
    """Return a strategy for the shape of rows: 16-byte multiples, other long ones, short ones."""
    multiple = 16 // itemsize
    if kind == "scalars":
        return st.just(())
    if kind == "rows":
        pieces = st.sampled_from([1, 2, 3, 5, 16, 17, 33])
        return st.one_of(pieces.map(lambda n: (n * multiple,)), pieces.map(lambda n: (n, multiple)))
    if kind == "packed":
        return st.integers(1, max(1, multiple - 1)).map(lambda n: (n,))
    if kind == "spliced":
        odd = st.integers(multiple, 12 * multiple)
        return st.one_of(odd.map(lambda n: (n,)), odd.map(lambda n: (3, n)))
    longest = 40_000 // itemsize  # several tiles of 8 KiB, or of 16 KiB
    tiles = [n + d for n in (8192 // itemsize, 16384 // itemsize) for d in (-1, 0, 1)]
    return st.one_of(st.sampled_from(tiles), st.integers(1, longest)).map(lambda n: (n,))


@st.composite
def _any_shapes(draw):
    """Draw small shapes of any rank, batch and tuple size, some sizes zero."""
    batch = draw(st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7]))
    tuple_size = min(draw(st.sampled_from([0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 8])), RANK - batch)
    room = RANK - batch - tuple_size
    rank = st.sampled_from([0, 0, 1, 1, 2, 3, 7])
    copied = max(min(draw(rank), room), 1 if tuple_size == 0 else 0)
    others = min(draw(rank), RANK - 1 - batch)
    longest = 2 if batch + copied + others > 4 else 4
    size = st.sampled_from([1, 2, longest, longest] * 6 + [0])
    common = [draw(size) for _ in range(batch)]
    extents = [draw(st.integers(1, 4 if tuple_size < 5 else 3)) for _ in range(tuple_size)]
    x = (*common, *extents, *[draw(size) for _ in range(copied)])
    return Shapes(x, (*common, *[draw(size) for _ in range(others)], tuple_size), batch)


def random_tuples(rng, shape, dtype, extents, wild=0.1):
    """Return tuples of indices in range, but for a share of wild components: see random_indices."""
    tuples = np.empty(shape, dtype)
    for k, extent in enumerate(extents):
        low = -extent if np.dtype(dtype).kind == "i" else 0
        good = rng.integers(low, extent, shape[:-1]).astype(dtype)
        bad = random_indices(rng, shape[:-1], dtype, extent)
        tuples[..., k] = np.where(rng.random(shape[:-1]) < wild, bad, good)
    return tuples
