"""What the machine code of every kernel is held to: `faults` says what is broken.

A main loop has a budget of instructions for each 16 bytes that it moves. An H200 that copies within
its memory has time for 124 of a lane. Half of that is the budget, since the rest of a kernel and
waiting take time as well. Loops that need more are listed with the reason. Above 124, arithmetic
decides how fast they are, wherever memory could give whole sectors at once. The figures were read
from code for several architectures, with some percent of room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern._dtypes import DataType
from cudakern.operators.reduce.types import ARG_FUNCTIONS, ReduceFunction
from perf.static import budgets_indexing, budgets_reduce
from perf.static.kernels import NONZERO, REDUCE

if TYPE_CHECKING:
    from types import ModuleType

    from perf.static.cubins import Listing, Usage
    from perf.static.figures import Figures
    from perf.static.kernels import Kernel

RESERVED_SHARED = 1024  # bytes that sm_90 and later take for themselves
#: Bytes in flight that a multiprocessor of an H200 needs, where a thread promises loads.
STREAMING_ARCH, MIN_BYTES_IN_FLIGHT = "sm_90", 48 * 1024
#: Instructions of a main loop for 16 bytes.
MOST = 62


class Allowance:
    """More instructions that the main loops of some kernels may have, and why.

    Operators and variants are separated by spaces; a variant may have a rank, as labels do, and no
    variant stands for all. At most `most` instructions may serve 16 bytes. Each of the facts is an
    attribute of the kernels with its value, or with several values in a tuple.
    """

    def __init__(
        self, operators: str, variants: str, most: int, reason: str, **facts: object
    ) -> None:
        self._operators, self._variants = operators.split(), set(variants.split())
        self.most, self.reason, self._facts = most, reason, facts

    def fits(self, kernel: Kernel) -> bool:
        """Return whether a kernel is one of them."""
        if kernel.operator not in self._operators:
            return False
        if self._variants and not self._variants & {kernel.variant, kernel.label}:
            return False
        return all(
            getattr(kernel, name) in (value if isinstance(value, tuple) else (value,))
            for name, value in self._facts.items()
        )


_PLACES = "each element finds its place in x from an index of its own"
_WIDE_PLACES = f"{_PLACES}, in 64 bits"
_TRANSPOSES = "elements of a column lie side by side, their bits belong to rows"
_WIDE_TRANSPOSES = f"{_TRANSPOSES}, whose places have 64 bits"
_OFFSETS = "offsets of several dimensions"
_ANEW = "each vector of 16 bytes finds its plane and column anew"
_EXPONENTIAL = "an exponential in float64 for each element"
_WITH_PLACES = "8 elements, with their places"
_INDEXING = f"gather gather_nd one_hot {NONZERO}"
_DOUBLE = {"function": ReduceFunction.LOG_SUM_EXP, "result": DataType.FLOAT64}
_EIGHT = (DataType.FLOAT16, DataType.BFLOAT16)
_BYTES = (DataType.INT8, DataType.UINT8, DataType.BOOL)
_ARG = tuple(ARG_FUNCTIONS)
#: Instructions of packed kernels by operator and offsets: of widths 1, 2, 4 and 8; in the second
#: row, where elements may be filled.
_PACKED = {
    ("gather", False): ((152, 102, 75, 65), (235, 146, 96, 70)),
    ("gather", True): ((232, 180, 140, 118), (295, 222, 160, 118)),
    ("gather_nd", False): ((290, 205, 155, 120),) * 2,
    ("gather_nd", True): ((405, 320, 260, 205),) * 2,
}
#: The first that fits counts.
ALLOWANCES = (
    *(
        Allowance(operator, "packed", most, reason, width=width, wide=wide, mode=modes)
        for (operator, wide), rows in _PACKED.items()
        for modes, row in zip((("kClamp", "kWrap"), "kFill"), rows, strict=True)
        for width, most in zip((1, 2, 4, 8), row, strict=True)
        for reason in ((_WIDE_PLACES if wide else _PLACES) + ", or is filled" * (modes == "kFill"),)
    ),
    Allowance("gather_nd", "spliced", 65, _WIDE_PLACES, wide=True),
    Allowance("gather", "scalars", 120, f"{_WIDE_PLACES}, and wraps it", wide=True, mode="kWrap"),
    Allowance("gather", "scalars", 85, _WIDE_PLACES, wide=True),
    Allowance("gather_nd", "strided_r8", 75, _OFFSETS, width=16, wide=False),
    Allowance(_INDEXING, "strided_r4 strided_r16", 115, f"{_OFFSETS}, wide", width=16, wide=True),
    Allowance("one_hot", "planes", 95, _ANEW),
    Allowance(NONZERO, "columns", 195, _TRANSPOSES, width=1, wide=False),
    Allowance(NONZERO, "columns", 122, _TRANSPOSES, width=2, wide=False),
    Allowance(NONZERO, "columns", 80, _TRANSPOSES, width=(4, 8), wide=False),
    Allowance(NONZERO, "columns", 260, _WIDE_TRANSPOSES, width=1, wide=True),
    Allowance(NONZERO, "columns", 185, _WIDE_TRANSPOSES, width=2, wide=True),
    Allowance(NONZERO, "columns", 140, _WIDE_TRANSPOSES, width=(4, 8), wide=True),
    Allowance(NONZERO, "parts", 120, _TRANSPOSES, wide=False),
    Allowance(NONZERO, "parts", 180, _WIDE_TRANSPOSES, wide=True),
    Allowance(REDUCE, "vectors columns", 335, _EXPONENTIAL, **_DOUBLE),
    Allowance(REDUCE, "", 135, _EXPONENTIAL, **_DOUBLE),
    Allowance(REDUCE, "", 90, "8 exponentials", function=ReduceFunction.LOG_SUM_EXP, kind=_EIGHT),
    Allowance(REDUCE, "stream", 80, f"{_WITH_PLACES}, wide", function=_ARG, kind=_EIGHT, wide=True),
    Allowance(REDUCE, "stream warps", 70, _WITH_PLACES, function=_ARG, kind=_EIGHT),
    Allowance(REDUCE, "vectors", 85, _WITH_PLACES, function=_ARG, kind=_EIGHT),
    Allowance(
        *(REDUCE, "columns", 124, "as the next, made positive"),
        function=ReduceFunction.L1,
        kind=DataType.INT8,
    ),
    Allowance(REDUCE, "columns", 100, "a state each for 16 bytes, some missing", kind=_BYTES),
    Allowance(REDUCE, "columns", 80, _WITH_PLACES, function=_ARG),
    Allowance(REDUCE, "vectors", 115, f"{_OFFSETS} beside the loads", rank=(3, 8)),
    Allowance(
        *(REDUCE, "", 85, "a square root for each element"),
        function=ReduceFunction.L1,
        kind=DataType.COMPLEX64,
    ),
)


def max_per_vector(kernel: Kernel) -> int:
    """Return how many instructions the main loop of a kernel may have for 16 bytes."""
    return next((a.most for a in ALLOWANCES if a.fits(kernel)), MOST)


def rules_of(kernel: Kernel) -> ModuleType:
    """Return the module with the rules that a kernel is held to."""
    return budgets_reduce if kernel.operator == REDUCE else budgets_indexing


def faults(kernel: Kernel, figures: Figures, usage: Usage, listing: Listing) -> list[str]:
    """Return what is broken of what a kernel is held to, a line each."""
    rules = rules_of(kernel)
    wrong = resource_faults(usage, rules.max_registers(kernel))
    wrong += rules.code_faults(kernel, listing.code)
    return wrong + throughput_faults(kernel, figures, loads=rules.loads_of(kernel))


def static_shared(usage: Usage) -> int:
    """Return the bytes of static shared memory of a kernel's own."""
    return usage.shared - (RESERVED_SHARED if usage.shared >= RESERVED_SHARED else 0)


def resource_faults(usage: Usage, registers: int) -> list[str]:
    """Return what a kernel takes beyond so many registers, or at all."""
    wrong = []
    if usage.stack or usage.local:
        wrong.append(f"{usage.stack} bytes of stack and {usage.local} of local memory, not none")
    if usage.registers > registers:
        wrong.append(f"{usage.registers} registers, more than {registers}")
    if usage.shared > RESERVED_SHARED:
        wrong.append(f"{usage.shared} bytes of static shared memory, not none")
    return wrong


def throughput_faults(kernel: Kernel, figures: Figures, *, loads: int) -> list[str]:
    """Return what keeps a kernel from the bandwidth of memory; it promises so many loads."""
    wrong, promised = [], kernel.spec.resident_blocks
    if figures.blocks_by_registers < promised:
        wrong.append(f"{figures.blocks_by_registers} blocks, not {promised}")
    streams = loads and figures.arch == STREAMING_ARCH
    if streams and figures.bytes_in_flight < MIN_BYTES_IN_FLIGHT:
        wrong.append(f"{figures.bytes_in_flight} bytes in flight, not {MIN_BYTES_IN_FLIGHT}")
    most = max_per_vector(kernel)
    if figures.per_16_bytes is not None and figures.per_16_bytes > most:
        wrong.append(f"{figures.per_16_bytes:.1f} instructions for 16 bytes, more than {most}")
    return wrong
