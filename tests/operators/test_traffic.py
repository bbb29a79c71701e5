"""What each variant moves, held against the least: every input and output once, in sectors.

Of rows that are picked, each counts the sectors that it lies in, as if nothing remembered them. The
least is that of packed arrays: rows with gaps between them lie in more sectors. The simulator has
no cache: what a kernel reads again, and finds in L1, counts again.

To compile a kernel takes far longer than to count what it moves. So cases share kernels, with other
files' checked tests, too, and those of further kernels are `rare`. The lines of the benchmarks
are counted by ``python -m perf static traffic``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import numpy as np

from cudakern.simulator import Requests, traffic
from perf.cases import (
    GatherNDWorkload,
    GatherWorkload,
    NonzeroWorkload,
    OneHotWorkload,
    ReduceWorkload,
)
from perf.cases.base import SECTOR_BYTES, Workload, nbytes
from tests.helpers.rows import each
from tests.helpers.samples import covering, is_thorough, sample

C16, F8, F4, F2 = "complex128", "float64", "float32", "float16"
I8, I4, I1, U4, U1 = "int64", "int32", "int8", "uint32", "uint8"
MEGA = 2**20


def as_it_is(x):
    return x


def transposed(x):
    return np.ascontiguousarray(x.T).T


def swapped(x):
    """Have the last two dimensions change places in memory."""
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


def backwards(x):
    return np.ascontiguousarray(x[..., ::-1])[..., ::-1]


def padded(x):
    """Put 48 bytes between rows."""
    wider = np.zeros((*x.shape[:-1], x.shape[-1] + 48 // x.itemsize), x.dtype)
    wider[..., : x.shape[-1]] = x
    return wider[..., : x.shape[-1]]


def every_second(x):
    return np.repeat(x, 2, axis=-1)[..., ::2]


def misaligned(x):
    """Put x one element behind a line of memory."""
    moved = np.zeros(x.size + 1, x.dtype)[1:].reshape(x.shape)
    moved[...] = x
    return moved


def doubled(coordinates):
    """Return DirectML's transposed coordinates: two words for each, column after column."""
    return np.zeros((*coordinates.shape[::-1], 2), coordinates.dtype)[..., 0].T


class Case(NamedTuple):
    """A workload that moves at most ``figure`` times its least sectors, by a kernel of a variant.

    The functions lay out the first input and the last output.
    """

    variant: str
    figure: float
    workload: Workload
    x: object = as_it_is
    out: object = as_it_is

    def __str__(self):
        layouts = [f", {f.__name__}" for f in (self.x, self.out) if f is not as_it_is]
        return f"{self.workload.operator}, {self.variant}: {self.workload.title}{''.join(layouts)}"


def count(case, inputs=None, **options):
    """Run a case in the simulator; return what its launch moved, and the bytes of its results."""
    workload = case.workload
    x, *others = inputs or workload.inputs(np, 5)
    *counts, out = workload.outputs(np)
    out = case.out(out)
    with traffic() as report:
        workload.call((case.x(x), *others), (*counts, out))(**options)
    (kernel,) = report.kernels
    assert re.match(rf"ck_{workload.operator}_{case.variant}_(?!staged)", kernel.kernel)
    return kernel, int(counts[0][0]) * out.shape[1] * out.itemsize + 4 if counts else out.nbytes


run = cache(count)


def least(case):
    """Return the sectors that must move."""
    return case.workload.traffic(cached=False).total / SECTOR_BYTES


def gather(shape, axis, count, dtype=F4, index=I4):
    return GatherWorkload(shape, axis, (count,), dtype, index, "random")


def gather_nd(shape, components, count, dtype=F4, index=I4, batch=0):
    indices = (*shape[:batch], count, components)
    return GatherNDWorkload(shape, indices, batch, dtype, index)


def one_hot(shape, depth, dtype=F4, index=I4, axis=None):
    return OneHotWorkload(shape, depth, len(shape) if axis is None else axis, dtype, index)


def nonzero(shape, density, dtype=U1, kind=U4, pattern="random"):
    return NonzeroWorkload(shape, dtype, density, pattern, kind)


def reduce(shape, axes, dtype=F4, function="sum"):
    return ReduceWorkload(function, shape, axes, dtype)


def rare(*cases):
    """Return cases of kernels of other types and widths, which a thorough run alone compiles."""
    return cases if is_thorough() else ()


GATHER = [
    # A warp writes 16 sectors. It reads a sector of indices again that another warp has, or one of
    # x where a row goes on: one too many in 33.
    Case("rows", 1.01, gather((5000, 4), 0, 3200)),
    Case("rows", 1.01, gather((5000, 4), 0, 3200, index=I8)),
    Case("rows", 1.03, gather((2000, 12), 0, 3200)),
    Case("rows", 1.04, gather((40, 1024), 0, 64)),
    Case("rows", 1.13, gather((1000, 16), 0, 1600), x=padded),
    Case("planes", 1.03, gather((5, 500, 4), 1, 704)),
    Case("planes", 1.04, gather((5, 50, 256), 1, 70)),
    *rare(Case("planes", 1.04, gather((5, 200, 16), 1, 704, index=I8))),
    # Rows of any alignment, read as the words they lie in. A word where two rows of x meet is read
    # for both, and a sector of two words can be read by two requests.
    Case("spliced", 1.01, gather((5000, 6), 0, 3200)),  # pieces of 8 bytes
    Case("spliced", 1.03, gather((100, 255), 0, 128)),  # of 4
    *rare(Case("spliced", 1.03, gather((500, 99), 0, 256, F2))),  # of 2
    Case("spliced", 1.01, gather((5000, 17), 0, 3072, U1)),  # of 1
    Case("spliced", 1.03, gather((5, 200, 25), 1, 640)),
    # A thread puts 16 bytes together from pieces as wide as rows are aligned, so the lanes of one
    # instruction lie 16 bytes apart and meet all 16 sectors of the warp's 512 bytes; the next piece
    # meets them again. All but the first should be found in L1.
    *rare(Case("packed", 2.29, gather((5000, 3), 0, 3072, F2))),
    Case("packed", 0.99, gather((4, 1000), 1, 1024)),
    # Single elements cost a sector each, less where a warp picks two of one sector.
    *rare(Case("scalars", 1.00, gather((10000,), 0, 20480, F8))),
    Case("scalars", 1.00, gather((10000,), 0, 20480, F8, I8)),
    # Indices of a thread that are more than 16 bytes are read by vectors 32 or 64 bytes apart: each
    # sector of them twice.
    *rare(Case("scalars", 1.18, gather((10000,), 0, 20480, index=I8))),
]
# Blocks take one row each as long as there are less than 4096: every row reads all indices again.
LAST_AXIS = [
    Case("last_axis", 1.21, gather((16, 20000), 1, 1024, index=I8)),
    *rare(Case("last_axis", 1.10, gather((16, 20000), 1, 1024, F8))),
]
# Rows are read once as a whole, which is less than a sector for each element that is picked.
STAGED = [
    Case("last_axis_staged", 0.44, gather((64, 1000), 1, 512)),
    Case("last_axis_staged", 0.28, gather((32, 1000), 1, 2048)),
    Case("last_axis_staged", 0.19, gather((64, 1000), 1, 1024, U1)),
    *rare(Case("last_axis_staged", 0.69, gather((64, 1000), 1, 512, F8))),
]
GATHER_STRIDED = [
    Case("strided", 1.31, gather((1000, 4), 0, 1600), out=padded),
    Case("strided", 1.13, gather((1000, 16), 0, 1600), out=padded),
    # Elements of 4 bytes one by one: an index is read by every warp of its row. Elements of a
    # transposed source lie in a sector each.
    Case("strided", 4.46, gather((1000, 16), 0, 1600), x=transposed),
    Case("strided", 1.10, gather((1000, 16), 0, 1600), x=backwards),
    # Lanes follow out, where neighbours are of different rows of x: a sector for each element.
    Case("strided", 4.80, gather((1000, 16), 0, 1600), out=transposed),
    Case("strided", 1.19, gather_nd((30, 40, 16), 2, 1600), out=padded),
    Case("strided", 1.18, gather_nd((30, 40, 16), 2, 1600), x=backwards),
    Case("strided", 6.07, gather_nd((30, 40, 16), 2, 1600), out=transposed),
]
# Tiles of 16 KiB read their tuples once; a sector of them that two tiles share, twice.
STAGED_TUPLES = [
    Case("rows", 1.01, gather_nd((5000, 4), 1, 3200)),
    Case("rows", 1.01, gather_nd((70, 70, 4), 2, 3200)),
    Case("rows", 1.01, gather_nd((70, 70, 4), 2, 3200, index=I8)),
    Case("rows", 1.04, gather_nd((*(3,) * 7, 4), 7, 3200, index=I8)),
    Case("rows", 1.02, gather_nd((50, 50, 12), 2, 3200)),
]
GATHER_ND = [
    Case("rows", 1.00, gather_nd((128, 128, 64), 2, 512, F2)),
    Case("rows", 0.84, gather_nd((3, 5, 9, 9, 4), 2, 256, batch=2)),
    Case("rows", 1.00, gather_nd((5, 8, 1024), 2, 64, index=I8)),
    Case("rows", 1.12, gather_nd((30, 30, 16), 2, 1600), x=padded),
    Case("spliced", 1.01, gather_nd((70, 70, 6), 2, 3200)),
    Case("spliced", 1.03, gather_nd((20, 20, 100), 2, 640, U1)),
    *rare(Case("spliced", 1.02, gather_nd((70, 70, 17), 2, 3072, U1, I8))),
    *rare(Case("spliced", 1.03, gather_nd((20, 20, 99), 2, 256, F2))),
    Case("spliced", 1.02, gather_nd((5, 10, 20, 25), 2, 128, batch=1)),
    Case("spliced", 1.03, gather_nd((4, 5, 16001), 2, 32, U1)),
    # As in gather: a sector with several pieces of a row is read for each of them.
    Case("packed", 2.34, gather_nd((70, 70, 3), 2, 3072, U1)),
    Case("packed", 1.95, gather_nd((70, 70, 3), 2, 3072)),
    Case("packed", 1.00, gather_nd((100, 100), 2, 20480)),
    Case("packed", 1.00, gather_nd((100, 100), 2, 20480, F8)),
    *rare(Case("packed", 0.98, gather_nd((100, 100), 2, 20480, U1, I8))),
    Case("packed", 0.91, gather_nd((8, 1000), 1, 2048, batch=1)),
]


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
# What blocks share in reduce are states, which planning keeps at 2 % of what they read.
REDUCE = [
    Case("stream", 1.03, reduce((MEGA + 12345,), (0,), I1)),
    Case("tiles", 1.03, reduce((2**17, 3), (1,))),
    Case("tiles", 1.03, reduce((2**19, 4), (1,), I1, "max")),
    Case("warps", 1.03, reduce((600, 1000), (1,))),
    Case("vectors", 1.03, reduce((64, 100, 512), (1,), I1)),
    Case("vectors", 1.03, reduce((2**16, 8), ())),
    Case("stream", 1.03, reduce((MEGA // 2,), (0,)), x=misaligned),
    Case("tiles", 1.03, reduce((2**17, 4), (1,)), x=misaligned),
    Case("tiles", 1.03, reduce((512, 1024), (1,)), x=misaligned),
    Case("stream", 1.03, reduce((128, 4096), (1,)), x=misaligned),
    Case("columns", 1.03, reduce((2**16, 8), (0,)), x=misaligned),
    # A sector that two requests meet counts twice. Ranges of columns meet within sectors, and
    # blocks that share them exchange states: that stays in L2, and more blocks take less time.
    Case("columns", 1.04, reduce((2**16, 33), (0,), I1)),
    Case("columns", 1.12, reduce((600, 1001), (0,))),
    Case("columns", 1.10, reduce((8, 200, 333), (1,))),
    # Few elements of a row are read one by one.
    Case("strided", 1.13, reduce((2**16, 8), ()), x=misaligned),
    # Short pieces are less than sectors, and are read element by element or with few lanes.
    Case("strided", 1.15, reduce((48, 64, 14, 14), (0, 2, 3))),
    Case("warps", 1.21, reduce((32, 256, 7, 7), (0, 2, 3))),
    *rare(
        Case("stream", 1.03, reduce((30, 20_000), (1,), F8, "argmax")),
        Case("tiles", 1.03, reduce((50_000, 2, 3), (1,), F8)),
        Case("vectors", 1.03, reduce((2**18, 8), (), I1)),
        # A state has 24 bytes, which are three accesses.
        Case("vectors", 1.06, reduce((2**16, 8), (0,), F8, "argmax")),
        Case("columns", 1.27, reduce((1024, 1024), (0,), F2), x=misaligned),
        Case("strided", 1.17, reduce((2, 600_001), (0,), F2)),
        Case("strided", 1.44, reduce((96, 64, 14, 14), (0, 2, 3), F2)),
    ),
]


def packed(density, shape, dtype=U1, kind=U4, **layouts):
    """Return a search of a packed x: 1.03 up to a density of 1 %, 1.10 from 50 % on."""
    figure = 1.03 if density <= 0.01 else 1.10
    return Case("stream", figure, nonzero(shape, density, dtype, kind), **layouts)


LINE, SPACE = (MEGA,), (16, 256, 256)
# Without the words that blocks exchange.
NONZERO = [
    *(packed(d, LINE) for d in (0, 0.01, 0.5)),
    *(packed(d, SPACE) for d in (0.01, 1)),
    *(packed(d, (16, 128, 128), F4) for d in (0, 1)),
    packed(0.5, (MEGA // 4,), F4),
    packed(0.5, (16, 256, 128), F2, I8),
    *rare(packed(0.01, (MEGA // 16,), C16, I8)),
    packed(0.01, SPACE, out=transposed),
    packed(0.01, LINE, x=misaligned),
    packed(0.5, (2, 3, 4, 2, 2, 8, 512), F4, I8),
    packed(0.5, (40_000,)),  # one block
    packed(0.5, (4, 100, 100), F4, I8, out=transposed),
    *rare(*(packed(d, (MEGA // 8,), F8) for d in (0.01, 0.5))),
]
# Other layouts. A lane reads 16 bytes of a column where 32 move; a cache would keep the rest.
NONZERO_LAYOUTS = [
    Case("parts", 2.44, nonzero((64, 16384), 0.5), x=swapped),
    Case("columns", 1.98, nonzero((4, 128, 1024), 0.01, F4), x=swapped),
    Case("strided", 1.14, nonzero((256, 1000), 0.01, F4), x=padded),
    Case("strided", 1.01, nonzero((MEGA // 4,), 0.01, F4), x=backwards),
    Case("stream", 1.83, nonzero((256, 1024), 0.5), out=doubled),
    *rare(
        Case("columns", 1.93, nonzero((256, 2048), 0.01), x=swapped),
        Case("columns", 1.35, nonzero((256, 2048), 0.5, F2), x=swapped),
        Case("columns", 1.99, nonzero((128, 1024), 0.01, F8, I8), x=swapped),
        Case("parts", 2.03, nonzero((32, 10000), 0.5, F2), x=swapped),
    ),
]


def of_arrays(kernel, *kinds):
    """Return the requests to x or to the results, without what blocks of a search share."""
    requests = Requests()
    for line in kernel.lines:
        if line.kind in kinds and "look_back.cuh" not in str(line.stack):
            requests.include(line)
    return requests


PICKED = GATHER + LAST_AXIS + STAGED + GATHER_STRIDED + STAGED_TUPLES + GATHER_ND
HOT = ONE_HOT_ROWS + ONE_HOT + ONE_HOT_STRIDED


def check_indexed(case, ends=0):
    """Hold sectors against the least; each byte is written once, and in vectors.

    Of an output, so many parts may begin and end off a vector.
    """
    kernel, written = run(case)
    assert kernel.sectors <= case.figure * least(case)
    assert kernel.stores.bytes_requested == written
    assert kernel.atomics.requests == 0
    if case.variant == "strided":
        return
    itemsize = np.dtype(case.workload.dtype).itemsize
    # A thread writes 16 bytes, but of single bytes of the last axis 8.
    vector = min(16, 8 * itemsize) if "last_axis" in kernel.kernel else 16
    assert kernel.stores.sectors <= -(-written // SECTOR_BYTES) + 6 * ends
    assert kernel.stores.accesses <= written / vector + 2 * ends * (16 // itemsize - 1)


@each("case", PICKED, ids=str)
def test_lookups(case):
    check_indexed(case)


@each("case", HOT, ids=str)
def test_one_hot(case):
    planes = case.variant == "planes" and case.workload.axis == 1
    check_indexed(case, case.workload.indices_shape[0] if planes else 1)


@each("case", REDUCE, ids=str)
def test_reductions(case):
    kernel, _ = run(case)
    assert kernel.sectors <= case.figure * least(case)


@each("case", NONZERO + NONZERO_LAYOUTS, ids=str)
def test_searches(case):
    kernel, written = run(case)
    arrays = of_arrays(kernel, "load", "store").sectors
    assert arrays <= case.figure * least(case)
    # The words that blocks exchange stay in the L2 cache.
    read = nbytes(case.workload.operands[0])
    assert kernel.sectors - arrays <= max(512, read / SECTOR_BYTES / 4)
    if case not in NONZERO:
        return
    assert of_arrays(kernel, "load").sectors <= read / SECTOR_BYTES + 32  # elements at the ends
    stores = of_arrays(kernel, "store")
    assert stores.bytes_requested == written
    # A run, of which a warp has one for each tile or 128 rows and more, has at most three
    # coordinates more at each end.
    runs = 8 * (read / 2**14 + 1) + written / 128
    assert stores.accesses <= written / 16 + 6 * runs


@each("case", STAGED, ids=str)
def test_bank_conflicts_of_picks_at_random(case):
    # Of 32 picks at random, 3.5 and more meet in the busiest of 32 banks. The table is read by
    # vectors of up to 16 bytes without conflicts.
    kernel, _ = run(case)
    assert 1 <= kernel.shared_loads.wavefronts_per_request < 4.6
    assert 1 <= kernel.shared_stores.wavefronts_per_request <= 4


@each("case", STAGED_TUPLES, ids=str)
def test_tuples_are_staged_with_few_bank_conflicts(case):
    # An odd number of components apart: threads read without conflicts, and write with gaps.
    kernel, _ = run(case)
    words = np.dtype(case.workload.index_dtype).itemsize // 4
    assert kernel.shared_loads.wavefronts_per_request <= words
    assert kernel.shared_stores.wavefronts_per_request <= 1.7 * words


OF_EACH_KIND = {
    case.workload.operator + case.variant: case for case in PICKED if case.x is as_it_is
}


@each(("case", "mode"), sample(covering(OF_EACH_KIND.values(), ["wrap", "fill"]), 4))
def test_every_mode_moves_the_same(case, mode):
    kernel, _ = run(case, mode=mode)
    clamped, _ = run(case)
    assert kernel.kernel != clamped.kernel
    assert (kernel.loads, kernel.stores) == (clamped.loads, clamped.stores)


@each("case", ONE_HOT_ROWS[::5], ids=str)
def test_bits_are_read_without_conflicts(case):
    kernel, _ = run(case)
    lines = [line for line in kernel.lines if line.kind == "shared load"]
    bits = [line for line in lines if line.bytes_requested == 4 * line.accesses]
    assert sum(line.accesses for line in bits) == kernel.stores.accesses
    # Two words of a bank can meet where the ends of a tile are written.
    assert sum(line.wavefronts for line in bits) <= 1.1 * sum(line.requests for line in bits)


@each("case", [*ONE_HOT_ROWS[::30], *ONE_HOT[6:9], ONE_HOT_STRIDED[0]], ids=str)
def test_what_the_indices_say_does_not_change_what_moves(case):
    kernel, _ = run(case)
    same, _ = count(case, [np.zeros(*case.workload.operands[0])])
    assert (kernel.loads, kernel.stores) == (same.loads, same.stores)


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


@each(("columns", "kind"), covering(range(1, 9), [U4, I8]))
def test_rows_are_put_together_without_conflicts(columns, kind):
    """Lanes write rows side by side; of 6 coordinates, those of an axis are in half the banks."""
    kernel, _ = run(Case("stream", 1, nonzero((*(2,) * (columns - 1), 4096), 1, kind=kind)))
    lines = [line for line in kernel.lines if line.kind == "shared store"]
    lines = [line for line in lines if "coordinate_writer.cuh" in line.stack[0][0]]
    assert lines
    for line in lines:
        fewest = max(line.requests, line.bytes_requested / 128)
        # A buffer of 8 coordinates of 8 bytes has no row for each lane.
        fewest *= 2 if columns == 6 else 4 / 3 if columns * np.dtype(kind).itemsize > 48 else 1
        assert line.wavefronts <= 1.05 * fewest


def test_masks_are_built_without_conflicts():
    kernel, _ = run(packed(0, LINE))
    lines = [line for line in kernel.lines if line.kind.startswith("shared")]
    fewest = sum(max(line.requests, line.bytes_requested // 128) for line in lines)
    assert sum(line.wavefronts for line in lines) <= 1.1 * fewest
