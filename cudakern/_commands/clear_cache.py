"""``python -m cudakern clear-cache``: delete compiled kernels, when no process compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern._commands.console import show
from cudakern.compilation.cache import clear, one_line

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Say what is deleted from each folder; return 1 if something of the cache stays."""
    del options
    status = 0
    for folder, files, nbytes, problem in clear():
        status |= bool(problem)
        left = f"; left: {problem}" if problem else ""
        show(f"{one_line(folder)}: {files} files of {nbytes} bytes deleted{left}")
    return status
