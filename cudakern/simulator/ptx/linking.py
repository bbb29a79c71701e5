"""What of a module belongs together: what an entry reaches, and what variables lead to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cudakern.errors import KernelCompileError
from cudakern.simulator.ptx.contents import Contents, Variable
from cudakern.simulator.ptx.effects import BUILTINS
from cudakern.simulator.ptx.model import (
    TYPE_BYTES,
    Immediate,
    Instruction,
    Register,
    Targets,
    Vector,
)
from cudakern.simulator.ptx.operations import names_in
from cudakern.simulator.ptx.values import constant_word, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cudakern.simulator.ptx.contents import StoredAddress
    from cudakern.simulator.ptx.model import Declaration, Function, Module

_MAX_VARIABLE_BYTES = 1 << 30


def contents_of(module: Module, source: str) -> Contents:
    """Return what a module has; KernelCompileError if the simulator cannot have a variable."""
    links = _Links(module, source)
    entries = [function.name for function in module.functions.values() if function.is_entry]
    joined = [name for name in entries if not links.by_address.isdisjoint(links.reached([name]))]
    return Contents((*entries,), (*joined,), (*links.variables(),))


def only(module: Module, entries: Iterable[str], source: str) -> Module:
    """Return the part of a module that entries reach."""
    links = _Links(module, source)
    names = links.reached(entries)
    if not links.by_address.isdisjoint(names):
        names |= links.reached(links.addressed)
    return replace(
        module,
        functions={n: f for n, f in module.functions.items() if n in names},
        variables={n: v for n, v in module.variables.items() if n in names},
        aliases={alias: n for alias, n in module.aliases.items() if n in names},
    )


class _Links:
    """Which functions and variables those of a module name."""

    def __init__(self, module: Module, source: str) -> None:
        self._module, self._source = module, source
        for alias, name in module.aliases.items():
            if name not in module.functions:
                self._fail(f"the alias {alias}", "must be one of a function of the module", name)
        self._in_memory = {
            v.name: v for v in module.variables.values() if v.space in {"global", "const"}
        }
        self._named = {*module.functions, *module.aliases, *BUILTINS}
        self.addressed: set[str] = set()  # functions whose address is taken
        #: Functions and variables that pass on the addresses of functions, or call by them.
        self.by_address: set[str] = set()
        self._names: dict[str, set[str]] = {}
        for name, variable in module.variables.items():
            targets = {item.name for item in variable.initial if isinstance(item, Register)}
            self._names[name] = {module.aliases.get(target, target) for target in targets}
            self._take(name, self._names[name])
        for name, function in module.functions.items():
            self._names[name] = set()
            for instruction in function.body or ():
                self._follow(name, instruction)

    def _take(self, owner: str, names: set[str]) -> None:
        """Note the functions whose addresses a function or variable has."""
        functions = self._module.functions
        taken = {n for n in names if n in functions and not functions[n].is_entry}
        if taken:
            self.addressed |= taken
            self.by_address.add(owner)

    def _follow(self, owner: str, statement: object) -> None:
        aliases, names = self._module.aliases, self._names[owner]
        if isinstance(statement, Targets):
            names.update(aliases.get(n, n) for n in statement.labels if n in self._module.functions)
        if not isinstance(statement, Instruction):
            return
        found = {aliases.get(name, name) for name in names_in(statement.operands)}
        found &= self._module.functions.keys() | self._module.variables.keys()
        names |= found
        if statement.name.partition(".")[0] != "call":
            self._take(owner, found)
        elif _callee(statement) not in self._named:
            self.by_address.add(owner)

    def reached(self, names: Iterable[str]) -> set[str]:
        """Return functions and variables that some lead to, with these."""
        reached: set[str] = set()
        pending = [*names]
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending += self._names.get(name, ())
        return reached

    def variables(self) -> Iterator[Variable]:
        """Yield the variables in memory."""
        for name, variable in self._in_memory.items():
            if variable.size > _MAX_VARIABLE_BYTES:
                requirement = f"must have at most {_MAX_VARIABLE_BYTES} bytes"
                self._fail(name, requirement, variable.size)
            content, addresses = self._initial(variable)
            yield Variable(
                name,
                variable.size,
                variable.alignment,
                variable.space == "const",
                content.rstrip(b"\0").hex(),
                addresses,
                not self.by_address.isdisjoint(self.reached([name])),
            )

    def _initial(self, variable: Declaration) -> tuple[bytes, tuple[StoredAddress, ...]]:
        unit, content, addresses = TYPE_BYTES[variable.type], bytearray(), []
        for item in variable.initial:
            word = 0
            if isinstance(item, Immediate):
                word = constant_word(item, unit, as_float=variable.type in {"f32", "f64"})
            elif isinstance(item, Register):
                target = self._module.aliases.get(item.name, item.name)
                if not (target in self._in_memory or _has_address(self._module, target)):
                    requirement = "must have addresses of variables in memory or of functions"
                    self._fail(variable.name, requirement, item.name)
                addresses.append((len(content), unit, target, item.offset))
            content += word.to_bytes(unit, "little")
        return bytes(content), (*addresses,)

    def _fail(self, what: str, requirement: str, got: object) -> None:
        """Raise KernelCompileError: the simulator does not support a part of the module."""
        log = f"{self._source}: error: {shorten(what)} {requirement}; got {shorten(str(got))}"
        raise KernelCompileError(self._source, (), log)


def _has_address(module: Module, name: str) -> bool:
    function: Function | None = module.functions.get(name)
    return (
        function is not None
        and not function.is_entry
        and (function.body is not None or name not in BUILTINS)
    )


def _callee(call: Instruction) -> str:
    operands = [o for o in call.operands[:2] if not isinstance(o, Vector)]
    return operands[0].name if operands and isinstance(operands[0], Register) else ""
