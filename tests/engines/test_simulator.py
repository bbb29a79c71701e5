"""The simulator's model of execution: indices, parameters, loads, waiting."""

from __future__ import annotations

import itertools
import struct

import numpy as np
import pytest

from cudakern._arrays import address_of
from tests.helpers.simulated import compiled, fails, run

INDICES = r"""
extern "C" __global__ void k(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned* row = out + 13 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
  row[0] += 1;  // each thread runs once
  row[1] = blockIdx.x, row[2] = blockIdx.y, row[3] = blockIdx.z;
  row[4] = threadIdx.x, row[5] = threadIdx.y, row[6] = threadIdx.z;
  row[7] = gridDim.x, row[8] = gridDim.y, row[9] = gridDim.z;
  row[10] = blockDim.x, row[11] = blockDim.y, row[12] = blockDim.z;
}
"""


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        ((1, 1, 1), (1, 1, 1)),
        ((5, 1, 1), (33, 1, 1)),
        ((3, 4, 1), (8, 5, 1)),
        ((2, 3, 4), (5, 3, 2)),
        ((1, 1, 3), (1, 1, 64)),
        ((2, 1, 1), (1024, 1, 1)),
    ],
)
@pytest.mark.parametrize("eager", [False, True])
def test_indices(grid, block, eager):
    rows = [
        (1, *at[2::-1], *at[:2:-1], *grid, *block)
        for at in itertools.product(*map(range, (*grid[::-1], *block[::-1])))
    ]
    out = np.zeros((len(rows), 13), np.uint32)
    run(INDICES, [out], grid=grid, block=block, eager=eager)
    np.testing.assert_array_equal(out, rows)


def test_parameters_keep_their_offsets():
    text = r"""
    struct alignas(16) Wide { double a; int b; };
    extern "C" __global__ void k(char a, double* out, short b, Wide c, unsigned long long d) {
      out[0] = a; out[1] = b; out[2] = c.a; out[3] = c.b; out[4] = (double)d;
    }"""
    packed = struct.pack(
        "=b7xQh14xdi4xQ", -3, address_of(out := np.zeros(5)), -300, 2.5, 7, 1 << 40
    )
    kernel = compiled(text)
    assert kernel.parameter_sizes == (1, 8, 2, 16, 8)
    assert [kind.name for kind in kernel.parameter_kinds] == [
        *("INTEGER", "WORD", "INTEGER", "OTHER", "WORD"),
    ]
    kernel.launcher((1, 1, 1), (1, 1, 1), 0, (0, 8, 16, 32, 48))(packed)
    assert out.tolist() == [-3, -300, 2.5, 7, 2.0**40]


@pytest.mark.parametrize("offset", [0, 8])
def test_a_load_is_aligned_only_where_the_kernel_says_so(offset):
    # Compilers have merged both loads into the aligned one.
    text = r"""
    union Pair { uint4 vector; long long piece[2]; };
    extern "C" __global__ void k(const long long* x, long long* out, int n, int aligned) {
      for (int first = 0; first < n; first += 16) {
        long long taken[16];
        for (int i = 0; i < 16; i += 2) {
          Pair pair;
          if (aligned) {
            pair.vector = __ldg(reinterpret_cast<const uint4*>(x + first + i));
          } else {
            for (int j = 0; j < 2; ++j) pair.piece[j] = __ldg(x + first + i + j);
          }
          for (int j = 0; j < 2; ++j) taken[i + j] = pair.piece[j];
        }
        for (int i = 0; i < 16; ++i) out[first + i] = taken[i] < 0 ? taken[i] + 5 : taken[i];
      }
    }"""
    room = np.zeros(32 + 4, np.int64)
    start = -address_of(room) % 16 + offset
    x = np.ndarray((32,), np.int64, room, start)
    x[...] = np.arange(32)
    out = np.zeros(32, np.int64)
    run(text, [x, out, np.int32(32), np.int32(offset == 0)])
    np.testing.assert_array_equal(out, x)


def test_atomics_that_change_nothing_are_no_deadlock():
    text = r"""
    extern "C" __global__ void k(int* largest, int n) {
      for (int i = 0; i < n; ++i) atomicMax(largest, i % 7);
    }"""
    largest = np.array([7], np.int32)
    run(text, [largest, np.int32(60000)], block=3)
    assert largest[0] == 7


@pytest.mark.parametrize("resident", [1, 2, None])
def test_a_block_waits_for_a_later_one(resident):
    text = r"""
    extern "C" __global__ void k(int* flags) {
      if (blockIdx.x == 0) while (atomicAdd(&flags[1], 0) == 0) {}
      atomicExch(&flags[blockIdx.x], 1);
    }"""
    flags = np.zeros(2, np.int32)
    if resident == 1:
        assert fails(text, [flags], grid=2, resident=1).kind == "deadlock"
    else:
        run(text, [flags], grid=2, resident=resident)
        assert flags.tolist() == [1, 1]
