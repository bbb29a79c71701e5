"""The kernels whose machine code is read: what they are, and which are read for which GPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cudakern.engines.base import KernelSpec
from cudakern.operators.operator import specialisations
from cudakern.operators.reduce import tuning
from cudakern.operators.reduce.reduction import Reduction, kernels_of, reductions
from cudakern.operators.reduce.types import ReduceFunction, result_type
from cudakern.values.dtypes import DataType
from perf.static.cubins import architectures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NONZERO, REDUCE = "nonzero_coordinates", "reduce"
#: Kernels that are compiled together.
BATCH = 40
#: Rows of a thread in flight, where a kernel's name has them.
ROWS = {"lanes": tuning.LANE_ROWS, "columns": tuning.COLUMN_ROWS}


@dataclass(frozen=True)
class BudgetedKernel:
    """A kernel's specification, and what it computes if it is one of reduce."""

    spec: KernelSpec
    reduction: Reduction | None = None

    @property
    def entry(self) -> str:
        """Its entry point."""
        return self.spec.entry

    @property
    def operator(self) -> str:
        """Its operator."""
        return self.spec.operator

    @property
    def variant(self) -> str:
        """Its variant."""
        return self.spec.variant

    @cached_property
    def macros(self) -> dict[str, str]:
        """What its source is specialised by."""
        return dict(self.spec.defines)

    @property
    def label(self) -> str:
        """Its variant, with its rank if it is of any layout."""
        if self.variant == "strided":
            return f"strided_r{self.rank}"
        return f"{self.variant}_{self.form}" if self.form else self.variant

    @property
    def text(self) -> tuple[str, str, str]:
        """What its code is made from: its operator and variant, and the form of that."""
        return self.operator, self.variant, self.form

    @property
    def form(self) -> str:
        """``"staged"`` rows, ``"long"`` ones in windows, ``"few"`` scalars, or none of these."""
        forms = ("staged", "long", "few")
        return next((form for form in forms if f"_{self.variant}_{form}_" in self.entry), "")

    @property
    def width(self) -> int:
        """Bytes of what it moves at a time, or of an element; 0 if it is of one width."""
        return int(self.macros.get("CK_WIDTH", 0))

    @property
    def rank(self) -> int:
        """Its number of dimensions; 0 if it is of one layout."""
        return int(self.macros.get("CK_RANK", 0))

    @property
    def wide(self) -> bool:
        """Whether its offsets have 64 bits."""
        return self.macros.get("CK_OFFSET_T") == "ck::uint64"

    @property
    def group(self) -> tuple[object, ...]:
        """Its operator, and its function and type or its label: such kernels rotate together."""
        if self.reduction:
            return self.operator, self.reduction.function, self.reduction.kind
        return self.operator, self.label


def reduce_kernel(
    variant: str,
    function: str,
    kind: str,
    *,
    result: str | None = None,
    wide: bool = False,
    rank: int = 0,
    width: int = 0,
    shape: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,  # noqa: ANN401  of a Reduction
) -> BudgetedKernel:
    """Return the kernel of a variant of reduce, by the names of function and data types.

    ``shape`` has other arguments of `Reduction.specialise`.
    """
    which, x = ReduceFunction[function], DataType[kind]
    written = DataType[result] if result else result_type(which, x)
    reduction = Reduction(which, x, written, **options)
    spec = reduction.specialise(
        variant, wide=wide, rank=rank, width=width, loads=ROWS.get(variant, 0), **shape
    )
    return BudgetedKernel(spec, reduction)


#: Some of the kernels of reduce that are not listed; each has options that make it rare.
RARE = (
    reduce_kernel("blocks", "SUM", "FLOAT32", wide=True, rank=1),
    reduce_kernel("blocks", "ARGMAX", "FLOAT16", wide=True, rank=8, ignore_nan=True),
    reduce_kernel("warps", "ARGMIN", "FLOAT64", wide=True, rank=1),
    reduce_kernel("warps", "AVERAGE", "BFLOAT16", wide=True, rank=3),
    reduce_kernel("lanes", "MAX", "INT8", wide=True, rank=2),
    reduce_kernel("lanes", "MIN", "COMPLEX128", rank=1, has_initial=True),
    reduce_kernel("tiles", "MAX", "INT8", wide=True),
    reduce_kernel("tiles", "ARGMAX", "FLOAT32", wide=True, last_index=True),
    reduce_kernel("columns", "SUM", "FLOAT16", wide=True, rank=1, width=2),
    reduce_kernel("columns", "ARGMIN", "FLOAT32", wide=True, rank=2, width=4, ignore_nan=True),
    reduce_kernel("columns", "L2", "FLOAT32", wide=True, rank=1, width=16),
    reduce_kernel("columns", "ARGMAX", "FLOAT32", wide=True, rank=3, width=16),
    reduce_kernel("columns", "L2", "BOOL", wide=True, rank=3, width=8),
    reduce_kernel("columns", "MAX", "FLOAT16", wide=True, rank=3, width=16),
    reduce_kernel("warps", "L1", "COMPLEX64", rank=1),
    reduce_kernel("blocks", "MAX", "COMPLEX64", wide=True, rank=1, ignore_nan=True),
    reduce_kernel("columns", "ARGMIN", "COMPLEX64", wide=True, rank=1, width=8, last_index=True),
    reduce_kernel("strided", "SUM", "INT64", wide=True, rank=1, width=8),
    reduce_kernel("strided", "ARGMIN", "FLOAT32", wide=True, rank=8, width=4, last_index=True),
    reduce_kernel("strided", "SUM", "COMPLEX128", rank=8, width=16),
    reduce_kernel("strided", "SUM", "FLOAT32", rank=3, width=16),
    reduce_kernel("strided", "LOG_SUM_EXP", "FLOAT64", rank=8, width=8),
    reduce_kernel("blocks", "LOG_SUM_EXP", "FLOAT32", rank=8),
    reduce_kernel("warps", "ARGMAX", "INT64", rank=3, last_index=True),
    reduce_kernel("columns", "MIN", "BFLOAT16", rank=3, width=16, ignore_nan=True),
    reduce_kernel("columns", "SUM", "FLOAT64", rank=8, width=16),
    reduce_kernel("blocks", "SUM", "FLOAT32", result="FLOAT64", rank=1),
    reduce_kernel("tiles", "SUM", "INT8", result="INT64"),
    reduce_kernel("columns", "SUM", "FLOAT16", result="FLOAT32", rank=1, width=2),
    reduce_kernel("columns", "SUM", "INT8", result="FLOAT32", rank=1, width=8),
    reduce_kernel("warps", "L1", "COMPLEX64", result="FLOAT32", rank=1),
    reduce_kernel("blocks", "SUM", "FLOAT32", rank=1, has_initial=True),
    reduce_kernel("warps", "MAX", "BFLOAT16", rank=1, ignore_nan=True, has_initial=True),
    reduce_kernel("tiles", "MIN", "INT8", result="FLOAT64", has_initial=True),
    reduce_kernel("columns", "MULTIPLY", "FLOAT32", result="COMPLEX64", rank=1, width=4,
                  has_initial=True),
    reduce_kernel("columns", "SUM", "FLOAT16", rank=1, width=16, has_initial=True),
    reduce_kernel("strided", "MULTIPLY", "COMPLEX128", wide=True, rank=8, width=16,
                  has_initial=True),
    reduce_kernel("lanes", "LOG_SUM_EXP", "FLOAT32", rank=1),
    reduce_kernel("blocks", "SUM", "FLOAT16", rank=1, shape={"once": 8}),
    reduce_kernel("columns", "SUM", "FLOAT32", rank=1, width=16,
                  shape={"once": 8, "interleaved": True}),
    reduce_kernel("columns", "SUM", "FLOAT16", rank=1, width=16, shape={"interleaved": True}),
    reduce_kernel("columns", "SUM", "FLOAT32", rank=1, width=4,
                  shape={"once": 16, "threads": 512, "alone": True}),
)  # fmt: skip


@cache
def list_kernels() -> tuple[BudgetedKernel, ...]:
    """Return the kernels of all operators."""
    others = (BudgetedKernel(spec) for spec in specialisations() if spec.operator != REDUCE)
    return (*others, *(BudgetedKernel(spec, r) for r in reductions() for spec in kernels_of(r)))


def distinct() -> list[BudgetedKernel]:
    """Return all kernels, the rare ones too."""
    return [*{kernel.entry: kernel for kernel in (*list_kernels(), *RARE)}.values()]


def everything() -> list[tuple[str, BudgetedKernel]]:
    """Return all kernels, the rare ones too, for every architecture."""
    return [(arch, kernel) for arch in architectures() for kernel in distinct()]


def cover() -> list[BudgetedKernel]:
    """Return a few of all kernels: in each variant, each macro has each of its values."""
    facts = {
        kernel: {(*kernel.text, fact) for fact in kernel.spec.defines} for kernel in distinct()
    }
    missing, chosen = set().union(*facts.values()), []
    while missing:
        chosen.append(max(facts, key=lambda kernel: len(facts[kernel] & missing)))
        missing -= facts[chosen[-1]]
    return chosen


def rotation() -> list[tuple[str, BudgetedKernel]]:
    """Return all kernels, the rare ones too: architectures go round the kernels of each group."""
    groups: dict[tuple[object, ...], list[BudgetedKernel]] = {}
    for kernel in distinct():
        groups.setdefault(kernel.group, []).append(kernel)
    count = len(architectures())
    return [
        (architectures()[(number + number // count + place) % count], kernel)
        for number, kernels in enumerate(groups.values())
        for place, kernel in enumerate(kernels)
    ]


#: An architecture, and the kernels that are compiled for it together.
Batch = tuple[str, list[BudgetedKernel]]


def batches(chosen: Iterable[tuple[str, BudgetedKernel]]) -> list[Batch]:
    """Return what is compiled together, of one source for one architecture, longest first."""
    together: dict[tuple[str, str], list[BudgetedKernel]] = {}
    for arch, kernel in chosen:
        together.setdefault((arch, kernel.operator), []).append(kernel)
    cut = [
        (arch, kernels[first : first + BATCH])
        for (arch, _), kernels in together.items()
        for first in range(0, len(kernels), BATCH)
    ]
    long = {NONZERO, REDUCE}  # these kernels take three times as long as others
    return sorted(cut, key=lambda b: -len(b[1]) * (3 if b[1][0].operator in long else 1))
