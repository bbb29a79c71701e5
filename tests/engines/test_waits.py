"""What takes long says so, once, in one line on standard error."""

from __future__ import annotations

import re
import sys
import threading
from types import SimpleNamespace

import pytest

from cudakern import _forks
from cudakern.__main__ import main
from cudakern._commands import console, warmup
from cudakern.engines import nvrtc, waits
from cudakern.engines.base import KernelSpec
from cudakern.engines.cache import cache_folder
from cudakern.engines.cuda.engine import CudaEngine
from cudakern.simulator import toolchain
from cudakern.simulator.toolchain import Toolchain
from tests.helpers import fake_cupy

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
    monkeypatch.setattr(_forks, "PATIENCE", 0.01)
    monkeypatch.setattr(_forks, "LATE", 0.1)
    monkeypatch.setattr(waits, "_unsaid", {waits.KERNELS, waits.ZIGLANG})
    monkeypatch.setattr(waits, "sys", SimpleNamespace(stderr=heard))
    return heard


@pytest.fixture
def kept(tmp_path):
    """Return what is said of kernels."""
    return f"kernels are compiled at their first use and kept in {tmp_path}/cache {END}"


@pytest.fixture
def slow(monkeypatch, heard):
    """Have NVRTC take until that is said, or half a second; return whether it was, of each time."""
    times = []

    def compiled(*_):
        times.append(heard.came.wait(0.5))
        return b"", ""

    monkeypatch.setattr(nvrtc, "_compiled", compiled)
    return times


def test_a_long_compilation_says_so_once(heard, slow, kept):
    assert nvrtc.compile_program(PROGRAM) == (b"", "")
    assert slow == [True]
    assert heard.text == f"cudakern: still compiling gather.cu; {kept}"
    heard.came.clear()
    nvrtc.compile_program(PROGRAM)
    assert slow == [True, False]
    assert heard.text.count("\n") == 1


@pytest.mark.usefixtures("slow")
def test_of_many_threads_one_says_so(heard):
    threads = [threading.Thread(target=nvrtc.compile_program, args=(PROGRAM,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard.text.count("\n") == 1


@pytest.mark.parametrize(("value", "says"), [("1", False), ("0", True), ("", True)])
def test_a_variable_ends_that(heard, slow, monkeypatch, value, says):
    monkeypatch.setenv("CUDAKERN_QUIET", value)
    nvrtc.compile_program(PROGRAM)
    assert slow == [says]
    assert bool(heard.text) is says


def test_what_is_short_says_nothing(heard, slow, monkeypatch):
    monkeypatch.setattr(_forks, "LATE", 60)
    nvrtc.compile_program(PROGRAM)
    assert (slow, heard.text) == ([False], "")
    monkeypatch.undo()
    assert _forks.LATE == 2, "seconds"


class Broken:
    """A stream that is somebody's own, asked for to say something."""

    asked = threading.Event()

    def write(self, text):
        self.asked.set()
        raise ValueError(text)


class Missing:
    """Python without a standard error."""

    asked = threading.Event()

    @property
    def stderr(self):
        self.asked.set()


@pytest.mark.parametrize("standard", [SimpleNamespace(stderr=Broken()), Missing()])
@pytest.mark.usefixtures("heard")
def test_a_broken_stream_is_no_reason_to_fail(monkeypatch, standard):
    asked = getattr(standard, "asked", Broken.asked)
    monkeypatch.setattr(waits, "sys", standard)
    monkeypatch.setattr(nvrtc, "_compiled", lambda *_: (b"", "said" * asked.wait(5)))
    assert nvrtc.compile_program(PROGRAM) == (b"", "said")


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
    found = toolchain._asked((compiler("zig"), "c++"))  # noqa: SLF001
    assert found.version == "a compiler 1.0"
    assert heard.text.startswith("cudakern: still starting ziglang; ziglang may take a minute at ")
    assert heard.text.count("\n") == 1


@pytest.fixture
def few(monkeypatch, heard):
    """Have warmup compile five kernels, which take until that is said; return whether it was."""
    times = []
    specs = list(warmup.kernels(everything=False))[::60]
    monkeypatch.setattr(warmup, "kernels", lambda **_: specs)
    folder = cache_folder()
    monkeypatch.setattr(
        nvrtc, "compiled", lambda *_: times.append(heard.came.wait(0.5)) or folder / "file"
    )
    return times


def test_warmup_without_a_terminal_says_so(few, heard, capsys, kept):
    assert main(["warmup", "--arch", "sm_90"]) == 0
    assert few == [True] * 5
    assert heard.text == f"cudakern: still compiling 5 kernels; {kept}"
    assert capsys.readouterr().out.endswith("\n5 kernels are compiled and cached for sm_90\n")


def test_warmup_without_a_terminal_tells_how_far_it_is(few, heard, monkeypatch):
    told = threading.Event()

    class Telling(Heard):
        def write(self, text):
            super().write(text)
            if text == "cudakern: 2 of 5 kernels\n":
                told.set()

    telling = Telling(heard._said)  # noqa: SLF001
    path, begun = cache_folder() / "file", []

    def compiled(*_):
        begun.append(len(begun) < 2 or told.wait(60))
        return path

    assert waits.INTERVAL == 10, "seconds"
    monkeypatch.setattr(waits, "INTERVAL", 0.01)
    monkeypatch.setattr(waits, "sys", SimpleNamespace(stderr=telling))
    monkeypatch.setattr(nvrtc, "compiled", compiled)
    assert main(["warmup", "--arch", "sm_90", "--jobs", "1"]) == 0
    assert (begun, few) == ([True] * 5, [])
    lines = telling.text.splitlines()
    assert lines[0].startswith("cudakern: still compiling 5 kernels; ")
    assert {*lines[1:]} >= {"cudakern: 2 of 5 kernels"}
    assert all(re.fullmatch("cudakern: [0-5] of 5 kernels", line) for line in lines[1:])


@pytest.mark.parametrize("rich", [True, False])
def test_warmup_on_a_terminal_has_its_bar_alone(few, heard, slow, monkeypatch, tmp_path, rich):
    monkeypatch.setattr(console, "HAS_RICH", rich and console.HAS_RICH)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Heard(tmp_path / "shown")
    monkeypatch.setattr(sys, "stdout", terminal)
    path = cache_folder() / "file"
    monkeypatch.setattr(nvrtc, "compiled", lambda *_: nvrtc.compile_program(PROGRAM) and path)
    assert main(["warmup", "--arch", "sm_90", "--jobs", "5"]) == 0
    assert slow == [False] * 5
    assert (heard.text, few) == ("", [])
    assert "5/5" in terminal.text


@pytest.mark.parametrize(("suffix", "says"), [(".cubin", False), (".ptx", True)])
def test_the_driver_that_compiles_says_so(heard, kept, tmp_path, monkeypatch, suffix, says):
    """For a GPU that NVRTC does not know, it gets PTX."""
    path = (tmp_path / "kernel").with_suffix(suffix)
    path.write_text("gather.cu\n")
    monkeypatch.setattr(CudaEngine, "compile", lambda *_: path)
    times = []
    with fake_cupy.installed(tmp_path, by_address=True) as cupy:
        found = cupy.RawModule.get_function

        def get_function(*arguments):
            times.append(heard.came.wait(0.3))
            return found(*arguments)

        monkeypatch.setattr(cupy.RawModule, "get_function", get_function)
        CudaEngine().kernel(KernelSpec("gather", "rows", "ck_gather", ()), 0)
    assert times == [says]
    assert heard.text == (f"cudakern: still compiling gather.cu; {kept}" if says else "")
