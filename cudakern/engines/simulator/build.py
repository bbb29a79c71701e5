"""How a library is built from C++: the commands, and what is changed in checked kernels."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.engines.simulator.instrument import pad_shared, patch_ir
from cudakern.engines.simulator.kernel_text import FIRST_HEADER
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
#: With the debugger's view of inlined calls, and vector accesses in one piece, as on a GPU. Each
#: access calls the thread sanitizer's entry points; the library that answers them is our runtime.
_CHECKED = ("-g", "-DCK_SIM_CHECKED", "-fsanitize=thread")
_CHECKED_GCC = (
    "--param=tsan-distinguish-volatile=1",
    "--param=tsan-instrument-func-entry-exit=0",
    "-fno-tree-sra",
    "-fno-crossjumping",
    "-fno-tree-tail-merge",
    "-fno-partial-inlining",
)
_CHECKED_CLANG = (
    *("-mllvm", "-tsan-distinguish-volatile=1"),
    *("-mllvm", "-tsan-instrument-func-entry-exit=0"),
    *("-mllvm", "-tsan-instrument-memintrinsics=0"),
    *("-mllvm", "-tsan-instrument-read-before-write=1"),
    *("-mllvm", "-simplifycfg-sink-common=false"),
    "-fno-unroll-loops",
    "-fno-slp-vectorize",
    "-fno-vectorize",
)

#: A process precompiles the header when it compiles this many kernels without: by then its lack
#: has cost as much time.
PRECOMPILED_AT = 5
_compiled: Counter[Path] = Counter()  # by the precompiled header they lacked


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
    checked : bool
        Whether it is a kernel's library, every access of which is to be checked or counted.
    headers : str
        A digest of the headers, where the first one may be precompiled; else empty.
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
    checked: bool
    headers: str

    def run(self) -> None:
        """Build the library.

        Raises
        ------
        KernelCompileError
            With the compiler's log.
        """
        if self.checked:
            self._assemble()
            self._link()
        elif self.is_zig:
            self._compile((), "-c", "-o", "kernel.o")
            self._link()
        else:
            self._compile(("-pthread",), "-shared", *self.links, "-o", self.target)

    def _assemble(self) -> None:
        assembly = self.folder / "kernel.s"
        if self.is_clang:
            code = self.folder / "kernel.ll"
            self._compile((*_CHECKED, *_CHECKED_CLANG), "-S", "-emit-llvm", "-o", code.name)
            _change(code, patch_ir)
            # Branches that end alike stay apart, here too: they have different source lines.
            again = ("-g", "-Xclang", "-disable-llvm-passes", "-mllvm", "-enable-tail-merge=false")
            self._execute((*self.command, *FLAGS, *again, "-S", code.name, "-o", assembly.name))
        else:
            self._compile((*_CHECKED, *_CHECKED_GCC), "-S", "-o", assembly.name)
        _change(assembly, pad_shared)
        self._execute((*self.command, "-w", "-c", assembly.name, "-o", "kernel.o"))

    def _compile(self, flags: tuple[str, ...], *output: str) -> None:
        start = (*self.command, *FLAGS, *(() if self.is_zig else UNLESS_ZIG), *flags)
        command = (*start, *self.flags, self.file_name, *output)
        header = self._precompiled(start) if self.headers else None
        if header is None:
            self._execute(command)
            return
        taken = self.folder / f"{FIRST_HEADER}.gch"
        with suppress(OSError):  # without links, without it
            taken.symlink_to(header)
        if execute(command, self.folder).returncode != 0:
            # The kernel's fault, and the compiler shall say so as it always does; or the header's.
            taken.unlink(missing_ok=True)
            self._execute(command)
            header.unlink(missing_ok=True)

    def _precompiled(self, start: tuple[str, ...]) -> Path | None:
        """Return the first header as compiled with these arguments, or None if there is none."""
        digest = hashlib.sha256(repr((start, self.headers)).encode()).hexdigest()
        path = self.folder.parent / f"header-{digest[:32]}.gch"
        if path.exists():
            return path
        _compiled[path] += 1
        if _compiled[path] != PRECOMPILED_AT:  # once only, should the compiler have no such thing
            return None
        made = self.folder / path.name
        # With "./", the files have the names that debug information gives them without it.
        command = (*start, "-I.", "-x", "c++-header", f"./{FIRST_HEADER}", "-o", made.name)
        if execute(command, self.folder).returncode != 0 or not made.exists():
            return None
        return made.replace(path)

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
