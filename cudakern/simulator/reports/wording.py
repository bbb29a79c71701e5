"""The findings of a checked launch, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from cudakern.display.characters import format_count
from cudakern.simulator.ptx.access_bits import BITS, SCOPES
from cudakern.simulator.reports.findings import Finding, OtherAccess
from cudakern.simulator.reports.locations import (
    Space,
    count_bytes,
    describe_operand,
    find_operand,
    find_operands,
    find_variable,
    locate,
    name_origin,
    name_parameter,
)
from cudakern.simulator.reports.user_files import describe_place
from cudakern.simulator.runtime.abi_parser import read_enumeration
from cudakern.simulator.runtime.limits import POINTER_BYTES
from cudakern.simulator.sources.source_lines import (
    describe_stack,
    read_column,
    read_own_stack,
    read_stack,
)
from cudakern.simulator.sources.source_texts import add_texts, find_index_column, find_line

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterator

    from cudakern.errors import SimulatorError
    from cudakern.simulator.launching.observation import ObservedLaunch
    from cudakern.simulator.reports.user_files import Origins
    from cudakern.simulator.sources.source_lines import SourceLine
    from cudakern.simulator.sources.source_texts import Sources

_Access = TypeVar("_Access", Finding, OtherAccess)
_Reason = read_enumeration("checker/launch_api.hpp", "ck_sim_reason")
_Lack = read_enumeration("checker/launch_api.hpp", "ck_sim_lack")
_Use = read_enumeration("runtime/runtime_api.hpp", "ck_sim_use")
#: How an undefined value is used.
_USES = {
    _Use.USE_OTHER: "its value is used at",
    _Use.USE_BRANCH: "its value decides a branch at",
    _Use.USE_ADDRESS: "its value is part of an address at",
    _Use.USE_ATOMIC: "its value goes into an atomic at",
    _Use.USE_STORE: "its value is stored at",
    _Use.USE_PRINT: "its value is printed at",
}
#: In errors of calls by an address, which may have been read out of bounds.
_CALL = "an indirect call must"
#: What is computed with an address of zeros is less than so many bytes from it.
_NEAR_ZERO = 2**28
#: The kind of notes on memory of no known array.
_UNKNOWN = b"unknown_memory"
#: What strict launches alone report, by its kind.
_NOTED = {
    "race": ("pair", "of accesses by volatile met unordered"),
    "barrier_divergence": ("barrier", "went on without threads that had exited"),
}
#: What else holds of two accesses that nothing orders.
_UNORDERED = {
    _Reason.SAME: "; they write the same value",
    _Reason.STORES: "; volatile does not order them, and they write different values",
    _Reason.VOLATILES: "; both are strong and one is volatile",
    _Reason.SIZES: "; both are strong and one is of fewer bytes",
    _Reason.LANES: "; that both are volatile does not order lanes of a warp",
}


def describe_findings(
    observed: ObservedLaunch, sources: Sources, origins: Origins
) -> list[Finding]:
    """Return what a launch did wrong; add the texts of the files that this names to the sources."""
    raws = _without_followers(observed.findings)
    findings = [_describe_finding(observed, raw) for raw in _sort_findings(raws)]
    read = any(map(_reads_address_outside, raws))
    if observed.failure is not None and not (read and _CALL in observed.failure.message):
        findings.append(_describe_failure(observed.failure, observed))
    named = [_add_names(finding, observed, sources) for finding in findings]
    return [_add_origins(finding, origins) for finding in named]


def _add_origins(finding: Finding, origins: Origins) -> Finding:
    """Return a finding with the lines of the user's files that its lines are."""
    other = finding.other
    if other is not None:
        other = replace(other, origin=origins.find(finding.library, other.source, other.column))
    origin = origins.find(finding.library, finding.source, finding.column)
    return replace(finding, other=other, origin=origin)


def _without_followers(findings: list[ctypes.Structure]) -> list[ctypes.Structure]:
    """Leave out what follows from another finding.

    Those are all accesses but the first to memory that the same address leads to; and, as a read
    out of bounds gives zeros, those near address 0 after such a read of an address.
    """
    if any(_reads_address_outside(raw) for raw in findings):
        findings = [raw for raw in findings if not _is_near_zero(raw)]
    origins = {
        (raw.origin_space, raw.origin_object, raw.origin_offset): raw
        for raw in reversed(findings)
        if raw.origin_space
    }
    first = {id(raw) for raw in origins.values()}
    return [raw for raw in findings if not raw.origin_space or id(raw) in first]


def _reads_address_outside(raw: ctypes.Structure) -> bool:
    is_read = not raw.access & BITS["writes"]
    return raw.kind == b"out_of_bounds" and is_read and raw.bytes == POINTER_BYTES


def _is_near_zero(raw: ctypes.Structure) -> bool:
    is_far = raw.kind == b"out_of_bounds" and raw.space == Space.NOWHERE and raw.bytes
    return bool(is_far) and abs(raw.offset) < _NEAR_ZERO


def _add_names(finding: Finding, observed: ObservedLaunch, sources: Sources) -> Finding:
    """Return a finding with its library, the array's name and the texts of its lines."""
    name, other = name_parameter(observed, finding.array), finding.other
    finding = _add_code(finding, name, observed, sources)
    if other is not None:
        other = _add_code(other, name if finding.kind == "race" else "", observed, sources)
    return replace(finding, other=other, library=observed.kernel.module.ptx.key, name=name)


def _add_code(access: _Access, name: str, observed: ObservedLaunch, sources: Sources) -> _Access:
    """Return an access with the text of its line, and the column where that indexes an array."""
    module = observed.kernel.module
    library = module.ptx.key
    add_texts(sources, library, module.ptx, access.stack)
    code = find_line(sources, library, access.source)
    return replace(access, code=code, column=_find_column(code, name, access.access, access.column))


def _find_column(code: str, name: str, access: str, statement: int | None) -> int | None:
    """Return where a line indexes an array, or else where its statement begins."""
    indexed = find_index_column(code, name, access)
    if indexed is not None:
        return indexed
    before = code.encode()[: (statement or 1) - 1]  # NVRTC counts bytes
    return None if statement is None else len(before.decode(errors="ignore")) + 1


def _sort_findings(findings: list[ctypes.Structure]) -> list[ctypes.Structure]:
    """Return findings in their order, but a read of unwritten memory after its race, if any."""
    races = [raw for raw in findings if raw.kind == b"race"]
    places = {read_stack(site) for raw in races for site in (raw.site, raw.other_site)}
    return sorted(
        findings, key=lambda r: r.kind == b"uninitialized" and read_stack(r.site) in places
    )


def describe_unchecked(observed: ObservedLaunch, sources: Sources, origins: Origins) -> list[str]:
    """Return notes on what was not checked to the end in a launch."""
    unchecked = [
        (
            read_own_stack(raw.site),
            f"memory that an address in {name_origin(observed, raw)} leads to",
        )
        for raw in observed.noted
        if raw.kind == _UNKNOWN
    ]
    if observed.forgotten:
        text = "a write of what more warps have read than are remembered, two for each 4 bytes"
        unchecked.append((observed.forgotten_at, text))
    name = observed.kernel.name
    return [
        f"{name}: not checked: {_find_place(observed, at, sources, origins)}: {text}"
        for at, text in unchecked
    ]


def _find_place(
    observed: ObservedLaunch, stack: tuple[SourceLine, ...], sources: Sources, origins: Origins
) -> str:
    """Return a stack in words, and which line of the user's file it begins at."""
    module = observed.kernel.module
    add_texts(sources, module.ptx.key, module.ptx, stack)
    source = stack[0] if stack else None
    return describe_place(source, origins.find(module.ptx.key, source), stack)


class StrictNotes:
    """How often launches met what only strict ones report, by kernels."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], dict[object, str]] = {}

    def add(self, observed: ObservedLaunch, sources: Sources, origins: Origins) -> None:
        """Take note of a launch."""
        for raw in observed.noted:
            if raw.kind == _UNKNOWN:
                continue
            what, stack = raw.kind.decode(), read_own_stack(raw.site)
            key = stack, read_own_stack(raw.other_site) if raw.other_site else ()
            places = self._places.setdefault((observed.kernel.name, what), {})
            if key not in places:  # the first one is told
                first = "" if places else _find_place(observed, stack, sources, origins)
                places[key] = first

    def __iter__(self) -> Iterator[str]:
        """Yield the notes, one for each kernel and sort."""
        for (kernel, what), places in self._places.items():
            first, *_ = places.values()
            one, met = _NOTED[what]
            text = f"{format_count(len(places), one)} {met}"
            yield f"{kernel}: strict has more: {text}, the first at {first}"


def _describe_failure(error: SimulatorError, observed: ObservedLaunch) -> Finding:
    stack = observed.failed_at
    message = f"{error.message} (block {error.block}, thread {error.thread})"
    place = (error.block, error.thread, stack[0] if stack else None, stack, None, None)
    return Finding(error.kind, error.kernel, *place, message, column=observed.failed_column)


def _describe_finding(observed: ObservedLaunch, raw: ctypes.Structure) -> Finding:
    kind = raw.kind.decode()
    stack = read_own_stack(raw.site)
    block, thread = tuple(raw.block), tuple(raw.thread)
    array, index, access = None, None, ""
    if kind == "inactive_lane":
        text = f"{_describe_lane(raw)}{_describe_use(raw)}"
    else:
        array, index, where = locate(observed, raw)
        access = _describe_access(raw.access, 0)
        text = _describe_rule(observed, raw, kind, where) + _explain_by_array(observed, raw, kind)
    message = f"{describe_stack(stack)}: {text} (block {block}, thread {thread})"
    place = (block, thread, stack[0] if stack else None, stack, array, index)
    finding = Finding(kind, observed.kernel.name, *place, message, access, read_column(raw.site))
    return replace(finding, threads=raw.threads, other=_find_other(raw, kind))


def _describe_rule(observed: ObservedLaunch, raw: ctypes.Structure, kind: str, where: str) -> str:
    """Say what must hold of an access, and what holds instead."""
    access = _describe_access(raw.access, raw.bytes)
    if kind == "race":
        return _describe_race(raw, access, where)
    if kind == "out_of_bounds":
        return f"{access} {_describe_requirement(observed, raw)}; it is {where}"
    if kind == "misaligned":
        return f"{access} must lie on a multiple of {raw.bytes} bytes; it is {where}"
    return f"{access} must come after a write; nothing wrote {where}{_describe_use(raw)}"


def _find_other(raw: ctypes.Structure, kind: str) -> OtherAccess | None:
    stack, column = read_own_stack(raw.other_site), read_column(raw.other_site)
    if stack and kind == "race":
        in_flight = raw.reason == _Reason.IN_FLIGHT
        access = "asynchronous copy" if in_flight else _describe_access(raw.other_access, 0)
        block, thread = tuple(raw.other_block), tuple(raw.other_thread)
    elif stack and read_stack(raw.other_site) != read_stack(raw.site):
        access, block, thread = "use", tuple(raw.block), tuple(raw.thread)
    else:
        return None
    return OtherAccess(access, stack[0], column, stack, block, thread)


def _describe_use(raw: ctypes.Structure) -> str:
    """Say how an undefined value is used, and where, unless the finding is there."""
    place = read_stack(raw.other_site)
    return "" if place == read_stack(raw.site) else f"; {_USES[raw.use]} {describe_stack(place)}"


def _describe_lane(raw: ctypes.Structure) -> str:
    """Say which lane a shuffle cannot read."""
    why = {
        _Lack.ABSENT: "the block has no such lane",
        _Lack.EXITED: "that lane has exited",
        _Lack.UNNAMED: f"mask {raw.access:#010x} does not name it",
    }[raw.space]
    return f"a shuffle must read a lane that takes part; it reads lane {raw.object}: {why}"


def _describe_race(raw: ctypes.Structure, access: str, where: str) -> str:
    reason = _Reason(raw.reason)
    other = "asynchronous copy"
    if reason is not _Reason.IN_FLIGHT:
        other = _describe_access(raw.other_access, 0)
    other = f"the {other} at {describe_stack(read_own_stack(raw.other_site))} by "
    other += f"block {tuple(raw.other_block)}, thread {tuple(raw.other_thread)}"
    if reason is _Reason.ENDED:
        text = "must come before the end of that block, whose shared memory is there while it "
        text += "runs: no barrier of the cluster comes between"
    elif reason is _Reason.PROXY:
        text = f"by a bulk copy must come after fence.proxy.async, and that after {other}: "
        text += "no such fence is between"
    elif reason is _Reason.NONCOHERENT:
        text = f"must not meet {other}: one is ld.global.nc, as of const __restrict__ or __ldg, "
        text += "of what is only read while the kernel runs"
    else:
        why = f"no barrier does, nor a release with an acquire{_UNORDERED.get(reason, '')}"
        if reason is _Reason.NARROW:
            why = f"the scope of one, {_find_narrower_scope(raw)}, leaves the other thread out"
        elif reason is _Reason.IN_FLIGHT:
            why = "nobody has waited for that"
        text = f"must be ordered with {other}: {why}"
    only = ", which only strict reports" if raw.only_strict else ""
    return f"{access} at {where} {text}{only}"


def _find_narrower_scope(raw: ctypes.Structure) -> str:
    accesses = [site.contents.access for site in (raw.site, raw.other_site)]
    scopes = [
        SCOPES["gpu"] if access & BITS["guesses"] else access & SCOPES["sys"] for access in accesses
    ]
    return next(f".{word}" for word, scope in SCOPES.items() if scope == min(scopes))


def _describe_access(access: int, size: int) -> str:
    what = "read"
    if access & BITS["writes"]:
        what = "atomic update" if access & BITS["atomic"] else "write"
    return f"{what} of {count_bytes(size)}" if size else what


def _describe_requirement(observed: ObservedLaunch, raw: ctypes.Structure) -> str:
    """Return the rule that an access out of bounds breaks."""
    if raw.access & BITS["writes"]:
        if raw.space == Space.PARAMETERS:
            return "must not be to the kernel's parameters"
        if raw.space == Space.VARIABLE and find_variable(observed, raw).is_constant:
            return "must not be to constant memory"
        inside = find_operands(observed, raw) if raw.space == Space.GLOBAL else []
        if inside and all(operand.read_only for operand in inside):
            return "must be to an array that can be written"
    return "must lie inside of an array"


def _explain_by_array(observed: ObservedLaunch, raw: ctypes.Structure, kind: str) -> str:
    """Return the end of a message: a property of the array that may explain the finding."""
    if raw.space != Space.GLOBAL or kind == "race":
        return ""
    operand = find_operand(observed, raw)
    name, text = describe_operand(operand), ""
    buffer = observed.buffers[raw.object]
    start = observed.addresses[raw.object] + operand.address - buffer.start
    if kind == "misaligned" and start % raw.bytes:
        starts = f"its address is {start % raw.bytes} modulo {raw.bytes}"
        text += f"; {name} itself starts misaligned: {starts}"
    if operand.is_strided:
        text += f"; {name} is not contiguous: a kernel sees its memory, not its elements"
    return text
