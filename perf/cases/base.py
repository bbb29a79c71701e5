"""What a benchmark case is: workloads with the bytes that they must move, and their goals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from cudakern.values.layout import SECTOR_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Elements that are made at once.
CHUNK = 2**24

#: An array of NumPy or CuPy, and the module it is from: neither has types to check against.
Array = Any
Module = Any

#: Bytes per second of a copy within the memory of an H200, for figures without a measurement.
REFERENCE_BANDWIDTH = 4.3e12
#: The least that L2 fetches from memory, in bytes.
LINE_BYTES = 64
#: L2 of the GPU that the cases are made for: a smaller table stays there.
L2_BYTES = 60 * 2**20
#: A workload is bound by one direction if the other has at most this share of its traffic.
MINOR_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that have to move, whatever the kernel."""

    read: float
    written: float

    @property
    def total(self) -> float:
        """Both, in bytes."""
        return self.read + self.written

    @property
    def ceiling(self) -> Literal["read", "write", "copy"]:
        """The ceiling that this traffic is held against; ``"copy"`` has equal parts of both."""
        if self.written <= MINOR_SHARE * self.total:
            return "read"
        return "write" if self.read <= MINOR_SHARE * self.total else "copy"


#: Calls over dask arrays, by title. Each takes cudakern.dask and the `operands` of
#: `perf.static.graphs`.
Graphs = dict[str, "Callable[[Module, Any], object]"]
#: Shape and data type of an array.
ArraySpec = tuple[tuple[int, ...], str]


class Workload(ABC):
    """One call of an operator: its data, the bytes that it must move, its check."""

    operator: ClassVar[str]
    #: Whether the first input is the transposed view of a contiguous array.
    transposed: bool = False

    @property
    @abstractmethod
    def title(self) -> str:
        """What is done, in a few words: ``"[2^22, 33] f32 sum, axis 1"``."""

    @property
    @abstractmethod
    def operands(self) -> tuple[ArraySpec, ...]:
        """The inputs."""

    @property
    @abstractmethod
    def results(self) -> tuple[ArraySpec, ...]:
        """The outputs."""

    @property
    def size(self) -> int:
        """Number of elements of the data, or of the result if those are more."""
        return max(prod(shape) for shape, _ in (self.operands[0], *self.results))

    def traffic(self, *, cached: bool = True) -> Traffic:
        """Return the bytes that have to move: all inputs and outputs, once.

        If `cached`, those between memory and L2, in lines: what is read again from a small table
        counts once. Otherwise those between L2 and the multiprocessors, in sectors.
        """
        del cached
        return Traffic(sum(map(nbytes, self.operands)), sum(map(nbytes, self.results)))

    @abstractmethod
    def shrink(self, elements: int) -> Self:
        """Return the same workload with large dimensions halved, of about so many elements."""

    @abstractmethod
    def inputs(self, xp: Module, seed: int) -> tuple[Array, ...]:
        """Return new inputs, made where the arrays of ``xp`` live."""

    def blank(self, xp: Module) -> tuple[Array, ...]:
        """Return arrays laid out like the inputs, from ``xp.empty``, where no data are needed."""
        (shape, dtype), *others = self.operands
        first = xp.empty(shape[::-1], dtype).T if self.transposed else xp.empty(shape, dtype)
        return (first, *(xp.empty(*other) for other in others))

    def outputs(self, xp: Module) -> tuple[Array, ...]:
        """Return new outputs for `call`; what is in them is undefined."""
        return tuple(xp.empty(*result) for result in self.results)

    @abstractmethod
    def call(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], object]:
        """Return our call of the public function, into the outputs; without any, into new ones."""

    def found(self, result: Any) -> Array:  # noqa: ANN401  of the call: one array or several
        """Return what a call found, as NumPy's function gives it."""
        return result

    @abstractmethod
    def check(self, xp: Module, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Raise AssertionError unless the outputs are what ``xp`` itself computes."""


@dataclass(frozen=True, slots=True)
class Line:
    """A workload of the matrix, at full size, and what it is held to."""

    workload: Workload
    goal: float | None = None  # fraction of the ceiling that counts as reached
    goal_us: float | None = None  # or time on the GPU in microseconds, where latency decides
    #: The kernel may move so many times the least bytes, counted by the simulator in sectors, at
    #: reduced size and without a cache.
    moved: float = 1.03
    quick: bool = False  # whether ``--quick`` has it
    wide: bool = False  # whether offsets have 64 bits; those of smaller workloads have 32


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the matrix."""

    name: str  # such as ``"R-1"``
    shows: str  # what it shows
    lines: tuple[Line, ...]


def case(name: str, shows: str, *lines: Line | Workload) -> Case:
    """Return a case. A workload without a goal can stand in place of its line."""
    return Case(name, shows, tuple(x if isinstance(x, Line) else Line(x) for x in lines))


def only(outputs: Sequence[Array]) -> Array | None:
    """Return the output, or None if there is none."""
    return outputs[0] if outputs else None


def granule(*, cached: bool) -> int:
    """Return the least bytes that move at a time: between memory and L2, or behind L2."""
    return LINE_BYTES if cached else SECTOR_BYTES


def nbytes(array: ArraySpec) -> int:
    """Return the bytes of an array."""
    shape, dtype = array
    return prod(shape) * np.dtype(dtype).itemsize


def shrink(sizes: Sequence[int], elements: int) -> tuple[int, ...]:
    """Return sizes with the largest one halved until their product is at most so many elements."""
    smaller = list(sizes)
    while prod(smaller) > elements and max(smaller) > 1:
        largest = smaller.index(max(smaller))
        smaller[largest] = (smaller[largest] + 1) // 2
    return tuple(smaller)


def format_size(size: int) -> str:
    """Return a size as text: a power of two from 2^12 on as one."""
    is_power = size >= 2**12 and size & (size - 1) == 0
    return f"2^{size.bit_length() - 1}" if is_power else str(size)


def generator(xp: Module, seed: int) -> Any:  # noqa: ANN401  of NumPy or CuPy
    """Return a generator of random numbers, of Philox, whose arrays live where those of xp do."""
    philox = getattr(xp.random, "Philox", None) or xp.random.Philox4x3210
    return xp.random.Generator(philox(seed))


def format_array(shape: Sequence[int], dtype: str) -> str:
    """Return ``"[2^22, 33] f32"``; integers keep their names."""
    return f"[{', '.join(map(format_size, shape))}] {dtype.replace('float', 'f')}"


def split(x: Array) -> Iterator[Array]:
    """Yield parts of an array in the order of its memory, which may be too large at once."""
    flat = (x if x.flags.c_contiguous else x.T).reshape(-1)
    for begin in range(0, flat.size, CHUNK):
        yield flat[begin : begin + CHUNK]
