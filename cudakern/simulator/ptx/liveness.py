"""Registers that threads in regions compute again, save at points, or no longer need."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.basic_blocks import computes, names_in
from cudakern.simulator.ptx.instructions.special import special_register
from cudakern.simulator.ptx.model import Address, Label, Register
from cudakern.simulator.ptx.suspension_points import LEAVING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from cudakern.simulator.ptx.model import Function, Targets
    from cudakern.simulator.ptx.suspension_points import FunctionSteps, Step

#: What C++ of special registers has that is not the same for all threads of a block.
_VARYING = re.compile(r"\b(?:me->thread|me->lane|warp_number|ck_sim_time)\b")
_OF_INDEX = re.compile(r"\b(?:me->thread|me->lane|warp_number)\b")
#: What C++ of rows has that needs a thread.
_OF_THREAD = re.compile(r"\b(?:me|cc)\b")
#: What a thread computes again instead of saving it, in so many instructions at most.
_CHEAP = {"add", "and", "cvt", "cvta", "mad", "mov", "mul", "not", "or", "setp", "shl", "shr"}
_CHEAP |= {"sub", "xor"}
_MOST_STEPS = 4


class DerivedRegisters:
    """Registers that follow from values that all threads share, or from the thread's index."""

    def __init__(
        self, function: Function, steps: FunctionSteps, register: Callable[[str], object]
    ) -> None:
        #: Those that are the same for all threads of a block, and the instructions that compute
        #: them once, from registers before them in the text.
        self.uniform: set[str] = set()
        self.hoisted: set[int] = set()
        #: Those that each thread can compute anew, by the instructions that do, in order.
        self.derived: dict[str, tuple[int, ...]] = {}
        self._register = register
        self._own = {variable.name for variable in steps.local}
        counts = Counter(name for step in steps.all for name in step.written)
        parameters = {variable.name for variable in function.parameters}
        for step in steps.all:
            if step.has_guard or not step.written or any(counts[n] > 1 for n in step.written):
                continue
            if _loads_parameter(step, parameters):
                self._hoist(step)
            elif _computes_alone(step):
                self._follow(step)

    def _hoist(self, step: Step) -> None:
        self.uniform.update(step.written)
        self.hoisted.add(id(step.instruction))

    def _follow(self, step: Step) -> None:
        if not self._own.isdisjoint(step.read):
            return
        varying = [name for name in step.read if not self._is_same(name)]
        if not varying:
            self._hoist(step)
        elif all(name in self.derived or _OF_INDEX.search(_special(name)) for name in varying):
            before = dict.fromkeys(i for name in varying for i in self.derived.get(name, ()))
            if len(before) < _MOST_STEPS and step.opcode in _CHEAP:
                self.derived |= dict.fromkeys(step.written, (*before, id(step.instruction)))

    def _is_same(self, name: str) -> bool:
        if self._register(name) is not None:
            return name in self.uniform
        return name[:1] != "%" or not _VARYING.search(_special(name))


def _special(name: str) -> str:
    known = special_register(name)
    return known[1] if known is not None else ""


def _loads_parameter(step: Step, parameters: set[str]) -> bool:
    address = step.instruction.operands[-1]
    base = address.base if step.opcode == "ld" and isinstance(address, Address) else None
    return isinstance(base, Register) and base.name in parameters


def _computes_alone(step: Step) -> bool:
    """Return whether an instruction only computes results, of its operands alone."""
    form = step.row.form
    return (
        computes(step.row)
        and not any(isinstance(operand, Address) for operand in step.instruction.operands)
        and "shared::cluster" not in step.instruction.name
        and not _OF_THREAD.search(form.code)
    )


class _StepRegisters(NamedTuple):
    """The registers of an instruction, as bits."""

    read: int
    written: int
    surely: int  # written without a guard
    point: int  # its number, or 0
    meets: bool  # whether it gets its results behind the point
    has_guard: bool


class LiveRegisters:
    """What a thread saves when it is left at a point, and restores when it goes on.

    Registers that have not changed since the previous point are saved already; those that are not
    read before the next point are not restored.
    """

    def __init__(
        self,
        steps: FunctionSteps,
        tables: Mapping[str, Targets],
        is_kept: Callable[[str], bool],
        derived: Collection[str],
    ) -> None:
        self._bits: dict[str, int] = {}  # which stand for registers
        self._names: list[str] = []
        self._is_kept = is_kept
        self._blocks, self._follow = self._flow(steps, tables)
        elsewhere = self._mask(derived)
        live = self._reversed([[(b.read, ~b.surely) for b in block] for block in self._blocks])
        saved: dict[int, int] = {}
        for bits, after, changed in self._points(live, self._changed()):
            changes = changed & ~bits.written if bits.meets else changed | bits.written
            saved[bits.point] = after & changes & ~elsewhere
        there = elsewhere  # all that a thread can restore: others that are read have no value
        for some in saved.values():
            there |= some
        used = self._reversed([[_before(b, saved) for b in block] for block in self._blocks])
        nothing = [0] * len(self._blocks)
        restored = {
            bits.point: there & (after & ~bits.written if bits.meets else after)
            for bits, after, _ in self._points(used, nothing)
        }
        #: Registers, by the number of the point.
        self.saved = {point: [*self._list_names(bits)] for point, bits in saved.items()}
        self.restored = {point: [*self._list_names(bits)] for point, bits in restored.items()}

    def _mask(self, names: Iterable[str]) -> int:
        total = 0
        for name in names:
            bit = self._bits.get(name)
            if bit is None:
                bit = self._bits[name] = 1 << len(self._names) if self._is_kept(name) else 0
                self._names += [name] if bit else []
            total |= bit
        return total

    def _list_names(self, bits: int) -> Iterator[str]:
        while bits:
            yield self._names[(bits & -bits).bit_length() - 1]
            bits &= bits - 1

    def _flow(
        self, steps: FunctionSteps, tables: Mapping[str, Targets]
    ) -> tuple[list[list[_StepRegisters]], list[list[int]]]:
        """Return the basic blocks, and which ones follow each."""
        blocks: list[list[Step]] = [[]]
        labels: dict[str, int] = {}
        for statement in steps.body:
            if isinstance(statement, Label):
                if blocks[-1]:
                    blocks.append([])
                labels[statement.name] = len(blocks) - 1
            elif (step := steps.of.get(id(statement))) is not None:
                blocks[-1].append(step)
                if step.opcode in LEAVING:
                    blocks.append([])
        follow = []
        for i, block in enumerate(blocks):
            last = block[-1] if block and block[-1].opcode in LEAVING else None
            leaves = last is not None and not last.has_guard
            targets = [] if leaves or i + 1 == len(blocks) else [i + 1]
            if last is not None and last.opcode in {"bra", "brx"}:
                targets += [labels[name] for name in targets_of(last, tables) if name in labels]
            follow.append(targets)
        return [[self._registers(step, steps.points) for step in block] for block in blocks], follow

    def _registers(self, step: Step, points: Mapping[int, int]) -> _StepRegisters:
        written, read = self._mask(step.written), self._mask(step.read)
        surely, point = 0 if step.has_guard else written, points.get(id(step.instruction), 0)
        return _StepRegisters(read, written, surely, point, step.meets, step.has_guard)

    def _reversed(self, moves: list[list[tuple[int, int]]]) -> list[list[int]]:
        """Return what holds after each step, by what a step adds and what it lets through."""
        sums = []
        for block in moves:
            adds, lets = 0, -1
            for more, through in reversed(block):
                adds, lets = more | (adds & through), lets & through
            sums.append((adds, lets))
        before = [0] * len(moves)
        pending = True
        while pending:
            pending = False
            for i in reversed(range(len(moves))):
                adds, lets = sums[i]
                bits = adds | (self._joined(i, before) & lets)
                pending |= bits != before[i]
                before[i] = bits
        after = []
        for i, block in enumerate(moves):
            bits = self._joined(i, before)
            found: list[int] = []
            for adds, lets in reversed(block):
                found.append(bits)
                bits = adds | (bits & lets)
            after.append(found[::-1])
        return after

    def _joined(self, block: int, before: Sequence[int]) -> int:
        bits = 0
        for target in self._follow[block]:
            bits |= before[target]
        return bits

    def _changed(self) -> list[int]:
        """Return, before each block, what can have changed since the last point."""
        before = [0] * len(self._blocks)
        sums = []
        for block in self._blocks:
            leaves = [i for i, step in enumerate(block) if _leaves(step)]
            changes = 0
            for step in block[leaves[-1] :] if leaves else block:
                changes |= step.written
            sums.append((changes, 0 if leaves else -1))
        pending = [*range(len(before))]
        while pending:
            i = pending.pop()
            changes, lets = sums[i]
            bits = changes | (before[i] & lets)
            for target in self._follow[i]:
                if bits & ~before[target]:
                    before[target] |= bits
                    pending.append(target)
        return before

    def _points(
        self, after: Sequence[Sequence[int]], changed: Sequence[int]
    ) -> Iterator[tuple[_StepRegisters, int, int]]:
        """Yield each point with what holds after it, and what can have changed before it."""
        for i, block in enumerate(self._blocks):
            if not any(step.point for step in block):
                continue
            bits = changed[i]
            for step, later in zip(block, after[i], strict=True):
                if step.point:
                    yield step, later, bits
                bits = step.written if _leaves(step) else bits | step.written


def targets_of(branch: Step, tables: Mapping[str, Targets]) -> list[str]:
    """Return the labels that a branch leads to."""
    return [
        label
        for name in names_in(branch.instruction.operands)
        for label in (tables[name].labels if name in tables else (name,))
    ]


def _before(step: _StepRegisters, saved: Mapping[int, int]) -> tuple[int, int]:
    """Return what is read before the next point, with its own saves; and what passes through."""
    if not step.point:
        return step.read, ~step.surely
    lets = 0 if _leaves(step) else ~step.surely
    return step.read | (saved[step.point] & ~step.surely), lets


def _leaves(step: _StepRegisters) -> bool:
    """Return whether every thread leaves there."""
    return bool(step.point) and step.meets and not step.has_guard
