"""Every kernel that the package can launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.operators import (
    gather_kernels,
    gather_nd_plan,
    nonzero_plan,
    one_hot_kernels,
    reduce_kernels,
)
from cudakern.operators.indexing import CHECKED_COMPONENTS, INDEX_TYPES, check_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.engines.base import KernelSpec


def specialisations() -> Iterator[KernelSpec]:
    """Yield the specialisations of all operators."""
    yield from gather_kernels.specialisations()
    yield from gather_nd_plan.specialisations()
    yield from nonzero_plan.specialisations()
    yield from one_hot_kernels.specialisations()
    yield from reduce_kernels.specialisations()
    for operator in CHECKED_COMPONENTS:
        yield from (check_spec(operator, index_type) for index_type in INDEX_TYPES)
