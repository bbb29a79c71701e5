"""The kernels whose machine code is read: what they are, and which are read for which GPU."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from cudakern.engines.base import THREADS
from cudakern.operators import specialisations
from cudakern.operators.gather import plan as gather_plan
from cudakern.operators.gather_nd import plan as gather_nd_plan
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.operators.one_hot import plan as one_hot_plan
from cudakern.operators.reduce import plan as reduce_plan
from cudakern.operators.reduce.plan import INPUT_TYPES, Reduction
from cudakern.operators.reduce.types import ARG_FUNCTIONS, ReduceFunction
from cudakern.operators.rows import ITEMS_PER_THREAD, SHORT_TILE_BYTES, TILE_BYTES, Splice
from perf.static.occupancy import LIMITS, WARP
from perf.static.rare import rare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cudakern.engines.base import KernelSpec

ARCHITECTURES = tuple(LIMITS)
NONZERO, REDUCE = "nonzero_coordinates", "reduce"
#: Kernels that are compiled together.
BATCH = 40
_VECTOR = 16
_TYPES = {short: kind for kind, (short, _) in INPUT_TYPES.items()}
_REDUCTION = re.compile(
    f"ck_reduce_[a-z]+_({'|'.join(f.label for f in ReduceFunction)})"
    f"_({'|'.join(_TYPES)})_({'|'.join(_TYPES)})_.*"
)

Work = tuple[str, list["KernelSpec"]]


def operator_of(spec: KernelSpec) -> str:
    """Return the operator of a kernel."""
    return spec.operator


def variant_of(spec: KernelSpec) -> str:
    """Return the variant of a kernel, with its rank if it is of any layout."""
    macros = dict(spec.defines)
    if spec.variant == "strided":
        return f"strided_r{macros['CK_RANK']}"
    return "last_axis_staged" if macros.get("CK_STAGED") == "1" else spec.variant


def base_of(spec: KernelSpec) -> str:
    """Return the variant of a kernel without its rank."""
    return variant_of(spec).split("_r")[0]


def group_of(spec: KernelSpec) -> tuple[str, ...]:
    """Return what kernels of an operator have in common that differ in code: what rotates."""
    macros = dict(spec.defines)
    if operator_of(spec) == REDUCE:
        return operator_of(spec), macros["CK_FUNCTION"], macros["CK_INPUT_T"]
    return operator_of(spec), variant_of(spec)


def everything() -> list[tuple[str, KernelSpec]]:
    """Return every specialisation and the rare kernels, for every architecture."""
    specs = {spec.entry: spec for spec in (*specialisations(), *rare())}
    return [(arch, spec) for arch in ARCHITECTURES for spec in specs.values()]


def rotation() -> list[tuple[str, KernelSpec]]:
    """Return every specialisation and the rare kernels, each for one architecture.

    Architectures go round the kernels of each variant, and of each function of each data type of
    reduce.
    """
    groups: dict[tuple[str, ...], list[KernelSpec]] = {}
    for spec in specialisations():
        groups.setdefault(group_of(spec), []).append(spec)
    known = {spec.entry for spec in specialisations()}
    rounds = [*groups.values(), *([spec] for spec in rare() if spec.entry not in known)]
    count = len(ARCHITECTURES)
    return [
        (ARCHITECTURES[(number + number // count + place) % count], spec)
        for number, specs in enumerate(rounds)
        for place, spec in enumerate(specs)
    ]


def batches(chosen: Iterable[tuple[str, KernelSpec]]) -> list[Work]:
    """Return what is compiled together, of one source for one architecture, longest first."""
    together: dict[tuple[str, str], list[KernelSpec]] = {}
    for arch, spec in chosen:
        together.setdefault((arch, spec.source), []).append(spec)
    works = [
        (arch, specs[first : first + BATCH])
        for (arch, _), specs in together.items()
        for first in range(0, len(specs), BATCH)
    ]
    return sorted(works, key=lambda work: -_cost(work[1]))


def _cost(specs: Sequence[KernelSpec]) -> int:
    """Return what a batch costs: long kernels several times as much as short ones."""
    return sum(3 if operator_of(spec) in {NONZERO, REDUCE} else 1 for spec in specs)


def threads_of(spec: KernelSpec) -> int:
    """Return how many threads a block of a kernel has."""
    return spec.threads


def promised_blocks(spec: KernelSpec) -> int:
    """Return how many blocks of a multiprocessor the launch bounds of a kernel promise."""
    return spec.resident_blocks


def reduction_of(spec: KernelSpec) -> Reduction:
    """Return what a kernel of reduce computes, by its name, which says nothing of NaN and ties."""
    found = _REDUCTION.fullmatch(spec.entry)
    assert found, spec.entry
    function = next(f for f in ReduceFunction if f.label == found[1])
    return Reduction(function, _TYPES[found[2]], _TYPES[found[3]])


def is_pair(spec: KernelSpec) -> bool:
    """Return whether a reduction keeps places, or is of complex numbers."""
    reduction = reduction_of(spec)
    return reduction.function in ARG_FUNCTIONS or reduction.kind.name.startswith("COMPLEX")


def dynamic_shared(spec: KernelSpec) -> int:
    """Return the dynamic shared memory that a block is launched with at most, in bytes."""
    operator, variant, macros = operator_of(spec), base_of(spec), dict(spec.defines)
    if operator == NONZERO:
        return nonzero_plan.shared_bytes(variant, int(macros["CK_WIDTH"]))
    if operator == REDUCE:
        return _of_reduce(spec)
    if variant in {"check", "strided"}:
        return 0
    return one_hot_plan.SHARED_BYTES if operator == "one_hot" else _of_gather(operator, spec)


def _of_gather(operator: str, spec: KernelSpec) -> int:
    variant, macros = base_of(spec), dict(spec.defines)
    if variant == "last_axis":
        return 4 * gather_plan.LAST_AXIS_TABLE
    if variant == "last_axis_staged":
        staged = gather_plan.LAST_AXIS_MAX_STAGED_BYTES + _VECTOR
        return 2 * gather_plan.LAST_AXIS_TABLE_STAGED + staged
    wide, width = macros["CK_OFFSET_T"] == "ck::uint64", int(macros["CK_WIDTH"])
    tiles = {"rows": THREADS * ITEMS_PER_THREAD, "packed": THREADS * _VECTOR // width}
    rows = tiles.get(variant, SHORT_TILE_BYTES // _VECTOR) + 2
    shared = _splice_bytes(width, wide=wide) if variant == "spliced" else 0
    if operator == "gather_nd" or variant == "packed":
        shared += _rounded(rows * (8 if wide else 4))
    return shared + (gather_nd_plan.STAGED_BYTES if operator == "gather_nd" else 0)


def _of_reduce(spec: KernelSpec) -> int:
    variant, macros, reduction = base_of(spec), dict(spec.defines), reduction_of(spec)
    if variant == "tiles":
        return reduce_plan.STAGE_BYTES + reduce_plan.GATHERED_BYTES
    if variant == "warps":
        return 0
    state = reduction.state_bytes(wide=macros["CK_OFFSET_T"] == "ck::uint64")
    if variant == "stream":
        return THREADS // WARP * state
    items = int(macros["CK_WIDTH"]) // reduction.kind.itemsize
    if variant == "columns":
        return reduce_plan.column_shared_bytes(state, items)
    return THREADS * state * items


@cache
def _splice_bytes(width: int, *, wide: bool) -> int:
    rows = range(_VECTOR, TILE_BYTES + 1)
    return max(Splice.of(row, width, 0, 2**40).shared_bytes(wide=wide) for row in rows)


def _rounded(size: int) -> int:
    return -(-size // _VECTOR) * _VECTOR
