"""Count how often a first call switches between files of the package: what a reader of it does.

    python .ci/checks/file_switches.py [most]

Two Python functions called one after the other are a switch if they are in different files;
comprehensions and module bodies are no functions. Each call is the first one of a fresh process, on
arrays in host memory, with its kernel in the cache folder. What the simulator calls, which is the
engine there, is counted apart. With ``most``, fail where the rest has more switches.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

CALLS = {"gather": "ck.gather(x, [2, 0])", "reduce": 'ck.reduce(x, "sum", 0)'}
TRACED = """
import sys
import numpy as np
import cudakern as ck

def trace(frame, event, _):
    if event == "call" and not frame.f_code.co_name.startswith("<"):
        name, caller = frame.f_code.co_filename, frame
        while caller is not None and "/cudakern/simulator/" not in caller.f_code.co_filename:
            caller = caller.f_back
        called.append(name if caller is None else f"{{name}} for the simulator")

x, called = np.ones((3, 4), np.float32), []
sys.setprofile(trace)
{call}
sys.setprofile(None)
print(ck.__file__, *called, sep="\\n")
"""


def called_files(call: str) -> list[str]:
    """Return the file, below the package, of each function that a call enters, one by one."""
    for _ in ("compiles", "counts"):
        process = [sys.executable, "-c", TRACED.format(call=call)]
        done = subprocess.run(process, stdout=subprocess.PIPE, text=True, check=True)
    package, *files = map(Path, done.stdout.splitlines())
    return [
        name.relative_to(package.parent).as_posix()
        for name in files
        if name.is_relative_to(package.parent)
    ]


def switches(files: list[str]) -> int:
    """Return how often one file follows another."""
    return sum(a != b for a, b in pairwise(files))


def main() -> None:
    """Print the figures; fail if a call switches too often."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else sys.maxsize
    found = {}
    for name, call in CALLS.items():
        files = called_files(call)
        house = [file for file in files if not file.endswith(" for the simulator")]
        files = [file.removesuffix(" for the simulator") for file in files]
        found[name] = switches(house)
        print(  # noqa: T201
            f"{name}: {len(set(house))} files, {found[name]} switches; "
            f"with the simulator {len(set(files))} files, {switches(files)} switches"
        )
    if max(found.values()) > most:
        sys.exit(f"a first call must switch between files at most {most} times")


if __name__ == "__main__":
    main()
