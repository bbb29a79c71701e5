"""The structures that Python and the runtimes exchange have the same sizes on both sides."""

from __future__ import annotations

import ctypes

import pytest

from cudakern.simulator import engine
from cudakern.simulator.launches import Report
from cudakern.simulator.reports import structures
from cudakern.simulator.toolchain import find_toolchain


@pytest.fixture(params=[False, True], ids=["plain", "checked"])
def runtime(request):
    return engine._runtime(find_toolchain(), checked=request.param), request.param  # noqa: SLF001


class Longer(Report):
    _fields_ = (("more", ctypes.c_uint64),)


def test_sizes_are_the_same(runtime):
    library, checked = runtime
    structures.require_same_sizes(library, checked=checked)


@pytest.mark.parametrize("table", ["STRUCTURES", "_CHECKED"])
def test_other_sizes_are_an_error(runtime, table, monkeypatch):
    library, checked = runtime
    monkeypatch.setattr(structures, table, (Longer,))
    if table == "_CHECKED" and not checked:
        structures.require_same_sizes(library, checked=checked)
        return
    name = "ck_sim_sizes" if table == "STRUCTURES" else "ck_sim_checked_sizes"
    size = ctypes.c_uint32.in_dll(library, name).value
    with pytest.raises(AssertionError) as caught:
        structures.require_same_sizes(library, checked=checked)
    assert str(caught.value) == (
        f"cudakern: Longer must have the {size} bytes that {name} tells; "
        f"got {ctypes.sizeof(Longer)}"
    )
