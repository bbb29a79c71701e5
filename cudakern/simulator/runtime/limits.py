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
    threads = block[0] * block[1] * block[2]
    inside = all(
        1 <= size <= limit
        for size, limit in zip((*grid, *block), (*_MAX_GRID, *_MAX_BLOCK), strict=True)
    )
    if not inside or threads > MAX_THREADS:
        requirement = (
            f"must have 1 to {MAX_THREADS} threads a block, at most {_MAX_BLOCK}, "
            f"and a grid of 1 to {_MAX_GRID}"
        )
        got = f"grid {describe_value(grid)}, block {describe_value(block)}"
        raise BindingError(name, "launch", f"{requirement}; got {got}")
    if not 0 <= shared_bytes <= MAX_SHARED_BYTES:
        requirement = f"must have at most {MAX_SHARED_BYTES} bytes of shared memory"
        raise BindingError(name, "launch", f"{requirement}; got {shared_bytes}")
