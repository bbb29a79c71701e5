"""The types of the public signatures: what checkers say of them, and that it is true."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any, get_args, get_origin

import numpy as np
import pytest

import cudakern as ck
from tests import static_types
from tests.helpers.readmes import ROOT
from tests.helpers.rows import each

FILE = "tests/static_types.py"
#: mypy fails where it cannot write its cache.
CACHE = [] if os.access(ROOT, os.W_OK) else [f"--cache-dir={os.devnull}"]
CHECKERS = {"mypy": [FILE, *CACHE], "pyright": ["--pythonpath", sys.executable]}
PRESENT = [name for name in CHECKERS if find_spec(name)]


def check(*command):
    """Run a type checker; return whether it found nothing, and what it said."""
    result = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return result.returncode == 0, result.stdout + result.stderr


@pytest.mark.skipif(not PRESENT, reason="neither mypy nor pyright is installed (extra lint)")
def test_checkers_agree_with_the_file():
    said = {name: check(name, *CHECKERS[name]) for name in PRESENT}
    assert all(right for right, _ in said.values()), said


def is_of(value, kind):
    """Return whether a value is of a type of an array, or of several."""
    if kind is Any or isinstance(kind, type):
        return kind is Any or type(value) is kind
    if get_origin(kind) is tuple:
        return all(is_of(part, get_args(kind)[0]) for part in value)
    if get_origin(kind) is ck.NonzeroCoordinates:
        return all(is_of(part, *get_args(kind)) for part in value)
    scalar = get_args(kind)[-1]  # of NDArray: the scalar since NumPy 2.5, before it a dtype
    if get_origin(scalar) is np.dtype:
        (scalar,) = get_args(scalar)
    if scalar is Any:
        scalar = np.generic
    return type(value) is np.ndarray and issubclass(value.dtype.type, get_origin(scalar) or scalar)


@each(
    ("function", "arguments"),
    [
        ("lookups", [np.ones(3, np.float16), np.zeros(3, np.int32), np.ones(3, np.bool)]),
        ("searches", [np.ones((1, 2), np.bool)]),
        ("vectors", [np.ones(3, np.uint8)]),
        ("reductions", [np.ones((1, 2), np.float16), np.ones(3, np.int8), ck.ReduceFunction.SUM]),
    ],
)
def test_results_are_of_the_types_that_checkers_are_told(function, arguments, monkeypatch):
    seen = []
    monkeypatch.setattr(static_types, "assert_type", lambda value, kind: seen.append((value, kind)))
    getattr(static_types, function)(*arguments)
    assert len(seen) >= 5
    assert [pair for pair in seen if not is_of(*pair)] == []
