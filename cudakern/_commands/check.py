"""Run a Python script, and check all that it launches in the simulator.

The script runs in a child process of its own, once for each seed. The child writes each finding
down at once, so the script may end in any way.
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import runpy
import signal
import sys
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING
from zipfile import is_zipfile

from cudakern import simulator
from cudakern._commands import console
from cudakern._commands.statuses import SIGNALLED, SIGNALS, USAGE
from cudakern.display.characters import format_count
from cudakern.display.styled_text import as_text
from cudakern.errors import CudakernError, KernelCompileError, SimulatorError, is_inside
from cudakern.simulator.cupy_stand_in.absent import listeners
from cudakern.simulator.launching.observation import makers, observing, watchers
from cudakern.simulator.reports import json_report
from cudakern.simulator.reports.compiler_errors import excerpt_error
from cudakern.simulator.reports.findings import format_findings, identify
from cudakern.simulator.reports.html import page
from cudakern.simulator.reports.report import Report
from cudakern.simulator.reports.sessions import CheckReport, TrafficReport
from cudakern.simulator.reports.traffic import format_kernels
from cudakern.simulator.reports.user_files import is_foreign, read_file, shorten

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import FrameType, TracebackType

    from cudakern.simulator.launching.observation import ObservedLaunch
    from cudakern.simulator.reports.findings import Finding
    from cudakern.simulator.sources.source_lines import SourceLine
    from cudakern.simulator.sources.source_texts import Sources

#: The status of a script that Ctrl-C ends.
_INTERRUPTED = SIGNALLED + signal.SIGINT
_OURS = (__file__, runpy.__file__, "<frozen runpy>")
_NOT_PYTHON = {
    ".ipynb": "a notebook: `jupyter nbconvert --to script` makes a script of it",
    ".cu": "CUDA C++: check what launches it",
    ".cuh": "CUDA C++: check what launches it",
    ".ptx": "PTX: check what launches it",
}


@dataclass
class _Run:
    """The results of the script with one seed."""

    checks: Report
    status: int = 0  # the script's own
    signal: int = 0  # that ended it
    traffic: Report | None = None
    made: bool = False  # whether it made a kernel


def run(options: argparse.Namespace) -> int:
    """Run a script once for each seed, print the findings, and return the exit status."""
    refusal = _refuse(options)
    if refusal:
        sys.stderr.write(f"cudakern check: {refusal}\n")
        return USAGE
    if options.html:
        page.find_template()  # an error before the script runs
    runs = _run_seeds(options)
    checks = Report.of_runs([run.checks for run in runs], options.seeds, options.script)
    traffic = runs[0].traffic
    _show(checks)
    if options.traffic:
        console.show(f"{_describe_traffic(traffic)}\n")
    _show_refused(checks)
    _write_files(options, checks, traffic and replace(traffic, script=options.script))
    return _conclude(options, checks, runs)


def _run_seeds(options: argparse.Namespace) -> list[_Run]:
    """Run the script with one seed after the other, until a signal ends it."""
    runs: list[_Run] = []
    for seed in options.seeds:
        if len(options.seeds) > 1:
            sys.stderr.write(f"cudakern: seed {seed}\n")
        runs.append(_run(options, seed))
        if runs[-1].signal:
            break
    return runs


def _show(checks: Report) -> None:
    """Print findings and notes."""
    for seeds, findings in _group_by_seeds(checks.findings).items():
        if seeds:
            console.show(f"with seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}:\n")
        console.show_lines(format_findings(findings))
        console.show("")
    if checks.notes:
        console.show_lines(format_findings((), checks.notes))
        console.show("")


def _show_refused(checks: Report) -> None:
    """Print the names that the script went on without."""
    if checks.refused:
        console.show("in_place_of_cupy has none of these names; the script went on without them:")
        for name, (file, line) in checks.refused:
            console.show(f"  {shorten(file)}:{line}  {name}")
        console.show("")


def _describe_traffic(report: Report | None) -> str:
    if report is None or report.kernels is None:
        return "the script ended before its traffic was known"
    return format_kernels(report.kernels)


def _group_by_seeds(findings: Sequence[Finding]) -> dict[tuple[int, ...], list[Finding]]:
    groups: dict[tuple[int, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.seeds, []).append(finding)
    return groups


def _write_files(options: argparse.Namespace, checks: Report, traffic: Report | None) -> None:
    """Write JSON and a page; those of the traffic beside those of the findings."""
    for report, more in ((checks, ""), (traffic, "-traffic")):
        if report is not None and options.json:
            text = f"{json_report.render(report)}\n"
            _extend_stem(options.json, more).write_text(text, encoding="utf-8")
        if report is not None and options.html:
            page.write(page.render(report), _extend_stem(options.html, more))


def _extend_stem(name: str, more: str) -> Path:
    return Path(name).with_stem(Path(name).stem + more)


def _conclude(options: argparse.Namespace, checks: Report, runs: Sequence[_Run]) -> int:
    """Say in a line how it went; return the exit status."""
    status = next((run.status for run in runs if run.status), 0)
    ended_by = runs[-1].signal
    if ended_by:
        sys.stderr.write(f"cudakern: {signal.Signals(ended_by).name} ended the script\n")
    elif status:
        sys.stderr.write(f"cudakern: the script ended with status {status}\n")
    number, launches = len(checks.findings), checks.launches
    least = min(run.checks.launches for run in runs)
    made = any(run.made for run in runs)
    if number or launches:
        found = format_count(number, "finding") if number else "nothing found"
        most = "" if launches == least else "at most "
        of = f" in {most}{format_count(launches, 'launch', 'es')}" if launches else ""
        many = len(checks.seeds) if launches else 0
        of += f" with each of {many} seeds" if many > 1 else ""
        console.show(f"cudakern: {found}{of}")
    else:
        what = "RawKernel of cudakern.simulator and operators on NumPy arrays run there"
        what += ", and with --cupy kernels of CuPy"
        if options.cupy:
            what = "CuPy's RawKernel, ElementwiseKernel and ReductionKernel run there"
        message = "nothing was launched in the simulator, so nothing was checked"
        if made:
            message += ", though the script has made a kernel"
        sys.stderr.write(f"cudakern: {message}; {what}\n")
    if ended_by:
        return SIGNALLED + ended_by
    if number or (made and not (launches or status)):
        return 1
    return status


def _refuse(options: argparse.Namespace) -> str:
    """Return why nothing can run; nothing if it can."""
    if options.html and options.html == options.json:
        return f"--html and --json must be two files; got {options.html!r} for both"
    for option, name in (("--html", options.html), ("--json", options.json)):
        if name and (not os.access(Path(name).absolute().parent, os.W_OK) or Path(name).is_dir()):
            return f"{option} must be a file that can be written; got {name!r}"
    if options.module:
        known = find_spec(options.script.partition(".")[0]) is not None
        return "" if known else f"-m needs the name of a module; there is no {options.script!r}"
    path = Path(options.script)
    what = _NOT_PYTHON.get(path.suffix, "")
    if options.script == "-":
        what = "standard input"
    elif not path.exists():
        what = "no file"
    elif path.is_dir() and not (path / "__main__.py").exists():
        what = "a folder without __main__.py"
    elif not os.access(path, os.R_OK):
        what = "a file that cannot be read"
    return f"FILE must be a Python script; {options.script!r} is {what}" if what else ""


def _run(options: argparse.Namespace, seed: int) -> _Run:
    """Run the script in a child process; return its results."""
    sys.stdout.flush()
    sys.stderr.flush()
    log = os.memfd_create("cudakern")
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    # A child's status is lost where this one is ignored, as it may be from the start.
    of_children = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, of_children)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        sys.exit(_run_script(options, seed, log))
    status = os.waitstatus_to_exitcode(_await(child, blocked))
    result = _Run(Report(seed, strict=options.strict), status)
    if status in {_INTERRUPTED, -signal.SIGINT}:
        result.signal = signal.SIGINT
    elif status < 0:
        result.signal = -status
    with os.fdopen(log, "rb") as file:
        file.seek(0)
        _read(result, file)
    return result


def _await(child: int, blocked: set[int | signal.Signals]) -> int:
    """Wait for a child, and send it the signals that come; return its status."""

    def hand_on(number: int, _frame: FrameType | None) -> None:
        # A keyboard interrupts the child as well.
        if number != signal.SIGINT or not _has_terminal():
            os.kill(child, number)

    handlers = {number: signal.signal(number, hand_on) for number in SIGNALS}
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    try:
        return os.waitpid(child, 0)[1]
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _has_terminal() -> bool:
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


class _Recorder(CheckReport):
    """Writes down at once what the child finds."""

    unknown_memory = True  # a command line cannot give arrays

    def __init__(self, log: int, seed: int, *, strict: bool) -> None:
        super().__init__(seed, strict=strict)
        self._log = log  # the descriptor of a file
        #: With how many threads each finding was written.
        self._threads: dict[tuple[object, ...], int] = {}
        self._refused: dict[tuple[str, str, int], None] = {}

    def add(self, observed: ObservedLaunch) -> None:
        notes, sources = len(self.notes), len(self.sources)
        super().add(observed)
        new = Report(
            findings=(*self.findings,),
            notes=(*self.notes[notes:],),
            sources=dict([*self.sources.items()][sources:]),
        )
        self.findings.clear()
        self.write(new, kernel=observed.kernel.name)

    def count(self) -> None:
        """Count a launch, perhaps one that a `checked` in the script observes."""
        self.write(Report(launches=1))

    def make(self) -> None:
        """Take note that the script makes a kernel."""
        makers.remove(self.make)
        self.write(Report(), made=True)

    def refuse(self, name: str, file: str, line: int) -> None:
        """Take note of a name of CuPy that the script asked for in vain."""
        is_of_others = is_foreign(file) and "cupy" not in read_file(file)  # as of debuggers
        if (name, file, line) not in self._refused and not is_of_others:
            self._refused[name, file, line] = None
            self.write(Report(refused=((name, (file, line)),)))

    def end(self, error: BaseException | None) -> None:
        """Take note of the name, if any, whose lack has ended the script."""
        while error is not None:
            for name in {name for name, *_ in self._refused if f"no {name};" in str(error)}:
                self.write(Report(), ended_by=name)
            error = error.__cause__ or error.__context__

    def write(self, report: Report, traffic: Report | None = None, **more: object) -> None:
        """Write down what is new; repeated findings would fill the disk."""
        new = []
        for finding in report.findings:
            if finding.threads > self._threads.get(identify(finding), 0):
                self._threads[identify(finding)] = finding.threads
                new.append(finding)
        # Without the names of a report's fields: a script may launch very often.
        listed = (*new,), report.notes, report.sources, report.refused
        record = pickle.dumps((report.launches, *listed, traffic, more))
        # In one write: processes that the script forks share the position in the file.
        os.write(self._log, record)


def _read(result: _Run, log: IO[bytes]) -> None:
    """Read what a child has written down, and join it once: a script may launch very often."""
    count, found, remarks = 0, [], []
    refused: dict[tuple[str, SourceLine], None] = {}
    checked: Counter[str] = Counter()
    texts: Sources = {}
    with suppress(EOFError, pickle.UnpicklingError):  # the end, or that of the child amid a record
        while True:
            launches, findings, notes, sources, names, traffic, more = pickle.load(log)  # noqa: S301
            count += launches
            found += findings
            remarks += notes
            texts |= sources
            refused |= dict.fromkeys(names)
            checked.update([more["kernel"]] if "kernel" in more else [])
            result.made |= "made" in more
            result.traffic = traffic or result.traffic
            refused = {key: None for key in refused if key[0] != more.get("ended_by")}
    new = Report(
        launches=count,
        findings=(*found,),
        notes=(*remarks,),
        sources=texts,
        checked=checked,
        refused=(*refused,),
    )
    result.checks = result.checks.join(new)


def _run_script(options: argparse.Namespace, seed: int, log: int) -> int:
    """Run the script as Python does; return its exit status. Its threads may go on after that."""
    recorder = _Recorder(log, seed, strict=options.strict)
    stack = ExitStack()
    stack.enter_context(observing(recorder))
    watchers.append(recorder.count)
    makers.append(recorder.make)
    listeners.append(recorder.refuse)
    if options.traffic:
        traffic = TrafficReport()
        stack.enter_context(observing(traffic))
        stack.callback(_hand_over, recorder, traffic, os.getpid())
    if options.cupy:
        stack.enter_context(simulator.in_place_of_cupy())
    atexit.register(stack.close)  # runs last, after the script's threads and exit functions
    sys.argv = [options.script, *options.arguments]
    try:
        if options.module:
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        elif Path(options.script).is_dir() or is_zipfile(options.script):
            runpy.run_path(options.script, run_name="__main__")
        else:
            _run_file(Path(options.script))
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  whatever ends the script
        recorder.end(error)
        traceback = _cut_traceback(error)
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        if isinstance(error, KernelCompileError):
            excerpt = as_text(excerpt_error(error))
            sys.stderr.write(f"{excerpt}\n" if excerpt else "")
        elif isinstance(error, SimulatorError):
            recorder.write(Report(findings=error.findings))  # of a `checked` in the script
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _run_file(path: Path) -> None:
    """Run a file as the main module, and leave that there: runpy removes it and names another."""
    name = str(path.absolute())
    with io.open_code(name) as file:
        code = compile(file.read(), name, "exec", dont_inherit=True)
    if not sys.flags.safe_path:
        sys.path[0] = str(path.resolve().parent)
    main = ModuleType("__main__")
    main.__file__, main.__loader__ = name, SourceFileLoader("__main__", name)
    sys.modules["__main__"] = main
    exec(code, vars(main))  # noqa: S102  what was asked for


def _hand_over(recorder: _Recorder, traffic: TrafficReport, process: int) -> None:
    if os.getpid() == process:  # not a process that it forked
        recorder.write(Report(), traffic.report)


def _cut_traceback(error: BaseException) -> TracebackType | None:
    """Return a traceback from the script on; an error of this package ends where it is called."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename in _OURS:
        traceback = traceback.tb_next
    part, last = traceback, None
    while part is not None:
        last = last if is_inside(part.tb_frame) else part
        part = part.tb_next
    if last is not None and isinstance(error, CudakernError):
        last.tb_next = None
    return traceback
