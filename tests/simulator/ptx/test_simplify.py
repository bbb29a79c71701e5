"""What passes leave out, and what they must not."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from cudakern.simulator import checked
from cudakern.simulator.libraries.execution_mode import ExecutionMode
from cudakern.simulator.ptx.operations import body_of
from cudakern.simulator.ptx.parse import parse
from cudakern.simulator.ptx.simplify import simplify
from tests.helpers.execution_modes import force
from tests.helpers.rows import each
from tests.simulator.ptx.harness import HEAD, poison
from tests.simulator.ptx.test_translate import entry, run, stored

#: What is left of some instructions, besides those that load %d0 and return.
LEFT = {
    "mov.u32 %r1, 5; st.u32 [%d0], %r1;": "st",
    "mov.f32 %f1, 0f3F800000; mov.b32 %r1, %f1; st.u32 [%d0], %r1;": "st",
    "cvta.to.global.u64 %d1, %d0; st.global.u32 [%d1], 5;": "st",
    "ld.u32 %r1, [%d0]; mov.b32 %r2, %r1; mov.b32 %r3, %r2; st.u32 [%d0], %r3;": "ld st",
    "ld.u32 %r1, [%d0]; add.u32 %r2, %r1, 1; mul.lo.u32 %r3, %r2, %r2;": "ld",
    "ld.u32 %r1, [%d0]; setp.ne.s32 %p1, %r1, 0; selp.u32 %r2, 1, 0, %p1; "
    "setp.ne.u32 %p2, %r2, 0; @!%p2 st.u32 [%d0], 7;": "ld setp st",
    "ld.u32 %r1, [%d0]; setp.ne.s32 %p1, %r1, 0; selp.u32 %r2, 1, 0, %p1; "
    "setp.ne.u32 %p2, %r2, 2; @!%p2 st.u32 [%d0], 7;": "ld setp selp setp st",
    # What may matter: a guard, two values, a value that changes, one of another kind.
    "setp.eq.u64 %p1, %d0, 0; @%p1 mov.u32 %r1, 5; st.u32 [%d0], %r1;": "setp mov st",
    "mov.u32 %r1, 5; st.u32 [%d0], %r1; mov.u32 %r1, 6; st.u32 [%d0], %r1;": "mov st mov st",
    "mov.u32 %r1, %clock; mov.u32 %r2, %tid.x; st.u32 [%d0], 5;": "mov st",
    "add.cc.u32 %r1, 1, 2; addc.u32 %r2, 3, 4; st.u32 [%d0], %r2;": "add addc st",
    "ld.u32 %r1, [%d0]; mov.b32 %f1, %r1; st.f32 [%d0], %f1;": "ld mov st",
}


@each("body", LEFT)
def test_what_is_left(body):
    (function,) = parse(HEAD + entry(body), "k").functions.values()
    left = simplify(body_of(function, "k", {})).ops
    assert [op.form.opcode for op in left] == ["ld", *LEFT[body].split(), "ret"]


#: Words that a kernel stores, and its text.
STORED = {
    # A constant or copy below its use, which a loop comes to first.
    "constants before": (
        [0, 7, 7],
        (
            "mov.u32 %r1, 0; bra U; D: mov.u32 %r5, 7; U: st.u32 [%d0], %r5; add.u64 %d0, %d0, 4;"
            "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 3; @%p1 bra D;"
        ),
    ),
    "copies before": (
        [0, 1, 2],
        (
            "mov.u32 %r1, 0; L: mov.u32 %r3, %r2; st.u32 [%d0], %r3; add.u32 %r2, %r1, 1;"
            "add.u64 %d0, %d0, 4; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 3; @%p1 bra L;"
        ),
    ),
    "selections before": (
        [9, 9, 7],
        (
            "mov.u32 %r1, 0; bra U; D: setp.gt.u32 %p1, %r1, 1; selp.u32 %r2, 0, 1, %p1;"
            "U: setp.eq.u32 %p2, %r2, 0; @%p2 mov.u32 %r4, 7; @!%p2 mov.u32 %r4, 9;"
            "setp.eq.u32 %p4, %r1, 0; @%p4 mov.u32 %r4, 9; st.u32 [%d0], %r4; add.u64 %d0, %d0, 4;"
            "add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 3; @%p3 bra D;"
        ),
    ),
    # A selection by a predicate that has changed since.
    "selections of another turn": (
        [0xAA],
        (
            "setp.ne.u32 %p1, 0, 0; mov.u32 %r1, 0; mov.u32 %r5, 0; L: selp.b32 %r2, 1, 0, %p1;"
            "and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; setp.eq.u32 %p3, %r1, 0; @%p3 bra S;"
            "setp.ne.s32 %p4, %r2, 0; selp.u32 %r4, 1, 0, %p4; shl.b32 %r4, %r4, %r1;"
            "or.b32 %r5, %r5, %r4; S: mov.pred %p1, %p2; add.u32 %r1, %r1, 1;"
            "setp.lt.u32 %p5, %r1, 8; @%p5 bra L;" + stored("%r5")
        ),
    ),
    "selections of a predicate that follows": (
        [0xAA],
        (
            "mov.u32 %r1, 0; mov.u32 %r5, 0; L: selp.b32 %r2, 1, 0, %p1;"
            "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; setp.ne.s32 %p2, %r2, 0;"
            "setp.eq.u32 %p3, %r1, 0; @%p3 bra S; selp.u32 %r4, 1, 0, %p2; shl.b32 %r4, %r4, %r1;"
            "or.b32 %r5, %r5, %r4; S: add.u32 %r1, %r1, 1;"
            "setp.lt.u32 %p4, %r1, 8; @%p4 bra L;" + stored("%r5")
        ),
    ),
    # Constants where their width, sign or type matters.
    "constants of other kinds": (
        [0xFFFFFF80, 0x80, 0x3F800000, 0xFFFF, 0x80000000, 0x40000000],
        (
            "mov.u16 %h1, 0x180; cvt.s32.s8 %r1, %h1; cvt.u32.u8 %r2, %h1; mov.f32 %f1, 0f3F800000;"
            "mov.b32 %r3, %f1; mov.b16 %h2, -1; cvt.u32.u16 %r4, %h2; mov.u32 %r5, 31;"
            "shl.b32 %r6, 1, %r5; add.f32 %f2, %f1, %f1; mov.b32 %r7, %f2;"
            + stored("%r1", "%r2", "%r3", "%r4", "%r6", "%r7")
        ),
    ),
    "negated selections": (
        [1, 2, 2, 1],
        (
            "ld.u32 %r1, [%d0]; setp.ne.u32 %p1, %r1, %r1; selp.u32 %r2, 5, 4, %p1;"
            "setp.eq.u32 %p2, %r2, 5; setp.ne.u32 %p3, %r2, 5; setp.eq.u32 %p4, %r2, 4;"
            "setp.ne.u32 %p5, %r2, 4; mov.pred %p6, %p2; selp.u32 %r3, 2, 1, %p6;"
            "selp.u32 %r4, 2, 1, %p3; selp.u32 %r5, 2, 1, %p4; selp.u32 %r6, 2, 1, %p5;"
            + stored("%r3", "%r4", "%r5", "%r6")
        ),
    ),
}


@each("name", STORED)
@each("mode", [*ExecutionMode, None])
def test_what_a_loop_changes_is_not_taken_for_what_it_was(name, mode):
    wanted, body = STORED[name]
    if name == "constants before" and mode not in {None, ExecutionMode.FIBERS}:
        return  # what reads a register that nothing has written may get any value
    y = poison(len(wanted), np.uint32)
    text = f"{HEAD}// {mode}\n{entry(body)}"
    with checked() if mode is None else nullcontext(), force(mode):
        run(text, y)
    assert y.tolist() == wanted
