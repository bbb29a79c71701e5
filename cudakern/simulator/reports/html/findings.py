"""What a page of findings shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cudakern.display.characters import TAB, escape_unprintable, format_count
from cudakern.simulator.reports.findings import Finding
from cudakern.simulator.reports.html.arrows import ROW, Arrow, draw
from cudakern.simulator.reports.html.parts import Cell, Listing, Listings, Table, format_number
from cudakern.simulator.reports.traffic import label_array
from cudakern.simulator.reports.user_files import describe_place, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudakern.simulator.reports.findings import OtherAccess
    from cudakern.simulator.reports.report import Report
    from cudakern.simulator.sources.source_lines import SourceLine


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands below a line that a finding names."""

    name: str  # of the place on the page
    number: int  # of the finding
    text: str
    is_other: bool  # whether this is the second place of two
    indent: int  # in characters
    away: Cell | None  # the other place


@dataclass
class MarkedSource:
    """A source with the marks of findings, each in a row below its line."""

    listing: Listing
    marks: dict[int, list[Mark]] = field(default_factory=lambda: defaultdict(list))
    #: Between marks: numbers of findings, and whether an arrow has heads at both ends.
    joined: dict[int, bool] = field(default_factory=dict)

    def layout(self) -> tuple[list[Arrow], int, int]:
        """Return the arrows between marks, the width of their margin, and the height of all."""
        rows: dict[str, int] = {}
        height = 0
        for n in range(1, len(self.listing.lines) + 1):
            marks = self.marks.get(n, [])
            rows |= {mark.name: height + i for i, mark in enumerate(marks, 1)}
            height += 1 + len(marks)
        arrows = [Arrow(n, rows[f"f{n}a"], rows[f"f{n}b"], both) for n, both in self.joined.items()]
        return *draw(arrows), ROW * height


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding in the list of all."""

    number: int
    finding: Finding
    element: str
    threads: Cell
    places: list[tuple[str, Cell]]  # what was done, and where
    link: str  # to the first line whose source is there
    code: str


def build_view(report: Report) -> dict[str, Any]:
    """Return what the page of a report of findings shows."""
    listings = Listings(report.sources)
    sources: dict[str, MarkedSource] = {}
    rows = [_list_finding(n, f, listings, sources) for n, f in enumerate(report.findings, 1)]
    tables = (_tabulate_kernels, _tabulate_arrays) if rows else ()
    seeds = report.seeds or (report.seed,)
    return {
        "title": format_count(len(rows), "finding") if rows else _describe_nothing(report),
        "facts": {
            **({"script": report.script} if report.script else {}),
            "launches": f"{report.launches:,}",
            "seeds" if len(seeds) > 1 else "seed": ", ".join(map(str, seeds)),
            "resident blocks": f"{report.resident_blocks:,}",
            "strict": "yes" if report.strict else "no",
        },
        "findings": rows,
        "notes": report.notes,
        "refused": [(name, f"{shorten(file)}:{line}") for name, (file, line) in report.refused],
        "tables": [
            *(tabulate(report.findings) for tabulate in tables),
            *([_tabulate_checked(report)] if report.checked else []),
        ],
        "sources": [*sources.values()],
    }


def _describe_nothing(report: Report) -> str:
    return "Nothing found" if report.launches else "Nothing was checked"


def _list_finding(
    n: int, finding: Finding, listings: Listings, sources: dict[str, MarkedSource]
) -> FindingRow:
    """Return a finding for the list, and mark the lines that it names."""
    ends: list[Finding | OtherAccess] = [finding, *filter(None, [finding.other])]
    lines = [listings.find(finding.library, _list_source(end), finding.kernel) for end in ends]
    places = [
        Cell(
            describe_place(end.source, end.origin, end.stack), link=f"f{n}{letter}" if line else ""
        )
        for end, line, letter in zip(ends, lines, "ab", strict=False)
    ]
    element = _describe_element(finding)
    listed = [line[0] for line in lines if line]
    joined = len(listed) > 1 and listed[0] is listed[1]
    for i, (end, line) in enumerate(zip(ends, lines, strict=True)):
        if line is None:
            continue
        listing, number = line
        away, other = places[i - 1] if len(ends) > 1 else None, lines[i - 1]
        if joined and other:
            away = Cell(f"line {other[1]}", link=places[i - 1].link)
        text = _describe_access(finding.kind, end, "" if i else element)
        code, column = listing.lines[number - 1], end.column
        before = code[: column - 1 if column else len(code) - len(code.lstrip())]
        indent = len(escape_unprintable(before).expandtabs(TAB))
        source = sources.setdefault(listing.name, MarkedSource(listing))
        source.marks[number].append(Mark(places[i].link, n, text, i == 1, indent, away))
        if joined:
            source.joined[n] = finding.kind == "race"  # neither comes first
    return FindingRow(
        n,
        finding,
        element,
        format_number(finding.threads),
        [(end.access, place) for end, place in zip(ends, places, strict=True)],
        link=next((place.link for place in places if place.link), ""),
        code="" if lines[0] else finding.code.strip(),
    )


def _list_source(end: Finding | OtherAccess) -> tuple[SourceLine, ...]:
    return () if end.source is None else (end.source,)


def _describe_access(kind: str, end: Finding | OtherAccess, element: str) -> str:
    """Return what a thread did at one of a finding's places."""
    words = [f"{kind}:", end.access, "of" if end.access and element else "", element]
    if end.block:
        words.append(f"by thread {end.thread} of block {end.block}")
    return " ".join(filter(None, words))


def _describe_element(finding: Finding) -> str:
    name = label_array(finding.array, finding.name)
    return name if finding.index is None else f"{name}[{finding.index}]"


def _count_kinds(findings: Sequence[Finding]) -> Cell:
    counts = Counter(finding.kind for finding in findings)
    return Cell(", ".join(f"{kind} ({count:,})" for kind, count in counts.items()))


def _tabulate_kernels(findings: Sequence[Finding]) -> Table:
    groups = defaultdict(list)
    for finding in findings:
        groups[finding.library, finding.kernel].append(finding)
    rows = [
        (
            Cell(kernel, is_code=True),
            format_number(len(group)),
            _count_kinds(group),
            Cell(", ".join(dict.fromkeys(describe_place(f.source, f.origin) for f in group))),
        )
        for (_, kernel), group in groups.items()
    ]
    return Table("kernels", "By kernel", ("kernel", "findings ", "kinds", "lines"), rows)


def _tabulate_checked(report: Report) -> Table:
    """Return the kernels that were checked, whether or not anything was found."""
    found = Counter(finding.kernel for finding in report.findings)
    rows = [
        (Cell(kernel, is_code=True), format_number(launches), format_number(found[kernel]))
        for kernel, launches in report.checked.items()
    ]
    return Table("checked", "What was checked", ("kernel", "launches ", "findings "), rows)


def _tabulate_arrays(findings: Sequence[Finding]) -> Table:
    groups = defaultdict(list)
    for finding in findings:
        if finding.array is not None:
            array = label_array(finding.array, finding.name)
            groups[finding.library, finding.kernel, array].append(finding)
    rows = [
        (
            Cell(kernel, is_code=True),
            Cell(array, is_code=True),
            format_number(len(group)),
            _count_kinds(group),
            Cell(_describe_span({f.index for f in group if f.index is not None})),
        )
        for (_, kernel, array), group in groups.items()
    ]
    headings = ("kernel", "array", "findings ", "kinds", "elements")
    return Table("arrays", "By array", headings, rows)


def _describe_span(indices: set[int]) -> str:
    return " to ".join(map(str, sorted({min(indices), max(indices)}))) if indices else ""
