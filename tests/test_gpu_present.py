"""The one test that is skipped without a GPU."""

from __future__ import annotations

import pytest

from tests.conftest import HAS_GPU, NO_GPU
from tests.helpers.places import CUDA, Buffer


@pytest.mark.skipif(not HAS_GPU, reason=NO_GPU)
def test_a_gpu_is_used():
    import cupy as cp  # noqa: PLC0415  absent where this test is skipped

    assert isinstance(Buffer(bytes(16), CUDA).view((4,), "int32"), cp.ndarray)
