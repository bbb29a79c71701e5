"""What a checked launch found, in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudakern.errors import SimulatorError

if TYPE_CHECKING:
    from cudakern.simulator.operands import Operand
    from cudakern.simulator.reports.sessions import FindingStructure, Observed

_GLOBAL, _SHARED, _DYNAMIC, _MODULE = 1, 2, 3, 4
_WRITES, _ATOMIC, _OTHER_WRITES, _OTHER_ATOMIC, _ENDLESS = 1, 2, 4, 8, 16
_PLACE = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): (?P<rest>.*)$", re.DOTALL)
#: An index computed in 32 bits that went below zero is short of this.
_WRAP = 2**32
_NEAR_WRAP = 2**16

Source = tuple[str, int]
Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a kernel did that it must not do.

    Attributes
    ----------
    kind : str
        ``"out_of_bounds"``, ``"misaligned"``, ``"uninitialized"``, ``"race"``,
        ``"barrier_divergence"`` or ``"deadlock"``; also what ends a launch in plain mode:
        ``"stack_overflow"``, ``"arithmetic"``, ``"trap"``, ``"assert"``.
    kernel : str
        Name of the kernel.
    block, thread : tuple of int
        Coordinates of the block and of the thread, (x, y, z).
    source : (str, int) or None
        File and line of the access or barrier, None if the compiler kept no trace of it.
    stack : tuple of (str, int)
        The source, then where the function it lies in was called, if it was inlined, and so on.
    array : int, str or None
        Position among the kernel's arguments, or the name of an operator's tensor, of a shared
        array or of a global variable.
    index : int or None
        Element of that array, counted from its first in memory order; negative before it.
    message : str
        One line that says all that.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = '''extern "C" __global__ void shift(const float* x, float* y) {
    ...   y[threadIdx.x] = x[threadIdx.x + 1];
    ... }'''
    >>> shift = ck.simulator.RawKernel(code, "shift")
    >>> x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    >>> try:
    ...     with ck.simulator.checked():
    ...         shift((1,), (32,), (x, y))
    ... except ck.SimulatorError as error:
    ...     (finding,) = error.findings
    >>> finding.kind, finding.source, finding.thread, finding.array, finding.index
    ('out_of_bounds', ('shift.cu', 2), (31, 0, 0), 0, 32)
    """

    kind: str
    kernel: str
    block: Place
    thread: Place
    source: Source | None
    stack: tuple[Source, ...]
    array: int | str | None
    index: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.kernel}: {self.kind}: {self.message}"


def error_for(findings: list[Finding]) -> SimulatorError:
    """Return the error that a checked run with findings ends in."""
    first = findings[0]
    more = len(findings) - 1
    rest = f"; and {more} more finding{'s' if more > 1 else ''}" if more else ""
    message = f"{first.kind}: {first.message}{rest}"
    return SimulatorError(
        first.kind, first.kernel, first.block, first.thread, message, tuple(findings)
    )


def findings_of(observed: Observed) -> list[Finding]:
    """Return what a launch did wrong."""
    found = [_finding(observed, raw) for raw in observed.findings]
    if isinstance(observed.failure, SimulatorError):
        found.append(_failure(observed.failure))
    return found


def _failure(error: SimulatorError) -> Finding:
    text = error.message
    place = _PLACE.match(text)
    source = None if place is None else (place["file"], int(place["line"]))
    return Finding(
        error.kind,
        error.kernel,
        error.block,
        error.thread,
        source,
        () if source is None else (source,),
        None,
        None,
        f"{text} (block {error.block}, thread {error.thread})",
    )


def _finding(observed: Observed, raw: FindingStructure) -> Finding:
    stack = observed.stack(raw.site)
    array, index, where = _object(observed, raw)
    block, thread = tuple(raw.block), tuple(raw.thread)
    what = _access(raw.access & _WRITES, raw.access & _ATOMIC, raw.bytes)
    kind = raw.kind.decode()
    if kind == "race":
        others = tuple(raw.other_block)
        other_stack = observed.stack(raw.other_site)
        other = _access(raw.access & _OTHER_WRITES, raw.access & _OTHER_ATOMIC, 0)
        said = (
            f"{what} at {where} must be ordered with the {other} at {_shown(other_stack)} by block "
            f"{others}, thread {tuple(raw.other_thread)}: no barrier or atomic does"
        )
    else:
        said = {
            "out_of_bounds": f"{what} must lie inside of an array; it is {where}",
            "misaligned": f"{what} must lie on a multiple of {raw.bytes} bytes; it is {where}",
            "deadlock": "a loop must end; this one touches no memory any more, as its value was "
            "read before it: poll with volatile or an atomic"
            if raw.access & _ENDLESS
            else "the launch must not wait forever; every resident thread polls or waits, and none "
            "changes memory",
            "uninitialized": f"{what} must come after a write; nothing wrote {where}",
        }[kind]
    message = f"{_shown(stack)}: {said} (block {block}, thread {thread})"
    source = stack[0] if stack else None
    return Finding(kind, observed.name, block, thread, source, stack, array, index, message)


def _shown(stack: tuple[Source, ...]) -> str:
    if not stack:
        return "an unknown line"
    called = f" (called at {', '.join(f'{f}:{n}' for f, n in stack[1:])})" if stack[1:] else ""
    return f"{stack[0][0]}:{stack[0][1]}{called}"


def _access(writes: int, atomic: int, size: int) -> str:
    what = "atomic update" if atomic and writes else "write" if writes else "read"
    return f"{what} of {size} bytes" if size else what


def _object(observed: Observed, raw: FindingStructure) -> tuple[int | str | None, int | None, str]:
    """Return the array, the element and a phrase for where an access lies."""
    if raw.space == _GLOBAL:
        buffer = observed.buffers[raw.object]
        address = buffer.start + raw.offset
        inside = [o for o in buffer.operands if o.start <= address < o.end]
        nearest = min(
            inside or buffer.operands,
            key=lambda o: max(o.start - address, address - o.end + 1),
        )
        return _of_operand(nearest, address)
    if raw.space == _SHARED:
        found = observed.symbols.shared_objects()[raw.object]
        return _of_bytes(f"shared array {found.name} of {found.size} bytes", found.name, raw)
    if raw.space == _DYNAMIC:
        return _of_bytes("dynamic shared memory", "dynamic shared memory", raw)
    if raw.space == _MODULE:
        for variable in observed.symbols.data_objects():
            offset = raw.offset - variable.offset
            if 0 <= offset < variable.size:
                where = f"byte {offset} of global variable {variable.name}"
                return variable.name, None, where
        return None, None, "in a global variable"
    return _nowhere(observed, raw.offset % 2**64) if raw.bytes else (None, None, "")


def _of_operand(operand: Operand, address: int) -> tuple[int | str, int, str]:
    index, within = divmod(address - operand.address, operand.layout.itemsize)
    name = f"argument {operand.name}" if isinstance(operand.name, int) else operand.name
    rest = f" plus {within} bytes" if within else ""
    return operand.name, index, f"element {index}{rest} of {name}, shape {operand.layout.shape}"


def _of_bytes(said: str, name: str, raw: FindingStructure) -> tuple[str, int, str]:
    index, within = divmod(raw.offset, max(raw.bytes, 1))
    rest = f" plus {within} bytes" if within else ""
    return name, index, f"element {index}{rest} of {said}, in units of {raw.bytes} bytes"


def _nowhere(observed: Observed, address: int) -> tuple[int | str | None, int | None, str]:
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
