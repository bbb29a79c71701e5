"""Run NVIDIA's tools over lines of the matrix, kernels compiled with source lines."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from perf.limits import positive, terminable
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
    for name, options in parsers.items():
        if name == "sanitizer":
            help_names = f"{', '.join(sanitizer.TOOLS)}; such as R-1"
            options.add_argument("cases", nargs="*", metavar="TOOL|CASE", help=help_names)
        else:
            options.add_argument(
                "cases", nargs="+", metavar="CASE", help="such as R-1 or sweep-gather"
            )
        if name in {"systems", "target"}:
            options.add_argument(
                "--repeats", type=int, default=10, help="calls of a line (default: 10)"
            )
        if name != "target":
            help_output = "folder of the reports (default: %(default)s)"
            options.add_argument("--output", type=Path, default=REPORTS, help=help_output)
            options.add_argument("--dry-run", action="store_true", help="print the command and end")
            help_minutes = "for all programs together (default: %(default)s)"
            options.add_argument(
                "--minutes", type=positive, default=60, metavar="N", help=help_minutes
            )
    help_elements = "reduce workloads to about so many (default: %(default)s)"
    parsers["target"].add_argument("--elements", type=int, metavar="N", help=help_elements)
    parsers["sanitizer"].add_argument(
        "--elements", type=int, default=2**16, metavar="N", help=help_elements
    )
    parsers["target"].add_argument("--engine", choices=("cuda", "simulator"), default="cuda")
    parsers["target"].add_argument(
        "--no-pool",
        action="store_true",
        help="no memory pool, so that each array's bounds are those of its allocation",
    )
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a tool; return the exit status, 1 with a sentence where it cannot do its work."""
    options = parser().parse_args(arguments)
    try:
        with terminable():
            return int(TOOLS[options.tool][0].run(options))
    except (NsightError, KeyboardInterrupt) as error:
        sys.stderr.write(f"perf nsight {options.tool}: {str(error) or 'interrupted'}\n")
        return 1
