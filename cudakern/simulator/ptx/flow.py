"""What checked launches need of a function: its basic blocks, and what becomes of its values."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx import access_bits as bits
from cudakern.simulator.ptx.accesses import access_of
from cudakern.simulator.ptx.model import (
    TYPE_BYTES,
    Address,
    Immediate,
    Instruction,
    Label,
    Register,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cudakern.simulator.ptx.model import Function, Operand, Statement

_ALL = (1 << 32) - 1  # bytes of a register, a bit each
#: What has a register first that is no result; all else whose first operand is no address has one.
_NO_RESULT = {
    "bar",
    "barrier",
    "bra",
    "brx",
    "nanosleep",
    "pmevent",
    "setmaxnreg",
    "griddepcontrol",
}


class _Copy(NamedTuple):
    """So many bytes of a register, from one on, become those of another."""

    source: str
    source_byte: int
    target: str
    target_byte: int
    size: int


class Flow:
    """The registers of a function."""

    def __init__(self, body: Sequence[Statement]) -> None:
        self._needed: dict[str, int] = {}  # bytes that more is done with than copying them
        self._read: set[str] = set()
        self._definitions: dict[str, list[Instruction]] = {}
        self._copies: list[_Copy] = []
        instructions = [one for one in body if isinstance(one, Instruction)]
        for one in instructions:
            self._note(one)
        self._follow_copies()
        loads = [one for one in instructions if one.words[0] == "ld" and len(one.operands) > 1]
        self._neighbours = Counter((_base(one), one.stack) for one in loads)
        exchanges = [one for one in instructions if one.words[0] == "atom" and "cas" in one.words]
        compared = [(self._place(one.operands[1:2]), self._before(one)) for one in exchanges]
        self._guesses = {
            id(one)
            for one in loads
            for place, registers in compared
            if _names(one.operands[:1]) & registers and self._place(one.operands[1:2]) == place
        } - _kept(body)

    def access(self, of: Instruction, does: str = "") -> tuple[int, int]:
        """Return what an instruction does to memory, and which bytes it needs; maybe as another."""
        told = access_of(does or of.name)
        opcode = of.words[0]
        if opcode == "atom" and _names(of.operands[:1]) & self._read:
            told |= bits.RETURNS | bits.READS
        if id(of) in self._guesses and not told & bits.STRONG:
            told |= bits.GUESSES
        if opcode in {"ld", "ldu"} and told:
            needed = self._needed_of(of)
            return told | (0 if needed else self._piece(of)), needed
        is_read = told & bits.READS and not told & bits.ATOMIC
        return told, (1 << (told & bits.BYTES)) - 1 if is_read else 0

    def _piece(self, load: Instruction) -> int:
        """Return PIECE for one of several loads from a base that stand at the same line."""
        return bits.PIECE if self._neighbours[_base(load), load.stack] > 1 else 0

    def _needed_of(self, load: Instruction) -> int:
        size = TYPE_BYTES.get(load.words[-1], 0)
        target = load.operands[0]
        items = target.items if isinstance(target, Vector) else (target,)
        names = (one.name if isinstance(one, Register) else "" for one in items)
        masks = (self._needed.get(name, 0) & (1 << size) - 1 for name in names)
        return sum(mask << size * i for i, mask in enumerate(masks))

    def _note(self, one: Instruction) -> None:
        opcode = one.words[0]
        first = _results(one)
        results, sources = one.operands[:first], one.operands[first:]
        for name in _names(results):
            self._definitions.setdefault(name, []).append(one)
        self._read |= _names(sources)
        if opcode == "mov" and results and sources:
            self._copies += _moved(one)
        elif opcode == "st":
            self._need(sources[:1])
        else:
            self._need(sources)
        if one.guard is not None:
            self._need([one.guard])

    def _need(self, operands: Iterable[Operand]) -> None:
        self._needed.update(dict.fromkeys(_names(operands), _ALL))

    def _follow_copies(self) -> None:
        changed = True
        while changed:
            changed = False
            for copy in reversed(self._copies):
                mask = self._needed.get(copy.target, 0) >> copy.target_byte & (1 << copy.size) - 1
                before = self._needed.get(copy.source, 0)
                after = before | mask << copy.source_byte
                if after != before:
                    self._needed[copy.source] = after
                    changed = True

    # Compare and exchange

    def _before(self, exchange: Instruction) -> set[str]:
        """Return the registers whose values reach what a compare and exchange compares with."""
        found = _names(exchange.operands[2:3])
        pending = [*found]
        while pending:
            for one in self._definitions.get(pending.pop(), ()):
                if one.words[0] == "mov" and isinstance(one.operands[-1], Register):
                    new = _names(one.operands[-1:]) - found
                    found |= new
                    pending += new
        return found

    def _place(self, addresses: tuple[Operand, ...]) -> tuple[str, int] | None:
        """Return an address as the name that it was copied from, and an offset."""
        base = next((one.base for one in addresses if isinstance(one, Address)), None)
        if not isinstance(base, Register):
            return None
        name, offset, seen = base.name, base.offset, set[str]()
        while name not in seen:
            seen.add(name)
            made = self._definitions.get(name, ())
            match [(one.words[0], one.operands) for one in made]:
                case [("mov" | "cvta", (_, Register(name, more)))]:
                    offset += more
                case [("add", (_, Register(name), Immediate(more)))]:
                    offset += more
        return name, offset % 2**64


def _kept(body: Iterable[Statement]) -> set[int]:
    """Return the identities of loads whose very values are stored before the next label."""
    kept: set[int] = set()
    loaded: dict[str, int] = {}
    for one in body:
        if not isinstance(one, Instruction):
            loaded.clear()
            continue
        first = _results(one)
        if one.words[0] == "st":
            kept |= {loaded[name] for name in _names(one.operands[first + 1 :]) if name in loaded}
        for name in _names(one.operands[:first]):
            loaded.pop(name, None)
            if one.words[0] == "ld":
                loaded[name] = id(one)
    return kept


def _base(load: Instruction) -> str:
    """Return the name that a load's address starts with."""
    address = load.operands[1]
    base = address.base if isinstance(address, Address) else None
    return base.name if isinstance(base, Register) else ""


def _results(one: Instruction) -> int:
    """Return how many operands of an instruction are results."""
    if not one.operands:
        return 0
    opcode, first = one.words[0], one.operands[0]
    if opcode == "call":
        return int(isinstance(first, Vector))
    has_none = isinstance(first, Address) or (opcode in _NO_RESULT and "red" not in one.words)
    return 0 if has_none else 1 + one.pairs


def _moved(one: Instruction) -> Iterator[_Copy]:
    """Yield the copies that a mov makes, which packs and unpacks vectors, too."""
    target, source, *_ = one.operands
    size = TYPE_BYTES.get(one.words[-1], 0)
    vector = next((side for side in one.operands if isinstance(side, Vector)), None)
    part = size // max(len(vector.items), 1) if vector is not None else size
    for i, item in enumerate((target,) if vector is None else vector.items):
        into, of = (item, source) if vector is target or vector is None else (target, item)
        if isinstance(into, Register) and isinstance(of, Register):
            at = i * part
            yield _Copy(
                *(of.name, at if vector is target else 0),
                *(into.name, at if vector is source else 0),
                part,
            )


def _names(operands: Iterable[Operand]) -> set[str]:
    """Return the names in operands, but that of the register that takes what nobody wants."""
    return {*names_in(operands)} - {"_"}


def names_in(operands: Iterable[Operand]) -> Iterator[str]:
    """Yield the names in operands."""
    pending = [*operands]
    while pending:
        one = pending.pop()
        if isinstance(one, Vector):
            pending += one.items
        elif isinstance(one, Address):
            pending.append(one.base)
        elif isinstance(one, Register):
            yield one.name


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
