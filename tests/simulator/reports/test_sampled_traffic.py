"""`traffic` runs a few blocks of each launch, and scales the figures to all."""

from __future__ import annotations

import re
from dataclasses import astuple

import numpy as np
import pytest

import cudakern as ck
from cudakern.errors import BindingError, SimulatorError
from cudakern.simulator import RawModule, Requests, traffic
from tests.helpers.processes import printed
from tests.helpers.rows import each

CODE = r"""
extern "C" {
__global__ void copy(const float4* x, float4* y) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  y[i] = x[i];
}
// Block b turns b + 1 times; each turn reads a sector.
__global__ void turns(const float* x, float* y) {
  float s = 0;
#pragma unroll 1
  for (int k = 0; k <= blockIdx.x; ++k) s += __ldcg(x + 8 * k);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
// Where blocks are, and what they know of the grid.
__global__ void places(int* count, int* seen) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0) printf("%d of %d\n", block, gridDim.x * gridDim.y * gridDim.z);
}
__global__ void __cluster_dims__(4) clusters(const float* x, float* y) {
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
  if (threadIdx.x == 0) printf("%d of %d\n", blockIdx.x, gridDim.x);
}
__global__ void chain(volatile int* flags) {
  if (blockIdx.x > 0) while (flags[blockIdx.x - 1] == 0) {}
  flags[blockIdx.x] = 1;
}
__global__ void strided(const float* x, float* y) {
  y[4 * (blockIdx.x * 32 + threadIdx.x)] = x[4 * (blockIdx.x * 32 + threadIdx.x)] + 1;
}
__global__ void pick(const int* index, const float* x, float* y) {
  y[threadIdx.x] = x[index[blockIdx.x * 32 + threadIdx.x]];
}
__global__ void outside(const float* x, float* y) { y[threadIdx.x] = x[1 << 20]; }
}
"""


@pytest.fixture(scope="module")
def module():
    return RawModule(code=CODE)


def zeros(size):
    return np.zeros(size, np.float32)


def evenly(blocks, run):
    """Return the numbers of the blocks that run."""
    return [int((i + 0.5) * blocks / run) for i in range(run)]


@each("grid", [(10,), (7, 5, 3), (1,)])
@each("run", [1, 3, 10, 200])
def test_blocks_are_spread_over_a_grid_of_full_size(module, grid, run, capfd):
    with traffic(blocks=run) as report:
        module.get_function("places")(grid, (32,), (np.zeros(1, np.int32), np.zeros(1, np.int32)))
    count = int(np.prod(grid))
    ran = [tuple(map(int, line.split(" of "))) for line in capfd.readouterr().out.splitlines()]
    assert sorted(ran) == [(block, count) for block in evenly(count, min(run, count))]
    assert (report.kernels[0].blocks, report.kernels[0].sampled) == (count, min(run, count))


@each("run, clusters", [(1, 1), (4, 1), (5, 2), (100, 6)])
def test_whole_clusters_run(module, run, clusters, capfd):
    with traffic(blocks=run) as report:
        module.get_function("clusters")((24,), (32,), (zeros(1), zeros(1)))
    ran = sorted(int(line.split(" of ")[0]) for line in capfd.readouterr().out.splitlines())
    assert ran == [4 * c + rank for c in evenly(6, clusters) for rank in range(4)]
    assert (report.kernels[0].blocks, report.kernels[0].sampled) == (24, 4 * clusters)


def test_figures_are_scaled(module):
    x, y = zeros(2**14), zeros(2**14)
    with traffic() as whole:
        module.get_function("copy")((32,), (128,), (x, y))
    with traffic(blocks=3) as sampled:
        module.get_function("copy")((32,), (128,), (x, y))
    (all_blocks,), (few,) = whole.kernels, sampled.kernels
    assert few.loads == few.stores == Requests(128, 4096, 65536, 2048, 0)
    assert [astuple(line) for line in few.lines] == [astuple(line) for line in all_blocks.lines]
    assert few.instructions == all_blocks.instructions
    assert str(sampled).split("\n")[0].endswith(" bytes moved, by 3 of 32 blocks")
    assert str(whole).split("\n")[0].endswith(" bytes moved")


def test_scaled_figures_are_rounded(module):
    # Blocks 1, 5 and 8 of 10 turn 2, 6 and 9 times: 17 requests, which stand for 56.67.
    with traffic(blocks=3) as report:
        module.get_function("turns")((10,), (32,), (zeros(80), zeros(10)))
    (kernel,) = report.kernels
    assert kernel.loads == Requests(57, 1813, 7253, 57, 0)
    assert {n for name, n in kernel.instructions.items() if name.startswith("ld.global")} == {57}


def test_launches_add_up(module):
    with traffic(blocks=np.int64(2)) as report:
        for blocks in (1, 2, 8):
            module.get_function("copy")((blocks,), (32,), (zeros(1024), zeros(1024)))
    (kernel,) = report.kernels
    assert (kernel.launches, kernel.blocks, kernel.sampled) == (3, 11, 5)
    assert kernel.loads.requests == 11


def test_nothing_is_written(module):
    x, y = np.ones(2**12, np.float32), zeros(2**12)
    copy = module.get_function("copy")
    with traffic(blocks=2):
        copy((8,), (128,), (x, y))
    assert not y.any()
    with traffic(blocks=8):
        copy((8,), (128,), (x, y))
    assert y.all()


def test_a_sampled_launch_sees_what_arrays_hold_now(module):
    # The launches run one after the other at the same addresses.
    index, x, y = np.zeros(2**11, np.int32), zeros(32 * 8), zeros(32)
    pick = module.get_function("pick")
    for step, sectors in ((0, 1), (8, 32), (0, 1), (1, 4)):
        index[:] = np.arange(index.size) % 32 * step
        with traffic(blocks=1) as report:
            pick((64,), (32,), (index, x, y))
        loads = [line for line in report.kernels[0].lines if line.kind == "load"]
        assert sum(line.sectors for line in loads) == 64 * (4 + sectors)


def test_views_with_gaps_and_what_is_outside(module):
    x, y = zeros(2**16)[::4], zeros(2**16)[::4]
    with traffic(blocks=4) as report:
        module.get_function("strided")((2**9,), (32,), (x, y))
        with pytest.raises(SimulatorError) as caught:
            module.get_function("outside")((2,), (32,), (zeros(32), zeros(32)))
    assert report.kernels[0].loads == Requests(2**9, 2**14, 2**16, 2**13, 0)
    assert not y.any()
    assert caught.value.kind == "out_of_bounds"


HUGE = f"""
import resource
import numpy as np
from cudakern.simulator import RawModule, traffic
module = RawModule(code={CODE!r})
copy, strided = map(module.get_function, ("copy", "strided"))
small = np.zeros(2**14, np.float32), np.zeros(2**14, np.float32)
huge = np.empty(2**28, np.float32), np.empty(2**28, np.float32)

def most_kilobytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

with traffic(blocks=2) as report:
    copy((4,), (128,), small)
    before = most_kilobytes()
    copy((2**19,), (128,), huge)
    strided((2**21,), (32,), tuple(x[::4] for x in huge))
print(most_kilobytes() - before, *(kernel.stores.bytes_requested for kernel in report.kernels))
"""


def test_huge_arrays_are_not_touched():
    # 2 GiB of untouched memory, of which the blocks that run touch 20 KiB.
    grown, copied, stored = map(int, printed(HUGE).split())
    assert (copied, stored) == (2**30 + 2**13, 2**28)
    assert grown < 4 * 1024


def test_blocks_that_wait_for_others_are_a_deadlock(module):
    chain = module.get_function("chain")
    with traffic():
        chain((64,), (1,), (np.zeros(64, np.int32),))
    with traffic(blocks=4), pytest.raises(SimulatorError) as caught:
        chain((64,), (1,), (np.zeros(64, np.int32),))
    assert caught.value.kind == "deadlock"


def test_inside_of_others_all_blocks_run_that_any_wants(module):
    def run():
        y = zeros(512)
        module.get_function("copy")((4,), (32,), (np.ones(512, np.float32), y))
        return int(y.any())

    with traffic(blocks=1) as few, traffic(blocks=2) as more:
        assert run() == 0
    assert few.kernels[0].sampled == more.kernels[0].sampled == 2
    with traffic(blocks=1) as few, traffic() as whole:
        assert run() == 1
    assert few.kernels[0].sampled == whole.kernels[0].sampled == 4
    with ck.simulator.checked(), traffic(blocks=1) as few:
        assert run() == 1
    assert few.kernels[0].sampled == 4


def test_operators():
    # The next launch can use the same workspace.
    x = np.random.default_rng(0).integers(0, 9, (64, 2**14)).astype(np.float32)
    ck.reduce(x, "sum")
    with traffic(blocks=2) as report:
        ck.reduce(x, "sum")
        ck.gather(x, np.arange(64))
    assert any(0 < k.sampled < k.blocks for k in report.kernels)
    assert ck.reduce(x, "sum") == x.sum()
    np.testing.assert_array_equal(ck.gather(x, np.arange(64)), x)


@each("blocks", [0, -1, 1.5, True, "4"])
def test_other_numbers_of_blocks_are_an_error(blocks):
    requirement = re.escape(f"blocks must be an integer of at least 1; got {blocks!r}")
    with pytest.raises(BindingError, match=requirement) as caught, traffic(blocks=blocks):
        pass
    assert "\n" not in str(caught.value)
