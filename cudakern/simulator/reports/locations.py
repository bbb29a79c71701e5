"""Where an access lies: in which array, at which element."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.symbols import name_variable
from cudakern.simulator.runtime.abi_parser import read_enumeration
from cudakern.simulator.sources.source_lines import read_own_stack
from cudakern.simulator.sources.source_texts import add_texts, find_line

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterable

    from cudakern.simulator.launching.observation import ObservedLaunch
    from cudakern.simulator.launching.operands import Operand
    from cudakern.simulator.sources.source_texts import Sources

Space = read_enumeration("checker/launch_api.hpp", "ck_sim_space")
#: An index computed in 32 bits that went below zero is this much too large.
_WRAP = 2**32
_NEAR_WRAP = 2**16
#: Dynamic shared memory, if the kernel has no name for it.
_DYNAMIC = "dynamic shared memory"
#: Array, element and a phrase.
_Location = tuple[int | str | None, int | None, str]


def count_bytes(number: int) -> str:
    """Return a number of bytes as messages say it."""
    return f"{number} byte{'s' * (number != 1)}"


def find_operands(observed: ObservedLaunch, raw: ctypes.Structure) -> list[Operand]:
    """Return the arrays that an access to global memory lies in."""
    buffer = observed.buffers[raw.object]
    address = buffer.start + raw.offset
    return [o for o in buffer.operands if o.start <= address < o.end]


def find_variable(observed: ObservedLaunch, raw: ctypes.Structure) -> ctypes.Structure:
    """Return the variable of the module that an access lies in."""
    number: int = raw.object
    return [*observed.kernel.module.variables.values()][number]


def locate(observed: ObservedLaunch, raw: ctypes.Structure) -> _Location:
    """Return the array, the element and a phrase for where an access lies."""
    space = Space(raw.space)
    if space is Space.GLOBAL:
        operand = find_operand(observed, raw)
        return _locate_in_operand(operand, observed.buffers[raw.object].start + raw.offset)
    if space in {Space.SHARED, Space.DYNAMIC, Space.REMOTE}:
        return _locate_in_shared(observed, raw, space)
    if space is Space.VARIABLE:
        variable = find_variable(observed, raw)
        name, size = name_variable(variable.name.decode()), variable.bytes
        kind = "constant" if variable.is_constant else "global"
        return name, None, f"byte {raw.offset} of {kind} variable {name} of {count_bytes(size)}"
    if space is Space.NOWHERE:
        return _explain_far_address(observed, raw) if raw.bytes else (None, None, "")
    phrases = {
        Space.LOCAL: f"byte {raw.offset} of the thread's local memory",
        Space.HEAP: f"byte {raw.offset} of memory that malloc gave",
        Space.PARAMETERS: f"byte {raw.offset} of the kernel's parameters",
        Space.FOREIGN: "in another thread's local memory",
    }
    return None, None, phrases[space]


def _nearest(operands: Iterable[Operand], address: int) -> Operand:
    return min(operands, key=lambda o: max(o.start - address, address - o.end + 1))


def find_operand(observed: ObservedLaunch, raw: ctypes.Structure) -> Operand:
    """Return the array that an access to global memory lies in, or is nearest to."""
    buffer = observed.buffers[raw.object]
    return _nearest(find_operands(observed, raw) or buffer.operands, buffer.start + raw.offset)


def name_parameter(observed: ObservedLaunch, array: int | str | None) -> str:
    """Return what a kernel's text calls an array, if that is known."""
    operands = (operand for buffer in observed.buffers for operand in buffer.operands)
    names = (operand.parameter for operand in operands if operand.name == array)
    return next(filter(None, names), array if isinstance(array, str) else "")


def describe_operand(operand: Operand) -> str:
    """Return what messages call an array."""
    return f"argument {operand.name}" if isinstance(operand.name, int) else operand.name


def _locate_in_operand(operand: Operand, address: int) -> tuple[int | str, int, str]:
    index, within = divmod(address - operand.address, operand.layout.itemsize)
    name = describe_operand(operand)
    name += f" ({operand.parameter})" if operand.parameter else ""
    rest = f" plus {count_bytes(within)}" if within else ""
    return operand.name, index, f"element {index}{rest} of {name}, shape {operand.layout.shape}"


def _locate_in_shared(observed: ObservedLaunch, raw: ctypes.Structure, space: int) -> _Location:
    offset: int = raw.offset
    objects, start = observed.kernel.shared_objects, observed.kernel.structure.static_shared
    block = ""
    nearest = objects[raw.object] if space is Space.SHARED else None
    if space is Space.REMOTE:  # the offset counts from where shared memory starts
        block = f" in block {raw.object} of the cluster"
        if objects and not (observed.dynamic_bytes and offset >= start):
            nearest = min(
                objects, key=lambda o: max(o.offset - offset, offset - o.offset - o.bytes + 1)
            )
        offset -= start if nearest is None else nearest.offset
    if nearest is None:
        name, size = _name_dynamic(observed, raw), observed.dynamic_bytes
        said = name if name == _DYNAMIC else f"dynamic shared array {name}"
    else:
        name, size = nearest.name.decode(), nearest.bytes
        said = f"shared array {name}"
    index, within = divmod(offset, max(raw.bytes, 1))
    rest = f" plus {count_bytes(within)}" if within else ""
    units = f"in units of {count_bytes(raw.bytes)}"
    return name, index, f"element {index}{rest} of {said} of {count_bytes(size)}{block}, {units}"


def _name_dynamic(observed: ObservedLaunch, raw: ctypes.Structure) -> str:
    """Return what the text calls dynamic shared memory: of several names, those in the line."""
    kernel, ptx = observed.kernel, observed.kernel.module.ptx
    names = kernel.dynamic_names
    if len(names) > 1:
        sources: Sources = {}
        stack = read_own_stack(raw.site)
        add_texts(sources, "", ptx, stack)
        lines = [find_line(sources, "", line) for line in stack]
        written = (
            tuple(n for n in names if re.search(rf"\b{re.escape(n)}\b", line)) for line in lines
        )
        names = next(filter(None, written), names)
    return ", ".join(names) or _DYNAMIC


def _explain_far_address(observed: ObservedLaunch, raw: ctypes.Structure) -> _Location:
    """Locate a far address in an array if an index below zero in 32 bits explains it."""
    address = raw.offset % 2**64
    for base, buffer in zip(observed.addresses, observed.buffers, strict=True):
        for operand in buffer.operands:
            start = base + operand.address - buffer.start
            index, within = divmod(address - start, operand.layout.itemsize)
            if not within and abs(index - _WRAP) < _NEAR_WRAP:
                name, _, said = _locate_in_operand(operand, operand.address)
                said = said.replace("element 0", f"element {index}", 1)
                return name, index, f"{said}: {index - _WRAP} as a 32-bit integer"
    origin = name_origin(observed, raw)
    where = f"reached by an address in {origin}" if origin else "far from every array"
    if origin and not observed.unknown_memory:
        where += ", not given as an array: checked(arrays=...)"
    return None, None, f"at address {address:#x}, {where}"


def name_origin(observed: ObservedLaunch, raw: ctypes.Structure) -> str:
    """Return what the address that a far one was computed from is in; empty if not known."""
    space, offset = Space(raw.origin_space), raw.origin_offset
    if space is Space.PARAMETERS:
        return f"argument {bisect_right(observed.offsets, offset) - 1}"
    if space is Space.GLOBAL:
        buffer = observed.buffers[raw.origin_object]
        return describe_operand(_nearest(buffer.operands, buffer.start + offset))
    if space is Space.VARIABLE:
        return f"variable {name_variable([*observed.kernel.module.variables][raw.origin_object])}"
    return "memory that malloc gave" if space is Space.HEAP else ""


def name_array(observed: ObservedLaunch, raw: ctypes.Structure) -> int | str | None:
    """Return what reports call the array of requests."""
    space = Space(raw.space)
    if space is Space.GLOBAL:
        return find_operand(observed, raw).name
    if space is Space.SHARED:
        return str(observed.kernel.shared_objects[raw.object].name, "utf-8")
    if space is Space.DYNAMIC:
        return _name_dynamic(observed, raw)
    if space is Space.VARIABLE:
        return name_variable(find_variable(observed, raw).name.decode())
    return None
