"""Nsight Systems over lines of the matrix. ``python -m perf.nsight.systems R-1 Z-4``.

Leaves a report for Nsight Systems' window and, beside it, a CSV file for each of `SUMMARIES`.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from perf.console import new_console
from perf.nsight.tools import (
    NsightError,
    Tool,
    add_arguments,
    check_cases,
    ended,
    report_path,
    require,
    run,
    shown,
    target,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

NSYS = Tool(
    "nsys",
    "NVIDIA's apt package nsight-systems-cli brings it, to /opt/nvidia/nsight-systems-cli",
    (
        "/opt/nvidia/nsight-systems*/*/bin/nsys",
        "/opt/nvidia/nsight-systems*/bin/nsys",
        "/usr/local/cuda*/bin/nsys",
    ),
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
    ends = ["--format", "csv", "--force-export=true", "--output", str(report), f"{report}.nsys-rep"]
    return [nsys, "stats", *reports, *ends]


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


def profile(options: argparse.Namespace) -> int:
    """Profile, summarise and print; return the exit status."""
    check_cases(options.cases)
    nsys = NSYS.find(dry_run=options.dry_run)
    report = report_path(options.output, "systems")
    command = profile_command(nsys, report, options.cases, options.repeats)
    if options.dry_run:
        print(shown(command))  # noqa: T201
        return 0
    require("nvtx", "nvtx")
    report.parent.mkdir(parents=True, exist_ok=True)
    status, _ = run(command)
    if status or not Path(f"{report}.nsys-rep").exists():
        message = f"nsys ended with {status} and left no complete report"
        raise NsightError(message)
    status, printed = run(stats_command(nsys, report), echo=False)
    found = {name: Path(f"{report}_{name}.csv") for name in SUMMARIES}
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
    console.print(f"report: {report}.nsys-rep")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m perf.nsight.systems", description=__doc__)
    parser.add_argument("cases", nargs="+", metavar="CASE", help="such as R-1 or sweep-gather")
    parser.add_argument("--repeats", type=int, default=10, help="calls of a line (default: 10)")
    add_arguments(parser)
    return ended(partial(profile, parser.parse_args(arguments)), "systems")


if __name__ == "__main__":
    sys.exit(main())
