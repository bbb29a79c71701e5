"""The kernels of one_hot: every specialisation of ``kernels/one_hot.cu``, and their names."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from cudakern.operators import rows
from cudakern.operators.indexing import INDEX_TYPES
from cudakern.operators.rows import STRIDED_RANKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.engines.base import KernelSpec

_WIDTHS = (1, 2, 4, 8, 16)


#: Returns a variant's kernel, by width in bytes, index type and offset width.
specialise = partial(rows.specialise, "one_hot")


def specialisations() -> Iterator[KernelSpec]:
    """Yield every kernel that `plan_one_hot` can ask for."""
    for index_type, wide, width in product(INDEX_TYPES, (False, True), _WIDTHS):
        for variant in ("stream", "planes"):
            yield specialise(variant, width, index_type, wide=wide)
        for rank in STRIDED_RANKS[wide]:
            yield specialise("strided", width, index_type, wide=wide, rank=rank)
