"""RawModule: several kernels in one text, instances of templates, and variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawModule, checked
from cudakern.simulator.sources import text_to_ptx as compiling
from tests.helpers.rows import each

KERNELS = r"""
#define MAKE(name, value) extern "C" __global__ void name(int* x) { x[0] = value; }
MAKE(made, 1)
MAKE(made_too, 2)
#if WANTED
__global__ void wanted(int* x) { x[0] = 3; }
#else
__global__ void unwanted(int* x) { x[0] = 4; }
#endif
extern "C" __global__ void __launch_bounds__(32 * 2, 4) bounded(int* x) { x[0] = 5; }
namespace outer { namespace inner {
__global__ void nested(int* x) { x[0] = 8; }
__global__ void twice(int* x) { x[0] = 9; }
} inline namespace v1 { __global__ void versioned(int* x) { x[0] = 10; } } }
namespace other::side { __global__ void twice(int* x) { x[0] = 11; } }
namespace { __global__ void unnamed(int* x) { x[0] = 12; } }
template <typename T> __global__ void scale(T* x) { x[0] *= 2; }
namespace ns {
template <typename T, int N> __global__ void k(T* x) { x[0] = N + sizeof(T); }
}
__global__ void last(int* const __restrict__ x, int (*)(int), int = 3) { x[0] = 14; }
"""
EXPECTED = {
    "made": 1,
    "bounded": 5,
    "unwanted": 4,
    "outer::inner::nested": 8,
    "outer::inner::twice": 9,
    "outer::versioned": 10,
    "outer::v1::versioned": 10,
    "other::side::twice": 11,
    "unnamed": 12,
    "ns::k<int, 3>": 7,
    "ns::k<short, -1>": 1,
}
TEMPLATES = ("scale<float>", "scale<int>", "ns::k<int, 3>", "ns::k<short, -1>")
LAST = "_Z4lastPiPFiiEi"
#: CuPy takes these, also for kernels that are declared extern "C".
EXPRESSIONS = (*[*EXPECTED][1:-2], *TEMPLATES)
MODULE = RawModule(code=KERNELS, name_expressions=EXPRESSIONS)
SYMBOLS = {
    "made": 1,
    "made_too": 2,
    "_Z8unwantedPi": 4,
    "bounded": 5,
    "_ZN5outer5inner6nestedEPi": 8,
    "_ZN5outer2v19versionedEPi": 10,
    "_ZN5other4side5twiceEPi": 11,
}
#: Names in C++ that are not symbols; for a text in a file, all of them name kernels.
IN_FILES = {
    "unwanted": 4,
    "nested": 8,
    "outer::inner::nested": 8,
    "outer::inner::twice": 9,
    "versioned": 10,
    "outer::v1::versioned": 10,
    "unnamed": 12,
}


def ran(module, name, *arguments, **launch):
    module.get_function(name)((1,), (1,), arguments, **launch)
    return arguments[0][0] if arguments else None


@each("name", EXPECTED)
def test_kernels(name):
    assert ran(MODULE, name, np.zeros(1, np.int32)) == EXPECTED[name]
    with checked() as report:
        assert ran(MODULE, name, np.zeros(1, np.int32)) == EXPECTED[name]
    assert report.launches == 1


@each("name", SYMBOLS)
def test_symbols(name):
    module = RawModule(code=KERNELS)
    assert ran(module, name, np.zeros(1, np.int32)) == SYMBOLS[name]
    kernel = module.get_function(name)
    assert (kernel.name, kernel.__name__) == (name, name)


@each("name", IN_FILES)
def test_names_of_kernels_in_files(tmp_path, name):
    """CuPy does not take files of CUDA C++. Whole programs have few kernels that are extern "C"."""
    path = tmp_path / "kernels.cu"
    path.write_text(KERNELS)
    module = RawModule(path=str(path))
    assert ran(module, name, np.zeros(1, np.int32)) == IN_FILES[name]
    with pytest.raises(ck.BindingError, match=f"; got '{name}', which C"):
        RawModule(code=KERNELS).get_function(name)
    with pytest.raises(
        ck.BindingError, match="; got 'twice', which is ambiguous: take _ZN5outer5inner5t"
    ):
        module.get_function("twice")


def test_instances_of_templates():
    assert ran(MODULE, "scale<float>", np.full(1, 1.25, np.float32)) == 2.5
    assert ran(MODULE, "scale<int>", np.full(1, 7, np.int32)) == 14
    assert ran(RawModule(code=KERNELS), LAST, np.zeros(1, np.int32), None, 0) == 14


@each(
    "name, hint",
    [
        *(("missing", ""), ("scale", ""), ("wanted", ""), ("k", ""), ("", "")),
        ("scale<double>", ": take RawModule(code=..., name_expressions=['scale<double>'])"),
        ("twice", ", which is ambiguous: take _ZN5outer5inner5twiceEPi or _ZN5other4side5twiceEPi"),
    ],
)
def test_unknown_kernels(name, hint):
    with pytest.raises(ck.BindingError) as caught:
        MODULE.get_function(name)
    message = str(caught.value)
    assert message.startswith("RawModule: name must be one of the module's kernels (made, made_too")
    assert message.endswith(f"; got {name!r}{hint}")
    assert "scale<float>" in message
    assert "\n" not in message


def test_options_decide_what_there_is():
    module = RawModule(code=KERNELS, options=("-DWANTED=1",), name_expressions=["wanted"])
    assert ran(module, "wanted", np.zeros(1, np.int32)) == 3
    with pytest.raises(ck.BindingError, match=r"got '_Z8unwantedPi'$"):
        module.get_function("_Z8unwantedPi")


def test_a_template_that_cannot_be_made():
    module = RawModule(code=KERNELS, name_expressions=["scale<missing_type>"])
    with pytest.raises(ck.KernelCompileError) as caught:
        module.compile()
    assert str(caught.value) == (
        'module.cu: the kernel must compile; error: identifier "missing_type" is undefined '
        "in the name expression scale<missing_type>"
    )


def test_paths(tmp_path):
    (tmp_path / "value.h").write_text("#define VALUE 5\n")
    path = tmp_path / "mine.cu"
    path.write_text('#include "value.h"\nextern "C" __global__ void k(int* x) { *x = VALUE; }')
    module = RawModule(path=str(path))
    assert ran(module, "k", np.zeros(1, np.int32)) == 5
    assert (module.code, module.file_path) == (None, str(path))
    path.write_text("__global__ void k(int* x) { *x = missing; }")
    with pytest.raises(ck.KernelCompileError) as caught:
        RawModule(path=str(path)).compile()
    said = f'the kernel must compile; {path}(1): error: identifier "missing" is undefined'
    assert str(caught.value) == f"{path}: {said}"


def test_what_lies_beside_a_file_is_part_of_it(tmp_path, monkeypatch):
    """Headers beside a file are found as by NVRTC, from any folder; an edit changes the kernel."""
    (tmp_path / "below").mkdir()
    path = tmp_path / "below" / "mine.cu"
    path.write_text('#include "outer.h"\nextern "C" __global__ void k(int* x) { *x = VALUE; }')
    (tmp_path / "below" / "outer.h").write_text('#include "../value.h"\n')
    monkeypatch.chdir(tmp_path)
    for value in (5, 6):
        (tmp_path / "value.h").write_text(f"#define VALUE {value}\n")
        for name in (str(path), "below/mine.cu"):
            assert ran(RawModule(path=name), "k", np.zeros(1, np.int32)) == value
            with checked():
                assert ran(RawModule(path=name), "k", np.zeros(1, np.int32)) == value


def test_files_of_ptx(tmp_path):
    text = compiling.ptx_of_code(compiling.Code("m.cu", KERNELS, (), TEMPLATES)).text()
    path = tmp_path / "module.ptx"
    path.write_text(text + "\0")
    for module in (RawModule(path=str(path)), RawModule(code=text)):
        assert ran(module, "bounded", np.zeros(1, np.int32)) == 5
        assert ran(module, "_ZN5outer5inner5twiceEPi", np.zeros(1, np.int32)) == 9
        assert ran(module, "_ZN2ns1kIiLi3EEEvPT_", np.zeros(1, np.int32)) == 7
        with pytest.raises(ck.BindingError, match=r"got 'scale<float>'$"):
            module.get_function("scale<float>")
        with pytest.raises(ck.BindingError, match="'versioned', which may be _ZN5outer2v19version"):
            module.get_function("versioned")
        with checked() as report:
            assert ran(module, "bounded", np.zeros(1, np.int32)) == 5
        assert report.launches == 1


@each("content, what", [(b"\x7fELF\0\xff", "machine code"), (b"\xff\xfe\0\xd8.", "other bytes")])
def test_files_that_are_no_text(tmp_path, content, what):
    (tmp_path / "x").write_bytes(content)
    message = rf"^RawModule: path must be a file of CUDA C\+\+ or PTX in UTF-8; got {what}$"
    with pytest.raises(ck.BindingError, match=message):
        RawModule(path=str(tmp_path / "x"))
    with pytest.raises(FileNotFoundError):
        RawModule(path=str(tmp_path / "absent.cu"))


FINE = 'extern "C" __global__ void fine(int* x) { x[0] = 1; }'
CALLS = """extern "C" __device__ int other(int);
extern "C" __global__ void k(int* x) { x[0] = other(1); }"""
LAUNCHES = """__global__ void child(int* x) { x[0] = 1; }
extern "C" __global__ void k(int* x) { child<<<1, 1>>>(x); }"""
SAMPLES = """
__device__ __noinline__ int at(cudaTextureObject_t t) { return tex1D<int>(t, 1); }
extern "C" __global__ void k(int* x) { x[0] = at(x[0]); }"""


@each(
    "code, what",
    [
        (SAMPLES, "the instruction tex.1d.v4.s32.f32"),
        (CALLS, "a call of other, which the module does not define"),
        (LAUNCHES, "mov.u64 of _Z5childPi, which is a kernel: only the host launches them"),
    ],
)
def test_a_kernel_that_is_not_executed_leaves_the_others(code, what):
    module = RawModule(code=f"{code}\n{FINE}", options=("-rdc=true",))
    assert ran(module, "fine", np.zeros(1, np.int32)) == 1
    with pytest.raises(ck.KernelCompileError) as caught:
        ran(module, "k", np.zeros(1, np.int32))
    said = f"module.cu:2: error: the simulator does not execute {what} (line "
    assert str(caught.value).startswith(f"module.cu: the kernel must compile; {said}")


@each("code", ["", "__device__ int x = 7;", "template <class T> __global__ void k();"])
def test_a_module_without_kernels(code):
    module = RawModule(code=code)
    module.compile()
    with pytest.raises(ck.BindingError, match=r"kernels \(none\); got 'k'"):
        module.get_function("k")
    if "int x" in code:
        assert module.get_global("x").view(np.int32) == 7
        return
    with pytest.raises(ck.BindingError, match=r"one of the module's variables \(none\); got 'x'"):
        module.get_global("x")


@each(
    "arguments, message",
    [
        ({}, "code must be given, or path; exact"),
        ({"code": "", "path": "x.cu"}, "code must be given, or path; exact"),
        ({"path": 5}, r"path must be a str; got 5$"),
        ({"path": Path("x.ptx")}, r"path must be a str; got \w*Path\('x.ptx'\)$"),
        ({"path": "a\0"}, r"path must name a file; got 'a\\x00' \(embedded null byte\)$"),
        ({"path": "x.cu", "jitify": True}, "jitify must go with code; got path$"),
        ({"code": "", "backend": "nvcc", "name_expressions": ()}, "name_expressions must go "),
        ({"code": "", "name_expressions": 5}, "name_expressions must be a sequence of strings; "),
        ({"code": "", "name_expressions": "k"}, "name_expressions must be a sequence of strings; "),
        ({"code": "", "name_expressions": [None]}, "name_expressions must be strings; got None$"),
        ({"code": "", "jitify": np.zeros(2)}, r"jitify must be True or False; got array\("),
    ],
)
def test_constructor(arguments, message):
    with pytest.raises((ck.DTypeError, ck.BindingError), match=f"^RawModule: {message}"):
        RawModule(**arguments)


@each("name", [None, [], pytest.param(10**5000, id="huge"), np.zeros(2)])
def test_names_must_be_strings(name):
    module = RawModule(code="__device__ int x;")
    for get in (module.get_function, module.get_global):
        with pytest.raises(ck.DTypeError, match=r"^RawModule: name must be a str; got "):
            get(name)
