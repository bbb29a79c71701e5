"""Small arrays of plain launches: overruns are errors; otherwise the copies do not show."""

from __future__ import annotations

import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawModule
from tests.helpers.processes import printed
from tests.helpers.rows import each
from tests.helpers.simulated import assert_works

CODE = r"""
typedef unsigned long long u64;
extern "C" __global__ void poke(const char* a, char* x, long long i, int n) {
  for (int k = 0; k < n; ++k) x[i + k] = 7;
}
extern "C" __global__ void peek(const char* x, long long i, char* y) { *y = x[i]; }
struct Pair { u64 first, second; };
__device__ void find(u64* out, const char* x) {  // without that any of x's bits are in the result
  u64 low = 0, high = u64(1) << 48;
  while (low < high) {
    const u64 middle = (low + high) / 2;
    if (middle < (u64)x) low = middle + 1; else high = middle;
  }
  *out = low;
}
extern "C" __global__ void where(u64* out, const char* x) { find(out, x); }
extern "C" __global__ void where_first(u64* out, const char* x, u64 more) { find(out, x); }
extern "C" __global__ void where_last(u64* out, u64 more, const char* x) { find(out, x); }
extern "C" __global__ void where_pair(u64* out, const char* x, Pair more) { find(out, x); }
extern "C" __global__ void add(char* x, const char* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += y[i];
}
extern "C" __global__ void pass(int* x, int* y, int* z) { x[0] = 1; y[0] += x[0]; z[0] += y[0]; }
extern "C" __global__ void neighbours(int* x) { x[0] = x[-1] + x[1]; }
struct Node { Node* next; u64 value; };
__device__ Node* head;
extern "C" __global__ void link(Node* nodes, int n) {
  for (int i = 0; i < n; ++i) nodes[i].next = i == 0 ? nullptr : nodes + i - 1;
  head = nodes + n - 1;
}
extern "C" __global__ void sum_list(u64* out) {
  for (Node* node = head; node != nullptr; node = node->next) *out += node->value;
}
extern "C" __global__ void sum_nodes(Node* nodes, int last, u64* out) {
  for (Node* node = nodes + last; node != nullptr; node = node->next) *out += node->value++;
}
extern "C" __global__ void scale(Node* nodes) {
  nodes[4].value *= 10;
  head->value *= 10;
}
extern "C" __global__ void meet(volatile int* x, int own, int other, int* y) {
  y[0] = x[9];
  x[own] = 1;
  while (x[other] == 0 && x[own + 4] < 10000000) ++x[own + 4];  // memory changes: no deadlock
  if (x[other] == 0) y[0] = -1;  // after seconds
}
extern "C" __global__ void write_late(char* x) {
  const long long start = clock64();
  while (clock64() - start < 100000000) {}
  x[3] = 7;
}
extern "C" __global__ void write_and_trap(int* x) { x[1] = 5; __trap(); }
extern "C" __global__ void many(char* MANY) { a0[0] += 1; a31[0] += 1; }
""".replace("MANY", ", char* ".join(f"a{i}" for i in range(32)))
MODULE = RawModule(code=CODE)
MEBIBYTE = 1 << 20


def launch(name, *arguments, block=(1,)):
    MODULE.get_function(name)((1,), block, arguments)


def fails(name, *arguments):
    """Return the error of a launch, after which the process works as before."""
    with pytest.raises(ck.SimulatorError) as caught:
        launch(name, *arguments)
    assert_works()
    assert caught.value.kind == "out_of_bounds"
    return caught.value


def address_of(array):
    return array.__array_interface__["data"][0]


def aligned(nbytes, alignment=16):
    """Return an array whose address is an odd multiple of the alignment."""
    others = []
    for _ in range(10_000):
        array = np.zeros(nbytes, np.uint8)
        if address_of(array) % (2 * alignment) == alignment:
            return array
        others.append(array)
    raise AssertionError


def seen_at(name, *arguments):
    """Return the address at which a kernel sees an array."""
    out = np.zeros(1, np.uint64)
    launch(name, out, *arguments)
    return int(out[0])


PAST, BEFORE = "past the end", "before the start"
#: Size of the array, first byte written, count of bytes, how far they are outside, and whether
#: the processor notices it.
OVERRUNS = {
    "one byte past": (13, 13, 1, f"1 bytes {PAST}", False),
    "all of the gap": (52, 52, 12, f"12 bytes {PAST}", False),
    "the last byte of the gap": (52, 63, 1, f"12 bytes {PAST}", False),
    "across the end": (52, 50, 8, f"6 bytes {PAST}", False),
    "at the page": (64, 64, 1, f"1 bytes {PAST}", True),
    "beyond the gap": (52, 52, 13, f"13 bytes {PAST}", True),
    "far past": (52, MEBIBYTE, 1, f"{MEBIBYTE - 51} bytes {PAST}", True),
    "one byte before": (52, -1, 1, f"1 bytes {BEFORE}", False),
    "a row before": (52, -1024, 8, f"1024 bytes {BEFORE}", False),
    "far before": (52, -20_000, 1, f"20000 bytes {BEFORE}", True),
    "of no elements": (0, 0, 1, f"1 bytes {PAST}", True),
    "of the most bytes": (MEBIBYTE, MEBIBYTE, 1, f"1 bytes {PAST}", True),
}


@each("nbytes, first, count, where, is_fault", OVERRUNS.values(), ids=OVERRUNS)
def test_overrun(nbytes, first, count, where, is_fault):
    x = aligned(nbytes)
    error = fails("poke", np.ones(1000, np.uint8), x, first, count)
    assert error.message == (
        f"{'an access' if is_fault else 'a write'} must lie inside of an array; it reached {where} "
        f"of the memory of argument 1, which has {nbytes} bytes: run it inside of "
        "cudakern.simulator.checked() for the line"
    )
    assert error.kernel == "poke"
    assert error.block == error.thread == ((0, 0, 0) if is_fault else ())
    inside = slice(max(first, 0), min(first + count, nbytes))
    assert (x[inside] == 7).all()  # the bytes within the array are written


def test_what_else_is_an_overrun():
    x, y = aligned(64), np.zeros(1, np.uint8)
    assert "1 bytes past the end of the memory of argument 0," in str(fails("peek", x, 64, y))
    made = ck.simulator.empty(13, np.uint8)
    assert "1 bytes past" in fails("poke", None, made, 13, 1).message
    shared = np.zeros(52, np.uint8)  # two arrays share it; the first is named
    assert "argument 0, which has 52" in fails("poke", shared, shared[5:9], 47, 1).message
    launch("poke", shared, shared[5:9], -5, 52)
    assert (shared == 7).all()


def layouts():
    """Yield names of layouts, and arrays."""
    numbers = np.arange(60, dtype=np.uint8)
    yield "row-major", numbers.reshape(6, 10).copy()
    yield "Fortran's", np.asfortranarray(numbers.reshape(6, 10))
    yield "records", np.zeros(9, [("a", "u1"), ("b", "f8"), ("c", "i2")])
    yield "a scalar", np.array(7, np.int64)
    yield "a view", numbers.copy()[7:31]
    yield "columns", numbers.reshape(6, 10).copy()[:, 3:5]
    yield "none", np.zeros(0, np.float32)
    yield "read-only", numbers.copy()
    yield "of the most bytes", np.zeros(MEBIBYTE, np.uint8)
    yield "larger", np.zeros(MEBIBYTE + 1, np.uint8)
    yield "of another's memory", np.frombuffer(bytearray(64), np.uint8)


LAYOUTS = dict(layouts())


@each("name", LAYOUTS)
def test_every_byte_comes_and_goes(name):
    x = LAYOUTS[name].copy("K") if name != "of another's memory" else LAYOUTS[name]
    x.flags.writeable = name != "read-only"
    before = x.tobytes("A")
    y = np.random.default_rng(3).integers(0, 256, x.nbytes, np.uint8)
    launch("add", x, y, np.int32(x.nbytes), block=(64,))
    expected = np.frombuffer(before, np.uint8) + y
    assert x.tobytes("A") == expected.tobytes()
    read_only = y.copy()
    launch("add", x, y, np.int32(x.nbytes), block=(64,))  # with the same copies as before
    assert x.tobytes("A") == (expected + y).tobytes()
    assert (y == read_only).all()


def test_views_reach_all_of_their_allocation():
    x = np.arange(6, dtype=np.int32)
    launch("neighbours", x[2:3])
    launch("neighbours", x[::-1][1:2])
    assert x.tolist() == [0, 1, 4, 3, 8, 5]


def test_the_same_array_twice():
    x, y = np.zeros(3, np.int32), np.ones(1, np.int32)
    launch("pass", x, x, x[:2])
    assert x.tolist() == [4, 0, 0]
    launch("pass", x[1:], y, x[1:])
    assert (x.tolist(), y.tolist()) == ([4, 3, 0], [2])


GUARDED = {
    "small": (np.zeros(5), True),
    "of the most bytes": (np.zeros(MEBIBYTE, np.uint8), True),
    "larger": (np.zeros(MEBIBYTE + 1, np.uint8), False),
    "a view of a larger one": (np.zeros(MEBIBYTE + 1, np.uint8)[5:9], False),
    "a view": (np.zeros((5, 5))[::-1, 1:], True),
    "a subclass": (np.ma.zeros(5), True),
    "of another's memory": (np.frombuffer(bytearray(64), np.uint8), False),
}


@each("array, is_guarded", GUARDED.values(), ids=GUARDED)
def test_which_arrays_are_guarded(array, is_guarded):
    assert (seen_at("where", array) != address_of(array)) == is_guarded


@each("alignment", [16, 32, 64, 128, 256])
def test_alignment_is_kept(alignment):
    x = np.zeros(5 * 256, np.uint8)
    view = x[-address_of(x) % alignment + 3 * alignment :]
    assert seen_at("where", view) % alignment == 0
    assert seen_at("where_last", x, view) % alignment == 0
    assert seen_at("where", x) % 16 == address_of(x) % 16


def test_an_array_whose_address_comes_in_another_way_is_in_place():
    x, pairs = np.zeros(5), np.dtype([("first", "u8"), ("second", "u8")])
    start = address_of(x)
    for address in (start, start + 8, start + x.nbytes):
        assert seen_at("where_first", x, address) == start
        assert seen_at("where_last", np.uint64(address), x) == start
        assert seen_at("where_pair", x, np.array((0, address), pairs)) == start
        assert seen_at("where_first", x, np.array([0, 0, address], np.uint64)) == start
    assert seen_at("where_first", x, np.frombuffer(memoryview(x), np.uint8)) == start
    assert seen_at("where_first", x, start + x.nbytes + 1) != start
    assert seen_at("where_last", start - 1, x) != start


def test_addresses_that_kernels_keep():
    """After a launch, arrays and variables hold the arrays' own addresses, not those of copies."""
    nodes = np.zeros((5, 2), np.uint64)
    nodes[:, 1] = [1, 10, 100, 1000, 10000]
    launch("link", nodes, 5)
    assert nodes[:, 0].tolist() == [0, *(address_of(nodes) + 16 * i for i in range(4))]
    head = MODULE.get_global("head").view(np.uint64)
    assert head == address_of(nodes) + 64
    out = np.zeros(1, np.uint64)
    launch("sum_list", out)
    assert out == 11111
    launch("sum_nodes", nodes, 2, out)
    assert out == 11111 + 111
    assert nodes[:, 1].tolist() == [2, 11, 101, 1000, 10000]
    nodes[:, 0] = 0  # only the variable leads to the nodes
    launch("scale", nodes)
    assert nodes[:, 1].tolist() == [2, 11, 101, 1000, 1000000]


KEEPING = r"""
typedef unsigned long long u64;
struct Kept { int* first; int n; int* second; };
__device__ Kept* head;
__device__ int* variables[2];
__device__ __noinline__ void put(Kept* to, int* x) { to->first = x; }
__device__ __noinline__ int* further(Kept kept, int n) { return kept.first + n; }
__device__ __noinline__ void copy(int** to, const Kept* from) { *to = from->first; }
__device__ __noinline__ void again(int** to, int* x, int n) {
  if (n == 0) *to = x; else again(to, x, n - 1);
}
#define KERNEL(NAME, ...) extern "C" __global__ void NAME(int* x, int** to, int n) { __VA_ARGS__ }
KERNEL(by_new, *to = (int*)(head = new Kept{x, n, x + n}); )
KERNEL(by_malloc, Kept* kept = (Kept*)malloc(sizeof(Kept)); put(kept, x); kept->n = n;
       kept->second = further({x, n}, n); head = kept; )
KERNEL(by_variable, variables[0] = x; variables[n] = x + n; )
KERNEL(by_array, *to = x; )
KERNEL(by_atomic, atomicExch((u64*)to, (u64)x); )
KERNEL(by_compared, atomicCAS((u64*)to, (u64)0, (u64)x); )
KERNEL(by_halves, ((int*)to)[0] = (int)(u64)x; ((int*)to)[1] = (int)((u64)x >> 32); )
KERNEL(by_asm, asm volatile("st.global.v2.u64 [%0], {%1, %1};" :: "l"(to), "l"(x)); )
KERNEL(by_shared, __shared__ int* s[4]; s[n % 4] = x; __syncthreads(); *to = s[3]; )
KERNEL(by_local, int* some[4] = {nullptr, x, nullptr, x + n}; *to = some[n & 3] - n; )
KERNEL(by_lane, *to = (int*)__shfl_sync(1, (u64)x, 0); )
KERNEL(by_address, Kept kept = {x, n, x}; copy(to, &kept); )
KERNEL(by_recursion, again(to, x, n); )
extern "C" __global__ void by_parameter(int* x, int** to, int n, Kept kept) {
  const int** parameter = (const int**)&x;
  *to = (int*)parameter[n - n];
}
extern "C" __global__ void read_kept(int* x, int* out) {
  x[4] = 70;
  out[0] = *(volatile int*)&head->first[4];
  out[1] = head->second - x;
  head->first[5] = 80;
  out[2] = *(volatile int*)&x[5];
}
"""
KEEPERS = RawModule(code=KEEPING)
KEPT_IN = [
    "array", "atomic", "compared", "halves", "asm", "shared", "local", "lane", "address",
    "recursion", "parameter",
]  # fmt: skip


@each("name", KEPT_IN)
def test_an_address_that_outlives_its_launch(name):
    x, to = np.arange(10, dtype=np.int32), np.zeros(MEBIBYTE, np.uint64)
    more = (np.zeros(1, "u8, i8, u8"),) if name == "parameter" else ()
    KEEPERS.get_function(f"by_{name}")((1,), (1,), (x, to, 3, *more))
    assert to[0] == address_of(x)


@each("name", ["new", "malloc"])
def test_an_address_in_the_heap(name):
    x, out = np.arange(10, dtype=np.int32), np.zeros(3, np.int32)
    KEEPERS.get_function(f"by_{name}")((1,), (1,), (x, np.zeros(2, np.uint64), 3))
    KEEPERS.get_function("read_kept")((1,), (1,), (x, out))  # as an argument and by its address
    assert (out.tolist(), x[4:6].tolist()) == ([70, 3, 80], [70, 80])


def test_an_address_in_a_variable():
    x = np.arange(10, dtype=np.int32)
    KEEPERS.get_function("by_variable")((1,), (1,), (x, np.zeros(2, np.uint64), 1))
    addresses = KEEPERS.get_global("variables").view(np.uint64)
    assert addresses.tolist() == [address_of(x), address_of(x) + 4]


def test_launches_at_the_same_time_share_a_copy():
    x, y, z = np.zeros(10, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(launch, "meet", x, 0, 1, y)
        sleep(0.05)
        x[8:] = [3, 4]  # where the first launch does not write
        launch("poke", None, x[2:], 0, 1)  # while the first launch runs
        assert x[2] == 7
        x[2] = 0
        second = pool.submit(launch, "meet", x, 1, 0, z)
        first.result(), second.result()
    assert (x[:4].tolist(), x[8:].tolist()) == ([1, 1, 0, 0], [3, 4])
    assert (y >= 0, z) == (True, 4)


def test_the_host_writes_beside_a_kernel():
    x = np.zeros(8, np.uint8)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(launch, "write_late", x)
        sleep(0.03)
        x[[2, 4]] = 9
        late.result()
    assert x.tolist() == [0, 0, 9, 7, 9, 0, 0, 0]


def test_what_a_failed_launch_has_written_is_there():
    x = np.zeros(3, np.int32)
    with pytest.raises(ck.SimulatorError, match="trap"):
        launch("write_and_trap", x)
    assert x.tolist() == [0, 5, 0]


def test_threads_write_parts_of_an_array():
    x = np.zeros(8 * 37, np.uint8)
    y = np.ones(37, np.uint8)

    def work(i):
        part = x[37 * i : 37 * i + 37]
        for k in range(100):
            launch("add", part, y, np.int32(37))
            part += 1
            assert (part == 2 * k + 2).all()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_arrays_without_memory_for_copies():
    """The launch works on them in place."""
    arrays = [np.zeros(MEBIBYTE, np.uint8) for _ in range(32)]
    launch("many", *arrays)  # so that the next launch needs no other memory
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEBIBYTE, limits[1]))
    try:
        launch("many", *arrays)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert arrays[0][0] == arrays[31][0] == 2


def test_little_memory_is_kept():
    def count_maps():  # of the size of one of the two maps that a copy has
        lines = Path("/proc/self/maps").read_text().splitlines()
        mapped = [[int(end, 16) for end in line.split()[0].split("-")] for line in lines]
        return [end - start for start, end in mapped].count(2 * MEBIBYTE)

    before = count_maps()
    arrays = [np.zeros(MEBIBYTE, np.uint8) for _ in range(32)]
    for _ in range(2):
        launch("many", *arrays)
    assert arrays[0][0] == arrays[31][0] == 2
    assert count_maps() - before < 32


def test_small_launches_map_no_memory():
    x = np.zeros(3, np.int32)
    launch("pass", x, x, x)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(200):
        launch("pass", x, x, x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults < 200


def test_a_fork_amid_a_launch():
    program = """
import os, threading, time, numpy as np
from tests.simulator.launching.test_guarded_arrays import MODULE, launch
MODULE.compile()
x, y = np.zeros(10, np.int32), np.zeros(1, np.int32)
thread = threading.Thread(target=launch, args=("meet", x, 0, 1, y), daemon=True)
thread.start()
time.sleep(1)
child = os.fork()
if child == 0:
    x[:] = 5
    launch("pass", x, y, y)
    os._exit(x.tolist() != [1] + [5] * 9)
assert os.waitpid(child, 0)[1] == 0
launch("meet", x, 1, 0, y)
thread.join()
assert x[:4].tolist() == [1, 1, 0, 0] and y[0] >= 0
"""
    printed(program, flags=["-W", "ignore"])
