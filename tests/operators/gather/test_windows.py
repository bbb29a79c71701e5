"""gather along the last axis of long rows, through windows of shared memory."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cudakern as ck
from cudakern.operators.gather import plan as gather_plan
from cudakern.values import layout
from perf.cases.gather import GatherWorkload
from tests.helpers import oracle
from tests.helpers.bound import forget
from tests.helpers.checked import ORDERS
from tests.helpers.places import POISON
from tests.helpers.rows import each
from tests.helpers.samples import examples, is_thorough
from tests.helpers.strategies import random_bytes, random_indices
from tests.helpers.traffic import Case, count

pytestmark = pytest.mark.cudakern_checked(seeds=ORDERS)

KIB = 1024
#: Index type, data type, mode, and whether rows have more than 2^16 elements.
KINDS = [
    ("uint32", "uint8", "wrap", False),
    ("int64", "float16", "fill", True),
    ("int32", "float32", "clamp", False),
    ("int64", "float64", "fill", False),
    ("uint64", "complex128", "clamp", False),
]
if is_thorough():
    TYPES = ("int32", "uint64"), ("uint8", "float16", "float32", "float64", "complex128")
    KINDS = [
        (index, dtype, mode, long)
        for index, dtype, mode in product(*TYPES, ("clamp", "wrap", "fill"))
        for long in (False, True)[: 1 if np.dtype(dtype).itemsize > 4 else 2]
    ]


@pytest.fixture
def few(monkeypatch):
    """Have a GPU of three multiprocessors, whose blocks take several rows each."""
    monkeypatch.setattr(layout, "MULTIPROCESSORS", 3)
    monkeypatch.setattr(gather_plan, "MULTIPROCESSORS", 3)
    forget(monkeypatch)


@pytest.mark.usefixtures("few")
@each(("index_dtype", "dtype", "mode", "long"), KINDS)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_windows_equal_numpy(index_dtype, dtype, mode, long, data):
    draw, dtype = data.draw, np.dtype(dtype)
    item = dtype.itemsize
    # What a GPU lets a block have, from V100 to Blackwell; most rows then take several windows.
    shared = draw(st.sampled_from([48, 64, 99, 227]), "KiB of shared memory") * KIB
    low, high = (2**16 + 1, 2**16 + 9000) if long else (16 * KIB // item + 1, 2**16 - 1)
    most = st.integers(low, min(high, 80 * KIB // item) if not long else high)
    extent = draw(st.one_of(most, most.map(lambda n: n // 16 * 16)).filter(lambda n: n >= low))
    least = -(-extent * item // 32)
    count = least + draw(st.one_of(st.just(-least % 16), st.integers(0, 3000)), "more indices")
    outer = draw(st.integers(8, 13), "rows")
    rng = np.random.default_rng(draw(st.integers(0, 2**32), "seed"))
    ahead, gap = draw(st.integers(0, 16)), draw(st.sampled_from([0, 0, 1, 16]))
    memory = random_bytes(rng, ahead + outer * (extent + gap), dtype)
    x = memory[ahead:].reshape(outer, extent + gap)[:, :extent]
    apart = draw(st.sampled_from([1, 1, 2]), "stride of indices")
    indices = random_indices(rng, (count * apart,), index_dtype, extent)[::apart]
    beside = draw(st.sampled_from([0, 0, 1, 16]), "gap of the output")
    whole = np.full((outer, count + beside, item), POISON, np.uint8)
    out = whole.view(dtype)[..., 0][:, :count]
    fill = 7
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "SHARED_BYTES", shared)
        forget(patch)
        with ck.simulator.traffic() as report:
            ck.gather(x, indices, 1, out=out, **oracle.options(mode, fill))
    (kernel,) = report.kernels
    assert kernel.kernel.startswith("ck_gather_windows" + "_long" * long + "_w")
    assert out.tobytes() == oracle.gather(x, indices, 1, mode, fill).tobytes()
    assert (whole[:, count:] == POISON).all()


@pytest.mark.usefixtures("few")
def test_last_number_of_16_bits_is_a_position_where_nothing_is_filled():
    x = np.arange(9 * 2**16, dtype=np.float32).reshape(9, 2**16)
    indices = np.append(np.arange(0, 2**16, 8, dtype=np.int32), 2**16 - 1)
    for mode, name in (("clamp", "windows_w4"), ("fill", "windows_long_w4")):
        with ck.simulator.traffic() as report:
            assert (ck.gather(x, indices, 1, mode=mode) == x[:, indices]).all()
        assert report.kernels[0].kernel.startswith(f"ck_gather_{name}")


def test_elements_that_are_filled_lie_in_no_window(monkeypatch):
    """The last of three windows has room for elements behind the row."""
    monkeypatch.setattr(layout, "SHARED_BYTES", 48 * KIB)
    forget(monkeypatch)
    x = np.ones((140, 65_000), np.uint8)
    indices = np.resize(np.array([-1, 65_000, 0], np.int32), 2100)
    result = ck.gather(x, indices, 1, mode="fill", fill_value=7)
    assert (result == np.resize([1, 7, 1], 2100)).all()


def test_gather_nd_with_one_list_of_indices_does_the_same():
    x = np.arange(140 * 5000, dtype=np.float32).reshape(140, 5000)
    indices = np.random.default_rng(0).integers(-5000, 5000, (1500, 1)).astype(np.int32)
    with ck.simulator.traffic() as report:
        result = ck.gather_nd(x, np.broadcast_to(indices, (140, 1500, 1)), batch_dims=1)
    assert (result == x[:, indices[:, 0]]).all()
    assert report.kernels[0].kernel.startswith("ck_gather_windows_w4")


def workload(rows, extent, count, dtype="float32"):
    return GatherWorkload((rows, extent), 1, (count,), dtype, "int32", "random")


@each("arrays", [workload(2112, 4112, 1040), workload(396, 70_000, 20_000)])
def test_rows_are_read_once_and_written_once(arrays):
    kernel, written = count(Case("windows(_long)?", 1, arrays))
    (rows, extent), picks = arrays.shape, arrays.count
    # The blocks read the indices, once each.
    least = rows * (extent + picks) * 4 / 32
    assert kernel.sectors <= 1.03 * least
    assert kernel.stores.bytes_requested == written
    assert kernel.stores.accesses == written / 16
    assert kernel.atomics.requests == 0
    # 32 lanes pick at random from 32 banks.
    assert 1 <= kernel.shared_loads.wavefronts_per_request < 4.6
