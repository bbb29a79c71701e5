"""What the commands of this package share: where tools are, and how they are run."""

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
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parents[2]
REPORTS = Path(__file__).resolve().parent / "reports"
TARGET = "perf.nsight.target"


class NsightError(Exception):
    """Why a command cannot do its work, in one sentence."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program of NVIDIA's.

    Attributes
    ----------
    program : str
        Its name on PATH.
    brought_by : str
        Where to get it.
    patterns : tuple of str
        Where its installers put it, if it is not on PATH; the newest version counts.
    """

    program: str
    brought_by: str
    patterns: tuple[str, ...]

    def find(self, *, dry_run: bool) -> str:
        """Return the path of the program; its mere name if it is absent and not to be run.

        Raises
        ------
        NsightError
            It is absent.
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


def require(package: str, name: str) -> None:
    """Raise NsightError unless a Python module can be imported."""
    if find_spec(name) is None:
        message = f"the package {package} is not installed; run: pip install {package}"
        raise NsightError(message)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that all commands have."""
    parser.add_argument(
        "--output", type=Path, default=REPORTS, help="folder of the reports (default: %(default)s)"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the command and end")


def check_cases(names: Sequence[str]) -> None:
    """Raise NsightError if one of these is no case."""
    try:
        find(names)
    except ValueError as error:
        raise NsightError(str(error)) from error


def target(cases: Sequence[str], *options: str) -> list[str]:
    """Return the command of the program that is profiled."""
    return [sys.executable, "-m", TARGET, *cases, *options]


def report_path(folder: Path, command: str) -> Path:
    """Return a new report's path without suffix."""
    return folder.resolve() / f"{command}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def shown(command: Sequence[str]) -> str:
    """Return a command as it can be typed in the repository's root."""
    return f"CUDAKERN_LINEINFO=1 {join(command)}"


def run(command: Sequence[str], *, echo: bool = True) -> tuple[int, str]:
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


def ended(command: Callable[[], int], name: str) -> int:
    """Run a command's work and return its exit status, 1 with a sentence where it cannot."""
    try:
        return command()
    except NsightError as error:
        sys.stderr.write(f"perf.nsight.{name}: {error}\n")
        return 1
