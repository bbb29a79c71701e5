"""The text of kernels and modules has what is known without compiling anything."""

from __future__ import annotations

from cudakern.simulator import RawKernel, RawModule
from cudakern.simulator.sources import text_to_ptx as compiling
from tests.helpers.rows import each

ADD = """extern "C" __global__ void add(const float* x,  // in
    float* y, float a) { y[threadIdx.x] = x[threadIdx.x] + a; }"""
FILL = "template <class T> __global__ void fill(T* x, T a) { x[threadIdx.x] = a; }"
MACRO = """#define KERNEL(name) extern "C" __global__ void name(int* x, short b, double c)
KERNEL(set) { x[0] = b + c; }"""
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry one(.param .u64 one_0, .param .align 8 .b8 one_1[16]) { ret; }
"""


@each(
    "code, name, before, after",
    [
        (ADD, "add", "add(const float* x, float* y, float a)", None),
        (MACRO, "set", "set(...)", "word of 8 bytes, integer of 2 bytes, floating of 8 bytes"),
        (PTX, "one", "one(.u64 one_0, .align 8 .b8 one_1[16])", None),
        (PTX, "nothing", "nothing()", None),
    ],
)
def test_a_kernel_before_and_after_it_is_compiled(monkeypatch, code, name, before, after):
    architecture = "sm_80" if code is PTX else "compute_90"
    kernel = RawKernel(code, name)
    with monkeypatch.context() as patch:
        patch.delattr(compiling, "ptx_of_code")
        patch.delattr(compiling, "ptx_of_text")
        assert repr(kernel) == f"<RawKernel {before} for {architecture}, not compiled yet>"
    kernel.compile()
    known = before if after is None else f"{name}({after})"
    assert repr(kernel) == f"<RawKernel {known} for {architecture}>"


def test_the_architecture_is_that_of_the_variable_and_then_of_the_compilation(monkeypatch):
    kernel, compiled = RawKernel(ADD, "add"), RawKernel(ADD, "add")
    compiled.compile()
    for value, architecture in (("80", "compute_80"), ("nonsense", "?")):
        monkeypatch.setenv("CUDAKERN_ARCH", value)
        assert repr(kernel).endswith(f") for {architecture}, not compiled yet>")
        assert repr(compiled).endswith(" for compute_90>")


def test_what_is_not_there_or_long_is_shown_in_one_line():
    assert repr(RawKernel("no code at all", "k")).startswith("<RawKernel k(...) for compute_90, ")
    many = ", ".join(f"int* parameter{i}" for i in range(1000))
    shown = repr(RawKernel(f"__global__ void k({many}) {{}}", "k"))
    assert len(shown) < 400
    assert "\n" not in repr(RawKernel("__global__ void k(int* a\n,\n\tint b) {}", "k"))


def test_a_module_before_and_after_it_is_compiled(tmp_path):
    module = RawModule(code=FILL + ADD, name_expressions=["fill<int>"])
    assert repr(module) == "<RawModule module.cu with fill<int> for compute_90, not compiled yet>"
    module.compile()
    names = repr(module).removeprefix("<RawModule module.cu with ").removesuffix(" for compute_90>")
    assert sorted(names.split(", ")) == ["add", "fill<int>"]
    assert repr(module.get_function("add")) == (
        "<RawKernel add(const float* x, float* y, float a) for compute_90>"
    )
    assert repr(module.get_function("fill<int>")) == (
        "<RawKernel fill<int>(T* x, T a) for compute_90>"
    )
    path = tmp_path / "two.ptx"
    path.write_text(PTX, encoding="utf-8")
    module = RawModule(path=str(path))
    assert repr(module) == f"<RawModule {path} for sm_80, not compiled yet>"
