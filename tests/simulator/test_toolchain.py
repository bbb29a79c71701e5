"""The host compiler: which one is taken, what is cached where, and what an error says."""

from __future__ import annotations

import ctypes
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import cudakern as ck
from cudakern.engines.cache import cache_folder, make
from cudakern.errors import EngineUnavailableError, KernelCompileError
from cudakern.simulator import loading
from cudakern.simulator import toolchain as toolchain_module
from cudakern.simulator.loading import ModuleLoader
from cudakern.simulator.ptx import library as library_module
from cudakern.simulator.ptx.compile import ptx_of_code
from cudakern.simulator.ptx.library import library
from cudakern.simulator.toolchain import Toolchain, find_toolchain
from tests.helpers.processes import is_alive, printed
from tests.helpers.samples import sample
from tests.helpers.simulated import assert_works, code_of, compiled, run

ROOT = Path(__file__).parents[2]
KERNEL = 'extern "C" __global__ void k(int* x) { x[threadIdx.x] = VALUE; }'
#: Around a program that is interrupted, and in which NVRTC takes until it is told to stop.
STUCK = """
import os, pathlib, time
from cudakern.engines import nvrtc

def compiled(program, cancelled):
    pathlib.Path(os.environ["STUCK"]).touch()
    while not cancelled:
        time.sleep(0.01)
    return b"", ""

nvrtc._compiled = compiled
try:{}
except KeyboardInterrupt: pass
else: 1 / 0
"""
PROGRAM = """
import numpy as np
from tests.helpers.simulated import run
x = np.zeros(4, np.int32)
run({text!r}, [x], block=4, macros=(("VALUE", "7"),))
assert x.tolist() == [7] * 4
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(folder))
    return folder


def forget():
    """Have the simulator's files read again."""
    toolchain_module.runtime_parts.cache_clear()
    library_module._headers.cache_clear()  # noqa: SLF001
    library_module._own_digest.cache_clear()  # noqa: SLF001


@pytest.fixture
def edits():
    """Forget the files again that a test has edited."""
    yield
    forget()


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Return a function that makes compilers by name: programs that tell their name as version."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for variable in ("CUDAKERN_CXX", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(folder))

    def make(*names, status=0):
        for name in names:
            tool = folder / name
            tool.write_text(f"#!/bin/sh\necho {name} 1.0\nexit {status}\n")
            tool.chmod(0o755)
        toolchain_module._find.cache_clear()  # noqa: SLF001
        return folder

    yield make
    toolchain_module._find.cache_clear()  # noqa: SLF001


def test_order_of_compilers(tools, monkeypatch):
    folder = tools("mine", "theirs", "c++", "g++", "clang++")
    monkeypatch.setenv("CXX", "theirs")
    monkeypatch.setenv("CUDAKERN_CXX", f"'{folder}/mine' -m64")
    assert find_toolchain() == Toolchain((f"{folder}/mine", "-m64"), "mine 1.0")
    monkeypatch.delenv("CUDAKERN_CXX")
    assert find_toolchain().command == ("theirs",)
    monkeypatch.delenv("CXX")
    for name in ("c++", "g++", "clang++"):
        tools()
        assert find_toolchain() == Toolchain((name,), f"{name} 1.0")
        (folder / name).unlink()
    tools()
    assert find_toolchain().command == (sys.executable, "-m", "ziglang", "c++")


def test_gcc_is_known_by_its_copyright(tools):
    folder = tools("c++")
    told = "c++ 1.0\\nCopyright (C) 2022 Free Software Foundation, Inc.\\n"
    (folder / "c++").write_text(f"#!/bin/sh\nprintf '{told}'\n")
    tools()
    assert find_toolchain() == Toolchain(("c++",), "c++ 1.0", is_gcc=True)


def test_a_compiler_that_fails_is_passed_over(tools, monkeypatch):
    tools("c++", status=1)
    tools("g++")
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert find_toolchain().command == ("g++",)


@pytest.mark.parametrize("command", ["no-such-compiler -O1", "/nowhere/g++", "broken"])
def test_a_compiler_asked_for_must_run(tools, monkeypatch, command):
    tools("broken", status=1)
    tools("c++")
    monkeypatch.setenv("CUDAKERN_CXX", command)
    with pytest.raises(EngineUnavailableError) as caught:
        find_toolchain()
    assert str(caught.value) == (
        f"cudakern: CUDAKERN_CXX must name a C++ compiler; {command} does not run"
    )


@pytest.mark.parametrize(
    ("value", "reason"), [("  ", "' ': no word"), ('g++ "-O1', "'g++ \"-O1': No closing quotation")]
)
def test_a_compiler_asked_for_is_words(tools, monkeypatch, value, reason):
    tools("c++")
    monkeypatch.setenv("CUDAKERN_CXX", value)
    with pytest.raises(EngineUnavailableError) as caught:
        find_toolchain()
    message = f"cudakern: CUDAKERN_CXX must name a C++ compiler; got {reason}"
    assert str(caught.value) == message
    monkeypatch.delenv("CUDAKERN_CXX")
    monkeypatch.setenv("CXX", value)
    assert find_toolchain().command == ("c++",)


def test_no_descriptor_is_no_missing_compiler(tools):
    tools("c++")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(EngineUnavailableError, match="got: Too many open files"):
            find_toolchain()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert find_toolchain().command == ("c++",)


#: What a compiler does after --version, and what is found to be wrong.
ENDS = {
    "killed": ("kill -9 $$", "killed by SIGKILL"),
    "file-size limit": ("kill -s XFSZ $$", "killed by SIGXFSZ"),
    "its part is killed": (
        "echo a; echo 'c++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1",
        "c++: fatal error: Killed signal terminated program cc1plus",
    ),
    "a full disk": (
        "printf 'k.s: messages:\\nFatal error: close k.o: No space left on device' >&2; exit 1",
        "Fatal error: close k.o: No space left on device",
    ),
}


@pytest.mark.parametrize(("script", "reason"), ENDS.values(), ids=ENDS)
def test_a_compiler_that_is_ended_is_not_the_kernel_s_fault(tools, cache, script, reason):
    path = tools("c++") / "c++"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo c++ 1.0 && exit\n{script}\n')
    with pytest.raises(EngineUnavailableError) as caught:
        find_toolchain().runtime()
    assert str(caught.value) == (
        f"cudakern: the compiler c++ must have the memory, disk space and files that it needs; "
        f"got: {reason}"
    )
    assert not [*cache.iterdir()]


def test_a_compiler_that_is_gone_when_it_is_run(tools, cache):
    toolchain = Toolchain((f"{tools()}/gone",), "1.0")
    with pytest.raises(EngineUnavailableError) as caught:
        toolchain.runtime()
    named = shlex.quote(*toolchain.command)
    message = f"cudakern: the compiler {named} must run; No such file or directory"
    assert str(caught.value) == message
    assert not [*cache.iterdir()]


@pytest.mark.parametrize("made", [b"something", b"\x7fELF" + bytes(12) + b"\1\0"])
def test_a_compiler_that_makes_something_else(tools, cache, tmp_path, made):
    path = tools("c++") / "c++"
    (tmp_path / "made").write_bytes(made)
    path.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo c++ 1.0 && exit\n'
        'while [ "$1" != -o ]; do shift; done; '
        f'/bin/cp "{tmp_path}/made" "$2"\n'
    )
    with pytest.raises(EngineUnavailableError, match="says that it did, and made no shared lib"):
        find_toolchain().runtime()
    assert not [*cache.iterdir()]


def test_an_interrupt_ends_the_compiler_and_all_it_started(tmp_path, cache):
    compiler, started = tmp_path / "slow", tmp_path / "started"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo c++ 1.0 && exit\n'
        f"sleep 99 & echo $! > '{started}.new'; mv '{started}.new' '{started}'; wait\n"
    )
    compiler.chmod(0o755)
    process = in_process(STUCK, CUDAKERN_CXX=f"'{compiler}'", STUCK=f"{started}.too")
    while not (started.exists() and Path(f"{started}.too").exists()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0
    while is_alive(started.read_text().strip()):
        time.sleep(0.01)
    assert not libraries(cache)
    assert not list(cache.glob("build-*"))


def test_no_compiler(tools, monkeypatch):
    tools()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(toolchain_module.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EngineUnavailableError, match=r"install g\+\+ or clang\+\+, or run: pip"):
        ck.gather(np.arange(3), np.arange(2))


def test_a_compiler_that_cannot_compile_is_named(tools, cache):
    tools("c++")
    assert cache_folder() == cache
    with pytest.raises(EngineUnavailableError) as caught:
        compiled(KERNEL, (("VALUE", "1"),), ModuleLoader())
    assert str(caught.value) == (
        "cudakern: c++ must compile C++17 programs, set CUDAKERN_CXX to a compiler that does or "
        "run: pip install ziglang; it says that it did, and made no shared library"
    )
    tools("c++", status=0)
    (Path(os.environ["PATH"]) / "c++").write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo c++ 1.0 && exit 0\n'
        "echo 'error: no C++17' >&2\nexit 1\n"
    )
    with pytest.raises(
        EngineUnavailableError, match=r"c\+\+ must compile C\+\+17.*error: no C\+\+17"
    ):
        find_toolchain().runtime()


def test_without_a_compiler_on_the_path_ziglang_serves(tools):
    tools()
    assert find_toolchain().is_zig
    assert_works()
    text = r"""
    extern "C" __global__ void k(float* x) {
      x[threadIdx.x] = sqrt(x[threadIdx.x]) + expf(0.0f);
    }"""
    x = np.arange(64, dtype=np.float32)
    expected = np.sqrt(x) + 1
    run(text, [x], block=64)
    np.testing.assert_array_equal(x, expected)
    data = np.arange(60, dtype=np.int16).reshape(3, 20)
    np.testing.assert_array_equal(ck.gather(data, [2, 0], axis=0), data[[2, 0]])


def libraries(folder):
    return sorted(path.name for path in folder.glob("*.so"))


def in_process(around="{}", **environment):
    """Start a process that compiles and runs a kernel, with something around that."""
    program = around.format(textwrap.indent(PROGRAM.format(text=KERNEL), " "))
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=ROOT,
        env={**os.environ, **environment},
    )


@pytest.mark.skipif(shutil.which("c++") is None, reason="c++ is not installed")
def test_a_second_process_does_not_compile(cache, tmp_path):
    log = tmp_path / "log"
    compiler = tmp_path / "counting"
    compiler.write_text(f'#!/bin/sh\necho "$@" >> "{log}"\nexec c++ "$@"\n')
    compiler.chmod(0o755)
    for _ in range(2):
        assert in_process(CUDAKERN_CXX=f"'{compiler}'").wait() == 0
    runs = [line for line in log.read_text().splitlines() if "--version" not in line]
    assert len(runs) == 2  # the runtime, the kernel
    assert len(libraries(cache)) == 2


@pytest.fixture
def waiting(cache, tmp_path, monkeypatch):
    """Have the compiler wait for PTX; return the folder of the cache."""
    compiler = tmp_path / "waiting"
    compiler.write_text(
        f'#!/bin/sh\ncase "$*" in *runtime.cpp*)\n'
        f"for i in $(seq 300); do ls '{cache}'/*.ptx && break; sleep 0.1; done\n"
        '[ "$i" != 300 ] || exit;;\n'
        'esac\nexec c++ "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CUDAKERN_CXX", f"'{compiler}'")
    return cache


@pytest.mark.parametrize("name", ["k", "k<int>"])
def test_nvrtc_compiles_while_the_runtime_is_built(waiting, name):
    head = "template <typename T>" if "<" in name else ""
    code = f"{head} __global__ void k(int* x) {{ *x = 7; }}"
    x = np.zeros(1, np.int32)
    module = ck.simulator.RawModule(code=code, name_expressions=[name])
    module.get_function(name)((1,), (1,), (x,))
    assert x.tolist() == [7]
    assert len(libraries(waiting)) == 2


def test_a_package_s_kernel_is_compiled_while_the_runtime_is_built(waiting):
    text = KERNEL.replace("VALUE", "1")
    ModuleLoader().compile(ptx_of_code(code_of(text)))
    assert len(libraries(waiting)) == 2


def test_what_is_wrong_with_the_compiler_is_told_before_what_is_with_the_kernel(tools, cache):
    tools("c++")
    wrong = KERNEL.replace("VALUE", "nothing")
    with pytest.raises(EngineUnavailableError, match=r"^cudakern: c\+\+ must compile C\+\+17"):
        compiled(wrong, (), ModuleLoader())
    assert not libraries(cache)


def test_a_wrong_kernel_is_told_when_the_runtime_is_built(cache):
    with pytest.raises(KernelCompileError, match='identifier "nothing" is undefined'):
        compiled(KERNEL.replace("VALUE", "nothing"), (), ModuleLoader())
    (runtime,) = libraries(cache)
    assert runtime.startswith("libcudakern_runtime_")


FORKED = """
import os, signal
import numpy as np
from cudakern.simulator import RawKernel

def fork(*_):
    forked.append(os.fork())

forked = []
signal.signal(signal.SIGALRM, fork)
signal.setitimer(signal.ITIMER_REAL, 0.2)
x = np.zeros(1, np.int32)
text = '#include <cuda/std/limits>\\nextern "C" __global__ void k(int* x) { *x = 7; }'
RawKernel(text, "k")((1,), (1,), (x,))
assert x.tolist() == [7]
if not forked[0]:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(forked[0], 0)[1]))
"""


def test_a_process_that_is_forked_while_the_runtime_is_built_goes_on(cache):
    assert printed(FORKED, flags=["-W", "ignore"]) == "7\n"
    assert len(libraries(cache)) == 2


def test_two_processes_share_an_empty_cache(cache):
    processes = [in_process() for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert len(libraries(cache)) == 2
    assert not list(cache.glob("build-*"))


@pytest.mark.usefixtures("edits")
def test_an_edit_is_another_library(cache, tmp_path, monkeypatch):

    def build(_toolchain, name, *_):
        return make(name, lambda folder, _: (folder / name).touch()).path

    monkeypatch.setattr(toolchain_module.Toolchain, "build", build)

    def count(value, *, checked=False):
        """Return how many libraries there are after asking for that of a text."""
        toolchain = find_toolchain()
        ptx = ptx_of_code(code_of(KERNEL.replace("VALUE", value)))
        library(ptx, toolchain, toolchain.runtime(checked=checked), checked=checked)
        return len(libraries(cache))

    def edit(name):
        """Edit a file of the simulator, in a copy: a process reads each file once."""
        here = tmp_path / name.replace("/", "_")
        shutil.copytree(toolchain_module._HERE, here)  # noqa: SLF001
        with (here / name).open("a") as file:
            file.write("\n")
        monkeypatch.setattr(toolchain_module, "_HERE", here)
        monkeypatch.setattr(library_module, "_HERE", here / "ptx")
        forget()

    assert count("1") == count("1") == 2  # the runtime, the kernel
    assert count("2") == 3
    edit("ptx/device/atomics.hpp")
    assert count("1") == 4
    edit("ptx/translate.py")
    assert count("1") == 5
    edit("runtime/watch.hpp")
    assert count("1") == 7  # the runtime, and the kernel that is linked to it
    assert count("1", checked=True) == 9
    edit("checker/shadow.hpp")
    assert count("1") == 9
    assert count("1", checked=True) == 11


@pytest.mark.parametrize("session", sample([ck.simulator.checked, ck.simulator.traffic], 2))
def test_observed_launches_need_no_library_for_plain_ones(cache, session):
    module = ck.simulator.RawModule(code=KERNEL.replace("VALUE", "4"))
    x = np.zeros(2, np.int32)
    with session():
        module.get_function("k")((1,), (2,), (x,))
    assert x.tolist() == [4, 4]
    (runtime, kernel) = libraries(cache)
    assert runtime.startswith("libcudakern_checked_")
    assert kernel.startswith("module_compute_")


def test_a_damaged_library_is_built_again(cache):
    text, toolchain = KERNEL.replace("VALUE", "3"), find_toolchain()
    path = library(ptx_of_code(code_of(text)), toolchain, toolchain.runtime())
    whole = path.read_bytes()
    path.write_bytes(whole[:4096])  # to load that would end this process
    x = np.zeros(2, np.int32)
    run(text, [x], block=2, loader=ModuleLoader())
    assert x.tolist() == [3, 3]
    assert path.parent == cache
    assert path.stat().st_size == len(whole)


def test_a_library_that_cannot_be_loaded_stays(cache, monkeypatch):
    toolchain, macros = find_toolchain(), (("VALUE", "3"),)
    path = library(ptx_of_code(code_of(KERNEL, macros)), toolchain, toolchain.runtime())
    loading._runtime(toolchain, checked=False)  # noqa: SLF001

    def load(name):
        message = f"{name}: failed to map segment from shared object"
        raise OSError(message)

    monkeypatch.setattr(ctypes, "CDLL", load)
    for flags, advice in (
        (0, ""),
        (os.ST_NOEXEC, "; it is mounted noexec: set CUDAKERN_CACHE_DIR to a folder that is not"),
    ):
        monkeypatch.setattr(os, "statvfs", lambda _, flags=flags: SimpleNamespace(f_flag=flags))
        with pytest.raises(EngineUnavailableError) as caught:
            compiled(KERNEL, macros, ModuleLoader())
        reason = f"{path}: failed to map segment from shared object"
        assert str(caught.value) == (
            f"cudakern: compiled kernels must be loadable; {reason}{advice}"
        )
    assert path.exists()
    assert path.parent == cache
