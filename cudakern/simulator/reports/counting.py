"""The memory traffic of a launch, by line and array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.access_bits import RETURNS
from cudakern.simulator.reports.locations import array_of, parameter_name
from cudakern.simulator.reports.traffic import KernelTraffic, LineTraffic, Requests
from cudakern.simulator.runtime.abi_parser import enumeration
from cudakern.simulator.sources.source_lines import own_stack_of

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterator

    from cudakern.simulator.launching.observation import Observed

_MEMORIES = [code.name.lower() for code in enumeration("checker/traffic.hpp", "Memory")]
_ACTIONS = [code.name.lower() for code in enumeration("checker/traffic.hpp", "Action")]


def add_launch(traffic: KernelTraffic, observed: Observed) -> None:
    """Add what one launch moved and executed to the traffic of its kernel."""
    traffic.launches += 1
    traffic.blocks += observed.blocks
    traffic.sampled += observed.sampled
    for row, count in _executed(observed):
        name = row.name.decode()
        traffic.instructions[name] = traffic.instructions.get(name, 0) + count
        if row.file:
            source = row.file.decode(errors="replace"), row.line
            traffic.executed[source] = traffic.executed.get(source, 0) + count
    known = {_key(line): line for line in traffic.lines}
    for line in _lines_of(observed):
        first = known.setdefault(_key(line), line)
        if first is line:
            traffic.lines.append(line)
        else:
            first.include(line)


def _key(line: LineTraffic) -> tuple[object, ...]:
    return line.kind, line.stack, line.array, line.returns


def _scaled(count: int, observed: Observed) -> int:
    """Return what so much of the blocks that ran comes to in the whole grid."""
    return (2 * count * observed.blocks + observed.sampled) // (2 * observed.sampled)


def _executed(observed: Observed) -> Iterator[tuple[ctypes.Structure, int]]:
    """Yield rows of the library's instructions, and how often warps executed those."""
    own = (None, observed.kernel.structure.name)
    for row in observed.kernel.module.instructions:
        if row.kernel in own and observed.executions[row.block]:
            yield row, _scaled(row.count * observed.executions[row.block], observed)


def _lines_of(observed: Observed) -> list[LineTraffic]:
    """Return what a launch moved, by source line."""
    result = []
    for raw in observed.traffic:
        stack = own_stack_of(raw.site)
        counts = (raw.requests, raw.accesses, raw.bytes, raw.sectors, raw.wavefronts)
        kind = f"{_MEMORIES[raw.memory]} {_ACTIONS[raw.action]}".removeprefix("global ")
        source, array = stack[0] if stack else None, array_of(observed, raw)
        returns = not raw.site.contents.opcode.startswith(b"red.") and (
            _ACTIONS[raw.action] != "atomic" or bool(raw.site.contents.access & RETURNS)
        )
        line = LineTraffic(
            kind=kind,
            source=source,
            stack=stack,
            array=array,
            name=parameter_name(observed, array),
            returns=returns,
        )
        line.include(Requests(*(_scaled(count, observed) for count in counts)))
        result.append(line)
    return result
