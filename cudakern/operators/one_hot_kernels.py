"""The kernels of one_hot: every specialisation of ``kernels/one_hot.cu``, and their names."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from cudakern.engines.base import KernelSpec
from cudakern.operators.indexing import INDEX_TYPES
from cudakern.operators.rows import STRIDED_RANKS

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDTHS = (1, 2, 4, 8, 16)


def specialise(
    variant: str, width: int, index_type: str, *, wide: bool, rank: int = 2
) -> KernelSpec:
    """Return a variant's kernel, by width in bytes, index type and offset width."""
    short, device_type = INDEX_TYPES[index_type]
    suffix = f"_r{rank}" if variant == "strided" else ""
    bits = 64 if wide else 32
    defines = [
        (f"CK_VARIANT_{variant.upper()}", "1"),
        ("CK_WIDTH", str(width)),
        ("CK_INDEX_T", device_type),
        ("CK_OFFSET_T", f"ck::uint{bits}"),
    ]
    if variant == "strided":
        defines.append(("CK_RANK", str(rank)))
    name = f"ck_one_hot_{variant}{suffix}_w{width}_{short}_o{bits}"
    return KernelSpec("one_hot.cu", name, tuple(defines))


def specialisations() -> Iterator[KernelSpec]:
    """Yield every kernel that `plan_one_hot` can ask for."""
    for index_type, wide, width in product(INDEX_TYPES, (False, True), _WIDTHS):
        for variant in ("stream", "planes"):
            yield specialise(variant, width, index_type, wide=wide)
        for rank in STRIDED_RANKS[wide]:
            yield specialise("strided", width, index_type, wide=wide, rank=rank)
