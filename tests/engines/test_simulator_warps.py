"""Warp collectives and integer intrinsics of the simulator, against NumPy and Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.simulated import run

RNG = np.random.default_rng(11)
FULL = 0xFFFFFFFF

SHUFFLES = r"""
extern "C" __global__ void k(const T* x, T* out, int width) {
  const int i = threadIdx.x;
  for (int d = 0; d < 32; ++d) {
    T* row = out + (d * blockDim.x + i) * 4;
    row[0] = __shfl_sync(0xffffffffu, x[i], d, width);
    row[1] = __shfl_up_sync(0xffffffffu, x[i], d, width);
    row[2] = __shfl_down_sync(0xffffffffu, x[i], d, width);
    row[3] = __shfl_xor_sync(0xffffffffu, x[i], d, width);
  }
}
"""


def shuffled(x, width, delta):
    """Return what the four shuffles give to each lane, as the programming guide says."""
    lanes = np.arange(x.size)
    base, last = lanes // width * width, lanes // width * width + width - 1
    up, down, xor = lanes - delta, lanes + delta, lanes ^ delta
    sources = (
        base + delta % width,
        np.where(up >= base, up, lanes),
        np.where(down <= last, down, lanes),
        np.where(xor <= last, xor, lanes),
    )
    return np.stack([x[source] for source in sources], axis=1)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize(
    ("device_type", "dtype"),
    [("float", "f4"), ("double", "f8"), ("long long", "i8"), ("unsigned", "u4"), ("short", "i2")],
)
def test_shuffles(device_type, dtype, width):
    x = RNG.integers(-(2**63), 2**63 - 1, 64).astype(np.int64).view(dtype)[:64].copy()
    x = np.nan_to_num(x) if x.dtype.kind == "f" else x
    out = np.zeros((32, 64, 4), dtype)
    run(SHUFFLES, [x, out, np.int32(width)], block=64, macros=(("T", device_type),))
    expected = np.stack([shuffled(x, width, d) for d in range(32)])
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("threads", [1, 5, 31, 33, 50])
def test_partial_warps_take_full_masks(threads):
    text = r"""
    extern "C" __global__ void k(const int* x, int* out) {
      int sum = x[threadIdx.x];
      for (int d = 16; d > 0; d /= 2) {
        const int other = __shfl_down_sync(0xffffffffu, sum, d);
        if (threadIdx.x + d < blockDim.x && threadIdx.x % 32 + d < 32) sum += other;
      }
      out[threadIdx.x] = sum;
      __syncwarp();
      out[blockDim.x + threadIdx.x] = __reduce_add_sync(0xffffffffu, x[threadIdx.x]);
    }"""
    x, out = RNG.integers(0, 99, threads).astype(np.int32), np.zeros((2, threads), np.int32)
    run(text, [x, out], block=threads)
    sums = [x[i : i + 32].sum() for i in range(0, threads, 32)]
    assert out[0, ::32].tolist() == sums
    assert out[1].tolist() == [sums[i // 32] for i in range(threads)]


def test_halves_of_a_warp_diverge():
    text = r"""
    extern "C" __global__ void k(const double* x, double* out) {
      const int lane = threadIdx.x % 32;
      double sum = x[threadIdx.x];
      if (lane < 16) {
        for (int repeat = 0; repeat < 50; ++repeat)  // the halves go at their own speeds
          for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(0x0000ffffu, sum, d);
        sum /= pow(16.0, 49.0);
      } else if (lane % 2 == 0) {
        sum = __shfl_sync(0x55550000u, sum, 16);
      } else {
        sum = __any_sync(0xaaaa0000u, lane == 31) + 10 * __all_sync(0xaaaa0000u, lane == 31);
      }
      __syncwarp();
      out[threadIdx.x] = sum;
    }"""
    x, out = RNG.integers(1, 50, 64).astype(np.float64), np.zeros(64)
    run(text, [x, out], block=64)
    for warp, got in zip(x.reshape(2, 32), out.reshape(2, 32), strict=True):
        np.testing.assert_allclose(got[:16], warp[:16].sum())
        assert got[16::2].tolist() == [warp[16]] * 8
        assert got[17::2].tolist() == [1] * 8


def test_a_result_outlives_many_collectives_of_other_lanes():
    text = r"""
    extern "C" __global__ void k(int* out) {
      const unsigned lane = threadIdx.x;
      int got = __shfl_sync(0xffffffffu, 100 + (int)lane, 7);
      if (lane == 31)  // the last to arrive runs on, while the others have not read yet
        for (int i = 0; i < 5000; ++i) got += __shfl_sync(1u << 31, -i, 31) + i;
      out[lane] = got;
    }"""
    out = np.zeros(32, np.int32)
    run(text, [out], block=32)
    assert out.tolist() == [107] * 32


def test_votes_and_warp_reductions():
    text = r"""
    extern "C" __global__ void k(const int* x, unsigned* out) {
      const unsigned mask = 0xffffffffu;
      const int v = x[threadIdx.x];
      const unsigned u = v;
      unsigned* row = out + 12 * threadIdx.x;
      row[0] = __ballot_sync(mask, v & 1);
      row[1] = __any_sync(mask, v == x[3]);
      row[2] = __all_sync(mask, v == x[3]);
      row[3] = __reduce_add_sync(mask, v);
      row[4] = __reduce_min_sync(mask, v);
      row[5] = __reduce_max_sync(mask, v);
      row[6] = __reduce_min_sync(mask, u);
      row[7] = __reduce_max_sync(mask, u);
      row[8] = __reduce_and_sync(mask, u | 0xf000u);
      row[9] = __reduce_or_sync(mask, u);
      row[10] = __reduce_xor_sync(mask, u);
      row[11] = __reduce_add_sync(mask, u);
    }"""
    x = RNG.integers(-(2**31), 2**31, 32).astype(np.int32)
    out = np.zeros((32, 12), np.uint32)
    run(text, [x, out], block=32)
    u = x.view(np.uint32)
    expected = [
        sum(int(v & 1) << i for i, v in enumerate(x.tolist())),
        1,
        0,
        int(x.sum(dtype=np.int64)) & FULL,
        int(x.min()) & FULL,
        int(x.max()) & FULL,
        u.min(),
        u.max(),
        np.bitwise_and.reduce(u | 0xF000),
        np.bitwise_or.reduce(u),
        np.bitwise_xor.reduce(u),
        int(u.sum(dtype=np.uint64)) & FULL,
    ]
    np.testing.assert_array_equal(out, np.tile(np.array(expected, np.uint32), (32, 1)))


def signed(value, bits):
    """Return the low bits of a number, read as a signed integer."""
    value &= 2**bits - 1
    return value - 2**bits if value >> (bits - 1) else value


def test_integer_intrinsics():
    text = r"""
    extern "C" __global__ void k(const unsigned long long* x, long long* out) {
      const int i = threadIdx.x;
      const unsigned long long a = x[i], b = x[i ^ 1];
      const unsigned c = (unsigned)a, d = (unsigned)b;
      long long* row = out + 16 * i;
      row[0] = __popc(c), row[1] = __popcll(a), row[2] = __ffs(c), row[3] = __ffsll(a);
      row[4] = __clz(c), row[5] = __clzll(a), row[6] = __brev(c), row[7] = __brevll(a);
      row[8] = __umulhi(c, d), row[9] = __mulhi((int)c, (int)d);
      row[10] = __umul64hi(a, b), row[11] = __mul64hi(a, b);
      row[12] = __float_as_uint(__uint_as_float(c)), row[13] = min((int)c, (int)d);
      row[14] = max(c, d), row[15] = __longlong_as_double(__double_as_longlong(2.5)) == 2.5;
    }"""
    edges = np.array([0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 3, 2**33], np.uint64)
    x = np.concatenate([edges, RNG.integers(0, 2**64, 56, dtype=np.uint64)])
    x[8:] &= ~np.uint64(1 << 23)  # a float of these bits is never a signalling NaN
    out = np.zeros((64, 16), np.int64)
    run(text, [x, out], block=64)
    for i, a in enumerate(x.tolist()):
        b = x.tolist()[i ^ 1]
        c, d = a & FULL, b & FULL
        product = signed(c, 32) * signed(d, 32)
        expected = [
            c.bit_count(),
            a.bit_count(),
            (c & -c).bit_length(),
            (a & -a).bit_length(),
            32 - c.bit_length(),
            64 - a.bit_length(),
            int(f"{c:032b}"[::-1], 2),
            signed(int(f"{a:064b}"[::-1], 2), 64),
            c * d >> 32,
            product >> 32,
            signed(a * b >> 64, 64),
            signed(signed(a, 64) * signed(b, 64) >> 64, 64),
            c,
            min(signed(c, 32), signed(d, 32)),
            max(c, d),
            1,
        ]
        assert out[i].tolist() == expected, hex(a)
