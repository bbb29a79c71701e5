"""The check behind ``mode="raise"``: a kernel finds the first index out of range."""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING

import numpy as np

from cudakern.engines import engine_for
from cudakern.engines.base import THREADS, KernelSpec, Launch, Tensor, blocks_for
from cudakern.errors import IndexRangeError
from cudakern.operators.arrays import native
from cudakern.operators.arrays.native import Array, address_of, layout_of
from cudakern.operators.indexing.indices import INDEX_TYPES, Selection, index_type
from cudakern.operators.indexing.kernels import ITEMS_PER_THREAD, MAX_COMPONENTS
from cudakern.values.argument_struct import ArgumentPacker
from cudakern.values.layout import MAX_DIMENSIONS, Dimension, Layout, merge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CHECK_RANK = MAX_DIMENSIONS + 1  # dimensions of an operand, and the components of a tuple


def _check_spec(operator: str, index_type: str) -> KernelSpec:
    """Return the kernel that looks for indices out of range."""
    short, device_type = INDEX_TYPES[index_type]
    return KernelSpec(
        operator,
        "check",
        f"ck_{operator}_check_{short}",
        (
            ("CK_INDEX_T", device_type),
            ("CK_MODE", "kClamp"),
            ("CK_OFFSET_T", "ck::uint64"),
            ("CK_RANK", str(_CHECK_RANK)),
            ("CK_ITEMS", str(ITEMS_PER_THREAD)),
            ("CK_MAX_TUPLE", str(MAX_COMPONENTS[operator])),
        ),
    )


def check_specs(operator: str) -> Iterator[KernelSpec]:
    """Yield an operator's kernels that look for indices out of range."""
    return (_check_spec(operator, index_type) for index_type in INDEX_TYPES)


def check_launch(
    operator: str, indices: Layout, index_type: str, extents: Sequence[int], *, tuples: bool
) -> Launch:
    """Return the launch that writes the position of the first index out of range."""
    dimensions = list(map(Dimension, indices.shape, zip(indices.strides)))
    component = dimensions.pop() if tuples else Dimension(1, (0,))
    room = MAX_COMPONENTS[operator]
    arguments = ArgumentPacker(wide=True).offset(items=indices.size)
    arguments.offset(extent=(*extents, *[1] * (room - len(extents))))
    arguments.dimensions(_CHECK_RANK, dimensions=(*merge(dimensions), component))
    grid = (blocks_for(indices.size, THREADS), 1, 1)
    return Launch(_check_spec(operator, index_type), grid, 0, 2, arguments.done())


def raise_if_outside(
    operator: str,
    indices: Array,
    selection: Selection,
    shape: tuple[int, ...],
    starts: Sequence[int] = (),
) -> None:
    """Raise IndexRangeError if one of at least one index is out of range, after waiting for that.

    The message counts positions from ``starts``.
    """
    if not layout_of(indices, address_of(indices)).is_aligned:
        indices = native.copy_array(indices)
    address = address_of(indices)
    layout = layout_of(indices, address)
    device = native.device_of(indices)
    none = np.iinfo(np.uint64).max
    first_bad = native.empty((1,), np.dtype(np.uint64), device)
    kind, extents = index_type(indices, selection.negative), selection.extents(shape)
    launch = check_launch(operator, layout, kind, extents, tuples=selection.tuples)
    tensors = (
        Tensor("indices", layout, read=True, written=False),
        Tensor("first_bad", Layout((1,), (8,), 8), read=True, written=True),
    )
    with native.use_device(device):
        first_bad.fill(none)
        engine_for(device).prepare(launch, device, tensors)(address, address_of(first_bad))
    position = int(first_bad[0])
    if position == none:
        return
    where = tuple(int(k) for k in np.unravel_index(position, indices.shape))
    value = int(indices[where])
    component = where[-1] if selection.tuples else 0
    axis, extent = selection.first + component, extents[component]
    lowest = -extent if kind.startswith("int") else 0
    where = tuple(map(add, where, starts)) if starts else where
    named = f"indices[{', '.join(map(str, where))}]" if where else "indices"
    requirement = f"must lie in [{lowest}, {extent - 1}] for x.shape[{axis}]={extent}"
    message = f"{operator}: {named} {requirement}; got {value}"
    raise IndexRangeError(message)


def require_extents(
    operator: str, selection: Selection, shape: tuple[int, ...], count: int
) -> None:
    """Raise IndexRangeError if ``count`` indices select from an empty axis of x."""
    for axis, extent in enumerate(selection.extents(shape), selection.first):
        if extent == 0:
            message = f"{operator}: x.shape[{axis}] must be at least 1 for {count} indices; got 0"
            raise IndexRangeError(message)
