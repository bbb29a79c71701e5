"""Half and bfloat16 of the simulator: conversions, against NumPy, ml_dtypes and Fraction."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.helpers.simulated import run
from tests.helpers.small_floats import ALL, KINDS, RNG, assert_same, floats, values


@KINDS
def test_every_value_converts_to_float(kind):
    text = """
    extern "C" __global__ void k(const T* x, float* out, unsigned short* bits) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      out[2 * i] = x[i];
      out[2 * i + 1] = __NAME2float(x[i]);
      bits[i] = __NAME_as_ushort(__NAME_as_ushort(x[i]) == i ? T(out[2 * i]) : T(0));
    }"""
    out, bits = np.zeros((2**16, 2), np.float32), np.zeros_like(ALL)
    run(kind.text(text), [ALL, out, bits], grid=256, block=256, macros=kind.macros)
    expected = values(kind, ALL)
    np.testing.assert_array_equal(out, np.stack([expected, expected], axis=1))
    nan = np.isnan(expected)
    np.testing.assert_array_equal(bits[~nan], ALL[~nan])
    assert set(bits[nan].tolist()) == {0x7FFF}


@KINDS
def test_floats_are_rounded_to_nearest_even(kind):
    text = """
    extern "C" __global__ void k(const float* x, T* out, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      T* row = out + 4 * i;
      row[0] = __float2NAME(x[i]), row[1] = x[i], row[2] = T((double)x[i]);
      row[3] = __float2NAME2_rn(x[i]).y;
    }"""
    x = floats(kind)
    out = np.zeros((x.size, 4), np.uint16)
    arguments = [x, out, np.int32(x.size)]
    run(kind.text(text), arguments, grid=-(-x.size // 512), block=512, macros=kind.macros)
    # CuPy has NVRTC take subnormal numbers for zero in the arithmetic of floats.
    flushed = np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)
    with np.errstate(invalid="ignore", over="ignore"):
        expected, of_double = (a.astype(kind.dtype).astype(np.float64) for a in (x, flushed))
    for i, column in enumerate(out.T):
        assert_same(kind, np.ascontiguousarray(column), of_double if i == 2 else expected)


@KINDS
def test_floats_are_rounded_in_every_direction(kind):
    text = """
    extern "C" __global__ void k(const float* x, T* out, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      out[i] = __float2NAME_rz(x[i]);
      out[n + i] = __float2NAME_ru(x[i]);
      out[2 * n + i] = __float2NAME_rd(x[i]);
    }"""
    x = floats(kind)
    x = x[~np.isnan(x)]
    out = np.zeros((3, x.size), np.uint16)
    arguments = [x, out, np.int32(x.size)]
    run(kind.text(text), arguments, grid=-(-x.size // 512), block=512, macros=kind.macros)
    every = np.unique(values(kind, ALL)[~np.isnan(values(kind, ALL))])
    exact = x.astype(np.float64)
    up = every[np.searchsorted(every, exact, "left")]
    down = every[np.searchsorted(every, exact, "right") - 1]
    for got, expected in zip(out, (np.where(exact > 0, down, up), up, down), strict=True):
        np.testing.assert_array_equal(values(kind, got), expected)


@KINDS
def test_integers(kind):
    text = """
    extern "C" __global__ void k(const long long* x, T* from, const T* y, long long* to) {
      const int i = threadIdx.x;
      from[4 * i] = __ll2NAME_rn(x[i]), from[4 * i + 1] = (unsigned long long)x[i];
      from[4 * i + 2] = __int2NAME_rn((int)x[i]), from[4 * i + 3] = (short)x[i];
      long long* row = to + 8 * i;
      row[0] = __NAME2int_rn(y[i]), row[1] = __NAME2int_rz(y[i]), row[2] = __NAME2int_ru(y[i]);
      row[3] = __NAME2int_rd(y[i]), row[4] = __NAME2uint_rz(y[i]), row[5] = __NAME2ll_rz(y[i]);
      row[6] = (short)y[i], row[7] = (unsigned char)y[i];
    }"""
    # Half-way for 8 bits, and one more: a detour through float64 would forget the one.
    tie = 2**62 + 2**54
    x = np.array([0, 1, -1, 2049, 2051, 65519, 65520, tie, tie + 1, -tie - 1, -(2**63)])
    x = np.concatenate([x, RNG.integers(-(2**20), 2**20, 117)]).astype(np.int64)
    y = RNG.integers(0, 2**16, 128).astype(np.uint16)
    y[:8] = [0, 0x8000, 0x7C00, 0xFC00, 0x7F80, 0xFF80, 0x7FFF, 0xFFFF]
    y[8:40] = np.linspace(-9, 9, 32).astype(kind.dtype).view(np.uint16)
    sent, got = np.zeros((128, 4), np.uint16), np.zeros((128, 8), np.int64)
    run(kind.text(text), [x, sent, y, got], block=128, macros=kind.macros)

    wide = (x, x.view(np.uint64), x.astype(np.int32), x.astype(np.int16))
    expected = np.array(
        [[kind.exactly_rounded(Fraction(v)) for v in row.tolist()] for row in wide]
    ).T
    np.testing.assert_array_equal(values(kind, sent), expected)

    def kept(function, low, high, nan=0):
        v = values(kind, y)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            whole = function(v)
        inside = [int(f) if np.isfinite(f) else 0 for f in whole.tolist()]
        clipped = [max(low, min(high, n)) for n in inside]
        ends = np.where(np.isposinf(v), high, np.where(np.isneginf(v), low, clipped))
        return np.where(np.isnan(v), nan, ends)

    word = (-(2**31), 2**31 - 1)
    columns = [kept(f, *word) for f in (np.rint, np.trunc, np.ceil, np.floor)]
    columns.append(kept(np.trunc, 0, 2**32 - 1))
    columns.append(kept(np.trunc, -(2**63), 2**63 - 1, -(2**63)))
    columns.append(kept(np.trunc, -(2**15), 2**15 - 1))
    columns.append(kept(np.trunc, 0, 255))
    np.testing.assert_array_equal(got, np.array(columns, dtype=np.int64).T)


@KINDS
def test_pairs_unions_and_shared_memory(kind):
    both = f"{kind.name}2"
    text = """
    union Word { T2 pair; T one[2]; unsigned bits; };
    static_assert(sizeof(T) == 2 && alignof(T) == 2 && sizeof(T2) == 4 && alignof(T2) == 4, "");
    __device__ float helper(float x) { return x; }
    extern "C" __global__ void k(const float2* x, unsigned* bits, float* out) {
      __shared__ T tile[64];
      const int i = threadIdx.x;
      tile[2 * i] = x[i].x, tile[2 * i + 1] = x[i].y;
      __syncthreads();
      const T2 p = *reinterpret_cast<const T2*>(&tile[2 * (31 - i)]);
      Word w;
      w.pair = PAIRS(p.x, p.y);
      bits[i] = w.bits;
      float* row = out + 8 * i;
      const float2 back = __BOTH2float2(__floats2NAME2_rn(x[i].x, x[i].y));
      row[0] = back.x, row[1] = back.y;
      row[2] = __low2float(p), row[3] = __high2float(p), row[4] = __low2NAME(p);
      row[5] = helper(__high2NAME(p)), row[6] = __NAME2NAME2(p.y).x;
      row[7] = __shfl_xor_sync(0xffffffffu, p.x, 1);
    }"""
    text = text.replace("BOTH", f"{kind.name}2").replace("PAIRS", f"__halves2{both}")
    x = RNG.integers(-100, 100, (32, 2)).astype(np.float32)
    bits, out = np.zeros(32, np.uint32), np.zeros((32, 8), np.float32)
    run(kind.text(text), [x, bits, out], block=32, macros=kind.macros)
    back = x[::-1].copy()
    np.testing.assert_array_equal(bits, back.astype(kind.dtype).view(np.uint32)[:, 0])
    other = back[np.arange(32) ^ 1, 0]
    low, high = back.T
    np.testing.assert_array_equal(out, np.stack([*x.T, low, high, low, high, high, other], axis=1))


def test_both_kinds_in_one_kernel_beside_integers():
    text = """
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    #include <cuda_fp16.h>
    template <typename T> __device__ T triple(T x) { return x + x + x; }
    extern "C" __global__ void k(float* out) {
      half h = 1.5;
      nv_bfloat16 b = 2.5f;
      h += 1, ++h;
      out[0] = triple(h), out[1] = triple(b), out[2] = __hadd(7, 8), out[3] = __hmul(h, 2.0f);
      out[4] = h ? (int)h : -1, out[5] = h > half(3) && b <= nv_bfloat16(2.5);
      out[6] = (float)h + 0.25f, out[7] = __hmax(b, 9);
    }"""
    out = np.zeros(8, np.float32)
    run(text, [out])
    assert out.tolist() == [10.5, 7.5, 7, 7, 3, 1, 3.75, 9]
