"""Reading machine code: its instructions, loads in flight, loops; the figures of a kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cudakern.engines.base import THREADS
from cudakern.values.layout import VECTOR_BYTES
from perf.static.occupancy import LIMITS, WARP, resident_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perf.static.cubins import Listing, Usage
    from perf.static.kernels import BudgetedKernel

VECTOR_BITS = 8 * VECTOR_BYTES
_PREDICATE = re.compile(r"^@!?U?PT?\d*\s+")
_REGISTER = re.compile(r"(?<![A-Z])R(\d+)")
# The target of a call, such as __cuda_sm20_div_u64. On sm_75, votes, shuffles and __syncwarp are
# calls as well where a warp may have diverged.
_DIVISION = re.compile(r"__cuda_\w+_(div|rem)_")
_BRANCH = re.compile(r"\bBRA\b.*?(\.L_x_\d+)")
_BITS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}
_GLOBAL = ("LDG", "STG")
_ATOMICS = ("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS")


class Loop(NamedTuple):
    """A loop: its first and last instruction, what its global loads and stores move in a turn."""

    first: int
    last: int
    vectors: int
    moved: float

    @property
    def instructions(self) -> int:
        """Its length."""
        return self.last - self.first + 1

    @property
    def per_vector(self) -> float:
        """Instructions for each 16 bytes moved."""
        return self.instructions * VECTOR_BYTES / self.moved


def opcode(instruction: str) -> str:
    """Return the opcode of an instruction with its modifiers, such as ``LDG.E.128.CONSTANT``."""
    return _PREDICATE.sub("", instruction).split(maxsplit=1)[0]


def matches(instruction: str, name: str, *modifiers: str) -> bool:
    """Return whether an instruction is of this name and has these modifiers, in any order."""
    first, *rest = opcode(instruction).split(".")
    return first == name and set(modifiers) <= set(rest)


def registers(instruction: str) -> list[int]:
    """Return the numbers of the registers that an instruction names: of several, the first."""
    return [int(number) for number in _REGISTER.findall(instruction)]


def loads_in_flight(code: Iterable[str], bits: int = VECTOR_BITS, *modifiers: str) -> list[int]:
    """Return how many loads are issued, each time until one of them is waited for.

    The first instruction that names one of a load's registers, as a source or to overwrite it,
    waits for the load. The first of its registers, four for 128 bits and two for 64, has a multiple
    of that as its number. A branch ends no group.
    """
    width = bits // 32
    groups: list[int] = []
    pending: set[int] = set()  # by their first registers
    count = 0
    for instruction in code:
        named = registers(instruction)
        if any(number // width * width in pending for number in named):
            groups.append(count)
            pending.clear()
            count = 0
        if matches(instruction, "LDG", str(bits), *modifiers):
            pending.add(named[0])
            count += 1
    return groups + [count] * (count > 0)


def divides(instruction: str) -> bool:
    """Return whether an instruction belongs to an integer division, written out or called.

    A call of something else does not: from sm_80 to sm_89, some branches within a kernel are calls.
    """
    name = opcode(instruction)
    converts = name.split(".")[0] in {"I2F", "I2FP", "UI2F", "F2I"} or name.startswith("MUFU.RCP")
    return converts or _DIVISION.search(instruction) is not None


def bits_of(instruction: str, *names: str) -> int:
    """Return the width of a load or store with one of these names, in bits; 0 for anything else."""
    first, *modifiers = opcode(instruction).split(".")
    if first not in names:
        return 0
    return next((_BITS[modifier] for modifier in modifiers if modifier in _BITS), 32)


def widest(code: Iterable[str], name: str) -> int:
    """Return the width of the widest load or store of a name, in bits; 0 if there is none."""
    return max((bits_of(line, name) for line in code), default=0)


def is_atomic(instruction: str) -> bool:
    """Return whether an instruction is an atomic operation, in memory or shared memory."""
    return opcode(instruction).split(".")[0] in _ATOMICS


def vector_loops(listing: Listing) -> list[Loop]:
    """Return the innermost loops, from a label to a branch back, that move vectors of 16 bytes."""
    loops = []
    for last, line in enumerate(listing.code):
        branch = _BRANCH.search(line)
        first = listing.labels.get(branch[1], last + 1) if branch else last + 1
        if first <= last:
            bits = [bits_of(line, *_GLOBAL) for line in listing.code[first : last + 1]]
            vectors = sum(width >= VECTOR_BITS for width in bits)
            loops.append(Loop(first, last, vectors, sum(bits) / 8))
    moving = [loop for loop in loops if loop.vectors]
    return [
        loop
        for loop in moving
        if not any(loop.first <= o.first and o.last <= loop.last for o in moving if o != loop)
    ]


def main_loop(listing: Listing) -> Loop | None:
    """Return the loop that moves most vectors in a turn; of several, the longest one."""
    loops = vector_loops(listing)
    return max(loops, key=lambda loop: (loop.vectors, loop.instructions), default=None)


@dataclass(frozen=True, slots=True)
class Figures:
    """What the machine code of a kernel says, for one architecture."""

    entry: str
    operator: str
    variant: str
    arch: str
    registers: int  # of a thread
    stack: int  # bytes of a thread's stack
    local: int  # bytes of a thread's local memory
    blocks_by_registers: int  # that a multiprocessor holds, by registers and threads alone
    blocks: int  # the same, with shared memory
    warps: int  # of these blocks
    loads_in_flight: int  # 16-byte loads that a thread issues before it waits for one
    bytes_in_flight: int  # of a multiprocessor: blocks by threads by loads by 16
    load_bits: int  # of the widest load of global memory
    store_bits: int  # of the widest store
    loop_instructions: int  # of the loop that moves most vectors; 0 if no loop moves any
    per_16_bytes: float | None  # of that loop, for what its loads and stores move
    divisions: int  # instructions that divisions of integers are made of; also conversions
    fences: int
    atomics: int
    faults: tuple[str, ...] = ()  # the budgets that the kernel breaks


def read_figures(kernel: BudgetedKernel, arch: str, usage: Usage, listing: Listing) -> Figures:
    """Return the figures of a kernel that was compiled for an architecture."""
    code, threads = listing.code, kernel.spec.threads
    shared = min(kernel.spec.most_shared, LIMITS[arch].shared - LIMITS[arch].reserved)
    blocks = resident_blocks(arch, usage.registers, shared, threads)
    loads = max(loads_in_flight(code), default=0)
    loop = main_loop(listing)
    return Figures(
        entry=kernel.entry,
        operator=kernel.operator,
        variant=kernel.label,
        arch=arch,
        registers=usage.registers,
        stack=usage.stack,
        local=usage.local,
        blocks_by_registers=resident_blocks(arch, usage.registers, 0, threads),
        blocks=blocks,
        warps=blocks * threads // WARP,
        loads_in_flight=loads,
        bytes_in_flight=blocks * THREADS * loads * 16,
        load_bits=widest(code, "LDG"),
        store_bits=widest(code, "STG"),
        loop_instructions=loop.instructions if loop else 0,
        per_16_bytes=loop.per_vector if loop else None,
        divisions=sum(map(divides, code)),
        fences=sum(matches(line, "MEMBAR") for line in code),
        atomics=sum(map(is_atomic, code)),
    )
