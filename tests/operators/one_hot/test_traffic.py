"""What the variants of one_hot move: `tests.operators.test_traffic`."""

from __future__ import annotations

import numpy as np
import pytest

from perf.cases.one_hot import OneHotWorkload
from tests.helpers.one_hot import in_tiles
from tests.helpers.rows import each
from tests.helpers.samples import covering
from tests.helpers.traffic import (
    C16,
    F2,
    F4,
    F8,
    I4,
    I8,
    U1,
    Case,
    as_it_is,
    backwards,
    count,
    every_second,
    hold_in_vectors,
    hold_to_least,
    least,
    misaligned,
    padded,
    rare,
    run,
    transposed,
)


def one_hot(shape, depth, dtype=F4, index=I4, axis=None):
    return OneHotWorkload(shape, depth, len(shape) if axis is None else axis, dtype, index)


def one_hot_rows(dtype, index, nbytes, out):
    """Return a case of rows of about so many bytes, the depth odd if there are more than 32."""
    width = np.dtype(dtype).itemsize
    depth = max(nbytes // width, 2)
    depth += nbytes > 32 and depth % 2 == 0
    count = max(300_000 // (depth * width), 5) // 8 * 8 + 3
    return Case("stream", 1.01, one_hot((count,), depth, dtype, index), out=out)


ONE_HOT_ROWS = [
    # Tiles of whole rows read their indices once, at most two sectors more. Tiles that are a part
    # of a row read one or two indices each: a sector for 8 KiB.
    one_hot_rows(dtype, index, nbytes, out)
    for dtype, index in covering((U1, F2, F4, F8, C16), (I8, I4))
    for nbytes in (32, 200, 4000, 100_000)
    for out in (as_it_is, misaligned)
    if dtype != C16 or out is as_it_is  # 16 bytes behind a line is on a vector, still
]
ONE_HOT = [
    Case("stream", 1.01, one_hot((30_003,), 1, U1, I8)),
    Case("stream", 1.01, one_hot((3003,), 1, C16)),
    Case("stream", 1.01, one_hot((10_003,), 2), out=misaligned),
    Case("stream", 1.01, one_hot((10_003,), 31, U1, I8), out=misaligned),
    # Whole planes of a row, or parts of them. Indices are read once, but for the sector in which
    # two parts of a plane that is not a multiple of 32 bytes meet.
    Case("planes", 1.00, one_hot((4, 4096), 21, U1, I8, axis=1)),
    Case("planes", 1.01, one_hot((4, 3843), 21, U1, I8, axis=1)),
    Case("planes", 1.01, one_hot((4, 3843), 21, U1, I8, axis=1), out=misaligned),
    Case("planes", 1.02, one_hot((4, 3843), 21, index=I8, axis=1), out=misaligned),
    Case("planes", 1.00, one_hot((2, 1024), 64, index=I8, axis=1)),
    *rare(Case("planes", 1.01, one_hot((2, 751), 33, F8, axis=1))),
    Case("stream", 1.00, one_hot((50, 16), 90, F2, axis=1)),
    Case("stream", 1.01, one_hot((16,), 9000, axis=0)),
    Case("stream", 1.02, one_hot((9, 7), 501, U1, I8, axis=1)),
    # More planes than a tile has: each group of them reads the indices.
    Case("planes", 1.01, one_hot((1000,), 300, index=I8, axis=0)),
    # Seen in the order of memory.
    Case("planes", 1.00, one_hot((4096,), 33, index=I8), out=transposed),
    Case("stream", 1.01, one_hot((3003,), 33, axis=0), out=transposed),
]
# Elements one by one: an index is read by every warp of its row, a sector for 32 elements.
ONE_HOT_STRIDED = [
    Case("strided", 1.58, one_hot((200,), 33), out=padded),
    Case("strided", 1.70, one_hot((200,), 33), out=backwards),
    Case("strided", 2.23, one_hot((200,), 33), out=every_second),
    *rare(Case("strided", 1.13, one_hot((200,), 33, C16), out=padded)),
    *rare(Case("strided", 2.91, one_hot((200,), 63, U1), out=padded)),
]
# A thread an element, of few: as strided.
ONE_HOT_FEW = [
    Case("strided_few", 1.24, one_hot((200,), 33)),
    Case("strided_few", 1.17, one_hot((3003,), 10, index=I8)),
]
CASES = ONE_HOT_ROWS + ONE_HOT + ONE_HOT_STRIDED + ONE_HOT_FEW


def hold(case):
    """As hold_in_vectors; planes of a row begin and end off a vector."""
    if case in ONE_HOT_FEW:
        hold_to_least(case)
        return
    planes = case.variant == "planes" and case.workload.axis == 1
    with in_tiles():
        hold_in_vectors(case, case.workload.indices_shape[0] if planes else 1)


@pytest.fixture
def tiles():
    with in_tiles():
        yield


@pytest.mark.usefixtures("tiles")
@each("case", ONE_HOT_ROWS[::5], ids=str)
def test_bits_are_read_without_conflicts(case):
    kernel, _ = run(case)
    lines = [line for line in kernel.lines if line.kind == "shared load"]
    bits = [line for line in lines if line.bytes_requested == 4 * line.accesses]
    assert sum(line.accesses for line in bits) == kernel.stores.accesses
    # Two words of a bank can meet where the ends of a tile are written.
    assert sum(line.wavefronts for line in bits) <= 1.1 * sum(line.requests for line in bits)


@pytest.mark.usefixtures("tiles")
@each("case", [*ONE_HOT_ROWS[::30], *ONE_HOT[6:9], ONE_HOT_STRIDED[0]], ids=str)
def test_what_the_indices_say_does_not_change_what_moves(case):
    kernel, _ = run(case)
    same, _ = count(case, [np.zeros(*case.workload.operands[0])])
    assert (kernel.loads, kernel.stores) == (same.loads, same.stores)


@pytest.mark.usefixtures("tiles")
@each(
    "workload",
    [
        one_hot((20_003,), 33),
        one_hot((20_003,), 5, C16, I8),
        one_hot((2, 1024), 64, index=I8, axis=1),
    ],
)
def test_values_in_memory_are_read_once_for_each_tile(workload):
    # A sector more for each tile; two, if off and on lie in two.
    case = Case("(stream|planes)", 1.01, workload)
    kernel, _ = count(case, values=np.array([[0], [1]], workload.dtype))
    assert kernel.sectors <= case.figure * least(case)
