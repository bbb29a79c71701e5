"""Undefined values in checked launches: which registers can hold some, and what becomes of them.

A value is undefined if nothing has written it to memory, or if a shuffle takes it from a missing
lane; likewise what is computed from it, unless another operand decides that. Its use is a finding
where it decides a branch, is part of an address, goes into an atomic, or is stored for others.

A register that others need later has a word beside it, which says which bytes are undefined
(`device/undefined.hpp`). Of one that is computed and used up in a basic block, it is known from
which words it follows. `follow_undefined` gives the steps that keep these words up to date.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.fragments import names_of
from cudakern.simulator.ptx.model import (
    TYPE_BYTES,
    Address,
    Immediate,
    Label,
    Register,
    Vector,
)
from cudakern.simulator.ptx.operations import Count, Op, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cudakern.simulator.ptx.fragments import Fragment, Fragments
    from cudakern.simulator.ptx.model import Operand
    from cudakern.simulator.ptx.operations import Body

_BYTE = 8
_HALF_VECTOR = 16  # bytes
_INTEGERS = frozenset(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64))
#: Of how many words a value may be known to follow.
_MOST_WORDS = 4


# Expressions


class Word(NamedTuple):
    """The word beside a register, or one of a vector that has been loaded, by its number."""

    name: str
    load: int = 0


class Made(NamedTuple):
    """What a function of `device/undefined.hpp` makes of words and numbers."""

    function: str
    arguments: tuple[Expression, ...]


class Decides(NamedTuple):
    """Whether an operand has the value that decides a result: zero or false, or the opposite."""

    operand: Operand
    type: str
    by_zero: bool


class Chosen(NamedTuple):
    """One of two expressions, as a predicate says."""

    predicate: Operand
    first: Expression
    second: Expression


class Union(NamedTuple):
    """Of which words a word is the union, and whether all bytes follow from any of them."""

    words: tuple[Expression, ...] = ()
    variables: tuple[Word, ...] = ()  # that the words are made of
    whole: bool = False


class Passed(NamedTuple):
    """The word beside a parameter or result of a function."""

    address: Address
    offset: int
    size: int


Expression = Word | Made | Decides | Chosen | Union | Passed | int | bool
DEFINED = Union()


def _union(values: Iterable[Union], *, whole: bool) -> Union:
    found = [value for value in values if value.words]
    words = dict.fromkeys(word for value in found for word in value.words)
    variables = dict.fromkeys(name for value in found for name in value.variables)
    return Union((*words,), (*variables,), whole or any(value.whole for value in found))


# Steps


class Set(NamedTuple):
    """A word gets a value."""

    word: Word
    value: Expression


class Used(NamedTuple):
    """Undefined bytes are used, which is a finding."""

    value: Expression
    use: str


class Give(NamedTuple):
    """The word of what is passed to the warp, or the words of the registers of a matrix."""

    values: tuple[Expression, ...]
    variables: tuple[Word, ...] = ()  # of registers; none are given if these are all defined
    first: int = 0  # the number of the first register


class GiveFragment(NamedTuple):
    """The words of a fragment are passed to the warp."""

    fragment: Fragment
    first: int  # the number of its first register


class Take(NamedTuple):
    """The words of what comes from the warp: of registers of a matrix, or the same for all."""

    words: tuple[tuple[Word | Fragment, int], ...]  # with the number of the (first) register
    of_registers: bool


class Pass(NamedTuple):
    """A word is stored beside a parameter or result of a function."""

    address: Address
    offset: int
    size: int
    value: Expression


class Forget(NamedTuple):
    """The word of what was loaded is taken, and not kept."""


Step = Set | Used | Give | GiveFragment | Take | Pass | Forget


@dataclass(slots=True)
class Steps:
    """What follows an operation: inside of its guard, and outside."""

    outside: list[Step] = field(default_factory=list)  # before it
    before: list[Step] = field(default_factory=list)
    after: list[Step] = field(default_factory=list)
    behind: list[Step] = field(default_factory=list)  # outside, behind it
    stored: tuple[Union, ...] = ()  # of the values that a store writes


class Followed(NamedTuple):
    """The steps of a function's operations, by their identities, and the words that it needs."""

    steps: dict[int, Steps]
    words: list[Word]


def follow_undefined(body: Body, fragments: Fragments) -> Followed:
    """Return the steps that keep words up to date, and report uses."""
    follower = _Follower(body, fragments)
    for statement in body.statements:
        if isinstance(statement, Count):
            follower.seen.clear()
        elif isinstance(statement, Op):
            follower.follow(statement)
    return Followed(follower.steps, [*follower.words])


class _Follower:
    """The registers of a function that can hold undefined values."""

    def __init__(self, body: Body, fragments: Fragments) -> None:
        self._registers = body.registers
        self._fragments = fragments
        own = body.function.parameters if body.function.is_entry else ()
        self._names = _find_reached(body, {variable.name for variable in own})
        self._names -= {name for names in fragments for name in names}
        self._passing, self._again = _find_block_names(body, self._names)
        self._last = _last_uses(body, self._passing)
        self._stored = _stored_sizes(body)
        self._values: dict[str, Union] = {}  # of registers that pass, until their last use
        self.words: dict[Word, None] = {}  # in use
        self._loads = 0  # of vectors
        self.seen: set[Expression] = set()  # whose use is reported already, in the block
        self.steps: dict[int, Steps] = {}
        self._at = Steps()  # those of the current operation

    def follow(self, op: Op) -> None:
        """Take up the next operation."""
        self._at = steps = Steps()
        bases = [operand.base for operand in op.operands if isinstance(operand, Address)]
        steps.before += self._used(op, bases, "address")
        _RULES[op.form.undefined](self, op)
        guards = [] if op.guard is None else [op.guard]
        effects = op.form.effects
        if effects.computes or effects <= {"reads", "moves"}:
            steps.behind += self._apply_guards(op, guards)
        else:
            steps.outside += self._used(op, guards, "branch")
        for name in self._last.get(id(op), ()):
            self._values.pop(name, None)
        self.steps[id(op)] = steps

    def _value(self, operand: Operand | None) -> Union:
        """Return the word of a register; of all others it is known that they are defined."""
        if not isinstance(operand, Register) or operand.name not in self._names:
            return DEFINED
        if operand.name in self._passing:
            return self._values.get(operand.name, DEFINED)
        word = self._word(operand.name)
        return Union((word,), (word,)) if word is not None else DEFINED

    def _values_of(self, operands: Iterable[Operand]) -> list[Union]:
        return [self._value(operand) for operand in _registers(operands)]

    def _word(self, name: str) -> Word | None:
        if name not in self._registers:
            return None
        word = Word(name)
        self.words[word] = None
        return word

    def _assign(self, target: Operand, value: Expression) -> Iterator[Step]:
        """Yield what gives a register its word."""
        if not isinstance(target, Register) or target.name not in self._names:
            return
        name = target.name
        passes = isinstance(value, Union) and len(value.words) <= _MOST_WORDS
        if name in self._passing and isinstance(value, Union) and passes:
            self._values[name] = value
            return
        word = self._word(name)
        if word is None:
            return
        if name in self._again:
            self._keep(word)
        yield Set(word, value)
        self.seen.discard(word)
        if name in self._passing:
            self._values[name] = Union((word,), (word,))

    def _assign_all(self, op: Op, value: Expression) -> Iterator[Step]:
        for name in op.writes:
            yield from self._assign(Register(name), value)

    def _keep(self, word: Word) -> None:
        """Give values a word that follow from one which is about to change."""
        for name, value in self._values.items():
            own = self._word(name) if word in value.variables else None
            if own is not None and own != word:
                self._at.outside.append(Set(own, value))
                self._values[name] = Union((own,), (own,))

    def _used(self, op: Op, operands: Iterable[Operand], use: str) -> Iterator[Step]:
        """Yield what reports the use of undefined values among operands."""
        registers = [Register(name) for operand in operands for name in names_in([operand])]
        value = _union(map(self._value, registers), whole=False)
        new = tuple(word for word in value.words if word not in self.seen)
        if new:
            if use == "branch" or op.guard is None:
                self.seen.update(new)
            yield Used(Union(new), use)

    def _apply_guards(self, op: Op, guards: Iterable[Register]) -> Iterator[Step]:
        """Yield what a guard that may be undefined makes of results."""
        for guard in guards:
            value = self._value(guard)
            for name in op.writes if value.words else ():
                target = Register(name)
                both = Union((self._value(target), value._replace(whole=True)))
                yield from self._assign(target, Made("", (both,)))

    # Rules, by the words of rows

    def compute(self, op: Op, result: Callable[[Op, Sequence[Union]], Expression]) -> None:
        """Give results their words, before the results are computed."""
        if self._names.isdisjoint(op.writes):
            return
        values = self._values_of(op.sources)
        value = result(op, values) if any(v.words for v in values) else DEFINED
        self._at.before += self._assign_all(op, value)

    def move(self, op: Op) -> None:
        """Follow a mov, which packs and unpacks vectors, too."""
        if self._names.isdisjoint(op.writes):
            return
        (target,), (source,) = op.results, op.sources
        size = TYPE_BYTES[op.row.fields["TYPE"]]
        if isinstance(source, Vector):
            part = size // len(source.items)
            words = tuple(
                _kept(_placed(value, part * i, part), _mask(size))
                for i, value in enumerate(map(self._value, source.items))
                if value.words
            )
            value: Expression = Made("", (Union(words),)) if words else DEFINED
            self._at.before += self._assign(target, value)
        elif isinstance(target, Vector):
            part, value = size // len(target.items), self._value(source)
            for i, item in enumerate(target.items):
                word = _part(value, part * i, part)
                self._at.before += self._assign(item, word if value.words else DEFINED)
        else:
            self._at.before += self._assign(target, self._value(source))

    def passes(self, op: Op) -> None:
        """Follow values through the parameters and results of functions."""
        address = next(operand for operand in op.operands if isinstance(operand, Address))
        size = TYPE_BYTES[op.row.fields["TYPE"]]
        items = _registers(op.results or op.sources[-1:])
        for i, item in enumerate(items):
            if op.results:
                self._at.after += self._assign(item, Passed(address, size * i, size))
            else:
                self._at.after.append(Pass(address, size * i, size, self._value(item)))

    def load(self, op: Op) -> None:
        """Take the word of what is loaded."""
        (target,), after = op.results[:1], self._at.after
        if names_of(target) in self._fragments:
            row = self._fragments[names_of(target)]
            self._at.after.append(Take(((row, -1),), of_registers=True))
            return
        size = TYPE_BYTES[op.row.types.get("d") or op.row.fields["TYPE"]]
        taken = Made("taken", ())
        if not isinstance(target, Vector):
            after += [*self._assign(target, self._extended(target, size, taken))] or [Forget()]
            return
        self._loads += 1
        halves = [Word("", 2 * self._loads), Word("", 2 * self._loads + 1)]
        after.append(Set(halves[0], taken))
        if size * len(target.items) > _HALF_VECTOR:
            after.append(Set(halves[1], Made("taken_behind", (halves[0],))))
        self.words |= dict.fromkeys(halves[: len(after)])
        for i, item in enumerate(target.items):
            half, at = divmod(size * i, _HALF_VECTOR)
            word = self._extended(item, size, _part(halves[half], at, size))
            after += self._assign(item, Union((word,), (halves[half],)))

    def _extended(self, target: Operand, size: int, word: Expression) -> Expression:
        """Return the word of a register that a load extends, unless so many bytes are copied on."""
        if not isinstance(target, Register):
            return word
        kind = self._registers.type_of(target.name)
        extends = kind is not None and size < TYPE_BYTES[kind]
        copies = (target.name, size) in self._stored
        return Made("whole", (word,)) if extends and not copies else word

    def store(self, op: Op) -> None:
        """Tell the words of what is stored."""
        values = self._values_of(op.sources[1:2])
        if any(value.words for value in values):
            self._at.stored = (*values,)

    def lane(self, op: Op) -> None:
        """Give a word to another lane, and get one."""
        before, after = self._at.before, self._at.after
        before += self._used(op, op.sources[1:], "other")
        given = self._value(op.sources[0])
        before += [Give((given,))] if given.words else []
        after += self._assign(op.results[0], Made("taken", ()))
        for second in op.results[1:]:
            after += self._assign(second, DEFINED)

    def lanes(self, op: Op) -> None:
        """Give a word to all lanes, whose results are undefined if any of those is."""
        given = _union(self._values_of(op.sources), whole=True)
        if not given.words:
            self._at.after += self._assign_all(op, DEFINED)
            return
        self._at.before.append(Give((given,)))
        self._take([Register(name) for name in op.writes], of_registers=False)

    def fragments(self, op: Op) -> None:
        """Give and get the words of registers that hold matrices."""
        first = 0
        for operand in (o for o in op.sources if not isinstance(o, Address)):
            fragment = self._fragments.get(names_of(operand))
            values = self._values_of([operand])
            variables = _union(values, whole=False).variables
            if fragment is not None:
                self._at.before.append(GiveFragment(fragment, first))
            elif variables:
                self._at.before.append(Give((*values,), variables, first))
            first += len(values)
        fragment = self._fragments.get(names_of(op.results[0])) if op.results else None
        if fragment is not None:
            self._at.after.append(Take(((fragment, 0),), of_registers=True))
        else:
            self._take(_registers(op.results), of_registers=True)

    def _take(self, targets: Sequence[Operand], *, of_registers: bool) -> None:
        words: list[tuple[Word | Fragment, int]] = []
        for number, target in enumerate(targets):
            for step in self._assign(target, Made("", ())):
                words += [(step.word, number)] if isinstance(step, Set) else []
        self._at.after.append(Take((*words,), of_registers))

    def use(self, op: Op) -> None:
        """Report the use of operands; results are defined."""
        use = "atomic" if "atomic" in op.form.effects else "other"
        self._at.before += self._used(op, op.sources, use)
        self._at.after += self._assign_all(op, DEFINED)


# What follows of operands, for operations that compute


def _whole(_op: Op, values: Sequence[Union]) -> Expression:
    return _union(values, whole=True)


def _bytes(_op: Op, values: Sequence[Union]) -> Expression:
    return _union(values, whole=False)


def _halves(_op: Op, values: Sequence[Union]) -> Expression:
    return Made("halves", (_union(values, whole=False),))


def _and(op: Op, values: Sequence[Union]) -> Expression:
    return _decided(op, values, by_zero=True)


def _or(op: Op, values: Sequence[Union]) -> Expression:
    is_predicate = op.row.fields["TYPE"] == "pred"
    return _decided(op, values, by_zero=False) if is_predicate else _bytes(op, values)


def _decided(op: Op, values: Sequence[Union], *, by_zero: bool) -> Expression:
    """Return the word of a result that each operand may decide by itself."""
    kind = op.row.fields["TYPE"]
    for value, other in zip(values, op.sources[::-1], strict=True):
        if isinstance(other, Immediate) and kind != "pred":
            used = sum(1 << i for i in range(_HALF_VECTOR) if other.value >> _BYTE * i & 255)
            return _kept(value, used)
    cpp = "pred" if kind == "pred" else f"u{_BYTE * TYPE_BYTES[kind]}"
    a, b = (Decides(source, cpp, by_zero) for source in op.sources)
    return Made("decided", (*values, a, b))


def _compare(op: Op, values: Sequence[Union]) -> Expression:
    """Return the word of setp's result, which the third operand may decide by itself."""
    by_zero = {"and": True, "or": False}.get(op.row.fields["BOOL"])
    if by_zero is None:
        return _whole(op, values)
    own = _union(values[:2], whole=True)
    return Made("decided", (own, values[2], False, Decides(op.sources[2], "pred", by_zero)))


def _select(op: Op, values: Sequence[Union]) -> Expression:
    a, b, c = values
    c = c._replace(whole=True)
    if a == b:
        return _union((a, c), whole=False)
    return Made("", (Union((Chosen(op.sources[2], a, b), *([c] if c.words else []))),))


def _narrow(op: Op, values: Sequence[Union]) -> Expression:
    """Return the word of an integer that is cut, or extended."""
    *_, into, of = op.row.words
    (value,) = values
    if TYPE_BYTES[into] < TYPE_BYTES[of] and not value.whole:
        return _kept(value, _mask(TYPE_BYTES[into]))
    return value._replace(whole=True)


def _shift(op: Op, values: Sequence[Union], move: Callable[..., Made]) -> Expression:
    """Return the word of a result that has bytes of an operand, at other offsets."""
    count, kind = op.sources[1], op.row.fields["TYPE"]
    is_known = isinstance(count, Immediate) and count.value % _BYTE == 0
    if not isinstance(count, Immediate) or not is_known or (move is _part and kind[0] == "s"):
        return _whole(op, values)
    at, size = min(count.value // _BYTE, _HALF_VECTOR), TYPE_BYTES[kind]
    return _kept(move(values[0], at, size), _mask(size))


def _extract(op: Op, values: Sequence[Union]) -> Expression:
    """Return the word of the result of bfe."""
    field = _field_of(op)
    if field is None:
        return _whole(op, values)
    first, last = field
    return Made("whole", (_part(values[0], first, last - first + 1),))


def _insert(op: Op, values: Sequence[Union]) -> Expression:
    """Return the word of the result of bfi."""
    field = _field_of(op)
    if field is None or any(bits.value % _BYTE for bits in _immediates(op.sources[-2:])):
        return _whole(op, values)
    first, last = field
    count = last - first + 1
    rest = 0xFFFF & ~(_mask(count) << first)
    kept = (_placed(values[0], first, count), _kept(values[1], rest))
    return _kept(Union(kept), 0xFF)


def _field_of(op: Op) -> tuple[int, int] | None:
    """Return the first and the last byte of a field of bits, as far as it is known."""
    counts = _immediates(op.sources[-2:])
    if len(counts) != len(("start", "length")) or not counts[1].value:
        return None
    start, length = (count.value for count in counts)
    return min(start // _BYTE, 15), min((start + length - 1) // _BYTE, 15)


def _permute(op: Op, values: Sequence[Union]) -> Expression:
    """Return the word of prmt's result: of bytes of the two operands."""
    selector = _immediates(op.sources[-1:])
    if op.row.fields["MODE"] != "none" or not selector:
        return _whole(op, values)
    taken = [selector[0].value >> 4 * i & 7 for i in range(4)]
    words = tuple(
        _placed(_part(values[byte // 4], byte % 4, 1), i, 1)
        for i, byte in enumerate(taken)
        if values[byte // 4].words
    )
    return _kept(Union(words), 0xF)


def _immediates(operands: Iterable[Operand]) -> list[Immediate]:
    return [operand for operand in operands if isinstance(operand, Immediate)]


def _mask(size: int) -> int:
    """Return the bits of the first bytes of a word."""
    return (1 << size) - 1


def _kept(value: Expression, mask: int) -> Made:
    return Made("kept", (value, mask))


def _part(value: Expression, at: int, size: int) -> Made:
    return Made("part_of", (value, at, _mask(size)))


def _placed(value: Expression, at: int, size: int) -> Made:
    return Made("placed_at", (value, at, _mask(size)))


def _computing(result: Callable[[Op, Sequence[Union]], Expression]) -> Callable[..., None]:
    return lambda follower, op: follower.compute(op, result)


_RULES: dict[str, Callable[[_Follower, Op], None]] = {
    "whole": _computing(_whole),
    "bytes": _computing(_bytes),
    "halves": _computing(_halves),
    "and": _computing(_and),
    "or": _computing(_or),
    "compare": _computing(_compare),
    "select": _computing(_select),
    "narrow": _computing(_narrow),
    "shift_left": _computing(lambda op, values: _shift(op, values, _placed)),
    "shift_right": _computing(lambda op, values: _shift(op, values, _part)),
    "extract": _computing(_extract),
    "insert": _computing(_insert),
    "permute": _computing(_permute),
    "move": _Follower.move,
    "pass": _Follower.passes,
    "load": _Follower.load,
    "store": _Follower.store,
    "lane": _Follower.lane,
    "lanes": _Follower.lanes,
    "fragments": _Follower.fragments,
    "use": _Follower.use,
}


# Which registers


def _registers(operands: Iterable[Operand]) -> list[Operand]:
    """Return operands with those in braces one by one, but addresses."""
    found: list[Operand] = []
    for operand in operands:
        if isinstance(operand, Vector):
            found += _registers(operand.items)
        elif not isinstance(operand, Address):
            found.append(operand)
    return found


def _names_used(op: Op) -> list[str]:
    """Return the names of operands and the guard, but of those in addresses."""
    guards = [] if op.guard is None else [op.guard]
    return names_in([*_registers(op.sources), *guards])


def _find_reached(body: Body, own: set[str]) -> set[str]:
    """Return the registers that an undefined value can reach; ``own`` are a kernel's parameters."""
    leads: dict[str, set[str]] = {}
    reached: set[str] = set()
    for op in body.ops:
        if _begins(op) and own.isdisjoint(names_in(op.sources)):
            reached.update(op.writes)
        if "atomic" in op.form.effects:
            continue
        for name in _names_used(op):
            leads.setdefault(name, set()).update(op.writes)
    pending = [*reached]
    while pending:
        new = leads.get(pending.pop(), set()) - reached
        reached |= new
        pending += new
    return reached


def _begins(op: Op) -> bool:
    """Return whether an operation can be where an undefined value comes from."""
    if op.form.undefined in {"lane", "pass"}:
        return True
    effects = op.form.effects
    return "reads" in effects and "atomic" not in effects and "const" not in op.row.spaces


def _stored_sizes(body: Body) -> set[tuple[str, int]]:
    """Return the names that are stored, each with how many bytes of it are."""
    return {
        (name, TYPE_BYTES[op.row.fields["TYPE"]])
        for op in body.ops
        if op.stores and "TYPE" in op.row.fields
        for name in names_in(_registers(op.sources[1:]))
    }


def _last_uses(body: Body, names: set[str]) -> dict[int, list[str]]:
    """Return, by the identity of an operation, the names that are used there last."""
    last = {name: id(op) for op in body.ops for name in chain(op.writes, op.reads) if name in names}
    found: dict[int, list[str]] = {}
    for name, op_id in last.items():
        found.setdefault(op_id, []).append(name)
    return found


def _find_block_names(body: Body, names: set[str]) -> tuple[set[str], set[str]]:
    """Return the names that are computed and used up in one basic block, and those computed again.

    The former are computed without a guard, before they are used.
    """
    counts: Counter[str] = Counter()
    blocks: dict[str, int] = {}  # where a name is computed
    block, elsewhere = 0, set[str]()
    for op in body.statements:
        if isinstance(op, Label):
            block += 1
        if not isinstance(op, Op):
            continue
        elsewhere.update(name for name in op.reads if name in names and blocks.get(name) != block)
        for name in op.writes:
            counts[name] += 1
            blocks[name] = block
        if op.guard is not None:
            elsewhere.update(op.writes)
        if "ends" in op.form.effects:
            block += 1
    again = {name for name, count in counts.items() if count > 1}
    return names - again - elsewhere, again
