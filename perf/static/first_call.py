"""What a new process waits for: imports, and a first call whose kernel is on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, nullcontext
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import cudakern as ck
from cudakern.engines.cuda.library import import_cupy
from cudakern.errors import EngineUnavailableError
from cudakern.values.layout import MULTIPROCESSORS
from perf.cases import SMALL
from perf.static.host_cost import Row, call_of, cupy_stand_in

#: Processes for each operator; the first compiles what is not on disk.
PROCESSES = 4
#: Microseconds that the first call of a process may take; see COMPILED_BUDGET of `host_cost`.
BUDGET = 6500.0
#: Microseconds that the import of two functions may take, where NumPy is there.
IMPORT_BUDGET = 40_000.0
IMPORT = """
import time
import numpy
start = time.perf_counter_ns()
from cudakern import gather, reduce
print((time.perf_counter_ns() - start) / 1000)
"""
#: Modules that the first call of a process imports, besides those of operators.
ENGINE = (
    "cudakern.engines.cuda.engine",
    "cudakern.compilation.nvrtc",
    "cudakern.compilation.cache",
)
#: What is compiled for.
CAPABILITY = "90"


class _Device(nullcontext[None]):
    """A device that is always the current one."""

    compute_capability = "90"


class _Module:
    """Machine code that is read and not loaded, and its kernel."""

    ptr = 0

    def __init__(self, *, path: str) -> None:
        self.code = Path(path).read_bytes()

    def get_function(self, _name: str) -> _Module:
        """Return the kernel."""
        return self

    @property
    def kernel(self) -> _Module:
        """The kernel as the driver knows it."""
        return self


def time_first_call(operator: str) -> float:
    """Return what the first call of an operator takes in this process, besides imports."""
    call = call_of(SMALL[operator], cupy_stand_in)
    for module in ENGINE:
        import_module(module)
    for name in dir(ck):
        getattr(ck, name)
    cupy = import_cupy()  # its driver loads and launches nothing: no GPU is needed
    replaced: list[tuple[Any, str, object]] = [
        (cupy, "RawModule", _Module),
        (cupy.cuda, "Device", _Device),
        (cupy.cuda, "get_current_stream", lambda: SimpleNamespace(ptr=0)),
        (cupy.cuda.driver, "launchKernel", lambda *_: None),
        (cupy.cuda.runtime, "getDevice", lambda: 0),
        (cupy.cuda.runtime, "driverGetVersion", lambda: 99000),
        (cupy.cuda.runtime, "deviceGetAttribute", lambda _attribute, _device: MULTIPROCESSORS),
    ]
    with ExitStack() as context:
        for owner, name, stand_in in replaced:
            context.enter_context(mock.patch.object(owner, name, stand_in))
        start = time.perf_counter_ns()
        call()
        end = time.perf_counter_ns()
    return (end - start) / 1000


def time_import() -> Row:
    """Return what the import of gather and reduce costs, beside that of NumPy."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", IMPORT]
    run = partial(subprocess.run, command, env=environment, check=True, capture_output=True)
    times = [float(run().stdout) for _ in range(PROCESSES)]
    return Row("import of gather and reduce, after NumPy", min(times[1:]), None, IMPORT_BUDGET)


def time_first_calls() -> list[Row]:
    """Return what the first call of each operator costs, where CuPy is installed."""
    try:
        import_cupy()
    except EngineUnavailableError:
        return []
    rows = []
    for operator in SMALL:
        with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
            times = [processes.submit(time_first_call, operator).result() for _ in range(PROCESSES)]
        name = f"first {operator} of a process, CuPy arrays"
        rows.append(Row(name, min(times[1:]), None, BUDGET))
    return rows
