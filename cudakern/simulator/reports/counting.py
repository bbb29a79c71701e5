"""The memory traffic of a launch, by line and array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.access_bits import BITS
from cudakern.simulator.ptx.header_files import is_header
from cudakern.simulator.reports.locations import name_array, name_parameter
from cudakern.simulator.reports.traffic import KernelTraffic, LineTraffic, Requests
from cudakern.simulator.runtime.abi_parser import read_enumeration
from cudakern.simulator.sources.source_lines import read_own_stack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.simulator.launching.observation import ObservedLaunch
    from cudakern.simulator.libraries.loaded import CountedInstruction

_MEMORIES = [code.name.lower() for code in read_enumeration("checker/traffic.hpp", "Memory")]
_ACTIONS = [code.name.lower() for code in read_enumeration("checker/traffic.hpp", "Action")]


def add_launch(traffic: KernelTraffic, observed: ObservedLaunch) -> None:
    """Add what one launch moved and executed to the traffic of its kernel."""
    if not traffic.launches:
        traffic.types = (*_list_types(observed),)
    traffic.launches += 1
    traffic.blocks += observed.blocks
    traffic.sampled += observed.sampled
    for row, count in _count_instructions(observed):
        traffic.instructions[row.name] = traffic.instructions.get(row.name, 0) + count
        if row.file and not is_header(row.file):
            source = row.file, row.line
            traffic.executed[source] = traffic.executed.get(source, 0) + count
    known = {_identify(line): line for line in traffic.lines}
    for line in _count_lines(observed):
        first = known.setdefault(_identify(line), line)
        if first is not line:
            first.include(line)
    traffic.lines[:] = known.values()


def _list_types(observed: ObservedLaunch) -> Iterator[str]:
    """Yield the dtypes of the arrays among a raw kernel's arguments, in their order."""
    operands = (operand for buffer in observed.buffers for operand in buffer.operands)
    for operand in sorted(operands, key=lambda o: o.parameter_offset or 0):
        if operand.dtype is not None and operand.parameter_offset is not None:
            yield str(operand.dtype)


def _identify(line: LineTraffic) -> tuple[object, ...]:
    return line.kind, line.stack, line.array, line.returns


def _scale(count: int, observed: ObservedLaunch) -> int:
    """Return what a count of the blocks that ran amounts to in the whole grid."""
    return (2 * count * observed.blocks + observed.sampled) // (2 * observed.sampled)


def _count_instructions(observed: ObservedLaunch) -> Iterator[tuple[CountedInstruction, int]]:
    """Yield rows of the library's instructions, and how often warps executed those."""
    own = ("", observed.kernel.structure.name.decode())
    for row in observed.kernel.library.instructions:
        if row.kernel in own and observed.executions[row.block]:
            yield row, _scale(row.times * observed.executions[row.block], observed)


def _count_lines(observed: ObservedLaunch) -> Iterator[LineTraffic]:
    for raw in observed.traffic:
        stack, array = read_own_stack(raw.site), name_array(observed, raw)
        counts = (raw.requests, raw.accesses, raw.bytes, raw.sectors, raw.wavefronts)
        is_known = 2 * raw.alike > raw.neighbours
        site, action = raw.site.contents, _ACTIONS[raw.action]
        line = LineTraffic(
            kind=f"{_MEMORIES[raw.memory]} {action}".removeprefix("global "),
            source=stack[0] if stack else None,
            stack=stack,
            array=array,
            name=name_parameter(observed, array),
            neighbours=_scale(raw.neighbours, observed),
            strides={raw.stride: _scale(raw.alike, observed)} if is_known else {},
            returns=not site.opcode.startswith(b"red.")
            and (action != "atomic" or bool(site.access & BITS["returns"])),
        )
        line.include(Requests(*(_scale(count, observed) for count in counts)))
        yield line
