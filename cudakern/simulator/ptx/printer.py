"""C++ of operations: the only place that knows C++, besides the rows of the table."""

from __future__ import annotations

from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from cudakern.simulator.ptx.effects import BUILTINS
from cudakern.simulator.ptx.fragments import names_of
from cudakern.simulator.ptx.instructions.special import special_register
from cudakern.simulator.ptx.model import TYPE_BYTES, Address, Immediate, Label, Register, Vector
from cudakern.simulator.ptx.operations import Count, RefusedError, refuse
from cudakern.simulator.ptx.printed_words import WordPrinter
from cudakern.simulator.ptx.values import (
    CppVariable,
    convert,
    identifier,
    is_integer,
    literal,
    type_of_register,
    type_of_value,
    unsigned,
)
from cudakern.values.layout import round_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cudakern.simulator.ptx import undefined
    from cudakern.simulator.ptx.barrier_joins import BarrierJoins
    from cudakern.simulator.ptx.effects import Effects
    from cudakern.simulator.ptx.forms import Meeting
    from cudakern.simulator.ptx.fragments import Fragment, Fragments
    from cudakern.simulator.ptx.model import Declaration, Function, Operand
    from cudakern.simulator.ptx.operations import Body, Op
    from cudakern.simulator.ptx.scope import Scope

_MAX_LOCAL_BYTES = 512 * 1024  # a GPU's limit
#: Bytes of vectors at most, and of those in global memory.
_VECTOR, _WIDE = 16, 32
_MOST_INT = 0x7FFFFFFF  # numbers without a suffix have 32 bits
#: Floats that have as many bits as a type.
_FLOATS = {"u32": "f32", "u64": "f64"}
#: How registers are named that lie in a thread's memory.
SAVED = "saved->"
#: A waiting thread must look the same each time: see deadlock.hpp.
_FORGET_TURNS = "turns = 0; "


class Place(NamedTuple):
    """How statements name what a thread knows of itself."""

    group: str = "me->group->"
    thread: str = "me->thread."
    lane: str = "me->lane"
    warp: str = "warp_number(me)"


class _Bound:
    """The fields of a row, and what stands before and after its statements."""

    def __init__(self, fields: dict[str, str]) -> None:
        self.fields = fields
        self.before: list[str] = []
        self.after: list[str] = []


IN_FIBER = Place()
IN_LOOP = Place("team.group->", "thread_", "(t & 31u)", "(t / 32u)")
#: Where a team is a warp, which can have threads of several rows.
IN_WARP = IN_LOOP._replace(thread="me->thread.")


class Printer:
    """Prints the operations of a function, each as a line."""

    #: The operation that is printed.
    op: Op

    def __init__(
        self,
        scope: Scope,
        body: Body,
        *,
        turns: set[int],
        place: Place = IN_FIBER,
        access: Mapping[int, int] = MappingProxyType({}),
        followed: undefined.Followed | None = None,
        fragments: Fragments = MappingProxyType({}),
        joins: BarrierJoins | None = None,
    ) -> None:
        self.scope, self.body = scope, body
        self._place = place
        self._access = access
        self._turns = turns
        self._followed = followed
        self._joins = joins
        self._fragments = fragments
        self.words = WordPrinter(self)
        self.is_checked = followed is not None
        self._offsets = scope.layouts[body.function.name].offsets  # of shared variables
        self._special: dict[str, CppVariable] = {}
        labels = (s.name for s in body.statements if isinstance(s, Label))
        self._labels = {name: f"L{i}" for i, name in enumerate(labels)}
        self.registers: dict[str, CppVariable] = {}  # those in use
        self._taken: set[str] = set()  # C++ names of registers
        self._site = ""  # of the operation, if it is asked for
        self._uses_carry = False
        # Of loops: whether the processor takes subnormal floats for zeros, and whether threads can
        # be left to let others run.
        self.flushes = False
        self.polls = True
        #: Registers that lie in a thread's memory.
        self.in_memory: set[str] = set()
        self.memory_names: dict[str, str] = {}  # C++ names of local and parameter memory
        self.local: dict[str, str] = {}  # declarations of local memory
        self._memory: list[str] = []  # of arguments of calls
        self._buffers: dict[str, tuple[str, int]] = {}  # type and size, of vector operands
        self.local_bytes = 0  # what its variables take of a thread's stack
        self.entered: list[str] = []  # where an entry begins
        self.loaded: list[str] = []  # statements that load parameters
        self._returned: list[str] = []
        #: Of what functions pass: where words of undefined bytes are.
        self._passed: dict[str, str] = {}
        self._declare_parameters(body.function)
        for variable in body.memory:
            self._declare_memory(variable)
        for fragment in self._fragments.values():  # an upper bound, as some share places
            self.local_bytes += fragment.registers * (fragment.bytes + 8 * self.is_checked)

    def text(self) -> str:
        """Return the whole function, which one thread executes."""
        lines = [*self.loaded]
        for statement in self.body.statements:
            if isinstance(statement, Label):
                lines.append(f"{self.label(statement.name)}:;")
            elif isinstance(statement, Count):
                lines.append(f"count_block(me, {statement.number});")
            else:
                lines.append(self.print(statement))
        entering = ["CK_ENTER;"] if self.body.function.is_entry else []
        parts = (
            f"{self.scope.signature(self.body.function)} {{",
            *entering,
            *self.entered,
            *self.declarations,
            *self.local.values(),
            *self.declared(self.registers),
            *filter(None, lines),
            self.returning(),
            "}",
        )
        return "\n".join(parts)

    def describe(self, name: str) -> dict[str, object]:
        """Return more of the library's description of an entry, by its name in C++."""
        del name
        return {}

    # Declarations

    def _declare_parameters(self, function: Function) -> None:
        if function.is_entry:
            for i, variable in enumerate(function.parameters):
                self.entered.append(f"char* const P{i} = (char*)parameters[{i}];")
                self.memory_names[variable.name] = f"P{i}"
            return
        for variables, letter in ((function.results, "R"), (function.parameters, "P")):
            for i, variable in enumerate(variables):
                pointer = f"{letter}{i}"
                if variable.space == "param":
                    self.memory_names[variable.name] = pointer
                    if self.is_checked and variable.size:
                        self._passed[variable.name] = f"{pointer} + {round_up(variable.size, 8)}"
                    continue
                kind, name = self.register(variable.name) or CppVariable("", "")
                if letter == "R":
                    self._returned.append(f"store<{kind}>({pointer}, {name});")
                else:
                    self.loaded.append(f"{name} = load<{kind}>({pointer});")

    def _declare_memory(self, variable: Declaration) -> None:
        memory = f"M{len(self.memory_names)}"
        self.memory_names[variable.name] = memory
        size = max(variable.size, 1)
        self.local_bytes += max(size, variable.alignment)
        if self.local_bytes > _MAX_LOCAL_BYTES:
            requirement = f"must have at most {_MAX_LOCAL_BYTES} bytes of local memory"
            function = self.body.function
            problem = self.scope.describe_problem(function, requirement, self.local_bytes)
            raise RefusedError(problem)
        alignment = max(variable.alignment, 8)
        if self.is_checked and variable.space == "local":
            text = f"Local<{size}, {alignment}> {memory}_; char* const {memory} = {memory}_.data;"
        elif self.is_checked and variable.size:
            start = round_up(size, 8)  # of the words of undefined bytes
            self._passed[variable.name] = f"{memory} + {start}"
            text = f"alignas({alignment}) char {memory}[{start + 8 * (-(-size // 4))}]{{}};"
        else:
            text = f"alignas({alignment}) char {memory}[{size}];"
        if variable.space == "local":
            self.local[memory] = text
        else:
            self._memory.append(text)

    def declared(self, names: Iterable[str]) -> list[str]:
        """Return the declarations of registers."""
        by_type: dict[str, list[str]] = {}
        for kind, name in (self.registers[name] for name in names):
            by_type.setdefault(kind, []).append(name)
        # The compiler drops zeros that nothing reads. Without them, a register that the text leaves
        # out could have any value, such as an address of the process itself.
        return [f"{kind} {'{}, '.join(names)}{{}};" for kind, names in by_type.items()]

    @property
    def declarations(self) -> list[str]:
        """What each thread has besides registers and local memory."""
        words = [*map(self.words.name, self._followed.words)] if self._followed else []
        return [
            *self._memory,
            *self._declare_fragments(),
            *(f"{kind} {name}[{size}];" for name, (kind, size) in self._buffers.items()),
            *(["bool cc = false;"] if self._uses_carry else []),
            *(["u32 turns = 0;"] if self._turns else []),
            *([f"u64 {'{}, '.join(words)}{{}};"] if words else []),
        ]

    # Statements

    def label(self, name: str) -> str:
        """Return a label in C++; refuse one that the function lacks."""
        if name not in self._labels:
            self.refuse(f"{self.op.row.name} to what is no label of its function")
        return self._labels[name]

    def print(self, op: Op) -> str:
        """Return the statements of an operation, under its guard."""
        statement, before, after = self.statement(op), "", ""
        if self._followed is not None:
            statement, before, after = self._with_steps(statement)
        if self._joins is not None:
            before = f"{self._join(self._joins, id(op))}{before}"
        if op.guard is None or not statement:
            return before + statement
        return f"{before}if ({self.value(op.guard, 'pred')}) {{ {statement} }} {after}"

    def _join(self, joins: BarrierJoins, op: int) -> str:
        """Return what tells the checker that a thread comes to a join or to a barrier."""
        passed = f"me->joins_passed |= {joins.passed[op]}u; " if op in joins.passed else ""
        behind = f"me->joins_behind = {joins.behind[op]}u; " if op in joins.behind else ""
        return passed + behind

    def statement(self, op: Op) -> str:
        """Return the statements of an operation that is executed."""
        self.op, self._site = op, ""
        writer = op.form.writer
        statement = _WRITERS[writer](self) if writer else self._print_row()
        forgets = self._turns and op.form.effects.involves_others and statement
        return f"{_FORGET_TURNS}{statement}" if forgets else statement

    def returning(self) -> str:
        """Return the statements at the function's end."""
        return " ".join((*self._returned, self.ending))

    #: The statement that ends a thread.
    ending = "return;"

    def site(self, effects: Effects | None = None) -> str:
        """Return a pointer to where the operation is, which can wait, fail or access memory.

        Its accesses to memory follow from ``effects`` if given, otherwise from its row.
        """
        instruction = self.op.instruction
        if effects is not None:
            return self.scope.site(instruction, effects.access(()) if self.is_checked else 0)
        if not self._site:
            self._site = self.scope.site(instruction, self._access.get(id(instruction), 0))
        return self._site

    def refuse(self, what: str) -> NoReturn:
        """Raise RefusedError: the operation has what the simulator does not execute."""
        refuse(self.op.instruction, self.scope.source, what)

    # Operands

    def register(self, name: str) -> CppVariable | None:
        """Return the C++ variable of a register, or None for another name."""
        known = self.registers.get(name)
        if known is None and (kind := self.body.registers.type_of(name)) is not None:
            cpp = identifier(name)
            while cpp in self._taken:
                cpp += "_"
            self._taken.add(cpp)
            cpp = f"{SAVED}{cpp}" if name in self.in_memory else cpp
            known = self.registers[name] = CppVariable(type_of_register(kind), cpp)
        return known

    def _known(self, name: str) -> CppVariable | None:
        """Return C++ type and value of a register or a special register; None for another name."""
        known = self.register(name) or self._special.get(name)
        if known is None and (special := special_register(name)) is not None:
            code = special.code.format_map(self._place._asdict())
            known = self._special[name] = CppVariable(special.type, code)
        return known

    def value(self, operand: Operand, wanted: str) -> str:
        """Return an operand as a C++ value of a type."""
        if isinstance(operand, Immediate):
            is_float = wanted in {"f32", "f64"}
            if not is_float and operand.float_bytes not in {0, TYPE_BYTES[wanted]}:
                self.refuse(f"{self.op.row.name} with such a constant")
            return literal(operand, wanted)
        if not isinstance(operand, Register):
            self.refuse(f"{self.op.row.name} with such an operand")
        known = self._known(operand.name)
        if known is None:
            return convert(self._address(operand), "u64", wanted)
        if operand.offset:
            self.refuse(f"{self.op.row.name} of a sum")
        value = convert(known.name, known.type, wanted)
        return f"!{value}" if operand.negated else value

    def _address(self, operand: Register) -> str:
        """Return the value of a name other than a register's: an address or an offset."""
        name, offset = operand.name, operand.offset
        if name in self._offsets:
            return f"{(self._offsets[name] + offset) % 2**64}ull"
        if name in self.memory_names:
            pointer = self.memory_names[name]
        elif name in self.scope.variables:
            pointer = self.scope.variables[name]
        elif self.scope.is_callable(name):
            self.scope.called.add(name)
            self.scope.addressed.add(name)
            pointer = f"&{self.scope.functions[name]}"
        elif self.scope.is_dynamic(name):
            pointer = f"{self._place.group}dynamic_offset"
        else:
            function = self.scope.declared(name)
            what = "not declared" if function is None else "not defined"
            if function is not None and function.is_entry:
                what = "a kernel: only the host launches them"
            self.refuse(f"{self.op.row.name} of {name}, which is {what}")
        return f"((u64){pointer} + (u64)({offset}))" if offset else f"(u64){pointer}"

    def assign(self, operand: Operand, value: str, kind: str) -> str:
        """Return the statement that gives a register a value of a C++ type."""
        name = operand.name if isinstance(operand, Register) else ""
        if name == "_":
            return f"(void)({value});"
        target = self.register(name)
        if target is None:
            self.refuse(f"{self.op.row.name} with such a result")
        # As C++ converts integers.
        if kind != target.type and not (is_integer(kind) and is_integer(target.type)):
            value = convert(f"({value})", kind, target.type)
        return f"{target.name} = {value};"

    def pointer(self, operand: Operand, space: str, kind_of: str = "char") -> str:
        """Return an address operand as a pointer of the host, of a C++ type."""
        if not isinstance(operand, Address):
            self.refuse(f"{self.op.row.name} without an address in brackets")
        base = operand.base
        kind = "u32" if space.startswith("shared") else "u64"
        if isinstance(base, Immediate):
            value = literal(base, kind)
        elif self._known(base.name) is None:
            value = self._address(base)
            if base.name in self._offsets or self.scope.is_dynamic(base.name):
                return _cast(f"(window + (u32){value})", kind_of)
            return f"(({kind_of}*){value})"
        else:
            value = self.value(Register(base.name), kind)
            if base.offset:
                value = f"({value} {'+-'[base.offset < 0]} {_distance(abs(base.offset), kind)})"
        if space == "shared::cluster":
            return _cast(f"cluster_address(me, {value})", kind_of)
        return _cast(f"(window + {value})", kind_of) if kind == "u32" else f"(({kind_of}*){value})"

    @property
    def space(self) -> str:
        """The state space of the operation's first address; empty for generic ones."""
        spaces = self.op.row.spaces
        return spaces[0] if spaces else ""

    def _spaces(self) -> Iterator[str]:
        """Yield the state space of each address: those that are named, then the first again."""
        yield from self.op.row.spaces
        yield from repeat(self.space)

    def operands(self, least: int, most: int) -> Sequence[Operand]:
        """Return the operation's operands; refuse less or more of them."""
        operands = self.op.operands
        if not least <= len(operands) <= most:
            self.refuse(f"{self.op.row.name} with {len(operands)} operands")
        return operands

    def _require_lanes(self, operand: Operand | None) -> None:
        """Refuse a vector of another length than the name tells, or where that tells none."""
        lanes = self.op.row.lanes
        if operand is None or not (lanes or isinstance(operand, Vector)):
            return
        # The runtime compares the length of those of a matrix.
        if "matrix" not in self.op.form.effects or operand == Vector(()):
            self.require_lanes(operand, lanes)

    def require_lanes(self, operand: Operand, *lanes: int) -> None:
        """Refuse a vector of any other length; a single value has length 0."""
        count = len(operand.items) if isinstance(operand, Vector) else 0
        if count not in lanes or operand == Vector(()):
            what = f"{count} values" if isinstance(operand, Vector) else "no vector"
            self.refuse(f"{self.op.row.name} of {what}")

    # Rows

    def _fields(self) -> dict[str, str]:
        """Return the texts for the fields of the row that are not operands."""
        op = self.op
        fields, asked = dict(op.row.fields), op.form.fields
        if "site" in asked:
            is_quiet = not self.polls and op.form.effects.updates
            fields["site"] = f"Quiet{{{self.site()}}}" if is_quiet else self.site()
        if self.flushes and fields.get("ftz") == "1":
            fields["ftz"] = "2"
        if op.form.arrival is not None:
            fields["arrival"] = self.site(op.form.arrival)
        if not asked.isdisjoint({"carry", "overflow"}):
            self._uses_carry = True
            fields |= {"carry": "cc", "overflow": "cc"}
        if not asked.isdisjoint({"me", "lane", "access"}):
            fields |= {"me": "me", "lane": self._place.lane, "access": f"{op.row.access:#x}u"}
        return fields

    def _print_row(self) -> str:
        op, form = self.op, self.op.form
        if form.meeting is not None:
            return self.meet(form.meeting)
        bound = _Bound(self._fields())
        is_expression = bool(form.expressions) and not (op.instruction.pairs and form.results[1:])
        target: tuple[Operand, str] | None = None
        spaces = self._spaces()
        for form_of, operand in op.pairs():
            if form_of.is_address:
                bound.fields[form_of.name] = self.pointer(operand or Vector(()), next(spaces))
                continue
            self._require_lanes(operand)
            kind = op.row.kinds[form_of.name]
            fragment = self._fragments.get(names_of(operand)) if self._fragments else None
            if fragment is not None:
                bound.fields[form_of.name] = self.fragment(fragment)
            elif form_of.is_result:
                if is_expression and operand is not None:
                    target = operand, kind
                else:
                    self._receive(form_of.name, operand, kind, bound)
            elif operand is not None:
                self._give(form_of.name, operand, kind, bound)
        if is_expression and target is not None:
            return self.assign(target[0], form.expressions[0].format_map(bound.fields), target[1])
        body = self._print_statements(bound.fields, is_expression=is_expression)
        if is_expression or not (bound.before or bound.after):
            return body if not bound.before else f"{{ {' '.join((*bound.before, body))} }}"
        return f"{{ {' '.join((*bound.before, body, *bound.after))} }}"

    def _print_statements(self, fields: Mapping[str, str], *, is_expression: bool) -> str:
        """Return the statements of a row, or of its expressions, one for each result."""
        form = self.op.form
        if is_expression:
            return f"{form.expressions[0].format_map(fields)};"
        if not form.expressions:
            return form.code.format_map(fields)
        pairs = zip(form.results, form.expressions, strict=True)
        return " ".join(f"{result.name}_ = {e.format_map(fields)};" for result, e in pairs)

    def _give(self, name: str, operand: Operand, kind: str, bound: _Bound) -> None:
        """Bind the field of an operand, as an array if it is a vector."""
        if isinstance(operand, Vector):
            buffer, bound.fields[name] = self.buffer(name, kind, len(operand.items))
            for i, item in enumerate(operand.items):
                own = self._kind_in_buffer(item, kind)
                place = f"{buffer}[{i}]" if own == kind else f"(({own}*){buffer})[{i}]"
                bound.before.append(f"{place} = {self.value(item, own)};")
        else:
            bound.fields[name] = self.value(operand, kind)

    def _receive(self, name: str, target: Operand | None, kind: str, bound: _Bound) -> None:
        """Declare a result before the statements of a row, and hand it over after them."""
        if isinstance(target, Vector):
            buffer, bound.fields[name] = self.buffer(name, kind, len(target.items))
            for i, item in enumerate(target.items):
                own = self._kind_in_buffer(item, kind)
                place = f"{buffer}[{i}]" if own == kind else f"(({own}*){buffer})[{i}]"
                bound.after.append(self.assign(item, place, own))
            return
        place = bound.fields[name] = f"{name}_"
        bound.before.append(f"{kind} {place};")
        if target is not None:
            bound.after.append(self.assign(target, place, kind))

    def fragment(self, fragment: Fragment, prefix: str = "") -> str:
        """Return a fragment of a matrix as an array; with a prefix, the words beside it."""
        return f"first<{fragment.registers}>({prefix}W{8 * fragment.bytes} + {fragment.offset})"

    def _declare_fragments(self) -> Iterator[str]:
        """Declare the arrays of fragments, and the words beside them."""
        for size in sorted({fragment.bytes for fragment in self._fragments.values()}):
            of_size = (f for f in self._fragments.values() if f.bytes == size)
            count = max(f.offset + f.registers for f in of_size)
            yield f"{unsigned(size)} W{8 * size}[{count}]{{}};"
            if self.is_checked:
                yield f"u64 u_W{8 * size}[{count}]{{}};"

    def _kind_in_buffer(self, item: Operand, kind: str) -> str:
        """Return the type of an element: that of a float for its bits."""
        register = self.register(item.name) if isinstance(item, Register) else None
        is_float = register is not None and register.type == _FLOATS.get(kind)
        return _FLOATS[kind] if is_float else kind

    def buffer(self, name: str, kind: str, size: int) -> tuple[str, str]:
        """Return an array for a vector operand, and the same as an array of that size.

        Others of its name and type use it, too: compilers take long if each vector of a long
        function has an array of its own.
        """
        buffer = f"{name}_{kind}"
        self._buffers[buffer] = kind, max(size, 1, self._buffers.get(buffer, (kind, 0))[1])
        return buffer, f"first<{max(size, 1)}>({buffer})"

    def bind_meeting(self, meeting: Meeting) -> tuple[dict[str, str], dict[str, str], str]:
        """Return what threads give at a meeting, what of it all give alike, and the results."""
        fields = self._fields() | {"met": "met"}
        targets: list[tuple[Operand | None, str]] = []
        fixed: dict[str, str] = {}
        for form_of, operand in self.op.pairs():
            kind = self.op.row.kinds[form_of.name]
            if form_of.is_result:
                targets.append((operand, kind))
            elif operand is not None:
                self._require_lanes(operand)
                fields[form_of.name] = self.value(operand, kind)
                if isinstance(operand, Immediate) and (
                    form_of.name != meeting.mask or operand.value
                ):
                    fixed[form_of.name] = fields[form_of.name]
        results = " ".join(
            self.assign(operand, result.format_map(fields), kind)
            for result, (operand, kind) in zip(meeting.results, targets, strict=True)
            if operand not in {None, Register("_")}
        )
        return fields, fixed, results

    def meet(self, meeting: Meeting) -> str:
        """Return the statements with which a fiber does something together with others."""
        fields, _, results = self.bind_meeting(meeting)
        made = meeting.made.format_map(fields)
        given = f"met, {fields[meeting.mask]}, me" if meeting.mask else "met"
        return f"{{ auto met = {made}; meet({given}, {self.site()}); {results} }}"

    # Undefined values

    def _with_steps(self, statement: str) -> tuple[str, str, str]:
        """Return a statement with its steps, and what stands before and behind its guard."""
        words, steps = self.words, self._steps()
        inside = "".join((*map(words.step, steps.before), statement, *map(words.step, steps.after)))
        outside, behind = ("".join(map(words.step, s)) for s in (steps.outside, steps.behind))
        return inside, outside, behind

    def _steps(self) -> undefined.Steps:
        steps = self._followed.steps if self._followed is not None else {}
        return steps[id(self.op)]

    def passed_words(self, address: Address, more: int) -> str:
        """Return what gives arguments for an offset from an address, among parameters."""
        base = address.base
        if not isinstance(base, Register) or base.name not in self._passed:
            return ""
        return f"{self._passed[base.name]}, {base.offset + more}"

    # Section 9.7.9: moves, loads, stores, conversions of addresses

    def move(self) -> str:
        """Return the statements of mov, which packs and unpacks vectors, too."""
        target, source = self.operands(2, 2)
        kind = type_of_value(self.op.row.fields["TYPE"])
        if isinstance(target, Vector):
            part = self._part(kind, target)
            steps = [f"const {kind} x = {self.value(source, kind)};"]
            for i, item in enumerate(target.items):
                shift = f" >> {8 * i * TYPE_BYTES[part]}" if i else ""
                steps.append(self.assign(item, f"({part})(x{shift})", part))
            return f"{{ {' '.join(steps)} }}"
        if isinstance(source, Vector):
            part = self._part(kind, source)
            values = [f"({kind}){self.value(item, part)}" for item in source.items]
            shifted = [f"({value} << {8 * i * TYPE_BYTES[part]})" for i, value in enumerate(values)]
            return self.assign(target, " | ".join(shifted), kind)
        if isinstance(target, Register) and isinstance(source, Register) and not source.offset:
            to, origin = self.register(target.name), self.register(source.name)
            if to and origin and to.type == origin.type and not source.negated:
                return f"{to.name} = {origin.name};"  # nothing looks at the bits
        return self.assign(target, self.value(source, kind), kind)

    def _part(self, kind: str, vector: Vector) -> str:
        """Return the C++ type of the parts that make up a word."""
        count = len(vector.items)
        if not count or TYPE_BYTES[kind] % count or not is_integer(kind):
            self.refuse(f"{self.op.row.name} with a vector of {count}")
        return unsigned(TYPE_BYTES[kind] // count)

    def _require_vector(self, operand: Operand) -> None:
        """Refuse a vector of another length than the name tells; one value may have braces."""
        row = self.op.row
        lanes, element = row.lanes, TYPE_BYTES[row.fields["TYPE"]]
        if self.op.instruction.pairs:
            self.refuse(f"{row.name} with two results")
        size = lanes * element
        is_wide = size == _WIDE and element in {4, 8} and self.space in {"", "global"}
        if size > _VECTOR and not is_wide:
            self.refuse(f"{row.name} of {size} bytes")
        if "L2_EVICT" in row.fields and size != _WIDE:
            self.refuse(f"{row.name}, which must be of {_WIDE} bytes")
        self.require_lanes(operand, *([lanes] if lanes else [0, 1]))

    @property
    def _is_passing(self) -> bool:
        """Whether it loads or stores a parameter, which nobody checks."""
        return self.op.form.undefined == "pass"

    def load(self) -> str:
        """Return the statements of ld; of ldu and ld.global.nc, too. Hints have no effect."""
        target, address, *_ = self.operands(2, 4)
        kind = type_of_value(self.op.row.fields["TYPE"])
        self._require_vector(target)
        is_ordered = "yields" in self.op.form.effects
        if not is_ordered and (self._is_passing or not self.is_checked):
            return self._load_from(target, address, kind)
        pointer = self.pointer(address, self.space)
        asked = f"polled<{kind}>" if is_ordered else "ck_sim_read"
        read = "load_ordered" if is_ordered else "load"
        if not isinstance(target, Vector):
            return self.assign(target, f"{read}<{kind}>({asked}({pointer}, {self.site()}))", kind)
        steps = [f"const char* const a = {asked}({pointer}, {self.site()});"]
        places = (f"{read}<{kind}>(a + {i * TYPE_BYTES[kind]})" for i in range(len(target.items)))
        steps += [self.assign(*pair, kind) for pair in zip(target.items, places, strict=True)]
        return f"{{ {' '.join(steps)} }}"

    def _load_from(self, target: Operand, address: Operand, kind: str) -> str:
        """Return the statements that load without asking anybody."""
        pointer = self.pointer(address, self.space, f"const {kind}")
        is_float = kind[0] == "f"
        loaded = "" if self._is_passing or kind == "b128" else "loaded"
        loaded += "_float" if loaded and is_float else ""
        if not isinstance(target, Vector):
            return self._load_one(target, f"*{pointer}", kind, loaded)
        steps = [
            self._load_one(item, f"a[{i}]", kind, loaded) for i, item in enumerate(target.items)
        ]
        return f"{{ const {kind}* const a = {pointer}; {' '.join(steps)} }}"

    def _load_one(self, target: Operand, place: str, kind: str, loaded: str) -> str:
        register = self.register(target.name) if isinstance(target, Register) else None
        if not loaded:
            return self.assign(target, place, kind)
        if register is not None and register.type == kind:
            return f"{register.name} = {place}; {loaded}({register.name})"
        return f"{{ {kind} x = {place}; {loaded}(x) {self.assign(target, 'x', kind)} }}"

    def store(self) -> str:
        """Return the statements of st."""
        address, source, *_ = self.operands(2, 3)
        kind = type_of_value(self.op.row.fields["TYPE"])
        self._require_vector(source)
        items = source.items if isinstance(source, Vector) else (source,)
        values = [self.value(item, kind) for item in items]
        is_ordered = "tells" in self.op.form.effects
        if is_ordered or (self.is_checked and not self._is_passing):
            pointer = self.pointer(address, self.space)
            return self._put("put_ordered" if is_ordered else "put", kind, pointer, values)
        pointer = self.pointer(address, self.space, kind)
        if len(values) == 1:
            return f"*{pointer} = {values[0]};"
        puts = (f"a[{i}] = {value};" for i, value in enumerate(values))
        return f"{{ {kind}* const a = {pointer}; {' '.join(puts)} }}"

    def _put(self, put: str, kind: str, pointer: str, values: Sequence[str]) -> str:
        stored = values[0] if len(values) == 1 else f"{{{', '.join(values)}}}"
        call = f"{put}<{kind}>({pointer}, {stored}, {self.site()}"
        words = self._steps().stored if self.is_checked else ()
        if not words:
            return f"{call});"
        if len(words) == 1:
            return f"{call}, {self.words.show(words[0])});"
        listed = ", ".join(map(self.words.show, words))
        variables = dict.fromkeys(variable for word in words for variable in word.variables)
        undefined = f"{call}, Undefined<{len(words)}>{{{{{listed}}}}});"
        return f"if ({self.words.any_of(variables)}) {{ {undefined} }} else {{ {call}); }}"

    def convert_address(self) -> str:
        """Return the statement of cvta. All addresses but those of shared memory are generic."""
        target, source = self.operands(2, 2)
        value = self.value(source, self.op.row.fields["TYPE"])
        is_shared = self.space.startswith("shared")
        if "to" in self.op.row.words:
            value = f"(u32)({value} - (u64)window)" if is_shared else value
            return self.assign(target, value, self.op.row.fields["TYPE"])
        value = f"((u32)({value}) + (u64)window)" if is_shared else value
        return self.assign(target, value, "u64")

    def convert_cluster_address(self) -> str:
        """Return the statement of cvta for the shared memory of a cluster."""
        target, source = self.operands(2, 2)
        kind = self.op.row.fields["TYPE"]
        value = self.value(source, kind)
        if "to" in self.op.row.words:
            return self.assign(target, f"to_cluster_address(me, (char*){value})", kind)
        return self.assign(target, f"(u64)cluster_address(me, (u32)({value}))", "u64")

    # Section 9.7.12: branches and calls

    def _turn(self) -> str:
        """Return what is to be done before a branch: counting, if it goes round a loop."""
        return f"turn(turns, {self.site()}); " if id(self.op) in self._turns else ""

    def branch(self) -> str:
        """Return the statements of bra."""
        (target,) = self.operands(1, 1)
        label = self.label(target.name if isinstance(target, Register) else "")
        return f"{self._turn()}goto {label};"

    def branch_by_table(self) -> str:
        """Return the statements of brx.idx."""
        index, name = self.operands(2, 2)
        if not isinstance(name, Register) or name.name not in self.body.tables:
            self.refuse(f"{self.op.row.name} without a table")
        labels = map(self.label, self.op.targets)
        cases = " ".join(f"case {i}: goto {label};" for i, label in enumerate(labels))
        requirement = '"the index of a branch table must be one of its own"'
        stop = f'ck_sim_stop("trap", {requirement}, {self.site()});'
        value = self.value(index, "u32")
        return f"{self._turn()}switch ({value}) {{ {cases} default: {stop} }}"

    def leave_function(self) -> str:
        """Return the statements of ret."""
        return self.returning()

    def exit_thread(self) -> str:
        """Return the statements of exit."""
        return self.returning() if self.body.function.is_entry else "ck_sim_exit();"

    def call(self) -> str:
        """Return the statements of call. Arguments and results are pointers."""
        results: tuple[Operand, ...] = ()
        arguments: tuple[Operand, ...] = ()
        operands = self.op.operands
        if operands and isinstance(operands[0], Vector):
            results, operands = operands[0].items, operands[1:]
        callee, operands = operands[0] if operands else None, operands[1:]
        if not isinstance(callee, Register):
            self.refuse(f"{self.op.row.name} without a function")
        if operands and isinstance(operands[0], Vector):
            arguments = operands[0].items
        function = self._function(callee, operands[-1:])
        if (len(results), len(arguments)) != (len(function.results), len(function.parameters)):
            self.refuse(f"{self.op.row.name} of {callee.name} with other arguments than it has")
        before: list[str] = []
        after: list[str] = []
        pointers = []
        passed = (("y", function.results, results), ("z", function.parameters, arguments))
        for letter, variables, values in passed:
            for i, (variable, operand) in enumerate(zip(variables, values, strict=True)):
                if isinstance(operand, Register) and operand.name in self.memory_names:
                    pointers.append(self.memory_names[operand.name])
                    continue
                name, kind = f"{letter}{i}", type_of_register(variable.type)
                pointers.append(f"(char*)&{name}")
                if letter == "y":
                    before.append(f"{kind} {name};")
                    after.append(self.assign(operand, name, kind))
                else:
                    before.append(f"{kind} {name} = {self.value(operand, kind)};")
        call = self._print_call(callee, function, pointers)
        if self.is_checked:
            before.append(f"const Call called(me, {self.op.instruction.line});")
        return f"{{ {' '.join((*before, call, *after))} }}"

    def _function(self, callee: Register, more: Sequence[Operand]) -> Function:
        """Return what is called, or what an indirect call says of it: a prototype, or the first."""
        name = self.op.row.name
        if callee.name not in self.body.registers:
            function = self.scope.declared(callee.name)
            if function is None or function.is_entry:
                self.refuse(f"a call of {callee.name}, which is no function that is declared")
            return function
        key = more[0].name if more and isinstance(more[0], Register) else ""
        named = self.body.tables.get(key)
        if named is None:
            self.refuse(f"{name} by an address without a prototype")
        function = named.prototype or self.scope.declared(named.labels[0])
        if function is None:
            self.refuse(f"a call of {named.labels[0]}, which is not declared")
        return function

    def _print_call(self, callee: Register, function: Function, pointers: list[str]) -> str:
        arguments = "".join(f", {pointer}" for pointer in pointers)
        if callee.name in self.body.registers:
            kinds = ", char*" * len(pointers)
            target = f"callable({self.value(callee, 'u64')}, {self.site()})"
            return f"((void (*)(CK_CONTEXT_TYPES{kinds})){target})(CK_CONTEXT_VALUES{arguments});"
        if function.body is None and function.name in BUILTINS:
            site = self.site(BUILTINS[function.name])
            return f"call_{function.name.strip('_')}({site}{arguments});"
        if function.body is None:
            self.refuse(f"a call of {callee.name}, which the module does not define")
        self.scope.called.add(function.name)
        return f"{self.scope.functions[callee.name]}(CK_CONTEXT_VALUES{arguments});"


def _distance(bytes_: int, kind: str) -> str:
    return str(bytes_) if bytes_ <= _MOST_INT else f"({kind}){bytes_ % 2**64}ull"


def _cast(pointer: str, kind: str) -> str:
    return pointer if kind == "char" else f"(({kind}*){pointer})"


#: What rows leave to the printer, by the names that they call it. There are no caches, so nothing
#: is done for them.
_WRITERS: dict[str, Callable[[Printer], str]] = {
    writer.__name__: writer
    for writer in (
        *(Printer.move, Printer.load, Printer.store),
        *(Printer.convert_address, Printer.convert_cluster_address),
        *(Printer.branch, Printer.branch_by_table, Printer.call),
        *(Printer.leave_function, Printer.exit_thread),
    )
} | {"nothing": lambda _: ""}
WRITERS = frozenset(_WRITERS)
