"""Fixtures for the tests of the stand-in for CuPy."""

from __future__ import annotations

import pytest

import cudakern as ck


@pytest.fixture
def cp():
    """Return what ``import cupy`` gives while the stand-in is on, which it is during the test."""
    with ck.simulator.in_place_of_cupy() as module:
        yield module
