"""What the tools share: where they are, and how they are run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import glob
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, NamedTuple, TextIO

from perf.cases import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from perf.cases.base import Case

ROOT = Path(__file__).resolve().parents[2]
REPORTS = Path(__file__).resolve().parent / "reports"
#: Seconds that a program has to save its results when it is asked to end.
GRACE = 10


class NsightError(Exception):
    """Why a command cannot do its work, in one sentence."""


class RefusedError(NsightError):
    """The same, for all cases."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program of NVIDIA's."""

    program: str  # its name on PATH
    brought_by: str  # where to get it
    #: Where its installers put it, if it is not on PATH; the newest version counts.
    patterns: tuple[str, ...]
    suffix: str = ".txt"  # of its reports

    def find(self, *, dry_run: bool) -> str:
        """Return the path of the program, or its name for a dry run without it."""
        on_path = shutil.which(self.program)
        if on_path is not None:
            return on_path
        for pattern in self.patterns:
            matches = [path for path in glob(pattern) if os.access(path, os.X_OK)]  # noqa: PTH207
            if matches:
                return max(matches, key=lambda path: [*map(int, re.findall(r"\d+", path))])
        if dry_run:
            return self.program
        message = f"{self.program} is not installed: {self.brought_by}"
        raise NsightError(message)


def check_cases(names: Sequence[str]) -> tuple[Case, ...]:
    """Return the cases of these names; raise NsightError for an unknown name."""
    try:
        return find(names)
    except ValueError as error:
        raise NsightError(str(error)) from error


def target(cases: Sequence[str], *options: str) -> list[str]:
    """Return the command of the program that is profiled."""
    return [sys.executable, "-m", "perf", "nsight", "target", *cases, *options]


def report_path(folder: Path, command: str) -> Path:
    """Return a new report's path without suffix."""
    return folder.resolve() / f"{command}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def print_commands(*commands: Sequence[str]) -> int:
    """Print commands as they can be typed in the repository's root; return an exit status."""
    for command in commands:
        print(f"CUDAKERN_LINEINFO=1 {join(command)}")  # noqa: T201
    return 0


def share_time(minutes: float, count: int) -> Iterator[float]:
    """Yield the seconds that each of so many programs may take: its share of what is left."""
    end = time.monotonic() + 60 * minutes
    for left in range(count, 0, -1):
        yield max(1.0, (end - time.monotonic()) / left)


class Ended(NamedTuple):
    """How a program ended."""

    status: int
    printed: str
    late: bool  # whether the limit ended it


def execute(command: Sequence[str], seconds: float, *outputs: TextIO) -> Ended:
    """Run a command, at most so many seconds; what it prints is written to outputs as it comes."""
    printed: list[str] = []
    began = time.monotonic()
    limit = ("timeout", "--signal=INT", f"--kill-after={GRACE}", f"{seconds}")
    with subprocess.Popen(
        [*limit, *command],
        cwd=ROOT,
        env={**os.environ, "CUDAKERN_LINEINFO": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            _pass_on(process, printed, outputs)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)  # which is passed on, with the same grace
            _pass_on(process, printed, outputs)
            raise
    return Ended(process.returncode, "".join(printed), time.monotonic() - began >= seconds)


def _pass_on(process: subprocess.Popen[str], printed: list[str], outputs: Sequence[TextIO]) -> None:
    """Keep what a process prints, and write it to outputs as it comes, until the process ends."""
    assert process.stdout is not None
    for line in process.stdout:
        printed.append(line)
        for output in outputs:
            output.write(line)
            output.flush()


def profile(
    tool: Tool, command: Sequence[str], report: Path, seconds: float, reasons: Mapping[str, str]
) -> Path:
    """Run a profiler and return its report; `reasons` explain what it prints where it fails."""
    report.parent.mkdir(parents=True, exist_ok=True)
    ended = execute(command, seconds, sys.stdout)
    for word, reason in reasons.items():
        if word in ended.printed:
            raise RefusedError(reason)
    path = Path(f"{report}{tool.suffix}")
    how = f"after {seconds:.0f} s" if ended.late else f"with {ended.status}"
    if not path.exists() or (ended.status and not ended.late):
        message = f"{tool.program} ended {how} and left no complete report"
        raise NsightError(message)
    if ended.late:
        sys.stderr.write(f"{tool.program} ended {how}; its report may lack kernels\n")
    return path
