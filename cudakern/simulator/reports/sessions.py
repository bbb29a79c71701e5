"""Blocks of code whose launches are observed, and their reports."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from cudakern.display.characters import format_count
from cudakern.display.styled_text import Span, as_rich
from cudakern.errors import BindingError, DTypeError, SimulatorError, describe_value
from cudakern.simulator.launching import observation
from cudakern.simulator.launching.known_arrays import name_arrays
from cudakern.simulator.reports import json_report, notebook
from cudakern.simulator.reports.counting import add_launch
from cudakern.simulator.reports.findings import (
    Finding,
    describe_origins,
    format_findings,
    merge_findings,
)
from cudakern.simulator.reports.report import Report
from cudakern.simulator.reports.traffic import KernelTraffic, format_kernels
from cudakern.simulator.reports.user_files import Origins
from cudakern.simulator.reports.wording import (
    StrictNotes,
    describe_findings,
    describe_unchecked,
)
from cudakern.simulator.sources.source_texts import Sources, add_texts
from cudakern.values.validation import as_flag, as_integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from cudakern.simulator.launching.observation import ObservedLaunch


class _LiveReport(observation.Session):
    """A report that fills up launch by launch, and its outputs."""

    @property
    def report(self) -> Report:
        raise NotImplementedError

    def json(self) -> str:
        """Return the report as JSON, as ``report.schema.json`` beside this module says."""
        return json_report.render(self.report)

    def html(self, path: str | PathLike[str]) -> None:
        """Write the report as a page, which a browser shows without a network.

        Parameters
        ----------
        path : str or path-like
            Path of the file, in a folder that exists.

        Raises
        ------
        DTypeError, BindingError
            No such file can be written.
        EngineUnavailableError
            jinja2 is not installed.
        """
        from cudakern.simulator.reports.html import page  # noqa: PLC0415  few ask for it

        page.write(page.render(self.report), path)

    def _repr_html_(self) -> str:
        return notebook.render(self.report)


@dataclass(eq=False)
class CheckReport(_LiveReport):
    """What `checked` found so far.

    Attributes
    ----------
    seed, resident_blocks, strict : int
        As given.
    arrays : dict of str to numpy.ndarray
        As given, by the names that findings have for them.
    findings : list of Finding
        In the order in which they were found. The same two lines of code are a finding once, with
        the most threads of any launch.
    launches : int
        Launches that were checked.
    notes : list of str
        What was not checked to the end, once for each kernel and line; how much more ``strict``
        would report of volatile accesses, and of barriers without threads that have exited.
    sources : dict of (str, str) to str
        The texts of the files that findings name, by library and file; empty if not known.

    Examples
    --------
    >>> import cudakern as ck
    >>> with ck.simulator.checked(seed=3) as report:
    ...     x = ck.gather([1, 2, 3], [0])
    >>> print(report)
    nothing found in 1 launch
    """

    seed: int = 0
    resident_blocks: int = 4
    strict: bool = False
    findings: list[Finding] = field(default_factory=list)
    launches: int = 0
    notes: list[str] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    sources: Sources = field(default_factory=dict, repr=False)
    _checked: Counter[str] = field(default_factory=Counter, repr=False)
    _unchecked: dict[str, None] = field(default_factory=dict, repr=False)
    _strict_notes: StrictNotes = field(default_factory=StrictNotes, repr=False)
    checks = True

    def __post_init__(self) -> None:
        """Begin without known origins."""
        self.origins = Origins(self.sources)

    def add(self, observed: ObservedLaunch) -> None:
        """Take note of a launch."""
        self.launches += 1
        self._checked[observed.kernel.name] += 1
        if found := describe_findings(observed, self.sources, self.origins):
            self.findings[:] = merge_findings((*self.findings, *found))
        place = observed, self.sources, self.origins
        self._unchecked.update(dict.fromkeys(describe_unchecked(*place)))
        self._strict_notes.add(*place)
        self.notes[:] = [*self._unchecked, *self._strict_notes]

    @property
    def report(self) -> Report:
        """What every output is made of."""
        options = self.seed, self.resident_blocks, self.strict
        findings, notes = merge_findings(self.findings), (*self.notes,)
        report = Report(*options, self.launches, findings, notes, sources=self.sources)
        return replace(report, checked=self._checked)

    def __str__(self) -> str:
        launches = format_count(self.launches, "launch", "es")
        found = [*map(str, self.findings)] or [f"nothing found in {launches}"]
        return "\n".join((*found, *self.notes))

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Give rich the findings with colours and their lines of the source."""
        lines = format_findings(self.findings, self.notes, width=options.max_width)
        yield as_rich(lines if self.findings else [(Span(str(self)),)])


@dataclass(eq=False)
class TrafficReport(_LiveReport):
    """What the launches inside of `traffic` moved.

    Attributes
    ----------
    kernels : list of KernelTraffic
        One for each kernel, in the order of their first launches.
    sample : int
        How many blocks of each launch run; 0 for all.
    arrays : dict of str to numpy.ndarray
        As given, by names.
    sources : dict of (str, str) to str
        The texts of the files that lines are of, by library and file; empty if not known.

    Examples
    --------
    >>> import cudakern as ck
    >>> with ck.simulator.traffic() as report:
    ...     x = ck.one_hot([1, 0], 4)
    >>> [kernel.launches for kernel in report.kernels]
    [1]
    """

    kernels: list[KernelTraffic] = field(default_factory=list)
    sample: int = 0
    arrays: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    sources: Sources = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Begin without known origins."""
        self.origins = Origins(self.sources)

    @property
    def report(self) -> Report:
        """What every output is made of."""
        return Report(kernels=(*self.kernels,), sources=self.sources)

    def add(self, observed: ObservedLaunch) -> None:
        """Take note of a launch."""
        module = observed.kernel.module
        name, library = observed.kernel.name, module.ptx.key
        known = (k for k in self.kernels if (k.kernel, k.library) == (name, library))
        kernel = next(known, None) or KernelTraffic(name, library)
        if not kernel.launches:
            self.kernels.append(kernel)
        add_launch(kernel, observed)
        for stack in (*(line.stack for line in kernel.lines), [*kernel.executed]):
            add_texts(self.sources, library, module.ptx, stack)
        for line in kernel.lines:
            line.origin = self.origins.find(library, line.source)

    def __str__(self) -> str:
        return format_kernels(self.kernels)


@contextmanager
def checked(
    seed: SupportsIndex = 0,
    resident_blocks: SupportsIndex = 4,
    strict: bool | np.bool_ = False,  # noqa: FBT001, FBT002
    arrays: Sequence[np.ndarray] | Mapping[str, np.ndarray] = (),
) -> Iterator[CheckReport]:
    """Check every access of the kernels that the simulator runs inside of the block.

    Parameters
    ----------
    seed : int, optional
        Decides the order in which threads and blocks run: the same seed, the same order.
    resident_blocks : int, optional
        How many blocks run side by side; a cluster always does. When all of them wait for a block
        that does not run yet, more start, up to as many as an H200 holds. If even these are too
        few, that is an error of kind ``"launch"``. All blocks of a cooperative launch run side by
        side.
    strict : bool, optional
        Also report what PTX's rules allow and is still often a mistake.
    arrays : sequence of numpy.ndarray, or dict of str to numpy.ndarray, optional
        Arrays that kernels reach by addresses which are not arguments; see below. Findings call
        them by these names, or ``"arrays[0]"`` and so on.

    Yields
    ------
    CheckReport
        Its ``findings`` fill up launch by launch. The kernel goes on after a finding, so one run
        can find several things. An access that is out of bounds or misaligned writes nothing, and
        reads zeros.

    Raises
    ------
    SimulatorError
        At the end of the block, if there are findings: it is about the first and has all of them.
    EngineUnavailableError
        No NVRTC or no C++ compiler.
    KernelCompileError
        At a launch: the kernel does not compile, or has what the simulator does not execute.

    Notes
    -----
    Findings are accesses outside of an array or variable in any memory, misaligned accesses, uses
    of undefined values, races, barriers and warp collectives that some threads do not reach, and
    launches that wait forever. ``cudakern/simulator/reference.md`` says what a use of an undefined
    value is; ``memory_model.md`` beside it, what a race is and what ``strict`` adds.

    Kernels run on copies of the arrays, each between red zones and placed as in an allocation of a
    GPU; the contents are copied back. All launches of the process inside of the block are checked,
    one after the other, whichever thread makes them; but a thread with such a block of its own has
    its launches checked there.

    A kernel may get the address of an array from a structure that is passed by value, an integer
    (``x.ctypes.data``), a variable of up to 64 KiB, or another array that it reaches: from any word
    there that is aligned to 8 bytes. The arguments of the launch and arrays of `empty` are known;
    other arrays must be in ``arrays``, or accesses to them are out of bounds. An address just
    behind an array, and in no other, counts as an address of that array.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = 'extern "C" __global__ void f(int* x, int* y) { y[threadIdx.x] = x[threadIdx.x+1]; }'
    >>> shift = ck.simulator.RawKernel(code, "f")
    >>> x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    >>> with ck.simulator.checked():
    ...     shift((1,), (32,), (x, y))
    Traceback (most recent call last):
    cudakern.errors.SimulatorError: f: out_of_bounds: f.cu:1: read of 4 bytes must lie ...
    """
    name = "simulator.checked"
    seed = as_integer(name, "seed", seed) % 2**64
    resident_blocks = as_integer(name, "resident_blocks", resident_blocks)
    if resident_blocks < 1:
        raise BindingError(name, "resident_blocks", f"must be at least 1; got {resident_blocks}")
    strict = as_flag(name, "strict", strict)
    resident_blocks = min(resident_blocks, 2**16)
    report = CheckReport(seed, resident_blocks, strict, arrays=name_arrays(name, arrays))
    try:
        with observation.observing(report):
            yield report
    except Exception as error:
        if report.findings and not isinstance(error, SimulatorError):
            raise _make_error(report.findings) from error  # what went wrong first
        raise
    if report.findings:
        raise _make_error(report.findings)


def _make_error(findings: Sequence[Finding]) -> SimulatorError:
    first, *others = findings
    rest = f"; and {format_count(len(others), 'more finding')}" if others else ""
    message = f"{first.kind}: {first.message}{rest}"
    place = first.block, first.thread
    error = SimulatorError(first.kind, first.kernel, *place, message, tuple(findings))
    for told in describe_origins([first]):
        error.add_note(told)
    return error


@contextmanager
def traffic(
    blocks: SupportsIndex | None = None,
    arrays: Sequence[np.ndarray] | Mapping[str, np.ndarray] = (),
) -> Iterator[TrafficReport]:
    """Count the memory traffic and instructions of kernels that the simulator runs in the block.

    Parameters
    ----------
    blocks : int, optional
        Run at most so many blocks of each launch, spread evenly over the grid, and scale their
        figures to the whole grid. See below.
    arrays : sequence of numpy.ndarray, or dict of str to numpy.ndarray, optional
        Arrays that kernels reach by addresses which are not arguments, as in `checked`.

    Yields
    ------
    TrafficReport
        Its ``kernels`` fill up launch by launch.

    Raises
    ------
    SimulatorError
        A launch did not come to its end; its traffic is not counted.
    EngineUnavailableError
        No NVRTC or no C++ compiler.
    KernelCompileError
        At a launch: the kernel does not compile, or has what the simulator does not execute.

    Notes
    -----
    The model has no cache. The n-th accesses of a warp's lanes at an instruction, counted from the
    last barrier or warp collective, are one request. A request to global memory moves the sectors
    of 32 bytes that it touches, each once. So does a request to local memory, where the words of
    the 32 lanes lie side by side. A request to shared memory takes as many wavefronts as different
    words meet in one of its 32 banks, for half a warp at a time with accesses of 8 bytes, for a
    quarter with 16. A request to constant memory takes as many as it has addresses. Kernel
    parameters, and local variables that the compiler keeps in registers, do not count. Arrays of
    raw kernels lie as in an allocation of a GPU, whose start is a multiple of 512 bytes; those of
    the operators start less than 16 bytes after such a multiple.

    Instructions are those of PTX; ``ptxas`` makes other machine code of them. A warp executes a
    basic block as often as the lane that executes it most, whether or not predicates hold.

    With ``blocks``, launches on arrays of any size are quick: only what those blocks access is
    touched, and nothing is written. Block i of n that run is number floor((i + 0.5) * count / n) of
    the grid, which has its true size for the kernel; of clusters, whole ones run. A block that
    waits for one that does not run ends the launch as a deadlock. Blocks that take their work from
    a common counter share it among those that run, which makes the scaled figures too large. Inside
    of `checked`, or of a `traffic` that wants more, more blocks run.

    Blocks run one after the other, side by side only where one waits for another. A launch counts
    in every report whose block it is in.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = 'extern "C" __global__ void f(int* x, int* y) { y[threadIdx.x] = x[threadIdx.x+1]; }'
    >>> shift = ck.simulator.RawKernel(code, "f")
    >>> x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    >>> with ck.simulator.traffic() as report:
    ...     shift((1,), (31,), (x, y))
    >>> (kernel,) = report.kernels
    >>> kernel.bytes_requested, kernel.stores.sectors_per_request
    (248, 4.0)
    >>> print(kernel.lines[0])
    f.cu:1  load  argument 0 (x)  1 request  4.00 sectors/request  97% efficiency

    A few blocks are enough to know a large launch:

    >>> x, y = np.empty(2**25, np.int32), np.empty(2**25, np.int32)
    >>> with ck.simulator.traffic(blocks=4) as report:
    ...     shift((2**20,), (31,), (x, y))
    >>> (kernel,) = report.kernels
    >>> kernel.sampled, kernel.blocks, kernel.instructions["ld.global.u32"]
    (4, 1048576, 1048576)
    """
    sample = 0
    if blocks is not None:
        with suppress(DTypeError):
            sample = as_integer("", "", blocks)
        if sample < 1:
            requirement = f"must be an integer of at least 1; got {describe_value(blocks)}"
            raise BindingError("simulator.traffic", "blocks", requirement)
    report = TrafficReport(sample=sample, arrays=name_arrays("simulator.traffic", arrays))
    with observation.observing(report):
        yield report
