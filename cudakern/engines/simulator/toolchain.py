"""The host compiler: found, asked for its version, its objects cached by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cudakern.errors import EngineUnavailableError, KernelCompileError

_HERE = Path(__file__).resolve().parent
_HEADERS = ("cuda_host.hpp", "runtime.hpp", "vector_types.hpp", "atomics.hpp", "intrinsics.hpp")
_RUNTIME = ("runtime.cpp", "runtime.hpp", "context.hpp", "faults.hpp")
# -fno-tree-vectorize: g++ 12 makes a conditional 16-byte load unconditional and forgets that only
# the condition vouched for its alignment.
# -ffp-contract=off: float results must not depend on whether the host has fused multiply-add.
_FLAGS = (
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-tree-vectorize",
    "-w",
)


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

    def library(self, name: str, parts: tuple[tuple[str, str], ...], arguments: tuple[str, ...]) -> Path:
        """Return a shared library built from ``parts``, compiling it unless it is cached.

        Parameters
        ----------
        name : str
            Stem of the file name.
        parts : tuple of (file name, text)
            What is written into the build folder; the first is compiled.
        arguments : tuple of str
            Compiler arguments after the source file.

        Raises
        ------
        KernelCompileError
            With the compiler's log.
        """
        digest = hashlib.sha256(
            repr((self.command, self.version, _FLAGS, parts, arguments)).encode()
        ).hexdigest()[:32]
        target = cache_folder() / f"{name}-{digest}.so"
        if target.exists():
            return target
        # Built in a folder of its own and renamed: two processes can share the cache.
        with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="build-") as build:
            for file_name, text in parts:
                (Path(build) / file_name).write_text(text, encoding="utf-8")
            built = Path(build) / target.name
            command = [*self.command, *_FLAGS, "-shared", parts[0][0], *arguments, "-o", target.name]
            result = subprocess.run(
                command, cwd=build, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
            )
            if result.returncode != 0:
                raise KernelCompileError(name, tuple(command), result.stderr or result.stdout)
            built.replace(target)
        return target

    def runtime(self) -> Path:
        """Return the simulator's runtime library."""
        parts = tuple((name, (_HERE / name).read_text(encoding="utf-8")) for name in _RUNTIME)
        digest = hashlib.sha256(repr((self.command, self.version, parts)).encode()).hexdigest()[:16]
        soname = () if sys.platform == "darwin" else (f"-Wl,-soname,libcudakern_simulator_{digest}.so",)
        return self.library("runtime", parts, (*soname, "-pthread"))

    def kernel(self, name: str, text: str, entry: str, macros: tuple[tuple[str, str], ...]) -> Path:
        """Return the library of one kernel, whose ``ck_sim_entry`` calls ``entry``."""
        trailer = (
            f"\nCK_SIM_EXPORT void ck_sim_entry(void** addresses) "
            f"{{ ck_sim::invoke({entry}, addresses); }}\n"
            f"CK_SIM_EXPORT size_t ck_sim_parameter_bytes() "
            f"{{ return ck_sim::parameter_bytes({entry}); }}\n"
        )
        parts = (
            ("kernel.cpp", text + trailer),
            *((header, (_HERE / header).read_text(encoding="utf-8")) for header in _HEADERS),
        )
        defines = tuple(f"-D{key}={value}" for key, value in macros)
        runtime = str(self.runtime())
        return self.library(name, parts, (*defines, "-include", "cuda_host.hpp", runtime))


def cache_folder() -> Path:
    """Return the folder of compiled host kernels (``CUDAKERN_CACHE_DIR``), creating it.

    The default is ``cudakern`` below ``XDG_CACHE_HOME`` or ``~/.cache``; where that cannot be
    written, a folder of this user below the system's temporary folder.
    """
    given = os.environ.get("CUDAKERN_CACHE_DIR")
    if given:
        return _writable(Path(given).expanduser(), required=True)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    try:
        return _writable(Path(base) / "cudakern", required=True)
    except EngineUnavailableError:
        user = getattr(os, "getuid", lambda: "user")()
        return _writable(Path(tempfile.gettempdir()) / f"cudakern-{user}", required=True)


@lru_cache(maxsize=8)
def _writable(folder: Path, *, required: bool) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"cudakern: CUDAKERN_CACHE_DIR must be a writable folder; {folder}: {error.strerror}"
        raise EngineUnavailableError(message) from error
    if required and not os.access(folder, os.W_OK | os.X_OK):
        message = f"cudakern: CUDAKERN_CACHE_DIR must be a writable folder; {folder} is not"
        raise EngineUnavailableError(message)
    return folder


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
            message = f"cudakern: CUDAKERN_CXX must name a C++ compiler; {shlex.join(command)} does not run"
            raise EngineUnavailableError(message)
    message = (
        "cudakern: the simulator needs a C++17 compiler and found none; "
        "install g++ or clang++, or run: pip install ziglang"
    )
    raise EngineUnavailableError(message)
