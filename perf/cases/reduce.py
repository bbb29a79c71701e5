"""Reductions of the benchmark matrix: R-1 to R-10."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, ClassVar, Self

import cudakern as ck
from cudakern.operators.annotations import FunctionName
from perf.cases import base
from perf.cases.base import Array, ArraySpec, Graphs, Line, Module, Workload, case

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Integers are drawn from -INTEGERS, of unsigned types from 0, to INTEGERS - 1.
INTEGERS = 100
#: A float16 sum is 2 to this power at most, or rarely half as much again.
HALF_BITS = 15

#: Additions that one thread makes one after the other, and levels of the trees above, at most.
SEQUENTIAL = 2048
TREES = 64
#: Half units in the last place by which the sum of log_sum_exp is off, its additions aside: two
#: exponentials, of 2 ulp in CUDA's documentation, and products.
EXPONENTIALS = 12
#: Half a unit in the last place, in relation to the number.
_ROUNDING = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}


@dataclass(frozen=True, slots=True)
class ReduceWorkload(Workload):
    """A function of x over some of its axes."""

    operator: ClassVar[str] = "reduce"

    function: FunctionName  # ``"sum"``, ``"max"``, ``"argmax"`` or ``"log_sum_exp"``
    shape: tuple[int, ...]  # of x
    axes: tuple[int, ...]  # those that are reduced, ascending
    dtype: str  # of x
    transposed: bool = False  # whether x is the transposed view of a contiguous array

    @property
    def operands(self) -> tuple[ArraySpec, ...]:
        """The array that is reduced."""
        return ((self.shape, self.dtype),)

    @property
    def results(self) -> tuple[ArraySpec, ...]:
        """The reduced array."""
        shape = tuple(size for axis, size in enumerate(self.shape) if axis not in self.axes)
        return ((shape, "int64" if self.function == "argmax" else self.dtype),)

    @property
    def title(self) -> str:
        """``"[2^22, 33] f32 sum, axis 1"``."""
        parts = [f"{base.format_array(self.shape, self.dtype)} {self.function}"]
        if len(self.axes) < len(self.shape):
            axes = f"axis {self.axes[0]}" if len(self.axes) == 1 else f"axes {self.axes}"
            parts.append(axes)
        if self.transposed:
            parts.append("transposed")
        return ", ".join(parts)

    def shrink(self, elements: int) -> Self:
        """Return the same workload with the largest dimension halved, again and again."""
        return replace(self, shape=base.shrink(self.shape, elements))

    def inputs(self, xp: Module, seed: int) -> tuple[Array, ...]:
        """Return (x,): floats from 0.5 to 1.5 times a power of two, small integers."""
        (x,) = self.blank(xp)
        rng, scale = base.generator(xp, seed), 1.0
        if self.dtype == "float16" and self.function == "sum":  # which must be finite
            scale = 2.0 ** min(0, HALF_BITS - (self._length - 1).bit_length())
        for part in base.split(x):
            if self.dtype in _ROUNDING:
                wide = "float64" if self.dtype == "float64" else "float32"
                numbers = rng.random(part.size, dtype=wide)
                numbers += 0.5
                numbers *= scale
                part[...] = numbers
            else:
                low = 0 if self.dtype.startswith("u") else -INTEGERS
                part[...] = rng.integers(low, INTEGERS, part.size, dtype=self.dtype)
        return (x,)

    def call(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], object]:
        """Return our call of `cudakern.reduce`."""
        (x,), function, out = inputs, self.function, base.only(outputs)
        axes = self.axes if len(self.axes) != 1 else self.axes[0]
        return lambda: ck.reduce(x, function, axes, out=out)

    def check(self, xp: Module, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compare with xp's own function: exactly, or in float64 within the errors of rounding."""
        (x,), (out,) = inputs, outputs
        expected, bound = self._expected(xp, x)
        if bound is None:
            right = out == expected
        else:
            right = xp.abs(out.astype("float64") - expected) <= bound
        wrong = out.size - int(xp.count_nonzero(right))
        assert not wrong, f"{self.title}: {wrong} of {out.size} results are wrong"

    @property
    def _length(self) -> int:
        """Elements of x for a result."""
        return prod(self.shape[k] for k in self.axes)

    def _expected(self, xp: Module, x: Array) -> tuple[Array, Array | None]:
        """Return the results and how far they may be off; None stands for not at all.

        Of a sum, each element goes through at most k additions, each of which rounds by u of the
        partial sum: k u sum|x| in all, where u is that of the type that is added in. All elements
        are positive, so sum|x| is the sum. The same again stands for the oracle where that is no
        wider. The result's type rounds once more.

        Of log_sum_exp, the sum of the exponentials is a sum like that, off by EXPONENTIALS besides.
        A logarithm turns relative errors into absolute ones; itself, and adding the maximum, are
        3 u.
        """
        axes, function = self.axes, self.function
        if function == "argmax":
            return xp.argmax(x, axis=axes[0]), None
        if function == "max":
            return xp.max(x, axis=axes), None
        if self.dtype not in _ROUNDING:
            return xp.sum(x, axis=axes, dtype=xp.int64).astype(self.dtype), None
        u = _ROUNDING["float64" if self.dtype == "float64" else "float32"]
        steps = min(self._length, SEQUENTIAL + TREES)
        if function == "sum":
            total = xp.sum(x, axis=axes, dtype=xp.float64)
            depth = steps + (self._length if self.dtype == "float64" else 0)
            return total, (depth * u + _ROUNDING[self.dtype]) * total
        largest = xp.max(x, axis=axes, keepdims=True)
        powers = xp.subtract(x, largest, dtype=xp.float64)  # as large as x, twice if it is float32
        total = xp.sum(xp.exp(powers, out=powers), axis=axes)
        logs = largest.reshape(total.shape) + xp.log(total)
        return logs, (steps + EXPONENTIALS) * u + (3 * u + _ROUNDING[self.dtype]) * logs


def _f32(function: FunctionName, shape: tuple[int, ...], axis: int) -> ReduceWorkload:
    """Return a function of float32 rows or columns."""
    return ReduceWorkload(function, shape, (axis,), "float32")


def _full(function: FunctionName, dtype: str, size: int = 2**28) -> ReduceWorkload:
    """Return a function of all elements."""
    return ReduceWorkload(function, (size,), (0,), dtype)


_TRANSPOSED = ReduceWorkload("sum", (2**14, 2**14), (1,), "float64", transposed=True)

CASES = (
    case(
        "R-1",
        "parity where every library is good; int32, which peers may convert",
        Line(_full("sum", "float32"), goal=0.95, quick=True),
        Line(_full("sum", "int32"), goal=0.95),
    ),
    case(
        "R-2",
        "narrow types",
        Line(_full("max", "int8"), goal=0.92, quick=True),
        Line(_full("sum", "float16"), goal=0.92),
    ),
    case(
        "R-3",
        "inner reduction",
        Line(_f32("sum", (2**16, 1024), 1), goal=0.92),
        Line(_f32("argmax", (2**16, 1024), 1), goal=0.92),
        Line(_f32("log_sum_exp", (2**16, 1024), 1), goal=0.92, quick=True),
    ),
    case(
        "R-4",
        "tiny and odd rows",
        Line(_f32("sum", (2**22, 33), 1), goal=0.85, quick=True),
        Line(_f32("sum", (2**24, 4), 1), goal=0.85),
    ),
    case(
        "R-5",
        "few huge rows",
        Line(_f32("argmax", (8, 129280), 1), goal_us=6, quick=True),
        Line(_f32("sum", (4, 2**24), 1), goal=0.92),
    ),
    case("R-6", "outer reduction", Line(_f32("sum", (2**14, 2**14), 0), goal=0.92)),
    case(
        "R-7",
        "few columns",
        Line(_f32("sum", (2**24, 8), 0), goal=0.88, quick=True),
        Line(_f32("max", (2**22, 33), 0), goal=0.88, moved=1.06),
    ),
    case(
        "R-8",
        "middle and nested axes, of the size of L2",
        Line(_f32("sum", (64, 512, 512), 1), goal=0.8, quick=True),
        Line(ReduceWorkload("sum", (32, 64, 128, 128), (0, 2, 3), "float16"), goal=0.8),
    ),
    case(
        "R-9",
        "wide type, strides",
        Line(_full("sum", "float64"), goal=0.95, wide=True),
        Line(_TRANSPOSED, goal=0.88, wide=True),
    ),
    case(
        "R-10",
        "latency, on the GPU and on the host",
        # Its result is a part of a sector.
        Line(_full("sum", "float32", 16), goal_us=3.5, moved=1.42, quick=True),
        Line(_full("sum", "float32", 2**12), goal_us=3.5),
        Line(_full("sum", "float32", 2**16), goal_us=3.5),
        # A warp writes two results, a quarter of a sector.
        Line(_f32("sum", (1024, 64), 1), goal_us=3.5, moved=1.05),
    ),
)
SWEEP = case(
    "sweep-reduce",
    "time of a full sum by size",
    *(_full("sum", "float32", 2**k) for k in range(10, 29, 2)),
)
SMALL = _f32("sum", (64, 16), 0)
SIMULATED = (
    *(_full(function, "float32", 2**20) for function in ("sum", "max", "argmax")),
    *(_f32("sum", (1024, 1024), axis) for axis in (1, 0)),
    *(_full("sum", "float32", size) for size in (1, 1000)),
)
GRAPHS: Graphs = {
    "reduce(x, 'sum')": lambda cd, of: cd.reduce(of.row, "sum"),
    "reduce(x, 'average'), a square grid": lambda cd, of: cd.reduce(of.square, "average"),
    "reduce(x, 'argmax', 0), a square grid": lambda cd, of: cd.reduce(of.square, "argmax", 0),
}
