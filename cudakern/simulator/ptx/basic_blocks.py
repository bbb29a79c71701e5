"""Names, constants and basic blocks of a function."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.instructions import row_of
from cudakern.simulator.ptx.model import (
    Address,
    Immediate,
    Instruction,
    Label,
    Register,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cudakern.simulator.ptx.forms import Match
    from cudakern.simulator.ptx.model import Function, Operand, SourceLine, Statement


def names_in(operands: Iterable[Operand]) -> Iterator[str]:
    """Yield the names in operands."""
    for operand in operands:
        if isinstance(operand, Register):
            yield operand.name
        elif isinstance(operand, Vector):
            yield from names_in(operand.items)
        elif isinstance(operand, Address) and isinstance(operand.base, Register):
            yield operand.base.name


def with_rows(body: Iterable[Statement]) -> Iterator[tuple[Instruction, Match]]:
    """Yield the instructions of a body that have rows, with these."""
    for statement in body:
        row = row_of(statement) if isinstance(statement, Instruction) else None
        if isinstance(statement, Instruction) and row is not None:
            yield statement, row


def computes(row: Match) -> bool:
    """Return whether an instruction only computes results."""
    return row.form.effects.words <= {"nothing", "moves"} and row.form.opcode not in {"ld", "st"}


def constants(body: Iterable[Statement]) -> dict[str, Immediate]:
    """Return the registers that have one constant value, with that value."""
    found: dict[str, Operand | None] = {}
    for instruction, row in with_rows(body):
        moves = instruction.words[0] == "mov" and "pred" not in instruction.words
        source = instruction.operands[-1] if moves and instruction.guard is None else None
        for name in names_in(instruction.operands[: row.results(instruction)]):
            found[name] = None if name in found else source
    return {name: number for name, number in found.items() if isinstance(number, Immediate)}


class BasicBlocks:
    """The basic blocks of a function: their numbers, and how many instructions each has."""

    def __init__(self, body: Iterable[Statement], first: int) -> None:
        self.numbers: dict[int, int] = {}  # by the identity of a block's first instruction
        self.end = first  # the number after the last one
        counts: Counter[tuple[str, SourceLine | None, int]] = Counter()
        begins = True
        for statement in body:
            if isinstance(statement, Label):
                begins = True
            if not isinstance(statement, Instruction):
                continue
            if begins:
                self.numbers[id(statement)] = self.end
                self.end += 1
            counts[statement.name, statement.source_line, self.end - 1] += 1
            row = row_of(statement)
            begins = row is not None and "ends" in row.form.effects
        #: Name, line, number of the block, count.
        self.rows = [(*key, count) for key, count in counts.items()]


def blocks_of(functions: Sequence[Function]) -> dict[str, BasicBlocks]:
    """Return the basic blocks of each function: those of an entry have numbers after all others."""
    blocks: dict[str, BasicBlocks] = {}
    common = 0
    for function in sorted(functions, key=lambda function: function.is_entry):
        blocks[function.name] = BasicBlocks(function.body or (), common)
        if not function.is_entry:
            common = blocks[function.name].end
    return blocks
