"""Programs that begin with the same headers: with headers precompiled, all is as without."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import cudakern as ck
from cudakern._forks import Cancelled
from cudakern.engines import nvrtc, precompiled
from cudakern.simulator.ptx.compile import Code, program_of, ptx_of_code
from tests.helpers.processes import printed
from tests.helpers.samples import sample

HEADER = """#pragma once
template <typename T> struct Limits { static constexpr T most = T(100); static T least; };
template <typename T> __device__ const T table[3] = {T(1), T(2), T(3)};
template <typename T> __device__ T clipped(T a) { return a < Limits<T>::most ? a : table<T>[1]; }
__device__ inline float half_of(float a) { return sinf(a) / 2; }
static __device__ int count = 5;
"""
TEXT = """// A comment.
#include <mine.h>  // and one more

/* Several
   lines. */
template <typename T> __global__ void k(T* x) { *x = clipped(*x) + half_of(*x) + VALUE; }
__global__ void other(int* x) { *x = clipped(count) + __LINE__ + sizeof(__FILE__); }
"""
NAMES = ("k<float>", "k<int>", "other", "&count")


@pytest.fixture
def attempts(monkeypatch, tmp_path):
    """Have headers be worth it and safe; return what NVRTC was told about them, call by call."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include/mine.h").write_text(HEADER)
    monkeypatch.setattr(precompiled, "_LONG", 0.0)
    monkeypatch.setattr(precompiled, "_is_safe", lambda: True)
    monkeypatch.setattr(precompiled, "_known", {})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    told, attempt = [], nvrtc._attempt  # noqa: SLF001

    def recorded(nvrtc, program, cancelled, text, more):
        told.append(more[0].split("=")[0] if more else "")
        return attempt(nvrtc, program, cancelled, text, more)

    monkeypatch.setattr(nvrtc, "_attempt", recorded)
    yield told
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["include"]


@pytest.fixture
def program(tmp_path):
    """Return a function that makes a program, whose headers may be precompiled."""

    def program(value="1", text=TEXT, names=NAMES, headers="", source="a b.cu"):
        text = text.replace("VALUE", value)
        code = Code(source, text, (f"-I{tmp_path}/include",), names)
        return replace(program_of(code), headers=headers)

    return program


def ptx_of(program):
    return nvrtc.compile_program(program)[0]


def without(program):
    return ptx_of(replace(program, headers=None))


MADE, USED = "--create-pch", "--use-pch"


def test_ptx_is_the_same(attempts, program):
    expected = [without(program(str(i))) for i in range(4)]
    attempts.clear()
    assert [ptx_of(program(str(i))) for i in range(4)] == expected
    assert attempts == ["", MADE, USED, USED]
    assert b'a b.cu"' in expected[0]
    another = program(
        text=TEXT.replace("one more", "2").replace("/* ", "\n\n/* "), source="other.cu"
    )
    assert ptx_of(another) == without(another)
    assert attempts[4:] == [USED, ""]


HEAVY = {
    "cooperative_groups.h": "__global__ void k(int* x) {"
    "auto t = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());"
    "x[t.thread_rank()] = t.shfl_xor(x[1], 1); }",
    "cuda/atomic": "__global__ void k(int* x) { cuda::atomic_ref<int> a(x[1]); a.fetch_add(3); }",
    "cub/block/block_reduce.cuh": "__global__ void k(int* x) { using R = cub::BlockReduce<int, 64>;"
    "__shared__ typename R::TempStorage s; *x = R(s).Sum(x[threadIdx.x]); }",
    "cuda/std/complex": "__global__ void k(float* x) {"
    "cuda::std::complex<float> c(x[0], x[1]); x[2] = cuda::std::exp(c).real(); }",
    "cuda_fp16.h": "__global__ void k(half2* x) { *x = __hfma2(x[0], x[1], h2exp(x[2])); }",
}


@pytest.mark.parametrize("header", sample(HEAVY, 2))
def test_ptx_of_heavy_headers_is_the_same(attempts, program, header):
    text = f"#include <{header}>\n{HEAVY[header]}"
    expected = without(program(text=text, names=("k",)))
    attempts.clear()
    for _ in range(3):
        assert ptx_of(program(text=text, names=("k",))) == expected
    assert attempts == ["", MADE, USED]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (TEXT.replace("VALUE", "nothing"), NAMES),
        (TEXT.replace("VALUE", 'VALUE;\n#warning "careful"\n 1 +;'), NAMES),
        (TEXT, ("k<float>", "absent<1>")),
        (TEXT.replace("mine.h>", "mine.h>\n#include <absent.h>"), NAMES),
    ],
)
@pytest.mark.usefixtures("attempts")
def test_errors_are_the_same(program, text, names):
    wrong = program(text=text, names=names)
    with pytest.raises(ck.KernelCompileError) as expected:
        without(wrong)
    for _ in range(3):
        with pytest.raises(ck.KernelCompileError) as caught:
            ptx_of(wrong)
        assert (caught.value.log, str(caught.value)) == (expected.value.log, str(expected.value))
        assert caught.value.options == expected.value.options
        ptx_of(program())


def test_a_wrong_kernel_does_not_cost_the_headers(attempts, program):
    for value in ("1", "nothing", "2", "nothing", "3"):
        if value == "nothing":
            with pytest.raises(ck.KernelCompileError):
                ptx_of(program(value))
        else:
            assert ptx_of(program(value)) == without(program(value))
            attempts.pop()
    assert attempts == ["", MADE, "", MADE, USED, "", USED]


STARTS = {
    "nothing else": ("#include <a.h>\nint x;", ["a.h"], 2, "int x;"),
    "comments": ("// a\n\n \t#  include <a.h> // b\r\n/* #include <b.h>\n*/\nx", ["a.h"], 6, "x"),
    "two": ("#include <a.h>\n#include <b.h>\n#define A\n", ["a.h", "b.h"], 3, "#define A\n"),
    "macro first": ("#define A\n#include <a.h>\n", None, 1, ""),
    "own header": ('#include <a.h>\n#include "b.h"\n', ["a.h"], 2, '#include "b.h"\n'),
    "code behind a comment": ("#include <a.h>\n/* */ int x;", ["a.h"], 2, "/* */ int x;"),
    "code behind an include": ("#include <a.h> int x;\n", None, 1, ""),
    "a comment that goes on": ("// a \\\n#include <a.h>\n", None, 1, ""),
    "an open comment": ("#include <a.h>\n/* ", ["a.h"], 2, "/* "),
    "own line": ('#include <a.h>\n#line 9 "b.cu"\nx', ["a.h"], 2, '#line 9 "b.cu"\nx'),
    "own first line": ('#line 1 "b.cu"\n#include <a.h>\n', None, 1, ""),
    "no line end": ("#include <a.h>", None, 1, ""),
}


@pytest.mark.parametrize(("text", "headers", "line", "rest"), STARTS.values(), ids=STARTS)
def test_how_programs_begin(text, headers, line, rest):
    parts = precompiled._parts(program_of(Code('a"b.cu', text)).text)  # noqa: SLF001
    if headers is None:
        assert parts is None
    else:
        includes = "".join(f"#include <{name}>\n" for name in headers)
        assert parts == (f"{includes}#pragma nv_hdrstop\n", f'#line {line} "a\\"b.cu"\n{rest}')


def test_what_cupy_puts_in_front_counts():
    text = program_of(Code("k.cu", "#include <cuComplex.h>\n", translate_cucomplex=True)).text
    head, _ = precompiled._parts(text)  # noqa: SLF001
    assert head.startswith("#include <cupy/complex.cuh>\n")
    assert "#include <cupy/cuComplex_bridge.h>\n#pragma" in head


def test_an_edited_header_is_compiled_again(attempts, tmp_path, monkeypatch):
    """Also if its time does not tell."""
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / "include/cache"))
    header = tmp_path / "include/value.h"
    text = "#include <value.h>\n__global__ void k%d(int* x) { *x = value; }"
    for value in (21, 22, 23):
        header.write_text(f"enum {{ value = {value} }};")
        os.utime(header, (0, 0))
        for i in range(3):
            code = Code("k.cu", text % i, (f"-I{header.parent}",))
            assert f" {value};" in ptx_of_code(code).text()
    assert attempts == 3 * ["", MADE, USED]


def test_options_of_the_caller_s_own(attempts, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / "include/cache"))
    for i in range(3):
        text = f"#include <mine.h>\n__global__ void k{i}(int* x) {{ *x = 1; }}"
        options = (f"-I{tmp_path}/include", "--pch", f"--pch-dir={tmp_path}")
        ptx_of_code(Code("k.cu", text, options)).text()
    assert attempts == ["", "", ""]


def no_folder(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")


def no_status(monkeypatch):
    """Return no success, as if there was no room in NVRTC's memory for headers."""
    attempt = nvrtc._attempt  # noqa: SLF001
    monkeypatch.setattr(nvrtc, "_attempt", lambda *args: (attempt(*args)[0], False))


def no_space(monkeypatch):
    attempt = nvrtc._attempt  # noqa: SLF001

    def full(*args):
        result = attempt(*args)
        if args[-1]:
            raise ck.KernelCompileError("k.cu", (), "error while writing PCH file")
        return result

    monkeypatch.setattr(nvrtc, "_attempt", full)


def old_nvrtc(monkeypatch):
    def absent():
        message = "Function not found"
        raise RuntimeError(message)

    monkeypatch.setattr(nvrtc._nvrtc(), "nvrtcGetPCHHeapSize", absent)  # noqa: SLF001


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (no_folder, ["", ""]),
        (no_status, ["", MADE]),
        (no_space, ["", MADE, ""]),
        (old_nvrtc, ["", ""]),
    ],
)
def test_headers_that_cannot_be_made_are_done_without(attempts, program, monkeypatch, fault, told):
    expected = without(program())
    attempts.clear()
    fault(monkeypatch)
    assert [ptx_of(program()) for _ in range(4)] == [expected] * 4
    assert attempts == [*told, "", ""]


def test_a_file_that_the_program_has_closed(attempts, program):
    expected = without(program())
    for _ in range(3):
        ptx_of(program())
    (file,) = precompiled._known.values()  # noqa: SLF001
    descriptor = int(file.path.rpartition("/")[2])
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, descriptor)
    attempts.clear()
    assert [ptx_of(program()) for _ in range(3)] == [expected] * 3
    assert attempts == ["", MADE, USED]
    del file
    assert stat.S_ISCHR(os.fstat(descriptor).st_mode)
    os.close(descriptor)
    os.close(null)


def open_files():
    return len([*Path("/proc/self/fd").iterdir()])


def test_few_files_are_kept(attempts, program):
    before = open_files()
    for i in range(7):
        for _ in range(2):
            ptx_of(program(headers=str(i)))
    assert open_files() == before + 4
    attempts.clear()
    for i in (0, 6):
        ptx_of(program(headers=str(i)))
    assert attempts == ["", USED]
    for i in range(100):
        precompiled._know((str(i),), 1.0)  # noqa: SLF001
    assert len(precompiled._known) == 64  # noqa: SLF001


def test_headers_that_are_quick_are_not_worth_it(attempts, program, monkeypatch):
    monkeypatch.setattr(precompiled, "_LONG", 100.0)
    for _ in range(3):
        ptx_of(program())
    assert attempts == ["", "", ""]


def test_nobody_waits_any_more(attempts, program):
    """Then the program's own text is not compiled after one with precompiled headers."""
    ptx_of(program())
    cancelled = Cancelled()

    def attempt(*_):
        attempts.append("attempt")
        cancelled.word[:1] = b"1"
        raise ck.KernelCompileError("k.cu", (), "interrupted")

    attempts.clear()
    with pytest.raises(ck.KernelCompileError):
        precompiled.compiled(nvrtc._nvrtc(), program(), attempt, cancelled)  # noqa: SLF001
    assert attempts == ["attempt"]


@pytest.mark.usefixtures("attempts")
def test_threads_share_headers(program):
    expected = [without(program(str(i))) for i in range(12)]
    results = {}
    threads = [
        threading.Thread(target=lambda i=i: results.update({i: ptx_of(program(str(i)))}))
        for i in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[i] for i in range(12)] == expected


FORKED = """
import os, sys
from dataclasses import replace
from cudakern.engines import nvrtc, precompiled
from cudakern.simulator.ptx.compile import Code, program_of

precompiled._LONG, precompiled._is_safe = 0.0, lambda: True
told, attempt = [], nvrtc._attempt

def recorded(*args):
    told.append(args[-1][0].split("=")[0] if args[-1] else "")
    return attempt(*args)

nvrtc._attempt = recorded

def ptx(i, headers=""):
    text = f"#include <mine.h>\\n__global__ void k(float* x) {{ *x = half_of(*x) + {i}; }}"
    program = program_of(Code("k.cu", text, (f"-I{sys.argv[1]}",)))
    return nvrtc.compile_program(replace(program, headers=headers))[0]

expected = ptx(3, None), ptx(4, None)
ptx(0), ptx(1)
child = os.fork()
assert (ptx(3), ptx(4), ptx(4, "new"), ptx(4, "new")) == (*expected, expected[1], expected[1])
if child:
    assert os.waitpid(child, 0)[1] == 0
print(*told[4:])  # the child's line is whole by now
assert ptx(3) == expected[0]
"""


def test_a_forked_process_has_the_headers_too(attempts, tmp_path):
    said = printed(FORKED, str(tmp_path / "include"), flags=["-W", "ignore"], TMPDIR=str(tmp_path))
    assert said == 2 * f"{USED} {USED}  {MADE}\n"
    assert attempts == []


def test_no_room_for_the_file(attempts, tmp_path):
    limit = "import resource, signal\nresource.setrlimit(resource.RLIMIT_FSIZE, (2**16, -1))\n"
    program = limit + FORKED.replace("os.fork()", "0").replace("print", "(lambda *_: 0)")
    printed(program, str(tmp_path / "include"), TMPDIR=str(tmp_path))
    assert attempts == []


@pytest.fixture
def system(monkeypatch, tmp_path):
    """Return the facts of a system on which headers may be precompiled."""
    facts = SimpleNamespace(kind=0xEF53, guards="1\n", free=1 << 40)

    def statfs(_, buffer):
        buffer[:8] = facts.kind.to_bytes(8, "little")
        return 0

    read = Path.read_text
    monkeypatch.setattr(precompiled.ctypes, "CDLL", lambda _: SimpleNamespace(statfs=statfs))
    monkeypatch.setattr(
        Path, "read_text", lambda p: facts.guards if "/sys/fs/" in str(p) else read(p)
    )
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=facts.free))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return facts


def test_where_it_is_safe(system, tmp_path, monkeypatch):
    is_safe = precompiled._is_safe  # noqa: SLF001
    assert is_safe()
    system.guards = "0\n"
    assert is_safe()
    tmp_path.chmod(0o1777)
    assert not is_safe()
    system.guards = "2\n"
    assert is_safe()
    system.free = 1 << 30
    assert not is_safe()
    system.free, system.kind = 1 << 40, 0x01021994  # tmpfs
    assert not is_safe()
    system.kind = 0xEF53
    monkeypatch.setenv("TMPDIR", f"{tmp_path}/absent")
    system.guards = "0\n"
    assert not is_safe()


MEMORY = Path("/dev/shm")  # noqa: S108  which is not written


@pytest.mark.skipif(not MEMORY.is_dir(), reason="there is no file system in memory")
def test_a_file_system_in_memory_is_known(monkeypatch):
    monkeypatch.setenv("TMPDIR", str(MEMORY))
    monkeypatch.setattr(precompiled, "_ROOM_BYTES", 0)
    monkeypatch.setattr(precompiled, "distrust", lambda _: "")
    assert not precompiled._is_safe()  # noqa: SLF001
