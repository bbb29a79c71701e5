"""Nsight Systems over lines of the matrix.

Leaves a report for Nsight Systems' window and, beside it, a CSV file for each of `SUMMARIES`.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from rich.table import Table

from perf.console import new_console
from perf.nsight.tools import NsightError, Tool, execute, profiled, target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

NSYS = Tool(
    "nsys",
    "NVIDIA's apt package nsight-systems-cli brings it, to /opt/nvidia/nsight-systems-cli",
    (
        "/opt/nvidia/nsight-systems*/*/bin/nsys",
        "/opt/nvidia/nsight-systems*/bin/nsys",
        "/usr/local/cuda*/bin/nsys",
    ),
    ".nsys-rep",
)
#: Summaries of nsys: kernels, kernels by range, ranges as the GPU had them, copies.
SUMMARIES = ("cuda_gpu_kern_sum", "nvtx_kern_sum", "nvtx_gpu_proj_sum", "cuda_gpu_mem_size_sum")
#: Columns that stay in the files.
_NOT_SHOWN = re.compile(r"Min|Max|StdDev|Style|PID|TID|Range Time|Lvl")


def profile_command(nsys: str, report: Path, cases: Sequence[str], repeats: int) -> list[str]:
    """Return the command that writes the report."""
    return [
        nsys,
        "profile",
        "--trace=cuda,nvtx,osrt",
        "--capture-range=cudaProfilerApi",
        "--capture-range-end=stop",
        "--output",
        str(report),
        *target(cases, "--repeats", str(repeats)),
    ]


def stats_command(nsys: str, report: Path) -> list[str]:
    """Return the command that writes the summaries beside the report."""
    reports = [option for name in SUMMARIES for option in ("--report", name)]
    base = str(report.with_suffix(""))
    return [
        *(nsys, "stats", *reports),
        *("--format", "csv", "--force-export=true", "--output", base, str(report)),
    ]


def table_of(path: Path, title: str) -> Table:
    """Return a CSV file as a table, without the columns that few look at."""
    with path.open(encoding="utf-8", newline="") as file:
        heading, *rows = list(csv.reader(file))
    kept = [i for i, name in enumerate(heading) if not _NOT_SHOWN.search(name)]
    table = Table(title=title)
    for i in kept:
        is_number = all(re.fullmatch(r"[\d.,]+", row[i]) for row in rows)
        table.add_column(heading[i], justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(row[i] for i in kept))
    return table


def run(options: argparse.Namespace) -> int:
    """Profile, summarise and print; return the exit status."""

    def command_of(nsys: str, report: Path) -> list[str]:
        return profile_command(nsys, report, options.cases, options.repeats)

    report = profiled(options, NSYS, command_of, {"nvtx": "nvtx"}, {})
    if report is None:
        return 0
    status, printed = execute(stats_command(NSYS.find(dry_run=False), report), echo=False)
    found = {name: report.with_name(f"{report.stem}_{name}.csv") for name in SUMMARIES}
    absent = [name for name, path in found.items() if not path.exists()]
    if status or SUMMARIES[0] in absent:
        message = f"nsys stats ended with {status} and summed up no kernels:\n{printed.rstrip()}"
        raise NsightError(message)
    console = new_console()
    for name, path in found.items():
        if name in absent:
            console.print(f"{name}: nsys has nothing to sum up")
        else:
            console.print(table_of(path, name))
    console.print(f"report: {report}")
    return 0
