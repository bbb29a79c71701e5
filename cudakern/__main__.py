"""Command line: ``python -m cudakern demo | info | warmup | clear-cache``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import TYPE_CHECKING

from cudakern import __version__
from cudakern.errors import CudakernError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "demo": "run the documented DirectML examples and compare with the documented results",
    "info": "show versions, devices, compilers and folders",
    "warmup": "compile kernels ahead of their first use",
    "clear-cache": "delete compiled kernels from the cache folder",
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="python -m cudakern", description="DirectML operators as CUDA kernels for CuPy arrays."
    )
    top.add_argument("--version", action="version", version=f"cudakern {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    parsers = {
        name: commands.add_parser(name, help=text, description=text)
        for name, text in COMMANDS.items()
    }
    parsers["info"].add_argument("--json", action="store_true", help="print one JSON object")
    parsers["info"].add_argument(
        "--check", action="store_true", help="exit with 1 unless a GPU runs a kernel correctly"
    )
    for name in ("demo", "warmup"):
        parsers[name].add_argument(
            "--engine",
            choices=("auto", "cuda", "simulator"),
            default="auto",
            help="where to run; auto takes a GPU if there is one",
        )
    parsers["warmup"].add_argument(
        "--all", action="store_true", help="every specialisation, not the common ones only"
    )
    parsers["warmup"].add_argument(
        "--arch",
        metavar="SM",
        help="compile for a GPU that need not be there, such as sm_90, into the cache folder",
    )
    parsers["warmup"].add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="threads that compile; default: all cores"
    )
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status."""
    options = parser().parse_args(arguments)
    module = importlib.import_module(f"cudakern._commands.{options.command.replace('-', '_')}")
    try:
        status: int = module.run(options)
        sys.stdout.flush()
    except CudakernError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except BrokenPipeError:  # who reads has seen enough; nothing is left to be written at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
