"""Planning of gather_nd: which variant of ``kernels/gather_nd.cu`` a problem gets."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from cudakern.engines.base import KernelSpec, Launch
from cudakern.operators.gather.plan import plan_shared_indices
from cudakern.operators.indexing import kernels, rows
from cudakern.operators.indexing.indices import INDEX_TYPES
from cudakern.operators.indexing.rows import STRIDED_RANKS, RowProblem, Stream
from cudakern.values.argument_struct import ArgumentPacker
from cudakern.values.layout import VECTOR_BYTES, round_up

if TYPE_CHECKING:
    from collections.abc import Iterator

OPERATOR = "gather_nd"

# Tuning: unit; reason; an estimate, or a limit of hardware or kernels.
# rows.py has the variants' constants.
STAGED_BYTES = 12 * 1024  # bytes of shared memory in which a block stages tuples; estimate


def _most_shared(variant: str, width: int, bits: int) -> int:
    table = round_up(rows.most_rows(variant, width) * bits // 8, VECTOR_BYTES)
    return table + STAGED_BYTES + rows.most_spliced(variant, width, bits)


#: Returns a variant's kernel, by width in bytes, index type, mode and offset width.
specialise = partial(kernels.specialise, OPERATOR, shared=_most_shared)


def plan_gather_nd(problem: RowProblem) -> Launch | None:
    """Choose the variant for a problem whose shapes and types are already known to be legal."""
    if 0 in problem.out.shape:
        return None
    if launch := plan_shared_indices(problem):  # batches of indices that are one in memory
        return launch
    if problem.axes and problem.is_stream():
        return _plan_stream(problem)
    return rows.plan_strided(OPERATOR, problem)


def _plan_stream(source: RowProblem) -> Launch:
    stream = Stream.for_problem(source)
    outer = source.outer[0].strides if source.outer else (0, 0, 0)
    index_stride = source.index[0].strides[1] if source.index else 0
    tuple_size = len(source.axes)
    # Shared memory: where each row of a tile is, then staged tuples, an odd number of components
    # apart, then what spliced needs.
    table_rows = stream.table_rows(source)
    tuple_bytes = (tuple_size | 1) * source.indices.itemsize
    turn = min(table_rows, STAGED_BYTES // tuple_bytes)
    tuples_at = round_up(table_rows * (8 if stream.wide else 4), VECTOR_BYTES)
    shared = tuples_at + round_up(turn * tuple_bytes, VECTOR_BYTES)
    arguments = ArgumentPacker(wide=stream.wide).raw(fill=source.fill)
    rows.pack_axes(arguments, source, OPERATOR, wide=stream.wide)
    arguments.offset(pieces=stream.pieces, lead=stream.lead)
    arguments.divisor(row=source.row_bytes // stream.unit)
    arguments.offset(batch_stride=outer[0], index_batch_stride=outer[1])
    arguments.offset(index_stride=index_stride, component_stride=source.component_stride)
    arguments.divisor(count=source.count).divisor(tuple=tuple_size, wide=False)
    arguments.uint32(turn=turn, tuples_at=tuples_at, table_bytes=shared, unused=0)
    if stream.splice is not None:
        shared += stream.splice.shared_bytes(wide=stream.wide)
        stream.splice.pack(arguments)
    spec = specialise(
        stream.variant, stream.width, source.index_type, source.mode, wide=stream.wide
    )
    return Launch(spec, stream.grid, shared, 3, arguments.done())


def specialisations() -> Iterator[KernelSpec]:
    """Yield every kernel that `plan_gather_nd` can ask for."""
    streams = [("rows", VECTOR_BYTES), *product(("packed", "spliced"), (1, 2, 4, 8))]
    for index_type, mode in product(INDEX_TYPES, ("clamp", "wrap", "fill")):
        for wide in (False, True):
            for variant, width in streams:
                yield specialise(variant, width, index_type, mode, wide=wide)
            for width, rank in product((1, 2, 4, 8, 16), STRIDED_RANKS[wide]):
                yield specialise("strided", width, index_type, mode, wide=wide, rank=rank)
