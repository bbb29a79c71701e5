"""What raw kernels use of CUDA: vectors, half precision, warps, clocks, mathematics."""

from __future__ import annotations

import numpy as np
import pytest

from cudakern.simulator import RawKernel, checked

CHECKED = pytest.mark.parametrize("mode", [False, True], ids=["plain", "checked"])


def run(code, *arguments, grid=1, block=32, mode=False):
    """Run the kernel ``k`` of a text on arrays, which it may write."""
    kernel = RawKernel(code, "k")
    if mode:
        with checked():
            kernel((grid,), (block,), arguments)
    else:
        kernel((grid,), (block,), arguments)


def body(parameters, lines, before=""):
    return f"""{before}
extern "C" __global__ void k({parameters}) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  {lines}
}}"""


@CHECKED
def test_mathematics(mode):
    x, y = np.linspace(0.1, 3, 32), np.zeros((32, 6))
    lines = """y += 6 * i;
    y[0] = sinf(x[i]), y[1] = exp(x[i]), y[2] = rsqrt(x[i]), y[3] = fma(x[i], 2.0, 1.0);
    y[4] = __fdividef(x[i], 3.0f), y[5] = erfc(x[i]) + cospi(x[i]) + atan2(x[i], 2.0);"""
    run(body("const double* x, double* y", lines), x, y, mode=mode)
    exact = [np.sin(x), np.exp(x), x**-0.5, 2 * x + 1, x / 3]
    assert np.allclose(y[:, :5], np.stack(exact, 1), rtol=1e-5)
    assert np.isfinite(y).all()


@CHECKED
def test_vectors(mode):
    x, y = np.arange(128, dtype=np.float32).reshape(32, 4), np.zeros((32, 4), np.float32)
    lines = "float4 v = x[i]; y[i] = make_float4(v.w, v.z, v.y + 1, v.x);"
    run(body("const float4* x, float4* y", lines), x, y, mode=mode)
    assert (y == x[:, ::-1] + [0, 0, 1, 0]).all()


@CHECKED
def test_half_precision(mode):
    x = np.linspace(-4, 4, 32).astype(np.float16)
    y = np.zeros(32, np.float16)
    lines = "y[i] = __hadd(x[i], __float2half(0.5f)) * __half(2);"
    run(body("const half* x, half* y", lines, "#include <cuda_fp16.h>"), x, y, mode=mode)
    assert (y == (x + np.float16(0.5)) * np.float16(2)).all()


@CHECKED
def test_brain_floats(mode):
    dtype = pytest.importorskip("ml_dtypes").bfloat16
    x, y = np.linspace(-4, 4, 32).astype(dtype), np.zeros(32, dtype)
    lines = "y[i] = __float2bfloat16(__bfloat162float(x[i]) * s);"
    before = "#include <cuda_bf16.h>"
    parameters = "const __nv_bfloat16* x, __nv_bfloat16* y, float s"
    run(body(parameters, lines, before), x, y, np.float32(2), mode=mode)
    assert (y.astype(np.float32) == 2 * x.astype(np.float32)).all()


@CHECKED
def test_clocks(mode):
    ticks = np.zeros(2, np.int64)
    lines = "ticks[0] = clock64(); __nanosleep(10); ticks[1] = clock64();"
    run(body("long long* ticks", lines), ticks, block=1, mode=mode)
    assert ticks[1] >= ticks[0]


@CHECKED
def test_matches(mode):
    x, y = np.arange(64, dtype=np.int32) % 5, np.zeros(64, np.uint32)
    run(body("const int* x, unsigned* y", "y[i] = __match_any_sync(~0u, x[i]);"), x, y, grid=2,
        mode=mode)  # fmt: skip
    for i in range(64):
        warp = x[i // 32 * 32 :][:32]
        assert y[i] == sum(1 << lane for lane in range(32) if warp[lane] == x[i])


@CHECKED
def test_aggregated_increments(mode):
    lines = """if (x[i] % 3 == 0) {
      const unsigned mask = __activemask();
      const int leader = __ffs(mask) - 1, lane = threadIdx.x % 32;
      int base = 0;
      if (lane == leader) base = atomicAdd(count, __popc(mask));
      base = __shfl_sync(mask, base, leader);
      y[base + __popc(mask & ((1u << lane) - 1))] = x[i];
    }"""
    x, y = np.arange(192, dtype=np.int32), np.full(64, -1, np.int32)
    count = np.zeros(1, np.int32)
    run(body("const int* x, int* y, int* count", lines), x, y, count, grid=2, block=96, mode=mode)
    assert count == 64
    assert sorted(y) == [*range(0, 192, 3)]


@CHECKED
def test_constants_and_device_variables(mode):
    before = """__constant__ int weights[4] = {1, 10, 100, 1000};
    __device__ int total; static __device__ int halves[2];"""
    lines = """atomicAdd(&total, weights[i % 4]); atomicAdd(halves + i / 16, 1);
    __syncthreads(); y[i] = total * 100 + halves[1];"""
    y = np.zeros(32, np.int32)
    run(body("int* y", lines, f"// {mode}\n{before}"), y, mode=mode)
    assert y.tolist() == [888816] * 32
