"""The figures of a kernel's machine code for one architecture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudakern.engines.base import THREADS
from perf.static.occupancy import WARP, resident_blocks
from perf.static.reading import divides, is_atomic, loads_in_flight, main_loop, matches, widest

if TYPE_CHECKING:
    from perf.static.cubins import Listing, Usage
    from perf.static.kernels import BudgetedKernel


@dataclass(frozen=True, slots=True)
class Figures:
    """What the machine code of a kernel says, for one architecture."""

    entry: str
    operator: str
    variant: str
    arch: str
    registers: int  # of a thread
    stack: int  # bytes of a thread's stack
    local: int  # bytes of a thread's local memory
    blocks_by_registers: int  # that a multiprocessor holds, by registers and threads alone
    blocks: int  # the same, with shared memory
    warps: int  # of these blocks
    loads_in_flight: int  # 16-byte loads that a thread issues before it waits for one
    bytes_in_flight: int  # of a multiprocessor: blocks by threads by loads by 16
    load_bits: int  # of the widest load of global memory
    store_bits: int  # of the widest store
    loop_instructions: int  # of the loop that moves most vectors; 0 if no loop moves any
    per_16_bytes: float | None  # of that loop, for what its loads and stores move
    divisions: int  # instructions that divisions of integers are made of; also conversions
    fences: int
    atomics: int
    faults: tuple[str, ...] = ()  # the budgets that the kernel breaks


def read(kernel: BudgetedKernel, arch: str, usage: Usage, listing: Listing) -> Figures:
    """Return the figures of a kernel that was compiled for an architecture."""
    code, threads = listing.code, kernel.spec.threads
    blocks = resident_blocks(arch, usage.registers, kernel.dynamic_shared, threads)
    loads = max(loads_in_flight(code), default=0)
    loop = main_loop(listing)
    return Figures(
        entry=kernel.entry,
        operator=kernel.operator,
        variant=kernel.label,
        arch=arch,
        registers=usage.registers,
        stack=usage.stack,
        local=usage.local,
        blocks_by_registers=resident_blocks(arch, usage.registers, 0, threads),
        blocks=blocks,
        warps=blocks * threads // WARP,
        loads_in_flight=loads,
        bytes_in_flight=blocks * THREADS * loads * 16,
        load_bits=widest(code, "LDG"),
        store_bits=widest(code, "STG"),
        loop_instructions=loop.instructions if loop else 0,
        per_16_bytes=loop.per_vector if loop else None,
        divisions=sum(map(divides, code)),
        fences=sum(matches(line, "MEMBAR") for line in code),
        atomics=sum(map(is_atomic, code)),
    )
