"""Loaded libraries of PTX modules: their kernels, variables, and launches."""

from __future__ import annotations

import ctypes
import json
import operator
import os
from contextlib import suppress
from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from cudakern.compilation.cache import one_line
from cudakern.errors import BindingError, EngineUnavailableError, KernelCompileError, SimulatorError
from cudakern.process.forks import Lock
from cudakern.process.lazy import load
from cudakern.simulator.libraries import execution_mode
from cudakern.simulator.libraries.execution_mode import ExecutionMode
from cudakern.simulator.runtime import abi
from cudakern.simulator.runtime.limits import (
    MAX_PARAMETER_BYTES,
    MAX_SHARED_BYTES,
    MAX_THREADS,
    check_shape,
    require_threads,
)
from cudakern.simulator.sources.source_lines import describe_stack, read_own_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cudakern.simulator.libraries.variables import ModuleVariables
    from cudakern.simulator.ptx.contents import Contents
    from cudakern.simulator.runtime.limits import Grid
    from cudakern.simulator.sources.text_to_ptx import Ptx

_Row = TypeVar("_Row", bound=ctypes.Structure)
#: How many blocks run side by side: at least 2, so that one can wait for another.
_RESIDENT_BLOCKS = max(2, os.cpu_count() or 1)


def error_of(name: str, report: ctypes.Structure) -> SimulatorError:
    """Return the error that a report stands for."""
    message = report.message.decode(errors="replace")
    stack = read_own_stack(report.site)
    if stack:
        message = message.removeprefix(f"{stack[0][0]}:{stack[0][1]}: ")
        message = f"{describe_stack(stack)}: {message}"
    place = ((), ()) if report.nowhere else (tuple(report.block), tuple(report.thread))
    return SimulatorError(report.kind.decode(), name, *place, message)


#: Raises an exception, given as its type, itself and its traceback.
_restore = ctypes.pythonapi.PyErr_Restore
_restore.argtypes, _restore.restype = [ctypes.c_void_p] * 3, None


def reraise(report: ctypes.Structure) -> None:
    """Raise the exception of a signal's handler that ran during the launch, if it raised one."""
    if report.raised[0] is not None:
        _restore(*report.raised)


def open_library(path: Path) -> ctypes.CDLL:
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


class LoadedKernel:
    """A kernel of a loaded module."""

    def __init__(
        self, module: LoadedModule, library: LoadedLibrary, structure: ctypes.Structure
    ) -> None:
        self.module = module
        self.library = library
        self.name = structure.name.decode()
        count = structure.parameters
        self.parameter_sizes = tuple(structure.parameter_sizes[:count])  # in bytes
        kinds = structure.parameter_sizes[count : 2 * count]
        self.parameter_kinds = tuple(map(abi.ParameterKind, kinds))
        kept = structure.parameter_sizes[2 * count : 3 * count]
        #: Which parameters may be in memory after a launch, computed with or as they are.
        self.kept_parameters = frozenset(i for i, word in enumerate(kept) if word)
        self.static_shared = int(structure.packed_shared)  # bytes: a launch need not ask for them
        self.shared_objects = structure.shared_objects[: structure.shared_object_count]
        #: What its text calls dynamic shared memory.
        self.dynamic_names = (*filter(None, structure.dynamic_shared.decode().split(", ")),)
        self.structure = structure
        self.max_threads = int(structure.max_threads) or MAX_THREADS  # of a block
        required = tuple(structure.required_block)
        self._required_block = required if required[0] else None

    def launcher(
        self,
        grid: Grid,
        block: Grid,
        shared_bytes: int = 0,
        offsets: Sequence[int] = (0,),
        *,
        resident: int | None = None,
        eager: bool = False,
        cooperative: bool = False,
    ) -> Callable[..., None]:
        """Return a function that runs the kernel on packed parameters; many threads can call it.

        It takes arrays to guard, too, in the form of `guarded_arrays.pack_guarded_arrays`.
        `shared_bytes` are those of dynamic shared memory; `offsets` are the starts of the
        parameters among the packed bytes. `resident` blocks may run side by side, by default one
        per processor, and more when all of those wait for a block that is not among them. If
        `eager`, that many start at once. Otherwise the others join when the first block waits for
        them, or runs longer than it takes to start them. If `cooperative`, all blocks must be
        resident, so that they can wait for each other.
        """
        name = self.name
        workers = _RESIDENT_BLOCKS if resident is None else resident
        shape = self.shape(grid, block, shared_bytes, cooperative=cooperative)
        shape.resident, shape.eager, shape.grows = workers, eager, resident is None
        required = self.required_bytes(offsets)
        count = len(offsets)
        starts = (ctypes.c_uint32 * count)(*offsets)
        run = self.module.runtime.ck_sim_launch_kernel
        kernel = ctypes.byref(self.structure)
        reports: list[ctypes.Structure] = []  # spare ones: each call takes its own

        def launch(parameters: bytes, arrays: bytes | None = None) -> None:
            size = len(parameters)
            if size < required:
                requirement = f"must hold {required} bytes; got {size}"
                raise BindingError(name, "arguments", requirement)
            try:
                report = reports.pop()
            except IndexError:
                report = abi.ReportStruct()
            if run(kernel, parameters, required, starts, count, shape, arrays, report):
                reraise(report)
                raise error_of(name, report)
            reports.append(report)

        return launch

    def under(self, name: str) -> LoadedKernel:
        """Return the same kernel with another name in errors."""
        kernel = copy(self)
        kernel.name = name
        return kernel

    def required_bytes(self, offsets: Sequence[int]) -> int:
        """Return how many bytes parameters at these offsets take; BindingError if that is wrong."""
        sizes = self.parameter_sizes
        if len(offsets) != len(sizes):
            requirement = f"must be {len(sizes)} parameters; got {len(offsets)}"
            raise BindingError(self.name, "arguments", requirement)
        required = max(map(operator.add, offsets, sizes), default=0)
        if required > MAX_PARAMETER_BYTES:
            requirement = f"must have at most {MAX_PARAMETER_BYTES} bytes; got {required}"
            raise BindingError(self.name, "arguments", requirement)
        return required

    def shape(
        self, grid: Grid, block: Grid, shared_bytes: int, *, cooperative: bool
    ) -> ctypes.Structure:
        """Return a launch's shape as the runtime takes it; BindingError if no GPU could run it."""
        check_shape(self.name, grid, block, shared_bytes)
        static = self.static_shared
        if static + shared_bytes > MAX_SHARED_BYTES:
            requirement = f"must have at most {MAX_SHARED_BYTES} bytes of shared memory"
            used = f"{static} static and {shared_bytes} dynamic ones"
            raise BindingError(self.name, "launch", f"{requirement}; got {used}")
        if self._required_block not in {None, tuple(block)}:
            requirement = f"must be {self._required_block}, as the kernel says; got {block}"
            raise BindingError(self.name, "block", requirement)
        cluster = tuple(self.structure.cluster)
        if cluster[0] and any(size % part for size, part in zip(grid, cluster, strict=True)):
            requirement = f"must have a grid that is a multiple of clusters of {cluster} blocks"
            raise BindingError(self.name, "launch", f"{requirement}; got {grid}")
        require_threads(self.name, block, self.max_threads, ", as the kernel says")
        apart = execution_mode.chosen is ExecutionMode.THREAD_LOOPS
        return abi.ShapeStruct(
            grid=grid, block=block, shared_bytes=shared_bytes, cooperative=cooperative, apart=apart
        )


class CountedInstruction(NamedTuple):
    """How often a PTX instruction stands in a basic block."""

    kernel: str  # empty for a function, which any kernel may call
    name: str  # with its modifiers
    file: str  # the user's own; empty if unknown
    line: int
    block: int
    times: int


class LoadedLibrary:
    """The library of an entry, or of several. It stays loaded until the process ends.

    ``refused`` has the reasons for entries that are not executed. Only libraries for checked
    launches have ``instructions``, and ``shared_objects`` of kernels.
    """

    def __init__(self, path: Path, module: LoadedModule) -> None:
        self.path = path
        self._opened = open_library(path)
        kernels, refusals = (
            self._table("kernel", abi.KernelStruct),
            self._table("refusal", abi.RefusalStruct),
        )
        self.kernels = {row.name.decode(): LoadedKernel(module, self, row) for row in kernels}
        self.refused = {row.name.decode(): row.message.decode() for row in refusals}
        for place in self._table("symbol", abi.SymbolStruct, "place"):
            word = ctypes.c_uint64.from_address(place.address)
            word.value = module.variables[place.name.decode()].start

    def functions(self) -> dict[str, int]:
        """Return the addresses of functions that variables have."""
        rows = self._table("symbol", abi.SymbolStruct, "function")
        return {row.name.decode(): row.address for row in rows}

    @cached_property
    def instructions(self) -> list[CountedInstruction]:
        """The instructions of its basic blocks, if it is for checked launches."""
        first = ctypes.c_char.in_dll(self._opened, "ck_sim_instructions")
        texts, rows = json.loads(ctypes.string_at(ctypes.addressof(first)))
        return [
            CountedInstruction(texts[kernel], texts[name], texts[file], *numbers)
            for kernel, name, file, *numbers in rows
        ]

    def _table(self, row_name: str, row: type[_Row], name: str = "") -> list[_Row]:
        name = f"ck_sim_{name or row_name}"
        count = ctypes.c_uint32.in_dll(self._opened, f"{name}_count").value
        return list((row * count).in_dll(self._opened, f"{name}s"))


class LoadedModule:
    """The entries of a module for one kind of launches; each is compiled when it is asked for."""

    def __init__(
        self,
        ptx: Ptx,
        contents: Contents,
        variables: ModuleVariables,
        runtime: ctypes.CDLL,
        build: Callable[..., Path],
    ) -> None:
        self.ptx = ptx
        self.entries = contents.entries
        self._contents = contents
        self.runtime = runtime
        self.variables = variables.structures
        self.variable_table = variables.table
        self._memory = variables
        self._build = build
        self._lock = Lock()
        self._locks: dict[tuple[str, ...], Lock] = {}
        self._libraries: dict[Path, LoadedLibrary] = {}

    def kernel(self, name: str, source: str) -> LoadedKernel:
        """Return an entry; KernelCompileError if it is refused."""
        library = self._library(self._with(name))
        if name in library.refused:
            raise KernelCompileError(source, (), library.refused[name])
        return library.kernels[name]

    def compile(self) -> None:
        """Compile all entries, several at once."""
        groups = [*dict.fromkeys(map(self._with, self.entries))]
        if len(groups) == 1:
            self._build(*groups)
        elif groups:
            counts = (f", {i} of {len(groups)} kernels" for i in range(1, 1 + len(groups)))
            with load("concurrent.futures").ThreadPoolExecutor(os.cpu_count()) as pool:
                try:
                    for built in [*map(partial(pool.submit, self._build), groups, counts)]:
                        built.result()
                finally:
                    pool.shutdown(cancel_futures=True)

    def _with(self, name: str) -> tuple[str, ...]:
        """Return the entries that share a library with one."""
        return self._contents.joined if name in self._contents.joined else (name,)

    def variable(self, name: str) -> ctypes.Structure:
        """Return a variable with its value, which may lead to functions."""
        if name in self._memory.lacking_functions:
            self._library(self._contents.joined)
        return self.variables[name]

    def _library(self, names: tuple[str, ...]) -> LoadedLibrary:
        with self._lock:
            lock = self._locks.setdefault(names, Lock())
        with lock:  # others can compile other entries
            path = self._build(names)
            library = self._libraries.get(path)
            if library is None:
                library = LoadedLibrary(path, self)
                with self._lock:
                    self._memory.take_functions(library.functions())
                self._libraries[path] = library
            return library
