"""Benchmarks: ``python -m perf run | static | report | nsight``."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from typing import TYPE_CHECKING

from cudakern._commands.statuses import SIGNALLED

if TYPE_CHECKING:
    from collections.abc import Sequence

#: By name: the module whose `main` takes the arguments, and what it does.
COMMANDS = {
    "run": ("perf.timing.command", "time our operators and their peers on a GPU"),
    "static": ("perf.static.command", "hold machine code, traffic and host cost to budgets"),
    "report": ("perf.report.command", "make a page of what was measured"),
    "nsight": ("perf.nsight.command", "run NVIDIA's profilers and sanitizer over cases"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m perf", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, (_, text) in COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    options, rest = parser.parse_known_args(arguments)
    # Modules import much that the others do without.
    try:
        return int(importlib.import_module(COMMANDS[options.command][0]).main(rest))
    except ModuleNotFoundError as error:
        sys.stderr.write(f"perf {options.command}: {error}; run: pip install '.[perf]'\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(f"perf {options.command}: stopped\n")
        return SIGNALLED + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
