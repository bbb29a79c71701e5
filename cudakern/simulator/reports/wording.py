"""What a checked launch found, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.access_bits import ATOMIC, GUESSES, SCOPES, WRITES
from cudakern.simulator.reports.findings import Finding, OtherAccess
from cudakern.simulator.reports.locations import (
    Space,
    describe_operand,
    locate,
    operand_of,
    operands_at,
    parameter_name,
    variable_of,
)
from cudakern.simulator.runtime.abi_parser import enumeration
from cudakern.simulator.sources.source_lines import (
    column_of,
    describe_stack,
    own_stack_of,
    stack_of,
)
from cudakern.simulator.sources.source_texts import add_texts, column_of_index, line_of

if TYPE_CHECKING:
    import ctypes

    from cudakern.errors import SimulatorError
    from cudakern.simulator.launching.observation import Observed
    from cudakern.simulator.sources.source_texts import Sources


_Reason = enumeration("checker/launch_api.hpp", "ck_sim_reason")
_Lack = enumeration("checker/launch_api.hpp", "ck_sim_lack")
_Use = enumeration("runtime/runtime_api.hpp", "ck_sim_use")
#: What becomes of an undefined value.
_USES = {
    _Use.USE_OTHER: "its value is used at",
    _Use.USE_BRANCH: "its value decides a branch at",
    _Use.USE_ADDRESS: "its value is part of an address at",
    _Use.USE_ATOMIC: "its value goes into an atomic at",
    _Use.USE_STORE: "its value is stored at",
    _Use.USE_PRINT: "its value is printed at",
}


def findings_of(observed: Observed, sources: Sources) -> list[Finding]:
    """Return what a launch did wrong; add the texts of the files that this names."""
    findings = [_finding_of(observed, raw) for raw in _sort_findings(observed.findings)]
    if observed.failure is not None:
        findings.append(_finding_of_failure(observed.failure, observed))
    return [_add_code(finding, observed, sources) for finding in findings]


def _add_code(finding: Finding, observed: Observed, sources: Sources) -> Finding:
    """Return a finding with the texts of its lines."""
    module, other = observed.kernel.module, finding.other
    library = module.path.name
    add_texts(sources, library, module.ptx, finding.stack)
    name = parameter_name(observed, finding.array)
    if other is not None:
        add_texts(sources, library, module.ptx, other.stack)
        code = line_of(sources, library, other.source)
        is_race = finding.kind == "race"
        column = _column(code, name if is_race else "", other.access, other.column)
        other = replace(other, code=code, column=column)
    code = line_of(sources, library, finding.source)
    column = _column(code, name, finding.access, finding.column)
    return replace(finding, code=code, column=column, other=other, library=library, name=name)


def _column(code: str, name: str, access: str, statement: int | None) -> int | None:
    """Return where an array is indexed in a line, or else where its statement begins."""
    indexed = column_of_index(code, name, access)
    if indexed is not None:
        return indexed
    before = code.encode()[: (statement or 1) - 1]  # NVRTC counts bytes
    return None if statement is None else len(before.decode(errors="ignore")) + 1


def _sort_findings(findings: list[ctypes.Structure]) -> list[ctypes.Structure]:
    """Return findings in their order, but a read of nothing written behind its race, if any."""
    races = [raw for raw in findings if raw.kind == b"race"]
    places = {stack_of(site) for raw in races for site in (raw.site, raw.other_site)}
    return sorted(findings, key=lambda r: r.kind == b"uninitialized" and stack_of(r.site) in places)


def notes_of(observed: Observed) -> list[str]:
    """Return what of a launch was not checked to the end."""
    if not observed.forgotten:
        return []
    at = f"{observed.kernel.name}: not checked: {describe_stack(observed.forgotten_at)}"
    return [f"{at}: a write of what more warps have read than are remembered, two for each 4 bytes"]


def _finding_of_failure(error: SimulatorError, observed: Observed) -> Finding:
    stack = observed.failed_at
    source = stack[0] if stack else None
    message = f"{error.message} (block {error.block}, thread {error.thread})"
    place = (error.block, error.thread, source, stack, None, None)
    return Finding(error.kind, error.kernel, *place, message, column=observed.failed_column)


def _finding_of(observed: Observed, raw: ctypes.Structure) -> Finding:
    kind = raw.kind.decode()
    stack = own_stack_of(raw.site)
    is_lane = kind == "inactive_lane"
    array, index, where = (None, None, "") if is_lane else locate(observed, raw)
    block, thread = tuple(raw.block), tuple(raw.thread)
    access = _describe_access(raw.access, raw.bytes)
    if kind == "race":
        text = _describe_race(raw, access, where)
    elif kind == "out_of_bounds":
        text = f"{access} {_requirement_of(observed, raw)}; it is {where}"
    elif kind == "misaligned":
        text = f"{access} must lie on a multiple of {raw.bytes} bytes; it is {where}"
    elif is_lane:
        text = f"{_describe_lane(raw)}{_describe_use(raw)}"
    else:
        text = f"{access} must come after a write; nothing wrote {where}{_describe_use(raw)}"
    text += "" if is_lane else _explain_by_array(observed, raw, kind)
    message = f"{describe_stack(stack)}: {text} (block {block}, thread {thread})"
    source = stack[0] if stack else None
    return Finding(
        kind,
        observed.kernel.name,
        block,
        thread,
        source,
        stack,
        array,
        index,
        message,
        access="" if is_lane else _describe_access(raw.access, 0),
        column=column_of(raw.site),
        threads=raw.threads,
        other=_other_access(raw, kind),
    )


def _other_access(raw: ctypes.Structure, kind: str) -> OtherAccess | None:
    """Return the other place of a finding, if there is one."""
    stack = own_stack_of(raw.other_site)
    is_race = kind == "race"
    if not stack or not (is_race or stack_of(raw.other_site) != stack_of(raw.site)):
        return None
    access = "use"
    if is_race:
        in_flight = raw.reason == _Reason.IN_FLIGHT
        access = "asynchronous copy" if in_flight else _describe_access(raw.other_access, 0)
    block, thread = (raw.other_block, raw.other_thread) if is_race else (raw.block, raw.thread)
    column = column_of(raw.other_site)
    return OtherAccess(access, stack[0], column, stack, tuple(block), tuple(thread))


def _describe_use(raw: ctypes.Structure) -> str:
    """Say what becomes of an undefined value, and where, if that is elsewhere."""
    place = stack_of(raw.other_site)
    return "" if place == stack_of(raw.site) else f"; {_USES[raw.use]} {describe_stack(place)}"


def _describe_lane(raw: ctypes.Structure) -> str:
    """Say which lane a shuffle cannot read."""
    why = {
        _Lack.ABSENT: "the block has no such lane",
        _Lack.EXITED: "that lane has exited",
        _Lack.UNNAMED: f"mask {raw.access:#010x} does not name it",
    }
    return (
        f"a shuffle must read a lane that takes part; it reads lane {raw.object}: {why[raw.space]}"
    )


def _describe_race(raw: ctypes.Structure, access: str, where: str) -> str:
    """Say which accesses race and why."""
    reason = _Reason(raw.reason)
    only = ", which only strict reports" if raw.only_strict else ""
    if reason is _Reason.ENDED:
        return (
            f"{access} at {where} must come before the end of that block, whose shared memory is "
            f"there while it runs: no barrier of the cluster comes between{only}"
        )
    other = _describe_access(raw.other_access, 0)
    by = f"block {tuple(raw.other_block)}, thread {tuple(raw.other_thread)}"
    at = describe_stack(own_stack_of(raw.other_site))
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
        why = f"the scope of one, {_narrower_scope(raw)}, leaves the other thread out"
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


def _narrower_scope(raw: ctypes.Structure) -> str:
    """Return the narrower scope of two strong accesses."""
    accesses = [site.contents.access for site in (raw.site, raw.other_site)]
    scopes = [SCOPES["gpu"] if access & GUESSES else access & SCOPES["sys"] for access in accesses]
    return next(f".{word}" for word, scope in SCOPES.items() if scope == min(scopes))


def _describe_access(access: int, size: int) -> str:
    what = "read"
    if access & WRITES:
        what = "atomic update" if access & ATOMIC else "write"
    return f"{what} of {size} bytes" if size else what


def _requirement_of(observed: Observed, raw: ctypes.Structure) -> str:
    """Return what must hold of an access that is not to where it may be."""
    if raw.access & WRITES:
        if raw.space == Space.PARAMETERS:
            return "must not be to the kernel's parameters"
        if raw.space == Space.VARIABLE and variable_of(observed, raw).is_constant:
            return "must not be to constant memory"
        inside = operands_at(observed, raw) if raw.space == Space.GLOBAL else []
        if inside and all(operand.read_only for operand in inside):
            return "must be to an array that can be written"
    return "must lie inside of an array"


def _explain_by_array(observed: Observed, raw: ctypes.Structure, kind: str) -> str:
    """Return the end of a message: what about the array itself may explain the finding."""
    if raw.space != Space.GLOBAL or kind == "race":
        return ""
    operand = operand_of(observed, raw)
    name, text = describe_operand(operand), ""
    buffer = observed.buffers[raw.object]
    start = observed.addresses[raw.object] + operand.address - buffer.start
    if kind == "misaligned" and start % raw.bytes:
        starts = f"its address is {start % raw.bytes} modulo {raw.bytes}"
        text += f"; {name} itself starts misaligned: {starts}"
    if operand.is_strided:
        text += f"; {name} is not contiguous: a kernel sees its memory, not its elements"
    return text
