"""More instructions than others that main loops of some kernels may have, and why.

The figures were read from code for several architectures, with some percent of room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cudakern._dtypes import DataType
from cudakern.operators.reduce.types import ARG_FUNCTIONS, ReduceFunction
from perf.static.kernels import NONZERO, REDUCE

if TYPE_CHECKING:
    from perf.static.kernels import Kernel

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


class Earlier(NamedTuple):
    """What NVRTC before a version makes of some kernels, for some architectures.

    Faults that begin with one of `excused` are none.
    """

    before: tuple[int, int]
    archs: str
    allowance: Allowance
    excused: tuple[str, ...] = ()

    def fits(self, kernel: Kernel, arch: str, version: str) -> bool:
        """Return whether a kernel for an architecture is one of them, by a version of NVRTC."""
        major, minor, *_ = map(int, version.split("."))
        is_earlier = (major, minor) < self.before and arch in self.archs.split()
        return is_earlier and self.allowance.fits(kernel)


def _spilled(*sizes: int) -> tuple[str, ...]:
    """Return the faults of code that keeps so many bytes of a thread in memory."""
    named = (f"{size} bytes of stack and 0 of local memory" for size in sizes)
    return (*named, "of no use here: STL", "of no use here: LDL")


_BLACKWELL, _MOST_ARCHS = "sm_100 sm_120", "sm_70 sm_75 sm_80 sm_86 sm_89 sm_100"
_LONGER = "loops are longer here"
_TIGHT = "few registers are missing here"
_SHORT = (DataType.INT16, DataType.UINT16)
_WIDE_RESULTS = (DataType.FLOAT64, DataType.COMPLEX128)
#: All that fit count, beside the first of `ALLOWANCES`.
EARLIER = (
    Earlier(
        (13, 4),
        _MOST_ARCHS,
        Allowance(REDUCE, "columns", MOST, "8 sums of doubles", kind=DataType.BOOL, width=8),
        _spilled(8, 80, 104, 136),
    ),
    Earlier(
        (13, 1),
        "sm_90",
        Allowance("gather", "last_axis_staged", MOST, "once a block, beside rows on their way"),
        _spilled(8),
    ),
    Earlier(
        (13, 4),
        "sm_120",
        Allowance(NONZERO, "strided_r2", MOST, _TIGHT, width=8, wide=True),
        _spilled(8),
    ),
    Earlier(
        (13, 0),
        "sm_120",
        Allowance(REDUCE, "stream", MOST, _TIGHT, function=ReduceFunction.LOG_SUM_EXP, kind=_EIGHT),
        _spilled(8),
    ),
    Earlier(
        (13, 0),
        "sm_120",
        Allowance(REDUCE, "vectors", MOST, _TIGHT, function=ReduceFunction.L2, kind=_SHORT),
        ("16-byte loads in flight: [2",),
    ),
    Earlier((13, 0), _BLACKWELL, Allowance("gather_nd", "spliced", 70, _LONGER)),
    Earlier((13, 4), _BLACKWELL, Allowance(NONZERO, "columns", 133, _LONGER, width=2, wide=False)),
    Earlier((13, 4), _BLACKWELL, Allowance(NONZERO, "columns", 193, _LONGER, width=2, wide=True)),
    Earlier(
        (13, 4),
        _BLACKWELL,
        Allowance(REDUCE, "columns vectors stream", 107, _LONGER, function=_ARG, kind=_EIGHT),
    ),
    Earlier(
        (13, 4),
        _BLACKWELL,
        Allowance(REDUCE, "vectors", 126, _LONGER, function=_ARG, kind=DataType.FLOAT32, rank=3),
    ),
    Earlier((13, 4), "sm_120", Allowance(REDUCE, "", 109, _LONGER, result=_WIDE_RESULTS)),
    Earlier((13, 4), "sm_120", Allowance(REDUCE, "stream warps", 302, _LONGER, **_DOUBLE)),
    Earlier((13, 4), "sm_120", Allowance(REDUCE, "vectors columns", 605, _LONGER, **_DOUBLE)),
    Earlier(
        (13, 1), "sm_70 sm_75", Allowance("gather", "packed", 72, _LONGER, width=8, wide=False)
    ),
    Earlier((13, 0), "sm_70", Allowance(NONZERO, "parts", 127, _LONGER, wide=False)),
    Earlier((13, 0), "sm_70", Allowance(REDUCE, "columns", 104, _LONGER, kind=_BYTES)),
    Earlier(
        (13, 0), "sm_70", Allowance(REDUCE, "columns", 102, _LONGER, function=_ARG, kind=_SHORT)
    ),
    Earlier((13, 0), "sm_70", Allowance(REDUCE, "stream warps", 77, _LONGER, kind=_BYTES)),
    Earlier(
        (13, 0),
        "sm_70",
        Allowance(
            REDUCE,
            "vectors",
            88,
            "a square root for each element",
            function=ReduceFunction.L1,
            kind=DataType.COMPLEX64,
        ),
    ),
)


def allowed(kernel: Kernel, arch: str, version: str) -> tuple[int, tuple[str, ...]]:
    """Return how many instructions the main loop of a kernel may have for 16 bytes.

    Also, how faults begin that are none.
    """
    most = next((a.most for a in ALLOWANCES if a.fits(kernel)), MOST)
    earlier = [one for one in EARLIER if one.fits(kernel, arch, version)]
    excused = tuple(text for one in earlier for text in one.excused)
    return max([most, *(one.allowance.most for one in earlier)]), excused
