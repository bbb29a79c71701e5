"""The README's section on the simulator: its code runs and prints what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cudakern.engines.simulator.findings import Finding
from cudakern.errors import SimulatorError

ROOT = Path(__file__).parent.parent
TITLE = "## Check and measure any kernel without a GPU\n"
FENCED = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MISSING = "    // __syncthreads() is missing here\n"


def section():
    """Return the README's section on checking and counting."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.split(TITLE, 1)[1].split("\n## ", 1)[0]


def blocks():
    """Return each Python block with the output that follows before the next one, if any."""
    found = []
    for language, content in FENCED.findall(section()):
        if language == "python":
            found.append((content, ""))
        else:
            found[-1] = (found[-1][0], content)
    return found


def printed(code):
    """Run Python code in a process of its own; return what it printed."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(("code", "expected"), blocks())
def test_block_prints_what_it_says(code, expected):
    assert printed(code) == expected


def test_blocks_are_there():
    assert [bool(output) for _, output in blocks()] == [True, True, False]


def test_the_barrier_is_all_that_is_missing():
    code, _ = blocks()[0]
    assert code.count(MISSING) == 1
    assert printed(code.replace(MISSING, "    __syncthreads();\n")) == ""


def test_the_example_takes_ten_lines_of_python():
    code, _ = blocks()[0]
    kernel = re.search(r'"""(.*?)"""', code, re.DOTALL)[1]
    lines = [line for line in code.replace(kernel, "").splitlines() if line]
    assert len(lines) == 10


def test_every_kind_and_field_of_a_finding_is_named():
    text = section()
    kinds = set(re.findall(r'``"(\w+)"``', Finding.__doc__))
    assert len(kinds) == 10
    assert all(f"`{name}`" in text for name in kinds | set(Finding.__dataclass_fields__))
    assert SimulatorError.__name__ in text
