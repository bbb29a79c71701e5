"""The stand-in for CuPy, in whose place it is."""

from __future__ import annotations

import pytest

from tests.helpers import fake_cupy


@pytest.fixture
def cupy(tmp_path):
    """Put the stand-in in CuPy's place, with two devices, and start with empty tables."""
    with fake_cupy.installed(tmp_path) as fake:
        yield fake
