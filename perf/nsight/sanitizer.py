"""compute-sanitizer over lines of the matrix.

Without names of tools, all of them run one after the other; without names of cases, all cases do.
Problems are reduced, and arrays come from the driver instead of CuPy's pool, in which what lies
behind an array is valid memory. Everything that runs on the GPU is looked at, CuPy's kernels too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rich.table import Table

from perf.cases import CASES
from perf.console import new_console
from perf.nsight.tools import Tool, check_cases, execute, report_path, shown, target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

SANITIZER = Tool(
    "compute-sanitizer",
    "NVIDIA's apt packages cuda-sanitizer-* bring it, to /usr/local/cuda/bin; "
    "nvidia/cuda:*-devel containers have it",
    (
        "/usr/local/cuda*/bin/compute-sanitizer",
        "/usr/local/cuda*/compute-sanitizer/compute-sanitizer",
    ),
)
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
ELEMENTS = 2**16
#: Exit status for findings: no other of the target's or of compute-sanitizer's.
FOUND = 86
#: The sentence that ends a tool's output; of racecheck's numbers, the first is of all hazards.
_SUMMARY = re.compile(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+ .*)$", re.MULTILINE)


class Verdict(NamedTuple):
    """What a tool said."""

    clean: bool
    text: str


def command_of(program: str, tool: str, cases: Sequence[str]) -> list[str]:
    """Return the command of one tool."""
    options = ("--repeats", "1", "--elements", str(ELEMENTS), "--no-pool")
    status = ("--error-exitcode", str(FOUND))
    return [program, "--tool", tool, *status, *target(cases, *options)]


def judge(status: int, printed: str) -> Verdict:
    """Return what an exit status and an output mean: clean is only what says so."""
    summaries = _SUMMARY.findall(printed)
    text = summaries[-1] if summaries else "no summary"
    if status not in {0, FOUND}:
        return Verdict(clean=False, text=f"ended with {status}; {text}")
    return Verdict(clean=status == 0 and text.startswith("0 "), text=text)


def run(options: argparse.Namespace) -> int:
    """Run the tools and print what they found; return the exit status."""
    tools = [name for name in options.cases if name in TOOLS] or TOOLS
    cases = [name for name in options.cases if name not in TOOLS]
    check_cases(cases)
    cases = cases or [case.name for case in CASES]
    program = SANITIZER.find(dry_run=options.dry_run)
    if options.dry_run:
        for tool in tools:
            print(shown(command_of(program, tool, cases)))  # noqa: T201
        return 0
    table = Table(title="compute-sanitizer")
    for heading in ("tool", "verdict", "summary", "output"):
        table.add_column(heading, overflow="fold")
    clean = True
    options.output.mkdir(parents=True, exist_ok=True)
    for tool in tools:
        status, printed = execute(command_of(program, tool, cases))
        path = report_path(options.output, tool).with_suffix(SANITIZER.suffix)
        path.write_text(printed, encoding="utf-8")
        verdict = judge(status, printed)
        clean = clean and verdict.clean
        table.add_row(tool, "clean" if verdict.clean else "NOT CLEAN", verdict.text, str(path))
    new_console().print(table)
    return 0 if clean else 1
