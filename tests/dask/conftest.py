"""Tests here need dask; without it they are left out, which test_present says, once.

They run on its synchronous scheduler, unless they say otherwise.
"""

from __future__ import annotations

from pathlib import Path

import pytest

try:
    import dask.array
except ImportError:
    tests = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    collect_ignore = sorted(tests - {"test_present.py"})
else:

    @pytest.fixture(autouse=True)
    def _synchronous():
        with dask.config.set(scheduler="synchronous"):
            yield
