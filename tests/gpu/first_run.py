"""What a GPU can tell in ten minutes, most telling first. ``python -m tests.gpu.first_run``.

The folder ``--output`` gets first_run.log, what each step printed; summary.json, how each ended;
gpu.xml, the tests' report; perf.json, the benchmarks' result. A step that fails, hangs or dies ends
alone, and what is written stays. Kernels are compiled anew; no network is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.container.entrypoint import GPU_TESTS, ROOT, workers

#: Seconds that a step has to save what it knows when it is interrupted.
GRACE = 20
#: Bytes of the beginning, and of the end, of what a step printed that the log keeps.
KEPT = 2 << 20
#: Lines that are shown of a step that did not pass.
SHOWN = 8
#: Seconds that benchmarks take besides their lines.
BESIDES = 45


@dataclass
class Step:
    """A command, the seconds it may take, and how it ended."""

    name: str
    command: list[str]
    limit: float
    status: str = "not run"
    seconds: float = 0.0


def planned(folder: Path) -> list[Step]:
    """Return the steps; the last one may take what the others leave."""
    python = [sys.executable, "-m"]
    checks = ("launch", "subnormal", "capture", "misaligned")
    options = [*GPU_TESTS, "-n", str(workers()), "-v", "--tb=short", "-p", "no:cacheprovider"]
    tests = ["pytest", *options, f"--junit-xml={folder / 'gpu.xml'}"]
    perf = ["perf", "run", "--quick", f"--output={folder / 'perf.json'}"]
    return [
        Step("info", [*python, "cudakern", "info", "--check"], 60),
        *(Step(name, [*python, "tests.gpu.checks", name], 60) for name in checks),
        Step("tests", [*python, *tests], 300),
        Step("perf", [*python, *perf], 600),
    ]


class Run:
    """Runs steps one after another, in so many seconds; all that is known lies in a folder."""

    def __init__(self, folder: Path, steps: list[Step], seconds: float) -> None:
        self.folder, self.steps = folder, steps
        self._end = time.monotonic() + seconds

    def run(self, environment: dict[str, str]) -> bool:
        """Run all steps; return whether all have passed."""
        self._save()
        for step in self.steps:
            step.limit = round(min(step.limit, self._end - time.monotonic() - GRACE), 1)
            if step.name == "perf":
                step.command.append(f"--minutes={max(step.limit - BESIDES, 15) / 60:.2f}")
            if step.limit <= 0:
                step.status = "no time was left"
                self._save()
            else:
                self._run(step, environment)
            sys.stdout.write(f"{step.name:<12}{step.status:<20}{step.seconds:8.1f} s\n")
            sys.stdout.flush()
        return all(step.status == "passed" for step in self.steps)

    def _run(self, step: Step, environment: dict[str, str]) -> None:
        """Run a step in a group of processes of its own, which ends with it."""
        started, path = time.monotonic(), self.folder / "step.log"
        step.status = "interrupted"
        with path.open("wb") as output:
            process = subprocess.Popen(
                step.command,
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(step.limit)
                step.status = f"ended with {code}" if code else "passed"
            except subprocess.TimeoutExpired:
                step.status = "took too long"
            finally:
                _end(process)
                step.seconds = round(time.monotonic() - started, 1)
                self._log(step, path)
                self._save()

    def _log(self, step: Step, path: Path) -> None:
        """Move what a step printed to the log, and show the end of it unless it passed."""
        text = path.read_bytes()
        if step.status != "passed":
            lines = text[-10_000:].decode(errors="replace").splitlines()[-SHOWN:]
            sys.stdout.write("".join(f"    {line[:200]}\n" for line in lines))
        if len(text) > 2 * KEPT:
            left_out = f"\n[{len(text) - 2 * KEPT} bytes are left out here]\n".encode()
            text = text[:KEPT] + left_out + text[-KEPT:]
        head = f"\n== {step.name}: {step.status}, {step.seconds} s: {' '.join(step.command)}\n"
        with (self.folder / "first_run.log").open("ab") as log:
            log.write(head.encode() + text)
        path.unlink()

    def _save(self) -> None:
        """Write the summary, as a whole or not at all."""
        text = json.dumps([asdict(step) for step in self.steps], indent=1)
        part = self.folder / "summary.json.part"
        part.write_text(text, encoding="utf-8")
        part.replace(self.folder / "summary.json")


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
    """Run the steps; return the exit status."""
    names = [step.name for step in planned(Path())]
    parser = argparse.ArgumentParser(
        prog="python -m tests.gpu.first_run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("step", nargs="*", help=f"of {', '.join(names)}; otherwise all")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=9.5, help="for all; otherwise 9.5")
    options = parser.parse_args(words)
    if unknown := set(options.step) - set(names):
        parser.error(f"no step is called {', '.join(sorted(unknown))}")
    folder = options.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    steps = [s for s in planned(folder) if not options.step or s.name in options.step]

    def terminate(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # ``timeout`` sends it twice
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, terminate)
    # In the background of a shell it is ignored, and so it would be by the steps.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="first_run.") as cache:
        environment = os.environ | {
            "CUDAKERN_CACHE_DIR": f"{cache}/cudakern",
            "CUDAKERN_REQUIRE_GPU": "1",
            "CUPY_CACHE_DIR": f"{cache}/cupy",
            "HYPOTHESIS_STORAGE_DIRECTORY": f"{cache}/hypothesis",
            "PYTHONPYCACHEPREFIX": f"{cache}/python",
            "PYTHONUNBUFFERED": "1",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a worker that starts again starts sooner
        return int(not Run(folder, steps, 60 * options.minutes).run(environment))


if __name__ == "__main__":
    sys.exit(main())
