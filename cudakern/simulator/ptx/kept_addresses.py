"""Which addresses an entry may leave in memory when it ends, as they are or computed with.

Memory of shared and local variables ends with the entry, and counts as one place.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.effects import BUILTINS, spaces_in
from cudakern.simulator.ptx.model import Address, Vector
from cudakern.simulator.ptx.operations import names_in
from cudakern.simulator.runtime.limits import POINTER_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cudakern.simulator.ptx.model import Declaration, Module
    from cudakern.simulator.ptx.operations import Body, Op

#: Words of accesses to memory that ends with the entry. Any other may outlive it.
_ENDING_SPACES = {"local", "shared", "shared::cta", "shared::cluster"}
#: Stands for that memory among names.
_ENDING = ""
_READING = {"reads", "returns", "calls"}


def kept_addresses(module: Module, bodies: Mapping[str, Body]) -> Callable[[str], int]:
    """Return a function that returns, for an entry, a bit for each address that it may keep.

    Addresses are parameters of eight bytes, or structures of one. Those of other parameters are not
    looked for.
    """

    @cache
    def kept_by(name: str, passed: int) -> int:
        """Return the parameters that a function may keep, of some."""
        name = module.aliases.get(name, name)
        if name in BUILTINS:
            return 0
        if name not in bodies or name in active:
            return passed
        active.add(name)
        kept = _Values(bodies[name], passed, kept_by).kept()
        active.remove(name)
        return kept

    active: set[str] = set()  # functions may call each other

    def kept(entry: str) -> int:
        parameters = bodies[entry].function.parameters
        return kept_by(entry, sum(_is_address(p) << i for i, p in enumerate(parameters)))

    return kept


def _is_address(parameter: Declaration) -> bool:
    return parameter.size == POINTER_BYTES


class _Values:
    """What registers and memory of a function may have of its parameters, as bits of these."""

    def __init__(self, body: Body, passed: int, kept_by: Callable[[str, int], int]) -> None:
        self._body, self._kept_by = body, kept_by
        self._held: dict[str, int] = {}
        self._kept = 0
        self._pending: list[str] = []  # names that hold more than before
        for i, parameter in enumerate(body.function.parameters):
            self._hold(parameter.name, passed & 1 << i)

    def kept(self) -> int:
        """Return the parameters that are in memory when the function returns."""
        if self._pending:
            users: dict[str, list[Op]] = {}
            for op in self._body.ops:
                for name in op.reads:
                    users.setdefault(name, []).append(op)
                if not _READING.isdisjoint(op.form.effects):
                    users.setdefault(_ENDING, []).append(op)
            while self._pending:
                for op in users.get(self._pending.pop(), ()):
                    if op.calls:
                        self._call(op)
                    else:
                        self._follow(op)
        # The memory of a function may be its caller's.
        return self._kept | (0 if self._body.function.is_entry else self._of([_ENDING]))

    def _of(self, names: Iterable[str]) -> int:
        held = 0
        for name in names:
            held |= self._held.get(name, 0)
        return held

    def _hold(self, name: str, values: int) -> None:
        before = self._held.get(name, 0)
        if values & ~before and self._body.registers.type_of(name) != "pred":
            self._held[name] = before | values
            self._pending.append(name)

    def _follow(self, op: Op) -> None:
        effects, sources = op.form.effects, op.sources
        bases = names_in(operand for operand in sources if isinstance(operand, Address))
        names = names_in(operand for operand in sources if not isinstance(operand, Address))
        values = self._of(names)
        if "points" in effects:  # to a parameter, which can be read there, unless it is a register
            named = (name for name in names if name not in self._body.registers)
            self._hold(_ENDING, self._of(named))
        if not _READING.isdisjoint(effects):
            values |= self._of([_ENDING])
        if op.form.undefined == "pass":
            if op.stores:
                for name in bases:
                    self._hold(name, values)
            else:
                values |= self._of(bases)
        elif "writes" in effects:
            spaces = spaces_in(op.row.words)  # of a copy, first where it goes
            if not spaces or spaces[0] not in _ENDING_SPACES:
                self._kept |= values
            else:
                self._hold(_ENDING, values)
        for name in op.writes:
            self._hold(name, values)

    def _call(self, op: Op) -> None:
        """Follow arguments into results, and to where the function may leave them."""
        vectors = [operand.items for operand in op.sources if isinstance(operand, Vector)]
        arguments = [self._of(names_in([argument])) for argument in (vectors or [()])[0]]
        passed = sum((held != 0) << i for i, held in enumerate(arguments))
        kept = self._kept_by(op.callee, passed) if op.callee else passed
        for i, held in enumerate(arguments):
            self._kept |= held if kept >> i & 1 else 0
            for name in op.writes:
                self._hold(name, held)
        if op.callee not in BUILTINS or op.callee == "memcpy":  # it may read what is there
            self._kept |= self._of([_ENDING])
