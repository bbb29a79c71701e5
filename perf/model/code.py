"""What a kernel's machine code and PTX say without running: registers, loads in flight, lengths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.compile import ptx_of
from perf.static.budgets import static_shared
from perf.static.cubins import compile_kernel, resource_usage, sass
from perf.static.reading import VECTOR_BITS, bits_of, main_loop, matches, registers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cudakern.engines.base import KernelSpec

_PTX = re.compile(r"^[\s{]+(?:@!?%\w+\s+)?[a-z][\w.:]*(?:\s[^;]*)?;", re.MULTILINE)
_LABEL = re.compile(r"^(\$\w+):")
_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+(\$\w+);")
_MOVES = re.compile(r"\b(?:ld|st)\.global\S*?(?:\.v(\d))?\.[a-z](\d+)\s")
_WAIT = re.compile(r"^DEPBAR\.LE\s+SB\d+,\s*0x([0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Code:
    """A kernel for an architecture."""

    registers: int  # of a thread
    shared: int  # static shared memory of a block, in bytes
    batch: int  # bytes of loads that a thread issues before it waits for one
    copies: int  # batches of asynchronous copies in flight at once; 0 if there are none
    #: Machine instructions for one of PTX, which counts of the simulator are multiplied with: in
    #: the main loop, or else in the kernel; at most 1, as what is more ptxas has unrolled.
    per_ptx: float
    shuffles_ticket: bool  # whether an atomic's answer is shuffled before all else


@cache
def code_of(spec: KernelSpec, arch: str) -> Code:
    """Compile a kernel and read it."""
    cubin = compile_kernel(spec, arch)
    usage, listing = resource_usage([cubin])[spec.entry], sass(cubin)[spec.entry]
    used = [line for line in listing.code if not matches(line, "NOP")]
    waits = [int(found[1], 16) for line in used if (found := _WAIT.match(line))]
    copies = any(matches(line, "LDGSTS") for line in used)
    text, loop = ptx_of(spec).text(), main_loop(listing)
    per_ptx = len(used) / len(_PTX.findall(text))
    in_loop, vectors = loop_of_ptx(text)
    if loop and in_loop:  # for a vector, as ptxas may unroll what is a loop in PTX
        per_ptx = loop.instructions / loop.vectors / (in_loop / vectors)
    return Code(
        usage.registers,
        static_shared(usage),
        bytes_in_flight(used),
        max(waits, default=0) + 1 if copies else 0,
        min(1.0, per_ptx),
        shuffles_answer(used),
    )


def bytes_in_flight(code: Iterable[str]) -> int:
    """Return the bytes of loads that a thread issues at most until one of them is waited for.

    One is waited for by the first instruction that names one of its registers. The code is read in
    the order of its addresses.
    """
    most = count = 0
    pending: set[int] = set()
    for instruction in code:
        named = registers(instruction)
        if not pending.isdisjoint(named):
            pending.clear()
            count = 0
        bits = bits_of(instruction, "LDG")
        if bits:
            pending.update(range(named[0], named[0] + max(1, bits // 32)))
            count += bits // 8
            most = max(most, count)
    return most


def shuffles_answer(code: Sequence[str]) -> bool:
    """Return whether an atomic operation's answer is shuffled: ptxas adds up over a warp."""
    for place, line in enumerate(code):
        if matches(line, "ATOMG"):
            answer = registers(line)[0]
            uses = (later for later in code[place + 1 :] if answer in registers(later))
            if matches(next(uses, "NOP"), "SHFL"):
                return True
    return False


def loop_of_ptx(text: str) -> tuple[int, int]:
    """Return instructions and vectors of the innermost loop of a PTX that moves most of those."""
    lines = text.splitlines()
    labels: dict[str, int] = {}
    loops = []
    for last, line in enumerate(lines):
        if label := _LABEL.match(line):
            labels[label[1]] = last
        branch = _BRANCH.search(line)
        if branch and branch[1] in labels:
            first = labels[branch[1]]
            body = "\n".join(lines[first : last + 1])
            widths = (int(many or 1) * int(bits) for many, bits in _MOVES.findall(body))
            loops.append((first, last, sum(w >= VECTOR_BITS for w in widths), body))
    moving = [loop for loop in loops if loop[2]]
    inner = [
        (vectors, len(_PTX.findall(body)))
        for first, last, vectors, body in moving
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b, *_ in moving)
    ]
    most, instructions = max(inner, default=(0, 0))
    return instructions, most
