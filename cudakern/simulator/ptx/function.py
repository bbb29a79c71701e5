"""A function of a PTX module in C++: registers, operands, rows of the table."""

from __future__ import annotations

import re
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Protocol

from cudakern.simulator.ptx.effects import lanes_of
from cudakern.simulator.ptx.instructions import row_of, table
from cudakern.simulator.ptx.instructions.special import special_register
from cudakern.simulator.ptx.memory_accesses import MemoryAccesses
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
    shorten,
    type_of_register,
    type_of_value,
    unsigned,
)
from cudakern.values.layout import round_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cudakern.simulator.ptx.effects import Effects
    from cudakern.simulator.ptx.forms import Match, Meeting, OperandForm
    from cudakern.simulator.ptx.model import Function, Operand, Statement
    from cudakern.simulator.ptx.scope import Scope

    Writer = Callable[["FunctionText"], str]

_MAX_LOCAL_BYTES = 512 * 1024  # a GPU's limit
_SPACES = {"global", "shared", "const", "local", "param"}
_UNSAFE = re.compile(r"\W")
_ATOM = re.compile(r"\w+")
_CARRY = re.compile(r"\bcc\b")
#: A waiting thread must look the same each time: see deadlock.hpp.
_FORGET_TURNS = "turns = 0; "
#: Beginnings of instructions that no row has, and what to use instead.
_WITHOUT = {
    ("tex.", "tld4.", "txq."): "; instead of a texture read an array, interpolating by hand",
    ("suld.", "sust.", "sured.", "suq."): "; instead of a surface access an array",
    ("wgmma.", "tcgen05."): "; mma.sync multiplies matrices, too",
    ("cp.async.bulk.tensor.", "cp.reduce.async.bulk.tensor."): "; cp.async.bulk copies rows",
}


class CppVariable(NamedTuple):
    """The variable that a register is in C++."""

    type: str
    name: str


class RefusedError(Exception):
    """The simulator does not execute a function."""


class _Follower(Protocol):
    """What follows undefined values through a function: `undefined.Undefined`."""

    def declarations(self) -> Iterable[str]: ...

    def begin_block(self) -> None: ...

    def extend(self, statement: str) -> tuple[str, str, str]: ...

    def stored(self, items: Sequence[Operand]) -> tuple[str, str]: ...


class _Split(Protocol):
    """An entry whose call runs all threads of a block: `regions.Regions`."""

    ending: str  # the statement that ends a thread
    polls: bool  # whether threads look at memory again and again
    flushes: bool  # whether the processor takes subnormal floats for zeros
    constants: Mapping[str, Immediate]  # what registers are, that are nothing else

    def take(self, statement: Statement, line: str) -> None: ...

    def yielding(self) -> str: ...

    def meeting(
        self, meeting: Meeting, bindings: Mapping[str, str], fixed: Mapping[str, str], results: str
    ) -> str: ...

    def text(self) -> str: ...

    def describe(self, name: str) -> dict[str, object]: ...


class FunctionText:
    """A function on its way to C++."""

    #: The instruction that is being written, and its row.
    instruction: Instruction
    row: Match

    def __init__(self, scope: Scope, function: Function, writers: Mapping[str, Writer]) -> None:
        self.scope = scope
        self._writers = writers  # by the names that rows call them
        self.function = function
        self.is_checked = scope.checked
        self._offsets = scope.layouts[function.name].offsets  # of shared variables
        self.local_bytes = 0  # what its variables take of a thread's stack
        self.targets: dict[str, Targets] = {}
        self.memory_names: dict[str, str] = {}  # C++ names of local and parameter memory
        self._ranges: dict[str, tuple[str, int]] = {}  # "%r" -> type, how many
        self.registers: dict[str, CppVariable] = {}  # those in use
        self._others: set[str] = set()  # names of anything but registers
        self._names: set[str] = set()
        self.entered: list[str] = []  # where an entry begins
        self.declarations: list[str] = []
        self._labels: dict[str, str] = {}
        self._returned: list[str] = []
        self._uses_carry = False
        self._accesses = MemoryAccesses(function.body or ()) if scope.checked else None
        self.follower: _Follower | None = None  # in checked launches
        #: Of an entry whose call runs all threads of a block; made once all is declared.
        self.split: Callable[[FunctionText], _Split] | None = None
        self.regions: _Split | None = None
        self.local: dict[str, str] = {}  # declarations of local memory
        self._site = ""  # of the instruction, if it is asked for
        #: Of what functions pass: where words of undefined bytes are.
        self._passed: dict[str, str] = {}
        self._blocks = scope.blocks[function.name].numbers if scope.checked else {}
        self._labels_above: dict[str, int] = {}  # -> how often others had been involved there
        self._involved = 0  # how often others have been, so far
        self._counts_turns = False

    def text(self) -> str:
        """Return the function in C++; RefusedError if the simulator does not execute it."""
        body = self.function.body or []
        loaded = self._parameters()
        for statement in body:
            if isinstance(statement, Declaration):
                self._declare(statement)
            elif isinstance(statement, Targets):
                self.targets[statement.name] = statement
            elif isinstance(statement, Label):
                self._labels[statement.name] = f"L{len(self._labels)}"
        if self.split is not None:
            self.regions = self.split(self)
        lines = [*self._lines(body)]
        if self._uses_carry:
            self.declarations.append("bool cc = false;")
        if self._counts_turns:
            self.declarations.append("u32 turns = 0;")
        else:
            lines = [line.replace(_FORGET_TURNS, "") for line in lines]
        lines = [*loaded, *filter(None, lines)]
        if self.regions is not None:
            text = self.regions.text()
            return text if self._counts_turns else text.replace(_FORGET_TURNS, "")
        registers = self.declared(self.registers)
        if self.follower is not None:
            registers += self.follower.declarations()
        entering = ["CK_ENTER;"] if self.function.is_entry else []
        declarations = (*self.declarations, *self.local.values(), *registers)
        parts = (*entering, *self.entered, *declarations, *lines)
        head = f"{self.scope.signature(self.function)} {{"
        return "\n".join((head, *parts, self.returning(), "}"))

    def declared(self, names: Iterable[str]) -> list[str]:
        """Return the declarations of registers."""
        by_type: dict[str, list[str]] = {}
        for kind, name in (self.registers[name] for name in names):
            by_type.setdefault(kind, []).append(name)
        # The compiler drops zeros that nothing reads. Without them, a register that the text leaves
        # out could have any value, such as an address of the process itself.
        return [f"{kind} {'{}, '.join(names)}{{}};" for kind, names in by_type.items()]

    def _lines(self, body: Iterable[Statement]) -> Iterator[str]:
        for statement in body:
            if isinstance(statement, Label):
                line = f"{self._labels[statement.name]}:;"
                if self.regions is not None:
                    self.regions.take(statement, line)
                yield line
                self._labels_above[statement.name] = self._involved
            elif isinstance(statement, Instruction):
                if id(statement) in self._blocks and self.follower is not None:
                    self.follower.begin_block()
                    yield f"count_block(me, {self._blocks[id(statement)]});"
                line = self._line(statement)
                if self.regions is None:
                    yield line
                else:
                    self.regions.take(statement, line)

    def _line(self, instruction: Instruction) -> str:
        """Return the statements of an instruction, under its guard."""
        self.instruction = instruction
        self.row = self._find_row()
        self._site = ""
        form = self.row.form
        effects = form.effects
        statement = self._writers[form.writer](self) if form.writer else self._row_text()
        self._involved += effects.involves_others or "writes" in effects
        before = after = ""
        if self.follower is not None and statement:
            statement, before, after = self.follower.extend(statement)
        if self.regions is not None:
            statement += self.regions.yielding()
        if effects.involves_others:
            statement = f"{_FORGET_TURNS}{statement}"
        if instruction.guard is None or not statement:
            return before + statement
        guard = self.value(instruction.guard, "pred")
        return f"{before}if ({guard}) {{ {statement} }} {after}"

    def _parameters(self) -> list[str]:
        """Declare parameters and results; return the statements that load registers."""
        function = self.function
        if function.is_entry:
            for i, variable in enumerate(function.parameters):
                self.entered.append(f"char* const P{i} = (char*)parameters[{i}];")
                self.memory_names[variable.name] = f"P{i}"
            return []
        loaded = []
        named = ((function.results, "R"), (function.parameters, "P"))
        for variables, letter in named:
            for i, variable in enumerate(variables):
                pointer = f"{letter}{i}"
                if variable.space == "param":
                    self.memory_names[variable.name] = pointer
                    if self.is_checked and variable.size:
                        self._passed[variable.name] = f"{pointer} + {round_up(variable.size, 8)}"
                    continue
                self._declare(variable)
                kind, name = self.register(variable.name) or ("", "")
                if letter == "R":
                    self._returned.append(f"store<{kind}>({pointer}, {name});")
                else:
                    loaded.append(f"{name} = load<{kind}>({pointer});")
        return loaded

    def _declare(self, variable: Declaration) -> None:
        if variable.space == "reg":
            self._others.clear()
            self._ranges[variable.name] = type_of_register(variable.type), variable.registers
        elif variable.space in {"local", "param"}:
            memory = f"M{len(self.memory_names)}"
            self.memory_names[variable.name] = memory
            size = max(variable.size, 1)
            self.local_bytes += max(size, variable.alignment)
            if self.local_bytes > _MAX_LOCAL_BYTES:
                requirement = f"must have at most {_MAX_LOCAL_BYTES} bytes of local memory"
                problem = self.scope.describe_problem(self.function, requirement, self.local_bytes)
                raise RefusedError(problem)
            alignment = max(variable.alignment, 8)
            if self.is_checked and variable.space == "local":
                text = (
                    f"Local<{size}, {alignment}> {memory}_; char* const {memory} = {memory}_.data;"
                )
            elif self.is_checked and variable.size:
                start = round_up(size, 8)  # of the words of undefined bytes
                self._passed[variable.name] = f"{memory} + {start}"
                text = f"alignas({alignment}) char {memory}[{start + 8 * (-(-size // 4))}]{{}};"
            else:
                text = f"alignas({alignment}) char {memory}[{size}];"
            if variable.space == "local":
                self.local[memory] = text
            else:
                self.declarations.append(text)

    def returning(self) -> str:
        """Return the statements at the function's end."""
        ending = self.regions.ending if self.regions is not None else "return;"
        return " ".join((*self._returned, ending))

    def site(self, effects: Effects | None = None) -> str:
        """Return a pointer to where the instruction is, which can wait, fail or access memory.

        Its accesses to memory follow from ``effects`` if given, otherwise from its row.
        """
        if effects is not None:
            access = effects.access(()) if self.is_checked else 0
            return self.scope.site(self.instruction, access)
        if not self._site:
            accesses = self._accesses
            access = accesses.bits_of(self.instruction) if accesses is not None else 0
            self._site = self.scope.site(self.instruction, access)
        return self._site

    def turn(self, labels: Iterable[str]) -> str:
        """Return what is to be done before a branch: counting, if it goes round a loop.

        Others run after many turns. Plain launches only count loops that do not involve others.
        """
        above = [self._labels_above[name] for name in labels if name in self._labels_above]
        if not above or not (self.is_checked or self._involved in above):
            return ""
        self._counts_turns = True
        return f"turn(turns, {self.site()}); "

    def refuse(self, what: str, advice: str = "") -> NoReturn:
        """Raise RefusedError: the instruction has what the simulator does not execute."""
        ptx_line = self.instruction.line
        file, line = self.instruction.source_line or (self.scope.source, ptx_line)
        message = f"{file}:{line}: error: the simulator does not execute {shorten(what)}"
        message += f" (line {ptx_line} of the PTX){advice}"
        raise RefusedError(message)

    def operands(self, least: int, most: int) -> Sequence[Operand]:
        """Return the instruction's operands; refuse less or more of them."""
        operands = self.instruction.operands
        if not least <= len(operands) <= most:
            self.refuse(f"{self.instruction.name} with {len(operands)} operands")
        return operands

    def register(self, name: str) -> CppVariable | None:
        """Return the C++ variable of a register, or None for another name."""
        known = self.registers.get(name)
        if known is not None or name in self._others:
            return known
        declared = self._ranges.get(name)
        if declared is None or declared[1]:
            ranges = ((self._ranges.get(stem), number) for stem, number in numbered(name))
            declared = next((r for r, number in ranges if r and number < r[1]), None)
            if declared is None:
                self._others.add(name)
                return None
        cpp_name = "r_" + _UNSAFE.sub("_", name.lstrip("%"))
        while cpp_name in self._names:
            cpp_name += "_"
        self._names.add(cpp_name)
        self.registers[name] = CppVariable(declared[0], cpp_name)
        return self.registers[name]

    def label(self, name: str) -> str:
        """Return a label in C++; refuse one that the function lacks."""
        if name not in self._labels:
            self.refuse(f"{self.instruction.name} to what is no label of its function")
        return self._labels[name]

    def value(self, operand: Operand, wanted: str) -> str:
        """Return an operand as a C++ value of a type."""
        if isinstance(operand, Immediate):
            is_float = wanted in {"f32", "f64"}
            if not is_float and operand.float_bytes not in {0, TYPE_BYTES[wanted]}:
                self.refuse(f"{self.instruction.name} with such a constant")
            return literal(operand, wanted)
        if not isinstance(operand, Register):
            self.refuse(f"{self.instruction.name} with such an operand")
        known = self._known(operand.name)
        if known is None:
            return convert(self._address(operand), "u64", wanted)
        if operand.offset:
            self.refuse(f"{self.instruction.name} of a sum")
        kind, value = known
        value = convert(value, kind, wanted)
        return f"!{value}" if operand.negated else value

    def _known(self, name: str) -> tuple[str, str] | None:
        """Return C++ type and value of a register or a special register; None for another name."""
        return self.register(name) or special_register(name)

    def _address(self, operand: Register) -> str:
        """Return the value of a name other than a register's: an address or an offset."""
        name, offset = operand.name, operand.offset
        if name in self._offsets:
            return f"(u64){(self._offsets[name] + offset) % 2**64}ull"
        if name in self.memory_names:
            pointer = self.memory_names[name]
        elif name in self.scope.variables:
            pointer = self.scope.variables[name]
        elif self.scope.is_callable(name):
            self.scope.called.add(name)
            self.scope.addressed.add(name)
            pointer = f"&{self.scope.functions[name]}"
        elif self.scope.is_dynamic(name):
            pointer = "me->group->dynamic_offset"
        else:
            function = self.scope.declared(name)
            what = "not declared" if function is None else "not defined"
            if function is not None and function.is_entry:
                what = "a kernel: only the host launches them"
            self.refuse(f"{self.instruction.name} of {name}, which is {what}")
        return f"((u64){pointer} + (u64)({offset}))" if offset else f"(u64){pointer}"

    def assign(self, operand: Operand, value: str, kind: str) -> str:
        """Return the statement that gives a register a value of a C++ type."""
        name = operand.name if isinstance(operand, Register) else ""
        if name == "_":
            return f"(void)({value});"
        target = self.register(name)
        if target is None:
            self.refuse(f"{self.instruction.name} with such a result")
        if is_integer(kind) and is_integer(target.type):
            return f"{target.name} = {value};"  # as C++ converts them
        return f"{target.name} = {convert(value, kind, target.type)};"

    def pointer(self, operand: Operand, space: str) -> str:
        """Return an address operand as a pointer of the host."""
        if not isinstance(operand, Address):
            self.refuse(f"{self.instruction.name} without an address in brackets")
        base = operand.base
        kind = "u32" if space.startswith("shared") else "u64"
        if isinstance(base, Immediate):
            value = literal(base, kind)
        elif self._known(base.name) is None:
            value = self._address(base)
            if base.name in self._offsets or self.scope.is_dynamic(base.name):
                return f"(window + (u32)({value}))"
            return f"((char*)({value}))"
        else:
            value = self.value(Register(base.name), kind)
            if base.offset:
                value = f"({value} + ({kind})({base.offset}))"
        if space == "shared::cluster":
            return f"cluster_address(me, {value})"
        return f"(window + {value})" if kind == "u32" else f"((char*){value})"

    def _find_row(self) -> Match:
        """Return the row of the instruction; refuse one that has none."""
        name, pairs = self.instruction.name, self.instruction.pairs
        row = row_of(self.instruction)
        if row is not None and row.form.writer:
            return row
        positions = self.instruction.operands[pairs:]
        predicates = tuple(i for i, o in enumerate(positions) if i and self._is_predicate(o))
        row = table().find(name, len(positions), predicates)
        if row is None:
            how = (advice for starts, advice in _WITHOUT.items() if name.startswith(starts))
            self.refuse(f"the instruction {name}", next(how, ""))
        if pairs and len(row.form.operands[0]) == 1:
            self.refuse(f"{name} with two results")
        self.scope.headers.add(row.header)
        self._uses_carry = self._uses_carry or _CARRY.search(row.form.code) is not None
        return row

    def _is_predicate(self, operand: Operand) -> bool:
        register = self.register(operand.name) if isinstance(operand, Register) else None
        return register is not None and register.type == "pred"

    def _row_text(self) -> str:
        row, code = self.row, self.row.form.code
        if row.form.meeting is not None:
            return self._meeting_text(row.form.meeting)
        bindings = self._fields()
        is_expression = not code.endswith(";")
        if is_expression and "; " in code:
            first, _, second = code.partition("; ")
            name = row.form.operands[0][0].name
            is_expression = not self.instruction.pairs
            code = first if is_expression else f"{{{name}}} = {first}; {{q}} = {second};"
        before: list[str] = []
        after: list[str] = []
        result: tuple[Operand, str] | None = None
        spaces = self._spaces()
        for form, operand in self.pairs():
            name = form.name
            if form.is_address:
                bindings[name] = self.pointer(operand or Vector(()), next(spaces))
                continue
            self._require_lanes(name, operand)
            kind = type_of_value(row.types[name])
            is_result = form in row.form.results
            if is_result and is_expression and operand is not None:
                result = operand, kind
            elif is_result:
                bindings[name] = f"{name}_"
                self._receive(operand, kind, f"{name}_", before, after)
            elif isinstance(operand, Vector):
                values = (self.value(item, kind) for item in operand.items)
                before.append(f"{kind} {name}_[] = {{{', '.join(values)}}};")
                bindings[name] = f"{name}_"
            elif operand is not None:
                value = self.value(operand, kind)
                bindings[name] = value if _ATOM.fullmatch(value) else f"({value})"
        statement = code.format_map(bindings)
        if result is not None:
            return self.assign(result[0], statement, result[1])
        statement += ";" if is_expression else ""
        return f"{{ {' '.join((*before, statement, *after))} }}"

    def _meeting_text(self, meeting: Meeting) -> str:
        bindings = self._fields() | {"met": "met"}
        targets: list[tuple[Operand | None, str]] = []
        constants = self.regions.constants if self.regions is not None else {}
        fixed: dict[str, str] = {}  # what all threads give alike, as far as that is known
        for form, operand in self.pairs():
            kind = type_of_value(self.row.types[form.name])
            if form in self.row.form.results:
                targets.append((operand, kind))
            elif operand is not None:
                self._require_lanes(form.name, operand)
                name = operand.name if isinstance(operand, Register) else ""
                known = constants.get(name, operand)
                bindings[form.name] = f"({self.value(known, kind)})"
                if isinstance(known, Immediate) and (form.name != meeting.mask or known.value):
                    fixed[form.name] = bindings[form.name]
        results = " ".join(
            self.assign(operand, result.format_map(bindings), kind)
            for result, (operand, kind) in zip(meeting.results, targets, strict=True)
            if operand is not None
        )
        if self.regions is not None:
            return self.regions.meeting(meeting, bindings, fixed, results)
        made = meeting.made.format_map(bindings)
        mask = bindings.get(meeting.mask, "")
        given = f"met, {mask}, me" if mask else "met"
        return f"{{ auto met = {made}; meet({given}, {self.site()}); {results} }}"

    def expression(self, replaced: Mapping[str, str]) -> str:
        """Return the C++ of a row that is an expression, with other values of some operands."""
        bindings = self._fields()
        for form, operand in self.pairs():
            if operand is not None and form not in self.row.form.results:
                kind = type_of_value(self.row.types[form.name])
                value = replaced.get(form.name)
                value = self.value(operand, kind) if value is None else f"({kind}){value}"
                bindings[form.name] = f"({value})"
        return self.row.form.code.format_map(bindings)

    def passed_words(self, address: Address) -> Callable[[int], str] | None:
        """Return what gives arguments for an offset from an address, among parameters."""
        base = address.base
        if not isinstance(base, Register) or base.name not in self._passed:
            return None
        return lambda more: f"{self._passed[base.name]}, {base.offset + more}"

    def _require_lanes(self, name: str, operand: Operand | None) -> None:
        """Refuse a vector of another length than the instruction names, or where it names none."""
        if f"fragment({{{name}}})" in self.row.form.code and operand != Vector(()):
            return  # of any length: the runtime compares it
        lanes = lanes_of(self.instruction.name)
        if operand is not None and (lanes or isinstance(operand, Vector)):
            self.require_lanes(operand, lanes)

    def require_lanes(self, operand: Operand, *lanes: int) -> None:
        """Refuse a vector of any other length; a single value has length 0."""
        count = len(operand.items) if isinstance(operand, Vector) else 0
        if count not in lanes or operand == Vector(()):
            what = f"{count} values" if isinstance(operand, Vector) else "no vector"
            self.refuse(f"{self.instruction.name} of {what}")

    def _fields(self) -> dict[str, str]:
        """Return the texts for the fields of the row that are not operands."""
        row = self.row
        fields = dict(row.fields)
        if "TYPE" in fields:
            fields["T"] = type_of_value(fields["TYPE"])
            fields["U"] = unsigned(TYPE_BYTES[fields["TYPE"]])
        if "{site}" in row.form.code:
            fields["site"] = self.site()
            is_quiet = self.regions is not None and not self.regions.polls
            if is_quiet and row.form.opcode in {"atom", "red"}:
                fields["site"] = f"Quiet{{{fields['site']}}}"
        if self.regions is not None and self.regions.flushes and fields.get("ftz") == "1":
            fields["ftz"] = "2"
        if row.form.arrival is not None:
            fields["arrival"] = self.site(row.form.arrival)
        return fields

    def _receive(
        self, target: Operand | None, kind: str, name: str, before: list[str], after: list[str]
    ) -> None:
        """Declare a result before the statements of a row, and hand it over after them."""
        if isinstance(target, Vector):
            before.append(f"{kind} {name}[{max(len(target.items), 1)}];")
            after += [
                self.assign(item, f"{name}[{i}]", kind) for i, item in enumerate(target.items)
            ]
            return
        before.append(f"{kind} {name};")
        if target is not None:
            after.append(self.assign(target, name, kind))

    def pairs(self) -> Iterator[tuple[OperandForm, Operand | None]]:
        """Pair the operands of the form with those of the instruction; None for one not given."""
        operands = iter(self.instruction.operands)
        pairs = self.instruction.pairs
        for first, *rest in self.row.form.operands:
            yield first, next(operands, None)
            for second in rest:
                yield second, next(operands, None) if pairs else None
                pairs = 0

    @property
    def space(self) -> str:
        """The state space of the instruction's first address; empty for generic ones."""
        return next(self._spaces())

    def _spaces(self) -> Iterator[str]:
        """Yield the state space of each address: those that are named, then the first again."""
        words = self.instruction.words
        spaces = [word for word in words if word.partition("::")[0] in _SPACES]
        yield from spaces
        yield from repeat(spaces[0] if spaces else "")
