"""What a function's instructions do to memory: guesses, parts of values, results in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.access_bits import BITS
from cudakern.simulator.ptx.basic_blocks import names_in
from cudakern.simulator.ptx.effects import lanes_of, size_in
from cudakern.simulator.ptx.instructions import row_of
from cudakern.simulator.ptx.model import Address, Immediate, Instruction, Register

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cudakern.simulator.ptx.model import Operand, Statement


class MemoryAccesses:
    """What the instructions of a function do to memory, as its other instructions show."""

    def __init__(self, body: Sequence[Statement]) -> None:
        self._read: set[str] = set()
        self._definitions: dict[str, list[Instruction]] = {}
        instructions = [statement for statement in body if isinstance(statement, Instruction)]
        for instruction in instructions:
            self._note(instruction)
        loads = [i for i in instructions if i.words[0] == "ld" and len(i.operands) > 1]
        extents = [(load.stack, *_extent(load)) for load in loads]
        #: Where loads start and end, with their source line and the base of their address.
        self._starts = {(stack, base, start) for stack, base, start, _ in extents}
        self._ends = {(stack, base, end) for stack, base, _, end in extents}
        exchanges = [i for i in instructions if i.words[0] == "atom" and "cas" in i.words]
        compared: dict[tuple[str, int] | None, set[str]] = {}
        for exchange in exchanges:
            address = self._address(exchange.operands[1:2])
            compared.setdefault(address, set()).update(self._before(exchange.operands[2:3]))
        self._guesses = {
            id(load)
            for load in loads
            if compared
            and _names(load.operands[:1]) & compared.get(self._address(load.operands[1:2]), set())
        } - _stored_loads(body)

    def bits_of(self, instruction: Instruction) -> int:
        """Return what an instruction does to memory, as bits."""
        row = row_of(instruction)
        if row is None:
            return 0
        access, effects = row.access, row.form.effects
        if "returns" in effects and _names(instruction.operands[:1]) & self._read:
            access |= BITS["returns"] | BITS["reads"]
        if id(instruction) in self._guesses and not access & BITS["strong"]:
            access |= BITS["guesses"]
        if "moves" in effects and "reads" in effects:
            stack, (base, start, end) = instruction.stack, _extent(instruction)
            if (stack, base, end) in self._starts or (stack, base, start) in self._ends:
                access |= BITS["piece"]
        return access

    def _note(self, instruction: Instruction) -> None:
        row = row_of(instruction)
        count = row.results(instruction) if row is not None else 0
        for name in _names(instruction.operands[:count]):
            self._definitions.setdefault(name, []).append(instruction)
        self._read |= _names(instruction.operands[count:])

    def _before(self, compared: tuple[Operand, ...]) -> set[str]:
        """Return the registers whose values reach what a compare and exchange compares with."""
        names = _names(compared)
        pending = [*names]
        while pending:
            for definition in self._definitions.get(pending.pop(), ()):
                source = definition.operands[-1]
                if definition.words[0] == "mov" and isinstance(source, Register):
                    new = _names([source]) - names
                    names |= new
                    pending += new
        return names

    def _address(self, addresses: tuple[Operand, ...]) -> tuple[str, int] | None:
        """Return an address as the name that it was moved from, and an offset."""
        base = next((a.base for a in addresses if isinstance(a, Address)), None)
        if not isinstance(base, Register):
            return None
        name, offset, seen = base.name, base.offset, set[str]()
        while name not in seen:
            seen.add(name)
            definitions = self._definitions.get(name, ())
            match [(definition.words[0], definition.operands) for definition in definitions]:
                case [("mov" | "cvta", (_, Register(name, more)))]:
                    offset += more
                case [("add", (_, Register(name), Immediate(more)))]:
                    offset += more
        return name, offset % 2**64


def _stored_loads(body: Iterable[Statement]) -> set[int]:
    """Return the identities of loads whose values are stored unchanged before the next label."""
    stored: set[int] = set()
    loaded: dict[str, int] = {}
    for statement in body:
        if not isinstance(statement, Instruction):
            loaded.clear()
            continue
        opcode, operands = statement.words[0], statement.operands
        if opcode == "st":
            stored |= {loaded[name] for name in _names(operands[1:]) if name in loaded}
        row = row_of(statement)
        for name in _names(operands[: row.results(statement)] if row is not None else ()):
            loaded.pop(name, None)
            if opcode == "ld":
                loaded[name] = id(statement)
    return stored


def _extent(load: Instruction) -> tuple[str, int, int]:
    """Return the base of a load's address, and where the load starts and ends from there on."""
    address = load.operands[1]
    base = address.base if isinstance(address, Address) else None
    name, start = (base.name, base.offset) if isinstance(base, Register) else ("", 0)
    return name, start, start + (lanes_of(load.name) or 1) * (size_in(load.words) or 0)


def _names(operands: Iterable[Operand]) -> set[str]:
    """Return the names in operands, except that of the register for unwanted results."""
    return {*names_in(operands)} - {"_"}
