"""PTX modules to C++: a variable for each register, a statement for each instruction.

The C++ runs on the simulator's runtime. Of shared memory, what functions use lies first, at the
same place for all entries; then comes what the entry uses, then dynamic shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, NoReturn

from cudakern.errors import KernelCompileError
from cudakern.simulator.headers import initializer
from cudakern.simulator.limits import MAX_STATIC_SHARED_BYTES
from cudakern.simulator.ptx import branches, moves
from cudakern.simulator.ptx.flow import blocks_of, names_in
from cudakern.simulator.ptx.function import FunctionText, RefusedError
from cudakern.simulator.ptx.instructions.moves_and_branches import BUILTINS
from cudakern.simulator.ptx.model import TYPE_BYTES, Declaration, Immediate, Instruction, Register
from cudakern.simulator.ptx.names import qualified
from cudakern.simulator.ptx.values import constant_word, quoted
from cudakern.simulator.structures import (
    InstructionStruct,
    KernelStruct,
    ParameterKind,
    RefusalStruct,
    SharedObjectStruct,
    SiteStruct,
    VariableStruct,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cudakern.simulator.ptx.flow import Blocks
    from cudakern.simulator.ptx.model import Function, Module

_MIN_DYNAMIC_ALIGNMENT = 16
_MAX_VARIABLE_BYTES = 1 << 30
_POINTER_BYTES = 8
#: Bytes around variables in checked launches, at least: to run over one is to be found.
_RED_ZONE = 128
#: Returns the address that an indirect call has, if it is that of a function.
_CALLABLE = "static u64 callable(u64 target, const ck_sim::Site* site)"
#: Stores addresses in variables: when the library is loaded, and when variables got other places.
_INITIALISE = "CK_SIM_EXPORT __attribute__((constructor)) void ck_sim_initialise()"


def translate(module: Module, source: str, *, checked: bool = False) -> str:
    """Return a module in C++; if it is checked, the checker is asked before each access to memory.

    Errors name ``source`` where the PTX tells no file. KernelCompileError tells that a variable or
    an alias is none that the simulator can have. What is wrong with an entry is told when that is
    asked for.
    """
    return _Translator(module, source, checked=checked).text()


@dataclass(slots=True)
class _Shared:
    """Where the shared variables of a function lie."""

    zone: int  # how much room there is around each, at least
    offsets: dict[str, int] = field(default_factory=dict)  # of those that the function names
    objects: tuple[tuple[str, int, int], ...] = ()  # name, offset, size of all that have a place
    end: int = 0  # of the last one, and of the room after it
    packed: int = 0  # where the last one would end without any room
    alignment: int = _MIN_DYNAMIC_ALIGNMENT  # of dynamic shared memory

    @property
    def dynamic(self) -> int:
        """Where dynamic shared memory starts."""
        return _aligned(self.end, self.alignment)

    @property
    def bytes(self) -> int:
        """How much static shared memory a GPU needs."""
        return _aligned(self.packed, self.alignment)

    def place(self, variable: Declaration) -> None:
        """Give a variable the next place, and room after it."""
        start = _aligned(self.end or self.zone, variable.alignment)
        self.offsets[variable.name] = start
        self.objects += ((variable.name, start, variable.size),)
        self.end = start + variable.size + (max(self.zone, variable.size) if self.zone else 0)
        self.packed = _aligned(self.packed, variable.alignment) + variable.size


class _Translator:
    """A module on its way to C++: the `Scope` of its functions."""

    def __init__(self, module: Module, source: str, *, checked: bool) -> None:
        self.module = module
        self.source = source
        self.checked = checked
        self.headers: set[str] = set()
        self.called: set[str] = set()
        self.addressed: set[str] = set()
        kept = [v for v in module.variables.values() if v.space in {"global", "const"}]
        self.variables = {variable.name: f"V{i}" for i, variable in enumerate(kept)}
        self.functions = {name: f"F{i}" for i, name in enumerate(module.functions)}
        for alias, name in module.aliases.items():
            if name not in module.functions:
                self._fail(f"the alias {alias} must be one of a function of the module", name)
            self.functions[alias] = self.functions[name]
        self.blocks: Mapping[str, Blocks] = blocks_of([*module.functions.values()])
        self._sites: list[str] = []
        self._common = _Shared(_RED_ZONE if checked else 0)
        self._layouts: dict[str, _Shared] = {}
        for function in sorted(module.functions.values(), key=lambda one: one.is_entry):
            self._layouts[function.name] = self._laid_out(function)

    # What functions ask for

    def site(self, instruction: Instruction, access: int, needed: int) -> str:
        """Return a pointer to where an instruction is, and what it does to memory."""
        file, line = instruction.place or (self.source, instruction.line)
        values: dict[str, object] = {}
        if self.checked:
            frames = [f"{place[0]}:{place[1]}" for place in instruction.places] or [
                f"{file}:{line}"
            ]
            stack = quoted("\n".join(frames))
            values = {"stack": stack, "access": f"{access:#x}", "needed": f"{needed:#x}"}
        self._sites.append(_site(file, line, instruction.name, **values))
        return f"&S[{len(self._sites) - 1}]"

    def signature(self, function: Function) -> str:
        """Return the head of a function in C++: results and parameters are places in memory."""
        name = self.functions[function.name]
        if function.is_entry:
            return f"static void {name}(void** parameters)"
        names = [f"R{i}" for i in range(len(function.results))]
        names += [f"P{i}" for i in range(len(function.parameters))]
        places = "".join(f", char* {one}" for one in names)
        return f"CK_FUNCTION void {name}(CK_CONTEXT{places})"

    def declared(self, name: str) -> Function | None:
        """Return a function of the module."""
        return self.module.functions.get(self.module.aliases.get(name, name))

    def told(self, function: Function, requirement: str, found: int) -> str:
        """Return what a function must be, and is not."""
        return f"{self.source}:{function.line}: error: {function.name} {requirement}; got {found}"

    def is_callable(self, name: str) -> bool:
        """Return whether a name is that of a function with an address."""
        function = self.declared(name)
        return function is not None and not (function.is_entry or _is_builtin(function))

    def is_dynamic(self, name: str) -> bool:
        """Return whether a name is that of dynamic shared memory."""
        variable = self.module.variables.get(name)
        return variable is not None and _is_dynamic(variable)

    # The module as a whole

    def text(self) -> str:
        """Return the module in C++."""
        texts: dict[str, str] = {}
        problems: dict[str, str] = {}
        calls: dict[str, set[str]] = {}
        kernels: dict[str, str] = {}
        tables: list[str] = []
        for name, function in self.module.functions.items():
            if function.body is None:
                continue
            shared = self._layouts[name]
            self.called = calls[name] = set()
            made = FunctionText(self, function, shared.offsets)
            try:
                texts[name] = made.text(moves.WRITERS | branches.WRITERS)
            except RefusedError as error:
                problems[name] = str(error)
            if shared.bytes > MAX_STATIC_SHARED_BYTES:
                most = f"{MAX_STATIC_SHARED_BYTES} bytes of static shared memory"
                requirement = f"must have at most {most}"
                problems[name] = self.told(function, requirement, shared.bytes)
            if function.is_entry:
                kernels[name] = self._described(function, shared, made.local_bytes)
                tables += self._tables(function, shared)
        refused = {name: _problem(name, problems, calls) for name in kernels}
        refused = {name: problem for name, problem in refused.items() if problem}
        bodies = [text for name, text in texts.items() if name not in refused]
        variables, addresses = self._placed_variables()
        parts = (
            *(
                f'#include "{header}"'
                for header in ("ptx.hpp", *sorted(self.headers - {"ptx.hpp"}))
            ),
            "using namespace ck_ptx;",
            *variables,
            f"{_CALLABLE};",
            *self._declarations(problems),
            f"static const ck_sim::Site S[] = {{{', '.join((*self._sites, '{}'))}}};",
            *bodies,
            self._callable(),
            *addresses,
            *tables,
            *_exported("kernel", [k for name, k in kernels.items() if name not in refused]),
            *_exported("variable", self._described_variables()),
            *_exported("instruction", self._described_instructions() if self.checked else []),
            *_exported("refusal", [_refusal(name, why) for name, why in refused.items()]),
        )
        return "\n".join(parts) + "\n"

    def _laid_out(self, function: Function) -> _Shared:
        """Place a function's shared variables; those of functions before those of all entries."""
        common = self._common
        made = replace(common, offsets=dict(common.offsets))
        body = function.body or ()
        own = [one for one in body if isinstance(one, Declaration)]
        hidden = {one.name for one in (*own, *function.parameters, *function.results)}
        known = self.module.variables
        given = (one.operands for one in body if isinstance(one, Instruction))
        names = dict.fromkeys(name for operands in given for name in names_in(operands))
        named = [known[name] for name in names if name in known]
        outer = [one for one in named if one.name not in hidden]
        for name in hidden:
            made.offsets.pop(name, None)
        dynamic = []
        for variable in (*outer, *own):
            if variable.space != "shared" or variable.name in made.offsets:
                continue
            if _is_dynamic(variable):
                dynamic.append(variable.name)
                made.alignment = max(made.alignment, variable.alignment)
                continue
            made.place(variable)
        if function.is_entry:
            made.offsets.update(dict.fromkeys(dynamic, made.dynamic))
        else:
            placed = {one.name: made.offsets[one.name] for one in outer if one.name in made.offsets}
            self._common = replace(made, offsets={**common.offsets, **placed})
        return made

    def _declarations(self, problems: Iterable[str]) -> Iterator[str]:
        for name, function in self.module.functions.items():
            if function.is_entry or _is_builtin(function) or name in self.module.aliases:
                continue
            head = self.signature(function)
            if function.body is not None and name not in problems:
                yield f"{head};"
                continue
            # It can still be reached, by its address.
            site = _site(self.source, function.line, "call")
            stop = quoted(f"the function {name} must be one that the simulator executes")
            yield (
                f"{head} {{ static const ck_sim::Site site = {site}; "
                f'ck_sim_stop("trap", {stop}, &site); }}'
            )

    def _placed_variables(self) -> tuple[list[str], list[str]]:
        """Return definitions of variables, and the function that stores addresses in them."""
        made: list[str] = []
        stores: list[str] = []
        for name, cpp in self.variables.items():
            variable = self.module.variables[name]
            unit = TYPE_BYTES[variable.type]
            if max(variable.size, variable.alignment) > _MAX_VARIABLE_BYTES:
                requirement = f"{name} must have at most {_MAX_VARIABLE_BYTES} bytes"
                self._fail(requirement, variable.size)
            content = bytearray()
            for item in variable.initial:
                word = 0
                if isinstance(item, Immediate):
                    word = constant_word(item, unit, as_float=variable.type in {"f32", "f64"})
                elif isinstance(item, Register):
                    place = f"{cpp} + {len(content)}"
                    address = f"{self._address(item.name, name)} + (u64)({item.offset})"
                    stores.append(f"store<u{8 * unit}>({place}, {address});")
                content += word.to_bytes(unit, "little")
            given = ", ".join(map(str, content.rstrip(b"\0")))
            size = max(variable.size, 1)
            made.append(
                f"alignas({variable.alignment}) static unsigned char {cpp}_data[{size + _RED_ZONE}]"
                f" = {{{given}}}; static char* {cpp} = (char*){cpp}_data;"
            )
        return made, [f"{_INITIALISE} {{", *stores, "}"]

    def _holding_functions(self) -> set[str]:
        """Return the variables whose values lead to functions, which are this library's own."""
        variables = self.module.variables
        names = {
            name: {one.name for one in variables[name].initial if isinstance(one, Register)}
            for name in self.variables
        }
        found = {name for name in names if names[name] - names.keys()}
        while more := {name for name in names.keys() - found if names[name] & found}:
            found |= more
        return found

    def _callable(self) -> str:
        """Return the function that indirect calls ask. Others' functions may be gone or differ."""
        known = " || ".join(f"target == (u64)&{self.functions[n]}" for n in sorted(self.addressed))
        told = quoted("an indirect call must be one of a function of the module")
        return (
            f"{_CALLABLE} {{ if (!({known or 'false'})) "
            f'{{ ck_sim_stop("misuse", {told}, site); }} return target; }}'
        )

    def _address(self, name: str, of: str) -> str:
        if name in self.variables:
            return f"(u64){self.variables[name]}"
        if not self.is_callable(name):
            self._fail(f"{of} must have addresses of variables in memory or of functions", name)
        self.addressed.add(name)
        return f"(u64)&{self.functions[name]}"

    def _fail(self, requirement: str, found: object) -> NoReturn:
        log = f"{self.source}: error: {requirement}; got {found}"
        raise KernelCompileError(self.source, (), log)

    # What the library tells about itself

    def _described(self, function: Function, shared: _Shared, local_bytes: int) -> str:
        """Return what the library tells about a kernel."""
        directives, name = function.directives, self.functions[function.name]
        return initializer(
            KernelStruct,
            name=quoted(function.name),
            entry=name,
            parameters=len(function.parameters),
            parameter_sizes=f"{name}_parameters",
            static_shared=shared.dynamic,
            shared_alignment=shared.alignment,
            required_block=_triple(directives.get("reqntid", ())),
            max_threads=prod(directives.get("maxntid", (0,))),
            cluster=_triple(directives.get("reqnctapercluster", ())),
            local_bytes=local_bytes,
            shared_objects=f"{name}_shared",
            shared_object_count=len(shared.objects),
            packed_shared=shared.bytes,
            basic_blocks=self.blocks[function.name].end if self.checked else 0,
        )

    def _tables(self, function: Function, shared: _Shared) -> Iterator[str]:
        """Yield a kernel's parameters, their sizes, then their kinds; and its shared variables."""
        name, parameters = self.functions[function.name], function.parameters
        told = [*(p.size for p in parameters), *(int(_kind(p)) for p in parameters), 0]
        yield f"static const uint32_t {name}_parameters[] = {{{', '.join(map(str, told))}}};"
        rows = (
            initializer(
                SharedObjectStruct,
                name=quoted(qualified(symbol).rpartition("::")[2]),
                offset=start,
                bytes=size,
            )
            for symbol, start, size in shared.objects
        )
        objects = ", ".join((*rows, "{}"))
        yield f"static const ck_sim_shared_object {name}_shared[] = {{{objects}}};"

    def _described_variables(self) -> list[str]:
        """Return what the library tells about each variable."""
        own = self._holding_functions()
        return [
            initializer(
                VariableStruct,
                name=quoted(name),
                place=f"&{cpp}",
                bytes=self.module.variables[name].size,
                is_constant=int(self.module.variables[name].space == "const"),
                has_addresses=int(name in own),
            )
            for name, cpp in self.variables.items()
        ]

    def _described_instructions(self) -> list[str]:
        """Return what the library tells about each instruction of each basic block."""
        return [
            initializer(
                InstructionStruct,
                kernel=quoted(name) if function.is_entry else 0,
                name=quoted(spelling),
                block=block,
                count=count,
            )
            for name, function in self.module.functions.items()
            for spelling, block, count in self.blocks[name].rows
        ]


def _site(file: str, line: int, opcode: str, **values: object) -> str:
    """Return the initializer of a site."""
    return initializer(SiteStruct, file=quoted(file), line=line, opcode=quoted(opcode), **values)


def _refusal(name: str, why: str) -> str:
    return initializer(RefusalStruct, name=quoted(name), message=quoted(why))


def _exported(what: str, members: list[str]) -> Iterator[str]:
    """Yield an exported table, with one row more than it has: C++ has no empty arrays."""
    rows = ", ".join((*members, "{}"))
    yield f"CK_SIM_EXPORT const ck_sim_{what} ck_sim_{what}s[] = {{{rows}}};"
    yield f"CK_SIM_EXPORT const uint32_t ck_sim_{what}_count = {len(members)};"


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _kind(parameter: Declaration) -> ParameterKind:
    """Return what can be told of a parameter."""
    sort, size = parameter.type[0], TYPE_BYTES[parameter.type]
    if parameter.is_pointer:
        return ParameterKind.POINTER
    if sort not in "usf" or parameter.size != size:
        return ParameterKind.OTHER
    if sort == "f":
        return ParameterKind.FLOATING
    return ParameterKind.WORD if size == _POINTER_BYTES else ParameterKind.INTEGER


def _is_builtin(function: Function) -> bool:
    return function.body is None and function.name in BUILTINS


def _is_dynamic(variable: Declaration) -> bool:
    return variable.space == "shared" and (variable.linkage == "extern" or not variable.size)


def _triple(extents: tuple[int, ...]) -> str:
    x, y, z = (*extents, 1, 1, 1)[:3] if extents else (0, 0, 0)
    return f"{{{x}, {y}, {z}}}"


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
