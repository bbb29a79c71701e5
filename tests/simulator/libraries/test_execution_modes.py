"""Threads compute the same in each execution mode."""

from __future__ import annotations

import copy
import re
from functools import partial

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel
from cudakern.simulator.libraries.execution_mode import ExecutionMode
from cudakern.simulator.libraries.loader import ModuleLoader
from cudakern.simulator.ptx import suspension_points
from cudakern.simulator.ptx.parse import parse
from cudakern.simulator.ptx.translate import translate
from tests.helpers.execution_modes import force
from tests.helpers.rows import each
from tests.helpers.samples import sample
from tests.simulator.checker.headers import OPTIONS
from tests.simulator.checker.tables import Correct, Modules
from tests.simulator.checker.test_correct_kernels import TOGETHER

BLOCKS = [(3, 5, 2), (33,), (7, 9, 4)]
HEAD = """
#define WHO const int n = blockDim.x * blockDim.y * blockDim.z, \\
  t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)
"""


def row(name, code, block, inputs, expected, **options):
    """Return a row of one block; ``inputs`` come before the array of results, of int32."""

    def arguments(_):
        return (*copy.deepcopy(inputs), np.full(int(np.prod(block)), -7, np.int32))

    def answer(*arguments):
        return {len(inputs): expected(*arguments[:-1])}

    code = f'{HEAD}extern "C" __global__ void k({code}\n}}'
    return Correct(
        name=name, code=code, grid=(1,), block=block, inputs=arguments, expected=answer, **options
    )


# Kernels that are hard for some execution mode, and what they compute


def indices_of(block):
    """Number the threads of a block by their indices."""
    z, y, x = np.indices((*block, 1)[2::-1]).reshape(3, -1)
    return x + 100 * y + 10000 * z


def votes(x):
    """Vote in many rounds; other blocks run between a barrier and the use of its result."""
    c = 0
    for i in range(600):
        c = (5 * c + int((x >> i % 16 & 1).sum())) % 2**32
        c = (c + (i % 97 == 0)) % 2**32 ^ (i & 1)
    return np.full(len(x), c, np.uint32).view(np.int32)


VOTES = """const int* x, int* y) {
  WHO;
  int c = 0;
  for (int i = 0; i < 600; ++i) {
    c = c * 5 + __syncthreads_count(x[t] >> i % 16 & 1);
    c += __syncthreads_or(i % 97 == 0 && t == n - 1);
    c ^= __syncthreads_and(i & 1);
  }
  y[t] = c;"""


def leaving(x):
    """Lanes and whole warps leave a loop of barriers."""
    n = len(x)
    v, y, left = x.astype(object), np.zeros(n, object), np.zeros(n, bool)
    s = v.copy()
    for i in range(12):
        seen = s[[(5 * t + i) % n for t in range(n)]]
        for t in range(n):
            if not left[t] and ((x[t] ^ i) % 11 == 3 or (i > 3 and t // 32 == i % 7)):
                left[t], y[t] = True, v[t] - i
        c = sum(bool(seen[t] > v[t]) for t in range(n) if not left[t])
        for t in np.flatnonzero(~left):
            v[t] = (v[t] * 3 + seen[t] + c) % 10007
        s = np.where(left, s, v)
    return np.where(left, y, v).astype(np.int32)


LEAVING = """const int* x, int* y) {
  WHO;
  __shared__ int s[1024];
  int v = x[t];
  s[t] = v;
  for (int i = 0; i < 12; ++i) {
    __syncthreads();
    const int seen = s[(t * 5 + i) % n];
    if ((x[t] ^ i) % 11 == 3 || (i > 3 && t / 32 == i % 7)) {
      y[t] = v - i;
      return;
    }
    const int c = __syncthreads_count(seen > v);
    v = (v * 3 + seen + c) % 10007;
    s[t] = v;
  }
  y[t] = v;"""


def shares(x):
    """Lanes repeat a loop of shuffles a different number of times, then all meet."""
    v = x.astype(np.int64)
    for first in range(0, len(x), 32):
        lanes = np.arange(first, min(first + 32, len(x)))
        for turn in range(4):
            active = lanes[x[lanes] % 4 > turn]
            v[active] = (v[active] + v[active[:1]]) % 9973
        v[lanes] += len(lanes)
    return v.astype(np.int32)


SHARES = """const int* x, int* y) {
  WHO;
  const unsigned all = n - t / 32 * 32 >= 32 ? ~0u : (1u << n % 32) - 1;
  int v = x[t], left = x[t] % 4;
  for (unsigned mask = all; mask = __ballot_sync(mask, left > 0), left > 0; --left)
    v = (v + __shfl_sync(mask, v, __ffs(mask) - 1)) % 9973;
  __syncwarp(all);
  y[t] = v + __popc(__ballot_sync(all, 1));"""


def cases_of(x):
    """A branch with many targets, which the block chooses; some of them have barriers."""
    n = len(x)
    v, w, s = x.astype(object), np.ones(n, object), x.astype(object)
    for i in range(14):
        case = x[i] & 7
        s = v.copy()
        if case in {0, 4}:
            v = np.where(v % 2 == 1, v + np.roll(s, -1), v) if case == 4 else v + np.roll(s, -1)
        elif case == 1:
            w = np.full(n, int((v % 4 == 1).sum()), object)
        elif case in {2, 3}:
            v = v + (w if case == 2 else 0) + 2
        v = v % 10007
    return (v * 3 + w).astype(np.int32)


CASES = """const int* x, int* y) {
  WHO;
  __shared__ int s[1024];
  int v = x[t], w = 1;
  for (int i = 0; i < 14; ++i) {
    s[t] = v;
    switch (x[i] & 7) {
      case 0: __syncthreads(); v += s[(t + 1) % n]; break;
      case 1: w = __syncthreads_count(v % 4 == 1); break;
      case 2: v += w;
      case 3: v += 2; break;
      case 4: if (v % 2 == 1) { __syncthreads(); v += s[(t + 1) % n]; } else __syncthreads();
    }
    v %= 10007;
    __syncthreads();
  }
  y[t] = v * 3 + w;"""

PIPE = """const int* x, int* y) {
  __shared__ int s[2][64];
  const int t = threadIdx.x % 64;
  int sum = 0;
  if (threadIdx.x < 64) {
    for (int i = 0; i < 20; ++i) {
      if (i > 1) asm volatile("bar.sync %0, 128;" ::"r"(1 + i % 2) : "memory");
      s[i % 2][t] = x[i * 64 + t] * 2;
      asm volatile("bar.arrive %0, 128;" ::"r"(3 + i % 2) : "memory");
    }
  } else {
    for (int i = 0; i < 20; ++i) {
      asm volatile("bar.sync %0, 128;" ::"r"(3 + i % 2) : "memory");
      sum += s[i % 2][(t * 7 + i) % 64] * (i + 1);
      if (i < 18) asm volatile("bar.arrive %0, 128;" ::"r"(1 + i % 2) : "memory");
    }
  }
  y[threadIdx.x] = sum;"""


def piped(x):
    """Half of the threads pass values to the others with named barriers."""
    t, i = np.arange(64)[:, None], np.arange(20)
    sums = (2 * x.reshape(20, 64)[i, (7 * t + i) % 64] * (i + 1)).sum(1)
    return np.concatenate((np.zeros(64), sums))


#: Threads wait for plain stores of other threads in the block, which run between their turns.
WAITS = """int* flag, int* count, int* y) {
  if (threadIdx.x < 32)
    while (*flag == 0) WAITING;
  else if (threadIdx.x == 40)
    *flag = 7;
  y[threadIdx.x] = threadIdx.x < 32 ? *flag : 0;"""
#: State that a thread keeps at a barrier: a carry, aligned memory; halves of a float.
CARRY = """const unsigned* x, int* y) {
  unsigned sum, carry;
  asm volatile("{ add.cc.u32 %0, %2, %3; bar.sync 0; addc.u32 %1, 0, 0; }"
      : "=r"(sum), "=r"(carry) : "r"(x[threadIdx.x]), "r"(x[threadIdx.x + 1]) : "memory");
  y[threadIdx.x] = carry;"""
OWN = """const unsigned* x, int* y) {
  const int t = threadIdx.x;
  __align__(1024) unsigned own[32];
  unsigned other[16] = {};
  unsigned long long place;
  asm volatile("mov.u64 %0, %1;" : "=l"(place) : "l"(own));
  for (int i = 0; i < 32; ++i) own[i] = x[t] + i;
  __syncthreads();
  other[x[t] % 16] = own[x[t] % 32] + (unsigned)(place % 1024);
  __syncthreads();
  y[t] = other[x[t] % 16] - x[t];"""
HALVES = """const float* x, int* y) {
  const float whole = x[threadIdx.x] * 1.5f;
  float swapped;
  asm("{ .reg .b16 a, b; mov.b32 {a, b}, %1; mov.b32 %0, {b, a}; }" : "=f"(swapped) : "f"(whole));
  y[threadIdx.x] = __float_as_int(swapped * 1e10f);"""


def exchanged(x):
    """Floats with swapped halves may be subnormal, and then count as zero."""
    bits = (x * np.float32(1.5)).view(np.uint32)
    swapped = (bits >> 16 | bits << 16).view(np.float32)
    small = np.abs(swapped) < 2.0**-126
    with np.errstate(all="ignore"):
        y = np.where(small, np.copysign(0, swapped), swapped * np.float32(1e10))
    return np.where(np.isnan(y), 0x7FFFFFFF, y.view(np.int32))


#: Many turns of a loop, which the kernel reports to the runtime, with most registers in use.
TURNS = """const double* x, int turns, int* y) {
  double a[12], sum = 0;
  for (int i = 0; i < 12; ++i) a[i] = x[threadIdx.x + i];
  for (int j = 0; j < turns; ++j)
    for (int i = 0; i < 12; ++i) a[i] = fma(a[i], 0.5, x[(j + i) & 63]);
  for (int i = 0; i < 12; ++i) sum += a[i] * (i + 1);
  y[threadIdx.x] = sum == 6 * 78;"""
#: Behind the barrier, threads go on together from the middle of a row along x.
ROWS = """int* y) {
  WHO;
  if (t >= 32) asm volatile("bar.sync 1, 160;");
  y[t] = threadIdx.x + 100 * threadIdx.y + 10000 * threadIdx.z;"""
NUMBERS = np.random.default_rng(4)
WORDS = NUMBERS.integers(0, 2**32, 65).astype(np.uint32)
#: Floats from 1 to 1.0078; times 1.5, their lower halves are upper halves of all kinds of floats.
FLOATS = (0x3F800000 + np.arange(0, 2**16, 37, np.uint32)[: 13 * 128]).view(np.float32)
ZEROS = [np.zeros(1, np.int32), np.zeros(1, np.int32)]
NASTY = [
    *(
        row(name, code, block, [NUMBERS.integers(0, 5000, np.prod(block), np.int32)], oracle)
        for block in BLOCKS
        for name, code, oracle in [
            ("votes", VOTES, votes),
            ("leaving", LEAVING, leaving),
            ("shares", SHARES, shares),
            ("cases", CASES, cases_of),
        ]
    ),
    row("pipe", PIPE, (128,), [np.arange(1280, dtype=np.int32)], piped),
    row("carry", CARRY, (64,), [WORDS], lambda x: (x[:-1].astype(np.uint64) + x[1:]) >> 32),
    row("own", OWN, (64,), [WORDS], lambda x: x[:-1] % 32),
    row("halves", HALVES, (832,), [FLOATS[::2].copy()], exchanged),
    *(
        row(name, WAITS.replace("WAITING", code), (64,), ZEROS, lambda *_: np.repeat([7, 0], 32))
        for name, code in [
            ("lanes_wait", "__syncwarp()"),
            ("adds_wait", "atomicAdd(count, 1)"),
            ("fences_wait", "__threadfence_block()"),
        ]
    ),
    *(
        row("rows", ROWS, block, [], partial(indices_of, block))
        for block in [(48, 4), (24, 2, 4), (12, 16)]
    ),
    row("turns", TURNS, (3,), [np.full(64, 3.0), np.int32(2**22 + 8)], lambda *_: np.ones(3)),
]


def require_results(rows) -> None:
    """Compile and run the kernels of rows, and compare their results.

    Rows with the same name share a kernel.
    """
    modules = Modules({row.name: row for row in rows}.values(), OPTIONS)
    for correct in rows:
        arguments = correct.inputs(np.random.default_rng(1))
        expected = correct.expected(*copy.deepcopy(arguments))
        kernel = modules.kernel(correct)
        kernel(correct.grid, correct.block, arguments, shared_mem=correct.shared_mem)
        for position, wanted in expected.items():
            equal = np.testing.assert_allclose if correct.rtol else np.testing.assert_array_equal
            options = {"rtol": correct.rtol} if correct.rtol else {}
            equal(arguments[position], wanted, err_msg=correct.name, **options)


@pytest.mark.parametrize("mode", ExecutionMode, ids=lambda mode: mode.value)
def test_nasty_kernels(mode):
    """Run rows of the table, too, which other tests compile together; of fibers, a sample."""
    more = {
        ExecutionMode.WARP_LOOPS: [],
        ExecutionMode.THREAD_LOOPS: TOGETHER,
        ExecutionMode.FIBERS: sample(TOGETHER, 3),
    }
    with force(mode):
        require_results(NASTY)
        require_results(more[mode])


#: Faults of thread 49, or of threads that wait before it: kind, the thread named, and code.
FAULTS = {
    "trap": ("trap", 49, "if (is_it) __trap();"),
    "assert": ("assert", 49, "assert(!is_it);"),
    "null": ("out_of_bounds", 49, "if (is_it) *none = v;"),
    "misaligned": ("misaligned", 49, "if (is_it) atomicAdd((int*)((char*)x + 2), 1);"),
    "free": ("misuse", 49, "if (is_it) free(x);"),
    "mask": ("barrier_divergence", 49, "if (is_it) __syncwarp(0);"),
    "lanes": ("barrier_divergence", 32, "if (t != n) v += __shfl_sync(~0u, v, 0); else OTHER;"),
    "threads": ("misuse", 49, 'if (is_it) asm volatile("bar.sync 1, 50;");'),
    "number": ("misuse", 49, 'if (is_it) asm volatile("bar.sync %0;" ::"r"(n));'),
    "polls": ("deadlock", 49, "while (is_it && *(volatile int*)x != 5) {}"),
}


def failing() -> str:
    """Return a kernel with all the faults, each on a line marked with its name."""
    lines = [
        'extern "C" __global__ void k(const char* which, int n, int* x, int* none) {',
        "  int t = threadIdx.x, v = t;",
        "  for (int i = 0; i < 6; ++i) {",
        "    __syncthreads();",
        "    v += __shfl_xor_sync(n - 50, v, 1);",
        "    const bool is_it = i == 4 && t == n;",
    ]
    for number, (name, (_, _, code)) in enumerate(FAULTS.items()):
        text = code.replace("OTHER", 'asm volatile("bar.sync 3, 64;")')
        lines += [f"    if (*which == {number}) {{", f"{text}  // {name}", "    }"]
    return "\n".join((*lines, "  }", "  x[t] = v;", "}"))


@each("name", FAULTS)
@each("mode", ExecutionMode)
def test_fault_in_a_loop(mode, name):
    kind, thread, _ = FAULTS[name]
    code, x = failing(), np.zeros(96, np.int32)
    line = next(i for i, text in enumerate(code.splitlines(), 1) if text.endswith(f"// {name}"))
    which = np.array([[*FAULTS].index(name)], np.int8)
    with force(mode):
        kernel = RawKernel(code, "k")
        with pytest.raises(ck.SimulatorError) as caught:
            kernel((1,), (96,), (which, np.int32(49), x, 0))
        error = caught.value
        kernel((1,), (96,), (which - 100, np.int32(49), x, 0))  # works after a failure
    assert (error.kind, error.block, error.thread) == (kind, (0, 0, 0), (thread, 0, 0))
    assert (f"k.cu:{line}:" in str(error)) == (name != "null")
    assert name != "mask" or "mask 0x00000000" in str(error)
    np.testing.assert_array_equal(x, 32 * (np.arange(96) // 2 * 4 + 1))


# Which entries must have fibers

PTX = """.version 8.0
.target sm_90
.address_size 64
.func waits() { bar.sync 0; ret; }
.func quiet() { ret; }
.visible .entry k(.param .u64 p) MORE {
.local .align 16 .b8 place[SIZE];
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>;
ld.param.u64 %rd1, [p];
mov.u64 %rd2, place;
BODY
ret;
}"""
DECISIONS = {
    "regions: 0 points, 1 loops": "call quiet;",
    "regions: 1 points, 2 loops": "add.cc.u32 %r1, 1, 2; addc.u32 %r1, 1, 2; bar.sync 0;",
    "regions: 2 points, 3 loops": "L: ld.volatile.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0;"
    "@%p1 bra L; activemask: bar.warp.sync -1;",
    "fibers: it has clusters": "bar.sync 0;",
    "fibers: call in line 11 of the PTX": "call waits;",
    "fibers: activemask.b32 in line 12 of the PTX": "bar.sync 0;\nactivemask.b32 %r1;",
    "fibers: 4100 bytes of local memory": "bar.sync 0;",
    "fibers: a carry in line 12 of the PTX": "add.cc.u32 %r1, 1, 2; bar.sync 0;\n"
    "addc.u32 %r1, 1, 2; st.u32 [%rd1], %r1;",
    "fibers: a carry in line 14 of the PTX": "bra F; B:\n\n\naddc.u32 %r1, 1, 2;"
    "st.u32 [%rd1], %r1; ret; F: add.cc.u32 %r1, 1, 2; bar.sync 0; bra B;",
    "fibers: a carry in line 13 of the PTX": "add.cc.u32 %r1, 1, 2; bar.sync 0;\n"
    "@%p1 add.cc.u32 %r1, 1, 2;\naddc.u32 %r1, 1, 2; st.u32 [%rd1], %r1;",
    "fibers: a loop around line 11 of the PTX": "L: ld.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0;"
    "red.global.add.u32 [%rd1], 1; @%p1 bra L;",
}


@each("mode", ExecutionMode)
def test_text_without_an_end(mode):
    """Registers may be unset after a barrier if nothing uses them; texts may end without ret."""
    body = """mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
setp.gt.u32 %p1, %r1, 99;
bar.sync 0;
@%p1 bra U; ld.global.u32 %r2, [%rd1]; U: st.global.u32 [%rd1], %r2;
@%p1 bra V; bra W; V: bar.sync 0; st.global.u32 [%rd1], 7; W:"""
    text = PTX.replace("SIZE", "8").replace("MORE", "").replace("BODY\nret;", body)
    x = np.arange(96, dtype=np.int32)
    with force(mode):
        RawKernel(text, "k")((1,), (96,), (x,))
    np.testing.assert_array_equal(x, np.arange(96))


@each("wanted", DECISIONS)
def test_decision(wanted):
    size = "4100" if "4100" in wanted else "4096"
    more = ".reqnctapercluster 2, 1, 1" if "clusters" in wanted else ""
    text = PTX.replace("SIZE", size).replace("MORE", more).replace("BODY", DECISIONS[wanted])
    module = parse(text, "k")
    assert f"// {wanted}\n" in translate(module, "k", fast=True)
    assert re.sub(r"\d loops", "1 loops", f"// {wanted}\n") in translate(module, "k")


AWAITED = """
__device__ __noinline__ int await(int* flag) {
  int v;
  do asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(flag)); while (v == 0);
  return v;
}
extern "C" __global__ void k(int* flag, int* y) {
  if (threadIdx.x == 0) *y = await(flag);
  if (threadIdx.x == 40) *(volatile int*)flag = 3;
}"""


def test_a_function_that_polls_lets_others_run():
    y = np.zeros(1, np.int32)
    RawKernel(AWAITED, "k")((1,), (64,), (np.zeros(1, np.int32), y))
    assert y == 3


# Launches of few threads and of many, which have libraries of their own

LARGE = 1 << 15
STATE = """
__device__ int total, *place = &total;
extern "C" __global__ void add(int* sum) { *sum = atomicAdd(place, 1) + 1; }
"""
FUNCTIONS = """
typedef int (*Of)(int);
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int thrice(int x) { return 3 * x; }
extern "C" __global__ void take(Of* f) { f[0] = twice; f[1] = thrice; }
extern "C" __global__ void apply(Of* f, int* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = f[i % 2](i);
}
"""


def test_variables_are_those_of_a_module():
    module, sums = ck.simulator.RawModule(code=STATE), np.zeros(1, np.int32)
    add = module.get_function("add")
    for blocks, total in ((1, 1), (LARGE, 1 + LARGE), (2, 3 + LARGE)):
        add((blocks,), (1,), (sums,))
        assert module.get_global("total").view(np.int32)[0] == total
    first = ck.simulator.RawModule(code=STATE + "// large launch first")
    first.get_function("add")((LARGE,), (1,), (sums,))
    first.get_global("total").view(np.int32)[0] = 5
    first.get_function("add")((1,), (1,), (sums,))
    assert sums[0] == 6


def test_addresses_of_functions_are_those_of_a_module():
    module = ck.simulator.RawModule(code=FUNCTIONS)
    functions, y = np.zeros(2, np.uint64), np.zeros(LARGE, np.int32)
    module.get_function("take")((1,), (1,), (functions,))
    module.get_function("apply")((LARGE // 256,), (256,), (functions, y))
    i = np.arange(LARGE)
    np.testing.assert_array_equal(y, i * (2 + i % 2))


def test_most_points(monkeypatch):
    monkeypatch.setattr(suspension_points, "_MOST_POINTS", 2)
    text = PTX.replace("SIZE", "8").replace("MORE", "").replace("BODY", "bar.sync 0; " * 3)
    assert "// fibers: 3 points\n" in translate(parse(text, "k"), "k")


@each("mode", [None, *ExecutionMode])
def test_library_of_a_launch(monkeypatch, mode):
    """If no mode is forced, launches of many threads have a library that runs fast."""
    loaded, load = [], ModuleLoader.load

    def told(self, ptx, **which):
        loaded.append(which["fast"])
        return load(self, ptx, **which)

    monkeypatch.setattr(ModuleLoader, "load", told)
    x = np.zeros(1, np.int32)
    code = f'// {mode}\nextern "C" __global__ void k(int* x) {{ *x = 1; }}'
    with force(mode):
        kernel = RawKernel(code, "k")
        for blocks in (1, LARGE // 32 - 1, LARGE // 32, 1):
            kernel((blocks,), (32,), (x,))
    assert loaded == {None: [False, True], ExecutionMode.WARP_LOOPS: [True]}.get(mode, [False])
