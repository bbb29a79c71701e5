"""Hold what can be said about speed without a GPU to budgets.

Parts: ``code``, the machine code of every kernel, compiled for one of the architectures, or for
all of them with ``--all``, or of a choice for one with ``--cover``; ``traffic`` in the simulator of
every line of the matrix; ``host``, the cost of a call on the host; ``simulator``, its speed and
what its checks cost; ``dask``, the time that graphs take to build. The first three are the default.
Exits with 1 if a budget is broken.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from cudakern.errors import CudakernError, KernelCompileError
from perf.cases import CASES
from perf.cases.base import SECTOR_BYTES
from perf.console import new_console, new_progress
from perf.engines import kernel_traffic
from perf.static import cubins, host_cost, kernels
from perf.static.budgets import survey
from perf.static.first_call import first_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console
    from rich.progress import Progress

    from perf.cases.base import Line
    from perf.static.figures import Figures

SCHEMA = 1
PARTS = ("code", "traffic", "host", "simulator", "dask")
#: Elements that the lines of the matrix are reduced to for the simulator.
ELEMENTS = 2**18
#: Columns of the table: heading, which of a variant's figures is the worst, attribute.
_COLUMNS = (
    ("regs", max, "registers"),
    ("stack", max, "stack"),
    ("local", max, "local"),
    ("blocks", min, "blocks"),
    ("warps", min, "warps"),
    ("LDG", min, "load_bits"),
    ("STG", min, "store_bits"),
    ("loads", min, "loads_in_flight"),
    ("bytes", min, "bytes_in_flight"),
    ("per 16 B", max, "per_16_bytes"),
    ("div", max, "divisions"),
    ("fences", max, "fences"),
    ("atomics", max, "atomics"),
)
_CAPTION = (
    "the worst over kernels and architectures: registers, bytes of stack and local memory, "
    "blocks and warps of a multiprocessor, bits of the widest load and store, 16-byte loads of a "
    "thread and bytes of a multiprocessor in flight, instructions of the main loop for 16 bytes, "
    "instructions such as integer divisions are made of, fences, atomic operations"
)


@dataclass(frozen=True, slots=True)
class Moved:
    """What a line of the matrix moved in the simulator, in bytes, and what it has to and may."""

    case: str
    line: str
    bytes: int
    least: float
    allowed: float

    @property
    def ratio(self) -> float:
        """How many times the least bytes were moved."""
        return self.bytes / self.least

    def fault(self) -> str | None:
        """Return what is broken of the budget, in a line; None if nothing is."""
        if self.ratio <= self.allowed:
            return None
        return f"{self.case}, {self.line}: moves {self.ratio:.3f} of its bytes, not {self.allowed}"


def compile_all(
    chosen: Iterable[tuple[str, kernels.BudgetedKernel]], jobs: int, progress: Progress
) -> tuple[list[Figures], list[str]]:
    """Return the figures of kernels for architectures, and what could not be compiled."""
    batches = kernels.batches(chosen)
    task = progress.add_task("machine code", total=sum(len(specs) for _, specs in batches))
    figures: list[Figures] = []
    failed: list[str] = []

    def take(batch: kernels.Batch, survey_it: Callable[[], list[Figures]]) -> None:
        arch, specs = batch
        try:
            figures.extend(survey_it())
        except KernelCompileError as error:
            failed.append(f"{arch}, {specs[0].entry} to {specs[-1].entry}: {error}")
        progress.advance(task, len(specs))

    if jobs == 1:
        for batch in batches:
            take(batch, partial(survey, *batch))
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            running = {pool.submit(survey, *batch): batch for batch in batches}
            for done in as_completed(running):
                take(running[done], done.result)
    return sorted(figures, key=lambda f: (f.operator, f.variant, f.entry, f.arch)), failed


def move_all(lines: Sequence[tuple[str, Line]], progress: Progress) -> list[Moved]:
    """Return what lines of the matrix, by the names of their cases, move at reduced size."""
    task = progress.add_task("traffic", total=len(lines))
    moved = []
    for case, line in lines:
        workload = line.workload.shrunk(ELEMENTS)
        nbytes = kernel_traffic(workload).sectors * SECTOR_BYTES
        least = workload.traffic(SECTOR_BYTES, cached=False).total
        moved.append(Moved(case, workload.title, nbytes, least, line.moved))
        progress.advance(task)
    return moved


def code_table(figures: Sequence[Figures], possible: int) -> Table:
    """Return the worst figures of each variant over its kernels and architectures."""
    title = f"machine code: {len(figures)} of {possible} kernels x architectures compiled"
    table = Table(title=title, caption=_CAPTION, box=SIMPLE_HEAD, collapse_padding=True)
    table.add_column("variant", no_wrap=True)
    for heading in ("n", "GPUs", *(heading for heading, *_ in _COLUMNS)):
        table.add_column(heading, justify="right", no_wrap=True)
    groups: dict[str, list[Figures]] = {}
    for kernel in figures:
        groups.setdefault(f"{kernel.operator} {kernel.variant}", []).append(kernel)
    for name, group in groups.items():
        cells = [str(len(group)), str(len({kernel.arch for kernel in group}))]
        for _, worst, attribute in _COLUMNS:
            every = (getattr(kernel, attribute) for kernel in group)
            known = [figure for figure in every if figure is not None]
            cells.append(f"{round(worst(known), 1)}" if known else "-")
        wrong = any(kernel.faults for kernel in group)
        table.add_row(name, *cells, style="red" if wrong else "")
    return table


def traffic_table(moved: Sequence[Moved]) -> Table:
    """Return the traffic of each line."""
    title = f"traffic in the simulator, about {ELEMENTS} elements, without a cache"
    table = Table(title=title)
    for heading in ("case", "line"):
        table.add_column(heading)
    for heading in ("MB at least", "moved", "may"):
        table.add_column(heading, justify="right")
    for line in moved:
        cells = (f"{line.least / 1e6:.2f}", f"{line.ratio:.3f}", f"{line.allowed:g}")
        table.add_row(line.case, line.line, *cells, style="red" if line.fault() else "")
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write; return 1 if a budget is broken or something is missing."""
    parser = _parser()
    options = parser.parse_args(arguments)
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"PART must be one of {', '.join(PARTS)}; got {', '.join(sorted(unknown))}")
    console = new_console()
    try:
        broken = _run(options, console)
    except (FileNotFoundError, CudakernError) as error:
        console.print(str(error), style="red")
        return 1
    for fault in broken:
        console.print(f"broken: {fault}", style="red")
    return int(bool(broken))


def _run(options: argparse.Namespace, console: Console) -> list[str]:
    """Return the budgets that are broken, a line each."""
    parts = set(options.parts or PARTS[:3])
    data: dict[str, Any] = {"schema": SCHEMA}
    broken: list[str] = []
    if "code" in parts:
        broken += _code(options, console, data)
    if "traffic" in parts:
        lines = [(case.name, line) for case in CASES for line in case.lines]
        wanted = [pair for pair in lines if _is_wanted(pair[1].workload.operator, options)]
        with new_progress(console) as progress:
            moved = move_all(wanted, progress)
        console.print(traffic_table(moved))
        broken += [fault for line in moved if (fault := line.fault())]
        data["traffic"] = [asdict(line) | {"ratio": line.ratio} for line in moved]
    if "host" in parts:
        costs, scale = host_cost.measure()
        costs += first_calls()
        console.print(host_cost.table_of(costs, scale))
        broken += [fault for row in costs if (fault := row.fault(scale))]
        data["host_cost"] = [asdict(row) | {"limit": row.limit(scale)} for row in costs]
        data["scale"] = scale
    for name, module in (("simulator", "simulator"), ("dask", "graphs")):
        if name in parts:  # dask is optional
            table, slow = importlib.import_module(f"perf.static.{module}").measure()
            console.print(table)
            broken += slow
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        data["broken"] = broken
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return broken


def _is_wanted(operator: str, options: argparse.Namespace) -> bool:
    return not options.operators or operator in options.operators


def _code(options: argparse.Namespace, console: Console, data: dict[str, Any]) -> list[str]:
    """Read the machine code of kernels; return the budgets that are broken."""
    cubins.require()
    if options.cover:
        cubins.require_architecture(options.cover)
        chosen = [(options.cover, kernel) for kernel in kernels.cover()]
    else:
        chosen = kernels.everything() if options.all else kernels.rotation()[:: options.every]
    chosen = [pair for pair in chosen if _is_wanted(pair[1].operator, options)]
    with new_progress(console) as progress:
        figures, broken = compile_all(chosen, options.jobs, progress)
    table = code_table(figures, len(kernels.everything()))
    console.print(table, soft_wrap=False)  # its caption is long
    data["machine_code"] = [asdict(kernel) for kernel in figures]
    return broken + [f"{k.entry}, {k.arch}: {fault}" for k in figures for fault in k.faults]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m perf static", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--all", action="store_true", help="every kernel for every architecture")
    parser.add_argument(
        "--cover",
        metavar="ARCH",
        help="for this architecture, kernels in which each macro of a variant has each value",
    )
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="every N-th kernel; default: each"
    )
    parser.add_argument(
        "--operators", nargs="+", default=[], metavar="NAME", help="only these; default: all"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that compile")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all figures go there")
    return parser
