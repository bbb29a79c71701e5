"""A pytest plugin: tests whose kernels run checked in the simulator, once for each seed.

``cudakern/simulator/reference.md`` describes its marker, fixture and options. For the seed None a
test runs plain. pytest loads this file everywhere, so it imports the rest at the first test that
asks for it.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING

import pytest

from cudakern.process.lazy import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from contextlib import AbstractContextManager

    from cudakern.simulator.reports.checked_tests import CheckedRun, Settings
    from cudakern.simulator.reports.sessions import CheckReport

_MARK = "cudakern_checked"
_SEED = "cudakern_checked_seed"
_USAGE = "cudakern_usage_error"
_CUPY = "cudakern_cupy"
#: Of a test that runs checked, or has asked for the fixture.
_RUN = pytest.StashKey["CheckedRun"]()
#: Of a test that has asked for the fixture: the block it runs in.
_OPEN = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
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
    text = "have `import cupy` give cudakern's stand-in, in tests and whatever they import"
    group.addoption("--cudakern-cupy", action="store_true", help=text)
    parser.addini(_CUPY, text, type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Have the stand-in take CuPy's place before a conftest or a package imports that."""
    if not (early_config.known_args_namespace.cudakern_cupy or early_config.getini(_CUPY)):
        return
    if not getattr(sys.modules.get("cupy"), SIMULATED, "cupy" not in sys.modules):
        message = "--cudakern-cupy must come before cupy is imported, which another plugin has "
        message += "done: leave that out, with -p no:NAME"
        raise pytest.UsageError(message)
    from cudakern.simulator.cupy_stand_in.modules import in_place_of_cupy  # noqa: PLC0415

    block = in_place_of_cupy()
    block.__enter__()
    early_config.add_cleanup(lambda: block.__exit__(None, None, None))


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker, and refuse seeds that are not integers."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(seeds=(0,), resident_blocks=4, strict=False, launches='some'): run the test "
        "inside of cudakern.simulator.checked, once for each seed; fail if it launches nothing in "
        "the simulator, unless launches='any'",
    )
    _parse_seeds(config)
    if config.getoption("--cudakern-checked-github") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Annotations(config), "cudakern_annotations")


def _parse_seeds(config: pytest.Config) -> list[int]:
    seeds = config.getoption("--cudakern-checked", default="")
    try:
        return [int(seed) for seed in seeds.split(",") if seed.strip()]
    except ValueError:
        message = f"--cudakern-checked must be integers separated by commas; got {seeds!r}"
        raise pytest.UsageError(message) from None


def _read_marker(node: pytest.Item, mark: pytest.Mark | None = None) -> Settings | None:
    """Return what a marker of a test says, by default the closest; UsageError if it is wrong."""
    if (mark := mark or node.get_closest_marker(_MARK)) is None:
        return None
    from cudakern.simulator.reports.checked_tests import read_marker  # noqa: PLC0415

    return read_marker(mark, node.nodeid)


@pytest.fixture
def cudakern_checked_seed() -> int | None:
    """Give the seed of the test; None if it does not run checked."""
    return None


@pytest.fixture
def cudakern_checked(
    request: pytest.FixtureRequest, cudakern_checked_seed: int | None
) -> Iterator[CheckReport]:
    """Run a test inside of `cudakern.simulator.checked`; give it the report."""
    with ExitStack() as stack:
        seeds = [cudakern_checked_seed, *_list_seeds(request.node)]
        seed = next((seed for seed in seeds if seed is not None), 0)
        run = stack.enter_context(_prepare(request.node, seed))
        request.node.stash[_OPEN] = stack
        yield run.report


def _prepare(item: pytest.Item, seed: int) -> CheckedRun:
    """Return the block in which a test runs next."""
    from cudakern.simulator.reports.checked_tests import CheckedRun  # noqa: PLC0415

    strict = item.config.getoption("--cudakern-checked-strict")
    run = item.stash.setdefault(_RUN, CheckedRun(item, _read_marker(item), strict=strict))
    run.seed = seed
    return run


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test its seeds."""
    try:
        seeds = _list_seeds(metafunc.definition)
    except pytest.UsageError:  # raised again when all is collected: here it would fail a file
        return
    if seeds:
        metafunc.fixturenames.append(_SEED)
        ids = ["plain" if seed is None else f"seed{seed}" for seed in seeds]
        metafunc.parametrize(_SEED, seeds, ids=ids)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse markers with arguments that are wrong."""
    seen: set[int] = set()
    for item in items:
        for mark in item.iter_markers(_MARK):
            try:
                if id(mark) not in seen:
                    _read_marker(item, mark)
            except pytest.UsageError as error:
                if hasattr(item.config, "workeroutput"):
                    item.config.workeroutput[_USAGE] = str(error)
                raise
            seen.add(id(mark))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Refuse markers that a worker of pytest-xdist has refused, whose errors are not shown."""
    message = getattr(node, "workeroutput", {}).get(_USAGE)
    if message is not None:
        raise pytest.UsageError(message)


def _list_seeds(item: pytest.Item) -> list[int | None]:
    """Return the seeds that a test runs with, one after the other.

    That is the one by which its function is parametrized. Tests that pytest does not parametrize
    run with all: methods of a unittest.TestCase, doctests, tests that got their marker later.
    """
    if _is_parametrized(item):
        return [item.callspec.params[_SEED]]  # type: ignore[attr-defined]
    seeds = _parse_seeds(item.config)
    settings = None if seeds else _read_marker(item)
    return [*seeds] if settings is None else [*settings.seeds]


def _is_parametrized(item: pytest.Item) -> bool:
    return _SEED in getattr(getattr(item, "callspec", None), "params", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test that has seeds inside of `cudakern.simulator.checked`."""
    opened = item.stash.get(_OPEN, None)
    if opened is not None:
        del item.stash[_OPEN]
        with opened.pop_all():  # findings fail the test, not its fixture
            return (yield)
    first, *others = _list_seeds(item) or [None]
    namespace = getattr(getattr(item, "dtest", None), "globs", {})
    names = dict(namespace)
    with _enclose(item, first):
        result = yield
    for seed in others:
        if getattr(item, "_excinfo", None):  # unittest keeps what a test raises
            break
        namespace.update(names)  # which doctest clears
        with _enclose(item, seed):
            item.runtest()
    return result


def _enclose(item: pytest.Item, seed: int | None) -> AbstractContextManager[object]:
    """Return the block in which a test runs with a seed."""
    if seed is None:
        return nullcontext()
    run = _prepare(item, seed)
    run.shows_seed = not _is_parametrized(item)
    return run


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show findings, all of them and without the frames of this package."""
    run = item.stash.get(_RUN, None)
    # unittest keeps what a test raises; a subtest has its report within the test.
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
    """Show an error in collecting a file without the frames of this package."""
    report = yield
    call = getattr(report, "call", None)
    if report.failed and call is not None and "cudakern.errors" in sys.modules:
        from cudakern.simulator.reports import checked_tests  # noqa: PLC0415

        with checked_tests.hide_frames(call.excinfo.value) as are_hidden:
            if are_hidden:
                report.longrepr = collector.repr_failure(call.excinfo)
    return report


class _Annotations:
    """Prints what GitHub shows at lines of files, once for each place."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._commands: dict[tuple[object, ...], str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of the findings of a test, which may have run in another process."""
        for place in getattr(report, "cudakern_places", ()) if report.failed else ():
            file, line, _, title, _ = place
            self._commands.setdefault((file, line, title), _format_command(*place))

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


def _format_command(file: str, line: int, column: int | None, title: str, message: str) -> str:
    """Return a workflow command of GitHub."""
    properties = {"file": file, "line": line, "col": column, "title": title}
    listed = ",".join(
        f"{name}={_escape(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in properties.items()
        if value is not None
    )
    return f"::error {listed}::{_escape(message)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
