"""Forms of PTX instructions: a pattern as the manual writes it, and C++ that does the same.

A pattern names an opcode, its modifiers and its operands::

    mul.hi.TYPE d, a, b                     one of the types, which a keyword lists
    add{.RND}{.ftz}{.sat}.f32 d, a, b       what is in braces may be missing
    popc.TYPE d:u32, a                      an operand with a type of its own
    shfl.sync.MODE.b32 d|p:pred, a, b, c, m a second result, which may be missing
    atom{.SEM}{.SPACE}.add.TYPE d, [a], b   an address

Upper case stands for one word of a set; lower case for itself. An operand has the type of ``TYPE``
if the pattern has it, else of the last modifier that is a type. ``d``, ``p`` and ``q`` in the first
place are results.

The C++ is an expression for the result, behind ``; `` one for the second result, which sees the
first; or statements, which end in ``;`` and assign to results.
Fields in braces are replaced: operands by values of the C++ types of their PTX types (``u32``,
``f32``, ``f16x2``, ``pred``, ...), vectors by arrays of them, addresses by ``char*``; a set of
words by the word that is there, or ``none``; a flag such as ``ftz`` by 1 or 0; ``T`` by the C++
type of ``TYPE``; ``U`` by the unsigned one, which operands have then, too; ``site`` by a pointer to
the instruction's `Site`, ``arrival`` by one that says what it does to an mbarrier. It also sees
``me``, the thread's `View`; ``window``, where the block's shared memory starts; and ``cc``, the
carry flag.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from string import Template
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.model import TYPE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WORD = re.compile(r"\{(\.[\w:]+)\}|(\.[\w:]+)")
_OPERAND = re.compile(r"(\[?)(\w+)\]?(?::(\w+))?")


@dataclass(frozen=True, slots=True)
class OperandForm:
    """An operand of a form."""

    name: str  # what the C++ calls it
    type: str  # of PTX, or the name of a set of types; empty for that of the instruction
    is_address: bool  # whether it is in brackets


@dataclass(frozen=True)
class Form:
    """One row of the table: an instruction form, and what it does."""

    section: str  # of the PTX ISA manual, version 9
    pattern: str  # see the module
    code: str  # C++: an expression for the first operand, or statements
    sets: Mapping[str, str] = field(default_factory=dict)  # words of the pattern's names

    @cached_property
    def opcode(self) -> str:
        """What the instruction's name starts with."""
        return re.match(r"\w+", self.pattern)[0]  # type: ignore[index]  # every pattern has one

    @cached_property
    def operands(self) -> tuple[tuple[OperandForm, ...], ...]:
        """The operands by position; two where a second result may follow."""
        _, _, text = self.pattern.partition(" ")
        positions = [part.split("|") for part in text.replace(" ", "").split(",") if part]
        return tuple(tuple(map(_operand, position)) for position in positions)

    def spellings(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield each name that the pattern stands for, with the words of its sets and flags."""
        for chosen in product(*self._choices):
            fields = {key: word for _, key, word in chosen}
            yield self.opcode + "".join(text for text, _, _ in chosen), fields

    @cached_property
    def _choices(self) -> list[list[tuple[str, str, str]]]:
        """What each modifier can be: text, field and word, the longest text first."""
        name = self.pattern.split(" ", 1)[0]
        choices: list[list[tuple[str, str, str]]] = []
        for optional, given in _WORD.findall(name[len(self.opcode) :]):
            word = (optional or given)[1:]
            key = word.replace("::", "_").replace(":", "_")
            if word in self.sets:
                found = [(f".{one}", word, one) for one in self.sets[word].split()]
                choices.append([*found, *([("", word, "none")] if optional else [])])
            elif optional:
                choices.append([(f".{word}", key, "1"), ("", key, "0")])
            else:
                choices.append([(f".{word}", key, "1")])
        return choices

    def match(self, name: str) -> dict[str, str] | None:
        """Return the words of sets and flags in an instruction's name; None for another form."""
        return self._match(name, len(self.opcode), 0)

    def _match(self, name: str, start: int, number: int) -> dict[str, str] | None:
        if number == len(self._choices):
            return {} if start == len(name) else None
        for text, key, word in self._choices[number]:
            end = start + len(text)
            if name.startswith(text, start) and name[end : end + 1] in {"", "."}:
                rest = self._match(name, end, number + 1)
                if rest is not None:
                    return {key: word, **rest}
        return None


def _operand(text: str) -> OperandForm:
    found = _OPERAND.fullmatch(text)
    if found is None:
        message = f"an operand must be a name, with a type or in brackets; got {text!r}"
        raise ValueError(message)
    bracket, name, kind = found.groups()
    return OperandForm(name, kind or "", bool(bracket))


def rows(text: str, *variants: Mapping[str, str]) -> tuple[Form, ...]:
    """Return the rows of a text, whose lines are ``section pattern = C++``.

    ``NAME: words`` says what an upper-case name stands for in the lines after it. Lines that are
    indented go on with the one before, those that start with # are comments. Of each variant there
    are all rows, where ``$key`` stands for its text.
    """
    sets: dict[str, str] = {}
    made = []
    for variant in variants or ({},):
        for line in Template(text).substitute(variant).replace("\n    ", " ").splitlines():
            name, colon, words = line.partition(": ")
            if colon and name.isupper():
                sets = {**sets, name: words}
            elif line and not line.startswith("#"):
                section, _, rest = line.partition(" ")
                pattern, _, code = rest.partition(" = ")
                made.append(Form(section, pattern, code.strip(), sets))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Found:
    """The form of an instruction, the words of its sets and flags, and the header of its C++."""

    form: Form
    fields: Mapping[str, str]
    header: str
    types: Mapping[str, str]  # PTX types of operands that are no addresses


class Table:
    """All forms by the full names of their instructions."""

    def __init__(self, forms: Iterable[tuple[Form, str]]) -> None:
        self._by_opcode: dict[str, list[tuple[Form, str]]] = {}
        self._by_name: dict[str, tuple[Found, ...]] = {}
        self._found: dict[tuple[str, int, tuple[int, ...]], Found | None] = {}
        for one, header in forms:
            self._by_opcode.setdefault(one.opcode, []).append((one, header))

    def __contains__(self, name: str) -> bool:
        return bool(self._named(name))

    def _named(self, name: str) -> tuple[Found, ...]:
        known = self._by_name.get(name)
        if known is None:
            forms = self._by_opcode.get(name.partition(".")[0], ())
            ordered = _in_order(name)
            matches = ((one, one.match(ordered), header) for one, header in forms)
            known = tuple(
                Found(one, fields, header, _types(one, name, fields))
                for one, fields, header in matches
                if fields is not None
            )
            self._by_name[name] = known
        return known

    def find(self, name: str, operands: int, predicates: Iterable[int] = ()) -> Found | None:
        """Return what is known of an instruction with so many operands.

        ``predicates`` are the positions of those that are predicates: they tell some forms apart.
        """
        key = name, operands, (*predicates,)
        if key not in self._found:
            self._found[key] = self._best(*key)
        return self._found[key]

    def _best(self, name: str, operands: int, predicates: tuple[int, ...]) -> Found | None:
        best, fewest = None, operands + 1
        for found in self._named(name):
            positions = [position[0].name for position in found.form.operands]
            asked = {i for i, one in enumerate(positions) if found.types.get(one) == "pred"}
            if len(positions) == operands and asked >= {*predicates} and len(asked) < fewest:
                best, fewest = found, len(asked)
        return best


#: The modifiers of atomics that come first, in the manual's order.
_FIRST = {
    **dict.fromkeys(("relaxed", "acquire", "release", "acq_rel"), 0),
    **dict.fromkeys(("cta", "cluster", "gpu", "sys"), 1),
    **dict.fromkeys(("global", "shared", "shared::cta", "shared::cluster"), 2),
}


def _in_order(name: str) -> str:
    """Return an atomic's name with its modifiers in the manual's order; ptxas takes them in any.

    libcu++ writes ``atom.add.relaxed.gpu.u32``, Triton ``atom.global.gpu.relaxed.add.u32``.
    """
    opcode, *words = name.split(".")
    if opcode not in {"atom", "red"}:
        return name
    return ".".join([opcode, *sorted(words, key=lambda word: _FIRST.get(word, len(_FIRST)))])


def _types(form: Form, name: str, fields: Mapping[str, str]) -> dict[str, str]:
    given = (one for position in form.operands for one in position if not one.is_address)
    types = {one.name: type_of(one, name, fields) for one in given}
    if "{U}" not in form.code:
        return types
    return {name: kind.replace("s", "u") for name, kind in types.items()}


def type_of(operand: OperandForm, name: str, fields: Mapping[str, str]) -> str:
    """Return the PTX type of an operand of an instruction, by the instruction's full name."""
    if operand.type:
        return fields[operand.type] if operand.type.isupper() else operand.type
    if "TYPE" in fields:
        return fields["TYPE"]
    return next(word for word in reversed(name.split(".")) if word in TYPE_BYTES)
