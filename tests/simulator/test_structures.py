"""The structures that Python and the runtimes exchange have the same sizes on both sides."""

from __future__ import annotations

import ctypes

import pytest

from cudakern.simulator import engine, structures
from cudakern.simulator.toolchain import find_toolchain


class Longer(structures.Report):
    _fields_ = (("more", ctypes.c_uint64),)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("table", structures.SIZES)
def test_other_sizes_are_an_error(checked, table, monkeypatch):
    library = engine._runtime(find_toolchain(), checked=checked)  # noqa: SLF001
    structures.require_same_sizes(library, checked=checked)
    monkeypatch.setitem(structures.SIZES, table, (Longer,))
    if "checked" in table and not checked:
        structures.require_same_sizes(library, checked=checked)
        return
    size = ctypes.c_uint32.in_dll(library, table).value
    with pytest.raises(AssertionError) as caught:
        structures.require_same_sizes(library, checked=checked)
    assert str(caught.value) == (
        f"cudakern: Longer must have the {size} bytes that {table} tells; "
        f"got {ctypes.sizeof(Longer)}"
    )
