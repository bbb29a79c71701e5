"""How a library is built from C++: the commands, and what is changed in the text between them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.engines.simulator.instrument import pad_shared, patch_ir
from cudakern.errors import KernelCompileError

if TYPE_CHECKING:
    from collections.abc import Callable

FLAGS = (
    "-std=c++17",
    "-O2",
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
#: g++ 12 merges an aligned and an unaligned load of the same address into an aligned one. Clang has
#: no such option and ignores it; ziglang refuses it.
UNLESS_ZIG = ("-fno-if-conversion",)
#: Calls of the thread sanitizer's entry points; the library that answers them is our runtime.
_CALLS_GCC = (
    "-fsanitize=thread",
    "--param=tsan-distinguish-volatile=1",
    "--param=tsan-instrument-func-entry-exit=0",
)
_CALLS_CLANG = (
    "-fsanitize=thread",
    *("-mllvm", "-tsan-distinguish-volatile=1"),
    *("-mllvm", "-tsan-instrument-func-entry-exit=0"),
)
#: With the debugger's view of inlined calls, and vector accesses in one piece, as on a GPU.
_CHECKED = ("-g", "-DCK_SIM_CHECKED")
_CHECKED_GCC = (
    *_CALLS_GCC,
    "-fno-tree-sra",
    "-fno-crossjumping",
    "-fno-tree-tail-merge",
    "-fno-partial-inlining",
)
_CHECKED_CLANG = (
    *_CALLS_CLANG,
    *("-mllvm", "-tsan-instrument-memintrinsics=0"),
    *("-mllvm", "-tsan-instrument-read-before-write=1"),
    *("-mllvm", "-simplifycfg-sink-common=false"),
    "-fno-unroll-loops",
    "-fno-slp-vectorize",
    "-fno-vectorize",
)


class Mode(Enum):
    """What a kernel is compiled for."""

    #: To run fast.
    PLAIN = "plain"
    #: As plain, but volatile reads let other threads run: for a text with the word ``volatile``.
    POLLING = "polling"
    #: To have every access checked or counted.
    CHECKED = "checked"


@dataclass(frozen=True, slots=True)
class Job:
    """A library to be built in a folder from ``file_name`` there.

    Attributes
    ----------
    source : str
        What errors name.
    command : tuple of str
        The compiler.
    is_zig, is_clang : bool
        Its kind.
    flags, links : tuple of str
        Further arguments of the compiler and the linker.
    """

    source: str
    command: tuple[str, ...]
    is_zig: bool
    is_clang: bool
    folder: Path
    file_name: str
    flags: tuple[str, ...]
    links: tuple[str, ...]
    target: str

    def run(self, mode: Mode) -> None:
        """Build the library.

        Raises
        ------
        KernelCompileError
            With the compiler's log.
        """
        start = (*self.command, *FLAGS, *(() if self.is_zig else UNLESS_ZIG), *self.flags)
        if mode is Mode.PLAIN and not self.is_zig:
            shared = ("-shared", self.file_name, *self.links, "-pthread", "-o", self.target)
            self._execute((*start, *shared))
            return
        if mode is Mode.CHECKED:
            self._assemble(start)
        else:
            calls = _CALLS_CLANG if self.is_clang else _CALLS_GCC
            more = ("-DCK_SIM_POLLING", *calls) if mode is Mode.POLLING else ()
            self._execute((*start, *more, "-c", self.file_name, "-o", "kernel.o"))
        self._link()

    def _assemble(self, start: tuple[str, ...]) -> None:
        assembly = self.folder / "kernel.s"
        if self.is_clang:
            code = self.folder / "kernel.ll"
            emit = ("-S", "-emit-llvm", self.file_name, "-o", code.name)
            self._execute((*start, *_CHECKED, *_CHECKED_CLANG, *emit))
            _change(code, patch_ir)
            # Branches that end alike stay apart, here too: they have different source lines.
            again = ("-g", "-Xclang", "-disable-llvm-passes", "-mllvm", "-enable-tail-merge=false")
            self._execute((*self.command, *FLAGS, *again, "-S", code.name, "-o", assembly.name))
        else:
            one_step = (*start, *_CHECKED, *_CHECKED_GCC, "-S", self.file_name)
            self._execute((*one_step, "-o", assembly.name))
        _change(assembly, pad_shared)
        self._execute((*self.command, "-w", "-c", assembly.name, "-o", "kernel.o"))

    def _link(self) -> None:
        # Told to link C++, ziglang compiles a C++ library first, for a minute; kernels need none.
        command = self.command
        if self.is_zig:
            command = (*command[:-1], "cc", "-fno-sanitize=undefined")
        tail = ("-lm", "-pthread", "-o", self.target)
        self._execute((*command, "-shared", "kernel.o", *self.links, *tail))

    def _execute(self, command: tuple[str, ...]) -> None:
        result = execute(command, self.folder)
        if result.returncode != 0:
            raise KernelCompileError(self.source, command, result.stderr or result.stdout)


def _change(path: Path, patch: Callable[[str], str]) -> None:
    text = path.read_text(encoding="utf-8", errors="surrogateescape")  # strings hold any byte
    path.write_text(patch(text), encoding="utf-8", errors="surrogateescape")


def execute(command: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a compiler in a folder."""
    environment = {**os.environ, "LC_ALL": "C"}  # logs are read for the word "error"
    # ziglang wants a cache of its own, also where there is no home folder.
    environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(folder.parent / "zig"))
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def shared_name(name: str) -> tuple[str, ...]:
    """Return the linker's arguments that name a library for those linked against it."""
    return () if sys.platform == "darwin" else (f"-Wl,-soname,{name}",)
