"""What kernels include of CUDA's and CuPy's headers, and what stays theirs to name."""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np
import pytest

from cudakern.engines.simulator.includes import INCLUDE_FILES
from cudakern.simulator import RawKernel, checked
from tests.helpers.simulated import run

RNG = np.random.default_rng(18)


def kernel(parameters, lines):
    """Return a kernel with one row of results per thread."""
    body = "\n".join(f"row[{i}] = {line};" for i, line in enumerate(lines))
    return f"""extern "C" __global__ void k({parameters}) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
      auto* row = out + {len(lines)} * i;
      {body}
    }}"""


def test_ordinary_names_are_left_to_the_kernel():
    text = """
    #include <cuda_runtime.h>
    #include <math_constants.h>
    __device__ float saturate(float x) { return x; }
    __device__ int clamp(int x, int low, int high) { return max(low, min(high, x)); }
    __device__ float lerp(float a, float b, float t) { return a + t * (b - a); }
    __device__ int abs_diff(int a, int b) { return abs(a - b); }
    namespace { struct complex { float re, im; }; struct packed { int dot, match, rounded; }; }
    enum class Round { kUp };
    __device__ float to_float(Round) { return 5; }
    extern "C" __global__ void k(double* out) {
      out[0] = saturate(9), out[1] = clamp(7, 1, 3), out[2] = lerp(1, 3, 0.5f);
      out[3] = abs_diff(2, 7) + to_float(Round::kUp);
      out[4] = CUDART_PI_F, out[5] = CUDART_INF_F, out[6] = CUDART_NAN,
      out[7] = CUDART_MAX_NORMAL_F;
      out[8] = CUDART_PI, out[9] = CUDART_L2E, out[10] = CUDART_NEG_ZERO_F, out[11] = CUDART_LN2_F;
    }"""
    out = np.zeros(12)
    run(text, [out])
    pi, most = float(np.float32(math.pi)), float(np.finfo(np.float32).max)
    constants = [pi, math.inf, math.nan, most, math.pi, math.log2(math.e), 0]
    np.testing.assert_array_equal(out, [9, 3, 2, 10, *constants, np.float32(math.log(2))])
    assert np.signbit(out[10])


@pytest.mark.skipif(find_spec("cupy") is None, reason="CuPy is not installed")
@pytest.mark.parametrize(("real", "dtype"), [("float", np.complex64), ("double", np.complex128)])
def test_complex_numbers_as_cupy_has_them(real, dtype):
    unary = ("exp", "log", "sqrt", "sin", "cos", "tanh", "conj", "abs", "arg", "real", "imag")
    lines = ["a + b", "a - b", "a * b", "a / b", "-a", "a * T(2)", "T(1) / a", "(c += b, c *= a)"]
    lines += [f"{name}(a)" for name in unary] + [
        "T(a == b)",
        "complex<float>(a).real()",
        "pow(a, b)",
    ]
    text = kernel("const complex<T>* x, complex<T>* out", lines)
    text = text.replace(
        "auto* row", "const complex<T> a = x[i], b = x[n + i]; auto c = a; auto* row"
    )
    x = (RNG.normal(size=(2, 64)) + 1j * RNG.normal(size=(2, 64))).astype(dtype)
    x[1, 0] = x[0, 0]
    out = np.zeros((64, len(lines)), dtype)
    run(f"#include <cupy/complex.cuh>\n#define T {real}\n{text}", [x, out], block=64)
    a, b = x.astype(np.complex128)
    expected = [a + b, a - b, a * b, a / b, -a, a * 2, 1 / a, (a + b) * a]
    expected += [np.exp(a), np.log(a), np.sqrt(a), np.sin(a), np.cos(a), np.tanh(a), np.conj(a)]
    expected += [np.abs(a), np.angle(a), a.real, a.imag, a == b, a.real.astype(np.float32), a**b]
    tolerance = 2e-5 if real == "float" else 1e-12
    for i, (got, want) in enumerate(zip(out.T, expected, strict=True)):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=str(i))


def test_every_header_of_checked_launches_can_be_included_with_the_others():
    text = "".join(f"#include <{name}>\n" for name in INCLUDE_FILES) * 2
    text += 'extern "C" __global__ void k(float* out) { out[0] = __half2float(half(3)); }'
    out = np.zeros(1, np.float32)
    with checked():
        RawKernel(text, "k")((1,), (1,), (out,))
    assert out[0] == 3


def test_standard_headers_of_libcudacxx():
    text = """
    #include <cuda/std/cstdint>
    #include <cuda/std/limits>
    #include <cuda/std/type_traits>
    #include <cuda/std/cstddef>
    #include <vector_types.h>
    extern "C" __global__ void k(cuda::std::uint64_t* out) {
      static_assert(cuda::std::is_same<cuda::std::int8_t, signed char>::value, "");
      out[0] = cuda::std::numeric_limits<cuda::std::uint32_t>::max();
      out[1] = cuda::std::is_floating_point_v<float> + sizeof(cuda::std::size_t);
    }"""
    out = np.zeros(2, np.uint64)
    run(text, [out])
    assert out.tolist() == [2**32 - 1, 9]
