"""If blocks wait for each other, as many are resident as the modelled GPU holds."""

from __future__ import annotations

import os
from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawModule, checked, traffic
from tests.helpers.processes import printed
from tests.helpers.rows import each
from tests.helpers.samples import covering

pytestmark = pytest.mark.timeout(120)

MODES = {"plain": nullcontext, "checked": checked, "seed 1": lambda: checked(1)}

GRID = r"""
#include <cooperative_groups.h>
extern "C" __global__ void reversed(int* x, int* y) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = i;
  cooperative_groups::this_grid().sync();
  y[i] = x[n - 1 - i];
}
extern "C" __global__ void count(int* x) {
  atomicAdd(x, 1);
  cooperative_groups::this_grid().sync();
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void faults(int* x, int block) {
  cooperative_groups::this_grid().sync();
  if (blockIdx.x == block) atomicAdd((int*)(size_t)x[threadIdx.x], 1);
  cooperative_groups::this_grid().sync();
}
extern "C" __global__ void shared(int* x) {
  __shared__ int s[10000];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[x[threadIdx.x]];
}
"""
GRIDS = RawModule(code=GRID, enable_cooperative_groups=True)


def meet(grid, block, mode):
    n = grid * block
    x, y = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    with MODES[mode]():
        GRIDS.get_function("reversed")((grid,), (block,), (x, y))
    assert np.array_equal(y, np.arange(n)[::-1])


@each("grid, block, mode", [*covering([33, 300], [256, 100], MODES), (4224, 32, "plain")])
def test_all_blocks_of_a_grid_meet(grid, block, mode):
    meet(grid, block, mode)


@each("resident", [None, 1, 8])
def test_grids_one_after_the_other(resident):
    x = np.zeros(1, np.int32)
    with nullcontext() if resident is None else checked(0, resident):
        for blocks in (1, 2, 7, 3):
            GRIDS.get_function("count")((blocks,), (32,), (x,))
    assert x[0] == 32 * 13


def test_a_grid_that_is_not_launched_to_meet():
    kernel = RawModule(code=GRID).get_function("count")
    with pytest.raises(ck.SimulatorError, match=r"in cooperative_groups\.h:\d+\): .* a trap"):
        kernel((2,), (32,), (np.zeros(1, np.int32),))


@each("block, mode", covering([0, 77, 149], MODES))
def test_a_fault_amid_resident_blocks(block, mode):
    x = np.full(64, 16, np.int32)
    with pytest.raises(ck.SimulatorError) as caught, MODES[mode]():
        GRIDS.get_function("faults")((150,), (64,), (x, block))
    assert caught.value.kind == "out_of_bounds"
    assert caught.value.block == (block, 0, 0)
    meet(150, 64, mode)


ROOM = {  # threads of a block, bytes of dynamic shared memory: blocks of a multiprocessor
    (1, 0): 32,
    (64, 0): 32,
    (65, 0): 64 // 3,
    (1000, 0): 2,
    (32, 2**10): 32,
    (32, 6 * 2**10): 32,
    (32, 6 * 2**10 + 1024 // 8 + 1): 31,
    (32, 113 * 2**10): 2,
    (32, 113 * 2**10 + 1): 1,
    (32, 227 * 2**10): 1,
}


def refused(kernel, block, shared=0):
    """Return how many blocks of a cooperative launch have room; assert that as many do run."""
    with pytest.raises(ck.SimulatorError) as caught:
        kernel((30000,), (block,), (), shared_mem=shared)
    assert caught.value.kind == "launch"
    start = "all blocks of a cooperative launch must be resident; there is room for "
    assert caught.value.message.startswith(start)
    room = int(caught.value.message.removeprefix(start).removesuffix(" of 30000"))
    if room < 1000:
        kernel((room,), (block,), (), shared_mem=shared)
    return room


@each("mode", ["plain", "checked"])
def test_room(mode):
    kernel = GRIDS.get_function("nothing")
    kernel.max_dynamic_shared_size_bytes = 227 * 2**10
    with MODES[mode]():
        assert {key: refused(kernel, *key) for key in ROOM} == {
            key: 132 * blocks for key, blocks in ROOM.items()
        }


def test_room_beside_static_shared_memory():
    kernel = GRIDS.get_function("shared")
    for mode in ("plain", "checked"):  # five blocks of 41024 bytes fit: 5.69
        x = np.arange(64, dtype=np.int32)[::-1].copy()
        with MODES[mode](), pytest.raises(ck.SimulatorError, match="room for 660 of 661"):
            kernel((661,), (64,), (x,))


PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry registers() .maxnreg 40 { ret; }
.visible .entry clusters() .reqnctapercluster 5, 1, 1 { ret; }
"""


def test_room_for_registers_and_clusters():
    module = RawModule(code=PTX, enable_cooperative_groups=True)
    assert refused(module.get_function("registers"), 256) == 132 * 6  # 48 warps
    clusters = module.get_function("clusters")
    clusters.max_dynamic_shared_size_bytes = 200 * 2**10
    assert refused(clusters, 32, 200 * 2**10) == 130


#: Blocks wait for each other, although not all are resident from the start.
WAITING = r"""
__device__ void meet(unsigned* count, unsigned blocks) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) % blocks != 0);
    __threadfence();
  }
  __syncthreads();
}
#line 1 "w.cu"
extern "C" __global__ void barrier(unsigned* count, int* x, int* y) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = i;
  meet(count, gridDim.x);
  y[i] = x[n - 1 - i];
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) clusters(unsigned* count, int* x, int* y) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = i;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  meet(count, gridDim.x);
  y[i] = x[n - 1 - i];
}
extern "C" __global__ void chain(volatile int* v) {
  const int b = blockIdx.x;
  if (threadIdx.x == 0) {
    if (b > 0) while (v[b - 1] == 0);
    v[b] = 1;
  }
}
extern "C" __global__ void backwards(volatile int* v) {
  const int b = blockIdx.x;
  if (threadIdx.x == 0) {
    if (b < gridDim.x - 1) while (v[b + 1] == 0);
    v[b] = 1;
  }
}
extern "C" __global__ void pairs(volatile int* v) {
  const int b = blockIdx.x;
  if (threadIdx.x == 0) {
    v[b] = 1;
    while (v[b ^ 8] == 0);
  }
}
extern "C" __global__ void fault_first(int* v) {
  if (blockIdx.x < 4) v[-1] = 0;
  if (threadIdx.x == 0) while (atomicAdd(v, 0) == 0);
}
extern "C" __global__ void never(volatile int* v) {
  if (threadIdx.x == 0) while (v[blockIdx.x] == 0);
}
"""
KERNELS = RawModule(code=WAITING)


@each("mode", MODES)
@each("name, grid, block", [("barrier", 33, 256), ("clusters", 40, 64)])
def test_a_barrier_of_blocks(name, grid, block, mode):
    n = grid * block
    x, y = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    with MODES[mode]():
        KERNELS.get_function(name)((grid,), (block,), (np.zeros(1, np.uint32), x, y))
    assert np.array_equal(y, np.arange(n)[::-1])


@each("mode", MODES)
@each("name, grid", [("chain", 110), ("chain", 5000), ("backwards", 500), ("pairs", 2000)])
def test_blocks_that_wait_for_one_another(name, grid, mode):
    v = np.zeros(grid, np.int32)
    with MODES[mode]():
        KERNELS.get_function(name)((grid,), (32,), (v,))
    assert v.tolist() == [1] * grid


@each("mode", MODES)
def test_no_room_for_the_block_that_is_waited_for(mode):
    kernel = KERNELS.get_function("backwards")
    kernel.max_dynamic_shared_size_bytes = 2**17  # of one block for each multiprocessor
    v = np.zeros(200, np.int32)
    with pytest.raises(ck.SimulatorError) as caught, MODES[mode]():
        kernel((200,), (32,), (v,), shared_mem=2**17)
    assert caught.value.kind == "launch"
    expected = "w.cu:24: no room for more blocks: 132 of 200 are resident, and each of them polls"
    assert caught.value.message.startswith(expected)
    v = np.zeros(132, np.int32)
    with MODES[mode]():
        kernel((132,), (32,), (v,), shared_mem=2**17)
    assert v.tolist() == [1] * 132


def test_what_was_found_before_there_was_no_room_is_kept():
    kernel = KERNELS.get_function("fault_first")
    kernel.max_dynamic_shared_size_bytes = 2**17
    with pytest.raises(ck.SimulatorError, match="no room for more blocks"), checked() as report:
        kernel((200,), (32,), (np.zeros(1, np.int32),), shared_mem=2**17)
    assert [f.kind for f in report.findings] == ["out_of_bounds"]


@each("mode", MODES)
def test_a_deadlock_of_all_blocks(mode):
    with pytest.raises(ck.SimulatorError) as caught, MODES[mode]():
        KERNELS.get_function("never")((300,), (64,), (np.zeros(300, np.int32),))
    assert caught.value.kind == "deadlock"
    assert "every resident thread polls or waits, and none changes memory" in str(caught.value)


def test_a_sample_of_blocks_that_wait_is_a_deadlock():
    with pytest.raises(ck.SimulatorError, match="every resident thread polls"), traffic(blocks=9):
        KERNELS.get_function("backwards")((500,), (32,), (np.zeros(500, np.int32),))


LARGEST = """
import os, re, threading
from pathlib import Path
from tests.simulator.runtime.test_residency import meet
def memory(what):
    return int(re.search(rf"{what}:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
for mode in ("plain", "checked"):
    meet(2, 1024, mode)
    before, ended, most = memory("VmRSS"), threading.Event(), 0
    def watch():
        global most
        while not ended.wait(0.01):
            most = max(most, len(os.listdir("/proc/self/task")))
    watching = threading.Thread(target=watch)
    watching.start()
    meet(132, 1024, mode)
    ended.set()
    watching.join()
    print(memory("VmHWM"), memory("VmRSS") - before, most)
"""


def test_memory_and_threads_of_132_blocks_of_1024_threads():
    for line in printed(LARGEST).splitlines():
        most, kept, threads = map(int, line.split())
        assert most < 2 * 2**30  # measured: 0.8 GiB
        assert kept < 200 * 2**20
        assert threads < 2 + max(2, os.cpu_count()) + 8  # NumPy may hold some
