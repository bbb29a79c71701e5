"""Names of parameters, as a kernel's text gives them."""

from __future__ import annotations

from cudakern.simulator.sources.parameters import find_parameter_names
from tests.helpers.rows import each


@each(
    "text, names",
    [
        ('extern "C" __global__ void k(const float* x, int n) {}', "x n"),
        ("__global__ void k() {}", ""),
        ("__global__ __launch_bounds__(256, 2) void k(float* y) {\n}", "y"),
        ("__global__ void __launch_bounds__(32 * (2 + 2)) k(float *__restrict__ y) {}", "y"),
        ("template <typename T, int N> __global__ void k(T (&x)[3], const T* y) {}", " y"),
        ("__global__ void k(Pair<int, Row<4>> a, float b[], const int c[2][3]) {}", "a b c"),
        ("__global__ void k(float* /* in, of n */ x, // the row\n  int n) {}", "x n"),
        ("__global__ void k(float*, int n, unsigned* __restrict__) {}", " n "),
        ("__global__ void k(const Tile tile, float &x) {}", "tile x"),
        ("__global__ void k(int* x);\n__global__ void k(int* y) {}", "y"),
        ("__global__ void other(int* x) { k(x); }\n__global__ void k(int* y) {}", "y"),
        ("__global__ void k(int* x) {}\ntemplate <> __global__ void k(float* y) {}", ""),
        ("#define K(name) __global__ void name(int* x) {}\nK(k)", ""),
        ("__device__ void k(int* x) {}", ""),
        ("__global__ void k2(int* x) {}", ""),
    ],
)
def test_names(text, names):
    expected = tuple(names.split(" ")) if names else ()
    for called in ("k", "ns::k", "k<float>", "ns::k<Pair<int, 2>, (3 > 2)>"):
        assert find_parameter_names(text, called) == expected


def test_no_name():
    assert find_parameter_names("__global__ void k(int* x) {}", "_Z1kPi") == ()
    assert find_parameter_names("", "k") == ()
