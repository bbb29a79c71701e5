"""The simulator's model of execution: indices, parameters, shared memory, barriers."""

from __future__ import annotations

import itertools
import struct

import numpy as np
import pytest

from cudakern.arrays import address_of
from tests.helpers.simulated import compiled, run

RNG = np.random.default_rng(7)

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


def test_static_shared_memory_in_templates():
    text = r"""
    template <typename T, int kSize>
    __device__ T* buffer() { __shared__ T memory[kSize]; return memory; }
    template <typename T>
    __device__ T turn(T value) {
      T* memory = buffer<T, 64>();
      memory[threadIdx.x] = value;
      __syncthreads();
      const T result = memory[63 - threadIdx.x];
      __syncthreads();
      return result;
    }
    extern "C" __global__ void k(int* x, double* y) {
      const int i = blockIdx.x * 64 + threadIdx.x;
      __shared__ int total;
      if (threadIdx.x == 0) total = 0;
      __syncthreads();
      x[i] = turn(x[i]);
      y[i] = turn(y[i]);
      if (threadIdx.x == 63) total = x[i];
      __syncthreads();
      x[i] += total;
    }"""
    x, y = np.arange(640, dtype=np.int32), RNG.random(640)
    before = x.copy(), y.copy()
    run(text, [x, y], grid=10, block=64, eager=True)
    turned = before[0].reshape(10, 64)[:, ::-1]
    np.testing.assert_array_equal(x.reshape(10, 64), turned + turned[:, -1:])
    np.testing.assert_array_equal(y.reshape(10, 64), before[1].reshape(10, 64)[:, ::-1])


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_dynamic_shared_memory(size):
    text = r"""
    extern "C" __global__ void k(long long* x, int size, int* aligned) {
      extern __shared__ __align__(16) unsigned char raw[];
      long long* memory = reinterpret_cast<long long*>(raw);
      for (int i = threadIdx.x; i < size; i += blockDim.x) memory[i] = x[blockIdx.x * size + i];
      __syncthreads();
      for (int i = threadIdx.x; i < size; i += blockDim.x)
        x[blockIdx.x * size + i] = memory[size - 1 - i];
      if (threadIdx.x == 0) aligned[blockIdx.x] = reinterpret_cast<size_t>(raw) % 16 == 0;
    }"""
    x, aligned = RNG.integers(-(2**60), 2**60, (4, size)), np.zeros(4, np.int32)
    expected = x[:, ::-1].copy()
    run(text, [x, np.int32(size), aligned], grid=4, block=96, shared=8 * size, eager=True)
    np.testing.assert_array_equal(x, expected)
    assert aligned.all()


@pytest.mark.parametrize("threads", [1, 31, 32, 100, 1024])
def test_barriers_that_vote(threads):
    text = r"""
    extern "C" __global__ void k(const int* p, int* out) {
      const int i = threadIdx.x;
      out[i * 4] = __syncthreads_count(p[i] & 1);
      out[i * 4 + 1] = __syncthreads_and(p[i] & 2);
      out[i * 4 + 2] = __syncthreads_or(p[i] & 4);
      out[i * 4 + 3] = __syncthreads_and(p[i] & 8);
    }"""
    p = (RNG.integers(0, 2, threads) | 8).astype(np.int32)
    p[threads // 2] |= 2 | 4
    out = np.zeros((threads, 4), np.int32)
    run(text, [p, out], block=threads)
    expected = (p & 1).sum(), threads == 1, 1, 1
    np.testing.assert_array_equal(out, np.tile(np.array(expected, np.int32), (threads, 1)))


def test_threads_go_in_step_from_barrier_to_barrier():
    text = r"""
    extern "C" __global__ void k(int* out, int steps) {
      __shared__ int ring[2][128];
      ring[0][threadIdx.x] = threadIdx.x;
      for (int step = 0; step < steps; ++step) {
        __syncthreads();
        ring[(step + 1) % 2][threadIdx.x] = ring[step % 2][(threadIdx.x + 1) % 128];
      }
      out[threadIdx.x] = ring[steps % 2][threadIdx.x];
    }"""
    out = np.zeros(128, np.int32)
    run(text, [out, np.int32(301)], block=128)
    np.testing.assert_array_equal(out, (np.arange(128) + 301) % 128)


@pytest.mark.parametrize("count", [1, 255, 256, 10000])
def test_block_reduction_and_scan(count):
    text = r"""
    extern "C" __global__ void k(const double* x, int n, double* sum, double* scan) {
      __shared__ double part[256];
      __shared__ double carry;
      const int t = threadIdx.x;
      if (t == 0) carry = 0;
      for (int base = 0; base < n; base += 256) {
        part[t] = base + t < n ? x[base + t] : 0;
        __syncthreads();
        for (int step = 1; step < 256; step *= 2) {
          const double left = t >= step ? part[t - step] : 0;
          __syncthreads();
          part[t] += left;
          __syncthreads();
        }
        if (base + t < n) scan[base + t] = carry + part[t];
        __syncthreads();
        if (t == 255) carry += part[255];
        __syncthreads();
      }
      if (t == 0) *sum = carry;
    }"""
    x = RNG.integers(-1000, 1000, count).astype(np.float64)
    total, scan = np.zeros(1), np.zeros(count)
    run(text, [x, np.int32(count), total, scan], block=256)
    np.testing.assert_array_equal(scan, np.cumsum(x))
    assert total[0] == x.sum()


def test_histogram_with_shared_atomics():
    text = r"""
    extern "C" __global__ void k(const unsigned char* x, int n, unsigned* bins) {
      __shared__ unsigned local[256];
      for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
      __syncthreads();
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[x[i]], 1u);
      __syncthreads();
      for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
    }"""
    x, bins = RNG.integers(0, 256, 20011).astype(np.uint8), np.zeros(256, np.uint32)
    run(text, [x, np.int32(x.size), bins], grid=7, block=100, eager=True)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=256))


@pytest.mark.parametrize("shape", [(1, 1), (32, 32), (33, 95), (100, 7)])
def test_tiled_transpose(shape):
    text = r"""
    extern "C" __global__ void k(const float* x, float* out, int rows, int columns) {
      __shared__ float tile[32][33];
      const int bx = blockIdx.x * 32, by = blockIdx.y * 32;
      for (int j = threadIdx.y; j < 32; j += blockDim.y)
        if (by + j < rows && bx + threadIdx.x < columns)
          tile[j][threadIdx.x] = x[(by + j) * columns + bx + threadIdx.x];
      __syncthreads();
      for (int j = threadIdx.y; j < 32; j += blockDim.y)
        if (bx + j < columns && by + threadIdx.x < rows)
          out[(bx + j) * rows + by + threadIdx.x] = tile[threadIdx.x][j];
    }"""
    rows, columns = shape
    x, out = RNG.random(shape, dtype=np.float32), np.zeros(shape[::-1], np.float32)
    grid = -(-columns // 32), -(-rows // 32)
    arguments = [x, out, np.int32(rows), np.int32(columns)]
    run(text, arguments, grid=grid, block=(32, 8), eager=True)
    np.testing.assert_array_equal(out, x.T)


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


LOOK_BACK = r"""
extern "C" __global__ void k(const int* x, int* out, int n, unsigned* ticket,
                             unsigned long long* states) {
  __shared__ int tile[128];
  __shared__ unsigned block;
  __shared__ int before;
  const int t = threadIdx.x;
  if (t == 0) block = TICKET;
  __syncthreads();
  const int i = block * 128 + t;
  tile[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 1; step < 128; step *= 2) {
    const int left = t >= step ? tile[t - step] : 0;
    __syncthreads();
    tile[t] += left;
    __syncthreads();
  }
  if (t == 0) {
    const unsigned long long kPartial = 1ull << 32, kWhole = 2ull << 32;
    atomicExch(&states[block], (block == 0 ? kWhole : kPartial) | (unsigned)tile[127]);
    int sum = 0;
    for (int p = (int)block - 1; p >= 0;) {
      const unsigned long long state = atomicAdd(&states[p], 0ull);
      if (state >> 32 == 0) continue;
      sum += (int)(unsigned)state;
      if (state >> 32 == 2) break;
      --p;
    }
    atomicExch(&states[block], kWhole | (unsigned)(sum + tile[127]));
    before = sum;
  }
  __syncthreads();
  if (i < n) out[i] = before + tile[t];
}
"""


@pytest.mark.parametrize("order", ["atomicAdd(ticket, 1u)", "blockIdx.x"])
@pytest.mark.parametrize(("resident", "eager"), [(1, False), (2, True), (5, True), (5, False)])
def test_look_back_scan(order, resident, eager):
    n = 128 * 37 - 5
    x, out = RNG.integers(-9, 9, n).astype(np.int32), np.zeros(n, np.int32)
    ticket, states = np.zeros(1, np.uint32), np.zeros(37, np.uint64)
    run(
        LOOK_BACK,
        [x, out, np.int32(n), ticket, states],
        grid=37,
        block=128,
        macros=(("TICKET", order),),
        resident=resident,
        eager=eager,
    )
    np.testing.assert_array_equal(out, np.cumsum(x))


def test_atomics_that_change_nothing_are_no_deadlock():
    text = r"""
    extern "C" __global__ void k(int* largest, int n) {
      for (int i = 0; i < n; ++i) atomicMax(largest, i % 7);
    }"""
    largest = np.array([7], np.int32)
    run(text, [largest, np.int32(60000)], block=3)
    assert largest[0] == 7
