"""Operands as PTX may write them: constants, predicates, results that nobody wants, carries."""

from __future__ import annotations

import numpy as np
import pytest

from cudakern.errors import KernelCompileError
from tests.simulator.ptx.harness import launch, poison

TEXT = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<4>, %out; .reg .pred %p<4>;
    ld.param.u64 %out, [out];
    mov.u32 %r1, 5; mov.u32 %r2, 0xffffffff;
    {}
    ret;
}}
"""
#: Instructions, given %r1 = 5, %r2 = -1 and false predicates, and what they leave where.
CASES = {
    "negative constants": (
        "sub.s32 %r3, -7, -5; min.s32 %r4, %r1, -2147483648;",
        "r3 r4",
        -2,
        -(2**31),
    ),
    "constants in every base": ("add.u32 %r3, 0x1F, 0b101; add.u32 %r4, 010, 7U;", "r3 r4", 36, 15),
    "expressions of constants": ("add.u32 %r3, %r1, (1 << 4) | 3;", "r3", 24),
    "constants of 16 bits": (
        "add.u16 %h1, -1, 3; mul.wide.u16 %r3, %h1, 0xffff;",
        "r3",
        2 * 0xFFFF,
    ),
    "constants of 64 bits": ("mad.wide.s32 %d1, -2, %r1, -1;", "d1", -11),
    "shift by a constant over the width": (
        "shl.b32 %r3, %r1, 32; shr.s32 %r4, %r2, 99;",
        "r3 r4",
        0,
        -1,
    ),
    "division of constants": ("div.u32 %r3, 7, 0; rem.s32 %r4, -7, 0;", "r3 r4", -1, -7),
    "division that overflows": (
        "div.s32 %r3, 0x80000000, -1; rem.s32 %r4, -2147483648, -1;",
        "r3 r4",
        2**31,
        0,
    ),
    "a predicate that is negated": ("setp.eq.and.u32 %p1|%p2, %r1, 5, !%p3;", "p1 p2", 1, 0),
    "a predicate that is a constant": ("setp.eq.and.u32 %p1, %r1, 5, 1;", "p1", 1),
    "one of two results": ("setp.ne.u32 %p1, %r1, 5; setp.ne.u32 _|%p2, %r1, 5;", "p1 p2", 0, 1),
    "the other of two results": ("setp.eq.u32 %p1|_, %r1, 5;", "p1", 1),
    "a result that is not wanted": ("lop3.or.b32 _|%p1, %r1, %r2, %r2, 0x80, %p3;", "p1", 1),
    "a result over an operand": ("sub.u32 %r1, %r1, 7; add.u32 %r1, %r1, %r1;", "r1", -4),
    "results over operands": ("setp.eq.xor.u32 %p1|%p2, %r1, 5, %p1;", "p1 p2", 1, 0),
    "a carry through a guard": ("@!%p3 add.cc.u32 %r3, %r2, 1; addc.u32 %r4, 0, 0;", "r3 r4", 0, 1),
    "a carry over a branch": (
        "add.cc.u32 %r3, %r2, 2; @%p3 bra L; addc.cc.u32 %r4, %r2, 0; L: addc.u32 %r5, 0, 0;",
        "r3 r4 r5",
        1,
        0,
        1,
    ),
    "a borrow": (
        "sub.cc.u32 %r3, 0, 1; subc.cc.u32 %r4, 0, 0; subc.u32 %r5, 9, 0;",
        "r3 r4 r5",
        -1,
        -1,
        8,
    ),
}


def left(instructions, registers):
    """Run instructions on one thread; return what is in some registers, as signed numbers."""
    out = poison(len(registers), "i8")
    stores = ""
    for i, name in enumerate(registers):
        if name[0] == "p":
            stores += f"selp.u64 %d3, 1, 0, %{name};"
        elif name[0] == "r":
            stores += f"mul.wide.s32 %d3, %{name}, 1;"
        else:
            stores += f"mov.u64 %d3, %{name};"
        stores += f"st.global.u64 [%out+{8 * i}], %d3;"
    launch(TEXT.format(instructions + stores), "k", (out,), grid=(1, 1, 1), block=(1, 1, 1))
    return out.tolist()


@pytest.mark.parametrize("case", CASES)
def test_operands_are_what_ptx_says(case):
    instructions, names, *answers = CASES[case]
    registers = names.split()
    wrapped = [
        int(np.int64(answer).astype("i4")) if name[0] == "r" else answer
        for name, answer in zip(registers, answers, strict=True)
    ]
    assert left(instructions, registers) == wrapped


@pytest.mark.parametrize(
    ("instruction", "told"),
    [
        ("vadd.u32.u32.u32 %r3, %r1.b0, %r2;", "vadd.u32.u32.u32 of %r1.b0, which is not declared"),
        ("vadd.u32.u32.u32 %r3.h1, %r1, %r2, %r1;", "the instruction vadd.u32.u32.u32"),
        ("isspacep.const %p1, %out;", "the instruction isspacep.const"),
        ("add.sat.u32 %r3, %r1, %r2;", "the instruction add.sat.u32"),
    ],
)
def test_what_is_not_executed_is_refused(instruction, told):
    message = f"the simulator does not execute {told} (line 9 of the PTX)"
    with pytest.raises(KernelCompileError) as caught:
        left(instruction, ["r3"])
    assert str(caught.value).endswith(message)
