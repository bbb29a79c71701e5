"""Softmax of rows and the best class of each: reduction kernels, one over a structure."""

import cupy as cp
import numpy as np
from cupyx.profiler import time_range

row_max = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "-CUDART_INF", "row_max")
row_sum = cp.ReductionKernel(
    "T x, T shift", "T y", "exp(x - shift)", "a + b", "y = log(a)", "0", "log_sum_exp"
)
best = cp.ReductionKernel(
    "T x, raw W weights",
    "int64 where, T value",
    "Best(x * weights[_J], _J)",
    "Best(a, b)",
    "where = a.at, value = a.x",
    "Best()",
    "best",
    reduce_type="Best",
    preamble="""
    struct Best {
      T x;
      long long at;
      __device__ Best() : x(-CUDART_INF), at(-1) {}
      __device__ Best(T x, long long at) : x(x), at(at) {}
      __device__ Best(const Best& a, const Best& b) {
        *this = b.x > a.x || (b.x == a.x && b.at < a.at) ? b : a;
      }
    };
    """,
)


@cp.fuse(kernel_name="normalized")
def normalized(x, shift, log_sum):
    return cp.exp(x - shift - log_sum)


@time_range("softmax", color_id=0)
def softmax(x):
    """Return the softmax along the last axis."""
    shift = row_max(x, axis=-1, keepdims=True)
    log_sum = row_sum(x, shift, axis=-1, keepdims=True)
    return normalized(x, shift, log_sum)


if __name__ == "__main__":
    host = np.random.default_rng(3).normal(0, 20, (5, 4, 30))
    x = cp.array(host, dtype="float32")
    probability = softmax(x)
    total = probability.sum(axis=-1)
    cp.testing.assert_allclose(total, np.ones((5, 4)), rtol=1e-5)
    by_class = cp.moveaxis(probability, -1, 0)  # a view whose rows are not adjacent
    weights = cp.linspace(1, 2, 30, dtype=cp.float64)
    where, value = cp.empty((5, 4), cp.int64), cp.empty((5, 4), cp.float32)
    best(by_class, weights, where, value, axis=0)
    print(f"class {where[0, 0]} of weight {value[0, 0]:.3f}")
