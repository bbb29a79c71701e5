"""RawModule: several kernels of one text, instances of templates, and variables."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawModule, checked

KERNELS = r"""
#define MAKE(name, value) extern "C" __global__ void name(int* x) { x[0] = value; }
MAKE(made, 1)
MAKE(made_too, 2)
__global__ void declared(int* x);
#if WANTED
__global__ void wanted(int* x) { x[0] = 3; }
#else
__global__ void unwanted(int* x) { x[0] = 4; }
#endif
// __global__ void commented(int* x) {}
__device__ const char* const text = "__global__ void quoted(int* x) {} } { \" {";
__device__ const char brace = '{';
extern "C" {
__global__ void __launch_bounds__(32 * 2, 4) bounded(int* x) { x[0] = 5; }
__global__ __launch_bounds__(64) void bounded_first(int* x) { x[0] = 6; }
static __global__ __attribute__((unused, aligned(16))) void attributed(int* x) { x[0] = 7; }
}
namespace outer { struct Braces { int x = {}; }; namespace inner {
__global__ void nested(int* x) { x[0] = 8; }
__global__ void twice(int* x) { x[0] = 9; }
} inline namespace v1 { __global__ void versioned(int* x) { x[0] = 10; } } }
namespace other::side { __global__ void twice(int* x) { x[0] = 11; } }
namespace { __global__ void unnamed(int* x) { x[0] = 12; } }
template <typename T> __global__ void scale(T* x) { x[0] *= 2; }
template <typename T> __global__ void scale_all(T* x, int n) { for (; n--;) x[n] *= 2; }
template __global__ void scale_all<short>(short*, int);
namespace ns {
template <typename T, int N> __global__ void k(T* x) { x[0] = N + sizeof(T); }
}
__global__ void declared(int* x) { x[0] = 13; }
__global__ void last(int* const __restrict__ x, int (*)(int), int = 3) { x[0] = 14; }
"""
EXPECTED = {
    "made": 1,
    "made_too": 2,
    "unwanted": 4,
    "bounded": 5,
    "bounded_first": 6,
    "attributed": 7,
    "nested": 8,
    "outer::inner::nested": 8,
    "outer::inner::twice": 9,
    "versioned": 10,
    "outer::v1::versioned": 10,
    "other::side::twice": 11,
    "unnamed": 12,
    "declared": 13,
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


def test_kernels_of_a_module_checked():
    with checked() as report:
        assert ran(MODULE, "ns::k<int, 3>", np.zeros(1, np.int32)) == 7
        assert ran(MODULE, "bounded", np.zeros(1, np.int32)) == 5
    assert report.launches == 2


@pytest.mark.parametrize(
    "name", ["missing", "scale", "scale<double>", "wanted", "commented", "quoted", "twice", "k", ""]
)
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
    with pytest.raises(ck.KernelCompileError, match="`missing_type`"):
        module.compile()


def test_paths(tmp_path):
    (tmp_path / "value.h").write_text("#define VALUE 5\n")
    path = tmp_path / "mine.cu"
    path.write_text('#include "value.h"\nextern "C" __global__ void k(int* x) { *x = VALUE; }')
    for given in (path, str(path)):
        module = RawModule(path=given)
        assert ran(module, "k", np.zeros(1, np.int32)) == 5
        assert module.code == path.read_text()
    path.write_text("__global__ void k(int* x) { *x = missing; }")
    with pytest.raises(ck.KernelCompileError, match=r"mine\.cu: .*`missing` \(.*mine\.cu:1\)"):
        RawModule(path=path).compile()


def test_code_or_path():
    for given in ({}, {"code": "", "path": "x.cu"}):
        with pytest.raises(ck.BindingError, match=r"RawModule: code must be given, or path; exact"):
            RawModule(**given)


@pytest.mark.parametrize(
    "code", ["", "__device__ int x;", "template <class T> __global__ void k();"]
)
def test_a_module_without_kernels(code):
    module = RawModule(code=code)
    module.compile()
    with pytest.raises(ck.BindingError, match=r"kernels \(none\); got 'k'"):
        module.get_function("k")
    with pytest.raises(ck.BindingError, match="must be of a module with kernels; it has none"):
        module.get_global("x")
