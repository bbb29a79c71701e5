"""Type checkers agree with the types of the public signatures."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests import static_types
from tests.helpers.libraries import ABSENT
from tests.helpers.operator_samples import functions
from tests.helpers.readmes import ROOT
from tests.helpers.rows import each

FILE = "tests/static_types.py"
#: mypy fails if it cannot write its cache.
CACHE = [] if os.access(ROOT, os.W_OK) else [f"--cache-dir={os.devnull}"]
CHECKERS = {"mypy": [FILE, *CACHE], "pyright": ["--pythonpath", sys.executable]}
PRESENT = [name for name in CHECKERS if find_spec(name)]


def check(*command):
    """Run a type checker; return whether it found no errors, and its output."""
    result = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return result.returncode == 0, result.stdout + result.stderr


def test_the_file_calls_every_function():
    text = (ROOT / FILE).read_text(encoding="utf-8")
    assert [f.__name__ for f in functions() if f"ck.{f.__name__}(" not in text] == []


INTEGERS = [name for name in dir(static_types) if name.startswith("integers")]


@each("name", [name for name in INTEGERS if name.rpartition("_")[2] not in ABSENT])
def test_numpys_integers_are_integers_at_run_time(name):
    getattr(static_types, name)()


@pytest.mark.skipif(not PRESENT, reason="neither mypy nor pyright is installed (extra lint)")
def test_checkers_agree_with_the_file():
    said = {name: check(name, *CHECKERS[name]) for name in PRESENT}
    assert all(right for right, _ in said.values()), said
