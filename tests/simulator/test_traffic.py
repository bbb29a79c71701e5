"""Requests, sectors and wavefronts of kernels whose traffic is known by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import cudakern as ck
from cudakern.errors import SimulatorError
from cudakern.simulator import RawKernel, RawModule, Requests, traffic

KINDS = (
    *("load", "store", "atomic", "shared load", "shared store", "shared atomic"),
    *("local load", "local store", "constant load"),
)


def moved(requests, lanes, size, sectors) -> Requests:
    """Return requests that move sectors: of each, its lanes, bytes of a lane, and sectors."""
    accesses = requests * lanes
    return Requests(requests, accesses, accesses * size, requests * sectors, 0)


def passed(requests, lanes, size, wavefronts) -> Requests:
    """Return requests that take wavefronts: of each, its lanes, bytes of a lane, and wavefronts."""
    accesses = requests * lanes
    return Requests(requests, accesses, accesses * size, 0, requests * wavefronts)


def plus(*parts) -> Requests:
    """Return the sum of requests."""
    result = Requests()
    for part in parts:
        result.include(part)
    return result


def zeros(size, kind="float"):
    return np.zeros(size, {"float": np.float32, "int": np.int32, "char": np.uint8}[kind])


@dataclass(frozen=True)
class Case:
    """A kernel called ``name``, with thread ``t`` of a block and index ``i``, and its figures.

    A kind that is not among the figures must not occur. Unless it says otherwise, a launch has two
    blocks of two warps, and the arguments are arrays of zeros, one for each parameter, so large
    that no index of the table leaves them.
    """

    name: str
    parameters: str
    body: str
    figures: dict[str, Requests]
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

    def launch(self, kernel) -> None:
        """Run the kernel once."""
        count = self.parameters.count(",") + 1
        arguments = self.arguments or tuple(zeros(2**16) for _ in range(count))
        kernel(self.grid, self.block, arguments, shared_mem=self.shared_mem)


def copying(name, kind, index, size, sectors, arguments=None) -> Case:
    """Return a case of loads at an index, and of stores at i: 32 * size bytes of a warp."""
    figures = {"load": moved(4, 32, size, sectors), "store": moved(4, 32, size, size)}
    return Case(name, f"const {kind}* x, {kind}* y", f"y[i] = x[{index}];", figures, arguments)


GLOBAL = [
    copying("copy_1", "unsigned char", "i", 1, 1),
    copying("copy_2", "short", "i", 2, 2),
    copying("copy_4", "float", "i", 4, 4),
    copying("copy_8", "double", "i", 8, 8),
    copying("copy_uchar4", "uchar4", "i", 4, 4),
    copying("copy_float2", "float2", "i", 8, 8),
    copying("copy_float4", "float4", "i", 16, 16),
    copying("copy_int4", "int4", "i", 16, 16),
    copying("stride_2", "float", "2 * i", 4, 8),  # 256 bytes
    copying("stride_3", "float", "3 * i", 4, 12),  # 384 bytes
    copying("stride_8", "float", "8 * i", 4, 32),  # a sector each
    copying("stride_32", "float", "32 * i", 4, 32),
    copying("stride_2_float4", "float4", "2 * i", 16, 32),
    copying("backwards", "float", "127 - i", 4, 4),
    copying("shuffled", "float", "i ^ 21", 4, 4),  # within the same 128 bytes
    copying("off_by_1", "float", "i + 1", 4, 5),  # bytes 4 to 132
    copying("off_by_7", "float", "i + 7", 4, 5),
    copying("off_by_8", "float", "i + 8", 4, 4),
    copying("off_by_1_byte", "unsigned char", "i + 1", 1, 2),
    copying("off_by_1_float4", "float4", "i + 1", 16, 17),
    copying("view", "float", "i", 4, 5, (zeros(129)[1:], zeros(128))),
    copying("aligned_view", "float", "i", 4, 4, (zeros(136)[8:], zeros(128))),
    copying("broadcast", "float", "5", 4, 1),
    copying("broadcast_float4", "float4", "3", 16, 1),
    copying("pairs", "float", "i / 2", 4, 2),
    copying("two_ends", "float", "t % 2 * 1000", 4, 2),
]
RANDOM = np.random.default_rng(1).integers(0, 2**14, 128).astype(np.int32)


def sectors_of(index, size):
    """Return how many sectors the picks of four warps touch, elements being naturally aligned."""
    return sum(len(np.unique(warp * size // 32)) for warp in index.reshape(4, 32))


def picking(name, kind, size) -> Case:
    """Return a case of a gather: the indices are coalesced, what they pick is at random."""
    loads = plus(moved(4, 32, 4, 4), Requests(4, 128, 128 * size, sectors_of(RANDOM, size)))
    figures = {"load": loads, "store": moved(4, 32, size, size)}
    parameters = f"const {kind}* x, const int* index, {kind}* y"
    arguments = (zeros(2**18), RANDOM, zeros(2**12))
    return Case(name, parameters, "y[i] = x[index[i]];", figures, arguments)


def structure(name, members, count, size, sectors) -> Case:
    """Return a case of structures copied by so many accesses a warp, of bytes and sectors each."""
    each = moved(4 * count, 32, size, sectors)
    body, before = "q[i] = p[i];", f"struct S_{name} {{ {members} }};"
    parameters = f"const S_{name}* p, S_{name}* q"
    return Case(name, parameters, body, {"load": each, "store": each}, before=before)


PLACED = [
    picking("gather_1", "unsigned char", 1),
    picking("gather_4", "float", 4),
    picking("gather_8", "double", 8),
    picking("gather_16", "float4", 16),
    # 32 lanes at a stride of 16 bytes: 512 bytes, for each of four fields
    Case("struct_by_field", "const Cell* p, float* y",
         "y[i] = p[i].x; y[i + 128] = p[i].y; y[i + 256] = p[i].z; y[i + 384] = p[i].w;",
         {"load": moved(16, 32, 4, 16), "store": moved(16, 32, 4, 4)},
         before="struct Cell { float x, y, z, w; };"),
    # a GPU moves words of what is aligned to words
    structure("struct_3", "unsigned char a, b, c;", 3, 1, 3),
    structure("struct_12", "float x, y, z;", 3, 4, 12),
    structure("struct_16", "float x, y, z, w;", 4, 4, 16),
    structure("struct_20", "int a[5];", 5, 4, 20),
    structure("struct_aligned", "alignas(16) float x; float y, z, w;", 1, 16, 16),
    # NVRTC makes one load of it
    Case("float4_by_field", "const float4* p, float* y", "y[i] = p[i].x + p[i].w;",
         {"load": moved(4, 32, 16, 16), "store": moved(4, 32, 4, 4)}),
    # blocks of 48: a warp of 32 lanes and one of 16; block 1 starts at byte 192
    Case("partial_warp", "const float* x, float* y", "y[i] = x[i];",
         {kind: plus(moved(2, 32, 4, 4), moved(2, 16, 4, 2)) for kind in ("load", "store")},
         block=(48,)),
    # block 1 starts at byte 132: its first warp ends at 260, its last lane lies in that sector
    Case("one_lane", "const float* x, float* y", "y[i] = x[i];",
         {kind: plus(moved(1, 32, 4, 4), moved(1, 32, 4, 5), moved(2, 1, 4, 1))
          for kind in ("load", "store")}, block=(33,)),
    Case("guarded", "const float* x, float* y", "if (i < 100) y[i] = x[i];",
         {kind: plus(moved(3, 32, 4, 4), moved(1, 4, 4, 1)) for kind in ("load", "store")}),
    Case("returned", "const float* x, float* y", "if (i >= 100) return; y[i] = x[i];",
         {kind: plus(moved(3, 32, 4, 4), moved(1, 4, 4, 1)) for kind in ("load", "store")}),
    Case("odd_lanes", "const float* x, float* y", "if (t % 2) y[i] = x[i];",
         {kind: moved(4, 16, 4, 4) for kind in ("load", "store")}),
    Case("half_of_the_lanes", "const float* x, float* y", "if (t % 32 < 16) y[i] = x[i];",
         {kind: moved(4, 16, 4, 2) for kind in ("load", "store")}),
    # two sites of half a warp each
    Case("both_branches", "const float* x, const float* z, float* y",
         "if (t % 32 < 16) y[i] = x[i]; else y[i + 1024] = z[i] + 1;",
         {kind: moved(8, 16, 4, 2) for kind in ("load", "store")}),
    Case("block_of_1_d", "const float* x, float* y",
         "const int k = threadIdx.y * 8 + t; y[k] = x[k];",
         {kind: moved(2, 32, 4, 4) for kind in ("load", "store")}, grid=(1,), block=(8, 8)),
    # a warp has four rows of 8: of 32 bytes each, a row of the array apart
    Case("block_of_2_d", "const float* x, float* y",
         "const int k = threadIdx.y * 64 + t; y[k] = x[k + 4];",
         {"load": moved(2, 32, 4, 8), "store": moved(2, 32, 4, 4)}, grid=(1,), block=(8, 8)),
    # 8 columns of four neighbours
    Case("block_transposed", "const float* x, float* y",
         "const int k = t * 64 + threadIdx.y; y[k] = x[k];",
         {kind: moved(2, 32, 4, 8) for kind in ("load", "store")}, grid=(1,), block=(8, 8)),
    # a warp has two planes of four rows of 4 floats: 8 times 16 bytes
    Case("block_of_3_d", "const float* x, float* y",
         "const int k = (threadIdx.z * 64 + threadIdx.y) * 64 + t; y[k] = x[k];",
         {kind: moved(2, 32, 4, 8) for kind in ("load", "store")}, grid=(1,), block=(4, 4, 4)),
    Case("loop", "const float* x, float* y",
         "float s = 0; for (int k = 0; k < 7; ++k) s += x[k * 128 + i]; y[i] = s;",
         {"load": moved(28, 32, 4, 4), "store": moved(4, 32, 4, 4)}),
    Case("grid_stride_loop", "const float* x, float* y",
         "for (int k = i; k < 1000; k += gridDim.x * blockDim.x) y[k] = x[k];",  # 31 warps and 8
         {kind: plus(moved(31, 32, 4, 4), moved(1, 8, 4, 1)) for kind in ("load", "store")}),
    # lane l makes l + 1 turns: the n-th of all of them is one request, to one address
    Case("triangular_loop", "const float* x, float* y",
         "float s = 0;\n#pragma unroll 1\nfor (int k = 0; k <= t % 32; ++k) s += x[k]; y[i] = s;",
         {"load": Requests(128, 4 * 528, 16 * 528, 128, 0), "store": moved(4, 32, 4, 4)}),
    # 32 turns, each of one lane less, to sectors far apart
    Case("triangular_rows", "const float* x, float* y",
         "float s = 0;\n#pragma unroll 1\n"
         "for (int k = 0; k <= t % 32; ++k) s += x[k * 128 + t * 8]; y[i] = s;",
         {"load": Requests(128, 4 * 528, 16 * 528, 4 * 528, 0), "store": moved(4, 32, 4, 4)}),
    Case("loop_with_barrier", "float* x",
         "for (int k = 0; k < 3; ++k) { x[i] += 1; __syncthreads(); }",
         {kind: moved(12, 32, 4, 4) for kind in ("load", "store")}),
    Case("loop_with_collective", "const float* x, float* y",
         "float s = 0; for (int k = 0; k < 3; ++k)"
         " s += __shfl_xor_sync(0xffffffff, x[i + 128 * k], 1); y[i] = s;",
         {"load": moved(12, 32, 4, 4), "store": moved(4, 32, 4, 4)}),
    Case("volatile_access", "volatile float* x", "x[i] = x[i] + 1;",
         {kind: moved(4, 32, 4, 4) for kind in ("load", "store")}),
    Case("hints", "const float* x, float* y", "__stcs(y + i, __ldcs(x + 2 * i) + __ldg(x + i));",
         {"load": moved(8, 32, 4, 6), "store": moved(4, 32, 4, 4)}),
    Case("hints_16", "const float4* x, float4* y", "__stcs(y + i, __ldg(x + i));",
         {kind: moved(4, 32, 16, 16) for kind in ("load", "store")}),
    Case("atomic_add", "int* x", "atomicAdd(x + i, 1);", {"atomic": moved(4, 32, 4, 4)}),
    Case("atomic_float", "float* x", "atomicAdd(x + i, 1.0f);", {"atomic": moved(4, 32, 4, 4)}),
    Case("atomic_of_one", "int* x", "atomicAdd(x, 1);", {"atomic": moved(4, 32, 4, 1)}),
    Case("atomic_64", "unsigned long long* x", "atomicMax(x + i, 7ull);",
         {"atomic": moved(4, 32, 8, 8)}),
    Case("atomic_cas", "int* x, int* y", "y[i] = atomicCAS(x + 8 * i, 0, 1);",
         {"atomic": moved(4, 32, 4, 32), "store": moved(4, 32, 4, 4)}),
    Case("device_variable", "float* y", "y[i] = factor;",
         {"load": moved(4, 32, 4, 1), "store": moved(4, 32, 4, 4)},
         before="__device__ float factor = 3;"),
    Case("nothing", "float* y", "if (gridDim.x == 3) y[i] = 1;", {}),
]  # fmt: skip


WEIGHTS = "__constant__ float {0}[4] = {{1, 2, 3, 4}};"
#: Of a thread's own: word k of all lanes lies side by side, a sector has that of eight.
OWN = [
    Case("local_same", "const int* n, float* y",
         "float a[8]; for (int k = 0; k < 8; ++k) a[k] = y[i + k]; y[i] = a[*n];",
         {"load": plus(moved(4, 32, 4, 1), moved(32, 32, 4, 5), Requests(sectors=-4)),
          "local store": moved(8, 32, 16, 16), "local load": moved(4, 32, 4, 4),
          "store": moved(4, 32, 4, 4)}),
    # eight words in each group of eight lanes
    Case("local_different", "float* y",
         "float a[8]; for (int k = 0; k < 8; ++k) a[(k + t) % 8] = k; y[i] = a[i % 8];",
         {"local store": moved(32, 32, 4, 32), "local load": moved(4, 32, 4, 32),
          "store": moved(4, 32, 4, 4)}),
    Case("local_bytes", "const int* n, unsigned char* y",
         "unsigned char a[8]; for (int k = 0; k < 8; ++k) a[(k + *n) % 8] = k;"
         " y[i] = a[(t / 32 + *n) % 8];",
         {"load": moved(4, 32, 4, 1), "local store": moved(32, 32, 1, 4),
          "local load": moved(4, 32, 1, 4), "store": moved(4, 32, 1, 1)}),
    Case("local_double", "const int* n, double* y",
         "double a[8]; for (int k = 0; k < 8; ++k) a[(k + t) % 8] = k; y[i] = a[*n];",
         {"load": moved(4, 32, 4, 1), "local store": moved(32, 32, 8, 64),
          "local load": moved(4, 32, 8, 8), "store": moved(4, 32, 8, 8)}),
    # registers are no traffic, however many
    Case("registers", "float* y",
         "float a[64]; for (int k = 0; k < 64; ++k) a[k] = k * y[i]; float s = 0;"
         " for (int k = 0; k < 64; ++k) s += a[63 - k] * a[k]; y[i] = s;",
         {kind: moved(4, 32, 4, 4) for kind in ("load", "store")}),
    Case("constant_same", "float* y", "y[i] = same[blockIdx.x];",
         {"constant load": passed(4, 32, 4, 1), "store": moved(4, 32, 4, 4)},
         before=WEIGHTS.format("same")),
    Case("constant_different", "float* y", "y[i] = different[t % 4];",
         {"constant load": passed(4, 32, 4, 4), "store": moved(4, 32, 4, 4)},
         before=WEIGHTS.format("different")),
    Case("constant_pairs", "double* y", "y[i] = pairs[t % 2];",
         {"constant load": passed(4, 32, 8, 2), "store": moved(4, 32, 8, 8)},
         before="__constant__ double pairs[2] = {1, 2};"),
    # an instruction of two kinds
    Case("constant_or_global", "const float* x, float* y", "y[i] = (t % 2 ? either : x)[t % 4];",
         {"constant load": passed(4, 16, 4, 2), "load": moved(4, 16, 4, 1),
          "store": moved(4, 32, 4, 4)}, before=WEIGHTS.format("either")),
    Case("parameter", "const __grid_constant__ Table a, float* y", "y[i] = a.value[t % 8];",
         {"store": moved(4, 32, 4, 4)}, (np.void(bytes(32)), zeros(128)),
         before="struct Table { float value[8]; };"),
]  # fmt: skip


def sharing(name, kind, index, size, wavefronts, written="t", wavefronts_written=None) -> Case:
    """Return a case of stores to shared memory, a barrier, and loads at an index."""
    own = size * 32 // 128 or 1  # wavefronts of neighbouring elements
    stored = own if wavefronts_written is None else wavefronts_written
    return Case(
        name, f"{kind}* y",
        f"__shared__ {kind} s[4096 / sizeof({kind}) * 3]; s[{written}] = {{}};"
        f" __syncthreads(); y[i] = s[{index}];",
        {"shared store": passed(4, 32, size, stored),
         "shared load": passed(4, 32, size, wavefronts), "store": moved(4, 32, size, size)},
    )  # fmt: skip


def transpose(name, pitch, wavefronts) -> Case:
    """Return a case of a tile of 32 rows, written by rows and read by columns."""
    return Case(
        name, "const float* x, float* y",
        f"__shared__ float tile[32][{pitch}]; const int r = threadIdx.y;"
        " for (int k = r; k < 32; k += 8) tile[k][t] = x[k * 64 + t]; __syncthreads();"
        " for (int k = r; k < 32; k += 8) y[k * 64 + t] = tile[t][k];",
        {"load": moved(32, 32, 4, 4), "store": moved(32, 32, 4, 4),
         "shared store": passed(32, 32, 4, 1), "shared load": passed(32, 32, 4, wavefronts)},
        grid=(1,), block=(32, 8),
    )  # fmt: skip


SHARED = [
    sharing("shared_free", "float", "t", 4, 1),
    sharing("shared_permuted", "float", "t ^ 27", 4, 1),
    sharing("shared_moved", "float", "t + 5", 4, 1),  # banks are a ring
    sharing("shared_broadcast", "float", "7", 4, 1),
    sharing("shared_two_lanes_a_word", "float", "t / 2", 4, 1),
    sharing("shared_stride_2", "float", "2 * t", 4, 2),
    sharing("shared_stride_3", "float", "3 * t", 4, 1),
    sharing("shared_stride_4", "float", "4 * t", 4, 4),
    sharing("shared_stride_32", "float", "32 * t", 4, 32),
    sharing("shared_stride_33", "float", "33 * t", 4, 1),
    sharing("shared_store_stride_2", "float", "t", 4, 1, "2 * t", 2),
    sharing("shared_store_stride_32", "float", "t", 4, 1, "32 * t", 32),
    sharing("shared_two_words", "float", "t % 2 * 32", 4, 2),  # of one bank
    sharing("shared_bytes", "unsigned char", "t", 1, 1),  # four lanes a word
    sharing("shared_bytes_stride_4", "unsigned char", "4 * t", 1, 1),
    sharing("shared_bytes_stride_8", "unsigned char", "8 * t", 1, 2),
    sharing("shared_shorts", "short", "t", 2, 1),
    sharing("shared_shorts_stride_2", "short", "2 * t", 2, 1),
    sharing("shared_float2", "float2", "t", 8, 2),
    sharing("shared_float4", "float4", "t", 16, 4),
    sharing("shared_double", "double", "t", 8, 2),
    sharing("shared_double_stride_2", "double", "2 * t", 8, 4),  # lanes l and l + 8 of each half
    sharing("shared_double_stride_16", "double", "16 * t % 256", 8, 32),  # all of each half
    sharing("shared_float4_stride_2", "float4", "2 * t", 16, 8),  # lanes l and l + 4 of a quarter
    transpose("transpose_plain", 32, 32),
    transpose("transpose_padded", 33, 1),
    # both arrays in one buffer: the second starts at byte 256
    Case("shared_dynamic", "float* y",
         "extern __shared__ float d[]; d[t] = 1; d[64 + 2 * t] = 2; __syncthreads();"
         " y[i] = d[64 + t];",
         {"shared store": plus(passed(4, 32, 4, 1), passed(4, 32, 4, 2)),
          "shared load": passed(4, 32, 4, 1), "store": moved(4, 32, 4, 4)}, shared_mem=1024),
    # initialised by 16 lanes of the first warp; then a lane each, and all of them on one word
    Case("shared_atomics", "int* y",
         "__shared__ int s[64]; s[t] = 0; __syncthreads(); atomicAdd(s + t, 1); atomicAdd(s, 1);"
         " __syncthreads(); if (t < 16) y[t] = s[4 * t];",
         {"shared store": passed(4, 32, 4, 1), "shared atomic": passed(8, 32, 4, 1),
          "shared load": passed(2, 16, 4, 2), "store": moved(2, 16, 4, 2)}),
    Case("shared_histogram", "const int* x, int* y",
         "__shared__ int s[1024]; for (int k = t; k < 1024; k += 64) s[k] = 0; __syncthreads();"
         " atomicAdd(s + x[i] + t % 4 * 32, 1); __syncthreads(); y[i] = s[t];",
         {"load": moved(4, 32, 4, 4), "shared store": passed(64, 32, 4, 1),
          "shared atomic": passed(4, 32, 4, 4), "shared load": passed(4, 32, 4, 1),
          "store": moved(4, 32, 4, 4)}),
    Case("shared_partial_warp", "float* y",
         "__shared__ float s[96]; s[2 * t] = 1; __syncthreads(); y[i] = s[t];",
         {"shared store": plus(passed(1, 32, 4, 2), passed(1, 16, 4, 1)),
          "shared load": plus(passed(1, 32, 4, 1), passed(1, 16, 4, 1)),
          "store": plus(moved(1, 32, 4, 4), moved(1, 16, 4, 2))}, grid=(1,), block=(48,)),
]  # fmt: skip
WINDOW = "const unsigned to = __cvta_generic_to_shared(s + t);"
#: Copies by other units, and other blocks' shared memory.
COPIED = [
    Case("copy_async", "const float4* x, float4* y",
         f"__shared__ float4 s[64]; {WINDOW}"
         ' asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(x + i));'
         ' asm volatile("cp.async.wait_all;" ::: "memory"); y[i] = s[t];',
         {"load": moved(4, 32, 16, 16), "shared store": passed(4, 32, 16, 4),
          "shared load": passed(4, 32, 16, 4), "store": moved(4, 32, 16, 16)}),
    # every other lane writes zeros and reads nothing
    Case("copy_async_some", "const float* x, float* y",
         f"__shared__ float s[64]; {WINDOW}"
         ' asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"'
         ' :: "r"(to), "l"(x + i), "r"(t % 2 * 4));'
         ' asm volatile("cp.async.wait_all;" ::: "memory"); y[i] = s[t];',
         {"load": moved(4, 16, 4, 4), "shared store": passed(4, 32, 4, 1),
          "shared load": passed(4, 32, 4, 1), "store": moved(4, 32, 4, 4)}),
    Case("other_block", "int* y",
         "__shared__ int s[64]; s[t] = t; cluster_barrier(); unsigned from; int value;"
         f" {WINDOW}"
         ' asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(from) : "r"(to), "r"(blockIdx.x ^ 1));'
         ' asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(from));'
         " cluster_barrier(); y[i] = value;",
         {"shared store": passed(4, 32, 4, 1), "shared load": passed(4, 32, 4, 1),
          "store": moved(4, 32, 4, 4)},
         before="__device__ void cluster_barrier() {"
         ' asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory"); }'
         " __cluster_dims__(2)"),
]  # fmt: skip
CASES = GLOBAL + PLACED + OWN + SHARED + COPIED


@pytest.fixture(scope="module")
def module():
    """Return the module of all kernels, compiled together."""
    return RawModule(code="".join(case.code for case in CASES))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_figures(module, case):
    kernel = module.get_function(case.name)
    with traffic() as report:
        case.launch(kernel)
    (found,) = report.kernels
    assert found.kernel == case.name
    assert {kind: found.total(kind) for kind in KINDS} == {
        kind: case.figures.get(kind, Requests()) for kind in KINDS
    }


def test_gather_lies_between_its_bounds(module):
    with traffic() as report:
        PLACED[1].launch(module.get_function("gather_4"))
    picks = report.kernels[0].loads.sectors - 4 * 4  # without the indices
    assert 4 * 4 < picks == sectors_of(RANDOM, 4) <= 4 * 32


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
    made = RawModule(code=LINES)
    return made.get_function("first"), made.get_function("second")


def launch_lines(lines, launches=(1, 1)):
    x, y = zeros(256), zeros(64)
    for kernel, arguments, count in zip(lines, ((x, x, y), (x, y)), launches, strict=True):
        for _ in range(count):
            kernel((1,), (32,), arguments)


def test_lines_are_told_apart(lines):
    with traffic() as report:
        launch_lines(lines, (1, 0))
    (found,) = report.kernels
    rows = {
        (line.kind, *(number for _, number in line.stack)): (line.requests, line.sectors)
        for line in found.lines
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
    assert {line.source for line in found.lines} == {line.stack[0] for line in found.lines}
    assert {file for line in found.lines for file, _ in line.stack} == {"module.cu"}


def test_two_loads_of_one_line_are_one_entry(lines):
    with traffic() as report:
        launch_lines(lines, (0, 1))
    (found,) = report.kernels
    assert [(line.kind, line.requests, line.sectors) for line in found.lines] == [
        ("load", 2, 9),
        ("store", 1, 4),
    ]


def test_launches_add_up_and_kernels_do_not(lines):
    with traffic() as once:
        launch_lines(lines)
    with traffic() as report:
        launch_lines(lines, (3, 2))
        launch_lines(lines, (0, 2))
    assert [(k.kernel, k.launches) for k in report.kernels] == [("first", 3), ("second", 4)]
    for kernel, one in zip(report.kernels, once.kernels, strict=True):
        assert len(kernel.lines) == len(one.lines)
        for kind in KINDS:
            assert kernel.total(kind) == plus(*[one.total(kind)] * kernel.launches)


def test_sums(lines):
    with traffic() as report:
        launch_lines(lines)
    first, second = report.kernels
    assert first.loads == Requests(5, 160, 640, 4 + 8 + 32 + 4 + 16, 0)
    assert first.stores == first.atomics == moved(1, 32, 4, 4)
    assert first.shared_stores == first.shared_loads == passed(1, 32, 4, 2)
    assert first.shared_atomics == Requests()
    assert first.sectors == 64 + 4 + 4
    assert first.bytes_moved == 32 * 72
    assert first.bytes_requested == 7 * 128
    assert second.loads.bytes_moved == 9 * 32
    assert second.loads.sectors_per_request == 4.5
    assert first.shared_stores.wavefronts_per_request == 2
    assert np.isnan(first.shared_atomics.wavefronts_per_request)


def test_copy_moves_what_it_asks_for(module):
    with traffic() as report:
        GLOBAL[2].launch(module.get_function("copy_4"))
    (found,) = report.kernels
    assert found.bytes_moved == found.bytes_requested == 2 * 4 * 128


def test_text(lines):
    with traffic() as report:
        assert str(report) == "no launches"
        launch_lines(lines, (1, 2))
    first, second = str(report).split("\n\n")
    assert first.startswith("first: 1 launches, 896 bytes requested, 2304 bytes moved\n")
    assert second.split("\n")[0].startswith("second: 2 launches, ")
    rows = [" ".join(row.split()) for row in first.split("\n")]
    stride = line_of("s += z")
    assert f"module.cu:{stride} load 1 requests 8.00 sectors/request" in rows
    shared = line_of("r[2 * i")
    assert f"module.cu:{shared} shared store 1 requests 2.00 wavefronts/request" in rows
    assert len(rows) == 10


def test_checked_and_counted(lines):
    with traffic() as plain:
        launch_lines(lines)
    with traffic() as outside, ck.simulator.checked(seed=3) as checked:
        launch_lines(lines)
    with ck.simulator.checked() as checked_outside, traffic() as inside:
        launch_lines(lines)
    assert checked.launches == checked_outside.launches == 2
    for report in (outside, inside):
        assert [k.kernel for k in report.kernels] == ["first", "second"]
        for found, one in zip(report.kernels, plain.kernels, strict=True):
            assert {kind: found.total(kind) for kind in KINDS} == {
                kind: one.total(kind) for kind in KINDS
            }


def test_seed_changes_no_figures(module):
    tiles = [case for case in SHARED if case.name in {"shared_free", "transpose_padded"}]
    for case in [*GLOBAL, *tiles]:
        with traffic() as report, ck.simulator.checked(seed=7, resident_blocks=1):
            case.launch(module.get_function(case.name))
        found = report.kernels[0]
        assert all(found.total(kind) == figure for kind, figure in case.figures.items()), case


def test_nothing_outside_of_the_block_counts(lines):
    launch_lines(lines)
    with traffic() as report:
        pass
    launch_lines(lines)
    assert report.kernels == []


def test_results_are_those_of_a_plain_launch(lines):
    results = []
    for counted in (False, True):
        x, y = np.arange(256, dtype=np.float32), zeros(32)
        if counted:
            with traffic():
                lines[1]((1,), (32,), (x, y))
        else:
            lines[1]((1,), (32,), (x, y))
        results.append(y)
    np.testing.assert_array_equal(results[0], np.arange(1, 64, 2))
    np.testing.assert_array_equal(*results)


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
    assert report.kernels[0].stores == moved(4, 32, 4, 4)
    assert report.kernels[0].loads == moved(2, 32, 4, 4)
    assert report.kernels[0].atomics == Requests()
