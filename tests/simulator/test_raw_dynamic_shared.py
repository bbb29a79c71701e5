"""Dynamic shared memory of raw kernels, in all the ways in which it is declared."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule

REVERSE = "s[t] = x[t]; __syncthreads(); x[t] = s[31 - t];"
QUOTED = r"""const char* text = "extern __shared__ double s[]; \" {{{";
  // extern __shared__ double s[];
  /* extern __shared__
     double s[]; */
  const char other = '{', million = 1'000'000 / 1'000'000;
  extern __shared__ float s[];
  if (text[0] != 'e' || other != '{' || million != 1) return;"""


def reverse(declaration, body=REVERSE, before=""):
    """Return a kernel that turns 32 numbers round in dynamic shared memory, from line 10 on."""
    return f"""#line 10
{before}
extern "C" __global__ void k(float* x) {{
  const int t = threadIdx.x;
  {declaration}
  {body}
}}"""


CASES = {
    "plain": reverse("extern __shared__ float s[];"),
    "spread": reverse("extern\n  __shared__\n float  s [ ]\n ;"),
    "aligned": reverse("extern __shared__ __align__(16) float s[];"),
    "aligned_before": reverse("extern __align__(sizeof(float4)) __shared__ float s[];"),
    "alignas": reverse("alignas(alignof(double)) extern __shared__ float s[];"),
    "attribute": reverse("extern __shared__ __attribute__((aligned(16))) float s[];"),
    "volatile": reverse("extern volatile __shared__ float s[];"),
    "volatile_after": reverse("extern __shared__ volatile float s[];"),
    "rows": reverse("extern __shared__ float s[][33];", REVERSE.replace("s[", "s[1][")),
    "bytes": reverse(
        "extern __shared__ unsigned char raw[]; auto* s = reinterpret_cast<float*>(raw);"
    ),
    "structures": reverse(
        "extern __shared__ Pair s[];",
        "s[t].b = x[t]; __syncthreads(); x[t] = s[31 - t].b;",
        "struct Pair { short a; float b; };",
    ),
    "quoted": reverse(QUOTED),
    "file": reverse("", before="extern __shared__ float s[];"),
    "file_twice": reverse("", before="extern __shared__ float s[];\nextern __shared__ float s[];"),
    "file_and_function": reverse(
        "extern __shared__ float s[];", before="extern __shared__ float s[];"
    ),
    "namespace": reverse(
        "using namespace inner;",
        before='namespace inner { const char* const b = "{"; extern __shared__ float s[]; }',
    ),
    "macro": reverse("SHARED(float, s);", before="#define SHARED(T, n) extern __shared__ T n[]"),
    "macro_with_end": reverse(
        "SHARED(s)", before="#define SHARED(n) \\\n  extern __shared__ \\\n  float n[];"
    ),
    "macro_of_kernels": '#define MAKE(name) extern "C" __global__ void name(float* x) { \\\n'
    f"  const int t = threadIdx.x; extern __shared__ float s[]; {REVERSE} }}\nMAKE(k)",
    "class": reverse(
        "float* s = Shared<float>::get();",
        before="template <typename T> struct Shared {\n"
        "  static __device__ T* get() { extern __shared__ T s[]; return s; }\n};",
    ),
    "inner_block": reverse(
        "float* s; { extern __shared__ float r[]; s = r; }"
        " { extern __shared__ float r[]; r[0] = 0; }"
    ),
    "lambda": reverse(
        "extern __shared__ float s[]; auto at = [&](int i) -> auto& { return s[i]; };",
        REVERSE.replace("s[t]", "at(t)").replace("s[31 - t]", "at(31 - t)"),
    ),
}


def assert_reverses(kernel, dtype=np.float32):
    x = np.arange(32, dtype=dtype)
    kernel((1,), (32,), (x,), shared_mem=256 * x.itemsize)
    assert x.tolist() == [*range(31, -1, -1)]


@pytest.mark.parametrize("case", CASES)
def test_declarations(case):
    assert_reverses(RawKernel(CASES[case], "k"))


@pytest.mark.parametrize("case", ["rows", "structures", "file_and_function", "inner_block"])
def test_declarations_in_checked_kernels(case):
    kernel = RawKernel(CASES[case], "k")
    with ck.simulator.checked() as report:
        assert_reverses(kernel)
    assert report.launches == 1


@pytest.mark.parametrize("case", ["spread", "quoted", "file", "file_twice", "macro_with_end"])
def test_lines_stay_where_they_are(case):
    last = "s[31 - t];"
    number = 10 + CASES[case].split("#line 10\n")[1].count("\n")
    code = CASES[case].replace(last, last + "\n  missing();", 1)
    with pytest.raises(ck.KernelCompileError, match=rf'k.cu\({number}\): .*"missing" is undefined'):
        RawKernel(code, "k").compile()


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


@pytest.mark.parametrize(("kept", "found"), [(0, 3), (1024, 9)])
def test_size_of_a_block(kept, found):
    """What static memory leaves of 48 KiB needs no asking for; both together have a GPU's limit."""
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
        message = f"k: shared_mem must be at most max_dynamic_shared_size_bytes, {most}, which can"
        with pytest.raises(ck.BindingError, match=f"{message} be set; got {most + 1}"):
            launch(most + 1)
    for size in (-1, 227 * 1024 + 1):
        with pytest.raises(ck.BindingError, match=r"k: max_dynamic_shared_size_bytes must lie in"):
            kernel.max_dynamic_shared_size_bytes = size
    with pytest.raises(ck.BindingError, match="bytes of shared memory; got -1"):
        launch(-1)
    kernel.max_dynamic_shared_size_bytes = 227 * 1024
    if kept:
        message = f"got {4 * kept} static and {limit + 1} dynamic ones"
        with pytest.raises(ck.BindingError, match=message):
            launch(limit + 1)
