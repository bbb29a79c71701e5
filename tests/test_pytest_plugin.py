"""The pytest plugin: its marker, its fixture and its options, in a few runs of pytest.

The names of tests in those runs say how they must end: ``test_fails_late`` must fail.
"""

from __future__ import annotations

import re
import textwrap
from importlib.metadata import entry_points
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from cudakern.process.lazy import load
from cudakern.simulator.ptx import instructions
from cudakern.simulator.reports.checked_tests import Settings, read_marker
from tests.helpers.rows import each

pytest_plugins = ["pytester"]

KERNELS = """\
import numpy as np
import pytest
from cudakern.simulator import RawKernel

SET = RawKernel('extern "C" __global__ void set(int* x, int i) { x[i] = 7; }', "set")
marked = pytest.mark.cudakern_checked

def launch(index=0):
    SET((1,), (1,), (np.zeros(3, np.int32), index))
"""
OPTIONS = ["-p", "no:cacheprovider", "--strict-markers"]
if not entry_points(group="pytest11", name="cudakern"):
    OPTIONS += ["-p", "cudakern.simulator.reports.pytest_plugin"]
ENDS = {
    "passes": "PASSED",
    "fails": "FAILED",
    "skips": "SKIPPED",
    "xfails": "XFAIL",
    "xpasses": "XPASS",
}


@pytest.fixture(scope="module", autouse=True)
def _translator():
    """Import what a launch imports: pytester removes modules that a run imports."""
    load("cudakern.simulator.ptx.translate")
    instructions.table()


@pytest.fixture
def inner(pytester, monkeypatch):
    """Return a function that runs pytest on texts and returns its result."""
    for name in ("CI", "BUILD_NUMBER", "GITHUB_WORKSPACE", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def run(text, *arguments, **files):
        texts = {"test_it": text, **files}
        pytester.makepyfile(**{name: KERNELS + textwrap.dedent(t) for name, t in texts.items()})
        shown = () if "no:terminal" in arguments else ("-v",)
        return pytester.runpytest_inprocess(*OPTIONS, "-Werror", *shown, *arguments)

    return run


def require_ends(result, count):
    """Raise AssertionError unless ``count`` tests ended as their names say."""
    ended = re.findall(r"^\S+\.py::(\S+) ([A-Z]{5,7})\b", result.stdout.str(), re.MULTILINE)
    assert len(ended) == count
    for name, end in ended:
        assert end == ENDS[re.findall("|".join(ENDS), name)[-1]], name


def failures(result):
    """Return the report of each test that failed."""
    text = result.stdout.str().partition("= FAILURES =")[2].partition("\n===")[0]
    parts = re.split(r"^_{2,} (\S+) _{2,}$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def require_lines(text, *patterns):
    """Raise AssertionError unless a text has lines that match, in this order."""
    pytest.LineMatcher(text.split("\n")).fnmatch_lines([*patterns])


def test_nothing_is_imported_for_tests_that_do_not_ask(pytester):
    pytester.makepyfile("""
        import sys

        def test_other():
            assert "cudakern.simulator.reports.pytest_plugin" in sys.modules
            names = {"numpy", "cudakern.errors", "cudakern.simulator.launching.raw"}
            assert not names & {*sys.modules}
    """)
    pytester.runpytest_subprocess(*OPTIONS, "-p", "no:randomly").assert_outcomes(passed=1)


def written(start, rows):
    """Return the text of tests, of which rows give name and fixtures, decorators and body."""
    tests = (f"{marks}\ndef test_{name}:\n    {body}\n" for name, (marks, body) in rows.items())
    return textwrap.dedent(start) + "\n".join(tests)


START = """
    from threading import Thread
    from cudakern.simulator import checked
    from cudakern.simulator.launching import observation

    seen = []
    either = pytest.mark.parametrize("index", [0, -1], ids=["passes", "fails"])
    late = pytest.param(3, marks=marked(seeds=[1, 2]), id="fails")
    one_marked = pytest.mark.parametrize("index", [pytest.param(0, id="passes"), late])
    xfail = pytest.mark.xfail

    def settings():
        report = observation.active[-1]
        return report.seed, report.resident_blocks, report.strict

    @pytest.fixture
    def launched():
        launch()

"""
MARKED = {
    "passes_for_each_seed()": (
        "@marked(seeds=range(3), resident_blocks=8)",
        "seen.append(settings()[:2]); launch()",
    ),
    "passes_once()": (
        "@marked(launches='any')",
        "assert (*seen, settings()) == ((0, 8), (1, 8), (2, 8), (0, 4, False))",
    ),
    "passes_strictly()": ("@marked(strict=True, launches='any')", "assert settings()[2] is True"),
    "passes_unmarked()": ("", "assert not observation.active"),
    "fails_for_each_seed()": ("@marked(seeds=(4, 5))", "launch(3)"),
    "index(index)": ("@marked\n@either", "launch(index)"),
    "case(index)": ("@one_marked", "launch(index)"),
    "fails_by_a_mark_that_comes_late()": ("", "launch(3)"),
    "fails_by_itself()": ("@marked", "launch(); assert 'mine' == 'yours'"),
    "xfails()": ("@marked\n@xfail(strict=True)", "launch(3)"),
    # A marked test must launch.
    "fails_without_a_launch()": ("@marked", "pass"),
    "passes_plain()": ("@marked(seeds=[None])", "pass"),
    "skips()": ("@marked", "pytest.skip('not here')"),
    "xpasses()": ("@marked\n@xfail", "pass"),
    "fails_by_passing()": ("@marked\n@xfail(strict=True)", "pass"),
    "fails_with_a_fixture_that_launches(launched)": ("@marked", "pass"),
    "passes_with_a_fixture_that_asks(cudakern_checked, launched)": ("@marked", "pass"),
    "passes_in_a_thread()": ("@marked", "t = Thread(target=launch); t.start(); t.join()"),
    "passes_in_a_block()": ("@marked", "with checked(): launch()"),
    # The fixture gives the report.
    "passes_with_a_report(cudakern_checked)": ("", "assert settings() == (0, 4, False)"),
    "passes_with_a_report_of_its_mark(cudakern_checked, launched)": (
        "@marked(seeds=(3,), resident_blocks=2)",
        "assert (*settings(), cudakern_checked.launches) == (3, 2, False, 1)",
    ),
    "fails_with_a_report(cudakern_checked)": (
        "",
        "launch(3); assert [f.kind for f in cudakern_checked.findings] == ['out_of_bounds']",
    ),
    "passes_with_what_it_expects(cudakern_checked)": (
        "@marked",
        "launch(3); (finding,) = cudakern_checked.findings; cudakern_checked.findings.clear()",
    ),
}
LATE = """
    import pytest

    def pytest_collection_modifyitems(items):
        for item in items:
            if "late" in item.name:
                item.add_marker(pytest.mark.cudakern_checked(seeds=[2]))
"""
A_MODULE = """
    pytestmark = marked(seeds=[1, 2])

    class TestAll:
        def test_fails(self):
            launch(3)

    @marked(seeds=[1])
    def test_passes(tmp_path):
        launch()
"""
NOTHING_LAUNCHED = (
    "cudakern_checked: the test must launch a kernel in the simulator, on NumPy arrays; it *"
)


def test_how_tests_end(inner, pytester):
    pytester.makeconftest(LATE)
    result = inner(written(START, MARKED), test_module=A_MODULE)
    require_ends(result, 31)
    result.stdout.fnmatch_lines(["*test_passes_for_each_seed?seed0? PASSED*", "*?seed2? PASSED*"])
    result.stdout.fnmatch_lines(["*test_fails_for_each_seed?seed5? FAILED*"])
    result.stdout.no_fnmatch_line("*::error*")  # GitHub's commands are asked for
    shown = failures(result)
    said = "E *SimulatorError: set: out_of_bounds: set.cu:1: write of 4 bytes*element 3 of *"
    require_lines(shown["test_fails_for_each_seed[seed4]"], said)
    require_lines(shown["test_fails_by_a_mark_that_comes_late"], "*- cudakern -*", "seed 2")
    require_lines(shown["test_case[fails]"], "*- cudakern -*", "seed 1")
    require_lines(shown["test_fails_by_itself[seed0]"], "E *assert 'mine' == 'yours'")
    any_launches = '*cudakern_checked(launches="any")*'
    require_lines(shown["test_fails_without_a_launch[seed0]"], NOTHING_LAUNCHED, any_launches)


FAILING_START = """
    import contextlib
    from cudakern import SimulatorError
    from cudakern.simulator.launching import raw

    ERROR = ValueError("again and again")
    F = 'extern "C" __global__ void f() {\\n  y = 3;\\n}\\n'
    TWO = RawKernel('''extern "C" __global__ void two(int* x, int n) {
      x[n] = 1;
      x[n + 1 + threadIdx.x] = 2;
    }''', "two")

"""
FAILING = {
    "fails_by_fail()": ("@marked", "launch(3); pytest.fail('no good')"),
    "fails_by_argument()": ("@marked", "launch(3); launch('a')"),
    "fails_by_compiling()": ("@marked", "launch(3); RawKernel(F, 'f')((1,), (1,), ())"),
    "fails_by_a_group()": ("@marked", "launch(3); raise ExceptionGroup('two', [ERROR, ERROR])"),
    "fails_again()": ("@marked(seeds=(1, 2))", "launch(3); raise ERROR"),
    "fails_twice()": (
        "@marked",
        "for _ in range(3):\n        TWO((1,), (5,), (np.zeros(3, np.int32), 3))",
    ),
    "fails_by_what_it_makes_up()": (
        "",
        "raise SimulatorError('race', 'f', (), (), 'made up', ('finding', 3))",
    ),
    "fails_by_its_own_list(cudakern_checked)": (
        "",
        "cudakern_checked.findings.append('mine'); raise ValueError",
    ),
    "passes_after_them()": (
        "",
        "assert not {'__tracebackhide__'} & {*dir(contextlib), *dir(raw)}",
    ),
}
BESIDE = {
    "by_fail": "E *Failed: no good",
    "by_argument": "E *DTypeError: set: args*",
    "by_compiling": "E *KernelCompileError: f.cu*",
    "by_a_group": "*ExceptionGroup: two *",
}


def test_what_is_shown_of_failures(inner):
    failing = written(FAILING_START, FAILING)
    result = inner(failing)
    require_ends(result, 10)
    shown = failures(result)
    for name, error in BESIDE.items():
        text = shown[f"test_fails_{name}[seed0]"]
        require_lines(text, error, "*- cudakern -*")
        assert text.count("cudakern found: set: out_of_bounds: set.cu:1\n") == 1
        assert text.count("set: out_of_bounds: set.cu:1: write of 4 bytes must lie") == 1
        assert "direct cause" not in text
    lines = '  1 | extern "C" __global__ void f() {\n> 2 |   y = 3;\n    |   ^\n  3 | }\n'
    assert lines in shown["test_fails_by_compiling[seed0]"]
    assert shown["test_fails_again[seed2]"].count("cudakern found: set") == 1
    text = shown["test_fails_twice[seed0]"]
    line = (KERNELS + failing).partition("x[n] = 1")[0].count("\n") + 1
    require_lines(
        text,
        ">           TWO((1,), (5,), (np.zeros(3, np.int32), 3))",
        "E *SimulatorError: two: out_of_bounds: two.cu:2: write of 4 bytes must *",
        "*- cudakern -*",
        "two: out_of_bounds: two.cu:2",
        "*two.cu:2 |   x?n? = 1;",
        "*(0, 0, 0) and 4 more",
        f"two.cu:2 is test_it.py:{line}",
        "two: out_of_bounds: two.cu:3: write of 4 bytes must lie inside of an array; *",
        "*(0, 0, 0) and 4 more",
        f"two.cu:3 is test_it.py:{line + 1}",
    )
    assert text.count("two.cu:2: write of 4 bytes must lie") == 1
    assert text.count("two.cu:3: write of 4 bytes must lie") == 1


def test_what_is_expected_is_not_shown(inner, pytester):
    text = """
        from cudakern import SimulatorError
        from cudakern.simulator import checked

        @marked
        def test_passes():
            with pytest.raises(SimulatorError, match="out_of_bounds"), checked():
                launch(3)

        @marked
        @pytest.mark.xfail(raises=SimulatorError, strict=True)
        def test_xfails():
            launch(3)

        @marked
        def test_skips():
            launch(3)
            pytest.skip("not here")
    """
    result = inner(text, "--cudakern-checked-github", "--junitxml=report.xml")
    require_ends(result, 3)
    result.stdout.no_re_match_line(".*(- cudakern -|set.cu|::error)")
    assert "set.cu" not in (pytester.path / "report.xml").read_text()


UNITTESTS = """
    import unittest
    from cudakern.simulator.launching import observation
    seen = []

    @marked(seeds=(3, 4), resident_blocks=2)
    class TestCase(unittest.TestCase):
        def setUp(self):
            launch()
            self.set_up = True

        def test_passes(self):
            report = observation.active[-1]
            seen.append((report.seed, report.resident_blocks, report.launches))

        def test_fails_late(self):
            launch(0 if observation.active[-1].seed == 3 else 4)

        def test_passes_then(self):
            assert seen == [(3, 2, 1), (4, 2, 1)]

        def test_fails_by_itself(self):
            launch(3)
            self.assertEqual("mine", "yours")

        def test_passes_subtests(self):
            for index in (0, 1):
                with self.subTest(index=index):
                    launch(index)

        @unittest.expectedFailure
        def test_xfails(self):
            launch(3)

        @pytest.mark.usefixtures("cudakern_checked")
        def test_passes_with_the_fixture(self):
            assert observation.active[-1].seed == 3

        def tearDown(self):
            assert self.set_up

    @marked(seeds=(3, 4))
    class TestOther(unittest.TestCase):
        def test_fails_at_once(self):
            launch()
            print("with seed", observation.active[-1].seed)
            self.fail("at once")

        def test_fails_without_a_launch(self):
            with self.subTest():
                pass

        @unittest.skip("not here")
        def test_skips(self):
            pass

    class TestUnmarked(unittest.TestCase):
        def test_passes(self):
            assert not observation.active
"""


def test_methods_of_unittest(inner):
    result = inner(UNITTESTS)
    require_ends(result, 11)
    shown = failures(result)
    require_lines(
        shown["TestCase.test_fails_late"],
        ">       SET((1,), (1,), (np.zeros(3, np.int32), index))",
        "E *SimulatorError: set: out_of_bounds: set.cu:1: write*",
        "*- cudakern -*",
        "seed 4",
    )
    require_lines(
        shown["TestCase.test_fails_by_itself"],
        "E *AssertionError: 'mine' != 'yours'",
        "*- cudakern -*",
        "seed 3",
        "set: out_of_bounds: set.cu:1: write of 4 bytes*element 3 of *",
    )
    assert "with seed 4" not in shown["TestOther.test_fails_at_once"]
    require_lines(shown["TestOther.test_fails_without_a_launch"], NOTHING_LAUNCHED)


OF_AN_OPTION = """
    def test_passes():
        launch()

    @marked(seeds=range(7))
    @pytest.mark.parametrize("index", [0, 1])
    def test_passes_marked(index):
        launch(index)

    def test_passes_with_the_fixture(cudakern_checked):
        launch()
        assert cudakern_checked.seed in {6, 7}
        assert cudakern_checked.strict is True
        assert cudakern_checked.launches == 1

    def test_fails():
        launch(3)
"""
DOCUMENTED = '''
"""
>>> import numpy as np
>>> from cudakern.simulator import RawKernel
>>> set = RawKernel('extern "C" __global__ void set(int* x, int i) { x[i] = 7; }', "set")
>>> set((1,), (1,), (np.zeros(3, np.int32), 3))
REST"""

def double(x):
    """
    >>> double(2)
    4
    """
    return 2 * x
'''


def test_options_have_tests_and_doctests_checked(inner, pytester):
    pytester.makepyfile(documented=DOCUMENTED.replace("REST", ""))
    pytester.makepyfile(failing=DOCUMENTED.replace("REST", ">>> 1 + 1\n3\n"))
    options = ["--cudakern-checked", " 6, 7, ", "--cudakern-checked-strict"]
    files = ["test_it.py", "documented.py", "failing.py"]
    result = inner(OF_AN_OPTION, *options, "--cudakern-checked-github", "--doctest-modules", *files)
    result.assert_outcomes(passed=10, failed=4)
    result.stdout.fnmatch_lines(
        ["*test_passes_marked?seed6-1? PASSED*", "*test_fails?seed7? FAILED*"]
    )
    result.stdout.fnmatch_lines(
        ["::error file=documented.py,line=4,col=70,title=out_of_bounds::set: *"]
    )
    found = "set: out_of_bounds: set.cu:1"
    text = result.stdout.str()
    require_lines(
        text,
        "*doctest? documented*",
        f"{found}: write of 4 bytes*",
        "*- cudakern -*",
        "seed 6",
        found,
    )
    assert "runner.py" not in text
    said = f"{found}: write of 4 bytes must lie *"
    require_lines(text, "Expected:", "    3", "Got:", "*- cudakern -*", "seed 6", said)


#: Wrong arguments of the marker, and messages, in which dots stand for some words.
NAMES = "arguments must be seeds, resident_blocks, strict or launches"
SEEDS = "seeds must be integers or None, at least one; got"
WRONG = {
    "seed=3": f"{NAMES}; got 'seed'; did you mean 'seeds'?",
    "stric=True": "...; got 'stric'; did you mean 'strict'?",
    "launch='any'": "...; got 'launch'; did you mean 'launches'?",
    "blocks=8": "...; got 'blocks'; did you mean 'resident_blocks'?",
    "order=3": f"{NAMES}; got 'order'",
    "range(5)": f"{NAMES}, each by its name; got range(0, 5); did you mean seeds=range(0, 5)?",
    "3": "..., each by its name; got 3; did you mean seeds=[3]?",
    "True": "..., each by its name; got True; did you mean strict=True?",
    "'any'": "..., each by its name; got 'any'; did you mean launches='any'?",
    "[1], 8": "..., each by its name; got [1]; did you mean seeds=[1]?",
    "seeds=3": f"{SEEDS} 3; did you mean seeds=[3]?",
    "seeds=()": f"{SEEDS} ()",
    "seeds='012'": f"{SEEDS} '012'",
    "seeds=iter(range(1))": f"{SEEDS} <range_iterator ...",
    "seeds=(1, 0.5)": "seeds must be an int; got 0.5",
    "seeds=[True]": "seeds must be an int; got True",
    "resident_blocks='a'": "resident_blocks must be an int; got 'a'",
    "resident_blocks=0": "resident_blocks must be at least 1; got 0",
    "strict='yes'": "strict must be True or False; got 'yes'",
    "launches='none'": "launches must be 'some' or 'any'; got 'none'",
    "launches=0": "launches must be 'some' or 'any'; got 0",
}


def settings_of(arguments):
    """Return the settings of a marker with arguments given as text."""
    mark = eval(f"pytest.mark.cudakern_checked({arguments})", {"np": np, "pytest": pytest})  # noqa: S307
    return read_marker(mark.mark, "test_it.py::test_it")


@each("arguments", WRONG)
def test_wrong_arguments_of_the_marker(arguments):
    with pytest.raises(pytest.UsageError) as caught:
        settings_of(arguments)
    start, dots, end = WRONG[arguments].partition("...")
    said = str(caught.value).removeprefix("test_it.py::test_it: pytest.mark.cudakern_checked: ")
    assert said.startswith(start)
    assert said.endswith(end) if dots and end else dots or said == start


@each(
    "arguments, expected",
    [
        ("", Settings()),
        (
            "seeds=np.arange(2), resident_blocks=np.int64(2), strict=np.True_, launches='some'",
            Settings((0, 1), 2, strict=True),
        ),
        ("seeds={0, 1}, launches='any'", Settings((0, 1), launches="any")),
        ("seeds=[None, -1]", Settings((None, -1))),
    ],
)
def test_right_arguments_of_the_marker(arguments, expected):
    assert settings_of(arguments) == expected


def test_wrong_arguments_end_pytest(inner):
    result = inner("""
        pytestmark = marked(stric=True)

        class TestThem:
            @marked
            def test_first(self):
                launch()
    """)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = "ERROR: test_it.py::TestThem::test_first*: *; got 'stric'; did you mean 'strict'[?]"
    result.stderr.fnmatch_lines([said])
    result = inner("def test_any(): pass", "--cudakern-checked=0,1.5")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = "--cudakern-checked must be integers separated by commas; got '0,1.5'"
    result.stderr.fnmatch_lines([f"*{said}"])


FRAMES = """
    import cudakern as ck
    import between
    from cudakern.simulator import checked
    from cudakern.simulator.launching import raw

    def test_fails_in_a_block():
        with checked():
            launch(3)

    def test_fails_by_a_launch():
        launch("a")

    def test_fails_in_an_operator():
        ck.gather([1, 2], "a")

    def test_fails_by_a_bug(monkeypatch):
        monkeypatch.setattr(raw, "pack_arguments", lambda *_, **__: 1 / 0)
        launch()

    @marked
    def test_fails_between():
        between.call(launch, 3)

    @marked
    def test_fails_innermost():
        between.call(SET, (1,), (1,), (np.zeros(3, np.int32), 3))
"""
OWN_FRAMES = """
    test_fails_in_a_block
    test_fails_by_a_launch launch
    test_fails_in_an_operator
    test_fails_by_a_bug launch <lambda>
    test_fails_between launch
    test_fails_innermost
"""


def test_frames_of_the_package_are_hidden(inner, pytester, monkeypatch):
    folder = pytester.mkdir("site-packages")
    (folder / "between.py").write_text("def call(f, *arguments):\n    f(*arguments)\n")
    monkeypatch.syspath_prepend(folder)
    broken = "\nRawKernel('extern \"C\" __global__ void f(int* x) { x = y; }', 'f').compile()\n"
    files = {"test_broken": broken, "test_missing": "import no_module_of_this_name"}
    options = ["--tb=short", "--continue-on-collection-errors"]
    result = inner(FRAMES, *options, **files)
    result.assert_outcomes(failed=6, errors=2)
    frames = re.findall(r"^(\S+):\d+: in (.+)$", result.stdout.str(), re.MULTILINE)
    assert [name for file, name in frames if file == "test_it.py"] == OWN_FRAMES.split()
    others = [(file.rpartition("/")[2], name) for file, name in frames if file != "test_it.py"]
    assert ("test_broken.py", "<module>") in others
    assert ("between.py", "call") in others
    named = {"test_broken.py", "test_missing.py", "between.py", "__init__.py", "raw.py"}
    assert {file for file, _ in others} <= named
    assert [file for file, _ in others].count("raw.py") == 1  # in the traceback of the fault
    error = "E   cudakern.errors.KernelCompileError: f.cu: the kernel must compile; *"
    result.stdout.fnmatch_lines(["    RawKernel(*", error])
    result.stdout.fnmatch_lines(["ImportError while importing test module *"])
    result.stdout.no_fnmatch_line("*entries are hidden*")
    full = inner(FRAMES, "--full-trace", options[1], "-k", "block or by_a_launch", **files).stdout
    full.fnmatch_lines(["*cudakern/simulator/launching/raw.py:*"])  # in the collection error
    full.fnmatch_lines(["*contextlib.py:*", "*reports/sessions.py:*: SimulatorError"])


PLACES = """
    SHIFT = RawKernel(
        "extern \\"C\\" __global__ void shift(int* x, int n) {\\n"
        "  x[n] = x[n + 1];\\n"
        "}\\n", "shift")

    @marked(seeds=(1, 2))
    @pytest.mark.parametrize("index", [0, 3])
    def test_set(index):
        launch(index)

    @marked(seeds=(1, 2))
    def test_both():
        launch(3)
        SHIFT((1,), (1,), (np.zeros(3, np.int32), 2))
"""


def place(text):
    """Return line and column of a text in the file of `PLACES`."""
    before = (KERNELS + textwrap.dedent(PLACES)).partition(text)[0].split("\n")
    return len(before), len(before[-1]) + 1


SAID = "{0}: out_of_bounds: {0}.cu:{1} of 4 bytes must lie inside of an array; it is element 3 of \
argument 0 (x), shape (3,) (block (0, 0, 0), thread (0, 0, 0))"
FOUND = [
    ("set", SAID.format("set", "1: write"), place("x[i]")),
    ("shift", SAID.format("shift", "2: read"), place("x[n + 1]")),
]


@each("options", [["-q", "--no-summary"], ["-n1"], ["-p", "no:terminal"]])
def test_findings_for_github_and_in_xml(inner, pytester, options):
    result = inner(PLACES, "--cudakern-checked-github", "--junitxml=report.xml", *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    commands = [line for line in result.outlines if "::error" in line]
    assert sorted(commands, key=len) == [
        f"::error file=test_it.py,line={line},col={column},title=out_of_bounds::{said}"
        for _, said, (line, column) in FOUND
    ]
    cases = ET.parse(pytester.path / "report.xml").iter("testcase")  # noqa: S314  our own
    properties = {
        case.get("name"): [(p.get("name"), p.get("value")) for p in case.iter("property")]
        for case in cases
    }
    first, second = (
        [
            ("cudakern.finding", said),
            ("cudakern.kind", "out_of_bounds"),
            ("cudakern.file", "test_it.py"),
            ("cudakern.line", str(line)),
        ]
        for _, said, (line, _) in FOUND
    )
    assert properties == {
        "test_set[seed1-0]": [],
        "test_set[seed1-3]": first,
        "test_set[seed2-0]": [],
        "test_set[seed2-3]": first,
        "test_both[seed1]": first + second,
        "test_both[seed2]": first + second,
    }


def test_names_in_commands_for_github(inner, pytester, monkeypatch):
    """The folder has an odd name; a kernel whose text is not in a file has the test's line."""
    folder = pytester.mkdir("100%, a:b")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(pytester.path.parent))
    text = """def test_it(cudakern_checked):
    launch(3)

made = '} ;7 = ]x.miDkcolb[x { )x *tni(edam diov __labolg__ "C" nretxe'[::-1]

def test_made(cudakern_checked):
    RawKernel(made, "made")((1,), (3,), (np.zeros(3, np.int32),))
"""
    (folder / "test_names.py").write_text(KERNELS + text)
    result = inner("", "--cudakern-checked-github", f"--rootdir={pytester.path}", "test_names.py")
    first, second = [line for line in result.outlines if "::error" in line]
    file = f"::error file={pytester.path.name}/100%25%2C a%3Ab/test_names.py"
    assert first.startswith(f"{file},line=5,col=66,title=out_of_bounds::set: ")
    line = (KERNELS + text).partition("def test_made")[0].count("\n") + 1
    said = "title=out_of_bounds at made.cu%3A1::made: out_of_bounds: made.cu:1: write of 4 bytes"
    assert second.startswith(f"{file},line={line},{said}")
