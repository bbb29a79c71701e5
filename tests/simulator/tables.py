"""What the tables of kernels are made of: a kernel, its launch and what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Correct:
    """A kernel without a fault.

    Attributes
    ----------
    name : str
        What the test is called.
    code : str
        The kernel's text.
    grid, block : tuple of int
        The launch.
    inputs : callable
        Takes a random generator; returns the arguments, outputs poisoned.
    expected : callable
        Takes the arguments as they were before the launch; returns what the arrays at some
        positions hold after it.
    kernel : str
        Name of the kernel, or its name expression.
    shared_mem : int
        Bytes of dynamic shared memory.
    rtol : float
        Relative tolerance; 0 where the result must agree bit for bit.
    options : tuple of str
        For the compiler.
    cooperative : bool
        Whether all blocks must be resident at once.
    """

    name: str
    code: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    inputs: Callable[[np.random.Generator], tuple]
    expected: Callable[..., dict[int, np.ndarray]]
    kernel: str = "k"
    shared_mem: int = 0
    rtol: float = 0.0
    options: tuple[str, ...] = ()
    cooperative: bool = False

    def __str__(self):
        return self.name


MARK = "// fault"


@dataclass(frozen=True)
class Broken:
    """A kernel with a fault.

    Attributes
    ----------
    name : str
        What the test is called.
    code : str
        The kernel's text. Of a race both accesses are marked; of divergence the places where
        threads wait; of a deadlock where they poll.
    kind : str
        The kind of the finding.
    arguments : callable
        Returns the kernel's arguments.
    grid, block : tuple of int
        The launch.
    kernel : str
        Name of the kernel, or its name expression.
    shared_mem : int
        Bytes of dynamic shared memory.
    array : int or str or None
        Position of the argument, or name of the shared array, that some finding must name.
    index : int or None
        The element that some finding must name.
    also : tuple of str
        Kinds that follow from the fault and may be found too: what is read before another thread
        wrote it is uninitialised as well.
    """

    name: str
    code: str
    kind: str
    arguments: Callable[[], tuple]
    grid: tuple[int, ...] = (1,)
    block: tuple[int, ...] = (64,)
    kernel: str = "k"
    shared_mem: int = 0
    array: int | str | None = None
    index: int | None = None
    also: tuple[str, ...] = ()

    def __str__(self):
        return self.name


def fault_lines(code) -> set[int]:
    """Return the numbers of the marked lines, from 1."""
    return {number for number, line in enumerate(code.splitlines(), 1) if MARK in line}


def poison(shape, dtype):
    """Return an array of values that no kernel computes."""
    dtype = np.dtype(dtype)
    return np.full(shape, np.nan if dtype.kind == "f" else np.iinfo(dtype).max - 4, dtype)


def ints(rng, shape, dtype=np.int32, low=-99, high=99):
    """Return random integers."""
    return rng.integers(low, high, shape).astype(dtype)


def ramp(shape, dtype=np.int32):
    """Return an array of 0, 1, 2, ..."""
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def zeros(*shape, dtype=np.int32):
    """Return an array that counts as written."""
    return np.zeros(shape, dtype)


def in_and_out(n=64, dtype=np.int32):
    """Return what makes the arguments of most kernels: an input and an output."""
    return lambda: (ramp(n, dtype), zeros(n, dtype=dtype))
