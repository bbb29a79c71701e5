"""Reports as JSON, for other tools: what `report.schema.json` says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cudakern.simulator.reports.findings import Finding, OtherAccess
    from cudakern.simulator.reports.report import Report
    from cudakern.simulator.reports.traffic import KernelTraffic, LineTraffic, Requests
    from cudakern.simulator.sources.source_lines import SourceLine

#: Grows when a name goes or means something else, not when one is added.
_VERSION = 1


def render_findings(report: Report) -> str:
    """Return what was found as JSON."""
    return _text(
        report="checked",
        seed=report.seed,
        resident_blocks=report.resident_blocks,
        strict=report.strict,
        launches=report.launches,
        findings=[_finding(finding) for finding in report.findings],
        notes=report.notes,
    )


def render_traffic(report: Report) -> str:
    """Return what was counted as JSON."""
    return _text(report="traffic", kernels=[_kernel(kernel) for kernel in report.kernels])


def _text(**record: object) -> str:
    return json.dumps({"version": _VERSION, **record}, indent=1, allow_nan=False)


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "kernel": finding.kernel,
        "library": finding.library,
        **_place(finding),
        "threads": finding.threads,
        "array": finding.array,
        "name": finding.name or None,
        "index": finding.index,
        "other": None if finding.other is None else _place(finding.other),
        "message": finding.message,
    }


def _place(of: Finding | OtherAccess) -> dict[str, Any]:
    """Return what a finding and its other place have in common."""
    return {
        "access": of.access or None,
        **_source(of.source),
        "column": of.column,
        "code": of.code or None,
        "stack": [_source(source) for source in of.stack],
        "block": of.block or None,
        "thread": of.thread or None,
    }


def _source(source: SourceLine | None) -> dict[str, Any]:
    file, line = source or (None, None)
    return {"file": file, "line": line}


def _kernel(kernel: KernelTraffic) -> dict[str, Any]:
    return {
        "kernel": kernel.kernel,
        "library": kernel.library,
        "launches": kernel.launches,
        "blocks": kernel.blocks,
        "sampled": kernel.sampled,
        "lines": [_line(line) for line in kernel.lines],
        "executed": [
            {**_source(source), "instructions": count} for source, count in kernel.executed.items()
        ],
        "instructions": kernel.instructions,
        "metrics": kernel.metrics,
    }


def _line(line: LineTraffic) -> dict[str, Any]:
    return {
        "kind": line.kind,
        "array": line.array,
        "name": line.name or None,
        **_source(line.source),
        "stack": [_source(source) for source in line.stack],
        "returns": line.returns,
        **_requests(line),
    }


def _requests(of: Requests) -> dict[str, Any]:
    return {
        "requests": of.requests,
        "accesses": of.accesses,
        "bytes_requested": of.bytes_requested,
        "bytes_moved": of.bytes_moved,
        "sectors": of.sectors,
        "wavefronts": of.wavefronts,
        "efficiency": of.efficiency if of.sectors else None,
    }
