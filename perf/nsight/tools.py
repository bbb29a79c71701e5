"""What the tools share: where they are, and how they are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

from perf.cases import find

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from perf.cases.base import Case

ROOT = Path(__file__).resolve().parents[2]
REPORTS = Path(__file__).resolve().parent / "reports"


class NsightError(Exception):
    """Why a command cannot do its work, in one sentence."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program of NVIDIA's."""

    program: str  # its name on PATH
    brought_by: str  # where to get it
    #: Where its installers put it, if it is not on PATH; the newest version counts.
    patterns: tuple[str, ...]
    suffix: str = ".txt"  # of its reports

    def find(self, *, dry_run: bool) -> str:
        """Return the path of the program; its mere name if it is absent and not to be run.

        If it is absent and to be run, NsightError is raised.
        """
        found = shutil.which(self.program)
        if found is not None:
            return found
        for pattern in self.patterns:
            matches = [path for path in glob(pattern) if os.access(path, os.X_OK)]  # noqa: PTH207
            if matches:
                return max(matches, key=_version)
        if dry_run:
            return self.program
        message = f"{self.program} is not installed: {self.brought_by}"
        raise NsightError(message)


def _version(path: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", path)))


def check_cases(names: Sequence[str]) -> tuple[Case, ...]:
    """Return the cases of these names; raise NsightError if one is no case."""
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


def shown(command: Sequence[str]) -> str:
    """Return a command as it can be typed in the repository's root."""
    return f"CUDAKERN_LINEINFO=1 {join(command)}"


def execute(command: Sequence[str], *, echo: bool = True) -> tuple[int, str]:
    """Run a command in the repository's root; return its exit status and what it printed.

    Kernels are compiled with source lines.
    """
    printed = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "CUDAKERN_LINEINFO": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            printed.append(line)
            if echo:
                sys.stdout.write(line)
    return process.returncode, "".join(printed)


def profiled(
    options: argparse.Namespace,
    tool: Tool,
    command_of: Callable[[str, Path], list[str]],
    packages: Mapping[str, str],
    reasons: Mapping[str, str],
) -> Path | None:
    """Run a profiler; return its report, or None where the command is only printed.

    The options have ``cases``, ``tool``, ``output`` and ``dry_run``. `command_of` returns the
    command, of the program and of the report without its suffix. `packages` are modules that must
    be there, each with its package; `reasons` say what a printed word means that the profiler ends
    with. Raises NsightError if something is missing or there is no report.
    """
    check_cases(options.cases)
    program = tool.find(dry_run=options.dry_run)
    report = report_path(options.output, options.tool)
    command = command_of(program, report)
    if options.dry_run:
        print(shown(command))  # noqa: T201
        return None
    for name, package in packages.items():
        if find_spec(name) is None:
            message = f"the package {package} is not installed; run: pip install {package}"
            raise NsightError(message)
    report.parent.mkdir(parents=True, exist_ok=True)
    status, printed = execute(command)
    for word, reason in reasons.items():
        if word in printed:
            raise NsightError(reason)
    path = Path(f"{report}{tool.suffix}")
    if status or not path.exists():
        message = f"{tool.program} ended with {status} and left no complete report"
        raise NsightError(message)
    return path
