"""The C++ compiler: found, asked for its version, run; what it makes is cached by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cudakern.engines.cache import building, cache_folder
from cudakern.errors import EngineUnavailableError, KernelCompileError
from cudakern.simulator.structures import LAYOUT_DIFFERS, layout_checks

FLAGS = (
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    # Float results must not depend on whether the host has fused multiply-add.
    "-ffp-contract=off",
    # As on the GPU: integers wrap, address zero is a fault like any other, a loop can be endless.
    "-fwrapv",
    "-fno-delete-null-pointer-checks",
    "-fno-finite-loops",
    "-fno-sanitize=undefined",  # ziglang's default
    # A large frame must touch the guard page on its way.
    "-fstack-clash-protection",
    "-UNDEBUG",  # ziglang's default too
    "-w",
)
#: Of GCC alone. Version 12 merges an aligned and an unaligned load of the same address into an
#: aligned one. Registers of a function as a whole are allocated sooner than those of its loops.
_GCC_FLAGS = ("-fno-if-conversion", "-fira-region=one")
#: Neither kernels nor runtimes need the C++ library; to link it takes a fifth of a small kernel's
#: time.
_GCC_LINKS = ("-nodefaultlibs", "-lm", "-lpthread", "-lc", "-lgcc")
_HERE = Path(__file__).resolve().parent
#: The first file of the plain runtime and of the checked one; all headers come with it.
_RUNTIME, _CHECKED_RUNTIME = "runtime.cpp", "checked.cpp"

Parts = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C++17 compiler."""

    command: tuple[str, ...]  # its command line starts with
    version: str  # the first line that --version prints
    is_gcc: bool = False  # by the copyright that --version prints

    @property
    def is_zig(self) -> bool:
        """Whether this is the C++ compiler of Zig, as the Python package ziglang brings it."""
        return self.command[-1] == "c++" and Path(self.command[-2:][0]).stem in {"zig", "ziglang"}

    def digest(self, *more: str) -> str:
        """Return a digest of the compiler, how it is run, the machine, and more."""
        # The machine: a home folder can be shared by machines of different kinds.
        machine = (sys.platform, platform.machine())
        own = (*self.command, self.version, *machine, *FLAGS, *_GCC_FLAGS, *_GCC_LINKS)
        return hashlib.sha256("\0".join((*own, *more)).encode()).hexdigest()[:32]

    def runtime(self, *, checked: bool = False) -> Path:
        """Return the simulator's runtime library, or the one that checks, building it at need.

        EngineUnavailableError tells that the compiler does not compile it, or that there is no
        folder to build in, KernelCompileError that Python has a structure otherwise.
        """
        first = _CHECKED_RUNTIME if checked else _RUNTIME
        parts = runtime_parts(first)
        flags = ("-O2", *(("-DCK_SIM_CHECKED",) if checked else ()))
        name = f"libcudakern_{Path(first).stem}_{self.digest(*flags, _digest_of(parts))}.so"
        target = cache_folder() / name
        if target.exists():
            return target
        try:
            # The kernels' libraries ask for it by this name.
            self.build(target, first, parts, flags, (f"-Wl,-soname,{name}",))
        except KernelCompileError as error:
            if LAYOUT_DIFFERS in str(error):
                raise
            message = (
                f"cudakern: {shlex.join(self.command)} must compile C++17 programs, set "
                f"CUDAKERN_CXX to a compiler that does or run: pip install ziglang; {error}"
            )
            raise EngineUnavailableError(message) from error
        return target

    def build(
        self,
        target: Path,
        source: str,
        parts: Parts,
        flags: tuple[str, ...],
        links: tuple[str, ...],
    ) -> None:
        """Build a shared library in the cache folder: write the parts, compile the first.

        ``flags`` are further arguments of the compiler, ``links`` of the linker. KernelCompileError
        names ``source`` and has the compiler's log; EngineUnavailableError tells that there is no
        folder to build in.
        """
        with building(target) as folder:
            for name, text in parts:
                (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")
            compiled = (*FLAGS, *flags, parts[0][0])
            if not self.is_zig:
                own, last = (_GCC_FLAGS, _GCC_LINKS) if self.is_gcc else ((), ())
                command = (*self.command, *compiled, *own, "-pthread", "-shared", *links, *last)
                _execute(source, (*command, "-o", target.name), folder)
                return
            _execute(source, (*self.command, *compiled, "-c", "-o", "kernel.o"), folder)
            # Told to link C++, ziglang compiles a C++ library first, for a minute; kernels need
            # none.
            link = (*self.command[:-1], "cc", "-fno-sanitize=undefined", "-shared", "kernel.o")
            _execute(source, (*link, *links, "-lm", "-pthread", "-o", target.name), folder)


@lru_cache(maxsize=2)
def runtime_parts(first: str) -> Parts:
    """Return the files of a runtime, this one first, by name: no two have the same.

    The first one does not compile unless Python has the structures as the compiler has them.
    """
    rooms = ("runtime", "checker") if first == _CHECKED_RUNTIME else ("runtime",)
    files = {path.name: path for room in rooms for path in (_HERE / room).iterdir()}
    names = [first, *sorted(name for name in files if name.endswith(".hpp"))]
    texts = [files[name].read_text(encoding="utf-8") for name in names]
    texts[0] += layout_checks(rooms)
    return tuple(zip(names, texts, strict=True))


@lru_cache(maxsize=4)
def _digest_of(parts: Parts) -> str:
    """Return a digest of files; that of the runtime is asked for with each kernel."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


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


def _candidates() -> list[tuple[str, tuple[str, ...]]]:
    candidates: list[tuple[str, tuple[str, ...]]] = []
    for variable in ("CUDAKERN_CXX", "CXX"):
        value = os.environ.get(variable)
        if value:
            candidates.append((variable, tuple(shlex.split(value))))
    candidates += [(name, (name,)) for name in ("c++", "g++", "clang++")]
    if importlib.util.find_spec("ziglang") is not None:
        candidates.append(("ziglang", (sys.executable, "-m", "ziglang", "c++")))
    return candidates


def _asked(command: tuple[str, ...]) -> Toolchain | None:
    """Return a compiler by what it tells about itself; None if it does not run."""
    if shutil.which(command[0]) is None:
        return None
    try:
        result = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if result.returncode != 0 or not result.stdout:
        return None
    is_gcc = "Free Software Foundation" in result.stdout
    return Toolchain(command, result.stdout.splitlines()[0], is_gcc)


def find_toolchain() -> Toolchain:
    """Return the first compiler of ``CUDAKERN_CXX``, ``CXX``, c++, g++, clang++, ziglang.

    EngineUnavailableError tells that there is none, or that the one of ``CUDAKERN_CXX`` does not
    run.
    """
    return _find(os.environ.get("CUDAKERN_CXX"), os.environ.get("CXX"), os.environ.get("PATH"))


@lru_cache(maxsize=8)
def _find(*_environment: str | None) -> Toolchain:
    for origin, command in _candidates():
        toolchain = _asked(command)
        if toolchain is not None:
            return toolchain
        if origin == "CUDAKERN_CXX":
            line = shlex.join(command)
            message = f"cudakern: CUDAKERN_CXX must name a C++ compiler; {line} does not run"
            raise EngineUnavailableError(message)
    message = (
        "cudakern: the simulator needs a C++17 compiler and found none; "
        "install g++ or clang++, or run: pip install ziglang"
    )
    raise EngineUnavailableError(message)
