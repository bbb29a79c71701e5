"""Arrays of floats whose bits a kernel would take for other numbers are refused."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule, checked
from cudakern.simulator.sources.parameters import find_pointer_targets
from tests.helpers.rows import each

CODE = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
typedef int number;
struct Pair { int a, b; };
extern "C" __global__ void f(FIRST x) {}
template <typename T, int n> __global__ void g(const T* __restrict__ x, T) {}
namespace ns { __global__ void h(const int* x, float*, Pair) {} }
"""
INTEGERS = (
    "const int* __restrict__",
    "unsigned*",
    "volatile long long*",
    "unsigned short int const*",
    "size_t*",
    "int32_t*",
)


def kernel(first):
    return RawKernel(CODE.replace("FIRST", first), "f")


def refusal(function, *arguments):
    with pytest.raises(ck.BindingError) as caught:
        function((1,), (1,), arguments)
    with pytest.raises(ck.BindingError), checked():
        function((1,), (1,), arguments)
    assert caught.value.field.startswith("args[")
    return str(caught.value)


def test_floats_for_integers():
    x = np.zeros(3, np.float32)
    assert refusal(kernel("const int*"), x) == (
        "f: args[0] must hold integers, since the parameter is a pointer to int; got float32; its "
        "bits are args[0].view(np.int32)"
    )
    kernel("const int*")((1,), (1,), (x.view(np.int32),))


def test_floats_of_another_size():
    assert refusal(kernel("float*"), np.zeros(3)) == (
        "f: args[0] must hold numbers of 4 bytes, since the parameter is a pointer to float; got "
        "float64; its bits are args[0].view(np.float32), its values args[0].astype(np.float32)"
    )
    message = refusal(kernel("const __nv_bfloat16*"), np.zeros(3, np.float32))
    assert message.endswith("to __nv_bfloat16; got float32; its bits are args[0].view(np.uint16)")
    assert "2 bytes, since the parameter is a pointer to half;" in refusal(
        kernel("half*"), np.zeros(3, np.float64)
    )


UNJUDGED = ("char*", "unsigned char*", "void*", "const signed char*", "bool*", "uint8_t*")
UNJUDGED += ("number*", "Pair*", "float4*", "int**", "int2*")


@each("first, is_judged", [*((i, True) for i in INTEGERS), *((u, False) for u in UNJUDGED)])
def test_what_is_judged(first, is_judged):
    (numbers,) = find_pointer_targets("f", CODE.replace("FIRST", first), (), 1)
    assert (numbers is not None) == is_judged
    assert not is_judged or numbers.kind == "i"


def test_what_is_not_judged():
    for array in (np.zeros(3, np.float32), np.zeros(3), np.zeros(3, np.float16)):
        kernel("number*")((1,), (1,), (array,))
    for first, array in (
        ("float*", np.zeros(3, np.int64)),
        ("float*", np.zeros(3, np.complex64)),
        ("__half*", np.zeros(3, np.uint16)),
        ("__nv_bfloat16*", np.zeros(3, np.float16)),
        ("int*", np.zeros(3, np.uint8)),
        ("double*", np.zeros(3, [("x", "f4")])),
    ):
        kernel(first)((1,), (1,), (array,))


@each(
    "line",
    [
        "typedef double int32_t;",
        "using int32_t = float;",
        "struct int32_t { float x; };",
        "#define int32_t float",
        "typedef struct { float x; } int32_t;",
        "typedef float number, int32_t;",
        "enum class int32_t { A };",
        "struct __align__(4) int32_t { float x; };",
        "using my::int32_t;",
        "#ifdef A\n__global__ void f(float* x) {}\n#endif",
    ],
)
def test_names_that_a_text_defines_are_not_known(line):
    text = f'{line}\nextern "C" __global__ void f(int32_t* x, int n) {{}}'
    assert find_pointer_targets("f", text, (), 2) == [None, None]
    assert find_pointer_targets("f", text, ("-Dn=int",), 2) == [None, None]
    text = 'extern "C" __global__ void f(int* x) {}'
    for option in ("-Dint=long", "--define-macro=int=long"):
        assert find_pointer_targets("f", text, (option,), 1) == [None]
    assert find_pointer_targets("f", text, ("-DPoint=long", "-IDint"), 1) != [None]


def test_symbols_tell_it():
    names = ["g<double, 3>", "g<__half, 4>", "ns::h"]
    module = RawModule(code=CODE.replace("FIRST", "int*"), name_expressions=names)
    x, pair = np.zeros(3, np.float32), np.zeros(1, [("a", "i4"), ("b", "i4")])
    g = module.get_function("g<double, 3>")
    assert "numbers of 8 bytes, since the parameter is a pointer to double; got float32" in refusal(
        g, x, 1.0
    )
    g((1,), (1,), (np.zeros(3), 1.0))
    half = module.get_function("g<__half, 4>")
    assert "a pointer to __half; got float32" in refusal(half, x, np.float16(1))
    h = module.get_function("ns::h")
    assert "args[0] must hold integers, since the parameter is a pointer to int" in refusal(
        h, x, x, pair
    )
    h((1,), (1,), (x.view(np.int32), x, pair))


@each(
    "symbol, types",
    [
        ("_Z4fillIiEvPT_S0_", ["int", None]),
        ("_Z1fP6__halfPK13__nv_bfloat16S0_", ["__half", "__nv_bfloat16", "__half"]),
        ("_Z1fIfLi64EEvPKT_PiN2ns3FooIS0_EE", ["float", "int", None]),
        ("_Z1fN4cuda3std3__45arrayIfLy4EEEPd", [None, "double"]),
        ("_Z1fPKvPVjPKS1_", [None, "unsigned int", "unsigned int"]),
        ("_ZN12_GLOBAL__N_11fEPfS0_Pd", ["float", "float", "double"]),
        ("_Z1fN2ns6__halfEPS0_", [None, None]),
        ("_Z1fPA4_fPPf", [None, None]),
        ("_Z1fPFviEPi", [None, None]),  # functions are not understood
        ("_Z1fILb1EJifEEvPiDpT0_", [None, None, None]),
        ("_Z9", [None]),
        ("_Z1fPi", [None, None]),
    ],
)
def test_symbols(symbol, types):
    found = find_pointer_targets(symbol, "", (), len(types))
    assert [None if numbers is None else numbers.name for numbers in found] == types
