"""CUDA's device library, which NVRTC puts into a kernel's PTX, in the simulator against Python.

tests/simulator/ptx/test_instructions.py has single instructions; here are functions that headers
and the compiler make of many.
"""

from __future__ import annotations

import math

import numpy as np

from tests.helpers.simulated import run

RNG = np.random.default_rng(17)


def kernel(parameters, lines, before=""):
    """Return a kernel with one row of results per thread."""
    body = "\n".join(f"row[{i}] = {line};" for i, line in enumerate(lines))
    return f"""extern "C" __global__ void k({parameters}) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
      {before}
      auto* row = out + {len(lines)} * i;
      {body}
    }}"""


def turns(function, quarter):
    """Return sine or cosine of pi times x, exact where it is 0, 1 or -1."""

    def of(x):
        if (2 * x).is_integer():
            return float((0, 1, 0, -1)[(int(2 * x) + quarter) % 4])
        return function(math.pi * math.remainder(x, 2))

    return of


#: A function of doubles, Python's counterpart, and the largest relative error.
REALS = {
    "rsqrt(fabs(x))": (lambda x: 1 / math.sqrt(abs(x)), 1e-15),
    "rcbrt(x)": (lambda x: 1 / math.cbrt(x), 1e-15),
    "sinpi(x)": (turns(math.sin, 0), 1e-13),
    "cospi(x)": (turns(math.cos, 1), 1e-13),
    "sin(1e9 * x)": (lambda x: math.sin(1e9 * x), 1e-11),
    "tan(x)": (math.tan, 1e-14),
    "exp10(x)": (lambda x: 10.0**x, 1e-14),
    "expm1(x)": (math.expm1, 1e-15),
    "log1p(fabs(x))": (lambda x: math.log1p(abs(x)), 1e-15),
    "pow(fabs(x), 2.5)": (lambda x: abs(x) ** 2.5, 1e-15),
    "fmod(1000 * x, 0.7)": (lambda x: math.fmod(1000 * x, 0.7), 0.0),
    "hypot(x, 3.0)": (lambda x: math.hypot(x, 3), 1e-15),
    "rnorm4d(x, 2, 3, 4)": (lambda x: 1 / math.hypot(x, 2, 3, 4), 1e-15),
    "atan2(x, -0.5)": (lambda x: math.atan2(x, -0.5), 1e-15),
    "tgamma(x)": (math.gamma, 1e-13),
    "lgamma(x)": (math.lgamma, 1e-11),
    "erf(x)": (math.erf, 1e-15),
    "erfc(erfcinv(1 + x / 20))": (lambda x: 1 + x / 20, 1e-13),
    "normcdf(x)": (lambda x: math.erfc(-x / math.sqrt(2)) / 2, 1e-13),
    "ldexp(x, 7)": (lambda x: x * 128, 0.0),
}


def test_functions_of_doubles():
    x = np.concatenate([RNG.uniform(-4, 4, 60), [0.25, -1.5, 0.5, 3.75]])
    out = np.zeros((64, len(REALS)))
    text = kernel("const double* in, double* out", REALS, "const double x = in[i];")
    run(text, [x, out], block=64)
    for column, (name, (function, error)) in zip(out.T, REALS.items(), strict=True):
        expected = [function(v) for v in x.tolist()]
        np.testing.assert_allclose(column, expected, rtol=error, atol=error, err_msg=name)


FLOATS = {
    "__expf(x)": math.exp,
    "expf(x)": math.exp,
    "__logf(x)": math.log,
    "log2f(x)": math.log2,
    "__sinf(x)": math.sin,
    "sinf(1e5f * x)": lambda x: math.sin(float(np.float32(1e5) * np.float32(x))),
    "cosf(x)": math.cos,
    "__tanf(x)": math.tan,
    "tanhf(x)": math.tanh,
    "__powf(x, 2.5f)": lambda x: x**2.5,
    "powf(x, -1.25f)": lambda x: x**-1.25,
    "cbrtf(x)": math.cbrt,
    "__fdividef(x, 3.0f)": lambda x: x / 3,
    "__saturatef(x)": lambda x: min(max(x, 0), 1),
    "rhypotf(x, 2.0f)": lambda x: 1 / math.hypot(x, 2),
    "normf(2, pair)": lambda x: math.hypot(x, 2),
    "erfinvf(x / 6) - (float)erfinv(x / 6.0)": lambda _: 0.0,
    "sine(sincosf, x)": math.sin,
    "cosine(sincospif, x)": turns(math.cos, 1),
}
BOTH = """
using Both = void (*)(float, float*, float*);
__device__ float sine(Both f, float x) { float s, c; f(x, &s, &c); return s; }
__device__ float cosine(Both f, float x) { float s, c; f(x, &s, &c); return c; }
"""


def test_functions_of_floats():
    before = "const float x = in[i], pair[] = {x, 2.0f};"
    text = BOTH + kernel("const float* in, float* out", FLOATS, before)
    x = RNG.uniform(0.01, 5, 64).astype(np.float32)
    out = np.zeros((64, len(FLOATS)), np.float32)
    run(text, [x, out], block=64)
    for column, (name, function) in zip(out.T, FLOATS.items(), strict=True):
        expected = [function(v) for v in x.astype(np.float64).tolist()]
        np.testing.assert_allclose(column, expected, rtol=2e-6, atol=5e-7, err_msg=name)
