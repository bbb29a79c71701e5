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
from functools import cache, partial
from typing import NamedTuple
from unittest import mock

import numpy as np

import cudakern as ck
from cudakern.simulator import traffic
from perf.cases.base import SECTOR_BYTES, Workload
from tests.helpers.samples import is_thorough

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
    call = workload.call((case.x(x), *others), (*counts, out))
    function = partial(getattr(ck, workload.operator), **options)
    with traffic() as report, mock.patch.object(ck, workload.operator, function):
        call()
    (kernel,) = report.kernels
    assert re.match(rf"ck_{workload.operator}_{case.variant}_(?!staged)", kernel.kernel)
    return kernel, int(counts[0][0]) * out.shape[1] * out.itemsize + 4 if counts else out.nbytes


run = cache(count)


def least(case):
    """Return the sectors that must move."""
    return case.workload.traffic(cached=False).total / SECTOR_BYTES


def rare(*cases):
    """Return cases of kernels of other types and widths, which a thorough run alone compiles."""
    return cases if is_thorough() else ()


def hold_to_least(case):
    """Hold the sectors of a case against the least; return what `run` does."""
    kernel, written = run(case)
    assert kernel.sectors <= case.figure * least(case)
    return kernel, written


def hold_in_vectors(case, ends=0):
    """Hold sectors against the least; each byte is written once, and in vectors.

    Of an output, so many parts may begin and end off a vector.
    """
    kernel, written = hold_to_least(case)
    assert kernel.stores.bytes_requested == written
    assert kernel.atomics.requests == 0
    if case.variant == "strided":
        return
    itemsize = np.dtype(case.workload.dtype).itemsize
    # A thread writes 16 bytes, but of single bytes of the last axis 8, and of few elements one.
    vector = min(16, 8 * itemsize) if "last_axis" in kernel.kernel else 16
    vector = itemsize if "last_axis_w" in kernel.kernel else vector
    assert kernel.stores.sectors <= -(-written // SECTOR_BYTES) + 6 * ends
    assert kernel.stores.accesses <= written / vector + 2 * ends * (16 // itemsize - 1)


def of_each_variant(cases):
    """Return a case of each variant whose arrays are laid out as they are."""
    return {case.variant: case for case in cases if case.x is as_it_is}.values()


def assert_mode_moves_the_same(case, mode):
    """Another kernel than that of the mode clamp."""
    kernel, _ = run(case, mode=mode)
    clamped, _ = run(case)
    assert kernel.kernel != clamped.kernel
    assert (kernel.loads, kernel.stores) == (clamped.loads, clamped.stores)
