"""The kernels that read indices: their names and macros."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.engines.base import KernelSpec
from cudakern.operators.indexing.indices import INDEX_TYPES, MODES
from cudakern.values.layout import MAX_DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable

ITEMS_PER_THREAD = 4  # slots or items of a thread in a turn of rows, planes and strided; limit
MAX_COMPONENTS = {"gather": 1, "gather_nd": MAX_DIMENSIONS}  # of an index tuple, by operator


def specialise(
    operator: str,
    variant: str,
    width: int,
    index_type: str,
    mode: str | None = None,
    *,
    wide: bool,
    rank: int = 0,
    suffix: str = "",
    items: int = ITEMS_PER_THREAD,
    macros: tuple[tuple[str, int], ...] = (),
    shared: Callable[[str, int, int], int] | None = None,
) -> KernelSpec:
    """Return a variant's kernel, by width in bytes, index type, mode if any, and offset width.

    ``shared`` returns the most shared memory of a variant without a rank, by width in bytes and
    bits of an offset.
    """
    short, device_type = INDEX_TYPES[index_type]
    bits = 64 if wide else 32
    of_rank = f"_r{rank}" if rank else ""
    name = f"ck_{operator}_{variant}{suffix}{of_rank}_w{width}_{short}"
    defines = [
        ("CK_WIDTH", str(width)),
        ("CK_INDEX_T", device_type),
        ("CK_OFFSET_T", f"ck::uint{bits}"),
        ("CK_ITEMS", str(items)),
        *((macro, str(value)) for macro, value in macros),
    ]
    if operator in MAX_COMPONENTS:
        defines.append(("CK_MAX_TUPLE", str(MAX_COMPONENTS[operator])))
    if mode is not None:
        name += f"_{MODES[mode][1:].lower()}"
        defines.append(("CK_MODE", MODES[mode]))
    if rank:
        defines.append(("CK_RANK", str(rank)))
    most = 0 if rank or shared is None else shared(variant, width, bits)
    return KernelSpec(operator, variant, f"{name}_o{bits}", tuple(defines), most_shared=most)
