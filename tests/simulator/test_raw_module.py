"""RawModule: several kernels of one text, instances of templates, and variables."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawModule, checked
from cudakern.simulator.ptx import compile as compiling

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
    "made_too": 2,
    "unwanted": 4,
    "bounded": 5,
    "nested": 8,
    "outer::inner::nested": 8,
    "outer::inner::twice": 9,
    "versioned": 10,
    "outer::v1::versioned": 10,
    "other::side::twice": 11,
    "unnamed": 12,
    "ns::k<int, 3>": 7,
    "ns::k<short, -1>": 1,
}
TEMPLATES = ("scale<float>", "scale<int>", "ns::k<int, 3>", "ns::k<short, -1>")
MODULE = RawModule(code=KERNELS, name_expressions=TEMPLATES)


def ran(module, name, *arguments, **launch):
    module.get_function(name)((1,), (1,), arguments, **launch)
    return arguments[0][0] if arguments else None


@pytest.mark.parametrize("name", EXPECTED)
def test_kernels(name):
    assert ran(MODULE, name, np.zeros(1, np.int32)) == EXPECTED[name]
    assert MODULE.get_function(name).name == name


def test_instances_of_templates():
    assert ran(MODULE, "scale<float>", np.full(1, 1.25, np.float32)) == 2.5
    assert ran(MODULE, "scale<int>", np.full(1, 7, np.int32)) == 14
    assert ran(MODULE, "last", np.zeros(1, np.int32), None, 0) == 14


@pytest.mark.parametrize("name", ["missing", "scale", "scale<double>", "wanted", "twice", "k", ""])
def test_unknown_kernels(name):
    with pytest.raises(ck.BindingError) as caught:
        MODULE.get_function(name)
    message = str(caught.value)
    assert message.startswith("RawModule: name must be one of the module's kernels (made, made_too")
    assert message.endswith(f"; got {name!r}")
    assert "scale<float>" in message
    assert "\n" not in message


def test_options_decide_what_there_is():
    module = RawModule(code=KERNELS, options=("-DWANTED=1",))
    assert ran(module, "wanted", np.zeros(1, np.int32)) == 3
    with pytest.raises(ck.BindingError, match="got 'unwanted'"):
        module.get_function("unwanted")


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
    for name in (path, str(path)):
        module = RawModule(path=name)
        assert ran(module, "k", np.zeros(1, np.int32)) == 5
        assert module.code == path.read_text()
    path.write_text("__global__ void k(int* x) { *x = missing; }")
    with pytest.raises(ck.KernelCompileError) as caught:
        RawModule(path=path).compile()
    said = f'the kernel must compile; {path}(1): error: identifier "missing" is undefined'
    assert str(caught.value) == f"{path}: {said}"


def test_what_lies_beside_a_file_is_part_of_it(tmp_path, monkeypatch):
    """As NVRTC searches, wherever the process is; an edited header makes another kernel."""
    (tmp_path / "below").mkdir()
    path = tmp_path / "below" / "mine.cu"
    path.write_text('#include "outer.h"\nextern "C" __global__ void k(int* x) { *x = VALUE; }')
    (tmp_path / "below" / "outer.h").write_text('#include "../value.h"\n')
    monkeypatch.chdir(tmp_path)
    for value in (5, 6):
        (tmp_path / "value.h").write_text(f"#define VALUE {value}\n")
        for name in (path, "below/mine.cu"):
            assert ran(RawModule(path=name), "k", np.zeros(1, np.int32)) == value
            with checked():
                assert ran(RawModule(path=name), "k", np.zeros(1, np.int32)) == value


def test_files_of_ptx(tmp_path):
    text = compiling.ptx_of_code(compiling.Code("m.cu", KERNELS, (), TEMPLATES)).text()
    path = tmp_path / "module.ptx"
    path.write_text(text + "\0")
    for module in (RawModule(path=path), RawModule(path=str(path)), RawModule(code=text)):
        assert module.code == text
        assert ran(module, "bounded", np.zeros(1, np.int32)) == 5
        assert ran(module, "outer::inner::twice", np.zeros(1, np.int32)) == 9
        assert ran(module, "_ZN2ns1kIiLi3EEEvPT_", np.zeros(1, np.int32)) == 7
        with pytest.raises(ck.BindingError, match="got 'scale<float>'"):
            module.get_function("scale<float>")
        with checked() as report:
            assert ran(module, "bounded", np.zeros(1, np.int32)) == 5
        assert report.launches == 1


@pytest.mark.parametrize(
    ("content", "what"), [(b"\x7fELF\x02\xff", "machine code"), (b"int a; // \xe9", "other bytes")]
)
def test_files_that_are_no_text(tmp_path, content, what):
    (tmp_path / "x").write_bytes(content)
    message = rf"^RawModule: path must be a file of CUDA C\+\+ or PTX in UTF-8; got {what}$"
    with pytest.raises(ck.BindingError, match=message):
        RawModule(path=tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        RawModule(path=tmp_path / "absent.cu")


def test_symbols_are_names():
    with checked():
        assert ran(MODULE, "_ZN5outer5inner6nestedEPi", np.zeros(1, np.int32)) == 8


REFUSED = r"""
extern "C" __global__ void fine(int* x) { *x = 1; }
extern "C" __global__ void sampled(float* x, cudaTextureObject_t t) { *x = tex2D<float>(t, 1, 2); }
extern "C" __device__ __noinline__ void helper(float* x, cudaTextureObject_t t) {
  *x = tex1D<float>(t, 1);
}
extern "C" __global__ void indirect(float* x, cudaTextureObject_t t) { helper(x, t); }
"""


def test_a_kernel_that_is_not_executed_leaves_the_others():
    module = RawModule(code=REFUSED)
    module.compile()
    assert ran(module, "fine", np.zeros(1, np.int32)) == 1
    for name in ("sampled", "indirect"):
        kernel = module.get_function(name)
        with pytest.raises(ck.KernelCompileError) as caught:
            kernel((1,), (1,), (np.zeros(1, np.float32), 0))
        message = str(caught.value)
        assert message.startswith("module.cu: the kernel must compile; module.cu:")
        assert "the simulator does not execute the instruction tex." in message
        assert message.endswith("; instead of a texture read an array, interpolating by hand")


FINE = 'extern "C" __global__ void fine(int* x) { x[0] = 1; }'
CALLS = """extern "C" __device__ int other(int);
extern "C" __global__ void k(int* x) { x[0] = other(1); }"""
LAUNCHES = """__global__ void child(int* x) { x[0] = 1; }
extern "C" __global__ void k(int* x) { child<<<1, 1>>>(x); }"""


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (CALLS, "a call of other, which the module does not define"),
        (LAUNCHES, "mov.u64 of _Z5childPi, which is a kernel: only the host launches them"),
    ],
)
def test_functions_of_others_and_launches_from_kernels(code, what):
    module = RawModule(code=f"{code}\n{FINE}", options=("-rdc=true",))
    assert ran(module, "fine", np.zeros(1, np.int32)) == 1
    with pytest.raises(ck.KernelCompileError) as caught:
        ran(module, "k", np.zeros(1, np.int32))
    said = f"module.cu:2: error: the simulator does not execute {what} (line "
    assert str(caught.value).startswith(f"module.cu: the kernel must compile; {said}")


def test_code_or_path():
    for arguments in ({}, {"code": "", "path": "x.cu"}):
        with pytest.raises(ck.BindingError, match=r"RawModule: code must be given, or path; exact"):
            RawModule(**arguments)


@pytest.mark.parametrize(
    "code", ["", "__device__ int x = 7;", "template <class T> __global__ void k();"]
)
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": 5}, r"path must be a str or a Path; got 5 \(.*\)$"),
        ({"path": "a\0"}, r"path must be a str or a Path; got 'a\\x00' \(embedded null byte\)$"),
        ({"code": "", "name_expressions": 5}, "name_expressions must be a sequence of strings; "),
        ({"code": "", "name_expressions": "k"}, "name_expressions must be a sequence of strings; "),
        ({"code": "", "name_expressions": [None]}, "name_expressions must be strings; got None$"),
        ({"code": "", "enable_cooperative_groups": "x"}, "enable_cooperative_groups must be True "),
    ],
)
def test_constructor(arguments, message):
    with pytest.raises((ck.DTypeError, ck.BindingError), match=f"^RawModule: {message}"):
        RawModule(**arguments)


@pytest.mark.parametrize("name", [None, [], pytest.param(10**5000, id="huge"), np.zeros(2)])
def test_names_must_be_strings(name):
    module = RawModule(code="__device__ int x;")
    for get in (module.get_function, module.get_global):
        with pytest.raises(ck.DTypeError, match=r"^RawModule: name must be a str; got "):
            get(name)
