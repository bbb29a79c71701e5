"""Gather: rows picked at random, sorted, all the same; long and short, aligned and not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

import cudakern as ck
from cudakern.operators.gather.plan import (
    LAST_AXIS_MAX_STAGED_BYTES,
    LAST_AXIS_MIN_COUNT,
    LAST_AXIS_MIN_OUTER,
)
from perf.cases import base, rows
from perf.cases.base import Array, ArraySpec, Graphs, Line, Module, Traffic, Workload, case

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


#: How indices are spread. Out of range: half are negative, and one in nine lies beyond the ends.
Pattern = Literal["random", "sorted", "equal", "out_of_range"]


@dataclass(frozen=True, slots=True)
class GatherWorkload(Workload):
    """A gather from a random table."""

    #: Of table and indices.
    shape: tuple[int, ...]
    axis: int  # the one that is gathered, not negative
    indices_shape: tuple[int, ...]
    #: Of table and indices.
    dtype: str
    index_dtype: str
    pattern: Pattern  # how the indices are spread

    operator: ClassVar[str] = "gather"

    @property
    def extent(self) -> int:
        """Size of the axis."""
        return self.shape[self.axis]

    @property
    def planes(self) -> int:
        """Positions before the axis: each of them has a table of its own."""
        return prod(self.shape[: self.axis])

    @property
    def inner(self) -> int:
        """Elements of a row."""
        return prod(self.shape[self.axis + 1 :])

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self.inner * np.dtype(self.dtype).itemsize

    @property
    def count(self) -> int:
        """Number of indices."""
        return prod(self.indices_shape)

    @property
    def operands(self) -> tuple[ArraySpec, ...]:
        """Table and indices."""
        return (self.shape, self.dtype), (self.indices_shape, self.index_dtype)

    @property
    def results(self) -> tuple[ArraySpec, ...]:
        """The rows that are picked."""
        shape = (*self.shape[: self.axis], *self.indices_shape, *self.shape[self.axis + 1 :])
        return ((shape, self.dtype),)

    @property
    def title(self) -> str:
        """Table, indices, axis."""
        count = " x ".join(map(base.format_size, self.indices_shape))
        indices = f"{count} {self.pattern.replace('_', ' ')} {self.index_dtype}"
        axis = f", axis {self.axis}" if len(self.shape) > 1 else ""
        return f"{base.format_array(self.shape, self.dtype)}, {indices}{axis}"

    def traffic(self, *, cached: bool = True) -> Traffic:
        """Return the bytes of the lines or sectors that rows lie in, of indices and result."""
        granule = base.granule(cached=cached)
        table = self.extent * self.row_bytes
        if self.pattern == "equal":
            read = min(rows.granules_of_row(self.row_bytes, granule) * granule, table)
        elif self.pattern == "sorted" or (cached and table <= base.L2_BYTES):
            read = rows.bytes_of_distinct(self.count, table, self.row_bytes, granule)
        else:
            # Indices beyond the ends pick the first or the last row.
            beyond = _beyond(self.extent) if cached and self.pattern == "out_of_range" else 0
            picks = self.count * self.extent / (self.extent + beyond)
            read = picks * rows.granules_of_row(self.row_bytes, granule) * granule
        indices, result = map(base.nbytes, (self.operands[1], self.results[0]))
        return Traffic(self.planes * read + indices, result)

    def shrink(self, elements: int) -> Self:
        """Return fewer rows of the same length, and at least what the last axis asks for."""
        before, extent, count = self.shape[: self.axis], self.extent, self.count
        if self.planes >= LAST_AXIS_MIN_OUTER:
            # As long and as many as its variant, whose blocks a few rows keep busy, asks for.
            least = min(extent, LAST_AXIS_MAX_STAGED_BYTES // self.row_bytes + 1)
            before = base.shrink(before, max(elements // least, LAST_AXIS_MIN_OUTER))
            extent = min(extent, max(elements // prod(before), least))
            count = max(self.count * extent // self.extent, min(count, LAST_AXIS_MIN_COUNT))
            indices = base.shrink(self.indices_shape, count)
        else:
            fitting = elements // (prod(before) * self.inner)
            extent, indices = (
                min(extent, max(fitting, 1)),
                base.shrink(self.indices_shape, max(fitting, 1)),
            )
        shape = (*before, extent, *self.shape[self.axis + 1 :])
        return replace(self, shape=shape, indices_shape=indices)

    def inputs(self, xp: Module, seed: int) -> tuple[Array, ...]:
        """Return the table and the indices."""
        rng = base.generator(xp, seed)
        return rows.random_values(xp, rng, self.shape, self.dtype), self.indices(xp, rng)

    def indices(self, xp: Module, rng: Array) -> Array:
        """Return indices of the pattern."""
        shape, dtype, extent = self.indices_shape, self.index_dtype, self.extent
        if self.pattern == "equal":
            return xp.full(shape, extent // 2, dtype)
        if self.pattern == "out_of_range":
            end = extent + _beyond(extent)
            indices = rng.integers(0, 2 * end, shape, dtype=dtype)
            indices -= end
            return indices
        indices = rng.integers(0, extent, shape, dtype=dtype)
        if self.pattern == "sorted":
            indices.reshape(-1).sort()
        return indices

    def call(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], object]:
        """Return the call of `cudakern.gather`."""
        (x, indices), axis, out = inputs, self.axis, base.only(outputs)
        return lambda: ck.gather(x, indices, axis, out=out)

    def check(self, xp: Module, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compare with ``xp.take``."""
        table = inputs[0].reshape(self.planes, self.extent, self.inner)
        indices = inputs[1].reshape(-1)
        out = outputs[0].reshape(self.planes, self.count, self.inner)
        for planes, picks in rows.chunks(self.planes, self.count, self.inner):
            positions = rows.into_range(xp, indices[picks], self.extent)
            expected = xp.take(table[planes], positions, axis=1)
            rows.require_equal(xp, out[planes, picks], expected)


def _beyond(extent: int) -> int:
    """Return how far indices out of range reach beyond either end."""
    return max(extent // 8, 1)


def _rows(
    count: int,
    length: int,
    dtype: str = "float32",
    index_dtype: str = "int64",
    pattern: Pattern = "random",
    table: int | None = None,
) -> GatherWorkload:
    """Return a gather of so many rows from a table of as many, or of another number."""
    return GatherWorkload((table or count, length), 0, (count,), dtype, index_dtype, pattern)


def _scalars(
    table: int, count: int, dtype: str = "float32", pattern: Pattern = "random"
) -> GatherWorkload:
    return GatherWorkload((table,), 0, (count,), dtype, "int32", pattern)


CASES = (
    case("G-1", "sector rate", Line(_scalars(2**28, 2**28), goal=0.90)),
    case(
        "G-2",
        "coalescing; a table in L2",
        # Four elements of a thread are four loads, which meet the same sectors: L1 has them.
        Line(_scalars(2**28, 2**28, pattern="sorted"), goal=0.85, moved=2.03),
        Line(_scalars(2**22, 2**28), quick=True),
    ),
    case(
        "G-3",
        "short rows",
        Line(_rows(2**24, 16), goal=0.85, quick=True),
        Line(_rows(2**24, 16, index_dtype="int32"), goal=0.85),
    ),
    case("G-4", "embedding rows", Line(_rows(2**20, 256), goal=0.92, quick=True)),
    case(
        "G-5",
        "long rows",
        # A warp copies 16 sectors and reads one of indices.
        Line(_rows(2**18, 2048, "float16"), goal=0.92, moved=1.04, quick=True),
        Line(_rows(2**16, 7168, "float16"), goal=0.92, moved=1.04),
    ),
    case(
        "G-6",
        "rows and scalars off 16 bytes",
        # A row is loaded in pieces of 4 bytes, or of 1, which meet the same sectors.
        Line(_rows(2**23, 3, index_dtype="int32"), goal=0.75, moved=2.03, quick=True),
        Line(_rows(2**21, 100, "uint8", "int32"), goal=0.75),
        Line(_rows(2**23, 3, "uint8", "int32", table=2**25), goal=0.75, moved=2.54),
        # 16 or 8 indices of a thread are several loads, and two of them meet each sector.
        Line(_scalars(2**27, 2**23, "uint8"), goal=0.75, moved=1.11),
        Line(_scalars(2**26, 2**23, "float16"), goal=0.75, moved=1.11),
    ),
    case(
        "G-7",
        "last axis",
        # Blocks take one row each as long as there are few, and read the indices for it.
        Line(
            GatherWorkload((4096, 2**16), 1, (2**16,), "float32", "int32", "random"),
            goal=0.70,
            moved=1.10,
            quick=True,
        ),
    ),
    case(
        "G-9",
        "latency",
        Line(_rows(2**12, 16), goal_us=3.0, quick=True),
        Line(_scalars(2**12, 256), goal_us=3.0),
    ),
    case(
        "G-10",
        "a hot row; what clamping costs",
        # Every warp reads the row, which counts once: L1 has it.
        Line(_rows(2**24, 16, pattern="equal"), moved=1.12, quick=True),
        Line(_rows(2**24, 16, pattern="out_of_range"), goal=0.85),
    ),
)

SWEEP = case(
    "sweep-gather",
    "time against size: rows of 64 B",
    *(_rows(2**k // 16, 16, index_dtype="int32") for k in range(10, 29, 2)),
)
SMALL = _rows(32, 16, index_dtype="int32", table=64)
SIMULATED = (_rows(2**16, 16, index_dtype="int32"),)
GRAPHS: Graphs = {
    "gather(x, one chunk)": lambda cd, of: cd.gather(of.row, of.few),
    "gather(x, one chunk, mode='raise')": lambda cd, of: cd.gather(of.row, of.few, mode="raise"),
    "gather(x, NumPy array)": lambda cd, of: cd.gather(of.row, of.host),
    "gather(one chunk, indices)": lambda cd, of: cd.gather(of.single, of.indices),
}
