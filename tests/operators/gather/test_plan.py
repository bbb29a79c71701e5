"""Which kernel a gather gets, and its grid."""

from __future__ import annotations

import itertools

from cudakern.operators.gather.plan import plan_gather, rows_of
from cudakern.values.layout import Layout, packed_strides
from tests.helpers.rows import each


def problem(shape, axis, indices, itemsize=4, *, index_bytes=4, x=None, out=None, phases=(0, 0, 0)):
    """Return a problem; ``x`` and ``out`` are byte strides, packed by default."""
    result = (*shape[:axis], *indices, *shape[axis + 1 :])
    return rows_of(
        Layout(shape, x or packed_strides(shape, itemsize), itemsize, phases[0]),
        Layout(indices, packed_strides(indices, index_bytes), index_bytes, phases[1]),
        Layout(result, out or packed_strides(result, itemsize), itemsize, phases[2]),
        axis,
        {4: "int32", 8: "int64"}[index_bytes],
        "clamp",
        bytes(16),
    )


#: For `tests.operators.test_plans`.
PLAN = plan_gather
PINNED = [
    ("rows of 16 B", problem((100, 4), 0, (7,)), "rows_w16_i32_clamp_o32"),
    ("rows of 4 KB", problem((100, 1024), 0, (7,)), "rows_w16_i32_clamp_o32"),
    ("rows of several dimensions", problem((9, 2, 3, 4), 0, (5, 7)), "rows_w16_i32_clamp_o32"),
    ("int64 indices", problem((100, 4), 0, (7,), index_bytes=8), "rows_w16_i64_clamp_o32"),
    ("rows, padded source", problem((9, 4), 0, (7,), x=(48, 4)), "rows_w16_i32_clamp_o32"),
    ("elements of 16 B", problem((100,), 0, (7,), 16), "rows_w16_i32_clamp_o32"),
    ("axis in the middle", problem((5, 100, 4), 1, (7,)), "planes_w16_i32_clamp_o32"),
    ("outer of several dimensions", problem((5, 6, 9, 4), 2, (7,)), "planes_w16_i32_clamp_o32"),
    ("rows of 12 B", problem((100, 3), 0, (7,)), "packed_w4_i32_clamp_o32"),
    ("rows of 24 B", problem((100, 6), 0, (7,)), "spliced_w8_i32_clamp_o32"),
    ("rows of 100 B of bytes", problem((100, 100), 0, (7,), 1), "spliced_w4_i32_clamp_o32"),
    ("rows of 3 B", problem((100, 3), 0, (7,), 1), "packed_w1_i32_clamp_o32"),
    ("rows, source 8 B off", problem((9, 4), 0, (7,), phases=(8, 0, 0)),
     "spliced_w8_i32_clamp_o32"),
    ("rows, out 4 B off", problem((9, 4), 0, (7,), phases=(0, 0, 4)), "spliced_w4_i32_clamp_o32"),
    ("16 B elements, 8 B off", problem((9,), 0, (7,), 16, phases=(8, 0, 0)),
     "spliced_w8_i32_clamp_o32"),
    ("scalars of 4 B", problem((100,), 0, (7,)), "scalars_w4_i32_clamp_o32"),
    ("scalars of 1 B", problem((100,), 0, (7,), 1), "scalars_few_w1_i32_clamp_o32"),
    ("very many scalars of 1 B", problem((100,), 0, (16 * 256 * 8448,), 1),
     "scalars_w1_i32_clamp_o32"),
    ("less of them", problem((100,), 0, (16 * 256 * 8448 - 16,), 1),
     "scalars_few_w1_i32_clamp_o32"),
    ("scalars of 2 B", problem((100,), 0, (7,), 2), "scalars_few_w2_i32_clamp_o32"),
    ("scalars of 8 B", problem((100,), 0, (7,), 8), "scalars_w8_i32_clamp_o32"),
    ("scalars by matrix", problem((100,), 0, (3, 7)), "scalars_w4_i32_clamp_o32"),
    ("every second scalar", problem((100,), 0, (7,), x=(8,)), "scalars_w4_i32_clamp_o32"),
    ("misaligned scalars", problem((100,), 0, (7,), phases=(1, 0, 0)), "packed_w1_i32_clamp_o32"),
    ("few scalars a row", problem((4, 100), 1, (7,)), "packed_w4_i32_clamp_o32"),
    ("last axis", problem((64, 100_000), 1, (512,)), "last_axis_w4_i32_clamp_o32"),
    ("last axis, rows that fit", problem((64, 1000), 1, (512,)),
     "last_axis_staged_w4_i32_clamp_o32"),
    ("last axis, longest rows of a stage", problem((64, 4096), 1, (1024,)),
     "last_axis_staged_w4_i32_clamp_o32"),
    ("last axis, rows 4 B longer", problem((132, 4097), 1, (1024,)), "windows_w4_i32_clamp_o32"),
    ("last axis, rows 4 B longer, but few", problem((64, 4097), 1, (1024,)),
     "last_axis_w4_i32_clamp_o32"),
    ("last axis, a sector for each pick", problem((4096, 2**16), 1, (2**13,)),
     "windows_w4_i32_clamp_o32"),
    ("last axis, fewer picks", problem((4096, 2**16), 1, (2**13 - 16,)),
     "last_axis_w4_i32_clamp_o32"),
    ("last axis, positions of 17 bits", problem((4096, 2**16 + 1), 1, (2**14,)),
     "windows_long_w4_i32_clamp_o32"),
    ("last axis, longest rows that pay", problem((1024, 2**18), 1, (2**18,)),
     "windows_long_w4_i32_clamp_o32"),
    ("last axis, rows 4 B longer", problem((1024, 2**18 + 1), 1, (2**18,)),
     "last_axis_w4_i32_clamp_o32"),
    ("last axis of 16 B", problem((132, 1025), 1, (1024,), 16), "windows_w16_i32_clamp_o32"),
    ("last axis, every second element", problem((132, 5000), 1, (5000,), x=(40_000, 8)),
     "last_axis_w4_i32_clamp_o32"),
    ("last axis, few of a row", problem((64, 8000), 1, (256,), 2), "last_axis_w2_i32_clamp_o32"),
    ("last axis, strided out", problem((64, 100_000), 1, (512,), out=(4096, 4)),
     "last_axis_w4_i32_clamp_o32"),
    ("source transposed", problem((9, 8), 0, (7,), x=(4, 36)), "strided_r2_w4_i32_clamp_o32"),
    ("out transposed", problem((9, 8), 0, (7,), out=(4, 28)), "strided_r2_w4_i32_clamp_o32"),
    ("out padded", problem((9, 8), 0, (7,), out=(64, 4)), "strided_r2_w16_i32_clamp_o32"),
    ("inner reversed", problem((9, 8), 0, (7,), x=(32, -4)), "strided_r2_w4_i32_clamp_o32"),
    ("inner repeated", problem((9, 8), 0, (7,), x=(4, 0)), "strided_r2_w4_i32_clamp_o32"),
    ("out of two transposed dimensions of indices", problem((9, 4), 0, (3, 7), out=(16, 48, 4)),
     "strided_r2_w16_i32_clamp_o32"),
    ("out of two transposed outer dimensions",
     problem((2, 3, 9, 4), 2, (7,), out=(112, 224, 16, 4)), "strided_r4_w16_i32_clamp_o32"),
    ("rows of two dimensions, both transposed",
     problem((9, 4, 4), 0, (7,), x=(64, 4, 16), out=(64, 4, 16)), "strided_r2_w16_i32_clamp_o32"),
    ("three runs", problem((9, 2, 8), 0, (7,), x=(999 * 4, 400, 4)), "strided_r4_w4_i32_clamp_o32"),
    ("more than 2^31 bytes of x", problem((2**20, 1024), 0, (7,)), "rows_w16_i32_clamp_o64"),
    ("just below", problem((2**19 - 1, 1024), 0, (7,)), "rows_w16_i32_clamp_o32"),
    ("more than 2^31 bytes of out", problem((9, 1024), 0, (2**20,)), "rows_w16_i32_clamp_o64"),
    ("extent of 2^31", problem((2**31, 4), 0, (7,), x=(0, 4)), "rows_w16_i32_clamp_o64"),
    ("a lot of scalars", problem((9,), 0, (2**29,)), "scalars_w4_i32_clamp_o64"),
    ("strided of 15 dimensions",  # of rank 8 by rank 8, no two of them chained
     problem((2,) * 8, 3, (2,) * 8, out=tuple(3**k * 4 for k in reversed(range(15)))),
     "strided_r16_w4_i32_clamp_o32"),
]  # fmt: skip
#: Problems and blocks: each takes a tile at a time.
BLOCKS = [
    ("rows", problem((9, 1024), 0, (70,)), 18),
    ("scalars", problem((9, 1), 0, (5000,), 1, phases=(0, 0, 1)), 5),
    ("strided", problem((9, 8), 0, (700,), out=(64, 4)), 2),
    ("at most", problem((9, 8), 0, (2**26,), out=(64, 4)), 65536),
]
OF_NOTHING = [problem((3, 0), 0, (7,)), problem((3, 4), 0, (0,))]


@each("outer", [8, 63, 1000])
def test_last_axis_grid_covers_every_row_and_index(outer):
    for count, extent in itertools.product([256, 4095, 4097, 20_000], [300, 200_000]):
        plan = plan_gather(problem((outer, extent), 1, (count,)))
        assert plan.variant == "last_axis"
        chunks, bands, _ = plan.grid
        assert chunks * plan.arguments["chunk"] >= count
        assert 1 <= bands <= 65535
        assert plan.shared_bytes <= 48 * 1024


#: Outer rows, extent, indices; then blocks, rows of a stage, and bytes of shared memory.
LAST_AXIS = [
    ((8, 1000, 5000), (2, 8), 1, 12192),
    ((300, 33, 300), (1, 150), 2, 928),
    ((10_000, 16, 5000), (2, 132), 76, 13056),
    ((10_000, 256, 300), (1, 512), 16, 16992),
    ((10**6, 16, 300), (1, 512), 256, 16992),
    ((10**6, 4096, 5000), (2, 2048), 1, 24576),
]


@each(("sizes", "grid", "rows", "shared"), LAST_AXIS)
def test_stages_of_last_axis_are_pinned(sizes, grid, rows, shared):
    outer, extent, count = sizes
    plan = plan_gather(problem((outer, extent), 1, (count,)))
    assert (plan.grid, plan.shared_bytes) == ((*grid, 1), shared)
    assert plan.arguments["rows"] == rows


#: Outer rows, extent, indices, bytes of an element; then blocks of a row and bytes of a vector.
UNSTAGED = [
    ((4096, 2**16, 2**12, 4), 8, 8),  # 66 of 528 blocks for a row in turn: 17 MB
    ((4096, 2**18, 2**12, 4), 8, 8),
    ((4096, 2**14, 2**8, 4), 1, 4),
    ((4096, 2**20, 2**20, 4), 33 * 4, 16),
    ((8, 2**16, 2**12, 1), 16, 1),
]


@each(("sizes", "chunks", "width"), UNSTAGED)
def test_blocks_that_run_at_once_have_few_rows(sizes, chunks, width):
    outer, extent, count, itemsize = sizes
    plan = plan_gather(problem((outer, extent), 1, (count,), itemsize))
    assert plan.variant == "last_axis"
    assert (plan.grid[0], plan.arguments["width"]) == (chunks, width)


#: Outer rows, extent, indices, bytes of an element; then blocks of a row, outputs of a block, KiB.
WINDOWS = [
    ((4096, 2**16, 2**16, 4), 2, 2**15, 227),
    ((4096, 2**16, 2**16, 2), 2, 2**15, 227),
    ((4096, 2**16, 2**16, 1), 2, 2**15, 227),
    ((4096, 2**15, 2**15, 8), 2, 2**14, 227),
    ((4096, 2**13, 2**15, 16), 4, 2**13, 227),
    ((4096, 5000, 5000, 4), 1, 5008, 79),
    ((50, 2**13, 2**16, 4), 3, 21856, 128),  # three blocks a row, for 132 multiprocessors
    ((4096, 2**16, 50 * 2**15, 4), 66, 24832, 227),  # two rows at once: 132 blocks, not 100
    ((4096, 2**16, 200 * 2**15, 4), 264, 24832, 227),
]


@each(("sizes", "chunks", "chunk", "kib"), WINDOWS)
def test_windows_are_pinned(sizes, chunks, chunk, kib):
    outer, extent, count, itemsize = sizes
    plan = plan_gather(problem((outer, extent), 1, (count,), itemsize))
    assert (plan.variant, plan.grid) == ("windows", (chunks, outer, 1))
    assert plan.arguments["chunk"] == chunk
    assert -(-plan.shared_bytes // 1024) == kib
    assert plan.grid_on(132) == (chunks, min(max(132 // chunks, 1), outer), 1)
