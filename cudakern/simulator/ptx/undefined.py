"""Undefined values in checked launches: which registers can hold some, and C++ that follows them.

A value is undefined if nothing has written it to memory, or if a shuffle takes it from a missing
lane; likewise what is computed from it, unless another operand decides that. Its use is a finding
where it decides a branch, is part of an address, goes into an atomic, or is stored for others.

A register that others need later has a variable for its word. Of one that is computed and used up
in a basic block, it is known from which words it follows.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.basic_blocks import computes, constants, names_in, with_rows
from cudakern.simulator.ptx.instructions import row_of
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

    from cudakern.simulator.ptx.forms import Match
    from cudakern.simulator.ptx.function import FunctionText
    from cudakern.simulator.ptx.model import Operand, Statement

#: Instructions of a warp whose results have to do with what other lanes give.
_SHARED = {"vote", "match", "redux", "elect", "movmatrix"}
#: Those that follow undefined registers by themselves.
_MATRICES = {"mma", "wmma", "stmatrix"}
#: When a predicate decides the result of an operation by itself.
_DECIDING = {"and": "!({})", "or": "({})"}
#: Types of two numbers in a word, and the operations that work on each number alone.
_PACKED = {"f16x2", "bf16x2", "u16x2", "s16x2"}
_EACH_ALONE = {"add", "sub", "mul", "fma", "min", "max", "neg", "abs", "ex2", "tanh"}
_INTEGER = re.compile(r"([bus])(8|16|32|64)")
_BYTE = 8
_HALF_VECTOR = 16  # bytes
_ROW_PART = 4  # bytes of a row of a matrix that a register gets
#: Of how many words a value may be known to follow.
_MOST_WORDS = 4


class _Value(NamedTuple):
    """Of which words a word is the union, and whether all bytes follow from any of them."""

    words: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()  # that the words are made of
    whole: bool = False

    def __str__(self) -> str:
        union = " | ".join(self.words) or "0"
        if self.whole and self.words:
            return f"whole({union})"
        return f"({union})" if len(self.words) > 1 else union


_DEFINED = _Value()


def _union(values: Iterable[_Value], *, whole: bool) -> _Value:
    found = [value for value in values if value.words]
    words = dict.fromkeys(word for value in found for word in value.words)
    variables = dict.fromkeys(name for value in found for name in value.variables)
    return _Value((*words,), (*variables,), whole or any(value.whole for value in found))


class Undefined:
    """The registers of a function that can hold undefined values."""

    def __init__(self, text: FunctionText, body: Sequence[Statement]) -> None:
        self._text = text
        own = text.function.parameters if text.function.is_entry else ()
        self._names = _find_reached(body, {variable.name for variable in own})
        self._passing, self._again = _find_block_names(body, self._names)
        self._last = _last_uses(body, self._passing)
        self._stored = _stored_sizes(body)
        self._constants = constants(body)
        self._values: dict[str, _Value] = {}  # of registers that pass, until their last use
        self._kept: list[str] = []  # what keeps such values that a variable is about to change
        self._variables: dict[str, None] = {}  # in use
        self._loads = 0  # of vectors
        self._seen: set[str] = set()  # whose use is reported already, in the block

    def declarations(self) -> Iterator[str]:
        """Yield the declaration of the variables that follow registers."""
        if self._variables:
            yield f"u64 {'{}, '.join(self._variables)}{{}};"

    def begin_block(self) -> None:
        """Forget what is known of one basic block: another one begins."""
        self._seen.clear()

    def stored(self, items: Sequence[Operand]) -> tuple[str, str]:
        """Return another argument for storing values that can be undefined, and its condition."""
        values = [self._value(item) for item in items]
        variables = _union(values, whole=False).variables
        if not variables:
            return "", ""
        if len(values) == 1:
            return f", {values[0]}", ""
        listed = ", ".join(map(str, values))
        argument = f", Undefined<{len(values)}>{{{{{listed}}}}}"
        return argument, f"__builtin_expect(has_bytes({' | '.join(variables)}), 0)"

    def extend(self, statement: str) -> tuple[str, str, str]:
        """Return a statement with what becomes of undefined values.

        Before and behind it stands what does not depend on the instruction's guard.
        """
        instruction, row = self._text.instruction, self._text.row
        count = row.results(instruction)
        results, sources = instruction.operands[:count], instruction.operands[count:]
        bases = [o.base for o in instruction.operands if isinstance(o, Address)]
        before = [*self._used(bases, "address")]
        after: list[str] = []
        if computes(row):
            before += self._computed(results, sources)
        elif instruction.words[0] in {"ld", "st"} and self._text.space.startswith("param"):
            after += self._passed(sources)
        else:
            self._done(row, results, sources, before, after)
        guards = _guards(instruction)
        outside, behind = [], []
        if computes(row) or row.form.effects.words <= {"reads", "moves"}:
            behind = [*self._apply_guards(results, guards)]
        else:
            outside = [*self._used(guards, "branch")]
        inside = " ".join((*before, statement, *after))
        outside, self._kept = [*self._kept, *outside], []
        for name in self._last.get(id(instruction), ()):
            self._values.pop(name, None)
        return inside, " ".join(outside), " ".join(behind)

    def _value(self, operand: Operand | None) -> _Value:
        """Return the word of a register; of all others it is known that they are defined."""
        if not isinstance(operand, Register) or operand.name not in self._names:
            return _DEFINED
        if operand.name in self._passing:
            return self._values.get(operand.name, _DEFINED)
        variable = self._variable(operand.name)
        return _Value((variable,), (variable,)) if variable else _DEFINED

    def _variable(self, name: str) -> str:
        register = self._text.register(name)
        if register is None:
            return ""
        self._variables[f"u_{register.name}"] = None
        return f"u_{register.name}"

    def _assign(self, target: Operand, value: _Value | str) -> Iterator[str]:
        """Yield what gives a register its word."""
        if not isinstance(target, Register) or target.name not in self._names:
            return
        name = target.name
        passes = isinstance(value, _Value) and len(value.words) <= _MOST_WORDS
        if name in self._passing and isinstance(value, _Value) and passes:
            self._values[name] = value
            return
        variable = self._variable(name)
        if not variable:
            return
        if name in self._again:
            self._keep(variable)
        yield f"{variable} = {value};"
        self._seen.discard(variable)
        if name in self._passing:
            self._values[name] = _Value((variable,), (variable,))

    def _keep(self, variable: str) -> None:
        """Give values a variable that follow from one which is about to change."""
        for name, value in self._values.items():
            own = self._variable(name) if variable in value.variables else ""
            if own and own != variable:
                self._kept.append(f"{own} = {value};")
                self._values[name] = _Value((own,), (own,))

    def _used(self, operands: Iterable[Operand], use: str) -> Iterator[str]:
        """Yield what reports the use of undefined values among operands."""
        registers = [Register(name) for operand in operands for name in names_in([operand])]
        value = _union(map(self._value, registers), whole=False)
        new = [word for word in value.words if word not in self._seen]
        if new:
            if use == "branch" or self._text.instruction.guard is None:
                self._seen.update(new)
            yield f"used({' | '.join(new)}, ck_sim_use_{use}, {self._text.site()});"

    def _apply_guards(
        self, results: Iterable[Operand], guards: Iterable[Register]
    ) -> Iterator[str]:
        """Yield what a guard that may be undefined makes of results."""
        for guard in guards:
            for name in names_in(results):
                target, value = Register(name), self._value(guard)
                if value.words:
                    both = f"{self._value(target)} | {value._replace(whole=True)}"
                    yield from self._assign(target, both)

    def _done(
        self,
        row: Match,
        results: Sequence[Operand],
        sources: Sequence[Operand],
        before: list[str],
        after: list[str],
    ) -> None:
        """Follow values through memory, or through the warp."""
        opcode, effects = self._text.instruction.words[0], row.form.effects
        given = _union(map(self._value, _registers(sources)), whole=True)
        if opcode == "shfl":
            before += self._used(sources[1:], "other")
            given = self._value(sources[0])
            before += [f"give(me, {given});"] if given.words else []
            after += self._assign(results[0], "taken(me)")
            after += [line for second in results[1:] for line in self._assign(second, _DEFINED)]
        elif opcode in _SHARED and (given.words or effects.accesses_memory):
            before += [f"give(me, {given});"] if given.words else []
            words = [
                line
                for name in names_in(results)
                for line in self._assign(Register(name), "whole(u)")
            ]
            after.append(f"{{ const u64 u = taken(me); {' '.join(words)} }}")
        elif opcode in _MATRICES:
            before += self._given_registers(sources)
            after.append(self._got_registers(results))
        elif opcode == "ldmatrix" or {"moves", "reads"} <= effects.words:
            after.append(self._assign_loaded(results[0]))
        elif opcode != "st":
            before += self._used(sources, "atomic" if "atomic" in effects else "other")
            for name in names_in(results):
                after += self._assign(Register(name), _DEFINED)

    def _given_registers(self, sources: Sequence[Operand]) -> Iterator[str]:
        """Yield the statement that gives the warp the undefined registers of a matrix."""
        values = [self._value(source) for source in _registers(sources)]
        variables = _union(values, whole=False).variables
        if variables:
            words = ", ".join(map(str, values))
            condition = f"has_bytes({' | '.join(variables)})"
            yield (
                f"if (__builtin_expect({condition}, 0)) "
                f"{{ const u64 u[] = {{{words}}}; give_registers(me, u); }}"
            )

    def _got_registers(self, results: Sequence[Operand]) -> str:
        lines = ["const u64 u = taken(me), v = me->undefined_behind; me->undefined_behind = 0;"]
        for i, item in enumerate(_registers(results)):
            lines += self._assign(item, f"of_register(u, v, {i})")
        return f"{{ {' '.join(lines)} }}"

    def _assign_loaded(self, target: Operand) -> str:
        words = self._text.instruction.words
        size = _ROW_PART if words[0] == "ldmatrix" else TYPE_BYTES[words[-1]]
        if not isinstance(target, Vector):
            word = self._extended(target, size, "taken(me)")
            return "".join(self._assign(target, word)) or "taken(me);"
        self._loads += 1
        halves = [f"u_load{self._loads}", f"u_load{self._loads}b"]
        lines = [f"{halves[0]} = taken(me);"]
        if size * len(target.items) > _HALF_VECTOR:
            lines.append(f"{halves[1]} = taken_behind(me, {halves[0]});")
        self._variables.update(dict.fromkeys(halves[: len(lines)]))
        for i, item in enumerate(target.items):
            half, at = divmod(size * i, _HALF_VECTOR)
            word = self._extended(item, size, f"part_of({halves[half]}, {at}, {_mask(size)})")
            lines += self._assign(item, _Value((word,), (halves[half],)))
        return " ".join(lines)

    def _extended(self, target: Operand, size: int, word: str) -> str:
        """Return the word of a register that a load extends, unless so many bytes are copied on."""
        register = self._text.register(target.name) if isinstance(target, Register) else None
        extends = register is not None and size < TYPE_BYTES.get(register.type, 0)
        copies = isinstance(target, Register) and (target.name, size) in self._stored
        return f"whole({word})" if extends and not copies else word

    def _passed(self, sources: Sequence[Operand]) -> Iterator[str]:
        """Follow values through the parameters and results of functions."""
        instruction = self._text.instruction
        address = next(o for o in instruction.operands if isinstance(o, Address))
        size = TYPE_BYTES[instruction.words[-1]]
        words_at = self._text.passed_words(address)
        loads = instruction.words[0] == "ld"
        items = _registers([instruction.operands[0] if loads else sources[-1]])
        for i, item in enumerate(items):
            if loads:
                word = f"passed({words_at(size * i)}, {size})" if words_at else _DEFINED
                yield from self._assign(item, word)
            elif words_at:
                yield f"pass({words_at(size * i)}, {size}, {self._value(item)});"

    def _computed(self, results: Sequence[Operand], sources: Sequence[Operand]) -> Iterator[str]:
        """Yield what gives results their words, before the results are computed."""
        if not any(name in self._names for name in names_in(results)):
            return
        if self._text.instruction.words[0] == "mov":
            yield from self._moved(results[0], sources[0])
            return
        values = [self._value(source) for source in _registers(sources)]
        value = self._result(sources, values) if any(v.words for v in values) else _DEFINED
        for name in names_in(results):
            yield from self._assign(Register(name), value)

    def _result(self, sources: Sequence[Operand], values: Sequence[_Value]) -> _Value | str:
        """Return the word of a result of operands that may be undefined."""
        sources = [
            self._constants.get(source.name, source) if isinstance(source, Register) else source
            for source in sources
        ]
        opcode, *_, kind = self._text.instruction.words
        if opcode == "selp":
            a, b, c = values
            condition = self._text.value(sources[2], "pred")
            c = c._replace(whole=True)
            rest = f" | {c}" if c.words else ""
            return _union((a, c), whole=False) if a == b else f"(({condition}) ? {a} : {b}){rest}"
        if opcode in {"and", "or", "xor", "not"}:
            return self._bitwise(opcode, sources, values)
        if opcode == "setp":
            return self._compared(sources, values)
        if opcode in {"cvt", "shl", "shr"}:
            return self._shifted(opcode, sources, values[0])
        if opcode in {"bfe", "bfi", "prmt"}:
            return self._bytes(opcode, sources, values)
        halves = opcode in _EACH_ALONE and kind in _PACKED
        return f"halves({_union(values, whole=False)})" if halves else _union(values, whole=True)

    def _moved(self, target: Operand, source: Operand) -> Iterator[str]:
        """Follow a mov, which packs and unpacks vectors, too."""
        size = TYPE_BYTES.get(self._text.instruction.words[-1], 0)
        if isinstance(source, Vector):
            part = size // len(source.items)
            words = [
                f"kept(placed_at({value}, {part * i}, {_mask(part)}), {_mask(size)})"
                for i, value in enumerate(map(self._value, source.items))
                if value.words
            ]
            yield from self._assign(target, " | ".join(words) or _DEFINED)
        elif isinstance(target, Vector):
            part, value = size // len(target.items), self._value(source)
            for i, item in enumerate(target.items):
                word = f"part_of({value}, {part * i}, {_mask(part)})"
                yield from self._assign(item, word if value.words else _DEFINED)
        else:
            yield from self._assign(target, self._value(source))

    def _bitwise(
        self, opcode: str, sources: Sequence[Operand], values: Sequence[_Value]
    ) -> _Value | str:
        """Return the word of a result whose bytes have to do with the same ones of operands."""
        kind = self._text.instruction.words[-1]
        is_predicate = kind == "pred"
        if opcode not in {"and", "or"} or (opcode == "or" and not is_predicate):
            return _union(values, whole=False)
        for value, other in zip(values, sources[::-1], strict=True):
            if isinstance(other, Immediate) and not is_predicate:
                used = sum(1 << i for i in range(_HALF_VECTOR) if other.value >> _BYTE * i & 255)
                return f"kept({value}, {used:#x})"
        cpp = "pred" if is_predicate else f"u{_BYTE * TYPE_BYTES[kind]}"
        a, b = (_DECIDING[opcode].format(self._text.value(source, cpp)) for source in sources)
        return f"decided({values[0]}, {values[1]}, {a}, {b})"

    def _compared(self, sources: Sequence[Operand], values: Sequence[_Value]) -> _Value | str:
        """Return the word of setp's result, which a third operand may decide by itself."""
        words = self._text.instruction.words[2:]
        opcode = next((word for word in words if word in _DECIDING), None)
        if opcode is None or len(sources) == 2:  # noqa: PLR2004
            return _union(values, whole=True)
        own = _union(values[:2], whole=True)
        third = self._text.value(sources[2], "pred")
        decides = _DECIDING[opcode].format(third)
        return f"decided({own}, {values[2]}, false, {decides})"

    def _shifted(self, opcode: str, sources: Sequence[Operand], value: _Value) -> _Value | str:
        """Return the word of a result that has bytes of an operand, at other offsets."""
        words = self._text.instruction.words
        count = sources[1] if opcode != "cvt" else Immediate(0)
        types = [match for match in map(_INTEGER.fullmatch, words[-2:]) if match]
        is_signed = bool(types) and types[-1][1] == "s"
        known = isinstance(count, Immediate) and count.value % _BYTE == 0 and "sat" not in words
        if opcode == "cvt":
            narrows = known and len(types) == 2 and int(types[0][2]) < int(types[1][2])  # noqa: PLR2004
            narrowed = f"kept({value}, {_mask(int(types[0][2]) // _BYTE)})" if narrows else ""
            return narrowed if narrows and not value.whole else value._replace(whole=True)
        if not known or not isinstance(count, Immediate) or (opcode == "shr" and is_signed):
            return _union(map(self._value, sources), whole=True)
        at = min(count.value // _BYTE, _HALF_VECTOR)
        size = int(types[-1][2]) // _BYTE
        if opcode == "shr":
            return f"kept(part_of({value}, {at}, {_mask(size)}), {_mask(size)})"
        return f"kept(placed_at({value}, {at}, {_mask(size)}), {_mask(size)})"

    def _bytes(
        self, opcode: str, sources: Sequence[Operand], values: Sequence[_Value]
    ) -> _Value | str:
        """Return the word of a result that takes bytes or bits from known offsets of operands."""
        counts = [source.value for source in sources[-2:] if isinstance(source, Immediate)]
        if opcode == "prmt" and len(self._text.instruction.words) == len(("prmt", "b32")):
            return self._permuted(counts[-1:], values)
        if opcode == "prmt" or len(counts) != len(("start", "length")) or not counts[1]:
            return _union(values, whole=True)
        start, length = counts
        first, last = min(start // _BYTE, 15), min((start + length - 1) // _BYTE, 15)
        mask = _mask(last - first + 1)
        if opcode == "bfe":
            return f"whole(part_of({values[0]}, {first}, {mask}))"
        if start % _BYTE or length % _BYTE:
            return _union(values, whole=True)
        rest = 0xFFFF & ~(int(mask, 16) << first)
        return f"kept(placed_at({values[0]}, {first}, {mask}) | kept({values[1]}, {rest:#x}), 0xff)"

    def _permuted(self, selectors: Sequence[int], values: Sequence[_Value]) -> _Value | str:
        """Return the word of prmt's result: of bytes of the two operands."""
        if not selectors:
            return _union(values, whole=True)
        taken = [selectors[0] >> 4 * i & 7 for i in range(4)]
        words = [
            f"placed_at(part_of({values[byte // 4]}, {byte % 4}, 0x1), {i}, 0x1)"
            for i, byte in enumerate(taken)
            if values[byte // 4].words
        ]
        return f"kept({' | '.join(words) or 0}, 0xf)"


def _mask(size: int) -> str:
    """Return the bits of the first bytes of a word."""
    return f"{(1 << size) - 1:#x}"


def _registers(operands: Iterable[Operand]) -> list[Operand]:
    """Return operands with those in braces one by one, but addresses."""
    found: list[Operand] = []
    for operand in operands:
        if isinstance(operand, Vector):
            found += _registers(operand.items)
        elif not isinstance(operand, Address):
            found.append(operand)
    return found


def _guards(instruction: Instruction) -> list[Register]:
    return [instruction.guard] if instruction.guard is not None else []


def _find_reached(body: Sequence[Statement], own: set[str]) -> set[str]:
    """Return the registers that an undefined value can reach; ``own`` are a kernel's parameters."""
    leads: dict[str, set[str]] = {}
    reached: set[str] = set()
    for instruction, row in with_rows(body):
        count = row.results(instruction)
        results = {*names_in(instruction.operands[:count])} - {"_"}
        if _begins(instruction, row) and not own & {*names_in(instruction.operands[count:])}:
            reached |= results
        if "atomic" in row.form.effects:
            continue
        for name in names_in([*_registers(instruction.operands[count:]), *_guards(instruction)]):
            leads.setdefault(name, set()).update(results)
    pending = [*reached]
    while pending:
        new = leads.get(pending.pop(), set()) - reached
        reached |= new
        pending += new
    return reached


def _begins(instruction: Instruction, row: Match) -> bool:
    """Return whether an instruction can be where an undefined value comes from."""
    effects = row.form.effects
    if row.form.opcode == "ld":
        return "const" not in instruction.words
    return row.form.opcode == "shfl" or ("reads" in effects and "atomic" not in effects)


def _stored_sizes(body: Sequence[Statement]) -> set[tuple[str, int]]:
    """Return the names that are stored, each with how many bytes of it are."""
    return {
        (name, TYPE_BYTES[instruction.words[-1]])
        for instruction in body
        if isinstance(instruction, Instruction) and instruction.words[0] == "st"
        for name in names_in(_registers(instruction.operands[1:]))
    }


def _last_uses(body: Sequence[Statement], names: set[str]) -> dict[int, list[str]]:
    """Return, by the identity of an instruction, the names that are used there last."""
    last: dict[str, int] = {}
    for instruction in body:
        if isinstance(instruction, Instruction):
            used = names.intersection(names_in([*instruction.operands, *_guards(instruction)]))
            last.update(dict.fromkeys(used, id(instruction)))
    found: dict[int, list[str]] = {}
    for name, instruction_id in last.items():
        found.setdefault(instruction_id, []).append(name)
    return found


def _find_block_names(body: Sequence[Statement], names: set[str]) -> tuple[set[str], set[str]]:
    """Return the names that are computed and used up in one basic block, and those computed again.

    The former are computed without a guard, before they are used.
    """
    counts: Counter[str] = Counter()
    blocks: dict[str, int] = {}  # where a name is computed
    block, elsewhere = 0, set[str]()
    for statement in body:
        if isinstance(statement, Label):
            block += 1
        if not isinstance(statement, Instruction):
            continue
        row = row_of(statement)
        count = row.results(statement) if row is not None else 0
        guards = _guards(statement)
        for name in names_in([*statement.operands[count:], *guards]):
            if name in names and blocks.get(name) != block:
                elsewhere.add(name)
        for name in names_in(statement.operands[:count]):
            counts[name] += 1
            blocks[name] = block
            if guards:
                elsewhere.add(name)
        if row is not None and "ends" in row.form.effects:
            block += 1
    again = {name for name, count in counts.items() if count > 1}
    return names - again - elsewhere, again
