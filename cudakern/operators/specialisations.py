"""The kernels of all operators."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from cudakern.operators.gather.plan import specialisations as _of_gather
from cudakern.operators.gather_nd.plan import specialisations as _of_gather_nd
from cudakern.operators.indexing.check import check_specs
from cudakern.operators.nonzero.plan import specialisations as _of_nonzero
from cudakern.operators.one_hot.plan import specialisations as _of_one_hot
from cudakern.operators.reduce.reduction import specialisations as _of_reduce

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.engines.base import KernelSpec

_SOURCES = _of_gather, _of_gather_nd, check_specs, _of_nonzero, _of_one_hot, _of_reduce


def specialisations() -> Iterator[KernelSpec]:
    """Yield the kernels of all operators; of reduce, those that its plan lists."""
    return chain.from_iterable(specs() for specs in _SOURCES)
