"""The host compiler: found, asked for its version, its objects cached by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cudakern.engines.cache import building, cache_folder
from cudakern.engines.simulator.build import Job, shared_name
from cudakern.engines.simulator.explain import explain
from cudakern.engines.simulator.kernel_text import INCLUDED, KernelText, write
from cudakern.engines.simulator.kernel_text import read as _read
from cudakern.errors import EngineUnavailableError, KernelCompileError

#: What both runtimes are made of.
_BOTH = (
    "block.hpp",
    "collectives.hpp",
    "context.hpp",
    "faults.hpp",
    "runtime.hpp",
    "scheduler.hpp",
    "stacks.hpp",
    "watch.hpp",
    "workers.hpp",
)
#: What each is made of; the first is compiled.
_RUNTIME = (
    "runtime.cpp",
    *_BOTH,
    "barriers.hpp",
    "clusters.hpp",
    "device_heap.hpp",
    "mbarrier.hpp",
    "plain_block.hpp",
    "polling.hpp",
    "printing.hpp",
    "ptx/device/runtime_api.hpp",
    "warp_instructions.hpp",
    "window.hpp",
)
_CHECKED_RUNTIME = (
    "checked.cpp",
    *_BOTH,
    "callbacks.hpp",
    "checked_api.hpp",
    "checked_block.hpp",
    "checked_collectives.hpp",
    "checker.hpp",
    "containers.hpp",
    "findings.hpp",
    "memory_map.hpp",
    "order.hpp",
    "random.hpp",
    "rounds.hpp",
    "shadow.hpp",
    "traffic.hpp",
    "watchdog.hpp",
)
#: What says how libraries are made.
_STEPS = ("build.py", "instrument.py")
_UNNAMED = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C++17 compiler.

    Attributes
    ----------
    command : tuple of str
        The command line it starts with.
    version : str
        First line of its ``--version``.
    """

    command: tuple[str, ...]
    version: str

    def library(
        self,
        stem: str,
        source: str,
        parts: tuple[tuple[str, str], ...],
        flags: tuple[str, ...] = (),
        links: tuple[str, ...] = (),
        *,
        checked: bool = False,
    ) -> Path:
        """Return a shared library built from ``parts``, compiling it unless it is cached.

        Parameters
        ----------
        stem : str
            What its file name starts with.
        source : str
            What an error names.
        parts : tuple of (file name, text)
            What is written into the build folder; the first is compiled.
        flags, links : tuple of str
            Further arguments of the compiler and of the linker.
        checked : bool, optional
            Whether accesses are to be checked or counted.

        Raises
        ------
        KernelCompileError
            With the compiler's log.
        EngineUnavailableError
            There is no folder to build in.
        """
        digest = self._digest(parts, (*flags, *links, str(checked)))
        # Clang's precompiled headers hold the times and places of the files that they were made of.
        same = flags == INCLUDED and not self.is_clang
        folder = cache_folder()
        target = folder / f"{_UNNAMED.sub('_', stem)[:80]}-{digest[:32]}.so"
        if target.exists():
            return target
        shared = self._digest(parts[1:], ()) if same else ""
        self.build(target, source, parts, flags, links, checked=checked, headers=shared)
        return target

    def build(
        self,
        target: Path,
        source: str,
        parts: tuple[tuple[str, str], ...],
        flags: tuple[str, ...],
        links: tuple[str, ...],
        *,
        checked: bool = False,
        headers: str = "",
    ) -> None:
        """Build a shared library from ``parts``, the first of which is compiled.

        ``headers`` is a digest of the others where the first of them may be precompiled. Raises
        as `library` does.
        """
        with building(target) as build:
            write(parts, build)
            Job(
                source,
                self.command,
                self.is_zig,
                self.is_clang,
                build,
                parts[0][0],
                flags,
                links,
                target.name,
                checked,
                headers,
            ).run()

    @property
    def is_zig(self) -> bool:
        """Whether this is the C++ compiler of Zig, as the Python package ziglang brings it."""
        return self.command[-1] == "c++" and Path(self.command[-2:][0]).stem in {"zig", "ziglang"}

    @property
    def is_clang(self) -> bool:
        """Whether this is Clang, under whatever name."""
        return "clang" in self.version or self.is_zig

    def runtime(self, flags: tuple[str, ...] = (), *, checked: bool = False) -> Path:
        """Return the simulator's runtime library, or the one that checks."""
        parts = _read(_CHECKED_RUNTIME if checked else _RUNTIME)
        flags = (*flags, "-DCK_SIM_CHECKED") if checked else flags
        stem = "checked" if checked else "runtime"
        name = f"libcudakern_{stem}_{self._digest(parts, flags)[:16]}.so"
        try:
            return self.library(stem, parts[0][0], parts, flags, shared_name(name))
        except KernelCompileError as error:
            message = (
                f"cudakern: {shlex.join(self.command)} must compile C++17 programs, set "
                f"CUDAKERN_CXX to a compiler that does or run: pip install ziglang; {error}"
            )
            raise EngineUnavailableError(message) from error

    def kernels(self, code: KernelText, entries: tuple[str, ...]) -> Path:
        """Return the library of a checked text, whose ``ck_sim_entry_i`` calls entry ``i``.

        Parameters
        ----------
        code : KernelText
            CUDA C++ with its includes in place.
        entries : tuple of str
            Names of ``__global__`` functions, or expressions such as ``"scale<float>"``.
        """
        trailer = "".join(
            f"\nCK_SIM_EXPORT CK_SIM_UNCHECKED void ck_sim_entry_{i}(void** addresses) "
            f"{{ ck_sim::invoke({entry}, addresses); }}\n"
            f"CK_SIM_EXPORT uint32_t ck_sim_parameters_{i}(const uint32_t** found) "
            f"{{ return ck_sim::parameters({entry}, found); }}\n"
            for i, entry in enumerate(entries)
        )
        runtime = self.runtime(checked=True)
        parts = code.parts(trailer)
        flags = (*code.flags, *INCLUDED)
        stem = entries[0] if entries else "kernels"
        # What is declared and nowhere defined is an error here, not when the library is loaded.
        links = (str(runtime), *(() if sys.platform == "darwin" else ("-Wl,-z,defs",)))
        try:
            return self.library(stem, code.source, parts, flags, links, checked=True)
        except KernelCompileError as error:
            summary = explain(code.text, error.log)
            raise KernelCompileError(code.source, error.options, error.log, summary) from None

    def _digest(self, parts: tuple[tuple[str, str], ...], arguments: tuple[str, ...]) -> str:
        # The machine too: a home folder can be shared by machines of different kinds.
        machine = (sys.platform, platform.machine())
        (name, text), *shared = parts
        texts = (name, _sha256(text), _of_all(tuple(shared)), _of_all(_read(_STEPS)))
        return _sha256(repr((self.command, self.version, machine, texts, arguments)))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=16)
def _of_all(parts: tuple[tuple[str, str], ...]) -> str:
    """Return a digest of files that many libraries are made of."""
    return _sha256(repr(parts))


def _candidates() -> list[tuple[str, tuple[str, ...]]]:
    found: list[tuple[str, tuple[str, ...]]] = []
    for variable in ("CUDAKERN_CXX", "CXX"):
        value = os.environ.get(variable)
        if value:
            found.append((variable, tuple(shlex.split(value))))
    found += [(name, (name,)) for name in ("c++", "g++", "clang++")]
    if importlib.util.find_spec("ziglang") is not None:
        found.append(("ziglang", (sys.executable, "-m", "ziglang", "c++")))
    return found


def _version(command: tuple[str, ...]) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        result = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = result.stdout.splitlines()
    return lines[0] if result.returncode == 0 and lines else None


def find_toolchain() -> Toolchain:
    """Return the first compiler of ``CUDAKERN_CXX``, ``CXX``, c++, g++, clang++, ziglang.

    Raises
    ------
    EngineUnavailableError
        There is none, or ``CUDAKERN_CXX`` names one that does not run.
    """
    return _find(os.environ.get("CUDAKERN_CXX"), os.environ.get("CXX"), os.environ.get("PATH"))


@lru_cache(maxsize=8)
def _find(*_environment: str | None) -> Toolchain:
    for origin, command in _candidates():
        version = _version(command)
        if version is not None:
            return Toolchain(command, version)
        if origin == "CUDAKERN_CXX":
            found = shlex.join(command)
            message = f"cudakern: CUDAKERN_CXX must name a C++ compiler; {found} does not run"
            raise EngineUnavailableError(message)
    message = (
        "cudakern: the simulator needs a C++17 compiler and found none; "
        "install g++ or clang++, or run: pip install ziglang"
    )
    raise EngineUnavailableError(message)
