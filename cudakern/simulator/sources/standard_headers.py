"""The standard headers of C and C++ that kernels get with ``jitify=True``, as with CuPy."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from cudakern.simulator.sources.includes import digest_of

FOLDER = Path(__file__).resolve().parent / "headers"
#: How a file for nvcc begins.
AS_NVCC = "#include <cudakern_nvcc.h>\n"


@cache
def list_names() -> frozenset[str]:
    """Return the names of the headers."""
    return frozenset(path.name for path in FOLDER.iterdir())


@cache
def describe_state() -> str:
    """Return a text that changes with the headers."""
    return f"{FOLDER} {digest_of(sorted(FOLDER.iterdir()))}"
