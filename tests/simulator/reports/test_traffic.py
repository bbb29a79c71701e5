"""Requests, sectors and wavefronts of kernels whose traffic can be computed by hand."""

from __future__ import annotations

import re
from contextlib import nullcontext, suppress
from dataclasses import astuple, dataclass

import numpy as np
import pytest

import cudakern as ck
from cudakern.errors import SimulatorError
from cudakern.simulator import RawKernel, RawModule, Requests, traffic
from tests.helpers.rows import each

SECTORS = ("load", "store", "atomic", "local load", "local store")
KINDS = (*SECTORS, "shared load", "shared store", "shared atomic", "constant load")
XY = "const float* x, float* y"
LOOP = (
    "float s = 0;\n#pragma unroll 1\nfor (int k = 0; k <= t % 32; ++k)"  # lane l turns l + 1 times
)


def requests(text, kind="load") -> Requests:
    """Return the sum of terms: requests x lanes x bytes of a lane, to sectors of a request.

    Requests to shared and constant memory have wavefronts in place of sectors.

    >>> requests("4x32x4 to 4 + 1x16x4 to 2")
    Requests(requests=5, accesses=144, bytes_requested=576, sectors=18, wavefronts=0)
    """
    result = Requests()
    for term in text.split(" + "):
        count, lanes, size, units = map(int, re.split("x| to ", term))
        moved = (count * units, 0) if kind in SECTORS else (0, count * units)
        result.include(Requests(count, count * lanes, count * lanes * size, *moved))
    return result


def zeros(size, kind="float"):
    return np.zeros(size, {"float": np.float32, "int": np.int32, "char": np.uint8}[kind])


@dataclass(frozen=True)
class Case:
    """A kernel called ``name``, with thread ``t`` of a block and index ``i``, and its figures.

    A kind that is not among the figures must not occur. By default, a launch has two blocks of two
    warps, and each parameter gets an array of zeros that is large enough for all indices in the
    table.
    """

    name: str
    body: str
    figures: str
    parameters: str = XY
    arguments: tuple | None = None
    grid: tuple[int, ...] = (2,)
    block: tuple[int, ...] = (64,)
    shared_mem: int = 0
    before: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def code(self) -> str:
        """The kernel's text."""
        return f"""extern "C" {{ {self.before}
__global__ void {self.name}({self.parameters}) {{
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  {self.body}
}} }}
"""

    @property
    def expected(self) -> dict[str, Requests]:
        """The figures of each kind."""
        result = dict.fromkeys(KINDS, Requests())
        for part in filter(None, self.figures.split("; ")):
            kinds, _, text = part.partition(": ")
            result |= {kind: requests(text, kind) for kind in kinds.split(", ")}
        return result

    def launch(self, module) -> None:
        """Run the kernel once."""
        kernel = module.get_function(self.name)
        count = len(self.parameters.split(","))
        arguments = self.arguments or tuple(zeros(2**18, "char") for _ in range(count))
        kernel(self.grid, self.block, arguments, shared_mem=self.shared_mem)


def copying(name, kind, index, size, sectors, arguments=None) -> Case:
    """Return a case of loads at an index and stores at i: a warp moves 32 * size bytes."""
    figures = f"load: 4x32x{size} to {sectors}; store: 4x32x{size} to {size}"
    return Case(name, f"y[i] = x[{index}];", figures, f"const {kind}* x, {kind}* y", arguments)


GLOBAL = [
    copying("copy_1", "unsigned char", "i", 1, 1),
    copying("copy_2", "short", "i", 2, 2),
    copying("copy_4", "float", "i", 4, 4),
    copying("copy_8", "double", "i", 8, 8),
    copying("copy_float4", "float4", "i", 16, 16),
    copying("stride_2", "float", "2 * i", 4, 8),  # 256 bytes
    copying("stride_3", "float", "3 * i", 4, 12),  # 384 bytes
    copying("stride_8", "float", "8 * i", 4, 32),  # a sector each
    copying("stride_2_float4", "float4", "2 * i", 16, 32),
    copying("backwards", "float", "127 - i", 4, 4),
    copying("shuffled", "float", "i ^ 21", 4, 4),  # within the same 128 bytes
    copying("off_by_1", "float", "i + 1", 4, 5),  # bytes 4 to 132
    copying("off_by_8", "float", "i + 8", 4, 4),
    copying("off_by_1_byte", "unsigned char", "i + 1", 1, 2),
    copying("off_by_1_float4", "float4", "i + 1", 16, 17),
    copying("view", "float", "i", 4, 5, (zeros(129)[1:], zeros(128))),
    copying("aligned_view", "float", "i", 4, 4, (zeros(136)[8:], zeros(128))),
    copying("broadcast", "float", "5", 4, 1),
    copying("pairs", "float", "i / 2", 4, 2),
    copying("two_ends", "float", "t % 2 * 1000", 4, 2),
]
RANDOM = np.random.default_rng(1).integers(0, 2**14, 128).astype(np.int32)


def picking(name, kind, size) -> Case:
    """Return a case of a gather: the indices are coalesced, the elements they pick are random."""
    sectors = [len(np.unique(warp * size // 32)) for warp in RANDOM.reshape(4, 32)]
    assert all(size < n <= 32 for n in sectors)
    picks = " + ".join(f"1x32x{size} to {n}" for n in sectors)
    figures = f"load: 4x32x4 to 4 + {picks}; store: 4x32x{size} to {size}"
    parameters = f"const {kind}* x, const int* index, {kind}* y"
    arguments = (zeros(2**20, "char"), RANDOM, zeros(2**14, "char"))
    return Case(name, "y[i] = x[index[i]];", figures, parameters, arguments)


def structure(name, members, count, size, sectors) -> Case:
    """Return a case of copied structures; a warp has ``count`` accesses of a size and sectors."""
    figures = f"load, store: {4 * count}x32x{size} to {sectors}"
    parameters, before = f"const S_{name}* x, S_{name}* y", f"struct S_{name} {{ {members} }};"
    return Case(name, "y[i] = x[i];", figures, parameters, before=before)


PLACED = [
    picking("gather_1", "unsigned char", 1),
    picking("gather_4", "float", 4),
    picking("gather_8", "double", 8),
    picking("gather_16", "float4", 16),
    # 32 lanes at a stride of 16 bytes: 512 bytes, for each of four fields
    Case("struct_by_field",
         "y[i] = p[i].x; y[i + 128] = p[i].y; y[i + 256] = p[i].z; y[i + 384] = p[i].w;",
         "load: 16x32x4 to 16; store: 16x32x4 to 4", "const Cell* p, float* y",
         before="struct Cell { float x, y, z, w; };"),
    # a GPU moves words if the structure is aligned to words
    structure("struct_3", "unsigned char a, b, c;", 3, 1, 3),
    structure("struct_12", "float x, y, z;", 3, 4, 12),
    structure("struct_16", "float x, y, z, w;", 4, 4, 16),
    structure("struct_20", "int a[5];", 5, 4, 20),
    structure("struct_aligned", "alignas(16) float x; float y, z, w;", 1, 16, 16),
    # NVRTC merges both loads
    Case("float4_by_field", "y[i] = p[i].x + p[i].w;",
         "load: 4x32x16 to 16; store: 4x32x4 to 4", "const float4* p, float* y"),
    # blocks of 48: a warp of 32 lanes and one of 16; block 1 starts at byte 192
    Case("partial_warp", "y[i] = x[i];", "load, store: 2x32x4 to 4 + 2x16x4 to 2", block=(48,)),
    # block 1 starts at byte 132: its first warp ends at 260, its last lane lies in that sector
    Case("one_lane", "y[i] = x[i];", "load, store: 1x32x4 to 4 + 1x32x4 to 5 + 2x1x4 to 1",
         block=(33,)),
    Case("guarded", "if (i < 100) y[i] = x[i];", "load, store: 3x32x4 to 4 + 1x4x4 to 1"),
    Case("returned", "if (i >= 100) return; y[i] = x[i];",
         "load, store: 3x32x4 to 4 + 1x4x4 to 1"),
    Case("odd_lanes", "if (t % 2) y[i] = x[i];", "load, store: 4x16x4 to 4"),
    Case("half_of_the_lanes", "if (t % 32 < 16) y[i] = x[i];", "load, store: 4x16x4 to 2"),
    # two instructions of half a warp each
    Case("both_branches", "if (t % 32 < 16) y[i] = x[i]; else y[i + 1024] = x[i + 512] + 1;",
         "load, store: 8x16x4 to 2"),
    Case("block_of_1_d", "const int k = threadIdx.y * 8 + t; y[k] = x[k];",
         "load, store: 2x32x4 to 4", grid=(1,), block=(8, 8)),
    # a warp has four rows of 8 lanes: of 32 bytes each, in four rows of the array
    Case("block_of_2_d", "const int k = threadIdx.y * 64 + t; y[k] = x[k + 4];",
         "load: 2x32x4 to 8; store: 2x32x4 to 4", grid=(1,), block=(8, 8)),
    # 8 columns of four neighbours
    Case("block_transposed", "const int k = t * 64 + threadIdx.y; y[k] = x[k];",
         "load, store: 2x32x4 to 8", grid=(1,), block=(8, 8)),
    # a warp has two planes of four rows of 4 floats: 8 times 16 bytes
    Case("block_of_3_d", "const int k = (threadIdx.z * 64 + threadIdx.y) * 64 + t; y[k] = x[k];",
         "load, store: 2x32x4 to 8", grid=(1,), block=(4, 4, 4)),
    Case("loop", "float s = 0; for (int k = 0; k < 7; ++k) s += x[k * 128 + i]; y[i] = s;",
         "load: 28x32x4 to 4; store: 4x32x4 to 4"),
    Case("grid_stride_loop",  # 31 warps and 8 lanes
         "for (int k = i; k < 1000; k += gridDim.x * blockDim.x) y[k] = x[k];",
         "load, store: 31x32x4 to 4 + 1x8x4 to 1"),
    # the n-th turns of all lanes are one request, to one address: of 32 lanes, 31, ... or 1
    Case("triangular_loop", f"{LOOP} s += x[k]; y[i] = s;",
         "load: 64x32x4 to 1 + 64x1x4 to 1; store: 4x32x4 to 4"),
    # ... to sectors far apart
    Case("triangular_rows", f"{LOOP} s += x[k * 128 + t * 8]; y[i] = s;",
         "load: 64x32x4 to 32 + 64x1x4 to 1; store: 4x32x4 to 4"),
    # more requests than the runtime keeps for a thread
    Case("long_loop", "float s = 0;\n#pragma unroll 1\n"
         "for (int k = 0; k < 5000; ++k) s += x[8 * k + t % 32]; y[i] = s;",
         "load: 20000x32x4 to 4; store: 4x32x4 to 4"),
    Case("loop_with_barrier", "for (int k = 0; k < 3; ++k) { y[i] += 1; __syncthreads(); }",
         "load, store: 12x32x4 to 4"),
    Case("loop_with_collective", "float s = 0; for (int k = 0; k < 3; ++k)"
         " s += __shfl_xor_sync(0xffffffff, x[i + 128 * k], 1); y[i] = s;",
         "load: 12x32x4 to 4; store: 4x32x4 to 4"),
    Case("volatile_access", "x[i] = x[i] + 1;", "load, store: 4x32x4 to 4", "volatile float* x"),
    Case("hints", "__stcs(y + i, __ldcs(x + 2 * i) + __ldg(x + i));",
         "load: 8x32x4 to 6; store: 4x32x4 to 4"),
    Case("hints_16", "__stcs(y + i, __ldg(x + i));", "load, store: 4x32x16 to 16",
         "const float4* x, float4* y"),
    Case("atomic_add", "atomicAdd(x + i, 1);", "atomic: 4x32x4 to 4", "int* x"),
    Case("atomic_of_one", "atomicAdd(x, 1);", "atomic: 4x32x4 to 1", "int* x"),
    Case("atomic_64", "atomicMax(x + i, 7ull);", "atomic: 4x32x8 to 8", "unsigned long long* x"),
    Case("atomic_cas", "y[i] = atomicCAS(x + 8 * i, 0, 1);",
         "atomic: 4x32x4 to 32; store: 4x32x4 to 4", "int* x, int* y"),
    Case("device_variable", "y[i] = factor;", "load: 4x32x4 to 1; store: 4x32x4 to 4",
         before="__device__ float factor = 3;"),
    Case("nothing", "if (gridDim.x == 3) y[i] = 1;", ""),
]  # fmt: skip
WEIGHTS = "__constant__ float {0}[4] = {{1, 2, 3, 4}};"
N = "const int* n, {}* y"
OWN = [
    # word k of all lanes lies side by side; eight of them are a sector
    Case("local_same", "float a[8]; for (int k = 0; k < 8; ++k) a[k] = x[8 * k + i]; y[i] = a[*n];",
         "load: 32x32x4 to 4 + 4x32x4 to 1; local store: 8x32x16 to 16; local load: 4x32x4 to 4;"
         " store: 4x32x4 to 4", N.format("const float* x, float")),
    # eight words in each group of eight lanes
    Case("local_different", "float a[8]; for (int k = 0; k < 8; ++k) a[(k + t) % 8] = k;"
         " y[i] = a[i % 8];",
         "local store: 32x32x4 to 32; local load: 4x32x4 to 32; store: 4x32x4 to 4"),
    Case("local_bytes", "unsigned char a[8]; for (int k = 0; k < 8; ++k) a[(k + *n) % 8] = k;"
         " y[i] = a[(t / 32 + *n) % 8];",
         "load: 4x32x4 to 1; local store: 32x32x1 to 4; local load: 4x32x1 to 4;"
         " store: 4x32x1 to 1", N.format("unsigned char")),
    Case("local_double", "double a[8]; for (int k = 0; k < 8; ++k) a[(k + t) % 8] = k;"
         " y[i] = a[*n];",
         "load: 4x32x4 to 1; local store: 32x32x8 to 64; local load: 4x32x8 to 8;"
         " store: 4x32x8 to 8", N.format("double")),
    # registers, however many, cause no traffic
    Case("registers", "float a[64]; for (int k = 0; k < 64; ++k) a[k] = k * y[i]; float s = 0;"
         " for (int k = 0; k < 64; ++k) s += a[63 - k] * a[k]; y[i] = s;",
         "load, store: 4x32x4 to 4"),
    Case("constant_same", "y[i] = same[blockIdx.x];",
         "constant load: 4x32x4 to 1; store: 4x32x4 to 4", before=WEIGHTS.format("same")),
    Case("constant_different", "y[i] = different[t % 4];",
         "constant load: 4x32x4 to 4; store: 4x32x4 to 4", before=WEIGHTS.format("different")),
    Case("constant_pairs", "y[i] = couple[t % 2];",
         "constant load: 4x32x8 to 2; store: 4x32x8 to 8", "double* y",
         before="__constant__ double couple[2] = {1, 2};"),
    # an instruction that is of two kinds
    Case("constant_or_global", "y[i] = (t % 2 ? either : x)[t % 4];",
         "constant load: 4x16x4 to 2; load: 4x16x4 to 1; store: 4x32x4 to 4",
         before=WEIGHTS.format("either")),
    Case("parameter", "y[i] = a.value[t % 8];", "store: 4x32x4 to 4",
         "const __grid_constant__ Table a, float* y", (np.void(bytes(32)), zeros(128)),
         before="struct Table { float value[8]; };"),
]  # fmt: skip


def sharing(name, kind, index, size, wavefronts, written="t", stored=None) -> Case:
    """Return a case of stores to shared memory, a barrier, and loads at an index."""
    stored = stored or max(size // 4, 1)  # neighbouring elements
    return Case(
        name,
        f"__shared__ {kind} s[4096 / sizeof({kind}) * 3]; s[{written}] = {{}};"
        f" __syncthreads(); y[i] = s[{index}];",
        f"shared store: 4x32x{size} to {stored}; shared load: 4x32x{size} to {wavefronts};"
        f" store: 4x32x{size} to {size}",
        f"{kind}* y",
    )


def transpose(name, pitch, wavefronts) -> Case:
    """Return a case of a tile of 32 rows, written by rows and read by columns."""
    return Case(
        name,
        f"__shared__ float tile[32][{pitch}]; const int r = threadIdx.y;"
        " for (int k = r; k < 32; k += 8) tile[k][t] = x[k * 64 + t]; __syncthreads();"
        " for (int k = r; k < 32; k += 8) y[k * 64 + t] = tile[t][k];",
        "load, store: 32x32x4 to 4; shared store: 32x32x4 to 1;"
        f" shared load: 32x32x4 to {wavefronts}",
        grid=(1,),
        block=(32, 8),
    )


SHARED = [
    sharing("shared_free", "float", "t", 4, 1),
    sharing("shared_permuted", "float", "t ^ 27", 4, 1),
    sharing("shared_broadcast", "float", "7", 4, 1),
    sharing("shared_two_lanes_a_word", "float", "t / 2", 4, 1),
    sharing("shared_stride_2", "float", "2 * t", 4, 2),
    sharing("shared_stride_3", "float", "3 * t", 4, 1),
    sharing("shared_stride_32", "float", "32 * t", 4, 32),
    sharing("shared_stride_33", "float", "33 * t", 4, 1),
    sharing("shared_store_stride_2", "float", "t", 4, 1, "2 * t", 2),
    sharing("shared_store_stride_32", "float", "t", 4, 1, "32 * t", 32),
    sharing("shared_two_words", "float", "t % 2 * 32", 4, 2),  # in one bank
    sharing("shared_bytes", "unsigned char", "t", 1, 1),  # four lanes share a word
    sharing("shared_bytes_stride_8", "unsigned char", "8 * t", 1, 2),
    sharing("shared_shorts", "short", "t", 2, 1),
    sharing("shared_float4", "float4", "t", 16, 4),
    sharing("shared_double", "double", "t", 8, 2),
    sharing("shared_double_stride_2", "double", "2 * t", 8, 4),  # lanes l and l + 8 of each half
    sharing("shared_double_stride_16", "double", "16 * t % 256", 8, 32),  # all of each half
    sharing("shared_float4_stride_2", "float4", "2 * t", 16, 8),  # lanes l and l + 4 of a quarter
    transpose("transpose_plain", 32, 32),
    transpose("transpose_padded", 33, 1),
    # both arrays in one buffer: the second starts at byte 256
    Case("shared_dynamic", "extern __shared__ float d[]; d[t] = 1; d[64 + 2 * t] = 2;"
         " __syncthreads(); y[i] = d[64 + t];",
         "shared store: 4x32x4 to 1 + 4x32x4 to 2; shared load: 4x32x4 to 1; store: 4x32x4 to 4",
         shared_mem=1024),
    # one word for each lane, then one word for all
    Case("shared_atomics", "__shared__ int s[64]; s[t] = 0; __syncthreads(); atomicAdd(s + t, 1);"
         " atomicAdd(s, 1); __syncthreads(); if (t < 16) y[t] = s[4 * t];",
         "shared store: 4x32x4 to 1; shared atomic: 8x32x4 to 1; shared load: 2x16x4 to 2;"
         " store: 2x16x4 to 2"),
    Case("shared_histogram",
         "__shared__ int s[1024]; for (int k = t; k < 1024; k += 64) s[k] = 0; __syncthreads();"
         " atomicAdd(s + x[i] + t % 4 * 32, 1); __syncthreads(); y[i] = s[t];",
         "load: 4x32x4 to 4; shared store: 64x32x4 to 1; shared atomic: 4x32x4 to 4;"
         " shared load: 4x32x4 to 1; store: 4x32x4 to 4", "const int* x, int* y"),
    Case("shared_partial_warp",
         "__shared__ float s[96]; s[2 * t] = 1; __syncthreads(); y[i] = s[t];",
         "shared store: 1x32x4 to 2 + 1x16x4 to 1; shared load: 1x32x4 to 1 + 1x16x4 to 1;"
         " store: 1x32x4 to 4 + 1x16x4 to 2", grid=(1,), block=(48,)),
]  # fmt: skip
WINDOW = "const unsigned to = __cvta_generic_to_shared(s + t);"
WAIT = 'asm volatile("cp.async.wait_all;" ::: "memory");'
COPIED = [
    Case("copy_async", f"__shared__ float4 s[64]; {WINDOW}"
         ' asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(x + i));'
         f" {WAIT} y[i] = s[t];",
         "load, store: 4x32x16 to 16; shared load, shared store: 4x32x16 to 4",
         "const float4* x, float4* y"),
    # every other lane writes zeros and reads nothing
    Case("copy_async_some", f"__shared__ float s[64]; {WINDOW}"
         ' asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"'
         f' :: "r"(to), "l"(x + i), "r"(t % 2 * 4)); {WAIT} y[i] = s[t];',
         "load: 4x16x4 to 4; shared load, shared store: 4x32x4 to 1; store: 4x32x4 to 4"),
    # one thread, one request
    Case("copy_bulk", f"__shared__ alignas(16) float4 s[64]; {WINDOW} s[t] = {{}};"
         ' asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();'
         " if (t == 0) {"
         ' asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;"'
         ' :: "l"(y + i), "r"(to)); asm volatile("cp.async.bulk.commit_group;");'
         ' asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }',
         "shared store: 4x32x16 to 4; shared load: 2x1x1024 to 8; store: 2x1x1024 to 32",
         "float4* y"),
    Case("other_block", f"__shared__ int s[64]; {WINDOW} s[t] = t; cluster_barrier(); int value;"
         ' asm volatile("{ .reg .u32 from_; mapa.shared::cluster.u32 from_, %1, %2;'
         ' ld.shared::cluster.s32 %0, [from_]; }" : "=r"(value) : "r"(to), "r"(blockIdx.x ^ 1));'
         " cluster_barrier(); y[i] = value;",
         "shared load, shared store: 4x32x4 to 1; store: 4x32x4 to 4",
         before="__device__ void cluster_barrier() {"
         ' asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory"); }'
         " __cluster_dims__(2)"),
]  # fmt: skip
CASES = GLOBAL + PLACED + OWN + SHARED + COPIED


@pytest.fixture(scope="module")
def module():
    """Return the module of all kernels, compiled together."""
    return RawModule(code="".join(case.code for case in CASES))


@each("case", CASES, ids=str)
def test_figures(module, case):
    # A checked launch has the same figures, in whatever order it runs, and with any findings: some
    # cases read what nothing wrote.
    for block in (nullcontext(), ck.simulator.checked(seed=7, resident_blocks=1)):
        with suppress(SimulatorError), block, traffic() as report:
            case.launch(module)
        (counted,) = report.kernels
        assert counted.kernel == case.name
        assert {kind: counted.total(kind) for kind in KINDS} == case.expected


LINES = r"""
template <typename T> __device__ T pick(const T* x, int i) {
  return x[i];
}
__device__ float twice(const float* x, int i) {
  return 2 * pick(x, i);
}
__device__ __forceinline__ float cached(const float* x) { return __ldg(x); }
extern "C" __global__ void first(const float* x, const float* z, float* y) {
  const int i = threadIdx.x;
  float s = x[i];
  s += z[2 * i];
  s += twice(x, 8 * i);
  s += cached(z + i);
  s += __ldcs(z + 4 * i);
  __stcs(y + i,
         s);
  __shared__ float r[64];
  r[2 * i] = s;
  __syncthreads();
  s = r[2 * (31 - i)];
  atomicAdd(y + 32 + i, s);
}
extern "C" __global__ void second(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x + 1];
}
"""


def line_of(text):
    """Return the number of the line that starts with a text."""
    (number,) = (n for n, line in enumerate(LINES.split("\n"), 1) if line.strip().startswith(text))
    return number


@pytest.fixture(scope="module")
def lines():
    """Return the kernels of `LINES`."""
    module = RawModule(code=LINES)
    return module.get_function("first"), module.get_function("second")


def launch_lines(lines, launches=(1, 1)):
    x, y = np.arange(256, dtype=np.float32), zeros(64)
    for kernel, arguments, count in zip(lines, ((x, x, y), (x, y)), launches, strict=True):
        for _ in range(count):
            kernel((1,), (32,), arguments)
    return y


def test_lines_are_told_apart(lines):
    with traffic() as report:
        launch_lines(lines, (1, 0))
    (counted,) = report.kernels
    rows = {
        (line.kind, *(number for _, number in line.stack)): (line.requests, line.sectors)
        for line in counted.lines
    }
    kernel = [line_of(t) for t in ("float s", "s += z", "s += twice", "s += cached", "s += __ldcs")]
    assert rows.pop(("shared store", line_of("r[2 * i"))) == (1, 0)
    assert rows.pop(("shared load", line_of("s = r[2"))) == (1, 0)
    assert rows == {
        ("load", kernel[0]): (1, 4),
        ("load", kernel[1]): (1, 8),
        ("load", line_of("return x"), line_of("return 2"), kernel[2]): (1, 32),
        ("load", line_of("__device__ __forceinline__"), kernel[3]): (1, 4),
        ("load", kernel[4]): (1, 16),
        ("store", line_of("__stcs")): (1, 4),
        ("atomic", line_of("atomicAdd")): (1, 4),
    }
    assert {line.source for line in counted.lines} == {line.stack[0] for line in counted.lines}
    assert {file for line in counted.lines for file, _ in line.stack} == {"module.cu"}


def test_launches_add_up_and_kernels_do_not(lines):
    launch_lines(lines)
    with traffic() as report:
        launch_lines(lines, (3, 2))
        launch_lines(lines, (0, 2))
    launch_lines(lines)
    with traffic() as once:
        launch_lines(lines)
    assert [(k.kernel, k.launches) for k in report.kernels] == [("first", 3), ("second", 4)]
    for kernel, alone in zip(report.kernels, once.kernels, strict=True):
        executed = {name: kernel.launches * count for name, count in alone.instructions.items()}
        assert kernel.instructions == executed
        for line, single in zip(kernel.lines, alone.lines, strict=True):
            assert (line.kind, line.stack) == (single.kind, single.stack)
            assert astuple(line)[:5] == tuple(kernel.launches * n for n in astuple(single)[:5])


def test_sums(lines):
    with traffic() as report:
        y = launch_lines(lines)
    np.testing.assert_array_equal(y[:32], np.arange(1, 64, 2))  # as without a block
    first, second = report.kernels
    assert first.loads == Requests(5, 160, 640, 4 + 8 + 32 + 4 + 16, 0)
    assert first.stores == first.atomics == requests("1x32x4 to 4")
    assert first.shared_stores == first.shared_loads == requests("1x32x4 to 2", "shared load")
    assert first.shared_atomics == Requests()
    assert first.sectors == 64 + 4 + 4
    assert first.bytes_moved == 32 * 72
    assert first.bytes_requested == 7 * 128
    assert second.loads.bytes_moved == 9 * 32
    assert second.loads.sectors_per_request == 4.5
    assert first.shared_stores.wavefronts_per_request == 2
    assert np.isnan(first.shared_atomics.wavefronts_per_request)
    # Two loads of a line are one entry.
    assert [(line.kind, line.requests) for line in second.lines] == [("load", 2), ("store", 1)]


def test_local_and_constant_memory_are_apart(module):
    named = {case.name: case for case in CASES}
    with traffic() as report:
        named["local_same"].launch(module)
        named["constant_same"].launch(module)
    local, constant = report.kernels
    assert local.local_loads == requests("4x32x4 to 4")
    assert local.local_stores.bytes_moved == 8 * 512
    assert local.sectors == 32 * 4 + 4 + 16
    assert constant.constant_loads.wavefronts_per_request == 1
    assert constant.bytes_requested == constant.bytes_moved == 512
    words = " ".join(str(report).split())
    assert "local load 4 requests 4.00 sectors/request 100% efficiency" in words
    assert "constant load same 4 requests 1.00 wavefronts/request" in words


def test_text(lines):
    with traffic() as report:
        assert str(report) == "no launches"
        launch_lines(lines, (1, 2))
    first, second = str(report).split("\n\n")
    assert first.startswith("first: 1 launch, 896 bytes requested, 2,304 bytes moved\n")
    assert second.split("\n")[0].startswith("second: 2 launches, ")
    lines = (" ".join(row.split()) for row in first.split("\n"))
    rows = [re.sub(r" is [\w/]+\.py:\d+", "", line) for line in lines]
    stride = line_of("s += z")
    row = f"module.cu:{stride} load argument 0 (x) 1 request 8.00 sectors/request 50% efficiency"
    assert row in rows
    shared = line_of("r[2 * i")
    assert f"module.cu:{shared} shared store r 1 request 2.00 wavefronts/request" in rows
    assert len([row for row in rows if row.startswith("module.cu:")]) == 9


def test_a_launch_that_fails_leaves_nothing_behind():
    code = r"""
extern "C" __global__ void k(float* x, int wait) {
  x[threadIdx.x] = 1;
  if (wait && threadIdx.x == 0) {
    while (atomicAdd((int*)x + 64, 0) == 0) {}
  }
  __syncthreads();
  x[threadIdx.x] += 1;
}
"""
    kernel = RawKernel(code, "k")
    with traffic() as report, pytest.raises(SimulatorError):
        kernel((1,), (64,), (zeros(65), np.int32(1)))
    assert report.kernels == []
    with traffic() as report:
        kernel((1,), (64,), (zeros(65), np.int32(0)))
    assert report.kernels[0].stores == requests("4x32x4 to 4")
    assert report.kernels[0].loads == requests("2x32x4 to 4")
    assert report.kernels[0].atomics == Requests()
