"""Nsight Compute over lines of the matrix.

Each line is called once and each of its kernels replayed until all counters are read, with the
caches flushed and the clocks left alone: its times are no benchmark times. Each case has a report
for Nsight Compute's window, with the kernels' source lines. A JSON file has the counters of all
cases and, beside the sectors that were counted, those that the simulator counts for the same line.
"""

from __future__ import annotations

import csv
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern._commands import console
from cudakern.engines.kernel_text import kernel_folder
from cudakern.errors import CudakernError
from perf.engines import kernel_traffic, launch_of, planned_as
from perf.nsight import tools
from perf.results import write_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from perf.cases.base import Case, Workload

NCU = tools.Tool(
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
#: Blocks of a launch that the simulator runs, spread over the grid; it scales their sectors.
BLOCKS = 64
#: Elements of a search in the simulator: its blocks wait for each other, so that all must run.
SEARCHED = 2**24
#: Seconds to read a report.
_READING = 60

_PER_REQUEST = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{}.ratio"
#: Columns of the table: heading, counter, digits.
_COLUMNS = (
    ("us", "gpu__time_duration.sum", 1),
    ("read MB", "dram__bytes_read.sum", 1),
    ("written MB", "dram__bytes_write.sum", 1),
    ("DRAM %", "dram__throughput.avg.pct_of_peak_sustained_elapsed", 1),
    ("L2 hit %", "lts__t_sector_hit_rate.pct", 1),
    ("sectors/load", _PER_REQUEST.format("ld"), 2),
    ("sectors/store", _PER_REQUEST.format("st"), 2),
    ("registers", "launch__registers_per_thread", 0),
    ("occupancy %", "sm__warps_active.avg.pct_of_peak_sustained_active", 1),
)
_SECTORS = {
    "loads": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "stores": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
}

_NAME = "Kernel Name"
_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
#: The state of a warp that issues.
_NO_STALL = "selected"
#: Of the printed units, to microseconds and megabytes.
_FACTORS = {"ns": 1e-3, "nsecond": 1e-3, "byte": 1e-6}


@dataclass
class ReplayedKernel:
    """A kernel that was replayed, and its counters: numbers with their units, as printed."""

    counters: dict[str, tuple[str, str]]
    case: str = "-"
    line: str = "-"
    #: Sectors that the simulator counts for the line's loads and stores.
    simulated: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """Its entry point."""
        return self.counters[_NAME][0]

    def value(self, name: str) -> float | None:
        """Return a counter; None if it is absent or has no value."""
        text, unit = self.counters.get(name, ("", ""))
        try:
            return float(text.replace(",", "")) * _FACTORS.get(unit, 1.0)
        except ValueError:
            return None

    def text(self, name: str, digits: int) -> str:
        """Return a counter with so many digits."""
        value = self.value(name)
        return "-" if value is None else f"{value:.{digits}f}"

    def sizes(self, extent: str) -> str:
        """Return the sizes of the ``grid`` or of a ``block``."""
        sizes = [self.text(f"launch__{extent}_dim_{axis}", 0) for axis in "xyz"]
        return "-" if "-" in sizes else "x".join(sizes)

    def top_stall(self) -> str:
        """Return what warps waited for longest, and for how many cycles per issued instruction."""
        stalls = [
            (value, match[1])
            for name in self.counters
            if (match := _STALL.fullmatch(name)) and match[1] != _NO_STALL
            if (value := self.value(name)) is not None
        ]
        return "{1} {0:.1f}".format(*max(stalls)) if stalls else "-"

    def row(self) -> dict[str, str]:
        """Return its cells, by heading."""
        return {
            "case": self.case,
            "line": self.line,
            "kernel": self.name,
            "grid": self.sizes("grid"),
            "block": self.sizes("block"),
            **{heading: self.text(name, digits) for heading, name, digits in _COLUMNS},
            "top stall": self.top_stall(),
        }

    def sectors(self) -> dict[str, dict[str, float | None]]:
        """Return the sectors of loads and of stores: counted, simulated, and their ratio."""
        sectors = {}
        for i, (kind, name) in enumerate(_SECTORS.items()):
            counted, simulated = self.value(name), self.simulated[i] if self.simulated else None
            ratio = counted / simulated if counted is not None and simulated else None
            sectors[kind] = {"ncu": counted, "traffic": simulated, "ratio": ratio}
        return sectors


def read(text: str) -> list[ReplayedKernel]:
    """Return the kernels of a raw page in CSV: a row of names, one of units, one of each kernel."""
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if len(rows) < 2 or _NAME not in rows[0] or len(set(map(len, rows))) > 1:  # noqa: PLR2004
        message = f"ncu prints no raw page but {text[:500]!r}"
        raise tools.NsightError(message)
    names, units, *kernels = rows
    return [
        ReplayedKernel(dict(zip(names, zip(row, units, strict=True), strict=True)))
        for row in kernels
    ]


def profile_command(ncu: str, report: Path, case: str) -> list[str]:
    """Return the command that writes the report of a case."""
    options = ["--set", "full", "--import-source", "yes", "--nvtx", "--profile-from-start", "off"]
    options += ["--clock-control", "none"]  # the clocks are not ours to fix
    # By name, since sets of counters differ between versions.
    metrics = ",".join((*(counter for _, counter, _ in _COLUMNS), *_SECTORS.values()))
    options += ["--metrics", metrics, "--source-folders", str(kernel_folder())]
    options += ["--kernel-name", "regex:^ck_", "--export", str(report)]
    return [ncu, *options, *tools.target([case], "--repeats", "1")]


def profile_case(program: str, report: Path, case: Case, seconds: float) -> list[ReplayedKernel]:
    """Profile a case; return its kernels, each with its line if it is the one that is planned."""
    command = profile_command(program, report, case.name)
    path = tools.profile(NCU, command, report, seconds, _REASONS)
    page = ("--page", "raw", "--csv", "--print-units", "base")
    kernels = read(tools.execute([program, "--import", str(path), *page], _READING).printed)
    if not kernels:
        message = f"{path} has no kernel"
        raise tools.NsightError(message)
    for kernel in kernels:
        kernel.case = case.name
    parts = [(part, x.workload) for x in case.lines for part in launch_of(x.workload).parts]
    for kernel, (part, workload) in zip(kernels, parts, strict=False):  # in this order
        if kernel.name == part.kernel.entry:
            kernel.line = workload.title
    return kernels


def simulated_sectors(workload: Workload, name: str) -> tuple[float, float] | None:
    """Return the sectors of a kernel's loads and stores that the simulator counts for full size."""
    launch, small = launch_of(workload), workload
    blocks: int | None = BLOCKS
    if launch.workspace and launch.most_resident:  # blocks of a search, which share its work
        small, blocks = workload.shrink(SEARCHED), None
    scale = workload.size / small.size
    if (
        scale > 1 and getattr(workload, "pattern", "") == "last"
    ):  # its results do not grow with the size
        return None
    with planned_as(workload):
        counted = [k for k in kernel_traffic(small, blocks) if k.kernel == name]
    if len(counted) != 1:
        return None
    return counted[0].loads.sectors * scale, counted[0].stores.sectors * scale


def simulate(kernels: Sequence[ReplayedKernel], cases: Sequence[Case], end: float) -> None:
    """Have the simulator count the sectors of the lines of kernels, until the time is over."""
    workloads = {(case.name, x.workload.title): x.workload for case in cases for x in case.lines}
    for kernel in kernels:
        workload = workloads.get((kernel.case, kernel.line))
        if workload is None:
            continue
        if time.monotonic() >= end:
            sys.stderr.write("perf nsight compute: no time is left to simulate all lines\n")
            return
        kernel.simulated = simulated_sectors(workload, kernel.name)


def save(kernels: Sequence[ReplayedKernel], path: Path) -> None:
    """Write what is known of kernels; the file is whole at any time."""
    entries = [
        {"case": kernel.case, "line": kernel.line, "kernel": kernel.name}
        | {"sectors": kernel.sectors(), "counters": kernel.counters}
        for kernel in kernels
    ]
    write_json({"kernels": entries}, path)


def show(kernels: Sequence[ReplayedKernel], reports: str) -> None:
    """Print the counters of kernels, the sectors beside those of the simulator, and the reports."""
    rows = [kernel.row() for kernel in kernels]
    console.show("Nsight Compute: kernels, replayed")
    console.show_table([tuple(row.values()) for row in rows], tuple(rows[0]))
    console.show("Kernels were replayed with flushed caches: these are no benchmark times.")
    console.show("sectors that ncu counted, and those that simulator.traffic() counts")
    headings = [f"{kind}: {count}" for kind in _SECTORS for count in ("ncu", "traffic", "ratio")]
    table = []
    for kernel in kernels:
        cells = [kernel.case, kernel.line, kernel.name]
        for counts in kernel.sectors().values():
            for name, form in (("ncu", ".0f"), ("traffic", ".0f"), ("ratio", ".3f")):
                cells.append("-" if counts[name] is None else format(counts[name], form))
        table.append(cells)
    console.show_table(table, ("case", "line", "kernel", *headings))
    console.show(f"reports: {reports}")


def run(options: argparse.Namespace) -> int:
    """Profile, simulate and print the tables; return the exit status."""
    cases, program = tools.check_cases(options.cases), NCU.find(dry_run=options.dry_run)
    base = tools.report_path(options.output, options.tool)
    reports = {case: Path(f"{base}-{case.name}") for case in cases}
    if options.dry_run:
        commands = (profile_command(program, reports[case], case.name) for case in cases)
        return tools.print_commands(*commands)
    kernels: list[ReplayedKernel] = []
    path = base.with_suffix(".json")
    end = time.monotonic() + 60 * options.minutes
    limits = tools.share_time(options.minutes, len(cases))
    failed = False
    try:
        for case, seconds in zip(cases, limits, strict=True):
            try:
                kernels += profile_case(program, reports[case], case, seconds)
                save(kernels, path)
            except tools.RefusedError:
                raise
            except tools.NsightError as error:  # the others are still worth profiling
                failed = True
                sys.stderr.write(f"perf nsight compute: {case.name}: {error}\n")
        simulate(kernels, cases, end)
    except CudakernError as error:
        failed = True
        sys.stderr.write(f"perf nsight compute: sectors cannot be simulated: {error}\n")
    finally:
        if kernels:
            save(kernels, path)
            show(kernels, f"{base}-*{NCU.suffix}, {path}")
    return int(failed)
