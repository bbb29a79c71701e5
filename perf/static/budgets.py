"""What the machine code of every kernel is held to: `faults` says what is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf.static import budgets_indexing, budgets_reduce
from perf.static.budgets_loops import max_per_vector
from perf.static.kernels import REDUCE, operator_of, promised_blocks

if TYPE_CHECKING:
    from cudakern.engines.base import KernelSpec
    from perf.static.cubins import Listing, Usage
    from perf.static.figures import Figures

RESERVED_SHARED = 1024  # bytes that sm_90 and later take for themselves
#: Bytes in flight that a multiprocessor of an H200 needs, where a thread promises loads.
STREAMING_ARCH, MIN_BYTES_IN_FLIGHT = "sm_90", 48 * 1024


def faults(spec: KernelSpec, figures: Figures, usage: Usage, listing: Listing) -> list[str]:
    """Return what is broken of what a kernel is held to, a line each."""
    rules = budgets_reduce if operator_of(spec) == REDUCE else budgets_indexing
    wrong = resource_faults(usage, rules.max_registers(spec))
    wrong += rules.code_faults(spec, listing.code)
    return wrong + throughput_faults(spec, figures, loads=rules.loads_of(spec))


def static_shared(usage: Usage) -> int:
    """Return the bytes of static shared memory of a kernel's own."""
    return usage.shared - (RESERVED_SHARED if usage.shared >= RESERVED_SHARED else 0)


def resource_faults(usage: Usage, registers: int) -> list[str]:
    """Return what a kernel takes beyond so many registers, or at all."""
    wrong = []
    if usage.stack or usage.local:
        wrong.append(f"{usage.stack} bytes of stack and {usage.local} of local memory, not none")
    if usage.registers > registers:
        wrong.append(f"{usage.registers} registers, more than {registers}")
    if usage.shared > RESERVED_SHARED:
        wrong.append(f"{usage.shared} bytes of static shared memory, not none")
    return wrong


def throughput_faults(spec: KernelSpec, figures: Figures, *, loads: int) -> list[str]:
    """Return what keeps a kernel from the bandwidth of memory; it promises so many loads."""
    wrong = []
    if figures.blocks_by_registers < promised_blocks(spec):
        wrong.append(f"{figures.blocks_by_registers} blocks, not {promised_blocks(spec)}")
    streams = loads and figures.arch == STREAMING_ARCH
    if streams and figures.bytes_in_flight < MIN_BYTES_IN_FLIGHT:
        wrong.append(f"{figures.bytes_in_flight} bytes in flight, not {MIN_BYTES_IN_FLIGHT}")
    most = max_per_vector(spec)
    if figures.per_16_bytes is not None and figures.per_16_bytes > most:
        wrong.append(f"{figures.per_16_bytes:.1f} instructions for 16 bytes, more than {most}")
    return wrong
