"""The whole output of pytest for tests that fail checked: plain, short, in processes, and so on."""

from __future__ import annotations

import re
from importlib.metadata import entry_points

import pytest

from tests.helpers.readmes import read
from tests.helpers.rows import each

pytest_plugins = ["pytester"]

REFERENCE = "cudakern/simulator/reference.md"

TEXT = '''\
import numpy as np
import pytest
from cudakern.simulator import RawKernel

CODE = """extern "C" __global__ void total(const float* x, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    // __syncthreads() is missing here
  }
  if (threadIdx.x == 0) *y = s[0];
}"""
total = RawKernel(CODE, "total")


@pytest.mark.cudakern_checked
def test_total():
    x, y = np.ones(128, np.float32), np.zeros(1, np.float32)
    total((1,), (128,), (x, y))
'''
WRONG = TEXT.replace("cudakern_checked\n", "cudakern_checked(seed=3)\n")
TEXT += """

@pytest.mark.cudakern_checked
def test_asserted():
    x, y = np.ones(128, np.float32), np.zeros(1, np.float32)
    total((1,), (128,), (x, y))
    assert int(y[0]) == 128


@pytest.mark.cudakern_checked
def test_nothing():
    pass
"""

#: Lines that depend on versions and on the machine: pytest's heading, the workers' names, and marks
#: below statements.
_VARYING = re.compile(
    r"(platform|rootdir:|configfile:|plugins:|cachedir:|timeout|hypothesis profile|created:"
    r"|\[gw\d\]|\d workers?| +\^+$)"
)


@pytest.fixture
def printed(pytester, monkeypatch):
    """Return a function that returns pytest's output for a text, without the lines that vary."""
    for name in ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def run(text, *options):
        pytester.makepyfile(test_total=text)
        pytester.makeini("[pytest]\n")
        options = ("-p", "no:cacheprovider", "-p", "no:randomly", "--color=no", *options)
        if not entry_points(group="pytest11", name="cudakern"):
            options += ("-p", "cudakern.simulator.reports.pytest_plugin")
        result = pytester.runpytest_inprocess(*options)
        lines = (line for line in result.outlines + result.errlines if not _VARYING.match(line))
        text = re.sub(r"\d+\.\d+s", "TIME", "\n".join(lines)).replace(f"{pytester.path}/", "")
        text = re.sub(r"([=_-])\1{3,}", r"\1\1\1\1", text)
        return re.sub(r"\n\n+", "\n\n", f"{text}\n")

    return run


MESSAGE = (
    "total: race: total.cu:6: read of 4 bytes at element 56 of shared array s of 512 bytes, in "
    "units of 4 bytes must be ordered with the write at total.cu:6 by block (0, 0, 0), thread "
    "(56, 0, 0): no barrier does, nor a release with an acquire (block (0, 0, 0), thread "
    "(24, 0, 0))"
)
EXCERPT = """\
  total.cu:6 |     if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
             |                             ^ read by block (0, 0, 0), thread (24, 0, 0) and 31 more
             |                               write by block (0, 0, 0), thread (56, 0, 0)
total.cu:6 is test_total.py:10
"""
START = """\
==== test session starts ====
collected 3 items

test_total.py FFF                                                        [100%]

"""
LONG = f"""\
____ test_total[seed0] ____

    @pytest.mark.cudakern_checked
    def test_total():
        x, y = np.ones(128, np.float32), np.zeros(1, np.float32)
>       total((1,), (128,), (x, y))
E       cudakern.errors.SimulatorError: {MESSAGE}

test_total.py:21: SimulatorError
---- cudakern ----
total: race: total.cu:6
{EXCERPT}"""
ASSERTED = f"""\
____ test_asserted[seed0] ____

    @pytest.mark.cudakern_checked
    def test_asserted():
        x, y = np.ones(128, np.float32), np.zeros(1, np.float32)
        total((1,), (128,), (x, y))
>       assert int(y[0]) == 128
E       assert 107 == 128
E        +  where 107 = int(np.float32(107.0))
E       cudakern found: total: race: total.cu:6

test_total.py:28: AssertionError
---- cudakern ----
{MESSAGE}
{EXCERPT}"""
NOTHING = """\
____ test_nothing[seed0] ____
cudakern_checked: the test must launch a kernel in the simulator, on NumPy arrays; it launched \
none, so nothing was checked
If that is meant: cudakern_checked(launches="any"). What fixtures launch counts where they ask for \
the fixture cudakern_checked.
"""
END = """\
==== short test summary info ====
FAILED test_total.py::test_total[seed0] - cudakern.errors.SimulatorError: tot...
FAILED test_total.py::test_asserted[seed0] - assert 107 == 128
FAILED test_total.py::test_nothing[seed0] - Failed: cudakern_checked: the tes...
==== 3 failed in TIME ====
"""
FAILURES = "==== FAILURES ====\n"
COMMAND = f"::error file=test_total.py,line=10,col=29,title=race::{MESSAGE}\n\n"
OUTPUTS = {
    "--cudakern-checked-github": f"{START}{COMMAND}{FAILURES}{LONG}{ASSERTED}{NOTHING}{END}",
    "--tb=short": f"""{START}{FAILURES}\
____ test_total[seed0] ____
test_total.py:21: in test_total
    total((1,), (128,), (x, y))
E   cudakern.errors.SimulatorError: {MESSAGE}
---- cudakern ----
total: race: total.cu:6
{EXCERPT}\
____ test_asserted[seed0] ____
test_total.py:28: in test_asserted
    assert int(y[0]) == 128
E   assert 107 == 128
E    +  where 107 = int(np.float32(107.0))
E   cudakern found: total: race: total.cu:6
---- cudakern ----
{MESSAGE}
{EXCERPT}{NOTHING}{END}""",
    "-n1": f"""\
==== test session starts ====

FFF                                                                      [100%]
{FAILURES}{LONG}{ASSERTED}{NOTHING}{END}""",
}


@each("option", OUTPUTS)
def test_failures(printed, option):
    assert printed(TEXT, option) == OUTPUTS[option]


def test_a_line_of_each(printed):
    said = printed(TEXT, "--tb=line")
    assert f"\ntest_total.py:21: cudakern.errors.SimulatorError: {MESSAGE}\n" in said
    assert "\ntest_total.py:28: assert 107 == 128\n" in said
    assert f"\ntest_total.py:31: Failed: {NOTHING.splitlines()[1]}\n" in said
    assert "---- cudakern" not in said
    assert EXCERPT not in said


def test_the_reference_shows_it():
    block = re.search(r"^```console\n(> +total.*?)^```$", read(REFERENCE), re.MULTILINE | re.DOTALL)
    assert block[1].replace("-" * 35, "----").strip() in LONG


@each("option", [(), ("-n1",)])
def test_a_wrong_argument(printed, option):
    said = printed(WRONG, *option)
    assert said.endswith(
        "==== no tests ran in TIME ====\n"
        "ERROR: test_total.py::test_total: pytest.mark.cudakern_checked: arguments must be seeds, "
        "resident_blocks, strict or launches; got 'seed'; did you mean 'seeds'?\n\n"
    )
    assert said.count("\n") <= len(["heading", "", "collected", "", "end", "error", ""])
