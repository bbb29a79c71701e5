"""Rows of the instruction table that say too little do not load."""

from __future__ import annotations

import pytest

from cudakern.simulator.ptx import printer
from cudakern.simulator.ptx.effects import UNDEFINED
from cudakern.simulator.ptx.forms import rows
from cudakern.simulator.ptx.instructions import table
from tests.helpers.rows import each

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
        "say its order and scope, such as (atomic, relaxed gpu); a name overrides it"
    ),
    "tell.b32 [a], b, [c] (writes; reads) = tell({a}, {site});": (
        "say behind '; ' what {arrival} does, and have it in its C++"
    ),
    "tell.b32 [a], [c] (writes) = tell({a}, {site}, {arrival});": (
        "say behind '; ' what {arrival} does, and have it in its C++"
    ),
    "cooldown.u32 t (sleeps) = (void){t};": (
        "say what it does in known words (reads, writes, atomic, mbarrier, aligned, noncoherent, "
        "proxy, fences, returns, moves, copies, adds, points, cheap, waits, yields, tells, fails, "
        "matrix, ends, calls, jumps, leaves, exits, nothing, 4 bytes, relaxed gpu); got 'sleeps'"
    ),
    "twice d, a = {a} * 2": "tell the type of d, such as d:u32",
    "twice.u32 d, a = {b} * 2": "name operands, words or fields in its C++; got {b}",
    "twice.u32 d, a =": "have C++ behind ' = '",
    "twice.u32 d, a": "be section, pattern, (effects) and ' = ' with C++",
}


@each("row", LACKING)
def test_a_row_that_says_too_little_does_not_load(row):
    with pytest.raises(ValueError, match=r"^cudakern: the row '9\.9 ") as caught:
        [*rows(f"UNDEFINED: whole\n9.9 {row}")]
    assert str(caught.value).endswith(f"' of the instruction table must {LACKING[row]}")


@each(("before", "word"), [("", ""), ("UNDEFINED: somehow\n", "; got 'somehow'")])
def test_a_row_says_what_becomes_of_undefined_values(before, word):
    known = ", ".join(sorted(UNDEFINED))
    with pytest.raises(ValueError, match="say what becomes of undefined values") as caught:
        [*rows(f"{before}9.9 twice.u32 d, a = {{a}} * 2")]
    assert str(caught.value).endswith(f"such as 'UNDEFINED: whole' ({known}){word}")


def test_rows_name_what_the_printer_writes():
    assert table().writers == printer.WRITERS
