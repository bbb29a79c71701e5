"""Nsight Systems over lines of the matrix.

Leaves a report for Nsight Systems' window and, beside it, a CSV file for each of `SUMMARIES`.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from cudakern._commands import console
from perf.nsight import tools

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

NSYS = tools.Tool(
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


def show_table(path: Path, title: str) -> None:
    """Print a CSV file as a table, without its less useful columns."""
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    columns = [i for i, name in enumerate(table[0]) if not _NOT_SHOWN.search(name)]
    heading, *rows = [[row[i] for i in columns] for row in table]
    console.show(title)
    console.show_table(rows, heading)


def run(options: argparse.Namespace) -> int:
    """Profile, summarise and print; return the exit status."""
    tools.check_cases(options.cases)
    program = NSYS.find(dry_run=options.dry_run)
    base = tools.report_path(options.output, options.tool)
    capture = ["--capture-range=cudaProfilerApi", "--capture-range-end=stop"]
    command = [program, "profile", "--trace=cuda,nvtx,osrt", *capture, "--output", str(base)]
    command += tools.target(options.cases, "--repeats", str(options.repeats))
    if options.dry_run:
        return tools.print_commands(command)
    limits = tools.share_time(options.minutes, 2)
    report = tools.profile(NSYS, command, base, next(limits), {})
    reports = [option for name in SUMMARIES for option in ("--report", name)]
    options_of_stats = ["--format", "csv", "--force-export=true", "--output", str(base)]
    command = [program, "stats", *reports, *options_of_stats, str(report)]
    ended = tools.execute(command, next(limits))
    summaries = {name: report.with_name(f"{report.stem}_{name}.csv") for name in SUMMARIES}
    absent = [name for name, path in summaries.items() if not path.exists()]
    if ended.status or SUMMARIES[0] in absent:
        how = f"nsys stats ended with {ended.status} and summed up no kernels"
        message = f"{how}:\n{ended.printed.rstrip()}"
        raise tools.NsightError(message)
    for name, path in summaries.items():
        if name in absent:
            console.show(f"{name}: nsys has nothing to sum up")
        else:
            show_table(path, name)
    console.show(f"report: {report}")
    return 0
