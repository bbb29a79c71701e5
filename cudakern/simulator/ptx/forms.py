"""Rows of the instruction table: a pattern as the manual writes it, effects, and C++.

A pattern names an opcode, its modifiers and its operands::

    mul.hi.TYPE d, a, b                     one of the types, which a keyword lists
    add{.RND}{.ftz}{.sat}.f32 d, a, b       what is in braces may be missing
    popc.TYPE d:u32, a                      an operand with a type of its own
    shfl.sync.MODE.b32 d|p:pred, a, b, c, m a second result, which may be missing
    atom{.SEM}{.SPACE}.add.TYPE d, [a], b   an address

Upper case stands for one word of a set; lower case for itself. Modifiers stand in any order that
ptxas takes: see `modifiers`. An operand has the type of ``TYPE`` if the pattern has it, or that of
the last modifier that is a type. ``d``, ``p`` and ``q`` are results if they come first.

Effects stand in parentheses behind the pattern: ``(reads, writes, atomic, relaxed gpu)``. They are
the words of `effects`; behind ``; `` follow those of ``arrival``, see below. An instruction that
only computes results may have none, but what becomes of undefined values.

The C++ is an expression for the result, behind ``; `` one for the second result, which sees the
first; or statements, which end in ``;`` and assign to results.
Fields in braces are replaced: operands by values of the C++ types of their PTX types (``u32``,
``f32``, ``f16x2``, ``pred``, ...), vectors by arrays of them, addresses by ``char*``; a set of
words by the word that is there, or ``none``; a flag such as ``ftz`` by 1 or 0, but by 2 where the
processor takes subnormal floats for zeros. Others are

    T                   the C++ type of ``TYPE``
    site                a pointer to the instruction's `Site`
    arrival             another of what it does to an mbarrier: words of the name do not count there
    access              the bits of what it does to memory
    me, lane            the thread's `View`, and its number in the warp
    carry, overflow     the carry flag, and where to leave it

What threads do together is written ``Vote({a}) meets {m}: {met}.all(); {met}.any()``: an object
that each makes, the mask of the lanes that meet, or ``block``, and an expression for each result.

Where the C++ depends on more than types, ``@name`` names what writes it in `printer`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain, product
from string import Formatter, Template
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.effects import (
    UNDEFINED,
    Effects,
    lanes_of,
    parse_effects,
    size_in,
    spaces_in,
)
from cudakern.simulator.ptx.model import TYPE_BYTES, Vector
from cudakern.simulator.ptx.modifiers import head_of, take_word
from cudakern.simulator.ptx.values import type_of_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from cudakern.simulator.ptx.model import Instruction

#: Words of roundings to the nearest; none is one, too.
_NEAREST = {"rn", "none"}
_ROW = re.compile(r"(\S+) (.+?)(?: \(([^()]*)\))? =(?: (.*))?")
_WORD = re.compile(r"\{(\.[\w:]+)\}|(\.[\w:]+)")
_OPERAND = re.compile(r"([\[(]?)(\w+)[\])]?(?::(\w+))?")
_MEETING = re.compile(r"(.*) meets (?:block|\{(\w)\}):(.*)")
_NAME = re.compile(r"\S+ (\w+)(\S*)")
#: Words of a pattern that each name has, but for the opcode.
_REQUIRED = re.compile(r"(?<!\{)\.([a-z][\w:]*)")
#: Results in patterns, if they come first.
_RESULTS = {"d", "p", "q"}
#: Fields of C++ that are neither operands nor words, and those that only a thread has.
_OF_THREAD = frozenset({"me", "lane", "carry", "overflow"})
_FIELDS = frozenset({"site", "arrival", "access", *_OF_THREAD})


@dataclass(frozen=True, slots=True)
class OperandForm:
    """An operand of a form."""

    name: str  # what the C++ calls it
    type: str  # of PTX, or the name of a set of types; empty for that of the instruction
    is_address: bool  # whether it is in brackets
    is_list: bool  # whether it is in parentheses, and may be missing
    is_result: bool


class Meeting(NamedTuple):
    """What threads do together: what each makes, the operand that is a mask, and the results."""

    made: str  # C++: a constructor's call
    kind: str  # what that makes
    mask: str  # or none, for a barrier of the block
    results: tuple[str, ...]  # expressions of C++
    fields: frozenset[str]  # of what each makes


@dataclass(frozen=True)
class Form:
    """One row of the table: an instruction form, and what it does."""

    section: str  # of the PTX ISA manual, version 9
    pattern: str  # see the module
    effects: Effects
    arrival: Effects | None  # of the second site, if there is one
    code: str  # C++: an expression for the first operand, or statements
    sets: Mapping[str, str] = field(default_factory=dict)  # words of the pattern's names
    undefined: str = ""  # what becomes of undefined values

    def __post_init__(self) -> None:
        lacking = _lacking(self)
        if lacking:
            raise ValueError(_message(f"{self.section} {self.pattern}", lacking))

    @cached_property
    def opcode(self) -> str:
        """What the instruction's name starts with."""
        return re.match(r"\w+", self.pattern)[0]  # type: ignore[index]  # every pattern has one

    @cached_property
    def writer(self) -> str:
        """The name of the Python that writes the C++, or none."""
        return self.code[1:] if self.code.startswith("@") else ""

    @cached_property
    def meeting(self) -> Meeting | None:
        """What threads do together, if they do."""
        match = _MEETING.fullmatch(self.code)
        if match is None:
            return None
        results = tuple(filter(None, match[3].strip().split("; ")))
        made, mask = match[1], match[2] or ""
        return Meeting(made, made.partition("(")[0], mask, results, _fields_of(made))

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields of the C++."""
        return _fields_of(self.code)

    @cached_property
    def expressions(self) -> tuple[str, ...]:
        """The C++ of each result, if it is expressions."""
        is_statement = self.code.endswith(";") or self.writer or self.meeting is not None
        return () if is_statement else tuple(self.code.split("; "))

    @cached_property
    def is_pure(self) -> bool:
        """Whether it only computes results, of its operands alone, for any thread."""
        has_address = any(operand.is_address for operand in self.all_operands)
        return self.effects.computes and not has_address and self.fields.isdisjoint(_OF_THREAD)

    @cached_property
    def operands(self) -> tuple[tuple[OperandForm, ...], ...]:
        """The operands by position; two where a second result may follow."""
        _, _, text = self.pattern.partition(" ")
        positions = [part.split("|") for part in text.replace(" ", "").split(",") if part]
        return tuple(
            tuple(_operand(text, is_first=not i) for text in position)
            for i, position in enumerate(positions)
        )

    @cached_property
    def all_operands(self) -> tuple[OperandForm, ...]:
        """The operands in a row."""
        return tuple(chain.from_iterable(self.operands))

    @cached_property
    def results(self) -> tuple[OperandForm, ...]:
        """The operands that are results."""
        return tuple(operand for operand in self.all_operands if operand.is_result)

    def spellings(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield each name that the pattern stands for, with the words of its sets and flags."""
        for modifiers in product(*self._choices):
            yield self._name(modifiers), self._fields(modifiers)

    def match(self, name: str) -> dict[str, str] | None:
        """Return the words of sets and flags in an instruction's name; None for another form."""
        words, chosen = name.split(".")[1:], []
        for choice in self._choices:
            word = take_word(words, choice)
            if word not in choice:
                return None
            chosen.append(word)
        if words or head_of(self._name(chosen)) != head_of(name):
            return None
        return self._fields(chosen)

    def _name(self, modifiers: Iterable[str]) -> str:
        return ".".join([self.opcode, *filter(None, modifiers)])

    def _fields(self, modifiers: Iterable[str]) -> dict[str, str]:
        return dict(c[word] for c, word in zip(self._choices, modifiers, strict=True))

    @cached_property
    def known(self) -> frozenset[str]:
        """The words that names may have."""
        return frozenset([self.opcode, *(word for c in self._choices for word in c)])

    @cached_property
    def _choices(self) -> list[dict[str, tuple[str, str]]]:
        """What each modifier can be, with its field and word; empty if it may be missing."""
        choices = []
        name = self.pattern.split(" ", 1)[0]
        for optional, required in _WORD.findall(name[len(self.opcode) :]):
            word = (optional or required)[1:]
            field = word.replace("::", "_").replace(":", "_")
            is_set = word in self.sets
            words = self.sets[word].split() if is_set else [word]
            choice = {text: (field, text if is_set else "1") for text in words}
            if optional:
                choice[""] = field, "none" if is_set else "0"
            choices.append(choice)
        return choices


def _operand(text: str, *, is_first: bool) -> OperandForm:
    match = _OPERAND.fullmatch(text)
    if match is None:
        message = f"an operand must be a name, with a type or in brackets; got {text!r}"
        raise ValueError(message)
    bracket, name, kind = match.groups()
    is_address = bracket == "["
    is_result = is_first and name in _RESULTS and not is_address
    return OperandForm(name, kind or "", is_address, bracket == "(", is_result)


def _fields_of(code: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(code) if name is not None)


# What a row must say


def _message(row: str, requirement: str) -> str:
    return f"cudakern: the row '{row}' of the instruction table must {requirement}"


def _lacking(form: Form) -> str:
    fields, effects = form.fields, form.effects
    if not form.code:
        return "have C++ behind ' = '"
    if effects.computes and "nothing" not in effects and not effects.order:
        if "site" in fields:
            return "say why its C++ has {site}, such as (waits), (fails) or (reads)"
        if any(o.is_address for o in form.all_operands) and "moves" not in effects:
            return "say what it does at its address, such as (reads), (writes) or (nothing)"
        if not (form.results or "moves" in effects):
            return "say what it does, as it has no result, such as (waits), (writes) or (nothing)"
    if form.undefined not in UNDEFINED:
        known = ", ".join(sorted(UNDEFINED))
        got = f"; got {form.undefined!r}" if form.undefined else ""
        return f"say what becomes of undefined values, such as 'UNDEFINED: whole' ({known}){got}"
    name, words = next(form.spellings())
    return "" if form.writer else _contradicting(form, name) or _unknown(form, name, words)


def _contradicting(form: Form, name: str) -> str:
    """Return what a row must say for its effects."""
    fields, effects = form.fields, form.effects
    has_site = "site" in fields or (form.meeting is not None and "waits" in effects)
    if effects.needs_site and not has_site:
        return "have {site} in its C++, as it does more than (nothing)"
    if "nothing" in effects and (effects.needs_site or "site" in fields):
        return "say (nothing) only if its C++ has no {site}"
    if (form.arrival is not None) != ("arrival" in fields):
        return "say behind '; ' what {arrival} does, and have it in its C++"
    if effects.accesses_memory and effects.size is None and size_in(name.split(".")) is None:
        return "say how many bytes it accesses: (reads, 4 bytes), or (reads, n bytes) by operand n"
    if "atomic" in effects and effects.order is None:
        return "say its order and scope, such as (atomic, relaxed gpu); a name overrides it"
    return ""


def _unknown(form: Form, name: str, words: Mapping[str, str]) -> str:
    """Return what a row must say for its operands to be known."""
    for operand in form.all_operands:
        if not operand.is_address and type_of(operand, name, words) not in TYPE_BYTES:
            return f"tell the type of {operand.name}, such as {operand.name}:u32"
    known = {*_FIELDS, *words, *(operand.name for operand in form.all_operands)}
    known |= {"T"} if "TYPE" in words else set()
    known |= {"met"} if form.meeting is not None else set()
    unknown = ", ".join(sorted(form.fields - known))
    return f"name operands, words or fields in its C++; got {{{unknown}}}" if unknown else ""


class Rows(Sequence[Form]):
    """The rows of a text. Each is read when it is asked for: a kernel needs few of them."""

    def __init__(self, lines: Iterable[tuple[str, Mapping[str, str]]] = ()) -> None:
        self._lines = [*lines]
        self._forms: dict[int, Form] = {}

    @cached_property
    def _by_opcode(self) -> dict[str, list[int]]:
        numbers: dict[str, list[int]] = {}
        for number, (line, _) in enumerate(self._lines):
            match = _NAME.match(line)
            numbers.setdefault(match[1] if match else "", []).append(number)
        return numbers

    def of(self, opcode: str, words: Collection[str]) -> list[Form]:
        """Return the rows whose patterns start with an opcode, and have no other required words."""
        numbers = self._by_opcode.get(opcode, ())
        return [self[n] for n in numbers if _required(self._lines[n][0]).issubset(words)]

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204  of a sequence
        if isinstance(number, slice):
            return [self[i] for i in range(len(self))[number]]
        form = self._forms.get(number)
        if form is None:
            form = self._forms[number] = _form(*self._lines[number])
        return form

    def __add__(self, other: Rows) -> Rows:
        return Rows((*self._lines, *other._lines))


@cache
def _required(line: str) -> frozenset[str]:
    match = _NAME.match(line)
    return frozenset(_REQUIRED.findall(match[2])) if match else frozenset()


def rows(text: str, *variants: Mapping[str, str]) -> Rows:
    """Return the rows of a text, whose lines are ``section pattern (effects) = C++``.

    ``NAME: words`` says what an upper-case name stands for in the lines after it; ``HEADER`` names
    another header than the chapter's, ``DIRECTED`` one for ``RND`` other than to the nearest,
    ``UNDEFINED`` what becomes of undefined values; ``OPERANDS: unsigned`` says that signs do not
    matter, else they are ``typed``. Lines that are indented go on with the one before, those that
    start with # are comments. Of each variant there are all rows, where ``$key`` stands for its
    text, which may have such keys, too.
    """
    lines = []
    for variant in variants or ({},):
        sets: dict[str, str] = {}
        filled = text
        while "$" in filled:
            filled = Template(filled).substitute(variant)
        for line in filled.replace("\n    ", " ").splitlines():
            name, colon, words = line.partition(": ")
            if colon and name.isupper():
                sets = {**sets, name: words}
            elif line and not line.startswith("#"):
                lines.append((line, sets))
    return Rows(lines)


def _form(line: str, sets: Mapping[str, str]) -> Form:
    match = _ROW.fullmatch(line)
    if match is None:
        raise ValueError(_message(line, "be section, pattern, (effects) and ' = ' with C++"))
    section, pattern, words, code = match.groups()
    first, has_second, second = (words or "").partition("; ")
    told = first.split(", ")
    undefined = next((word for word in told if word in UNDEFINED), sets.get("UNDEFINED", ""))
    first = ", ".join(word for word in told if word not in UNDEFINED)
    try:
        effects = parse_effects(first)
        arrival = parse_effects(second) if has_second else None
    except ValueError as error:
        raise ValueError(_message(f"{section} {pattern}", str(error))) from None
    return Form(section, pattern, effects, arrival, (code or "").strip(), sets, undefined)


@dataclass(frozen=True, slots=True)
class Match:
    """The form of an instruction of a name, and what follows from that name."""

    form: Form
    header: str  # of its C++
    name: str
    words: tuple[str, ...]  # of the name
    fields: Mapping[str, str]  # of the C++: the words of sets and flags, types
    types: Mapping[str, str]  # PTX types of operands other than addresses
    kinds: Mapping[str, str]  # their C++ types
    access: int  # bits of `Site.access`
    lanes: int  # of vectors; 0 for none
    spaces: tuple[str, ...]  # of addresses, as far as they are named

    def results(self, instruction: Instruction) -> int:
        """Return how many of an instruction's operands are results."""
        operands = self.form.results
        if not operands or not instruction.operands:
            return 0
        if operands[0].is_list:
            return int(isinstance(instruction.operands[0], Vector))
        return 1 + instruction.pairs


class Table:
    """All forms by the full names of their instructions."""

    def __init__(self, chapters: Iterable[tuple[Rows, str]]) -> None:
        self._chapters = [*chapters]  # with the headers of their C++
        self._named = cache(self._matches)
        self.find = cache(self._find)

    @property
    def writers(self) -> set[str]:
        """Names behind ``@``."""
        return {form.writer for form in chain(*(forms for forms, _ in self._chapters))} - {""}

    def _matches(self, name: str) -> list[Match]:
        words = tuple(name.split("."))
        present = {*words}
        return [
            _match(form, header, name, words, fields)
            for forms, header in self._chapters
            for form in forms.of(words[0], present)
            if present <= form.known and (fields := form.match(name)) is not None
        ]

    def _find(self, name: str, operands: int, predicates: tuple[int, ...] = ()) -> Match | None:
        """Return what is known of an instruction with so many operands, some of them predicates."""
        best, fewest = None, operands + 1
        for match in self._named(name):
            if match.form.writer:
                return match
            names = [position[0].name for position in match.form.operands]
            asked = {i for i, name in enumerate(names) if match.types.get(name) == "pred"}
            if len(names) == operands and asked >= {*predicates} and len(asked) < fewest:
                best, fewest = match, len(asked)
        return best


def _match(
    form: Form, chapter: str, name: str, words: tuple[str, ...], fields: dict[str, str]
) -> Match:
    header = form.sets.get("HEADER", chapter)
    if fields.get("RND", "none") not in _NEAREST:
        header = form.sets.get("DIRECTED", header)
    if "TYPE" in fields:
        fields["T"] = type_of_value(fields["TYPE"])
    access = form.effects.access(words[1:])
    types = _types(form, name, fields)
    kinds = {name: type_of_value(kind) for name, kind in types.items()}
    lanes, spaces = lanes_of(name), spaces_in(words)
    return Match(form, header, name, words, fields, types, kinds, access, lanes, spaces)


def _types(form: Form, name: str, fields: Mapping[str, str]) -> dict[str, str]:
    if form.writer:
        return {}
    operands = (operand for operand in form.all_operands if not operand.is_address)
    types = {operand.name: type_of(operand, name, fields) for operand in operands}
    if form.sets.get("OPERANDS") != "unsigned":
        return types
    return {name: kind.replace("s", "u") for name, kind in types.items()}


def type_of(operand: OperandForm, name: str, fields: Mapping[str, str]) -> str:
    """Return the PTX type of an operand of an instruction, by the instruction's full name."""
    if operand.type:
        return fields.get(operand.type, "") if operand.type.isupper() else operand.type
    if "TYPE" in fields:
        return fields["TYPE"]
    return next((word for word in reversed(name.split(".")) if word in TYPE_BYTES), "")
