"""Heat in a plate, in float or double, with NumPy or CuPy, by a template kernel."""

import sys

import cupy as cp
import numpy as np

TILE = 8
CODE = r"""
template <typename T, int TILE>
__global__ void step(const T* old, T* plate, int rows, int columns, T rate) {
  __shared__ T tile[TILE + 2][TILE + 2];
  const int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
  for (int k = threadIdx.y * TILE + threadIdx.x; k < (TILE + 2) * (TILE + 2); k += TILE * TILE) {
    const int tr = k / (TILE + 2), tc = k % (TILE + 2);
    const int row = blockIdx.y * TILE + tr - 1, column = blockIdx.x * TILE + tc - 1;
    const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
    tile[tr][tc] = inside ? old[row * columns + column] : T(0);
  }
  __syncthreads();
  if (r >= rows || c >= columns) return;
  const int y = threadIdx.y + 1, x = threadIdx.x + 1;
  const T around = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
  plate[r * columns + c] = tile[y][x] + rate * (around - T(4) * tile[y][x]);
}

template <typename T>
__global__ void largest(const T* plate, int n, T* result) {
  T most = 0;
  for (int i = threadIdx.x; i < n; i += 32) most = plate[i] > most ? plate[i] : most;
  for (int lane = 16; lane; lane /= 2) {
    const T other = __shfl_down_sync(~0u, most, lane);
    most = other > most ? other : most;
  }
  if (threadIdx.x == 0) *result = most;
}
"""
NAMES = [f"step<{t}, {TILE}>" for t in ("float", "double")] + ["largest<float>", "largest<double>"]
module = cp.RawModule(code=CODE, options=("-std=c++17",), name_expressions=NAMES)
TYPES = {"float32": "float", "float64": "double"}


def simulate(plate, steps, rate=0.2):
    """Return a plate after some time steps, and its highest temperature."""
    xp = cp.get_array_module(plate)
    rate = plate.dtype.type(rate)
    if xp is np:
        for _ in range(steps):
            wide = np.pad(plate, 1)
            around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
            plate = plate + rate * (around - 4 * plate)
        return plate, plate.max()
    type_ = TYPES[plate.dtype.name]
    kernel = module.get_function(f"step<{type_}, {TILE}>")
    rows, columns = plate.shape
    grid = (columns + TILE - 1) // TILE, (rows + TILE - 1) // TILE
    old, new = plate, xp.empty_like(plate)
    for _ in range(steps):
        kernel(grid, (TILE, TILE), (old, new, rows, columns, rate))
        old, new = new, old
    most = xp.empty((), dtype=plate.dtype)
    module.get_function(f"largest<{type_}>")((1,), (32,), (old, old.size, most))
    return old, most


def main(arguments):
    """Compare both libraries; return what they computed."""
    steps = int(arguments[0]) if arguments else 10
    results = []
    for dtype in ("float32", "float64"):
        host = np.random.default_rng(4).random((21, 30)).astype(dtype)
        there, most = simulate(cp.asarray(host), steps)
        here, _ = simulate(host, steps)
        error = np.abs(cp.asnumpy(there) - here).max()
        print(f"{dtype}: at most {most.item():.6f}, apart by {error:.1e}")
        results.append((there.get(), float(most)))
    return results


if __name__ == "__main__":
    results = main(sys.argv[1:])
