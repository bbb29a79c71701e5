"""What the machine code of all operators but reduce is held to."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from cudakern.values.layout import VECTOR_BYTES
from perf.static.faults import Fault, Kind
from perf.static.kernels import NONZERO
from perf.static.reading import divides, loads_in_flight, matches, opcode, registers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.static.kernels import BudgetedKernel

#: Registers of a thread, with 256 threads a block for 4 blocks a multiprocessor, or 288 for 3, or
#: 512 for one.
MAX_REGISTERS, NONZERO_REGISTERS, WINDOW_REGISTERS = 64, 72, 128
#: Instructions in which an element is taken from a window, its load among them, and elements that
#: are taken together, without a branch.
WINDOW_TAKE, WINDOW_GROUP = 7, 8
#: Variants that write a packed output.
STREAMS = {"rows", "planes", "spliced", "packed", "scalars", "stream"}
SLOTS = 4  # 16-byte reads of a thread that rows and planes promise to have in flight
#: The same for variants of nonzero_coordinates, and modifiers of these reads: no place in L1.
NONZERO_LOADS: dict[str, tuple[int, tuple[str, ...]]] = {
    "stream": (8, ("NA",)),
    "bits": (8, ("NA",)),
    "columns": (8, ("NA",)),
}
#: Those that write coordinates, and of these those whose blocks look back.
WRITERS, LOOKING_BACK = {"stream", "strided", "rows"}, {"stream", "strided"}
LOOK_BACK_READS = 8  # words of other blocks that a thread reads at once


def max_registers(kernel: BudgetedKernel) -> int:
    """Return how many registers a thread may have."""
    if kernel.variant == "windows":
        return WINDOW_REGISTERS
    return NONZERO_REGISTERS if _writes_coordinates(kernel) else MAX_REGISTERS


def loads_of(kernel: BudgetedKernel) -> int:
    """Return how many 16-byte loads a thread must have in flight; 0 where it need not."""
    if kernel.operator == NONZERO:
        return _nonzero_loads(kernel)[0]
    return SLOTS if keeps_loads_in_flight(kernel) else 0


def keeps_loads_in_flight(kernel: BudgetedKernel) -> bool:
    """Return whether this is a variant that copies 16-byte slots, several at a time."""
    return kernel.variant in {"rows", "planes"} and kernel.operator.startswith("gather")


def reads_index_vectors(kernel: BudgetedKernel) -> bool:
    """Return whether this is the variant scalars with 16 bytes of indices to an output vector."""
    index_bytes = 8 if "64" in kernel.macros.get("CK_INDEX_T", "") else 4
    return kernel.variant == "scalars" and index_bytes >= kernel.width


def code_faults(kernel: BudgetedKernel, code: Sequence[str]) -> list[Fault]:
    """Return what is wrong with the instructions of a kernel."""
    wrong = []
    stores = [line for line in code if matches(line, "STG")]
    others = [line for line in stores if not matches(line, "STG", "E", "EF", "128")]
    if kernel.macros.get("CK_OFFSET_T") == "ck::uint32":
        wrong += [Fault(Kind.DIVISION, line) for line in code if divides(line)]
    is_strided = kernel.label in {"strided_r2", "strided_r4"} and kernel.width == VECTOR_BYTES
    streams = kernel.label in STREAMS and kernel.operator != NONZERO
    is_stream = streams or _writes_coordinates(kernel)
    if (is_strided or is_stream) and others == stores:
        wrong.append(Fault(Kind.NO_VECTOR_STORE))
    if (keeps_loads_in_flight(kernel) or reads_index_vectors(kernel)) and not any(
        matches(line, "LDG", "E", "128") for line in code
    ):
        wrong.append(Fault(Kind.NO_VECTOR_LOAD))
    if keeps_loads_in_flight(kernel):
        # Whole tiles read all slots at once. In the last, partial tile the compiler may move a read
        # behind the test whether its slot exists: those are groups of their own.
        groups = loads_in_flight(code)
        if max(groups, default=0) < SLOTS:
            wrong.append(Fault(Kind.LOADS_OF_TILES, groups, SLOTS))
        wrong += [Fault(Kind.OTHER_STORE, line) for line in others]
    if kernel.variant == "windows":
        wrong += [Fault(Kind.TAKES, n, WINDOW_TAKE) for n in _takes(code) if n > WINDOW_TAKE]
    return wrong + (_nonzero_faults(kernel, code) if kernel.operator == NONZERO else [])


def _takes(code: Sequence[str]) -> list[float]:
    """Return the instructions for a load from shared memory of each part that has a group."""
    ends = [k for k, line in enumerate(code) if matches(line, "BRA")]
    parts = [code[a + 1 : b] for a, b in pairwise([-1, *ends])]
    loads = [sum(matches(line, "LDS") for line in part) for part in parts]
    return [len(p) / n for p, n in zip(parts, loads, strict=True) if n >= WINDOW_GROUP] or [inf]


def _nonzero_loads(kernel: BudgetedKernel) -> tuple[int, tuple[str, ...]]:
    loads, modifiers = NONZERO_LOADS.get(kernel.variant, (0, ()))
    halves = kernel.variant == "columns" and kernel.wide and kernel.rank > 1
    return loads // 2 if halves else loads, modifiers


def _writes_coordinates(kernel: BudgetedKernel) -> bool:
    return kernel.operator == NONZERO and kernel.variant in WRITERS


def _nonzero_faults(kernel: BudgetedKernel, code: Sequence[str]) -> list[Fault]:
    wrong = []
    promised, modifiers = _nonzero_loads(kernel)
    groups = loads_in_flight(code, 128, *modifiers)
    if max(groups, default=0) < promised:
        wrong.append(Fault(Kind.STREAMED_LOADS if modifiers else Kind.LOADS, groups, promised))
    if kernel.variant not in LOOKING_BACK:
        return wrong
    groups = loads_in_flight(code, 64, "STRONG", "GPU")
    if max(groups, default=0) < LOOK_BACK_READS:
        wrong.append(Fault(Kind.LOOK_BACK, groups, LOOK_BACK_READS))
    # A ticket is drawn before the look-back, and its answer used after: nothing waits for it.
    if max(_reads_before_answers(code), default=0) < LOOK_BACK_READS:
        wrong.append(Fault(Kind.TICKET, _reads_before_answers(code)))
    # A block waits for others with relaxed reads. Fences, or what an acquiring read puts behind
    # itself, belong only where the workspace is emptied, after the last of them.
    reads = [k for k, line in enumerate(code) if matches(line, "LDG", "STRONG")]
    before = code[: max(reads, default=0)]
    fences = [line for line in before if any(matches(line, name) for name in ("MEMBAR", "CCTL"))]
    return wrong + [Fault(Kind.FENCE, opcode(line)) for line in fences]


def _reads_before_answers(code: Sequence[str]) -> list[int]:
    """Return, for each ticket, how many words of others are read before its answer is used."""
    counts = []
    for k, line in enumerate(code):
        if not matches(line, "ATOMG", "ADD", "64"):
            continue
        low, reads = registers(line)[0], 0
        for later in code[k + 1 :]:
            if {low, low + 1} & set(registers(later)):
                break
            reads += matches(later, "LDG", "64", "STRONG", "GPU")
        counts.append(reads)
    return counts
