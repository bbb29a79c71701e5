"""Modules of PTX beyond rows of the table: moves, memory, calls, branches, variables."""

from __future__ import annotations

import re
import struct
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from cudakern.errors import BindingError, KernelCompileError, SimulatorError
from cudakern.simulator import RawModule, checked
from cudakern.simulator.ptx.instructions import moves_and_branches
from tests.helpers.rows import each
from tests.simulator.ptx.harness import HEAD, poison

pytestmark = pytest.mark.timeout(120)

REGISTERS = """
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<19>; .reg .b64 %d<19>; .reg .b128 %q<4>;
.reg .f32 %f<9>; .reg .f64 %g<9>;
"""


def entry(body, name="k", head=""):
    """Return an entry whose %d0 is the address of the output."""
    return (
        f".visible .entry {name}(.param .u64 out) {head}\n"
        f"{{ {REGISTERS}\nld.param.u64 %d0, [out];\n{body}\nret; }}\n"
    )


@dataclass(frozen=True)
class Case:
    """An entry's body, the 32-bit words that it leaves, and the text before it in the module.

    Names with a $ belong to the case alone.
    """

    body: str
    wanted: object
    before: str = ""
    head: str = ""
    block: int = 1
    shared_bytes: int = 0
    packed: bool = False  # whether it stores addresses of shared memory, which red zones change

    def text(self, name):
        """Return the case's part of a module, for a name of its entry."""
        return (self.before + entry(self.body, "$", self.head)).replace("$", name)


def stored(*names, kind="u32"):
    """Return PTX that stores registers in the output, one word each."""
    size = int(kind[1:]) // 8
    return "".join(f"st.global.{kind} [%d0+{size * i}], {name};" for i, name in enumerate(names))


def run(text, y, name="k", block=1, shared_bytes=0, more=(), grid=1):
    """Launch an entry, which has no findings in checked launches."""
    kernel = RawModule(code=text).get_function(name)
    kernel((grid,), (block,), (y, *more), shared_mem=shared_bytes)


def rows_of(text, **words):
    """Return instructions and messages by name, from lines ``name: instructions => message``."""
    rows = {}
    for name, row in re.findall(r"^(\w.*?): (.*(?:\n    .*)*)", text, re.MULTILINE):
        body, *told = row.replace("\n    ", " ").split(" => ")
        for word, meaning in words.items():
            body = body.replace(word, meaning)
        rows[name] = (body, *told)
    return rows


FLOAT = struct.unpack("I", struct.pack("f", 1.5))[0]
PROTOTYPE = "p: .callprototype _ (.reg .u32 _);"
#: Each thread's place in the output.
OWN = """
mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;
"""


#: Integer expressions with their values in 64 bits, then floats.
EXPRESSIONS = {
    "0": 0, "0x7fU": 127, "0b1011": 11, "017": 15, "08": 8, "18446744073709551615": 2**64 - 1,
    "-9223372036854775808": -(2**63), "~0": -1, "!5 + !0": 1, "- - 3": 3, "2 + 3 * 4 - 1": 13,
    "7 / -2": -3, "-7 % 3": -1, "1 / 0 + 1 % 0": 1, "1 << 3 | 1 ^ 3 & 2": 11,
    "1 < 2 == 2 > 1 && 1 != 0": 1, "0 || 1 <= 0 || 3 >= 3": 1, "0 ? 1 : 2 ? 3 : 4": 3,
    "1 ? 1 : 2": 1, "1 << 63 << 1": 0, "3 << 0x4000000000000001": 6,
    "0x7fffffffffffffff * 4": -4, "(.u64) -1": 2**64 - 1, "(.s64) 0xffffffffffffffff": -1,
    "WARP_SZ - 1": 31,
}  # fmt: skip
FLOATS = {
    "0f3F800000": 1.0, "-0F3F800000": -1.0, "0d3FF0000000000000": 1.0, "1.0": 1.0, "1e0": 1.0,
    "-2.5E-1": -0.25, "+1.": 1.0, "1e999": np.inf,
}  # fmt: skip


def constants(register, kind, texts, bits):
    """Return a case that stores 64-bit constants."""
    stores = "".join(
        f"mov.{kind} {register}, {text}; st.global.{kind} [%d0+{8 * i}], {register};"
        for i, text in enumerate(texts)
    )
    return Case(stores, bits.view(np.uint32).tolist())


def operands(instructions, told):
    """Return what instructions leave in registers, given %r1 = 5, %r2 = -1 and a false %p3."""
    start = "mov.u32 %r1, 5; mov.u32 %r2, -1; setp.ne.u32 %p3, %r1, %r1;"
    ends = {"r": "mov.b32 %r18, %{};", "p": "selp.u32 %r18, 1, 0, %{};"}
    left = [register.split(" ") for register in told.split(", ")]
    stores = "".join(
        f"{ends[name[0]].format(name)} st.global.u32 [%d0+{4 * i}], %r18;"
        for i, (name, _) in enumerate(left)
    )
    return Case(f"{start} {instructions} {stores}", [int(value, 0) for _, value in left])


OPERANDS = {
    "constant expressions": constants(
        "%d1", "u64", EXPRESSIONS, np.array([v % 2**64 for v in EXPRESSIONS.values()], np.uint64)
    ),
    "constants of floats": constants("%g1", "f64", FLOATS, np.array([*FLOATS.values()])),
}
OF_REGISTERS = rows_of("""
negative constants: sub.s32 %r3, -7, -5; min.s32 %r4, %r1, -2147483648; => r3 -2, r4 -0x80000000
constants in every base: add.u32 %r3, 0x1F, 0b101; add.u32 %r4, 010, 7U; => r3 36, r4 15
expressions of constants: add.u32 %r3, %r1, (1 << 4) | 3; => r3 24
constants of 16 bits: add.u16 %h1, -1, 3; mul.wide.u16 %r3, %h1, 0xffff; => r3 0x1fffe
constants of 64 bits: mad.wide.s32 %d1, -2, %r1, -1; mov.b64 {%r3, %r4}, %d1; => r3 -11, r4 -1
shift by a constant over the width: shl.b32 %r3, %r1, 32; shr.s32 %r4, %r2, 99; => r3 0, r4 -1
division of constants: div.u32 %r3, 7, 0; rem.s32 %r4, -7, 0; => r3 -1, r4 -7
division that overflows: div.s32 %r3, 0x80000000, -1; rem.s32 %r4, -2147483648, -1;
    => r3 0x80000000, r4 0
a predicate that is negated: setp.eq.and.u32 %p1|%p2, %r1, 5, !%p3; => p1 1, p2 0
a predicate that is a constant: setp.eq.and.u32 %p1, %r1, 5, 1; => p1 1
one of two results: setp.ne.u32 %p1, %r1, 5; setp.ne.u32 _|%p2, %r1, 5; => p1 0, p2 1
the other of two results: setp.eq.u32 %p1|_, %r1, 5; => p1 1
a result that is not wanted: lop3.or.b32 _|%p1, %r1, %r2, %r2, 0x80, %p3; => p1 1
a result over an operand: sub.u32 %r1, %r1, 7; add.u32 %r1, %r1, %r1; => r1 -4
results over operands: mov.pred %p1, %p3; setp.eq.xor.u32 %p1|%p2, %r1, 5, %p1; => p1 1, p2 0
a carry through a guard: @!%p3 add.cc.u32 %r3, %r2, 1; addc.u32 %r4, 0, 0; => r3 0, r4 1
a carry over a branch: add.cc.u32 %r3, %r2, 2; @%p3 bra L; addc.cc.u32 %r4, %r2, 0;
    L: addc.u32 %r5, 0, 0; => r3 1, r4 0, r5 1
a borrow: sub.cc.u32 %r3, 0, 1; subc.cc.u32 %r4, 0, 0; subc.u32 %r5, 9, 0; => r3 -1, r4 -1, r5 8
""")
OPERANDS |= {name: operands(*row) for name, row in OF_REGISTERS.items()}

MOVES = {
    "constants": Case(
        "mov.u32 %r1, 7; mov.s32 %r2, -1; mov.b32 %r3, 0f3FC00000; mov.f32 %f1, 1.5;"
        "mov.f32 %f2, 1e300; mov.f64 %g1, 0f3FC00000; cvt.rn.f32.f64 %f3, %g1;"
        + stored("%r1", "%r2", "%r3", "%f1", "%f2", "%f3"),
        [7, -1, FLOAT, FLOAT, 0x7F800000, FLOAT],
    ),
    "registers": Case(
        "mov.u32 %r1, 5; mov.b32 %f1, %r1; mov.u32 %r2, %f1; mov.u32 %r3, %tid.x;"
        "setp.eq.u32 %p1, %r1, 5; mov.pred %p2, %p1; mov.pred %p3, !%p1;"
        "selp.u32 %r4, 1, 0, %p2; selp.u32 %r5, 1, 0, %p3;"
        + stored("%r1", "%r2", "%r3", "%r4", "%r5"),
        [5, 5, 0, 1, 0],
    ),
    "a special register as a guard": Case(
        "mov.u32 %r1, 0; @%is_explicit_cluster add.u32 %r1, %r1, 1;"
        "@!%is_explicit_cluster add.u32 %r1, %r1, 2;" + stored("%r1"),
        [2],
    ),
    "pack and unpack": Case(
        "mov.b64 %d1, {0x11111111, 0x22222222}; mov.b64 {%r1, %r2}, %d1; mov.b64 {_, %r3}, %d1;"
        "mov.b64 %d2, {%r3, %r1}; mov.b64 {%r4, _}, %d2;"
        "mov.b32 %r5, {0x1234, 0xffff}; mov.b32 {%h1, %h2}, %r5; mov.b32 %r6, {%h2, %h1};"
        "mov.b64 %d3, {1, 2, 3, 4}; mov.b64 {%h3, %h4, %h5, %h6}, %d3; mov.b32 %r7, {%h6, %h4};"
        + stored(*(f"%r{i}" for i in range(1, 8))),
        [0x11111111, 0x22222222, 0x22222222, 0x22222222, 0xFFFF1234, 0x1234FFFF, 0x00020004],
    ),
    "bytes": Case(
        ".reg .b8 %b<4>; mov.b32 {%b0, %b1, %b2, %b3}, 0x80402010;"
        " mov.b32 %r1, {%b3, %b2, %b1, %b0};"
        "mov.b16 %h1, {%b2, %b3}; cvt.u32.u16 %r2, %h1;" + stored("%r1", "%r2"),
        [0x10204080, 0x8040],
    ),
    "a register unpacked over itself": Case(
        "mov.b64 %d1, 0x0000000200000001; mov.b64 {%r1, %r2}, %d1; mov.b64 %d1, {%r2, %r1};"
        "mov.b32 %r3, 0x00020001; mov.b32 {%h1, %h2}, %r3; mov.b32 %r3, {%h2, %h1};"
        + stored("%r3") + "st.global.u64 [%d0+8], %d1;",
        [0x00010002, None, 2, 1],
    ),
    "128 bits": Case(
        "mov.b128 %q1, {0x1111111122222222, 0x3333333344444444}; mov.b128 {%d1, %d2}, %q1;"
        "st.global.u64 [%d0], %d2; st.global.b128 [%d0+16], %q1; ld.global.b128 %q2, [%d0+16];"
        "mov.b128 {_, %d3}, %q2; st.global.u64 [%d0+8], %d3;",
        [0x44444444, 0x33333333] * 2 + [0x22222222, 0x11111111, 0x44444444, 0x33333333],
    ),
}  # fmt: skip

MEMORY = {
    "vectors over the address": Case(
        "st.global.v4.u32 [%d0], {10, 11, 12, 13}; st.global.u64 [%d0+16], %d0;"
        "st.global.u64 [%d0+24], 77; mov.u64 %d9, %d0; add.u64 %d1, %d0, 16;"
        "ld.global.v2.u64 {%d1, %d2}, [%d1]; sub.u64 %d1, %d1, %d0;"
        "st.global.u64 [%d0+16], %d1; st.global.u64 [%d0+24], %d2;"
        "add.u64 %d3, %d0, 0; ld.global.v2.b64 {_, %d3}, [%d3]; st.global.u64 [%d0+32], %d3;",
        [10, 11, 12, 13, 0, 0, 77, 0, 12, 13],
    ),
    "one value in braces": Case(
        "st.global.b32 [%d0], {41}; ld.global.b32 {%r1}, [%d0]; add.u32 %r1, %r1, 1;"
        "st.global.b32 [%d0+4], {%r1};",
        [41, 42],
    ),
    "vectors of eight": Case(
        "st.global.v8.b32 [%d0], {1, 2, 3, 4, 5, 6, 7, 8};"
        "ld.global.v8.b32 {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1}, [%d0];"
        "st.global.v4.b32 [%d0+16], {%r1, %r2, %r3, %r4}; ldu.global.v2.u32 {%r9, _}, [%d0+8];"
        "st.global.u32 [%d0], %r9;",
        [3, 2, 3, 4, 8, 7, 6, 5],
    ),
    "wider registers": Case(
        "mov.b64 %d1, 0xfedcba9876543280; st.global.b64 [%d0], %d1;"
        "ld.global.u8 %r1, [%d0]; ld.global.s8 %r2, [%d0]; ld.global.s8 %h1, [%d0];"
        "cvt.u32.u16 %r3, %h1; ld.global.s8 %d2, [%d0]; shr.u64 %d3, %d2, 60; cvt.u32.u64 %r4, %d3;"
        "ld.global.s32 %d4, [%d0+4]; shr.u64 %d5, %d4, 32; cvt.u32.u64 %r5, %d5;"
        "ld.global.u32 %d6, [%d0+4]; shr.u64 %d7, %d6, 32; cvt.u32.u64 %r6, %d7;"
        "ld.global.b16 %r7, [%d0+6];" + stored(*(f"%r{i}" for i in range(1, 8))),
        [0x80, -128, 0xFF80, 15, -1, 0, 0xFEDC],
    ),
    "narrower stores": Case(
        "mov.u32 %r1, 0x12345678; st.global.u32 [%d0], 0; st.global.u32 [%d0+4], 0;"
        "st.global.u8 [%d0+1], %r1; st.global.b16 [%d0+4], %r1; mov.u64 %d1, -1;"
        "st.global.u32 [%d0+8], %d1; st.global.f32 [%d0+12], 1.5;",
        [0x7800, 0x5678, -1, FLOAT],
    ),
    "addresses": Case(
        "add.u64 %d1, %d0, 64; st.global.u32 [%d1+-64], 1; st.global.u32 [%d1-60], 2;"
        "st.global.u32 [%d1+(-14*4)], 3; st.u32 [%d0+12], 4;",
        [1, 2, 3, 4],
    ),
    "addresses of variables": Case(
        "ld.global.u32 %r1, [$v+0x4]; ld.global.u32 %r2, [$v[8]]; add.u64 %d1, %d0, 2;"
        "st.global.u32 [%d1+0xffffffffffffffff+0xffffffffffffffff], %r1;"
        "st.global.u32 [%d0+4], %r2;",
        [8, 9],
        before=".global .u32 $v[3] = {7, 8, 9};",
    ),
    "orders": Case(
        "st.relaxed.gpu.global.u32 [%d0], 5; ld.acquire.sys.global.u32 %r1, [%d0];"
        "st.volatile.global.v2.u32 [%d0+8], {%r1, 6};"
        " ld.volatile.global.v2.u32 {%r2, %r3}, [%d0+8];"
        "st.release.cta.global.u32 [%d0+4], %r3; prefetch.global.L2 [%d0]; prefetchu.L1 [%d0];"
        "ld.global.L1::no_allocate.u32 %r4, [%d0+4];"
        " st.weak.global.L1::evict_first.u32 [%d0], %r4;",
        [6, 6, 5, 6],
    ),
    "local memory": Case(
        ".local .u32 other; .local .align 256 .b8 frame[32];"
        " mov.u64 %d1, frame; cvta.local.u64 %d2, %d1;"
        "st.local.v2.u32 [frame+8], {7, 8}; st.local.u32 [other], 9; ld.local.u32 %r1, [%d1+8];"
        "ld.u32 %r2, [%d2+12]; cvta.to.local.u64 %d3, %d2; ld.local.u32 %r3, [%d3+12];"
        "ld.local.u32 %r4, [other]; and.b64 %d4, %d1, 255; cvt.u32.u64 %r5, %d4;"
        + stored("%r1", "%r2", "%r3", "%r4", "%r5"),
        [7, 8, 8, 9, 0],
    ),
    "generic addresses of shared memory": Case(
        ".shared .align 4 .b8 pad[12]; .shared .align 8 .b8 s[16];"
        "mov.u32 %r1, s; mov.u64 %d1, s; st.shared.u32 [%r1+4], 5; cvta.shared.u64 %d2, %d1;"
        "ld.u32 %r2, [%d2+4]; cvta.to.shared.u64 %d3, %d2; cvt.u32.u64 %r3, %d3; mov.u32 %r4, s+4;"
        "ld.shared.u32 %r5, [%r4]; cvta.global.u64 %d4, %d0; cvta.to.global.u64 %d4, %d4;"
        "sub.u64 %d5, %d4, %d0; cvt.u32.u64 %r6, %d5;"
        " ld.shared.u32 %r7, [s+4]; st.shared.u32 [pad], 0;"
        + stored(*(f"%r{i}" for i in range(1, 8))),
        [16, 5, 16, 20, 5, 0, 5],
        packed=True,
    ),
    "generic addresses of a cluster": Case(
        ".shared .align 8 .b8 s[16]; mov.u32 %r1, s; st.shared.u32 [%r1+4], 5; mov.u64 %d1, s;"
        "cvta.shared::cluster.u64 %d2, %d1; ld.u32 %r2, [%d2+4];"
        "cvta.to.shared::cluster.u64 %d3, %d2; ld.shared::cluster.u32 %r3, [%d3+4];"
        + stored("%r2", "%r3"),
        [5, 5],
    ),
}  # fmt: skip

VARIABLES = {
    "declarations before and behind definitions": Case(
        "call (%r1), $f; ld.global.u32 %r2, [$x];" + stored("%r1", "%r2"),
        [3, 1],
        before=".func (.reg .u32 %r) $f(); .func (.reg .u32 %r) $f() { mov.u32 %r, 3; ret; }"
        ".func (.reg .u32 %r) $f() .noreturn; .extern .global .align 4 .b8 $x[];"
        ".visible .global .align 4 .b8 $x[4] = {1};",
    ),
    "what says nothing": Case(
        stored("7"),
        [7],
        before="""
        // .version 1.0 { /*
        .file 7 "a//b/*c.cu", 1700000000, 250
        .pragma "used_bytes_mask 0xF";
        .section .debug_str { .b8 65, 0 \n .b32 .debug_abbrev }
        .section .note "one word"
        /* .entry
           nothing() */ ;
        """,
        head='.maxntid 128, 2, 1 .minnctapersm 2 .explicitcluster .pragma "nounroll";',
    ),
    "initial values": Case(
        "ld.global.v2.u32 {%r1, %r2}, [$a]; ld.const.u32 %r3, [$c+4]; ld.const.f32 %f1, [$c+8];"
        "ld.global.s16 %r4, [$b+2]; ld.global.u32 %r5, [$a+12]; ld.global.u32 %r6, [$rows+8];"
        "ld.global.f64 %g1, [$e]; cvt.rn.f32.f64 %f2, %g1;"
        + stored("%r1", "%r2", "%r3", "%f1", "%r4", "%r5", "%r6", "%f2"),
        [1, 2, 8, FLOAT, -3, 0, 3, FLOAT],
        before=".global .align 8 .u32 $a[4] = {1, 2}; .const .align 4 .f32 $c[3] = {0f00000000, "
        "0f00000008, 1.5}; .global .s16 $b[] = {0xffff, -3}; .global .b32 $rows[2][2] = {{1}, {3}};"
        ".const .f64 $e = 1.5;",
    ),
    "addresses in initial values": Case(
        "ld.global.u64 %d1, [$places]; ld.u32 %r1, [%d1]; ld.global.u64 %d2, [$places+8];"
        "ld.u32 %r2, [%d2]; ld.global.u64 %d3, [$places+16]; call (%r3), %d3, (20), one;"
        "ld.const.u64 %d4, [$self]; mov.u64 %d5, $self; sub.u64 %d4, %d4, %d5;"
        "cvt.u32.u64 %r4, %d4; mov.u64 %d6, $a+4; ld.global.u32 %r5, [%d6]; mov.u64 %d7, $twice;"
        "call (%r6), %d7, (4), one; one: .callprototype (.reg .u32 _) _ (.reg .u32 _);"
        + stored(*(f"%r{i}" for i in range(1, 7))),
        [11, 12, 40, 8, 12, 8],
        before=".global .u64 $places[3] = {$a, generic($c) + 4, $twice};"
        ".global .u32 $a[2] = {11, 12}; .const .u32 $c[2] = {0, 12};"
        ".const .u64 $self[2] = {$self + 8};"
        ".func (.reg .u32 %r) $twice(.reg .u32 %a) { add.u32 %r, %a, %a; ret; }",
    ),
    "shared variables of functions and of the entry lie apart": Case(
        ".shared .u32 s[4]; st.shared.u32 [s], 1; st.shared.u32 [$all], 2; call $f; call $g;"
        "ld.shared.u32 %r1, [s]; ld.shared.u32 %r2, [$all]; call (%r3), $f_of; call (%r4), $g_of;"
        "st.shared.u32 [$dynamic], 9; ld.shared.u32 %r5, [s];"
        + stored(*(f"%r{i}" for i in range(1, 6))),
        [1, 5, 3, 4, 1],
        shared_bytes=16,
        before=".shared .u32 $all; .extern .shared .align 4 .b8 $dynamic[];"
        ".func (.reg .u32 %r) $f_of() { .shared .u32 mine; ld.shared.u32 %r, [$f_s]; ret; }"
        ".shared .u32 $f_s;"
        ".func $f() { .shared .u32 s; st.shared.u32 [s], 3; st.shared.u32 [$f_s], 3; ret; }"
        ".func $g() { .shared .u32 s; st.shared.u32 [s], 4; st.shared.u32 [$g_s], 4;"
        " st.shared.u32 [$all], 5; ret; } .shared .u32 $g_s;"
        ".func (.reg .u32 %r) $g_of() { ld.shared.u32 %r, [$g_s]; ret; }",
    ),
    "a name in a function hides that of a variable": Case(
        OWN + ".local .u32 $s; st.local.u32 [$s], %r0; call $f; ld.local.u32 %r1, [$s];"
        "ld.global.u32 %r2, [$v]; mad.lo.u32 %r1, %r2, 10, %r1;" + stored("%r1"),
        [60, 61],
        before=".shared .u32 $s; .global .u32 $v = 6; .func $f() { .reg .u32 $v; mov.u32 $v, 7;"
        " st.shared.u32 [$s], $v; bar.sync 0; ret; }",
        block=2,
    ),
    "dynamic shared memory follows static with its alignment": Case(
        ".shared .b8 s[5]; mov.u32 %r1, s; mov.u32 %r2, $dynamic; mov.u32 %r3, $aligned;"
        "call (%r4), $f; st.shared.u8 [s], 1; mov.u32 %r5, %dynamic_smem_size;"
        + stored("%r1", "%r2", "%r3", "%r4", "%r5"),
        [0, 64, 64, 64, 100],
        packed=True,
        shared_bytes=100,
        before=".extern .shared .align 4 .b8 $dynamic[]; .extern .shared .align 64 .b8 $aligned[];"
        ".func (.reg .u32 %r) $f() { mov.u32 %r, $dynamic; ret; }",
    ),
}  # fmt: skip

CALLS = {
    "parameters in memory": Case(
        "{ .param .align 8 .b8 in[16]; .param .b32 n; .param .align 8 .b8 back[16];"
        " st.param.b64 [in], 5; st.param.v2.b32 [in+8], {6, 7}; st.param.b32 [n], 8;"
        " call.uni (back), $f, (in, n); ld.param.b64 %d1, [back]; ld.param.b32 %r1, [back+12]; }"
        "cvt.u32.u64 %r2, %d1;" + stored("%r2", "%r1"),
        [13, 15],
        before=".func (.param .align 8 .b8 r[16]) $f(.param .align 8 .b8 a[16], .param .b32 n)"
        "{ .reg .b64 %a; .reg .b32 %n, %b; ld.param.b64 %a, [a]; ld.param.u32 %n, [n];"
        " cvt.u64.u32 %a, %n; ld.param.b32 %b, [a]; add.u32 %b, %b, %n; cvt.u64.u32 %a, %b;"
        " st.param.b64 [r], %a; ld.param.b32 %b, [a+12]; add.u32 %b, %b, %n;"
        " st.param.b32 [r+12], %b; ret; }",
    ),
    "parameters in registers": Case(
        "mov.u32 %r1, 5; setp.eq.u32 %p1, %r1, 5; call (%r2, %h1), $f, (%r1, -7, %p1, 0f3FC00000);"
        "cvt.u32.u16 %r3, %h1; call (_, %h1), $f, (1, 1, 0, 0f00000000);"
        + stored("%r2", "%r3"),
        [-2, 0x8001],
        before=".func (.reg .u32 %a, .reg .u16 %b) $f(.reg .u32 %x, .reg .s32 %y, .reg .pred %p,"
        " .reg .f32 %z) { .reg .f32 %w; add.u32 %a, %x, %y; mov.u16 %b, 0;"
        " add.f32 %w, %z, 0f3F800000;"
        " setp.eq.and.f32 %p, %w, 0f40200000, %p; @%p mov.u16 %b, 0x8001;"
        " ret; }",
    ),
    "recursion": Case(
        "call (%r1), $factorial, (10);" + stored("%r1"),
        [3628800],
        before=".func (.reg .u32 %r) $factorial(.reg .u32 %n) { .reg .u32 %m; .reg .pred %p;"
        " mov.u32 %r, 1; setp.eq.u32 %p, %n, 0; @%p ret; sub.u32 %m, %n, 1;"
        " call (%r), $factorial, (%m); mul.lo.u32 %r, %r, %n; ret; }",
    ),
    "functions by their addresses": Case(
        OWN + "mov.u64 %d1, $f; setp.lt.u32 %p1, %r0, 3; @%p1 mov.u64 %d1, $g;"
        "@%p1 call (%r1), %d1, (%r0), both; @!%p1 call (%r1), %d1, (%r0), one;"
        "both: .calltargets $f, $g; one: .callprototype (.reg .u32 _) _ (.reg .u32 _) .noreturn;"
        + stored("%r1"),
        [100, 101, 102, 13, 14, 15, 16, 17],
        before=".func (.reg .u32 %r) $f(.reg .u32 %a) { add.u32 %r, %a, 10; }"
        ".func (.reg .u32 %r) $g(.reg .u32 %a) { add.u32 %r, %a, 100; ret; }",
        block=8,
    ),
    "prototypes say how wide results are": Case(
        "mov.u64 %d1, $f; call (%r1), %d1, (0x1ff), one;"
        "one: .callprototype (.reg .u16 _) _ (.reg .u8 _);" + stored("%r1"),
        [0xFFFF],
        before=".func (.reg .u16 %r) $f(.reg .u8 %a) { .reg .u32 %x; cvt.u32.u8 %x, %a;"
        " sub.u32 %x, %x, 256; cvt.u16.u32 %r, %x; ret; }",
    ),
    "aliases": Case(
        "call (%r1), $other; mov.u64 %d1, $other;"
        " call (%r2), %d1, (), p; p: .callprototype (.reg .u32 _)"
        " _ ();" + stored("%r1", "%r2"),
        [3, 3],
        before=".func (.reg .u32 %r) $other(); .func (.reg .u32 %r) $f() { mov.u32 %r, 3; ret; }"
        ".alias $other, $f;",
    ),
    "functions that NVRTC does not define": Case(
        "{ .param .b64 a; .param .b64 b; .param .b64 c; .param .b64 r; st.param.b64 [a], 64;"
        " call (r), malloc, (a); ld.param.b64 %d1, [r];"
        " st.param.b64 [a], %d1; st.param.b32 [b], 0x5a; st.param.b64 [c], 64;"
        " call (r), memset, (a, b, c); st.param.b64 [a], %d0; st.param.b64 [b], %d1;"
        " st.param.b64 [c], 8; call (r), memcpy, (a, b, c);"
        " st.param.b64 [a], %d1; call free, (a); }",
        [0x5A5A5A5A, 0x5A5A5A5A],
        before=".extern .func (.param .b64 r) malloc (.param .b64 a);"
        ".extern .func free (.param .b64 a);"
        ".extern .func (.param .b64 r) memset (.param .b64 a, .param .b32 b, .param .b64 c);"
        ".extern .func (.param .b64 r) memcpy (.param .b64 a, .param .b64 b, .param .b64 c);",
    ),
}  # fmt: skip

BRANCHES = {
    "a table": Case(
        OWN + "mov.u32 %r1, 9; brx.idx %r0, T; T: .branchtargets A, B, A, C;"
        "A: mov.u32 %r1, 1; bra.uni E; B: mov.u32 %r1, 2; bra E; C: mov.u32 %r1, 3; E:"
        + stored("%r1"),
        [1, 2, 1, 3],
        block=4,
    ),
    "a loop": Case(
        "mov.u32 %r1, 0; mov.u32 %r2, 0; L: add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1;"
        "setp.ge.u32 %p1, %r2, 5; @!%p1 bra L; @%p1 bra M; mov.u32 %r1, 77; M:" + stored("%r1"),
        [10],
    ),
    "ret and exit under guards": Case(
        OWN + "setp.eq.u32 %p1, %r0, 1; setp.eq.u32 %p2, %r0, 2; setp.eq.u32 %p3, %r0, 3;"
        "st.global.u32 [%d0], 1; @%p1 ret; st.global.u32 [%d0], 2;"
        " @%p2 exit; st.global.u32 [%d0], 3;"
        "@%p3 call $f, (%r0); @!%p3 call $f, (%r0); st.global.u32 [%d0], 4;",
        [4, 1, 2, 3, 4],
        before=".func $f(.reg .u32 %a) { .reg .pred %p; setp.eq.u32 %p, %a, 0; @%p ret;"
        " setp.eq.u32 %p, %a, 3; @%p exit; ret; }",
        block=5,
    ),
    "results before a guarded ret": Case(
        OWN + "call (%r1), $f, (%r0);" + stored("%r1"),
        [1, 2, 2],
        before=".func (.reg .u32 %r) $f(.reg .u32 %a) { .reg .pred %p; mov.u32 %r, 1;"
        " setp.eq.u32 %p, %a, 0; @%p ret; mov.u32 %r, 2; }",
        block=3,
    ),
    "labels of scopes": Case(
        "mov.u32 %r1, 0; mov.u32 %r2, 0; L: { bra L; mov.u32 %r1, 50; L: add.u32 %r1, %r1, 1; }"
        "{ L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 3; @%p1 bra L; }"
        "setp.lt.u32 %p1, %r1, 4; @%p1 bra L;" + stored("%r1", "%r2"),
        [4, 6],
    ),
    "registers of scopes": Case(
        ".reg .b32 t; mov.u32 t, 1; { .reg .b32 t, %r<3>; mov.u32 t, 2; mov.u32 %r2, 3;"
        " { .reg .b64 t; cvt.u64.u32 t, %r2; mov.u64 %d1, t; } add.u32 t, t, %r2; mov.u32 %r9, t; }"
        "mov.u32 %r2, t; cvt.u32.u64 %r3, %d1;" + stored("%r2", "%r9", "%r3"),
        [1, 5, 3],
    ),
}  # fmt: skip

CASES = {**OPERANDS, **MOVES, **MEMORY, **VARIABLES, **CALLS, **BRANCHES}


@cache
def module_of_cases(*, packed):
    """Return PTX and its entries by case; cases with shared addresses have their own module."""
    cases = [(name, case) for name, case in CASES.items() if case.packed == packed]
    entries = {name: f"k{number}_" for number, (name, _) in enumerate(cases)}
    return HEAD + "".join(case.text(entries[name]) for name, case in cases), entries


@pytest.mark.parametrize("mode", [nullcontext, checked], ids=["plain", "checked"])
def test_a_module_does_what_its_ptx_says(mode):
    @each("name", [name for name, case in CASES.items() if mode is nullcontext or not case.packed])
    def check(name):
        case = CASES[name]
        text, entries = module_of_cases(packed=case.packed)
        y = poison(len(case.wanted) + 4, np.uint32)
        with mode():
            run(text, y, entries[name], case.block, case.shared_bytes)
        found = y.tolist()
        wanted = [found[i] if w is None else w % 2**32 for i, w in enumerate(case.wanted)]
        assert found == [*wanted, *poison(4, np.uint32).tolist()]

    check()


def test_the_cases_hold_each_instruction_whose_statements_python_writes():
    texts = "".join(case.text("k") for case in CASES.values())
    opcodes = {name.partition(".")[0] for name in re.findall(r"[a-z]\w*(?:\.\w+)*", texts)}
    assert {form.opcode for form in moves_and_branches.FORMS} <= opcodes


#: Variables called x, and what they hold.
INITIAL = [
    (".u32 x = 7", "u4", [7]),
    (".u32 x = {7}", "u4", [7]),
    (".s16 x[4] = {-1, 2 * 3}", "i2", [-1, 6, 0, 0]),
    (".b32 x[] = {1, 2, 3}", "u4", [1, 2, 3]),
    (".b32 x[][2] = {{1}, {2, 3}}", "u4", [1, 0, 2, 3]),
    (".b32 x[3][2] = {{1, 2}, {3}, {4, 5}}", "u4", [1, 2, 3, 0, 4, 5]),
    (".b32 x[2][2][2] = {{{1}, {2}}, {{3}}}", "u4", [1, 0, 2, 0, 3, 0, 0, 0]),
    (".b32 x[2][2] = {1, 2, 3}", "u4", [1, 2, 3, 0]),
    (".v2 .b32 x[2] = {{1}, {2, 3}}", "u4", [1, 0, 2, 3]),
    (".v2 .b32 x[] = {{1}, {2}, {3}}", "u4", [1, 0, 2, 0, 3, 0]),
    (".f32 x[2] = {0f3F800000, 1.5}", "f4", [1, 1.5]),
    (".b32 x = 0f3F800000", "u4", [0x3F800000]),
    (".v4 .f32 x[2][3]", "f4", [0] * 24),
    (".align 16 .b128 x", "u8", [0, 0]),
    (".attribute(.managed, .unified(1, 2)) .align 4 .b8 x[1 << 3]", "u1", [0] * 8),
]
DECLARED = "".join(
    f".global {text};".replace(" x", f" x{number}") for number, (text, *_) in enumerate(INITIAL)
)


@each(("number", "kind", "values"), [(n, *row[1:]) for n, row in enumerate(INITIAL)])
def test_initial_values(number, kind, values):
    module = RawModule(code=HEAD + DECLARED + entry(""))
    assert module.get_global(f"x{number}").view(kind).tolist() == values


@each(
    ("head", "requirement"),
    [
        (".reqntid 32", "be (32, 1, 1), as the kernel says; got (40, 1, 1)"),
        (".maxntid 19, 2", "have at most 38 threads, as the kernel says; got 40 in (40, 1, 1)"),
    ],
)
def test_blocks_that_an_entry_does_not_take(head, requirement):
    with pytest.raises(BindingError) as caught:
        run(HEAD + entry("", head=head), poison(1, np.uint32), block=40)
    assert str(caught.value) == f"k: block must {requirement}"


def test_structures_as_parameters_of_an_entry():
    text = f"""{HEAD}
    .visible .entry k(.param .u64 out, .param .align 8 .b8 s[24], .param .u16 h, .param .f64 g)
    {{ {REGISTERS}
    ld.param.u64 %d0, [out]; ld.param.u32 %r1, [s]; ld.param.v2.u32 {{%r2, %r3}}, [s+8];
    mov.u64 %d1, s; cvta.param.u64 %d2, %d1; ld.param.s8 %r4, [%d1+16]; ld.u8 %r5, [%d2+17];
    ld.param.u16 %h1, [h]; cvt.u32.u16 %r6, %h1; ld.param.f64 %g1, [g]; cvt.rn.f32.f64 %f1, %g1;
    {stored("%r1", "%r2", "%r3", "%r4", "%r5", "%r6", "%f1")} ret; }}
    """
    y = poison(7, np.uint32)
    structure = np.zeros(1, [("a", "u4"), ("b", "u4", 3), ("c", "i1", 2), ("", "V6")])
    structure["a"], structure["b"], structure["c"] = 1, (0, 2, 3), (-4, 5)
    run(text, y, more=(structure[0], np.uint16(65535), np.float64(1.5)))
    assert y.tolist() == [1, 2, 3, 2**32 - 4, 5, 65535, FLOAT]


def test_entries_have_shared_memory_apart():
    text = (
        HEAD
        + ".shared .u32 both; .func (.reg .u32 %r) f() { .shared .u32 s; mov.u32 %r, s;"
        + " st.shared.u32 [both], 1; ret; }"
        + entry(".shared .align 8 .b8 s[8]; mov.u32 %r1, s; call (%r2), f;" + stored("%r1", "%r2"))
        + entry(
            ".shared .b8 a[100], s; mov.u32 %r1, a; mov.u32 %r2, s;" + stored("%r1", "%r2"), "l"
        )
    )
    y = poison(2, np.uint32)
    run(text, y)
    assert y.tolist() == [8, 4]
    run(text, y, "l")
    assert y.tolist() == [0, 100]  # it does not reach the function


def test_plain_and_checked_launches_share_variables_but_no_addresses_of_functions():
    text = (
        HEAD
        + ".global .u32 count; .const .u32 three = 3; .global .u64 places[2] = {count, three};"
        + ".global .u64 table = f; .func (.reg .u32 %r) f() { ld.global.u32 %r, [count]; ret; }"
        + entry(
            "ld.global.u32 %r1, [count]; add.u32 %r1, %r1, 5; st.global.u32 [count], %r1;"
            "ld.global.u64 %d1, [places]; ld.u32 %r2, [%d1]; ld.global.u64 %d2, [table];"
            "call (%r3), %d2, (), p; p: .callprototype (.reg .u32 _) _ ();"
            "ld.global.u64 %d1, [places+8]; ld.u32 %r4, [%d1];" + stored("%r1", "%r2", "%r3", "%r4")
        )
    )
    y = poison(4, np.uint32)
    for number, mode in enumerate((nullcontext, checked, nullcontext), 1):
        with mode():
            run(text, y)
        assert y.tolist() == [5 * number] * 3 + [3]


def test_functions_by_address_are_those_of_all_entries_that_pass_addresses():
    """An entry gets the address of a function that only another one names."""
    text = (
        HEAD
        + ".func (.reg .u32 %r) f() { mov.u32 %r, 6; ret; } .global .u64 table[2] = {f, g};"
        + ".func (.reg .u32 %r) g() { mov.u32 %r, 7; ret; } .alias h, g; .global .u64 left;"
        + entry("mov.u64 %d1, h; st.global.u64 [left], %d1;", "leave")
        + entry(
            "ld.global.u64 %d1, [left]; call (%r1), %d1, (), p; ld.global.u64 %d2, [table];"
            "call (%r2), %d2, (), p; p: .callprototype (.reg .u32 _) _ ();" + stored("%r1", "%r2")
        )
        + entry(stored("8"), "alone")
    )
    for mode in (nullcontext, checked):
        y = poison(2, np.uint32)
        with mode():
            run(text, y, "leave")
            run(text, y)
            assert y.tolist() == [7, 6]
            run(text, y, "alone")
        assert y.tolist() == [8, 6]


# Refused texts


GOOD = entry(stored("7"), "good")
REFUSED = rows_of("""
instruction: wgmma.fence.sync.aligned; => the instruction wgmma.fence.sync.aligned
    => mma.sync multiplies matrices, too
texture: tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d0, {%r1}]; => the instruction tex.1d.v4.f32.s32
    => instead of a texture read an array, interpolating by hand
selector: vadd.u32.u32.u32 %r3, %r1.b0, %r2; => vadd.u32.u32.u32 of %r1.b0, which is not declared
selector of a result: vadd.u32.u32.u32 %r3.h1, %r1, %r2, %r1; => the instruction vadd.u32.u32.u32
space: isspacep.const %p1, %d0; => the instruction isspacep.const
modifier: add.sat.u32 %r3, %r1, %r2; => the instruction add.sat.u32
label: bra nowhere; => bra to what is no label of its function
number: bra 5; => bra to what is no label of its function
table: brx.idx %r1, %r2; => brx.idx without a table
targets: T: .branchtargets k; brx.idx %r1, T; => brx.idx to what is no label of its function
operands: mov.u32 %r1; => mov.u32 with 1 operands
type: mov %r1, %r2; => the instruction mov
name: mov.u32 %r1, nothing; => mov.u32 of nothing, which is not declared
name of another function: ld.shared.u32 %r1, [mine]; => ld.shared.u32 of mine, which is not declared
register: mov.u32 %r99, %r1; => mov.u32 with such a result
leading zero: mov.u32 %r01, %r1; => mov.u32 with such a result
sum: mov.u32 %r1, %r2+4; => mov.u32 of a sum
sum of a special register: mov.u32 %r1, %tid.x+4; => mov.u32 of a sum
float: mov.u32 %r1, 1.5; => mov.u32 with such a constant
parts: mov.b32 {%h1, %h2, %h3}, %r1; => mov.b32 with a vector of 3
vectors: mov.b64 {%r1, %r2}, {%r3, %r4}; => mov.b64 with such an operand
lanes: ld.global.v4.u32 {%r1, %r2}, [%d0]; => ld.global.v4.u32 of 2 values
no lanes: ld.global.v4.u32 %r1, [%d0]; => ld.global.v4.u32 of no vector
lanes of a store: st.global.u32 [%d0], {%r1, %r2}; => st.global.u32 of 2 values
nothing in braces: ld.global.u32 {}, [%d0]; => ld.global.u32 of 0 values
vector: add.u32 %r1, {%r2, %r3}, 1; => add.u32 of 2 values
vector of one: add.u32 {%r1}, %r2, 1; => add.u32 of 1 values
lanes of an atomic: red.global.add.v2.f32 [%d0], {%f1, %f2, %f3};
    => red.global.add.v2.f32 of 3 values
fragment of nothing: stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {};
    => stmatrix.sync.aligned.m8n8.x1.shared.b16 of 0 values
parts of a float: mov.f32 %f1, {%h1, %h2}; => mov.f32 with a vector of 2
type of an address: cvta.global.f16x2 %d1, %d0; => the instruction cvta.global.f16x2
address: ld.global.u32 %r1, %d0; => ld.global.u32 without an address in brackets
two results: add.u32 %r1|%r2, %r3, %r4; => add.u32 with two results
guard: @%nothing ret; => ret of %nothing, which is not declared
callee: call nothing; => a call of nothing, which is no function that is declared
entry: call good; => a call of good, which is no function that is declared
entry's address: mov.u64 %d1, good;
    => mov.u64 of good, which is a kernel: only the host launches them
builtin's address: mov.u64 %d1, malloc; => mov.u64 of malloc, which is not defined
arguments: call f, (1, 2); => call of f with other arguments than it has
prototype: call %d1, (1); => call by an address without a prototype
no callee: call (%r1); => call without a function
""")
REFUSED["long name"] = (f"mov.u32 %r1, {'x' * 5000};", f"mov.u32 of {'x' * 289}...")
BEFORE = ".extern .func malloc(.param .b64 a); .func f(.reg .u32 %a) { .shared .u32 mine; ret; }"


ENTRIES = "".join(
    entry(f".loc 1 12 3\n{body}\n.loc 1 13 3\n", f"r{number}")
    for number, (body, *_) in enumerate(REFUSED.values())
)


@each("name", REFUSED)
def test_an_entry_is_refused_and_others_are_not(name):
    body, told, *advice = REFUSED[name]
    number = [*REFUSED].index(name)
    text = HEAD + BEFORE + GOOD + ENTRIES + '.file 1 "a.cu"\n'
    y = poison(1, np.uint32)
    line = text[: text.index(body, text.index(f" r{number}("))].count("\n") + 1
    message = (
        f"module.cu: the kernel must compile; a.cu:12: error: the simulator does not execute {told}"
        f" (line {line} of the PTX){''.join(f'; {text}' for text in advice)}"
    )
    with pytest.raises(KernelCompileError, match=f"^{re.escape(message)}$"):
        run(text, y, f"r{number}")
    run(text, y, "good")
    assert y.tolist() == [7]


def test_a_function_that_is_refused_takes_its_callers_with_it():
    text = (
        HEAD
        + ".visible .func bad(.reg .u32 %a) { .reg .u32 %b; mov.u32 %b, nothing; ret; }"
        + ".visible .func calls(.reg .u32 %a) { call bad, (%a); ret; }"
        + entry("call calls, (5);")
        + entry(f"ld.global.u64 %d1, [table]; call %d1, (5), p; {PROTOTYPE}", "l")
        + ".global .u64 table = bad;"
    )  # fmt: skip
    y = poison(1, np.uint32)
    with pytest.raises(KernelCompileError, match=r"does not execute mov\.u32 of nothing, which"):
        run(text, y)
    told = "the function bad must be one that the simulator executes"
    with pytest.raises(
        SimulatorError, match=rf"^l: module\.cu:4: {told} \(block \(0, 0, 0\), .*\)$"
    ):
        run(text, y, "l")


STATIC = "bytes of static shared memory"
ADDRESSES = "must have addresses of variables in memory or of functions"


@each(
    ("before", "body", "told"),
    [
        (
            "",
            ".shared .b8 s[49153]; st.shared.u8 [s], 1;",
            f"module.cu:4: error: k must have at most 49152 {STATIC}; got 49168",
        ),
        (
            ".shared .b8 s[1 << 33];",
            "st.shared.u8 [s], 1;",
            f"module.cu:4: error: k must have at most 49152 {STATIC}; got {1 << 33}",
        ),
        (
            "",
            ".local .b8 s[1 << 20]; st.local.u8 [s], 1;",
            "module.cu:4: error: k must have at most 524288 bytes of local memory; got 1048576",
        ),
        (
            ".global .b8 x[1 << 40];",
            "",
            "module.cu: error: x must have at most 1073741824 bytes; got 1099511627776",
        ),
        (
            ".shared .b8 s; .global .u64 " + "x" * 5000 + " = s;",
            "",
            f"module.cu: error: {'x' * 300}... {ADDRESSES}; got s",
        ),
        (
            ".shared .u32 s; .global .u64 x = s;",
            "",
            f"module.cu: error: x {ADDRESSES}; got s",
        ),
        (
            ".alias a, b;",
            "",
            "module.cu: error: the alias a must be one of a function of the module; got b",
        ),
    ],
)
def test_what_no_module_can_have_is_told(before, body, told):
    y = poison(1, np.uint32)
    with pytest.raises(
        KernelCompileError, match=f"^module.cu: the kernel must compile; {re.escape(told)}$"
    ):
        run(HEAD + before + entry(body), y)


@each(
    ("head", "told"),
    [
        ("(.param .b8 a[32765])", "must have at most 32764 bytes of parameters; got 32765"),
        ("() .reqnctapercluster 1, 0, 1", "must have clusters of 1 to 16 blocks; got 0"),
        (
            "() .reqnctapercluster 65536, 32768, 2",
            "must have clusters of 1 to 16 blocks; got 4294967296",
        ),
    ],
)
def test_what_no_entry_can_ask_for_is_told(head, told):
    text = f"{HEAD}.entry k{head} {{ ret; }}"
    with pytest.raises(KernelCompileError, match=f"module.cu:4: error: k {told}$"):
        run(text, poison(1, np.uint32))


# Errors at run time: one line, and the next launch works

WRONG = rows_of("""
index of a table: mov.u32 %r1, 2; brx.idx %r1, T; T: .branchtargets A, B; A: B:
    => a.cu:12: the index of a branch table must be one of its own
global address: mov.u64 %d1, 16; st.global.u32 [%d1], 1; => address 0x10
unassigned address: @%p1 ld.param.u64 %d1, [out]; st.global.u32 [%d1], 1;
    => memory must be mapped where it is accessed
generic address: mov.u64 %d1, 0x7ffffffffff0; ld.u32 %r1, [%d1]; st.global.u32 [%d0], %r1;
    => memory must be mapped where it is accessed
shared address: .shared .u32 s; mov.u32 %r1, 100000000; st.shared.u32 [%r1], 1;
    st.shared.u32 [s], 1; => shared memory must be accessed within its
local address: .local .u32 s; mov.u64 %d1, s; shr.u64 %d1, %d1, 24; st.local.u32 [%d1], 1;
    => memory must be mapped where it is accessed
function: mov.u64 %d1, 64; call %d1, (5), p; PROTOTYPE
    => a.cu:12: an indirect call must be one of a function of the module
function in data: call %d0, (5), p; PROTOTYPE
    => a.cu:12: an indirect call must be one of a function of the module
endless recursion: call (%r1), forever, (5); st.global.u32 [%d0], %r1; => stack
""", PROTOTYPE=PROTOTYPE)  # fmt: skip
FOREVER = """
.func (.reg .u32 %r) forever(.reg .u32 %a)
{ call (%r), forever, (%a); add.u32 %r, %r, %a; ret; }
"""


WILD = "".join(
    entry(f".loc 1 12 3\n{body}\n", f"k{number}") for number, (body, _) in enumerate(WRONG.values())
)


@each("name", WRONG)
def test_a_wild_kernel_is_one_error_and_the_next_launch_works(name):
    text = HEAD + FOREVER + GOOD + WILD + '.file 1 "a.cu"\n'
    y = poison(64, np.uint32)
    with pytest.raises(SimulatorError) as caught:
        run(text, y, f"k{[*WRONG].index(name)}")
    assert WRONG[name][1] in str(caught.value)
    assert "\n" not in str(caught.value)
    run(text, y, "good")
    assert y[0] == 7


# Checked launches

SHARED = (
    HEAD
    + ".shared .align 4 .b8 _ZZ1fvE4mine[40]; .shared .b8 plain[2]; .extern .shared .b8 more[];"
    + ".func f() { st.shared.u32 [_ZZ1fvE4mine], 1; ret; }"
    + entry(
        ".shared .align 64 .b8 _ZZN1a1kIfEEvPT_E4tile_0[1000]; call f; mov.u32 %r1, plain;"
        "mov.u32 %r2, more; mov.u32 %r3, _ZZN1a1kIfEEvPT_E4tile_0; " + stored("%r1", "%r2", "%r3")
    )
    + entry("mov.u32 %r1, more;" + stored("%r1"), "l")
)


def test_red_zones_lie_around_shared_variables():
    y = poison(3, np.uint32)
    run(SHARED, y, shared_bytes=8)
    plain, large, tile = y.tolist()
    assert [plain, tile, large] == [40, 64, 1072]
    with checked():
        run(SHARED, y, shared_bytes=8)
    plain, large, tile = y.tolist()
    assert tile % 64 == 0
    assert plain >= 128 + 40 + 128
    assert tile >= plain + 2 + 128
    assert large >= tile + 1000 + 1000


def test_a_checked_kernel_has_as_much_shared_memory_as_any():
    half = 48 * 1024 // 2
    text = HEAD + entry(
        f".shared .b8 a[{half}], b[{half}]; st.shared.u8 [a], 1; st.shared.u8 [b+{half - 1}], 2;"
        f"ld.shared.u8 %r1, [a]; ld.shared.u8 %r2, [b+{half - 1}];" + stored("%r1", "%r2")
    )
    y = poison(2, np.uint32)
    with checked():
        run(text, y)
    assert y.tolist() == [1, 2]


SET = """
{ .param .b64 a; .param .b32 b; .param .b64 c; .param .b64 r; st.param.b64 [a], %d0;
 st.param.b32 [b], 1; st.param.b64 [c], 44; .loc 1 12 3
 call (r), memset, (a, b, c); }
"""
#: NVRTC gives line 0 to an instruction that stands for several.
NOWHERE = ".loc 1 0 3\n"
FOUND = rows_of("""
before shared memory: .shared .u32 s[4]; st.shared.u32 [s], 1; ld.shared.u32 %r1, [s+-4];
    => out_of_bounds
between shared variables: .shared .u32 s[4], t[4]; st.shared.u32 [t], 1; ld.shared.u32 %r1, [s+16];
    => out_of_bounds
local memory: .local .u32 s[4]; st.local.u32 [s], 1; ld.local.u32 %r1, [s];
    ld.local.u32 %r1, [s+16]; => out_of_bounds
local memory that is not written: .local .u32 s[4]; st.local.u32 [s], 1; ld.local.u32 %r1, [s+4];
    st.global.u32 [%d0], %r1; => uninitialized
a variable: ld.global.u32 %r1, [v+8]; add.u32 %r1, %r1, 1; => out_of_bounds
a vector: st.global.v4.u32 [%d0+32], {1, 2, 3, 4}; => out_of_bounds
an ordered vector: st.volatile.global.v2.u32 [%d0+40], {1, 2}; => out_of_bounds
an ordered load: ld.acquire.gpu.global.u32 %r1, [%d0+40]; => out_of_bounds
an atomic: atom.global.add.u32 %r1, [%d0+40], 1; => out_of_bounds
a vector of atomics: red.global.add.v2.f32 [%d0+40], {%f1, %f2}; => out_of_bounds
16 bytes: mov.b128 %q1, {1, 2}; atom.global.exch.b128 %q2, [%d0+48], %q1; => out_of_bounds
misaligned: ld.volatile.global.u32 %r1, [%d0+2]; => misaligned
at no line: NOWHERE ld.volatile.global.u32 %r1, [%d0+2]; => misaligned
memset: SET => out_of_bounds
""", SET=SET, NOWHERE=NOWHERE)  # fmt: skip
FAULTY = "".join(
    entry(f".loc 1 12 3\n{body}\n.loc 1 13 3\n st.global.u32 [%d0], 7;", f"k{number}")
    for number, (body, _) in enumerate(FOUND.values())
)


@each("name", FOUND)
def test_what_is_wrong_is_found_and_not_carried_out(name):
    text = (
        HEAD
        + ".global .u32 v[2]; .extern .func (.param .b64 r) memset (.param .b64 a, .param .b32 b,"
        + ".param .b64 c);"
        + FAULTY
        + '.file 1 "a.cu"\n'
    )
    y = np.zeros(10, np.uint32)
    entry_name = f"k{[*FOUND].index(name)}"
    told = f"^{entry_name}: {FOUND[name][1]}: a.cu:12: "
    with pytest.raises(SimulatorError, match=told), checked():
        run(text, y, entry_name)
    assert y.tolist() == [7, *[0] * 9]


def test_arrivals_of_a_cluster_meet_at_an_mbarrier_whatever_their_scopes():
    body = """
    .shared .align 8 .b64 bar; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 0;
    mov.u32 %r2, bar; mapa.shared::cluster.u32 %r3, %r2, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 2;
    barrier.cluster.arrive; barrier.cluster.wait;
    @%p1 mbarrier.arrive.shared.b64 %d1, [bar];
    @!%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
    @!%p1 bra END;
    W: mbarrier.try_wait.acquire.cluster.shared.b64 %p2, [bar], %d1; @!%p2 bra W;
    END: barrier.cluster.arrive; barrier.cluster.wait;
    """
    text = HEAD + entry(body, head=".reqnctapercluster 2, 1, 1")
    with checked():
        run(text, np.zeros(1, np.uint32), grid=2)


def test_entries_without_instructions():
    """Such as those of instances that cannot be reached, and one whose function is empty, too."""
    empty = ".visible .entry none() { } .func nothing() { } .visible .entry one(.param .u32 n) { }"
    module = RawModule(code=f"{HEAD}{empty}{entry('call nothing; st.global.u32 [%d0], 7;')}")
    y = poison(1, np.uint32)
    for observed in (nullcontext(), checked()):
        with observed:
            for grid in (1, 1024):  # the quick and the fast form
                module.get_function("none")((grid,), (64,), ())
                module.get_function("one")((grid,), (64,), (5,))
            module.get_function("k")((1,), (1,), (y,))
        assert y == 7
        y[:] = 0
