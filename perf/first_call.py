"""Time the first call of an operator in this process, its kernel being on disk.

``python -m perf.first_call OPERATOR``, which `perf.host_cost` starts, prints microseconds. Arrays
are CuPy's; its driver is replaced by one that loads and launches nothing, so no GPU is needed.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

import cudakern as ck
from cudakern.engines.base import MULTIPROCESSORS
from cudakern.engines.cuda import import_cupy
from perf.host_cost import cupy_stand_in

if TYPE_CHECKING:
    from collections.abc import Callable

#: What is compiled for.
CAPABILITY = "90"


class _Device(nullcontext[None]):
    """A device that is always the current one."""

    compute_capability = CAPABILITY

    def __init__(self, _device: int | None = None) -> None:
        super().__init__()


class _Kernel:
    """A kernel that does nothing."""

    kernel = None

    def __call__(self, *_arguments: object, shared_mem: int) -> None:
        """Launch nothing."""


class _Module:
    """Machine code that is read and not loaded."""

    def __init__(self, *, path: str) -> None:
        self.code = Path(path).read_bytes()

    def get_function(self, _name: str) -> _Kernel:
        """Return a kernel of the module."""
        return _Kernel()


def without_driver() -> ExitStack:
    """Return a context in which CuPy has no driver beneath."""
    cupy = import_cupy()
    replaced: list[tuple[Any, str, object]] = [
        (cupy, "RawModule", _Module),
        (cupy.cuda, "Device", _Device),
        (cupy.cuda, "get_current_stream", lambda: SimpleNamespace(ptr=0)),
        (cupy.cuda.runtime, "getDevice", lambda: 0),
        (cupy.cuda.runtime, "driverGetVersion", lambda: 99000),
        (cupy.cuda.runtime, "deviceGetAttribute", lambda _attribute, _device: MULTIPROCESSORS),
    ]
    context = ExitStack()
    for owner, name, stand_in in replaced:
        context.enter_context(mock.patch.object(owner, name, stand_in))
    return context


def calls() -> dict[str, Callable[[], object]]:
    """Return a call of each operator, by its name."""
    x, out = (cupy_stand_in(np.zeros((64, 16), np.float32)) for _ in range(2))
    indices, tuples = (cupy_stand_in(np.zeros(s, np.int32)) for s in (64, (64, 1)))
    found = tuple(cupy_stand_in(np.zeros(s, np.uint32)) for s in (1, (1024, 2)))
    row = cupy_stand_in(np.zeros(16, np.float32))
    return {
        "gather": lambda: ck.gather(x, indices, out=out),
        "gather_nd": lambda: ck.gather_nd(x, tuples, out=out),
        "nonzero_coordinates": lambda: ck.nonzero_coordinates(x, out=found),
        "one_hot": lambda: ck.one_hot(indices, 16, out=out),
        "reduce": lambda: ck.reduce(x, "sum", 0, out=row),
    }


if __name__ == "__main__":
    call = calls()[sys.argv[1]]
    with without_driver():
        start = time.perf_counter_ns()
        call()
        end = time.perf_counter_ns()
    print((end - start) / 1000)  # noqa: T201  the result
