"""RawKernel and RawModule of the stand-in take CuPy's arguments and launch in the simulator."""

from __future__ import annotations

import copy
import pickle
from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator.sources import cupy_options
from tests.helpers.checked import PLAIN_AND_CHECKED
from tests.helpers.readmes import has_test, rows, section
from tests.helpers.refused import assert_refused
from tests.helpers.rows import each

CODE = r"""
#include <cuda_fp16.h>
#include <cuda/std/complex>
extern "C" {
__device__ float table[4];
__constant__ int factor;
__global__ void many(float3 v, float* y, const double* none, void* raw, unsigned char flag,
                     long long wide, bool truth, double real, __half* h) {
  y[0] = v.x + v.y + v.z;
  y[1] = flag + wide + truth + real + (none == nullptr);
  static_cast<float*>(raw)[1] = 7;
}
__global__ void sums(const float* const* xs, float* y, int n) {
  for (int k = 0; k < n; ++k) y[threadIdx.x] += xs[k][threadIdx.x];
}
__global__ void scaled(float* y) { y[threadIdx.x] = table[threadIdx.x] * factor; }
__global__ void twice(const cuda::std::complex<float>* x, cuda::std::complex<float>* y, float a) {
  y[threadIdx.x] = a * x[threadIdx.x];
}
}
template <typename T>
__global__ void fill(T* x, T value) { x[threadIdx.x] = value; }
"""


@pytest.fixture
def module(cp):
    return cp.RawModule(code=CODE, options=("-std=c++17",), name_expressions=["fill<short>"])


@PLAIN_AND_CHECKED
def test_arguments(cp, module):
    v = np.array([(1, 2, 3)], [("x", "f4"), ("y", "f4"), ("z", "f4")])
    y, raw, h = cp.zeros(2, cp.float32), cp.zeros(3, cp.float32), cp.zeros(2, cp.float16)
    many = module.get_function("many")
    many((1,), (1,), (v, y, None, raw.data, np.uint8(5), 10, True, 0.5, h))
    assert (y.get().tolist(), raw.get().tolist()) == ([6, 17.5], [0, 7, 0])
    one = np.array([5], np.uint8)  # a NumPy array with one element is a value
    many((1, 1), (1,), [v, y.data.ptr, 0, raw.data + 4, one, -10, False, np.float64(2), h])
    assert (y.get().tolist(), raw.get().tolist()) == ([6, -2], [0, 7, 7])
    x = cp.arange(4, dtype=cp.complex64) * 1j
    twice = cp.empty_like(x)
    module.get_function("twice")((1,), (4,), (x, twice, cp.float32(2)))
    assert twice.get().tolist() == [0, 2j, 4j, 6j]
    filled = cp.empty(3, cp.int16)
    module.get_function("fill<short>")((1,), (3,), (filled, cp.int16(-4)))
    assert filled.get().tolist() == [-4] * 3


@PLAIN_AND_CHECKED
def test_addresses_in_arrays(cp, module):
    xs = [cp.full(8, k, dtype=cp.float32) for k in range(4)]
    table = cp.asarray([x.data.ptr for x in xs], dtype=cp.uint64)
    y = cp.zeros(8, dtype=cp.float32)
    module.get_function("sums")((1,), (8,), (table, y, 4))
    assert y.get().tolist() == [6] * 8


HELD = """
x.copy() | copy.deepcopy(x) | pickle.loads(pickle.dumps(x, 5)) | x[::-2] | cp.from_dlpack(x)
cp.lib.stride_tricks.as_strided(x, (4, 4), (4, 4)) | cp.zeros((2, 3, 4), "f4").transpose(1, 2, 0)
cp.empty_like(cp.zeros((2, 3, 4), "f4").transpose(1, 2, 0)) | cp.asarray(np.ones((3, 3), "f4", "F"))
cp.frombuffer(bytes(16), "f4") | cp.ndarray(4, "f4", cp.cuda.MemoryPointer(unowned, 0))
cp.ndarray(4, "f4", x.data + 8) | cp.fft.fft(x).real.astype("f4") | (x + 1j).astype("F").imag
"""


@each("text", HELD.strip().replace("\n", " | ").split(" | "))
def test_addresses_of_any_array(cp, module, text):
    x = cp.arange(8, dtype=cp.float32)
    unowned = cp.cuda.UnownedMemory(x.data.ptr, x.nbytes, x)
    names = {"cp": cp, "np": np, "x": x, "copy": copy, "pickle": pickle, "unowned": unowned}
    held = eval(text, names)  # noqa: S307
    held[...] = 3
    table, y = cp.asarray([held.data.ptr], dtype=cp.uint64), cp.zeros(1, dtype=cp.float32)
    for mode in (nullcontext, ck.simulator.checked):
        with mode():
            module.get_function("sums")((1,), (1,), (table, y, 1))
    assert y.get().tolist() == [6]
    assert held.data.ptr == held.__array_interface__["data"][0]


def test_a_fault_by_an_address_in_an_array(cp, module):
    x = cp.ones(7, cp.float32)
    table = cp.asarray([x.data.ptr], dtype=cp.uint64)
    with pytest.raises(ck.SimulatorError, match="sums: out_of_bounds: "), ck.simulator.checked():
        module.get_function("sums")((1,), (8,), (table, cp.zeros(8, cp.float32), 1))


def test_variables(cp, module):
    table = cp.ndarray(4, cp.float32, module.get_global("table"))
    table[...] = cp.arange(4, dtype=cp.float32)
    factor = cp.ndarray((), cp.int32, module.get_global("factor"))
    factor[...] = 3
    y = cp.empty(4, cp.float32)
    for mode in (nullcontext, ck.simulator.checked):
        with mode():
            module.get_function("scaled")((1,), (4,), (y,))
        assert y.get().tolist() == [0, 3, 6, 9]


def test_shared_memory_streams_and_attributes(cp):
    code = """extern "C" __global__ void turned(int* x) {
      extern __shared__ int s[];
      s[threadIdx.x] = threadIdx.x;
      __syncthreads();
      x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
    }"""
    kernel = cp.RawKernel(code, "turned", (), "nvrtc", enable_cooperative_groups=False)
    assert kernel.attributes["max_threads_per_block"] == kernel.max_threads_per_block == 1024
    kernel.max_dynamic_shared_size_bytes = 100_000
    x = cp.empty(4, cp.int32)
    kernel((1,), (4,), (x,), shared_mem=90_000, stream=cp.cuda.Stream())
    assert x.get().tolist() == [3, 2, 1, 0]


def test_what_cupy_refuses_or_lets_pass(cp):
    code = 'extern "C" __global__ void f(float* x, float a) { x[0] = a; }'
    kernel = cp.RawKernel(code, "f")
    with pytest.raises(TypeError, match=r"got a NumPy array of shape \(3,\); use cupy.asarray"):
        kernel((1,), (1,), (np.zeros(3, np.float32), cp.float32(1)))
    x = cp.zeros(3, cp.float32)
    for args, said in [
        ((x, 1.0), "[1] must fit a parameter of 4 bytes; got float64; use np.float32(args[1])"),
        ((x, x[0]), "[1] must be  ... ; got an array; use np.float32(args[1].item())"),
        ((x,), " must have 2 entries, for (float* x, float a); got 1"),
        (x, " must have 2 entries, for (float* x, float a); got an array"),
    ]:
        assert_refused(
            ck.BindingError, f"f: args{said}", lambda args=args: kernel((1,), (1,), args)
        )
    with pytest.raises(ck.DTypeError, match=r"args\[0\] must be an array or a scalar; got list$"):
        kernel((1,), (1,), ([1.0], cp.float32(1)))
    with pytest.raises(ck.errors.BindingError, match=r"declare it extern \"C\", or take RawModule"):
        cp.RawKernel(code.replace('extern "C"', ""), "f").compile()
    with pytest.raises(TypeError, match="options must be a tuple; got "):
        cp.RawKernel(code, "f", ["-lineinfo"])
    with pytest.raises(AttributeError, match=r"has no cupy\.RawKernel\.num_regs; only a GPU"):
        kernel.num_regs  # noqa: B018
    with pytest.raises(cp.cuda.compiler.CompileException, match="must compile"):
        cp.RawKernel('extern "C" __global__ void f() { no }', "f").compile()


def test_every_row_of_the_page_is_held_by_a_test():
    page = "cudakern/simulator/cupy_stand_in/README.md"
    named = [cells[-1].strip("`") for cells in rows(section(page, "## What works"))]
    assert len(named) > 10
    folder = "simulator/cupy_stand_in"
    assert [test for test in named if not has_test(f"{folder}/{test}")] == []
    absent = " ".join(cells[0] for cells in rows(section(page, "## What does not")))
    assert all(
        name in absent for name in ("cupy.sparse", "cupyx.distributed", "texture", "num_regs")
    )


def test_kernels_are_pickled(cp):
    code = 'extern "C" __global__ void f(int* x) { x[0] += FIVE; }'
    module = cp.RawModule(code=code, options=("-DFIVE=5",))
    x = cp.zeros(1, cp.int32)
    for kernel in (
        cp.RawKernel(code, "f", ("-DFIVE=5",)),
        module.get_function("f"),
        pickle.loads(pickle.dumps(module)).get_function("f"),  # noqa: S301  our own
    ):
        pickle.loads(pickle.dumps(kernel))((1,), (1,), (x,))  # noqa: S301
    assert int(x[0]) == 15
    added = cp.ElementwiseKernel("T x", "T y", "y = x + 1", "added")
    total = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    assert int(added(x)[0]) == int(total(x)) + 1
    for kernel, expected in ((added, 16), (total, 15)):
        again = pickle.loads(pickle.dumps(kernel))  # noqa: S301
        assert int(again(x).ravel()[0]) == expected


CARRAYS = """
#include <cupy/carray.cuh>
extern "C" __global__ void doubled(CArray<float, 2> x, CArray<double, 2, true> y) {
  const int i = threadIdx.x;
  const ptrdiff_t at[2] = {i / y.shape()[1], i % y.shape()[1]};
  y[at] = 2 * x[at];
  if (i == 0) y[i] += x.strides()[0] + x.size();
}
extern "C" __global__ void only(CArray<int, 0, true> x, CArray<int, 1> y) { x[0] = y[2]; }
template <int n>
__device__ void fill(CArray<int, n> x) {
  for (int i = 0; i < x.size(); ++i) x[i] = i + 3;
}
extern "C" __global__ void eight(CArray<int, 8> x) { fill(x); }
extern "C" __global__ void wide(CArray<double2, 0, true> x) { x[0].x += x.size(); }
extern "C" __global__ void past(CArray<float, 2> x) { x[6] = 1; }
"""


@each("observed", [nullcontext, ck.simulator.checked])
@each("installed", [True, False])
def test_arrays_by_value(cp, monkeypatch, observed, installed):
    if not installed:
        monkeypatch.setattr(cupy_options, "_find_cupy", lambda: None)
    module = cp.RawModule(code=CARRAYS)
    x = cp.arange(12, dtype=cp.float32).reshape(4, 3)[::2, ::-1]
    y, one, eight = cp.zeros((2, 3)), cp.zeros((), cp.int32), cp.zeros((1, 2) * 4, cp.int32)
    with observed():
        module.get_function("doubled")((1,), (6,), (x.cstruct, y))
        module.get_function("only")((1,), (1,), (one, cp.arange(9, dtype=cp.int32)[::4]))
        module.get_function("eight")((1,), (1,), (eight,))
        module.get_function("wide")((1,), (1,), (number := cp.array(2 + 3j),))
    assert y.tolist() == [[4 + 24 + 6, 2, 0], [16, 14, 12]]
    assert (one.item(), number.item()) == (8, 3 + 3j)
    assert eight.ravel().tolist() == [*range(3, 19)]
    with pytest.raises(ck.BindingError, match="2 dimensions for a CArray; got shape"):
        module.get_function("doubled")((1,), (6,), (x.ravel(), y))
    with pytest.raises(ck.SimulatorError, match="element 6 of arg"), ck.simulator.checked():
        module.get_function("past")((1,), (1,), (cp.zeros((2, 3), cp.float32),))
