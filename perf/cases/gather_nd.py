"""Gather by index tuples: slices of 128 bytes, in batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, ClassVar, Self

import cudakern as ck
from perf.cases import base, rows
from perf.cases.base import Array, ArraySpec, Graphs, Line, Module, Traffic, Workload, case

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


#: Batches that a smaller workload keeps.
FEW_BATCHES = 4


@dataclass(frozen=True, slots=True)
class GatherNDWorkload(Workload):
    """A gather of slices by random index tuples."""

    shape: tuple[int, ...]  # of the table
    indices_shape: tuple[int, ...]  # of the indices; the last size is that of a tuple
    batch_dims: int  # leading dimensions that both have
    #: Of table and indices.
    dtype: str
    index_dtype: str

    operator: ClassVar[str] = "gather_nd"

    @property
    def extents(self) -> tuple[int, ...]:
        """Sizes of the axes that a tuple selects from."""
        return self.shape[self.batch_dims : self.batch_dims + self.indices_shape[-1]]

    @property
    def slice_shape(self) -> tuple[int, ...]:
        """Shape of what a tuple selects."""
        return self.shape[self.batch_dims + self.indices_shape[-1] :]

    @property
    def batches(self) -> int:
        """Number of batches: each has a table of its own."""
        return prod(self.shape[: self.batch_dims])

    @property
    def count(self) -> int:
        """Number of tuples of a batch."""
        return prod(self.indices_shape[self.batch_dims : -1])

    @property
    def operands(self) -> tuple[ArraySpec, ...]:
        """Table and indices."""
        return (self.shape, self.dtype), (self.indices_shape, self.index_dtype)

    @property
    def results(self) -> tuple[ArraySpec, ...]:
        """The slices that are picked."""
        return (((*self.indices_shape[:-1], *self.slice_shape), self.dtype),)

    @property
    def title(self) -> str:
        """Table, tuples, batch dimensions."""
        *counts, components = self.indices_shape
        count = " x ".join(map(base.format_size, counts))
        tuples = f"{count} tuples of {components} {self.index_dtype}"
        batch = f", batch {self.batch_dims}" if self.batch_dims else ""
        return f"{base.format_array(self.shape, self.dtype)}, {tuples}{batch}"

    def traffic(self, *, cached: bool = True) -> Traffic:
        """Return the bytes of the lines or sectors that slices lie in, of indices and result."""
        granule = base.granule(cached=cached)
        row = base.nbytes((self.slice_shape, self.dtype))
        table = prod(self.extents) * row
        if cached and table <= base.L2_BYTES:
            read = rows.bytes_of_distinct(self.count, table, row, granule)
        else:
            read = self.count * rows.granules_of_row(row, granule) * granule
        indices, result = map(base.nbytes, (self.operands[1], self.results[0]))
        return Traffic(self.batches * read + indices, result)

    def shrink(self, elements: int) -> Self:
        """Return fewer slices of the same length, in fewer batches."""
        batch = base.shrink(self.shape[: self.batch_dims], FEW_BATCHES)
        fitting = max(elements // (prod(batch) * prod(self.slice_shape)), 1)
        counts = base.shrink(self.indices_shape[self.batch_dims : -1], fitting)
        shape = (*batch, *base.shrink(self.extents, fitting), *self.slice_shape)
        indices = (*batch, *counts, self.indices_shape[-1])
        return replace(self, shape=shape, indices_shape=indices)

    def inputs(self, xp: Module, seed: int) -> tuple[Array, ...]:
        """Return the table and the indices."""
        rng = base.generator(xp, seed)
        table = rows.random_values(xp, rng, self.shape, self.dtype)
        indices = xp.empty(self.indices_shape, self.index_dtype)
        for component, extent in enumerate(self.extents):
            positions = rng.integers(0, extent, self.indices_shape[:-1], dtype=self.index_dtype)
            indices[..., component] = positions
        return table, indices

    def call(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], object]:
        """Return the call of `cudakern.gather_nd`."""
        (x, indices), batch_dims, out = inputs, self.batch_dims, base.only(outputs)
        return lambda: ck.gather_nd(x, indices, batch_dims, out=out)

    def check(self, xp: Module, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compare with indexing by arrays."""
        inner = prod(self.slice_shape)
        table = inputs[0].reshape(self.batches, *self.extents, inner)
        indices = inputs[1].reshape(self.batches, self.count, -1)
        out = outputs[0].reshape(self.batches, self.count, inner)
        for batches, picks in rows.chunks(self.batches, self.count, inner):
            part = indices[batches, picks]
            first = xp.arange(part.shape[0])[:, None]
            positions = [rows.into_range(xp, part[..., k], n) for k, n in enumerate(self.extents)]
            rows.require_equal(xp, out[batches, picks], table[batches][(first, *positions)])


CASES = (
    case(
        "G-8",
        "fused offsets of index tuples",
        Line(
            GatherNDWorkload((64, 128, 128, 64), (64, 8192, 2), 1, "float16", "int64"),
            goal=0.85,
            quick=True,
        ),
    ),
)

SWEEP = case(
    "sweep-gather_nd",
    "time against size: batches of 128 slices of 128 B",
    *(
        GatherNDWorkload((4**k, 16, 16, 64), (4**k, 128, 2), 1, "float16", "int64")
        for k in range(8)
    ),
)
SMALL = GatherNDWorkload((64, 16), (32, 1), 0, "float32", "int32")
SIMULATED = (GatherNDWorkload((256, 256, 16), (2**16, 2), 0, "float32", "int32"),)
GRAPHS: Graphs = {
    "gather_nd(x, one chunk), a square grid": lambda cd, of: cd.gather_nd(of.square, of.pairs)
}
