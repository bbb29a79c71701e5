"""The precompiled header of checked kernels: when g++ makes one, and what is compiled with it."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cudakern.engines.simulator import build
from cudakern.engines.simulator.kernel_text import KernelText
from cudakern.engines.simulator.toolchain import find_toolchain
from cudakern.errors import KernelCompileError
from cudakern.simulator import RawKernel, checked

ROOT = Path(__file__).parents[2]
#: How many kernels a process compiles before it makes one, here.
AT = 3
# Half precision is a header beside the precompiled one, which includes some of the same.
KERNEL = """
#include <cuda_fp16.h>
extern "C" __global__ void k(int* x) {
  __shared__ int last[32];
  last[threadIdx.x] = VALUE;
  __syncthreads();
  x[threadIdx.x] = last[0] + __half2int_rn(__float2half(1.0f));
}
"""
#: A compiler that logs its arguments, and by a line "! ..." that it took a precompiled header.
COMPILER = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  *--version*) exec c++ --version ;;
  *c++-header*) {making} ;;
  *kernel.cpp*) exec c++ -H -Winvalid-pch "$@" 2>> {log} ;;
esac
exec c++ "$@"
"""
PROGRAM = f"""
import numpy as np
from cudakern.simulator import RawKernel, checked
for value in range({build.PRECOMPILED_AT + 1}):
    x = np.zeros(4, np.int32)
    with checked():
        RawKernel({KERNEL!r}, "k", (f"-DVALUE={{value}}",))((1,), (4,), (x,))
    assert x.tolist() == [value + 1] * 4
"""


def _is_gcc() -> bool:
    compiler = shutil.which("c++")
    return compiler is not None and not find_toolchain().is_clang


pytestmark = pytest.mark.skipif(not _is_gcc(), reason="c++ is not g++")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a folder with a compiler, where the runtime is compiled by it once for all tests."""
    return tmp_path_factory.mktemp("built")


@pytest.fixture
def compiler(built, tmp_path, monkeypatch):
    """Return a function that says what the compiler does to precompile, and returns its log."""
    tool = built / "c++"
    monkeypatch.setenv("CUDAKERN_CXX", str(tool))

    def make(making='exec c++ "$@"'):
        tool.write_text(COMPILER.format(log=tmp_path / "log", making=making))
        tool.chmod(0o755)
        monkeypatch.setattr(build, "_compiled", Counter())
        return tmp_path / "log"

    return make


@pytest.fixture
def cache(built, compiler, tmp_path, monkeypatch):
    compiler()
    monkeypatch.setattr(build, "PRECOMPILED_AT", AT)
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(built))
    runtime = find_toolchain().runtime(checked=True)
    folder = tmp_path / "cache"
    folder.mkdir()
    shutil.copy(runtime, folder)
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(folder))
    return folder


def build_kernel(value, text=KERNEL, **given):
    code = KernelText("test.cu", text, (("VALUE", str(value)),), **given)
    return find_toolchain().kernels(code, ("k",))


def headers(cache):
    return sorted(cache.glob("*.gch"))


def taken(log):
    """Return how many compilations have taken a precompiled header."""
    return sum(line.startswith("! ") for line in log.read_text().splitlines())


def computed(value):
    x = np.zeros(4, np.int32)
    with checked():
        RawKernel(KERNEL, "k", (f"-DVALUE={value}",))((1,), (4,), (x,))
    return x.tolist()


def test_it_is_made_when_it_pays_and_taken_from_then_on(cache, compiler):
    log = compiler()
    for value in range(AT - 1):
        build_kernel(value)
    assert headers(cache) == []
    assert taken(log) == 0
    for value in range(3):
        build_kernel(100 + value)
        assert len(headers(cache)) == 1
        assert taken(log) == value + 1


def test_the_code_is_the_same(cache, monkeypatch):
    def folder(*_):
        (cache / "build").mkdir()
        return str(cache / "build")

    monkeypatch.setattr(tempfile, "mkdtemp", folder)  # debug information names it
    before = build_kernel(1000).read_bytes()
    for value in range(AT):
        build_kernel(value)
    assert len(headers(cache)) == 1
    build_kernel(1000).unlink()
    assert build_kernel(1000).read_bytes() == before


def test_with_options_of_its_own_a_kernel_is_compiled_without(cache, compiler, tmp_path):
    log = compiler()
    for value in range(AT):
        build_kernel(value)
    before = taken(log)
    for value in range(AT):
        build_kernel(value, flags=("-std=c++20",))
        build_kernel(value, flags=(f"-I{tmp_path}",))
    assert taken(log) == before == 1
    assert len(headers(cache)) == 1


def test_an_edited_header_makes_another(cache, compiler, monkeypatch):
    log = compiler()
    for value in range(AT):
        build_kernel(value)
    parts = KernelText.parts

    def edited(code, trailer=""):
        return (*parts(code, trailer), ("edited.hpp", "// edited\n"))

    monkeypatch.setattr(KernelText, "parts", edited)
    for value in range(AT - 1):
        build_kernel(value)
    assert (len(headers(cache)), taken(log)) == (1, 1)
    build_kernel(100)
    assert (len(headers(cache)), taken(log)) == (2, 2)


def test_a_compiler_that_makes_none_compiles_without(cache, compiler):
    numbers = itertools.count()
    for tried, making in enumerate(
        ("exit 1", "exit 0", "for made; do :; done; echo no header > $made; exit 0"), 1
    ):
        log = compiler(making)
        for value in itertools.islice(numbers, AT + 2):
            assert computed(value) == [value + 1] * 4
        assert log.read_text().count("c++-header") == tried
        assert taken(log) == 0
    assert not list(cache.glob("build-*"))


def test_a_damaged_one_is_removed(cache):
    for value in range(AT):
        build_kernel(value)
    (header,) = headers(cache)
    header.write_bytes(header.read_bytes()[:5_000_000])
    assert computed(100) == [101] * 4
    assert headers(cache) == []
    assert computed(101) == [102] * 4


def test_without_symbolic_links_it_is_not_taken(cache, compiler, monkeypatch):
    def refuse(*_):
        raise PermissionError

    log = compiler()
    monkeypatch.setattr(Path, "symlink_to", refuse)
    for value in range(AT + 1):
        assert computed(value) == [value + 1] * 4
    assert len(headers(cache)) == 1
    assert taken(log) == 0


def test_errors_are_the_same(cache, monkeypatch):
    monkeypatch.setenv("CUDAKERN_CXX", "c++")
    texts = [f"{KERNEL}\n  undeclared_{name} = 1;\n" for name in "ab"]

    def error(text):
        with pytest.raises(KernelCompileError) as caught:
            build_kernel(1, text)
        return caught.value

    before = error(texts[0])
    for value in range(AT):
        build_kernel(value)
    kept = headers(cache)
    assert len(kept) == 1
    after = error(texts[0])
    assert (str(after), after.log, after.options) == (str(before), before.log, before.options)
    assert "test.cu:10" in error(texts[1]).log
    assert headers(cache) == kept


def test_processes_make_it_at_once(cache):
    command = [sys.executable, "-c", PROGRAM]
    processes = [subprocess.Popen(command, cwd=ROOT, env=dict(os.environ)) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert len(headers(cache)) == 1
    assert not list(cache.glob("build-*"))
