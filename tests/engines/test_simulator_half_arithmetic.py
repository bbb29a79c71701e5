"""Arithmetic of half and bfloat16 in the simulator, against float64 and Fraction."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.helpers.simulated import run
from tests.helpers.small_floats import ALL, KINDS, assert_same, operands, values


@KINDS
def test_arithmetic_is_rounded_once(kind):
    text = """
    extern "C" __global__ void k(const T* x, T* out) {
      const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
      const T a = x[i], b = x[n + i];
      int r = 0;
      auto put = [&](T value) { out[n * r++ + i] = value; };
      put(a + b), put(a - b), put(a * b), put(a / b);
      put(__hadd(a, b)), put(__hsub(a, b)), put(__hmul(a, b)), put(__hdiv(a, b));
      T c = a; c += b; put(c); c = a; c -= b; put(c); c = a; c *= b; put(c); c = a; c /= b; put(c);
      const T2 p(a, b), q(b, a);
      put((p + q).y), put((p - q).x), put((p * q).y), put((p / q).x);
      put(__hadd2(p, q).x), put(__hsub2(p, q).x), put(__hmul2(p, q).x), put(__h2div(p, q).x);
    }"""
    x = operands(2)
    out = np.zeros((20, x.shape[1]), np.uint16)
    run(kind.text(text), [x, out], grid=x.shape[1] // 256, block=256, macros=kind.macros)
    a, b = values(kind, x)
    with np.errstate(all="ignore"):
        exact = [a + b, a - b, a * b, a / b]
    for i, got in enumerate(out):
        assert_same(kind, got, kind.rounded(exact[i % 4]), f"result {i}")


@KINDS
def test_fused_multiply_add_is_rounded_once(kind):
    text = """
    extern "C" __global__ void k(const T* x, T* out) {
      const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
      out[i] = __hfma(x[i], x[n + i], x[2 * n + i]);
      const T2 p(x[i], x[i]), q(x[n + i], x[n + i]), r(x[2 * n + i], x[2 * n + i]);
      out[n + i] = __hfma2(p, q, r).y;
    }"""
    x = operands(3)[:, -(2**15) :]
    # Products that end half-way between two values, and a last term that only just decides.
    tie = np.array(
        [[1 + 2.0 ** -(kind.mantissa // 2 + 1)] * 2 + [s * 2.0**-14] for s in (1, -1, 0)]
    )
    tie = np.repeat(tie.T, 256, axis=1).astype(kind.dtype).view(np.uint16)
    x = np.ascontiguousarray(np.concatenate([x, tie], axis=1))
    out = np.zeros((2, x.shape[1]), np.uint16)
    run(kind.text(text), [x, out], grid=x.shape[1] // 256, block=256, macros=kind.macros)
    a, b, c = values(kind, x)
    with np.errstate(all="ignore"):
        near = a * b + c
    expected = kind.rounded(near)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    for i in np.nonzero(finite)[0].tolist():
        exact = Fraction(a[i]) * Fraction(b[i]) + Fraction(c[i])
        if exact != Fraction(near[i]):
            expected[i] = kind.exactly_rounded(exact)
    assert_same(kind, out[0], expected)
    assert_same(kind, out[1], expected)


@KINDS
def test_comparisons(kind):
    names = ("eq", "ne", "lt", "le", "gt", "ge")
    signs = ("==", "!=", "<", "<=", ">", ">=")
    lines = [
        f"put(a {s} b); put(__h{n}(a, b)); put(__h{n}u(a, b)); put(__hb{n}2(T2(a, a), T2(b, b)));"
        f"put(__h{n}2_mask(T2(a, b), T2(b, b)) & 1);"
        for n, s in zip(names, signs, strict=True)
    ]
    text = (
        """
    extern "C" __global__ void k(const T* x, unsigned char* out) {
      const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
      const T a = x[i], b = x[n + i];
      int r = 0;
      auto put = [&](bool value) { out[n * r++ + i] = value; };
    """
        + "\n".join(lines)
        + "put(__hisnan(a)); put(__hisinf(a)); put(__hisinf(a) < 0); }"
    )
    x = operands(2)
    x[1, ::7] = x[0, ::7]
    out = np.zeros((33, x.shape[1]), np.uint8)
    run(kind.text(text), [x, out], grid=x.shape[1] // 256, block=256, macros=kind.macros)
    a, b = values(kind, x)
    nan = np.isnan(a) | np.isnan(b)
    functions = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
    for i, function in enumerate(functions):
        plain = function(a, b)
        rows = out[5 * i : 5 * i + 5].astype(bool)
        for got, expected in zip(
            rows, (plain, plain & ~nan, plain | nan, plain & ~nan, plain & ~nan), strict=True
        ):
            np.testing.assert_array_equal(got, expected, names[i])
    np.testing.assert_array_equal(out[30], np.isnan(a))
    np.testing.assert_array_equal(out[31], np.isinf(a))
    np.testing.assert_array_equal(out[32], np.isneginf(a))


@KINDS
def test_minima_maxima_and_signs(kind):
    text = """
    extern "C" __global__ void k(const T* x, T* out) {
      const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
      const T a = x[i], b = x[n + i];
      const T2 p(b, a), q(a, b);
      int r = 0;
      auto put = [&](T value) { out[n * r++ + i] = value; };
      put(__hmax(a, b)), put(__hmin(a, b)), put(__hmax_nan(a, b)), put(__hmin_nan(a, b));
      put(__hmax2(p, q).y), put(__hmin2(p, q).y);
      put(-a), put(__hneg(a)), put(__habs(a)), put((-p).y), put(__habs2(p).y);
      put(__hadd_sat(a, b)), put(__hfma_relu(a, b, T(0)));
    }"""
    x = operands(2)
    out = np.zeros((13, x.shape[1]), np.uint16)
    run(kind.text(text), [x, out], grid=x.shape[1] // 256, block=256, macros=kind.macros)
    a, b = values(kind, x)
    # NumPy leaves open which zero it gives; adding decides for +0, subtracting for -0.
    zeros = (a == 0) & (b == 0)
    with np.errstate(invalid="ignore", over="ignore"):
        most = np.where(zeros, a + b, np.fmax(a, b))
        least = np.where(zeros, -(-a - b), np.fmin(a, b))
        total, product = kind.rounded(a + b), kind.rounded(a * b)
    nan = np.isnan(a) | np.isnan(b)
    expected = [most, least, np.where(nan, np.nan, most), np.where(nan, np.nan, least), most, least]
    expected += [-a, -a, np.abs(a), -a, np.abs(a)]
    expected += [np.where(np.isnan(total), 0, total.clip(0, 1)) + 0.0]
    expected += [np.where(product > 0, product, np.where(np.isnan(product), product, 0.0))]
    for i, (got, row) in enumerate(zip(out, expected, strict=True)):
        assert_same(kind, got, row, f"result {i}")


FUNCTIONS = {
    "hsqrt": np.sqrt,
    "hrsqrt": lambda x: 1 / np.sqrt(x),
    "hrcp": lambda x: 1 / x,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda x: np.power(10.0, x),
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hsin": np.sin,
    "hcos": np.cos,
    "hfloor": np.floor,
    "hceil": np.ceil,
    "hrint": np.rint,
    "htrunc": np.trunc,
}


#: To results of these, cuda_fp16.h adds what makes up for the errors of a GPU's approximations.
#: Ours have none, so a few of all results, at most eight, are the neighbours of the nearest ones.
TUNED = ("hexp", "hexp2", "hexp10", "hlog", "hlog2", "hlog10")


@KINDS
def test_functions_of_every_value(kind):
    puts = "".join(f"put({n}(x[i])); put(h2{n[1:]}(T2(T(1), x[i])).y);" for n in FUNCTIONS)
    text = f"""
    extern "C" __global__ void k(const T* x, T* out) {{
      const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
      int r = 0;
      auto put = [&](T value) {{ out[n * r++ + i] = value; }};
      {puts}
    }}"""
    out = np.zeros((2 * len(FUNCTIONS), 2**16), np.uint16)
    run(kind.text(text), [ALL, out], grid=256, block=256, macros=kind.macros)
    x = values(kind, ALL)
    for i, (name, function) in enumerate(FUNCTIONS.items()):
        with np.errstate(all="ignore"):
            expected = kind.rounded(function(x))
            patterns = expected.astype(kind.dtype).view(np.uint16)
        if name in TUNED:
            beside = (out[2 * i] != patterns) & ~np.isnan(expected)
            distances = np.abs(out[2 * i, beside].astype(int) - patterns[beside].astype(int))
            assert distances.tolist() == [1] * min(distances.size, 8)
            expected[beside] = values(kind, out[2 * i])[beside]
        assert_same(kind, out[2 * i], expected, name)
        assert_same(kind, out[2 * i + 1], expected, name)
