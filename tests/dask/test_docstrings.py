"""What docstrings say about functions over dask arrays."""

from __future__ import annotations

import pytest

import cudakern.dask as cd


@pytest.mark.parametrize("name", cd.__all__)
def test_every_section_is_there(name):
    text = getattr(cd, name).__doc__
    for section in ("Parameters", "Returns", "Raises", "Notes", "Examples"):
        assert f"    {section}\n    {'-' * len(section)}\n" in text
