"""Undefined values are followed from loads and shuffles to where they are used, byte by byte."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from tests.helpers.rows import each
from tests.simulator.ptx.harness import HEAD

#: Loads from shared memory: %r1 to %r4, %d1 and %h1 are undefined; of %r5 and %d5 the lower half is
#: written, of %r6 bytes 1 and 3. All else is written; %r0 holds 0, and %p0 holds.
START = """
.reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<20>;
.reg .b128 %q<9>;
.shared .align 16 .b8 s[64]; .shared .align 16 .b8 t[64]; .local .align 16 .b8 l[64];
ld.param.u64 %d0, [out]; ld.param.u32 %r0, [zero]; setp.eq.u32 %p0, %r0, 0;
st.shared.u16 [t], 7; st.shared.u32 [t+8], 7; st.shared.u8 [t+17], 7; st.shared.u8 [t+19], 7;
st.shared.u32 [t+32], 7;
.loc 1 2 1
ld.shared.u32 %r1, [s]; ld.shared.v2.u32 {%r2, %r3}, [s+8]; ld.shared.u32 %r4, [s+4];
ld.shared.u64 %d1, [s+16]; ld.shared.u16 %h1, [s+24];
ld.shared.u32 %r5, [t]; ld.shared.u64 %d5, [t+8]; ld.shared.u32 %r6, [t+16];
.loc 1 3 1
"""
STORE = "st.global.u32 [%d0], {};"
LEAST = "min.u32 %r9, %r1, 0; "  # undefined, as it may be, but 0
BRANCH = "setp.ne.u32 %p9, {}, 1; @%p9 bra L_; L_:"

STORED, BRANCHED, ADDRESS = "is stored", "decides a branch", "is part of an address"
ATOMIC, USED, NOTHING = "goes into an atomic", "is used", ""
UPDATED = "atomic update of 4 bytes must come after a write"

#: What a kernel does with them, and what is found.
CASES = {
    "nothing": ("", NOTHING),
    "stored": (STORE.format("%r1"), STORED),
    "of a vector": (STORE.format("%r3"), STORED),
    "stored in a vector": ("st.global.v2.u32 [%d0], {0, %r1};", STORED),
    "stored as volatile": ("st.volatile.global.u32 [%d0], %r1;", STORED),
    "stored generically": ("mov.u64 %d2, %d0; st.u32 [%d2], %r1;", STORED),
    "branch": (BRANCH.format("%r1"), BRANCHED),
    "exit": ("setp.ne.u32 %p1, %r1, 1; @%p1 exit;", BRANCHED),
    "guarded store": ("setp.ne.u32 %p1, %r1, 1; @%p1 st.global.u32 [%d0], 1;", BRANCHED),
    "guarded barrier": ("setp.ne.u32 %p1, %r1, 1; @%p1 bar.sync 0;", BRANCHED),
    "address of a load": (
        LEAST + "mov.u32 %r8, t; add.u32 %r8, %r8, %r9; ld.shared.u8 %r8, [%r8];",
        ADDRESS,
    ),
    "address of a store": (
        LEAST + "cvt.u64.u32 %d2, %r9; add.u64 %d3, %d0, %d2; st.global.u8 [%d3], 1;",
        ADDRESS,
    ),
    "address of an atomic": (
        LEAST + "mov.u32 %r8, t; add.u32 %r8, %r8, %r9; red.shared.add.u32 [%r8+32], 1;",
        ADDRESS,
    ),
    "atomic": ("red.global.add.u32 [%d0], %r1;", ATOMIC),
    "compare and exchange": ("atom.global.cas.b32 %r9, [%d0], 0, %r1;", ATOMIC),
    "what an atomic gives": (
        "atom.global.add.u32 %r1, [%d0], 1; st.global.u32 [%d0], %r1;",
        NOTHING,
    ),
    "exchange of what nobody wants": (
        ".loc 1 2 1\natom.shared.exch.b32 %r9, [s+32], 1;\n.loc 1 3 1\n",
        NOTHING,
    ),
    "exchange": (
        ".loc 1 2 1\natom.shared.exch.b32 %r9, [s+36], 1;\n.loc 1 3 1\n" + STORE.format("%r9"),
        UPDATED,
    ),
    "addition": (".loc 1 2 1\natom.shared.add.u32 %r9, [s+40], 1;", UPDATED),
    "number of a barrier": (LEAST + "bar.sync %r9;", USED),
    "lane of a shuffle": ("shfl.sync.idx.b32 %r9, %r0, %r1, 31, 1;", USED),
    "computed, not used": ("add.u32 %r9, %r1, 1; mul.lo.u32 %r9, %r9, %r9;", NOTHING),
    "computed": ("add.u32 %r9, %r1, 1; mul.lo.u32 %r9, %r9, 3; " + STORE.format("%r9"), STORED),
    "a float": (
        "mov.b32 %f1, %r1; fma.rn.f32 %f1, %f1, %f1, %f1; st.global.f32 [%d0], %f1;",
        STORED,
    ),
    "of a double word": ("cvt.u32.u64 %r9, %d1; " + STORE.format("%r9"), STORED),
    "of a half word": ("cvt.u32.u16 %r9, %h1; " + STORE.format("%r9"), STORED),
    "overwritten": ("mov.u32 %r1, 3; " + STORE.format("%r1"), NOTHING),
    "loop": (
        "mov.u32 %r9, %r0; mov.u32 %r10, 0; L: add.u32 %r9, %r9, %r1;"
        " add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 3; @%p1 bra L; " + STORE.format("%r9"),
        STORED,
    ),
    "before a loop": (
        "mov.u32 %r9, %r1; mov.u32 %r10, 0; L: mov.u32 %r9, %r10;"
        " add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 3; @%p1 bra L; " + STORE.format("%r9"),
        NOTHING,
    ),
    # A value that is computed before a register changes that it is computed of.
    "kept": (
        "mov.u32 %r9, %r1; add.u32 %r10, %r9, 1; mov.u32 %r9, 0; add.u32 %r9, %r9, 1; "
        + STORE.format("%r10"),
        STORED,
    ),
    "kept under a guard": (
        "mov.u32 %r9, %r1; add.u32 %r10, %r9, 1; @!%p0 mov.u32 %r9, 0; " + STORE.format("%r10"),
        STORED,
    ),
    "selected": ("selp.u32 %r9, %r1, %r0, %p0; " + STORE.format("%r9"), STORED),
    "not selected": ("selp.u32 %r9, %r0, %r1, %p0; " + STORE.format("%r9"), NOTHING),
    "computed and not selected": (
        "add.u32 %r9, %r1, 1; selp.u32 %r9, 0, %r9, %p0; " + STORE.format("%r9"),
        NOTHING,
    ),
    "selects": ("setp.ne.u32 %p1, %r1, 1; selp.u32 %r9, 1, 2, %p1; " + STORE.format("%r9"), STORED),
    "selects what is loaded": (
        "ld.shared.u32 %r8, [t+32]; setp.ne.u32 %p1, %r1, 1; selp.u32 %r9, %r8, 2, %p1; "
        + STORE.format("%r9"),
        STORED,
    ),
    "under a guard": ("mov.u32 %r9, 0; @%p0 mov.u32 %r9, %r1; " + STORE.format("%r9"), STORED),
    "not under its guard": (
        "mov.u32 %r9, 0; @!%p0 mov.u32 %r9, %r1; " + STORE.format("%r9"),
        NOTHING,
    ),
    "replaced under a guard": ("@%p0 mov.u32 %r1, 0; " + STORE.format("%r1"), NOTHING),
    "load under a guard": (
        "mov.u32 %r9, 0; @!%p0 ld.shared.u32 %r9, [s]; " + STORE.format("%r9"),
        NOTHING,
    ),
    "undefined guard": (
        "setp.ne.u32 %p1, %r1, 1; mov.u32 %r9, 0; @%p1 mov.u32 %r9, 1; " + STORE.format("%r9"),
        STORED,
    ),
    "undefined guard of what nobody uses": (
        "setp.ne.u32 %p1, %r1, 1; mov.u32 %r9, 0; @%p1 mov.u32 %r9, 1;",
        NOTHING,
    ),
    "and with what does not hold": (
        "setp.ne.u32 %p1, %r1, 1; and.pred %p2, %p1, !%p0; @%p2 bra L; L:",
        NOTHING,
    ),
    "and with what holds": (
        "setp.ne.u32 %p1, %r1, 1; and.pred %p2, %p0, %p1; @%p2 bra L; L:",
        BRANCHED,
    ),
    "or with what holds": (
        "setp.ne.u32 %p1, %r1, 1; or.pred %p2, %p1, %p0; @%p2 bra L; L:",
        NOTHING,
    ),
    "or with what does not hold": (
        "setp.ne.u32 %p1, %r1, 1; or.pred %p2, !%p0, %p1; @%p2 bra L; L:",
        BRANCHED,
    ),
    "both are undefined": (
        (
            "setp.ne.u32 %p1, %r1, 1; setp.ne.u32 %p2, %r4, 1; and.pred %p3, %p1, %p2;"
            " @%p3 bra L; L:"
        ),
        BRANCHED,
    ),
    "compared, and": ("setp.ne.and.u32 %p1, %r1, 1, !%p0; @%p1 bra L; L:", NOTHING),
    "compared, or": ("setp.ne.or.u32 %p1, %r1, 1, %p0; @%p1 bra L; L:", NOTHING),
    "compared, and what holds": ("setp.ne.and.u32 %p1, %r1, 1, %p0; @%p1 bra L; L:", BRANCHED),
    "masked out": ("neg.s32 %r8, %r0; and.b32 %r9, %r1, %r8; " + STORE.format("%r9"), NOTHING),
    "masked in": ("not.b32 %r8, %r0; and.b32 %r9, %r1, %r8; " + STORE.format("%r9"), STORED),
    # Bytes
    "upper half unpacked": ("mov.b32 {%h2, %h3}, %r5; st.global.u16 [%d0], %h3;", STORED),
    "lower half unpacked": ("mov.b32 {%h2, %h3}, %r5; st.global.u16 [%d0], %h2;", NOTHING),
    "upper word unpacked": ("mov.b64 {%r8, %r9}, %d5; " + BRANCH.format("%r9"), BRANCHED),
    "lower word unpacked": ("mov.b64 {%r8, %r9}, %d5; " + BRANCH.format("%r8"), NOTHING),
    "packed and unpacked": (
        "mov.b64 %d6, {%r0, %r1}; mov.b64 {%r8, %r9}, %d6; " + BRANCH.format("%r8"),
        NOTHING,
    ),
    "packed and unpacked, the other": (
        "mov.b64 %d6, {%r0, %r1}; mov.b64 {%r8, %r9}, %d6; " + BRANCH.format("%r9"),
        BRANCHED,
    ),
    "quadruple": (
        "mov.b128 %q1, {%d0, %d1}; mov.b128 {%d6, %d7}, %q1; cvt.u32.u64 %r8, %d6; "
        + BRANCH.format("%r8"),
        NOTHING,
    ),
    "narrowed": ("cvt.u32.u64 %r9, %d5; " + BRANCH.format("%r9"), NOTHING),
    "shifted down": (
        "shr.u64 %d6, %d5, 32; cvt.u32.u64 %r9, %d6; " + BRANCH.format("%r9"),
        BRANCHED,
    ),
    "shifted out": ("shl.b32 %r9, %r5, 16; " + BRANCH.format("%r9"), NOTHING),
    "shifted by bits": ("shr.u32 %r9, %r5, 3; " + BRANCH.format("%r9"), BRANCHED),
    "field of a byte": ("bfe.u32 %r9, %r6, 8, 8; " + BRANCH.format("%r9"), NOTHING),
    "field of another byte": ("bfe.u32 %r9, %r6, 16, 8; " + BRANCH.format("%r9"), BRANCHED),
    "byte by a mask": ("and.b32 %r9, %r6, 0xff00ff00; " + BRANCH.format("%r9"), NOTHING),
    "another byte by a mask": ("and.b32 %r9, %r6, 0xff; " + BRANCH.format("%r9"), BRANCHED),
    "computed of a part": (
        "add.u32 %r9, %r5, 1; and.b32 %r9, %r9, 0xff; " + STORE.format("%r9"),
        STORED,
    ),
    "part of a vector stored": (
        "ld.shared.v2.u32 {%r8, %r9}, [t+8]; st.global.v2.u32 [%d0], {%r8, %r9};",
        NOTHING,
    ),
    "part of a vector used": (
        ".loc 1 2 1\nld.shared.v2.u32 {%r8, %r9}, [t+8]; add.u32 %r9, %r9, %r8;\n.loc 1 3 1\n"
        + STORE.format("%r9"),
        STORED,
    ),
    # What is loaded beside others, at the same line, can be padding that is copied with them.
    "padding": (
        ".loc 1 2 1\nld.shared.u32 %r9, [t+12];\n.loc 1 3 1\n" + STORE.format("%r9"),
        NOTHING,
    ),
    "loaded alone": (
        ".loc 1 2 1\nmov.u32 %r8, t; ld.shared.u32 %r9, [%r8+12];\n.loc 1 3 1\n"
        + STORE.format("%r9"),
        STORED,
    ),
    "part stored": ("st.global.u64 [%d0], %d5;", NOTHING),
    "part stored and loaded": (
        "st.global.u64 [%d0], %d5; ld.global.u32 %r9, [%d0+4]; " + BRANCH.format("%r9"),
        BRANCHED,
    ),
    "defined part loaded": (
        "st.global.u64 [%d0], %d5; ld.global.u32 %r9, [%d0]; " + BRANCH.format("%r9"),
        NOTHING,
    ),
    # Memory
    "through shared memory": (
        "st.shared.u32 [t+40], %r1; ld.shared.u32 %r9, [t+40]; " + BRANCH.format("%r9"),
        BRANCHED,
    ),
    "to shared memory": ("st.shared.u32 [t+40], %r1;", NOTHING),
    "replaced in shared memory": (
        "st.shared.u32 [t+40], %r1; st.shared.u32 [t+40], 1;"
        " ld.shared.u32 %r9, [t+40]; " + STORE.format("%r9"),
        NOTHING,
    ),
    "byte of shared memory": (
        "st.shared.u32 [t+40], %r6; ld.shared.u8 %r9, [t+42]; " + BRANCH.format("%r9"),
        BRANCHED,
    ),
    "written byte of shared memory": (
        "st.shared.u32 [t+40], %r6; ld.shared.u8 %r9, [t+43]; " + BRANCH.format("%r9"),
        NOTHING,
    ),
    "byte written later": (
        "st.shared.u32 [t+40], %r1; st.shared.u8 [t+41], 1; ld.shared.u8 %r9, [t+41]; "
        + BRANCH.format("%r9"),
        NOTHING,
    ),
    "atomic on what holds it": ("st.shared.u32 [t+40], %r1; red.shared.add.u32 [t+40], 1;", ATOMIC),
    "through local memory": (
        "st.local.u32 [l+4], %r1; ld.local.u32 %r9, [l+4]; " + STORE.format("%r9"),
        STORED,
    ),
    "replaced in local memory": (
        "st.local.u32 [l+4], %r1; st.local.u32 [l+4], 3; ld.local.u32 %r9, [l+4]; "
        + STORE.format("%r9"),
        NOTHING,
    ),
    "by a copy": (
        "cp.async.ca.shared.global [t+36], [%d0], 4; cp.async.wait_all;"
        " ld.shared.u32 %r9, [t+36]; " + STORE.format("%r9"),
        NOTHING,
    ),
    "through a function": (
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), next, (a);"
        " ld.param.b32 %r9, [r]; } " + STORE.format("%r9"),
        STORED,
    ),
    "defined through a function": (
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r0; call (r), next, (a);"
        " ld.param.b32 %r9, [r]; } " + STORE.format("%r9"),
        NOTHING,
    ),
    # Of the warp, which has one lane
    "shuffled": ("shfl.sync.idx.b32 %r9, %r1, 0, 31, 1; " + STORE.format("%r9"), STORED),
    "voted": (
        "setp.ne.u32 %p1, %r1, 1; vote.sync.ballot.b32 %r9, %p1, 1; " + STORE.format("%r9"),
        STORED,
    ),
    "reduced": ("redux.sync.add.u32 %r9, %r1, 1; " + STORE.format("%r9"), STORED),
    "mask of a vote": (
        "or.b32 %r8, %r1, 1; vote.sync.ballot.b32 %r9, %p0, 1; " + STORE.format("%r9"),
        NOTHING,
    ),
}
FUNCTION = """
.func (.param .b32 r) next (.param .b32 a)
{ .reg .b32 %x<3>; ld.param.b32 %x1, [a]; add.u32 %x1, %x1, 1; st.param.b32 [r], %x1; ret; }
"""


TEXT = "".join(
    (
        HEAD,
        FUNCTION,
        *(
            f".visible .entry k{i}(.param .u64 out, .param .u32 zero)\n{{ {START} {body} ret; }}\n"
            for i, (body, _) in enumerate(CASES.values())
        ),
        '.file 1 "a.cu"\n',
    )
)


@each("name", CASES)
def test_what_becomes_of_an_undefined_value(name):
    kernel = ck.simulator.RawModule(code=TEXT).get_function(f"k{[*CASES].index(name)}")
    with ck.simulator.checked() as report:
        kernel((1,), (1,), (np.zeros(8, np.uint32), 0))
        findings, report.findings = report.findings, []
    wanted = CASES[name][1]
    assert {f.kind for f in findings} == ({"uninitialized"} if wanted else set())
    for finding in findings:
        assert finding.source == ("a.cu", 2)
        told = wanted if wanted == UPDATED else f"its value {wanted} at a.cu:3"
        assert told in finding.message
