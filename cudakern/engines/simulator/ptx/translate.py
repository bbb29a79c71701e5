"""PTX modules to C++: a variable for each register, a label for each label, a statement for each
instruction.

The C++ runs on the simulator's runtime; the table of instructions says what each of them is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count, repeat
from math import prod
from typing import TYPE_CHECKING

from cudakern.engines.simulator.host_kernel import ParameterKind
from cudakern.engines.simulator.ptx.forms import BYTES, type_of
from cudakern.engines.simulator.ptx.instructions import table
from cudakern.engines.simulator.ptx.instructions.special import special_register
from cudakern.engines.simulator.ptx.parse import (
    Address,
    Immediate,
    Instruction,
    Label,
    Register,
    Targets,
    Variable,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cudakern.engines.simulator.ptx.forms import Found, OperandForm
    from cudakern.engines.simulator.ptx.parse import Function, Module, Operand, Statement

_SPACES = {"global", "shared", "const", "local", "param"}
_ORDERED = {"volatile", "relaxed", "acquire", "release", "mmio"}
_UNSAFE = re.compile(r"\W")
_MIN_DYNAMIC_ALIGNMENT = 16
_POINTER_BYTES = 8
#: What NVRTC's code calls without defining it, and what the runtime calls that.
_BUILTINS = {
    name: f"call_{name.strip('_')}"
    for name in ("vprintf", "__assertfail", "malloc", "free", "memcpy", "memset")
}


class UnsupportedError(Exception):
    """A function has what the simulator does not execute."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel of a translated module.

    Attributes
    ----------
    name : str
        Its symbol.
    number : int
        Its place in the library's table; -1 if it has what the simulator does not execute.
    problem : str
        What that is, else empty.
    """

    name: str
    number: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Translation:
    """A module in C++."""

    text: str
    entries: tuple[Entry, ...]


def translate(module: Module, source: str) -> Translation:
    """Return a module in C++.

    Parameters
    ----------
    module : Module
        From `parse`.
    source : str
        What errors name where the PTX tells no file.

    Raises
    ------
    KernelCompileError
        A variable's initial value is none.
    """
    return _Translator(module, source).translation()


def _register_type(kind: str) -> str:
    """Return the C++ type of a register's declaration."""
    if kind in {"f32", "f64", "pred"}:
        return kind
    return "b128" if kind == "b128" else f"u{8 * BYTES[kind]}"


def _type(kind: str) -> str:
    """Return the C++ type of a value of a PTX type."""
    if kind[0] == "b" and kind[1:].isdigit():
        return "b128" if kind == "b128" else f"u{kind[1:]}"
    return kind if kind in _NAMED else f"u{8 * BYTES[kind]}"


_NAMED = {
    *(f"{kind}{size}" for kind in "us" for size in (8, 16, 32, 64)),
    *("f32", "f64", "pred", "f16", "bf16", "f16x2", "bf16x2"),
}
_STRUCTURES = {"f16", "bf16", "f16x2", "bf16x2"}
_FLOATS = {"f32", "f64"}


def _is_integer(kind: str) -> bool:
    return kind[0] in "us" or kind == "b128"


def _bytes(cpp: str) -> int:
    return BYTES[cpp]


def convert(value: str, given: str, wanted: str) -> str:
    """Return a C++ value of one type as one of another: the same bits, extended or cut."""
    if given == wanted:
        return value
    if "pred" in {given, wanted}:
        return f"({wanted})({value})" if wanted != "pred" else f"(({value}) != 0)"
    if _is_integer(given) and _is_integer(wanted):
        return f"({wanted})({value})"
    if _is_integer(wanted):  # from a float or structure
        bits = f"u{8 * _bytes(given)}"
        made = f"({value}).bits" if given in _STRUCTURES else f"bit_cast<{bits}>({value})"
        return made if bits == wanted else f"({wanted})({made})"
    bits = f"u{8 * _bytes(wanted)}"
    made = value if given == bits else convert(value, given, bits)
    return f"{wanted}{{{made}}}" if wanted in _STRUCTURES else f"bit_cast<{wanted}>({made})"


def literal(value: Immediate, wanted: str) -> str:
    """Return a constant as C++ of a type."""
    bits = value.value
    if value.float_bytes and wanted in _FLOATS and value.float_bytes != _bytes(wanted):
        return f"({wanted}){literal(value, 'f32' if value.float_bytes == 4 else 'f64')}"  # noqa: PLR2004
    if wanted == "pred":
        return "true" if bits else "false"
    size = _bytes(wanted)
    word = bits % (1 << 8 * size)
    if wanted == "b128":
        return f"((b128){word >> 64:#x}u << 64 | {word % 2**64:#x}u)"
    text = f"{word:#x}u" if size < 8 else f"{word:#x}ull"  # noqa: PLR2004
    if _is_integer(wanted):
        return text if wanted == "u32" else f"({wanted}){text}"
    return convert(f"(u{8 * size}){text}", f"u{8 * size}", wanted)


class _Translator:
    """What the functions of a module share."""

    def __init__(self, module: Module, source: str) -> None:
        self.module = module
        self.source = source
        self.headers: set[str] = set()
        self.sites: list[str] = []
        self.variables: dict[str, str] = {}  # C++ names of global and constant ones
        self.functions: dict[str, str] = {}
        self.offsets: dict[str, int] = {}  # of shared variables that functions use
        self.shared_bytes = 0
        for i, name in enumerate(module.variables):
            if module.variables[name].space in {"global", "const"}:
                self.variables[name] = f"V{i}"
        for i, function in enumerate(module.functions.values()):
            self.functions[function.name] = f"F{i}"
        for alias, name in module.aliases.items():
            self.functions[alias] = self.functions.get(name, alias)
        self._place_common()

    def _place_common(self) -> None:
        """Lay out what functions use of shared memory: at the same place for all entries."""
        for function in self.module.functions.values():
            if not function.is_entry and function.body is not None:
                self.offsets, self.shared_bytes, *_ = self.layout(function)

    def layout(self, function: Function) -> tuple[dict[str, int], int, int, int]:
        """Return the shared variables of a function by name, their end, and dynamic memory's start
        and alignment.
        """
        offsets, end, alignment = dict(self.offsets), self.shared_bytes, _MIN_DYNAMIC_ALIGNMENT
        dynamic: list[str] = []
        shared = {n: v for n, v in self.module.variables.items() if v.space == "shared"}
        names = [name for name in _names(function.body or ()) if name in shared]
        local = [s for s in function.body or () if isinstance(s, Variable) and s.space == "shared"]
        for variable in [*(shared[name] for name in dict.fromkeys(names)), *local]:
            if variable.name in offsets:
                continue
            if variable.linkage == "extern" or not variable.size:
                dynamic.append(variable.name)
                alignment = max(alignment, variable.alignment)
                continue
            end = -(-end // variable.alignment) * variable.alignment
            offsets[variable.name] = end
            end += variable.size
        start = -(-end // alignment) * alignment
        if function.is_entry:
            offsets.update(dict.fromkeys(dynamic, start))
        return offsets, end, start, alignment

    def site(self, instruction: Instruction) -> str:
        """Return a pointer to where an instruction is."""
        file, line = instruction.place or (self.source, instruction.line)
        self.sites.append(f'{{"{_escaped(file)}", {line}, "{instruction.name}"}}')
        return f"&S[{len(self.sites) - 1}]"

    def translation(self) -> Translation:
        """Return the module in C++."""
        bodies: dict[str, str] = {}
        problems: dict[str, str] = {}
        calls: dict[str, set[str]] = {}
        shared: dict[str, tuple[int, int, int]] = {}
        for name, function in self.module.functions.items():
            if function.body is None:
                continue
            body = _Body(self, function)
            try:
                bodies[name] = body.text()
            except UnsupportedError as error:
                problems[name] = str(error)
            calls[name] = body.calls
            shared[name] = (body.dynamic_start, body.dynamic_alignment, body.local_bytes)
        entries = []
        for name, function in self.module.functions.items():
            if function.is_entry and function.body is not None:
                problem = _problem(name, problems, calls)
                number = -1 if problem else sum(entry.number >= 0 for entry in entries)
                entries.append(Entry(name, number, problem))
        kept = {
            name: text
            for name, text in bodies.items()
            if not self.module.functions[name].is_entry
            or any(entry.name == name and entry.number >= 0 for entry in entries)
        }
        parts = [
            *(f'#include "{header}"' for header in ("ptx.hpp", *sorted(self.headers))),
            "using namespace ck_ptx;",
            *self._variables(),
            *self._declarations(set(problems)),
            f"static const ck_sim::Site S[] = {{{', '.join(self.sites) or '{}'}}};",
            *kept.values(),
            *self._exports([e.name for e in entries if e.number >= 0], shared),
            *self._refusals(e for e in entries if e.number < 0),
        ]
        return Translation("\n".join(parts) + "\n", tuple(entries))

    def signature(self, function: Function) -> str:
        """Return the head of a function in C++: results and parameters are places in memory."""
        names = [f"R{i}" for i in range(len(function.results))]
        names += [f"P{i}" for i in range(len(function.parameters))]
        places = "".join(f", char* {name}" for name in names)
        return f"static void {self.functions[function.name]}(CK_CONTEXT{places})"

    def _declarations(self, problems: set[str]) -> Iterator[str]:
        for name, function in self.module.functions.items():
            if function.is_entry or (function.body is None and name in _BUILTINS):
                continue
            if function.body is None or name in problems:
                site = f'{{"{_escaped(self.source)}", {function.line}, "call"}}'
                yield (
                    f"{self.signature(function)} {{ static const ck_sim::Site site = {site}; "
                    f'ck_sim_stop("trap", "the function {_escaped(name)} must be one that the '
                    f'simulator executes", &site); }}'
                )
            else:
                yield f"{self.signature(function)};"

    def _variables(self) -> Iterator[str]:
        addresses: list[str] = []
        for name, cpp in self.variables.items():
            variable = self.module.variables[name]
            content = bytearray()
            unit = BYTES[variable.type]
            for item in variable.initial:
                if isinstance(item, Immediate):
                    word = item.value
                    if item.float_bytes and item.float_bytes != unit:
                        word = _as_float(item, unit)
                    content += (word % (1 << 8 * unit)).to_bytes(unit, "little")
                elif isinstance(item, Register):
                    value = f"{self._address(item.name)} + {item.offset}"
                    addresses.append(f"store<u{8 * unit}>((char*){cpp} + {len(content)}, {value});")
                    content += bytes(unit)
            size = max(variable.size, 1)
            words = ", ".join(map(str, content.rstrip(b"\0")))
            yield f"alignas({variable.alignment}) static char {cpp}[{size}] = {{{words}}};".replace(
                "static char", "static unsigned char"
            )
        if addresses:
            made = "\n".join(addresses)
            yield from ()
            self.late = f"__attribute__((constructor)) static void initialise() {{\n{made}\n}}"
        else:
            self.late = ""

    def _address(self, name: str) -> str:
        if name in self.variables:
            return f"(u64){self.variables[name]}"
        if name in self.functions:
            return f"(u64)&{self.functions[name]}"
        return f"{self.offsets.get(name, 0)}ull"

    def _exports(
        self, names: list[str], shared: dict[str, tuple[int, int, int]]
    ) -> Iterator[str]:
        yield self.late
        kernels = []
        for i, name in enumerate(names):
            function = self.module.functions[name]
            told = [*(p.size for p in function.parameters), *map(_kind, function.parameters)]
            sizes = ", ".join(map(str, told)) or "0"
            yield f"static const uint32_t sizes_{i}[] = {{{sizes}}};"
            of = function.directives
            required, cluster = _triple(of.get("reqntid")), _triple(of.get("reqnctapercluster"))
            start, alignment, local = shared[name]
            kernels.append(
                f'{{"{name}", {self.functions[name]}, {len(function.parameters)}, sizes_{i}, '
                f"{start}, {alignment}, {{{required}}}, {prod(of.get('maxntid', (0,)))}, "
                f"{{{cluster}}}, {local}}}"
            )
        # One more than there are: C++ has no empty arrays.
        listed = ", ".join((*kernels, "{}"))
        yield f"CK_SIM_EXPORT const ck_sim_kernel ck_sim_kernels[] = {{{listed}}};"
        yield f"CK_SIM_EXPORT const uint32_t ck_sim_kernel_count = {len(names)};"
        known = []
        for name, cpp in self.variables.items():
            variable = self.module.variables[name]
            known.append(f'{{"{name}", {cpp}, {variable.size}, {int(variable.space == "const")}}}')
        listed = ", ".join((*known, "{}"))
        yield f"CK_SIM_EXPORT const ck_sim_variable ck_sim_variables[] = {{{listed}}};"
        yield f"CK_SIM_EXPORT const uint32_t ck_sim_variable_count = {len(known)};"

    @staticmethod
    def _refusals(entries: Iterator[Entry]) -> Iterator[str]:
        refused = [f'{{"{entry.name}", "{_escaped(entry.problem)}"}}' for entry in entries]
        listed = ", ".join((*refused, "{}"))
        yield f"CK_SIM_EXPORT const ck_sim_refusal ck_sim_refusals[] = {{{listed}}};"
        yield f"CK_SIM_EXPORT const uint32_t ck_sim_refusal_count = {len(refused)};"


def _kind(parameter: Variable) -> int:
    """Return what can be told of a parameter, a `ParameterKind`."""
    sort, size = parameter.type[0], BYTES[parameter.type]
    if parameter.is_pointer:
        return ParameterKind.POINTER
    if sort not in "usf" or parameter.size != size:
        return ParameterKind.OTHER
    if sort == "f":
        return ParameterKind.FLOATING
    return ParameterKind.WORD if size == _POINTER_BYTES else ParameterKind.INTEGER


def _triple(extents: tuple[int, ...] | None) -> str:
    if not extents:
        return "0, 0, 0"
    return ", ".join(map(str, (*extents, 1, 1)[:3]))


def _as_float(value: Immediate, unit: int) -> int:
    import struct  # noqa: PLC0415

    given, wanted = ("<f", "<d") if unit == 8 else ("<d", "<f")  # noqa: PLR2004
    number = struct.unpack(given, value.value.to_bytes(value.float_bytes, "little"))[0]
    return int.from_bytes(struct.pack(wanted, number), "little")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _problem(name: str, problems: dict[str, str], calls: dict[str, set[str]]) -> str:
    """Return what keeps an entry from being executed: in itself or in a function that it calls."""
    seen, pending = {name}, [name]
    while pending:
        current = pending.pop()
        if current in problems:
            return problems[current]
        new = calls.get(current, set()) - seen
        seen |= new
        pending += new
    return ""


def _names(statements: tuple[Statement, ...] | list[Statement]) -> Iterator[str]:
    """Yield the names of all operands."""
    pending: list[Operand] = []
    for statement in statements:
        if isinstance(statement, Instruction):
            pending += statement.operands
            while pending:
                operand = pending.pop()
                if isinstance(operand, Vector):
                    pending += operand.items
                elif isinstance(operand, Address):
                    pending.append(operand.base)
                elif isinstance(operand, Register):
                    yield operand.name


def _spaces_of_addresses(instruction: Instruction) -> Iterator[str]:
    """Yield the state space of each address operand: those that are named, then the first again."""
    spaces = [word for word in instruction.words if word.partition("::")[0] in _SPACES]
    yield from spaces
    yield from repeat(spaces[0] if spaces else "")


class _Body:
    """One function."""

    def __init__(self, shared: _Translator, function: Function) -> None:
        self.shared = shared
        self.function = function
        self.table = table()
        self.ranges: dict[str, tuple[str, int]] = {}  # "%r" -> type, how many
        self.types: dict[str, str] = {}  # C++ type of each register that is used
        self.places: dict[str, str] = {}  # C++ names of local and parameter memory
        self.declarations: list[str] = []
        self.targets: dict[str, Targets] = {}
        self.calls: set[str] = set()
        self.labels: dict[str, str] = {}
        self.uses_carry = False
        self.fresh = count()
        self.offsets, _, self.dynamic_start, self.dynamic_alignment = shared.layout(function)
        self.local_bytes = 0
        self.special: dict[str, Callable[[Instruction], str]] = {
            "mov": self._mov,
            "ld": self._ld,
            "ldu": self._ld,
            "st": self._st,
            "cvta": self._cvta,
            "bra": self._bra,
            "brx": self._brx,
            "call": self._call,
            "ret": self._ret,
            "exit": self._exit,
            "prefetch": lambda _: "",
            "prefetchu": lambda _: "",
        }

    # The function as a whole

    def text(self) -> str:
        """Return the function in C++."""
        function = self.function
        statements = function.body or []
        results = [(r, f"R{i}") for i, r in enumerate(function.results)]
        parameters = [(p, f"P{i}") for i, p in enumerate(function.parameters)]
        self.returned: list[str] = []
        loaded: list[str] = []
        for variable, place in (*results, *parameters):
            if variable.space == "reg":
                self._declare(variable)
                kind = _register_type(variable.type)
                name = self._name(variable.name)
                if (variable, place) in results:
                    self.returned.append(f"store<{kind}>({place}, {name});")
                else:
                    loaded.append(f"{name} = load<{kind}>({place});")
            else:
                self.places[variable.name] = place
        for statement in statements:
            if isinstance(statement, Variable):
                self._declare(statement)
            elif isinstance(statement, Targets):
                self.targets[statement.name] = statement
            elif isinstance(statement, Label):
                self.labels[statement.name] = f"L{len(self.labels)}"
        lines = [self._statement(s) for s in statements if isinstance(s, Instruction | Label)]
        head = self.shared.signature(function)
        if function.is_entry:
            count_ = len(parameters)
            head = f"static void {self.shared.functions[function.name]}(void** parameters)"
            self.declarations += [
                "CK_ENTER;",
                *(f"char* const P{i} = (char*)parameters[{i}];" for i in range(count_)),
            ]
        if self.uses_carry:
            self.declarations.append("bool cc = false;")
        by_type: dict[str, list[str]] = {}
        for name, kind in self.types.items():
            by_type.setdefault(kind, []).append(self._name(name))
        registers = [f"{kind} {', '.join(names)};" for kind, names in by_type.items()]
        end = self._ret_text()
        body = "\n".join((*self.declarations, *registers, *loaded, *filter(None, lines), end))
        return f"{head} {{\n{body}\n}}"

    def _declare(self, variable: Variable) -> None:
        if variable.space == "reg":
            self.ranges[variable.name] = (_register_type(variable.type), variable.registers)
        elif variable.space in {"local", "param"}:
            name = f"M{len(self.places)}"
            self.places[variable.name] = name
            size = max(variable.size, 1)
            self.local_bytes += size
            self.declarations.append(f"alignas({max(variable.alignment, 8)}) char {name}[{size}];")
        elif variable.space in {"global", "const"}:
            self._refuse(f"variables in .{variable.space} inside of functions")

    def _refuse(self, what: str, instruction: Instruction | None = None) -> None:
        file, line = self.shared.source, self.function.line
        ptx = ""
        if instruction is not None:
            file, line = instruction.place or (file, instruction.line)
            ptx = f" (line {instruction.line} of the PTX)"
        message = f"{file}:{line}: error: the simulator does not execute {what}{ptx}"
        raise UnsupportedError(message)

    def _statement(self, statement: Instruction | Label) -> str:
        if isinstance(statement, Label):
            return f"{self.labels[statement.name]}:;"
        opcode = statement.name.partition(".")[0]
        emit = self.special.get(opcode)
        text = emit(statement) if emit is not None else self._row(statement)
        if statement.guard is not None and text:
            sign = "!" if statement.guard.negated else ""
            guard = self._value(Register(statement.guard.name), "pred", statement)
            return f"if ({sign}{guard}) {{ {text} }}"
        return text

    # Operands

    @staticmethod
    def _name(register: str) -> str:
        return "r_" + _UNSAFE.sub("_", register.lstrip("%"))

    def _type_of(self, register: str) -> str | None:
        """Return the C++ type of a register, or None for another name."""
        known = self.types.get(register)
        if known is not None:
            return known
        found = self.ranges.get(register)
        if found is None or found[1]:
            stem = register.rstrip("0123456789")
            found = self.ranges.get(stem) if stem != register else None
            if found is None or int(register[len(stem) :]) >= found[1]:
                return None
        self.types[register] = found[0]
        return found[0]

    def _value(self, operand: Operand, wanted: str, of: Instruction) -> str:
        """Return an operand as a C++ value of a type."""
        if isinstance(operand, Immediate):
            return literal(operand, wanted)
        if isinstance(operand, Register):
            kind = self._type_of(operand.name)
            if kind is not None:
                made = convert(self._name(operand.name), kind, wanted)
                return f"!{made}" if operand.negated else made
            given, value = self._named(operand, of)
            return convert(value, given, wanted)
        self._refuse(f"{of.name} with such an operand", of)
        raise AssertionError

    def _named(self, operand: Register, of: Instruction) -> tuple[str, str]:
        """Return the C++ type and value of a name that is no register: mostly an address."""
        name, offset = operand.name, operand.offset
        more = f" + ({offset})" if offset else ""
        if name[0] == "%":
            found = special_register(name)
            if found is not None:
                return found
        if name in self.offsets:
            return "u64", f"(u64){self.offsets[name] + offset}ull"
        if name in self.places:
            return "u64", f"((u64){self.places[name]}{more})"
        if name in self.shared.variables:
            return "u64", f"((u64){self.shared.variables[name]}{more})"
        if name in self.shared.functions:
            self.calls.add(name)
            return "u64", f"(u64)&{self.shared.functions[name]}"
        variable = self.shared.module.variables.get(name)
        if variable is not None and variable.space == "shared":
            return "u64", f"(u64)me->group->static_bytes{more}"
        self._refuse(f"{of.name} of {name}", of)
        raise AssertionError

    def _assign(self, operand: Operand, value: str, given: str, of: Instruction) -> str:
        """Return the statement that gives a register a value of a C++ type."""
        if not isinstance(operand, Register):
            self._refuse(f"{of.name} with such a result", of)
        if operand.name == "_":
            return f"(void)({value});"
        kind = self._type_of(operand.name)
        if kind is None:
            self._refuse(f"{of.name} to {operand.name}", of)
        return f"{self._name(operand.name)} = {convert(value, given, str(kind))};"

    def _pointer(self, operand: Operand, space: str, of: Instruction) -> str:
        """Return an address operand as a pointer of the host."""
        if not isinstance(operand, Address):
            self._refuse(f"{of.name} without an address", of)
        base = operand.base
        if isinstance(base, Register) and self._type_of(base.name) is None:
            given, value = self._named(base, of)
            if base.name in self.offsets or given != "u64" or "static_bytes" in value:
                return f"(window + (u32)({value}))"
            return f"((char*){value})"
        if isinstance(base, Register):
            kind = "u32" if space.startswith("shared") else "u64"
            value = self._value(Register(base.name), kind, of)
            if base.offset:
                value = f"({value} + ({kind})({base.offset}))"
        else:
            value = literal(base, "u64")
        if space in {"shared::cluster"}:
            return f"cluster_address(me, (u32){value})"
        if space.startswith("shared"):
            return f"(window + (u32){value})"
        return f"((char*){value})"

    # Rows of the table

    def _positions(self, instruction: Instruction, found: Found) -> Iterator[
        tuple[OperandForm, Operand | None]
    ]:
        """Pair the operands of the form with those of the instruction; None for one not given."""
        given = list(instruction.operands)
        pairs = instruction.pairs
        for position in found.form.operands:
            yield position[0], given.pop(0)
            for second in position[1:]:
                if pairs:
                    pairs -= 1
                    yield second, given.pop(0)
                else:
                    yield second, None

    def _row(self, instruction: Instruction) -> str:
        name = instruction.name
        positions = len(instruction.operands) - instruction.pairs
        predicates = [
            i - instruction.pairs
            for i, given in enumerate(instruction.operands)
            if i > instruction.pairs
            and isinstance(given, Register)
            and self._type_of(given.name) == "pred"
        ]
        found = self.table.find(name, positions, predicates)
        if found is None:
            self._refuse(f"the instruction {name}", instruction)
        assert found is not None  # noqa: S101  else refused
        self.shared.headers.add(found.header)
        if "cc" in instruction.words or instruction.words[0] in {"addc", "subc", "madc"}:
            self.uses_carry = True
        form = found.form
        is_expression = not form.code.endswith(";")
        results = {operand.name for operand in form.operands[0]} if form.operands else set()
        results &= {"d", "p", "q"}
        bindings = dict(found.fields)
        before: list[str] = []
        after: list[str] = []
        direct: tuple[Operand, str] | None = None
        spaces = _spaces_of_addresses(instruction)
        for operand, given in self._positions(instruction, found):
            kind = "u64" if operand.is_address else _type(type_of(operand, name, found.fields))
            if operand.is_address:
                bindings[operand.name] = self._pointer(given, next(spaces), instruction)  # type: ignore[arg-type]
            elif operand.name in results:
                if is_expression and not isinstance(given, Vector):
                    direct = (given, kind)  # type: ignore[assignment]
                    continue
                bindings[operand.name] = f"{operand.name}_"
                self._result(operand.name, kind, given, instruction, before, after)
            elif isinstance(given, Vector):
                values = ", ".join(self._value(item, kind, instruction) for item in given.items)
                before.append(f"{kind} {operand.name}_[] = {{{values}}};")
                bindings[operand.name] = f"{operand.name}_"
            else:
                bindings[operand.name] = f"({self._value(given, kind, instruction)})"  # type: ignore[arg-type]
        if "TYPE" in bindings:
            bindings["T"] = _type(bindings["TYPE"])
        if "{site}" in form.code:
            bindings["site"] = self.shared.site(instruction)
        code = form.code.format(**bindings)
        if direct is not None:
            return self._assign(direct[0], code, direct[1], instruction)
        if is_expression:
            code += ";"
        if not before and not after:
            return f"{{ {code} }}" if ";" in code[:-1] else code
        return f"{{ {' '.join((*before, code, *after))} }}"

    def _result(  # noqa: PLR0913
        self,
        name: str,
        kind: str,
        given: Operand | None,
        of: Instruction,
        before: list[str],
        after: list[str],
    ) -> None:
        """Declare a result of statements, and give it to its registers afterwards."""
        if isinstance(given, Vector):
            before.append(f"{kind} {name}_[{len(given.items)}];")
            after += [
                self._assign(item, f"{name}_[{i}]", kind, of) for i, item in enumerate(given.items)
            ]
            return
        before.append(f"{kind} {name}_;")
        if given is not None:
            after.append(self._assign(given, f"{name}_", kind, of))

    # Structural instructions

    def _mov(self, of: Instruction) -> str:
        kind = of.words[-1]
        target, source = of.operands
        cpp = _type(kind)
        if isinstance(target, Vector):
            part = _part(cpp, len(target.items))
            steps = [f"const {cpp} x = {self._value(source, cpp, of)};"]
            for i, item in enumerate(target.items):
                shift = f" >> {8 * i * _bytes(part)}" if i else ""
                steps.append(self._assign(item, f"({part})(x{shift})", part, of))
            return f"{{ {' '.join(steps)} }}"
        if isinstance(source, Vector):
            part = _part(cpp, len(source.items))
            pieces = [
                f"({cpp}){self._value(item, part, of)}" + (f" << {8 * i * _bytes(part)}" if i else "")
                for i, item in enumerate(source.items)
            ]
            return self._assign(target, " | ".join(f"({piece})" for piece in pieces), cpp, of)
        # A register keeps its own type: no bits are looked at.
        if isinstance(target, Register) and isinstance(source, Register):
            kinds = self._type_of(target.name), self._type_of(source.name)
            if kinds[0] is not None and kinds[0] == kinds[1] and not source.negated:
                return f"{self._name(target.name)} = {self._name(source.name)};"
        return self._assign(target, self._value(source, cpp, of), cpp, of)

    def _memory(self, of: Instruction) -> tuple[str, str, bool]:
        """Return the C++ type, state space, and whether the access is an ordered one."""
        words = of.words
        kind = words[-1]
        if kind not in BYTES:
            self._refuse(f"the instruction {of.name}", of)
        space = next((word for word in words if word.partition("::")[0] in _SPACES), "")
        return _type(kind), space, not _ORDERED.isdisjoint(words)

    def _ld(self, of: Instruction) -> str:
        kind, space, is_ordered = self._memory(of)
        if len(of.operands) < 2 or "tensor" in of.words:  # noqa: PLR2004
            self._refuse(f"the instruction {of.name}", of)
        target, address = of.operands[:2]
        pointer = self._pointer(address, space, of)

        def value(place: str) -> str:
            if is_ordered:
                return f"load_ordered<{kind}>({place}, {self.shared.site(of)})"
            return f"load<{kind}>({place})"

        if not isinstance(target, Vector):
            return self._assign(target, value(pointer), kind, of)
        size = _bytes(kind)
        steps = [f"const char* const a = {pointer};"]
        for i, _ in enumerate(target.items):
            steps.append(f"const {kind} x{i} = {value(f'a + {i * size}')};")
        for i, item in enumerate(target.items):
            steps.append(self._assign(item, f"x{i}", kind, of))
        return f"{{ {' '.join(steps)} }}"

    def _st(self, of: Instruction) -> str:
        kind, space, is_ordered = self._memory(of)
        if len(of.operands) < 2 or "async" in of.words or "bulk" in of.words:  # noqa: PLR2004
            return self._row(of)
        address, source = of.operands[:2]
        pointer = self._pointer(address, space, of)

        def put(place: str, item: Operand) -> str:
            value = self._value(item, kind, of)
            if is_ordered:
                return f"store_ordered<{kind}>({place}, {value}, {self.shared.site(of)});"
            return f"store<{kind}>({place}, {value});"

        if not isinstance(source, Vector):
            return put(pointer, source)
        steps = [f"char* const a = {pointer};"]
        steps += [put(f"a + {i * _bytes(kind)}", item) for i, item in enumerate(source.items)]
        return f"{{ {' '.join(steps)} }}"

    def _cvta(self, of: Instruction) -> str:
        words = of.words
        kind = _type(words[-1])
        space = next(word for word in words if word.partition("::")[0] in _SPACES)
        value = self._value(of.operands[1], kind, of)
        if space == "shared::cluster":
            into = "to_cluster_address(me, (char*){})" if "to" in words else "(u64)cluster_address(me, {})"
            value = into.format(value)
        elif space.startswith("shared"):
            value = f"(u32)({value} - (u64)window)" if "to" in words else f"((u32){value} + (u64)window)"
        return self._assign(of.operands[0], value, "u64" if "to" not in words else kind, of)

    def _label(self, operand: Operand | str, of: Instruction) -> str:
        name = operand.name if isinstance(operand, Register) else str(operand)
        if name not in self.labels:
            self._refuse(f"a branch to {name}", of)
        return self.labels[name]

    def _bra(self, of: Instruction) -> str:
        return f"goto {self._label(of.operands[0], of)};"

    def _brx(self, of: Instruction) -> str:
        index, name = of.operands
        labels = self.targets[name.name].labels if isinstance(name, Register) else ()
        cases = " ".join(f"case {i}: goto {self._label(l, of)};" for i, l in enumerate(labels))
        stop = f'ck_sim_stop("trap", "a branch table must have the index", {self.shared.site(of)});'
        return f"switch ({self._value(index, 'u32', of)}) {{ {cases} default: {stop} }}"

    def _ret_text(self) -> str:
        return " ".join((*self.returned, "return;"))

    def _ret(self, _: Instruction) -> str:
        return self._ret_text()

    def _exit(self, _: Instruction) -> str:
        return "return;" if self.function.is_entry else "ck_sim_exit();"

    def _call(self, of: Instruction) -> str:
        operands = list(of.operands)
        results: list[Operand] = []
        if isinstance(operands[0], Vector):
            results = list(operands.pop(0).items)  # type: ignore[union-attr]
        callee = operands.pop(0)
        arguments: list[Operand] = []
        if operands and isinstance(operands[0], Vector):
            arguments = list(operands.pop(0).items)  # type: ignore[union-attr]
        if not isinstance(callee, Register):
            self._refuse("a call of a constant", of)
            raise AssertionError
        before: list[str] = []
        after: list[str] = []
        function = self.shared.module.functions.get(
            self.shared.module.aliases.get(callee.name, callee.name)
        )
        places = [self._result_place(r, i, function, of, before, after) for i, r in enumerate(results)]
        places += [self._argument_place(a, i, function, of, before) for i, a in enumerate(arguments)]
        given = "".join(f", {place}" for place in places)
        if self._type_of(callee.name) is not None:
            kinds = "".join(", char*" for _ in places)
            target = f"((void (*)(CK_CONTEXT_TYPES{kinds})){self._value(callee, 'u64', of)})"
            call = f"{target}(CK_CONTEXT_VALUES{given});"
        elif function is not None and function.body is None and callee.name in _BUILTINS:
            call = f"{_BUILTINS[callee.name]}({self.shared.site(of)}{given});"
        elif function is not None:
            self.calls.add(function.name)
            call = f"{self.shared.functions[callee.name]}(CK_CONTEXT_VALUES{given});"
        else:
            self._refuse(f"a call of {callee.name}", of)
        return f"{{ {' '.join((*before, call, *after))} }}"

    def _result_place(  # noqa: PLR0913
        self,
        operand: Operand,
        number: int,
        function: Function | None,
        of: Instruction,
        before: list[str],
        after: list[str],
    ) -> str:
        if isinstance(operand, Register) and operand.name in self.places:
            return self.places[operand.name]
        kind = _register_type(function.results[number].type) if function else "u64"
        before.append(f"{kind} y{number};")
        after.append(self._assign(operand, f"y{number}", kind, of))
        return f"(char*)&y{number}"

    def _argument_place(
        self,
        operand: Operand,
        number: int,
        function: Function | None,
        of: Instruction,
        before: list[str],
    ) -> str:
        if isinstance(operand, Register) and operand.name in self.places:
            return self.places[operand.name]
        kind = _register_type(function.parameters[number].type) if function else "u64"
        before.append(f"{kind} z{number} = {self._value(operand, kind, of)};")
        return f"(char*)&z{number}"


def _part(cpp: str, parts: int) -> str:
    size = _bytes(cpp) // parts
    return f"u{8 * size}"
