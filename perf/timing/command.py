"""Time our operators and their peers on a CUDA GPU.

Prints a table and writes ``perf/results/<gpu>/<date>-<commit>.json``, anew after each line. A run
that SIGTERM or Ctrl-C ends says there what it lacks. ``--quick`` takes a few lines and fewer
samples. ``--engine simulator`` measures nothing; it checks every case without a GPU.
"""

from __future__ import annotations

import argparse
import gc
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern._commands import console
from cudakern.engines import engine_for, use
from cudakern.engines.cuda.library import device_count, import_cupy
from cudakern.operators import nvtx_ranges
from perf.cases import SWEEPS, find
from perf.engines import RecordingEngine
from perf.limits import interrupt_on_sigterm, parse_minutes
from perf.peers import find_peers
from perf.peers.base import Peer
from perf.report import table
from perf.results import NAN, OURS, LineResult, Result
from perf.timing import ceilings, environment
from perf.timing.contender import describe, no_time
from perf.timing.gpu import Gpu
from perf.timing.simulated import main_simulator
from perf.timing.turns import Deadline, Measured, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perf.cases.base import Case, Line

SAMPLES, QUICK_SAMPLES = 30, 10
MINUTES, QUICK_MINUTES = 12, 4


def parse(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[Case]]:
    """Return the options and the cases that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m perf run", description=__doc__)
    parser.add_argument("case", nargs="*", help="names of cases, such as R-1; otherwise all")
    parser.add_argument("--engine", choices=("cuda", "simulator"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="few lines, few samples, no sweeps")
    help_minutes = f"for all of it; otherwise {MINUTES}, with --quick {QUICK_MINUTES}"
    parser.add_argument("--minutes", type=parse_minutes, metavar="N", help=help_minutes)
    parser.add_argument("--no-sweeps", action="store_true", help="no lines of growing sizes")
    parser.add_argument("--peers", help="names separated by commas; otherwise all there are")
    parser.add_argument("--output", type=Path, help="the result file")
    parser.add_argument("--list", action="store_true", help="print the cases and end")
    options = parser.parse_args(arguments)
    try:
        cases = list(find(options.case))
    except ValueError as error:
        parser.error(str(error))
    sweeps = {case.name for case in SWEEPS}
    if options.quick or options.no_sweeps:
        cases = [case for case in cases if case.name not in sweeps]
    if options.quick:
        quick = (replace(c, lines=tuple(line for line in c.lines if line.quick)) for c in cases)
        cases = [case for case in quick if case.lines]
    if not cases:
        parser.error("no line is left; leave out --quick or --no-sweeps")
    return options, cases


def choose(
    peers: Sequence[Peer], missing: dict[str, str], names: str | None
) -> tuple[list[Peer], dict[str, str]]:
    """Return the peers, all variants of a library, of these names, and why others are absent."""
    if names is None:
        return list(peers), missing
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    names_of = {peer.name: {peer.name, *re.split(r"[,.]", peer.name)[:1]} for peer in peers}
    chosen = [peer for peer in peers if names_of[peer.name].intersection(wanted)]
    known = ", ".join((*names_of, *missing))
    absent = {
        name: missing.get(name, f"no peer of that name is known, but {known}")
        for name in wanted
        if not any(name in of for of in names_of.values())
    }
    return chosen, absent


@dataclass
class Session:
    """A run on a GPU, line by line, saved after each."""

    gpu: Gpu
    coming: list[Peer]  # peers that may not be ready
    missing: dict[str, str]  # why peers are absent, by name
    nvml: environment.Nvml
    engine: RecordingEngine  # runs our kernels
    result: Result  # has the first ceilings; lines are added
    path: Path
    samples: int
    deadline: Deadline
    peers: list[Peer] = field(default_factory=list)
    failed: bool = False

    def save(self, incomplete: str) -> None:
        """Write the result so far, and what the run lacks."""
        self.result.incomplete = incomplete
        self.result.save(self.path)

    def run(self, cases: Sequence[Case], done: Callable[[str], None]) -> None:
        """Measure all lines while the GPU works; call ``done`` with each."""
        lines = [(case, line) for case in cases for line in case.lines]
        places = {(case.name, line.workload.title): i for i, (case, line) in enumerate(lines)}
        for number in range(1, len(places) + 1):
            self._admit_ready()
            case, line = lines.pop(self._next(lines))
            works = self._measure(case, line)
            self.result.lines.sort(key=lambda result: places[result.case, result.line])
            reason = "" if works else ": the GPU no longer works"
            self.save(f"ended after {number} of {len(places)} lines{reason}")
            if not works:
                return
            done(f"{case.name} {line.workload.title}")
        self._admit_ready()
        self.missing |= dict.fromkeys((peer.name for peer in self.coming), "not ready in time")
        self.save("the closing ceilings are missing")
        self._close()

    def _admit_ready(self) -> None:
        """Add the peers that have become ready; note why others never will."""
        for peer in tuple(self.coming):
            try:
                if not peer.ready():
                    continue
                self.result.versions[peer.name] = peer.version
                self.peers.append(peer)
            except Exception as error:  # noqa: BLE001  a library may fail in any way when it starts
                self.missing[peer.name] = f"{error}"
            self.coming.remove(peer)

    def _next(self, lines: Sequence[tuple[Case, Line]]) -> int:
        """Return the place of the first line that needs no peer to come, or of the first."""
        operators = [line.workload.operator for _, line in lines]
        awaited = [any(hasattr(peer, name) for peer in self.coming) for name in operators]
        return awaited.index(False) if False in awaited else 0

    def _close(self) -> None:
        """Measure the ceilings again; the first ones stay if that fails."""
        try:
            after = ceilings.measure(self.gpu)
        except Exception as error:  # noqa: BLE001  whatever it is, the lines are worth keeping
            self.failed = True
            self.save(f"the closing ceilings failed: {describe(error)}")
            return
        self.result.ceilings, self.result.drift = ceilings.combine(self.result.ceilings, after)
        self.save("")

    def _measure(self, case: Case, line: Line) -> bool:
        """Measure a line; return whether the GPU still works."""
        workload = line.workload
        traffic = workload.traffic()
        state = self.nvml.read("_before")
        self.engine.launches.clear()
        try:
            scope = nvtx_ranges.mark_range(f"{case.name} {workload.title}", round(traffic.total))
            measured = measure(self.gpu, workload, self.peers, self.samples, self.deadline, scope)
            works = True
        except Exception as error:  # noqa: BLE001  the other lines are still worth measuring
            measured = Measured({OURS: no_time(f"failed: {describe(error)}")}, failed=True)
            works = False
        if not works:  # the error is gone, whose frames hold memory
            with suppress(Exception):  # otherwise nothing runs on the GPU in this process any more
                self.gpu.release()
                works = True
        self.failed |= measured.failed
        parts = (part for launch in self.engine.launches for part in launch.parts)
        kernels = dict.fromkeys(part.kernel.entry for part in parts)
        self.result.lines.append(
            LineResult(
                case=case.name,
                line=workload.title,
                operator=workload.operator,
                bytes=traffic.total,
                ceiling=traffic.ceiling,
                goal=line.goal,
                goal_us=line.goal_us,
                checked=measured.checked,
                size=workload.size if case in SWEEPS else None,
                kernel=" + ".join(kernels),
                timings=measured.timings,
                state=state | self.nvml.read(),
            )
        )
        return works


def begin(options: argparse.Namespace, deadline: Deadline, count: int) -> Session:
    """Return a session of so many lines, with its first ceilings."""
    samples = QUICK_SAMPLES if options.quick else SAMPLES
    cupy = import_cupy()
    gpu = Gpu(cupy)
    peers, missing = choose(*find_peers(), options.peers)
    nvml = environment.Nvml(cupy.cuda.Device().pci_bus_id)
    if not nvml.read():
        missing = missing | {"clock, temperature and power": "pip install nvidia-ml-py"}
    result = Result(
        engine="cuda",
        date=environment.now(),
        commit=environment.commit(),
        gpu=environment.describe_gpu(cupy, nvml),
        versions=environment.versions(cupy),
        ceilings=ceilings.measure(gpu),
        drift=NAN,
        incomplete=f"ended after 0 of {count} lines",
    )
    named = environment.default_path(result.gpu["name"], result.date, result.commit)
    engine = RecordingEngine(engine_for(cupy.cuda.runtime.getDevice()))
    path = options.output or named
    return Session(gpu, peers, missing, nvml, engine, result, path, samples, deadline)


def run_cuda(options: argparse.Namespace, cases: Sequence[Case]) -> int:
    """Measure, save, print; return the exit status."""
    count = sum(len(case.lines) for case in cases)
    minutes = options.minutes or (QUICK_MINUTES if options.quick else MINUTES)
    deadline = Deadline(time.perf_counter_ns, 60 * minutes, count)
    with interrupt_on_sigterm():
        try:
            session = begin(options, deadline, count)
        except KeyboardInterrupt:
            return _fail("interrupted before the first line")
        except (RuntimeError, MemoryError) as error:  # CUDA's errors, and CuPy's of memory
            return _fail(f"the GPU cannot be measured: {describe(error)}")
        gc.disable()  # it could run while calls are timed or captured
        try:
            with use(session.engine), console.progress("measuring", count, "lines") as done:
                session.run(cases, done)
        except KeyboardInterrupt:
            session.failed = True
            session.save(f"interrupted: {session.result.incomplete}")
        finally:
            gc.enable()
        table.show(session.result, session.path, session.missing)
    return int(session.failed)


def _fail(message: str) -> int:
    sys.stderr.write(f"perf run: {message}\n")
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options, cases = parse(arguments)
    if options.list:
        table.show_matrix(cases)
        return 0
    if options.engine == "simulator":
        return main_simulator(cases, options.minutes, options.output)
    if device_count() == 0:
        need = "a CUDA GPU is needed, with its driver and CuPy; "
        return _fail(f"{need}--engine simulator checks every case without measuring anything")
    return run_cuda(options, cases)
