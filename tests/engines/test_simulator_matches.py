"""Warp matches of the simulator, against Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.simulated import fails, run

RNG = np.random.default_rng(20)
FULL = 0xFFFFFFFF

MATCHES = r"""
extern "C" __global__ void k(const T* x, unsigned* out, unsigned mask) {
  unsigned* row = out + 3 * threadIdx.x;
  if (mask >> threadIdx.x % 32 & 1) {
    int all = 7;
    row[0] = __match_any_sync(mask, x[threadIdx.x]);
    row[1] = __match_all_sync(mask, x[threadIdx.x], &all);
    row[2] = all;
  }
}
"""


def matched(bits, mask):
    """Return what each lane of one warp gets, given the bits of the lanes that exist."""
    inside = [i for i in range(len(bits)) if mask >> i & 1]
    everyone = sum(1 << i for i in inside)
    same = len({bits[i] for i in inside}) == 1
    return [
        [sum(1 << j for j in inside if bits[j] == bits[i]), everyone * same, int(same)]
        if i in inside
        else [0, 0, 0]
        for i in range(len(bits))
    ]


@pytest.mark.parametrize("mask", [FULL, 0x0F0F00FF, 1 << 5, 0x80000001])
@pytest.mark.parametrize("threads", [32, 64, 41])
@pytest.mark.parametrize(
    ("device_type", "dtype"),
    [("int", "i4"), ("unsigned", "u4"), ("float", "f4"), ("double", "f8"), ("long long", "i8")],
)
def test_lanes_find_their_equals(device_type, dtype, threads, mask):
    x = RNG.choice([0, 1, -0.0, 2.0**31 - 128, 3], threads).astype(dtype)
    if dtype == "i8":
        x[::3] += 1 << 40  # equal in the low half only
    if threads == 64:
        x[32:] = x[32]  # one warp agrees
    out = np.zeros((threads, 3), np.uint32)
    run(MATCHES, [x, out, np.uint32(mask)], block=threads, macros=(("T", device_type),))
    bits = x.view(f"u{x.itemsize}").tolist()
    expected = [row for i in range(0, threads, 32) for row in matched(bits[i : i + 32], mask)]
    assert out.tolist() == expected


def test_values_are_compared_by_bits():
    x = np.array([0.0, -0.0, np.nan, np.nan, 1.0, 1.0], np.float32)
    out = np.zeros((6, 3), np.uint32)
    run(MATCHES, [x, out, np.uint32(FULL)], block=6, macros=(("T", "float"),))
    assert out[:, 0].tolist() == [1, 2, 12, 12, 48, 48]
    assert not out[:, 1:].any()


def test_groups_sum_by_key():
    text = """
    extern "C" __global__ void k(const int* keys, int* sums) {
      const int key = keys[threadIdx.x];
      const unsigned group = __match_any_sync(0xffffffffu, key);
      if (__ffs(group) - 1 == threadIdx.x % 32) atomicAdd(&sums[key], __popc(group));
    }"""
    keys, sums = RNG.integers(0, 9, 256).astype(np.int32), np.zeros(9, np.int32)
    run(text, [keys, sums], block=256)
    assert sums.tolist() == np.bincount(keys, minlength=9).tolist()


def test_a_match_that_a_lane_does_not_join_is_reported():
    text = """
    extern "C" __global__ void k(unsigned* out) {
      if (threadIdx.x != 3) out[threadIdx.x] = __match_any_sync(0xffffffffu, 1);
      else __syncthreads();
    }"""
    error = fails(text, [np.zeros(32, np.uint32)], block=32)
    assert "test.cu:3" in str(error)
