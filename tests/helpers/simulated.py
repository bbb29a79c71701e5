"""Kernels given as text, run on NumPy arrays in the simulator."""

from __future__ import annotations

import shlex
import sys

import numpy as np
import pytest

from cudakern.errors import SimulatorError
from cudakern.simulator.libraries.loader import ModuleLoader
from cudakern.simulator.sources.text_to_ptx import Code, ptx_of_code

LOADER = ModuleLoader()
ZIGLANG = shlex.join([sys.executable, "-m", "ziglang", "c++"])


def pack(arguments) -> tuple[bytes, tuple[int, ...]]:
    """Return arrays (by address) and NumPy scalars as a kernel's parameters, and their offsets."""
    packed = bytearray()
    offsets = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            value = np.uint64(argument.__array_interface__["data"][0])
        else:
            value = np.asarray(argument)[()]
        packed += bytes(-len(packed) % value.dtype.alignment)
        offsets.append(len(packed))
        packed += value.tobytes()
    return bytes(packed), tuple(offsets)


def triple(size) -> tuple[int, int, int]:
    """Return a size of one to three dimensions as three."""
    size = size if isinstance(size, tuple) else (size,)
    return (*size, 1, 1)[:3]


def code_of(text, macros=()) -> Code:
    """Return a text, which errors call ``test.cu``, as it is compiled."""
    # Not as -D: headers that NVRTC brings would see them too.
    defined = "".join(f"#define {name} {value}\n" for name, value in macros)
    return Code("test.cu", f'{defined}#line 1 "test.cu"\n{text}')


def compiled(text, macros=(), loader=LOADER, name="k"):
    """Return a kernel of a text."""
    return loader.load(ptx_of_code(code_of(text, macros))).kernel(name, "test.cu")


def run(
    text, arguments, *, grid=1, block=1, shared=0, macros=(), loader=LOADER, name="k", **options
):
    """Run a kernel of a text."""
    kernel = compiled(text, macros, loader, name)
    parameters, offsets = pack(arguments)
    kernel.launcher(triple(grid), triple(block), shared, offsets, **options)(parameters)


def fails(text, arguments, **options) -> SimulatorError:
    """Run a kernel that must end in a SimulatorError, and one after it that must not."""
    with pytest.raises(SimulatorError) as caught:
        run(text, arguments, **options)
    assert_works(options.get("loader", LOADER))
    error = caught.value
    assert error.kernel == options.get("name", "k")
    assert "\n" not in str(error)
    return error


REVERSE = r"""
extern "C" __global__ void k(int* x) {
  __shared__ int t[256];
  t[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  x[blockIdx.x * blockDim.x + threadIdx.x] = t[blockDim.x - 1 - threadIdx.x];
}
"""


def assert_works(loader=LOADER) -> None:
    """Run a kernel with a barrier in several blocks and check what it wrote."""
    x = np.arange(3 * 96, dtype=np.int32)
    run(REVERSE, [x], grid=3, block=96, loader=loader)
    assert x.tolist() == np.arange(3 * 96).reshape(3, 96)[:, ::-1].ravel().tolist()
