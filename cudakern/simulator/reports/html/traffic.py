"""What a page of traffic shows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from cudakern.display.characters import format_count
from cudakern.simulator.reports.html.parts import (
    NO_NUMBER,
    Cell,
    Listing,
    ListingLine,
    Listings,
    Table,
    format_efficiency,
    format_number,
)
from cudakern.simulator.reports.traffic import (
    GLOBAL,
    Requests,
    add_up,
    count_unwanted,
    label_array,
    tell_apart,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cudakern.simulator.reports.report import Report
    from cudakern.simulator.reports.traffic import KernelTraffic, LineTraffic

#: Most sectors, and most wavefronts, of a request of 32 lanes.
_LANES = 32


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A line of a source, and a row of cells for each way in which it accesses memory."""

    number: int
    text: str
    accesses: list[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class MeasuredSource:
    """A source with the figures of its lines."""

    listing: Listing
    runs: list[list[SourceRow]]  # of a line with figures, or of neighbours without any
    bytes: int  # that its lines move and ask for


#: Headings of figures, behind those that say what they are of.
_FIGURES = (
    "requests ",
    "sectors/request ",
    "bytes requested ",
    "bytes moved ",
    "efficiency ",
    "wavefronts ",
)


def _find_longest(every: Collection[Requests]) -> Requests:
    """Return the figures of the longest bars; bytes moved and requested have the same scale."""
    return Requests(
        requests=max((r.requests for r in every), default=0),
        bytes_requested=max((max(r.bytes_moved, r.bytes_requested) for r in every), default=0),
        wavefronts=max((r.wavefronts for r in every), default=0),
    )


def _format_figures(r: Requests, most: Requests) -> tuple[Cell, ...]:
    return (
        format_number(r.requests, most.requests),
        format_number(r.sectors_per_request, _LANES, digits=2) if r.sectors else NO_NUMBER,
        format_number(r.bytes_requested, most.bytes_requested),
        format_number(r.bytes_moved, most.bytes_requested) if r.sectors else NO_NUMBER,
        format_efficiency(r),
        format_number(r.wavefronts, most.wavefronts) if r.wavefronts else NO_NUMBER,
    )


def build_view(report: Report) -> dict[str, Any]:
    """Return what the page of a report of traffic shows."""
    listings = Listings(report.sources)
    kernels = tell_apart(report.kernels or ())
    placed = [
        (kernel, line, listings.find(kernel.library, line.stack, kernel.kernel))
        for kernel in kernels
        for line in kernel.lines
    ]
    placed.sort(key=lambda each: count_unwanted(each[1]), reverse=True)
    every = add_up(kernel.total(*GLOBAL) for kernel in kernels)
    for kernel in kernels:
        for place in kernel.executed:
            listings.find(kernel.library, [place], kernel.kernel)
    tables = [_tabulate_kernels(kernels), _tabulate_lines(placed), _tabulate_arrays(kernels)]
    title = f"Memory traffic of {format_count(len(kernels), 'kernel')}"
    return {
        "title": title if kernels else "No launches",
        "facts": {
            **({"script": report.script} if report.script else {}),
            "launches": f"{sum(kernel.launches for kernel in kernels):,}",
            "bytes requested": _in_units(every.bytes_requested),
            "bytes moved": _in_units(every.bytes_moved),
            "efficiency": format_efficiency(every, is_total=True).text,
            "instructions of warps": f"{sum(kernel.instruction_count for kernel in kernels):,}",
        },
        "tables": tables if kernels else [],
        "details": [_describe_kernel(kernel) for kernel in kernels],
        "sources": sorted(
            (_measure(listing, placed, kernels) for listing in listings.all.values()),
            key=lambda source: -source.bytes,
        ),
        "headings": ("access", *_FIGURES, "executed "),
    }


def _in_units(count: int) -> str:
    value, units = float(count), ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while value >= 1024 and len(units) > 1:  # noqa: PLR2004
        value /= 1024
        del units[0]
    return f"{value:,.0f} bytes" if units[0] == "bytes" else f"{value:.1f} {units[0]}"


def _tabulate_kernels(kernels: Sequence[KernelTraffic]) -> Table:
    totals = [kernel.total(*GLOBAL) for kernel in kernels]
    most = _find_longest(totals)
    rows = []
    for kernel, total in zip(kernels, totals, strict=True):
        ran = f" ({kernel.sampled:,} ran)" if kernel.sampled != kernel.blocks else ""
        shared = kernel.total("shared load", "shared store", "shared atomic")
        row = (
            Cell(kernel.kernel, is_code=True),
            format_number(kernel.launches),
            Cell(f"{kernel.blocks:,}{ran}", kernel.blocks),
            *_format_figures(total, most)[:-2],
            format_efficiency(total, is_total=True),
            format_number(shared.wavefronts),
            format_number(kernel.instruction_count),
        )
        rows.append(row)
    headings = ("kernel", "launches ", "blocks ", *_FIGURES[:-1], "shared wavefronts ")
    note = "Requests, sectors and bytes are those of global memory."
    return Table("kernels", "By kernel", (*headings, "instructions "), rows, note)


#: Requests of a kernel, and the line at which the page shows them.
_Placed = list[tuple["KernelTraffic", "LineTraffic", ListingLine | None]]


def _tabulate_lines(placed: _Placed) -> Table:
    most = _find_longest([line for _, line, _ in placed])
    rows = [
        (
            Cell(
                line.place,
                link=place[0].anchor(place[1]) if place else "",
                is_code=True,
            ),
            Cell(kernel.kernel, is_code=True),
            Cell(line.kind),
            Cell(label_array(line.array, line.name), is_code=True),
            *_format_figures(line, most),
            Cell(line.advice),
        )
        for kernel, line, place in placed
    ]
    headings = ("line", "kernel", "access", "array", *_FIGURES, "what to change")
    note = "The lines that move the most bytes for nothing come first."
    return Table("lines", "By line", headings, rows, note)


def _tabulate_arrays(kernels: Sequence[KernelTraffic]) -> Table:
    groups: dict[tuple[str, str, str, str], Requests] = defaultdict(Requests)
    for kernel in kernels:
        for line in kernel.lines:
            array = label_array(line.array, line.name)
            groups[kernel.library, kernel.kernel, array, line.kind].include(line)
    most = _find_longest(groups.values())
    rows = [
        (
            Cell(array or "unknown", is_code=bool(array)),
            Cell(kernel, is_code=True),
            Cell(kind),
            *_format_figures(requests, most),
        )
        for (_, kernel, array, kind), requests in groups.items()
    ]
    return Table("arrays", "By array", ("array", "kernel", "access", *_FIGURES), rows)


def _describe_kernel(kernel: KernelTraffic) -> dict[str, Any]:
    """Return what is folded until it is opened."""
    counts = sorted(kernel.instructions.items(), key=lambda item: -item[1])
    most = counts[0][1] if counts else 0
    rows = [(Cell(name, is_code=True), format_number(count, most)) for name, count in counts]
    table = Table("", "PTX instructions that warps executed", ("instruction", "executed "), rows)
    metrics = {name: f"{value:,}" for name, value in kernel.metrics.items()}
    return {"kernel": kernel.kernel, "metrics": metrics, "instructions": table}


def _measure(listing: Listing, placed: _Placed, kernels: Sequence[KernelTraffic]) -> MeasuredSource:
    """Return a source with the figures of all kernels that have lines there."""
    accesses: dict[int, dict[tuple[str, str, str], Requests]] = defaultdict(
        lambda: defaultdict(Requests)
    )
    for kernel, line, place in placed:
        if place is not None and place[0] is listing:
            key = kernel.kernel, line.kind, label_array(line.array, line.name)
            accesses[place[1]][key].include(line)
    executed: dict[int, int] = defaultdict(int)
    for kernel in kernels:
        for (file, at), count in kernel.executed.items():
            if (kernel.library, file) == (listing.library, listing.file):
                executed[at] += count
    every = [requests for groups in accesses.values() for requests in groups.values()]
    most, most_executed = _find_longest(every), max(executed.values(), default=0)
    rows = []
    for at, text in enumerate(listing.lines, 1):
        cells = []
        times = format_number(executed[at], most_executed) if at in executed else Cell("")
        groups = accesses.get(at, {})
        is_shared = len({who for who, _, _ in groups}) > 1
        for (who, kind, array), requests in groups.items():
            whose = f"by {who}" if is_shared else ""
            access = Cell(" ".join(filter(None, (kind, array, whose))))
            cells.append((access, *_format_figures(requests, most), times))
            times = Cell("")
        if at in executed and not cells:
            cells.append((*[Cell("")] * (1 + len(_FIGURES)), times))
        rows.append(SourceRow(at, text, cells))
    runs = [[*run] for _, run in groupby(rows, key=lambda row: row.accesses and row.number)]
    return MeasuredSource(listing, runs, sum(r.bytes_moved + r.bytes_requested for r in every))
