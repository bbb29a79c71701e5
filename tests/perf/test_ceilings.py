from contextlib import nullcontext

import numpy as np
import pytest

from cudakern.simulator import RawModule, checked, empty
from perf.timing import ceilings
from perf.timing.gpu import Gpu
from tests.helpers import timed_gpu

#: 16-byte vectors of which the last tile is not full; all blocks have several tiles.
COUNT = 3 * 2 * 2048 + 777
BLOCKS = 2


@pytest.fixture(scope="module")
def kernels():
    return ceilings.Kernels(RawModule, BLOCKS)


@pytest.fixture
def words():
    return np.random.default_rng(1).integers(0, 2**32, 4 * COUNT, np.uint32)


@pytest.fixture(params=["plain", "checked"])
def mode(request):
    return nullcontext if request.param == "plain" else checked


def test_each_kernel_moves_every_word(kernels, mode, words):
    with mode():
        copied, written = empty(words.shape, np.uint32), empty(words.shape, np.uint32)
        sums = empty(BLOCKS, np.uint64)
        kernels.copy(words, copied)
        kernels.read(words, sums)
        kernels.write(written, 0x9E3779B9)
    np.testing.assert_array_equal(copied, words)
    assert sum(map(int, sums)) == sum(map(int, words))
    np.testing.assert_array_equal(written, np.full(words.shape, 0x9E3779B9, np.uint32))


def test_rates_count_what_is_read_and_what_is_written():
    cupy = timed_gpu.make()
    rates = ceilings.measure(Gpu(cupy, cupy.clock))
    assert set(rates) == {"read", "write", "copy", "memcpy"}
    for rate in rates.values():
        assert rate == pytest.approx(timed_gpu.MEMORY_RATE * 1e9, rel=1e-3)


def test_the_copy_ceiling_is_the_better_of_two():
    cupy = timed_gpu.make()
    slow = cupy.cuda.runtime.memcpyAsync

    def twice(*arguments):
        slow(*arguments)
        slow(*arguments)

    cupy.cuda.runtime.memcpyAsync = twice
    rates = ceilings.measure(Gpu(cupy, cupy.clock))
    assert rates["copy"] == pytest.approx(2 * rates["memcpy"], rel=1e-3)


def test_the_higher_ceilings_count_and_drift_is_that_of_copies():
    before = {"read": 3.0, "write": 5.0, "copy": 4.0}
    after = {"read": 4.0, "write": 1.0, "copy": 3.0}
    highest, drift = ceilings.combine(before, after)
    assert highest == {"read": 4.0, "write": 5.0, "copy": 4.0}
    assert drift == pytest.approx(0.25)
