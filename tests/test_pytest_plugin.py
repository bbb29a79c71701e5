"""The pytest plugin: its marker, its fixture and its option, in runs of pytest of their own."""

from __future__ import annotations

import textwrap
from importlib.metadata import entry_points
from xml.etree import ElementTree as ET

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
def inner(pytester, monkeypatch):
    """Return a function that runs pytest on a text and returns what came of it."""
    for name in ("CI", "BUILD_NUMBER", "GITHUB_WORKSPACE", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def run(text, *arguments):
        pytester.makepyfile(KERNELS + textwrap.dedent(text))
        options = ("-p", "no:cacheprovider", "-Werror")
        if not entry_points(group="pytest11", name="cudakern"):
            options += ("-p", "cudakern.simulator.reports.pytest_plugin")
        if "no:terminal" not in arguments:
            options += ("-v",)
        return pytester.runpytest_inprocess(*options, "--strict-markers", *arguments)

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

        @pytest.mark.cudakern_checked(launches="any")
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


WRONG = {
    "seed=3": "arguments must be seeds, resident_blocks, strict or launches; got 'seed'; "
    "did you mean 'seeds'?",
    "stric=True": "*; got 'stric'; did you mean 'strict'?",
    "launch='any'": "*; got 'launch'; did you mean 'launches'?",
    "blocks=8": "*; got 'blocks'; did you mean 'resident_blocks'?",
    "order=3": "arguments must be seeds, resident_blocks, strict or launches; got 'order'",
    "range(5)": "*, each by its name; got range(0, 5); did you mean seeds=range(0, 5)?",
    "3": "*, each by its name; got 3; did you mean seeds=[[]3]?",
    "True": "*, each by its name; got True; did you mean strict=True?",
    "'any'": "*, each by its name; got 'any'; did you mean launches='any'?",
    "[1], 8": "*, each by its name; got [[]1]; did you mean seeds=[[]1]?",
    "seeds=3": "seeds must be integers or None, at least one; got 3; did you mean seeds=[[]3]?",
    "seeds=()": "seeds must be integers or None, at least one; got ()",
    "seeds='012'": "seeds must be integers or None, at least one; got '012'",
    "seeds=iter([1])": "seeds must be integers or None, at least one; got <list_iterator *",
    "seeds=(1, 0.5)": "seeds must be an int; got 0.5",
    "seeds=[True]": "seeds must be an int; got True",
    "resident_blocks='a'": "resident_blocks must be an int; got 'a'",
    "resident_blocks=0": "resident_blocks must be at least 1; got 0",
    "strict='yes'": "strict must be True or False; got 'yes'",
    "launches='none'": "launches must be 'some' or 'any'; got 'none'",
    "launches=0": "launches must be 'some' or 'any'; got 0",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_arguments_of_the_marker(inner, arguments):
    result = inner(f"""
        @pytest.mark.cudakern_checked({arguments})
        class TestThem:
            def test_first(self):
                launch()
    """)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    place = "test_wrong_arguments_of_the_marker.py::TestThem::test_first"
    said = f"ERROR: {place}: pytest.mark.cudakern_checked: {WRONG[arguments]}"
    result.stderr.fnmatch_lines([said])
    result.assert_outcomes()


@pytest.mark.parametrize(
    "arguments",
    [
        "seeds=np.arange(2), resident_blocks=np.int64(2), strict=np.True_, launches='some'",
        "seeds={0, 1}",
        "seeds=[None, -1]",
    ],
)
def test_right_arguments_of_the_marker(inner, arguments):
    inner(f"""
        @pytest.mark.cudakern_checked({arguments})
        def test_it():
            launch()
    """).assert_outcomes(passed=2)


def test_wrong_arguments_of_a_marker_behind_another(inner):
    result = inner("""
        pytestmark = pytest.mark.cudakern_checked(stric=True)

        @pytest.mark.cudakern_checked
        def test_first():
            launch()
    """)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *::test_first*: *; got 'stric'; did you mean 'strict'[?]"])


def test_wrong_arguments_of_a_marker_in_processes_of_xdist(inner):
    result = inner(
        """
        @pytest.mark.cudakern_checked(seed=3)
        def test_it():
            launch()
        """,
        "-n2",
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *::test_it: *; got 'seed'; did you mean 'seeds'[?]"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


@pytest.mark.parametrize("option", [False, True])
def test_the_marker_and_an_option_are_strict(inner, option):
    text = """
        from cudakern.simulator import observation

        @pytest.mark.cudakern_checked(strict=True, launches="any")
        def test_strict():
            assert observation.active[-1].strict is True

        @pytest.mark.cudakern_checked(launches="any")
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


def test_a_kernel_that_does_not_compile_is_shown_by_its_lines(inner):
    result = inner("""
        def test_wrong():
            RawKernel('extern "C" __global__ void f() {\\n  y = 3;\\n}\\n', "f")((1,), (1,), ())
    """)
    lines = [*result.stdout.lines]
    start = lines.index(next(line for line in lines if "- cudakern -" in line))
    assert lines[start + 1 : start + 5] == [
        '  1 | extern "C" __global__ void f() {',
        "> 2 |   y = 3;",
        "    |   ^",
        "  3 | }",
    ]


def test_the_marker_and_the_option_are_described(inner):
    inner("", "--markers").stdout.fnmatch_lines(["@pytest.mark.cudakern_checked(seeds=(0,), *"])
    described = ["*--cudakern-checked=SEEDS*", "*--cudakern-checked-strict*"]
    inner("", "--help").stdout.fnmatch_lines(described)


OTHER_ERRORS = {
    "assert 'mine' == 'yours'": "E *assert 'mine' == 'yours'",
    "pytest.fail('no good')": "E *Failed: no good",
    "launch('a')": "E *DTypeError: set: args*",
    "RawKernel('void f() { x; }', 'f')((1,), (1,), ())": "E *KernelCompileError: f.cu*",
    "raise ValueError('mine')": "E *ValueError: mine",
    "raise ExceptionGroup('two', [ValueError(1), ValueError(2)])": "*ExceptionGroup: two *",
}


@pytest.mark.parametrize("statement", OTHER_ERRORS)
def test_findings_beside_another_error(inner, statement):
    result = inner(f"""
        @pytest.mark.cudakern_checked
        def test_wrong():
            launch(3)
            {statement}
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([OTHER_ERRORS[statement], "*- cudakern -*"])
    text = result.stdout.str()
    assert text.count("cudakern found: set: out_of_bounds: set.cu:1\n") == 1
    assert text.count("set: out_of_bounds: set.cu:1: write of 4 bytes must lie") == 1
    assert "direct cause" not in text


def test_all_findings_are_shown_once(inner):
    result = inner("""
        TWO = RawKernel('''extern "C" __global__ void two(int* x, int n) {
          x[n] = 1;
          x[n + 1 + threadIdx.x] = 2;
        }''', "two")

        @pytest.mark.cudakern_checked
        def test_two():
            for _ in range(3):
                TWO((1,), (5,), (np.zeros(3, np.int32), 3))
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">           TWO((1,), (5,), (np.zeros(3, np.int32), 3))",
            "E *SimulatorError: two: out_of_bounds: two.cu:2: write of 4 bytes must *",
            "*- cudakern -*",
            "two: out_of_bounds: two.cu:2",
            "*two.cu:2 |   x?n? = 1;",
            "*(0, 0, 0) and 4 more",
            "two: out_of_bounds: two.cu:3: write of 4 bytes must lie inside of an array; *",
            "*(0, 0, 0) and 4 more",
            "two.cu:2 is test_all_findings_are_shown_once.py:11",
            "two.cu:3 is test_all_findings_are_shown_once.py:12",
        ]
    )
    text = result.stdout.str()
    assert text.count("two.cu:2: write of 4 bytes must lie") == 1
    assert text.count("two.cu:3: write of 4 bytes must lie") == 1


def test_what_is_expected_is_not_shown(inner, pytester):
    result = inner(
        """
        from cudakern import SimulatorError
        from cudakern.simulator import checked

        @pytest.mark.cudakern_checked
        def test_raises():
            with pytest.raises(SimulatorError, match="out_of_bounds"), checked():
                launch(3)

        @pytest.mark.cudakern_checked
        @pytest.mark.xfail(raises=SimulatorError, strict=True)
        def test_known():
            launch(3)

        @pytest.mark.cudakern_checked
        def test_skipped():
            launch(3)
            pytest.skip("not here")
        """,
        "--cudakern-checked-github",
        "--junitxml=report.xml",
    )
    result.assert_outcomes(passed=1, xfailed=1, skipped=1)
    result.stdout.no_re_match_line(".*(- cudakern -|set.cu|::error)")
    assert "set.cu" not in (pytester.path / "report.xml").read_text()


def test_a_marked_test_must_launch(inner):
    result = inner("""
        marked = pytest.mark.cudakern_checked

        @marked
        def test_nothing():
            pass

        @marked(launches="any")
        def test_any():
            pass

        @marked(seeds=[None])
        def test_plain():
            pass

        @marked
        def test_skipped():
            pytest.skip("not here")

        @marked
        def test_error():
            raise ValueError

        @marked
        @pytest.mark.xfail
        def test_xpassed():
            pass

        @marked
        @pytest.mark.xfail(strict=True)
        def test_xpassed_strict():
            pass

        def test_unmarked(cudakern_checked):
            pass
    """)
    result.assert_outcomes(passed=3, failed=3, skipped=1, xpassed=1)
    lines = ["*test_nothing* FAILED*", "*test_error* FAILED*", "*xpassed_strict* FAILED*"]
    result.stdout.fnmatch_lines(lines)
    said = "cudakern_checked: the test must launch a kernel in the simulator, on NumPy arrays; it *"
    result.stdout.fnmatch_lines([said, '*cudakern_checked(launches="any")*'])
    text = """
        @pytest.mark.cudakern_checked(seeds=[0])
        def test_nothing():
            pass
    """
    place = "*/test_a_marked_test_must_launch.py:10: Failed: cudakern_checked: the test must *"
    inner(text, "--tb=line").stdout.fnmatch_lines([place])


def test_launches_that_count(inner):
    result = inner("""
        from threading import Thread
        from cudakern.simulator import checked

        @pytest.fixture
        def launched():
            launch()

        @pytest.mark.cudakern_checked
        def test_fixture(launched):
            pass

        @pytest.mark.cudakern_checked
        def test_checked_fixture(cudakern_checked, launched):
            pass

        @pytest.mark.cudakern_checked
        def test_thread():
            thread = Thread(target=launch)
            thread.start()
            thread.join()

        @pytest.mark.cudakern_checked
        def test_block():
            with checked():
                launch()
    """)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*test_fixture* FAILED*"])


def test_methods_of_unittest(inner):
    result = inner("""
        import unittest
        from cudakern.simulator import observation
        seen = []

        @pytest.mark.cudakern_checked(seeds=(3, 4), resident_blocks=2)
        class TestCase(unittest.TestCase):
            def setUp(self):
                launch()
                self.set_up = True

            def test_good(self):
                report = observation.active[-1]
                seen.append((report.seed, report.resident_blocks, report.launches))

            def test_late(self):
                launch(0 if observation.active[-1].seed == 3 else 4)

            def test_seen(self):
                assert seen == [(3, 2, 1), (4, 2, 1)]

            def test_wrong(self):
                launch(3)
                self.assertEqual("mine", "yours")

            def test_subtests(self):
                for index in (0, 1):
                    with self.subTest(index=index):
                        launch(index)

            @unittest.expectedFailure
            def test_expected(self):
                launch(3)

            @pytest.mark.usefixtures("cudakern_checked")
            def test_fixture(self):
                assert observation.active[-1].seed == 3

            def tearDown(self):
                assert self.set_up
    """)
    outcomes = result.parseoutcomes()
    {outcomes.pop(name, None) for name in ("subtests", "subtests passed")}
    assert outcomes == {"passed": 4, "failed": 2, "xfailed": 1}
    result.stdout.fnmatch_lines(
        [
            "*_ TestCase.test_late _*",
            ">       SET((1,), (1,), (np.zeros(3, np.int32), index))",
            "E *SimulatorError: set: out_of_bounds: set.cu:1: write*",
            "*- cudakern -*",
            "seed 4",
            "*_ TestCase.test_wrong _*",
            "E *AssertionError: 'mine' != 'yours'",
            "*- cudakern -*",
            "seed 3",
            "set: out_of_bounds: set.cu:1: write of 4 bytes*element 3 of *",
        ]
    )


def test_unittests_without_findings(inner):
    result = inner("""
        import unittest
        from cudakern.simulator import observation

        @pytest.mark.cudakern_checked(seeds=(3, 4))
        class TestCase(unittest.TestCase):
            def test_wrong(self):
                launch()
                print("with seed", observation.active[-1].seed)
                self.fail("at once")

            def test_nothing(self):
                with self.subTest():
                    pass

            @unittest.skip("not here")
            def test_skipped(self):
                pass

        class TestUnmarked(unittest.TestCase):
            def test_it(self):
                assert not observation.active
    """)
    outcomes = result.parseoutcomes()
    assert [outcomes[name] for name in ("passed", "failed", "skipped")] == [1, 2, 1]
    assert "with seed 4" not in result.stdout.str()
    result.stdout.fnmatch_lines(["cudakern_checked: the test must launch *"])


def test_the_option_has_doctests_checked(inner, pytester):
    pytester.makepyfile(
        documented='''
        """
        >>> import numpy as np
        >>> from cudakern.simulator import RawKernel
        >>> set = RawKernel('extern "C" __global__ void set(int* x, int i) { x[i] = 7; }', "set")
        >>> set((1,), (1,), (np.zeros(3, np.int32), 3))
        """

        def double(x):
            """
            >>> double(2)
            4
            """
            return 2 * x
    '''
    )
    options = ["--doctest-modules", "--cudakern-checked=6,7", "documented.py"]
    result = inner("", *options, "--cudakern-checked-github")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "::error file=documented.py,line=4,col=70,title=out_of_bounds::set: *",
            "set: out_of_bounds: set.cu:1: write of 4 bytes*",
            "*- cudakern -*",
            "seed 6",
            "set: out_of_bounds: set.cu:1",
        ]
    )
    assert len([line for line in result.outlines if "runner.py" in line]) == 0


def test_marks_that_come_late(inner, pytester):
    pytester.makeconftest("""
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                if item.name == "test_late":
                    item.add_marker(pytest.mark.cudakern_checked(seeds=[2]))
    """)
    result = inner("""
        def test_late():
            launch(3)

        @pytest.mark.parametrize(
            "index", [0, pytest.param(3, marks=pytest.mark.cudakern_checked(seeds=[1, 2]))]
        )
        def test_case(index):
            launch(index)
    """)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*- cudakern -*", "seed 2", "*- cudakern -*", "seed 1"])


def test_frames_of_the_package_are_hidden(inner):
    text = """
        import cudakern as ck
        from cudakern.simulator import checked, raw

        def test_block():
            with checked():
                launch(3)

        def test_launch():
            launch("a")

        def test_operator():
            ck.gather([1, 2], "a")

        def test_bug(monkeypatch):
            monkeypatch.setattr(raw, "pack", lambda *_: 1 / 0)
            launch()
    """
    result = inner(text, "--tb=short")
    result.assert_outcomes(failed=4)
    frames = [line for line in result.outlines if ": in " in line]
    own = [line.partition(": in ")[2] for line in frames if line.startswith("test_frames")]
    assert own == [
        "test_block",
        "test_launch",
        "launch",
        "test_operator",
        "test_bug",
        "launch",
        "<lambda>",
    ]
    others = [line for line in frames if not line.startswith("test_frames")]
    assert [line.rpartition("/")[2].partition(":")[0] for line in others] == ["raw.py"]
    result.stdout.no_fnmatch_line("*entries are hidden*")
    full = inner(text, "--full-trace", "-k", "block or launch").stdout
    full.fnmatch_lines(
        ["*contextlib.py:*", "*cudakern/simulator/reports/checking.py:*: SimulatorError"]
    )
    full.fnmatch_lines(["*cudakern/simulator/raw.py:*"])


def test_nothing_stays_hidden(inner):
    inner("""
        import contextlib
        from cudakern.simulator import raw

        def test_bad():
            launch("a")

        def test_after():
            assert not hasattr(contextlib, "__tracebackhide__")
            assert not hasattr(raw, "__tracebackhide__")
    """).assert_outcomes(passed=1, failed=1)


PLACES = """
    SHIFT = RawKernel(
        "extern \\"C\\" __global__ void shift(int* x, int n) {\\n"
        "  x[n] = x[n + 1];\\n"
        "}\\n", "shift")

    @pytest.mark.cudakern_checked(seeds=(1, 2))
    @pytest.mark.parametrize("index", [0, 3])
    def test_set(index):
        launch(index)

    @pytest.mark.cudakern_checked(seeds=(1, 2))
    def test_both():
        launch(3)
        SHIFT((1,), (1,), (np.zeros(3, np.int32), 2))
"""


@pytest.mark.parametrize("processes", [[], ["-n2"]])
def test_findings_are_properties_in_xml(inner, pytester, processes):
    inner(PLACES, "--junitxml=report.xml", *processes).assert_outcomes(passed=2, failed=4)
    cases = ET.parse(pytester.path / "report.xml").iter("testcase")  # noqa: S314  our own
    properties = {
        case.get("name"): [(p.get("name"), p.get("value")) for p in case.iter("property")]
        for case in cases
    }
    file = "test_findings_are_properties_in_xml.py"
    what = "of 4 bytes must lie inside of an array; it is element 3 of argument 0 (x), shape (3,)"
    where = "(block (0, 0, 0), thread (0, 0, 0))"
    first, second = (
        [
            ("cudakern.finding", f"{kernel}: out_of_bounds: {kernel}.cu:{access} {what} {where}"),
            ("cudakern.kind", "out_of_bounds"),
            ("cudakern.file", file),
            ("cudakern.line", line),
        ]
        for kernel, access, line in (("set", "1: write", "5"), ("shift", "2: read", "12"))
    )
    assert properties == {
        "test_set[seed1-0]": [],
        "test_set[seed1-3]": first,
        "test_set[seed2-0]": [],
        "test_set[seed2-3]": first,
        "test_both[seed1]": first + second,
        "test_both[seed2]": first + second,
    }


def place(path, text):
    """Return where a text is in a file, as GitHub is told."""
    before = path.read_text().partition(text)[0].split("\n")
    return f"line={len(before)},col={len(before[-1]) + 1}"


@pytest.mark.parametrize("options", [[], ["-q"], ["-n2"], ["--no-summary"], ["-p", "no:terminal"]])
def test_findings_are_commands_for_github(inner, pytester, options):
    file = "test_findings_are_commands_for_github.py"
    result = inner(PLACES, "--cudakern-checked-github", *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    commands = [line for line in result.outlines if "::error" in line]
    what = "of 4 bytes must lie inside of an array; it is element 3 of argument 0 (x), shape (3,)"
    where = "(block (0, 0, 0), thread (0, 0, 0))"
    assert sorted(commands, key=len) == [
        f"::error file={file},{place(pytester.path / file, text)},title=out_of_bounds::{kernel}: "
        f"out_of_bounds: {kernel}.cu:{access} {what} {where}"
        for kernel, access, text in (("set", "1: write", "x[i]"), ("shift", "2: read", "x[n + 1]"))
    ]


def test_names_in_commands_for_github(inner, pytester, monkeypatch):
    folder = pytester.mkdir("100%, a:b")
    monkeypatch.chdir(folder)
    text = KERNELS + "def test_it(cudakern_checked):\n    launch(3)\n"
    (folder / "test_names.py").write_text(text)
    result = inner("", "--cudakern-checked-github", f"--rootdir={pytester.path}", "test_names.py")
    (command,) = [line for line in result.outlines if "::error" in line]
    assert command.startswith("::error file=100%25%2C a%3Ab/test_names.py,line=6,col=66,title=")


def test_commands_for_github_are_asked_for(inner):
    result = inner(PLACES)
    result.stdout.no_fnmatch_line("*::error*")


def test_commands_for_github_where_no_text_is_known(inner, pytester, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(pytester.path.parent))
    result = inner(
        """
        MADE = RawKernel(
            "".join(["extern \\"C\\" __global__ void made(int* x) { x[", "blockDim", ".x] = 7; }"]),
            "made")

        @pytest.mark.cudakern_checked
        def test_made():
            MADE((1,), (3,), (np.zeros(3, np.int32),))
        """,
        "--cudakern-checked-github",
    )
    file = f"{pytester.path.name}/test_commands_for_github_where_no_text_is_known.py"
    line = place(pytester.path.parent / file, "@pytest.mark").partition(",")[0]
    (command,) = [line for line in result.outlines if line.startswith("::error")]
    said = "title=out_of_bounds at made.cu%3A1::made: out_of_bounds: made.cu:1: write of 4 bytes"
    assert command.startswith(f"::error file={file},{line},{said}")


def test_errors_of_files_that_are_collected(inner):
    text = """
        RawKernel('extern "C" __global__ void f(int* x) { x = y; }', "f").compile()
    """
    result = inner(text, "--tb=short")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    line = "test_errors_of_files_that_are_collected.py:10: in <module>"
    error = "E   cudakern.errors.KernelCompileError: f.cu: the kernel must compile; *"
    result.stdout.fnmatch_lines([line, "    RawKernel(*", error])
    result.stdout.no_fnmatch_line("*: in compile*")
    inner(text, "--full-trace").stdout.fnmatch_lines(["*cudakern/simulator/raw.py:*"])
    result = inner("import no_module_of_this_name")
    result.stdout.fnmatch_lines(["ImportError while importing test module *"])


def test_a_doctest_that_fails_beside_a_finding(inner, pytester):
    pytester.makepyfile(
        documented='''
        """
        >>> import numpy as np
        >>> from cudakern.simulator import RawKernel
        >>> set = RawKernel('extern "C" __global__ void set(int* x, int i) { x[i] = 7; }', "set")
        >>> set((1,), (1,), (np.zeros(3, np.int32), 3))
        >>> 1 + 1
        3
        """
        '''
    )
    result = inner("", "--doctest-modules", "--cudakern-checked=6,7", "documented.py")
    result.assert_outcomes(failed=1)
    message = "set: out_of_bounds: set.cu:1: write of 4 bytes must lie *"
    result.stdout.fnmatch_lines(["Expected:", "    3", "Got:", "*- cudakern -*", "seed 6", message])


def test_errors_that_tests_make_up(inner):
    result = inner("""
        from cudakern import SimulatorError

        ERROR = ValueError("again and again")

        def test_made_up():
            raise SimulatorError("race", "f", (), (), "made up", ("finding", 3))

        @pytest.mark.cudakern_checked(seeds=(1, 2))
        def test_again():
            launch(3)
            raise ERROR

        def test_list(cudakern_checked):
            cudakern_checked.findings.append("mine")
            raise ValueError
    """)
    result.assert_outcomes(failed=4)
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert result.stdout.str().count("cudakern found: set") == 2


def test_frames_between_the_test_and_the_launch(inner, pytester, monkeypatch):
    folder = pytester.mkdir("site-packages")
    (folder / "between.py").write_text("def call(f, *arguments):\n    f(*arguments)\n")
    monkeypatch.syspath_prepend(folder)
    result = inner(
        """
        import between

        @pytest.mark.cudakern_checked
        def test_it():
            between.call(launch, 3)

        @pytest.mark.cudakern_checked
        def test_innermost():
            between.call(SET, (1,), (1,), (np.zeros(3, np.int32), 3))
        """,
        "--tb=short",
    )
    result.assert_outcomes(failed=2)
    places = [line.partition(": in ")[2] for line in result.outlines if ": in " in line]
    assert places == ["test_it", "launch", "test_innermost", "call"]
