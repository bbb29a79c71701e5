"""The pytest plugin: its marker, its fixture and its option, in runs of pytest of their own."""

from __future__ import annotations

import textwrap
from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

KERNELS = """
import numpy as np
import pytest
from cudakern.simulator import RawKernel

SET = RawKernel('extern "C" __global__ void set(int* x, int i) { x[i] = 7; }', "set")

def launch(index=0):
    SET((1,), (1,), (np.zeros(3, np.int32), index))
"""


@pytest.fixture
def inner(pytester):
    """Return a function that runs pytest on a text and returns what came of it."""

    def run(text, *arguments):
        pytester.makepyfile(KERNELS + textwrap.dedent(text))
        options = ("-p", "no:cacheprovider", "-Werror")
        if not entry_points(group="pytest11", name="cudakern"):
            options += ("-p", "cudakern.simulator.reports.pytest_plugin")
        return pytester.runpytest_inprocess(*options, "--strict-markers", "-v", *arguments)

    return run


def test_nothing_is_imported_for_tests_that_do_not_ask(pytester):
    pytester.makepyfile("""
        import sys

        def test_other():
            assert "cudakern.simulator.reports.pytest_plugin" in sys.modules
            names = {name for name in sys.modules if name.split(".")[0] in {"cudakern", "numpy"}}
            assert names == {
                "cudakern",
                "cudakern._forks",
                "cudakern._lazy",
                "cudakern.simulator",
                "cudakern.simulator.reports",
                "cudakern.simulator.reports.pytest_plugin",
            }
    """)
    options = ["-p", "no:cacheprovider", "-p", "no:randomly"]
    if not entry_points(group="pytest11", name="cudakern"):
        options += ("-p", "cudakern.simulator.reports.pytest_plugin")
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=1)


def test_a_marked_test_runs_once_for_each_seed(inner):
    result = inner("""
        from cudakern.simulator import observation
        seen = []

        @pytest.mark.cudakern_checked(seeds=range(3), resident_blocks=8)
        def test_good():
            report = observation.active[-1]
            seen.append((report.seed, report.resident_blocks))
            launch()

        @pytest.mark.cudakern_checked
        def test_once():
            assert seen == [(0, 8), (1, 8), (2, 8)]
            assert (observation.active[-1].seed, observation.active[-1].resident_blocks) == (0, 4)

        def test_unmarked():
            assert not observation.active
    """)
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["*test_good?seed0? PASSED*", "*test_good?seed2? PASSED*"])


def test_a_finding_fails_a_marked_test(inner):
    result = inner("""
        @pytest.mark.cudakern_checked(seeds=(4, 5))
        def test_bad():
            launch(3)

        @pytest.mark.cudakern_checked
        @pytest.mark.parametrize("index", [0, 1, -1])
        def test_mixed(index):
            launch(index)

        @pytest.mark.cudakern_checked
        def test_later():
            launch()
    """)
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*test_bad?seed4? FAILED*",
            "*test_bad?seed5? FAILED*",
            "*test_mixed*-1* FAILED*",
            "*SimulatorError: set: out_of_bounds: set.cu:1: write of 4 bytes*element 3 of *",
        ]
    )


def test_the_mark_of_a_class_and_of_a_module(inner):
    result = inner("""
        pytestmark = pytest.mark.cudakern_checked(seeds=[1, 2])

        class TestAll:
            def test_method(self):
                launch(3)

        @pytest.mark.cudakern_checked(seeds=[1])
        def test_function(tmp_path):
            launch()
    """)
    result.assert_outcomes(passed=1, failed=2)


def test_an_assertion_of_the_test_itself(inner):
    result = inner("""
        @pytest.mark.cudakern_checked
        def test_wrong():
            launch()
            assert "mine" == "yours"

        @pytest.mark.cudakern_checked
        def test_wrong_after_a_finding():
            launch(3)
            assert "mine" == "yours"

        @pytest.mark.cudakern_checked
        def test_skipped():
            pytest.skip("not here")

        @pytest.mark.xfail(strict=True)
        @pytest.mark.cudakern_checked
        def test_known():
            launch(3)
    """)
    result.assert_outcomes(failed=2, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(
        ["E *AssertionError: assert 'mine' == 'yours'", "E *out_of_bounds*"]
    )


@pytest.mark.parametrize(
    "mark", ["", "@pytest.mark.cudakern_checked(seeds=(3,), resident_blocks=2)"]
)
def test_the_fixture_gives_the_report(inner, mark):
    settings = (3, 2) if mark else (0, 4)
    result = inner(f"""
        {mark}
        def test_clean(cudakern_checked):
            launch()
            assert cudakern_checked.launches == 1
            assert (cudakern_checked.seed, cudakern_checked.resident_blocks) == {settings}

        {mark}
        def test_bad(cudakern_checked):
            launch(3)
            assert [f.kind for f in cudakern_checked.findings] == ["out_of_bounds"]

        {mark}
        def test_expected(cudakern_checked):
            launch(3)
            (finding,) = cudakern_checked.findings
            assert finding.index == 3
            cudakern_checked.findings.clear()

        @pytest.fixture
        def launched(cudakern_checked):
            launch()

        {mark}
        def test_other_fixtures(launched, cudakern_checked):
            assert cudakern_checked.launches == 1
    """)
    result.assert_outcomes(passed=3, failed=1)


def test_the_option_has_every_test_checked(inner):
    text = """
        def test_plain():
            launch()

        @pytest.mark.cudakern_checked(seeds=range(7))
        @pytest.mark.parametrize("index", [0, 1])
        def test_marked(index):
            launch(index)

        def test_fixture(cudakern_checked):
            launch()
            assert cudakern_checked.seed in {0, 5}
            assert cudakern_checked.launches == 1

        def test_bad():
            launch(3)
    """
    inner(text, "--cudakern-checked=0,5").assert_outcomes(passed=8, failed=2)
    inner(text, "--cudakern-checked", " 5, ").assert_outcomes(passed=4, failed=1)
    inner(text, "-k", "plain or fixture").assert_outcomes(passed=2, deselected=15)


@pytest.mark.parametrize("option", [False, True])
def test_the_marker_and_an_option_are_strict(inner, option):
    text = """
        from cudakern.simulator import observation

        @pytest.mark.cudakern_checked(strict=True)
        def test_strict():
            assert observation.active[-1].strict is True

        @pytest.mark.cudakern_checked
        def test_marked():
            assert observation.active[-1].strict is OPTION

        def test_fixture(cudakern_checked):
            assert cudakern_checked.strict is OPTION
    """.replace("OPTION", str(option))
    options = ["--cudakern-checked-strict"] * option
    inner(text, *options).assert_outcomes(passed=3)


@pytest.mark.parametrize("seeds", ["a", "0,1.5", "0;1"])
def test_seeds_must_be_integers(inner, seeds):
    result = inner("def test_any(): pass", f"--cudakern-checked={seeds}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = f"--cudakern-checked must be integers separated by commas; got '{seeds}'"
    result.stderr.fnmatch_lines([f"*{message}"])


def test_the_marker_and_the_option_are_described(inner):
    inner("", "--markers").stdout.fnmatch_lines(["@pytest.mark.cudakern_checked(seeds=(0,), *"])
    described = ["*--cudakern-checked=SEEDS*", "*--cudakern-checked-strict*"]
    inner("", "--help").stdout.fnmatch_lines(described)
