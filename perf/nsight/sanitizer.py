"""compute-sanitizer over lines of the matrix.

Without names of tools, all of them run one after the other; without names of cases, all cases do.
Workloads are reduced, and arrays come from the driver instead of CuPy's pool, in which what lies
behind an array is valid memory. Everything that runs on the GPU is looked at, CuPy's kernels too.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from cudakern._commands import console
from perf.cases import CASES
from perf.nsight import tools

if TYPE_CHECKING:
    import argparse

SANITIZER = tools.Tool(
    "compute-sanitizer",
    "NVIDIA's apt packages cuda-sanitizer-* bring it, to /usr/local/cuda/bin; "
    "nvidia/cuda:*-devel containers have it",
    (
        "/usr/local/cuda*/bin/compute-sanitizer",
        "/usr/local/cuda*/compute-sanitizer/compute-sanitizer",
    ),
)
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
#: Exit status for findings alone, of the target and of compute-sanitizer.
FOUND = 86
#: The sentence that ends a tool's output; of racecheck's numbers, the first is of all hazards.
_SUMMARY = re.compile(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+ .*)$", re.MULTILINE)


def judge(ended: tools.Ended, seconds: float) -> tuple[bool, str]:
    """Return whether a tool's end and its output say that all is clean, and what they say."""
    summaries = _SUMMARY.findall(ended.printed)
    text = summaries[-1] if summaries else "no summary"
    if ended.late:
        return False, f"ended after {seconds:.0f} s, the time limit; {text}"
    if ended.status not in {0, FOUND}:
        return False, f"ended with {ended.status}; {text}"
    return ended.status == 0 and text.startswith("0 "), text


def run(options: argparse.Namespace) -> int:
    """Run the tools and print what they found; return the exit status."""
    chosen = [name for name in options.cases if name in TOOLS] or TOOLS
    cases = [name for name in options.cases if name not in TOOLS]
    tools.check_cases(cases)
    cases = cases or [case.name for case in CASES]
    program = SANITIZER.find(dry_run=options.dry_run)
    work = tools.target(cases, "--repeats", "1", "--elements", str(options.elements), "--no-pool")
    status = ("--error-exitcode", str(FOUND))
    commands = [[program, "--tool", tool, *status, *work] for tool in chosen]
    if options.dry_run:
        return tools.print_commands(*commands)
    rows, failed = [], False
    options.output.mkdir(parents=True, exist_ok=True)
    limits = tools.share_time(options.minutes, len(chosen))
    try:
        for tool, command, seconds in zip(chosen, commands, limits, strict=True):
            path = tools.report_path(options.output, tool).with_suffix(SANITIZER.suffix)
            with path.open("w", encoding="utf-8") as log:
                clean, text = judge(tools.execute(command, seconds, log, sys.stdout), seconds)
            rows.append((tool, "clean" if clean else "NOT CLEAN", text, str(path)))
            failed |= not clean
    finally:
        console.show("compute-sanitizer")
        console.show_table(rows, ("tool", "verdict", "summary", "output"))
    return int(failed)
