"""Faulty kernels: what ``checked`` finds, beside compute-sanitizer's answer.

``python -m tests.gpu.faulty`` prints a line for each. Each is launched from a process of its own,
``python -m tests.gpu.faulty NAME``, since some leave no CUDA context behind.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import cudakern as ck
from cudakern._commands import console
from cudakern.engines.cuda.library import import_cupy
from perf.limits import interrupt_on_sigterm, parse_minutes
from perf.nsight.sanitizer import FOUND, SANITIZER, judge
from perf.nsight.tools import execute, share_time

BLOCKS, THREADS = 2, 64


class Faulty(NamedTuple):
    """A kernel's body, the kind of finding, and the tool that comes nearest to it."""

    kind: str
    tool: str
    body: str


#: In each body, x has as many elements as a grid threads, i is the thread's, y is unwritten.
FAULTY = {
    "write beyond an array": Faulty("out_of_bounds", "memcheck", "y[i + 1] = x[i];"),
    "read beyond an array": Faulty("out_of_bounds", "memcheck", "y[i] = x[i + 1];"),
    "beyond shared memory": Faulty(
        "out_of_bounds", "memcheck", "s[t] = x[i]; __syncthreads(); y[i] = s[t + 1];"
    ),
    "misaligned": Faulty("misaligned", "memcheck", "*(int2*)(y + 1) = make_int2(i, x[i]);"),
    "unwritten memory": Faulty("uninitialized", "initcheck", "x[i] += y[i];"),
    "unwritten shared memory": Faulty(
        "uninitialized", "initcheck", "if (t > 0) s[t] = x[i]; __syncthreads(); y[i] = s[t];"
    ),
    "a tree without barriers": Faulty(
        "race",
        "racecheck",
        "s[t] = x[i]; __syncthreads();\n"
        "  for (int h = 32; h > 0; h /= 2) if (t < h) s[t] += s[t + h];\n"
        "  if (t == 0) y[blockIdx.x] = s[0];",
    ),
    "a warp without __syncwarp": Faulty("race", "racecheck", "s[t] = x[i]; y[i] = s[t ^ 1];"),
    "a sum of two blocks": Faulty("race", "racecheck", "if (t == 0) x[0] += i;"),
    "a barrier in a branch": Faulty(
        "barrier_divergence",
        "synccheck",
        "if (t & 1) __syncthreads(); y[i] = x[i]; __syncthreads(); x[i] = 1;",
    ),
}


def code_of(name: str) -> str:
    """Return the text of a kernel."""
    return f"""extern "C" __global__ void faulty(int* x, int* y) {{
  __shared__ int s[{THREADS}];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  {FAULTY[name].body}
}}"""


def launch(name: str) -> None:
    """Launch a kernel through CuPy, or what stands in for it, and wait."""
    cupy = import_cupy()
    cupy.cuda.set_allocator(None)  # behind an array of a pool is valid memory
    x = cupy.zeros(BLOCKS * THREADS, cupy.int32)
    y = cupy.empty_like(x)
    cupy.RawKernel(code_of(name), "faulty")((BLOCKS,), (THREADS,), (x, y))
    cupy.cuda.runtime.deviceSynchronize()


def found_by_checked(name: str) -> list[str]:
    """Return the kinds of what `checked` finds."""
    try:
        with ck.simulator.in_place_of_cupy(), ck.simulator.checked():
            launch(name)
    except ck.SimulatorError as error:
        return sorted({finding.kind for finding in error.findings})
    return []


def said_by_sanitizer(program: str, name: str, seconds: float) -> str:
    """Return what compute-sanitizer says of a kernel."""
    tool = FAULTY[name].tool
    options = ("--tool", tool, "--error-exitcode", str(FOUND))
    ended = execute([program, *options, sys.executable, "-m", __spec__.name, name], seconds)
    _, text = judge(ended, seconds)
    return f"{tool}: {text}"


def main(words: list[str] | None = None) -> int:
    """Launch one, or compare all; return 1 unless `checked` finds each."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.faulty", description=__doc__)
    parser.add_argument("name", nargs="?", choices=FAULTY)
    parser.add_argument("--engine", choices=("cuda", "simulator"), default="cuda")
    parser.add_argument("--minutes", type=parse_minutes, default=10, help="for all; otherwise 10")
    options = parser.parse_args(words)
    if options.name:
        launch(options.name)
        return 0
    program = SANITIZER.find(dry_run=False) if options.engine == "cuda" else None
    rows, failed = [], False
    for (name, faulty), seconds in zip(
        FAULTY.items(), share_time(options.minutes, len(FAULTY)), strict=True
    ):
        kinds = found_by_checked(name)
        failed |= faulty.kind not in kinds
        said = said_by_sanitizer(program, name, seconds) if program else "-"
        rows.append((name, ", ".join(kinds) or "nothing", said))
    console.show_table(rows, ("kernel", "checked", "compute-sanitizer"))
    return int(failed)


if __name__ == "__main__":
    with interrupt_on_sigterm():
        sys.exit(main())
