"""The interface between operators and engines: kernel specialisations and launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from cudakern.values.argument_struct import Arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cudakern.values.layout import Layout

    #: A compiled launch, which takes the addresses of its arrays where their device is current.
    #: Safe to call from many threads.
    PreparedLaunch = Callable[..., None]

T = TypeVar("T")
Grid = tuple[int, int, int]
THREADS = 256  # of a block, unless an operator says otherwise
#: Blocks that a multiprocessor can hold at once, with 64 registers a thread, which leaves room for
#: loads in flight.
RESIDENT_BLOCKS = 4
#: The most blocks of a grid, far more than any GPU holds at once; kernels stride over the rest.
MAX_BLOCKS = 2**16


def blocks_for(items: int, per_block: int) -> int:
    """Return the blocks of a kernel that strides over ``items``, with ``per_block`` a block."""
    return min(-(-items // per_block), MAX_BLOCKS)


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """One specialisation of one kernel source."""

    operator: str  # whose source it is: ``kernels/<operator>.cu``
    variant: str  # which entry point of the source, such as ``"rows"``
    entry: str  # name of the ``extern "C"`` entry point; profilers show it
    defines: tuple[tuple[str, str], ...]  # macros of the plan that specialise the source
    threads: int = THREADS  # of a block
    #: Blocks that a multiprocessor can hold at once, as far as registers decide.
    resident_blocks: int = RESIDENT_BLOCKS
    #: Dynamic shared memory that a block is launched with at most, in bytes, for figures of speed.
    most_shared: int = 0

    @property
    def source(self) -> str:
        """File name below ``kernels/``, such as ``"gather.cu"``."""
        return f"{self.operator}.cu"

    @property
    def macros(self) -> tuple[tuple[str, str], ...]:
        """All macros that the source is compiled with."""
        return (
            (f"CK_VARIANT_{self.variant.upper()}", "1"),
            *self.defines,
            ("CK_THREADS", str(self.threads)),
            ("CK_RESIDENT_BLOCKS", str(self.resident_blocks)),
            ("CK_ENTRY", self.entry),
        )


@dataclass(frozen=True, slots=True)
class Launch:
    """How a problem is solved: a kernel and its arguments, without the addresses of its arrays."""

    kernel: KernelSpec  # the specialisation to run
    grid: Grid  # blocks of the grid in x, y, z
    #: Dynamic shared memory of a block, in bytes; a kernel that asks for more than every device has
    #: makes do with what there is.
    shared_bytes: int
    pointers: int  # how many addresses the kernel's argument struct starts with
    arguments: Arguments  # the rest of the struct
    #: Blocks that a multiprocessor holds at once. The grid is limited to that along its second
    #: dimension, if it has one, and its blocks share the work, whatever their number. 0 means no
    #: limit.
    most_resident: int = 0
    #: Bytes of the memory in which the blocks exchange words; its address follows those of the
    #: arrays. 0 if this launch needs none, None if no launch of the operator does.
    workspace: int | None = None
    threads: int = 0  # of a block; 0 for the kernel's
    #: What is launched in front of it, with the same addresses.
    first: Launch | None = None
    #: Bytes of memory for both, whose address is the last; it holds nothing before. 0 if these
    #: launches need none, None if no launch of the operator does.
    scratch: int | None = None
    zeros: int = 0  # bytes of it that are zeros before

    @property
    def parts(self) -> tuple[Launch, ...]:
        """The launches of kernels that it consists of, in order."""
        return (self,) if self.first is None else (self.first, self)

    @property
    def variant(self) -> str:
        """The kernel's variant."""
        return self.kernel.variant

    @property
    def block(self) -> Grid:
        """Threads of a block in x, y, z."""
        return self.threads or self.kernel.threads, 1, 1

    def grid_on(self, multiprocessors: int) -> Grid:
        """Return the grid for a device with this number of multiprocessors."""
        if self.most_resident == 0:
            return self.grid
        most, (x, y, z) = self.most_resident * multiprocessors, self.grid
        return (min(x, most), y, z) if y == 1 else (x, min(y, max(most // x, 1)), z)


class Tensor(NamedTuple):
    """Facts about an array of a launch, for an engine that checks accesses."""

    name: str  # as the operator calls it
    layout: Layout  # where its elements lie
    #: Whether the kernel uses its elements, and whether it changes them.
    read: bool
    written: bool


class Engine(Protocol):
    """Runs launches on one kind of device. No engine knows any operator."""

    @property
    def name(self) -> str:
        """``"cuda"`` or ``"simulator"``."""

    def compile(self, spec: KernelSpec, device: int) -> Path:
        """Return the file of a specialisation, compiling it unless it is there."""

    def prepare(
        self, launch: Launch, device: int, tensors: Sequence[Tensor] = ()
    ) -> PreparedLaunch:
        """Compile what the launch needs; ``tensors`` are in the order of their addresses.

        Each launch gets the address of its workspace, which starts as zeros and then keeps the last
        launch's values; no two launches that may run at once get the same. Then it gets that of its
        scratch memory.
        """

    @property
    def current_device(self) -> Callable[[], int]:
        """What returns the current CUDA device of this thread."""

    def is_captured(self, device: int) -> bool:
        """Return whether calls are captured into a graph now, to run later."""

    def temporary(self, device: int, make: Callable[[], T]) -> T:
        """Return memory that a call makes for itself on the current device.

        A graph that captures the call, in whatever mode, keeps the memory and uses it again.
        """
