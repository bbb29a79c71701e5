"""Why a kernel does not compile for the host: constructs, names, headers, and the log."""

from __future__ import annotations

import pytest

from cudakern.engines.simulator.explain import explain
from cudakern.engines.simulator.kernel_text import KernelText
from cudakern.errors import KernelCompileError
from tests.helpers.simulated import ENGINE

KERNEL = 'extern "C" __global__ void k(float* x) {'
GCC = "test.cu:3:9: error: 'foo' was not declared in this scope; did you mean 'floor'?\n"


@pytest.mark.parametrize(
    ("line", "written", "what"),
    [
        ('asm("mov.u32 %0, %laneid;" : "=r"(a));', "asm", "inline PTX"),
        ('asm volatile ("membar.gl;");', "asm volatile", "inline PTX"),
        ('__asm__ __volatile__("");', "__asm__ __volatile__", "inline PTX"),
        ("other<<<1, 2>>>(x);", "<<<", "kernels that launch kernels"),
        ("#include <cooperative_groups.h>", "<cooperative_groups.h>", "cooperative groups"),
        ("auto g = cooperative_groups::this_grid();", "cooperative_groups", "cooperative groups"),
        ("#include <cub/block/block_scan.cuh>", "<cub/block/block_scan.cuh>", "CUB"),
        ("#  include <thrust/sort.h>", "<thrust/sort.h>", "Thrust"),
        ('#include "curand_kernel.h"', "<curand_kernel.h>", "cuRAND"),
        ("curand_init(1, 2, 3, &state);", "curand_init", "cuRAND"),
        ("#include <mma.h>", "<mma.h>", "matrix fragments"),
        ("wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;", "wmma::", "matrix fragments"),
        ("x[0] = tex1Dfetch<float>(t, 3);", "tex1Dfetch", "textures"),
        ("x[0] = tex2D(t, 3, 4);", "tex2D", "textures"),
        ("texture<float, 1> t;", "texture", "textures"),
        ("surf2Dread(&x[0], s, 1, 2);", "surf2Dread", "surfaces"),
        ("void __cluster_dims__(2, 1, 1) f();", "__cluster_dims__", "clusters of blocks"),
        ("cuda::barrier<cuda::thread_scope_block> b;", "cuda::barrier", "asynchronous barriers"),
        ("cuda::pipeline<cuda::thread_scope_thread> p;", "cuda::pipeline", "asynchronous copies"),
        ("__pipeline_memcpy_async(x, x, 16);", "__pipeline_memcpy_async", "asynchronous copies"),
        ("#include <cuda/atomic>", "<cuda/atomic>", "libcu++'s atomics"),
        ("cuda::atomic_ref<int> a(i);", "cuda::atomic_ref", "libcu++'s atomics"),
        ("cudaDeviceSynchronize();", "cudaDeviceSynchronize", "the CUDA runtime in kernels"),
    ],
)
def test_constructs_are_named_with_their_line(line, written, what):
    text = f"{KERNEL}\n\n{line}\n}}"
    expected = f"checked and traffic do not have {what} (`{written}` in line 3)"
    assert explain(text, GCC) == expected


@pytest.mark.parametrize(
    "hidden",
    [
        "// asm(1)",
        "/* asm(1)\n\n*/",
        'const char* s = "asm(1) \\" <<<";',
        'const char* s = R"(a " asm(1) )";',
        "// a \\\n asm(1)",
        "int asmr(int); int c = '\"'; int tex = 3; int cluster_size = 1;",
        "#ifndef CK_SIMULATOR\n  asm(1);\n#else\n",
        "#if !defined(CK_SIMULATOR)\n  asm(1);\n#endif",
        "#ifdef CK_SIMULATOR\n  int y;\n#else\n  asm(1);\n#endif",
    ],
)
def test_what_is_not_compiled_is_not_named(hidden):
    text = f"{KERNEL}\n{hidden}\n foo(); }}"
    assert explain(text, GCC) == "checked and traffic do not have `foo` (test.cu:3)"


def test_code_behind_a_hidden_part_is_still_seen():
    text = '/* a\n" */ const char* s = "//";\n#ifndef CK_SIMULATOR\n#endif\nasm("");'
    assert explain(text, GCC).endswith("(`asm` in line 5)")


def test_lines_are_counted_as_the_text_says():
    text = f'#line 1 "a.cu"\n{KERNEL}\n#line 1 "b.cuh"\n\n\nasm("");\n#line 4 "a.cu"\n'
    assert explain(text, "").endswith("(`asm` in line 3)")


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (GCC, "checked and traffic do not have `foo` (test.cu:3)"),
        (
            "k.cu: In function:\nk.cu:7:3: error: \u2018bar\u2019 does not name a type\n",
            "checked and traffic do not have `bar` (k.cu:7)",
        ),
        (
            "test.cu:5:1: error: use of undeclared identifier '__nv_foo'\n  5 | __nv_foo\n",
            "checked and traffic do not have `__nv_foo` (test.cu:5)",
        ),
        (
            "/a b/x.cu:12:20: error: unknown type name 'half8'; did you mean 'half2'?\n",
            "checked and traffic do not have `half8` (/a b/x.cu:12)",
        ),
        (
            (
                "test.cu:2:30: error: variable or field 'k' declared void\n"
                "test.cu:2:30: error: 'foo_t' was not declared in this scope\n"
            ),
            "checked and traffic do not have `foo_t` (test.cu:2)",
        ),
        (
            "test.cu:1:10: fatal error: foo/bar.h: No such file or directory\n    1 | #include\n",
            "checked and traffic do not have the header `foo/bar.h` (test.cu:1)",
        ),
        (
            "In file included from x:1:\ntest.cu:9:10: fatal error: 'foo.cuh' file not found\n",
            "checked and traffic do not have the header `foo.cuh` (test.cu:9)",
        ),
        (
            (
                "test.cu:4:2: warning: 'x' was not declared in this scope\n"
                "test.cu:4:5: error: expected ';' before '}' token\n"
                "test.cu:5:5: error: 'y' was not declared in this scope\n"
            ),
            "test.cu:4:5: error: expected ';' before '}' token",
        ),
        ("\ncc1plus: out of memory\nmore\n", "cc1plus: out of memory"),
        ("", "the compiler failed and said nothing"),
    ],
)
def test_logs(log, expected):
    assert explain(KERNEL, log) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x[0] = __nv_foo(x[1]); }", "checked and traffic do not have `__nv_foo` (test.cu:3)"),
        ("half8 h; }", "checked and traffic do not have `half8` (test.cu:3)"),
        ("}\n#include <no/a.h>", "checked and traffic do not have the header `no/a.h` (test.cu:4)"),
        (
            'asm volatile("bar.sync 0;" ::: "memory", "q" x); }',
            "checked and traffic do not have inline PTX (`asm volatile` in line 3)",
        ),
    ],
)
def test_logs_of_the_compiler_at_hand(body, expected):
    text = f"\n{KERNEL}\n{body}"
    with pytest.raises(KernelCompileError) as caught:
        ENGINE.compile_kernels(KernelText("test.cu", text), ("k",))
    assert explain(text, caught.value.log) == expected


def test_an_error_of_the_kernel_itself_is_quoted():
    text = f"{KERNEL}\n  const int i = 3;\n  i = 4;\n}}"
    with pytest.raises(KernelCompileError) as caught:
        ENGINE.compile_kernels(KernelText("test.cu", text), ("k",))
    assert explain(text, caught.value.log).startswith("test.cu:3:")
