"""Blocks of code whose launches are observed, and what they report."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from cudakern.display.styled_text import Span, as_rich
from cudakern.errors import BindingError, DTypeError, SimulatorError, shown
from cudakern.simulator.launching import observation
from cudakern.simulator.launching.known_arrays import named
from cudakern.simulator.reports import json_report, notebook
from cudakern.simulator.reports.counting import add_launch
from cudakern.simulator.reports.findings import Finding, error_for, lines_of, merge_findings
from cudakern.simulator.reports.report import Report
from cudakern.simulator.reports.traffic import KernelTraffic
from cudakern.simulator.reports.wording import findings_of, notes_of
from cudakern.simulator.sources.source_texts import Sources, add_texts
from cudakern.values.validation import as_flag, as_integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from cudakern.simulator.launching.observation import Observed


class _Report(observation.Session):
    """A report that fills up launch by launch, and its outputs."""

    @property
    def report(self) -> Report:
        """What every output is made of."""
        raise NotImplementedError

    def json(self) -> str:
        """Return the report as JSON, for other tools, as ``report.schema.json`` says.

        That file is a JSON Schema and lies beside this module. Names stay as they are as long as
        its ``version`` does.
        """
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
        """Show the first findings, or the worst lines of the first kernels, in a notebook."""
        return notebook.render(self.report)


@dataclass(eq=False)
class CheckReport(_Report):
    """What `checked` found so far.

    Attributes
    ----------
    seed, resident_blocks, strict : int
        As given.
    arrays : dict of str to numpy.ndarray
        As given, by the names that findings have for them.
    findings : list of Finding
        In the order in which they were found. The same two lines of code are named once, with the
        most threads that any launch has.
    launches : int
        Launches that were checked.
    notes : list of str
        What was not checked to the end, once for each kernel and line; no findings.
    sources : dict of (str, str) to str
        The texts of the files that findings name, by library and file; empty if not known.

    Examples
    --------
    >>> import cudakern as ck
    >>> with ck.simulator.checked(seed=3) as report:
    ...     x = ck.gather([1, 2, 3], [0])
    >>> report.launches, report.findings
    (1, [])
    >>> print(report)
    nothing found in 1 launches
    """

    seed: int = 0
    resident_blocks: int = 4
    strict: bool = False
    findings: list[Finding] = field(default_factory=list)
    launches: int = 0
    notes: list[str] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    sources: Sources = field(default_factory=dict, repr=False)
    checks = True

    def add(self, observed: Observed) -> None:
        """Take note of a launch."""
        self.launches += 1
        found = findings_of(observed, self.sources)
        self.findings[:] = merge_findings((*self.findings, *found))
        self.notes += [note for note in notes_of(observed) if note not in self.notes]

    @property
    def report(self) -> Report:
        """What every output is made of."""
        return Report(
            self.seed,
            self.resident_blocks,
            self.strict,
            self.launches,
            merge_findings(self.findings),
            (*self.notes,),
            sources=self.sources,
        )

    def __str__(self) -> str:
        found = [*map(str, self.findings)] or [f"nothing found in {self.launches} launches"]
        return "\n".join((*found, *self.notes))

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Give rich the findings with colours and their lines of the source."""
        lines = lines_of(self.findings, self.notes, width=options.max_width)
        yield as_rich(lines if self.findings else [(Span(str(self)),)])


@dataclass(eq=False)
class TrafficReport(_Report):
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

    @property
    def report(self) -> Report:
        """What every output is made of."""
        return Report(kernels=(*self.kernels,), sources=self.sources)

    def add(self, observed: Observed) -> None:
        """Take note of a launch."""
        module = observed.kernel.module
        name, library = observed.kernel.name, module.path.name
        same = [k for k in self.kernels if (k.kernel, k.library) == (name, library)]
        if not same:
            same = [KernelTraffic(name, library)]
            self.kernels += same
        add_launch(same[0], observed)
        for stack in (*(line.stack for line in same[0].lines), [*same[0].executed]):
            add_texts(self.sources, library, module.ptx, stack)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.kernels)) or "no launches"


@contextmanager
def checked(
    seed: int = 0,
    resident_blocks: int = 4,
    strict: bool = False,  # noqa: FBT001, FBT002
    arrays: Sequence[np.ndarray] | Mapping[str, np.ndarray] = (),
) -> Iterator[CheckReport]:
    """Check every access of the kernels that the simulator runs inside of the block.

    Parameters
    ----------
    seed : int, optional
        Decides in which order threads and blocks run; the same seed, the same order.
    resident_blocks : int, optional
        Blocks that run side by side, or a cluster. When all of them wait for one that does not run
        yet, more do, up to as many as an H200 holds; an error of kind ``"launch"`` tells that these
        are too few. All blocks of a cooperative launch run side by side.
    strict : bool, optional
        Report what is right by PTX's rules and still often a mistake, too; see below.
    arrays : sequence of numpy.ndarray, or dict of str to numpy.ndarray, optional
        What kernels reach by addresses that are no arguments; see below. Findings call them by
        these names, or ``"arrays[0]"`` and so on.

    Yields
    ------
    CheckReport
        Whose ``findings`` fill up launch by launch. The kernel goes on after a finding, so one run
        can find several things; what is out of bounds or misaligned is not written, and reads as
        zeros.

    Raises
    ------
    SimulatorError
        At the end of the block, if anything was found: about the first, with all in ``findings``.
    EngineUnavailableError
        No NVRTC or no C++ compiler.
    KernelCompileError
        At a launch: the kernel does not compile, or has what the simulator does not execute.

    Notes
    -----
    Found are accesses outside of an array or variable in whatever memory, also by one byte,
    accesses that are not aligned as their type must be, uses of what nothing has written (shared
    and local memory, ``malloc``, outputs of the operators, arrays made by `empty`) or of what a
    shuffle took from a lane that is not there, races, barriers and warp collectives that not all
    reach, and launches that wait forever. To load such a value is no fault; that it decides a
    branch, is part of an address, goes into an atomic or is stored to global memory is.

    PTX's memory model says what a race is: two threads access the same bytes, one of them to write,
    and no barrier, ``__syncwarp``, or release that an acquire sees orders the two.
    Fences count. Only strong accesses, such as atomics, may meet unordered, if the scope of each
    has the other thread, but not volatile ones of a warp's lanes in shared memory. A relaxed atomic
    alone, which ``atomicAdd`` is, orders nothing. With ``strict``, volatile accesses that meet
    unordered, threads that write the same value unordered, and barriers at which threads are
    missing that have exited are findings, too, among others:
    ``cudakern/simulator/memory_model.md`` lists all.

    Kernels run on copies of the arrays, each between red zones and placed as in an allocation of a
    GPU; the contents are copied back. All launches of the process inside of the block are checked,
    whatever thread makes them, one after the other; those of a thread with such a block of its own
    are that one's.

    A kernel may find the address of an array in a structure that is passed by value, in an integer
    (``x.ctypes.data``), in a variable of up to 64 KiB, or in another array that it reaches: in any
    word there that is aligned to 8 bytes. Arrays that are arguments of the same launch are known,
    and so are those of `empty`; others must be in ``arrays``. What is behind any other address is
    out of bounds. A word that is the end of an array, and in none, counts as its address, too.

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
    report = CheckReport(seed, min(resident_blocks, 2**16), strict, arrays=named(name, arrays))
    try:
        with observation.observing(report):
            yield report
    except Exception as error:
        if report.findings and not isinstance(error, SimulatorError):
            raise error_for(report.findings) from error  # what went wrong first
        raise
    if report.findings:
        raise error_for(report.findings)


@contextmanager
def traffic(
    blocks: SupportsIndex | None = None,
    arrays: Sequence[np.ndarray] | Mapping[str, np.ndarray] = (),
) -> Iterator[TrafficReport]:
    """Count the memory traffic and instructions of kernels that the simulator runs in the block.

    Parameters
    ----------
    blocks : int, optional
        Run no more than so many blocks of each launch, spread evenly over the grid, and scale what
        they do to the whole grid. See below.
    arrays : sequence of numpy.ndarray, or dict of str to numpy.ndarray, optional
        What kernels reach by addresses that are no arguments, as of `checked`.

    Yields
    ------
    TrafficReport
        Whose ``kernels`` fill up launch by launch.

    Raises
    ------
    SimulatorError
        A launch did not come to its end; what it moved is not counted.
    EngineUnavailableError
        No NVRTC or no C++ compiler.
    KernelCompileError
        At a launch: the kernel does not compile, or has what the simulator does not execute.

    Notes
    -----
    The model knows no cache. The n-th access of a lane at an instruction, counted from the last
    barrier or warp collective, makes one request together with the n-th of the other lanes of its
    warp. A request to global memory moves the sectors of 32 bytes that it touches, each once; one
    to local memory, too, where each word of the 32 lanes lies side by side. A request to shared
    memory takes as many wavefronts as different words meet in one of its 32 banks, half a warp at a
    time for accesses of 8 bytes and a quarter for 16; one to constant memory, as many as addresses.
    Kernel parameters, and local variables that the compiler keeps in registers, count nothing.
    Arrays of raw kernels lie as in an allocation of a GPU, whose start is a multiple of 512 bytes;
    those of the operators start less than 16 bytes after such a multiple.

    An instruction is one of PTX; ``ptxas`` makes machine code of another length. A warp executes a
    basic block as often as the lane that does it most, whether or not predicates hold.

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
    >>> kernel.instructions["ld.global.u32"]
    1

    Of a large launch, a few blocks tell enough:

    >>> x, y = np.empty(2**25, np.int32), np.empty(2**25, np.int32)
    >>> with ck.simulator.traffic(blocks=4) as report:
    ...     shift((2**20,), (31,), (x, y))
    >>> (kernel,) = report.kernels
    >>> kernel.sampled, kernel.blocks, kernel.instructions["ld.global.u32"]
    (4, 1048576, 1048576)
    """
    sample = 0
    if blocks is not None:
        try:
            sample = as_integer("", "", blocks)
        except DTypeError:
            sample = 0
        if sample < 1:
            requirement = f"must be an integer of at least 1; got {shown(blocks)}"
            raise BindingError("simulator.traffic", "blocks", requirement)
    report = TrafficReport(sample=sample, arrays=named("simulator.traffic", arrays))
    with observation.observing(report):
        yield report
