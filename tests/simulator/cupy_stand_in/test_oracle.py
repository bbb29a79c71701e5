"""The stand-in computes the same as the texts that a real CuPy builds from the same kernels."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.rows import each
from tests.helpers.samples import covering, sample

cupy = pytest.importorskip("cupy")

from tests.simulator.cupy_stand_in import cupys_texts  # noqa: E402  needs CuPy

RNG = np.random.default_rng(7)
F4, F8, I4 = (RNG.integers(-50, 50, (6, 5)).astype(dtype) for dtype in ("f4", "f8", "i4"))
HALF, WORDS = F4.astype(np.float16), RNG.integers(0, 99, (6, 5)).astype(np.uint64)
COMPLEX = (F4 + 1j * I4).astype(np.complex64)
GAPS = RNG.random((12, 10))[::2, ::-2]

SECOND = "template <typename A> __device__ T second(const A& a) { return a[1]; }"
TOTAL = """
template <typename U, int n, bool c, bool s>
__device__ U total(const CArray<U, n, c, s>& a) {
  U sum = 0;
  for (ptrdiff_t k = 0; k < a.size(); ++k) sum += a[k];
  return sum;
}
"""
MOST = """
struct Most {
  T x;
  long long at;
  __device__ Most() : x(-1000), at(-1) {}
  __device__ Most(T x, long long at) : x(x), at(at) {}
};
"""
TIMES = "T s = 0; for (int k = 0; k < 3; ++k) s += x; b = s; c = x < 0 ? CUDART_INF : x * M_PI"
AT = "int at[] = {int(i % 6), 2}; z = x[at] + x.size(); u = x[{2, 1}] + y; v = second(x) * y"
ATOMICS = """
atomicAdd(&a[i % 2], x); atomicAdd(&b[0], (long long)y); atomicMax(&c[1], w); atomicMin(&c[2], w);
atomicMax(&d[1], v); atomicMin(&d[2], v)
"""
#: Definitions, inputs, and dtypes of outputs, which have the shape of the loop.
ELEMENTWISE = {
    "generic": (("T x, T y", "T z", "z = (x - y) * (x - y)", "k"), [F8, F8[0]], "d"),
    "columns": (("T x, T y", "T z", "z = x - 2 * y", "k"), [F8.T[:, :3], GAPS.T[:, :3]], "d"),
    "raw": (("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "k"), [F8, GAPS], "d"),
    "types": (("T x, S y", "U z", "z = x / y + 7 % 4", "k"), [F4, WORDS + 1], "d"),
    "integers": (("T x, T y", "T z", "z = x * y - (x >> 1)", "k"), [I4, I4[::-1]], "i"),
    "words": (("T x", "T z", "z = x - 100", "k"), [WORDS], "Q"),
    "half": (
        ("T x, T y", "T z, T w", "z = x * y + x; w = sqrt(max(x, T(2)))", "k"),
        [HALF, HALF[1]],
        "ee",
    ),
    "complex": (
        ("T x, T y", "T z, float32 w", "z = x * conj(y) + T(1, 2); w = abs(x) + x.imag()", "k"),
        [COMPLEX, COMPLEX[2]],
        "Ff",
    ),
    "truth": (("T x, T y", "bool z", "z = x > y && !(x == 3)", "k"), [F4, F4[::-1]], "?"),
    "parts": (("T x", "T a, T b, T c", f"a = 0; a += x; a = a * a; {TIMES}", "k"), [F8], "ddd"),
    "skips": (("T x", "T z", "z = -1; if (x < 0) continue; z = x", "k"), [F4], "f"),
    "index": (("T x", "T z", "z = i + _ind.size() * _ind.get()[0]", "k", False), [F8], "d"),
    "shape": (("raw T x, T y", "T z", "z = x.shape()[0] + x.strides()[1]", "k"), [GAPS, F8], "d"),
    "places": (("raw T x, T y", "T z, T u, T v", AT, "k", True, SECOND), [GAPS, F8], "ddd"),
    "atomics": (
        ("T x, S y, U w, V v", "raw T a, raw int64 b, raw U c, raw V d", ATOMICS, "k"),
        [HALF, I4, F8, F4],
        "eqdf",
    ),
    "deduced": (("raw T x, T y", "T z", "z = total(x) * y", "k", True, TOTAL), [F8, F8], "d"),
}


@each("name", sample(ELEMENTWISE, 2))
def test_elementwise(name):
    definition, inputs, chars = ELEMENTWISE[name]
    kernel = cupy.ElementwiseKernel(*definition)
    loops = [a.shape for p, a in zip(kernel.in_params, inputs, strict=True) if not p.raw]
    shape = np.broadcast_shapes(*loops)
    expected = [np.zeros(shape, char) for char in chars]
    cupys_texts.elementwise(kernel, shape, inputs, expected)
    with ck.simulator.in_place_of_cupy() as cp:
        outs = [cp.zeros(shape, char) for char in chars]
        cp.ElementwiseKernel(*definition)(*map(_there(cp), inputs), *outs)
    assert [out.get().tobytes() for out in outs] == [one.tobytes() for one in expected]
    assert all(one.any() for one in expected)


def _there(cp):
    """Return a function that copies an array to the stand-in with the same strides."""

    def make(array):
        memory = cp.asarray(array if array.base is None else array.base)
        if array.base is None:
            return memory
        offset = array.__array_interface__["data"][0] - array.base.__array_interface__["data"][0]
        pointer = memory.data + offset
        return cp.ndarray(array.shape, array.dtype, pointer, array.strides)

    return make


REDUCTIONS = {
    "sum": (("T x", "T y", "x", "a + b", "y = a", "0", "k"), [I4], "i"),
    "norm": (("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "k"), [F8], "d"),
    "gaps": (("T x", "T y", "x > 0.5", "a + b", "y = a", "0", "k"), [GAPS], "d"),
    "wide": (("T x", "float64 y", "x", "a + b", "y = a / 2", "0", "k", "double"), [F4], "d"),
    "most": (("T x", "T y", "x", "max(a, b)", "y = a", "T(-CUDART_INF)", "k"), [F4], "f"),
    "truth": (("T x, T z", "bool y", "x == z", "a || b", "y = a", "false", "k"), [I4, I4[0]], "?"),
    "raw": (
        ("T x, raw T w", "T y", "x * w[_j] + _J", "a + b", "y = a", "0", "k"),
        [I4, I4 % 7],
        "i",
    ),
    "place": (("T x", "T y", "x", "a + b", "y = a * 10 + _i", "0", "k"), [I4], "i"),
    "mean": (
        ("T x", "T y", "x", "a + b", "y = a / (_in_ind.size() / _out_ind.size())", "0", "k"),
        [F8],
        "d",
    ),
    "half": (("T x", "T y", "x", "a + b", "y = a", "0", "k", "float"), [HALF], "e"),
    "complex": (("T x", "T y", "x * x", "a + b", "y = a", "T(0)", "k"), [COMPLEX], "F"),
    "structure": (
        (
            "T x",
            "int64 y",
            "Most(x, _J)",
            "a.x >= b.x ? a : b",
            "y = a.at",
            "Most()",
            "k",
            "Most",
            True,
            MOST,
        ),
        [RNG.permutation(30).reshape(6, 5).astype("f4")],
        "q",
    ),
}


@each("name, axes", sample(covering(REDUCTIONS, [1, 2]), 2, 1))
def test_reduction(name, axes):
    definition, inputs, char = REDUCTIONS[name]
    shape = inputs[0].shape[axes:]
    expected = np.zeros(shape, char)
    cupys_texts.reduction(cupy.ReductionKernel(*definition), inputs, [expected], axes)
    with ck.simulator.in_place_of_cupy() as cp:
        out = cp.zeros(shape, char)
        kernel = cp.ReductionKernel(*definition)
        kernel(*map(_there(cp), inputs), out, axis=tuple(range(axes)))
    assert out.get().tobytes() == expected.tobytes()
    assert expected.any()


#: Kernels whose text from CuPy does not compile.
REFUSED = {
    "no infinity": (("T x", "T z", "z = INFINITY", "k"), [F8], "d"),
    "constant input": (("T x", "T z", "x = 1; z = x", "k"), [F8], "d"),
    "constant raw": (("raw T x, T y", "T z", "x[i] = y; z = y", "k"), [F8, F8], "d"),
    "unknown": (("T x", "T z", "z = w", "k"), [F8], "d"),
    "root of an integer": (("T x", "T z", "z = sqrt(x)", "k"), [I4], "i"),
}


@each("name", REFUSED)
def test_what_does_not_compile(name):
    definition, inputs, char = REFUSED[name]
    out = np.zeros((6, 5), char)
    with pytest.raises(ck.errors.KernelCompileError):
        cupys_texts.elementwise(cupy.ElementwiseKernel(*definition), (6, 5), inputs, [out])
    with ck.simulator.in_place_of_cupy() as cp, pytest.raises(ck.errors.KernelCompileError):
        cp.ElementwiseKernel(*definition)(*map(cp.asarray, inputs))


def test_statements_after_a_reduction_do_not_compile():
    definition = ("T x", "T y", "x", "a + b", "y = a; y += 1", "0", "k")
    with pytest.raises(ck.errors.KernelCompileError):
        cupys_texts.reduction(cupy.ReductionKernel(*definition), [F8], [np.zeros(5)], 1)
    with ck.simulator.in_place_of_cupy() as cp, pytest.raises(ck.errors.KernelCompileError):
        cp.ReductionKernel(*definition)(cp.asarray(F8), axis=0)
