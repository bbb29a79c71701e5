"""Basic blocks of a function, and which ones follow each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.instructions import row_of
from cudakern.simulator.ptx.model import Instruction, Label
from cudakern.simulator.ptx.operations import Count, Op

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cudakern.simulator.ptx.model import Function, SourceLine, Statement


@dataclass(slots=True)
class ControlFlow:
    """Basic blocks, and by their numbers those that follow each."""

    blocks: list[list[Op]]
    follow: list[list[int]]
    back_targets: set[int]  # those that a block leads back to


def control_flow(statements: Iterable[Op | Label | Count]) -> ControlFlow:
    """Return the basic blocks of statements."""
    blocks: list[list[Op]] = [[]]
    labels: dict[str, int] = {}
    for statement in statements:
        if isinstance(statement, Label):
            if blocks[-1]:
                blocks.append([])
            labels[statement.name] = len(blocks) - 1
        elif isinstance(statement, Op):
            blocks[-1].append(statement)
            if statement.leaves:
                blocks.append([])
    follow = []
    for i, block in enumerate(blocks):
        last = block[-1] if block else None
        ends = last is not None and last.leaves and last.guard is None
        after = [] if ends or i + 1 == len(blocks) else [i + 1]
        named = last.targets if last is not None else ()
        follow.append([*after, *(labels[name] for name in named if name in labels)])
    back = {target for i, targets in enumerate(follow) for target in targets if target <= i}
    return ControlFlow(blocks, follow, back)


def reversed_flow(flow: ControlFlow, moves: Sequence[Sequence[tuple[int, int]]]) -> list[list[int]]:
    """Return what holds after each operation, as bits, from what holds at the end: nothing.

    ``moves`` has for each block and operation what that adds, and what it lets through.
    """
    before = _before_blocks(flow, moves)
    after = []
    for follow, block in zip(flow.follow, moves, strict=True):
        bits = _joined(follow, before)
        found: list[int] = []
        for adds, lets in reversed(block):
            found.append(bits)
            bits = adds | (bits & lets)
        after.append(found[::-1])
    return after


def _joined(targets: Sequence[int], before: Sequence[int]) -> int:
    bits = 0
    for target in targets:
        bits |= before[target]
    return bits


def _before_blocks(flow: ControlFlow, moves: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """Return what holds before each block."""
    sums = []
    for block in moves:
        adds, lets = 0, -1
        for more, through in reversed(block):
            adds, lets = more | (adds & through), lets & through
        sums.append((adds, lets))
    before = [0] * len(moves)
    pending = True
    while pending:  # more often only for what branches lead back to
        pending = False
        for i in reversed(range(len(moves))):
            adds, lets = sums[i]
            bits = adds | (_joined(flow.follow[i], before) & lets)
            pending |= bits != before[i] and i in flow.back_targets
            before[i] = bits
    return before


class CountedBlocks:
    """The basic blocks of a function as they are counted, whatever passes leave of them."""

    def __init__(self, body: Iterable[Statement], first: int) -> None:
        self.numbers: dict[int, int] = {}  # by the identity of a block's first instruction
        self.end = first  # the number after the last one
        counts: Counter[tuple[str, SourceLine | None, int]] = Counter()
        begins = True
        for statement in body:
            if isinstance(statement, Label):
                begins = True
            if not isinstance(statement, Instruction):
                continue
            if begins:
                self.numbers[id(statement)] = self.end
                self.end += 1
            counts[statement.name, statement.source_line, self.end - 1] += 1
            row = row_of(statement)
            begins = row is not None and "ends" in row.form.effects
        #: Name, line, number of the block, count.
        self.rows = [(*key, count) for key, count in counts.items()]


def counted_blocks(functions: Sequence[Function]) -> dict[str, CountedBlocks]:
    """Return the blocks of each function: those of an entry have numbers after all others."""
    blocks: dict[str, CountedBlocks] = {}
    common = 0
    for function in sorted(functions, key=lambda function: function.is_entry):
        blocks[function.name] = CountedBlocks(function.body or (), common)
        if not function.is_entry:
            common = blocks[function.name].end
    return blocks
