"""Whether the processor may take subnormal floats for zeros while an entry runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.effects import BUILTINS
from cudakern.simulator.ptx.model import TYPE_BYTES, Immediate

if TYPE_CHECKING:
    from cudakern.simulator.ptx.operations import Body, Op

#: Of the bits of an f32: those without the sign; the least number that is not subnormal.
_SIZE, _LEAST = 0x7FFFFFFF, 0x00800000
#: Types of floats; those of 8 bits and less have names such as e4m3x2.
_FLOATS = {kind for kind in TYPE_BYTES if kind.lstrip("bt")[0] == "f" or "m" in kind}


def flushes(body: Body) -> bool:
    """Return whether all that computes with floats takes subnormal ones for zeros.

    So do operations on f32 with ``.ftz``. A subnormal constant stands in the way: compilers compute
    with it as it is.
    """
    kinds = {_flushes(op) for op in body.ops}
    return True in kinds and False not in kinds and not _knows_subnormal(body)


def _flushes(op: Op) -> bool | None:
    """Return whether an operation takes subnormal floats for zeros; None if it has none."""
    if op.calls:
        return None if op.callee in BUILTINS else False
    floats = _FLOATS & {*op.row.words}
    if not floats or "moves" in op.form.effects:
        return None
    if op.row.words[-1] not in floats:
        return None if floats == {"f32"} else False
    return floats == {"f32"} and "ftz" in op.row.words


def _knows_subnormal(body: Body) -> bool:
    """Return whether a subnormal constant is computed with."""
    computing = [op for op in body.ops if _flushes(op)]
    moves = [op for op in body.ops if op.form.effects.computes and "moves" in op.form.effects]
    used = {name for op in computing for name in op.reads}
    known: list[Op] = []
    while more := [move for move in moves if not used.isdisjoint(move.writes)]:
        known += more
        moves = [move for move in moves if used.isdisjoint(move.writes)]
        used.update(name for move in more for name in move.reads)
    operands = [operand for op in computing + known for operand in op.sources]
    values = [operand.value for operand in operands if isinstance(operand, Immediate)]
    return any(0 < value & _SIZE < _LEAST for value in values)
