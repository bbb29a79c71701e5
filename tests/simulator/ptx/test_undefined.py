"""Undefined values are tracked byte by byte, from loads and shuffles to their uses."""

from __future__ import annotations

import re

import numpy as np

import cudakern as ck
from tests.helpers.rows import each
from tests.simulator.ptx.harness import HEAD

#: Loads from shared memory: %r1 to %r4, %d1 and %h1 are undefined; the lower halves of %r5 and %d5
#: are defined, and bytes 1 and 3 of %r6. All else is defined; %r0 is 0, and %p0 is true.
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
#: Texts of findings about an undefined value.
FOUND = {
    "stored": "its value is stored at a.cu:3",
    "branch": "its value decides a branch at a.cu:3",
    "address": "its value is part of an address at a.cu:3",
    "atomic": "its value goes into an atomic at a.cu:3",
    "used": "its value is used at a.cu:3",
    "update": "atomic update of 4 bytes must come after a write",
    "nothing": "",
}
#: Words of the cases. The result of LEAST counts as undefined, although it is always 0.
WORDS = {
    r"STORE\((.*?)\)": r"st.global.u32 [%d0], \1;",
    r"BRANCH\((.*?)\)": r"setp.ne.u32 %p9, \1, 1; @%p9 bra L_; L_:",
    r"NEXT\((.*?)\)": r"{ .param .b32 a; .param .b32 r; st.param.b32 [a], \1;"
    " call (r), next, (a); ld.param.b32 %r9, [r]; }",
    r"AGAIN\((.*?)\)": r"add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 3; @%p1 bra \1;",
    "LEAST": "min.u32 %r9, %r1, 0;",
    "COMPARE": "setp.ne.u32 %p1, %r1, 1;",
    "LOAD": "\n.loc 1 2 1\n",
    "USE": "\n.loc 1 3 1\n",
}
#: Names of cases, findings, and what kernels do with the undefined values.
CASES = re.findall(
    r"^(\w.*?) -> (\w+):(.*(?:\n    .*)*)",
    """
nothing -> nothing:
stored -> stored: STORE(%r1)
of a vector -> stored: STORE(%r3)
stored in a vector -> stored: st.global.v2.u32 [%d0], {0, %r1};
stored as volatile -> stored: st.volatile.global.u32 [%d0], %r1;
stored generically -> stored: mov.u64 %d2, %d0; st.u32 [%d2], %r1;
branch -> branch: BRANCH(%r1)
exit -> branch: COMPARE @%p1 exit;
guarded store -> branch: COMPARE @%p1 st.global.u32 [%d0], 1;
guarded barrier -> branch: COMPARE @%p1 bar.sync 0;
address of a load -> address: LEAST mov.u32 %r8, t; add.u32 %r8, %r8, %r9; ld.shared.u8 %r8, [%r8];
address of a store -> address: LEAST cvt.u64.u32 %d2, %r9; add.u64 %d3, %d0, %d2;
    st.global.u8 [%d3], 1;
address of an atomic -> address: LEAST mov.u32 %r8, t; add.u32 %r8, %r8, %r9;
    red.shared.add.u32 [%r8+32], 1;
atomic -> atomic: red.global.add.u32 [%d0], %r1;
compare and exchange -> atomic: atom.global.cas.b32 %r9, [%d0], 0, %r1;
what an atomic gives -> nothing: atom.global.add.u32 %r1, [%d0], 1; STORE(%r1)
exchange of what nobody wants -> nothing: LOAD atom.shared.exch.b32 %r9, [s+32], 1; USE
exchange -> update: LOAD atom.shared.exch.b32 %r9, [s+36], 1; USE STORE(%r9)
addition -> update: LOAD atom.shared.add.u32 %r9, [s+40], 1;
number of a barrier -> used: LEAST bar.sync %r9;
lane of a shuffle -> used: shfl.sync.idx.b32 %r9, %r0, %r1, 31, 1;
computed, not used -> nothing: add.u32 %r9, %r1, 1; mul.lo.u32 %r9, %r9, %r9;
computed -> stored: add.u32 %r9, %r1, 1; mul.lo.u32 %r9, %r9, 3; STORE(%r9)
a float -> stored: mov.b32 %f1, %r1; fma.rn.f32 %f1, %f1, %f1, %f1; st.global.f32 [%d0], %f1;
of a double word -> stored: cvt.u32.u64 %r9, %d1; STORE(%r9)
of a half word -> stored: cvt.u32.u16 %r9, %h1; STORE(%r9)
overwritten -> nothing: mov.u32 %r1, 3; STORE(%r1)
loop -> stored: mov.u32 %r9, %r0; mov.u32 %r10, 0; L: add.u32 %r9, %r9, %r1; AGAIN(L) STORE(%r9)
before a loop -> nothing: mov.u32 %r9, %r1; mov.u32 %r10, 0; L: mov.u32 %r9, %r10;
    AGAIN(L) STORE(%r9)
# A value that is computed before a register changes that it is computed of
kept -> stored: mov.u32 %r9, %r1; add.u32 %r10, %r9, 1; mov.u32 %r9, 0; add.u32 %r9, %r9, 1;
    STORE(%r10)
kept under a guard -> stored: mov.u32 %r9, %r1; add.u32 %r10, %r9, 1; @!%p0 mov.u32 %r9, 0;
    STORE(%r10)
selected -> stored: selp.u32 %r9, %r1, %r0, %p0; STORE(%r9)
not selected -> nothing: selp.u32 %r9, %r0, %r1, %p0; STORE(%r9)
computed and not selected -> nothing: add.u32 %r9, %r1, 1; selp.u32 %r9, 0, %r9, %p0; STORE(%r9)
selects -> stored: COMPARE selp.u32 %r9, 1, 2, %p1; STORE(%r9)
selects what is loaded -> stored: ld.shared.u32 %r8, [t+32]; COMPARE selp.u32 %r9, %r8, 2, %p1;
    STORE(%r9)
under a guard -> stored: mov.u32 %r9, 0; @%p0 mov.u32 %r9, %r1; STORE(%r9)
not under its guard -> nothing: mov.u32 %r9, 0; @!%p0 mov.u32 %r9, %r1; STORE(%r9)
replaced under a guard -> nothing: @%p0 mov.u32 %r1, 0; STORE(%r1)
load under a guard -> nothing: mov.u32 %r9, 0; @!%p0 ld.shared.u32 %r9, [s]; STORE(%r9)
undefined guard -> stored: COMPARE mov.u32 %r9, 0; @%p1 mov.u32 %r9, 1; STORE(%r9)
undefined guard of what nobody uses -> nothing: COMPARE mov.u32 %r9, 0; @%p1 mov.u32 %r9, 1;
and with what does not hold -> nothing: COMPARE and.pred %p2, %p1, !%p0; @%p2 bra L; L:
and with what holds -> branch: COMPARE and.pred %p2, %p0, %p1; @%p2 bra L; L:
or with what holds -> nothing: COMPARE or.pred %p2, %p1, %p0; @%p2 bra L; L:
or with what does not hold -> branch: COMPARE or.pred %p2, !%p0, %p1; @%p2 bra L; L:
both are undefined -> branch: COMPARE setp.ne.u32 %p2, %r4, 1; and.pred %p3, %p1, %p2; @%p3 bra L;
    L:
compared, and -> nothing: setp.ne.and.u32 %p1, %r1, 1, !%p0; @%p1 bra L; L:
compared, or -> nothing: setp.ne.or.u32 %p1, %r1, 1, %p0; @%p1 bra L; L:
compared, and what holds -> branch: setp.ne.and.u32 %p1, %r1, 1, %p0; @%p1 bra L; L:
masked out -> nothing: neg.s32 %r8, %r0; and.b32 %r9, %r1, %r8; STORE(%r9)
masked in -> stored: not.b32 %r8, %r0; and.b32 %r9, %r1, %r8; STORE(%r9)
# Bytes
upper half unpacked -> stored: mov.b32 {%h2, %h3}, %r5; st.global.u16 [%d0], %h3;
lower half unpacked -> nothing: mov.b32 {%h2, %h3}, %r5; st.global.u16 [%d0], %h2;
upper word unpacked -> branch: mov.b64 {%r8, %r9}, %d5; BRANCH(%r9)
lower word unpacked -> nothing: mov.b64 {%r8, %r9}, %d5; BRANCH(%r8)
packed and unpacked -> nothing: mov.b64 %d6, {%r0, %r1}; mov.b64 {%r8, %r9}, %d6; BRANCH(%r8)
packed and unpacked, the other -> branch: mov.b64 %d6, {%r0, %r1}; mov.b64 {%r8, %r9}, %d6;
    BRANCH(%r9)
quadruple -> nothing: mov.b128 %q1, {%d0, %d1}; mov.b128 {%d6, %d7}, %q1; cvt.u32.u64 %r8, %d6;
    BRANCH(%r8)
narrowed -> nothing: cvt.u32.u64 %r9, %d5; BRANCH(%r9)
shifted down -> branch: shr.u64 %d6, %d5, 32; cvt.u32.u64 %r9, %d6; BRANCH(%r9)
shifted out -> nothing: shl.b32 %r9, %r5, 16; BRANCH(%r9)
shifted by bits -> branch: shr.u32 %r9, %r5, 3; BRANCH(%r9)
field of a byte -> nothing: bfe.u32 %r9, %r6, 8, 8; BRANCH(%r9)
field of another byte -> branch: bfe.u32 %r9, %r6, 16, 8; BRANCH(%r9)
byte by a mask -> nothing: and.b32 %r9, %r6, 0xff00ff00; BRANCH(%r9)
another byte by a mask -> branch: and.b32 %r9, %r6, 0xff; BRANCH(%r9)
computed of a part -> stored: add.u32 %r9, %r5, 1; and.b32 %r9, %r9, 0xff; STORE(%r9)
part of a vector stored -> nothing: ld.shared.v2.u32 {%r8, %r9}, [t+8];
    st.global.v2.u32 [%d0], {%r8, %r9};
part of a vector used -> stored: LOAD ld.shared.v2.u32 {%r8, %r9}, [t+8]; add.u32 %r9, %r9, %r8;
    USE STORE(%r9)
# What is loaded beside others, at the same line, can be padding that is copied with them
padding -> nothing: LOAD ld.shared.u32 %r9, [t+12]; USE STORE(%r9)
loaded alone -> stored: LOAD mov.u32 %r8, t; ld.shared.u32 %r9, [%r8+12]; USE STORE(%r9)
part stored -> nothing: st.global.u64 [%d0], %d5;
part stored and loaded -> branch: st.global.u64 [%d0], %d5; ld.global.u32 %r9, [%d0+4]; BRANCH(%r9)
defined part loaded -> nothing: st.global.u64 [%d0], %d5; ld.global.u32 %r9, [%d0]; BRANCH(%r9)
# Memory
through shared memory -> branch: st.shared.u32 [t+40], %r1; ld.shared.u32 %r9, [t+40]; BRANCH(%r9)
to shared memory -> nothing: st.shared.u32 [t+40], %r1;
replaced in shared memory -> nothing: st.shared.u32 [t+40], %r1; st.shared.u32 [t+40], 1;
    ld.shared.u32 %r9, [t+40]; STORE(%r9)
byte of shared memory -> branch: st.shared.u32 [t+40], %r6; ld.shared.u8 %r9, [t+42]; BRANCH(%r9)
written byte of shared memory -> nothing: st.shared.u32 [t+40], %r6; ld.shared.u8 %r9, [t+43];
    BRANCH(%r9)
byte written later -> nothing: st.shared.u32 [t+40], %r1; st.shared.u8 [t+41], 1;
    ld.shared.u8 %r9, [t+41]; BRANCH(%r9)
atomic on what holds it -> atomic: st.shared.u32 [t+40], %r1; red.shared.add.u32 [t+40], 1;
through local memory -> stored: st.local.u32 [l+4], %r1; ld.local.u32 %r9, [l+4]; STORE(%r9)
replaced in local memory -> nothing: st.local.u32 [l+4], %r1; st.local.u32 [l+4], 3;
    ld.local.u32 %r9, [l+4]; STORE(%r9)
by a copy -> nothing: cp.async.ca.shared.global [t+36], [%d0], 4; cp.async.wait_all;
    ld.shared.u32 %r9, [t+36]; STORE(%r9)
through a function -> stored: NEXT(%r1) STORE(%r9)
defined through a function -> nothing: NEXT(%r0) STORE(%r9)
# Of the warp, which has one lane
shuffled -> stored: shfl.sync.idx.b32 %r9, %r1, 0, 31, 1; STORE(%r9)
voted -> stored: COMPARE vote.sync.ballot.b32 %r9, %p1, 1; STORE(%r9)
reduced -> stored: redux.sync.add.u32 %r9, %r1, 1; STORE(%r9)
mask of a vote -> nothing: or.b32 %r8, %r1, 1; vote.sync.ballot.b32 %r9, %p0, 1; STORE(%r9)
""",
    re.MULTILINE,
)
FUNCTION = """
.func (.param .b32 r) next (.param .b32 a)
{ .reg .b32 %x<3>; ld.param.b32 %x1, [a]; add.u32 %x1, %x1, 1; st.param.b32 [r], %x1; ret; }
"""


def instructions(text):
    """Return the instructions of a case."""
    for word, meaning in WORDS.items():
        text = re.sub(word, meaning, text)
    return text


ENTRIES = "".join(
    f".entry k{n}(.param .u64 out, .param .u32 zero) {{ {START} {instructions(text)} ret; }}\n"
    for n, (*_, text) in enumerate(CASES)
)


@each(("number", "found"), [(n, row[1]) for n, row in enumerate(CASES)], [row[0] for row in CASES])
def test_what_becomes_of_an_undefined_value(number, found):
    module = ck.simulator.RawModule(code=f'{HEAD}{FUNCTION}{ENTRIES}\n.file 1 "a.cu"\n')
    with ck.simulator.checked() as report:
        module.get_function(f"k{number}")((1,), (1,), (np.zeros(8, np.uint32), 0))
        findings, report.findings = report.findings, []
    assert {f.kind for f in findings} == ({"uninitialized"} if FOUND[found] else set())
    for finding in findings:
        assert finding.source == ("a.cu", 2)
        assert FOUND[found] in finding.message
