"""Searches for nonzero elements of the benchmark matrix: Z-1 to Z-9."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import cudakern as ck
from perf.cases import base
from perf.cases.base import Array, ArraySpec, Graphs, Line, Module, Traffic, Workload, case

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Pattern = Literal["random", "clustered", "last"]

#: Pieces that clustered data consists of, each of ones or of zeros.
PIECES = 4096
#: Elements at the end that are ones with the pattern ``"last"``.
LAST = 2**16
#: Integers that are not zero are drawn from 1 to INTEGERS - 1.
INTEGERS = 100
#: Rows that a transposed array keeps at least, before it becomes narrower.
MIN_ROWS = 16


@dataclass(frozen=True, slots=True)
class NonzeroWorkload(Workload):
    """Where elements of x are not zero."""

    operator: ClassVar[str] = "nonzero_coordinates"

    shape: tuple[int, ...]  # of x
    #: Of x; of the coordinates.
    dtype: str
    density: float  # share of the elements that are not zero; ignored with ``"last"``
    #: Where they lie: ``"random"``; ``"clustered"``: in pieces without a zero; ``"last"``: they are
    #: the last 64 Ki elements.
    pattern: Pattern
    result: Literal["uint32", "int64"]
    transposed: bool = False  # whether x is the transposed view of a contiguous array

    @property
    def operands(self) -> tuple[ArraySpec, ...]:
        """The array that is searched."""
        return ((self.shape, self.dtype),)

    @property
    def results(self) -> tuple[ArraySpec, ...]:
        """The count, and room for coordinates of all elements."""
        return ((1,), "uint32"), ((self.size, len(self.shape)), self.result)

    @property
    def size(self) -> int:
        """Number of elements of x."""
        return prod(self.shape)

    @property
    def title(self) -> str:
        """``"[2^28] bool, 1 %, u32"``."""
        share = f"{100 * self.density:g} %"
        where = {"random": share, "clustered": f"{share} clustered", "last": "ones in last 64 Ki"}
        title = f"{base.format_array(self.shape, self.dtype)}, {where[self.pattern]}"
        return f"{title}, {self.result[0]}{self.result[-2:]}" + ", transposed" * self.transposed

    def traffic(self, *, cached: bool = True) -> Traffic:
        """Return x once, the coordinates that are found and the count."""
        del cached
        count, coordinates = map(base.nbytes, self.results)
        share = min(LAST / self.size, 1) if self.pattern == "last" else self.density
        return Traffic(base.nbytes(self.operands[0]), share * coordinates + count)

    def shrink(self, elements: int) -> Self:
        """Return the same workload with the largest dimension halved; if transposed, the first."""
        rows, *others = self.shape
        if self.transposed:  # the other one decides which kernel runs
            rows = max(MIN_ROWS, min(rows, elements // prod(others)))
        return replace(self, shape=base.shrink((rows, *others), elements))

    def inputs(self, xp: Module, seed: int) -> tuple[Array, ...]:
        """Return (x,)."""
        (x,) = self.blank(xp)
        rng, begin = base.generator(xp, seed), 0
        whole = xp.argsort(rng.random(PIECES, dtype="float32")) < round(self.density * PIECES)
        for part in base.split(x):
            places = xp.arange(begin, begin + part.size)
            begin += part.size
            if self.pattern == "last":
                mask = places >= x.size - LAST
            elif self.pattern == "clustered":
                mask = whole[places // -(-x.size // PIECES)]
            else:
                # Whether a number from 0 to 1 can be one of the ends depends on the generator.
                mask = rng.random(part.size, dtype="float32") < self.density
                mask |= self.density == 1
                mask &= self.density != 0
            if self.dtype == "bool":
                part[...] = mask
            elif "int" in self.dtype:
                part[...] = mask * rng.integers(1, INTEGERS, part.size, dtype=self.dtype)
            else:
                part[...] = mask * (rng.random(part.size, dtype="float32") + 0.5)
        return (x,)

    def call(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], object]:
        """Return our call of `cudakern.nonzero_coordinates`."""
        (x,), dtype, out = inputs, self.result, tuple(outputs) or None
        return lambda: ck.nonzero_coordinates(x, dtype=dtype, out=out)

    def found(self, result: Any) -> Array:  # noqa: ANN401  a named tuple
        """Return the coordinates that were found."""
        count, coordinates = result
        return coordinates[: int(count[0])]

    def check(self, xp: Module, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compare with ``xp.nonzero``, a few planes of x at a time."""
        (x,), (count, coordinates) = inputs, outputs
        counted, expected = int(count[0]), int(xp.count_nonzero(x))
        assert counted == expected, f"{self.title}: must find {expected} elements; found {counted}"
        at, planes = 0, max(1, base.CHUNK * x.shape[0] // x.size)
        for begin in range(0, x.shape[0], planes):
            axes = xp.nonzero(x[begin : begin + planes])
            rows = coordinates[at : at + axes[0].size]
            for axis, positions in enumerate(axes):
                first = begin if axis == 0 else 0
                wrong = int(xp.count_nonzero(rows[:, axis] != positions + first))
                assert not wrong, f"{self.title}: {wrong} coordinates along axis {axis} are wrong"
            at += axes[0].size


def _both(
    shape: tuple[int, ...],
    dtype: str,
    density: float,
    *,
    goal: float | None,
    goal_us: float | None = None,
    pattern: Pattern = "random",
    moved: float = 1.05,
    quick: bool = False,
) -> tuple[Line, Line]:
    """Return lines with results of uint32 and of int64; ``quick`` has the former."""
    narrow = NonzeroWorkload(shape, dtype, density, pattern, "uint32")
    wide = replace(narrow, result="int64")
    return Line(narrow, goal, goal_us, moved, quick=quick), Line(wide, goal, goal_us, moved)


def _bools(size: int, density: float, pattern: Pattern = "random") -> NonzeroWorkload:
    """Return a search of a vector, with a result of uint32."""
    return NonzeroWorkload((size,), "bool", density, pattern, "uint32")


#: At the reduced size tiles have 4 KiB, and a look-back reads 8 bytes for each one in front.
_LOOKED = 1.13
#: A bit for each element goes to L2 and back: with single bytes, a quarter of what x has.
_FEW, _MANY = 1.26, 1.13
_TRANSPOSED = NonzeroWorkload((2**14, 2**14), "bool", 0.5, "random", "uint32", transposed=True)

CASES = (
    case("Z-1", "rate of reading", *_both((2**28,), "bool", 0, goal=0.85)),
    case("Z-2", "few elements", *_both((2**28,), "bool", 0.01, goal=0.8, moved=_FEW, quick=True)),
    case("Z-3", "branches at their worst", *_both((2**28,), "bool", 0.5, goal=0.8, moved=_MANY)),
    case(
        "Z-4",
        "rate of writing; a last tile that waits for all others",
        *_both((2**28,), "bool", 0.99, goal=0.85, moved=_MANY),
        *_both((2**28,), "bool", 1, goal=0.85, moved=_MANY, quick=True),
        Line(_bools(2**28, 0, "last"), goal=0.85, moved=_MANY),
    ),
    case("Z-5", "arithmetic of coordinates", *_both((512, 512, 1024), "float32", 0.5, goal=0.85)),
    case(
        "Z-6",
        "tiles with much and with little to write",
        *_both(
            (2**14, 2**14),
            "float16",
            0.1,
            pattern="clustered",
            goal=0.8,
            moved=_MANY,
            quick=True,
        ),
    ),
    case(
        "Z-7",
        "data of the size of L2",
        *_both((2**24,), "int8", 0.1, goal=None, goal_us=15, moved=_LOOKED, quick=True),
    ),
    case(
        "Z-8",
        "latency, with and without the count on the host",
        Line(_bools(2**10, 0.1), goal_us=5, quick=True),
        Line(_bools(2**14, 0.1), goal_us=5),
        Line(_bools(2**18, 0.1), goal_us=5, moved=_LOOKED),
    ),
    case(
        "Z-9",
        "order of coordinates against that of memory",
        Line(_TRANSPOSED, goal=0.5, moved=1.30, quick=True),
    ),
)
SWEEP = case(
    "sweep-nonzero_coordinates",
    "time of a search for 1 % by size",
    *(_bools(2**k, 0.01) for k in range(10, 29, 2)),
)
SMALL = NonzeroWorkload((64, 16), "float32", 0.01, "random", "uint32")
SIMULATED = tuple(
    NonzeroWorkload((size,), "float32", 0.5, "random", "uint32") for size in (2**20, 400)
)
GRAPHS: Graphs = {
    "argwhere(x)": lambda cd, of: cd.argwhere(of.row),
    "argwhere(x), a square grid": lambda cd, of: cd.argwhere(of.square),
    "nonzero(x)": lambda cd, of: cd.nonzero(of.row),
    "nonzero(x, size=9)": lambda cd, of: cd.nonzero(of.row, size=9),
    "nonzero_coordinates(x)": lambda cd, of: cd.nonzero_coordinates(of.row),
}
