"""Ask ptxas in which orders it takes the modifiers of each row of the instruction table.

``python -m tests.simulator.ptx.orders [ptxas]`` writes ``orders.txt`` anew, in some minutes. A line
has the name of an instruction, the count of its operands, and a hexadecimal number with a bit for
each of `orders`, the first in the lowest place, which says whether ptxas takes it. Names that rows
spell and ptxas refuses have a 0. Names that differ only in words of the same kind, such as types,
share the line of the first one if their bits are the same.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from itertools import permutations
from math import factorial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.instructions import CHAPTERS, moves_and_branches
from cudakern.simulator.ptx.model import TYPE_BYTES
from cudakern.simulator.ptx.modifiers import head_of
from tests.helpers import samples
from tests.simulator.ptx.test_instructions import chapter_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cudakern.simulator.ptx.forms import Form

ANSWERS = Path(__file__).with_suffix(".txt")
#: Orders are those of the first target that takes an instruction.
TARGETS = ("sm_90a", "sm_100a", "sm_120a")
#: Names with up to FEW modifiers are tried in all orders, longer ones in all moves and MORE orders.
FEW, MORE = 5, 120
#: How many names of a row are tried in other orders.
NAMES = 3
_DECLARATION = re.compile(
    r"(?<![\w:])(?:\w+: )*\.(?:reg|shared|local|const|global|param|branchtargets)\b[^;{}]*;"
)
_STATEMENT = re.compile(r"(@!?%\w+\s+)?(?<![\w.%])([a-z]\w*(?:\.[\w:]+)*)(?:\s+([^;:]*?))?\s*;")
_SPECIAL = re.compile(r"%(n?tid|n?ctaid|laneid|clock)\b(?!\.)")  # also names of registers
_ERROR = re.compile(r"line (\d+); (?:error|fatal)")
#: Instructions that the chapters have no answers for, since Python writes their C++.
_MOVES = """
.version 9.5
.target sm_90a
.address_size 64
.const .b32 constants[4];
.visible .entry k(.param .u64 p) {
.reg .b16 %h; .reg .b32 %r<5>; .reg .b64 %a<5>; .reg .pred %p; .local .b32 frame[4];
mov.pred %p, %p; mov.u16 %h, %h; mov.f32 %r1, %r2; mov.b64 %a1, %a2; mov.b32 %r1, %r2;
ld.param.u64 %a1, [p]; ld.param::entry.v2.u32 {%r1, %r2}, [p];
ld.acquire.gpu.global.u32 %r1, [%a1]; ld.mmio.relaxed.sys.global.u32 %r1, [%a1];
ld.relaxed.cluster.global.L2::128B.v2.b32 {%r1, %r2}, [%a1];
ld.relaxed.cta.global.L1::evict_last.L2::cache_hint.f32 %r1, [%a1], %a2;
ld.volatile.global.L2::64B.v2.u32 {%r1, %r2}, [%a1]; ld.volatile.shared.u8 %h, [%a1];
ld.volatile.local.u32 %r1, [%a1]; st.volatile.local.v2.u32 [%a1], {%r1, %r2};
ld.global.cv.u32 %r1, [%a1]; ld.weak.global.cg.L2::cache_hint.L2::256B.u32 %r1, [%a1], %a2;
ld.weak.global.ca.L2::128B.v4.f32 {%r1, %r2, %r3, %r4}, [%a1]; ld.const.u32 %r1, [constants];
ld.weak.global.L1::evict_last.L2::cache_hint.L2::128B.v2.b32 {%r1, %r2}, [%a1], %a2;
ld.weak.global.L1::evict_first.L2::evict_last.v4.b64 {%a1, %a2, %a3, %a4}, [%a1];
ld.relaxed.gpu.L1::evict_first.L2::evict_last.v4.b64 {%a1, %a2, %a3, %a4}, [%a1];
ld.global.nc.L2::evict_first.L2::128B.v4.b64 {%a1, %a2, %a3, %a4}, [%a1];
st.global.L1::evict_first.L2::evict_last.v4.b64 [%a1], {%a1, %a2, %a3, %a4};
ld.global.cs.nc.v2.f32 {%r1, %r2}, [%a1]; ld.global.nc.L1::no_allocate.L2::256B.u32 %r1, [%a1];
ld.local.lu.s32 %r1, [frame]; ld.shared::cta.u64 %a1, [%a2]; ldu.global.v2.b32 {%r1, %r2}, [%a1];
st.release.gpu.global.u32 [%a1], %r1; st.mmio.relaxed.sys.global.u32 [%a1], %r1;
st.relaxed.cta.global.L1::evict_last.v2.b32 [%a1], {%r1, %r2};
st.volatile.shared.v2.u32 [%a1], {%r1, %r2}; st.weak.global.wt.u32 [%a1], %r1;
st.weak.global.L1::evict_last.L2::cache_hint.v2.b32 [%a1], {%r1, %r2}, %a2;
st.local.wb.u8 [frame], %h; prefetch.global.L1 [%a1]; prefetch.global.L2::evict_last [%a1];
prefetchu.L1 [%a1]; cvta.to.shared::cta.u64 %a1, %a2; cvta.global.u64 %a1, %a2;
.param .align 8 .b8 q[8]; st.param.v2.b32 [q], {%r1, %r2};
place: targets: .branchtargets place; brx.idx.uni %r1, targets;
}
"""


class Statement(NamedTuple):
    """A statement that ptxas can be asked about."""

    name: str
    before: str  # a predicate
    operands: str
    declarations: tuple[str, str]  # of the module and of the entry


def shape(form: Form, name: str) -> tuple[str, ...]:
    """Return the words of a row's name, with those after its opcode replaced by their kinds."""
    words, head = name.split("."), head_of(name).count(".") + 1
    sets = {word: key for key, word in (form.match(name) or {}).items() if key in form.sets}
    kinds = ("TYPE" if word in TYPE_BYTES else sets.get(word, word) for word in words[head:])
    return (*words[:head], *kinds)


def orders(name: str) -> list[str]:
    """Return a name with its modifiers in other orders.

    If it has many, these are all orders in which one modifier has moved, and some of the others,
    evenly spread.
    """
    opcode, *words = name.split(".")
    if len(words) <= FEW:
        found: Iterable[tuple[str, ...]] = permutations(words)
    else:
        found = [*_moved(words), *_spread(words)]
    return [".".join([opcode, *order]) for order in dict.fromkeys(found)]


def _moved(words: list[str]) -> Iterator[tuple[str, ...]]:
    for source in range(len(words)):
        rest = words[:source] + words[source + 1 :]
        for target in range(len(words)):
            yield (*rest[:target], words[source], *rest[target:])


def _spread(words: list[str]) -> Iterator[tuple[str, ...]]:
    count = factorial(len(words))
    for n in range(MORE):
        rest, rank = [*words], n * count // MORE
        order = []
        for left in range(len(words), 0, -1):
            index, rank = divmod(rank, factorial(left - 1))
            order.append(rest.pop(index))
        yield tuple(order)


def statements(form: Form, text: str) -> Iterator[Statement]:
    """Yield the statements in PTX that belong to a row."""
    text = _SPECIAL.sub(r"%\1_", text)
    module, *entries = re.split(r"(?=\.visible \.entry)", text)
    outer = " ".join(_DECLARATION.findall(module))
    for entry in entries:
        head, _, body = entry.partition("{")
        inner = f"{head} {{ {' '.join(_DECLARATION.findall(body))} .reg .b64 %address;"
        for before, name, operands in _STATEMENT.findall(body):
            if name.partition(".")[0] == form.opcode and form.match(name) is not None:
                places = re.sub(r"\[%[^]]*\]", "[%address]", operands)
                yield Statement(name, before, places, (outer, inner))


class Ptxas:
    """Runs ptxas as a command."""

    def __init__(self, command: str) -> None:
        self._command = command
        self.version = self._run("--version").stdout.split("\n")[-3].split(" V")[-1]
        self.ask = cache(self._ask)

    def _run(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [self._command, *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    def _ask(self, target: str, names: tuple[str, ...], like: Statement) -> tuple[bool, ...]:
        """Return whether ptxas takes each name in place of a statement's."""
        outer, inner = (" ".join(text.split()) for text in like.declarations)
        lines = [f"{like.before}{name} {like.operands};".replace("\n", " ") for name in names]
        taken = [True] * len(names)
        head = f".version 9.5\n.target {target}\n.address_size 64\n{outer}\n{inner}"
        while True:  # syntax errors hide later errors
            asked = [line if ok else "" for line, ok in zip(lines, taken, strict=True)]
            text = "\n".join([head, *asked, "ret; }"])
            result = self._run("-arch", target, "-O0", "/dev/stdin", "-o", "/dev/null", text=text)
            if not result.returncode:
                return tuple(taken)
            wrong = {int(line) - head.count("\n") - 2 for line in _ERROR.findall(result.stderr)}
            if not wrong or not all(0 <= at < len(names) and taken[at] for at in wrong):
                raise RuntimeError(result.stderr + text)
            for at in wrong:
                taken[at] = False


def answers(ptxas: Ptxas, form: Form, texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a row."""
    known = {found.name: found for text in texts for found in statements(form, text)}
    targets: dict[str, str] = {}
    for name, like in known.items():
        asked = (target for target in TARGETS if all(ptxas.ask(target, (name,), like)))
        targets[name] = next(asked, "")
    taken = sorted(filter(targets.get, known), key=lambda name: -name.count("."))
    chosen = {*taken[:1], *taken[:: max(1, len(taken) // (NAMES - 1))]}
    for name, like in known.items():
        target, bits = targets[name], (False,)
        if name in chosen:
            bits = ptxas.ask(target, tuple(orders(name)), like)
        if name in chosen or not target:
            number = sum(bit << place for place, bit in enumerate(bits))
            yield f"{name} {len(form.operands)} {number:x}"


def main(command: str = "ptxas") -> None:
    """Write the answers of ptxas to the file."""
    ptxas = Ptxas(command)
    samples.choose(thorough=True)
    texts = [(f, chapter.texts(f)) for chapter in map(chapter_of, CHAPTERS) for f in chapter.forms]
    texts += [(form, iter([_MOVES])) for form in moves_and_branches.FORMS]
    lines: dict[tuple, str] = {}
    for form, of_form in texts:
        for line in answers(ptxas, form, of_form):
            name, *rest = line.split()
            if name.count(".") > 1:  # otherwise there is one order
                lines.setdefault((shape(form, name), *rest), line)
    ANSWERS.write_text(
        "".join(f"{line}\n" for line in [f"# {ptxas.version}", *dict.fromkeys(lines.values())])
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
