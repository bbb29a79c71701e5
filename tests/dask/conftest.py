"""All tests here need dask, and run on its synchronous scheduler unless they say otherwise."""

from __future__ import annotations

import pytest

dask = pytest.importorskip("dask", reason="dask is not installed")
pytest.importorskip("dask.array", reason="dask is not installed")


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield
