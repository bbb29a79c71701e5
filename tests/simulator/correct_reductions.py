"""Correct reductions and scans."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import Correct, correct, ints, poison


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


REDUCTIONS = (
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
    correct(
        "reduce_last_block_done",
        (7,),
        (64,),
        lambda rng: (
            ints(rng, 1000),
            np.int32(1000),
            poison(7, np.int32),
            np.zeros(1, np.uint32),
            poison(1, np.int32),
        ),
        lambda x, *_: {3: np.zeros(1, np.uint32), 4: x.sum(keepdims=True, dtype=np.int32)},
        strict=False,  # what the first thread saw, all threads fence
    ),
    correct(
        "softmax_of_rows",
        (5,),
        (64,),
        lambda rng: (
            rng.standard_normal((5, 150)).astype(np.float32),
            poison((5, 150), np.float32),
            np.int32(150),
        ),
        lambda x, *_: {
            1: np.exp(x - x.max(1, keepdims=True))
            / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
        },
        rtol=1e-5,
    ),
    correct(
        "argmax_of_rows",
        (3,),
        (64,),
        lambda rng: (
            ints(rng, (5, 100), np.float32, 0, 30),
            poison(5, np.int32),
            np.int32(5),
            np.int32(100),
        ),
        lambda x, *_: {1: x.argmax(1).astype(np.int32)},
    ),
)


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


def exclusive(x):
    """Return the exclusive prefix sums of the last axis."""
    return np.cumsum(x, axis=-1, dtype=x.dtype) - x


SCANS = (
    correct(
        "scan_hillis_steele_double_buffer",
        (2,),
        (128,),
        lambda rng: (ints(rng, (2, 128)), poison((2, 128), np.int32)),
        lambda x, _: {1: x.cumsum(axis=1, dtype=np.int32)},
    ),
    correct(
        "scan_blelloch",
        (2,),
        (64,),
        lambda rng: (ints(rng, (2, 128)), poison((2, 128), np.int32), np.int32(128)),
        lambda x, *_: {1: exclusive(x)},
        shared_mem=4 * 128,
    ),
    look_back("scan_look_back_atomic_flags", "unsigned", "atomicAdd(p, 0u)", "atomicExch(p, v)"),
    look_back(
        *("scan_look_back_volatile_flags", "volatile unsigned", "*(p)", "*(p) = (v)"), strict=False
    ),
    correct(
        "scan_warp_shuffles",
        (2,),
        (64,),
        lambda rng: (ints(rng, (4, 32)), poison((4, 32), np.int32)),
        lambda x, _: {1: x.cumsum(axis=1, dtype=np.int32)},
    ),
    correct(
        "scan_warps_then_sums",
        (1,),
        (256,),
        lambda rng: (ints(rng, 256), poison(256, np.int32)),
        lambda x, _: {1: x.cumsum(dtype=np.int32)},
    ),
    correct(
        "scan_warp_shared_syncwarp",
        (1,),
        (128,),
        lambda rng: (ints(rng, (4, 32)), poison((4, 32), np.int32)),
        lambda x, _: {1: exclusive(x)},
    ),
    correct(
        "compaction_with_ballot",
        (2,),
        (128,),
        lambda rng: (
            ints(rng, 250),
            np.int32(250),
            np.zeros(256, np.int32),
            poison(2, np.int32),
        ),
        lambda x, *_: {
            2: np.concatenate(
                [np.pad(y[y > 0], (0, 128 - (y > 0).sum())) for y in (x[:128], x[128:])]
            ),
            3: np.array([(x[:128] > 0).sum(), (x[128:] > 0).sum()], np.int32),
        },
    ),
)
