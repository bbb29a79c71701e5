"""The instructions of a function as threads go through them: what each reads, writes and waits for.

They decide how the threads of an entry run in plain launches: by `regions`, or as fibers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.basic_blocks import names_in, with_rows
from cudakern.simulator.ptx.effects import BUILTINS
from cudakern.simulator.ptx.instructions.special import REGISTERS
from cudakern.simulator.ptx.model import (
    Address,
    Declaration,
    Immediate,
    Instruction,
    Label,
    Register,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cudakern.simulator.ptx.forms import Match
    from cudakern.simulator.ptx.model import Function, Module, Statement

#: Bytes of local memory that a thread may keep over a point.
_MOST_LOCAL_BYTES = 4096
_MOST_POINTS = 60000
#: Special registers whose readers let others run, if they read them again.
_CLOCKS = {f"%{name}" for name, (_, value) in REGISTERS.items() if "ck_sim_time" in value}
#: Instructions that let others run when they look again, or for a while; others may run after them.
_YIELDING = {"ld", "nanosleep"}
_WITH_CARRY = {"addc", "madc", "subc"}
#: What moves floats as they are.
_MOVING = {"ld", "mov", "selp", "shfl", "st"}
#: Of the bits of an f32: those without the sign; the least number that is not subnormal.
_SIZE, _LEAST = 0x7FFFFFFF, 0x00800000
#: Words of types of floats.
_FLOATS = re.compile(r"b?f\d|tf32|u?e\dm\d")
#: Instructions after which a thread goes on elsewhere, or not at all.
LEAVING = {"bra", "brx", "ret", "exit", "trap"}


class Step(NamedTuple):
    """An instruction."""

    instruction: Instruction
    opcode: str
    row: Match
    written: tuple[str, ...]  # names
    read: tuple[str, ...]  # its guard's, too

    @property
    def meets(self) -> bool:
        """Whether threads do something together."""
        return self.row.form.meeting is not None

    @property
    def has_guard(self) -> bool:
        """Whether it may be left out."""
        return self.instruction.guard is not None


class FunctionSteps:
    """The instructions of a function."""

    def __init__(self, body: Sequence[Statement]) -> None:
        self.body = body
        self.all = [_step(instruction, row) for instruction, row in with_rows(body)]
        self.of = {id(step.instruction): step for step in self.all}
        read = {name for step in self.all for name in step.read}
        points = (step for step in self.all if step.meets or _yields(step, read))
        #: By identity: those at which a thread can be left, since it waits or lets others run.
        self.points = {id(step.instruction): number for number, step in enumerate(points, 1)}
        self.local = [s for s in body if isinstance(s, Declaration) and s.space == "local"]

    def flush(self) -> bool:
        """Return whether all that computes with floats takes subnormal ones for zeros."""
        kinds = {_flushes(step) for step in self.all}
        return True in kinds and False not in kinds and not self._knows_subnormal()

    def _knows_subnormal(self) -> bool:
        """Return whether a subnormal constant is computed with: compilers take it as it is."""
        computing = [step for step in self.all if _flushes(step)]
        moves = [step for step in self.all if step.opcode in {"mov", "selp"}]
        used = {name for step in computing for name in step.read}
        known: list[Step] = []
        while more := [move for move in moves if not used.isdisjoint(move.written)]:
            known += more
            moves = [move for move in moves if used.isdisjoint(move.written)]
            used.update(name for move in more for name in move.read)
        operands = [operand for step in computing + known for operand in step.instruction.operands]
        values = [operand.value for operand in operands if isinstance(operand, Immediate)]
        return any(0 < value & _SIZE < _LEAST for value in values)


def _step(instruction: Instruction, row: Match) -> Step:
    count = row.results(instruction)
    operands = instruction.operands
    read = [*names_in(operands[count:])]
    if instruction.guard is not None:
        read.append(instruction.guard.name)
    written = tuple(name for name in names_in(operands[:count]) if name != "_")
    return Step(instruction, row.form.opcode, row, written, tuple(read))


def _yields(step: Step, read: set[str]) -> bool:
    """Return whether others may run after an instruction: it can be one that polls."""
    effects = step.row.form.effects
    if "returns" in effects:
        return not read.isdisjoint(step.written)
    if step.opcode in _YIELDING and "waits" in effects:
        return True
    return step.opcode == "mov" and not _CLOCKS.isdisjoint(step.read)


def _flushes(step: Step) -> bool | None:
    """Return whether an instruction takes subnormal floats for zeros; None if it has none."""
    words = step.instruction.words
    if step.opcode == "call":
        return None if _callee(step.instruction) in BUILTINS else False
    floats = {word for word in words if _FLOATS.match(word)}
    if not floats or step.opcode in _MOVING:
        return None
    if step.opcode == "cvt" and words[-1] not in floats:
        return None if floats == {"f32"} else False
    return floats == {"f32"} and "ftz" in words


def reason_for_fibers(function: Function, steps: FunctionSteps, quiet: set[str]) -> str:
    """Return why an entry's threads must be fibers, if so; none waits in ``quiet`` functions."""
    if function.directives.get("reqnctapercluster"):
        return "it has clusters"
    for step in steps.all:
        if not _can_be_left(step, quiet):
            return f"{step.instruction.name} in line {step.instruction.line} of the PTX"
    size = sum(variable.size for variable in steps.local)
    if steps.points and size > _MOST_LOCAL_BYTES:
        return f"{size} bytes of local memory"
    if len(steps.points) > _MOST_POINTS:
        return f"{len(steps.points)} points"
    return _carrying(steps) or _polling(steps)


def _can_be_left(step: Step, quiet: set[str]) -> bool:
    if step.opcode == "call":
        return _callee(step.instruction) in quiet
    words = step.instruction.words
    if "cluster" in words or "shared::cluster" in words:
        return False
    waits = "waits" in step.row.form.effects and step.opcode not in {*_YIELDING, "st"}
    return step.meets or not waits


def _carrying(steps: FunctionSteps) -> str:
    """Return the instruction that needs a carry from before a point, which no thread keeps."""
    is_lost = False
    for step in steps.all:
        if is_lost and step.opcode in _WITH_CARRY:
            return f"a carry in line {step.instruction.line} of the PTX"
        is_lost = "cc" not in step.instruction.words and (
            is_lost or id(step.instruction) in steps.points
        )
    return ""


def _polling(steps: FunctionSteps) -> str:
    """Return the loop of loads alone that reads the same address again and again."""
    above: dict[str, int] = {}
    inside: list[Step] = []
    for statement in steps.body:
        if isinstance(statement, Label):
            above[statement.name] = len(inside)
        step = steps.of.get(id(statement))
        if step is None:
            continue
        inside.append(step)
        for start in (above[n] for n in step.read if step.opcode == "bra" and n in above):
            loop = inside[start:]
            written = {name for other in loop for name in other.written}
            quiet = not any(_is_seen(other) and not _adds(other, steps) for other in loop)
            for other in loop:
                if quiet and _loads(other) and written.isdisjoint(_base(other)):
                    return f"a loop around line {other.instruction.line} of the PTX"
    return ""


def _is_seen(step: Step) -> bool:
    effects = step.row.form.effects
    return effects.involves_others or "writes" in effects


def _adds(step: Step, steps: FunctionSteps) -> bool:
    """Return whether it is an atomic whose result is unused, which is not a point."""
    return step.opcode in {"atom", "red"} and id(step.instruction) not in steps.points


def _loads(step: Step) -> bool:
    words = step.instruction.words
    return step.opcode == "ld" and not {"const", "param", "local"} & {*words}


def _base(step: Step) -> list[str]:
    return [*names_in(o for o in step.instruction.operands if isinstance(o, Address))]


def quiet_functions(module: Module, steps: Mapping[str, FunctionSteps]) -> set[str]:
    """Return the functions, and their aliases, in which no thread waits, polls or exits."""
    calls: dict[str, set[str]] = {}
    loud: set[str] = set()
    for name, own in steps.items():
        called = [_callee(step.instruction) for step in own.all if step.opcode == "call"]
        calls[name] = {module.aliases.get(callee, callee) for callee in called}
        waits = any(_waits(step) for step in own.all)
        if own.points or waits or calls[name] - steps.keys() - BUILTINS.keys():
            loud.add(name)
    while more := {name for name in calls.keys() - loud if calls[name] & loud}:
        loud |= more
    quiet = (steps.keys() - loud) | BUILTINS.keys()
    return quiet | {alias for alias, name in module.aliases.items() if name in quiet}


def _waits(step: Step) -> bool:
    waits = "waits" in step.row.form.effects and step.opcode not in {"st", "call"}
    return step.opcode == "exit" or waits


def _callee(call: Instruction) -> str:
    operands = [o for o in call.operands[:2] if isinstance(o, Register)]
    return operands[0].name if operands else ""
