"""One-hot: rows shorter than a vector and longer than a tile, of all widths; inner planes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, ClassVar, Self

import cudakern as ck
from perf.cases import base
from perf.cases.base import Array, ArraySpec, Graphs, Line, Module, Workload, case
from perf.cases.rows import CHUNK, require_equal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class OneHotWorkload(Workload):
    """A one-hot of random indices, all in range."""

    indices_shape: tuple[int, ...]  # of the indices
    #: Size and place of the new axis, counted from the first.
    depth: int
    axis: int
    #: Of result and indices.
    dtype: str
    index_dtype: str

    operator: ClassVar[str] = "one_hot"

    @property
    def _parts(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.indices_shape[: self.axis], self.indices_shape[self.axis :]

    @property
    def operands(self) -> tuple[ArraySpec, ...]:
        """The indices."""
        return ((self.indices_shape, self.index_dtype),)

    @property
    def results(self) -> tuple[ArraySpec, ...]:
        """A vector for each index."""
        before, behind = self._parts
        return (((*before, self.depth, *behind), self.dtype),)

    @property
    def title(self) -> str:
        """Indices, depth, dtype of the result, axis."""
        title = base.format_array(self.indices_shape, self.index_dtype)
        title = f"{title} x {base.format_size(self.depth)} {self.dtype.replace('float', 'f')}"
        return title if self.axis == len(self.indices_shape) else f"{title}, axis {self.axis}"

    def shrink(self, elements: int) -> Self:
        """Return fewer rows of the same depth; shorter planes once two are left."""
        before, behind = self._parts
        before = base.shrink(before, max(elements // (self.depth * prod(behind)), 2))
        behind = base.shrink(behind, max(elements // (self.depth * prod(before)), 1))
        return replace(self, indices_shape=(*before, *behind))

    def inputs(self, xp: Module, seed: int) -> tuple[Array, ...]:
        """Return the indices."""
        rng = base.generator(xp, seed)
        return (rng.integers(0, self.depth, self.indices_shape, dtype=self.index_dtype),)

    def call(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], object]:
        """Return the call of `cudakern.one_hot`."""
        (indices,), depth, axis, out = inputs, self.depth, self.axis, base.only(outputs)
        dtype = self.dtype
        return lambda: ck.one_hot(indices, depth, axis=axis, dtype=dtype, out=out)

    def check(self, xp: Module, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compare with ``index == position``."""
        rows, columns = map(prod, self._parts)
        indices = inputs[0].reshape(rows, 1, columns)
        out = outputs[0].reshape(rows, self.depth, columns)
        positions = xp.arange(self.depth)[:, None]
        step = max(CHUNK // (self.depth * columns), 1)
        for row in range(0, rows, step):
            part = slice(row, row + step)
            expected = (indices[part] == positions).astype(self.dtype)
            require_equal(xp, out[part], expected)


def _rows(count: int, depth: int, dtype: str = "float32") -> OneHotWorkload:
    return OneHotWorkload((count,), depth, 1, dtype, "int64")


CASES = (
    case("O-1", "plain", Line(_rows(2**20, 1000), goal=0.93)),
    case("O-2", "short rows", Line(_rows(2**22, 32, "float16"), goal=0.88, quick=True)),
    case(
        "O-3", "rows shorter than a vector", Line(_rows(2**24, 10, "int8"), goal=0.80, quick=True)
    ),
    case("O-4", "odd, long rows", Line(_rows(2**17, 50257, "float16"), goal=0.93, wide=True)),
    case("O-5", "torch's own type", Line(_rows(2**20, 1000, "int64"), goal=0.93)),
    case(
        "O-6",
        "inner planes",
        Line(OneHotWorkload((256, 4096), 64, 1, "float32", "int64"), goal=0.90, quick=True),
    ),
    case("O-7", "odd depth", Line(_rows(2**18, 777, "float64"), goal=0.92, quick=True)),
    # Each warp reads the indices of its elements: a sector for 128 bytes.
    case("O-8", "latency", Line(_rows(128, 10), goal_us=3.0, moved=1.17, quick=True)),
)

SWEEP = case(
    "sweep-one_hot", "time against size: rows of 1000", *(_rows(4**k, 1000) for k in range(10))
)
SMALL = OneHotWorkload((32,), 16, 1, "float32", "int32")
SIMULATED = (OneHotWorkload((2**16,), 16, 1, "float32", "int32"),)
GRAPHS: Graphs = {"one_hot(indices, 4)": lambda cd, of: cd.one_hot(of.indices, 4)}
