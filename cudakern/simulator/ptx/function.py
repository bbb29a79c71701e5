"""A function of a PTX module in C++: registers, operands, rows of the table."""

from __future__ import annotations

import re
from itertools import repeat
from typing import TYPE_CHECKING, NoReturn, Protocol

from cudakern.simulator.ptx.flow import Blocks, Flow
from cudakern.simulator.ptx.instructions import table
from cudakern.simulator.ptx.instructions.special import special_register
from cudakern.simulator.ptx.model import (
    TYPE_BYTES,
    Address,
    Declaration,
    Immediate,
    Instruction,
    Label,
    Register,
    Targets,
    Vector,
    numbered,
)
from cudakern.simulator.ptx.values import (
    convert,
    is_integer,
    literal,
    type_of_register,
    type_of_value,
    unsigned,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cudakern.simulator.ptx.forms import Found, OperandForm
    from cudakern.simulator.ptx.model import Function, Operand, Statement

_MAX_LOCAL_BYTES = 512 * 1024  # a GPU's limit
_SPACES = {"global", "shared", "const", "local", "param"}
_UNSAFE = re.compile(r"\W")
_ATOM = re.compile(r"\w+")
_CARRIES = {"addc", "subc", "madc"}
#: Instructions that let others run only if they have an order.
_ACCESSES = {"ld", "ldu", "st"}
#: Stands before what lets others run.
_WAITS = "/*waits*/"
#: Results in the patterns of rows.
_RESULTS = {"d", "p", "q"}


class RefusedError(Exception):
    """A function has what the simulator does not execute."""


class Scope(Protocol):
    """What a function sees of its module."""

    source: str
    checked: bool
    headers: set[str]
    variables: dict[str, str]
    functions: dict[str, str]
    called: set[str]
    addressed: set[str]
    blocks: Mapping[str, Blocks]

    def site(self, instruction: Instruction, access: int, needed: int) -> str:
        """Return a pointer to where an instruction is, and what it does to memory."""

    def signature(self, function: Function) -> str:
        """Return the head of a function in C++."""

    def declared(self, name: str) -> Function | None:
        """Return a function of the module."""

    def told(self, function: Function, requirement: str, found: int) -> str:
        """Return what a function must be, and is not."""

    def is_callable(self, name: str) -> bool:
        """Return whether a name is that of a function with an address."""

    def is_dynamic(self, name: str) -> bool:
        """Return whether a name is that of dynamic shared memory."""


class FunctionText:
    """A function on its way to C++."""

    def __init__(self, scope: Scope, function: Function, offsets: Mapping[str, int]) -> None:
        self.scope = scope
        self.function = function
        self.is_checked = scope.checked
        self.offsets = offsets
        self.local_bytes = 0  # what its variables take of a thread's stack
        self.targets: dict[str, Targets] = {}
        self.places: dict[str, str] = {}  # C++ names of local and parameter memory
        self._table = table()
        self._ranges: dict[str, tuple[str, int]] = {}  # "%r" -> type, how many
        self._registers: dict[str, tuple[str, str]] = {}  # those in use -> C++ type and name
        self._names: set[str] = set()
        self._declarations: list[str] = []
        self._labels: dict[str, str] = {}
        self._returned: list[str] = []
        self._uses_carry = False
        self._flow = Flow(function.body or ()) if scope.checked else None
        self._blocks = scope.blocks[function.name].numbers if scope.checked else {}
        self._passed: dict[str, int] = {}  # labels above -> how much the others may have seen then
        self._seen = 0
        self._counts_turns = False

    # The function as a whole

    def text(self, structural: Mapping[str, Callable[[FunctionText, Instruction], str]]) -> str:
        """Return the function in C++; RefusedError if it has what the simulator does not execute.

        ``structural`` makes statements of instructions, by opcode, that are no rows of the table.
        """
        body = self.function.body or []
        loaded = self._parameters()
        for statement in body:
            if isinstance(statement, Declaration):
                self._declare(statement)
            elif isinstance(statement, Targets):
                self.targets[statement.name] = statement
            elif isinstance(statement, Label):
                self._labels[statement.name] = f"L{len(self._labels)}"
        lines = [*self._statements(body, structural)]
        # A thread that waits shall look the same each time: see deadlock.hpp.
        forget = "turns = 0; " if self._counts_turns else ""
        lines = [line.replace(_WAITS, forget) for line in lines]
        if self._uses_carry:
            self._declarations.append("bool cc = false;")
        if self._counts_turns:
            self._declarations.append("u32 turns = 0;")
        by_type: dict[str, list[str]] = {}
        for kind, name in self._registers.values():
            by_type.setdefault(kind, []).append(name)
        registers = [f"{kind} {', '.join(names)};" for kind, names in by_type.items()]
        parts = (*self._declarations, *registers, *loaded, *filter(None, lines), self.returning())
        return "\n".join((f"{self.scope.signature(self.function)} {{", *parts, "}"))

    def _statements(
        self,
        body: Iterable[Statement],
        structural: Mapping[str, Callable[[FunctionText, Instruction], str]],
    ) -> Iterator[str]:
        for statement in body:
            if isinstance(statement, Label):
                yield f"{self._labels[statement.name]}:;"
                self._passed[statement.name] = self._seen
            elif isinstance(statement, Instruction):
                if id(statement) in self._blocks:
                    yield f"count_block(me, {self._blocks[id(statement)]});"
                opcode = statement.name.partition(".")[0]
                self._seen += opcode in {"st", "call"}
                before = self._seen
                text = structural.get(opcode, FunctionText.row)(self, statement)
                if opcode in _ACCESSES:
                    waits = "ordered<" in text or "polled<" in text
                else:
                    waits = self._seen != before or opcode == "call"
                yield self._guarded(statement, f"{_WAITS}{text}" if waits else text)

    def _parameters(self) -> list[str]:
        """Declare parameters and results; return the statements that load registers."""
        function = self.function
        if function.is_entry:
            self._declarations.append("CK_ENTER;")
            for i, variable in enumerate(function.parameters):
                self._declarations.append(f"char* const P{i} = (char*)parameters[{i}];")
                self.places[variable.name] = f"P{i}"
            return []
        loaded = []
        named = ((function.results, "R"), (function.parameters, "P"))
        for variables, letter in named:
            for i, variable in enumerate(variables):
                place = f"{letter}{i}"
                if variable.space == "param":
                    self.places[variable.name] = place
                    continue
                self._declare(variable)
                kind, name = self.register(variable.name) or ("", "")
                if letter == "R":
                    self._returned.append(f"store<{kind}>({place}, {name});")
                else:
                    loaded.append(f"{name} = load<{kind}>({place});")
        return loaded

    def _declare(self, variable: Declaration) -> None:
        if variable.space == "reg":
            self._ranges[variable.name] = type_of_register(variable.type), variable.registers
        elif variable.space in {"local", "param"}:
            place = f"M{len(self.places)}"
            self.places[variable.name] = place
            size = max(variable.size, 1)
            self.local_bytes += max(size, variable.alignment)
            if self.local_bytes > _MAX_LOCAL_BYTES:
                requirement = f"must have at most {_MAX_LOCAL_BYTES} bytes of local memory"
                raise RefusedError(self.scope.told(self.function, requirement, self.local_bytes))
            alignment = max(variable.alignment, 8)
            self._declarations.append(
                f"Local<{size}, {alignment}> {place}_; char* const {place} = {place}_.data;"
                if self.is_checked and variable.space == "local"
                else f"alignas({alignment}) char {place}[{size}];"
            )

    def returning(self) -> str:
        """Return the statements at the function's end."""
        return " ".join((*self._returned, "return;"))

    def site(self, of: Instruction, does: str = "") -> str:
        """Return a pointer to where an instruction is that can wait, fail or access memory.

        What it does to memory is by its own name, or by that of what it stands for.
        """
        self._seen += 1
        return self._site(of, does)

    def _site(self, of: Instruction, does: str = "") -> str:
        access = (0, 0) if self._flow is None else self._flow.access(of, does)
        return self.scope.site(of, *access)

    def turn(self, labels: Iterable[Operand | str], of: Instruction) -> str:
        """Return what is to be done before a branch: counting, if it goes round a loop.

        Others run after many turns. Unless the launch is checked, only loops are counted in which
        nothing happens that others could see, or that lets them run.
        """
        names = [one.name if isinstance(one, Register) else str(one) for one in labels]
        above = [self._passed[name] for name in names if name in self._passed]
        if not above or not (self.is_checked or self._seen in above):
            return ""
        self._counts_turns = True
        return f"turn(turns, {self._site(of)}); "

    def refuse(self, what: str, of: Instruction) -> NoReturn:
        """Raise RefusedError: an instruction has what the simulator does not execute."""
        file, line = of.place or (self.scope.source, of.line)
        message = f"{file}:{line}: error: the simulator does not execute {what}"
        message += f" (line {of.line} of the PTX)"
        raise RefusedError(message)

    def _guarded(self, of: Instruction, text: str) -> str:
        if of.guard is None or not text:
            return text
        return f"if ({self.value(of.guard, 'pred', of)}) {{ {text} }}"

    # Operands

    def register(self, name: str) -> tuple[str, str] | None:
        """Return the C++ type and name of a register, or None for another name."""
        known = self._registers.get(name)
        if known is not None:
            return known
        found = self._ranges.get(name)
        if found is None or found[1]:
            ranges = ((self._ranges.get(stem), number) for stem, number in numbered(name))
            found = next((one for one, number in ranges if one and number < one[1]), None)
            if found is None:
                return None
        made = "r_" + _UNSAFE.sub("_", name.lstrip("%"))
        while made in self._names:
            made += "_"
        self._names.add(made)
        self._registers[name] = found[0], made
        return self._registers[name]

    def label(self, operand: Operand | str, of: Instruction) -> str:
        """Return the C++ label that an operand names."""
        name = operand.name if isinstance(operand, Register) else operand
        if not isinstance(name, str) or name not in self._labels:
            self.refuse(f"{of.name} to what is no label of its function", of)
        return self._labels[name]

    def value(self, operand: Operand, wanted: str, of: Instruction) -> str:
        """Return an operand as a C++ value of a type."""
        if isinstance(operand, Immediate):
            is_float = wanted in {"f32", "f64"}
            if not is_float and operand.float_bytes not in {0, TYPE_BYTES[wanted]}:
                self.refuse(f"{of.name} with such a constant", of)
            return literal(operand, wanted)
        if not isinstance(operand, Register):
            self.refuse(f"{of.name} with such an operand", of)
        found = self.register(operand.name)
        if operand.offset and (found or special_register(operand.name)):
            self.refuse(f"{of.name} of a sum", of)
        if found is None:
            return convert(self._named(operand, of), self._kind_of_name(operand.name), wanted)
        made = convert(found[1], found[0], wanted)
        return f"!{made}" if operand.negated else made

    @staticmethod
    def _kind_of_name(name: str) -> str:
        special = special_register(name)
        return "u64" if special is None else special[0]

    def _named(self, operand: Register, of: Instruction) -> str:
        """Return the C++ value of a name that is no register: a special register or an address."""
        name, offset = operand.name, operand.offset
        special = special_register(name)
        if special is not None:
            return special[1]
        if name in self.offsets:
            return f"(u64){(self.offsets[name] + offset) % 2**64}ull"
        if name in self.places:
            place = self.places[name]
        elif name in self.scope.variables:
            place = self.scope.variables[name]
        elif self.scope.is_callable(name):
            self.scope.called.add(name)
            self.scope.addressed.add(name)
            place = f"&{self.scope.functions[name]}"
        elif self.scope.is_dynamic(name):
            place = "me->group->dynamic_offset"
        else:
            function = self.scope.declared(name)
            found = "not declared" if function is None else "not defined"
            if function is not None and function.is_entry:
                found = "a kernel"
            self.refuse(f"{of.name} of {name}, which is {found}", of)
        return f"((u64){place} + (u64)({offset}))" if offset else f"(u64){place}"

    def assign(self, operand: Operand, value: str, given: str, of: Instruction) -> str:
        """Return the statement that gives a register a value of a C++ type."""
        name = operand.name if isinstance(operand, Register) else ""
        if name == "_":
            return f"(void)({value});"
        found = self.register(name)
        if found is None:
            self.refuse(f"{of.name} with such a result", of)
        if is_integer(given) and is_integer(found[0]):
            return f"{found[1]} = {value};"  # as C++ converts them
        return f"{found[1]} = {convert(value, given, found[0])};"

    def pointer(self, operand: Operand, space: str, of: Instruction) -> str:
        """Return an address operand as a pointer of the host."""
        if not isinstance(operand, Address):
            self.refuse(f"{of.name} without an address in brackets", of)
        base = operand.base
        kind = "u32" if space.startswith("shared") else "u64"
        if isinstance(base, Immediate):
            value = literal(base, kind)
        elif self.register(base.name) is None:
            value = self._named(base, of)
            if base.name in self.offsets or self.scope.is_dynamic(base.name):
                return f"(window + (u32)({value}))"
            return f"((char*)({value}))"
        else:
            value = self.value(Register(base.name), kind, of)
            if base.offset:
                value = f"({value} + ({kind})({base.offset}))"
        if space == "shared::cluster":
            return f"cluster_address(me, {value})"
        return f"(window + {value})" if kind == "u32" else f"((char*){value})"

    # Rows of the table

    def row(self, of: Instruction) -> str:
        """Return the C++ of an instruction by its row."""
        found = self._found(of)
        code = found.form.code
        bindings = self._fields(of, found)
        is_expression = not code.endswith(";")
        if is_expression and "; " in code:
            first, _, second = code.partition("; ")
            name = found.form.operands[0][0].name
            is_expression = not of.pairs
            code = first if is_expression else f"{{{name}}} = {first}; {{q}} = {second};"
        before: list[str] = []
        after: list[str] = []
        result: tuple[Operand, str] | None = None
        spaces = _spaces_of_addresses(of)
        for operand, given in _pairs(of, found):
            name = operand.name
            if operand.is_address:
                bindings[name] = self.pointer(given or Vector(()), next(spaces), of)
                continue
            kind = type_of_value(found.types[name])
            is_result = name in _RESULTS and operand in found.form.operands[0]
            if is_result and is_expression and given is not None:
                result = given, kind
            elif is_result:
                bindings[name] = f"{name}_"
                self._receive(given, kind, f"{name}_", of, (before, after))
            elif isinstance(given, Vector):
                values = ", ".join(self.value(item, kind, of) for item in given.items)
                before.append(f"{kind} {name}_[] = {{{values}}};")
                bindings[name] = f"{name}_"
            elif given is not None:
                value = self.value(given, kind, of)
                bindings[name] = value if _ATOM.fullmatch(value) else f"({value})"
        made = code.format_map(bindings)
        if result is not None:
            return self.assign(result[0], made, result[1], of)
        made += ";" if is_expression else ""
        return f"{{ {' '.join((*before, made, *after))} }}"

    def _fields(self, of: Instruction, found: Found) -> dict[str, str]:
        """Return what stands for the fields of a row that are no operands."""
        made = dict(found.fields)
        if "TYPE" in made:
            made["T"] = type_of_value(made["TYPE"])
            made["U"] = unsigned(TYPE_BYTES[made["TYPE"]])
        if "{site}" in found.form.code:
            made["site"] = self.site(of)
        if "{arrival}" in found.form.code:
            made["arrival"] = self.site(of, "mbarrier.complete_tx.release.cluster")
        return made

    def _found(self, of: Instruction) -> Found:
        positions = of.operands[of.pairs :]
        predicates = [
            i
            for i, given in enumerate(positions)
            if i and isinstance(given, Register) and self._is_predicate(given.name)
        ]
        found = self._table.find(of.name, len(positions), predicates)
        if found is None:
            self.refuse(f"the instruction {of.name}", of)
        if of.pairs and len(found.form.operands[0]) == 1:
            self.refuse(f"{of.name} with two results", of)
        self.scope.headers.add(found.header)
        words = of.words
        self._uses_carry = self._uses_carry or "cc" in words or words[0] in _CARRIES
        return found

    def _is_predicate(self, name: str) -> bool:
        found = self.register(name)
        return found is not None and found[0] == "pred"

    def _receive(
        self,
        given: Operand | None,
        kind: str,
        name: str,
        of: Instruction,
        around: tuple[list[str], list[str]],
    ) -> None:
        """Declare a result before the statements of a row, and hand it over after them."""
        before, after = around
        if isinstance(given, Vector):
            before.append(f"{kind} {name}[{max(len(given.items), 1)}];")
            after += [
                self.assign(item, f"{name}[{i}]", kind, of) for i, item in enumerate(given.items)
            ]
            return
        before.append(f"{kind} {name};")
        if given is not None:
            after.append(self.assign(given, name, kind, of))


def _pairs(of: Instruction, found: Found) -> Iterator[tuple[OperandForm, Operand | None]]:
    """Pair the operands of the form with those of the instruction; None for one not given."""
    given = iter(of.operands)
    pairs = of.pairs
    for first, *rest in found.form.operands:
        yield first, next(given, None)
        for second in rest:
            yield second, next(given, None) if pairs else None
            pairs = 0


def space_of(of: Instruction) -> str:
    """Return the state space of an instruction's first address; empty for generic ones."""
    return next(_spaces_of_addresses(of))


def _spaces_of_addresses(of: Instruction) -> Iterator[str]:
    """Yield the state space of each address operand: those that are named, then the first again."""
    spaces = [word for word in of.words if word.partition("::")[0] in _SPACES]
    yield from spaces
    yield from repeat(spaces[0] if spaces else "")
