"""The structures that Python and the runtimes share have the same layout, or nothing loads."""

from __future__ import annotations

import ctypes

import pytest

from cudakern.errors import KernelCompileError
from cudakern.simulator.libraries import toolchain
from cudakern.simulator.runtime import abi_parser


class Moved(ctypes.Structure):
    _fields_ = (("message", ctypes.c_char_p), ("name", ctypes.c_char_p))


def test_a_field_that_python_has_elsewhere_is_an_error(monkeypatch):
    monkeypatch.setitem(abi_parser.STRUCTURES, "ck_sim_refusal", (Moved, "runtime/runtime_api.hpp"))
    toolchain.runtime_parts.cache_clear()
    try:
        with pytest.raises(KernelCompileError) as caught:
            toolchain.find_toolchain().runtime()
    finally:
        toolchain.runtime_parts.cache_clear()
    assert "abi_parser.py must read ck_sim_refusal::message as it is compiled" in str(caught.value)
