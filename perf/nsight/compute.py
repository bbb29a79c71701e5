"""Nsight Compute over lines of the matrix. ``python -m perf.nsight.compute G-2``.

Each line is called once and each of its kernels replayed until all counters are read, with the
caches flushed and the clocks fixed: its times are no benchmark times. The report, for Nsight
Compute's window, has the kernels' source lines.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from cudakern.engines.sources import kernel_folder
from perf.console import new_console
from perf.nsight.counters import METRICS, kernels
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

NCU = Tool(
    "ncu",
    "NVIDIA's apt packages nsight-compute-* bring it, to /opt/nvidia/nsight-compute; "
    "nvidia/cuda:*-devel containers have it",
    (
        "/usr/local/cuda*/bin/ncu",
        "/opt/nvidia/nsight-compute/*/ncu",
        "/opt/nvidia/nsight-compute*/ncu",
    ),
)
_REFUSED = "ERR_NVGPUCTRPERM"
_PERMISSION = (
    "the driver lets only administrators read the GPU's counters (ERR_NVGPUCTRPERM): start the "
    "container with --user 0 --cap-add=SYS_ADMIN (--cap-add=PERFMON from driver R565 on), or load "
    "the host's driver with NVreg_RestrictProfilingToAdminUsers=0"
)
_NO_BENCHMARK = "Kernels were replayed with flushed caches: these are no benchmark times."


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


def profile(options: argparse.Namespace) -> int:
    """Profile and print the table; return the exit status."""
    check_cases(options.cases)
    ncu = NCU.find(dry_run=options.dry_run)
    report = report_path(options.output, "compute")
    command = profile_command(ncu, report, options.cases)
    if options.dry_run:
        print(shown(command))  # noqa: T201
        return 0
    require("nvtx", "nvtx")
    require("ncu-report", "ncu_report")
    report.parent.mkdir(parents=True, exist_ok=True)
    status, printed = run(command)
    if _REFUSED in printed:
        raise NsightError(_PERMISSION)
    path = Path(f"{report}.ncu-rep")
    if status or not path.exists():
        message = f"ncu ended with {status} and left no complete report"
        raise NsightError(message)
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m perf.nsight.compute", description=__doc__)
    parser.add_argument("cases", nargs="+", metavar="CASE", help="such as R-1 or sweep-gather")
    add_arguments(parser)
    return ended(partial(profile, parser.parse_args(arguments)), "compute")


if __name__ == "__main__":
    sys.exit(main())
