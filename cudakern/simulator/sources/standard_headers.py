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
def include_all() -> str:
    """Return a text that includes all headers that any file since C++17 can have."""
    names = sorted(list_names() - {"concepts"})
    lines = "".join(f"#include <{name}>\n" for name in names)
    return f"#if __cplusplus >= 201703L\n{lines}#endif\n"


@cache
def describe_state() -> str:
    """Return a text that changes with the headers."""
    return f"{FOLDER} {digest_of(sorted(FOLDER.iterdir()))}"
