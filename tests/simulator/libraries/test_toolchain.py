"""The host compiler: which one is chosen, what is cached where, and messages of errors."""

from __future__ import annotations

import ctypes
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import cudakern as ck
from cudakern.compilation.cache import make
from cudakern.errors import EngineUnavailableError, KernelCompileError
from cudakern.simulator.libraries import build as build_module
from cudakern.simulator.libraries import loader
from cudakern.simulator.libraries import toolchain as toolchain_module
from cudakern.simulator.libraries.build import build_library
from cudakern.simulator.libraries.loader import ModuleLoader
from cudakern.simulator.libraries.toolchain import Toolchain, find_toolchain
from cudakern.simulator.sources.text_to_ptx import ptx_of_code
from tests.helpers.processes import is_alive, printed
from tests.helpers.rows import each
from tests.helpers.simulated import code_of, compiled, run

ROOT = Path(__file__).parents[2]
KERNEL = 'extern "C" __global__ void k(int* x) { x[threadIdx.x] = VALUE; }'
WORKS = "from tests.simulator.libraries.test_toolchain import works; works()"
#: A program that is interrupted while NVRTC runs until it is asked to stop.
STUCK = f"""
import os, pathlib, time
from cudakern.compilation import nvrtc

def compiled(program, cancelled):
    pathlib.Path(os.environ["STUCK"]).touch()
    while not cancelled:
        time.sleep(0.01)
    return b"", ""

nvrtc._compile = compiled
try:
    {WORKS}
except KeyboardInterrupt: pass
else: 1 / 0
"""


def works():
    """Compile a kernel, and run it."""
    x = np.zeros(4, np.int32)
    run(KERNEL, [x], block=4, macros=(("VALUE", "7"),))
    assert x.tolist() == [7] * 4


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def forget():
    """Return a function that makes the simulator's files be read again, as after the test."""

    def clear():
        toolchain_module.runtime_parts.cache_clear()
        build_module._read_headers.cache_clear()  # noqa: SLF001
        build_module._own_digest.cache_clear()  # noqa: SLF001

    yield clear
    clear()


def written(path, script, told="c++ 1.0", status=0):
    """Return a compiler that prints its version, and otherwise runs a script."""
    version = f"printf '{told}\\n'; exit {status};;"
    path.write_text(f'#!/bin/sh\ncase "$*" in *--version) {version} esac\n{script}\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Return a function that makes compilers by name: programs that print it as their version.

    Otherwise they run a script.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    for variable in ("CUDAKERN_CXX", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(folder))

    def make(*names, told="", status=0, script=""):
        for name in names:
            written(folder / name, script, told=told or f"{name} 1.0", status=status)
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
    assert find_toolchain().is_zig


def test_a_compiler_that_fails_is_passed_over(tools, monkeypatch):
    """GCC is recognized by its copyright."""
    tools("c++", status=1)
    tools("g++", told="g++ 1.0\\nCopyright (C) 2022 Free Software Foundation, Inc.")
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert find_toolchain() == Toolchain(("g++",), "g++ 1.0", is_gcc=True)


@each("command", ["no-such-compiler -O1", "/nowhere/g++", "broken"])
def test_a_compiler_asked_for_must_run(tools, monkeypatch, command):
    tools("broken", status=1)
    tools("c++")
    monkeypatch.setenv("CUDAKERN_CXX", command)
    with pytest.raises(EngineUnavailableError) as caught:
        find_toolchain()
    assert str(caught.value) == (
        f"cudakern: CUDAKERN_CXX must name a C++ compiler; {command} does not run"
    )


@each("value, reason", [("  ", "' ': no word"), ('g++ "-O1', "'g++ \"-O1': No closing quotation")])
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


#: What a compiler does other than --version, and what the message says.
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


@each("script, reason", ENDS.values(), ids=ENDS)
def test_a_compiler_that_is_ended_is_not_the_kernel_s_fault(tools, cache, script, reason):
    tools("c++", script=script)
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


UNFIT = (
    "cudakern: c++ must compile C++17 programs, set CUDAKERN_CXX to a compiler that does or run: "
    "pip install ziglang; "
)


@each("made", [None, b"something", b"\x7fELF" + bytes(12) + b"\1\0"])
def test_a_compiler_that_makes_something_else(tools, cache, tmp_path, made):
    """The error is about the compiler, not about the kernel."""
    script = f"while [ $1 != -o ]; do shift; done; /bin/cp '{tmp_path}/made' \"$2\""
    tools("c++", script="" if made is None else script)
    (tmp_path / "made").write_bytes(made or b"")
    with pytest.raises(EngineUnavailableError) as caught:
        compiled(KERNEL.replace("VALUE", "nothing"), (), ModuleLoader())
    assert str(caught.value) == f"{UNFIT}it says that it did, and made no shared library"
    assert not libraries(cache)


def test_an_interrupt_ends_the_compiler_and_all_it_started(tmp_path, cache):
    started = tmp_path / "started"
    script = f"sleep 99 & echo $! > '{started}.new'; mv '{started}.new' '{started}'; wait"
    compiler = written(tmp_path / "slow", script)
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


def test_a_compiler_that_cannot_compile_is_named(tools):
    tools("c++", script="echo 'error: no C++17' >&2; exit 1")
    with pytest.raises(EngineUnavailableError) as caught:
        find_toolchain().runtime()
    assert str(caught.value).startswith(UNFIT)
    assert str(caught.value).endswith("error: no C++17")


def libraries(folder):
    return sorted(path.name for path in folder.glob("*.so"))


def in_process(program=WORKS, **environment):
    """Start a program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, **environment}
    )


#: A compiler that keeps a log, and that makes copies of the runtimes under other names.
QUICK = """echo "$@" >> "LOG"
case "$*" in
*checked.cpp*) made="CHECKED";;
*runtime.cpp*) made="PLAIN"; MEANWHILE;;
*) exec c++ "$@";;
esac
while [ "$1" != -o ]; do shift; done
was=${made##*/}
sed "s/$was/$2/" "$made" > "$2"
"""


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """Return a function that selects such a compiler and a new cache, and returns the cache.

    The compiler runs a command before it makes the plain runtime.
    """
    if shutil.which("c++") is None:
        pytest.skip("c++ is not installed")
    checked, plain = (find_toolchain().runtime(checked=checked) for checked in (True, False))

    def use(meanwhile=":", name="cache"):
        places = {"MEANWHILE": meanwhile, "CACHE": tmp_path / name, "LOG": tmp_path / "log"}
        script = QUICK
        for word, value in {**places, "CHECKED": checked, "PLAIN": plain}.items():
            script = script.replace(word, str(value))
        compiler = written(tmp_path / f"c++ {name}", script)
        monkeypatch.setenv("CUDAKERN_CXX", f"'{compiler}'")
        monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(places["CACHE"]))
        return places["CACHE"]

    return use


def test_a_second_process_does_not_compile(quick, tmp_path):
    cache = quick()
    assert [in_process().wait() for _ in range(2)] == [0, 0]
    assert len((tmp_path / "log").read_text().splitlines()) == 2  # the runtime, the kernel
    assert len(libraries(cache)) == 2


@each("name", ["k", "k<int>", None])
def test_nvrtc_compiles_while_the_runtime_is_built(quick, name):
    """Otherwise the compiler would wait in vain. This also holds for kernels without a module."""
    wait = 'for i in $(seq 300); do ls "CACHE"/*.ptx && break; sleep 0.1; done'
    cache = quick(f'{wait}; [ "$i" != 300 ] || exit', str(name))
    if name is None:
        ModuleLoader().compile(ptx_of_code(code_of(KERNEL.replace("VALUE", "1"))), "k")
    else:
        head = "template <typename T>" if "<" in name else ""
        code = f"{head} __global__ void k(int* x) {{ *x = 7; }}"
        x = np.zeros(1, np.int32)
        module = ck.simulator.RawModule(code=code, name_expressions=[name])
        module.get_function(name)((1,), (1,), (x,))
        assert x.tolist() == [7]
    assert len(libraries(cache)) == 2


def test_a_wrong_kernel_is_told_when_the_runtime_is_built(quick):
    cache = quick()
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


def test_a_process_that_is_forked_while_the_runtime_is_built_goes_on(quick):
    cache = quick("sleep 1")
    assert printed(FORKED, flags=["-W", "ignore"]) == "7\n"
    assert len(libraries(cache)) == 2


def test_two_processes_share_an_empty_cache(quick):
    cache = quick()
    processes = [in_process() for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert len(libraries(cache)) == 2
    assert not list(cache.glob("build-*"))


def test_an_edit_is_another_library(cache, tmp_path, monkeypatch, forget):
    def build(_toolchain, name, *_, **__):
        return make(name, lambda folder, _: (folder / name).touch()).path

    monkeypatch.setattr(toolchain_module.Toolchain, "build", build)

    def count(value, *, checked=False):
        """Return how many libraries there are after building that of a text."""
        toolchain = find_toolchain()
        ptx = ptx_of_code(code_of(KERNEL.replace("VALUE", value)))
        build_library(ptx, ["k"], toolchain, toolchain.runtime(checked=checked), checked=checked)
        return len(libraries(cache))

    def edit(name):
        """Edit a file of the simulator in a copy, since a process reads each file once."""
        here = tmp_path / name.replace("/", "_")
        shutil.copytree(toolchain_module._SIMULATOR, here)  # noqa: SLF001
        with (here / name).open("a") as file:
            file.write("\n")
        monkeypatch.setattr(toolchain_module, "_SIMULATOR", here)
        monkeypatch.setattr(build_module, "_SIMULATOR", here)
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


def test_observed_launches_need_no_library_for_plain_ones(quick):
    cache = quick()
    module = ck.simulator.RawModule(code=KERNEL.replace("VALUE", "4"))
    x = np.zeros(2, np.int32)
    with ck.simulator.checked():
        module.get_function("k")((1,), (2,), (x,))
    assert x.tolist() == [4, 4]
    (runtime, kernel) = libraries(cache)
    assert runtime.startswith("libcudakern_checked_")
    assert kernel.startswith("module_compute_")


SEVERAL = """
__device__ int total;
__device__ __noinline__ int twice(int x) { return 2 * x; }
extern "C" __global__ void one(int* x) { *x = twice(atomicAdd(&total, 1)); }
extern "C" __global__ void two(int* x) { *x = twice(total); }
extern "C" __global__ void three(int* x) { *x = 3; }
"""


def test_only_what_is_launched_is_compiled(quick):
    cache, x = quick(), np.zeros(1, np.int32)
    module = ck.simulator.RawModule(code=SEVERAL)
    assert module.get_global("total").tolist() == [0] * 4
    assert not [name for name in libraries(cache) if name.startswith("module")]
    for name, expected in (("two", 0), ("one", 0), ("two", 2), ("one", 2)):
        module.get_function(name)((1,), (1,), (x,))
        assert x.tolist() == [expected]
    assert len(libraries(cache)) == 3  # the runtime, two kernels
    module.compile()
    assert len(libraries(cache)) == 4


def test_kernels_of_a_module_are_compiled_at_once(quick, tmp_path):
    """Each compiler waits until another one runs, too."""
    begun = tmp_path / "begun"
    begun.mkdir()
    both = f"touch {begun}/$$; for i in $(seq 300); do [ $(ls {begun} | wc -l) -gt 1 ] && break; "
    quick(f'case "$*" in *-soname*) ;; *) {both} sleep 0.1; done; [ "$i" != 300 ] || exit;; esac')
    ck.simulator.RawModule(code=SEVERAL.partition('extern "C" __global__ void three')[0]).compile()


def test_a_damaged_library_is_built_again():
    text, toolchain = KERNEL.replace("VALUE", f"3; // {time.monotonic_ns()}\n"), find_toolchain()
    path = build_library(ptx_of_code(code_of(text)), ["k"], toolchain, toolchain.runtime())
    whole = path.read_bytes()
    path.write_bytes(whole[:4096])  # loading that would end this process
    x = np.zeros(2, np.int32)
    run(text, [x], block=2, loader=ModuleLoader())
    assert x.tolist() == [3, 3]
    assert path.stat().st_size == len(whole)


def test_a_library_that_cannot_be_loaded_stays(monkeypatch):
    toolchain, macros = find_toolchain(), (("VALUE", "3"),)
    path = build_library(
        ptx_of_code(code_of(KERNEL, macros)), ["k"], toolchain, toolchain.runtime()
    )
    loader._load_runtime(toolchain, checked=False)  # noqa: SLF001

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
