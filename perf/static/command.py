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
import os
import signal
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cudakern._commands import console
from cudakern.errors import CudakernError, KernelCompileError
from cudakern.operators.operator import operators
from perf.cases import CASES
from perf.results import write_json
from perf.static import cubins, host_cost, kernels, traffic
from perf.static.budgets import survey
from perf.static.first_call import time_first_calls, time_import

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from perf.static.reading import Figures

SCHEMA = 1
PARTS = ("code", "traffic", "host", "simulator", "dask")
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


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Delay Ctrl-C to the end of a block that starts processes, which it would end with errors."""
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which they inherit
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


def compile_all(batches: Sequence[kernels.Batch], jobs: int) -> tuple[list[Figures], list[str]]:
    """Return the figures of kernels for architectures, and what could not be compiled."""
    figures: list[Figures] = []
    failed: list[str] = []

    def take(batch: kernels.Batch, survey_it: Callable[[], list[Figures]]) -> None:
        arch, specs = batch
        try:
            figures.extend(survey_it())
        except KernelCompileError as error:
            failed.append(f"{arch}, {specs[0].entry} to {specs[-1].entry}: {error}")
        done(f"{arch}, {specs[-1].entry}")

    with console.progress("compiling", len(batches), "batches") as done:
        if jobs == 1:
            for batch in batches:
                take(batch, partial(survey, *batch))
        else:
            with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
                try:
                    with _ctrl_c_later():  # the first submissions start processes
                        running = {pool.submit(survey, *batch): batch for batch in batches}
                    for finished in as_completed(running):
                        take(running[finished], finished.result)
                except KeyboardInterrupt:  # ends what the processes have begun, too
                    pool.shutdown(wait=False, cancel_futures=True)
                    for process in active_children():
                        process.terminate()
                    raise
    return sorted(figures, key=lambda f: (f.operator, f.variant, f.entry, f.arch)), failed


def show_code(figures: Sequence[Figures], possible: int) -> None:
    """Print the worst figures of each variant over its kernels and architectures."""
    console.show(f"machine code: {len(figures)} of {possible} kernels x architectures compiled")
    groups: dict[str, list[Figures]] = {}
    for kernel in figures:
        groups.setdefault(f"{kernel.operator} {kernel.variant}", []).append(kernel)
    rows = []
    for name, group in groups.items():
        cells = [name, str(len(group)), str(len({kernel.arch for kernel in group}))]
        for _, worst, attribute in _COLUMNS:
            every = (getattr(kernel, attribute) for kernel in group)
            known = [figure for figure in every if figure is not None]
            cells.append(f"{round(worst(known), 1)}" if known else "-")
        rows.append(cells)
    console.show_table(rows, ("variant", "n", "GPUs", *(heading for heading, *_ in _COLUMNS)))
    console.show(_CAPTION)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write; return 1 if a budget is broken or something is missing."""
    parser = argparse.ArgumentParser(prog="python -m perf static", description=__doc__)
    add = parser.add_argument
    add("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    add("--all", action="store_true", help="every kernel for every architecture")
    help_cover = "for this architecture, kernels in which each macro of a variant has each value"
    add("--cover", metavar="ARCH", help=help_cover)
    names = [operator.name for operator in operators()]
    chosen = partial(add, nargs="+", choices=names, metavar="NAME")
    chosen("--operators", default=names, help="only these; default: all")
    chosen("--without", default=[], help="all but these")
    add("--jobs", type=int, default=os.cpu_count(), help="processes that compile")
    add("--json", type=Path, metavar="FILE", help="all figures go there")
    options = parser.parse_args(arguments)
    options.operators = {*options.operators} - {*options.without}
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"PART must be one of {', '.join(PARTS)}; got {', '.join(sorted(unknown))}")
    try:
        broken = _run(options)
    except (FileNotFoundError, CudakernError) as error:
        console.show(str(error), "red")
        return 1
    for fault in broken:
        console.show(f"broken: {fault}", "red")
    return int(bool(broken))


def _run(options: argparse.Namespace) -> list[str]:
    """Return the budgets that are broken, a line each."""
    parts = set(options.parts or PARTS[:3])
    data: dict[str, Any] = {"schema": SCHEMA}
    broken: list[str] = []
    if "code" in parts:
        broken += _code(options, data)
    if "traffic" in parts:
        lines = [(case.name, line) for case in CASES for line in case.lines]
        lines = [pair for pair in lines if pair[1].workload.operator in options.operators]
        moved = traffic.measure(lines)
        traffic.show(moved)
        broken += [fault for line in moved if (fault := line.fault())]
        data["traffic"] = [asdict(line) | {"ratio": line.ratio} for line in moved]
    if "host" in parts:
        costs, scale = host_cost.measure()
        costs += [time_import(), *time_first_calls()]
        host_cost.show(costs, scale)
        broken += [fault for row in costs if (fault := row.fault(scale))]
        data["host_cost"] = [asdict(row) | {"limit": row.limit(scale)} for row in costs]
        data["scale"] = scale
    for name, module in (("simulator", "simulator"), ("dask", "graphs")):
        if name in parts:  # dask is optional
            broken += importlib.import_module(f"perf.static.{module}").measure()
    if options.json:
        write_json({**data, "broken": broken}, options.json)
    return broken


def _code(options: argparse.Namespace, data: dict[str, Any]) -> list[str]:
    """Read the machine code of kernels; return the budgets that are broken."""
    cubins.require(options.cover)
    if options.cover:
        chosen = [(options.cover, kernel) for kernel in kernels.cover()]
    else:
        chosen = kernels.everything() if options.all else kernels.rotation()
    chosen = [pair for pair in chosen if pair[1].operator in options.operators]
    figures, broken = compile_all(kernels.batches(chosen), options.jobs)
    show_code(figures, len(kernels.everything()))
    data["machine_code"] = [asdict(kernel) for kernel in figures]
    return broken + [f"{k.entry}, {k.arch}: {fault}" for k in figures for fault in k.faults]
