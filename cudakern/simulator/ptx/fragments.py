"""Fragments that stay together: registers that only matrix instructions use, as vectors.

They are arrays in C++, which these instructions take as they are. Kernels of products have hundreds
of them; as registers, each would be copied one by one, at every instruction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.model import TYPE_BYTES, Label, Register, Vector
from cudakern.simulator.ptx.operations import Op

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cudakern.simulator.ptx.model import Operand
    from cudakern.simulator.ptx.operations import Body


class Fragment(NamedTuple):
    """The place of a fragment among the words of so many bytes."""

    bytes: int  # of a register
    offset: int  # in registers
    registers: int


_EVERYWHERE = (0, 1 << 62)
#: By the names of their registers.
Fragments = Mapping[tuple[str, ...], Fragment]


def names_of(operand: Operand | None) -> tuple[str, ...]:
    """Return the registers of a vector; nothing for another operand."""
    if not isinstance(operand, Vector):
        return ()
    items = [item for item in operand.items if isinstance(item, Register)]
    is_plain = len(items) == len(operand.items) and not any(i.offset or i.negated for i in items)
    return tuple(item.name for item in items) if is_plain else ()


def fragments_of(body: Body) -> Fragments:
    """Return the fragments of a function; those that are not needed at once share places."""
    uses: dict[tuple[str, ...], list[tuple[int, bool]]] = {}  # where, whether it is surely written
    inside: Counter[str] = Counter()
    for position, names, writes in _vectors(body):
        uses.setdefault(names, []).append((position, writes))
        inside.update(names)
    if not uses:
        return {}
    everywhere = Counter(name for op in body.ops for name in (*op.writes, *op.reads))
    owners = Counter(name for names in uses for name in {*names})
    edges = [*_edges(body)]
    spans = []
    for names, places in uses.items():
        sizes = {TYPE_BYTES.get(body.registers.type_of(name) or "", 0) for name in names}
        is_alone = all(inside[n] == everywhere[n] and owners[n] == 1 for n in names)
        if is_alone and len({*names}) == len(names) and len(sizes) == 1 and sizes <= {4, 8}:
            spans.append((*_span(places, edges), sizes.pop(), names))
    return _placed(sorted(spans))


def _vectors(body: Body) -> Iterator[tuple[int, tuple[str, ...], bool]]:
    """Yield the vectors of matrix instructions: where, their registers, whether those are results.

    Sources come first.
    """
    for position, op in enumerate(body.statements):
        if isinstance(op, Op) and "matrix" in op.form.effects:
            for operand in (*op.sources, *op.results):
                names = names_of(operand)
                if names:
                    yield position, names, operand in op.results and op.guard is None


def _edges(body: Body) -> Iterator[tuple[int, int]]:
    """Yield from where to where branches lead."""
    labels = {s.name: i for i, s in enumerate(body.statements) if isinstance(s, Label)}
    for position, statement in enumerate(body.statements):
        if isinstance(statement, Op):
            yield from ((position, labels[n]) for n in statement.targets if n in labels)


def _span(places: Sequence[tuple[int, bool]], edges: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the first and the last statement between which a fragment may be needed.

    That is the whole text, unless it is surely written before all uses, on each way.
    """
    (start, is_written), end = places[0], places[-1][0]
    pending = is_written
    while pending:
        pending = False
        for source, target in edges:
            if start < target <= end and not start <= source <= end:
                if source < start:
                    return _EVERYWHERE
                end, pending = source, True
            elif target <= start <= source < end:  # of a loop, behind which it is used
                start, pending = target, target < start
    return (start, end) if is_written else _EVERYWHERE


def _placed(spans: Sequence[tuple[int, int, int, tuple[str, ...]]]) -> Fragments:
    placed: dict[tuple[str, ...], Fragment] = {}
    totals: Counter[int] = Counter()
    taken: list[tuple[int, Fragment]] = []  # until when
    free: dict[tuple[int, int], list[Fragment]] = {}
    for start, end, size, names in spans:
        for until, fragment in taken:
            if until < start:
                free.setdefault((fragment.bytes, fragment.registers), []).append(fragment)
        taken = [pair for pair in taken if pair[0] >= start]
        known = free.get((size, len(names)))
        if known:
            fragment = known.pop()
        else:
            fragment = Fragment(size, totals[size], len(names))
            totals[size] += len(names)
        placed[names] = fragment
        taken.append((end, fragment))
    return placed
