"""a x + y in parts, each on a stream of its own, timed by events."""

import cupy as cp
import numpy as np
from cupy import RawKernel

saxpy = RawKernel(
    r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}
""",
    "saxpy",
)


def in_parts(a, x, y, parts=4, threads=256):
    """Add a x to y in place; return the milliseconds that it took."""
    streams = [cp.cuda.Stream(non_blocking=True) for _ in range(parts)]
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    for k, stream in enumerate(streams):
        part = slice(k * x.size // parts, (k + 1) * x.size // parts)
        xs, ys = x[part], y[part]
        with stream:
            blocks = (xs.size + threads - 1) // threads
            saxpy((blocks,), (threads,), (cp.float32(a), xs, ys, xs.size))
    for stream in streams:
        stream.synchronize()
    stop.record()
    stop.synchronize()
    return cp.cuda.get_elapsed_time(start, stop)


if __name__ == "__main__":
    with cp.cuda.Device(0) as device:
        rng = np.random.default_rng(5)
        host_x, host_y = rng.random((2, 10_000), dtype=np.float32)
        x, y = cp.asarray(host_x), cp.asarray(host_y)
        milliseconds = in_parts(2.5, x, y)
        device.synchronize()
        result = cp.asnumpy(y)
    del x, y
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    print(f"{milliseconds:.3f} ms, {pool.used_bytes()} bytes, sum {result.sum():.2f}")
