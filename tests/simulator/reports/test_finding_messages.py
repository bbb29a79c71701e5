"""Messages of findings, also in JSON: where an access is in each memory; why two race."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule, checked, traffic
from tests.helpers.rows import each
from tests.simulator.launches import findings_of, schema


def kernel(line, parameters="int* x, int i", before=""):
    """Return a kernel with one line, which is the second of its text."""
    return f'{before} extern "C" __global__ void k({parameters}) {{\n{line}\n}}'


def case(kind, line, text, *arguments, parameters="int* x, int i", before="", at=None, **launch):
    """Return a kernel, its launch, and its finding: the message about line 2, and its column.

    Dots stand for the beginning of the message. Threads are those that the finding names.
    """
    code = kernel(line, parameters, before)
    at = line.partition("\n")[0] if at is None else at
    return code, arguments or (np.zeros(4, np.int32), 0), launch, kind, text, at


X = np.zeros(4, np.int32)
READ_ONLY = np.zeros(4, np.int32)
READ_ONLY.flags.writeable = False
ALIGNED = np.zeros(12, np.int32)
ALIGNED = ALIGNED[(-(ALIGNED.ctypes.data // 4) % 4) :]  # at an address that is a multiple of 16
RECORDS = np.zeros(3, np.dtype([("a", "i1"), ("b", "i4")]))["b"]
PAIR = np.array(((5, 6),), np.dtype([("v", np.int32, 2)]))
OUTSIDE = "must lie inside of an array; it is"
ELEMENT = "argument 0 (x), shape (4,)"
UNITS = "in units of 4 bytes"
TABLE = "__shared__ int table[3];"
FACTORS = "__constant__ int factors[3];"
STRIDED = "; argument 0 is not contiguous: a kernel sees its memory, not its elements"
ORDERED = f"of 4 bytes at element 0 of {ELEMENT} must be ordered with the"
UNORDERED = "no barrier does, nor a release with an acquire"
EXITED = "if (threadIdx.x == 7) return; {}; x[0] = 1;"
VOTE = EXITED.format("i = __any_sync(~0u, i)")
BARRIER = EXITED.format("__syncthreads()")
BOUNDS, DIVERGENCE, UNWRITTEN = "out_of_bounds", "barrier_divergence", "uninitialized"


def view(array, index, text):
    """Return a case that reads a view beyond its elements."""
    parameters = "const int* x, int i, int* y"
    return case(BOUNDS, "y[0] = x[i];", text, array, index, X, parameters=parameters, at="x[i]")


CASES = {
    "argument": case(
        BOUNDS, "x[0] = weights[i];",
        f"read of 4 bytes {OUTSIDE} element 5 of argument 1 (weights), shape (4,)",
        X, X.copy(), 5, parameters="int* x, const int* __restrict__ weights, int i",
        at="weights[i]"),
    "before": case(
        BOUNDS, "x[i] = 1;", f"write of 4 bytes {OUTSIDE} element -1 of {ELEMENT}", X, -1),
    "letters": case(
        BOUNDS, "\t/* é日 */ *(x + i) = 1;",
        f"write of 4 bytes {OUTSIDE} element 4 of {ELEMENT}", X, 4, at="*(x + i) = 1"),
    "half": case(
        BOUNDS, "*(short*)((char*)x + i) = 1;",
        f"write of 2 bytes {OUTSIDE} element 4 plus 2 bytes of {ELEMENT}", X, 18),
    "wrapped": case(
        BOUNDS, "x[(unsigned)i] = 1;",
        f"write of 4 bytes {OUTSIDE} element 4294967293 of {ELEMENT}: -3 as a 32-bit integer",
        X, -3),
    "misaligned": case(
        "misaligned", "*(int*)((char*)x + i) = 1;",
        "write of 4 bytes must lie on a multiple of 4 bytes; it is element 1 plus 2 bytes of "
        f"{ELEMENT}",
        X, 6),
    "array_misaligned": case(
        "misaligned", "*(int4*)(x + i) = int4();",
        "...; argument 0 itself starts misaligned: its address is 8 modulo 16", ALIGNED[2:], 0),
    "index_misaligned": case(
        "misaligned", "*(int4*)(x + i) = int4();",
        "...it is element 2 of argument 0 (x), shape (9,)", ALIGNED[:9], 2),
    "field_misaligned": case(
        "misaligned", "x[i] = 1;", f"...its address is 1 modulo 4{STRIDED}", RECORDS, 0),
    "shared": case(
        BOUNDS, "x[0] = table[i];",
        f"read of 4 bytes {OUTSIDE} element 3 of shared array table of 12 bytes, {UNITS}",
        X, 3, before=TABLE, at="table[i]"),
    "dynamic": case(
        BOUNDS, "rest[i] = 1;",
        f"write of 4 bytes {OUTSIDE} element 2 of dynamic shared array rest of 8 bytes, {UNITS}",
        X, 2, before="extern __shared__ int rest[];", shared_mem=8),
    "variable": case(
        BOUNDS, "x[0] = ns::counts[i];",
        f"read of 4 bytes {OUTSIDE} byte 12 of global variable counts of 12 bytes",
        X, 3, before="namespace ns { __device__ int counts[3]; }", at="counts[i]"),
    "constant": case(
        BOUNDS, "x[0] = factors[i];",
        f"read of 4 bytes {OUTSIDE} byte 12 of constant variable factors of 12 bytes",
        X, 3, before=FACTORS, at="factors[i]"),
    "constant_write": case(
        BOUNDS, 'asm volatile("st.u32 [%0], 1;" :: "l"(factors + i) : "memory");',
        "write of 4 bytes must not be to constant memory; it is byte 8 of constant variable "
        "factors of 12 bytes", X, 2, before=FACTORS),
    "local": case(
        BOUNDS, "int v[8]; for (int n = 0; n < 8; ++n) v[n] = x[n % 4]; x[0] = v[i];",
        f"read of 4 bytes {OUTSIDE} byte 32 of the thread's local memory", X, 8),
    "heap": case(
        BOUNDS, "int* p = (int*)malloc(12); p[i] = 1; x[0] = p[0]; free(p);",
        f"write of 4 bytes {OUTSIDE} byte 12 of memory that malloc gave", X, 3),
    "far": case(
        BOUNDS, "*(int*)(size_t)0x123456789a8 = 1;",
        f"write of 4 bytes {OUTSIDE} at address 0x123456789a8, far from every array"),
    "read_only": case(
        BOUNDS, "x[i] = 1;",
        f"write of 4 bytes must be to an array that can be written; it is element 1 of {ELEMENT}",
        READ_ONLY, 1),
    "read_only_outside": case(
        BOUNDS, "x[i] = 1;", f"write of 4 bytes {OUTSIDE} element 4 of {ELEMENT}", READ_ONLY, 4),
    "parameters": case(
        BOUNDS, 'asm volatile("st.u32 [%0], 1;" :: "l"(s.v + 1) : "memory");',
        "write of 4 bytes must not be to the kernel's parameters; it is byte 4 of the kernel's "
        "parameters", PAIR, X, parameters="const __grid_constant__ S s, int* x",
        before="struct S { int v[2]; };"),
    "step": view(np.zeros(12, np.int32)[::3], 1, f"...shape (4,){STRIDED}"),
    "columns": view(np.zeros((4, 4), np.int32)[:, :2], 14, f"...shape (4, 2){STRIDED}"),
    "broadcast": view(np.broadcast_to(np.zeros(1, np.int32), (8,)), 1, f"...shape (8,){STRIDED}"),
    "reversed": view(np.zeros(8, np.int32)[::-1], 1, f"...shape (8,){STRIDED}"),
    "part": view(np.zeros(12, np.int32)[4:8], 4, f"...element 4 of {ELEMENT}"),
    "transposed": view(np.zeros((3, 4), np.int32).T, 12, "...argument 0 (x), shape (4, 3)"),
    "unwritten": case(
        UNWRITTEN, "int v = table[i];\nx[0] = v;",
        "read of 4 bytes must come after a write; nothing wrote element 1 of shared array table of "
        f"12 bytes, {UNITS}; its value is stored at k.cu:3", X, 1, before=TABLE, at="table[i];"),
    "no_lane": case(
        "inactive_lane", "if (threadIdx.x < 8) i = __shfl_down_sync(0xff, i, 8);\n"
        "if (threadIdx.x == 7) x[0] = i;",
        "a shuffle must read a lane that takes part; it reads lane 15: mask 0x000000ff does not "
        "name it; its value is stored at k.cu:3", block=32, at="if"),
    "race": case(
        "race", "if (threadIdx.x % 32 == 0) x[0] = threadIdx.x;",
        f"write {ORDERED} write at k.cu:2 by T: {UNORDERED}", block=64, at="x[0]"),
    "atomic": case(
        "race", "if (threadIdx.x == 0) x[0] = 7; else if (threadIdx.x == 32) atomicAdd(x, 1);",
        (f"atomic update {ORDERED} write at k.cu:2 by T: {UNORDERED}",
         f"write {ORDERED} atomic update at k.cu:2 by T: {UNORDERED}"), block=64, at=""),
    "scope": case(
        "race", "atomicAdd_block(x, 1);",
        f"atomic update {ORDERED} atomic update at k.cu:2 by T: the scope of one, .cta, leaves the "
        "other thread out", grid=2),
    "not_coherent": case(
        "race", "if (threadIdx.x == 0) x[0] = 7; else if (threadIdx.x == 32) x[1] = __ldg(x);",
        "...: one is ld.global.nc, as of const __restrict__ or __ldg, of what is only read while "
        "the kernel runs", block=64, at=""),
    "volatile": case(
        "race", "__shared__ volatile int s[1]; s[0] = threadIdx.x;",
        f"...: {UNORDERED}; that both are volatile does not order lanes of a warp", block=32,
        at="s[0] ="),
    "same_value": case(
        "race", "x[0] = 7;",
        f"write {ORDERED} write at k.cu:2 by T: {UNORDERED}; they write the same value, which only "
        "strict reports", block=64, strict=True),
    "both_strong": case(
        "race", "if (threadIdx.x == 0) *(volatile int*)x = 3; else i = *(volatile int*)x;",
        f"...: {UNORDERED}; both are strong and one is volatile, which only strict reports",
        block=64, strict=True),
    "volatile_stores": case(
        "race", "*(volatile int*)x = threadIdx.x;",
        f"...: {UNORDERED}; volatile does not order them, and they write different values",
        block=64),
    "fewer_bytes": case(
        "race",
        "if (threadIdx.x % 32 == 0) threadIdx.x ? *(volatile char*)x = 1 : atomicAdd(x, 1);",
        f"...: {UNORDERED}; both are strong and one is of fewer bytes, which only strict reports",
        block=64, strict=True),
    "barriers": case(
        DIVERGENCE, "if (i + threadIdx.x & 1) __syncthreads(); else __syncthreads(); x[0] = 1;",
        "...another came by bar.sync at k.cu:2, another instruction", block=96),
    "called_barrier": case(
        DIVERGENCE, "i += threadIdx.x; if (i < 9) meet(); __syncthreads(); x[0] = 1;",
        ("...another came by bar.sync at k.cu:1 (called at k.cu:2)",
         "...another came by bar.sync at k.cu:2"), block=96,
        before="__device__ __forceinline__ void meet() { __syncthreads(); }", at="i +="),
    "exited_warp": case(
        DIVERGENCE, "if (threadIdx.x < 32) return; __syncthreads();",
        "...32 exited and 0 wait elsewhere, which only strict reports", block=64, strict=True),
    "exited_lane": case(
        DIVERGENCE, BARRIER, "...1 exited and 0 wait elsewhere, which only strict reports",
        block=32, strict=True),
    "vote": case(DIVERGENCE, VOTE, "...", block=32),
    "deadlock": case(
        "deadlock", "while (atomicAdd(x, 0) == 0) {}",
        "the launch must not wait forever; every resident thread polls or waits, and none changes "
        "memory"),
    "trap": case("trap", "__trap();", "the kernel must not execute a trap"),
    "assert": case(
        "assert", r'assert(x[0] && "\u00e9 \x1b[1m");',
        r'assertion `x[0] && "\u00e9 \x1b[1m"` must hold'),
    "misuse": case(
        "misuse", "free(x);", "free must get an address that malloc returned and nobody freed"),
}  # fmt: skip


@each("name", CASES)
def test_what_a_finding_says(name):
    code, arguments, launch, kind, text, at = CASES[name]
    if launch.get("strict"):
        assert findings_of(code, *arguments, **{**launch, "strict": False}) == []
    with checked(strict=launch.get("strict", False)) as report:
        sizes = ((launch.get("grid", 1),), (launch.get("block", 1),))
        RawKernel(code, "k")(*sizes, arguments, shared_mem=launch.get("shared_mem", 0))
        record = json.loads(report.json())
        found, report.findings = report.findings, []
    finding, *_ = found
    assert (finding.kind, finding.source) == (kind, ("k.cu", 2))
    assert str(finding) == f"k: {kind}: {finding.message}"
    assert "\n" not in finding.message
    assert finding.code[finding.column - 1 :].startswith(at)
    said = re.sub(r"block \(\d+, 0, 0\), thread \(\d+, 0, 0\)", "T", finding.message)
    said = said.removeprefix("k.cu:2: ").removesuffix(" (T)")
    texts = [text] if isinstance(text, str) else text
    assert any(said.endswith(t[3:]) if t.startswith("...") else said == t for t in texts), said
    schema()(record)
    told, *_ = record["findings"]
    assert (told["message"], told["line"], told["thread"]) == (
        finding.message, 2, [*finding.thread])  # fmt: skip
    assert (told["array"], told["index"]) == (finding.array, finding.index)
    assert (told["other"] is None) == (finding.other is None)


def test_an_array_without_a_known_name():
    code = '#define KERNEL extern "C" __global__ void k(int* x, int i)\n'
    (finding,) = findings_of(f'{code}#line 1 "k.cu"\nKERNEL {{\nx[i] = 1; }}', X, 4)
    assert "it is element 4 of argument 0, shape (4,) (" in finding.message


def test_what_may_be_read_is_not_written():
    reads = kernel("x[1] = w[i];", "int* x, const int* w, int i")
    assert findings_of(reads, X.copy(), READ_ONLY, 1) == []
    store = 'asm volatile("st.u32 [%0], 1;" :: "l"(k == i ? x : s) : "memory");'
    loop = f'_Pragma("unroll 1") for (int k = 0; k < 2; ++k) {store}'
    for last in (0, 1):  # after the store to shared memory, or before it
        (finding,) = findings_of(kernel(loop, before="__shared__ int s[4];"), READ_ONLY, last)
        assert "must be to an array that can be written" in finding.message
    assert READ_ONLY.tolist() == [0] * 4
    assert findings_of(kernel("*(int4*)(x + i) = int4();"), ALIGNED[2:], 2) == []
    load = 'asm volatile("ld.u32 %0, [%1];" : "=r"(x[0]) : "l"(s.v + x[1]) : "memory");'
    x = np.array((0, 1), np.int32)
    code = kernel(load, "const __grid_constant__ S s, int* x", "struct S { int v[2]; };")
    assert findings_of(code, PAIR, x) == []
    assert x[0] == 6


def test_lanes_that_have_exited_are_no_fault_of_a_plain_launch():
    for line in (BARRIER, VOTE):
        RawKernel(kernel(line), "k")((1,), (32,), (X.copy(), 0))


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
    (finding,) = findings_of(code, X, 3)
    assert finding.source == ("k.cu", 1)


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
    at = r"k\.cu:13 \(in cub/block/block_store\.cuh:\d+\)"
    first, *_ = findings_of(code, X, 1, block=64)
    assert first.source == first.stack[0] == ("k.cu", 13)
    assert re.match(rf"{at}: write of 4", first.message)
    with traffic() as report:
        RawKernel(code, "k")((1,), (64,), (np.zeros(64, np.int32), 1))
    (line,) = report.kernels[0].lines
    assert line.source == line.stack[0] == ("k.cu", 13)
    assert re.match(rf"{at} is [\w/]+\.py:\d+  store  argument 0", str(line))
    (finding,) = findings_of(code, X, 2, block=64)
    at = r"k\.cu:15 \(in cub/block/block_store\.cuh:\d+\)"
    assert re.match(rf"{at}: write of 4 .* with the write at {at} by block", finding.message)


def test_own_lines_of_what_ends_a_launch():
    code = """#include <cooperative_groups.h>
#line 1 "k.cu"
extern "C" __global__ void k(int* x) {
  auto warp = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  if (threadIdx.x < 16) warp.sync();
  else __syncthreads();
}"""
    place = r"k\.cu:3 \(in cooperative_groups\.h:\d+(, [\w/.]+\.h:\d+)*\): "
    for block in (nullcontext(), checked()):
        with pytest.raises(ck.SimulatorError) as caught, block:
            RawKernel(code, "k")((1,), (32,), (X,))
        assert caught.value.kind == DIVERGENCE
        assert re.match(f"(barrier_divergence: )?{place}", caught.value.message)


NAMES = """namespace ns {
extern __shared__ volatile double d[];
__device__ __noinline__ void put(int i) { d[i] = 1; }
}
extern "C" __global__ void k(int n) {
  extern __shared__ volatile int s[];
  extern __shared__ volatile short t[];
  if (n == 0) s[threadIdx.x + 8] = 1;
  if (n == 1) t[threadIdx.x + 16] = 1;
  volatile int* const p = n == 2 ? s : s + 1;
  if (n == 2) p[threadIdx.x + 8] = 1;
}
extern "C" __global__ void of_a_function(int n) { ns::put(n); }
"""


@each(
    "kernel, n, array, where",
    [
        ("k", 0, "s", "element 8 of dynamic shared array s of 32 bytes"),
        ("k", 1, "t", "element 16 of dynamic shared array t of 32 bytes"),
        ("k", 2, "s, t", "element 8 of dynamic shared array s, t of 32 bytes"),
        ("of_a_function", 4, "d", "element 4 of dynamic shared array d of 32 bytes"),
    ],
)
def test_names_of_dynamic_shared_memory(kernel, n, array, where):
    module = RawModule(code=NAMES)
    with pytest.raises(ck.SimulatorError) as caught, checked():
        module.get_function(kernel)((1,), (1,), (n,), shared_mem=32)
    (finding,) = caught.value.findings
    assert finding.array == array
    assert where in finding.message


def test_one_byte_is_one():
    code = """extern "C" __global__ void k(int i) {
  __shared__ volatile char only;
  (&only)[i] = 1;
}"""
    (finding,) = findings_of(code, 1)
    told = "element 1 of shared array only of 1 byte, in units of 1 byte"
    assert f"write of 1 byte {OUTSIDE} {told} (" in finding.message


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


@each(
    "which, array, where",
    [
        (0, "first", "shared array first"),
        (1, "second", "shared array second"),
        (2, "rest", "dynamic shared array rest"),
    ],
)
def test_shared_memory_of_another_block(which, array, where):
    x, launch = np.zeros(4, np.int32), {"grid": 2, "block": 8, "shared_mem": 32}
    (finding,) = findings_of(CLUSTER, x, 9, which, **launch)
    assert (finding.array, finding.index) == (array, 9)
    place = f"element 9 of {where} of 32 bytes in block 1 of the cluster"
    assert f"{OUTSIDE} {place}, {UNITS} (block (0, 0, 0)" in finding.message
