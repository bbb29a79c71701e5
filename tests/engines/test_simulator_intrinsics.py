"""CUDA's integer intrinsics in the simulator, against Python; and its clocks."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.helpers.simulated import run

RNG = np.random.default_rng(19)
WORD = 2**32


def signed(value, bits):
    """Return the low bits of a number, read as a signed integer."""
    value &= 2**bits - 1
    return value - 2**bits if value >> (bits - 1) else value


def kernel(parameters, lines):
    """Return a kernel with one row of results per thread."""
    body = "\n".join(f"row[{i}] = {line};" for i, line in enumerate(lines))
    return f"""extern "C" __global__ void k({parameters}) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
      auto* row = out + {len(lines)} * i;
      {body}
    }}"""


def split(word, bits, *, is_signed):
    """Return the lanes of a word, the lowest first."""
    lanes = [word >> shift & (2**bits - 1) for shift in range(0, 32, bits)]
    return [signed(lane, bits) for lane in lanes] if is_signed else lanes


def join(lanes, bits):
    """Return the word with these lanes."""
    return sum((lane & (2**bits - 1)) << (bits * i) for i, lane in enumerate(lanes))


def words(count):
    """Return words with extreme bytes, and random ones."""
    edges = [0, 1, 0x80, 0x7F, 0xFF, 0x80808080, 0x7F7F7F7F, 0xFFFFFFFF, 0x80007FFF, 0x7FFF8000]
    edges += [0x80000000, 0x7FFFFFFF, 0x00FFFFFF, 0xFF800000]
    x = RNG.integers(0, WORD, (2, count), dtype=np.uint32)
    x[0, :196] = np.repeat(edges, 14)
    x[1, :196] = np.tile(edges, 14)
    return x


def clamp(low, high):
    return lambda x: max(low, min(high, x))


def lanewise(bits):
    """Return name -> (whether lanes are signed, function of two lanes), for lanes of this width."""
    s, u = clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1), clamp(0, 2**bits - 1)
    table = {
        "add": (False, lambda x, y: x + y),
        "sub": (False, lambda x, y: x - y),
        "addss": (True, lambda x, y: s(x + y)),
        "addus": (False, lambda x, y: u(x + y)),
        "subss": (True, lambda x, y: s(x - y)),
        "subus": (False, lambda x, y: u(x - y)),
        "absdiffs": (True, lambda x, y: abs(x - y)),
        "absdiffu": (False, lambda x, y: abs(x - y)),
        # Half away from zero.
        "avgs": (True, lambda x, y: (abs(x + y) + 1) // 2 * (1 if x + y > 0 else -1)),
        "avgu": (False, lambda x, y: (x + y + 1) // 2),
        "haddu": (False, lambda x, y: (x + y) // 2),
        "maxs": (True, max),
        "maxu": (False, max),
        "mins": (True, min),
        "minu": (False, min),
    }
    compares = {
        "eq": (False, lambda x, y: x == y),
        "ne": (False, lambda x, y: x != y),
        "gt": (None, lambda x, y: x > y),
        "ge": (None, lambda x, y: x >= y),
        "lt": (None, lambda x, y: x < y),
        "le": (None, lambda x, y: x <= y),
    }
    for name, (is_signed, function) in compares.items():
        for end, sign in (("s", True), ("u", False)) if is_signed is None else (("", False),):
            table[f"cmp{name}{end}"] = (sign, lambda x, y, f=function: -int(f(x, y)))
            table[f"set{name}{end}"] = (sign, lambda x, y, f=function: int(f(x, y)))
    return table


@pytest.mark.parametrize("lanes", [2, 4])
def test_lanes_of_a_word(lanes):
    bits = 32 // lanes
    table = lanewise(bits)
    lines = [f"__v{name}{lanes}(a, b)" for name in table]
    ones = ("neg", "abs", "negss", "absss")
    lines += [f"__v{name}{lanes}(a)" for name in ones]
    lines += [f"__vsads{lanes}(a, b)", f"__vsadu{lanes}(a, b)"]
    text = rows_of_words(lines)
    x = words(256)
    out = np.zeros((256, len(lines)), np.uint32)
    run(text, [x, out], block=256)
    top = 2 ** (bits - 1) - 1
    for row, (a, b) in zip(out.tolist(), x.T.tolist(), strict=True):
        got = dict(zip([*table, *ones, "sads", "sadu"], row, strict=True))
        for name, (is_signed, function) in table.items():
            pairs = zip(
                split(a, bits, is_signed=is_signed),
                split(b, bits, is_signed=is_signed),
                strict=True,
            )
            assert got[name] == join([function(*pair) for pair in pairs], bits), (
                name,
                hex(a),
                hex(b),
            )
        given, other = split(a, bits, is_signed=True), split(b, bits, is_signed=True)
        assert got["neg"] == join([-v for v in given], bits)
        assert got["abs"] == join([abs(v) for v in given], bits)
        assert got["negss"] == join([min(-v, top) for v in given], bits)
        assert got["absss"] == join([min(abs(v), top) for v in given], bits)
        assert got["sads"] == sum(abs(v - w) for v, w in zip(given, other, strict=True))
        given, other = split(a, bits, is_signed=False), split(b, bits, is_signed=False)
        assert got["sadu"] == sum(abs(v - w) for v, w in zip(given, other, strict=True))


def rows_of_words(lines):
    """Return a kernel of lines that take the words a and b, and a third one, c."""
    text = kernel("const unsigned* x, unsigned* out", lines)
    return text.replace(
        "auto* row", "const unsigned a = x[i], b = x[n + i], c = a ^ b >> 3; auto* row"
    )


def perm(a, b, selector):
    both = b << 32 | a
    return join([both >> 8 * (selector >> 4 * i & 7) & 0xFF for i in range(4)], 8)


def dot(a, b, a_bits, b_bits, *, is_signed, first=0):
    given = split(a, a_bits, is_signed=is_signed)
    other = split(b, b_bits, is_signed=is_signed)[first:]
    return sum(v * w for v, w in zip(given, other, strict=False))


def test_words():
    table = {
        "__mul24((int)a, (int)b)": lambda a, b, _: signed(a, 24) * signed(b, 24),
        "__umul24(a, b)": lambda a, b, _: (a % 2**24) * (b % 2**24),
        "__sad((int)a, (int)b, c)": lambda a, b, c: abs(signed(a, 32) - signed(b, 32)) + c,
        "__usad(a, b, c)": lambda a, b, c: abs(a - b) + c,
        "__hadd((int)a, (int)b)": lambda a, b, _: (signed(a, 32) + signed(b, 32)) // 2,
        "__rhadd((int)a, (int)b)": lambda a, b, _: (signed(a, 32) + signed(b, 32) + 1) // 2,
        "__uhadd(a, b)": lambda a, b, _: (a + b) // 2,
        "__urhadd(a, b)": lambda a, b, _: (a + b + 1) // 2,
        "__byte_perm(a, b, c)": perm,
        "__byte_perm(a, b, 0x3715)": lambda a, b, _: perm(a, b, 0x3715),
        "__funnelshift_l(a, b, c)": lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32,
        "__funnelshift_r(a, b, c)": lambda a, b, c: (b << 32 | a) >> (c & 31),
        "__funnelshift_lc(a, b, c & 63)": lambda a, b, c: ((b << 32 | a) << min(c & 63, 32)) >> 32,
        "__funnelshift_rc(a, b, c & 63)": lambda a, b, c: (b << 32 | a) >> min(c & 63, 32),
        "__dp4a((int)a, (int)b, (int)c)": lambda a, b, c: dot(a, b, 8, 8, is_signed=True) + c,
        "__dp4a(a, b, c)": lambda a, b, c: dot(a, b, 8, 8, is_signed=False) + c,
        "__dp2a_lo((int)a, (int)b, (int)c)": lambda a, b, c: dot(a, b, 16, 8, is_signed=True) + c,
        "__dp2a_hi((int)a, (int)b, (int)c)": (
            lambda a, b, c: dot(a, b, 16, 8, is_signed=True, first=2) + c
        ),
        "__dp2a_lo(a, b, c)": lambda a, b, c: dot(a, b, 16, 8, is_signed=False) + c,
        "__dp2a_hi(a, b, c)": lambda a, b, c: dot(a, b, 16, 8, is_signed=False, first=2) + c,
    }
    x = words(256)
    out = np.zeros((256, len(table)), np.uint32)
    run(rows_of_words(table), [x, out], block=256)
    for row, (a, b) in zip(out.tolist(), x.T.tolist(), strict=True):
        for got, (name, function) in zip(row, table.items(), strict=True):
            assert got == function(a, b, a ^ b >> 3) % WORD, (name, hex(a), hex(b))


def test_find_nth_set():
    lines = [f"__fns(a, b & 31, {n})" for n in (-33, -3, -2, -1, 0, 1, 2, 3, 33)]
    x = words(256)
    out = np.zeros((256, 9), np.uint32)
    run(rows_of_words(lines), [x, out], block=256)
    for row, (a, b) in zip(out.tolist(), x.T.tolist(), strict=True):
        up = [i for i in range(b & 31, 32) if a >> i & 1]
        down = [i for i in range(b & 31, -1, -1) if a >> i & 1]
        here = b & 31 if a >> (b & 31) & 1 else WORD - 1
        expected = [(found[n : n + 1] or [WORD - 1])[0] for n in range(3) for found in (up, down)]
        assert row[1:8] == [expected[5], expected[3], expected[1], here, *expected[:5:2]]
        assert row[0] == row[8] == WORD - 1


def test_minima_and_maxima_of_mixed_types():
    text = """
    template <typename A, typename B> struct Same { static constexpr bool value = false; };
    template <typename A> struct Same<A, A> { static constexpr bool value = true; };
    #define IS(type, call) Same<type, decltype(call)>::value
    """ + kernel(
        "const int* x, double* out",
        [
            "IS(unsigned, min(-1, 2u)) && min(-1, 2u) == 2u",
            "IS(unsigned, max(2u, -1)) && max(2u, -1) == 0xffffffffu",
            "IS(int, min((short)-3, 4)) && min((short)-3, 4) == -3",
            "IS(long long, max(-5ll, -6ll)) && max(-5ll, -6ll) == -5",
            "IS(unsigned long long, min(-1ll, 7ull)) && min(-1ll, 7ull) == 7",
            "IS(float, min(1.5f, -2.5f)) && min(1.5f, -2.5f) == -2.5f",
            "IS(double, max(1.5f, 2.25)) && max(1.5f, 2.25) == 2.25",
            "IS(double, min(1.5, 2.25f)) && min(1.5, 2.25f) == 1.5",
            "umin(3u, 4u) + 10 * umax(3u, 4u)",
            "llmin(-3, 4) + 10 * llmax(-3, 4)",
            "ullmin(3, 4) + 10 * ullmax(3, 4)",
            "min(x[0], 7) + max((size_t)x[1], sizeof(int))",
        ],
    )
    x, out = np.array([9, 2], np.int32), np.zeros(12)
    run(text, [x, out])
    assert out.tolist() == [1] * 8 + [43, 37, 43, 11]


def test_clocks_count_up():
    text = """
    extern "C" __global__ void k(long long* out) {
      const long long start = clock64();
      const clock_t c = clock();
      long long now = start;
      while (now - start < 20000000) now = clock64();
      out[0] = now - start, out[1] = (long long)clock() - (long long)c;
    }"""
    out, start = np.zeros(2, np.int64), time.monotonic_ns()
    run(text, [out])
    taken = time.monotonic_ns() - start
    assert 20_000_000 <= out[0] <= taken
    assert 19_000_000 <= out[1] <= taken  # began a little later
