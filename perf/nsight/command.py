"""Run NVIDIA's tools over lines of the matrix, kernels compiled with source lines."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf.limits import interrupt_on_sigterm, parse_minutes
from perf.nsight import compute, sanitizer, systems, target
from perf.nsight.tools import REPORTS, NsightError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: By name: the module whose `run` takes the options, and what it does.
TOOLS = {
    "systems": (systems, "Nsight Systems: a timeline, kernels and ranges as tables"),
    "compute": (compute, "Nsight Compute: counters of each kernel"),
    "sanitizer": (sanitizer, "compute-sanitizer: errors of memory, races"),
    "target": (target, "the program that these run"),
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="python -m perf nsight", description=__doc__)
    tools = top.add_subparsers(dest="tool", required=True, metavar="tool")
    parsers = {
        name: tools.add_parser(name, help=text, description=module.__doc__)
        for name, (module, text) in TOOLS.items()
    }

    def add(tools: str, *names: str, **options: Any) -> None:  # noqa: ANN401  of argparse
        for tool in tools.split():
            parsers[tool].add_argument(*names, **options)

    help_cases = "such as R-1 or sweep-gather"
    add("systems compute target", "cases", nargs="+", metavar="CASE", help=help_cases)
    help_names = f"{', '.join(sanitizer.TOOLS)}; such as R-1"
    add("sanitizer", "cases", nargs="*", metavar="TOOL|CASE", help=help_names)
    help_repeats = "calls of a line (default: 10)"
    add("systems target", "--repeats", type=int, default=10, help=help_repeats)
    runs, help_output = "systems compute sanitizer", "folder of the reports (default: %(default)s)"
    add(runs, "--output", type=Path, default=REPORTS, help=help_output)
    add(runs, "--dry-run", action="store_true", help="print the command and end")
    help_minutes = "for all programs together (default: %(default)s)"
    add(runs, "--minutes", type=parse_minutes, default=60, metavar="N", help=help_minutes)
    help_elements = "reduce workloads to about so many (default: %(default)s)"
    add("target", "--elements", type=int, metavar="N", help=help_elements)
    add("sanitizer", "--elements", type=int, default=2**16, metavar="N", help=help_elements)
    add("target", "--engine", choices=("cuda", "simulator"), default="cuda")
    help_pool = "no memory pool, so that each array's bounds are those of its allocation"
    add("target", "--no-pool", action="store_true", help=help_pool)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a tool; return the exit status, 1 with a sentence where it cannot do its work."""
    options = parser().parse_args(arguments)
    try:
        with interrupt_on_sigterm():
            return int(TOOLS[options.tool][0].run(options))
    except (NsightError, KeyboardInterrupt) as error:
        sys.stderr.write(f"perf nsight {options.tool}: {str(error) or 'interrupted'}\n")
        return 1
