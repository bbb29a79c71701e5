"""The kernels of gather: every specialisation of ``kernels/gather.cu``, and their names."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from cudakern.engines.base import KernelSpec
from cudakern.layout import VECTOR_BYTES
from cudakern.operators.indexing import INDEX_TYPES, MODES

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Ranks that the strided variant is compiled for.
STRIDED_RANKS = (2, 4, 8, 16)


def specialise(
    variant: str,
    width: int,
    index_type: str,
    mode: str,
    *,
    wide: bool,
    rank: int = 2,
    staged: bool = False,
) -> KernelSpec:
    """Return a variant's kernel, by width in bytes, index type, mode and offset width."""
    short, device_type = INDEX_TYPES[index_type]
    suffix = {"strided": f"_r{rank}", "last_axis": "_staged" if staged else ""}.get(variant, "")
    bits = 64 if wide else 32
    name = f"ck_gather_{variant}{suffix}_w{width}_{short}_{MODES[mode][1:].lower()}_o{bits}"
    defines = [
        (f"CK_VARIANT_{variant.upper()}", "1"),
        ("CK_WIDTH", str(width)),
        ("CK_INDEX_T", device_type),
        ("CK_MODE", MODES[mode]),
        ("CK_OFFSET_T", f"ck::uint{bits}"),
    ]
    if variant == "strided":
        defines.append(("CK_RANK", str(rank)))
    if variant == "last_axis":
        defines.append(("CK_STAGED", str(int(staged))))
    return KernelSpec("gather.cu", name, tuple(defines))


def specialisations() -> Iterator[KernelSpec]:
    """Yield every kernel that `plan_gather` can ask for."""
    bytewise = product((1, 2, 4, 8), ("packed", "scalars", "spliced"))
    streams = [("rows", VECTOR_BYTES), ("planes", VECTOR_BYTES), *((v, w) for w, v in bytewise)]
    for index_type, mode in product(INDEX_TYPES, ("clamp", "wrap", "fill")):
        for wide in (False, True):
            for variant, width in streams:
                yield specialise(variant, width, index_type, mode, wide=wide)
            for width, rank in product((1, 2, 4, 8, 16), STRIDED_RANKS):
                yield specialise("strided", width, index_type, mode, wide=wide, rank=rank)
        for width, staged in product((1, 2, 4, 8), (False, True)):
            yield specialise("last_axis", width, index_type, mode, wide=False, staged=staged)
