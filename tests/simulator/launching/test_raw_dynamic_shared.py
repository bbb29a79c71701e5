"""Dynamic shared memory of raw kernels, declared in all possible ways."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule
from tests.helpers.rows import each

REVERSE = "s[t] = x[t]; __syncthreads(); x[t] = s[31 - t];"


def reverse(declaration, body=REVERSE, before=""):
    """Return a kernel that reverses 32 numbers in dynamic shared memory."""
    return f"""{before}
extern "C" __global__ void k(float* x) {{
  const int t = threadIdx.x;
  {declaration}
  {body}
}}"""


CASES = {
    "plain": reverse("extern __shared__ float s[];"),
    "aligned": reverse("extern __shared__ __align__(16) float s[];"),
    "rows": reverse("extern __shared__ float s[][33];", REVERSE.replace("s[", "s[1][")),
    "structures": reverse(
        "extern __shared__ Pair s[];",
        "s[t].b = x[t]; __syncthreads(); x[t] = s[31 - t].b;",
        "struct Pair { short a; float b; };",
    ),
    "file_and_function": reverse(
        "extern __shared__ float s[];", before="extern __shared__ float s[];"
    ),
    "class": reverse(
        "float* s = Shared<float>::get();",
        before="template <typename T> struct Shared {\n"
        "  static __device__ T* get() { extern __shared__ T s[]; return s; }\n};",
    ),
    "inner_block": reverse(
        "float* s; { extern __shared__ float r[]; s = r; }"
        " { extern __shared__ float r[]; r[0] = 0; }"
    ),
}


def assert_reverses(kernel, dtype=np.float32):
    x = np.arange(32, dtype=dtype)
    kernel((1,), (32,), (x,), shared_mem=256 * x.itemsize)
    assert x.tolist() == [*range(31, -1, -1)]


@each("case", CASES)
def test_declarations(case):
    kernel = RawKernel(CASES[case], "k")
    assert_reverses(kernel)
    with ck.simulator.checked() as report:
        assert_reverses(kernel)
    assert report.launches == 1


MANY = """
template <typename T> __global__ void turn(T* x) {
  extern __shared__ double memory[];
  T* s = reinterpret_cast<T*>(memory);
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void other(double* x) {
  extern __shared__ float4 s4[];
  double* s = reinterpret_cast<double*>(s4);
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[31 - threadIdx.x];
}
"""


def test_kernels_of_different_types():
    names = {"turn<float>": np.float32, "turn<signed char>": np.int8, "other": np.float64}
    module = RawModule(code=MANY, name_expressions=[*names][:2])
    for name, dtype in names.items():
        assert_reverses(module.get_function(name), dtype)


SIZED = """extern "C" __global__ void k(int* x, int n) {
  extern __shared__ int s[];
#if KEPT
  __shared__ int kept[KEPT];
  kept[threadIdx.x] = 5;
  s[n] = 3;
  x[0] = s[n] + kept[threadIdx.x] + (s == kept + KEPT);
#else
  s[n] = 3;
  x[0] = s[n];
#endif
}"""


@each("kept, found", [(0, 3), (1024, 9)])
def test_size_of_a_block(kept, found):
    """Up to 48 KiB with static memory are free; beyond, programs must ask, up to a GPU's limit."""
    kernel, x = RawKernel(SIZED, "k", (f"-DKEPT={kept}",)), np.zeros(1, np.int32)

    def launch(size):
        kernel((1,), (1,), (x, size // 4 - 1), shared_mem=size)

    limit = 227 * 1024 - 4 * kept
    for most in (48 * 1024 - 4 * kept, 100 * 1024, limit):
        if most > 48 * 1024:
            kernel.max_dynamic_shared_size_bytes = most
        assert kernel.max_dynamic_shared_size_bytes == most
        x[0] = 0
        launch(most)
        assert x == found
        settable = f"max_dynamic_shared_size_bytes, {most}, which can be set"
        settable = most if most == 227 * 1024 else settable
        message = f"^k: shared_mem must be at most {settable}; got {most + 1}$"
        with pytest.raises(ck.BindingError, match=message):
            launch(most + 1)
    for size in (-1, 227 * 1024 + 1):
        with pytest.raises(ck.BindingError, match=r"k: max_dynamic_shared_size_bytes must lie in"):
            kernel.max_dynamic_shared_size_bytes = size
    with pytest.raises(ck.BindingError, match=r"^k: shared_mem must be at least 0; got -1"):
        launch(-1)
    kernel.max_dynamic_shared_size_bytes = 227 * 1024
    if kept:
        message = f"got {4 * kept} static and {limit + 1} dynamic ones"
        with pytest.raises(ck.BindingError, match=message):
            launch(limit + 1)
