"""Kernels print what C's printf prints."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from tests.helpers.rows import each

#: An expression in C, its format and what it prints.
PRINTED = (
    ("%d", "-42", "-42"),
    ("%i", "2147483647", "2147483647"),
    ("%5d|%-5d|%05d|%+d", "1, 2, 3, 4", "    1|2    |00003|+4"),
    ("%u", "4294967295u", "4294967295"),
    ("%x %X %#x", "255, 255, 255", "ff FF 0xff"),
    ("%o", "8", "10"),
    ("%c%c", "'a', 'b'", "ab"),
    ("%s!", '"text"', "text!"),
    ("%8s|%-8s|", '"right", "left"', "   right|left    |"),
    ("%f", "1.5", "1.500000"),
    ("%f", "1.5f", "1.500000"),
    ("%.3f %10.2f|%-8.1f|", "3.14159, 2.71828, 1.41", "3.142       2.72|1.4     |"),
    ("%e %.2E", "12345.678, 0.00012", "1.234568e+04 1.20E-04"),
    ("%g %G", "0.0001, 1e20", "0.0001 1E+20"),
    ("%a", "1.0", "0x1p+0"),
    ("%ld %lu", "-5l, 5ul", "-5 5"),
    ("%lld %llu %llx", "-(1ll << 62), ~0ull, ~0ull", f"{-(2**62)} {2**64 - 1} {'f' * 16}"),
    ("%hd %hhd", "(short)-3, (signed char)-4", "-3 -4"),
    ("%zu", "sizeof(int4)", "16"),
    ("%%", "0", "%"),
    ("%*d|%.*f", "6, 42, 1, 2.55", "    42|2.5"),
    ("%p", "(void*)0x1234", "0x1234"),
    ("%f %f %f", "1.0 / zero, -1.0 / zero, zero / zero", "inf -inf nan"),
    ("%d %s %f %c %lld", "1, \"two\", 3.0, '4', 5ll", "1 two 3.000000 4 5"),
    ("no values", "0", "no values"),
)


def test_every_format(capfd):
    lines = "\n".join(
        f'  printf("{fmt}\\n"{"" if fmt in {"%%", "no values"} else ", " + values});'
        for fmt, values, _ in PRINTED
    )
    code = f'extern "C" __global__ void k(double zero) {{\n{lines}\n}}\n'
    ck.simulator.RawKernel(code, "k")((1,), (1,), (np.float64(0),))
    printed = capfd.readouterr().out.replace("-nan", "nan").splitlines()
    assert printed == [text for *_, text in PRINTED]


def test_every_thread_prints_whole_lines(capfd):
    code = r"""
extern "C" __global__ void k(const float* x) {
  const int written = printf("block %d thread %u: %s %g\n", blockIdx.x, threadIdx.x,
                             x[threadIdx.x] < 0 ? "negative" : "positive", x[threadIdx.x]);
  if (written != 4) printf("printf must return the number of its values; got %d\n", written);
}
"""
    x = np.linspace(-2, 2, 40).astype(np.float32)
    ck.simulator.RawKernel(code, "k")((3,), (40,), (x,))
    expected = {
        f"block {b} thread {t}: {'negative' if v < 0 else 'positive'} {v:g}"
        for b in range(3)
        for t, v in enumerate(x)
    }
    printed = capfd.readouterr().out.splitlines()
    assert len(printed) == len(expected)
    assert set(printed) == expected


@each("length", [0, 1, 5000])
def test_a_text_of_any_length(capfd, length):
    code = r"""
extern "C" __global__ void k(const char* text) { printf("<%s>\n", text); }
"""
    text = np.frombuffer(b"y" * length + b"\0", np.int8)
    ck.simulator.RawKernel(code, "k")((1,), (1,), (text,))
    assert capfd.readouterr().out == f"<{'y' * length}>\n"
