"""Loads PTX modules as libraries, on the runtime for plain launches or on the one that checks."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from cudakern.compilation.cache import report_exhaustion
from cudakern.errors import EngineUnavailableError, KernelCompileError
from cudakern.process.forks import Lock
from cudakern.simulator.libraries.build import build_library, find_contents
from cudakern.simulator.libraries.loaded import LoadedModule, open_library
from cudakern.simulator.libraries.toolchain import Toolchain, find_toolchain
from cudakern.simulator.libraries.variables import ModuleVariables
from cudakern.simulator.runtime.abi import (
    KernelStruct,
    OptionsStruct,
    PythonStruct,
    ReportStruct,
    ShapeStruct,
)
from cudakern.simulator.runtime.abi_parser import read_constant

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cudakern.simulator.sources.text_to_ptx import Ptx


@lru_cache(maxsize=8)
def _load_runtime(toolchain: Toolchain, *, checked: bool) -> ctypes.CDLL:
    runtime = open_library(toolchain.runtime(checked=checked))
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
        self._modules: dict[tuple[str, Toolchain, bool, bool, bool], LoadedModule] = {}
        self._variables: dict[tuple[str, Toolchain, bool, bool], ModuleVariables] = {}

    @report_exhaustion()
    def load(
        self, ptx: Ptx, *, checked: bool = False, fast: bool = False, together: bool = False
    ) -> LoadedModule:
        """Return a module for checked, plain or large launches, without compiling an entry.

        Entries have libraries of their own. If ``together``, they share one.
        """
        toolchain = find_toolchain()
        runtime_path = self._runtime_path(toolchain, ptx, checked=checked)
        with self._lock:
            # First, since the kernels' library refers to it by name.
            runtime = _load_runtime(toolchain, checked=checked)
        contents = find_contents(ptx)
        by_address = {*contents.joined}

        @report_exhaustion()
        def build(entries: Sequence[str], count: str = "") -> Path:
            # Launches give each other addresses of functions, of which there is one library.
            is_fast = fast and by_address.isdisjoint(entries)
            form = {"checked": checked, "fast": is_fast}
            return build_library(ptx, entries, toolchain, runtime_path, **form, count=count)

        if together:
            contents = replace(contents, joined=contents.entries)
        with self._lock:
            key = (ptx.key, toolchain, checked, fast, together)
            module = self._modules.get(key)
            if module is None:
                # Those of libraries whose functions can call each other.
                own = (ptx.key, toolchain, together, checked)
                if own not in self._variables:
                    others = (v for (of, *_), v in self._variables.items() if of == ptx.key)
                    self._variables[own] = ModuleVariables(contents, next(others, None))
                variables = self._variables[own]
                module = LoadedModule(ptx, contents, variables, runtime, build)
                self._modules[key] = module
            return module

    @report_exhaustion()
    def compile(self, ptx: Ptx, entry: str) -> Path:
        """Return the file of an entry for plain launches, with the errors of `load`."""
        toolchain = find_toolchain()
        return build_library(ptx, [entry], toolchain, self._runtime_path(toolchain, ptx))

    def _runtime_path(self, toolchain: Toolchain, ptx: Ptx, *, checked: bool = False) -> Path:
        """Return the runtime's library; if it has to be built, NVRTC makes the PTX meanwhile."""

        def compile_ptx() -> None:
            # Errors of the compiler, or of the folder, come first.
            with suppress(KernelCompileError, EngineUnavailableError):
                ptx.text()

        with self._lock:  # of several threads, one builds it
            return toolchain.runtime(checked=checked, meanwhile=compile_ptx)
