"""Whole programs in files: kernels run; host code that no kernel needs is left out."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudakern as ck
from cudakern.compilation import nvrtc
from cudakern.simulator import RawModule, checked
from cudakern.simulator.sources import host_code
from cudakern.simulator.sources.declarations import Unclear, declarations_of, tokens_of
from tests.helpers.rows import each
from tests.helpers.samples import sample

PROGRAMS = Path(__file__).parent / "programs"
N = 300
#: Functions, variables and types that NVRTC refuses, without anything that kernels need.
HOST_CODE = {
    "braces": 'void f() { std::cout << "}" << \'}\' << R"a(})" } )a"; /* } */ // }\n}',
    "splices": "void f() { std::cout << 1; // goes on \\\n } {\n}",
    "windows": "#define A \\\r\n }\r\nvoid f()\r\n{\r\n  std::cout << 1;\r\n}\r\n",
    "never": "#if 0\n don't { __global__ void k(int*) {\n#endif\nvoid f() { std::cout << 1; }",
    "branches": "#ifdef A\nvoid f(int) {\n#else\nvoid f() {\n#endif\n  std::cout << 1;\n}",
    "pragmas": "void f() {\n#pragma omp parallel for\n#define VALUE 3\n  std::cout << 1;\n}",
    "in C": 'extern "C" {\nvoid f() { std::cout << 1; }\n}\nextern "C" int g() { return cout; }',
    "nested": "namespace a { namespace { namespace b::c { void f() { std::cout << 1; } } } }",
    "template": "template <class T> void f(T) { std::cout << 1; }\ntemplate void f<int>(int);\n"
    "template <template <class> class C> void g(C<int>) { std::cout << 1; }",
    "launch": "template <int n> void f() { k<<<1, n>>>(nullptr); }\nvoid g() { f<3>(); }",
    "chain": "static void f() { abort(); }\nstatic void g() { f(); }\ninline void h() { g(); }",
    "members": "struct A { A(int x) : x{x}, y(cout) {} ~A() { abort(); } int x, y; void f(); };\n"
    "void A::f() { std::cout << x; }",
    "types": "typedef std::vector<float> V; using W = std::vector<V>; V f(W w) { return w[0]; }",
    "functions": "std::function<void(int)> f, g(a); std::string h(int), i;",
    "classes": "struct { std::string a; } a; typedef struct B { std::string b; } B, *C;\n"
    "struct D { struct { std::string d; }; }; struct E : std::exception { int e; } e;",
    "constants": "constexpr int f() { return std::max(1, 2); }\nconst int g = std::strlen(f());",
    "macros": "#define LOG(x) std::cerr << #x << '}'\nvoid f() { LOG(')'); }\nREGISTER(f);",
    "lambda": "auto f = [](int x) { return std::to_string(x); }, g = f;",
    "streams": "using std::cout; struct A { void p(std::ostream& o = cout) const; __host__ A(); "
    "int n; };\nvoid A::p(std::ostream& o) const { o << n; }",
    "C": "typedef struct { FILE* f; } A, *B; typedef struct C { pthread_t t; struct C* c; } "
    "C; void f(B b, C c);",
    "libraries": "#include <torch/extension.h>\n#include <stdarg.h>\n"
    "torch::Tensor f(torch::Tensor x) { CHECK(x); }\n"
    'PYBIND11_MODULE(NAME, m) { m.def("f", &f); }',
    "catches": 'std::once_flag a; extern "C" __attribute__((visibility("default"))) int f() {\n'
    "  try { std::call_once(a, f); } catch (const std::string& b) { return -1; }\n}",
    "memory": "struct A { void* operator new(size_t n) { abort(); } };\n"
    "struct B : A { static inline int f() { return rand(); } }; void f() { new B; B::f(); }",
    "spliced code": 'int f(int x) {\n  return x + 1 + \\\n    atoi("2"); \\ \r\n}',
    "specialised": "struct A { std::string a; template <class T> T get(int) const; };\n"
    "template <> inline bool A::get<bool>(int) const { return a.empty(); }\n"
    "namespace b { template <class T> struct C { std::string c; C(); void f() const; }; }\n"
    "template <> b::C<int>::C() { abort(); }\ntemplate <> void b::C<int>::f() const;\n"
    "template <class T> struct D { std::string d; D& operator+(T); ~D(); static int n[2]; };\n"
    "template <> D<int>& D<int>::operator+(int) { return *this; }\n"
    "template <> D<int>::~D() {}\ntemplate <> int D<int>::n[2] = {1, 2};",
    "extern": "extern std::vector<int> a, b;\nnamespace c { extern std::string d[2]; }\n"
    "extern int e;\nstd::vector<int> a = {1}, b;\nint e = rand();\n"
    "namespace c { std::string d[2]; }",
    "tables": "struct A { const char* a; void (*b)(); };\nvoid f() { std::cout << 1; }\n"
    'A a[] = {{"f", f}}; namespace b { static A c{"f", f}, d = {"f", f}; }',
    "started": "struct A { A(int x) : x(x) {} int x; }; int f() { return 3; }\n"
    "A a(f()), b[2] = {1, f()}; const int c = f(); static dim3 d = dim3(c); float e = expf(2);",
    "of the system": "#include <x86intrin.h>\n#include <error.h>\n#include <cuda_gl_interop.h>\n"
    "void f(GLuint x) { __rdtsc(); }",
    "of cuFFT": "#include <cufft.h>\n#include <cufftXt.h>\nvoid f(cufftHandle x) { abort(); }\n"
    "__device__ cufftReal g(cufftComplex x) { return cuCrealf(x); }",
    "casts": "std::vector<int> v(3); unsigned a = (unsigned)time(NULL);\n"
    "int f(int x) { return rand(); }\nint b = (int)v.size(), *c = (int*)malloc(4), d = (f)(3);\n"
    "bool e = v.size() > 2, g = b < 2;\nint h = v.size() > 3 ? 1 : 2, i = (int)sqrt(f(3));\n"
    'float j = (float)rand()/RAND_MAX; FILE* k_ = (FILE*)fopen("a", "r"); int l = (f(3), 2);\n'
    "struct S { static int* p; };\nint* S::p = (int*)malloc(4);\n"
    'extern "C" double t = (double)clock(); namespace n { int a = (int)time(0), b = a >> f(1); }\n'
    "int m = std::max<int>(1, f(1)), o = (int)std::map<int, float>().size(), q = f(2);",
    "pointers": "int (*a)(const char*) = atoi; static int (*const b[])(const char*) = {atoi};\n"
    "int f(const char* s) { return atoi(s); }\nint (*c)(const char*) = f, (*d)(const char*) = c;\n"
    "int (*e[])(const char*) = {f, f}; void (*g)(int) = exit, (*h)(int) = exit;\n"
    "namespace n { int (*a)(const char*) = f; }\nint (*i)[3] = (int (*)[3])malloc(4);\n"
    "void (*get(int x))(int) { abort(); }\ntypedef std::string (*T)(int); T t;\n"
    "struct A { int f(int); };\nint A::f(int) { abort(); }\nint (A::*p)(int) = &A::f;",
    "assertions": 'static_assert(sizeof(std::string) >= 8, "");',
    "bindings": 'auto [a, b] = std::make_pair(1, std::string("x"));\n'
    'const auto& [c, d] = std::make_pair(1, std::string("x"));',
    "operators": "std::ostream& operator<<(std::ostream& o, int x) { return o << x; }\n"
    "struct A { bool operator<(const A& a) const { return std::less<A>(); } };",
}
#: Kernels that need what NVRTC refuses, and the line of its error.
NEEDED = {
    "a type": ("struct A { std::string s; int n; };", "*x = sizeof(A);", 4),
    "a type of a macro": ("#define A std::string\n#line 3", "A s;", 4),
    "a function": ("int f() { std::cout << 1; return 3; }", "*x = f();", "_Z1fv"),
    "a function of a class": (
        "struct A { int f(); };\nint A::f() { abort(); }",
        "*x = A().f();",
        "_ZN1A1fEv",
    ),
    "a static function": ("static int f() { abort(); }", "*x = f();", "_Z1fv"),
    "a constant that hides": (
        "const int n = 1;\nnamespace a { const int n = std::min(2, 3);",
        "*x = n; }",
        5,
    ),
    "a type that hides": (
        "using T = int;\nnamespace a { using T = std::string;",
        "*x = sizeof(T); }",
        5,
    ),
    "a function that hides": (
        "int f(int) { return 1; }\nnamespace a { int f(int, std::missing = 0) { return 2; }",
        "*x = f(3); }",
        5,
    ),
    "a constructor": ("struct A { int n; A(int a = std::missing) {} };", "*x = A().n;", 4),
    "a structure": ("struct A { int n; union { int a; std::string s; }; };", "*x = sizeof(A);", 4),
    "an array of a macro": ("#define F(T) T a;\nstruct A { F(std::string) };", "A a;", 5),
    "an operator": (
        (
            "struct A { __device__ A(int) {} __device__ int operator+(A a) { return 1; } };\n"
            "int operator+(A a, int b) { abort(); }"
        ),
        "*x = A(1) + 1;",
        "_Zpl1Ai",
    ),
    "a special class": (
        (
            "template <class T> struct A { static const int n = 1; }; template <>\n"
            "struct A<int> { static const int n = 2; std::string s; };"
        ),
        "*x = A<int>::n;",
        5,
    ),
    "a special function": (
        "template <class T> int f(T) { return 1; }\ntemplate <> int f(int) { abort(); }",
        "*x = f(1);",
        "_Z1fIiEiT_",
    ),
    "a structure of a macro": ("struct A { int a; FIELD(b) };", "*x = sizeof(A);", 4),
    "a name of a header": ("int f(int);\nnamespace a { using std::f;", "*x = f(3); }", 5),
    "a function of an unknown macro": (
        "LIB_DEVICE int f(float);\n__device__ int f(double) { return 2; }",
        "*x = f(1.0f);",
        3,
    ),
    "an assertion": ("static_assert(1 == 2); std::string s;", "*x = 1;", 2),
    "the type of a parameter": ("", "std::vector<int> v;", 4),
}


SEVEN = "__global__ void k(int* x) { *x = 7; }"
#: Host code on lines of device code.
ON_ONE_LINE = (
    "static const int n = 7; std::vector<int> v(n);\n__global__ void k(int* x) { *x = n; }",
    f"/* \u00fc */\tstd::vector<int> v; {SEVEN} std::string s;\r\n",
    f"namespace {{ std::vector<int> v; {SEVEN} void f() {{ abort(); }} int a = (int)v.size(); }}",
    f"{SEVEN} int main() {{ k<<<1, 1>>>(nullptr); }}",
    f"{SEVEN} void (*p)(int*) = k, (*t[])(int*) = {{k, nullptr}};",
    f"{SEVEN} struct {{ int n; void (*p)(int*); }} t[] = {{{{1, k}}}}; int main() {{ abort(); }}",
    "struct A { std::string s; }; __global__ void k(int* x) { *x = sizeof(int) + 3; }",
)

#: Lines that a backslash splices, within tokens or with blanks behind it.
SPLICED = (
    "#define TWICE(a) \\ \n  ((a) + (a))\n__global__ void k(int* x) { *x = TWICE(3) + \\\t\r\n1; }",
    "__global__ void k(int* x) { *x = 7;  // or \\ \n  *x = 1;\n}",
    f"int lon\\\ng_name = 1\\\n2;\nvoid f() {{ std::vector<int> v; }}\n{SEVEN}",
    "vo\\\r\nid f() { abort(); }\r\n__glo\\\r\nbal__ void k(int* x) { *x = 7; }",
    f"/\\\n* }} *\\\n/ void f() {{ abort(); }} /\\\n/ }} {{ \\\n }}\n{SEVEN}",
    '__device__ char a[] = R"(\\\n\\ \na\\\na)"; __global__ void k(int* x) { *x = sizeof(a) - 3; }',
)


def program(tmp_path, text, name="mine.cu"):
    (tmp_path / name).write_text(text, newline="")
    return RawModule(path=str(tmp_path / name))


def test_a_tutorial():
    module = RawModule(path=str(PROGRAMS / "tutorial.cu"))
    rng = np.random.default_rng(1)
    x, y, scales = (rng.random(size, np.float32) for size in (N, N, 4))
    module.get_global("scales").view(np.float32)[:] = scales
    expected = np.float32(2) * x + y * scales[np.arange(N) % 4]
    module.get_function("saxpy")((2,), (128,), (np.int32(N), np.float32(2), x, y))
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    assert module.get_global("visits").view(np.uint32) == -(-N // 128)
    sums = np.empty(3, np.float32)
    with checked():
        module.get_function("block_sums")((3,), (128,), (np.int32(N), x, sums))
    np.testing.assert_allclose(sums, [part.sum() for part in np.split(x, [128, 256])], rtol=1e-5)
    with pytest.raises(ck.SimulatorError) as caught, checked():
        module.get_function("shifted")((3,), (128,), (np.int32(N), x, y))
    assert caught.value.findings[0].source == (
        str(PROGRAMS / "tutorial.cu"),
        line("tutorial.cu", "i + 1"),
    )


def test_a_program_of_classes():
    path = PROGRAMS / "classes.cu"
    names = ["app::reduce_rows<int, app::Plus<int>>", "app::reduce_rows<float, app::Plus<float>>"]
    module = RawModule(path=str(path), name_expressions=names)
    matrix = np.dtype([("rows", np.int32), ("columns", np.int32), ("data", np.uint64)])

    def given(values):
        return np.array((*values.shape, values.ctypes.data), matrix)[()]

    for name, dtype in zip(names, (np.int32, np.float32), strict=True):
        values, out = np.arange(15, dtype=dtype).reshape(3, 5), np.empty(3, dtype)
        with checked(arrays=[values]):
            module.get_function(name)((1,), (32,), (given(values), out, np.zeros(1, np.uint8)[0]))
        np.testing.assert_array_equal(out, values.sum(1))
    values = np.arange(15, dtype=np.float32).reshape(3, 5)
    result = np.empty((5, 3), np.float32)
    module.get_function("transpose")((1,), (32,), (given(values), given(result)))
    np.testing.assert_array_equal(result, values.T)
    with pytest.raises(ck.SimulatorError) as caught, checked(arrays=[values]):
        module.get_function("doubled")((1,), (3,), (given(values),))
    places = [
        place for finding in caught.value.findings for place in (finding.source, *finding.stack)
    ]
    assert (str(path), line("classes.cu", "*= 2")) in places


def test_a_solver():
    """Kernels' classes have bases, functions and instances for the host; CUB is complete."""
    module = RawModule(path=str(PROGRAMS / "solver.cu"), name_expressions=["smoothed"])
    nodes, out = np.zeros(64, [("value", np.float32), ("id", np.int32)]), np.empty(64, np.float32)
    nodes["value"] = np.arange(64)
    energy = nodes["value"] ** 2 / 2
    for edge, after in ((0, energy[-1]), (2, energy[0])):
        following = np.append(energy[1:], after)
        arguments = (nodes, out, np.int32(64), np.int8(edge))
        module.get_function("smoothed")((1,), (64,), arguments)
        np.testing.assert_array_equal(out, (energy + following) / 2)
    module.get_function("total")((1,), (64,), (nodes, out))
    assert out[0] == nodes["value"].sum() + 1


def line(name, text):
    """Return the line of a program that has a text."""
    lines = (PROGRAMS / name).read_text().splitlines()
    return next(number for number, one in enumerate(lines, 1) if text in one)


@each("name", sample(HOST_CODE, 2))
def test_host_code_goes_and_the_rest_stays(tmp_path, name):
    text = (
        f"#include <iostream>\n#include <vector>\n{HOST_CODE[name]}\n"
        "__device__ int three() { return 3; }\nint plain(int x) { return x + 1; }\n"
        'extern "C" __global__ void k(int* x) { x[0] = plain(three()); }\n'
        "int main() { std::cout << 1; }\n"
        'extern "C" __global__ void faulty(int* x) {\n  x[1] = 0;\n}'
    )
    module, x = program(tmp_path, text), np.zeros(1, np.int32)
    with pytest.raises(ck.SimulatorError) as caught, checked():  # noqa: PT012
        module.get_function("k")((1,), (1,), (x,))
        module.get_function("faulty")((1,), (1,), (x,))
    assert x == 4
    assert caught.value.findings[0].source == (str(tmp_path / "mine.cu"), text.count("\n"))


def find_result(module):
    x = np.zeros(1, np.int32)
    module.get_function("k")((1,), (1,), (x,))
    return x[0]


@each("text", ON_ONE_LINE)
def test_host_code_on_lines_of_device_code(tmp_path, text):
    assert find_result(program(tmp_path, text)) == 7


@each("text", SPLICED)
def test_spliced_lines(tmp_path, text):
    assert find_result(program(tmp_path, text)) == 7


def test_spliced_lines_keep_numbers(tmp_path):
    (tmp_path / "seven.h").write_text("#define SEVEN \\ \n  7\nint lo\\\nud = 1; void f();\n")
    text = '#include "seven.h"\nint lo\\\nng_one = 1; int main() { abort(); }\n'
    text += "__global__ void k(int* x) {\n  x[\\ \n  1] = SEVEN;\n}\n"
    with pytest.raises(ck.SimulatorError) as caught, checked():
        find_result(program(tmp_path, text))
    (finding,) = caught.value.findings
    assert finding.source == (str(tmp_path / "mine.cu"), 6)
    assert finding.code == "  1] = SEVEN;"


def test_headers_that_macros_name(tmp_path):
    (tmp_path / "mine.h").write_text("inline void f() { abort(); }\n#define SEVEN 7\n")
    text = '#define HEADER "mine.h"\n#define OTHER <vector>\n#include HEADER\n# include OTHER\n'
    text += "std::vector<int> v;\n__global__ void k(int* x) { *x = SEVEN; }"
    assert find_result(program(tmp_path, text)) == 7


@each("name", NEEDED)
def test_what_a_kernel_needs_is_told(tmp_path, name):
    before, body, wanted = NEEDED[name]
    text = (
        f"#include <string>\n{before}\n"
        f'extern "C" __global__ void k(int* x) {{\n{body}\n}}\nint main() {{ std::cout << 1; }}\n'
    )
    with pytest.raises(ck.KernelCompileError) as caught:
        program(tmp_path, text).compile()
    said = str(caught.value)
    wanted = f"mine.cu({wanted}): error" if isinstance(wanted, int) else f"kernels need {wanted}, "
    assert wanted in said
    assert "nvcc -ptx mine.cu -o mine.ptx" in said
    assert 'mine.cu(1): catastrophic error: cannot open source file "string"' in caught.value.log


def test_errors_of_kernels_come_first(tmp_path):
    text = "__global__ void k(int* x) {\n  *x = missing;\n}\n"
    main = "#include <iostream>\nint main() { std::cout << 1; }\n"
    for whole in (text, text + main, f"enum {{ a = std::missing }};\n{text}{main}"):
        with pytest.raises(
            ck.KernelCompileError, match='identifier "missing" is undefined'
        ) as caught:
            program(tmp_path, whole).compile()
        assert ("nvcc -ptx" in str(caught.value)) == (whole != text)
        assert f"mine.cu({3 if whole[0] == 'e' else 2}): error" in str(caught.value)


def test_only_files_have_host_code():
    with pytest.raises(ck.KernelCompileError, match="iostream"):
        RawModule(code="#include <iostream>\nint main() {}", jitify=True).compile()
    with pytest.raises(ck.KernelCompileError, match="cudaMalloc"):
        RawModule(code="int main() { cudaMalloc(0, 1); }").compile()


def test_headers_with_host_code(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "utils.h").write_text(
        '#pragma once\n#include <string>\n#include "../device.h"\n'
        "inline void log(std::string text) { std::cerr << text; }\n"
    )
    (tmp_path / "device.h").write_text(
        "#pragma once\ninline int host() { abort(); }\n"
        "__device__ void set(int* x, int at) {\n  x[at] = 7;\n}\n"
    )
    text = (
        '#include "below/utils.h"\n#include "device.h"\n'
        'extern "C" __global__ void k(int* x, int at) { set(x, at); }\n'
    )
    module, x = program(tmp_path, text), np.zeros(1, np.int32)
    module.get_function("k")((1,), (1,), (x, np.int32(0)))
    assert x == 7
    with pytest.raises(ck.SimulatorError) as caught, checked():
        module.get_function("k")((1,), (1,), (x, np.int32(1)))
    file, number = caught.value.findings[0].source
    assert (Path(file).resolve(), number) == ((tmp_path / "device.h").resolve(), 4)


def test_headers_that_headers_include(tmp_path):
    """Each is found beside the one that includes it, whatever others have its name."""
    texts = {
        "a/first.h": '#include "same.h"\n#include "deep/next.h"\n#include <wide.h>',
        "a/same.h": "__device__ int same() { return 1; }",
        "a/deep/next.h": '#include "same.h"\n#include "../../up.h"',
        "a/deep/same.h": "#pragma once\n__device__ int deep_same() { return 10; }",
        "up.h": "__device__ int up() { return 100; }",
        "below/wide.h": '#include "same.h"',
        "below/same.h": "__device__ int wide_same() { return 1000; }",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        host = f"inline void host_{len(text)}() {{ std::string s; }}"
        (tmp_path / name).write_text(
            f"{text}\n{host if name in {'a/deep/next.h', 'below/wide.h'} else ''}\n"
        )
    kernel = (
        'extern "C" __global__ void k(int* x) {\n  *x = same() + deep_same() + up() + wide_same();'
    )
    (tmp_path / "mine.cu").write_text(
        f'#include "a/first.h"\n{kernel}\n}}\nint main() {{ abort(); }}'
    )
    x = np.zeros(1, np.int32)
    module = RawModule(path=str(tmp_path / "mine.cu"), options=(f"-I{tmp_path / 'below'}",))
    module.get_function("k")((1,), (1,), (x,))
    assert x == 1111


@each("encoding", ["latin-1", "gbk", "utf-8-sig", "utf-16", "utf-16-be"])
def test_encodings(tmp_path, encoding):
    """Comments may have any text, in the file and its headers, and lines keep their numbers."""
    words = "\u00e9t\u00e9" if encoding == "latin-1" else "\u8a31\u529f"
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    header = f"{mark}// {words} */\n__device__ int two() {{ return 2; }}\n"
    (tmp_path / "two.h").write_bytes(header.encode(encoding))
    text = f'{mark}#include "two.h"\n// {words} */\nint main() {{ std::cout << "{words}"; }}\n'
    text += 'extern "C" __global__ void k(int* x) {\n  x[0] = two();\n}\n'
    (tmp_path / "mine.cu").write_bytes(text.encode(encoding))
    module, x = RawModule(path=str(tmp_path / "mine.cu")), np.zeros(1, np.int32)
    with checked():
        module.get_function("k")((1,), (1,), (x,))
    assert x == 2
    with pytest.raises(ck.SimulatorError) as caught, checked():
        module.get_function("k")((1,), (1,), (x[:0],))
    (finding,) = caught.value.findings
    assert finding.source == (str(tmp_path / "mine.cu"), 5)
    assert finding.code == "  x[0] = two();"
    assert "k(int* x)" in repr(module.get_function("k"))


def test_zeros_in_comments(tmp_path):
    text = f'/* \0 */ {SEVEN} // "\0"\nint main() {{ abort(); }}'
    assert find_result(program(tmp_path, text)) == 7
    with pytest.raises(ck.BindingError, match="got other bytes"):
        program(tmp_path, f'{SEVEN} const char* a = "// \0";')


def test_bytes_of_texts_stay(tmp_path):
    text = 'extern "C" __global__ void k(int* x) { *x = (unsigned char)"?"[0] + sizeof("?"); }'
    (tmp_path / "mine.cu").write_bytes(text.encode().replace(b"?", b"\xe9"))
    x = np.zeros(1, np.int32)
    RawModule(path=str(tmp_path / "mine.cu")).get_function("k")((1,), (1,), (x,))
    assert x == 0xE9 + 2


@each("include", ["bits/stdc++.h", "algorithm", "vector"])
def test_what_standard_headers_include(tmp_path, include):
    text = f"""#include <{include}>
std::vector<int> v; std::map<int, int> m;
extern "C" __global__ void k(int* x) {{
  *x = std::numeric_limits<short>::max() + std::max(1, 2) + std::pair<int, int>(1, 3).second;
}}"""
    x = np.zeros(1, np.int32)
    program(tmp_path, text).get_function("k")((1,), (1,), (x,))
    assert x == 32767 + 2 + 3


def test_the_last_errors_are_told(tmp_path, monkeypatch):
    """An error without a line is not taken for that of a launch."""

    def compile_program(program):
        if "<<<" in program.text:
            return original(program)
        raise ck.KernelCompileError(program.name, program.options, "NVVM gave up")

    original = nvrtc.compile
    monkeypatch.setattr(nvrtc, "compile", compile_program)
    text = "__global__ void k(int* x);\nint main() { k<<<1, 1>>>(nullptr); }\n"
    text += f"__global__ void k(int* x) {{ *x = 1; }}  // {tmp_path}"
    with pytest.raises(ck.KernelCompileError, match="front end and said: NVVM gave up; if nvcc"):
        program(tmp_path, text).compile()


def test_failures_behind_the_front_end(tmp_path, monkeypatch):
    """The log has only warnings of the front end, and words of NVVM."""

    def compile_program(program):
        log = "mine.cu(1): warning #177-D: unused\n  a;\n  ^\n\nRemark: of it\n\nmine.cu: bad"
        raise ck.KernelCompileError(program.name, program.options, log)

    monkeypatch.setattr(nvrtc, "compile", compile_program)
    module = program(tmp_path, f"{SEVEN}  // {tmp_path}")
    with pytest.raises(ck.KernelCompileError, match=r"compile; NVRTC failed .*: mine\.cu: bad"):
        module.compile()


def test_errors_of_launches_come_last(tmp_path):
    text = "__global__ void k(int* x);\n#line 2\nint main() { k<<<1, 1>>>(nullptr); }\n"
    text += "__global__ void k(int* x) { *x = missing; }"
    with pytest.raises(ck.KernelCompileError, match=r'\(3\): error: identifier "missing"'):
        program(tmp_path, text).compile()


def test_the_result_is_kept(tmp_path, monkeypatch):
    """NVRTC compiles the kernels alone once, and again only if other code would be left out."""
    asked = []

    def compile_program(program):
        asked.append(program.text)
        return original(program)

    original = nvrtc.compile
    monkeypatch.setattr(nvrtc, "compile", compile_program)
    unique = hashlib.sha256(str(tmp_path).encode()).hexdigest()
    kernel = f'// {unique}\nextern "C" __global__ void k(int* x) {{ *x = 1; }}\n'
    program(tmp_path, kernel).compile()
    assert len(asked) == 1
    program(tmp_path, kernel + "int main() { std::cout << 1; }").compile()
    assert len(asked) == 4
    program(tmp_path, kernel + "int main() { std::cout << 1; }").compile()
    assert len(asked) == 4
    monkeypatch.setattr(host_code, "digest_code", lambda: "other")
    program(tmp_path, kernel + "int main() { std::cout << 1; }").compile()
    assert len(asked) == 7


WORDS = """// /* */ <% %> operator 1'0 public: f(){ template< R"( )" template<template a() try{}
struct enum namespace catch"""
PIECES = [*"{}()[]<>;:'\"\\#\n*/=, é", *WORDS.split(), "\n#if 0\n", "\n#else\n", "\n#endif\n"]
PIECES += ["\n#define A }\n", "\r\n", "\\\n", "class A", 'extern "C" ', "catch (", " x "]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_declarations_lie_in_their_text(text):
    try:
        tokens = tokens_of(text)
        declarations = declarations_of(text, tokens)
    except Unclear:
        return

    for one in declarations:
        assert 0 <= one.start <= one.body <= one.end <= len(text)
        assert one.start < one.end
