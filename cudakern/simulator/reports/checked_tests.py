"""Tests that run checked, for the pytest plugin: how they run, how their findings are shown."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from cudakern.display.characters import format_count
from cudakern.display.styled_text import as_text
from cudakern.errors import (
    ArgumentError,
    CudakernError,
    KernelCompileError,
    SimulatorError,
    any_of,
    did_you_mean,
    is_inside,
)
from cudakern.errors import describe_value as shown_value
from cudakern.simulator.launching import observation
from cudakern.simulator.reports.compiler_errors import excerpt_error
from cudakern.simulator.reports.findings import Finding, format_findings
from cudakern.simulator.reports.sessions import CheckReport, checked
from cudakern.simulator.reports.user_files import has_line, read_file, shorten
from cudakern.simulator.sources.source_lines import describe_stack
from cudakern.values.validation import as_flag, as_integer, require_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import FrameType
    from typing import Self

    from _pytest._code.code import TerminalRepr


_NAME = "pytest.mark.cudakern_checked"
_SECTION = "cudakern"
#: Columns of excerpts, however wide the terminal is.
_COLUMNS = 120
#: Names of the marker's arguments that users may write.
_WORDS = dict.fromkeys(("blocks", "resident", "nblocks"), "'resident_blocks'")
_NOTHING = """cudakern_checked: the test must launch a kernel in the simulator, on NumPy arrays; \
it launched none, so nothing was checked
If that is meant: cudakern_checked(launches="any"). What fixtures launch counts where they ask for \
the fixture cudakern_checked."""


class FileLine(NamedTuple):
    """A line of a file."""

    file: str  # below the repository's folder, if it is
    line: int
    column: int | None
    is_own: bool  # the finding's line, and not the first one of the test


@dataclass(frozen=True)
class Settings:
    """What a marker says."""

    seeds: tuple[int | None, ...] = (0,)
    resident_blocks: int = 4
    strict: bool = False
    launches: str = "some"


def read_marker(mark: pytest.Mark, test: str) -> Settings:
    """Return what the marker of a test says; UsageError if it is wrong."""
    try:
        return _read_arguments(mark)
    except CudakernError as error:
        message = f"{test}: {error}"
        raise pytest.UsageError(message) from None


def _read_arguments(mark: pytest.Mark) -> Settings:
    names = Settings.__dataclass_fields__
    listed = f"must be {any_of(names)}"
    if mark.args:
        value = shown_value(mark.args[0])
        hint = f"; did you mean {_guess_argument(mark.args[0], value)}?"
        raise ArgumentError(_NAME, "arguments", f"{listed}, each by its name; got {value}{hint}")
    for name in mark.kwargs:
        if name not in names:
            hint = did_you_mean(name, names, _WORDS)
            raise ArgumentError(_NAME, "arguments", f"{listed}; got {name!r}{hint}")
    given = Settings(**mark.kwargs)
    seeds = _list_seeds(given.seeds)
    blocks = as_integer(_NAME, "resident_blocks", given.resident_blocks)
    if blocks < 1:
        raise ArgumentError(_NAME, "resident_blocks", f"must be at least 1; got {blocks}")
    as_flag(_NAME, "strict", given.strict)
    require_word(_NAME, "launches", given.launches, ("some", "any"), {})
    return replace(given, seeds=seeds)


def _guess_argument(value: object, text: str) -> str:
    """Return the argument that a value is likely meant for, written with that value."""
    if isinstance(value, bool):
        return f"strict={text}"
    if isinstance(value, str):
        return f"launches={text}"
    return f"seeds=[{text}]" if isinstance(value, int) else f"seeds={text}"


def _list_seeds(values: Any) -> tuple[int | None, ...]:  # noqa: ANN401
    requirement = f"must be integers or None, at least one; got {shown_value(values)}"
    is_iterator = hasattr(values, "__next__")  # which is empty after one test
    if is_iterator or isinstance(values, str | bytes):
        raise ArgumentError(_NAME, "seeds", requirement)
    try:
        listed = [*values]
    except TypeError:
        hint = f"; did you mean seeds=[{shown_value(values)}]?"
        raise ArgumentError(_NAME, "seeds", requirement + hint) from None
    if not listed:
        raise ArgumentError(_NAME, "seeds", requirement)
    return tuple(None if seed is None else as_integer(_NAME, "seeds", seed) for seed in listed)


class CheckedRun:
    """A test that runs inside of `checked`, with one seed after the other if it has several."""

    def __init__(self, item: pytest.Item, marked: Settings | None, *, strict: bool) -> None:
        settings = marked or Settings()
        self._file = str(item.path)
        self._folder = f"{item.config.rootpath}{os.sep}"
        self.needs_launches = marked is not None and settings.launches == "some"
        self.launches = 0
        self.is_open = False
        self.seed = 0
        self.shows_seed = False
        self._options = settings.resident_blocks, settings.strict or strict
        self._block: AbstractContextManager[CheckReport]
        self._calls: TracebackType | None = None

    def __enter__(self) -> Self:
        self._block = checked(self.seed, *self._options)
        self.report = self._block.__enter__()
        self.report.origins.files.append(self._file)
        observation.watchers.append(self._watch)
        self.is_open = True
        return self

    def __exit__(
        self, _: object, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Fail if there are findings, at the launch of the first; add a note to another failure."""
        observation.watchers.remove(self._watch)
        self.is_open = False
        try:
            self._block.__exit__(None, None, None)
        except SimulatorError as found:
            if error is None:
                vars(found).pop("__notes__", None)  # the section on findings says that
                raise found.with_traceback(self._calls) from None
            if isinstance(error, Exception | pytest.fail.Exception):
                note = _describe_findings(self.report.findings)
                if note not in getattr(error, "__notes__", ()):  # an error may be raised again
                    error.add_note(note)
        finally:
            self._calls = None

    def _watch(self) -> None:
        """Count a launch that this or another block has observed; keep the calls to a finding."""
        self.launches += 1
        if self.report.findings and self._calls is None:
            self._calls = self._build_traceback(sys._getframe(1))  # noqa: SLF001

    def _build_traceback(self, frame: FrameType | None) -> TracebackType | None:
        """Return the traceback that an error would have at a call of this package.

        It has the frames of the test's own files, and the innermost one.
        """
        traceback = None
        while frame is not None and frame.f_code.co_name != "pytest_runtest_call":
            file = frame.f_code.co_filename
            is_own = file.startswith(self._folder) and "site-packages" not in file
            is_innermost = traceback is None
            if not is_inside(frame) and (is_own or is_innermost):
                traceback = TracebackType(traceback, frame, frame.f_lasti, frame.f_lineno or 0)
            frame = frame.f_back
        return traceback


def _describe_findings(findings: Sequence[Finding]) -> str:
    first = findings[0]
    rest = f" and {format_count(len(findings) - 1, 'more finding')}" if len(findings) > 1 else ""
    return f"cudakern found: {first.kernel}: {first.kind}: {describe_stack(first.stack)}{rest}"


@contextmanager
def hide_frames(error: BaseException | None) -> Iterator[bool]:
    """Have pytest hide frames of this package and of contextlib in tracebacks of our errors.

    ``--full-trace`` shows all. Yields whether there are such frames.
    """
    spaces = [
        frame.f_globals
        for shown_error in _follow_chain(error)
        if isinstance(shown_error, CudakernError)
        for frame, _ in walk_tb(shown_error.__traceback__)
        if is_inside(frame)
    ]
    for space in spaces:
        space["__tracebackhide__"] = _is_on_purpose
    try:
        yield bool(spaces)
    finally:
        for space in spaces:
            space.pop("__tracebackhide__", None)


def _is_on_purpose(raised: pytest.ExceptionInfo[BaseException] | None) -> bool:
    return raised is not None and isinstance(raised.value, CudakernError)


def complete_report(
    report: pytest.TestReport,
    item: pytest.Item,
    call: pytest.CallInfo[None],
    run: CheckedRun | None,
) -> None:
    """Add the findings to the report of a test; fail it if it launched nothing."""
    if call.when != "call" or (run is not None and run.is_open):
        run = None
    lacks = run is not None and run.needs_launches and not run.launches
    if lacks and report.passed and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = _represent_alone(_make_failure(_NOTHING), item)
    if not report.failed:
        return
    error = None if call.excinfo is None else call.excinfo.value
    errors = [*_follow_chain(error)]
    compiled = next((e for e in errors if isinstance(e, KernelCompileError)), None)
    excerpt = "" if compiled is None else as_text(excerpt_error(compiled))
    if excerpt:
        _add_section(report, excerpt, item)
    raised = _pick_findings(next((e.findings for e in errors if isinstance(e, SimulatorError)), ()))
    found = _pick_findings(run.report.findings) if run is not None else []
    if not (found or raised):
        return
    if _is_expected(item):
        report.outcome = "skipped"
        vars(report)["wasxfail"] = ""
        return
    if not isinstance(item, pytest.Function) and isinstance(error, SimulatorError):
        report.longrepr = _represent_alone(error, item)  # all frames of pytest would be shown
    places = {finding: find_place(finding, item) for finding in found or raised}
    _add_section(report, "\n".join(_format_section(places, raised, run)), item)
    for finding, place in places.items():
        about = {"finding": str(finding), "kind": finding.kind, **place._asdict()}
        pairs = [(f"cudakern.{key}", about[key]) for key in ("finding", "kind", "file", "line")]
        item.user_properties += pairs
        report.user_properties += pairs
    vars(report)["cudakern_places"] = [_annotate(*pair) for pair in places.items()]


def _pick_findings(values: Sequence[object]) -> list[Finding]:
    """Return the findings among values: an error that a test makes up may have others."""
    return [value for value in values if isinstance(value, Finding)]


def _format_section(
    places: Mapping[Finding, FileLine], raised: Sequence[Finding], run: CheckedRun | None
) -> Iterator[str]:
    """Yield the section on findings, without the message that the error above it shows."""
    first, *others = places
    if raised and first is raised[0]:
        first = replace(first, message=describe_stack(first.stack))
    if run is not None and run.shows_seed:
        yield f"seed {run.seed}"
    notes = run.report.notes if run else ()
    yield as_text(format_findings((first, *others), notes, width=_COLUMNS))


def find_place(finding: Finding, item: pytest.Item) -> FileLine:
    """Return where a finding of a test lies, or where the test begins if that is not known."""
    root, source, column = item.config.rootpath, finding.source, finding.column
    for folder in (Path(), root):
        if source is None:
            break
        path = folder / source[0]
        if has_line(path, source, finding.code):
            return FileLine(shorten(str(path.absolute()), root), source[1], column, is_own=True)
    if finding.origin is not None:
        file, line = finding.origin
        code, text = finding.code.strip(), read_file(file).split("\n")[line - 1]
        if column is not None:
            shift = text.find(code) - finding.code.index(code)
            column = column + shift if code in text else None
        return FileLine(shorten(file, root), line, column, is_own=True)
    test, first, _ = item.reportinfo()
    return FileLine(shorten(str(test), root), (first or 0) + 1, None, is_own=False)


def _is_expected(item: pytest.Item) -> bool:
    """Return whether a test is unittest.expectedFailure, which knows only what the test raises."""
    tests = getattr(item, "cls", None), getattr(item, "obj", None)
    return any(getattr(test, "__unittest_expecting_failure__", False) for test in tests)


def _follow_chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that pytest shows with it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        before = None if error.__suppress_context__ else error.__context__
        error = before if error.__cause__ is None else error.__cause__


def _add_section(report: pytest.TestReport, text: str, item: pytest.Item) -> None:
    """Add a section to a failure; the report's own sections are shown by --show-capture."""
    if item.config.getoption("tbstyle", "auto") == "line":
        return
    add = getattr(report.longrepr, "addsection", None)
    if add is None:
        report.sections.append((_SECTION, text))
    else:
        add(_SECTION, text, "-")


def _make_failure(message: str) -> BaseException:
    try:
        pytest.fail(message, pytrace=False)
    except pytest.fail.Exception as failure:
        return failure


def _represent_alone(error: BaseException, item: pytest.Item) -> TerminalRepr:
    """Return how an error without a traceback is shown, at the first line of the test."""
    alone = pytest.ExceptionInfo.from_exception(error).getrepr(style="value")
    path, line, _ = item.reportinfo()
    crash = alone.reprcrash
    if crash is not None:
        crash.path, crash.lineno = str(path), (line or 0) + 1
    return alone


def _annotate(finding: Finding, place: FileLine) -> tuple[str, int, int | None, str, str]:
    """Return what GitHub shows at a line: file, line, column, title and text."""
    where = ""
    if finding.source is not None and not place.is_own:
        where = f" at {describe_stack((finding.source,))}"
    return place.file, place.line, place.column, f"{finding.kind}{where}", str(finding)
