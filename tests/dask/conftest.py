"""Tests here run on dask's synchronous scheduler, unless they say otherwise. Without it they go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.libraries import ABSENT

if "dask" in ABSENT:
    collect_ignore = [path.name for path in Path(__file__).parent.glob("test_*.py")]
elif "distributed" in ABSENT:
    collect_ignore = ["test_cluster.py"]


@pytest.fixture(autouse=True)
def _synchronous():
    import dask  # noqa: PLC0415  optional

    with dask.config.set(scheduler="synchronous"):
        yield
