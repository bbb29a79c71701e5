"""Half an hour of measurements on a GPU, in three calls. ``python -m tests.gpu.first_run``.

correctness  a launch of each operator, subnormal numbers, the simulator's bits, CUDA graphs,
             numbers beside arrays, misaligned arrays, the programs of the pages, stress, what
             RawKernel takes and refuses, the tests on a GPU
speed        the benchmarks without sweeps
tools        compute-sanitizer over operators and over faulty kernels, Nsight Compute, the sweeps

In a phase comes first what tells most. A step that fails, hangs or dies ends alone. What a step
prints goes to PHASE.log in the folder ``--output`` as it comes, so it is kept whatever happens;
beside it lie gpu.xml, the tests' report; perf.json and sweeps.json, the benchmarks' results;
compute.json, counters, and compute.tar.gz, Nsight Compute's reports. No network is needed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cudakern.operators.operator import operators
from perf.cases import MODULES
from perf.limits import interrupt_on_sigterm, parse_minutes
from tests.container.entrypoint import GPU_TESTS, ROOT, workers

#: Seconds that a step has to save what it knows when it is interrupted.
GRACE = 20
#: Bytes of the beginning, and of the end, of what a step printed that the log keeps.
KEPT = 2 << 20
#: Lines that are shown of a step that did not pass.
SHOWN = 8
#: The last word of a command that takes a time limit, and the seconds that it needs besides.
MINUTES, BESIDES = "--minutes", 30


def _of_all(*names: str) -> tuple[str, ...]:
    """Return these cases, and the first one of each operator that has none among them."""
    own = [[case.name for case in module.CASES] for module in MODULES.values()]
    return (*names, *(first for first, *more in own if not {first, *more} & {*names}))


#: Cases of all operators: some of each, and those with the most useful counters, of 21 kernels.
CHECKED = _of_all("R-2", "R-4", "R-7", "Z-2", "Z-7", "G-2", "G-6", "G-7", "G-8", "O-2")
PROFILED = _of_all("R-3", "R-4", "R-7", "R-8", "Z-2", "G-3", "G-6", "G-8", "O-1", "O-6")
#: What the tests cannot run without.
TEST_MODULES = ("hypothesis", "pytest", "pytest_timeout", "xdist")
#: GPU, driver, processors, memory, programs and packages, as far as they are there.
MACHINE = f"""
PATH=$PATH:/usr/local/cuda/bin
uname -a; nproc; free -m; nvidia-smi
nvidia-smi -q -d MEMORY,ECC,TEMPERATURE,POWER,CLOCK,PERFORMANCE
for program in nvcc ncu compute-sanitizer c++ {sys.executable}; do $program --version; done
{sys.executable} -c 'from importlib.metadata import distributions as all
for one in all(): print(one.name, one.version)'
"""


@dataclass
class Step:
    """A command, the seconds it may take, and how it ended."""

    name: str
    command: list[str]
    limit: float = 600
    status: str = "not run"
    seconds: float = 0.0


def _python(name: str, *words: str, limit: float = 600) -> Step:
    """Return a step that runs a module."""
    return Step(name, [sys.executable, "-m", *words], limit)


def correctness(folder: Path, engine: str) -> list[Step]:
    """Return the steps that follow the report of the machine."""
    checks = {"launch": 50, "subnormal": 30, "bits": 30, "capture": 90}
    checks |= {"numbers": 20, "misaligned": 30, "pages": 70, "stress": 80}
    missing = [name for name in TEST_MODULES if find_spec(name) is None]
    on_gpu = engine == "cuda"
    tests = ["-n", str(workers("gpu")), "-v", "--tb=short", "-p", "no:cacheprovider"]
    if not on_gpu:
        tests += ["-m", "not gpu", "tests/test_gpu_present.py::test_a_gpu_is_used"]
    return [
        _python("info", "cudakern", "info", *(["--check"] if on_gpu else []), limit=40),
        *(
            _python(name, "tests.gpu.checks", name, f"--engine={engine}", limit=limit)
            for name, limit in checks.items()
        ),
        _python("raw_kernels", "tests.gpu.raw_kernels", f"--engine={engine}", limit=35),
        Step("tests", [], status=f"needs {', '.join(missing)}")
        if missing
        else _python("tests", "pytest", *GPU_TESTS, *tests, f"--junit-xml={folder / 'gpu.xml'}"),
    ]


def speed(folder: Path, engine: str) -> list[Step]:
    """Return the step that follows the report of the machine."""
    options = ("--no-sweeps", f"--engine={engine}", f"--output={folder / 'perf.json'}")
    return [_python("perf", "perf", "run", *options, MINUTES)]


def tools(folder: Path, engine: str) -> list[Step]:
    """Return the steps that follow the report of the machine."""
    nsight = ("perf", "nsight")
    kinds = ("memcheck", "racecheck", "initcheck", "synccheck")
    printed = f"--output={tempfile.gettempdir()}/cudakern-sanitizer"  # it is in the log, too
    reports = f"--output={folder / 'compute'}"
    sweeps = [f"sweep-{operator.name}" for operator in operators()]
    options = (f"--engine={engine}", f"--output={folder / 'sweeps.json'}")
    return [
        _python("sanitizer", *nsight, "sanitizer", *kinds, *CHECKED, printed, MINUTES, limit=210),
        _python("faulty", "tests.gpu.faulty", f"--engine={engine}", MINUTES, limit=60),
        _python("compute", *nsight, "compute", *PROFILED, reports, MINUTES, limit=210),
        _python("sweeps", "perf", "run", *sweeps, *options, MINUTES),
    ]


PHASES = {phase.__name__: phase for phase in (correctness, speed, tools)}


def planned(phase: str, folder: Path, engine: str) -> list[Step]:
    """Return the steps of a phase; the last one may take what the others leave."""
    return [Step("machine", ["sh", "-c", MACHINE], 30), *PHASES[phase](folder, engine)]


class Run:
    """Runs steps one after another, in so many seconds; all that is known lies in a log."""

    def __init__(self, log: Path, steps: list[Step], seconds: float) -> None:
        self.log, self.steps = log, steps
        self._end = time.monotonic() + seconds

    def run(self, environment: dict[str, str]) -> bool:
        """Run all steps; return whether all have passed."""
        for step in self.steps:
            limit = min(step.limit, self._end - time.monotonic() - GRACE)
            try:
                if step.command and limit > 0:
                    self._run(step, limit, environment)
                elif step.command:
                    step.status = "no time was left"
            finally:
                self._say(step)
        return all(step.status == "passed" for step in self.steps)

    def _run(self, step: Step, limit: float, environment: dict[str, str]) -> None:
        """Run a step in a group of processes of its own, which ends with it."""
        started, command = time.monotonic(), list(step.command)
        if command[-1] == MINUTES:
            command.append(f"{max(limit - BESIDES, limit / 2) / 60:.2f}")
        step.status = "interrupted"
        with self.log.open("ab") as output:
            output.write(f"\n== {step.name}: {' '.join(command)}\n".encode())
            output.flush()
            begin = output.tell()
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
            try:
                code = process.wait(limit)
                step.status = f"ended with {code}" if code else "passed"
            except subprocess.TimeoutExpired:
                step.status = "took too long"
            finally:
                _end(process)
                step.seconds = time.monotonic() - started
                self._shorten(begin, step)
                self._pack(step)

    def _shorten(self, begin: int, step: Step) -> None:
        """Leave out the middle of what a step printed; show the end of it unless it passed."""
        text = self.log.read_bytes()[begin:]
        if step.status != "passed":
            lines = text[-10_000:].decode(errors="replace").splitlines()[-SHOWN:]
            sys.stdout.write("".join(f"    {line[:200]}\n" for line in lines))
        if len(text) > 2 * KEPT:
            os.truncate(self.log, begin + KEPT)
            left_out = f"\n[{len(text) - 2 * KEPT} bytes are left out here]\n".encode()
            with self.log.open("ab") as log:
                log.write(left_out + text[-KEPT:])

    def _pack(self, step: Step) -> None:
        """Make a file of the folder that a step may have left; but what is JSON lies beside it."""
        reports = self.log.parent / step.name
        if reports.is_dir():
            for path in reports.glob("*.json"):
                path.replace(reports.with_suffix(".json"))
            shutil.make_archive(str(reports), "gztar", reports)
            shutil.rmtree(reports)

    def _say(self, step: Step) -> None:
        """Tell how a step ended."""
        line = f"{step.name:<12}{step.status:<20}{step.seconds:8.1f} s\n"
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"== {line}")
        sys.stdout.write(line)
        sys.stdout.flush()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that has not ended, and all that it has started."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main(words: list[str] | None = None) -> int:
    """Run the steps of a phase; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.gpu.first_run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("step", nargs="*", help="such as stress; otherwise all of the phase")
    parser.add_argument("--phase", choices=PHASES, required=True)
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--minutes", type=parse_minutes, default=9, help="for all; otherwise 9")
    parser.add_argument("--engine", choices=("cuda", "simulator"), default="cuda")
    options = parser.parse_args(words)
    folder = options.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    steps = planned(options.phase, folder, options.engine)
    if unknown := set(options.step) - {step.name for step in steps}:
        parser.error(f"no step of {options.phase} is called {', '.join(sorted(unknown))}")
    steps = [step for step in steps if not options.step or step.name in options.step]
    # In the background of a shell it is ignored, and so it would be by the steps.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    required = "1" if options.engine == "cuda" else "0"
    environment = os.environ | {"CUDAKERN_REQUIRE_GPU": required, "PYTHONUNBUFFERED": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each process but the first starts sooner
    log = folder / f"{options.phase}.log"
    with interrupt_on_sigterm():
        return int(not Run(log, steps, 60 * options.minutes).run(environment))


if __name__ == "__main__":
    sys.exit(main())
