"""What operations do to memory, as others show: guesses, parts of values, results in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.access_bits import BITS
from cudakern.simulator.ptx.effects import size_in
from cudakern.simulator.ptx.model import Address, Immediate, Label, Register
from cudakern.simulator.ptx.operations import Op, names_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cudakern.simulator.ptx.model import Operand
    from cudakern.simulator.ptx.operations import Body


def access_bits_of(body: Body) -> dict[int, int]:
    """Return the bits of `Site.access` of each operation, by the identities of instructions."""
    accesses = _MemoryAccesses(body)
    return {id(op.instruction): accesses.bits_of(op) for op in body.ops}


class _MemoryAccesses:
    """What the operations of a function do to memory."""

    def __init__(self, body: Body) -> None:
        ops = body.ops
        self._read: set[str] = set()
        self._definitions: dict[str, list[Op]] = {}
        for op in ops:
            for name in op.writes:
                self._definitions.setdefault(name, []).append(op)
            self._read |= _names(op.sources)
        loads = [op for op in ops if op.loads and len(op.operands) > 1]
        extents = [(load.instruction.stack, *_extent(load)) for load in loads]
        #: Where loads start and end, with their source line and the base of their address.
        self._starts = {(stack, base, start) for stack, base, start, _ in extents}
        self._ends = {(stack, base, end) for stack, base, _, end in extents}
        exchanges = [op for op in ops if op.row.access & BITS["compares"]]
        compared: dict[tuple[str, int] | None, set[str]] = {}
        for exchange in exchanges:
            address = self._address(exchange.operands[1:2])
            compared.setdefault(address, set()).update(self._before(exchange.operands[2:3]))
        self._guesses = {
            id(load)
            for load in loads
            if compared
            and _names(load.results) & compared.get(self._address(load.sources[:1]), set())
        } - _stored_loads(body)

    def bits_of(self, op: Op) -> int:
        """Return what an operation does to memory, as bits."""
        access, effects = op.row.access, op.form.effects
        if "returns" in effects and not self._read.isdisjoint(op.writes):
            access |= BITS["returns"] | BITS["reads"]
        if id(op) in self._guesses and not access & BITS["strong"]:
            access |= BITS["guesses"]
        if "moves" in effects and "reads" in effects:
            stack, (base, start, end) = op.instruction.stack, _extent(op)
            if (stack, base, end) in self._starts or (stack, base, start) in self._ends:
                access |= BITS["piece"]
        return access

    def _before(self, compared: tuple[Operand, ...]) -> set[str]:
        """Return the registers whose values reach what a compare and exchange compares with."""
        names = _names(compared)
        pending = [*names]
        while pending:
            for definition in self._definitions.get(pending.pop(), ()):
                source = definition.operands[-1]
                if "copies" in definition.form.effects and isinstance(source, Register):
                    new = _names([source]) - names
                    names |= new
                    pending += new
        return names

    def _address(self, addresses: tuple[Operand, ...]) -> tuple[str, int] | None:
        """Return an address as the name that it was moved from, and an offset."""
        given = next((a.base for a in addresses if isinstance(a, Address)), None)
        if not isinstance(given, Register):
            return None
        name, offset, seen = given.name, given.offset, set[str]()
        while name not in seen:
            seen.add(name)
            definitions = self._definitions.get(name, ())
            match [(definition.operands, definition.form.effects) for definition in definitions]:
                case [((_, Register(base, more)), effects)] if "points" in effects:
                    name, offset = base, offset + more
                case [((_, Register(base), Immediate(more)), effects)] if "adds" in effects:
                    name, offset = base, offset + more
        return name, offset % 2**64


def _stored_loads(body: Body) -> set[int]:
    """Return the identities of loads whose values are stored unchanged before the next label."""
    stored: set[int] = set()
    loaded: dict[str, int] = {}
    for op in body.statements:
        if isinstance(op, Label):
            loaded.clear()
        if not isinstance(op, Op):
            continue
        if op.stores:
            stored |= {loaded[name] for name in _names(op.sources[1:]) if name in loaded}
        for name in op.writes:
            loaded.pop(name, None)
            if op.loads:
                loaded[name] = id(op)
    return stored


def _extent(load: Op) -> tuple[str, int, int]:
    """Return the base of a load's address, and where the load starts and ends from there on."""
    address = load.operands[1]
    base = address.base if isinstance(address, Address) else None
    name, start = (base.name, base.offset) if isinstance(base, Register) else ("", 0)
    return name, start, start + (load.row.lanes or 1) * (size_in(load.row.words) or 0)


def _names(operands: Iterable[Operand]) -> set[str]:
    """Return the names in operands, except that of the register for unwanted results."""
    return {*names_in(operands)} - {"_"}
