"""Which addresses entries may keep: by every way from a parameter to memory, by hand."""

from __future__ import annotations

from cudakern.simulator.ptx.kept_addresses import kept_addresses
from cudakern.simulator.ptx.operations import body_of
from cudakern.simulator.ptx.parse import parse
from tests.helpers.rows import each

FUNCTIONS = """
.version 8.8
.target sm_90
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 a);
.extern .func unknown (.param .b64 a);
.func keep (.param .b64 to, .param .b64 a) {
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [to]; ld.param.u64 %d2, [a];
  st.u64 [%d1], %d2; ret;
}
.func (.param .b64 r) further (.param .b64 a) {
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [a]; add.s64 %d1, %d1, 8; st.param.b64 [r], %d1; ret;
}
.func share (.param .b64 a) {
  .reg .b64 %d<2>; .shared .u64 s;
  ld.param.u64 %d1, [a]; st.shared.u64 [s], %d1; ret;
}
.func read (.param .b64 a, .param .b64 to) {
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [a]; ld.param.u64 %d2, [to]; ld.u64 %d3, [%d1]; st.u64 [%d2], %d3; ret;
}
.func again (.param .b64 to, .param .b64 a) {
  .reg .b64 %d<3>; .reg .pred %p<2>;
  ld.param.u64 %d1, [to]; ld.param.u64 %d2, [a];
  { .param .b64 x; .param .b64 y; st.param.b64 [x], %d2; st.param.b64 [y], %d1;
    call again, (x, y); }
  st.u64 [%d1], 5; ret;
}
.visible .entry k (.param .u64 x, .param .u64 to, .param .u32 n, .param .align 8 .b8 s[16],
  .param .align 8 .b8 one[8]) {
  .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .b16 %h<4>; .reg .pred %p<3>; .reg .f32 %f<3>;
  .local .align 8 .b8 l[16]; .shared .align 8 .b8 m[16];
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [to]; ld.param.u32 %r1, [n];
"""
CALL = "{{ .param .b64 a; .param .b64 b; {} }}"
#: What the entry does -> the bits of the parameters that it may keep.
BODIES = {
    "ld.global.u32 %r2, [%d1]; st.global.u32 [%d2], %r2;": 0,
    "st.global.u64 [%d2], %d1;": 1,
    "st.u32 [%d2], %r1;": 0,  # no address
    "ld.param.u64 %d3, [s]; st.u64 [%d2], %d3;": 0,  # of a structure
    "add.s64 %d3, %d1, %d2; st.u64 [%d4], %d3;": 3,
    "sub.s64 %d3, %d1, %d2; cvt.u32.u64 %r2, %d3; st.u32 [%d4], %r2;": 3,
    "setp.lt.u64 %p1, %d1, %d2; selp.b32 %r2, 1, 2, %p1; st.u32 [%d2], %r2;": 0,
    "mov.b64 {%r2, %r3}, %d1; st.v2.b32 [%d2], {%r1, %r3};": 1,
    "atom.exch.b64 %d3, [%d2], %d1;": 1,
    "red.global.add.u64 [%d2], %d1;": 1,
    "atom.cas.b64 %d3, [%d2], %d4, %d1; st.u32 [%d1], 0;": 1,
    "shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; st.u32 [%d2], %r2;": 0,
    "cvt.u32.u64 %r3, %d1; shfl.sync.idx.b32 %r2, %r3, 0, 31, -1; st.u32 [%d2], %r2;": 1,
    "$a: st.u64 [%d2], %d4; mov.u64 %d4, %d3; mov.u64 %d3, %d1; bra $a;": 1,
    # Memory that ends with the entry.
    "st.shared.u64 [m], %d1;": 0,
    "st.shared.u64 [m], %d1; ld.shared.u64 %d3, [m]; st.u64 [%d2], %d3;": 1,
    "st.shared.u64 [m], %d1; cp.async.bulk.global.shared::cta.bulk_group [%d2], [m], 16;": 1,
    "ld.param.u64 %d3, [one]; st.u64 [%d2], %d3;": 16,  # of a structure of one
    "st.local.u64 [l], %d2; ld.local.u64 %d3, [l]; st.u64 [%d1], %d3;": 2,
    "st.local.u64 [l], %d1; ld.local.u64 %d3, [l]; ld.u32 %r2, [%d3];": 0,
    "cvta.local.u64 %d3, 0; st.u64 [%d3], %d1;": 1,  # any memory, as far as is known
    "st.shared.u64 [m], %d1; atom.shared.exch.b64 %d4, [m], 0; st.u64 [%d2], %d4;": 1,
    # Parameters by their addresses.
    "mov.u64 %d3, x; ld.param.u64 %d4, [%d3]; st.u64 [%d2], %d4;": 1,
    "mov.u64 %d3, x; cvta.param.u64 %d5, %d3; ld.u64 %d4, [%d5]; st.u64 [%d2], %d4;": 1,
    "mov.u64 %d3, s; ld.param.u64 %d4, [%d3]; st.u64 [%d2], %d4;": 0,
    # Functions.
    CALL.format("st.param.b64 [a], %d2; st.param.b64 [b], %d1; call keep, (a, b);"): 1,
    CALL.format("st.param.b64 [a], %d1; st.param.b64 [b], %d2; call keep, (a, b);"): 2,
    CALL.format("st.param.b64 [a], %d1; call (b), further, (a); ld.param.b64 %d3, [b];"): 0,
    CALL.format(
        "st.param.b64 [a], %d1; call (b), further, (a); ld.param.b64 %d3, [b]; st.u64 [%d2], %d3;"
    ): 1,
    CALL.format("st.param.b64 [a], %d1; call share, (a);"): 1,  # and what reads it there
    CALL.format("st.param.b64 [a], %d1; call unknown, (a);"): 1,
    CALL.format("st.param.b64 [a], %d1; call (b), malloc, (a);"): 0,
    CALL.format("st.param.b64 [a], %d1; f: .callprototype _ (.param .b64 _); call %d2, (a), f;"): 1,
    "st.local.u64 [l], %d1; mov.u64 %d3, l; "
    + CALL.format("st.param.b64 [a], %d3; st.param.b64 [b], %d2; call read, (a, b);"): 1,
    CALL.format("st.param.b64 [a], %d4; st.param.b64 [b], %d1; call again, (a, b);"): 1,
}  # fmt: skip


@each("text, kept", BODIES.items())
def test_what_an_entry_may_keep(text, kept):
    module = parse(f"{FUNCTIONS}{text} ret; }}", "k.ptx")
    functions = module.functions.items()
    bodies = {n: body_of(f, "k.ptx", {}) for n, f in functions if f.body is not None}
    assert kept_addresses(module, bodies)("k") == kept
