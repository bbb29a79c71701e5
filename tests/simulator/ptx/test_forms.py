"""Which row of the instruction table an instruction is."""

from __future__ import annotations

import pytest

from cudakern.simulator.ptx.forms import Table, rows
from cudakern.simulator.ptx.instructions import table
from cudakern.simulator.ptx.translate import writers_of


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
    row = table().find(name, 3)
    assert (row.form.opcode, row.fields["SEM"], row.fields["SCOPE"]) == ("atom", "acquire", "gpu")


@pytest.mark.parametrize(
    ("predicates", "wanted"), [((), "{s}"), ((3,), "{i}"), ((1,), None), ((1, 3), None)]
)
@pytest.mark.parametrize("order", [1, -1])
def test_predicates_tell_forms_apart(order, predicates, wanted):
    known = rows("""
9 copy.b32 [a], [b], n:u32, i:pred (reads, writes) = {site} {i}
9 copy.b32 [a], [b], n:u32, s:u32 (reads, writes) = {site} {s}
""")
    row = Table((form, "") for form in known[::order]).find("copy.b32", 4, predicates)
    assert (row and row.form.code.split()[-1]) == wanted


#: Rows, and what each must say.
LACKING = {
    "cooldown.u32 t = (void){t};": (
        "say what it does, as it has no result, such as (waits), (writes) or (nothing)"
    ),
    "peek.u32 d, [a] = 0": (
        "say what it does at its address, such as (reads), (writes) or (nothing)"
    ),
    "meet.u32 d, a = meet({a}, {site})": (
        "say why its C++ has {site}, such as (waits), (fails) or (reads)"
    ),
    "meet.u32 d, a (waits) = meet({a})": "have {site} in its C++, as it does more than (nothing)",
    "meet.u32 d, a (nothing) = meet({a}, {site})": "say (nothing) only if its C++ has no {site}",
    "peek.x4 [a] (reads) = peek({a}, {site});": (
        "say how many bytes it accesses: (reads, 4 bytes), or (reads, n bytes) by operand n"
    ),
    "swap.b32 d, [a] (reads, writes, atomic) = swap({a}, {site})": (
        "say its order and scope where its name has none, such as (atomic, relaxed gpu)"
    ),
    "tell.b32 [a], b, [c] (writes; reads) = tell({a}, {site});": (
        "say behind '; ' what {arrival} does, and have it in its C++"
    ),
    "tell.b32 [a], [c] (writes) = tell({a}, {site}, {arrival});": (
        "say behind '; ' what {arrival} does, and have it in its C++"
    ),
    "cooldown.u32 t (sleeps) = (void){t};": (
        "say what it does in known words (reads, writes, atomic, mbarrier, aligned, noncoherent, "
        "proxy, fences, returns, moves, waits, fails, ends, nothing, 4 bytes, relaxed gpu); "
        "got 'sleeps'"
    ),
    "twice d, a = {a} * 2": "tell the type of d, such as d:u32",
    "twice.u32 d, a = {b} * 2": "name operands, words or fields in its C++; got {b}",
    "twice.u32 d, a =": "have C++ behind ' = '",
    "twice.u32 d, a": "be section, pattern, (effects) and ' = ' with C++",
}


@pytest.mark.parametrize("row", LACKING)
def test_a_row_that_says_too_little_does_not_load(row):
    with pytest.raises(ValueError, match=r"^cudakern: the row '9\.9 ") as caught:
        rows(f"9.9 {row}")
    assert str(caught.value).endswith(f"' of the instruction table must {LACKING[row]}")


def test_a_row_names_python_that_there_is():
    forms = rows("9.9 fetch d, [a] (reads) = @fetch")
    text = r"must name one of move, load, .* behind '@'; got \{'fetch'\}$"
    with pytest.raises(ValueError, match=text):
        writers_of(Table((form, "") for form in forms))
