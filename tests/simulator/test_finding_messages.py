"""What findings say: where an access lies, in whatever memory, and why two of them race."""

from __future__ import annotations

import re
from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, checked
from tests.simulator.launches import findings_of


def message(code, *arguments, **options):
    """Return the message of the one thing that a kernel did wrong, after the place."""
    (finding,) = findings_of(code, *arguments, **options)
    assert str(finding) == f"k: {finding.kind}: {finding.message}"
    assert "\n" not in finding.message
    assert finding.source == ("k.cu", 2)
    start = "k.cu:2: "
    assert finding.message.startswith(start)
    return finding.message.removeprefix(start)


def kernel(line, parameters="int* x, int i", before=""):
    """Return a kernel of one line, the second."""
    return f'{before} extern "C" __global__ void k({parameters}) {{\n{line}\n}}'


UNITS = "in units of 4 bytes"
ONE = "(block (0, 0, 0), thread (0, 0, 0))"
OUTSIDE = "must lie inside of an array; it is"
X = np.zeros(4, np.int32)
CASES = {
    "argument": (
        kernel("x[0] = weights[i];", "int* x, const int* __restrict__ weights, int i"),
        (X, X.copy(), 5),
        f"read of 4 bytes {OUTSIDE} element 5 of argument 1 (weights), shape (4,)",
    ),
    "before": (
        kernel("x[i] = 1;"),
        (X, -1),
        f"write of 4 bytes {OUTSIDE} element -1 of argument 0 (x), shape (4,)",
    ),
    "half": (
        kernel("*(short*)((char*)x + i) = 1;"),
        (X, 18),
        f"write of 2 bytes {OUTSIDE} element 4 plus 2 bytes of argument 0 (x), shape (4,)",
    ),
    "unnamed": (
        (
            '#define KERNEL extern "C" __global__ void k(int* x, int i)\n'
            '#line 1 "k.cu"\nKERNEL {\nx[i] = 1; }'
        ),
        (X, 4),
        f"write of 4 bytes {OUTSIDE} element 4 of argument 0, shape (4,)",
    ),
    "wrapped": (
        kernel("x[(unsigned)i] = 1;"),
        (X, -3),
        (
            f"write of 4 bytes {OUTSIDE} element 4294967293 of argument 0 (x), shape (4,): "
            "-3 as a 32-bit integer"
        ),
    ),
    "misaligned": (
        kernel("*(int*)((char*)x + i) = 1;"),
        (X, 6),
        (
            "write of 4 bytes must lie on a multiple of 4 bytes; "
            "it is element 1 plus 2 bytes of argument 0 (x), shape (4,)"
        ),
    ),
    "shared": (
        kernel("x[0] = table[i];", before="__shared__ int table[3];"),
        (X, 3),
        f"read of 4 bytes {OUTSIDE} element 3 of shared array table of 12 bytes, {UNITS}",
    ),
    "dynamic": (
        kernel("rest[i] = 1;", before="extern __shared__ int rest[];"),
        (X, 2),
        (
            f"write of 4 bytes {OUTSIDE} "
            "element 2 of dynamic shared memory of 8 bytes, in units of 4 bytes"
        ),
    ),
    "variable": (
        kernel("x[0] = ns::counts[i];", before="namespace ns { __device__ int counts[3]; }"),
        (X, 3),
        f"read of 4 bytes {OUTSIDE} byte 12 of global variable counts of 12 bytes",
    ),
    "constant": (
        kernel("x[0] = factors[i];", before="__constant__ int factors[3];"),
        (X, 3),
        f"read of 4 bytes {OUTSIDE} byte 12 of constant variable factors of 12 bytes",
    ),
    "constant_write": (
        kernel(
            'asm volatile("st.u32 [%0], 1;" :: "l"(factors + i) : "memory");',
            before="__constant__ int factors[3];",
        ),
        (X, 2),
        (
            "write of 4 bytes must not be to constant memory; "
            "it is byte 8 of constant variable factors of 12 bytes"
        ),
    ),
    "local": (
        kernel("int v[8]; for (int n = 0; n < 8; ++n) v[n] = x[n % 4]; x[0] = v[i];"),
        (X, 8),
        f"read of 4 bytes {OUTSIDE} byte 32 of the thread's local memory",
    ),
    "heap": (
        kernel("int* p = (int*)malloc(12); p[i] = 1; x[0] = p[0]; free(p);"),
        (X, 3),
        f"write of 4 bytes {OUTSIDE} byte 12 of memory that malloc gave",
    ),
    "unwritten": (
        kernel("x[0] = table[i];", before="__shared__ int table[3];"),
        (X, 1),
        (
            "read of 4 bytes must come after a write; "
            "nothing wrote element 1 of shared array table of 12 bytes, in units of 4 bytes"
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_where_an_access_lies(case):
    code, arguments, expected = CASES[case]
    first, *_ = findings_of(code, *arguments, shared_mem=8 * (case == "dynamic"))
    assert first.message == f"k.cu:2: {expected} {ONE}"


def test_an_array_that_is_read_only():
    x = np.zeros(4, np.int32)
    x.flags.writeable = False
    assert findings_of(kernel("x[1] = w[i];", "int* x, const int* w, int i"), X.copy(), x, 1) == []
    expected = "write of 4 bytes must be to an array that can be written; it is element 1 of "
    assert message(kernel("x[i] = 1;"), x, 1) == f"{expected}argument 0 (x), shape (4,) {ONE}"
    assert OUTSIDE in message(kernel("x[i] = 1;"), x, 4)
    assert x.tolist() == [0] * 4


def test_a_store_to_shared_memory_and_then_to_what_is_read_only():
    x = np.zeros(4, np.int32)
    x.flags.writeable = False
    store = 'asm volatile("st.u32 [%0], 1;" :: "l"(k == i ? x : s) : "memory");'
    loop = f'_Pragma("unroll 1") for (int k = 0; k < 2; ++k) {store}'
    code = kernel(loop, before="__shared__ int s[4];")
    for last in (0, 1):
        assert "must be to an array that can be written" in message(code, x, last)


STRIDED = "; argument 0 is not contiguous: a kernel sees its memory, not its elements"


@pytest.mark.parametrize(
    ("view", "index", "is_said"),
    [
        (np.zeros(12, np.int32)[::3], 1, True),
        (np.zeros((4, 4), np.int32)[:, :2], 14, True),
        (np.broadcast_to(np.zeros(1, np.int32), (8,)), 1, True),
        (np.zeros(8, np.int32)[::-1], 1, True),
        (np.zeros(12, np.int32)[4:8], 4, False),
        (np.zeros((3, 4), np.int32).T, 12, False),
    ],
)
def test_views_that_are_not_contiguous(view, index, is_said):
    (finding,) = findings_of(kernel("y[0] = x[i];", "const int* x, int i, int* y"), view, index, X)
    assert finding.kind == "out_of_bounds"
    assert finding.message.endswith(f"{STRIDED if is_said else ''} {ONE}")


def test_an_array_that_itself_starts_misaligned():
    code = kernel("*(int4*)(x + i) = int4();")
    x = np.zeros(12, np.int32)
    x = x[(-(x.ctypes.data // 4) % 4) :]  # at a multiple of 16
    text = "; argument 0 itself starts misaligned: its address is 8 modulo 16"
    (finding,) = findings_of(code, x[2:], 0)
    assert (finding.kind, finding.message.endswith(f"{text} {ONE}")) == ("misaligned", True)
    (finding,) = findings_of(code, x, 2)
    assert (finding.kind, "itself" in finding.message) == ("misaligned", False)
    assert findings_of(code, x[2:], 2) == []
    records = np.zeros(3, np.dtype([("a", "i1"), ("b", "i4")]))["b"]
    (finding,) = findings_of(kernel("x[i] = 1;"), records, 0)
    assert finding.message.endswith(f"its address is 1 modulo 4{STRIDED} {ONE}")


def test_parameters_are_read_and_not_written():
    values = np.array(((5, 6),), np.dtype([("v", np.int32, 2)]))
    line = 'asm volatile("ACCESS" : "+r"(x[0]) : "l"(s.v + x[1]) : "memory");'
    code = kernel(line, "const __grid_constant__ S s, int* x", "struct S { int v[2]; };")
    x = np.array((0, 1), np.int32)
    assert findings_of(code.replace("ACCESS", "ld.u32 %0, [%1];"), values, x) == []
    assert x[0] == 6
    expected = "write of 4 bytes must not be to the kernel's parameters; it is byte 4 of the"
    assert expected in message(code.replace("ACCESS", "st.u32 [%1], %0;"), values, x)


def test_far_from_everything():
    code = kernel("*(int*)(size_t)0x123456789a8 = 1;")
    expected = "at address 0x123456789a8, far from every array"
    assert message(code, X, 0) == f"write of 4 bytes {OUTSIDE} {expected} {ONE}"


UNORDERED = "no barrier does, nor a release with an acquire"
AT = "element 0 of argument 0 (x), shape (4,)"


def race(code, *, grid=1, block=64, strict=False):
    (finding,) = findings_of(code, np.zeros(4, np.int32), 0, grid=grid, block=block, strict=strict)
    assert finding.kind == "race"
    assert finding.index == 0
    return finding.message


def test_a_race_names_both_accesses():
    text = race(kernel("if (threadIdx.x % 32 == 0) x[0] = threadIdx.x;"))
    assert text in {
        f"k.cu:2: write of 4 bytes at {AT} must be ordered with the write at k.cu:2 by block "
        f"(0, 0, 0), thread ({other}, 0, 0): {UNORDERED} (block (0, 0, 0), thread ({one}, 0, 0))"
        for one, other in ((0, 32), (32, 0))
    }


def test_a_race_with_an_atomic():
    code = kernel("if (threadIdx.x == 0) x[0] = 7; else if (threadIdx.x == 32) atomicAdd(x, 1);")
    text = race(code)
    assert "atomic update" in text
    assert "write" in text
    assert UNORDERED in text


def test_a_scope_that_is_too_narrow():
    text = race(kernel("atomicAdd_block(x, 1);"), grid=2, block=1)
    assert "must be ordered with the atomic update at k.cu:2 by block" in text
    assert ": the scope of one, .cta, leaves the other thread out (block" in text


def test_volatile_accesses_of_one_warp():
    code = kernel("__shared__ volatile int s[1]; s[0] = threadIdx.x;")
    (finding,) = findings_of(code, X, 0, block=32)
    why = "that both are volatile does not order lanes of a warp"
    assert f": {UNORDERED}; {why} (block" in finding.message
    assert "strict" not in finding.message


def test_an_asynchronous_copy_that_nobody_waits_for():
    code = """#include <cuda_pipeline.h>
#line 1 "k.cu"
extern "C" __global__ void k(int* x, int i) {
  __shared__ int s[4];
  __pipeline_memcpy_async(s, x, 16);
  x[i] = s[i];
  __pipeline_wait_prior(0);
}"""
    findings = findings_of(code, np.zeros(4, np.int32), 0)
    text = next(finding.message for finding in findings if finding.array == "s")
    assert "k.cu:4: read of 4 bytes at element 0 of shared array s of 16 bytes" in text
    assert "must be ordered with the asynchronous copy at " in text
    at = r"at k\.cu:3 \(in cuda_pipeline_\w+\.h:\d+(, cuda_pipeline_\w+\.h:\d+)*\) by block"
    assert re.search(rf"{at} \(0, 0, 0\), thread \(0, 0, 0\): nobody has waited for that", text)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("x[0] = 7;", "; they write the same value, which only strict reports"),
        (
            "*(volatile int*)x = threadIdx.x;",
            "; both are strong and one is volatile, which only strict reports",
        ),
        (
            "if (threadIdx.x % 32 == 0) threadIdx.x ? *(volatile char*)x = 1 : atomicAdd(x, 1);",
            "; both are strong and one is of fewer bytes, which only strict reports",
        ),
    ],
)
def test_what_only_strict_reports(line, why):
    code = kernel(line)
    assert findings_of(code, np.zeros(4, np.int32), 0, block=64) == []
    assert f": {UNORDERED}{why} (block" in race(code, strict=True)


def test_a_failure_has_its_stack():
    code = """__device__ __noinline__ void fails(int i) { if (i == 3) __trap(); }
__device__ __forceinline__ void inlined(int i) { if (i == 2) __trap(); }
extern "C" __global__ void k(int* x, int i) {
  fails(i);
  inlined(i);
}"""
    (finding,) = findings_of(code, X, 2)
    assert (finding.kind, finding.source) == ("trap", ("k.cu", 2))
    assert finding.stack == (("k.cu", 2), ("k.cu", 5))
    assert finding.message.startswith("k.cu:2 (called at k.cu:5): ")
    assert finding.message.endswith(ONE)
    (finding,) = findings_of(code, X, 3)
    assert finding.source == ("k.cu", 1)


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (
            "if (i % 2) __syncthreads(); else __syncthreads();",
            "bar.sync at k.cu:2, another instruction",
        ),
        ("if (i < 9) meet(); __syncthreads();", r"bar.sync at k.cu:(1 \(called at k.cu:2\)|2)"),
    ],
)
def test_lanes_at_different_barriers(line, where):
    before = "__device__ __forceinline__ void meet() { __syncthreads(); }"
    code = kernel(f"i += threadIdx.x; {line} x[0] = 1;", before=before)
    (finding,) = findings_of(code, X.copy(), 0, block=96)
    assert finding.kind == "barrier_divergence"
    what = "all lanes of a warp must reach a barrier by the same instruction; another came by"
    assert re.search(f"{what} {where} \\(block", finding.message)
    assert findings_of(code, X.copy(), 9, block=1) == []


EXITED = "if (threadIdx.x == 7) return; {}; x[0] = 1;"


def test_lanes_that_have_exited():
    barrier, vote = (EXITED.format(call) for call in ("__syncthreads()", "i = __any_sync(~0u, i)"))
    for line, strict in ((barrier, True), (vote, False)):
        RawKernel(kernel(line), "k")((1,), (32,), (X.copy(), 0))
        assert findings_of(kernel(barrier), X.copy(), 0, block=32) == []
        (finding,) = findings_of(kernel(line), X.copy(), 0, block=32, strict=strict)
        assert finding.kind == "barrier_divergence"


def test_own_lines_come_before_those_of_headers():
    code = """#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#line 1 "k.cu"
struct Add {
  int* x;
  __device__ int operator()(int a, int b) const { return a + b + x[4]; }
};
__device__ __forceinline__ void scan(int* x, int& v) {
  using Scan = cub::BlockScan<int, 64>;
  __shared__ Scan::TempStorage storage;
  Scan(storage).InclusiveScan(v, v, Add{x});
}
extern "C" __global__ void k(int* x, int n) {
  int v[1] = {1};
  if (n == 0) scan(x, v[0]);
  if (n == 1) cub::StoreDirectBlocked(threadIdx.x, x, v);
  v[0] = threadIdx.x;
  if (n == 2) cub::StoreDirectBlocked(0, x, v);
}"""
    first, *_ = findings_of(code, X, 0, block=64)
    assert first.stack[:3] == (("k.cu", 3), ("k.cu", 8), ("k.cu", 12))
    assert all(file.endswith(".cuh") for file, _ in first.stack[3:])
    assert re.match(
        r"k\.cu:3 \(called at k\.cu:8, k\.cu:12; in cub/[\w/]+\.cuh:\d+.*\): ", first.message
    )
    first, *_ = findings_of(code, X, 1, block=64)
    assert first.source == first.stack[0] == ("k.cu", 13)
    assert re.match(r"k\.cu:13 \(in cub/block/block_store\.cuh:\d+\): write of 4", first.message)
    (finding,) = findings_of(code, X, 2, block=64)
    at = r"k\.cu:15 \(in cub/block/block_store\.cuh:\d+\)"
    assert re.match(rf"{at}: write of 4 .* with the write at {at} by block", finding.message)


@pytest.mark.parametrize("is_checked", [False, True])
def test_own_lines_of_what_ends_a_launch(is_checked):
    code = """#include <cooperative_groups.h>
#line 1 "k.cu"
extern "C" __global__ void k(int* x) {
  auto warp = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  if (threadIdx.x < 16) warp.sync();
  else __syncthreads();
}"""
    with pytest.raises(ck.SimulatorError) as caught, checked() if is_checked else nullcontext():
        RawKernel(code, "k")((1,), (32,), (X,))
    assert caught.value.kind == "barrier_divergence"
    place = r"k\.cu:3 \(in cooperative_groups\.h:\d+(, [\w/.]+\.h:\d+)*\): "
    assert re.match(f"(barrier_divergence: )?{place}", caught.value.message)


def test_strict_barriers():
    code = kernel("if (threadIdx.x < 32) return; __syncthreads();")
    assert findings_of(code, X, 0, block=64) == []
    (finding,) = findings_of(code, X, 0, block=64, strict=True)
    assert finding.kind == "barrier_divergence"
    assert "32 exited and 0 wait elsewhere, which only strict reports (block" in finding.message
    with pytest.raises(ck.SimulatorError, match="barrier_divergence"), checked(strict=True):
        RawKernel(code, "k")((1,), (64,), (X, 0))


CLUSTER = """#include <cooperative_groups.h>
#line 1 "k.cu"
extern "C" __global__ __cluster_dims__(2) void k(int* x, int i, int which) {
  __shared__ int first[8], second[8]; extern __shared__ int rest[];
  first[threadIdx.x] = second[threadIdx.x] = rest[threadIdx.x] = 1;
  int* const arrays[] = {first, second, rest};
  auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  if (cluster.block_rank() == 0) x[0] = cluster.map_shared_rank(arrays[which], 1)[i];
  cluster.sync();
}"""


@pytest.mark.parametrize(
    ("which", "array", "where"),
    [
        (0, "first", "shared array first"),
        (1, "second", "shared array second"),
        (2, "dynamic shared memory", "dynamic shared memory"),
    ],
)
def test_shared_memory_of_another_block(which, array, where):
    x, launch = np.zeros(4, np.int32), {"grid": 2, "block": 8, "shared_mem": 32}
    (finding,) = findings_of(CLUSTER, x, 9, which, **launch)
    assert (finding.array, finding.index) == (array, 9)
    place = f"element 9 of {where} of 32 bytes in block 1 of the cluster"
    assert f"{OUTSIDE} {place}, {UNITS} (block (0, 0, 0)" in finding.message
