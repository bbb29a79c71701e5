"""What an operator asks of an engine: a kernel specialisation, a launch, a callable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern._layout import Layout

Grid = tuple[int, int, int]
#: Of the large GPU that work is divided for, an H200, and of the one that the simulator stands for.
MULTIPROCESSORS = 132


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """One specialisation of one kernel source.

    Attributes
    ----------
    source : str
        File name below ``kernels/``, such as ``"gather.cu"``.
    entry : str
        Name of the ``extern "C"`` entry point; profilers show it.
    defines : tuple of (str, str)
        Macros that specialise the source, without ``CK_ENTRY``, which the engine adds.
    """

    source: str
    entry: str
    defines: tuple[tuple[str, str], ...]

    @property
    def macros(self) -> tuple[tuple[str, str], ...]:
        """All macros the source is compiled with."""
        return (*self.defines, ("CK_ENTRY", self.entry))


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel with everything but the pointers of its arrays.

    Attributes
    ----------
    kernel : KernelSpec
        The specialisation to run.
    grid, block : tuple of int
        Blocks of the grid and threads of a block, each in x, y, z.
    shared_bytes : int
        Dynamic shared memory of a block, in bytes.
    pointers : int
        How many addresses the kernel's argument struct starts with.
    arguments : bytes
        The rest of the struct.
    most_resident : int
        Blocks that a multiprocessor holds at once: the grid, which has one dimension, is cut to so
        many on each, and its blocks share out the work whatever their number. 0: it is as it is.
    """

    kernel: KernelSpec
    grid: Grid
    block: Grid
    shared_bytes: int
    pointers: int
    arguments: bytes
    most_resident: int = 0

    def grid_on(self, multiprocessors: int) -> Grid:
        """Return the grid for a device with so many multiprocessors."""
        if self.most_resident == 0:
            return self.grid
        return min(self.grid[0], self.most_resident * multiprocessors), 1, 1


class Tensor(NamedTuple):
    """What an engine that checks accesses knows of an array of a launch.

    Attributes
    ----------
    name : str
        As the operator calls it.
    layout : Layout
        Where its elements lie.
    read, written : bool
        Whether the kernel uses what is in it, and whether it changes that.
    """

    name: str
    layout: Layout
    read: bool
    written: bool


class PreparedLaunch(Protocol):
    """A launch that is compiled and waits for addresses only. Safe to call from many threads."""

    def __call__(self, *addresses: int) -> None:
        """Run the kernel on the arrays at these addresses."""


class Engine(Protocol):
    """Runs launches in one kind of place. No engine knows any operator."""

    @property
    def name(self) -> str:
        """``"cuda"`` or ``"simulator"``."""

    def compile(self, spec: KernelSpec, device: int) -> None:
        """Compile a specialisation into the engine's cache."""

    def prepare(
        self, launch: Launch, device: int, tensors: Sequence[Tensor] = ()
    ) -> PreparedLaunch:
        """Compile what the launch needs on a device; the result is called once per use.

        ``tensors`` describes the arrays in the order of their addresses.
        """

    def workspace(self, device: int, nbytes: int) -> int:
        """Return the address of memory for a launch that is to follow on the current stream.

        It starts as zeros and then holds what the last launch with this workspace left there. No
        two launches that may run at once get the same.
        """

    def is_captured(self, device: int) -> bool:
        """Return whether calls are captured into a graph now, to run later."""

    def keep(self, device: int, memory: object) -> None:
        """Keep what a call has allocated for itself if the call is captured into a graph.

        The graph uses it again whenever it runs.
        """
