"""RawKernel: CuPy's constructor and call with NumPy arrays; what they take and refuse."""

from __future__ import annotations

import copy
import pickle
import re
from contextlib import nullcontext

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule
from cudakern.simulator.sources import text_to_ptx as compiling
from tests.helpers.rows import each

ADD = """
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
"""
STORE = "template <typename T> __global__ void store(T* x, T value) { *x = value; }"
TYPES = {
    "signed char": np.int8,
    "short": np.int16,
    "int": np.int32,
    "long long": np.int64,
    "unsigned char": np.uint8,
    "unsigned short": np.uint16,
    "unsigned": np.uint32,
    "size_t": np.uint64,
    "float": np.float32,
    "double": np.float64,
    "bool": np.bool_,
}
STORES = RawModule(code=STORE, name_expressions=[f"store<{kind}>" for kind in TYPES])


BOTH_MODES = each("mode", [nullcontext, ck.simulator.checked])


def ran(code, *arguments, grid=(1,), block=(1,), name="k", **options):
    """Run a kernel and return its first argument."""
    RawKernel(code, name, **options)(grid, block, arguments)
    return arguments[0]


def kernel(parameters, body, before="", name="k"):
    return f'{before}\nextern "C" __global__ void {name}({parameters}) {{ {body} }}'


def test_call():
    add = RawKernel(ADD, "add")
    x, y = np.arange(10, dtype=np.float32), np.full(10, 2, np.float32)
    z = np.zeros(10, np.float32)
    assert add((3,), (4,), (x, y, z, np.int32(9))) is None
    assert z.tolist() == [*range(2, 11), 0]
    add((3,), (4,), [x, z, z, 10])  # arguments in a list, a Python integer
    assert z.tolist() == [2, 4, 6, 8, 10, 12, 14, 16, 18, 9]
    assert (add.name, add.code, add.options) == ("add", ADD, ())


@BOTH_MODES
def test_numbers_below_one_count_as_one(mode):
    x = np.zeros(1, np.int32)
    code = kernel("int* x", "atomicAdd(x, gridDim.x * gridDim.y + blockDim.x * blockDim.z);")
    with mode():
        RawKernel(code, "k")((0, 2), (-3, 1, 0), (x,))
    assert x == 2 * 3


SCALARS = [
    *((kind, np.array(-3).astype(dtype)[()]) for kind, dtype in TYPES.items()),
    *(("signed char", -128), ("unsigned char", 255), ("short", -5), ("int", -(2**31))),
    *(("unsigned", 2**32 - 1), ("long long", -(2**63)), ("size_t", 2**64 - 1)),
    *(("bool", True), ("double", 0.1)),
]


@each("kind, value", SCALARS)
def test_scalars_go_by_their_type(kind, value):
    """Python's scalars take the parameter's type."""
    x = np.zeros(2, TYPES[kind])
    STORES.get_function(f"store<{kind}>")((1,), (1,), (x, value))
    assert x.tolist() == [value, 0]


class Foreign:
    """Stands for an array of another library."""

    dtype, shape, size = np.dtype(np.float32), (3,), 3
    __cuda_array_interface__: dict = {}  # noqa: RUF012


INTEGER = "an integer, since the parameter is one"
FLOATING = "a floating-point number, since the parameter is one"
#: PTX does not distinguish pointers from integers of the same size.
WORD = "an array, an address or an integer, since the parameter is a pointer or an integer"
KINDS = {
    "const float* __restrict__ const": WORD,
    "int**": WORD,
    "void*": WORD,
    "long long": WORD,
    "size_t": WORD,
    "E": WORD,
    "int": INTEGER,
    "bool": INTEGER,
    "double": FLOATING,
    "const double": FLOATING,
    "float": FLOATING,
    "unsigned char": INTEGER,
    "signed char": INTEGER,
    "float4": "",
    "Triple": "",
}
#: A kernel for each kind of parameter.
TAKERS = RawModule(
    code="enum class E : long long { kOne }; struct Triple { int a, b, c; };"
    + "".join(
        kernel(f"int* x, {kind} value", "*x = 6;", name=f"k{i}") for i, kind in enumerate(KINDS)
    )
)
ARRAY = np.zeros(1)
USE = r"; use np.{}\(args\[1\]\)"
OTHER_SIZE = [  # kind, value, name of the value in the message
    *(("unsigned char", 256, 256), ("signed char", -129, -129), ("int", 2**32, 2**32)),
    ("size_t", 2**64, 2**64),
    # CuPy would pass eight bytes, and the kernel read four; and then it would read four beyond.
    ("int", np.int64(1), f"int64{USE.format('int32')}"),
    ("long long", np.int32(1), f"int32{USE.format('int64')}"),
    ("size_t", np.uint8(1), f"uint8{USE.format('uint64')}"),
    ("int", True, f"bool{USE.format('int32')}"),
    ("float", 1.5, f"float64{USE.format('float32')}"),
    ("double", np.float32(1), f"float32{USE.format('float64')}"),
    ("float4", 3, 3),
    *(
        ("Triple", x, "an array")
        for x in (np.zeros(2, "V12"), np.zeros(1, "V8"), np.zeros(12, "B"))
    ),
]
WRONG = [
    *((kind, 0.5, "the float 0.5") for kind in KINDS if KINDS[kind] in {WORD, INTEGER}),
    *((kind, ARRAY, "an array") for kind in KINDS if KINDS[kind] in {INTEGER, FLOATING}),
    *((kind, None, "None") for kind in KINDS if KINDS[kind] in {INTEGER, FLOATING}),
    *(
        (kind, 3, f"the int 3{USE.format('float32' if kind == 'float' else 'float64')}")
        for kind in KINDS
        if KINDS[kind] == FLOATING
    ),
    ("double", np.array(3), r"an array; use np.float64\(args\[1\].item\(\)\)"),
    ("int", np.array(3), r"an array; use np.int32\(args\[1\].item\(\)\)"),
    ("int", np.array(3.5), "an array"),
    ("int**", np.float64(-2), "the float64 -2.0"),
    ("int**", np.complex64(1j), "the complex64 1j"),
    ("int**", 1j, "the complex 1j"),
    ("int**", True, f"the bool True{USE.format('int64')}"),
    ("int**", np.True_, f"the bool True{USE.format('int64')}"),
    ("size_t", np.float64(7), "the float64 7.0"),
    ("double", np.int64(7), f"the int64 7{USE.format('float64')}"),
    ("double", np.uint64(7), f"the uint64 7{USE.format('float64')}"),
    ("double", np.complex64(1j), "the complex64 1j"),
    ("double", 1j, "the complex 1j"),
    ("double", True, f"the bool True{USE.format('float64')}"),
]
NO_SCALARS = [
    ([1, 2], "list"),
    ("x", "str"),
    (Foreign(), "tests.Foreign"),
    (np.str_("xy"), "numpy.str_"),
]
NATIVE = r'; use args\[1\]\.astype\(args\[1\]\.dtype\.newbyteorder\("="\)\)'
REFUSED = [  # kind, value, class of the error, message
    *((kind, v, ck.BindingError, f"must be {KINDS[kind]}; got {what}") for kind, v, what in WRONG),
    *(
        (kind, value, ck.BindingError, rf"must fit a parameter of \d+ bytes; got {what}")
        for kind, value, what in OTHER_SIZE
    ),
    *(
        ("void*", v, ck.DTypeError, f"must be an array or a scalar; got {name}")
        for v, name in NO_SCALARS
    ),
    ("Triple", None, ck.DTypeError, "must be an array or a scalar; got NoneType"),
    ("void*", np.zeros(1, object), ck.DTypeError, "must hold what a GPU can; got object"),
    ("void*", np.zeros(1, ">f4"), ck.DTypeError, f"must hold what a GPU can; got >f4{NATIVE}"),
]


@BOTH_MODES
@each("kind, value, error, message", REFUSED)
def test_an_argument_is_of_its_parameters_kind(mode, kind, value, error, message):
    """Many values have the parameter's size, but the kernel would misread their bits."""
    x, taker = np.full(1, 5, np.int32), TAKERS.get_function(f"k{[*KINDS].index(kind)}")
    with pytest.raises(error, match=rf"^{taker.name}: args\[1\] {message}$"), mode():
        taker((1,), (1,), (x, value))
    assert x == 5, "it was launched"


@each("value", [0, None, np.uint64(0), np.int64(0), np.zeros(1, "V8")[0]])
def test_what_a_pointer_takes_besides_arrays(value):
    code = kernel("int* x, const double* y", "*x = y == nullptr;")
    assert ran(code, np.zeros(1, np.int32), value).tolist() == [1]


def test_an_address_for_a_pointer():
    x, y = np.zeros(1), np.full(1, 2.5)
    address = y.__array_interface__["data"][0]
    for value in (address, np.uint64(address), np.int64(address)):
        assert ran(kernel("double* x, const double* y", "*x += *y;"), x, value)
    assert x == 7.5


@each("value", [ARRAY, 1, 1.5, np.complex64(1)])
def test_structures_take_whatever_has_their_size(value):
    code = kernel("int* x, S s", "*x = sizeof(s);", "struct S { float* first; };")
    assert ran(code, np.zeros(1, np.int32), value).tolist() == [8]


def test_views_give_the_address_of_their_first_element():
    x = np.arange(12, dtype=np.int32)
    code = kernel("int* x", "x[0] += 100; x[-1] += 1000;")
    ran(code, x[4::3])
    ran(code, x[::-2])
    assert x.tolist() == [0, 1, 2, 1003, 104, 5, 6, 7, 8, 9, 1010, 111]
    assert ran(kernel("int* x", "*x = 5;"), np.array(3, np.int32)) == 5


START = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x) "
HUGE = 10**5000  # which Python refuses to print
ODD = type("Odd", (), {"__index__": lambda _: 1 // 0, "__repr__": len})()  # whose methods fail
NO_INTEGERS = [None, 1.5, np.bool_("true"), np.ones(2, int), np.datetime64("2020"), HUGE, ODD]
TYPE, VALUE = ck.DTypeError, ck.BindingError
SIZES = "must be a tuple of one to three integers; got "
#: What is no tuple of integers, and the tuple that it is meant for, if that is known.
NO_SIZES = [
    *[(1, (1,)), ([7], (7,)), (np.int64(7), (7,)), (np.array([7, 2]), (7, 2)), ({7}, (7,))],
    *[((1.0,), (1,)), ((3.5, 2), (4, 2)), (2.5, (3,)), ((np.float32(2),), (2,)), ([3.5], (4,))],
    *[((True,), (1,)), (True, (1,)), ("1", None), (("1",), None), (None, None), ((None,), None)],
    *[((np.nan,), None), ((1, (1,)), None), ((1.0,) * 4, None), (iter((1,)), None)],
]
NO_ARGUMENTS = [None, 5, np.float32(1), np.array(1), object, iter([0])]
BLOCK = "must be at least (1, 1, 1) and at most (1024, 1024, 64); got"
GRID = "must be at least (1, 1, 1) and at most (2147483647, 65535, 65535); got"
SETTABLE = "max_dynamic_shared_size_bytes"
THREADS = "must have at most 1024 threads; got"
LAUNCHES = [
    pytest.param(which, value, error, f"{which} {said}", id=f"{said} of a {type(value).__name__}")
    for error, which, rows in [
        (VALUE, "grid", [(sizes, f"{SIZES}{sizes}") for sizes in [(), (1, 1, 1, 1)]]),
        (VALUE, "block", [(sizes, f"{SIZES}{sizes}") for sizes in [(), (1, 1, 1, 1)]]),
        *[
            (TYPE, which, [
                (sizes, f"{SIZES}{sizes!r}" + (f"; did you mean {meant}?" if meant else ""))
                for sizes, meant in NO_SIZES
            ])
            for which in ("grid", "block")
        ],
        (TYPE, "grid", [(ODD, f"{SIZES}<Odd>"), ((ODD,), f"{SIZES}<tuple>")]),
        (VALUE, "block", [
            ((2048,), f"{THREADS} 2048 in (2048, 1, 1)"),
            ((32, 33), f"{THREADS} 1056 in (32, 33, 1)"),
            ((HUGE,), f"{THREADS} <int> in <tuple>"),
            ((1, 1, 65), f"{BLOCK} (1, 1, 65)"),
        ]),
        (VALUE, "grid", [
            ((1, 65536), f"{GRID} (1, 65536, 1)"),
            ((2**31,), f"{GRID} (2147483648, 1, 1)"),
            ((HUGE,), f"{GRID} <tuple>"),
        ]),
        (TYPE, "args", [
            (given, f"must be a tuple of the kernel's arguments; got {given!r}")
            for given in NO_ARGUMENTS
        ]),
        (VALUE, "args", [((HUGE,), "[0] must fit a parameter of 8 bytes; got <int>")]),
        (TYPE, "stream", [(0, "must be None or a stream; got 0")]),
        (VALUE, "shared_mem", [
            (49153, f"must be at most {SETTABLE}, 49152, which can be set; got 49153"),
            (232449, "must be at most 232448; got 232449"),
            (-1, "must be at least 0; got -1"),
        ]),
    ]
    for value, said in rows
]  # fmt: skip


def launch(which, value):
    """Launch a kernel of one pointer with an argument of the launch replaced."""
    k = RawKernel(kernel("int* x", ""), "k")
    k(**{"grid": (1,), "block": (1,), "args": (None,), which: value})


@BOTH_MODES
@each("which, value, error, said", LAUNCHES)
def test_launches_that_are_refused(mode, which, value, error, said):
    said = said.replace("args [", "args[")
    with pytest.raises(error, match=rf"^k: {re.escape(said)}$"), mode():
        launch(which, value)


@BOTH_MODES
@each("value", NO_INTEGERS)
def test_shared_memory_that_is_no_integer(mode, value):
    with (
        pytest.raises(ck.DTypeError, match=r"^k: shared_mem must be an int.*; got [^\n]+$"),
        mode(),
    ):
        launch("shared_mem", value)


COUNTS = {
    kernel("float* x, int n", ""): "2 entries, for (float* x, int n)",
    kernel("const float * __restrict__ x,\n S s", "", "struct S { int a; };"): (
        "2 entries, for (const float * __restrict__ x, S s)"
    ),
    kernel("", ""): "0 entries, for ()",
    kernel("int* x", ""): "1 entry, for (int* x)",
    "#define K __global__ void k\n"
    + 'extern "C" K(int* x, float y, S s) {}'.replace("S", "int4"): (
        "3 entries, for (word of 8 bytes, floating of 4 bytes, other of 16 bytes)"
    ),
    START + "{ ret; }": "1 entry, for (.u64 x)",
}


@BOTH_MODES
@each("given", [[None] * 5, np.zeros((5, 2)), ()])
@each("code", COUNTS)
def test_a_wrong_number_of_arguments(mode, code, given):
    if len(given) == 0 and COUNTS[code].startswith("0"):
        return
    found = "an array" if isinstance(given, np.ndarray) else len(given)
    said = re.escape(f"k: args must have {COUNTS[code]}; got {found}")
    with pytest.raises(ck.BindingError, match=f"^{said}$"), mode():
        RawKernel(code, "k")((1,), (1,), given)


def test_a_block_of_more_threads_than_the_kernel_says():
    code = 'extern "C" __global__ void __launch_bounds__(96) k(int* x) { *x = blockDim.x; }'
    x = np.zeros(1, np.int32)
    assert ran(code, x, block=(96,)) == 96
    said = r"^k: block must have at most 96 threads, as the kernel says; got 97 in \(97, 1, 1\)$"
    with pytest.raises(ck.BindingError, match=said):
        ran(code, x, block=(97,))


def test_sizes_of_shared_memory_are_integers():
    k = RawKernel(kernel("int* x", "/* shared */"), "k")
    for value in (*NO_INTEGERS, -1, 2**70):
        with pytest.raises((ck.DTypeError, ck.BindingError)) as caught:
            k.max_dynamic_shared_size_bytes = value
        said = r"(be an int[^\n]*|lie in \[0, 232448\]); got [^\n]+"
        assert re.fullmatch(f"k: max_dynamic_shared_size_bytes must {said}", str(caught.value))
    k.max_dynamic_shared_size_bytes = np.int64(100)
    k((np.uint8(1),), (np.int64(1),), (None,), shared_mem=np.int16(100))


def test_what_a_program_asks_for_is_the_functions():
    """As with CUDA, which keeps it for the function of a module in this process alone."""
    code = kernel("int* x", "extern __shared__ int s[]; s[*x] = 1; *x = s[*x];")
    k, other = RawKernel(code, "k"), RawKernel(code, "k", ("-DOTHER",))
    assert (k.max_dynamic_shared_size_bytes, k.preferred_shared_memory_carveout) == (49152, -1)
    k.max_dynamic_shared_size_bytes, k.preferred_shared_memory_carveout = 80_000, 30
    for same in (k, RawKernel(code, "k"), copy.copy(k), pickle.loads(pickle.dumps(k))):  # noqa: S301
        attributes = same.attributes
        assert attributes["max_dynamic_shared_size_bytes"] == 80_000
        assert attributes["preferred_shared_memory_carveout"] == 30
        x = np.full(1, 17_000, np.int32)
        same((1,), (1,), (x,), shared_mem=80_000)
        assert x == 1
    assert (other.max_dynamic_shared_size_bytes, other.preferred_shared_memory_carveout) == (
        *(49152, -1),
    )
    for percent in (-2, 101):
        message = rf"^k: preferred_shared_memory_carveout must lie in \[-1, 100\]; got {percent}$"
        with pytest.raises(ck.BindingError, match=message):
            k.preferred_shared_memory_carveout = percent


def test_attributes_are_of_the_kernel():
    code = """extern "C" __global__ void __launch_bounds__(96) k(int* x) {
      __shared__ int s[300]; s[threadIdx.x] = *x; *x = s[threadIdx.x ^ 1];
    }"""
    k = RawKernel(code, "k", ("-arch=sm_80",))
    assert k.attributes == {
        "max_threads_per_block": 96,
        "shared_size_bytes": 1200,
        "ptx_version": 90,
        "max_dynamic_shared_size_bytes": 48 * 1024 - 1200,
        "preferred_shared_memory_carveout": -1,
    }
    with pytest.raises(AttributeError, match=r"num_regs is not there; only a GPU's machine code"):
        k.num_regs  # noqa: B018
    with pytest.raises(AttributeError, match=r"^RawKernel: kernel is not there$"):
        k.kernel  # noqa: B018


@each(
    "arguments, message",
    [
        ({"code": b"x"}, "code must be a str; got b'x'$"),
        ({"code": np.str_(ADD)}, "code must be a str; got a str_$"),
        ({"code": "\0"}, "code must be text that UTF-8 can hold, without NUL$"),
        ({"code": "\udc80"}, "code must be text that UTF-8 can hold, without NUL$"),
        ({"name": HUGE}, "name must be a str; got <int>$"),
        ({"name": "a\nb"}, "name must be text that UTF-8 can hold, without NUL or line breaks$"),
        ({"name": ""}, "name must not be empty$"),
        ({"options": ("-DA\0",)}, "options must be text that UTF-8 can hold, without NUL or line"),
        (
            {"options": ["-DA"]},
            r"options must be a tuple; got \['-DA'\]; did you mean \('-DA',\)\?$",
        ),
        ({"options": "-DA"}, r"options must be a tuple; got '-DA'; did you mean \('-DA',\)\?$"),
        ({"options": [1]}, r"options must be a tuple; got \[1\]$"),
        (
            {"code": "add", "name": ADD},
            "name must be a kernel's name; .*: code and name are swapped$",
        ),
        ({"options": (HUGE,)}, "options must be strings; got <int>$"),
        ({"backend": "hip"}, "backend must be nvrtc or nvcc; got 'hip'"),
        ({"backend": []}, r"backend must be nvrtc or nvcc; got \[\]$"),
        ({"jitify": np.zeros(2)}, r"jitify must be True or False; got array\(\[0., 0.\]\)$"),
        ({"jitify": True, "backend": "nvcc"}, "jitify must go with backend='nvrtc'; got 'nvcc'$"),
    ],
    ids=lambda row: row[1],
)
def test_constructor(arguments, message):
    with pytest.raises((ck.DTypeError, ck.BindingError), match=f"^RawKernel: {message}"):
        RawKernel(**{"code": ADD, "name": "add", **arguments})
    assert RawKernel(ADD, "add", (), "nvcc").compile() is None
    true = RawKernel(ADD, "add", translate_cucomplex=0, enable_cooperative_groups=1, jitify=None)
    assert true.enable_cooperative_groups is True


COMPLEX = """#include <cuComplex.h>
extern "C" __global__ void k(cuDoubleComplex* x) {
  *x = cuCmul(*x, make_cuDoubleComplex(0, 2));
  static_assert(SAME, "");
}"""


@each("translate", [False, True])
def test_complex_numbers_of_cuda_or_of_cupy(translate):
    if translate:
        pytest.importorskip("cupy", reason="CuPy is not installed")
    same = "sizeof(thrust::complex<double>) == 16" if translate else "true"
    x = np.full(1, 3 - 1j)
    ran(COMPLEX.replace("SAME", same), x, translate_cucomplex=translate)
    assert x == 2 + 6j


SPACE = "namespace a { __global__ void store(int* x) { *x = 3; } }"
TAKE = 'declare it extern "C", or take RawModule\\(code=..., name_expressions=\\['


@each(
    "code, name, said",
    [
        (ADD, "other", r"\(add\); got 'other'$"),
        (
            ADD.replace('extern "C"', ""),
            "add",
            rf"\(_Z3addPKfS0_Pfi\); got 'add', which C\+\+ calls _Z3addPKfS0_Pfi: {TAKE}'add'\]\)$",
        ),
        (
            SPACE,
            "store",
            rf"\(_ZN1a5storeEPi\); got 'store', which C\+\+ calls \w+: {TAKE}'a::store'\]\)$",
        ),
        (STORE, "store<int>", rf"\(none\); got 'store<int>': {TAKE[26:]}'store<int>'\]\)$"),
        (
            SPACE + SPACE.replace("int*", "float*"),
            "a::store",
            r"\(.*\); got 'a::store', which is ambiguous: take _ZN1a5storeEPi or _ZN1a5storeEPf$",
        ),
    ],
)
def test_a_text_without_the_kernel(code, name, said):
    k = RawKernel(code, name)
    for use in (k.compile, lambda: k((1,), (1,), ()), lambda: k.max_threads_per_block):
        with pytest.raises(
            ck.BindingError, match=f"^RawKernel: name must be one of the text's kernels {said}"
        ):
            use()


def test_a_kernel_by_its_symbol():
    x = np.zeros(1, np.int32)
    assert ran(SPACE, x, name="_ZN1a5storeEPi") == 3
    with ck.simulator.checked(), pytest.raises(ck.BindingError, match=r"got 2$"):
        ran(SPACE, x, x, name="_ZN1a5storeEPi")


VALUES = {
    "struct": np.dtype([("a", "f4"), ("b", "i8"), ("c", "u1", 5)], align=True),
    "packed word": np.dtype([("a", "f4"), ("b", "i4")]),
    "nested": np.dtype([("a", [("x", "i2"), ("y", "f8")]), ("b", "i2")], align=True),
}


@BOTH_MODES
@each("shape", [None, (), (1,), (1, 1)])
@each("dtype", VALUES.values(), ids=VALUES)
def test_records_by_value(dtype, shape, mode):
    """As in CuPy, the argument is a record, or an array of one. Every byte arrives."""
    size, alignment = dtype.itemsize, dtype.alignment
    content = np.random.default_rng(7).integers(0, 256, size, np.uint8)
    array = content.view(dtype)
    value = array[0] if shape is None else array.reshape(shape)
    code = kernel(
        "unsigned char* x, S s, int last",
        f"for (int i = 0; i < {size}; ++i) x[i] = s.bytes[i]; x[{size}] = last;",
        f"struct alignas({alignment}) S {{ unsigned char bytes[{size}]; }};",
    )
    x = np.zeros(size + 1, np.uint8)
    with mode():
        ran(code, x, value, 77)
    assert x.tolist() == [*content, 77]


def test_references():
    code = kernel("int& x, const S& s", "x = s.a + s.b;", "struct S { int a, b; };")
    x = np.zeros(1, np.int32)
    ran(code, x, np.array([3, 4], np.int32))
    assert x == 7


@BOTH_MODES
def test_ptx_text(mode):
    x = np.zeros(1, np.int32)
    source = compiling.ptx_of_code(compiling.Code("any.cu", kernel("int* x", "*x = 9;"))).text()
    for text in (source, f"// more\n/* and\nmore */ {source}"):
        with mode():
            assert ran(text, x) == 9
        x[0] = 0


@each("text", [".version", ".version 9.0\n.target", START, START + "{ add.u32 [; ret; }"])
def test_ptx_that_is_none(text):
    """The tests of `parse` and `translate` have other texts that are not PTX."""
    with pytest.raises(ck.KernelCompileError) as caught:
        ran(text, np.zeros(1, np.int32))
    assert re.match(r"k.cu: the kernel must compile; k.cu:\d+: error: ", str(caught.value))
    assert "\n" not in str(caught.value)


@BOTH_MODES
def test_a_structure_may_fill_the_parameters_of_a_gpu(mode):
    code = """struct Big { float v[7000]; };
    extern "C" __global__ void k(float* y, Big big) { y[threadIdx.x] = big.v[6900 + threadIdx.x]; }
    """
    big = np.zeros(1, [("v", np.float32, (7000,))])
    big["v"] = np.arange(7000)
    y = np.full(100, -1, np.float32)
    with mode():
        RawKernel(code, "k")((1,), (100,), (y, big))
    assert y.tolist() == list(range(6900, 7000))


@BOTH_MODES
def test_parameters_beyond_those_of_a_gpu_are_an_error(mode):
    code = """struct Big { char v[32752]; };
    extern "C" __global__ void k(char a, Big big) {}
    """
    with pytest.raises(ck.BindingError) as caught, mode():
        RawKernel(code, "k")((1,), (1,), (np.int8(1), np.zeros(1, "V32752")))
    assert str(caught.value) == "k: arguments must have at most 32764 bytes; got 32768"
