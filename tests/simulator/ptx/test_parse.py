"""Errors about texts that are not PTX; any text gives a result or an error."""

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
#: The line of the error, a text, and the message.
NO_PTX = re.findall(
    r"^(\d+): (.*?)(?: |\n    )=> (.*)$",
    r"""
4: .entry k() { => must have a statement of a function here; got the end of the text
5: .global .u32 x\n.global .u32 y; => must have ';' here; got '.global'
4: .global x; => must have a type here; got 'x'
4: .global .u33 x; => must have a type or an alignment here; got '.u33'
4: .global .align 3 .u32 x; => must be aligned to a power of two of at most 1048576; got '3'
4: .shared .align 2097152 .u32 x;
    => must be aligned to a power of two of at most 1048576; got '2097152'
4: .global .u32 x[-1]; => must have an extent of at least 0; got '-1'
4: .global .u32 x[2][]; => must have a constant here; got ']'
4: .global .u32 x[2] = {1, 2, 3}; => must have a size that its values fit in; got 'x'
4: .global .u32 x[1 << 40][1 << 40]; => must have a size that its values fit in; got 'x'
4: .global .u32 x = 1.5; => must have values of the type .u32; got 'x'
4: .shared .u32 x = 1; => must be in global or constant memory to have a value; got 'x'
4: .global .u32 x[4 + 0.5]; => must have integers around an operator; got '0.5'
4: .global .u32 x[1.5]; => must have an integer here; got '1.5'
4: .global .u32 x[BIG]; => must have integers of at most 64 bits; got '1
4: .global .u32 x = 0x1ffffffffffffffff; => must have integers of at most 64 bits; got '0x1f
4: .func f() { ld.u32 a, [b+1.5]; } => must have an integer here; got '1.5'
4: .bogus 5 => must have a directive of PTX here; got '.bogus'
4: nonsense => must have a directive of PTX here; got 'nonsense'
5: .func f()\n{ .bogus; } => must have a statement of a function here; got '.bogus'
4: .func f(.local .u32 x); => must have a parameter here; got '.local'
4: .func f(.param .u32 x .param .u32 y); => must have ')' here; got '.param'
4: .func 5(); => must have a name here; got '5'
4: .alias a b; => must have ',' here; got 'b'
4: .section .x y => must have '{' here; got 'y'
4: .section .x { y => must have '}' here; got the end of the text
4: .file x "y" => must have a number here; got 'x'
4: .file 1 y => must have a string here; got 'y'
4: .loc 1 2 BIG => must have a smaller number here; got '1
4: .func f() { .reg .b32 %r<x>; } => must have a number here; got 'x'
4: .loc 1 2 => must have a number here; got the end of the text
4: .loc 1 2 3, by 1 2 3 => must be function_name or inlined_at; got 'by'
4: .address_size 32 => must have addresses of 64 bits; got '32'
4: .version x => must have a version here; got 'x.'
4: .version BIG.1 => must have a version here; got '1
6: \n\n` => must be PTX; got '`'
4: .global .u32 é; => must be PTX; got 'é'
4: .global .u32 ٣; => must be PTX; got '٣'
6: /* two\nlines */ // and\nnonsense => must have a directive of PTX here; got 'nonsense'
4: /* open => must have a directive of PTX here; got '/'
5: .func f() { add.u32 a,\nb } => must have ';' here; got '}'
4: .func f() { add.u32 a|b|c, d; } => must have ';' here; got '|'
4: .func f() { add.u32 a, b|c; } => must have ';' here; got '|'
4: .func f() { mov.b64 {a, => must have a constant here; got the end of the text
4: .func f() { mov.b64 {a b}, c; } => must have '}' here; got 'b'
4: .func f() { ld.u32 a, [b; } => must have ']' here; got ';'
4: .func f() { add.u32 a, , b; } => must have a constant here; got ','
4: .func f() { add.u32 a, 1 ? 2; } => must have ':' here; got ';'
4: .func f() { @5 ret; } => must have a name here; got '5'
5: .func f() { L:\nL: ret; } => must be declared once in a scope; got 'L'
4: .func f() { .reg .b32 a; .reg .b64 a; } => must be declared once in a scope; got 'a'
4: .func f(.param .b32 a, .param .b32 a); => must be declared once in a scope; got 'a'
4: .func f() { p: .callprototype (.param .b32 _) f; } => must have '_' here; got 'f'
5: .global .b8 x;\n.global .b8 x; => must be defined once in a module; got 'x'
5: .func f() { ret; }\n.func f() {} => must be defined once in a module; got 'f'
5: .func x() { ret; }\n.const .b8 x; => must be defined once in a module; got 'x'
4: .global .b8 x[2][1 << 40] = {{1}, {2}};
    => must lack at most 1048576 values of a list; got '1099511627775'
4: .entry k() .reqntid 2147483648 { } => must have a smaller number here; got '2147483648'
4: .loc 1 1000000000 1 => must have a smaller number here; got '1000000000'
4: .file 1 "a.cu => must be PTX; got '"a.cu'
""",
    re.MULTILINE,
)


@each(("line", "text", "told"), NO_PTX)
def test_what_is_no_ptx_is_told_with_its_line(line, text, told):
    text = HEAD + text.replace(r"\n", "\n").replace("BIG", BIG)
    with pytest.raises(KernelCompileError) as caught:
        parse(text, "x.ptx")
    message = f"x.ptx: the kernel must compile; x.ptx:{line}: error: {told}"
    error = str(caught.value)
    assert error == message or (told.endswith(("'1", "'0x1f")) and error.startswith(message))


def test_texts_start_with_their_version():
    with pytest.raises(
        KernelCompileError, match=r"x\.ptx:1: error: must start with \.version; got"
    ):
        parse(HEAD.partition("\n")[2], "x.ptx")


#: Texts that must be parsed quickly.
LONG = {
    "nested expressions": ".global .u32 x[4] = {" + "(" * 5000 + "1" + ")" * 5000 + "};",
    "nested signs": ".global .u32 x[4] = {" + "-" * 5000 + "1};",
    "nested braces": ".global .u32 x[4] = {" + "{" * 5000 + "1" + "}" * 5000 + "};",
    "comments without an end": "/* " * 300000,
    "strings without an end": '\\"' * 300000,
}


@each("name", LONG)
@pytest.mark.timeout(20)  # it could take minutes
def test_long_texts_that_are_no_ptx(name):
    told = "error: must nest expressions less deeply$" if name.startswith("nested") else "must"
    with pytest.raises(KernelCompileError, match=told):
        parse(HEAD + LONG[name], "x.ptx")


def test_scopes_nest_as_deep_as_they_like():
    scopes = "{" * 20000 + "}" * 20000
    declared = "{ .reg .b32 x; .reg .b32 %r<9>;" * 2000 + "mov.b32 x, %r1;" * 2000 + "}" * 2000
    translate(parse(f"{HEAD}.entry k() {{ {scopes} {declared} }}", "x.ptx"), "x.ptx")


# Any text gives a result or an error

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


FORMS = ({}, {"checked": True}, {"fast": True}, {"fibers": "all shall be"})


def test_any_text_ends_in_a_result_or_an_error():
    small = [HEAD + case.text("k") for case in test_translate.CASES.values()]
    texts, ends = [*small, compiled(REAL), compiled(f"#line 1\n{REAL}")], set()
    for seed in range(300):
        generator = random.Random(seed)  # noqa: S311  mutations need no secrets
        text = mutated(generator.choice(texts), generator)
        try:
            translate(parse(text, "x.ptx"), "x.ptx", **FORMS[seed % 4])
            ends.add("result")
        except KernelCompileError as error:
            ends.add("error" if "\n" not in str(error) else text)
        except Exception as error:
            message = f"{error!r} of the text with the seed {seed}"
            raise AssertionError(message) from error
    assert ends == {"result", "error"}
