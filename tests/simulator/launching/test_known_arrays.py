"""Arrays that kernels reach through addresses in structures, integers, variables and arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawModule, checked, empty, traffic
from cudakern.simulator.launching import launch_parameters
from tests.helpers.rows import each

MODULE = RawModule(
    code=r"""
typedef unsigned long long u64;
struct View { const float* begin; const float* end; float* y; int n; };
extern "C" __global__ void copy(View v) {
  int i = 0;
  for (const float* p = v.begin; p != v.end; ++p) v.y[i++] = *p;
  if (v.n) v.y[v.n] = 9;
}
extern "C" __global__ void add(float** rows, int n) {
  for (int i = 0; i < n; ++i) rows[i][threadIdx.x] += 1;
}
extern "C" __global__ void add_deep(float*** rows) { rows[0][1][threadIdx.x] += 1; }
extern "C" __global__ void store(u64 address, long long i) { ((int*)address)[i] = 3; }
extern "C" __global__ void load(const u64* a, int i, int* y) { y[0] = ((const int*)a[0])[i]; }
extern "C" __global__ void race(u64 address) { ((int*)address)[0] = threadIdx.x; }
struct Node { Node* next; u64 value; };
__device__ Node* head;
__constant__ u64* table[2];
extern "C" __global__ void link(Node* nodes, int n) {
  for (int i = 0; i < n; ++i) nodes[i].next = i == 0 ? nullptr : nodes + i - 1;
  head = nodes + n - 1;
}
extern "C" __global__ void sum_list(u64* out) {
  for (Node* node = head; node != nullptr; node = node->next) *out += node->value++;
}
extern "C" __global__ void sum_table(u64* out) { *out = table[0][1] + table[1][0]; }
extern "C" __global__ void keep(u64* out, const char* x, long long i) { out[1] = (u64)(x + i); }
__device__ u64** kept;
extern "C" __global__ void remember(u64* x) {
  kept = (u64**)malloc(sizeof(u64*));
  *kept = x;
}
extern "C" __global__ void recall() { **kept = 5; free(kept); kept = nullptr; }
extern "C" __global__ void gap(const u64* a, float* y) { *y = ((const float*)a[0])[1]; }
extern "C" __global__ void grid(float** rows) { rows[blockIdx.x][threadIdx.x] += 1; }
"""
)
VIEW = np.dtype([("begin", "u8"), ("end", "u8"), ("y", "u8"), ("n", "i4")], align=True)


def launch(name, *arguments, grid=(1,), block=(1,)):
    MODULE.get_function(name)(grid, block, arguments)


def faults(name, *arguments, arrays=(), grid=(1,), block=(1,), seed=0):
    """Return the findings of a checked launch."""
    with checked(seed=seed, arrays=arrays) as report:
        launch(name, *arguments, grid=grid, block=block)
        findings, report.findings = report.findings, []
    return findings


def where(findings):
    return [(f.kind, f.array, f.index) for f in findings]


def addresses(*arrays):
    return np.array([array.ctypes.data for array in arrays], np.uint64)


def numbers(size):
    return np.arange(size, dtype=np.float32)


def view(x, y, n=0):
    return np.array((x.ctypes.data, x.ctypes.data + x.nbytes, y.ctypes.data, n), VIEW)


@each("seed", range(5))
def test_pointers_in_a_structure(seed):
    x, y = numbers(5), np.zeros(6, np.float32)
    assert faults("copy", view(x, y), arrays=[x, y], seed=seed) == []
    assert y.tolist() == [0, 1, 2, 3, 4, 0]
    found = faults("copy", view(x, y, 6), arrays=[x, y], seed=seed)
    assert where(found) == [("out_of_bounds", "arrays[1]", 6)]
    assert "it is element 6 of arrays[1], shape (6,)" in found[0].message
    found = faults("copy", view(x, y, -1), arrays={"x": x, "out": y}, seed=seed)
    assert where(found) == [("out_of_bounds", "out", -1)]


def test_arrays_of_pointers():
    x, y, z = numbers(4), numbers(4), numbers(4)
    rows = addresses(x, y)
    before = rows.copy()
    assert faults("add", rows, 2, arrays=[x, y, z], block=(4,)) == []
    assert x.tolist() == y.tolist() == [1, 2, 3, 4]
    assert (rows == before).all()
    found = faults("add", rows, 2, arrays=[x, y], block=(5,))
    assert where(found) == [("out_of_bounds", f"arrays[{i}]", 4) for i in range(2)]
    top = addresses(rows)
    assert faults("add_deep", top, arrays=[z, y, x, rows], block=(4,)) == []
    assert y.tolist() == [3, 4, 5, 6]


def test_addresses_given_as_integers():
    x = np.zeros(4, np.int32)
    assert faults("store", x.ctypes.data, 3, arrays=[x]) == []
    assert faults("store", np.uint64(x.ctypes.data + 4), 1, arrays=[x]) == []
    assert faults("store", x.ctypes.data + x.nbytes, -4, arrays=[x]) == []
    assert x.tolist() == [3, 0, 3, 3]
    assert where(faults("store", x.ctypes.data + 4, -2, arrays=[x])) == [
        ("out_of_bounds", "arrays[0]", -1)
    ]


def test_arguments_of_the_same_launch_are_known():
    x, y = np.arange(4, dtype=np.int32), np.zeros(1, np.int32)
    pair = np.zeros(2, np.uint64)
    pair[0] = pair.ctypes.data
    assert faults("load", addresses(y), 0, y) == []
    assert faults("keep", pair, x, 16) == []
    assert pair.tolist() == [pair.ctypes.data, x.ctypes.data + 16]
    assert faults("keep", pair, x, -4) == []
    assert int(pair[1]) == x.ctypes.data - 4


def test_arrays_of_empty_are_known():
    x, y, other = empty(4, np.int32), np.zeros(1, np.int32), empty(4)
    found = faults("load", addresses(x), 2, y)
    assert where(found) == [("uninitialized", "simulator.empty", 2)]
    x[2] = 8
    assert faults("load", addresses(x), 2, y) == []
    assert y == 8
    assert where(faults("load", addresses(x), 4, y)) == [("out_of_bounds", "simulator.empty", 4)]
    found = faults("load", addresses(x[1:]), 2, y, arrays={"x": x})
    assert where(found) == [("uninitialized", "x", 3)]
    del other


def test_an_array_of_empty_that_another_thread_makes_amid_a_launch(monkeypatch):
    class Spans(dict):
        def copy(self):
            copied = super().copy()
            if len(made) == 1:
                made.append(empty(1, np.int32))
            return copied

    monkeypatch.setattr(launch_parameters, "_spans", Spans(launch_parameters._spans))  # noqa: SLF001
    made = [empty(1, np.int32)]
    for x in made:  # grows
        found = faults("load", addresses(x), 0, np.zeros(1, np.int32))
        assert where(found) == [("uninitialized", "simulator.empty", 0)]
    assert len(made) == 2


def test_races_and_arrays_that_are_read_only():
    x = np.zeros(4, np.int32)
    found = faults("race", x.ctypes.data, arrays={"x": x}, block=(2,))
    assert where(found) == [("race", "x", 0)]
    x.flags.writeable = False
    (finding,) = faults("store", x.ctypes.data, 1, arrays={"x": x})
    assert "must be to an array that can be written; it is element 1 of x," in finding.message
    assert x.tolist() == [0] * 4


def test_addresses_in_no_array():
    x, y = np.arange(4, dtype=np.int32), np.zeros(1, np.int32)
    where_from = "reached by an address in argument 0, not given as an array: checked(arrays=...)"
    for found in (
        faults("store", x.ctypes.data, 2),
        faults("store", x.ctypes.data + x.nbytes, -1),
        faults("load", addresses(x), 2, y),
        faults("copy", view(x, y))[:1],
    ):
        (finding,) = found
        assert (finding.kind, finding.array) == ("out_of_bounds", None)
        assert re.search(rf"; it is at address 0x\w+, {re.escape(where_from)} \(", finding.message)
    top, rows = addresses(x), np.zeros(1, np.uint64)
    rows[:] = top.ctypes.data
    (finding,) = faults("add_deep", rows, arrays={"tops": top})[:1]
    assert finding.array == "tops"  # whose second element is read
    (finding,) = faults("store", 0, 0)
    assert "at address 0x0, far from every array" in finding.message
    assert x.tolist() == [0, 1, 2, 3]


def test_variables_hold_addresses():
    nodes, out = np.zeros((5, 2), np.uint64), np.zeros(1, np.uint64)
    nodes[:, 1] = [1, 10, 100, 1000, 10000]
    head = MODULE.get_global("head").view(np.uint64)
    assert faults("link", nodes, 5) == []
    start = nodes.ctypes.data
    assert nodes[:, 0].tolist() == [0, *(start + 16 * i for i in range(4))]
    assert head == start + 64
    assert faults("sum_list", out, arrays=[nodes]) == []
    launch("sum_list", out)  # plain
    assert out == 2 * 11111 + 5
    (finding, *_) = faults("sum_list", out)
    assert "reached by an address in variable head, not given as an array" in finding.message
    head[:] = 0
    x, y = np.arange(1, 4, dtype=np.uint64), np.arange(7, 9, dtype=np.uint64)
    table = MODULE.get_global("table").view(np.uint64)
    table[:] = addresses(x, y)
    assert faults("sum_table", out, arrays=[x, y]) == []
    assert out == 2 + 7
    assert (table == addresses(x, y)).all()


def test_memory_of_malloc_holds_addresses():
    x = np.zeros(1, np.uint64)
    assert faults("remember", x) == []
    others = [empty(100) for _ in range(3)]
    assert faults("recall", arrays=[*others, x]) == []
    assert x == 5


def test_overlapping_neighbouring_and_strided_arrays():
    x, y = numbers(9), np.zeros(9, np.float32)
    assert faults("copy", view(x[:4], y), arrays=[x[2:8], x[:4], y]) == []
    assert y.tolist() == [0, 1, 2, 3, 0, 0, 0, 0, 0]
    beyond = [("out_of_bounds", "arrays[0]", 4)]
    assert where(faults("store", x.ctypes.data, 4, arrays=[x[:4]])) == beyond
    assert faults("store", x.ctypes.data, 4, arrays=[x, x[:4]]) == []
    gap = [("out_of_bounds", "arrays[0]", 1)]
    assert where(faults("gap", addresses(x), y, arrays=[x[::3]])) == gap
    assert faults("gap", addresses(x), y, arrays=[x]) == []


def test_null_is_no_end_of_an_array():
    with checked():  # an operand has no elements, and its address is null
        assert np.asarray(ck.one_hot([1, 0], 3)).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_many_arrays():
    rows = [numbers(4) for _ in range(500)]
    table = addresses(*rows)
    assert faults("grid", table, arrays=rows, grid=(500,), block=(4,)) == []
    assert all(row.tolist() == [1, 2, 3, 4] for row in rows)
    found = faults("grid", table, arrays=rows, grid=(500,), block=(5,))
    assert len({f.array for f in found}) == len(found) > 100


@each("blocks", [None, 3])
def test_traffic(blocks):
    rows = [numbers(64) for _ in range(9)]
    with traffic(blocks, arrays=rows) as report:
        launch("grid", addresses(*rows), grid=(9,), block=(64,))
    (kernel,) = report.kernels
    assert kernel.sampled == (blocks or 9)
    assert kernel.stores.bytes_requested == 9 * 256
    assert rows[8][0] == (blocks is None)
    message = "one that only an address in a structure or in another array leads to must be given"
    with pytest.raises(ck.SimulatorError, match=message), traffic(blocks):
        launch("grid", addresses(*rows), grid=(9,), block=(64,))


@each(
    "arrays, error, message",
    [
        (5, ck.BindingError, "arrays must be a sequence of arrays, or arrays by names; got 5"),
        (numbers(3), ck.BindingError, "arrays must be a sequence of arrays, or arrays by names"),
        ([1], ck.DTypeError, r"arrays\[0\] must be a NumPy array; got int"),
        ({"x": None}, ck.DTypeError, "x must be a NumPy array; got NoneType"),
        ([np.array([None])], ck.DTypeError, r"arrays\[0\] must hold what a GPU can; got object"),
    ],
)
def test_arrays_that_cannot_be(arrays, error, message):
    for block in (checked, traffic):
        expected = pytest.raises(error, match=f"^simulator.{block.__name__}: {message}")
        with expected, block(arrays=arrays):
            pass
