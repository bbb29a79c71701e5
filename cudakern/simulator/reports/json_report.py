"""Reports as JSON, for other tools: what `report.schema.json` says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cudakern.simulator.reports.user_files import shorten

if TYPE_CHECKING:
    from cudakern.simulator.reports.findings import Finding, OtherAccess
    from cudakern.simulator.reports.report import Report
    from cudakern.simulator.reports.traffic import KernelTraffic, LineTraffic
    from cudakern.simulator.sources.source_lines import SourceLine

#: Grows when a name goes or means something else, not when one is added.
_VERSION = 1
_OPTIONS = ("seed", "resident_blocks", "strict", "launches")
_KERNEL = ("kernel", "library", "launches", "blocks", "sampled")
_REQUESTS = ("requests", "accesses", "bytes_requested", "bytes_moved", "sectors", "wavefronts")


def render(report: Report) -> str:
    """Return a report as JSON."""
    record: dict[str, Any] = {"version": _VERSION}
    if report.kernels is None:
        seeds = report.seeds or (report.seed,)
        record |= {"report": "checked", **_pick(report, _OPTIONS), "seeds": seeds}
        record["findings"] = [
            {**_record_finding(finding), "seeds": finding.seeds or seeds}
            for finding in report.findings
        ]
        record |= {"notes": report.notes, "checked": dict(report.checked)}
        record["refused"] = [
            {"name": name, "file": shorten(file), "line": line}
            for name, (file, line) in report.refused
        ]
    else:
        kernels = [_record_kernel(kernel) for kernel in report.kernels]
        record |= {"report": "traffic", "kernels": kernels}
    return json.dumps(record, indent=1, allow_nan=False)


def _pick(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _record_finding(finding: Finding) -> dict[str, Any]:
    return {
        **_pick(finding, ("kind", "kernel", "library")),
        **_record_access(finding),
        **_pick(finding, ("threads", "array")),
        "name": finding.name or None,
        "index": finding.index,
        "other": None if finding.other is None else _record_access(finding.other),
        "message": finding.message,
    }


def _record_access(access: Finding | OtherAccess) -> dict[str, Any]:
    """Return what a finding and its other access have in common."""
    return {
        "access": access.access or None,
        **_record_line(access.source),
        "column": access.column,
        "code": access.code or None,
        "origin": _record_origin(access.origin),
        "stack": [*map(_record_line, access.stack)],
        "block": access.block or None,
        "thread": access.thread or None,
    }


def _record_line(source: SourceLine | None) -> dict[str, Any]:
    file, line = source or (None, None)
    return {"file": file, "line": line}


def _record_origin(origin: SourceLine | None) -> dict[str, Any] | None:
    return None if origin is None else {"file": shorten(origin[0]), "line": origin[1]}


def _record_kernel(kernel: KernelTraffic) -> dict[str, Any]:
    return {
        **_pick(kernel, _KERNEL),
        "lines": [*map(_record_traffic, kernel.lines)],
        "executed": [
            {**_record_line(line), "instructions": count} for line, count in kernel.executed.items()
        ],
        **_pick(kernel, ("instructions", "metrics", "types")),
    }


def _record_traffic(line: LineTraffic) -> dict[str, Any]:
    return {
        **_pick(line, ("kind", "array")),
        "name": line.name or None,
        **_record_line(line.source),
        "origin": _record_origin(line.origin),
        "stack": [*map(_record_line, line.stack)],
        **_pick(line, ("returns", *_REQUESTS)),
        "efficiency": line.efficiency if line.sectors else None,
        "distance": line.distance,
        "advice": line.advice or None,
    }
