"""More instructions than others that main loops of some kernels may have, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from cudakern.operators.reduce.types import ReduceFunction
from cudakern.values.dtypes import DataType
from perf.static.faults import Fault, Kind
from perf.static.kernels import NONZERO, REDUCE
from perf.static.reading import opcode

if TYPE_CHECKING:
    from perf.static.kernels import BudgetedKernel

#: Instructions of a main loop for 16 bytes.
MOST = 62


@dataclass(frozen=True, slots=True)
class Allowance:
    """What some kernels may have, and why. An empty set of a fact stands for all of its values."""

    reason: str
    operator: str
    variants: Collection[str]  # with or without a rank, as in labels
    most: int | Mapping[int, int]  # instructions for 16 bytes; or those of each width in bytes
    _: KW_ONLY
    wide: bool | None = None  # whether offsets have 64 bits; None for both
    modes: Collection[str] = ()
    ranks: Collection[int] = ()
    functions: Collection[ReduceFunction] = ()
    kinds: Collection[DataType] = ()
    results: Collection[DataType] = ()
    spilled: Collection[int] = ()  # bytes that a thread may keep in memory: one of these
    loads: int = 0  # 16-byte loads in flight that are enough; 0 for as many as of other kernels

    def fits(self, kernel: BudgetedKernel) -> bool:
        """Return whether a kernel is one of those it is about."""
        names, reduction = {kernel.variant, kernel.label}, kernel.reduction
        facts: list[tuple[Collection[object], object]] = [
            (self.modes, kernel.macros.get("CK_MODE")),
            (self.ranks, kernel.rank),
            (self.functions, reduction and reduction.function),
            (self.kinds, reduction and reduction.kind),
            (self.results, reduction and reduction.result),
        ]
        return (
            kernel.operator == self.operator
            and (not self.variants or not names.isdisjoint(self.variants))
            and (isinstance(self.most, int) or kernel.width in self.most)
            and self.wide in {None, kernel.wide}
            and all(not legal or value in legal for legal, value in facts)
        )

    def instructions(self, kernel: BudgetedKernel) -> int:
        """Return how many instructions for 16 bytes a kernel that fits may have."""
        return self.most if isinstance(self.most, int) else self.most[kernel.width]

    def excuses(self, fault: Fault) -> bool:
        """Return whether a kernel that fits may have a fault."""
        if fault.kind is Kind.SPILLS:
            return fault.found.stack in self.spilled and not fault.found.local
        if fault.kind is Kind.USELESS:
            return bool(self.spilled) and opcode(fault.found).split(".")[0] in {"STL", "LDL"}
        is_about_loads = fault.kind is Kind.LOADS and self.loads > 0
        return is_about_loads and max(fault.found, default=0) >= self.loads


_OWN_INDEX = "each element finds its place in x from an index of its own, or is filled"
_SEVERAL = "offsets of several dimensions"
_DOUBLES = "an exponential in float64 for each element"
_ALIKE = "an exponential for each element, once for those of one shift and once for others"
_ONE_BY_ONE = "elements are read one by one from shared memory"
_PLACES = "8 elements, with their places"
_STATES = "a state each for 16 bytes, some missing; L1 makes them positive"
_LONGER = "loops are longer here"
_REGISTERS = "few registers are missing here"
_BY_PARTS = "complex numbers are compared part by part"
_ANYWHERE = "8 elements, wherever a row starts"
_ADDRESS = "outside of the loops, an address waits until they have ended"

_ALL: Collection[str] = ()
_NEAREST = {"kClamp", "kWrap"}
_ARG = {ReduceFunction.ARGMAX, ReduceFunction.ARGMIN}
_EXP, _L1, _L2 = {ReduceFunction.LOG_SUM_EXP}, {ReduceFunction.L1}, {ReduceFunction.L2}
_ROOTS = _L2 | {ReduceFunction.AVERAGE, ReduceFunction.LOG_SUM}
_EXTREMES = _ARG | {ReduceFunction.MAX, ReduceFunction.MIN}
_SUMS = _ROOTS | _L1 | {ReduceFunction.SUM, ReduceFunction.SUM_SQUARE}
_BYTES = {DataType.INT8, DataType.UINT8, DataType.BOOL}
_SHORTS = {DataType.INT16, DataType.UINT16}
_INTEGERS = {kind for kind in DataType if kind.name.lstrip("U").startswith("INT")}
_HALVES = {DataType.FLOAT16, DataType.BFLOAT16}
_FLOAT64, _COMPLEX64 = {DataType.FLOAT64}, {DataType.COMPLEX64}
_COMPLEX = {DataType.COMPLEX64, DataType.COMPLEX128}

#: The first that fits counts. Figures were read from code for several architectures, with some
#: percent of room.
ALLOWANCES = (
    Allowance(_OWN_INDEX, "gather", {"packed"}, {1: 152, 2: 102, 4: 75, 8: 65},
              wide=False, modes=_NEAREST),
    Allowance(_OWN_INDEX, "gather", {"packed"}, {1: 235, 2: 146, 4: 96, 8: 70},
              wide=False, modes={"kFill"}),
    Allowance(_OWN_INDEX, "gather", {"packed"}, {1: 232, 2: 180, 4: 140, 8: 118},
              wide=True, modes=_NEAREST),
    Allowance(_OWN_INDEX, "gather", {"packed"}, {1: 295, 2: 222, 4: 160, 8: 118},
              wide=True, modes={"kFill"}),
    Allowance("bytes one by one, written in two ways", "gather", {"windows"}, {1: 125}),
    Allowance("positions are put together of three bytes", "gather", {"windows_long"},
              {2: 66, 4: 66}),
    Allowance(_OWN_INDEX, "gather_nd", {"packed"}, {1: 290, 2: 205, 4: 155, 8: 120}, wide=False),
    Allowance(_OWN_INDEX, "gather_nd", {"packed"}, {1: 405, 2: 320, 4: 260, 8: 205}, wide=True),
    Allowance(_OWN_INDEX, "gather_nd", {"spliced"}, 65, wide=True),
    Allowance(_OWN_INDEX, "gather", {"scalars"}, 120, wide=True, modes={"kWrap"}),
    Allowance(_OWN_INDEX, "gather", {"scalars"}, 85, wide=True),
    Allowance(_SEVERAL, "gather_nd", {"strided_r8"}, {16: 75}, wide=False),
    *(Allowance(_SEVERAL, operator, {"strided_r4", "strided_r16"}, {16: 115}, wide=True)
      for operator in ("gather", "gather_nd", "one_hot", NONZERO)),
    Allowance("each vector of 16 bytes finds its plane and column anew", "one_hot", {"planes"}, 95),
    Allowance(_SEVERAL, NONZERO, {"columns"}, 118, wide=True, ranks={4}),
    Allowance(_DOUBLES, REDUCE, _ALL, 640, functions=_EXP, results=_FLOAT64),
    Allowance(f"8 elements; {_ALIKE}", REDUCE, _ALL, 365, functions=_EXP, kinds=_HALVES,
              spilled={8, 24, 32}),
    Allowance(_ALIKE, REDUCE, _ALL, 410, functions=_EXP),
    Allowance(_ONE_BY_ONE, REDUCE, {"tiles"}, 90),
    Allowance("a product of complex numbers for each element", REDUCE, _ALL, 95,
              functions={ReduceFunction.MULTIPLY}, kinds=_COMPLEX, loads=6),
    Allowance(_PLACES, REDUCE, {"blocks"}, 80, functions=_ARG, kinds=_HALVES, wide=True),
    Allowance(_PLACES, REDUCE, {"blocks", "warps"}, 75, functions=_ARG, kinds=_HALVES),
    Allowance(_PLACES, REDUCE, {"columns"}, 85, functions=_ARG, kinds=_HALVES),
    Allowance(_ANYWHERE, REDUCE, {"blocks", "warps"}, 90, kinds=_HALVES, spilled={8}),
    Allowance(f"{_ANYWHERE}, in float64", REDUCE, {"blocks", "warps"}, 95, kinds=_INTEGERS,
              results=_FLOAT64),
    Allowance(_BY_PARTS, REDUCE, {"strided"}, 220, functions=_EXTREMES, kinds=_COMPLEX64),
    Allowance(_BY_PARTS, REDUCE, {"columns"}, 115, functions=_EXTREMES, kinds=_COMPLEX64, loads=6),
    Allowance("a number for 16 bytes", REDUCE, {"strided"}, 140, functions=_SUMS,
              kinds={DataType.COMPLEX128}),
    Allowance("a number for 16 bytes", REDUCE, {"blocks", "warps"}, 110,
              functions={ReduceFunction.LOG_SUM}, kinds={DataType.COMPLEX128}),
    Allowance("a number for 16 bytes", REDUCE, {"blocks", "warps"}, 95, functions=_SUMS,
              kinds={DataType.COMPLEX128}),
    Allowance(_STATES, REDUCE, {"periods"}, 124, functions=_L1, kinds={DataType.INT8}),
    Allowance(_STATES, REDUCE, {"periods"}, 100, kinds=_BYTES),
    Allowance("elements with their places", REDUCE, {"periods"}, 80, functions=_ARG, loads=5),
    Allowance(f"{_SEVERAL} beside the loads", REDUCE, {"columns"}, 115, ranks={3, 8}),
    Allowance("8 sums", REDUCE, {"columns"}, 70, kinds=_HALVES),
    Allowance("a square root for each element", REDUCE, _ALL, 90, functions=_L1, kinds=_COMPLEX64),
)  # fmt: skip
#: Of NVRTC before a version, for some architectures: all that fit count, beside the first of
#: `ALLOWANCES`.
EARLIER: dict[tuple[tuple[int, int], tuple[str, ...]], tuple[Allowance, ...]] = {
    ((13, 4), ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_100")): (
        Allowance("8 sums of doubles", REDUCE, {"columns"}, {8: MOST},
                  kinds={DataType.BOOL}, spilled={8, 80, 104, 136}),
    ),
    ((13, 1), ("sm_90",)): (
        Allowance("once a block, beside rows on their way", "gather", {"last_axis_staged"}, MOST,
                  spilled={8}),
    ),
    ((13, 6), ("sm_120",)): (
        Allowance(_REGISTERS, NONZERO, {"strided_r2"}, dict.fromkeys((1, 2, 4, 8), MOST),
                  wide=True, spilled={8}),
    ),
    ((13, 0), ("sm_120",)): (
        Allowance(_ADDRESS, REDUCE, {"blocks"}, MOST, functions=_SUMS, kinds=_HALVES, spilled={8}),
        Allowance(_ADDRESS, REDUCE, {"blocks"}, MOST, functions=_ROOTS, kinds=_SHORTS, spilled={8}),
        Allowance(_REGISTERS, REDUCE, {"blocks"}, MOST, functions=_EXP, kinds=_HALVES, spilled={8}),
        Allowance(_REGISTERS, REDUCE, {"columns"}, MOST, functions=_L2, kinds=_SHORTS, loads=2),
    ),
    ((13, 0), ("sm_100", "sm_120")): (Allowance(_LONGER, "gather_nd", {"spliced"}, 70),),
    ((13, 4), ("sm_100", "sm_120")): (
        Allowance(_LONGER, REDUCE, {"columns", "periods", "blocks"}, 107,
                  functions=_ARG, kinds=_HALVES),
        Allowance(_LONGER, REDUCE, {"columns"}, 126,
                  functions=_ARG, kinds={DataType.FLOAT32}, ranks={3}),
    ),
    ((13, 4), ("sm_120",)): (
        Allowance(_LONGER, REDUCE, {"columns"}, 109, functions=_ARG, kinds={DataType.COMPLEX128}),
        Allowance(_LONGER, REDUCE, _ALL, 235, results={DataType.FLOAT64, DataType.COMPLEX128}),
        Allowance(_LONGER, REDUCE, _ALL, 1350, functions=_EXP, results=_FLOAT64),
    ),
    ((13, 1), ("sm_70", "sm_75")): (
        Allowance(_LONGER, "gather", {"packed"}, {8: 72}, wide=False),
    ),
    ((13, 0), ("sm_70",)): (
        Allowance(_LONGER, REDUCE, {"columns"}, 104, kinds=_BYTES),
        Allowance(_LONGER, REDUCE, {"columns"}, 102, functions=_ARG, kinds=_SHORTS),
        Allowance(_LONGER, REDUCE, {"blocks", "warps"}, 77, kinds=_BYTES),
        Allowance(_LONGER, REDUCE, {"columns"}, 88, functions=_L1, kinds=_COMPLEX64),
    ),
}  # fmt: skip


def allowed(kernel: BudgetedKernel, arch: str, version: str) -> tuple[int, tuple[Allowance, ...]]:
    """Return the most instructions for 16 bytes, and the allowances of more than those."""
    first = next((a for a in ALLOWANCES if a.fits(kernel)), None)
    release = tuple(map(int, version.split(".")[:2]))
    earlier = tuple(
        allowance
        for (before, archs), rows in EARLIER.items()
        if arch in archs and release < before
        for allowance in rows
        if allowance.fits(kernel)
    )
    counted = (first, *earlier) if first else earlier
    return max((a.instructions(kernel) for a in counted), default=MOST), counted
