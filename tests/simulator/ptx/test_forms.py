"""Which row of the instruction table an instruction is."""

from __future__ import annotations

import pytest

from cudakern.simulator.ptx.forms import Table, rows
from cudakern.simulator.ptx.instructions import table


@pytest.mark.parametrize(
    "name",
    [
        "atom.acquire.gpu.global.add.u32",
        "atom.add.acquire.gpu.global.u32",
        "atom.global.gpu.acquire.add.u32",
        "atom.gpu.acquire.global.add.u32",
    ],
)
def test_modifiers_of_atomics_in_any_order(name):
    found = table().find(name, 3)
    assert found is not None
    assert (found.form.opcode, found.fields["SEM"], found.fields["SCOPE"]) == (
        *("atom", "acquire", "gpu"),
    )


def test_other_instructions_have_one_order():
    assert table().find("u32.add", 3) is None
    assert table().find("add.u32.sat", 3) is None


@pytest.mark.parametrize(
    ("predicates", "wanted"), [((), "{s}"), ((3,), "{i}"), ((1,), None), ((1, 3), None)]
)
@pytest.mark.parametrize("order", [1, -1])
def test_predicates_tell_forms_apart(order, predicates, wanted):
    known = rows(
        "9 copy.b32 [a], [b], n:u32, i:pred = {i}\n9 copy.b32 [a], [b], n:u32, s:u32 = {s}"
    )
    found = Table((row, "") for row in known[::order]).find("copy.b32", 4, predicates)
    assert (found and found.form.code) == wanted
