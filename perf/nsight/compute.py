"""Nsight Compute over lines of the matrix.

Each line is called once and each of its kernels replayed until all counters are read, with the
caches flushed and the clocks fixed: its times are no benchmark times. The report, for Nsight
Compute's window, has the kernels' source lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.table import Table

from cudakern._ranges import DOMAIN
from cudakern.engines.sources import kernel_folder
from perf.console import new_console
from perf.nsight.tools import NsightError, Tool, profiled, target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path

NCU = Tool(
    "ncu",
    "NVIDIA's apt packages nsight-compute-* bring it, to /opt/nvidia/nsight-compute; "
    "nvidia/cuda:*-devel containers have it",
    (
        "/usr/local/cuda*/bin/ncu",
        "/opt/nvidia/nsight-compute/*/ncu",
        "/opt/nvidia/nsight-compute*/ncu",
    ),
    ".ncu-rep",
)
_REASONS = {
    "ERR_NVGPUCTRPERM": "the driver lets only administrators read the GPU's counters "
    "(ERR_NVGPUCTRPERM): start the container with --user 0 --cap-add=SYS_ADMIN "
    "(--cap-add=PERFMON from driver R565 on), or load the host's driver with "
    "NVreg_RestrictProfilingToAdminUsers=0"
}
PACKAGES = {"nvtx": "nvtx", "ncu_report": "ncu-report"}
_NO_BENCHMARK = "Kernels were replayed with flushed caches: these are no benchmark times."

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


def profile_command(ncu: str, report: Path, cases: Sequence[str]) -> list[str]:
    """Return the command that writes the report."""
    return [
        ncu,
        "--set",
        "full",
        "--metrics",
        ",".join(METRICS),
        "--import-source",
        "yes",
        "--source-folders",
        str(kernel_folder()),
        "--nvtx",
        "--kernel-name",
        "regex:^ck_",
        "--profile-from-start",
        "off",
        "--export",
        str(report),
        *target(cases, "--repeats", "1"),
    ]


def run(options: argparse.Namespace) -> int:
    """Profile and print the table; return the exit status."""

    def command_of(ncu: str, report: Path) -> list[str]:
        return profile_command(ncu, report, options.cases)

    path = profiled(options, NCU, command_of, PACKAGES, _REASONS)
    if path is None:
        return 0
    found = list(kernels(path))
    if not found:
        message = f"{path} has no kernel"
        raise NsightError(message)
    table = Table(title="Nsight Compute: kernels, replayed")
    for name in found[0]:
        is_text = name in {"line", "kernel", "top stall"}
        table.add_column(name, justify="left" if is_text else "right", overflow="fold")
    for kernel in found:
        table.add_row(*kernel.values())
    console = new_console()
    console.print(table)
    console.print(_NO_BENCHMARK)
    console.print(f"report: {path}")
    return 0
