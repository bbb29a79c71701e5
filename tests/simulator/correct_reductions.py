"""Correct reductions and scans."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import Correct, ints, poison


def reduction(name, body, *, grid=3, block=128, per_thread=1, **options):
    """Return a sum of integers by blocks, given what a block does with ``s[t]`` and ``i``."""
    code = options.pop("head", 'extern "C" ') + (
        r"""__global__ void k(const int* x, int* out, int n) {
  __shared__ int s[256];
  const unsigned t = threadIdx.x;
"""
        + body
        + "}\n"
    )
    span = block * per_thread

    def inputs(rng):
        n = grid * span - 7
        return ints(rng, n), poison(grid, np.int32), np.int32(n)

    def expected(x, out, n):
        del out
        padded = np.zeros(grid * span, np.int32)
        padded[:n] = x
        return {1: padded.reshape(grid, span).sum(axis=1, dtype=np.int32)}

    return Correct(name, code, (grid,), (block,), inputs, expected, **options)


LOAD = r"""
  const int i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
"""


STORE = r"""
  if (t == 0) out[blockIdx.x] = s[0];
"""


LOOK_BACK = r"""
extern "C" __global__ void k(const int* x, int* out, int n, unsigned* counter, STATE* state,
                             int* aggregate, int* inclusive) {
  __shared__ int s[2][64];
  __shared__ unsigned id;
  __shared__ int before;
  const int t = threadIdx.x;
  if (t == 0) id = atomicAdd(counter, 1u);
  __syncthreads();
  const int b = id, i = b * blockDim.x + t;
  s[0][t] = i < n ? x[i] : 0;
  __syncthreads();
  int from = 0;
  for (int d = 1; d < blockDim.x; d *= 2) {
    s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
    from = 1 - from;
    __syncthreads();
  }
  if (t == 0) {
    const int total = s[from][blockDim.x - 1];
    int sum = 0;
    if (b > 0) {
      aggregate[b] = total;
      __threadfence();
      WRITE(state + b, 1u);
      for (int p = b - 1; ; ) {
        const unsigned seen = READ(state + p);
        if (seen == 0) continue;
        __threadfence();
        if (seen == 2) { sum += inclusive[p]; break; }
        sum += aggregate[p--];
      }
    }
    inclusive[b] = sum + total;
    __threadfence();
    WRITE(state + b, 2u);
    before = sum;
  }
  __syncthreads();
  if (i < n) out[i] = s[from][t] + before;
}
"""


def look_back(name, state, read, write, *, strict=True):
    """Return a scan in one pass, its flags written and read in one of two ways."""
    blocks, n = 9, 9 * 64 - 5
    head = f"#define STATE {state}\n#define READ(p) {read}\n#define WRITE(p, v) {write}"
    return Correct(
        name,
        head + LOOK_BACK,
        (blocks,),
        (64,),
        lambda rng: (
            ints(rng, n),
            poison(n, np.int32),
            np.int32(n),
            np.zeros(1, np.uint32),
            np.zeros(blocks, np.uint32),
            poison(blocks, np.int32),
            poison(blocks, np.int32),
        ),
        lambda x, *_: {1: x.cumsum(dtype=np.int32)},
        strict=strict,
    )


ROWS = (
    reduction(
        "reduce_interleaved_modulo",
        LOAD
        + r"""
  for (unsigned d = 1; d < blockDim.x; d *= 2) {
    if (t % (2 * d) == 0) s[t] += s[t + d];
    __syncthreads();
  }
"""
        + STORE,
    ),
    reduction(
        "reduce_first_add_during_load",
        r"""
  const int i = blockIdx.x * blockDim.x * 2 + t;
  int sum = i < n ? x[i] : 0;
  if (i + (int)blockDim.x < n) sum += x[i + blockDim.x];
  s[t] = sum;
  __syncthreads();
  for (unsigned d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) s[t] = sum = sum + s[t + d];
    __syncthreads();
  }
"""
        + STORE,
        per_thread=2,
    ),
    reduction(
        "reduce_unrolled_last_warp",
        LOAD
        + r"""
  for (unsigned d = blockDim.x / 2; d > 32; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t < 32) {
    int v = s[t] + s[t + 32];
    __syncwarp(); s[t] = v; __syncwarp(); v += t < 16 ? s[t + 16] : 0;
    __syncwarp(); s[t] = v; __syncwarp(); v += t < 8 ? s[t + 8] : 0;
    __syncwarp(); s[t] = v; __syncwarp(); v += t < 4 ? s[t + 4] : 0;
    __syncwarp(); s[t] = v; __syncwarp(); v += t < 2 ? s[t + 2] : 0;
    __syncwarp(); s[t] = v; __syncwarp(); v += t < 1 ? s[t + 1] : 0;
    if (t == 0) out[blockIdx.x] = v;
  }
""",
    ),
    reduction(
        "reduce_shuffles",
        r"""
  const int i = blockIdx.x * blockDim.x + t;
  int sum = i < n ? x[i] : 0;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (t % 32 == 0) s[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < blockDim.x / 32 ? s[t] : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (t == 0) out[blockIdx.x] = sum;
  }
""",
        block=256,
    ),
    reduction(
        "reduce_template_block",
        LOAD
        + r"""
  if (kBlock >= 256) { if (t < 128) s[t] += s[t + 128]; __syncthreads(); }
  if (kBlock >= 128) { if (t < 64) s[t] += s[t + 64]; __syncthreads(); }
  if (kBlock >= 64) { if (t < 32) s[t] += s[t + 32]; __syncthreads(); }
  if (t < 32) {
    int sum = s[t];
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (t == 0) out[blockIdx.x] = sum;
  }
""",
        head="template <int kBlock>\n",
        kernel="k<128>",
    ),
    reduction(
        "reduce_warp_instruction",
        r"""
  const int i = blockIdx.x * blockDim.x + t;
  const int sum = __reduce_add_sync(0xffffffffu, i < n ? x[i] : 0);
  if (t == 0) s[0] = 0;
  __syncthreads();
  if (t % 32 == 0) atomicAdd(&s[0], sum);
  __syncthreads();
"""
        + STORE,
    ),
    look_back("scan_look_back_atomic_flags", "unsigned", "atomicAdd(p, 0u)", "atomicExch(p, v)"),
    look_back(
        *("scan_look_back_volatile_flags", "volatile unsigned", "*(p)", "*(p) = (v)"), strict=False
    ),
)
