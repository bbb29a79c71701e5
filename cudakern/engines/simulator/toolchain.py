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
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cudakern.engines.simulator.cache import cache_folder
from cudakern.errors import EngineUnavailableError, KernelCompileError

__all__ = ["Toolchain", "cache_folder", "find_toolchain"]

_HERE = Path(__file__).resolve().parent
#: What a kernel sees, and what the runtime is made of; the first of the latter is compiled.
_HEADERS = ("cuda_host.hpp", "runtime.hpp", "vector_types.hpp", "atomics.hpp", "intrinsics.hpp")
_RUNTIME = (
    "runtime.cpp",
    "runtime.hpp",
    "collectives.hpp",
    "context.hpp",
    "faults.hpp",
    "scheduler.hpp",
    "stacks.hpp",
    "watch.hpp",
    "workers.hpp",
)
_FLAGS = (
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    # Float results must not depend on whether the host has fused multiply-add.
    "-ffp-contract=off",
    # As on the GPU: integers wrap, and address zero is a fault like any other.
    "-fwrapv",
    "-fno-delete-null-pointer-checks",
    "-fno-sanitize=undefined",  # ziglang's default
    # A large frame must touch the guard page on its way.
    "-fstack-clash-protection",
    "-UNDEBUG",  # ziglang's default too
    "-w",
)
#: g++ 12 merges an aligned and an unaligned load of the same address into an aligned one. Clang has
#: no such option and ignores it; ziglang refuses it.
_UNLESS_ZIG = ("-fno-if-conversion",)
_INCLUDED = ("-include", "cuda_host.hpp")
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

        Raises
        ------
        KernelCompileError
            With the compiler's log.
        EngineUnavailableError
            There is no folder to build in.
        """
        digest = self._digest(parts, (*flags, *links))
        folder = cache_folder()
        target = folder / f"{_UNNAMED.sub('_', stem)[:80]}-{digest[:32]}.so"
        if target.exists():
            return target
        try:
            # Built in a folder of its own and renamed: two processes can share the cache.
            with tempfile.TemporaryDirectory(dir=folder, prefix="build-") as build:
                for file_name, text in parts:
                    (Path(build) / file_name).write_text(text, encoding="utf-8")
                for command in self._commands(parts[0][0], flags, links, target.name):
                    _execute(source, command, Path(build))
                (Path(build) / target.name).replace(target)
        except OSError as error:
            message = f"cudakern: compiled kernels must be written to {folder}; {error}"
            raise EngineUnavailableError(message) from error
        return target

    @property
    def is_zig(self) -> bool:
        """Whether this is the C++ compiler of Zig, as the Python package ziglang brings it."""
        return self.command[-1] == "c++" and Path(self.command[-2:][0]).stem in {"zig", "ziglang"}

    def runtime(self, flags: tuple[str, ...] = ()) -> Path:
        """Return the simulator's runtime library."""
        parts = _read(_RUNTIME)
        name = f"libcudakern_simulator_{self._digest(parts, flags)[:16]}.so"
        links = () if sys.platform == "darwin" else (f"-Wl,-soname,{name}",)
        try:
            return self.library("runtime", "runtime.cpp", parts, flags, links)
        except KernelCompileError as error:
            message = (
                f"cudakern: {shlex.join(self.command)} must compile C++17 programs, set "
                f"CUDAKERN_CXX to a compiler that does or run: pip install ziglang; {error}"
            )
            raise EngineUnavailableError(message) from error

    def kernel(
        self, source: str, text: str, entry: str, macros: tuple[tuple[str, str], ...]
    ) -> Path:
        """Return the library of one kernel, whose ``ck_sim_entry`` calls ``entry``.

        Parameters
        ----------
        source : str
            Name of the kernel's file, for errors.
        text : str
            CUDA C++ with its includes in place.
        entry : str
            Name of the ``__global__`` function.
        macros : tuple of (str, str)
            What the text is compiled with.
        """
        trailer = (
            f"\nCK_SIM_EXPORT void ck_sim_entry(void** addresses) "
            f"{{ ck_sim::invoke({entry}, addresses); }}\n"
            f"CK_SIM_EXPORT uint32_t ck_sim_parameter_sizes(const uint32_t** sizes) "
            f"{{ return ck_sim::parameter_sizes({entry}, sizes); }}\n"
        )
        named = text if text.startswith("#line") else f'#line 1 "{source}"\n{text}'
        # Not as -D: the simulator's own headers must not see them.
        defines = "".join(f"#define {key} {value}\n" for key, value in macros)
        parts = (("kernel.cpp", defines + named + trailer), *_read(_HEADERS))
        return self.library(entry, source, parts, _INCLUDED, (str(self.runtime()),))

    def _digest(self, parts: tuple[tuple[str, str], ...], arguments: tuple[str, ...]) -> str:
        # The machine too: a home folder can be shared by machines of different kinds.
        machine = (sys.platform, platform.machine())
        key = (self.command, self.version, machine, _FLAGS, _UNLESS_ZIG, parts, arguments)
        return hashlib.sha256(repr(key).encode()).hexdigest()

    def _commands(
        self, file_name: str, flags: tuple[str, ...], links: tuple[str, ...], target: str
    ) -> list[tuple[str, ...]]:
        """Return the command lines that make a library of one file."""
        start = (*self.command, *_FLAGS, *flags)
        if not self.is_zig:
            return [(*start, *_UNLESS_ZIG, "-shared", file_name, *links, "-pthread", "-o", target)]
        # Told to link C++, ziglang compiles a C++ library first, for a minute; kernels need none.
        link = (*self.command[:-1], "cc", "-fno-sanitize=undefined", "-shared", "kernel.o")
        return [
            (*start, "-c", file_name, "-o", "kernel.o"),
            (*link, *links, "-lm", "-pthread", "-o", target),
        ]


def _execute(source: str, command: tuple[str, ...], folder: Path) -> None:
    environment = {**os.environ, "LC_ALL": "C"}  # logs are read for the word "error"
    # ziglang wants a cache of its own, also where there is no home folder.
    environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(folder.parent / "zig"))
    result = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if result.returncode != 0:
        raise KernelCompileError(source, command, result.stderr or result.stdout)


def _read(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, (_HERE / name).read_text(encoding="utf-8")) for name in names)


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
