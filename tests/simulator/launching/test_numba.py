"""Kernels that Numba compiles to PTX without a GPU."""

from __future__ import annotations

import re
from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck

cuda = pytest.importorskip("numba.cuda", reason="Numba with its CUDA target is not installed")
types = pytest.importorskip("numba").types
pathfinder = pytest.importorskip("cuda.pathfinder")
try:
    pathfinder.load_nvidia_dynamic_lib("nvvm")
except pathfinder.DynamicLibNotFoundError:
    pytest.skip("Numba needs libnvvm; nvidia-nvvm has it", allow_module_level=True)

#: Plain launches, and checked ones in two orders.
pytestmark = pytest.mark.parametrize("seed", [None, 0, 1])
VECTOR = types.float32[::1]


def launch(seed, function, signature, grid, block, arguments):
    """Compile a kernel to PTX with Numba, and run it in the simulator."""
    ptx, _ = cuda.compile_ptx(function, signature, cc=(9, 0), lineinfo=True)
    name = re.search(r"\.entry\s+([\w$]+)", ptx)[1]
    kernel = ck.simulator.RawModule(code=ptx).get_function(name)
    with nullcontext() if seed is None else ck.simulator.checked(seed):
        kernel(grid, block, tuple(passed(*arguments)))


def passed(*arguments):
    """Yield arguments as Numba passes them: arrays with their sizes and strides."""
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            yield from (None, None)  # the memory's owner, which kernels do not read
            yield from (np.int64(argument.size), np.int64(argument.itemsize), argument)
            yield from map(np.int64, (*argument.shape, *argument.strides))
        else:
            yield argument


def reversed_blocks(x, out):
    """Reverse each block of 64 in shared memory."""
    i = cuda.grid(1)
    shared = cuda.shared.array(64, types.float32)
    if i < x.size:
        shared[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    if i < x.size:
        out[i] = shared[63 - cuda.threadIdx.x] * 2


def test_shared_memory(seed):
    x = np.arange(256, dtype=np.float32)
    out = np.full_like(x, np.nan)
    launch(seed, reversed_blocks, (VECTOR, VECTOR), (4,), (64,), (x, out))
    np.testing.assert_array_equal(out, 2 * x.reshape(4, 64)[:, ::-1].ravel())


def unguarded(x, out):
    """Read what a neighbour wrote, without a barrier in between."""
    shared = cuda.shared.array(64, types.float32)
    shared[cuda.threadIdx.x] = x[cuda.threadIdx.x]
    out[cuda.threadIdx.x] = shared[63 - cuda.threadIdx.x]


def test_a_missing_barrier(seed):
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    if seed is None:
        launch(None, unguarded, (VECTOR, VECTOR), (1,), (64,), (x, out))
        return
    with pytest.raises(ck.SimulatorError) as caught:
        launch(seed, unguarded, (VECTOR, VECTOR), (1,), (64,), (x, out))
    first = unguarded.__code__.co_firstlineno
    lines = {f.source for f in caught.value.findings if f.kind == "race"}
    assert lines <= {(__file__, first + 3), (__file__, first + 4)}
    assert lines
