"""What a compiled kernel says about itself: lines of its code, names of its variables."""

from __future__ import annotations

import builtins
import ctypes

import pytest

from cudakern.engines.simulator.symbols import Frame, Symbols, _components
from cudakern.errors import EngineUnavailableError
from tests.helpers.instrumented import build, compilers

pytest.importorskip("elftools", reason="pyelftools is not installed")

HEADER = """\
template <typename T>
inline T __ldg(const T* address) {
  return *address;
}
"""
SOURCE = """\
#include "intrinsics.hpp"
#line 1 "kernels/common/tools.cuh"
namespace ck {
template <typename T>
__attribute__((always_inline)) inline T twice(const T* p) {
  return 2 * *p;
}
template <typename T>
__attribute__((noinline)) T apart(T* p) {
  *p = 1;
  return twice(p + 1);
}
int table[5] = {1, 2, 3, 4, 5};
extern const double factors[3];
const double factors[3] = {1, 2, 3};
}
#line 1 "kernels/atomics.hpp"
__attribute__((always_inline)) inline void bump(float* p) {
  *p = 7;
}
#line 1 "test.cu"
static int scale[4];
thread_local float tile[33];
template <int N> int* buffer(int i) {
  thread_local int s[N];
  s[i] = i;
  return s;
}
template int* buffer<32>(int);
namespace { template <typename T> struct Box { static thread_local T inner[3]; }; }
template <typename T> thread_local T Box<T>::inner[3];
extern "C" void lone(float* x) {
  x[1] = 3;
}
extern "C" void k(float* x) {
  static thread_local char E1s[5];
  x[0] = ck::twice(x + 1);
  x[2] =
      __ldg(x + 3);
  bump(x + 4);
  x[5] = ck::apart(x + 6);
  E1s[(int)x[8]] = tile[(int)x[8]] + Box<int>::inner[(int)x[8]];
  tile[(int)x[9]] = E1s[(int)x[9]];
  Box<int>::inner[(int)x[9]] = 1;
  scale[(int)x[8]] = ck::table[(int)x[8]];
}
struct Arguments { float* x; float* y; int first; int n; };
extern "C" void hoist(const Arguments* a) {
  for (int i = a->first; i < a->n; ++i) {
    a->x[i] = a->y[i] * 2;
  }
}
extern "C" void ck_sim_entry(float** x) { __ldg(x)[0] = scale[(int)**x]; }
#line 1 "intrinsics.hpp"
extern "C" void own(float* x) { *x = 1; }
"""


@pytest.fixture(
    scope="module",
    params=[
        *("g++", "g++ -gdwarf-4", "g++ -gdwarf-5"),
        *("ziglang", "ziglang -gdwarf-4", "ziglang -gdwarf-5"),
    ],
)
def built(request, tmp_path_factory):
    compiler, *more = request.param.split()
    reason = compilers()[compiler]
    if reason is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("symbols")
    (folder / "intrinsics.hpp").write_text(HEADER)
    return build(compiler, folder, SOURCE, more=tuple(more))


@pytest.fixture
def symbols(built):
    return Symbols(built.path)


def line(text):
    """Return the number of the line of test.cu that holds the text."""
    lines = SOURCE.partition('"test.cu"\n')[2].splitlines()
    return next(number for number, found in enumerate(lines, 1) if text in found)


def frames_by_place(built, symbols, function="k"):
    """Return the frames of accesses by kind and index into the argument."""
    x = (ctypes.c_float * 16)()
    start = ctypes.addressof(x)
    found = {}
    for kind, _, address, returns_to in built.notes(function, x):
        if start <= address < start + ctypes.sizeof(x):
            found.setdefault((kind, (address - start) // 4), symbols.frames(returns_to))
    return found


def test_lines_of_a_function(built, symbols):
    found = frames_by_place(built, symbols)
    own = Frame("k", "test.cu", line("x[0] = "))
    assert found["write", 0] == (own,)
    assert found["read", 1] == (Frame("twice<float>", "kernels/common/tools.cuh", 4), own)
    assert found["write", 5] == (Frame("k", "test.cu", line("apart(x")),)


def test_the_simulators_headers_are_left_out_and_no_others(built, symbols):
    found = frames_by_place(built, symbols)
    assert found["read", 3] == (Frame("k", "test.cu", line("__ldg(x + 3)")),)
    own = Frame("k", "test.cu", line("bump(x"))
    assert found["write", 4] == (Frame("bump", "kernels/atomics.hpp", 2), own)
    assert set(frames_by_place(built, symbols, "own").values()) == {()}


def test_functions_that_are_not_inlined(built, symbols):
    found = frames_by_place(built, symbols)
    own = Frame("apart<float>", "kernels/common/tools.cuh", 9)
    assert found["read", 7] == (Frame("twice<float>", "kernels/common/tools.cuh", 4), own)
    (place,) = found["write", 6]
    assert place == Frame("apart<float>", "kernels/common/tools.cuh", 8)


def test_what_is_appended_to_a_kernel_has_no_frames(built, symbols):
    x = (ctypes.c_float * 4)()
    notes = built.notes("ck_sim_entry", ctypes.byref(ctypes.pointer(x)))
    assert len(notes) >= 3
    assert {symbols.frames(returns_to) for *_, returns_to in notes} == {()}


def test_code_without_a_line_has_that_of_its_neighbours(built, symbols):
    class Arguments(ctypes.Structure):
        _fields_ = (
            ("x", ctypes.c_void_p),
            ("y", ctypes.c_void_p),
            ("first", ctypes.c_int),
            ("n", ctypes.c_int),
        )

    x = (ctypes.c_float * 4)()
    arguments = Arguments(ctypes.addressof(x), ctypes.addressof(x), 0, 4)
    notes = built.notes("hoist", ctypes.byref(arguments))
    assert len(notes) >= 8 + 4
    first = line("hoist")
    for *_, returns_to in notes:
        (place,) = symbols.frames(returns_to)
        assert (place.function, place.file) == ("hoist", "test.cu")
        assert first < place.line <= first + 2


def test_addresses_without_code(symbols):
    assert symbols.frames(0) == ()
    assert symbols.frames(10**9) == ()
    lone = next(item for item in symbols.functions() if item.name == "lone")
    (place,) = symbols.frames(lone.offset + lone.size)  # of the address before it
    assert (place.function, place.file) == ("lone", "test.cu")
    assert (
        symbols.frames(lone.offset)
        != symbols.frames(lone.offset + 1)
        == (Frame("lone", "test.cu", line("extern")),)
    )


def test_shared_objects(built, symbols):
    found = symbols.shared_objects()
    assert sorted((item.name, item.size) for item in found) == [
        ("E1s", 5),
        ("inner", 12),
        ("s", 128),
        ("tile", 132),
    ]
    assert [item.offset for item in found] == sorted(item.offset for item in found)
    places = {item.name: item.offset for item in found}
    x = (ctypes.c_float * 16)()
    addresses = {size: address for kind, size, address, _ in built.notes("k", x) if kind == "write"}
    read = [address for kind, size, address, _ in built.notes("k", x) if kind == "read"]
    assert addresses[1] + places["tile"] - places["E1s"] in read
    assert addresses[1] + places["inner"] - places["E1s"] in read


def test_data_objects_and_their_addresses(symbols):
    found = {item.name: item for item in symbols.data_objects()}
    sizes = {name: item.size for name, item in found.items()}
    del sizes["notes"], sizes["note_count"]  # the stub's
    assert sizes == {"scale": 16, "table": 20, "factors": 24}
    assert symbols.address_of("scale") == found["scale"].offset
    assert symbols.address_of("_ZL5scale") == found["scale"].offset
    for name in ("table", "ck::table", "_ZN2ck5tableE"):
        assert symbols.address_of(name) == found["table"].offset
    for name in ("able", "other::table", "tile"):
        with pytest.raises(KeyError, match=f"{name} must name a symbol"):
            symbols.address_of(name)


def test_addresses_are_those_at_run_time(built, symbols):
    library = ctypes.CDLL(str(built.path))
    start = ctypes.addressof(ctypes.c_int.in_dll(library, "note_count"))
    start -= symbols.address_of("note_count")
    table = (ctypes.c_int * 5).from_address(start + symbols.address_of("ck::table"))
    assert list(table) == [1, 2, 3, 4, 5]
    entry = ctypes.cast(library.k, ctypes.c_void_p).value
    assert entry == start + symbols.address_of("k")


def test_functions(symbols):
    names = {item.name for item in symbols.functions()}
    assert {"k", "apart", "buffer", "lone"} <= names
    assert not any(name.startswith(("_", "ck_sim")) for name in names)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZZ9transposePKfPfE4tile", "tile"),
        ("_ZZ2tkILi32EEvPfiE1s", "s"),
        ("_ZZ1kE1t_0", "t"),
        ("_ZZ1kE1t__12_", "t"),
        ("_ZZ1kE4tE1t", "tE1t"),
        ("_ZZZN2ck1fIiEEvvENKUlvE_clEvE5stage", "stage"),
        ("_ZN12_GLOBAL__N_14tileE", "tile"),
        ("_ZN2ckL4tileE", "tile"),
        ("_ZL4tile", "tile"),
        ("_ZN2ck3BoxIiLi3EE5innerE", "inner"),
        ("_Z5tableIiE", "table"),
        ("tile", "tile"),
        ("tile.llvm.12", "tile"),
        ("_ZL4tile.lto_priv.0", "tile"),
    ],
)
def test_names(symbol, name):
    assert _components(symbol)[-1] == name


def test_a_missing_pyelftools_is_named(monkeypatch, tmp_path):
    original = builtins.__import__

    def refuse(name, *rest):
        if name.startswith("elftools"):
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(EngineUnavailableError, match=r"run: pip install 'cudakern\[simulator\]'"):
        Symbols(tmp_path / "kernel.so")
