"""Kernels compiled step by step with callbacks, which a stub notes down, in plain C++."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cudakern.engines.cache import cache_folder
from cudakern.simulator.instrument import pad_shared, patch_ir

FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fno-exceptions", "-fno-rtti", "-w")
GXX = (
    *("-g", "-fsanitize=thread", "-fno-tree-sra", "--param", "tsan-distinguish-volatile=1"),
    *("--param", "tsan-instrument-func-entry-exit=0"),
)
CLANG = (
    *("-g", "-fsanitize=thread", "-fno-unroll-loops", "-fno-slp-vectorize", "-fno-vectorize"),
    *("-fno-sanitize=undefined", "-mllvm", "-tsan-distinguish-volatile=1"),
    *("-mllvm", "-tsan-instrument-func-entry-exit=0"),
    *("-mllvm", "-tsan-instrument-memintrinsics=0"),
    *("-mllvm", "-tsan-instrument-read-before-write=1"),
)
ZIG = (sys.executable, "-m", "ziglang")

STUB = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
struct Note { char kind[8]; size_t size; size_t address; size_t returns_to; };
__attribute__((visibility("default"))) struct Note notes[1000];
__attribute__((visibility("default"))) int note_count = 0;
static void note(const char* kind, size_t size, void* address, void* returns_to) {
  Dl_info info;
  dladdr(returns_to, &info);
  struct Note* n = &notes[note_count++];
  for (int i = 0; i < 8; ++i) { n->kind[i] = kind[i]; if (!kind[i]) break; }
  n->size = size;
  n->address = (size_t)address;
  n->returns_to = (size_t)returns_to - (size_t)info.dli_fbase;
}
#define ONE(name, kind, size) \
  void __tsan_##name(void* p) { note(kind, size, p, __builtin_return_address(0)); }
#define BOTH(size) \
  ONE(read##size, "read", size) ONE(write##size, "write", size) \
  ONE(unaligned_read##size, "unread", size) ONE(unaligned_write##size, "unwrite", size) \
  ONE(volatile_read##size, "vread", size) ONE(volatile_write##size, "vwrite", size)
BOTH(1) BOTH(2) BOTH(4) BOTH(8) BOTH(16)
void __tsan_read_range(void* p, size_t n) { note("rread", n, p, __builtin_return_address(0)); }
void __tsan_write_range(void* p, size_t n) { note("rwrite", n, p, __builtin_return_address(0)); }
void __tsan_init(void) {}
__attribute__((visibility("default"))) void outside(void) {}
"""


def compilers() -> dict[str, str | None]:
    """Return the compilers, and why each cannot be used."""
    return {
        "g++": None if shutil.which("g++") else "g++ is not installed",
        "ziglang": None if importlib.util.find_spec("ziglang") else "ziglang is not installed",
    }


def execute(*command: str, folder: Path) -> None:
    """Run a command that must end well."""
    environment = {**os.environ}
    environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(cache_folder().parent / "zig"))
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{command}: {result.stderr}"


class _Note(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_char * 8),
        ("size", ctypes.c_size_t),
        ("address", ctypes.c_size_t),
        ("returns_to", ctypes.c_size_t),
    )


@dataclass(frozen=True)
class Built:
    """A library and the texts it was made from."""

    path: Path
    assembly: str
    ir: str = ""
    patched: str = ""

    def notes(self, function, *arguments) -> list[tuple[str, int, int, int]]:
        """Call a function; return kind, size, address and return address of its accesses."""
        library = ctypes.CDLL(str(self.path))
        count = ctypes.c_int.in_dll(library, "note_count")
        count.value = 0
        getattr(library, function)(*arguments)
        found = (_Note * 1000).in_dll(library, "notes")[: count.value]
        return [(note.kind.decode(), note.size, note.address, note.returns_to) for note in found]


def build(
    compiler: str, folder: Path, source: str, *, pad: bool = True, more: tuple[str, ...] = ()
) -> Built:
    """Compile a source to a library that notes its accesses down."""
    (folder / "kernel.cpp").write_text(source)
    (folder / "stub.c").write_text(STUB)
    ir = patched = ""
    if compiler == "g++":
        execute("g++", *FLAGS, *GXX, *more, "-S", "kernel.cpp", "-o", "kernel.s", folder=folder)
    else:
        steps = ("-S", "-emit-llvm", "kernel.cpp", "-o", "kernel.ll")
        execute(*ZIG, "c++", *FLAGS, *CLANG, *more, *steps, folder=folder)
        ir = (folder / "kernel.ll").read_text()
        patched = patch_ir(ir)
        (folder / "patched.ll").write_text(patched)
        steps = ("-Xclang", "-disable-llvm-passes", "-S", "patched.ll", "-o", "kernel.s")
        execute(*ZIG, "c++", *FLAGS, "-g", *more, *steps, folder=folder)
    assembly = (folder / "kernel.s").read_text()
    if pad:
        (folder / "kernel.s").write_text(pad_shared(assembly))
    start = ("g++",) if compiler == "g++" else (*ZIG, "c++")
    execute(*start, "-w", "-c", "kernel.s", "-o", "kernel.o", folder=folder)
    start = ("gcc",) if compiler == "g++" else (*ZIG, "cc", "-fno-sanitize=undefined")
    execute(*start, "-w", "-O1", "-fPIC", "-c", "stub.c", "-o", "stub.o", folder=folder)
    link = ("-shared", "kernel.o", "stub.o", "-o", "kernel.so")
    execute(*start, *link, folder=folder)
    return Built(folder / "kernel.so", assembly, ir, patched)
