"""``python -m cudakern clear-cache``: delete compiled kernels while no process compiles any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern._commands.console import show
from cudakern.compilation.cache import clear, one_line

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Delete the cache's files, and say from which folders; return 1 if some of them remain."""
    del options
    status = 0
    for folder, files, nbytes, problem in clear():
        status |= bool(problem)
        left = f"; left: {problem}" if problem else ""
        show(f"{one_line(folder)}: {files} files of {nbytes} bytes deleted{left}")
    return status
