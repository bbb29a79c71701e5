"""The basic blocks of a module's functions: instructions of which all are executed or none."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.model import Instruction, Label

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cudakern.simulator.ptx.model import Function, Statement

#: After which a thread may go on elsewhere, or not at all; a function that is called can exit.
_ENDS = {"bra", "brx", "call", "exit", "ret", "trap"}


class Blocks:
    """The basic blocks of a function: their numbers, and how often instructions stand in each."""

    def __init__(self, body: Iterable[Statement], first: int) -> None:
        self.numbers: dict[int, int] = {}  # by the identity of a block's first instruction
        self.end = first  # the number after the last one
        found: Counter[tuple[str, int]] = Counter()
        begins = True
        for statement in body:
            if isinstance(statement, Label):
                begins = True
            if not isinstance(statement, Instruction):
                continue
            if begins:
                self.numbers[id(statement)] = self.end
                self.end += 1
            found[statement.name, self.end - 1] += 1
            begins = statement.words[0] in _ENDS
        #: Name, number of the block, count.
        self.rows = [(*key, count) for key, count in found.items()]


def blocks_of(functions: Sequence[Function]) -> dict[str, Blocks]:
    """Return the basic blocks of each function: those of an entry have numbers after all others."""
    made: dict[str, Blocks] = {}
    common = 0
    for function in sorted(functions, key=lambda one: one.is_entry):
        made[function.name] = Blocks(function.body or (), common)
        if not function.is_entry:
            common = made[function.name].end
    return made
