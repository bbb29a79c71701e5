"""Arrays of checked launches: views, overlaps, unwritten elements."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, checked, empty
from cudakern.simulator.launching.observation import observing
from cudakern.simulator.reports.sessions import CheckReport
from tests.helpers.processes import printed
from tests.helpers.rows import each
from tests.simulator.launches import findings_of

COPY = """
extern "C" __global__ void copy(const float* x, float* y, int step, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[step * i] = x[step * i];
}
"""
READ = 'extern "C" __global__ void read(const float* x, int i, float* y) { *y = x[i]; }'
WRITE = 'extern "C" __global__ void write(float* x, int i) { x[i] = 9; }'


def faults(code, *arguments, **launch):
    """Return the kind, array and index of a kernel's findings."""
    return [(f.kind, f.array, f.index) for f in findings_of(code, *arguments, **launch)]


def numbers(size):
    return np.arange(size, dtype=np.float32)


@each("size", [8, 5, 1])
def test_empty_arrays_are_not_written(size):
    y = numbers(1)
    x = empty(size)
    assert (x.shape, x.dtype, x.flags.c_contiguous) == ((size,), np.float32, True)
    assert faults(READ, x, size - 1, y) == [("uninitialized", 0, size - 1)]
    x[size - 1] = 0
    assert faults(READ, x, size - 1, y) == []
    assert y == 0


def test_empty_arrays_are_written_by_kernels():
    x, y = empty((2, 4)), numbers(1)
    with checked():
        RawKernel(WRITE, "write")((1,), (1,), (x, 3))
        RawKernel(READ, "read")((1,), (1,), (x, 3, y))
    assert y == 9
    RawKernel(WRITE, "write")((1,), (1,), (x, 5))  # in a plain launch
    assert faults(READ, x, 5, y) == []
    assert faults(READ, x, 4, y) == [("uninitialized", 0, 4)]


def test_views_of_empty_arrays():
    x, y = empty((4, 6)), numbers(1)
    x[1] = 1
    assert faults(READ, x[1:], 0, y) == []
    assert faults(READ, x[1:], 6, y) == [("uninitialized", 0, 6)]
    assert faults(READ, x.T[2, 1:], 0, y) == []
    assert faults(READ, x[::-1], -18, y) == [("uninitialized", 0, -18)]
    assert faults(READ, x[::-1], -12, y) == []
    assert faults(READ, x.reshape(-1)[::2], 0, y) == [("uninitialized", 0, 0)]
    assert faults(READ, x.copy(), 0, y) == []  # a copy is an array like any other


@each("shape, dtype", [((), "u1"), (0, "f8"), ((3, 5), "c16"), (7, "i2")])
def test_shapes_and_types_of_empty_arrays(shape, dtype):
    x = empty(shape, dtype)
    assert x.shape == np.zeros(shape).shape
    assert x.dtype == np.dtype(dtype)


IN_PLACE = (
    'extern "C" __global__ void add(const int* x, int* y) { y[threadIdx.x] += x[threadIdx.x]; }'
)


def test_overlapping_views():
    x = np.arange(12, dtype=np.int32)
    kinds = faults(IN_PLACE, x[:8], x[4:], block=(8,))
    assert {kind for kind, _, _ in kinds} == {"race"}
    x = np.arange(12, dtype=np.int32)
    assert faults(IN_PLACE, x[:8], x[4:], block=(4,)) == []
    assert x.tolist() == [0, 1, 2, 3, 4, 6, 8, 10, 8, 9, 10, 11]


def test_neighbouring_views():
    x = numbers(10)
    assert faults(WRITE, x[:5], 5) == [("out_of_bounds", 0, 5)]
    assert faults(WRITE, x[5:], -1) == [("out_of_bounds", 0, -1)]
    assert faults(COPY, x[:5], x[5:], 1, 6) == [("out_of_bounds", 0, 5), ("out_of_bounds", 1, 5)]
    assert x.tolist() == [0, 1, 2, 3, 4] * 2


def test_gaps_of_strided_views():
    x, y = numbers(12), numbers(12)
    assert faults(COPY, x[::3], y[::3], 3, 4, block=(2,)) == []
    assert faults(WRITE, y[::3], 1) == [("out_of_bounds", 0, 1)]
    assert faults(WRITE, y[::3], 9) == []
    assert y.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert faults(WRITE, y.reshape(3, 4)[:, :2], 2) == [("out_of_bounds", 0, 2)]


def test_negative_strides():
    x, y = numbers(6), np.zeros(6, np.float32)
    assert faults(COPY, x[::-1], y[::-1], -1, 6) == []
    assert y.tolist() == x.tolist()
    assert faults(WRITE, y[::-1], 1) == [("out_of_bounds", 0, 1)]
    assert faults(WRITE, y[:3:-1], -2) == [("out_of_bounds", 0, -2)]
    assert faults(COPY, x[::-2], y[::-2], -2, 3) == []


@each("x", [numbers(0), np.zeros((3, 0, 2), np.float32), numbers(8)[3:3]])
def test_arrays_without_elements(x):
    assert faults(COPY, x, x, 1, 0) == []
    assert faults(WRITE, x, 0) == [("out_of_bounds", 0, 0)]


def test_big_arrays_far_apart():
    x, y = numbers(40000), np.zeros(40000, np.float32)
    assert faults(COPY, x, y, 1, 40000, block=(64,)) == []
    assert (x == y).all()
    for index in (40000, -1, 50000, -10000):
        assert faults(WRITE, x, index) == [("out_of_bounds", 0, index)]
    for index in (60000, -20000, 2**30, -(2**30)):
        assert [kind for kind, _, _ in faults(WRITE, x, index)] == ["out_of_bounds"]


def test_an_error_of_the_launch_leaves_arrays_as_the_kernel_left_them():
    x = np.zeros(4, np.int32)
    code = 'extern "C" __global__ void stop(int* x) { x[1] = 5; x[(long long)x[1] << 40] = 1; }'
    with pytest.raises(ck.SimulatorError), checked():
        RawKernel(code, "stop")((1,), (1,), (x,))
    assert x.tolist() in ([0, 5, 0, 0], [0] * 4)


@each(
    "shape, dtype",
    [
        *((shape, "f4") for shape in ("x", None, 1.5, 2**70)),
        pytest.param(10**5000, "f4", id="huge"),
        *((2, dtype) for dtype in ("x", object, "V0", 5, [("a", object)])),
    ],
)
def test_empty_takes_what_a_gpu_can_have(shape, dtype):
    with pytest.raises(ck.DTypeError, match=r"^simulator.empty: .*dtype must .*; got .*"):
        ck.simulator.empty(shape, dtype)


@each("unwritten", [0, 2])
def test_what_nothing_wrote_is_copied_with_its_neighbours(unwritten):
    code = """struct Three { int v[3]; };
    extern "C" __global__ void k(const int* x, Three* y) {
      __shared__ Three s[2];
      s[x[0]].v[1] = x[1];
      s[x[0]].v[x[2]] = x[3];
      __syncthreads();
      y[0] = s[x[0]];
    }"""
    x, y = np.array((1, 5, 2 - unwritten, 7), np.int32), np.zeros(3, np.int32)
    assert faults(code, x, y) == []
    assert y[[1, 2 - unwritten]].tolist() == [5, 7]


def test_data_that_looks_like_addresses_stays():
    code = """extern "C" __global__ void scale(short* x, short* y) {
        y[threadIdx.x] = x[threadIdx.x] + 1; }"""
    x = np.zeros(16, np.int64)
    x[3:5] = x.ctypes.data
    short = x.view(np.int16)
    y = np.zeros_like(short)
    with checked():
        assert ck.reduce(x, "sum") == x.sum()
        RawKernel(code, "scale")((1,), (64,), (short, y))
    assert np.array_equal(y, short + np.int16(1))


def test_parameters_of_operators_that_look_like_addresses_stay():
    """The arrays are mapped at addresses that pairs of an operator's parameters form."""
    program = """
import ctypes, mmap
import numpy as np
import cudakern as ck

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
private, anonymous, there = mmap.MAP_PRIVATE, mmap.MAP_ANONYMOUS, 0x100000  # no replacement
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
where = libc.mmap(0x200000000, 2**20, 3, private | anonymous | there, -1, 0)
x = np.frombuffer((ctypes.c_char * 640_000).from_address(where), np.int16).reshape(2, 20_000, 8)
x[:, ::100, 3] = 5
with ck.simulator.checked():
    found = ck.argwhere(x.swapaxes(1, 2))
print(where == 0x200000000, np.array_equal(found, np.argwhere(x.swapaxes(1, 2))))
"""
    assert printed(program) == "True True\n"


STORE = """__device__ int g[3];
extern "C" __global__ void store(int* x, int i) {
  __shared__ int s[2];
  *(volatile int*)((char*)MEMORY + i) = 5;
}"""


@each(("memory", "size"), [("x", 16), ("s", 8), ("g", 12)])
def test_an_access_that_leaves_its_array_misaligned_is_both(memory, size):
    for at, kinds in ((size - 4, set()), (size, {"out_of_bounds"}), (size - 6, {"misaligned"})):
        code = STORE.replace("MEMORY", memory)
        assert {kind for kind, *_ in faults(code, np.zeros(4, np.int32), at)} == kinds
    both = {"out_of_bounds", "misaligned"}
    for at in (size - 2, size + 1):
        assert {kind for kind, *_ in faults(code, np.zeros(4, np.int32), at)} == both


CALLS = """typedef int (*Function)(int);
__device__ int next(int x) { return x + 1; }
__device__ int twice(int x) { return x * 2; }
__device__ Function table[2] = {next, twice};
extern "C" __global__ void call(int* y, int i) { y[0] = table[i](3); }"""


def test_a_call_by_what_was_read_out_of_bounds_is_one_finding():
    for i in (2, 9, -1):
        assert [kind for kind, *_ in faults(CALLS, np.zeros(1, np.int32), i)] == ["out_of_bounds"]


POINTERS = """extern "C" __global__ void read(const long long* at, int* y, int i) {
  y[0] = ((const int*)at[i])[2] + ((const int*)at[0])[i - 2];
}"""


def test_reads_by_an_address_that_was_read_out_of_bounds_are_no_findings():
    x, y = np.arange(4, dtype=np.int32), np.zeros(1, np.int32)
    at = np.array([x.ctypes.data] * 2, np.uint64)
    read = RawKernel(POINTERS, "read")
    for i, kinds in ((1, ["out_of_bounds"]), (2, ["out_of_bounds"]), (3, ["out_of_bounds"])):
        with pytest.raises(ck.SimulatorError) as caught, checked(arrays=[x]):
            read((1,), (1,), (at, y, np.int32(i)))
        found = caught.value.findings
        assert [f.kind for f in found] == kinds
        assert ("argument 0" in str(found[0])) == (i > 1)


FAR = """extern "C" __global__ void far(int** at, int* y) {
  int* x = at[0];
  y[0] = x[1];
  x[2] = y[0] + x[3];
  atomicAdd(x, 5);
}"""


def test_memory_of_no_known_array_is_one_finding():
    x, y = np.arange(4, dtype=np.int32), np.zeros(1, np.int32)
    at = np.array([x.ctypes.data], np.uint64)
    (found,) = findings_of(FAR, at, y)
    assert (found.kind, found.source, x.tolist()) == ("out_of_bounds", ("far.cu", 3), [0, 1, 2, 3])
    assert findings_of(FAR, at, y, arrays=[x]) == []
    assert (x.tolist(), y.tolist()) == ([5, 1, 4, 3], [1])


def test_memory_of_no_known_array_can_be_accessed_as_in_a_plain_launch():
    x, y = np.arange(4, dtype=np.int32), np.zeros(1, np.int32)
    far, read = RawKernel(FAR, "far"), RawKernel(READ, "read")
    report = CheckReport()
    report.unknown_memory = True
    with observing(report):
        far((1,), (1,), (np.array([x.ctypes.data], np.uint64), y))
        assert (x.tolist(), y.tolist(), report.findings) == ([5, 1, 4, 3], [1], [])
        (note,) = report.notes
        assert note.startswith("far: not checked: far.cu:3 is ")
        assert note.endswith(": memory that an address in argument 0 leads to")
        far((1,), (1,), (np.array([4096], np.uint64), y))  # where there is none
        read((1,), (1,), (numbers(3), 2**20, numbers(1)))
    assert {f.kind for f in report.findings} == {"out_of_bounds"}
    assert {f.kernel for f in report.findings} == {"far", "read"}
