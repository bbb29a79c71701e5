"""Every operator where limits are so low that small arrays reach them: few blocks, wide offsets."""

from __future__ import annotations

import pytest

import cudakern as ck
from cudakern.engines import base
from cudakern.values import layout
from tests.gpu.calls import LARGE, assert_are, elements, operators, outputs
from tests.helpers.bound import forget, limit_blocks
from tests.helpers.places import HOST

pytestmark = pytest.mark.cudakern_checked
X = elements()[:, :5000]


def run(name):
    """Run a call, and hold its results against NumPy's."""
    call, expect = operators(HOST)[name]
    out = outputs(expect(X), HOST)
    call(X, out)
    assert_are(out, expect(X))


@pytest.mark.parametrize("name", LARGE)
def test_two_blocks_do_it_all(monkeypatch, name):
    monkeypatch.setattr(base, "MAX_BLOCKS", 2)
    limit_blocks(monkeypatch, 2)
    run(name)


@pytest.mark.parametrize("name", LARGE)
def test_wide_offsets(monkeypatch, name):
    monkeypatch.setattr(layout, "MAX_SPAN_32", 64)
    monkeypatch.setattr(layout, "MAX_ITEMS_32", 64)
    forget(monkeypatch)
    with ck.simulator.traffic() as report:
        run(name)
    assert all("_o64" in kernel.kernel for kernel in report.kernels)
