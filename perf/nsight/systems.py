"""Nsight Systems over lines of the matrix.

Leaves a report for Nsight Systems' window and, beside it, a CSV file for each of `SUMMARIES`.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from cudakern._commands import console
from perf.nsight.tools import (
    NsightError,
    Tool,
    check_cases,
    execute,
    format_command,
    profile,
    report_path,
    shares,
    target,
)

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
    capture = ["--capture-range=cudaProfilerApi", "--capture-range-end=stop"]
    options = ["--trace=cuda,nvtx,osrt", *capture, "--output", str(report)]
    return [nsys, "profile", *options, *target(cases, "--repeats", str(repeats))]


def stats_command(nsys: str, report: Path) -> list[str]:
    """Return the command that writes the summaries beside the report."""
    reports = [option for name in SUMMARIES for option in ("--report", name)]
    base = str(report.with_suffix(""))
    options = ["--format", "csv", "--force-export=true", "--output", base]
    return [nsys, "stats", *reports, *options, str(report)]


def show_table(path: Path, title: str) -> None:
    """Print a CSV file as a table, without the columns that few look at."""
    with path.open(encoding="utf-8", newline="") as file:
        heading, *rows = list(csv.reader(file))
    shown_columns = [i for i, name in enumerate(heading) if not _NOT_SHOWN.search(name)]
    console.show(title)
    table = [[row[i] for i in shown_columns] for row in (heading, *rows)]
    console.show_table(table[1:], table[0])


def run(options: argparse.Namespace) -> int:
    """Profile, summarise and print; return the exit status."""
    check_cases(options.cases)
    program, base = NSYS.find(dry_run=options.dry_run), report_path(options.output, options.tool)
    command = profile_command(program, base, options.cases, options.repeats)
    if options.dry_run:
        print(format_command(command))  # noqa: T201
        return 0
    limits = shares(options.minutes, 2)
    report = profile(NSYS, command, base, next(limits), {})
    ended = execute(stats_command(program, report), next(limits))
    summaries = {name: report.with_name(f"{report.stem}_{name}.csv") for name in SUMMARIES}
    absent = [name for name, path in summaries.items() if not path.exists()]
    if ended.status or SUMMARIES[0] in absent:
        how = f"nsys stats ended with {ended.status} and summed up no kernels"
        message = f"{how}:\n{ended.printed.rstrip()}"
        raise NsightError(message)
    for name, path in summaries.items():
        if name in absent:
            console.show(f"{name}: nsys has nothing to sum up")
        else:
            show_table(path, name)
    console.show(f"report: {report}")
    return 0
