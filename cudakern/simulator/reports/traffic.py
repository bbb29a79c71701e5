"""Memory traffic by kernel, source line and array."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from cudakern.display import notebook
from cudakern.display.characters import format_count
from cudakern.simulator.reports.user_files import describe_place
from cudakern.simulator.sources.source_lines import SourceLine
from cudakern.values.layout import SECTOR_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


#: How many lines a notebook shows of many, and the headings of their cells.
_MOST_LINES = 8
_HEADINGS = ("line", "access", "array")
_NUMBERS = ("requests", "a request", "bytes requested", "bytes moved", "efficiency")
#: The kinds of requests to global memory.
GLOBAL = ("load", "store", "atomic")
#: An efficiency below this is worth a look.
POOR = 0.5
_LANES = 32
#: Bytes that a wavefront moves: a word of each bank of shared memory.
_WAVEFRONT_BYTES = 128
_TOGETHER = "let neighbouring threads take neighbouring elements"
#: Elements of at most so many bytes, of which a thread wants a part, are structures.
_STRUCTURE_BYTES = 64


def label_array(array: int | str | None, name: str) -> str:
    """Return what reports call an array: its name, or else the argument that it is."""
    return name or (f"argument {array}" if isinstance(array, int) else array or "")


@dataclass
class Requests:
    """Requests of warps to memory, as instructions make them: a cache changes no figure.

    Attributes
    ----------
    requests : int
        Warp-wide instructions.
    accesses : int
        Accesses of single threads.
    bytes_requested : int
        What the threads asked for.
    sectors : int
        Sectors of 32 bytes, of global and of local memory. Local memory is interleaved: 32 lanes
        that access the same 4 bytes of an array of their own take 4 sectors.
    wavefronts : int
        Passes through shared memory; in constant memory, different addresses of a request.

    Examples
    --------
    >>> import cudakern as ck
    >>> requests = ck.simulator.Requests(requests=2, accesses=64, bytes_requested=256, sectors=16)
    >>> requests.bytes_moved, requests.sectors_per_request
    (512, 8.0)
    >>> requests.efficiency
    0.5
    """

    requests: int = 0
    accesses: int = 0
    bytes_requested: int = 0
    sectors: int = 0
    wavefronts: int = 0

    @property
    def bytes_moved(self) -> int:
        """Bytes of the sectors."""
        return self.sectors * SECTOR_BYTES

    @property
    def efficiency(self) -> float:
        """Bytes requested over bytes moved, at most 1; NaN if none moved.

        0.125 for lanes that access 4 bytes of a sector each; 1 for a broadcast.
        """
        return min(1.0, self.bytes_requested / self.bytes_moved) if self.sectors else float("nan")

    @property
    def is_broadcast(self) -> bool:
        """Whether threads ask for more bytes than move, since several read the same ones."""
        return self.bytes_requested > self.bytes_moved > 0

    @property
    def sectors_per_request(self) -> float:
        """4 for 32 lanes that access 4 neighbouring bytes each; NaN without requests."""
        return self.sectors / self.requests if self.requests else float("nan")

    @property
    def wavefronts_per_request(self) -> float:
        """1 without bank conflicts for accesses of 4 bytes; NaN without requests."""
        return self.wavefronts / self.requests if self.requests else float("nan")

    def include(self, other: Requests) -> None:
        """Add other requests to these."""
        for figure in fields(Requests):
            total = getattr(self, figure.name) + getattr(other, figure.name)
            setattr(self, figure.name, total)


@dataclass
class LineTraffic(Requests):
    """The requests of one kind at one source line to one array.

    Attributes
    ----------
    kind : str
        ``"load"``, ``"store"`` or ``"atomic"`` in global memory; ``"shared load"`` and so on;
        ``"local load"``, ``"local store"``; ``"constant load"``.
    source : (str, int) or None
        File and line of the access, as in `Finding`.
    stack : tuple of (str, int)
        The source, then the lines that called its inlined functions, as in `Finding`.
    array : int, str or None
        Position among the kernel's arguments, or the name of an operator's tensor, of one of the
        ``arrays`` of `traffic`, of a shared array or of a global variable; None for local memory
        and for what malloc gave. A request counts for the array that its first lane accesses; of
        arguments that overlap, for the first one.
    name : str
        What the kernel's text calls the array; empty if that is not known.
    returns : bool
        Whether something uses the result of an atomic. If not, a GPU has a cheaper instruction.
    origin : (str, int) or None
        File and line of the user's own that ``source`` is, as in `Finding`.
    neighbours : int
        Pairs of neighbouring lanes that access it together.
    strides : dict of int to int
        Bytes from the access of such a lane to that of the next one, and how many pairs at least
        are so far apart; only of distances that more than half of an instruction's pairs have.

    Examples
    --------
    >>> import cudakern as ck
    >>> with ck.simulator.traffic() as report:
    ...     x = ck.one_hot([1, 0], 4)
    >>> [line.array for line in report.kernels[0].lines if line.kind in {"load", "store"}]
    ['indices', 'out']
    """

    kind: str = ""
    source: SourceLine | None = None
    stack: tuple[SourceLine, ...] = ()
    array: int | str | None = None
    name: str = ""
    returns: bool = True
    origin: SourceLine | None = None
    neighbours: int = 0
    strides: dict[int, int] = field(default_factory=dict)

    @property
    def distance(self) -> int | None:
        """How many bytes neighbouring threads are apart; None if there is no one answer.

        Of several instructions of the line, that of the one with the largest distance.
        """
        is_known = 2 * sum(self.strides.values()) > self.neighbours
        return max(map(abs, self.strides), default=None) if is_known else None

    @property
    def advice(self) -> str:
        """What to change if less than half of what moves was asked for; otherwise empty."""
        return _advise(self)

    def include(self, other: Requests) -> None:
        """Add other requests to these."""
        super().include(other)
        if isinstance(other, LineTraffic):
            self.neighbours += other.neighbours
            self.strides = dict(Counter(self.strides) + Counter(other.strides))

    @property
    def place(self) -> str:
        """Where that is, in words."""
        return describe_place(self.source, self.origin, self.stack[:2])

    def _cells(self) -> tuple[str, ...]:
        """Return the line as texts: place, kind, array, requests, rate, efficiency."""
        array = label_array(self.array, "")
        if isinstance(self.array, int) and self.name:
            array += f" ({self.name})"
        rate = f"{self.sectors_per_request:.2f} sectors/request"
        if self.kind.startswith(("shared", "constant")):
            rate = f"{self.wavefronts_per_request:.2f} wavefronts/request"
        efficiency = f"{self.efficiency:.0%} efficiency" if self.sectors else ""
        efficiency = describe_sharing(self) if self.is_broadcast else efficiency
        requests = format_count(self.requests, "request")
        return self.place, self.kind, array, requests, rate, efficiency

    def __str__(self) -> str:
        return "  ".join(cell.strip() for cell in self._cells())


def describe_sharing(requests: Requests) -> str:
    """Return what it is called that threads access the same bytes together."""
    is_read = getattr(requests, "kind", "load").endswith("load")
    return "broadcast" if is_read else "same bytes"


def _advise(line: LineTraffic) -> str:
    """Return what to change at a line whose efficiency is poor; otherwise nothing."""
    if not line.requests:
        return ""
    asked = line.bytes_requested / line.requests
    if line.kind.startswith("constant"):
        many = line.wavefronts_per_request > 1 / POOR
        return "threads of a warp read different addresses: global memory serves those" * many
    if line.kind.startswith("shared"):
        is_poor = line.wavefronts_per_request * POOR > max(1, asked / _WAVEFRONT_BYTES)
        return _describe_conflict(line) * is_poor
    if not line.efficiency < POOR:
        return ""
    if line.kind.startswith("local"):
        return "threads of a warp use different indices: let all use the same one at a time"
    return _describe_gaps(line, line.sectors_per_request - asked / SECTOR_BYTES)


def _describe_conflict(line: LineTraffic) -> str:
    distance = line.distance
    if distance and distance % _WAVEFRONT_BYTES == 0:
        return (
            f"neighbouring threads are {distance} bytes apart, in one bank: pad rows by an element"
        )
    apart = f"neighbouring threads are {distance} bytes apart" if distance else "threads scatter"
    return f"{apart}, and several share a bank: let neighbouring threads take neighbouring words"


def _describe_gaps(line: LineTraffic, excess: float) -> str:
    """Return why a line's requests move more sectors than what they ask for fills."""
    lanes, width = line.accesses / line.requests, line.bytes_requested / line.accesses
    if excess < 1 or not line.neighbours:
        some = f"requests are of {lanes:.3g} of {_LANES} threads"
        return f"{some}: let neighbouring threads ask together, unless this is rare"
    distance = line.distance
    if distance is None:
        return "neighbouring threads are at scattered places: sort or group what they access"
    if distance > width:
        apart = f"neighbouring threads are {distance} bytes apart: {_TOGETHER}"
        is_small = distance <= _STRUCTURE_BYTES
        return f"{apart}, or keep each member of a structure in an array" if is_small else apart
    runs = line.requests + line.neighbours - sum(line.strides.values())
    return f"only {line.accesses / runs:.3g} neighbouring threads are side by side: {_TOGETHER}"


def _total(kind: str, description: str) -> Any:  # noqa: ANN401  a property of type Requests
    """Return a property of a kernel's traffic: the sum over lines of a kind."""
    return property(lambda traffic: traffic.total(kind), doc=description)


@dataclass
class KernelTraffic:
    """What all launches of a kernel moved.

    Attributes
    ----------
    kernel, library : str
        Its name, and the module that has it: kernels of the same name can differ.
    launches : int
        How often it ran.
    lines : list of LineTraffic
        Its traffic by source line, kind and array, in the order of first requests.
    instructions : dict of str to int
        PTX instructions that warps executed, by name with all modifiers.
    executed : dict of (str, int) to int
        PTX instructions that warps executed, by file and line of the user's own.
    types : tuple of str
        The dtypes of the arrays among its arguments, in the first launch.
    blocks, sampled : int
        Blocks of all launches; and those that ran, whose figures are scaled to all.

    Examples
    --------
    >>> import cudakern as ck
    >>> with ck.simulator.traffic() as report:
    ...     x = ck.one_hot([1, 0], 4)
    >>> (kernel,) = report.kernels
    >>> kernel.loads.bytes_moved, kernel.stores.bytes_requested
    (32, 32)
    """

    kernel: str
    library: str = ""
    launches: int = 0
    lines: list[LineTraffic] = field(default_factory=list)
    instructions: dict[str, int] = field(default_factory=dict)
    blocks: int = 0
    sampled: int = 0
    executed: dict[SourceLine, int] = field(default_factory=dict)
    types: tuple[str, ...] = ()

    def total(self, *kinds: str) -> Requests:
        """Return the sum over lines of these kinds."""
        return add_up(line for line in self.lines if line.kind in kinds)

    loads = _total("load", "Reads of global memory.")
    stores = _total("store", "Writes of global memory.")
    atomics = _total("atomic", "Atomic updates of global memory.")
    shared_loads = _total("shared load", "Reads of shared memory.")
    shared_stores = _total("shared store", "Writes of shared memory.")
    shared_atomics = _total("shared atomic", "Atomic updates of shared memory.")
    local_loads = _total("local load", "Reads of a thread's own arrays that registers cannot hold.")
    local_stores = _total("local store", "Writes of them, not of registers that ``ptxas`` spills.")
    constant_loads = _total("constant load", "Reads of ``__constant__`` variables.")

    @property
    def instruction_count(self) -> int:
        """PTX instructions that warps executed."""
        return sum(self.instructions.values())

    @property
    def sectors(self) -> int:
        """Sectors of global memory, of loads, stores and atomics together; not of local memory."""
        return self.total(*GLOBAL).sectors

    @property
    def bytes_requested(self) -> int:
        """Bytes of global memory that threads asked for."""
        return self.total(*GLOBAL).bytes_requested

    @property
    def bytes_moved(self) -> int:
        """Bytes of global memory that had to move."""
        return self.sectors * SECTOR_BYTES

    def __str__(self) -> str:
        launches = format_count(self.launches, "launch", "es")
        head = f"{self.kernel}: {launches}, {format_count(self.bytes_requested, 'byte')} requested"
        head += f", {format_count(self.bytes_moved, 'byte')} moved"
        if self.sampled != self.blocks:
            head += f", by {self.sampled:,} of {format_count(self.blocks, 'block')}"
        return "\n".join((head, *_align(self.lines)))

    def _repr_html_(self) -> str:
        every = self.total(*GLOBAL)
        ran = f", of which {self.sampled:,} ran" if self.sampled != self.blocks else ""
        share = f", {every.efficiency:.0%} efficiency" if every.sectors else ""
        launches = format_count(self.launches, "launch", "es")
        title = f"{self.kernel}: {launches} of {format_count(self.blocks, 'block')}{ran}; "
        title += f"{every.bytes_requested:,} bytes requested, {every.bytes_moved:,} moved{share}"
        lines = self.worst()[:_MOST_LINES]
        headings = (*_HEADINGS, *map(notebook.Number, _NUMBERS))
        texts = map(_format_row, lines)
        rows = [(*words, *map(notebook.Number, figures)) for words, figures in texts]
        table = notebook.render_table(headings, rows) if rows else ""
        rest = notebook.say_left_out((len(self.lines) - len(lines), "line"))
        return notebook.render_box(title, table, more=rest)

    def worst(self) -> list[LineTraffic]:
        """Return the lines; those that move the most bytes for nothing come first."""
        return sorted(self.lines, key=count_unwanted, reverse=True)

    @property
    def metrics(self) -> dict[str, int]:
        """The totals by their names in ``ncu --metrics``, which prints them with ``.sum``."""
        atomics = [line for line in self.lines if line.kind == "atomic"]
        operations = {
            "global_op_ld": self.loads,
            "global_op_st": self.stores,
            "global_op_atom": add_up(line for line in atomics if line.returns),
            "global_op_red": add_up(line for line in atomics if not line.returns),
            "local_op_ld": self.local_loads,
            "local_op_st": self.local_stores,
        }
        found = {}
        for operation, requests in operations.items():
            found[f"l1tex__t_requests_pipe_lsu_mem_{operation}"] = requests.requests
            found[f"l1tex__t_sectors_pipe_lsu_mem_{operation}"] = requests.sectors
            found[f"smsp__sass_data_bytes_mem_{operation}"] = requests.bytes_requested
        wavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op"
        found[f"{wavefronts}_ld"] = self.shared_loads.wavefronts
        found[f"{wavefronts}_st"] = self.shared_stores.wavefronts
        found[f"{wavefronts}_atom"] = self.shared_atomics.wavefronts
        return found


def tell_apart(kernels: Iterable[KernelTraffic]) -> list[KernelTraffic]:
    """Return kernels with names that differ: those of one name have their arrays' types in it."""
    listed = [*kernels]
    counts = Counter(kernel.kernel for kernel in listed)
    names = [
        f"{k.kernel}({', '.join(k.types)})" if counts[k.kernel] > 1 else k.kernel for k in listed
    ]
    counts, seen = Counter(names), Counter[str]()
    for i, name in enumerate(names):
        seen[name] += 1
        ending = f" #{seen[name]}" if counts[name] > 1 else ""
        listed[i] = replace(listed[i], kernel=f"{name}{ending}")
    return listed


def format_kernels(kernels: Iterable[KernelTraffic]) -> str:
    """Return the traffic of kernels as a terminal shows it."""
    return "\n\n".join(map(str, tell_apart(kernels))) or "no launches"


def count_unwanted(requests: Requests) -> int:
    """Return how many bytes move for nothing; a number below 0 where lanes share bytes."""
    return requests.bytes_moved - requests.bytes_requested


def add_up(every: Iterable[Requests]) -> Requests:
    """Return the sum of requests."""
    result = Requests()
    for requests in every:
        result.include(requests)
    return result


def _format_row(line: LineTraffic) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words and the figures of a line in a notebook."""
    rate = f"{line.wavefronts_per_request:.2f} wavefronts"
    if line.sectors:
        rate = f"{line.sectors_per_request:.2f} sectors"
    efficiency = describe_sharing(line) if line.is_broadcast else f"{line.efficiency:.0%}"
    moved = (f"{line.bytes_moved:,}", efficiency) if line.sectors else ("", "")
    figures = f"{line.requests:,}", rate, f"{line.bytes_requested:,}", *moved
    return (line.place, line.kind, label_array(line.array, line.name)), figures


def _align(lines: list[LineTraffic]) -> Iterator[str]:
    """Yield lines whose cells stand in columns."""
    rows = [line._cells() for line in lines]  # noqa: SLF001  of this module
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for line, row in zip(lines, rows, strict=True):
        cells = zip(row, widths, "<<<>>>", strict=True)
        yield "  " + "  ".join(f"{cell:{side}{width}}" for cell, width, side in cells).rstrip()
        if line.advice:
            yield f"    {line.advice}"
