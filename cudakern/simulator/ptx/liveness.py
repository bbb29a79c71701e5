"""Registers that threads compute again, save at suspension points, or no longer need."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.control_flow import control_flow, reversed_flow
from cudakern.simulator.ptx.instructions.special import varying
from cudakern.simulator.ptx.model import Address, Register

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from cudakern.simulator.ptx.operations import Body, Op

#: What a thread computes again instead of saving it takes so many operations at most.
_MOST_STEPS = 4


class Rematerialised(NamedTuple):
    """Registers that follow from values that all threads share, or from the thread's index."""

    #: Those that are the same for all threads of a block, and the identities of the operations that
    #: compute them once, from registers before them in the text.
    uniform: set[str]
    hoisted: set[int]
    #: Those that each thread can compute anew, by the operations that do, in order.
    derived: dict[str, tuple[Op, ...]]


def rematerialised(body: Body) -> Rematerialised:
    """Return the registers of an entry that need not be saved."""
    found = Rematerialised(set(), set(), {})
    own = {variable.name for variable in body.local}
    counts = Counter(name for op in body.ops for name in op.writes)
    several = {name for name, count in counts.items() if count > 1}
    parameters = {variable.name for variable in body.function.parameters}
    of_thread = varying("index", "number")
    special = varying("index", "number", "time")

    def differs(name: str) -> bool:
        if name in body.registers:
            return name not in found.uniform
        return name in special

    for op in body.ops:
        if op.guard is not None or not op.writes or not several.isdisjoint(op.writes):
            continue
        # Addresses of a cluster's shared memory are those of a thread's own block.
        is_alone = op.form.is_pure and "shared::cluster" not in op.row.spaces
        is_alone = is_alone and own.isdisjoint(op.reads)
        differing = [*filter(differs, op.reads)] if is_alone else []
        if (is_alone and not differing) or _loads_parameter(op, parameters):
            found.uniform.update(op.writes)
            found.hoisted.add(id(op))
        elif is_alone and "cheap" in op.form.effects:
            before = dict.fromkeys(o for n in differing for o in found.derived.get(n, ()))
            is_known = all(n in found.derived or n in of_thread for n in differing)
            if is_known and len(before) < _MOST_STEPS:
                found.derived.update(dict.fromkeys(op.writes, (*before, op)))
    return found


def _loads_parameter(op: Op, parameters: set[str]) -> bool:
    address = op.operands[-1] if op.form.undefined == "pass" and op.writes else None
    base = address.base if isinstance(address, Address) else None
    return isinstance(base, Register) and base.name in parameters


class _Step(NamedTuple):
    """The registers of an operation, as bits."""

    read: int
    written: int
    surely: int  # written without a guard
    point: int  # its number, or 0
    leaves: bool  # whether every thread leaves there
    meets: bool  # whether it gets its results behind the point


class LiveRegisters:
    """What a thread saves when it is left at a point, and restores when it goes on.

    Registers that have not changed since the previous point are saved already; those that are not
    read before the next point are not restored.
    """

    def __init__(
        self,
        body: Body,
        points: Mapping[int, int],
        is_kept: Callable[[str], bool],
        derived: Collection[str],
    ) -> None:
        written = dict.fromkeys(name for op in body.ops for name in op.writes)
        self._names = [*filter(is_kept, written)]
        self._bits = {name: 1 << i for i, name in enumerate(self._names)}
        self._flow = control_flow(body.statements)
        self._blocks = [[self._step(op, points) for op in block] for block in self._flow.blocks]
        elsewhere = self._mask(derived)
        live = reversed_flow(self._flow, [[(s.read, ~s.surely) for s in b] for b in self._blocks])
        first = self._blocks[0][:1]
        entering = live[0][0] & ~first[0].surely | first[0].read if first else 0
        #: Those that may be read before they are written.
        self.exposed = {*self._list_names(entering)}
        saved: dict[int, int] = {}
        for step, after, changed in self._points(live, self._changed()):
            changes = changed & ~step.written if step.meets else changed | step.written
            saved[step.point] = after & changes & ~elsewhere
        there = elsewhere  # all that a thread can restore: others that are read have no value
        for some in saved.values():
            there |= some
        used = reversed_flow(self._flow, [[_before(s, saved) for s in b] for b in self._blocks])
        nothing = [0] * len(self._blocks)
        restored = {
            step.point: there & (after & ~step.written if step.meets else after)
            for step, after, _ in self._points(used, nothing)
        }
        #: Registers, by the number of the point.
        self.saved = {point: [*self._list_names(bits)] for point, bits in saved.items()}
        self.restored = {point: [*self._list_names(bits)] for point, bits in restored.items()}

    def _mask(self, names: Iterable[str]) -> int:
        total = 0
        for name in names:
            total |= self._bits.get(name, 0)
        return total

    def _list_names(self, bits: int) -> Iterator[str]:
        while bits:
            yield self._names[(bits & -bits).bit_length() - 1]
            bits &= bits - 1

    def _step(self, op: Op, points: Mapping[int, int]) -> _Step:
        written, read = self._mask(op.writes), self._mask(op.reads)
        point, meets = points.get(id(op), 0), op.meets
        surely = 0 if op.guard is not None else written
        return _Step(read, written, surely, point, meets and op.guard is None, meets)

    def _changed(self) -> list[int]:
        """Return, before each block, what can have changed since the last point."""
        before = [0] * len(self._blocks)
        sums = []
        for block in self._blocks:
            leaves = [i for i, step in enumerate(block) if step.point and step.leaves]
            changes = 0
            for step in block[leaves[-1] :] if leaves else block:
                changes |= step.written
            sums.append((changes, 0 if leaves else -1))
        pending = True
        while pending:  # more often only for what branches lead back to
            pending = False
            for i, (changes, lets) in enumerate(sums):
                bits = changes | (before[i] & lets)
                for target in self._flow.follow[i]:
                    if bits & ~before[target]:
                        before[target] |= bits
                        pending |= target <= i
        return before

    def _points(
        self, after: Sequence[Sequence[int]], changed: Sequence[int]
    ) -> Iterator[tuple[_Step, int, int]]:
        """Yield each point with what holds after it, and what can have changed before it."""
        for i, block in enumerate(self._blocks):
            if not any(step.point for step in block):
                continue
            bits = changed[i]
            for step, later in zip(block, after[i], strict=True):
                if step.point:
                    yield step, later, bits
                is_left = step.point and step.leaves
                bits = step.written if is_left else bits | step.written


def _before(step: _Step, saved: Mapping[int, int]) -> tuple[int, int]:
    """Return what is read before the next point, with its own saves; and what passes through."""
    if not step.point:
        return step.read, ~step.surely
    lets = 0 if step.leaves else ~step.surely
    return step.read | (saved[step.point] & ~step.surely), lets
