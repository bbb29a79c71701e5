"""The C++ compiler: its search, its version, its runs; its results are cached by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.compilation.cache import (
    compiler_folder,
    find_file,
    is_exhausted,
    make,
    report_exhaustion,
)
from cudakern.compilation.waits import KERNELS, ZIGLANG, announce, make_announcer
from cudakern.errors import EngineUnavailableError, KernelCompileError, describe_value
from cudakern.process.forks import PATIENCE
from cudakern.simulator.runtime.abi import LAYOUT_DIFFERS, layout_checks
from cudakern.values.layout import MULTIPROCESSORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from cudakern.process.forks import Cancelled

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
#: Neither kernels nor runtimes need the C++ library. What kernels need of C's is there, since
#: runtimes have loaded it: to link it takes a fifth of a small kernel's time.
_GCC_RUNTIME_LINKS = ("-nodefaultlibs", "-Wl,--no-as-needed", "-lm", "-lpthread", "-lc", "-lgcc")
_GCC_KERNEL_LINKS = ("-nostdlib", "-lgcc")
_SIMULATOR = Path(__file__).resolve().parents[1]
#: The first file of the plain runtime and of the checked one; all headers come with it.
_RUNTIME, _CHECKED_RUNTIME = "runtime.cpp", "checked.cpp"

_ET_DYN = 3  # what ELF calls a shared library
#: Messages of compilers when the program that they compile is not at fault.
_ENDED = re.compile(
    r"^.*(No space left on device|Disk quota exceeded|File too large|Too many open files"
    r"|Cannot allocate memory|virtual memory exhausted|out of memory|Read-only file system"
    r"|(File size limit exceeded|Killed|Terminated|Bus error|CPU time limit exceeded) signal "
    r"|unable to execute command: (?!Segmentation)|NoSpaceLeft|FileTooBig|OutOfMemory).*$",
    re.MULTILINE,
)

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
        return self.command[-1] == "c++" and _is_zig(self.command[-2:][0])

    def digest(self, *more: str) -> str:
        """Return a digest of the compiler, how it is run, the machine, and more."""
        # The machine: a home folder can be shared by machines of different kinds.
        machine = (sys.platform, platform.machine(), *platform.libc_ver())
        own = (*self.command, self.version, *machine, _own_text())
        return hashlib.sha256("\0".join((*own, *more)).encode()).hexdigest()[:32]

    def runtime(
        self, *, checked: bool = False, meanwhile: Callable[[], object] | None = None
    ) -> Path:
        """Return the simulator's runtime library, or the one that checks, building it at need.

        ``meanwhile`` is called only while it is built.
        """
        first = _CHECKED_RUNTIME if checked else _RUNTIME
        parts = runtime_parts(first)
        which = ("-DCK_SIM_CHECKED",) if checked else ()
        flags = ("-O2", f"-DCK_SIM_MULTIPROCESSORS={MULTIPROCESSORS}", *which)
        name = f"libcudakern_{Path(first).stem}_{self.digest(*flags, _digest_of(parts))}.so"
        file = find_file(name)
        if file is not None:
            return file.path
        try:
            # The kernels' libraries ask for it by this name.
            return self.build(name, first, parts, flags, (f"-Wl,-soname,{name}",), meanwhile)
        except KernelCompileError as error:
            if LAYOUT_DIFFERS in str(error):
                raise
            raise self._unfit_error(str(error)) from error

    def build(
        self,
        name: str,
        source: str,
        parts: Parts,
        flags: tuple[str, ...],
        links: tuple[str, ...],
        meanwhile: Callable[[], object] | None = None,
        part: str = "",
    ) -> Path:
        """Build a shared library in the cache folder: write the parts, compile the first.

        ``flags`` are further arguments of the compiler, ``links`` of the linker; errors
        name ``source``, messages also what ``part`` of it is compiled.
        """

        def write(folder: Path, cancelled: Cancelled) -> None:
            def execute(*command: str) -> None:
                _execute(source, command, folder, cancelled)

            for file_name, text in parts:
                (folder / file_name).write_text(text, encoding="utf-8", errors="surrogatepass")
            compiled = (*self.command, *FLAGS, *flags, parts[0][0])
            if not self.is_zig:
                own = _GCC_FLAGS if self.is_gcc else ()
                last = (_GCC_KERNEL_LINKS if part else _GCC_RUNTIME_LINKS) if own else ()
                execute(*compiled, *own, "-pthread", "-shared", *links, *last, "-o", name)
            else:
                execute(*compiled, "-c", "-o", "kernel.o")
                # To link C++, ziglang would first compile a C++ library, for a minute; kernels need
                # none.
                link = (*self.command[:-1], "cc", "-fno-sanitize=undefined", "-shared", "kernel.o")
                execute(*link, *links, "-lm", "-pthread", "-o", name)
            if not _is_library(folder / name):
                raise self._unfit_error("it says that it did, and made no shared library")

        kind = ZIGLANG if self.is_zig else KERNELS
        doing = f"compiling {Path(source).name}{part}"
        return make(name, write, make_announcer(kind, doing), meanwhile).path

    def _unfit_error(self, problem: str) -> EngineUnavailableError:
        return EngineUnavailableError(
            f"cudakern: {shlex.join(self.command)} must compile C++17 programs, set "
            f"CUDAKERN_CXX to a compiler that does or run: pip install ziglang; {problem}"
        )


@lru_cache(maxsize=2)
def runtime_parts(first: str) -> Parts:
    """Return the files of a runtime, ``first`` before the others, with their names.

    It compiles only if Python and the compiler lay out structures alike.
    """
    rooms = ("runtime", "checker") if first == _CHECKED_RUNTIME else ("runtime",)
    files = {path.name: path for room in rooms for path in (_SIMULATOR / room).iterdir()}
    names = [first, *sorted(name for name in files if name.endswith(".hpp"))]
    texts = [files[name].read_text(encoding="utf-8") for name in names]
    texts[0] += layout_checks(rooms)
    return tuple(zip(names, texts, strict=True))


@cache
def _own_text() -> str:
    """Return the text of this file, which decides how the compiler is run."""
    return Path(__file__).read_text(encoding="utf-8")


@lru_cache(maxsize=4)
def _digest_of(parts: Parts) -> str:
    """Return a digest of files; each kernel needs that of the runtime."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _is_zig(word: str) -> bool:
    return Path(word).stem in {"zig", "ziglang"}


def _is_library(path: Path) -> bool:
    """Return whether a file is there that looks like a shared library."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(18)
    return head.startswith(b"\x7fELF") and int.from_bytes(head[16:], sys.byteorder) == _ET_DYN


def _execute(source: str, command: tuple[str, ...], folder: Path, cancelled: Cancelled) -> None:
    # Logs are searched for the word "error". Temporary files go with the build's folder.
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": "."}
    if any(_is_zig(word) for word in command[:3]):
        # It needs a cache of its own, even without a home folder.
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(compiler_folder(folder)))
    try:
        status, said = _run(command, folder, environment, cancelled)
    except OSError as error:
        if is_exhausted(error):
            raise
        message = f"cudakern: the compiler {shlex.join(command[:1])} must run; {error.strerror}"
        raise EngineUnavailableError(message) from error
    reason = _ENDED.search(said)
    if status < 0 or (status and reason):
        what = reason[0].strip() if reason else f"killed by {signal.Signals(-status).name}"
        message = f"cudakern: the compiler {shlex.join(command[:1])} must have the memory, disk "
        raise EngineUnavailableError(message + f"space and files that it needs; got: {what}")
    if status:
        raise KernelCompileError(source, command, said)


def _run(
    command: tuple[str, ...], folder: Path, environment: dict[str, str], cancelled: Cancelled
) -> tuple[int, str]:
    """Return a program's status and output; once cancelled, end it and all that it started."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        process_group=0,
    ) as process:
        while True:
            try:
                out, said = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                if cancelled:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
            else:
                return process.returncode, said or out


def _list_candidates() -> list[tuple[str, tuple[str, ...]]]:
    candidates: list[tuple[str, tuple[str, ...]]] = []
    for variable in ("CUDAKERN_CXX", "CXX"):
        value = os.environ.get(variable, "")
        problem = "no word"
        try:
            words = tuple(shlex.split(value))
        except ValueError as error:  # a quote that is not closed
            words, problem = (), str(error)
        if words:
            candidates.append((variable, words))
        elif value and variable == "CUDAKERN_CXX":
            message = "cudakern: CUDAKERN_CXX must name a C++ compiler; "
            raise EngineUnavailableError(message + f"got {describe_value(value)}: {problem}")
    candidates += [(name, (name,)) for name in ("c++", "g++", "clang++")]
    if importlib.util.find_spec("ziglang") is not None:
        candidates.append(("ziglang", (sys.executable, "-m", "ziglang", "c++")))
    return candidates


def _ask_version(command: tuple[str, ...]) -> Toolchain | None:
    """Return a compiler with its version; None if it does not run."""
    if shutil.which(command[0]) is None:
        return None
    asked = [*command, "--version"]
    waiting = announce(ZIGLANG, "starting ziglang") if _is_zig(command[-2:][0]) else nullcontext()
    try:
        with waiting:
            result = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        if isinstance(error, OSError) and is_exhausted(error):
            raise
        return None
    if result.returncode != 0 or not result.stdout:
        return None
    is_gcc = "Free Software Foundation" in result.stdout
    return Toolchain(command, result.stdout.splitlines()[0], is_gcc)


def find_toolchain() -> Toolchain:
    """Return the first compiler of ``CUDAKERN_CXX``, ``CXX``, c++, g++, clang++, ziglang."""
    return _find(os.environ.get("CUDAKERN_CXX"), os.environ.get("CXX"), os.environ.get("PATH"))


@lru_cache(maxsize=8)
@report_exhaustion()
def _find(*_environment: str | None) -> Toolchain:
    for origin, command in _list_candidates():
        toolchain = _ask_version(command)
        if toolchain is not None:
            return toolchain
        if origin == "CUDAKERN_CXX":
            line = shlex.join(command)
            message = f"cudakern: CUDAKERN_CXX must name a C++ compiler; {line} does not run"
            raise EngineUnavailableError(message)
    message = "cudakern: the simulator needs a C++17 compiler and found none; "
    raise EngineUnavailableError(message + "install g++ or clang++, or run: pip install ziglang")
