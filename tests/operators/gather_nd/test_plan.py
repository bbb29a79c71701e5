"""Which kernel a gather by tuples gets, and what it takes of the machine."""

from __future__ import annotations

import itertools
from dataclasses import replace

from cudakern.operators.gather_nd.plan import plan_gather_nd, specialisations
from cudakern.operators.indexing.rows import rows_of_tuples
from cudakern.values.layout import Layout, packed_strides
from tests.helpers.rows import each

STATIC_SHARED_LIMIT = 48 * 1024  # bytes a block may have without asking for more


def problem(
    shape, indices, batch=0, itemsize=4, *, index_bytes=4, x=None, index=None, out=None, phases=None
):
    """Return a problem; ``x``, ``index`` and ``out`` are byte strides, packed by default."""
    result = (*indices[:-1], *shape[batch + indices[-1] :])
    phases = phases or (0, 0, 0)
    return rows_of_tuples(
        Layout(shape, x or packed_strides(shape, itemsize), itemsize, phases[0]),
        Layout(indices, index or packed_strides(indices, index_bytes), index_bytes, phases[1]),
        Layout(result, out or packed_strides(result, itemsize), itemsize, phases[2]),
        batch,
        {4: "int32", 8: "int64"}[index_bytes],
        "clamp",
        bytes(16),
    )


TWOS = (2,) * 8
#: For `tests.operators.test_plans`.
PLAN = plan_gather_nd
PINNED = [
    ("rows of 16 B", problem((100, 4), (7, 1)), "rows_w16_i32_clamp_o32"),
    ("rows of 4 KB", problem((9, 7, 1024), (7, 2)), "rows_w16_i32_clamp_o32"),
    ("tuples of 7", problem((*TWOS[:7], 4), (9, 7)), "rows_w16_i32_clamp_o32"),
    ("source of two reversed axes", problem((9, 8, 4), (7, 2), x=(-128, -16, 4)),
     "rows_w16_i32_clamp_o32"),
    ("components far apart", problem((2, 3, 4, 4), (7, 3), index=(4, 28)),
     "rows_w16_i32_clamp_o32"),
    ("batch of two dimensions", problem((5, 6, 9, 4), (5, 6, 7, 1), 2), "rows_w16_i32_clamp_o32"),
    ("batch of ones, padded", problem((1, 1, 9, 4), (1, 1, 7, 1), 2, x=(999, 99, 16, 4)),
     "rows_w16_i32_clamp_o32"),
    ("batch, the same tuples for each", problem((5, 9, 4), (5, 7, 1), 1, index=(0, 4, 4)),
     "rows_w16_i32_clamp_o32"),
    ("rows of 12 B", problem((100, 3), (7, 1)), "packed_w4_i32_clamp_o32"),
    ("scalars of 4 B", problem((100,), (7, 1)), "packed_w4_i32_clamp_o32"),
    ("tuples of 8", problem(TWOS, (7, 8), itemsize=2), "packed_w2_i32_clamp_o32"),
    ("scalars of batches", problem((3, 4, 9), (3, 4, 7, 1), 2), "packed_w4_i32_clamp_o32"),
    ("misaligned scalars", problem((100,), (7, 1), phases=(1, 0, 0)), "packed_w1_i32_clamp_o32"),
    ("rows of 24 B", problem((100, 6), (7, 1)), "spliced_w8_i32_clamp_o32"),
    ("rows of 17 B", problem((9, 9, 17), (7, 2), itemsize=1), "spliced_w1_i32_clamp_o32"),
    ("rows, source 8 B off", problem((9, 4), (7, 1), phases=(8, 0, 0)), "spliced_w8_i32_clamp_o32"),
    ("rows, out 4 B off", problem((9, 4), (7, 1), phases=(0, 0, 4)), "spliced_w4_i32_clamp_o32"),
    ("rows, one axis 20 B apart", problem((9, 8, 4), (7, 2), x=(20, 256, 4)),
     "spliced_w4_i32_clamp_o32"),
    ("rows, batches 24 B apart", problem((5, 9, 4), (5, 7, 1), 1, x=(24, 160, 4)),
     "spliced_w8_i32_clamp_o32"),
    ("tuples of no component", problem((9, 8), (7, 0)), "strided_r2_w16_i32_clamp_o32"),
    ("out transposed", problem((9, 8), (7, 1), out=(4, 28)), "strided_r2_w4_i32_clamp_o32"),
    ("out of scalars, padded", problem(TWOS, (7, 8), out=(12,)), "strided_r2_w4_i32_clamp_o32"),
    ("out of two transposed dimensions of tuples", problem((9, 4), (3, 7, 1), out=(16, 48, 4)),
     "strided_r2_w16_i32_clamp_o32"),
    ("out of two transposed batches",
     problem((2, 3, 9, 4), (2, 3, 7, 1), 2, out=(112, 224, 16, 4)), "strided_r4_w16_i32_clamp_o32"),
    ("rows of two dimensions, both transposed",
     problem((9, 4, 4), (7, 1), x=(64, 4, 16), out=(64, 4, 16)), "strided_r2_w16_i32_clamp_o32"),
    ("indices of two runs", problem((9, 9, 4), (3, 7, 2), index=(200, 8, 4)),
     "strided_r2_w16_i32_clamp_o32"),
    ("batch, broadcast indices", problem((5, 6, 9, 4), (5, 6, 7, 1), 2, index=(0, 28, 4, 4)),
     "strided_r4_w16_i32_clamp_o32"),
    ("padded, 1 B off", problem((9, 8), (7, 1), out=(64, 4), phases=(1, 0, 0)),
     "strided_r2_w1_i32_clamp_o32"),
    ("inner with gaps, 2 B off", problem((9, 8), (7, 1), x=(64, 8), phases=(2, 0, 0)),
     "strided_r4_w2_i32_clamp_o32"),
    ("strided of 5 dimensions", problem((2, 2, 2), (2, 2, 2, 1), out=(2048, 512, 128, 32, 8)),
     "strided_r8_w4_i32_clamp_o32"),
    ("strided of 14 dimensions",
     problem(TWOS, (*TWOS[:7], 1), out=tuple(4 * 3**k for k in reversed(range(14)))),
     "strided_r16_w4_i32_clamp_o32"),
    ("2^31 bytes of x", problem((2**9, 2**10, 1024), (7, 2)), "rows_w16_i32_clamp_o64"),
    ("below 2^31 bytes of x", problem((2**9 - 1, 2**10, 1024), (7, 2)), "rows_w16_i32_clamp_o32"),
    ("2^31 - 15 bytes of x", problem((2**31 - 15,), (7, 1), itemsize=1), "packed_w1_i32_clamp_o64"),
    ("2^31 - 16 bytes of x", problem((2**31 - 16,), (7, 1), itemsize=1), "packed_w1_i32_clamp_o32"),
    ("batches far apart", problem((3, 9, 6), (3, 7, 1), 1, x=(2**30, 24, 4)),
     "spliced_w8_i32_clamp_o64"),
    ("tuples far apart", problem((9, 4), (7, 1), index=(2**29, 4)), "rows_w16_i32_clamp_o64"),
    ("components 2^31 - 16 bytes apart", problem((9, 9, 4), (1, 2), index=(8, 2**31 - 16)),
     "rows_w16_i32_clamp_o64"),
    ("components 2^31 - 20 bytes apart", problem((9, 9, 4), (1, 2), index=(8, 2**31 - 20)),
     "rows_w16_i32_clamp_o32"),
    ("2^31 bytes of out", problem((9,), (2**29, 1)), "packed_w4_i32_clamp_o64"),
    ("extent of 2^31", problem((3, 2**31, 4), (7, 2), x=(16, 0, 4)), "rows_w16_i32_clamp_o64"),
    ("extent below 2^31", problem((3, 2**31 - 1, 4), (7, 2), x=(16, 0, 4)),
     "rows_w16_i32_clamp_o32"),
    ("strided, wide", problem((2**20, 1024), (7, 1), out=(8192, 4)),
     "strided_r4_w16_i32_clamp_o64"),
    ("strided of 5 dimensions, wide",
     problem((2**29, 2, 2), (2, 2, 2, 1), out=(2048, 512, 128, 32, 8)),
     "strided_r16_w4_i32_clamp_o64"),
]  # fmt: skip
#: Problems and blocks: each takes a tile at a time.
BLOCKS = [
    ("rows", problem((9, 1024), (70, 1)), 18),
    ("strided", problem((9, 8), (700, 1), out=(64, 4)), 2),
]
OF_NOTHING = [problem((3, 0), (7, 1)), problem((3, 4), (0, 2)), problem((0, 4), (0, 7, 1), 1)]


@each(
    ("mode", "name"), [("clamp", "clamp"), ("raise", "clamp"), ("wrap", "wrap"), ("fill", "fill")]
)
@each(
    ("index_type", "short"),
    [("int32", "i32"), ("uint32", "u32"), ("int64", "i64"), ("uint64", "u64")],
)
def test_plan_follows_mode_and_index_type(mode, name, index_type, short):
    rows = problem((9, 4), (7, 1), index_bytes=int(index_type[-2:]) // 8)
    plan = plan_gather_nd(replace(rows, mode=mode, index_type=index_type))
    assert plan.kernel.entry == f"ck_gather_nd_rows_w16_{short}_{name}_o32"


def streams():
    """Yield problems with packed results of many rows."""
    lengths = (*range(1, 19), 24, 31, 32, 48, 100, 4096, 8191, 8192, 8193, 20_000)
    for tuple_size, row, index_bytes in itertools.product(range(1, 9), lengths, (4, 8)):
        inner = (row,) if tuple_size < 8 else ()
        shape = ((5,) * tuple_size) + inner
        item = 1 if inner else min(row & -row, 16)
        for first_stride, out_phase in (None, 0), (None, 4), (2**40, 0):
            strides = first_stride and (first_stride, *packed_strides(shape, item)[1:])
            yield problem(
                shape, (50_000, tuple_size), 0, item, index_bytes=index_bytes, x=strides,
                phases=(0, 0, out_phase),
            )  # fmt: skip


def test_streams_fit_the_machine():
    listed = {spec.entry: spec for spec in specialisations()}
    launches = list(map(plan_gather_nd, streams()))
    assert all(listed[launch.kernel.entry] == launch.kernel for launch in launches)
    most = max(launch.shared_bytes for launch in launches)
    assert 32 * 1024 < most <= STATIC_SHARED_LIMIT  # near the bound: hard ones were tried
