"""A pytest plugin: tests whose kernels run checked in the simulator.

A test marked ``cudakern_checked`` runs inside of `cudakern.simulator.checked`, once for each seed,
and fails if anything is found, or nothing is launched; for the seed None it runs plain::

    @pytest.mark.cudakern_checked(seeds=range(5), resident_blocks=8, strict=True)
    def test_histogram(): ...

``pytest --cudakern-checked=0,1,2`` runs every test so; with ``--cudakern-checked-strict``, whatever
runs checked is ``checked(strict=True)``. The fixture ``cudakern_checked`` gives a
test the report, marked or not. ``--cudakern-checked-github`` has GitHub show findings at the lines
that they are about.

pytest loads this file everywhere, so what it needs is imported at the first test that asks for it.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from contextlib import AbstractContextManager

    from cudakern.simulator.reports.checked_tests import Run, Settings
    from cudakern.simulator.reports.sessions import CheckReport

_MARK = "cudakern_checked"
_SEED = "cudakern_checked_seed"
_USAGE = "cudakern_usage_error"
#: Of a test that runs checked, or has asked for the fixture.
_RUN = pytest.StashKey["Run"]()
#: Of a test that has asked for the fixture: the block it runs in.
_OPEN = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that has every test checked."""
    group = parser.getgroup("cudakern")
    group.addoption(
        "--cudakern-checked",
        default="",
        metavar="SEEDS",
        help="run every test inside of cudakern.simulator.checked, once for each of these seeds "
        "(integers, separated by commas)",
    )
    group.addoption(
        "--cudakern-checked-strict",
        action="store_true",
        help="have tests that run inside of cudakern.simulator.checked run with strict=True",
    )
    group.addoption(
        "--cudakern-checked-github",
        action="store_true",
        help="print findings as workflow commands, which GitHub shows at the lines they are about",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker, and refuse seeds that are none."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(seeds=(0,), resident_blocks=4, strict=False, launches='some'): run the test "
        "inside of cudakern.simulator.checked, once for each seed; fail if it launches nothing in "
        "the simulator, unless launches='any'",
    )
    _seeds(config)
    if config.getoption("--cudakern-checked-github") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Annotations(config), "cudakern_annotations")


def _seeds(config: pytest.Config) -> list[int]:
    seeds = config.getoption("--cudakern-checked", default="")
    try:
        return [int(seed) for seed in seeds.split(",") if seed.strip()]
    except ValueError:
        message = f"--cudakern-checked must be integers separated by commas; got {seeds!r}"
        raise pytest.UsageError(message) from None


def _settings(node: pytest.Item) -> Settings | None:
    """Return what the marker of a test says, None if there is none; UsageError if it is wrong."""
    mark = node.get_closest_marker(_MARK)
    if mark is None:
        return None
    from cudakern.simulator.reports.checked_tests import settings  # noqa: PLC0415

    return settings(mark, node.nodeid)


@pytest.fixture
def cudakern_checked_seed() -> int | None:
    """Give the seed of the test, None for one that does not run checked."""
    return None


@pytest.fixture
def cudakern_checked(
    request: pytest.FixtureRequest, cudakern_checked_seed: int | None
) -> Iterator[CheckReport]:
    """Run a test inside of `cudakern.simulator.checked`; give it the report."""
    with ExitStack() as stack:
        seeds = [cudakern_checked_seed, *_seeds_of(request.node)]
        seed = next((seed for seed in seeds if seed is not None), 0)
        run = stack.enter_context(_run(request.node, seed))
        request.node.stash[_OPEN] = stack
        yield run.report


def _run(item: pytest.Item, seed: int) -> Run:
    from cudakern.simulator.reports.checked_tests import Run  # noqa: PLC0415

    strict = item.config.getoption("--cudakern-checked-strict")
    return item.stash.setdefault(_RUN, Run(item, _settings(item), strict=strict)).with_seed(seed)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test its seeds."""
    seeds: list[int | None] = [*_seeds(metafunc.config)]
    if not seeds:
        try:
            seeds = _marked_seeds(metafunc.definition)
        except pytest.UsageError:  # said when all is collected: here it would be an error of a file
            return
    if seeds:
        metafunc.fixturenames.append(_SEED)
        ids = ["plain" if seed is None else f"seed{seed}" for seed in seeds]
        metafunc.parametrize(_SEED, seeds, ids=ids)


def _marked_seeds(node: pytest.Item) -> list[int | None]:
    settings = _settings(node)
    return [] if settings is None else [*settings.seeds]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse markers with arguments that are wrong."""
    seen: set[int] = set()
    for item in items:
        for mark in item.iter_markers(_MARK):
            if id(mark) not in seen:
                seen.add(id(mark))
                _require_right(mark, item)


def _require_right(mark: pytest.Mark, item: pytest.Item) -> None:
    from cudakern.simulator.reports.checked_tests import settings  # noqa: PLC0415

    try:
        settings(mark, item.nodeid)
    except pytest.UsageError as error:
        if hasattr(item.config, "workeroutput"):
            item.config.workeroutput[_USAGE] = str(error)
        raise


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Refuse markers that a process of pytest-xdist has refused, to whose errors nobody listens."""
    message = getattr(node, "workeroutput", {}).get(_USAGE)
    if message is not None:
        raise pytest.UsageError(message)


def _seeds_of(item: pytest.Item) -> list[int | None]:
    """Return the seeds that a test runs with, one after the other.

    One that its function was parametrized with, or all, of what pytest does not parametrize: a
    method of a unittest.TestCase, a doctest, a test that got its marker later.
    """
    callspec = getattr(item, "callspec", None)
    if callspec is not None and _SEED in callspec.params:
        return [callspec.params[_SEED]]
    return [*_seeds(item.config)] or _marked_seeds(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test that has seeds inside of `cudakern.simulator.checked`."""
    opened = item.stash.get(_OPEN, None)
    if opened is not None:
        del item.stash[_OPEN]
        with opened.pop_all():  # what was found is the test's failure, not its fixture's
            return (yield)
    first, *others = _seeds_of(item) or [None]
    namespace = getattr(getattr(item, "dtest", None), "globs", {})
    names = dict(namespace)
    with _checked(item, first):
        result = yield
    for seed in others:
        if getattr(item, "_excinfo", None):  # unittest keeps what a test raises
            break
        namespace.update(names)  # which doctest clears
        with _checked(item, seed):
            item.runtest()
    return result


def _checked(item: pytest.Item, seed: int | None) -> AbstractContextManager[object]:
    if seed is None:
        return nullcontext()
    run = _run(item, seed)
    run.tells_seed = _SEED not in getattr(getattr(item, "callspec", None), "params", ())
    return run


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show findings, all of them and without the frames of this package."""
    run = item.stash.get(_RUN, None)
    # unittest keeps what a test raises; subtests have reports amid the test.
    raised = [*(getattr(item, "_excinfo", None) or ())[:1], call.excinfo]
    error = next((info.value for info in raised if info is not None), None)
    if not (error and "cudakern.errors" in sys.modules) and (run is None or run.is_open):
        return (yield)
    from cudakern.simulator.reports import checked_tests  # noqa: PLC0415

    with checked_tests.hide_frames(error):
        report = yield
    checked_tests.complete_report(report, item, call, run)
    if run is not None and not run.is_open:
        del item.stash[_RUN]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Show an error of a file that is collected without the frames of this package."""
    report = yield
    call = getattr(report, "call", None)
    if report.failed and call is not None and "cudakern.errors" in sys.modules:
        from cudakern.simulator.reports import checked_tests  # noqa: PLC0415

        with checked_tests.hide_frames(call.excinfo.value) as are_hidden:
            if are_hidden:
                report.longrepr = collector.repr_failure(call.excinfo)
    return report


class _Annotations:
    """Prints what GitHub is to show at lines of files, once for each place."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._commands: dict[tuple[object, ...], str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of the findings of a test, which may have run in another process."""
        if report.failed:
            for file, line, column, title, message in getattr(report, "cudakern_places", ()):
                self._commands.setdefault(
                    (file, line, title), _command(file, line, column, title, message)
                )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Print, at the start of lines, ahead of pytest's summaries."""
        if not self._commands:
            return
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            for line in ("", *self._commands.values()):
                reporter.write_line(line)
            return
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        with nullcontext() if capture is None else capture.global_and_fixture_disabled():
            print("", *self._commands.values(), sep="\n", flush=True)  # noqa: T201


def _command(file: str, line: int, column: int | None, title: str, message: str) -> str:
    """Return a workflow command of GitHub's."""
    properties = {"file": file, "line": line, "col": column, "title": title}
    listed = ",".join(
        f"{name}={_escaped(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in properties.items()
        if value is not None
    )
    return f"::error {listed}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
