"""What a kernel's machine code and PTX say without running: registers, loads in flight, lengths."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.compile import ptx_of
from perf.machine_code.budgets import RESERVED_SHARED
from perf.machine_code.cubins import compile_kernel, resource_usage, sass
from perf.machine_code.reading import bits_of, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cudakern.engines.base import KernelSpec

_PTX = re.compile(r"(?:^|[;{}])\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)(?=[^;{}]*;)", re.MULTILINE)
_REGISTER = re.compile(r"(?<![A-Z])R(\d+)")
_NAMES = re.compile(r"(?<![A-Z])R\d+")
_WAIT = re.compile(r"^DEPBAR\.LE\s+SB\d+,\s*0x([0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Code:
    """A kernel for an architecture.

    Attributes
    ----------
    registers, shared : int
        Of a thread; static shared memory of a block, in bytes.
    batch : int
        Bytes of loads that a thread issues before it waits for one.
    copies : int
        Batches of asynchronous copies that are in flight at once; 0 if there are none.
    instructions, ptx : int
        In machine code and in PTX.
    shuffles_ticket : bool
        Whether what an atomic operation returns is shuffled before anything else is done with it.
    """

    registers: int
    shared: int
    batch: int
    copies: int
    instructions: int
    ptx: int
    shuffles_ticket: bool

    @property
    def per_ptx(self) -> float:
        """Machine instructions for an instruction of PTX: what counts of the simulator are
        multiplied with.
        """
        return self.instructions / self.ptx


@lru_cache(maxsize=None)
def code_of(spec: KernelSpec, arch: str) -> Code:
    """Compile a kernel and read it."""
    cubin = compile_kernel(spec, arch)
    usage, lines = resource_usage([cubin])[spec.entry], sass(cubin)[spec.entry].code
    static = usage.shared - (RESERVED_SHARED if usage.shared >= RESERVED_SHARED else 0)
    used = [line for line in lines if not matches(line, "NOP")]
    waits = [int(found[1], 16) for line in used if (found := _WAIT.match(line))]
    copies = any(matches(line, "LDGSTS") for line in used)
    return Code(
        usage.registers,
        static,
        bytes_in_flight(used),
        max(waits, default=0) + 1 if copies else 0,
        len(used),
        sum(spellings(ptx_of(spec).text()).values()),
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
        registers = [int(number) for number in _REGISTER.findall(instruction)]
        if not pending.isdisjoint(registers):
            pending.clear()
            count = 0
        bits = bits_of(instruction, "LDG")
        if bits:
            pending.update(range(registers[0], registers[0] + max(1, bits // 32)))
            count += bits // 8
            most = max(most, count)
    return most


def shuffles_answer(code: Sequence[str]) -> bool:
    """Return whether an atomic operation's answer is shuffled: ptxas adds up over a warp."""
    for place, line in enumerate(code):
        if matches(line, "ATOMG"):
            answer = f"R{_REGISTER.findall(line)[0]}"
            uses = (later for later in code[place + 1 :] if answer in _NAMES.findall(later))
            if matches(next(uses, "NOP"), "SHFL"):
                return True
    return False


def spellings(ptx: str) -> Counter[str]:
    """Return how many instructions of each spelling a text of PTX has."""
    body = re.sub(r"//[^\n]*|^\s*\.[^\n]*", "", ptx, flags=re.MULTILINE)
    return Counter(_PTX.findall(body))
