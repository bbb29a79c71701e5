"""What Python and the runtimes exchange has the same layout on both sides, or nothing loads."""

from __future__ import annotations

import ctypes
import re

import pytest

from cudakern.errors import KernelCompileError
from cudakern.simulator import headers, toolchain
from cudakern.simulator.headers import constant, enumeration, initializer, structure
from cudakern.simulator.structures import RefusalStruct, ShapeStruct


class Moved(ctypes.Structure):
    _fields_ = (("message", ctypes.c_char_p), ("name", ctypes.c_char_p))


def test_a_field_that_python_has_elsewhere_is_an_error(monkeypatch):
    monkeypatch.setitem(headers.STRUCTURES, "ck_sim_refusal", (Moved, "runtime/runtime_api.hpp"))
    toolchain.runtime_parts.cache_clear()
    try:
        with pytest.raises(KernelCompileError) as caught:
            toolchain.find_toolchain().runtime()
    finally:
        toolchain.runtime_parts.cache_clear()
    assert "headers.py must read ck_sim_refusal::message as it is compiled" in str(caught.value)


@pytest.fixture
def header(tmp_path, monkeypatch):
    """Return a function that gives the path of a header with a text."""
    monkeypatch.setattr(headers, "STRUCTURES", {})

    def write(text):
        path = tmp_path / f"{len([*tmp_path.iterdir()])}.hpp"
        path.write_text(text)
        return str(path)

    return write


def test_declarations_are_read(header):
    path = header("""
struct inner {
  char name[4];  // not struct outer {
  uint32_t x, y[3];
};

enum class Way : uint32_t { kThere, kBack };
constexpr uint32_t kSome = 1u << 9;

struct outer {
  const inner* first;
  mutable int64_t offset;
  void (*entry)(void** of);
  const char* text;
  char* place;
};
""")

    inner, outer = (structure(path, name) for name in ("inner", "outer"))
    assert inner._fields_ == [
        ("name", ctypes.c_char * 4),
        ("x", ctypes.c_uint32),
        ("y", ctypes.c_uint32 * 3),
    ]
    assert outer._fields_ == [
        ("first", ctypes.POINTER(inner)),
        ("offset", ctypes.c_int64),
        ("entry", ctypes.c_void_p),
        ("text", ctypes.c_char_p),
        ("place", ctypes.c_void_p),
    ]
    assert constant(path, "kSome") == 512
    assert [(way.name, way.value) for way in enumeration(path, "Way")] == [
        ("THERE", 0),
        ("BACK", 1),
    ]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda path: constant(path, "kMore"), "must declare kMore as headers.py reads it"),
        (lambda path: enumeration(path, "Way"), "must declare Way as headers.py reads it"),
        (
            lambda path: structure(path, "other"),
            "must declare other as headers.py reads it",
        ),
        (
            lambda path: structure(path, "pair"),
            ": pair: headers.py must know the type of 'short second'",
        ),
        (
            lambda path: structure(path, "row"),
            ": row: headers.py must know the type of 'int items[kItems]'",
        ),
    ],
)
def test_what_cannot_be_read_is_an_error(read, message, header):
    path = header("""
struct pair {
  int first;
  short second;
};

struct row {
  int items[kItems];
};

enum Way : int { kThere = 3, kBack };
""")
    with pytest.raises(AssertionError, match=re.escape(message)):
        read(path)


def test_a_field_that_is_not_declared_is_an_error():
    assert initializer(RefusalStruct, message='"why"') == '{{}, "why"}'
    with pytest.raises(AttributeError, match="colour"):
        ShapeStruct(colour=1)
    with pytest.raises(AssertionError) as caught:
        initializer(RefusalStruct, name='"k"', reason='"why"')
    assert str(caught.value) == (
        "cudakern: ck_sim_refusal must have the fields name, reason; "
        "its header declares name, message"
    )
