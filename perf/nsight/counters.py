"""Reports of Nsight Compute, read with its package ncu-report: counters of each kernel, as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cudakern._ranges import DOMAIN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TIME = "gpu__time_duration.sum"
_READ, _WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
_THROUGHPUT = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
_HITS = "lts__t_sector_hit_rate.pct"
_LOADS, _STORES = (
    f"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{kind}.ratio"
    for kind in ("ld", "st")
)
_OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
#: Asked for by name, since sets of counters differ between versions.
METRICS = (_TIME, _READ, _WRITTEN, _THROUGHPUT, _HITS, _LOADS, _STORES, _OCCUPANCY)

_REGISTERS = "launch__registers_per_thread"
_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
#: What a warp is in, too, when it does issue.
_NO_STALL = "selected"
#: Microseconds and megabytes in units of reports, whose names differ between versions.
_FACTORS = {
    **dict.fromkeys(("ns", "nsecond"), 1e-3),
    **dict.fromkeys(("us", "usecond"), 1.0),
    **dict.fromkeys(("ms", "msecond"), 1e3),
    **dict.fromkeys(("s", "second"), 1e6),
    "byte": 1e-6,
    "Kbyte": 1e-3,
    "Mbyte": 1.0,
    "Gbyte": 1e3,
}


def _value(action: Any, name: str) -> float | None:  # noqa: ANN401  ncu_report has no types
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_value():
        return None
    return float(metric.as_double()) * _FACTORS.get(metric.unit(), 1.0)


def _text(action: Any, name: str, digits: int) -> str:  # noqa: ANN401
    value = _value(action, name)
    return "-" if value is None else f"{value:.{digits}f}"


def _sizes(action: Any, of: str) -> str:  # noqa: ANN401
    sizes = [_text(action, f"launch__{of}_dim_{axis}", 0) for axis in "xyz"]
    return "-" if "-" in sizes else "x".join(sizes)


def _line(action: Any) -> str:  # noqa: ANN401
    """Return the range of the line that a kernel ran for: the one that is no call's."""
    state = action.nvtx_state()
    domains = [] if state is None else [state.domain_by_id(i) for i in state.domains()]
    names = [n for domain in domains if domain.name() == DOMAIN for n in domain.push_pop_ranges()]
    return next((name for name in names if not name.startswith(f"{DOMAIN}:")), "-")


def _top_stall(action: Any) -> str:  # noqa: ANN401
    """Return what warps waited for longest, and for how many cycles per issued instruction."""
    stalls = [
        (_value(action, name) or 0.0, match[1])
        for name in action.metric_names()
        if (match := _STALL.fullmatch(name)) and match[1] != _NO_STALL
    ]
    return "{1} {0:.1f}".format(*max(stalls)) if stalls else "-"


def kernels(path: Path) -> Iterator[dict[str, str]]:
    """Yield what a report says of each kernel, by heading."""
    import ncu_report  # noqa: PLC0415  optional

    for group in ncu_report.load_report(str(path)):
        for action in group:
            yield {
                "line": _line(action),
                "kernel": action.name(),
                "grid": _sizes(action, "grid"),
                "block": _sizes(action, "block"),
                "us": _text(action, _TIME, 1),
                "read MB": _text(action, _READ, 1),
                "written MB": _text(action, _WRITTEN, 1),
                "DRAM %": _text(action, _THROUGHPUT, 1),
                "L2 hit %": _text(action, _HITS, 1),
                "sectors/load": _text(action, _LOADS, 2),
                "sectors/store": _text(action, _STORES, 2),
                "registers": _text(action, _REGISTERS, 0),
                "occupancy %": _text(action, _OCCUPANCY, 1),
                "top stall": _top_stall(action),
            }
