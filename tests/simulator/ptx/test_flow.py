"""What becomes of loaded values: which are used, and which are only compared."""

from __future__ import annotations

import pytest

from cudakern.simulator.ptx.access_bits import GUESSES, PIECE, READS, RETURNS
from cudakern.simulator.ptx.flow import Flow
from cudakern.simulator.ptx.model import Instruction
from cudakern.simulator.ptx.parse import parse
from tests.simulator.ptx.harness import HEAD, compiled

REGISTERS = """
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<19>; .reg .b64 %d<19>; .reg .f32 %f<9>;
.reg .b128 %q<4>;
"""


def accesses(ptx):
    """Return instructions with what they do to memory, of the first function."""
    body = next(iter(parse(ptx, "k").functions.values())).body
    flow = Flow(body)
    return [(i, flow.access(i)) for i in body if isinstance(i, Instruction)]


def first(opcode, body):
    text = f"{HEAD}.visible .entry k() {{ {REGISTERS} {body} ret; }}"
    return next(access for i, access in accesses(text) if i.name.startswith(opcode))


@pytest.mark.parametrize(
    ("body", "returns", "reads"),
    [
        ("atom.global.add.u32 %r1, [%d1], 1;", False, True),
        ("atom.global.add.u32 %r1, [%d1], 1; add.u32 %r2, %r1, 1;", True, True),
        ("atom.global.add.u32 %r1, [%d1], 1; st.global.u32 [%d1], %r1;", True, True),
        ("atom.global.add.u32 _, [%d1], 1;", False, True),
        ("atom.global.exch.b32 %r1, [%d1], 1;", False, False),
        ("atom.global.exch.b32 %r1, [%d1], 1; st.global.u32 [%d1], %r1;", True, True),
    ],
)
def test_whether_what_an_atomic_returns_is_used(body, returns, reads):
    access = first("atom.", body)
    assert (bool(access & RETURNS), bool(access & READS)) == (returns, reads)


LOOP = """
extern "C" __global__ void k({type}* a, {type}* b, {type} v) {{
  {type}* const p = a + threadIdx.x % 2;
  {body}
}}
"""


def loop(type_, *parts):
    return LOOP.format(type=type_, body=" ".join(parts))


GUESSED = {
    "int": loop(
        "int",
        "int old = *p, seen; do { seen = old; old = atomicCAS(p, seen, max(seen * 3, v)); }",
        "while (seen != old);",
    ),
    "shared": loop(
        "int",
        "__shared__ int s[2]; s[threadIdx.x % 2] = v; __syncthreads(); int* q = s + v;",
        "int old = *q, seen; do { seen = old; old = atomicCAS(q, seen, max(seen * 3, v)); }",
        "while (seen != old); b[0] = s[0];",
    ),
    "double": loop(
        "double",
        "unsigned long long* q = (unsigned long long*)p; unsigned long long old = *q, seen;",
        "do { seen = old; old = atomicCAS(q, seen,",
        "__double_as_longlong(v * __longlong_as_double(seen))); } while (seen != old);",
    ),
    "float": loop(
        "float",
        "float old = *p, seen; do { seen = old; old = __int_as_float(atomicCAS((int*)p,",
        "__float_as_int(seen), __float_as_int(seen * v))); }",
        "while (__float_as_int(seen) != __float_as_int(old));",
    ),
    "16 bits": loop(
        "unsigned short",
        "unsigned short old = *p, seen; do { seen = old;",
        "old = atomicCAS(p, seen, (unsigned short)(seen * v)); } while (seen != old);",
    ),
    "offset": loop(
        "int",
        "int old = a[5], seen; do { seen = old; old = atomicCAS(a + 5, seen, seen * v); }",
        "while (seen != old);",
    ),
    "again": loop(
        "int",
        "int seen; do { seen = *p; } while (atomicCAS(p, seen, seen * v) != seen);",
    ),
}
NOT_GUESSED = {
    "another array": loop(
        "int",
        "int old = *b, seen; do { seen = old; old = atomicCAS(p, seen, seen * v); }",
        "while (seen != old);",
    ),
    "another element": loop(
        "int",
        "int old = a[4], seen; do { seen = old; old = atomicCAS(a + 5, seen, seen * v); }",
        "while (seen != old);",
    ),
    "value": loop("int", "atomicCAS(p, v, *p);"),
    "other compare": loop("int", "b[threadIdx.x] = *p; atomicCAS(p, v, 5);"),
    "sum": loop("int", "atomicCAS(p, *p + 1, v);"),
    "volatile": loop("int", "int seen = *(volatile int*)p; atomicCAS(p, seen, v);"),
}


def guesses(code):
    found = accesses(compiled(code))
    loads = [(one.name, access) for one, access in found if one.name.startswith("ld.")]
    return [bool(access & GUESSES) for name, access in loads if "param" not in name]


@pytest.mark.parametrize("name", GUESSED)
def test_the_first_read_of_a_loop_around_a_compare_and_exchange_guesses(name):
    found = guesses(GUESSED[name])
    assert sum(found) == 1


@pytest.mark.parametrize("name", NOT_GUESSED)
def test_other_reads_do_not_guess(name):
    found = guesses(NOT_GUESSED[name])
    assert found
    assert not any(found)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("ld.shared.u32 %r1, [%r9+8]; ld.shared.u32 %r2, [%r9+12];", True),
        ("ld.shared.u32 %r1, [%r9+8]; ld.shared.v2.u32 {%r2, %r3}, [%r9];", True),
        ("ld.shared.u32 %r1, [%r9+8];", False),
        ("ld.shared.u32 %r1, [%r9+8]; ld.shared.u32 %r2, [%r9+16];", False),
        ("ld.shared.u32 %r1, [%r9+8]; ld.shared.u32 %r2, [%r8+12];", False),
        ("ld.shared.u32 %r1, [%r9+8];\n.loc 1 3 1\nld.shared.u32 %r2, [%r9+12];", False),
    ],
)
def test_whether_a_load_is_one_of_neighbours(body, wanted):
    assert bool(first("ld.", f".loc 1 2 1\n{body}") & PIECE) == wanted
