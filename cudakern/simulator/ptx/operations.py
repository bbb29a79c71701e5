"""Operations: the instructions of a function, with what their rows say of them.

They are what all passes work on. A pass returns new operations, or facts about some.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from cudakern.simulator.ptx.forms import Form, Match
from cudakern.simulator.ptx.instructions import REFUSED, row_of, table
from cudakern.simulator.ptx.model import (
    Address,
    Declaration,
    Function,
    Immediate,
    Instruction,
    Label,
    Operand,
    Register,
    Targets,
    Vector,
    numbered,
)
from cudakern.simulator.ptx.values import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cudakern.simulator.ptx.forms import OperandForm

#: What a thread does that goes on elsewhere, or not at all.
_LEAVING = {"leaves", "jumps"}


class RefusedError(Exception):
    """The simulator does not execute a function."""


def refuse(instruction: Instruction, source: str, what: str, advice: str = "") -> NoReturn:
    """Raise RefusedError: the instruction has what the simulator does not execute."""
    file, line = instruction.source_line or (source, instruction.line)
    message = f"{file}:{line}: error: the simulator does not execute {shorten(what)}"
    message += f" (line {instruction.line} of the PTX)"
    raise RefusedError(message + (f"; {advice}" if advice else ""))


def names_in(operands: Iterable[Operand]) -> list[str]:
    """Return the names in operands."""
    names = []
    for operand in operands:
        if isinstance(operand, Register):
            names.append(operand.name)
        elif isinstance(operand, Vector):
            names += names_in(operand.items)
        elif isinstance(operand, Address) and isinstance(operand.base, Register):
            names.append(operand.base.name)
    return names


@dataclass(slots=True, eq=False)
class Op:
    """An operation."""

    instruction: Instruction  # as it stands in the text
    row: Match
    form: Form  # of the row
    operands: tuple[Operand, ...]  # those that passes have left of the instruction's
    count: int  # of results, which come first
    guard: Register | None
    writes: tuple[str, ...]  # registers
    reads: tuple[str, ...]  # all other names, the guard's too
    targets: tuple[str, ...] = ()  # labels that it may lead to
    callee: str = ""  # the function that it calls by name

    @property
    def results(self) -> tuple[Operand, ...]:
        """The operands that it writes."""
        return self.operands[: self.count]

    @property
    def sources(self) -> tuple[Operand, ...]:
        """The operands that it reads, addresses too."""
        return self.operands[self.count :]

    @property
    def leaves(self) -> bool:
        """Whether the thread goes on elsewhere, or not at all."""
        return not self.form.effects.isdisjoint(_LEAVING)

    @property
    def calls(self) -> bool:
        """Whether it calls a function."""
        return "calls" in self.form.effects

    @property
    def loads(self) -> bool:
        """Whether its result is what is in memory."""
        return self.form.undefined == "load"

    @property
    def stores(self) -> bool:
        """Whether it writes operands to memory as they are, or passes them."""
        return not self.count and self.form.undefined in {"store", "pass"}

    @property
    def meets(self) -> bool:
        """Whether threads do something together."""
        return self.form.meeting is not None

    def pairs(self) -> Iterable[tuple[OperandForm, Operand | None]]:
        """Pair the operands of the row with its own; None for one that is not given."""
        if len(self.operands) == len(self.form.all_operands):
            return zip(self.form.all_operands, self.operands, strict=True)
        return self._pairs_with_gaps()

    def _pairs_with_gaps(self) -> Iterator[tuple[OperandForm, Operand | None]]:
        operands = iter(self.operands)
        pairs = self.instruction.pairs
        for first, *rest in self.form.operands:
            yield first, next(operands, None)
            for second in rest:
                yield second, next(operands, None) if pairs else None
                pairs = 0

    def with_operands(self, operands: tuple[Operand, ...], guard: Register | None) -> Op:
        """Return it with other operands."""
        return _op(self.instruction, self.row, operands, guard, self.targets, self.callee)

    def __str__(self) -> str:
        guard = self.guard
        text = f"@{'!' * guard.negated}{guard.name} " if guard is not None else ""
        text += f"{self.row.name} {', '.join(map(_shown, self.operands))}"
        words = sorted(self.form.effects)
        return f"{text:60} // {', '.join((*words, self.form.undefined))}"


def _shown(operand: Operand) -> str:
    match operand:
        case Register(name, offset, negated):
            return f"{'!' * negated}{name}{f'+{offset}' if offset else ''}"
        case Immediate(value, size):
            return f"{value:#x}" if size else str(value)
        case Address(base):
            return f"[{_shown(base)}]"
    return f"{{{', '.join(map(_shown, operand.items))}}}"


def _op(
    instruction: Instruction,
    row: Match,
    operands: tuple[Operand, ...],
    guard: Register | None,
    targets: tuple[str, ...],
    callee: str,
) -> Op:
    count = row.results(instruction)
    writes = names_in(operands[:count])
    reads = names_in(operands[count:])
    if "_" in writes:
        writes = [name for name in writes if name != "_"]
    if guard is not None:
        reads.append(guard.name)
    return Op(
        instruction, row, row.form, operands, count, guard, (*writes,), (*reads,), targets, callee
    )


class Registers:
    """The registers that a function declares: ``%r<9>`` stands for nine."""

    def __init__(self) -> None:
        self._ranges: dict[str, tuple[str, int]] = {}  # "%r" -> type, how many
        self._known: dict[str, str | None] = {}

    def declare(self, variable: Declaration) -> None:
        """Take up a declaration."""
        self._ranges[variable.name] = variable.type, variable.registers

    def type_of(self, name: str) -> str | None:
        """Return the PTX type of a register; None for another name."""
        try:
            return self._known[name]
        except KeyError:
            kind, count = self._ranges.get(name, (None, 0))
            if kind is None or count:
                kind = self._type_of_numbered(name)
            self._known[name] = kind
            return kind

    def _type_of_numbered(self, name: str) -> str | None:
        for stem, number in numbered(name):
            kind, count = self._ranges.get(stem, ("", 0))
            if number < count:
                return kind
        return None

    def __contains__(self, name: str) -> bool:
        return self.type_of(name) is not None


@dataclass(frozen=True, slots=True)
class Count:
    """Where a basic block begins, as they are counted."""

    number: int

    def __str__(self) -> str:
        return f"count block {self.number}"


@dataclass
class Body:
    """A function's operations, and what it declares."""

    function: Function
    statements: list[Op | Label | Count]
    registers: Registers
    memory: list[Declaration] = field(default_factory=list)  # local, or passed to calls
    tables: dict[str, Targets] = field(default_factory=dict)

    @cached_property
    def ops(self) -> list[Op]:
        """The operations alone."""
        return [statement for statement in self.statements if isinstance(statement, Op)]

    @property
    def local(self) -> list[Declaration]:
        """Variables in local memory."""
        return [variable for variable in self.memory if variable.space == "local"]

    def with_statements(self, statements: list[Op | Label | Count]) -> Body:
        """Return it with other operations."""
        return replace(self, statements=statements)

    def __str__(self) -> str:
        lines = (f"{s.name}:" if isinstance(s, Label) else f"    {s}" for s in self.statements)
        return "\n".join((f"{self.function.name}:", *lines))


def body_of(function: Function, source: str, counted: Mapping[int, int]) -> Body:
    """Return the operations of a function; RefusedError if an instruction has no row.

    ``counted`` are the numbers of basic blocks by the identities of their first instructions.
    """
    body = Body(function, [], Registers())
    text = function.body or ()
    for statement in (*function.results, *function.parameters, *text):
        if isinstance(statement, Declaration) and statement.space == "reg":
            body.registers.declare(statement)
    declared = (statement for statement in text if isinstance(statement, Declaration))
    body.memory += (variable for variable in declared if variable.space in {"local", "param"})
    body.tables.update({table.name: table for table in text if isinstance(table, Targets)})
    for statement in text:
        if isinstance(statement, Instruction):
            if id(statement) in counted:
                body.statements.append(Count(counted[id(statement)]))
            body.statements.append(_operation(statement, body, source))
        elif isinstance(statement, Label):
            body.statements.append(statement)
    return body


def _operation(instruction: Instruction, body: Body, source: str) -> Op:
    row = _find_row(instruction, body.registers, source)
    operands = instruction.operands
    targets: tuple[str, ...] = ()
    callee = ""
    if "jumps" in row.form.effects:
        targets = tuple(_labels(operands[-1:], body.tables))
    elif "calls" in row.form.effects:
        called = called_by(instruction)
        callee = called if called not in body.registers else ""
    return _op(instruction, row, operands, instruction.guard, targets, callee)


def called_by(call: Instruction) -> str:
    """Return the function that a call names, or the register that has its address."""
    named = [operand.name for operand in call.operands[:2] if isinstance(operand, Register)]
    return named[0] if named else ""


def _labels(operands: tuple[Operand, ...], tables: Mapping[str, Targets]) -> Iterator[str]:
    for name in names_in(operands):
        yield from tables[name].labels if name in tables else (name,)


def _find_row(instruction: Instruction, registers: Registers, source: str) -> Match:
    """Return the row of an instruction; refuse one that has none."""
    name, pairs = instruction.name, instruction.pairs
    row = row_of(instruction)
    if row is not None and row.form.writer:
        return row
    positions = instruction.operands[pairs:]
    predicates = [
        i
        for i, operand in enumerate(positions)
        if i and isinstance(operand, Register) and registers.type_of(operand.name) == "pred"
    ]
    row = table().find(name, len(positions), (*predicates,)) if predicates else row
    if row is None:
        advice = (advice for starts, advice in REFUSED.items() if name.startswith(starts))
        refuse(instruction, source, f"the instruction {name}", next(advice, ""))
    if pairs and len(row.form.operands[0]) == 1:
        refuse(instruction, source, f"{name} with two results")
    return row
