"""Fewer operations: constants and copies go to where they are used; what nobody reads is left out.

A register takes part that has one value, from one operation without a guard, which every way to its
uses comes by. That is known by the registers that are written on all ways from the entry.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.control_flow import control_flow
from cudakern.simulator.ptx.instructions.special import varying
from cudakern.simulator.ptx.model import TYPE_BYTES, Address, Immediate, Register, Vector
from cudakern.simulator.ptx.values import constant_word, type_of_register

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cudakern.simulator.ptx.control_flow import ControlFlow
    from cudakern.simulator.ptx.model import Operand
    from cudakern.simulator.ptx.operations import Body, Op

#: Comparisons of a selection of constants: when they hold.
_COMPARED = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b}


def simplify(body: Body) -> Body:
    """Return a function without constants, copies and results that it can do without."""
    return without_dead(propagate(body))


def propagate(body: Body) -> Body:
    """Return a function whose operands are constants or originals where they were moved from."""
    values = _Values(body)
    new = {id(op): found for op, found in values.propagated()}
    return body.with_statements(
        [new.get(id(statement), statement) for statement in body.statements]
    )


def without_dead(body: Body) -> Body:
    """Return a function without results that nobody reads, and operations that have no others."""
    uses = Counter(name for op in body.ops for name in op.reads)
    uses.update(variable.name for variable in body.function.results)
    writers: dict[str, list[Op]] = {}
    for op in body.ops:
        if _is_removable(op):
            for name in op.writes:
                writers.setdefault(name, []).append(op)
    dead: set[int] = set()
    pending = [op for ops in writers.values() for op in ops]
    while pending:
        op = pending.pop()
        if id(op) not in dead and not any(uses[name] for name in op.writes):
            dead.add(id(op))
            for name in op.reads:
                uses[name] -= 1
                if not uses[name]:
                    pending += writers.get(name, ())
    unread = {id(op): _without_unread(op, uses) for op in body.ops if op.meets}
    kept = (statement for statement in body.statements if id(statement) not in dead)
    return body.with_statements([unread.get(id(statement), statement) for statement in kept])


def _without_unread(op: Op, uses: Mapping[str, int]) -> Op:
    """Return an operation of several threads without the results that nobody reads."""
    results = (
        Register("_") if isinstance(result, Register) and not uses.get(result.name) else result
        for result in op.results
    )
    return op.with_operands((*results, *op.sources), op.guard)


def _is_removable(op: Op) -> bool:
    form = op.form
    if not (op.writes and form.effects.computes) or "overflow" in form.fields:
        return False
    return varying("time").isdisjoint(op.reads)


class _Values:
    """The registers of a function that have one value, and what stands for them."""

    def __init__(self, body: Body) -> None:
        self._body = body
        counts = Counter(name for op in body.ops for name in op.writes)
        #: Those that one operation writes, without a guard, as bits.
        single = [
            name
            for op in body.ops
            if op.guard is None
            for name in op.writes
            if counts[name] == 1 and name in body.registers
        ]
        own = {v.name for v in (*body.function.results, *body.function.parameters)}
        self._bits = {name: 1 << i for i, name in enumerate(single) if name not in own}
        self._instead: dict[str, Register | Immediate] = {}
        self._selections: dict[str, tuple[Operand, ...]] = {}

    def propagated(self) -> Iterable[tuple[Op, Op]]:
        """Yield operations whose operands change, with what they become."""
        flow = control_flow(self._body.statements)
        written = [[self._written(op) for op in block] for block in flow.blocks]
        for block, before, adds in zip(
            flow.blocks, _written_before(flow, written), written, strict=True
        ):
            known = before
            for op, more in zip(block, adds, strict=True):
                new = self._with_known(op, known)
                if new is not op:
                    yield op, new
                if more:
                    self._learn(new, known)
                known |= more

    def _written(self, op: Op) -> int:
        bits = 0
        for name in op.writes:
            bits |= self._bits.get(name, 0)
        return bits

    def _with_known(self, op: Op, known: int) -> Op:
        """Return an operation with what stands for operands that are known there."""
        if self._instead.keys().isdisjoint(op.reads):
            return op
        instead = {
            name: self._instead[name]
            for name in op.reads
            if name in self._instead and self._bits[name] & known
        }
        if not instead or op.calls:
            return op
        sources = tuple(_replaced(operand, instead) for operand in op.sources)
        guard = op.guard
        if guard is not None and isinstance(instead.get(guard.name), Register):
            replaced = _replaced(guard, instead)
            guard = replaced if isinstance(replaced, Register) else guard
        return op.with_operands((*op.results, *sources), guard)

    def _learn(self, op: Op, known: int) -> None:
        """Note what stands for the result of an operation."""
        name, effects = op.writes[0], op.form.effects
        if "copies" in effects and len(op.sources) == 1:
            self._learn_copy(op, name, op.sources[0], known)
        elif op.form.undefined == "select":
            predicate = op.sources[-1]
            is_kept = isinstance(predicate, Register) and self._bits.get(predicate.name, 0) & known
            if is_kept:  # it is the same where the selection is known
                self._selections[name] = op.sources
        elif "CMP" in op.row.fields and len(op.operands) == len(("p", "a", "b")):
            self._learn_comparison(name, op, known)

    def _learn_copy(self, op: Op, name: str, source: Operand, known: int) -> None:
        registers = self._body.registers
        kind = registers.type_of(name) or ""
        if isinstance(source, Immediate) and isinstance(op.results[0], Register):
            size = TYPE_BYTES[op.row.fields["TYPE"]]
            if source.float_bytes in {0, size} and kind != "pred" and size == TYPE_BYTES[kind]:
                word = constant_word(source, size, as_float=False)
                self._instead[name] = Immediate(word)
        elif isinstance(source, Register) and not source.offset:
            same = registers.type_of(source.name)
            if same is not None and type_of_register(same) == type_of_register(kind):
                self._stand(name, source, known)

    def _learn_comparison(self, name: str, op: Op, known: int) -> None:
        """Note that a comparison of a selection of constants is the selection's predicate."""
        compare = _COMPARED.get(op.row.fields.get("CMP", ""))
        first, second = op.sources
        chosen = self._selections.get(first.name if isinstance(first, Register) else "", ())
        if compare is None or not isinstance(second, Immediate) or len(chosen) != len("abc"):
            return
        a, b, predicate = chosen
        if not (isinstance(a, Immediate) and isinstance(b, Immediate)):
            return
        kind = op.row.fields.get("TYPE", "f32")
        is_predicate = self._body.registers.type_of(name) == "pred"
        if not is_predicate or not isinstance(predicate, Register) or kind[0] == "f":
            return
        size = TYPE_BYTES[kind]
        words = [constant_word(value, size, as_float=False) for value in (a, b, second)]
        holds = compare(words[0], words[2]), compare(words[1], words[2])
        is_there = self._bits.get(first.name, 0) & known if isinstance(first, Register) else 0
        if is_there and holds[0] != holds[1]:
            negated = predicate.negated != holds[1]
            self._stand(name, Register(predicate.name, 0, negated), known)

    def _stand(self, name: str, source: Register, known: int) -> None:
        """Have a register that is known here stand for one that is written here."""
        if self._bits.get(source.name, 0) & known:
            self._instead[name] = source


def _replaced(operand: Operand, instead: Mapping[str, Register | Immediate]) -> Operand:
    match operand:
        case Register(name, offset, negated) if name in instead:
            found = instead[name]
            if isinstance(found, Register):
                return Register(found.name, offset, negated != found.negated)
            return operand if negated or offset else found
        case Address(Register(name, offset)) if name in instead:
            found = instead[name]
            if isinstance(found, Register):
                return Address(Register(found.name, offset, found.negated))
        case Vector(items):
            return Vector(tuple(_replaced(item, instead) for item in items))
    return operand


def _written_before(flow: ControlFlow, written: list[list[int]]) -> list[int]:
    """Return the registers that are written on each way to a block, as bits."""
    adds = []
    for block in written:
        total = 0
        for more in block:
            total |= more
        adds.append(total)
    before = [-1] * len(adds)
    before[0] = 0
    pending = True
    while pending:  # more often only for what branches lead back to
        pending = False
        for i, more in enumerate(adds):
            if before[i] == -1:
                continue
            after = before[i] | more
            for target in flow.follow[i]:
                if before[target] & ~after:
                    before[target] &= after
                    pending |= target <= i
    return [0 if bits == -1 else bits for bits in before]
