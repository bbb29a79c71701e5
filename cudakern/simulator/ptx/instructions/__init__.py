"""The table of instructions, by the chapters of the PTX ISA manual."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cudakern.process.lazy import load
from cudakern.simulator.ptx.forms import Table

if TYPE_CHECKING:
    from cudakern.simulator.ptx.forms import Match
    from cudakern.simulator.ptx.model import Instruction

_NAMES = """
integers compare logic video floats halves conversions matrix warps barriers atomics half_atomics
asynchronous miscellaneous
"""
#: Each has ``FORMS``, and ``HEADER``: the C++ that they use.
CHAPTERS = (*_NAMES.split(),)


#: Beginnings of instructions that no row has, and what to use instead.
REFUSED = {
    ("tex.", "tld4.", "txq."): "instead of a texture read an array, interpolating by hand",
    ("suld.", "sust.", "sured.", "suq."): "instead of a surface access an array",
    ("wgmma.", "tcgen05."): "mma.sync multiplies matrices, too",
    ("cp.async.bulk.tensor.", "cp.reduce.async.bulk.tensor."): "cp.async.bulk copies rows",
}


@cache
def table() -> Table:
    """Return the table."""
    modules = [load(f"{__name__}.{name}") for name in (*CHAPTERS, "moves_and_branches")]
    return Table((module.FORMS, module.HEADER) for module in modules)


def row_of(instruction: Instruction) -> Match | None:
    """Return the row of an instruction, or one of those that differ in types only."""
    return table().find(instruction.name, len(instruction.operands) - instruction.pairs)
