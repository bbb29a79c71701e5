"""Kernels in POCL, OpenCL on a processor, where pyopencl and a platform of POCL are installed."""

from __future__ import annotations

import atexit
import os
import re
import tempfile
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perf.static.user_kernels import Ready, UserKernel

PLATFORM = "Portable Computing Language"
#: The message where it is missing.
ABSENT = "POCL is not measured: not installed (pip install pyopencl pocl-binary-distribution)"
#: Kernels with collectives of warps.
LACKING = frozenset({"grid_sum", "warp_sum"})
#: What CUDA C++ has, in OpenCL C.
PRELUDE = """
#define VECTOR(f) ((int3)(f(0), f(1), f(2)))
#define threadIdx VECTOR(get_local_id)
#define blockIdx VECTOR(get_group_id)
#define blockDim VECTOR(get_local_size)
#define gridDim VECTOR(get_num_groups)
#define __shared__ local
#define __syncthreads() barrier(CLK_LOCAL_MEM_FENCE)
#define atomicAdd atomic_add
#define rsqrtf rsqrt
"""
_KERNEL = re.compile(r'^extern "C" __global__ (void (\w+)\(.*?^})', re.MULTILINE | re.DOTALL)


def launcher(code: str) -> Ready | None:
    """Return what runs kernels of CUDA C++ on one core; None if POCL is not installed."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)  # a launch may compile
    # Read when the platform is loaded; the limit's name is another one since version 5.
    os.environ |= {"POCL_CACHE_DIR": folder.name, "PYOPENCL_NO_CACHE": "1"}
    os.environ |= dict.fromkeys(("POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"), "1")
    try:
        cl: Any = import_module("pyopencl")
    except ImportError:
        return None
    try:
        platforms = {platform.name: platform for platform in cl.get_platforms()}
    except cl.Error:  # there is no platform
        platforms = {}
    if PLATFORM not in platforms:
        return None
    kernels = [f"kernel {text}\n" for text, name in _KERNEL.findall(code) if name not in LACKING]
    text = PRELUDE + re.sub(r"(\w+\*) ", r"global \1 ", "".join(kernels))
    context = cl.Context(platforms[PLATFORM].get_devices())
    program = cl.Program(context, text).build()
    functions = {kernel.function_name: kernel for kernel in program.all_kernels()}
    queue, flags = cl.CommandQueue(context), cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR

    def ready(kernel: UserKernel, arguments: Sequence[Any]) -> Callable[[], object]:
        own = [
            cl.Buffer(context, flags, hostbuf=a) if isinstance(a, np.ndarray) else a
            for a in arguments
        ]
        threads = tuple(g * b for g, b in zip(kernel.grid, kernel.block, strict=True))
        output, array = own[kernel.output], arguments[kernel.output]

        def call() -> None:
            functions[kernel.name](queue, threads, kernel.block, *own)
            # Waits, and has the result where the array is.
            cl.enqueue_map_buffer(queue, output, cl.map_flags.READ, 0, array.shape, array.dtype)

        return call

    return ready
