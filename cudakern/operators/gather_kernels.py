"""The kernels of gather: every specialisation of ``kernels/gather.cu``, and their names."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from cudakern._layout import VECTOR_BYTES
from cudakern.operators import rows
from cudakern.operators.indexing import INDEX_TYPES
from cudakern.operators.rows import STRIDED_RANKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.engines.base import KernelSpec

#: Returns a variant's kernel, by width in bytes, index type, mode and offset width.
specialise = partial(rows.specialise, "gather")


def specialisations() -> Iterator[KernelSpec]:
    """Yield every kernel that `plan_gather` can ask for."""
    bytewise = product((1, 2, 4, 8), ("packed", "scalars", "spliced"))
    streams = [("rows", VECTOR_BYTES), ("planes", VECTOR_BYTES), *((v, w) for w, v in bytewise)]
    for index_type, mode in product(INDEX_TYPES, ("clamp", "wrap", "fill")):
        for wide in (False, True):
            for variant, width in streams:
                yield specialise(variant, width, index_type, mode, wide=wide)
            for width, rank in product((1, 2, 4, 8, 16), STRIDED_RANKS[wide]):
                yield specialise("strided", width, index_type, mode, wide=wide, rank=rank)
        for width, staged in product((1, 2, 4, 8), (False, True)):
            yield specialise("last_axis", width, index_type, mode, wide=False, staged=staged)
