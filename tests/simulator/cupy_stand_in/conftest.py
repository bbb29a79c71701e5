"""What the tests of the stand-in for CuPy take."""

from __future__ import annotations

import pytest

import cudakern as ck


@pytest.fixture
def cp():
    """Return what ``import cupy`` gives in the stand-in, which is there during the test."""
    with ck.simulator.in_place_of_cupy() as module:
        yield module
