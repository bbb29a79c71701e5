"""What a checked launch found, and where, in words."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudakern.errors import SimulatorError
from cudakern.simulator.headers import enumeration
from cudakern.simulator.ptx.access_bits import ATOMIC, GUESSES, SCOPES, WRITES
from cudakern.simulator.ptx.names import qualified
from cudakern.simulator.source_lines import Source, own_first, shown, stack_of

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterable

    from cudakern.simulator.observation import Observed
    from cudakern.simulator.operands import Operand


_Reason = enumeration("checker/launch_api.hpp", "ck_sim_reason")
_Space = enumeration("checker/launch_api.hpp", "ck_sim_space")
_Lack = enumeration("checker/launch_api.hpp", "ck_sim_lack")
_Use = enumeration("runtime/runtime_api.hpp", "ck_sim_use")
#: What becomes of an undefined value.
_USED = {
    _Use.USE_OTHER: "its value is used at",
    _Use.USE_BRANCH: "its value decides a branch at",
    _Use.USE_ADDRESS: "its value is part of an address at",
    _Use.USE_ATOMIC: "its value goes into an atomic at",
    _Use.USE_STORE: "its value is stored at",
    _Use.USE_PRINT: "its value is printed at",
}
Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a kernel did that it must not do.

    Attributes
    ----------
    kind : str
        ``"out_of_bounds"``, ``"misaligned"``, ``"uninitialized"``, ``"inactive_lane"``,
        ``"race"``, ``"barrier_divergence"`` or ``"deadlock"``; also what ends any launch:
        ``"stack_overflow"``, ``"trap"``, ``"assert"``, ``"misuse"``.
    kernel : str
        Name of the kernel.
    block, thread : tuple of int
        Coordinates of the block and of the thread, (x, y, z).
    source : (str, int) or None
        File and line of the access or barrier, None if the compiler kept no trace of it. Within a
        header of CUDA, CuPy, libcu++ or CUB, the line of the user's own that led there.
    stack : tuple of (str, int)
        The source, then where the function it lies in was called, if it was inlined, and so on;
        behind all of the user's own lines, those of headers of CUDA, CuPy, libcu++ and CUB.
    array : int, str or None
        Position among the kernel's arguments, or the name of an operator's tensor, of one of the
        ``arrays`` of `checked`, of a shared array or of a global variable; ``"simulator.empty"``
        for an array of `empty` that only its address leads to.
    index : int or None
        Element of that array, counted from its first in memory order; negative before it.
    message : str
        One line that says all that.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = 'extern "C" __global__ void f(int* x, int* y) { y[threadIdx.x] = x[threadIdx.x+1]; }'
    >>> shift = ck.simulator.RawKernel(code, "f")
    >>> x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    >>> try:
    ...     with ck.simulator.checked():
    ...         shift((1,), (32,), (x, y))
    ... except ck.SimulatorError as error:
    ...     (finding,) = error.findings
    >>> finding.kind, finding.source, finding.thread, finding.array, finding.index
    ('out_of_bounds', ('f.cu', 1), (31, 0, 0), 0, 32)
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
    findings = [_finding(observed, raw) for raw in _explained_last(observed.findings)]
    if observed.failure is not None:
        findings.append(_failure(observed.failure, observed.failed_at))
    return findings


def _explained_last(findings: list[ctypes.Structure]) -> list[ctypes.Structure]:
    """Return findings in their order, but a read of nothing written behind its race, if any."""
    races = [raw for raw in findings if raw.kind == b"race"]
    places = {stack_of(site) for raw in races for site in (raw.site, raw.other_site)}
    return sorted(findings, key=lambda r: r.kind == b"uninitialized" and stack_of(r.site) in places)


def notes_of(observed: Observed) -> list[str]:
    """Return what of a launch was not checked to the end."""
    if not observed.forgotten:
        return []
    at = f"{observed.kernel.name}: not checked: {shown(observed.forgotten_at)}"
    return [f"{at}: a write of what more warps have read than are remembered, two for each 4 bytes"]


def _failure(error: SimulatorError, stack: tuple[Source, ...]) -> Finding:
    source = stack[0] if stack else None
    message = f"{error.message} (block {error.block}, thread {error.thread})"
    place = (error.block, error.thread, source, stack, None, None)
    return Finding(error.kind, error.kernel, *place, message)


def _finding(observed: Observed, raw: ctypes.Structure) -> Finding:
    kind = raw.kind.decode()
    stack = own_first(stack_of(raw.site))
    is_lane = kind == "inactive_lane"
    array, index, where = (None, None, "") if is_lane else _place_of(observed, raw)
    block, thread = tuple(raw.block), tuple(raw.thread)
    access = _access(raw.access, raw.bytes)
    if kind == "race":
        text = _race(raw, access, where)
    elif kind == "out_of_bounds":
        text = f"{access} {_requirement(observed, raw)}; it is {where}"
    elif kind == "misaligned":
        text = f"{access} must lie on a multiple of {raw.bytes} bytes; it is {where}"
    elif is_lane:
        text = f"{_lane(raw)}{_used(raw)}"
    else:
        text = f"{access} must come after a write; nothing wrote {where}{_used(raw)}"
    text += "" if is_lane else _of_the_array(observed, raw, kind)
    message = f"{shown(stack)}: {text} (block {block}, thread {thread})"
    source = stack[0] if stack else None
    return Finding(kind, observed.kernel.name, block, thread, source, stack, array, index, message)


def _used(raw: ctypes.Structure) -> str:
    """Say what becomes of an undefined value, and where, if that is elsewhere."""
    place = stack_of(raw.other_site)
    return "" if place == stack_of(raw.site) else f"; {_USED[raw.use]} {shown(place)}"


def _lane(raw: ctypes.Structure) -> str:
    """Say which lane a shuffle cannot read."""
    why = {
        _Lack.ABSENT: "the block has no such lane",
        _Lack.EXITED: "that lane has exited",
        _Lack.UNNAMED: f"mask {raw.access:#010x} does not name it",
    }
    return (
        f"a shuffle must read a lane that takes part; it reads lane {raw.object}: {why[raw.space]}"
    )


def _race(raw: ctypes.Structure, access: str, where: str) -> str:
    """Say which accesses race and why."""
    reason = _Reason(raw.reason)
    only = ", which only strict reports" if raw.only_strict else ""
    if reason is _Reason.ENDED:
        return (
            f"{access} at {where} must come before the end of that block, whose shared memory is "
            f"there while it runs: no barrier of the cluster comes between{only}"
        )
    other = _access(raw.other_access, 0)
    by = f"block {tuple(raw.other_block)}, thread {tuple(raw.other_thread)}"
    at = shown(own_first(stack_of(raw.other_site)))
    if reason is _Reason.PROXY:
        return (
            f"{access} at {where} by a bulk copy must come after fence.proxy.async, and that after "
            f"the {other} at {at} by {by}: no such fence is between{only}"
        )
    if reason is _Reason.NONCOHERENT:
        return (
            f"{access} at {where} must not meet the {other} at {at} by {by}: one is ld.global.nc, "
            f"as of const __restrict__ or __ldg, of what is only read while the kernel runs{only}"
        )
    why = "no barrier does, nor a release with an acquire"
    if reason is _Reason.NARROW:
        why = f"the scope of one, {_narrower(raw)}, leaves the other thread out"
    elif reason is _Reason.IN_FLIGHT:
        other, why = "asynchronous copy", "nobody has waited for that"
    elif reason is _Reason.SAME:
        why += "; they write the same value"
    elif reason is _Reason.VOLATILES:
        why += "; both are strong and one is volatile"
    elif reason is _Reason.SIZES:
        why += "; both are strong and one is of fewer bytes"
    elif reason is _Reason.LANES:
        why += "; that both are volatile does not order lanes of a warp"
    return f"{access} at {where} must be ordered with the {other} at {at} by {by}: {why}{only}"


def _narrower(raw: ctypes.Structure) -> str:
    """Return the narrower scope of two strong accesses."""
    accesses = [site.contents.access for site in (raw.site, raw.other_site)]
    scopes = [SCOPES["gpu"] if access & GUESSES else access & SCOPES["sys"] for access in accesses]
    return next(f".{word}" for word, scope in SCOPES.items() if scope == min(scopes))


def _access(access: int, size: int) -> str:
    what = "read"
    if access & WRITES:
        what = "atomic update" if access & ATOMIC else "write"
    return f"{what} of {size} bytes" if size else what


#: An index computed in 32 bits that went below zero is short of this.
_WRAP = 2**32
_NEAR_WRAP = 2**16
#: Array, element and a phrase.
_Where = tuple[int | str | None, int | None, str]


def _requirement(observed: Observed, raw: ctypes.Structure) -> str:
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


def _inside(observed: Observed, raw: ctypes.Structure) -> list[Operand]:
    """Return the arrays that an access to global memory lies in."""
    buffer = observed.buffers[raw.object]
    address = buffer.start + raw.offset
    return [o for o in buffer.operands if o.start <= address < o.end]


def _variable(observed: Observed, raw: ctypes.Structure) -> ctypes.Structure:
    number: int = raw.object
    return [*observed.kernel.module.variables.values()][number]


def _place_of(observed: Observed, raw: ctypes.Structure) -> _Where:
    """Return the array, the element and a phrase for where an access lies."""
    space = _Space(raw.space)
    if space is _Space.GLOBAL:
        operand = _operand(observed, raw)
        return _of_operand(operand, observed.buffers[raw.object].start + raw.offset)
    if space in {_Space.SHARED, _Space.DYNAMIC, _Space.REMOTE}:
        return _of_shared(observed, raw, space)
    if space is _Space.VARIABLE:
        variable = _variable(observed, raw)
        name, size = _name_of(variable.name.decode()), variable.bytes
        kind = "constant" if variable.is_constant else "global"
        return name, None, f"byte {raw.offset} of {kind} variable {name} of {size} bytes"
    if space is _Space.NOWHERE:
        return _nowhere(observed, raw) if raw.bytes else (None, None, "")
    places = {
        _Space.LOCAL: f"byte {raw.offset} of the thread's local memory",
        _Space.HEAP: f"byte {raw.offset} of memory that malloc gave",
        _Space.PARAMETERS: f"byte {raw.offset} of the kernel's parameters",
        _Space.FOREIGN: "in another thread's local memory",
    }
    return None, None, places[space]


def _nearest(operands: Iterable[Operand], address: int) -> Operand:
    return min(operands, key=lambda o: max(o.start - address, address - o.end + 1))


def _operand(observed: Observed, raw: ctypes.Structure) -> Operand:
    """Return the array that an access to global memory lies in, or is nearest to."""
    buffer = observed.buffers[raw.object]
    return _nearest(_inside(observed, raw) or buffer.operands, buffer.start + raw.offset)


def _name_of(symbol: str) -> str:
    """Return the name of a variable, without its namespaces."""
    return qualified(symbol).rpartition("::")[2]


def _called(operand: Operand) -> str:
    return f"argument {operand.name}" if isinstance(operand.name, int) else operand.name


def _of_the_array(observed: Observed, raw: ctypes.Structure, kind: str) -> str:
    """Return the end of a message: what about the array itself may explain the finding."""
    if raw.space != _Space.GLOBAL or kind == "race":
        return ""
    operand = _operand(observed, raw)
    name, text = _called(operand), ""
    buffer = observed.buffers[raw.object]
    start = observed.addresses[raw.object] + operand.address - buffer.start
    if kind == "misaligned" and start % raw.bytes:
        starts = f"its address is {start % raw.bytes} modulo {raw.bytes}"
        text += f"; {name} itself starts misaligned: {starts}"
    if operand.is_strided:
        text += f"; {name} is not contiguous: a kernel sees its memory, not its elements"
    return text


def _of_operand(operand: Operand, address: int) -> tuple[int | str, int, str]:
    index, within = divmod(address - operand.address, operand.layout.itemsize)
    name = f"{_called(operand)} ({operand.parameter})" if operand.parameter else _called(operand)
    rest = f" plus {within} bytes" if within else ""
    return operand.name, index, f"element {index}{rest} of {name}, shape {operand.layout.shape}"


def _of_shared(observed: Observed, raw: ctypes.Structure, space: int) -> _Where:
    offset: int = raw.offset
    objects, start = observed.kernel.shared_objects, observed.kernel.structure.static_shared
    block = ""
    nearest = objects[raw.object] if space is _Space.SHARED else None
    if space is _Space.REMOTE:  # the offset counts from where shared memory starts
        block = f" in block {raw.object} of the cluster"
        if objects and not (observed.dynamic_bytes and offset >= start):
            nearest = min(
                objects, key=lambda o: max(o.offset - offset, offset - o.offset - o.bytes + 1)
            )
        offset -= start if nearest is None else nearest.offset
    if nearest is None:
        name = said = "dynamic shared memory"
        size = observed.dynamic_bytes
    else:
        name, size = nearest.name.decode(), nearest.bytes
        said = f"shared array {name}"
    index, within = divmod(offset, max(raw.bytes, 1))
    rest = f" plus {within} bytes" if within else ""
    units = f"in units of {raw.bytes} bytes"
    return name, index, f"element {index}{rest} of {said} of {size} bytes{block}, {units}"


def _nowhere(observed: Observed, raw: ctypes.Structure) -> _Where:
    """Say which array's index went below zero in 32 bits, if that explains a far address."""
    address = raw.offset % 2**64
    for i, buffer in enumerate(observed.buffers):
        base = observed.addresses[i]
        for operand in buffer.operands:
            start = base + operand.address - buffer.start
            index, within = divmod(address - start, operand.layout.itemsize)
            if not within and abs(index - _WRAP) < _NEAR_WRAP:
                name, _, said = _of_operand(operand, operand.address)
                said = said.replace("element 0", f"element {index}", 1)
                return name, index, f"{said}: {index - _WRAP} as a 32-bit integer"
    return None, None, f"at address {address:#x}, {_origin(observed, raw)}"


def _origin(observed: Observed, raw: ctypes.Structure) -> str:
    """Return a phrase for where the address stands that a far one was computed from."""
    space, offset = _Space(raw.origin_space), raw.origin_offset
    if space is _Space.PARAMETERS:
        number = bisect_right(observed.offsets, offset) - 1
        origin = f"argument {number}"
    elif space is _Space.GLOBAL:
        buffer = observed.buffers[raw.origin_object]
        origin = _called(_nearest(buffer.operands, buffer.start + offset))
    elif space is _Space.VARIABLE:
        origin = f"variable {_name_of([*observed.kernel.module.variables][raw.origin_object])}"
    elif space is _Space.HEAP:
        origin = "memory that malloc gave"
    else:
        return "far from every array"
    return f"reached by an address in {origin}, not given as an array: checked(arrays=...)"
