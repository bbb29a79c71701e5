"""Matrix instructions whose result on a GPU is undefined end the launch; fragments in loops."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawModule, checked
from tests.helpers.rows import each
from tests.simulator.ptx.harness import HEAD

# Inline PTX is on one line: if there are several, NVRTC 12 names the last and NVRTC 13 the first.
PRODUCT = r"""
extern "C" __global__ void k(float* out, int lanes) {
  float d[4] = {};
  if (threadIdx.x < lanes)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(0x3c003c00));
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
""".replace("\n        ", " ")
LOAD = r"""
extern "C" __global__ void k(unsigned* out, int offset, int wrong) {
  __shared__ alignas(16) unsigned s[512];
  for (int i = threadIdx.x; i < 512; i += 32) s[i] = i;
  __syncwarp();
  unsigned d;
  const unsigned row = threadIdx.x * 16 + (threadIdx.x == wrong ? offset : 0);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
      : "=r"(d) : "r"((unsigned)__cvta_generic_to_shared(s) + row));
  out[threadIdx.x] = d;
}
""".replace("\n      ", " ")


def stopped(code, block, *arguments):
    """Return the message that a launch ends with."""
    with pytest.raises(ck.SimulatorError) as caught:
        ck.simulator.RawKernel(code, "k")((1,), (block,), arguments)
    return str(caught.value)


def test_whole_warp():
    out = np.full(64, np.nan, np.float32)
    ck.simulator.RawKernel(PRODUCT, "k")((1,), (64,), (out, np.int32(64)))
    np.testing.assert_array_equal(out, np.full(64, 64, np.float32))


#: Threads of a block that is too small, of a last warp that is too small, and of a diverging warp.
@each(("block", "lanes"), [(16, 16), (48, 48), (32, 31)])
def test_warp_without_all_lanes(block, lanes):
    message = stopped(PRODUCT, block, np.zeros(64, np.float32), np.int32(lanes))
    assert message.startswith(
        "k: k.cu:5: all 32 lanes of a warp must execute a matrix instruction (block (0, 0, 0), "
    )


def test_row_at_an_odd_address():
    out = np.zeros(32, np.uint32)
    message = stopped(LOAD, 32, out, np.int32(8), np.int32(3))
    assert message == (
        "k: k.cu:8: a row of a matrix must start at a multiple of 16 bytes "
        "(block (0, 0, 0), thread (3, 0, 0))"
    )
    # The addresses of lanes from 8 on are not those of rows.
    ck.simulator.RawKernel(LOAD, "k")((1,), (32,), (out, np.int32(3), np.int32(8)))
    np.testing.assert_array_equal(out, np.arange(32))


def test_fragment_of_too_few_registers():
    code = PRODUCT.replace("{%4, %4, %4, %4}", "{%4, %4, %4}")
    message = stopped(code, 32, np.zeros(32, np.float32), np.int32(32))
    assert message.startswith(
        "k: k.cu:5: a fragment must have the registers that its shape asks for (block (0, 0, 0), "
    )


def vector(name):
    """Return a fragment of eight registers."""
    return "{" + ", ".join(f"%{name}{i}" for i in range(8)) + "}"


A, B, C, F, H = map(vector, "abcfh")
DECLARED = "".join(f".reg .b32 %{name}<8>;" for name in "abf") + ".reg .f32 %c<8>, %h<8>;"
WMMA = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
#: Where a fragment is read that the same turn of a loop need not have written: it must not share a
#: place with another one that is needed in between.
KEPT = f"""{HEAD}.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 f, .param .u64 y) {{
.reg .b64 %d<4>; .reg .b32 %i; .reg .pred %p; {DECLARED}
ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [f]; ld.param.u64 %d3, [y];
wmma.load.b.sync.aligned.col.m16n16k16.f16 {B}, [%d1];
wmma.load.c.sync.aligned.row.m16n16k16.f32 {C}, [%d3];
wmma.load.c.sync.aligned.row.m16n16k16.f32 {H}, [%d3+1024];
mov.u32 %i, 0;
LOOP:
setp.ne.u32 %p, %i, 0; @%p bra THERE;
wmma.load.a.sync.aligned.row.m16n16k16.f16 {A}, [%d0];
THERE:
{WMMA} {C}, {A}, {B}, {C};
wmma.load.a.sync.aligned.row.m16n16k16.f16 {F}, [%d2];
{WMMA} {H}, {F}, {B}, {H};
add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra LOOP;
wmma.store.d.sync.aligned.row.m16n16k16.f32 [%d3], {C};
wmma.store.d.sync.aligned.row.m16n16k16.f32 [%d3+1024], {H};
ret; }}"""


@each("mode", ["plain", "checked"])
def test_fragments_that_a_loop_keeps(mode):
    numbers = np.random.default_rng(0)
    a, b, f = (numbers.integers(-4, 5, (16, 16)).astype(np.float16) for _ in range(3))
    y = np.zeros((2, 16, 16), np.float32)
    kernel = RawModule(code=KEPT).get_function("k")
    with checked() if mode == "checked" else nullcontext():
        kernel((1,), (32,), (a, np.asfortranarray(b), f, y))
    products = [3 * (x.astype(np.float32) @ b.astype(np.float32)) for x in (a, f)]
    np.testing.assert_array_equal(y, products)
