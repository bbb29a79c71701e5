"""Launches within their process: indices, loads, threads, forks, signals, memory."""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from cudakern.errors import BindingError
from cudakern.operators.arrays.native import address_of
from cudakern.simulator.libraries import loader
from cudakern.simulator.libraries.toolchain import find_toolchain
from tests.helpers.processes import printed
from tests.helpers.rows import each
from tests.helpers.samples import covering
from tests.helpers.simulated import REVERSE, assert_works, compiled, fails, pack, run

ROOT = Path(__file__).parents[2]
INDICES = r"""
extern "C" __global__ void k(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned* row = out + 13 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
  row[0] += 1;  // each thread runs once
  row[1] = blockIdx.x, row[2] = blockIdx.y, row[3] = blockIdx.z;
  row[4] = threadIdx.x, row[5] = threadIdx.y, row[6] = threadIdx.z;
  row[7] = gridDim.x, row[8] = gridDim.y, row[9] = gridDim.z;
  row[10] = blockDim.x, row[11] = blockDim.y, row[12] = blockDim.z;
}
"""


@each(
    "grid, block",
    [
        ((1, 1, 1), (1, 1, 1)),
        ((5, 1, 1), (33, 1, 1)),
        ((3, 4, 1), (8, 5, 1)),
        ((2, 3, 4), (5, 3, 2)),
        ((1, 1, 3), (1, 1, 64)),
        ((2, 1, 1), (1024, 1, 1)),
    ],
)
@each("eager", [False, True])
def test_indices(grid, block, eager):
    rows = [
        (1, *at[2::-1], *at[:2:-1], *grid, *block)
        for at in itertools.product(*map(range, (*grid[::-1], *block[::-1])))
    ]
    out = np.zeros((len(rows), 13), np.uint32)
    run(INDICES, [out], grid=grid, block=block, eager=eager)
    np.testing.assert_array_equal(out, rows)


@each("offset", [0, 8])
def test_a_load_is_aligned_only_where_the_kernel_says_so(offset):
    # Compilers used to merge both loads into the aligned one.
    text = r"""
    union Pair { uint4 vector; long long piece[2]; };
    extern "C" __global__ void k(const long long* x, long long* out, int n, int aligned) {
      for (int first = 0; first < n; first += 16) {
        long long taken[16];
        for (int i = 0; i < 16; i += 2) {
          Pair pair;
          if (aligned) {
            pair.vector = __ldg(reinterpret_cast<const uint4*>(x + first + i));
          } else {
            for (int j = 0; j < 2; ++j) pair.piece[j] = __ldg(x + first + i + j);
          }
          for (int j = 0; j < 2; ++j) taken[i + j] = pair.piece[j];
        }
        for (int i = 0; i < 16; ++i) out[first + i] = taken[i] < 0 ? taken[i] + 5 : taken[i];
      }
    }"""
    room = np.zeros(32 + 4, np.int64)
    start = -address_of(room) % 16 + offset
    x = np.ndarray((32,), np.int64, room, start)
    x[...] = np.arange(32)
    out = np.zeros(32, np.int64)
    run(text, [x, out, np.int32(32), np.int32(offset == 0)])
    np.testing.assert_array_equal(out, x)


def test_launches_that_no_gpu_does_and_kernels_without_parameters():
    kernel = compiled('extern "C" __global__ void k() {}')
    with pytest.raises(BindingError, match="k: launch must have at most 232448 bytes of shared"):
        kernel.launcher((1, 1, 1), (32, 1, 1), 227 * 1024 + 1, ())
    kernel.launcher((1, 1, 1), (4, 1, 1), 0, ())(b"")


def test_the_same_kernel_from_eight_threads():
    kernel = compiled(REVERSE)
    launch = kernel.launcher((3, 1, 1), (96, 1, 1), eager=True)
    start = Barrier(8)

    def work(seed):
        x = np.random.default_rng(seed).integers(0, 999, (3, 96)).astype(np.int32)
        parameters, _ = pack([x])
        start.wait()
        for _ in range(50):
            expected = x[:, ::-1].copy()
            launch(parameters)
            assert (x == expected).all()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [None] * 8


def test_different_kernels_from_four_threads():
    modules = loader.ModuleLoader()
    start, new = Barrier(4), time.monotonic_ns()

    def work(i):
        text = REVERSE.replace("threadIdx.x];\n}", f"threadIdx.x] + {i // 2};\n}}  // {new}")
        x = np.arange(200, dtype=np.int32)
        start.wait()
        for _ in range(20):
            expected = x[::-1] + i // 2
            run(text, [x], block=200, loader=modules)
            assert (x == expected).all()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [None] * 4


def test_blocks_take_from_the_heap_at_once():
    text = r"""
    extern "C" __global__ void k(unsigned* y) {
      unsigned* kept[16] = {};
      for (atomicAdd(y + 4, 1); atomicAdd(y + 4, 0) < 4;) {}
      for (unsigned i = 0; i < 400000; ++i) {
        unsigned*& p = kept[i % 16];
        if (p != nullptr) {
          y[blockIdx.x] += *p == blockIdx.x;
          free(p);
        }
        p = (unsigned*)malloc(16 << i % 3);
        *p = blockIdx.x;
      }
    }"""
    y = np.zeros(5, np.uint32)
    run(text, [y], grid=4, resident=4, eager=True)
    assert y.tolist() == [400000 - 16] * 4 + [4]


def test_launches_neither_leak_memory_nor_threads():
    kernel = compiled(REVERSE)
    x = np.zeros(4 * 256, np.int32)
    parameters, _ = pack([x])
    launch = kernel.launcher((4, 1, 1), (256, 1, 1), 4096, eager=True)

    def resident():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    def count_threads():
        return len(list(Path("/proc/self/task").iterdir()))

    for _ in range(200):
        launch(parameters)
    before, threads = resident(), count_threads()
    for _ in range(2000):
        launch(parameters)
    assert resident() - before < 4 << 20
    assert count_threads() <= threads


def test_a_launch_of_one_block_is_cheap_and_starts_no_thread():
    program = r"""
import os, resource, sys, numpy as np
from tests.helpers.simulated import REVERSE, compiled, pack
x = np.zeros(256, np.int32)
launch = compiled(REVERSE).launcher((1, 1, 1), (256, 1, 1))
parameters, _ = pack([x])
launch(parameters)
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
before = int(open("/proc/sys/kernel/ns_last_pid").read())
for _ in range(1000):
    launch(parameters)
after = int(open("/proc/sys/kernel/ns_last_pid").read())
print(after - before, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults)
"""
    if not Path("/proc/sys/kernel/ns_last_pid").exists():
        pytest.skip("this kernel does not tell the last process number")
    started, faults = map(int, printed(program).split())
    assert started < 900  # other processes start threads, too
    assert faults < 100


def test_a_fork_after_launches():
    program = r"""
import os, threading, numpy as np
from tests.helpers.simulated import assert_works, fails
assert_works()
stop = threading.Event()
def work():
    while not stop.is_set():
        assert_works()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(10):  # while others are in the middle of a launch
    child = os.fork()
    if child == 0:
        try:
            assert_works()
            text = 'extern "C" __global__ void k(int* x) { *(int*)(size_t)x[0] = 1; }'
            assert fails(text, [np.zeros(1, np.int32)]).kind == "out_of_bounds"
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
assert_works()
"""
    printed(program, flags=["-W", "ignore"])


CRASHES = {
    "address": "ctypes.string_at(8)",
    "raised": "faulthandler._sigsegv()",
    "sent": "os.kill(os.getpid(), signal.SIGSEGV); time.sleep(5)",
}


@each("crash, when", covering(CRASHES, ["between launches", "beside a launch"]))
def test_a_real_fault_reaches_faulthandler(crash, when):
    beside = "threading.Thread(target=lambda: [assert_works() for _ in iter(int, 1)], daemon=True)"
    program = f"""
import ctypes, faulthandler, os, signal, threading, time
from tests.helpers.simulated import assert_works
faulthandler.enable()
assert_works()
assert faulthandler.is_enabled()
if {when!r} != "between launches":
    {beside}.start()
    time.sleep(0.2)
{CRASHES[crash]}
print("survived")
"""
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "survived" not in result.stdout
    assert result.returncode == -11
    assert "Fatal Python error: Segmentation fault" in result.stderr


RECURSION = r"""
__device__ __noinline__ int down(int n) {
  volatile int room[64];
  room[n & 63] = n;
  return n < -1 ? n : down(n + 1) + room[n & 63];
}
extern "C" __global__ void k(int* x) { x[0] = down(x[0]); }
"""


def test_contexts_of_the_c_library_and_guards_of_old_hosts_serve_too(monkeypatch):
    toolchain = find_toolchain()
    defines = "-DCK_SIM_UCONTEXT", "-DCK_SIM_OLD_HOST"

    class Portable(type(toolchain)):
        __slots__ = ()

        def digest(self, *more):
            return super().digest(*defines, *more)

        def build(self, name, source, parts, flags, *more, **told):
            return super().build(name, source, parts, (*flags, *defines), *more, **told)

    portable = Portable(toolchain.command, toolchain.version)
    runtime = loader._load_runtime(portable, checked=False)  # noqa: SLF001
    assert runtime._name != loader._load_runtime(toolchain, checked=False)._name  # noqa: SLF001
    with monkeypatch.context() as patch:
        patch.setattr(loader, "find_toolchain", lambda: portable)
        assert compiled(REVERSE).module.runtime is runtime
        assert_works()
        assert fails(RECURSION, [np.ones(1, np.int32)]).kind == "stack_overflow"
        text = 'extern "C" __global__ void k() {}'
        run(text, [], grid=16, block=1024, cooperative=True)
        error = fails(text, [], grid=17, block=1024, cooperative=True)
        assert "there is room for 16 of 17" in str(error)
    assert_works()
