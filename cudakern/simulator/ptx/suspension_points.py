"""Where threads can be left in plain launches, since they wait for others or let them run.

It decides how the threads of an entry run: by loops over them, or as fibers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.effects import BUILTINS
from cudakern.simulator.ptx.instructions.special import varying
from cudakern.simulator.ptx.model import Address, Label
from cudakern.simulator.ptx.operations import Op, names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cudakern.simulator.ptx.model import Function, Module
    from cudakern.simulator.ptx.operations import Body

#: Bytes of local memory that a thread may keep over a point.
_MOST_LOCAL_BYTES = 4096
_MOST_POINTS = 60000
_OF_CLUSTERS = {"cluster", "shared::cluster"}
#: Memory that no other thread writes.
_QUIET_SPACES = {"const", "param", "local"}


def points_of(body: Body) -> dict[int, int]:
    """Return the numbers of suspension points, from 1, by the identities of their operations."""
    ops = body.ops
    read = {name for op in ops for name in op.reads}
    points = (op for op in ops if op.meets or _yields(op, read))
    return {id(op): number for number, op in enumerate(points, 1)}


def _yields(op: Op, read: set[str]) -> bool:
    """Return whether others may run after an operation: it can be one that polls."""
    effects = op.form.effects
    if "returns" in effects:
        return not read.isdisjoint(op.writes)
    return "yields" in effects or not varying("time").isdisjoint(op.reads)


def reason_for_fibers(
    function: Function, body: Body, points: Mapping[int, int], quiet: set[str]
) -> str:
    """Return why an entry's threads must be fibers, if so; none waits in ``quiet`` functions."""
    if function.directives.get("reqnctapercluster"):
        return "it has clusters"
    known: set[int] = set()  # rows
    for op in body.ops:
        is_known = id(op.row) in known and not op.calls
        known.add(id(op.row))
        if not is_known and not _can_be_left(op, quiet):
            return f"{op.row.name} in line {op.instruction.line} of the PTX"
    size = sum(variable.size for variable in body.local)
    if points and size > _MOST_LOCAL_BYTES:
        return f"{size} bytes of local memory"
    if len(points) > _MOST_POINTS:
        return f"{len(points)} points"
    return _carrying(body, points) or _polling(body, points)


def _can_be_left(op: Op, quiet: set[str]) -> bool:
    if op.calls:
        return op.callee in quiet
    if not _OF_CLUSTERS.isdisjoint(op.row.words):
        return False
    return op.meets or "waits" not in op.form.effects


def _carrying(body: Body, points: Mapping[int, int]) -> str:
    """Return the operation that may need a carry from before a point, which no thread keeps."""
    is_known = not points  # since the operation before that leaves one, in the same block
    for op in body.statements:
        if not isinstance(op, Op):
            is_known = not points
            continue
        if "carry" in op.form.fields and not is_known:
            return f"a carry in line {op.instruction.line} of the PTX"
        leaves_one = "overflow" in op.form.fields and op.guard is None
        is_known = (is_known or leaves_one) and id(op) not in points
    return ""


def _polling(body: Body, points: Mapping[int, int]) -> str:
    """Return the loop of loads alone that reads the same address again and again."""
    above: dict[str, int] = {}
    inside: list[Op] = []
    for op in body.statements:
        if isinstance(op, Label):
            above[op.name] = len(inside)
        if not isinstance(op, Op):
            continue
        inside.append(op)
        for start in (above[name] for name in op.targets if name in above):
            loop = inside[start:]
            written = {name for other in loop for name in other.writes}
            quiet = all(not o.form.effects.is_seen or _adds(o, points) for o in loop)
            for other in loop:
                if quiet and _loads(other) and written.isdisjoint(_base(other)):
                    return f"a loop around line {other.instruction.line} of the PTX"
    return ""


def _adds(op: Op, points: Mapping[int, int]) -> bool:
    """Return whether it is an atomic whose result is unused, which is not a point."""
    return op.form.effects.updates and id(op) not in points


def _loads(op: Op) -> bool:
    return op.loads and _QUIET_SPACES.isdisjoint(op.row.words)


def _base(op: Op) -> list[str]:
    return names_in(o for o in op.operands if isinstance(o, Address))


def quiet_functions(module: Module, bodies: Mapping[str, Body]) -> set[str]:
    """Return the functions, and their aliases, in which no thread waits, polls or exits."""
    calls: dict[str, set[str]] = {}
    loud: set[str] = set()
    for name, body in bodies.items():
        if body.function.is_entry:  # which nobody calls
            continue
        called = [op.callee for op in body.ops if op.calls]
        calls[name] = {module.aliases.get(callee, callee) for callee in called}
        points = points_of(body)
        waits = any(_waits(op) for op in body.ops) or _polling(body, points)
        if points or waits or calls[name] - bodies.keys() - BUILTINS.keys():
            loud.add(name)
    while more := {name for name in calls.keys() - loud if calls[name] & loud}:
        loud |= more
    quiet = (bodies.keys() - loud) | BUILTINS.keys()
    return quiet | {alias for alias, name in module.aliases.items() if name in quiet}


def _waits(op: Op) -> bool:
    effects = op.form.effects
    return "exits" in effects or ("waits" in effects and not op.calls)


def counted_turns(body: Body, *, everywhere: bool) -> set[int]:
    """Return the identities of branches that count their turns: those of loops without others.

    Others run after many turns. They see nothing of such a loop, nor does it let them run; checked
    launches count turns ``everywhere``.
    """
    counted: set[int] = set()
    above: dict[str, int] = {}  # labels -> how often others had been involved there
    involved = 0
    for op in body.statements:
        if isinstance(op, Label):
            above[op.name] = involved
        elif isinstance(op, Op):
            before = [above[name] for name in op.targets if name in above]
            if before and (everywhere or involved in before):
                counted.add(id(op))
            involved += op.form.effects.is_seen
    return counted
