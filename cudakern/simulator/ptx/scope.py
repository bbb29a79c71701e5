"""What the functions of a PTX module use of it: names, sites, layout of shared memory.

Of shared memory, what functions use lies first, at the same offset for all entries; then comes what
the entry uses, then dynamic shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.contents import RED_ZONE
from cudakern.simulator.ptx.control_flow import counted_blocks
from cudakern.simulator.ptx.effects import BUILTINS
from cudakern.simulator.ptx.model import Declaration, Instruction
from cudakern.simulator.ptx.operations import names_in
from cudakern.simulator.ptx.values import shorten
from cudakern.values.layout import round_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cudakern.simulator.ptx.control_flow import CountedBlocks
    from cudakern.simulator.ptx.model import Function, Module

_MIN_DYNAMIC_ALIGNMENT = 16


@dataclass(slots=True)
class SharedLayout:
    """Where the shared variables of a function lie."""

    zone: int  # how much room there is around each, at least
    offsets: dict[str, int] = field(default_factory=dict)  # of those that the function names
    objects: tuple[tuple[str, int, int], ...] = ()  # name, offset, size of all that have an offset
    end: int = 0  # of the last one, and of the room after it
    packed: int = 0  # where the last one would end without any room
    alignment: int = _MIN_DYNAMIC_ALIGNMENT  # of dynamic shared memory
    dynamic_names: tuple[str, ...] = ()  # that the function has for it

    @property
    def dynamic(self) -> int:
        """Where dynamic shared memory starts."""
        return round_up(self.end, self.alignment)

    @property
    def bytes(self) -> int:
        """How much static shared memory a GPU needs."""
        return round_up(self.packed, self.alignment)

    def add(self, variable: Declaration) -> None:
        """Give a variable the next offset, and room after it."""
        start = round_up(self.end or self.zone, variable.alignment)
        self.offsets[variable.name] = start
        self.objects += ((variable.name, start, variable.size),)
        self.end = start + variable.size + (max(self.zone, variable.size) if self.zone else 0)
        self.packed = round_up(self.packed, variable.alignment) + variable.size


class Scope:
    """What the functions of a module use of it, and add to its C++."""

    def __init__(self, module: Module, source: str, *, checked: bool) -> None:
        self.module = module
        self.source = source
        self.checked = checked
        self.headers: set[str] = set()
        self.called: set[str] = set()
        self.addressed: set[str] = set()
        in_memory = [v for v in module.variables.values() if v.space in {"global", "const"}]
        self.variables = {variable.name: f"V{i}" for i, variable in enumerate(in_memory)}
        self.functions = {name: f"F{i}" for i, name in enumerate(module.functions)}
        for alias, name in module.aliases.items():
            self.functions[alias] = self.functions[name]
        functions = [*module.functions.values()] if checked else []
        self.blocks: Mapping[str, CountedBlocks] = counted_blocks(functions)
        self.sites: list[tuple[int, ...]] = []  # as ck_sim_fill_sites takes them
        self.texts: dict[str, int] = {"": 0}  # that sites have, with their offsets
        self._end = 1  # of the last text
        self._common = SharedLayout(RED_ZONE if checked else 0)
        self.layouts: dict[str, SharedLayout] = {}
        for function in sorted(module.functions.values(), key=lambda function: function.is_entry):
            self.layouts[function.name] = self._lay_out(function)

    def site(self, instruction: Instruction, access: int) -> str:
        """Return a pointer to where an instruction is, and what it does to memory."""
        file, line = instruction.source_line or (self.source, instruction.line)
        lines = instruction.source_lines
        stack = "\n".join(f"{file}:{number}" for file, number in lines) if len(lines) > 1 else ""
        column = instruction.column if self.checked else 0
        return self.add_site(file, line, instruction.name, stack, access, column)

    def add_site(
        self, file: str, line: int, opcode: str, stack: str = "", access: int = 0, column: int = 0
    ) -> str:
        """Return a pointer to a new site."""
        file_at, opcode_at, stack_at = map(self._offset, (file, opcode, stack))
        self.sites.append((file_at, line, opcode_at, stack_at, access, column))
        return f"&S[{len(self.sites) - 1}]"

    def _offset(self, text: str) -> int:
        """Return where a text begins, among those of sites."""
        known = self.texts.get(text)
        if known is None:
            known = self.texts[text] = self._end
            self._end += len(text.encode(errors="surrogatepass")) + 1
        return known

    def signature(self, function: Function) -> str:
        """Return the head of a function in C++: results and parameters are pointers."""
        name = self.functions[function.name]
        if function.is_entry:
            return f"static void {name}(void** parameters)"
        names = [f"R{i}" for i in range(len(function.results))]
        names += [f"P{i}" for i in range(len(function.parameters))]
        pointers = "".join(f", char* {name}" for name in names)
        return f"CK_FUNCTION void {name}(CK_CONTEXT{pointers})"

    def declared(self, name: str) -> Function | None:
        """Return a function of the module."""
        return self.module.functions.get(self.module.aliases.get(name, name))

    def describe_problem(self, function: Function, requirement: str, got: int) -> str:
        """Return the message that a function does not meet a requirement."""
        name = shorten(function.name)
        return f"{self.source}:{function.line}: error: {name} {requirement}; got {got}"

    def is_callable(self, name: str) -> bool:
        """Return whether a name is that of a function with an address."""
        return has_address(self.declared(name))

    def is_dynamic(self, name: str) -> bool:
        """Return whether a name is that of dynamic shared memory."""
        variable = self.module.variables.get(name)
        return variable is not None and _is_dynamic(variable)

    def _lay_out(self, function: Function) -> SharedLayout:
        """Lay out a function's shared variables; those of functions before those of all entries."""
        common = self._common
        layout = replace(common, offsets=dict(common.offsets))
        body = function.body or ()
        own = [statement for statement in body if isinstance(statement, Declaration)]
        hidden = {variable.name for variable in (*own, *function.parameters, *function.results)}
        known = self.module.variables
        instructions = (statement for statement in body if isinstance(statement, Instruction))
        names = dict.fromkeys(name for i in instructions for name in names_in(i.operands))
        outer = [known[name] for name in names if name in known and name not in hidden]
        for name in hidden:
            layout.offsets.pop(name, None)
        dynamic: list[str] = []
        for variable in (*outer, *own):
            if variable.space != "shared" or variable.name in layout.offsets:
                continue
            if _is_dynamic(variable):
                dynamic.append(variable.name)
                layout.alignment = max(layout.alignment, variable.alignment)
                continue
            layout.add(variable)
        layout.dynamic_names = (*dynamic,)
        if function.is_entry:
            layout.offsets.update(dict.fromkeys(dynamic, layout.dynamic))
        else:
            placed = {v.name: layout.offsets[v.name] for v in outer if v.name in layout.offsets}
            self._common = replace(layout, offsets={**common.offsets, **placed})
        return layout


def is_builtin(function: Function) -> bool:
    """Return whether a function is one that NVRTC's code calls without defining it."""
    return function.body is None and function.name in BUILTINS


def has_address(function: Function | None) -> bool:
    """Return whether there is a function that has an address, which entries and built ones lack."""
    return function is not None and not (function.is_entry or is_builtin(function))


def _is_dynamic(variable: Declaration) -> bool:
    return variable.space == "shared" and (variable.linkage == "extern" or not variable.size)
