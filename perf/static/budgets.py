"""What the machine code of every kernel is held to: `faults` says what is broken.

A main loop has a budget of instructions for each 16 bytes that it moves. An H200 that copies within
its memory has time for 124 of a lane. Half of that is the budget, since the rest of a kernel and
waiting take time as well. Loops that need more are listed with the reason (`allowances`). Above
124, arithmetic decides how fast they are, wherever memory could give whole sectors at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cudakern.compilation import nvrtc
from perf.static import budgets_indexing, budgets_reduce
from perf.static.allowances import allowed
from perf.static.cubins import RESERVED_SHARED, compile_kernels, resource_usage, sass
from perf.static.faults import Fault, Kind
from perf.static.kernels import REDUCE
from perf.static.reading import read_figures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from perf.static.cubins import Listing, Usage
    from perf.static.kernels import BudgetedKernel
    from perf.static.reading import Figures

#: Bytes in flight that a multiprocessor of an H200 needs, where a thread promises loads.
STREAMING_ARCH, MIN_BYTES_IN_FLIGHT = "sm_90", 48 * 1024
#: GPUs for which blocks of rows ask for no more than so many at once: ``kernels/reduce.cu``.
FEWER_FROM, FEWER = 100, 3


def rules_of(kernel: BudgetedKernel) -> ModuleType:
    """Return the module with the rules that a kernel is held to."""
    return budgets_reduce if kernel.operator == REDUCE else budgets_indexing


def compiled_for(arch: str, kernel: BudgetedKernel) -> BudgetedKernel:
    """Return a kernel with the resident blocks that its text asks for on a GPU."""
    if kernel.variant != "blocks" or int(arch.removeprefix("sm_")) < FEWER_FROM:
        return kernel
    fewer = min(kernel.spec.resident_blocks, FEWER)
    return replace(kernel, spec=replace(kernel.spec, resident_blocks=fewer))


def faults(kernel: BudgetedKernel, figures: Figures, usage: Usage, listing: Listing) -> list[Fault]:
    """Return the budgets that a kernel breaks."""
    rules, kernel = rules_of(kernel), compiled_for(figures.arch, kernel)
    wrong = resource_faults(usage, rules.max_registers(kernel))
    wrong += rules.code_faults(kernel, listing.code)
    most, earlier = allowed(kernel, figures.arch, nvrtc.version())
    wrong += throughput_faults(kernel, figures, loads=rules.loads_of(kernel), most=most)
    return [fault for fault in wrong if not any(a.excuses(fault) for a in earlier)]


def resource_faults(usage: Usage, registers: int) -> list[Fault]:
    """Return the resources that a kernel takes too much of."""
    wrong = []
    if usage.stack or usage.local:
        wrong.append(Fault(Kind.SPILLS, usage))
    if usage.registers > registers:
        wrong.append(Fault(Kind.REGISTERS, usage.registers, registers))
    if usage.shared not in {0, RESERVED_SHARED}:
        wrong.append(Fault(Kind.STATIC_SHARED, usage.shared))
    return wrong


def throughput_faults(
    kernel: BudgetedKernel, figures: Figures, *, loads: int, most: int
) -> list[Fault]:
    """Return what keeps a kernel from the bandwidth of memory: `most` is of a main loop."""
    wrong, promised = [], kernel.spec.resident_blocks
    if figures.blocks_by_registers < promised:
        wrong.append(Fault(Kind.BLOCKS, figures.blocks_by_registers, promised))
    streams = loads and figures.arch == STREAMING_ARCH
    if streams and figures.bytes_in_flight < MIN_BYTES_IN_FLIGHT:
        wrong.append(Fault(Kind.BYTES_IN_FLIGHT, figures.bytes_in_flight, MIN_BYTES_IN_FLIGHT))
    if figures.per_16_bytes is not None and figures.per_16_bytes > most:
        wrong.append(Fault(Kind.INSTRUCTIONS, figures.per_16_bytes, most))
    return wrong


def survey(arch: str, kernels: Sequence[BudgetedKernel]) -> list[Figures]:
    """Compile kernels of one source together; return their figures, and what is broken of them."""
    cubin = compile_kernels([kernel.spec for kernel in kernels], arch)
    usages, listings = resource_usage(cubin), sass(cubin)
    surveyed = []
    for kernel in kernels:
        usage, listing = usages[kernel.entry], listings[kernel.entry]
        figures = read_figures(kernel, arch, usage, listing)
        sentences = map(str, faults(kernel, figures, usage, listing))
        surveyed.append(replace(figures, faults=tuple(sentences)))
    return surveyed
