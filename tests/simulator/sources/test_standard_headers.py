"""Kernels in the style of users, with headers of C and C++, compute what NumPy computes."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator.sources import standard_headers
from tests.helpers.rows import each
from tests.helpers.samples import covering, sample
from tests.simulator.checker import answers
from tests.simulator.checker.tables import Modules, correct_rows, require_result

KERNEL = 'extern "C" __global__ void k(int* y) {{ *y = {}; }}'


def xorshifted(x):
    """Return one step of a 32-bit generator, hashed with 64 bits."""
    v = x ^ (x << np.uint32(13))
    v ^= v >> np.uint32(17)
    v ^= v << np.uint32(5)
    wide = v.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (wide >> np.uint64(32)).astype(np.uint32) ^ (v & np.uint32(255))


def complex_answers(x):
    a, b = x.astype(float).view(complex).T
    c = a * b.conj() + np.exp(a) + b**2
    return np.stack([c.real, c.imag, abs(a)], 1)


ROWS = tuple(
    correct_rows(
        {**vars(answers), "xorshifted": xorshifted, "complex_answers": complex_answers}, "users"
    )
)
MODULES = Modules(ROWS, jitify=True)


@each("row", sample(ROWS, 4), ids=lambda row: row.name)
def test_result(row):
    require_result(MODULES.kernel(row), row, 0)
    with ck.simulator.checked(seed=1):
        require_result(MODULES.kernel(row), row, 1)


@each("row", sample(ROWS, 18), ids=lambda row: row.name)
def test_text_includes_what_it_needs(row):
    names = [row.kernel] if "<" in row.kernel else None
    ck.simulator.RawModule(
        code=row.code, options=row.options, name_expressions=names, jitify=True
    ).compile()


@each("name", sample(sorted(standard_headers.list_names()), 7, 3))
def test_each_header_alone_twice_and_by_namespace(name):
    text = f"#include <{name}>\n" * 2 + "using namespace std;\n" + KERNEL.format(1)
    options = ("-std=c++20",) if name == "concepts" else ()
    ck.simulator.RawKernel(text, "k", options, jitify=True).compile()


@each("order, standard", covering([1, -1], ["c++17", "c++20"]))
def test_all_headers_together(order, standard):
    names = sorted(standard_headers.list_names() - ({"concepts"} if standard == "c++17" else set()))
    lines = [f"#include <{name}>\n" for name in names][::order]
    text = "".join(lines) + "using namespace std;\n" + KERNEL.format("max(abs(-3), 2) + sqrt(4.f)")
    y = np.zeros(1, np.int32)
    ck.simulator.RawKernel(text, "k", (f"-std={standard}",), jitify=True)((1,), (1,), (y,))
    assert y == 5


@each("standard", sample(["c++11", "c++14", "c++17", "c++20"], 3))
def test_headers_of_c_with_any_standard(standard):
    row = next(row for row in ROWS if row.name == "limits_of_integers")
    kernel = ck.simulator.RawKernel(row.code, "k", (f"-std={standard}",), jitify=True)
    require_result(kernel, row, 0)


def test_own_header_comes_first(tmp_path):
    (tmp_path / "tuple").write_text("#define OWN 7\n", encoding="utf-8")
    text = "#include <tuple>\n" + KERNEL.format("OWN")
    y = np.zeros(1, np.int32)
    ck.simulator.RawKernel(text, "k", (f"-I{tmp_path}",), jitify=True)((1,), (1,), (y,))
    assert y == 7


def test_file_as_with_nvcc(tmp_path):
    file = tmp_path / "x.cu"
    file.write_text(
        """
#include "cuda_runtime.h"
extern "C" __global__ void k(double* y, uint n) {
  y[0] = INFINITY; y[1] = M_PI * n + std::sqrt(4); y[2] = INT_MAX; assert(n == 2);
}""",
        encoding="utf-8",
    )
    y = np.full(3, np.nan)
    ck.simulator.RawModule(path=str(file)).get_function("k")((1,), (1,), (y, np.uint32(2)))
    np.testing.assert_allclose(y, [np.inf, 2 * np.pi + 2, 2**31 - 1], rtol=1e-15)


GCC = """
static_assert(__builtin_ctz(40) == 3 && __builtin_clzll(1) == 63 && __builtin_ffs(0) == 0, "");
static_assert(__builtin_popcount(0xff) == 8 && __builtin_bswap32(1) == 1 << 24, "");
#if !defined __linux__ || !linux || !__x86_64__ || __GNUC__ < 12 || !defined __NVCC__
#error a host
#endif
union Word { float f; unsigned bits; };
extern "C" __global__ void k(long long* y, long long n) {
  register int i = 0;
  __typeof__(y[0]) x = n;
  y[i++] = __builtin_popcount(x); y[i++] = __builtin_popcountll(x); y[i++] = __builtin_clz(x);
  y[i++] = __builtin_clzl(x); y[i++] = __builtin_ctz(x); y[i++] = __builtin_ctzll(x);
  y[i++] = __builtin_ffs(x); y[i++] = __builtin_ffsll(x); y[i++] = __builtin_parity(x);
  y[i++] = __builtin_bswap16(x); y[i++] = __builtin_bswap32(x); y[i++] = __builtin_bswap64(x);
  y[i++] = (__int128)x * x >> 64;
  __asm__ __volatile__("mov.u64 %0, %1;" : "=l"(y[i++]) : "l"(x));
  y[i++] = __builtin_isinf(__builtin_inff()) && __builtin_isnan(__builtin_nan(""));
  if (__builtin_expect(x == 0, 0)) __builtin_trap();
  float f = __builtin_sqrtf(4); Word word;
  __builtin_memcpy(&word, &f, sizeof(f));
  y[i++] = word.bits; y[i++] = __builtin_offsetof(int4, z);
}"""


@each("n", [0x123456789ABCDEF0, 1, -1, 0x7FFF000080000001])
def test_what_gcc_has_without_a_header(tmp_path, n):
    def bits(x, size):
        text = f"{x & (1 << size) - 1:0{size}b}"
        return text.count("1"), text.find("1"), text[::-1].find("1")

    def swapped(size):
        return int.from_bytes((n & (1 << size) - 1).to_bytes(size // 8, "big"), "little")

    (tmp_path / "x.cu").write_text(GCC, encoding="utf-8")
    y = np.zeros(17, np.int64)
    kernel = ck.simulator.RawModule(path=str(tmp_path / "x.cu")).get_function("k")
    kernel((1,), (1,), (y, np.int64(n)))
    (ones, leading, trailing), (ones64, leading64, trailing64) = bits(n, 32), bits(n, 64)
    expected = [ones, ones64, leading, leading64, trailing, trailing64, trailing + 1]
    expected += [trailing64 + 1, ones % 2, swapped(16), swapped(32), swapped(64), n * n >> 64]
    expected += [n, 1, int(np.float32(2).view(np.uint32)), 8]
    assert y.tolist() == [x if x < 2**63 else x - 2**64 for x in expected]


#: What is 1 with gcc's functions, too. They have infinite precision before they store.
GCC_FUNCTIONS = """
__builtin_add_overflow(INT_MAX, 1, &i) && i == INT_MIN
!__builtin_add_overflow(INT_MAX, 1, &u) && u == 1u << 31
__builtin_sub_overflow(1u, 2u, &u) && u == ~0u
!__builtin_sub_overflow(1u, 2u, &i) && i == -1
__builtin_mul_overflow(~0ull, ~0ull, &w) && w == 1
__builtin_mul_overflow(300, 300, &h) && h == (short)90000
!__builtin_mul_overflow(-1, 0, &w) && w == 0
!__builtin_mul_overflow(1ll << 62, -2, &l) && l == LLONG_MIN
__builtin_mul_overflow(1ll << 62, 2, &l) && l == LLONG_MIN
__builtin_clrsb(0) == 31 && __builtin_clrsb(-1) == 31 && __builtin_clrsb(INT_MIN) == 0
__builtin_clrsbl(-3) == 61 && __builtin_clrsbll(1) == 62
__builtin_strlen(b) == 6 && __builtin_object_size(b + n, 2) == 0
__builtin_memcmp(b, "abz", 3) < 0 && __builtin_memcmp("\\xff", b, 1) > 0
__builtin_memcmp(b, "abz", 2) == 0
__builtin_memmove(b + 1, b, 3) == b + 1 && __builtin_memcmp(b, "aabcef", 7) == 0
__builtin_memmove(b, b + 1, 3) == b && __builtin_memcmp(b, "abccef", 7) == 0
__builtin_rint(n + 2.5) == 2 && __builtin_lround(n + 2.5) == 3 && __builtin_exp2f(n + 3) == 8
__builtin_log2f(n + 4) == 2 && __builtin_fmod(n + 5., 3.) == 2 && __builtin_hypot(n + 3., 4.) == 5
__builtin_frexp(n + 8., &i) == 0.5 && i == 4 && __builtin_copysign(n + 2., -1.) == -2
""".strip().splitlines()


def test_functions_of_gcc(tmp_path):
    lines = "".join(f"  y[{k}] = {one};\n" for k, one in enumerate(GCC_FUNCTIONS))
    text = f"""static_assert(__builtin_clrsb(INT_MIN) == 0, "");
extern "C" __global__ void k(int* y, int n) {{
  int i; unsigned u; unsigned long long w; long long l; short h; char b[] = "abcdef";
{lines}}}"""
    (tmp_path / "x.cu").write_text(text, encoding="utf-8")
    y = np.zeros(len(GCC_FUNCTIONS), np.int32)
    module = ck.simulator.RawModule(path=str(tmp_path / "x.cu"))
    module.get_function("k")((1,), (1,), (y, np.int32(0)))
    assert [one for one, is_so in zip(GCC_FUNCTIONS, y, strict=True) if is_so != 1] == []


@each("header", ["cuda/std/atomic", "cub/block/block_reduce.cuh", "algorithm"])
def test_an_old_standard(tmp_path, header):
    file = tmp_path / "x.cu"
    file.write_text(f"#include <{header}>\n{KERNEL.format(3)}", encoding="utf-8")
    module = ck.simulator.RawModule(path=str(file), options=("-std=c++11",))
    with pytest.raises(ck.KernelCompileError, match=r"; drop the option -std=c\+\+11: the stand"):
        module.compile()


def test_text_for_nvcc():
    text = "#include <cstdint>\n" + KERNEL.format("std::int32_t(M_PI) + (INT_MAX > 0)")
    y = np.zeros(1, np.int32)
    ck.simulator.RawKernel(text, "k", backend="nvcc")((1,), (1,), (y,))
    assert y == 4


@each("standard", sample(["c++03", "c++11", "c++14", "c++20"], 3))
def test_file_of_any_standard(tmp_path, standard):
    file = tmp_path / "x.cu"
    file.write_text(KERNEL.format(3), encoding="utf-8")
    y = np.zeros(1, np.int32)
    module = ck.simulator.RawModule(path=str(file), options=(f"-std={standard}",))
    module.get_function("k")((1,), (1,), (y,))
    assert y == 3


def test_failed_assert_names_its_line():
    text = "#undef NDEBUG\n#include <assert.h>\n" + KERNEL.format("(assert(threadIdx.x == 1), 1)")
    kernel = ck.simulator.RawKernel(text, "k", jitify=True)
    with pytest.raises(ck.SimulatorError, match=r"k\.cu:3.*threadIdx\.x == 1"):
        kernel((1,), (1,), (np.zeros(1, np.int32),))


def test_finding_in_a_header_has_the_line_that_led_there():
    text = """#include <algorithm>
extern "C" __global__ void k(int* y) {
  std::fill_n(y, 3, 1);
}"""
    kernel = ck.simulator.RawKernel(text, "k", jitify=True)
    with pytest.raises(ck.SimulatorError, match=r"k\.cu:3"), ck.simulator.checked():
        kernel((1,), (1,), (np.zeros(2, np.int32),))


@each(
    "header, jitify, message",
    [
        ("stdint.h", False, r'cannot open source file "stdint\.h"; jitify=True brings it$'),
        ("cuda.h", False, r'cannot open source file "stdlib\.h"; jitify=True brings it$'),
        ("vector", True, r'cannot open source file "vector"$'),
        ("cub/cub.cuh", True, r"NVRTC does not take cub/cub\.cuh: include such as cub/block/bl"),
        ("thrust/complex.h", False, r"include cuda/std/complex instead of thrust/complex\.h"),
    ],
)
def test_message_of_a_header_that_is_refused(header, jitify, message):
    kernel = ck.simulator.RawKernel(f"#include <{header}>\n" + KERNEL.format(1), "k", jitify=jitify)
    with pytest.raises(ck.KernelCompileError, match=message):
        kernel.compile()
