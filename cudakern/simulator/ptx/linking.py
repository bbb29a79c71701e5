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
)
from cudakern.simulator.ptx.operations import called_by, names_in
from cudakern.simulator.ptx.scope import has_address
from cudakern.simulator.ptx.values import constant_word, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cudakern.simulator.ptx.contents import StoredAddress
    from cudakern.simulator.ptx.model import Declaration, Module

_MAX_VARIABLE_BYTES = 1 << 30


class Links:
    """Which functions and variables those of a module name.

    KernelCompileError means that the simulator cannot have an alias.
    """

    def __init__(self, module: Module, source: str) -> None:
        self._module, self._source = module, source
        for alias, name in module.aliases.items():
            if name not in module.functions:
                self._fail(f"the alias {alias}", "must be one of a function of the module", name)
        self._in_memory = {
            v.name: v for v in module.variables.values() if v.space in {"global", "const"}
        }
        self._named = {*module.functions, *module.aliases, *BUILTINS}
        self._addressed: set[str] = set()  # functions whose address is taken
        #: Functions and variables that pass on the addresses of functions, or call by them.
        self._by_address: set[str] = set()
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
            self._addressed |= taken
            self._by_address.add(owner)

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
        elif called_by(statement) not in self._named:
            self._by_address.add(owner)

    def contents(self) -> Contents:
        """Return what there is; KernelCompileError if the simulator cannot have a variable."""
        functions = self._module.functions.values()
        entries = [function.name for function in functions if function.is_entry]
        joined = [n for n in entries if not self._by_address.isdisjoint(self._reached([n]))]
        return Contents((*entries,), (*joined,), (*self._variables(),))

    def only(self, entries: Iterable[str]) -> Module:
        """Return the part of the module that entries reach."""
        names, module = self._reached(entries), self._module
        if not self._by_address.isdisjoint(names):
            names |= self._reached(self._addressed)
        return replace(
            module,
            functions={n: f for n, f in module.functions.items() if n in names},
            variables={n: v for n, v in module.variables.items() if n in names},
            aliases={alias: n for alias, n in module.aliases.items() if n in names},
        )

    def _reached(self, names: Iterable[str]) -> set[str]:
        """Return functions and variables that some lead to, with these."""
        reached: set[str] = set()
        pending = [*names]
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending += self._names.get(name, ())
        return reached

    def _variables(self) -> Iterator[Variable]:
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
                not self._by_address.isdisjoint(self._reached([name])),
            )

    def _initial(self, variable: Declaration) -> tuple[bytes, tuple[StoredAddress, ...]]:
        unit, content, addresses = TYPE_BYTES[variable.type], bytearray(), []
        for item in variable.initial:
            word = 0
            if isinstance(item, Immediate):
                word = constant_word(item, unit, as_float=variable.type in {"f32", "f64"})
            elif isinstance(item, Register):
                target = self._module.aliases.get(item.name, item.name)
                if not (
                    target in self._in_memory or has_address(self._module.functions.get(target))
                ):
                    requirement = "must have addresses of variables in memory or of functions"
                    self._fail(variable.name, requirement, item.name)
                addresses.append((len(content), unit, target, item.offset))
            content += word.to_bytes(unit, "little")
        return bytes(content), (*addresses,)

    def _fail(self, what: str, requirement: str, got: object) -> None:
        """Raise KernelCompileError: the simulator does not support a part of the module."""
        log = f"{self._source}: error: {shorten(what)} {requirement}; got {shorten(str(got))}"
        raise KernelCompileError(self._source, (), log)
