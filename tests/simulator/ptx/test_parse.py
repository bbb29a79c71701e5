"""What is told of texts that are no PTX, and that any text ends in a result or an error."""

from __future__ import annotations

import random
import re

import pytest

from cudakern.errors import KernelCompileError
from cudakern.simulator.ptx.parse import parse
from cudakern.simulator.ptx.translate import translate
from tests.helpers.rows import each
from tests.simulator.ptx import test_translate
from tests.simulator.ptx.harness import HEAD, compiled

BIG = "1" * 5000
ALIGNED = "must be aligned to a power of two of at most 1048576"


@each(
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


#: Texts of which none takes long.
LONG = {
    "nested expressions": ".global .u32 x[4] = {" + "(" * 5000 + "1" + ")" * 5000 + "};",
    "nested signs": ".global .u32 x[4] = {" + "-" * 5000 + "1};",
    "nested braces": ".global .u32 x[4] = {" + "{" * 5000 + "1" + "}" * 5000 + "};",
    "comments without an end": "/* " * 300000,
    "strings without an end": '\\"' * 300000,
}


@each("name", LONG)
@pytest.mark.timeout(20)  # else minutes
def test_long_texts_that_are_no_ptx(name):
    told = "error: must nest expressions less deeply$" if name.startswith("nested") else "must"
    with pytest.raises(KernelCompileError, match=told):
        parse(HEAD + LONG[name], "x.ptx")


def test_scopes_nest_as_deep_as_they_like():
    scopes = "{" * 20000 + "}" * 20000
    declared = "{ .reg .b32 x; .reg .b32 %r<9>;" * 2000 + "mov.b32 x, %r1;" * 2000 + "}" * 2000
    translate(parse(f"{HEAD}.entry k() {{ {scopes} {declared} }}", "x.ptx"), "x.ptx")


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


def test_any_text_ends_in_a_result_or_an_error():
    small = [HEAD + case.text("k") for case in test_translate.CASES.values()]
    texts, ends = [*small, compiled(REAL), compiled(f"#line 1\n{REAL}")], set()
    for seed in range(300):
        generator = random.Random(seed)  # noqa: S311  mutations need no secrets
        text = mutated(generator.choice(texts), generator)
        try:
            translate(parse(text, "x.ptx"), "x.ptx", checked=seed % 2 == 1)
            ends.add("result")
        except KernelCompileError as error:
            ends.add("error" if "\n" not in str(error) else text)
        except Exception as error:
            message = f"{error!r} of the text with the seed {seed}"
            raise AssertionError(message) from error
    assert ends == {"result", "error"}
