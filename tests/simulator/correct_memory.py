"""Correct kernels about where data lies: tiles, sorts, vectors, bytes, views."""

from __future__ import annotations

import numpy as np

from tests.simulator.tables import Correct, correct, ints, poison

#: A struct of CUDA C++ with four bytes of padding.
ITEM = np.dtype([("value", np.float64), ("key", np.int32)], align=True)


def tiled_matmul(rng):
    """Return integers whose products are exact in float32."""
    a, b = ints(rng, (30, 41), np.float32), ints(rng, (41, 23), np.float32)
    return a, b, poison((30, 23), np.float32), np.int32(30), np.int32(23), np.int32(41)


def five_points(x, steps):
    """Return the grid after some steps of the 5-point stencil; its border stays."""
    x = x.copy()
    for _ in range(steps):
        inner = x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
        x[1:-1, 1:-1] = inner % 1000
    return x


TRANSPOSE = r"""
extern "C" __global__ void k(const float* x, float* out, int rows, int columns) {
  __shared__ float tile[16][WIDTH];
  int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
  if (j < rows && i < columns) tile[threadIdx.y][threadIdx.x] = x[j * columns + i];
  __syncthreads();
  i = blockIdx.y * 16 + threadIdx.x;
  j = blockIdx.x * 16 + threadIdx.y;
  if (j < columns && i < rows) out[j * rows + i] = tile[threadIdx.x][threadIdx.y];
}
"""


def transpose(name, width):
    """Return a transpose through tiles of some width."""
    return Correct(
        name,
        f"#define WIDTH {width}{TRANSPOSE}",
        (3, 2),
        (16, 16),
        lambda rng: (
            rng.standard_normal((20, 37)).astype(np.float32),
            poison((37, 20), np.float32),
            np.int32(20),
            np.int32(37),
        ),
        lambda x, *_: {1: x.T},
    )


def fullest_of_four(x, dtype):
    """Return, for each row, the sum and the size of the fullest of four classes."""
    result = np.zeros(len(x), dtype)
    for i, row in enumerate(x):
        counts = np.bincount(row.astype(int) & 3, minlength=4)
        best = counts.argmax()
        result[i] = (row[(row.astype(int) & 3) == best].sum(), counts[best])
    return result


TILES = (
    transpose("transpose_padded_tile", 17),
    transpose("transpose_plain_tile", 16),
    correct("matmul_tiled", (3, 4), (8, 8), tiled_matmul, lambda a, b, *_: {2: a @ b}),
    correct(
        "matmul_two_buffers_one_barrier", (3, 4), (8, 8), tiled_matmul, lambda a, b, *_: {2: a @ b}
    ),
    correct(
        "stencil_1d_with_halo",
        (4,),
        (64,),
        lambda rng: (ints(rng, 250), poison(250, np.int32), np.int32(250)),
        lambda x, *_: {1: np.convolve(x, np.ones(7, np.int32), "same")},
    ),
    correct(
        "stencil_2d_two_grids",
        (1,),
        (16, 4),
        lambda rng: (
            ints(rng, (13, 21), low=0),
            poison((13, 21), np.int32),
            np.int32(13),
            np.int32(21),
            np.int32(5),
        ),
        lambda x, *_: {0: five_points(x, 4), 1: five_points(x, 5)},
    ),
)


SORTS = (
    correct(
        "bitonic_sort",
        (2,),
        (128,),
        lambda rng: (ints(rng, (2, 128)),),
        lambda x: {0: np.sort(x, axis=1)},
    ),
    correct(
        "bit_reversal_permutation",
        (4,),
        (64,),
        lambda rng: (rng.standard_normal((256, 2)).astype(np.float32), np.int32(8)),
        lambda x, _: {0: x[[int(f"{i:08b}"[::-1], 2) for i in range(256)]]},
    ),
)


PLAIN = (
    correct(
        "saxpy_with_grid_stride",
        (2,),
        (96,),
        lambda rng: (
            np.int32(777),
            np.float32(3),
            ints(rng, 777, np.float32),
            ints(rng, 777, np.float32),
        ),
        lambda _, a, x, y: {3: a * x + y},
    ),
    correct(
        "copy_by_float4",
        (2,),
        (64,),
        lambda rng: (
            rng.standard_normal(403).astype(np.float32),
            poison(403, np.float32),
            np.int32(403),
        ),
        lambda x, *_: {1: x},
    ),
    correct(
        "dynamic_shared_in_two_arrays",
        (2,),
        (96,),
        lambda rng: (
            ints(rng, (2, 96), np.float32),
            ints(rng, (2, 96), low=0, high=5),
            poison((2, 5), np.float32),
            np.int32(5),
        ),
        lambda x, key, *_: {
            2: np.stack(
                [
                    np.bincount(b, a, 5).astype(np.float32)
                    / np.bincount(b, minlength=5).astype(np.float32)
                    for a, b in zip(x, key, strict=True)
                ]
            )
        },
        shared_mem=40,
    ),
    correct(
        "template_with_a_functor",
        (2,),
        (32,),
        lambda rng: (ints(rng, 250, np.int64), poison(250, np.int64), np.int32(250)),
        lambda x, *_: {1: x * x},
        kernel="transform<long long, template_with_a_functor::Square, 4>",
    ),
    correct(
        "neighbouring_bytes",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64), poison(64, np.uint8)),
        lambda x, _: {1: x.reshape(32, 2)[:, ::-1].ravel().astype(np.uint8)},
    ),
    correct(
        "words_read_as_bytes",
        (1,),
        (64,),
        lambda rng: (ints(rng, 16, np.uint32, 0, 2**32), poison(64, np.uint8)),
        lambda x, _: {1: x.view(np.uint8)[::-1].copy()},
    ),
    correct(
        "private_array_and_struct",
        (1,),
        (32,),
        lambda rng: (
            ints(rng, (32, 9), np.float64, 0, 100),
            np.zeros(32, np.dtype([("value", np.float64), ("count", np.int32)], align=True)),
            np.int32(9),
        ),
        lambda x, out, _: {1: fullest_of_four(x, out.dtype)},
    ),
)


BYTES_AND_VIEWS = (
    correct(
        "struct_with_padding_through_shared",
        (1,),
        (32,),
        lambda rng: (rng.random(32), ints(rng, 32), np.zeros(32, ITEM)),
        lambda value, key, _: {
            2: np.array(list(zip(value[::-1], key[::-1], strict=True)), ITEM),
        },
    ),
    correct(
        "vector_writes_and_scalar_reads",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64), poison(64, np.int32)),
        lambda x, _: {1: x.reshape(16, 4)[::-1].ravel()[::-1]},
    ),
    correct(
        "bytes_then_words_then_bytes",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64, np.uint8, 0, 256), poison(64, np.uint8)),
        lambda x, _: {1: ~x[::-1].reshape(16, 4)[::-1].ravel()},
    ),
    correct(
        "tile_as_a_flat_array",
        (1,),
        (8, 8),
        lambda rng: (ints(rng, (8, 8), np.int16), poison((8, 8), np.int16)),
        lambda x, _: {1: x[:, ::-1].T},
    ),
    correct(
        "one_array_given_twice",
        (1,),
        (64,),
        lambda rng: (ints(rng, 64),) * 2,
        lambda x, _: {0: 2 * x[::-1] + 1, 1: 2 * x[::-1] + 1},
    ),
    correct(
        "overlapping_views",
        (1,),
        (63,),
        lambda rng: tuple(
            np.lib.stride_tricks.sliding_window_view(ints(rng, 64), 63, writeable=True)
        ),
        lambda x, _: {1: x.copy()},
    ),
    correct(
        "strided_and_reversed_views",
        (1,),
        (32,),
        lambda rng: (ints(rng, 64)[::2], poison(32, np.int32)[::-1]),
        lambda x, _: {1: x.copy()},
    ),
    correct(
        "python_scalars",
        (1,),
        (64,),
        lambda rng: (60, float(rng.random()), True, poison(60, np.float64)),
        lambda n, a, *_: {3: -a * np.arange(n)},
    ),
    correct(
        "constant_table",
        (2,),
        (32,),
        lambda rng: (ints(rng, 60, np.float32), poison(60, np.float32), np.int32(60)),
        lambda x, *_: {1: np.convolve(x, np.array([0.25, 0.5, 0.25], np.float32), "same")},
    ),
    correct(
        "device_variables",
        (8,),
        (32,),
        lambda rng: (ints(rng, (8, 32)), poison(8, np.int32)),
        lambda x, _: {1: x.sum(1, dtype=np.int32)},
        strict=False,
    ),
    correct(
        "private_array_handed_to_a_function",
        (6,),
        (32,),
        lambda rng: (ints(rng, (192, 8)), poison((192, 8), np.int32)),
        lambda x, _: {1: np.sort(x, axis=1)},
    ),
    correct(
        "atomics_of_64_bits",
        (2,),
        (48,),
        lambda rng: (ints(rng, 96, np.uint64, 0, 2**58), np.zeros(3, np.uint64)),
        lambda x, _: {1: np.array([x.sum(), x.max(), np.bitwise_xor.reduce(x)], np.uint64)},
    ),
    correct(
        "volatile_reduction_with_warp_barriers",
        (1,),
        (32,),
        lambda rng: (ints(rng, 32), poison(1, np.int32)),
        lambda x, _: {1: x.sum(keepdims=True, dtype=np.int32)},
    ),
    correct(
        "last_warp_not_full",
        (1,),
        (50,),
        lambda rng: (ints(rng, 50), poison(50, np.int32)),
        lambda x, _: {
            1: np.concatenate([y.sum(dtype=np.int32) + y[::-1] for y in (x[:32], x[32:])])
        },
    ),
    correct(
        "block_sum_called_twice",
        (2,),
        (96,),
        lambda rng: (ints(rng, (2, 96)), poison(2, np.int32)),
        lambda x, _: {1: (x * x - x).sum(1, dtype=np.int32)},
    ),
)
