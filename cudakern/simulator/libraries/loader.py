"""Loads PTX modules as libraries, on the runtime for plain launches or on the one that checks."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from cudakern.compilation.cache import one_line, report_exhaustion
from cudakern.errors import EngineUnavailableError, KernelCompileError
from cudakern.process.forks import Lock
from cudakern.simulator.libraries.build import build_library
from cudakern.simulator.libraries.loaded import LoadedModule
from cudakern.simulator.libraries.toolchain import Toolchain, find_toolchain
from cudakern.simulator.runtime.abi import (
    KernelStruct,
    OptionsStruct,
    PythonStruct,
    ReportStruct,
    ShapeStruct,
)
from cudakern.simulator.runtime.abi_parser import read_constant

if TYPE_CHECKING:
    from pathlib import Path

    from cudakern.simulator.sources.text_to_ptx import Ptx


def _load_library(path: Path) -> ctypes.CDLL:
    """Load a library, whose file is complete."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        advice = ""
        with suppress(OSError):
            if os.statvfs(path).f_flag & os.ST_NOEXEC:
                advice = "; it is mounted noexec: set CUDAKERN_CACHE_DIR to a folder that is not"
        message = f"cudakern: compiled kernels must be loadable; {one_line(error)}{advice}"
        raise EngineUnavailableError(message) from error


@lru_cache(maxsize=8)
def _load_runtime(toolchain: Toolchain, *, checked: bool) -> ctypes.CDLL:
    runtime = _load_library(toolchain.runtime(checked=checked))
    runtime.ck_sim_connect(ctypes.byref(_PYTHON), _SIGNALS)
    run = runtime.ck_sim_launch_checked if checked else runtime.ck_sim_launch_kernel
    run.restype = ctypes.c_int
    run.argtypes = (
        ctypes.POINTER(KernelStruct),
        ctypes.c_char_p,
        ctypes.c_uint32,
        ctypes.POINTER(ctypes.c_uint32),
        ctypes.c_uint32,
        ctypes.POINTER(ShapeStruct),
        ctypes.POINTER(OptionsStruct) if checked else ctypes.c_char_p,
        ctypes.POINTER(ReportStruct),
    )
    return runtime


#: Functions of Python that a launch calls so that signals are handled while it runs.
_PYTHON = PythonStruct(
    *(
        ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
        for name in ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch")
    )
)
#: What the runtimes of a process know of its signals.
_SIGNALS = ctypes.create_string_buffer(read_constant("runtime/faults.hpp", "kSharedBytes"))


class ModuleLoader:
    """Loads each module once: for plain and for observed launches, with the same variables."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._modules: dict[tuple[str, Toolchain, bool, bool], LoadedModule] = {}

    @report_exhaustion()
    def load(self, ptx: Ptx, *, checked: bool = False, fast: bool = False) -> LoadedModule:
        """Return a module for checked, plain or large launches, compiled unless it is cached."""
        toolchain = find_toolchain()
        runtime_path = self._runtime_path(toolchain, ptx, checked=checked)
        with self._lock:
            # First, since the kernels' library refers to it by name.
            runtime = _load_runtime(toolchain, checked=checked)
        path = build_library(ptx, toolchain, runtime_path, checked=checked, fast=fast)
        opened = _load_library(path)
        with self._lock:
            module = self._modules.get((ptx.key, toolchain, checked, fast))
            if module is None or module.path != path:
                module = LoadedModule(path, opened, runtime, ptx)
                others = (m for key, m in self._modules.items() if key[:2] == (ptx.key, toolchain))
                other = next(others, None)
                if other is not None:
                    module.share_variables(other)
                self._modules[ptx.key, toolchain, checked, fast] = module
        if fast and module.takes_functions:  # whose addresses plain launches give each other
            return self.load(ptx)
        return module

    @report_exhaustion()
    def compile(self, ptx: Ptx) -> Path:
        """Return the file of a module for plain launches, with the errors of `load`."""
        toolchain = find_toolchain()
        return build_library(ptx, toolchain, self._runtime_path(toolchain, ptx))

    def _runtime_path(self, toolchain: Toolchain, ptx: Ptx, *, checked: bool = False) -> Path:
        """Return the runtime's library; if it has to be built, NVRTC makes the PTX meanwhile."""

        def compile_ptx() -> None:
            # Errors of the compiler, or of the folder, come first.
            with suppress(KernelCompileError, EngineUnavailableError):
                ptx.text()

        with self._lock:  # of several threads, one builds it
            return toolchain.runtime(checked=checked, meanwhile=compile_ptx)
