"""The limits that a GPU sets to the shape of a launch, and the sizes of its parameters."""

from __future__ import annotations

from cudakern.errors import BindingError, describe_value
from cudakern.simulator.runtime.abi_parser import read_constant

Grid = tuple[int, int, int]
MAX_THREADS = read_constant("runtime/runtime.hpp", "kMaxThreads")
_MAX_BLOCK = (1024, 1024, 64)
_MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_SHARED_BYTES = read_constant("runtime/residency.hpp", "kSharedEach") - read_constant(
    "runtime/residency.hpp", "kSystemShared"
)
MAX_STATIC_SHARED_BYTES = 48 * 1024  # also of all shared memory, unless more is asked for
MAX_PARAMETER_BYTES = 32764
POINTER_BYTES = 8


def check_shape(name: str, grid: Grid, block: Grid, shared_bytes: int) -> None:
    """Raise BindingError for a launch that no GPU could run."""
    require_threads(name, block, MAX_THREADS)
    for field, sizes, most in (("grid", grid, _MAX_GRID), ("block", block, _MAX_BLOCK)):
        if not all(1 <= size <= limit for size, limit in zip(sizes, most, strict=True)):
            requirement = f"must be at least (1, 1, 1) and at most {most}"
            raise BindingError(name, field, f"{requirement}; got {describe_value(sizes)}")
    if not 0 <= shared_bytes <= MAX_SHARED_BYTES:
        requirement = f"must have at most {MAX_SHARED_BYTES} bytes of shared memory"
        raise BindingError(name, "launch", f"{requirement}; got {shared_bytes}")


def require_threads(name: str, block: Grid, most: int, reason: str = "") -> None:
    """Raise BindingError for a block of more threads than it can have, for a reason."""
    threads = block[0] * block[1] * block[2]
    if threads > most:
        found = f"{describe_value(threads)} in {describe_value(block)}"
        raise BindingError(name, "block", f"must have at most {most} threads{reason}; got {found}")
