"""The figures of a kernel's machine code for one architecture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudakern.engines.base import THREADS
from perf.static.budgets import faults, static_shared
from perf.static.cubins import compile_kernels, resource_usage, sass
from perf.static.occupancy import WARP, resident_blocks
from perf.static.reading import (
    divides,
    is_atomic,
    loads_in_flight,
    main_loop,
    matches,
    widest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.static.cubins import Listing, Usage
    from perf.static.kernels import Kernel


@dataclass(frozen=True, slots=True)
class Figures:
    """What the machine code of a kernel says.

    Attributes
    ----------
    entry, operator, variant, arch : str
        Which kernel, for which architecture.
    registers : int
        Of a thread.
    stack, local, static_shared, dynamic_shared : int
        Bytes of a thread's stack and local memory; of a block's shared memory, what it is launched
        with at most being the dynamic part.
    blocks_by_registers, blocks, warps : int
        What a multiprocessor holds: by registers and threads alone, and with shared memory.
    loads_in_flight : int
        16-byte loads that a thread issues before it waits for one.
    bytes_in_flight : int
        Of a multiprocessor: blocks by threads by loads by 16.
    load_bits, store_bits : int
        Of the widest load and store of global memory.
    loop_instructions : int
        Of the loop that moves most vectors; 0 if no loop moves any.
    per_16_bytes : float or None
        Instructions of that loop for each 16 bytes that its loads and stores move.
    instructions, divisions, fences, atomics : int
        Of the kernel; divisions are instructions such as divisions of integers are made of, which
        conversions from and to integers are as well.
    faults : list of str
        What is broken of what the kernel is held to.
    """

    entry: str
    operator: str
    variant: str
    arch: str
    registers: int
    stack: int
    local: int
    static_shared: int
    dynamic_shared: int
    blocks_by_registers: int
    blocks: int
    warps: int
    loads_in_flight: int
    bytes_in_flight: int
    load_bits: int
    store_bits: int
    loop_instructions: int
    per_16_bytes: float | None
    instructions: int
    divisions: int
    fences: int
    atomics: int
    faults: list[str]


def read(kernel: Kernel, arch: str, usage: Usage, listing: Listing) -> Figures:
    """Return the figures of a kernel that was compiled for an architecture."""
    code, dynamic = listing.code, kernel.dynamic_shared
    static = static_shared(usage)
    threads = kernel.spec.threads
    blocks = resident_blocks(arch, usage.registers, static + dynamic, threads)
    loads = max(loads_in_flight(code), default=0)
    loop = main_loop(listing)
    figures = Figures(
        entry=kernel.entry,
        operator=kernel.operator,
        variant=kernel.label,
        arch=arch,
        registers=usage.registers,
        stack=usage.stack,
        local=usage.local,
        static_shared=static,
        dynamic_shared=dynamic,
        blocks_by_registers=resident_blocks(arch, usage.registers, 0, threads),
        blocks=blocks,
        warps=blocks * threads // WARP,
        loads_in_flight=loads,
        bytes_in_flight=blocks * THREADS * loads * 16,
        load_bits=widest(code, "LDG"),
        store_bits=widest(code, "STG"),
        loop_instructions=loop.instructions if loop else 0,
        per_16_bytes=loop.per_vector if loop else None,
        instructions=len(code),
        divisions=sum(map(divides, code)),
        fences=sum(matches(line, "MEMBAR") for line in code),
        atomics=sum(map(is_atomic, code)),
        faults=[],
    )
    figures.faults.extend(faults(kernel, figures, usage, listing))
    return figures


def survey(arch: str, kernels: Sequence[Kernel]) -> list[Figures]:
    """Compile kernels of one source together and return their figures."""
    cubin = compile_kernels([kernel.spec for kernel in kernels], arch)
    usage, code = resource_usage([cubin]), sass(cubin)
    return [read(kernel, arch, usage[kernel.entry], code[kernel.entry]) for kernel in kernels]
