"""What takes long says so, once, in one line on standard error."""

from __future__ import annotations

import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from cudakern.__main__ import main
from cudakern._commands import console, warmup
from cudakern.compilation import nvrtc, waits
from cudakern.compilation.cache import cache_folder
from cudakern.engines import kernel_files
from cudakern.engines.base import KernelSpec
from cudakern.engines.cuda.engine import CudaEngine
from cudakern.process import forks
from cudakern.simulator.libraries import toolchain
from cudakern.simulator.libraries.toolchain import Toolchain
from tests.helpers.recorded_cupy import recorded
from tests.helpers.rows import each

PROGRAM = nvrtc.Program("/folder/gather.cu", "", "compute_90", lines=True)
END = "(CUDAKERN_QUIET=1 ends this message)\n"


class Heard:
    """Standard error, and an end of waiting for it."""

    def __init__(self, said):
        self.text, self.came, self._said = "", threading.Event(), said

    def write(self, text):
        self.text += text
        self._said.touch()  # for programs
        self.came.set()

    def flush(self):
        pass

    def isatty(self):
        return True


@pytest.fixture
def heard(monkeypatch, tmp_path):
    """Have every wait of a tenth of a second be long, and nothing said yet; return what is said."""
    heard = Heard(tmp_path / "said")
    monkeypatch.delenv("CUDAKERN_QUIET", raising=False)
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(forks, "PATIENCE", 0.01)
    monkeypatch.setattr(forks, "LATE", 0.1)
    monkeypatch.setattr(waits, "_unsaid", {waits.KERNELS, waits.ZIGLANG})
    monkeypatch.setattr(waits, "sys", SimpleNamespace(stderr=heard))
    return heard


@pytest.fixture
def kept(tmp_path):
    """Return what is said of kernels."""
    return f"kernels are compiled at their first use and kept in {tmp_path}/cache {END}"


@pytest.fixture
def slow(monkeypatch, heard):
    """Have NVRTC take until that is said, or 0.3 s; return whether it was, of each time."""
    times = []

    def compiled(*_):
        times.append(heard.came.wait(0.3))
        return b"", ""

    monkeypatch.setattr(nvrtc, "_compile", compiled)
    return times


@each(("value", "says"), [("1", False), ("0", True), ("", True)])
def test_a_long_compilation_says_so_unless_told_not_to(heard, slow, kept, monkeypatch, value, says):
    monkeypatch.setenv("CUDAKERN_QUIET", value)
    monkeypatch.setattr(waits, "_unsaid", {waits.KERNELS})
    assert nvrtc.compile(PROGRAM) == (b"", "")
    assert slow.pop() is says
    assert heard.text == (f"cudakern: still compiling gather.cu; {kept}" if says else "")
    heard.came.clear()
    heard.text = ""


def test_of_many_threads_one_says_so_once(heard, slow):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(nvrtc.compile, [PROGRAM] * 8))
    heard.came.clear()
    nvrtc.compile(PROGRAM)
    assert slow[8:] == [False]
    assert heard.text.count("\n") == 1


def test_what_takes_longer_says_so_again(heard, monkeypatch):
    def compiled(*_):
        end = time.monotonic() + 60
        while heard.text.count("\n") < 3:
            assert time.monotonic() < end
            time.sleep(0.001)
        return b"", ""

    assert waits.INTERVAL == 10, "seconds"
    monkeypatch.setattr(waits, "INTERVAL", 0.01)
    monkeypatch.setattr(nvrtc, "_compile", compiled)
    nvrtc.compile(PROGRAM)
    first, *lines = heard.text.splitlines()
    assert first.startswith("cudakern: still compiling gather.cu; ")
    assert set(lines) == {"cudakern: still compiling gather.cu, 0 s so far"}


def test_what_is_short_says_nothing(heard, slow, monkeypatch):
    monkeypatch.setattr(forks, "LATE", 60)
    nvrtc.compile(PROGRAM)
    assert (slow, heard.text) == ([False], "")
    monkeypatch.undo()
    assert forks.LATE == 2, "seconds"


def test_a_broken_stream_is_no_reason_to_fail(heard, slow, monkeypatch):
    """Such as one of somebody's own, or none at all."""

    def fail(_text):
        heard.came.set()
        raise ValueError

    for stream in (SimpleNamespace(write=fail), None):
        monkeypatch.setattr(waits, "_unsaid", {waits.KERNELS})
        monkeypatch.setattr(waits, "sys", SimpleNamespace(stderr=stream))
        assert nvrtc.compile(PROGRAM) == (b"", "")
        heard.came.clear()
    assert slow == [True, False]


COMPILER = """#!/bin/sh
for turn in 1 2 3 4 5 6 7 8 9; do [ -e '{said}' ] || sleep 0.05; done
while [ $# -gt 0 ]; do
  case $1 in
    --version) echo "a compiler 1.0";;
    -o) printf '\\177ELF............\\003\\000' > "$2";;
  esac
  shift
done
"""


@pytest.fixture
def compiler(tmp_path, heard):
    """Return a function that makes a compiler of a name, which takes until something is said."""
    assert not heard.text

    def make(name):
        path = tmp_path / name
        path.write_text(COMPILER.format(said=tmp_path / "said"))
        path.chmod(0o755)
        return str(path)

    return make


def built(*command):
    """Build a library with a compiler."""
    parts = (("kernel.cpp", ""),)
    toolchain = Toolchain(command, "1.0")
    return toolchain.build(f"k-{'0' * 32}.so", "/of/scan.cu", parts, (), ())


def test_a_compiler_of_the_host_says_so(compiler, heard, kept, tmp_path):
    assert built(compiler("g++")).parent == tmp_path / "cache"
    assert heard.text == f"cudakern: still compiling scan.cu; {kept}"


def test_the_first_start_of_ziglang_says_so(compiler, heard, tmp_path):
    built(compiler("zig"), "c++")
    assert heard.text == (
        "cudakern: still compiling scan.cu; ziglang may take a minute at its first start; "
        f"what it makes is kept in {tmp_path}/cache {END}"
    )


def test_ziglang_that_is_asked_for_its_version_says_so(compiler, heard):
    found = toolchain._ask_version((compiler("zig"), "c++"))  # noqa: SLF001
    assert found.version == "a compiler 1.0"
    assert heard.text.startswith("cudakern: still starting ziglang; ziglang may take a minute at ")
    assert heard.text.count("\n") == 1


@pytest.fixture
def few(monkeypatch, heard):
    """Have warmup compile five kernels, which take until that is said; return whether it was."""
    times = []
    specs = list(warmup.kernels(everything=False))[::70]
    monkeypatch.setattr(warmup, "kernels", lambda **_: specs)
    folder = cache_folder()
    monkeypatch.setattr(
        kernel_files,
        "cached_file",
        lambda *_: times.append(heard.came.wait(0.3)) or folder / "file",
    )
    return times


def test_warmup_without_a_terminal_says_so(few, heard, capsys, kept):
    assert main(["warmup", "--arch", "sm_90"]) == 0
    assert few == [True] * 5
    assert heard.text == f"cudakern: still compiling 5 kernels; {kept}"
    assert capsys.readouterr().out.endswith("\n5 kernels are compiled and cached for sm_90\n")


@pytest.mark.usefixtures("few")
def test_warmup_without_a_terminal_tells_how_far_it_is(heard, monkeypatch):
    path, begun = cache_folder() / "file", []

    def compiled(*_):
        begun.append(None)
        end = time.monotonic() + 60
        while len(begun) > 2 and "cudakern: 2 of 5 kernels\n" not in heard.text:
            assert time.monotonic() < end
            time.sleep(0.001)
        return path

    assert waits.INTERVAL == 10, "seconds"
    monkeypatch.setattr(waits, "INTERVAL", 0.01)
    monkeypatch.setattr(kernel_files, "cached_file", compiled)
    assert main(["warmup", "--arch", "sm_90", "--jobs", "1"]) == 0
    first, *lines = heard.text.splitlines()
    assert first.startswith("cudakern: still compiling 5 kernels; ")
    assert all(re.fullmatch("cudakern: [0-5] of 5 kernels", line) for line in lines)


@pytest.mark.usefixtures("few")
@each("rich", [True, False])
def test_warmup_on_a_terminal_has_its_bar_alone(heard, slow, monkeypatch, tmp_path, rich):
    monkeypatch.setattr(console, "HAS_RICH", rich and console.HAS_RICH)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Heard(tmp_path / "shown")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(waits, "_unsaid", {waits.KERNELS})
    path = cache_folder() / "file"
    monkeypatch.setattr(kernel_files, "cached_file", lambda *_: nvrtc.compile(PROGRAM) and path)
    assert main(["warmup", "--arch", "sm_90", "--jobs", "5"]) == 0
    assert slow[-5:] == [False] * 5
    assert heard.text == ""
    assert "5/5" in terminal.text


@each(("suffix", "says"), [(".cubin", False), (".ptx", True)])
def test_the_driver_that_compiles_says_so(heard, kept, tmp_path, monkeypatch, suffix, says):
    """For a GPU that NVRTC does not know, it gets PTX."""
    path = (tmp_path / "kernel").with_suffix(suffix)
    path.write_text("gather.cu\n")
    monkeypatch.setattr(CudaEngine, "compile", lambda *_: path)
    times = []
    with recorded(tmp_path) as record, monkeypatch.context() as patch:
        module = record.cupy.RawModule

        def loaded(*, path):
            times.append(heard.came.wait(0.3))
            return module(path=path)

        patch.setattr(record.cupy, "RawModule", loaded)
        CudaEngine().kernel(KernelSpec("gather", "rows", "ck_gather", ()), 0)
    assert times == [says]
    assert heard.text == (f"cudakern: still compiling gather.cu; {kept}" if says else "")
