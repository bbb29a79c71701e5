"""Filters of an image: elementwise kernels whose raw arguments are read around each pixel."""

import cupy as cp
import numpy as np

_clamped = r"""
template <typename Image>
__device__ float pixel(const Image& image, ptrdiff_t row, ptrdiff_t column) {
  const ptrdiff_t rows = image.shape()[0], columns = image.shape()[1];
  const ptrdiff_t at[2] = {min(max(row, ptrdiff_t(0)), rows - 1),
                           min(max(column, ptrdiff_t(0)), columns - 1)};
  return image[at];
}
"""

blur = cp.ElementwiseKernel(
    "raw T image, int32 radius",
    "float32 mean",
    """
    const ptrdiff_t columns = image.shape()[1];
    float sum = 0;
    for (int dr = -radius; dr <= radius; ++dr)
      for (int dc = -radius; dc <= radius; ++dc)
        sum += pixel(image, i / columns + dr, i % columns + dc);
    const int side = 2 * radius + 1;
    mean = sum / (side * side);
    """,
    "blur",
    preamble=_clamped,
)

unsharp = cp.ElementwiseKernel(
    "T image, float32 mean, float32 amount",
    "T sharp",
    "sharp = (T)min(max(rintf(image + amount * (image - mean)), 0.0f), 255.0f)",
    "unsharp",
)

edges = cp.ElementwiseKernel(
    "raw uint8 image",
    "raw uint8 edge, raw uint32 count",
    """
    const ptrdiff_t columns = image.shape()[1], r = i / columns, c = i % columns;
    const float across = pixel(image, r, c + 1) - pixel(image, r, c - 1);
    const float down = pixel(image, r + 1, c) - pixel(image, r - 1, c);
    edge[i] = hypotf(across, down) > 40 ? 255 : 0;
    if (edge[i]) atomicAdd(&count[0], 1u);
    """,
    "edges",
    preamble=_clamped,
    no_return=True,
)

if __name__ == "__main__":
    rng = np.random.default_rng(2)
    image = cp.asarray(rng.integers(0, 256, (37, 50), dtype=np.uint8))[::2, 1:]  # a strided view
    smooth = cp.empty(image.shape, dtype=cp.float32)
    blur(image, 2, smooth)
    sharp = unsharp(image, smooth, 0.5)
    edge, count = cp.empty_like(sharp), cp.zeros(1, dtype=cp.uint32)
    edges(sharp, edge, count, size=sharp.size)
    print(f"mean {float(sharp.mean()):.2f}, {int(count[0])} pixels of edges")
