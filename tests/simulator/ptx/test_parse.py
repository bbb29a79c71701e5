"""PTX texts and what they are made of, and what is told of texts that are no PTX."""

from __future__ import annotations

import random
import re

import pytest

from cudakern.errors import KernelCompileError
from cudakern.simulator.ptx.model import (
    Address,
    Declaration,
    Function,
    Immediate,
    Instruction,
    Label,
    Register,
    Targets,
    Vector,
    numbered,
)
from cudakern.simulator.ptx.parse import parse
from cudakern.simulator.ptx.translate import translate
from tests.simulator.ptx import test_translate
from tests.simulator.ptx.harness import HEAD, compiled


def module(text):
    return parse(HEAD + text, "x.ptx")


def statements(text):
    """Return what the body of a function is made of, without places."""
    return module(f".func f() {{ {text} }}").functions["f"].body


def operands(text):
    """Return the operands of one instruction."""
    (instruction,) = statements(text)
    return instruction.operands


def variable(text):
    """Return the only variable of a module."""
    (declaration,) = module(text).variables.values()
    return declaration


def r(name, offset=0, negated=False):  # noqa: FBT002
    return Register(name, offset, negated)


# Directives


def test_head():
    parsed = parse(".version 9.1\n.target sm_90a, debug, texmode_unified\n.address_size 64\n;")
    assert (parsed.version, parsed.target) == ((9, 1), "sm_90a")
    assert (parsed.variables, parsed.functions, parsed.aliases) == ({}, {}, {})


def test_comments_pragmas_files_and_sections_say_nothing():
    parsed = module("""
    // .version 1.0 { /*
    .file 1 "a.cu", 1700000000, 250
    .pragma "used_bytes_mask 0xF";
    .section .debug_str { .b8 65, 0 \n .b32 .debug_abbrev }
    .section .note "one word"
    /* .entry
       nothing() */ .global .u32 x;
    """)
    assert [*parsed.variables] == ["x"]


def test_functions():
    parsed = module("""
    .extern .func (.param .b32 r) g (.param .b64 g0, .param .align 8 .b8 g1[24]) .noreturn;
    .visible .func (.reg .u32 %d) f (.reg .u32 %a, .reg .pred %p) { ret; }
    .weak .entry k (.param .u64 .ptr .global .align 16 k0, .param .u64 .ptr k1, .param .f32 k2)
      .maxntid 128, 2, 1
      .reqntid 32
      .minnctapersm 2
      .explicitcluster .reqnctapercluster 2, 1, 1
      .pragma "nounroll";
    { ret; }
    .entry empty;
    .alias a, f;
    """)
    g, f, k, empty = parsed.functions.values()
    assert g == Function(
        "g",
        is_entry=False,
        parameters=[
            Declaration("param", "b64", "g0", 8, 8),
            Declaration("param", "b8", "g1", 8, 24),
        ],
        results=[Declaration("param", "b32", "r", 4, 4)],
        directives={"noreturn": ()},
        line=5,
        linkage="extern",
    )
    ret = Instruction("ret", (), None, 0, 6, (), ())
    assert f == Function(
        "f",
        is_entry=False,
        parameters=[Declaration("reg", "u32", "%a", 4, 4), Declaration("reg", "pred", "%p", 1, 1)],
        results=[Declaration("reg", "u32", "%d", 4, 4)],
        body=[ret],
        line=6,
        linkage="visible",
    )
    assert k.parameters == [
        Declaration("param", "u64", "k0", 8, 8, is_pointer=True),
        Declaration("param", "u64", "k1", 8, 8, is_pointer=True),
        Declaration("param", "f32", "k2", 4, 4),
    ]
    assert k.directives == {
        "maxntid": (128, 2, 1),
        "reqntid": (32,),
        "minnctapersm": (2,),
        "explicitcluster": (),
        "reqnctapercluster": (2, 1, 1),
    }
    assert (k.is_entry, k.linkage) == (True, "weak")
    assert (empty.is_entry, empty.body) == (True, None)
    assert parsed.aliases == {"a": "f"}


def test_a_definition_follows_a_declaration():
    text = ".func f(.param .b32 x); .func f(.param .b32 y) { ret; } .func f(.param .b32 z);"
    parsed = module(text)
    assert parsed.functions["f"].parameters[0].name == "y"
    parsed = module(".extern .global .b8 x[]; .visible .global .b8 x[4] = {1};")
    assert parsed.variables["x"].size == 4


# Variables


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (".global .u32 x;", Declaration("global", "u32", "x", 4, 4)),
        (
            ".visible .const .align 16 .f64 x[3];",
            Declaration("const", "f64", "x", 16, 24, (), "visible"),
        ),
        (".global .v4 .f32 x[2][3];", Declaration("global", "f32", "x", 16, 96)),
        (
            ".extern .shared .align 16 .b8 x[];",
            Declaration("shared", "b8", "x", 16, 0, (), "extern"),
        ),
        (".common .global .b128 x;", Declaration("global", "b128", "x", 16, 16, (), "common")),
        (
            ".global .attribute(.managed, .unified(1, 2)) .align 4 .b8 x[1 << 3];",
            Declaration("global", "b8", "x", 4, 8),
        ),
        (".weak .shared .b8 x[0];", Declaration("shared", "b8", "x", 1, 0, (), "weak")),
    ],
)
def test_variables(text, wanted):
    assert variable(text) == wanted


def integers(*values):
    return tuple(map(Immediate, values))


@pytest.mark.parametrize(
    ("text", "size", "wanted"),
    [
        (".u32 x = 7", 4, integers(7)),
        (".u32 x = {7}", 4, integers(7)),
        (".s16 x[4] = {-1, 2 * 3}", 8, integers(-1, 6)),
        (".b32 x[] = {1, 2, 3}", 12, integers(1, 2, 3)),
        (".b32 x[][2] = {{1}, {2, 3}}", 16, integers(1, 0, 2, 3)),
        (".b32 x[3][2] = {{1, 2}, {3}, {4, 5}}", 24, integers(1, 2, 3, 0, 4, 5)),
        (".b32 x[2][2][2] = {{{1}, {2}}, {{3}}}", 32, integers(1, 0, 2, 0, 3, 0, 0, 0)),
        (".b32 x[2][2] = {1, 2, 3}", 16, integers(1, 2, 3)),
        (".v2 .b32 x[2] = {{1}, {2, 3}}", 16, integers(1, 0, 2, 3)),
        (".v2 .b32 x[] = {{1}, {2}, {3}}", 24, integers(1, 0, 2, 0, 3, 0)),
        (
            ".f32 x[2] = {0f3F800000, 1.5}",
            8,
            (Immediate(0x3F800000, 4), Immediate(0x3FF8 << 48, 8)),
        ),
        (".b32 x = 0f3F800000", 4, (Immediate(0x3F800000, 4),)),
        (".b64 x[3] = {y, y + 8, y - 4 + 2}", 24, (r("y"), r("y", 8), r("y", -2))),
        (".b64 x[2] = {generic(y), generic(y + 4) + 4}", 16, (r("y"), r("y", 8))),
    ],
)
def test_initial_values(text, size, wanted):
    declaration = variable(f".global {text};")
    assert (declaration.size, declaration.initial) == (size, wanted)


def test_variables_of_functions():
    body = statements("""
    .reg .b32 %r<9>, %x; .reg .pred p; .local .align 16 .b8 frame[32]; .shared .f32 s[4], t;
    """)
    assert body == [
        Declaration("reg", "b32", "%r", 4, 4, registers=9),
        Declaration("reg", "b32", "%x", 4, 4),
        Declaration("reg", "pred", "p", 1, 1),
        Declaration("local", "b8", "frame", 16, 32),
        Declaration("shared", "f32", "s", 4, 16),
        Declaration("shared", "f32", "t", 4, 4),
    ]


# Statements


def test_instructions():
    first, second, third = statements("""
    @!%p bra L;
    @%q setp.eq.and.u32 %p|%q, %r1, 5, !%p;
    atom.acq_rel.gpu.shared::cta.global.inc.u32 _, [%rd1+-8], 0xFFU;
    """)
    assert first == Instruction("bra", (r("L"),), r("%p", 0, negated=True), 0, 5, (), ())
    assert second.guard == r("%q")
    assert second.pairs == 1
    compared = (r("%r1"), Immediate(5), r("%p", 0, negated=True))
    assert second.operands == (r("%p"), r("%q"), *compared)
    assert third.words == ["atom", "acq_rel", "gpu", "shared::cta", "global", "inc", "u32"]
    assert third.operands == (r("_"), Address(r("%rd1", -8)), Immediate(255))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mov.b64 {%r1, _}, %rd1;", (Vector((r("%r1"), r("_"))), r("%rd1"))),
        ("mov.u64 %rd1, x+4-1;", (r("%rd1"), r("x", 3))),
        ("mov.u32 %r1, %tid.x;", (r("%r1"), r("%tid.x"))),
        ("ld.u32 %r1, [x+0x10];", (r("%r1"), Address(r("x", 16)))),
        ("ld.u32 %r1, [%rd1+(2*4)];", (r("%r1"), Address(r("%rd1", 8)))),
        ("ld.u32 %r1, [x+0xffffffffffffffff+0xffffffffffffffff];", (r("%r1"), Address(r("x", -2)))),
        ("ld.u32 %r1, [4096];", (r("%r1"), Address(Immediate(4096)))),
        ("ld.u32 %r1, [x[8]];", (r("%r1"), Address(r("x", 8)))),
        (
            "tex.2d.v4.f32.f32 {a, b}, [t, {%f1, %f2}];",
            (
                Vector((r("a"), r("b"))),
                Vector((Address(r("t")), Vector((r("%f1"), r("%f2"))))),
            ),
        ),
        ("call f;", (r("f"),)),
        (
            "call.uni (x), f, (5, y), p;",
            (Vector((r("x"),)), r("f"), Vector((Immediate(5), r("y"))), r("p")),
        ),
        ("call (x, y), %rd1, (), p;", (Vector((r("x"), r("y"))), r("%rd1"), Vector(()), r("p"))),
        ("add.u32 %r1, (-1), (1 << 4) | 3;", (r("%r1"), Immediate(-1), Immediate(19))),
        ("mov.u32 %r1, WARP_SZ;", (r("%r1"), Immediate(32))),
    ],
)
def test_operands(text, wanted):
    assert operands(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0", 0),
        ("0x7fU", 127),
        ("0b1011", 11),
        ("017", 15),
        ("08", 8),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("~0", -1),
        ("!5 + !0", 1),
        ("- - 3", 3),
        ("2 + 3 * 4 - 1", 13),
        ("7 / -2", -3),
        ("-7 % 3", -1),
        ("1 / 0 + 1 % 0", 1),
        ("1 << 3 | 1 ^ 3 & 2", 11),
        ("1 < 2 == 2 > 1 && 1 != 0", 1),
        ("0 || 1 <= 0 || 3 >= 3", 1),
        ("0 ? 1 : 2 ? 3 : 4", 3),
        ("1 ? 1 : 2", 1),
        ("1 << 63 << 1", 0),
        ("3 << 0x4000000000000001", 6),
        ("0x7fffffffffffffff * 4", -4),
        ("(.u64) -1", 2**64 - 1),
        ("(.s64) 0xffffffffffffffff", -1),
        ("WARP_SZ - 1", 31),
    ],
)
def test_constant_expressions(text, wanted):
    assert operands(f"mov.u64 x, {text};") == (r("x"), Immediate(wanted))


@pytest.mark.parametrize(
    ("text", "bits", "size"),
    [
        ("0f3F800000", 0x3F800000, 4),
        ("-0F3F800000", 0xBF800000, 4),
        ("0d3FF0000000000000", 0x3FF << 52, 8),
        ("1.0", 0x3FF << 52, 8),
        ("1e0", 0x3FF << 52, 8),
        ("-2.5E-1", 0xBFD << 52, 8),
        ("+1.", 0x3FF << 52, 8),
        ("1e999", 0x7FF << 52, 8),
    ],
)
def test_float_constants(text, bits, size):
    assert operands(f"mov.f32 x, {text};") == (r("x"), Immediate(bits, size))


def test_labels_tables_and_prototypes():
    body = statements("""
    A: B: bra C;
    table: .branchtargets A, B, C;
    two: .calltargets f, g;
    one: .callprototype (.param .b32 _) _ (.param .b64 _, .reg .f32 _) .noreturn;
    none: .callprototype _ ();
    C:
    """)
    a, b, _, table, two, with_result, none, c = body
    assert (a, b, c) == (Label("A"), Label("B"), Label("C"))
    assert table == Targets("table", ("A", "B", "C"))
    assert two == Targets("two", ("f", "g"))
    assert [v.type for v in with_result.prototype.results] == ["b32"]
    assert [(v.space, v.type) for v in with_result.prototype.parameters] == [
        ("param", "b64"),
        ("reg", "f32"),
    ]
    assert with_result.prototype.directives == {"noreturn": ()}
    assert (none.prototype.results, none.prototype.parameters) == ([], [])


def names_of(body):
    """Return the names that instructions have for operands."""
    return [[operand.name for operand in s.operands] for s in body if isinstance(s, Instruction)]


def test_scopes_have_registers_of_their_own():
    body = statements("""
    .reg .b32 %r<9>, t;
    mov.b32 t, %r1;
    { .reg .b32 t, %r<2>; mov.b32 t, %r1; mov.b32 t, %r5; { .reg .b32 t; mov.b32 t, %r0; } }
    { .reg .b32 t; mov.b32 t, t; }
    mov.b32 t, %r1;
    """)
    outer, inner, mixed, innermost, other, again = names_of(body)
    assert outer == again == ["t", "%r1"]
    assert mixed == [inner[0], "%r5"]
    assert len({"t", inner[0], innermost[0], other[0]}) == 4
    declared = {v.name: v.registers for v in body if isinstance(v, Declaration)}
    assert {"t", inner[0], innermost[0], other[0]} <= {*declared}
    stem, number = next(numbered(inner[1]))
    assert (declared[stem], number) == (2, 1)
    assert innermost[1] == f"{stem}0"
    assert other == [other[0], other[0]]


def test_registers_of_scopes_do_not_meet():
    scopes = "{ .reg .b32 %r<30>; mov.b32 %r25, %r5; }" * 30
    names = [name for pair in names_of(statements(scopes)) for name in pair]
    assert len({*names}) == 2 * 30


def test_scopes_have_labels_of_their_own():
    body = statements("""
    L: bra L; bra M;
    { bra L; .loc 1 2 3 \n L: { L: bra L; } bra L; bra M; }
    M:
    """)
    outer, _, forward, innermost, backward, out = [names[0] for names in names_of(body)]
    labels = [s.name for s in body if isinstance(s, Label)]
    assert labels == ["L", forward, innermost, "M"]
    assert (outer, backward, out) == ("L", forward, "M")
    assert len({*labels}) == 4


def test_numbers_of_registers():
    assert [*numbered("%r12")] == [("%r1", 2), ("%r", 12)]
    assert [*numbered("%r0")] == [("%r", 0)]
    assert [*numbered("%r05")] == [("%r0", 5)]
    assert not [*numbered("%r")]


# Places


def test_places_are_stacks_of_inlined_calls():
    function = module("""
    .func f() {
    add.u32 a, b, c;
    .loc 1 10 3
    add.u32 a, b, c;
    .loc 2 20 5, function_name $L__info0, inlined_at 1 10 3
    add.u32 a, b, c;
    .loc 3 30 1, function_name $L__info1+4, inlined_at 2 20 5
    add.u32 a, b, c;
    .loc 7 5 5
    add.u32 a, b, c;
    }
    .file 1 "a.cu"
    .file 2 "b \\"quoted\\".cuh", 17, 34
    .file 3 "/x/__nv_nvrtc_builtin_header.h"
    """).functions["f"]
    a, b, header = ("a.cu", 10), ('b \\"quoted\\".cuh', 20), ("/x/__nv_nvrtc_builtin_header.h", 30)
    stacks = [instruction.stack for instruction in function.body]
    assert stacks == [(), (a,), (b, a), (header, b, a), (("", 5),)]
    assert [instruction.place for instruction in function.body[:4]] == [None, a, b, b]
    assert [instruction.column for instruction in function.body[:4]] == [0, 3, 5, 5]


def test_a_function_starts_without_a_place():
    functions = module(".func f() { .loc 1 2 3 ret; } .func g() { ret; }").functions
    assert functions["f"].body[0].stack == (("", 2),)
    assert functions["g"].body[0].stack == ()


# What is no PTX

BIG = "1" * 5000
ALIGNED = "must be aligned to a power of two of at most 1048576"


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("", 1, "must start with .version; got '.target'"),
        (".entry k() {", 4, "must have a statement of a function here; got the end of the text"),
        (".global .u32 x\n.global .u32 y;", 5, "must have ';' here; got '.global'"),
        (".global x;", 4, "must have a type here; got 'x'"),
        (".global .u33 x;", 4, "must have a type or an alignment here; got '.u33'"),
        (".global .align 3 .u32 x;", 4, f"{ALIGNED}; got '3'"),
        (".shared .align 2097152 .u32 x;", 4, f"{ALIGNED}; got '2097152'"),
        (".global .u32 x[-1];", 4, "must have an extent of at least 0; got '-1'"),
        (".global .u32 x[2][];", 4, "must have a constant here; got ']'"),
        (".global .u32 x[2] = {1, 2, 3};", 4, "must have a size that its values fit in; got 'x'"),
        (
            ".global .u32 x[1 << 40][1 << 40];",
            4,
            "must have a size that its values fit in; got 'x'",
        ),
        (".global .u32 x = 1.5;", 4, "must have values of the type .u32; got 'x'"),
        (".shared .u32 x = 1;", 4, "must be in global or constant memory to have a value; got 'x'"),
        (".global .u32 x[4 + 0.5];", 4, "must have integers around an operator; got '0.5'"),
        (".global .u32 x[1.5];", 4, "must have an integer here; got '1.5'"),
        (f".global .u32 x[{BIG}];", 4, "must have integers of at most 64 bits; got '11111"),
        (
            ".global .u32 x = 0x1ffffffffffffffff;",
            4,
            "must have integers of at most 64 bits; got '0x1f",
        ),
        (".func f() { ld.u32 a, [b+1.5]; }", 4, "must have an integer here; got '1.5'"),
        (".bogus 5", 4, "must have a directive of PTX here; got '.bogus'"),
        ("nonsense", 4, "must have a directive of PTX here; got 'nonsense'"),
        (".func f()\n{ .bogus; }", 5, "must have a statement of a function here; got '.bogus'"),
        (".func f(.local .u32 x);", 4, "must have a parameter here; got '.local'"),
        (".func f(.param .u32 x .param .u32 y);", 4, "must have ')' here; got '.param'"),
        (".func 5();", 4, "must have a name here; got '5'"),
        (".alias a b;", 4, "must have ',' here; got 'b'"),
        (".section .x y", 4, "must have '{' here; got 'y'"),
        (".section .x { y", 4, "must have '}' here; got the end of the text"),
        ('.file x "y"', 4, "must have a number here; got 'x'"),
        (".file 1 y", 4, "must have a string here; got 'y'"),
        (f".loc 1 2 {BIG}", 4, "must have a smaller number here; got '11111"),
        (".func f() { .reg .b32 %r<x>; }", 4, "must have a number here; got 'x'"),
        (".loc 1 2", 4, "must have a number here; got the end of the text"),
        (".loc 1 2 3, by 1 2 3", 4, "must be function_name or inlined_at; got 'by'"),
        (".address_size 32", 4, "must have addresses of 64 bits; got '32'"),
        (".version x", 4, "must have a version here; got 'x.'"),
        (f".version {BIG}.1", 4, "must have a version here; got '11111"),
        ("\n\n`", 6, "must be PTX; got '`'"),
        (".global .u32 é;", 4, "must be PTX; got 'é'"),
        (".global .u32 ٣;", 4, "must be PTX; got '٣'"),
        (
            "/* two\nlines */ // and\nnonsense",
            6,
            "must have a directive of PTX here; got 'nonsense'",
        ),
        ("/* open", 4, "must have a directive of PTX here; got '/'"),
        (".func f() { add.u32 a,\nb }", 5, "must have ';' here; got '}'"),
        (".func f() { add.u32 a|b|c, d; }", 4, "must have ';' here; got '|'"),
        (".func f() { add.u32 a, b|c; }", 4, "must have ';' here; got '|'"),
        (".func f() { mov.b64 {a,", 4, "must have a constant here; got the end of the text"),
        (".func f() { mov.b64 {a b}, c; }", 4, "must have '}' here; got 'b'"),
        (".func f() { ld.u32 a, [b; }", 4, "must have ']' here; got ';'"),
        (".func f() { add.u32 a, , b; }", 4, "must have a constant here; got ','"),
        (".func f() { add.u32 a, 1 ? 2; }", 4, "must have ':' here; got ';'"),
        (".func f() { @5 ret; }", 4, "must have a name here; got '5'"),
        (".func f() { L:\nL: ret; }", 5, "must be declared once in a scope; got 'L'"),
        (".func f() { .reg .b32 a; .reg .b64 a; }", 4, "must be declared once in a scope; got 'a'"),
        (".func f(.param .b32 a, .param .b32 a);", 4, "must be declared once in a scope; got 'a'"),
        (".func f() { p: .callprototype (.param .b32 _) f; }", 4, "must have '_' here; got 'f'"),
        (".global .b8 x;\n.global .b8 x;", 5, "must be defined once in a module; got 'x'"),
        (".func f() { ret; }\n.func f() {}", 5, "must be defined once in a module; got 'f'"),
        (".func x() { ret; }\n.const .b8 x;", 5, "must be defined once in a module; got 'x'"),
        (
            ".global .b8 x[2][1 << 40] = {{1}, {2}};",
            4,
            "must lack at most 1048576 values of a list; got '1099511627775'",
        ),
        (
            ".entry k() .reqntid 2147483648 { }",
            4,
            "must have a smaller number here; got '2147483648'",
        ),
        (".loc 1 1000000000 1", 4, "must have a smaller number here; got '1000000000'"),
        ('.file 1 "a.cu', 4, "must be PTX; got '\"a.cu'"),
    ],
)
def test_what_is_no_ptx_is_told_with_its_line(text, line, told):
    with pytest.raises(KernelCompileError) as caught:
        parse(HEAD + text if text else HEAD.partition("\n")[2], "x.ptx")
    message = f"x.ptx: the kernel must compile; x.ptx:{line}: error: {told}"
    error = str(caught.value)
    assert error.startswith(message) if BIG[:5] in told or "0x1f" in told else error == message


@pytest.mark.parametrize("around", [("(", ")"), ("-", ""), ("{", "}")])
def test_texts_nest_only_so_deep(around):
    deep = around[0] * 5000 + "1" + around[1] * 5000
    message = r"^x\.ptx: the kernel must compile; x\.ptx: error: must nest expressions less deeply$"
    with pytest.raises(KernelCompileError, match=message):
        module(f".global .u32 x[4] = {deep};")


@pytest.mark.parametrize("text", ["/* " * 300000, '\\"' * 300000])
@pytest.mark.timeout(20)  # else minutes
def test_what_does_not_end_is_read_once(text):
    with pytest.raises(KernelCompileError, match="must"):
        module(text)


def test_strings_hold_what_looks_like_a_comment():
    parsed = module('.file 1 "a//b/*c.cu"\n.func f() { .loc 1 2 3 \n ret; } // "')
    assert parsed.functions["f"].body[0].stack == (("a//b/*c.cu", 2),)


def test_the_innermost_calls_are_told():
    inlined = ".loc 1 1 1, function_name f, inlined_at 1 1 1\nret;\n" * 300
    body = module(f'.func f() {{ {inlined} }} .file 1 "a.cu"').functions["f"].body
    assert {len(instruction.stack) for instruction in body} == {*range(2, 102)}


def test_scopes_nest_as_deep_as_they_like():
    assert not statements("{" * 20000 + "}" * 20000)
    declared = "{ .reg .b32 x; .reg .b32 %r<9>;" * 2000
    body = statements(declared + "mov.b32 x, %r1;" * 2000 + "}" * 2000)
    assert len({body[-1].operands, *(s.operands for s in body[4000:])}) == 1


# Any text ends in a result or an error

_WORDS = re.compile(r"\s+|[\w.%$]+|.", re.DOTALL)
_WORDS_OF_PTX = """
{ } ( ) [ ] ; , : @ ! | + - % < > = ? ~ / " \\ é
.reg .param .b32 .u64 .pred .v4 .align .loc .file .section .entry .func .shared .local .const .f16
.alias .branchtargets .callprototype .reqntid .version .address_size .extern
0 -1 4294967296 0f3F800000 0d3FF0000000000000 1.5 1e300 1e999 WARP_SZ _ %r1 %p1 %rd1 <9> 0x "x"
99999999999999999999 %r99999999999 generic bra call ret mov.b64 ld.global.u32
"""
_PIECES = _WORDS_OF_PTX.split()


def mutated(text, generator):
    """Return a text with a few of its words or characters lost, repeated, swapped or replaced."""
    words = _WORDS.findall(text)
    for _ in range(generator.choice((1, 1, 1, 2, 3, 8))):
        i = generator.randrange(len(words))
        j = generator.randrange(len(words))
        cut = generator.randrange(len(words[i]) + 1)
        words[i : i + 1] = generator.choice(
            (
                [],
                [words[i], words[i]],
                [words[j]],
                [words[i][:cut]],
                [generator.choice(_PIECES)],
                [generator.choice(_PIECES), words[i]],
                [words[i][:cut], chr(generator.randrange(300)), words[i][cut + 1 :]],
            )
        )
        if generator.random() < 0.2:
            del words[j : j + generator.randrange(30)]
        words = words or [" "]
    return "".join(words)


REAL = """
__constant__ float table[4] = {1, 2, 3};
__device__ int* place = (int*)table;
__device__ __noinline__ int deep(int x) { return x ? x * deep(x - 1) : 1; }
extern "C" __global__ void k(int* y, float a) {
  extern __shared__ int s[];
  int local[8] = {};
  s[threadIdx.x] = deep(threadIdx.x);
  local[y[0] & 7] = 3;
  __syncthreads();
  switch (y[1]) {
    case 0: a += table[y[2] & 3]; break;
    case 1: a *= 2; break;
    case 2: a = sqrtf(a); break;
    case 3: a -= s[5]; break;
    case 4: a /= 3; break;
  }
  printf("%f", a);
  atomicAdd(y + local[1], s[3] + (int)a);
}
"""


def texts():
    """Return the texts that are mutated: small ones, and two that NVRTC made."""
    small = [case.text for case in test_translate.CASES.values()]
    return [*small, compiled(REAL), compiled(f"#line 1\n{REAL}")]


@pytest.mark.parametrize("part", range(10))
@pytest.mark.timeout(60)
def test_any_text_ends_in_a_result_or_an_error(part, texts_to_mutate):
    ends = set()
    for seed in range(30 * part, 30 * part + 30):
        generator = random.Random(seed)  # noqa: S311  mutations need no secrets
        text = mutated(generator.choice(texts_to_mutate), generator)
        try:
            translate(parse(text, "x.ptx"), "x.ptx", checked=seed % 2 == 1)
            ends.add("result")
        except KernelCompileError as error:
            ends.add("error" if "\n" not in str(error) else text)
        except Exception as error:
            message = f"{error!r} of the text with the seed {seed}"
            raise AssertionError(message) from error
    assert ends == {"result", "error"}


@pytest.fixture(scope="module")
def texts_to_mutate():
    return texts()


def test_code_of_several_lines_keeps_the_last_one():
    """NVRTC gives line 0 to an instruction that stands for several."""
    text = HEAD + (
        ".visible .entry k() { .reg .b32 %r; .loc 1 0 3\nmov.u32 %r, 1; .loc 1 7 3\n"
        'mov.u32 %r, 2; .loc 1 0 3\nmov.u32 %r, 3; ret; }\n.file 1 "a.cu"\n'
    )
    body = parse(text, "k").functions["k"].body
    assert [i.place[1] for i in body if isinstance(i, Instruction)] == [0, 7, 7, 7]
