"""What a machine has: GPU, driver, processors, packages, programs. ``python -m tests.gpu.machine``.

It needs nothing but Python. ``python -m cudakern info`` tells more of what is installed.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from itertools import chain
from pathlib import Path

#: What the tests cannot run without.
TEST_PACKAGES = ("hypothesis", "pytest", "pytest-timeout", "pytest-xdist")
PACKAGES = [
    "numpy",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "cuda-bindings",
    "nvidia-cuda-nvrtc",
    "torch",
    "jax",
    "triton",
    "numba",
    "onnx",
    "onnxruntime",
    "ml_dtypes",
    "rich",
    *TEST_PACKAGES,
]
COMMANDS = (
    ("nvidia-smi",),
    ("nvidia-smi", "-q", "-d", "MEMORY,ECC,TEMPERATURE,POWER,CLOCK,PERFORMANCE"),
    ("nvcc", "--version"),
    ("ncu", "--version"),
    ("compute-sanitizer", "--version"),
    ("c++", "--version"),
)


def version(package: str) -> str | None:
    """Return the version of a distribution, None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def answer(command: tuple[str, ...]) -> str:
    """Return what a program prints, or why it prints nothing."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"])
    found = shutil.which(command[0], path=path)
    if found is None:
        return "not installed"
    try:
        result = subprocess.run(
            [found, *command[1:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    status = f"\n(ended with {result.returncode})" if result.returncode else ""
    return result.stdout.rstrip() + status


def main() -> None:
    """Print the report, each line when it is known."""
    memory = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    lines = chain(
        (
            f"Python {sys.version} at {sys.executable}",
            platform.platform(),
            f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} processors",
        ),
        (line for line in memory if line.startswith(("MemTotal", "MemAvailable"))),
        (f"{name} {version(name) or 'is not installed'}" for name in PACKAGES),
        (f"\n$ {' '.join(command)}\n{answer(command)}" for command in COMMANDS),
    )
    for line in lines:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
