"""CUDA's mathematics and integer intrinsics in the simulator, against Python and NumPy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.helpers.simulated import run

RNG = np.random.default_rng(17)
WORD, LONG = 2**32, 2**64


def signed(value, bits):
    """Return the low bits of a number, read as a signed integer."""
    value &= 2**bits - 1
    return value - 2**bits if value >> (bits - 1) else value


def kernel(parameters, lines):
    """Return a kernel with one row of results per thread, without headers."""
    body = "\n".join(f"row[{i}] = {line};" for i, line in enumerate(lines))
    return f"""
    #define NAN __int_as_float(0x7fffffff)
    #define INFINITY __int_as_float(0x7f800000)
    extern "C" __global__ void k({parameters}) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
      auto* row = out + {len(lines)} * i;
      {body}
    }}"""


def cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def turns(function, quarter):
    """Return sine or cosine of pi times x, exact where it is 0, 1 or -1."""

    def of(x):
        if (2 * x).is_integer():
            return float((0, 1, 0, -1)[(int(2 * x) + quarter) % 4])
        return function(math.pi * math.remainder(x, 2))

    return of


REALS = {
    "rsqrt": lambda x: 1 / math.sqrt(x) if x > 0 else math.inf if x == 0 else math.nan,
    "rcbrt": lambda x: 1 / math.cbrt(x) if x else math.inf,
    "sinpi": turns(math.sin, 0),
    "cospi": turns(math.cos, 1),
    "exp10": lambda x: 10.0**x,
    "normcdf": cdf,
}
X = [0.0, 0.25, 0.5, -0.5, 0.75, 1.0, -1.0, 1.5, 3.0, -7.25, 12.5, 20.0, -20.0, 1e-3, 6.75, 33.1]
X += RNG.uniform(-4, 4, 48).tolist()


@pytest.mark.parametrize("name", REALS)
def test_real_functions(name):
    double = np.array(X)
    single = double.astype(np.float32)
    out = np.zeros((64, 3))
    text = kernel(
        "const float* x, const double* y, double* out",
        [f"{name}f(x[i])", f"{name}(x[i])", f"{name}(y[i])"],
    )
    run(text, [single, double, out], block=64)
    expected = [REALS[name](x) for x in single.astype(np.float64).tolist()]
    np.testing.assert_allclose(out[:, 0], expected, rtol=2e-7, atol=1e-45)
    np.testing.assert_array_equal(out[:, 1], out[:, 0])
    expected = [REALS[name](x) for x in X]
    np.testing.assert_allclose(out[:, 2], expected, rtol=1e-13, atol=0)


def test_inverse_error_functions():
    text = kernel(
        "const double* x, double* out",
        [
            "erf(erfinv(x[i]))",
            "erfc(erfcinv(1 + x[i]))",
            "erfinvf((float)x[i])",
            "erfinv(x[i])",
            "erfc(erfcinv(ldexp(1.0, -i)))",
            "normcdf(normcdfinv((1 + x[i]) / 2))",
        ],
    )
    x = np.concatenate(
        [np.linspace(-0.999, 0.999, 120), [0, 1e-12, -1e-12, 0.5, -0.5, 0.25, 1e-300]]
    )
    x = np.append(x, 1 - 2.0**-40)
    out = np.zeros((128, 6))
    run(text, [x, out], block=128)
    np.testing.assert_allclose(out[:, 0], x, rtol=1e-14, atol=0)
    np.testing.assert_allclose(out[:, 1], 1 + x, rtol=1e-13, atol=0)
    np.testing.assert_allclose(out[:120, 2], out[:120, 3], rtol=1e-4, atol=0)
    np.testing.assert_allclose(out[:, 4], np.ldexp(1.0, -np.arange(128)), rtol=1e-12, atol=0)
    np.testing.assert_allclose(out[:, 5], (1 + x) / 2, rtol=1e-13, atol=0)
    assert out[62, 3] == out[62, 3]  # no NaN in the middle
    ends = np.zeros((1, 4))
    run(
        kernel("double* out", ["erfinv(1.0)", "erfinv(-1.0)", "erfinv(1.5)", "erfcinv(2.0)"]),
        [ends],
    )
    np.testing.assert_array_equal(ends, [[math.inf, -math.inf, math.nan, -math.inf]])


APPROXIMATE = {
    "__expf(x)": math.exp,
    "__exp10f(x)": lambda x: 10**x,
    "__logf(x)": math.log,
    "__log2f(x)": math.log2,
    "__log10f(x)": math.log10,
    "__sinf(x)": math.sin,
    "__cosf(x)": math.cos,
    "__tanf(x)": math.tan,
    "__powf(x, 2.5f)": lambda x: x**2.5,
    "__fdividef(x, 3.0f)": lambda x: x / 3,
    "fdividef(3.0f, x)": lambda x: 3 / x,
    "__saturatef(x)": lambda x: min(max(x, 0), 1),
    "__frsqrt_rn(x)": lambda x: 1 / math.sqrt(x),
    "rhypotf(x, 2.0f)": lambda x: 1 / math.hypot(x, 2),
    "norm3df(x, 2.0f, 3.0f)": lambda x: math.hypot(x, 2, 3),
    "rnorm4d(x, 2, 3, 4)": lambda x: 1 / math.hypot(x, 2, 3, 4),
    "normf(2, pair)": lambda x: math.hypot(x, 2),
    "sine(sincosf, x)": math.sin,
    "cosine(sincosf, x)": math.cos,
    "cosine(__sincosf, x)": math.cos,
    "sine(sincospif, x)": turns(math.sin, 0),
    "cosine(sincospif, x)": turns(math.cos, 1),
}


def test_float_intrinsics():
    helpers = """
    using Both = void (*)(float, float*, float*);
    __device__ float sine(Both f, float x) { float s, c; f(x, &s, &c); return s; }
    __device__ float cosine(Both f, float x) { float s, c; f(x, &s, &c); return c; }
    """
    text = kernel("const float* in, float* out", APPROXIMATE)
    text = text.replace("auto* row", "const float x = in[i], pair[] = {x, 2.0f}; auto* row")
    x = RNG.uniform(0.01, 5, 64).astype(np.float32)
    out = np.zeros((64, len(APPROXIMATE)), np.float32)
    run(helpers + text, [x, out], block=64)
    for column, (name, function) in zip(out.T, APPROXIMATE.items(), strict=True):
        expected = [function(v) for v in x.astype(np.float64).tolist()]
        np.testing.assert_allclose(column, expected, rtol=1e-6, atol=1e-7, err_msg=name)


def test_edges_of_intrinsics():
    text = kernel(
        "double* out",
        [
            "__saturatef(NAN)",
            "__powf(-2.0f, 3.0f)",
            "max(NAN, 2.0f)",
            "min(2.0, (double)NAN)",
            "1 / sinpi(-1.0)",
            "1 / sinpif(2.0f)",
            "__double2hiint(1.5)",
            "__double2loint(1e-5)",
            "__hiloint2double(__double2hiint(1e-5), __double2loint(1e-5))",
            "isnan((float)NAN) + isnan((double)NAN) + isnan(1.0f)",
            "(isinf(-INFINITY) != 0) + isfinite(1.0f) + isfinite((double)INFINITY)",
            "(signbit(-0.0f) != 0) + (signbit(-0.0) != 0) + signbit(1.0)",
            "abs(-2.5f) + abs(-3) + abs(-4.25) + abs(-5ll)",
        ],
    )
    out = np.zeros(13)
    run(text, [out])
    low = signed(int(np.float64(1e-5).view(np.uint64)), 32)
    expected = [0, math.nan, 2, 2, -math.inf, math.inf, 0x3FF80000, low, 1e-5, 2, 2, 2, 14.75]
    np.testing.assert_array_equal(out, expected)


MODES = ("rn", "rz", "ru", "rd")


def rounded(exact, mode):
    """Return the float32 next to a Fraction."""
    if exact == 0:
        return np.float32(0)
    exponent = int(np.frexp(float(exact))[1]) - 1
    exponent -= abs(exact) < Fraction(2) ** exponent  # the float was rounded up to a power of two
    step = Fraction(2) ** (max(exponent, -126) - 23)
    whole = {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}[mode](exact / step)
    return np.float32(float(whole * step))


def test_arithmetic_in_every_direction():
    lines = [
        f"__f{call.replace('(', f'_{mode}(', 1)}"
        for mode in MODES
        for call in (
            "add(a, b)",
            "sub(a, b)",
            "mul(a, b)",
            "div(a, b)",
            "maf(a, b, c)",
            "rcp(b)",
            "sqrt(fabsf(a))",
        )
    ]
    text = kernel("const float* x, float* out", lines)
    text = text.replace(
        "auto* row", "const float a = x[i], b = x[n + i], c = x[2 * n + i]; auto* row"
    )
    x = RNG.normal(size=(3, 512)) * np.exp2(RNG.integers(-20, 20, (3, 512)))
    x = x.astype(np.float32)
    x[:, :64] = RNG.integers(1, 5, (3, 64))  # much that is exact
    x[1, 64:128] = x[0, 64:128] * np.float32(1 + 2**-20)
    out = np.zeros((512, len(lines)), np.float32)
    run(text, [x, out], grid=2, block=256)
    for row, operands in zip(out.tolist(), x.T.tolist(), strict=True):
        a, b, c = map(Fraction, operands)
        exact = [a + b, a - b, a * b, a / b, a * b + c, 1 / b]
        for i, mode in enumerate(MODES):
            got = row[7 * i : 7 * i + 7]
            assert got[:6] == [rounded(e, mode) for e in exact], (a, b, c, mode)
            assert_is_root(np.float32(got[6]), abs(a), mode)


def assert_is_root(root, square, mode):
    """Check a rounded square root by what lies beside it."""
    below, above = (Fraction(float(np.nextafter(root, np.float32(to)))) for to in (0, np.inf))
    root = Fraction(float(root))
    if mode == "rn":
        assert ((below + root) / 2) ** 2 <= square <= ((above + root) / 2) ** 2
    elif mode == "ru":
        assert below**2 < square <= root**2
    else:
        assert root**2 <= square < above**2


def test_division_by_zero_and_infinity_have_their_usual_results():
    lines = [f"__fdiv_{mode}({x})" for mode in MODES for x in ("1, 0.0f", "1, -INFINITY", "0, 3")]
    lines += ["__fadd_rz(INFINITY, 1)", "__fadd_ru(3e38f, 3e38f)", "__fadd_rd(3e38f, 3e38f)"]
    lines += ["__fsqrt_ru(-1)", "__fsqrt_rd(INFINITY)", "__double2float_rz(1e300)"]
    out = np.zeros(18, np.float32)
    run(kernel("float* out", lines), [out])
    most = np.finfo(np.float32).max
    expected = [math.inf, 0, 0] * 4 + [math.inf, math.inf, most, math.nan, math.inf, most]
    np.testing.assert_array_equal(out, expected)


def test_integers_become_floats():
    lines = [f"__{t}2float_{mode}(({c})x[i])" for mode in MODES for t, c in INTEGERS.items()]
    lines += [f"__{t}2double_rn(({c})x[i])" for t, c in INTEGERS.items()]
    x = RNG.integers(-(2**63), 2**63, 256) >> RNG.integers(0, 50, 256)
    x[:6] = [2**62 + 2**38, 2**62 + 2**38 + 1, -(2**62) - 2**38 - 1, 2**24 + 1, -1, 2**53 + 1]
    out = np.zeros((256, 20))
    run(kernel("const long long* x, double* out", lines), [x, out], block=256)
    for row, value in zip(out.tolist(), x.tolist(), strict=True):
        given = [signed(value, 32), value % WORD, value, value % LONG]
        expected = [rounded(Fraction(v), mode) for mode in MODES for v in given]
        assert row == [*expected, *map(float, given)], value


INTEGERS = {"int": "int", "uint": "unsigned", "ll": "long long", "ull": "unsigned long long"}
RANGES = {
    "int": (-(2**31), 2**31 - 1),
    "uint": (0, 2**32 - 1),
    "ll": (-(2**63), 2**63 - 1),
    "ull": (0, 2**64 - 1),
}


@pytest.mark.parametrize("source", ["float", "double"])
@pytest.mark.parametrize("target", INTEGERS)
def test_numbers_become_integers_within_range(source, target):
    dtype = {"float": np.float32, "double": np.float64}[source]
    edges = [0.5, 1.5, 2.5, -0.5, -1.5, 0.49, 7.51, -7.51, 2**31, -(2**31), 2**32, 2**63, 2**64]
    edges += [2147483647.5, -2147483648.5, 4294967295.5, 1e30, -1e30, math.inf, -math.inf, math.nan]
    x = np.array(edges, dtype)
    x = np.concatenate([x, np.nextafter(x, dtype(0)), RNG.uniform(-1e5, 1e5, 22).astype(dtype)])
    out = np.zeros((64, 4), np.uint64)
    lines = [f"(unsigned long long)__{source}2{target}_{mode}(x[i])" for mode in MODES]
    run(kernel(f"const {source}* x, unsigned long long* out", lines), [x, out], block=64)
    low, high = RANGES[target]
    # What the PTX ISA says about a NaN: zero for 4 bytes from 4 bytes, else the top bit.
    bits = 32 if target in {"int", "uint"} else 64
    of_nan = 0 if (source, bits) == ("float", 32) else 2 ** (bits - 1) - (low < 0) * 2**bits
    functions = (round, math.trunc, math.ceil, math.floor)
    for row, value in zip(out.tolist(), x.tolist(), strict=True):
        if math.isnan(value):
            expected = [of_nan] * 4
        elif math.isinf(value):
            expected = [high if value > 0 else low] * 4
        else:
            expected = [max(low, min(high, function(value))) for function in functions]
        assert row == [v % LONG for v in expected], value
