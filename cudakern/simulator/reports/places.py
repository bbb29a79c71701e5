"""Where an access lies, in words."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.names import qualified

if TYPE_CHECKING:
    from cudakern.simulator import structures
    from cudakern.simulator.operands import Operand
    from cudakern.simulator.ptx.module import Variable
    from cudakern.simulator.reports.sessions import Observed

#: Of a finding's access, as in launch_api.hpp.
WRITES = 1
#: An index computed in 32 bits that went below zero is short of this.
_WRAP = 2**32
_NEAR_WRAP = 2**16


#: Array, element and a phrase.
Where = tuple[int | str | None, int | None, str]


class _Space(IntEnum):
    """ck_sim_space of launch_api.hpp: where an address lies."""

    NOWHERE = 0
    GLOBAL = 1
    SHARED = 2
    DYNAMIC = 3
    VARIABLE = 4
    LOCAL = 5
    HEAP = 6
    PARAMETERS = 7
    FOREIGN = 8
    REMOTE = 9


def requirement(observed: Observed, raw: structures.Finding) -> str:
    """Return what must hold of an access that is not to where it may be."""
    if raw.access & WRITES:
        if raw.space == _Space.PARAMETERS:
            return "must not be to the kernel's parameters"
        if raw.space == _Space.VARIABLE and _variable(observed, raw).is_constant:
            return "must not be to constant memory"
        inside = _inside(observed, raw) if raw.space == _Space.GLOBAL else []
        if inside and all(operand.read_only for operand in inside):
            return "must be to an array that can be written"
    return "must lie inside of an array"


def _inside(observed: Observed, raw: structures.Finding) -> list[Operand]:
    """Return the arrays that an access to global memory lies in."""
    buffer = observed.buffers[raw.object]
    address = buffer.start + raw.offset
    return [o for o in buffer.operands if o.start <= address < o.end]


def _variable(observed: Observed, raw: structures.Finding) -> Variable:
    number: int = raw.object
    return [*observed.kernel.module.variables.values()][number]


def place_of(observed: Observed, raw: structures.Finding) -> Where:
    """Return the array, the element and a phrase for where an access lies."""
    space = _Space(raw.space)
    if space is _Space.GLOBAL:
        buffer = observed.buffers[raw.object]
        address = buffer.start + raw.offset
        near = _inside(observed, raw) or buffer.operands
        nearest = min(near, key=lambda o: max(o.start - address, address - o.end + 1))
        return _of_operand(nearest, address)
    if space in {_Space.SHARED, _Space.DYNAMIC, _Space.REMOTE}:
        return _of_shared(observed, raw, space)
    if space is _Space.VARIABLE:
        variable = _variable(observed, raw)
        name, size = _last(variable.name), variable.nbytes
        kind = "constant" if variable.is_constant else "global"
        return name, None, f"byte {raw.offset} of {kind} variable {name} of {size} bytes"
    if space is _Space.NOWHERE:
        return _nowhere(observed, raw.offset % 2**64) if raw.bytes else (None, None, "")
    byte = f"byte {raw.offset} of"
    return (
        *(None, None),
        {
            _Space.LOCAL: f"{byte} the thread's local memory",
            _Space.HEAP: f"{byte} memory that malloc gave",
            _Space.PARAMETERS: f"{byte} the kernel's parameters",
            _Space.FOREIGN: "in another thread's local memory",
        }[space],
    )


def _last(symbol: str) -> str:
    """Return a variable's own name."""
    return qualified(symbol).rpartition("::")[2]


def _of_operand(operand: Operand, address: int) -> tuple[int | str, int, str]:
    index, within = divmod(address - operand.address, operand.layout.itemsize)
    called = f" ({operand.parameter})" if operand.parameter else ""
    name = f"argument {operand.name}{called}" if isinstance(operand.name, int) else operand.name
    rest = f" plus {within} bytes" if within else ""
    return operand.name, index, f"element {index}{rest} of {name}, shape {operand.layout.shape}"


def _of_shared(observed: Observed, raw: structures.Finding, space: _Space) -> Where:
    offset: int = raw.offset
    objects, start = observed.kernel.shared_objects, observed.kernel.structure.static_shared
    block = ""
    nearest = objects[raw.object] if space is _Space.SHARED else None
    if space is _Space.REMOTE:  # the offset counts from where shared memory starts
        block = f" in block {raw.object} of the cluster"
        if objects and not (observed.dynamic_bytes and offset >= start):
            nearest = min(
                objects, key=lambda o: max(o.offset - offset, offset - o.offset - o.nbytes + 1)
            )
        offset -= start if nearest is None else nearest.offset
    if nearest is None:
        name = said = "dynamic shared memory"
        size = observed.dynamic_bytes
    else:
        name, size = _last(nearest.name), nearest.nbytes
        said = f"shared array {name}"
    index, within = divmod(offset, max(raw.bytes, 1))
    rest = f" plus {within} bytes" if within else ""
    units = f"in units of {raw.bytes} bytes"
    return name, index, f"element {index}{rest} of {said} of {size} bytes{block}, {units}"


def _nowhere(observed: Observed, address: int) -> Where:
    """Say which array's index went below zero in 32 bits, if that explains a far address."""
    for i, buffer in enumerate(observed.buffers):
        base = observed.addresses[i]
        for operand in buffer.operands:
            start = base + operand.address - buffer.start
            index, within = divmod(address - start, operand.layout.itemsize)
            if not within and abs(index - _WRAP) < _NEAR_WRAP:
                name, _, said = _of_operand(operand, operand.address)
                said = said.replace("element 0", f"element {index}", 1)
                return name, index, f"{said}: {index - _WRAP} as a 32-bit integer"
    return None, None, f"at address {address:#x}, far from every array"
