"""Says once if dask is not there."""

from __future__ import annotations

import pytest


def test_dask_is_there():
    reason = "dask is not installed: its tests are left out"
    assert pytest.importorskip("dask.array", reason=reason)
