"""The stand-in for CuPy under the CUDA engine."""

from __future__ import annotations

import pytest

from tests.helpers.recorded_cupy import recorded


@pytest.fixture
def record(tmp_path):
    """Put the stand-in in CuPy's place, with two devices; return what is recorded of them."""
    with recorded(tmp_path) as record:
        yield record
