"""Patches between the compiler's steps: red zones after shared arrays, accesses as written."""

from __future__ import annotations

import ctypes
import re

import pytest

from cudakern.engines.simulator.instrument import RED_ZONE, pad_shared
from cudakern.engines.simulator.symbols import Symbols
from tests.helpers.instrumented import build, compilers

SHARED = """\
thread_local float tile[33];
thread_local int first[3] = {1, 2, 3}, second[1] = {4};
static thread_local char big[100001];
thread_local char text[6] = "zeros";
alignas(64) thread_local double aligned[2];
template <int N> float* inner(int i) {
  static thread_local float s[N];
  s[i] = s[i + 1] + 1;
  return s;
}
int ordinary[3] = {1, 2, 3}, later[3];
extern "C" void k(int* x) {
  tile[x[0]] = tile[x[1]] + big[x[0]] + text[x[1]] + aligned[x[1]] + inner<32>(x[1])[0];
  big[x[1]] = x[1] + inner<64>(x[0])[1];
  aligned[x[1]] = 3;
  first[x[1]] += 10;
  x[2] = first[x[1]];
  x[3] = second[x[0]];
  x[4] = text[x[0] + 4];
  x[5] = (long)aligned % 64;
  later[x[0]] = ordinary[x[1]];
}
"""

VECTORS = """\
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct float3 { float x, y, z; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct alignas(16) mixed { float x, y; double z; };
struct wide { float4 a, b; };
template <typename T> static T load(const T* p) { return *p; }
#define KERNEL extern "C" void
KERNEL copy4(float4* x) { x[2] = x[1]; }
KERNEL scale4(float4* x) {
  float4 v = x[1];
  v.x *= 2; v.y *= 2; v.z += 1; v.w -= 1;
  x[2] = v;
}
KERNEL sum4(const float4* x, float* out) { float4 v = load(x + 1); *out = v.x + v.y + v.z + v.w; }
KERNEL sum2(const float2* x, float* out) { float2 v = load(x + 1); *out = v.x * v.y; }
KERNEL sum3(const float3* x, float* out) { float3 v = load(x + 1); *out = v.x * v.y * v.z; }
KERNEL sumd(const double2* x, double* out) { double2 v = load(x + 1); *out = v.x * v.y; }
KERNEL sumc(const uchar4* x, int* out) { uchar4 v = load(x + 1); *out = v.x * v.y * v.z * v.w; }
KERNEL summ(const mixed* x, double* out) { mixed v = load(x + 1); *out = v.x * v.y * v.z; }
KERNEL scalars(const float* x, float* out) { *out = x[4] + x[5] + x[6] + x[7]; }
KERNEL members(const float4* x, float* out) { *out = x[1].x; *out += x[1].y; }
KERNEL partial(const float4* x, float* out) { float4 v = load(x + 1); *out = v.x + v.y + v.w; }
KERNEL polls(volatile int* x) { x[0]; x[1] = 2; }
KERNEL pair(wide* x) { x[1] = x[0]; }
KERNEL move(char* x, long n) { __builtin_memmove(x + 1, x, n); }
KERNEL packed(char* x) { __builtin_memcpy(x, x + 64, 16); __builtin_memcpy(x, x + 8, 1); }
KERNEL fills(float4* x) { __builtin_memset(x, 0, 4096); }
KERNEL constant(int* x) { static const int t[8] = {1, 2, 3, 4, 5, 6, 7, 9};
  __builtin_memcpy(x, t, 32); }
"""
#: Kind, bytes and byte offset into the first argument, in order.
ACCESSES = {
    "copy4": [("read", 16, 16), ("write", 16, 32)],
    "scale4": [("read", 16, 16), ("write", 16, 32)],
    "sum4": [("read", 16, 16)],
    "sum2": [("read", 8, 8)],
    "sum3": [("unread", 8, 12), ("read", 4, 20)],  # returned in a vector register and another
    "sumd": [("read", 16, 16)],
    "sumc": [("read", 4, 4)],
    "summ": [("read", 16, 16)],
    "scalars": [("read", 4, 16), ("read", 4, 20), ("read", 4, 24), ("read", 4, 28)],
    "members": [("read", 4, 16), ("read", 4, 20)],
    "partial": [("read", 8, 16), ("read", 4, 28)],
    "polls": [("vread", 4, 0), ("vwrite", 4, 4)],
    "pair": [("rread", 32, 0), ("rwrite", 32, 32)],
    "packed": [("rread", 16, 64), ("rwrite", 16, 0), ("read", 1, 8), ("write", 1, 0)],
    "fills": [("rwrite", 4096, 0)],
    "constant": [("rwrite", 32, 0)],
}


@pytest.fixture(params=["g++", "ziglang"], scope="module")
def compiler(request):
    reason = compilers()[request.param]
    if reason is not None:
        pytest.skip(reason)
    return request.param


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    reason = compilers()["ziglang"]
    if reason is not None:
        pytest.skip(reason)
    return build("ziglang", tmp_path_factory.mktemp("vectors"), VECTORS)


def gaps(path):
    """Return how many bytes come after each thread-local array until the next."""
    symbols = Symbols(path)
    found = symbols.shared_objects()
    assert sorted((item.name, item.size) for item in found) == [
        ("aligned", 16),
        ("big", 100001),
        ("first", 12),
        ("s", 128),
        ("s", 256),
        ("second", 4),
        ("text", 6),
        ("tile", 132),
    ]
    ends = [item.offset + item.size for item in found]
    return [item.offset - end for item, end in zip(found[1:], ends, strict=False)]


def test_red_zones(compiler, tmp_path):
    pytest.importorskip("elftools", reason="pyelftools is not installed")
    for pad in (False, True):
        folder = tmp_path / str(pad)
        folder.mkdir()
        built = build(compiler, folder, SHARED, pad=pad)
        assert (min(gaps(built.path)) >= RED_ZONE) is pad
        x = (ctypes.c_int * 6)(0, 1, 0, 0, 0, -1)
        built.notes("k", x)
        assert list(x) == [0, 1, 12, 4, ord("s"), 0]


def test_only_zeros_are_added(compiler, tmp_path):
    assembly = build(compiler, tmp_path, SHARED).assembly
    before, after = assembly.split("\n"), pad_shared(assembly).split("\n")
    zone = f"\t.zero\t{RED_ZONE}"
    added = 0
    for line in after:
        if before and line == before[0]:
            before.pop(0)
        else:
            assert line == zone
            added += 1
    assert before == []
    assert added == 8


@pytest.mark.parametrize("function", ACCESSES)
def test_accesses_are_those_of_the_source(vectors, function):
    memory = (ctypes.c_double * 600)()
    x = (ctypes.c_double * 590).from_address((ctypes.addressof(memory) + 15) // 16 * 16)
    out = ctypes.c_double()
    notes = vectors.notes(function, x, ctypes.byref(out))
    start = ctypes.addressof(x)
    found = [
        (kind, size, address - start)
        for kind, size, address, _ in notes
        if start <= address < start + 4200
    ]
    assert found == ACCESSES[function]


def test_copies_of_a_number_of_bytes_known_late(vectors):
    x = (ctypes.c_char * 100)(*b"abc")
    notes = vectors.notes("move", x, ctypes.c_long(7))
    start = ctypes.addressof(x)
    assert [note[:3] for note in notes] == [("rread", 7, start), ("rwrite", 7, start + 1)]
    assert x.value == b"aabc"


def test_results_are_those_without_patches(vectors):
    x = (ctypes.c_float * 12)(*range(12))
    vectors.notes("scale4", x)
    assert list(x) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 7, 6]


def test_nothing_is_instrumented_twice(vectors):
    called = re.findall(r"call void @(__tsan_\w+)", vectors.patched)
    in_assembly = re.findall(r"\b(?:callq?|jmp|bl?)\s+(__tsan_\w+)", vectors.assembly)
    assert len(called) > 40
    assert sorted(in_assembly) == sorted(called)


def test_lines_survive(vectors):
    pytest.importorskip("elftools", reason="pyelftools is not installed")
    symbols = Symbols(vectors.path)
    x = (ctypes.c_double * 600)()
    for function in ACCESSES:
        first = VECTORS[: VECTORS.index(f"KERNEL {function}(")].count("\n") + 1
        body = VECTORS[VECTORS.index(f"KERNEL {function}(") :]
        last = first + body[: body.index("\nKERNEL") if "\nKERNEL" in body else -1].count("\n")
        for *_, returns_to in vectors.notes(function, x, ctypes.byref(ctypes.c_double())):
            frames = symbols.frames(returns_to)
            assert frames[-1].function == function
            assert frames[-1].file == "kernel.cpp"
            assert first <= frames[-1].line <= last
            if len(frames) > 1:
                assert frames[0].function.startswith("load<")
                assert frames[0].line == VECTORS[: VECTORS.index("T load")].count("\n") + 1
