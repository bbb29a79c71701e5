"""What docstrings say about functions over dask arrays."""

from __future__ import annotations

import doctest
import importlib

import pytest

import cudakern.dask as cd

MODULES = {"coordinates": 3, "encoding": 1, "lookup": 2, "reduction": 1}


@pytest.mark.parametrize(("module", "examples"), MODULES.items())
def test_docstring_examples_hold(module, examples):
    result = doctest.testmod(importlib.import_module(f"cudakern.dask.{module}"))
    assert result.attempted > examples
    assert result.failed == 0


@pytest.mark.parametrize("name", cd.__all__)
def test_every_section_is_there(name):
    text = getattr(cd, name).__doc__
    for section in ("Parameters", "Returns", "Raises", "Notes", "Examples"):
        assert f"    {section}\n    {'-' * len(section)}\n" in text
