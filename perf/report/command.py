"""Make a page, with pictures, of what was measured.

The page has the newest result of each GPU, beside the times of the one before. Runs of one commit
that have no line in common, such as one without sweeps and one of sweeps, are one result. Without
arguments, it takes all results in the folders under ``perf/results/``.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf.report import pictures
from perf.report.table import more
from perf.results import OURS, format_number, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perf.results import LineResult, Result

HERE = Path(__file__).resolve().parent
RESULTS, README = HERE.parent / "results", HERE.parent / "README.md"
PAGES = RESULTS / "report"
PACKAGES = ("jinja2", "markdown_it", "rich")


def newest(results: Iterable[Result]) -> list[tuple[Result, Result | None]]:
    """Return the newest result of each GPU, and the one before; the newest GPU comes first."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in sorted(results, key=lambda result: result.date, reverse=True):
        group = groups.setdefault((result.engine, str(result.gpu.get("name"))), [])
        if group and result.completes(group[-1]):
            group[-1] = result.join(group[-1])
        else:
            group.append(result)
    return [(group[0], group[1] if len(group) > 1 else None) for group in groups.values()]


def section(result: Result, before: Result | None) -> dict[str, Any]:
    """Return what the page says of a result."""
    old = {(line.case, line.line): line for line in before.lines} if before else {}
    timed = (name for line in result.lines for name in line.timings if line.timing(name))
    peers = [name for name in dict.fromkeys(timed) if not name.startswith(OURS)]
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in result.lines:
        cells = _cells(result, line, peers)
        cells["more"] = more(result, line, old.get((line.case, line.line)))
        groups.setdefault(line.operator, []).append(cells)
    return {
        "title": result.gpu.get("name") or result.engine,
        "facts": _describe_run(result, before),
        "warnings": result.warnings(),
        "peers": peers,
        "groups": groups,
        "panels": pictures.panels(result) if result.is_measurement else [],
        "comparisons": pictures.comparisons(result) if result.is_measurement else [],
    }


def _cells(result: Result, line: LineResult, peers: Sequence[str]) -> dict[str, Any]:
    """Return the cells of a row; of the ratio, its class too."""
    times = {name: timing.median_us for name in (OURS, *peers) if (timing := line.timing(name))}
    fraction, ratio = result.fraction(line), line.ratio()
    least = min(times.values()) if len(times) > 1 else None  # one time is compared with nothing
    texts = [
        (format_number(times[name]) if name in times else "-", times.get(name, math.nan) == least)
        for name in (OURS, *peers)
    ]
    if line.is_wrong:
        texts[0] = ("WRONG", False)
    known = line.checked or line.is_wrong
    return {
        "title": f"{line.case} {line.line}{'' if known else ' (not checked)'}",
        "bad": not line.checked or line.is_wrong,
        "times": texts,
        "ratio": f"{format_number(ratio.value)} {ratio.verdict}" if ratio else "-",
        "verdict": ratio.verdict.replace("~", "alike") if ratio else "",
        "share": "-" if math.isnan(fraction) else f"{fraction:.0%}",
    }


def _describe_run(result: Result, before: Result | None) -> dict[str, str]:
    facts = {"date": result.date, "commit": result.commit, "engine": result.engine}
    facts |= {f"GPU: {name}": str(value) for name, value in result.gpu.items()}
    facts["versions"] = ", ".join(f"{name} {value}" for name, value in result.versions.items())
    rates = (f"{name} {value / 1e12:.2f}" for name, value in result.ceilings.items())
    facts["ceilings, TB/s"] = ", ".join(rates) or "unknown"
    drift = "unknown" if math.isnan(result.drift) else f"{result.drift:.1%}"
    facts["drift of the copy ceiling"] = drift
    if before:
        driver = before.gpu.get("driver")
        facts["before"] = f"{before.date}, commit {before.commit}, driver {driver}"
    return facts


def explain() -> str:
    """Return perf/README.md's section on how numbers are measured, as HTML."""
    from markdown_it import MarkdownIt  # noqa: PLC0415  optional

    part = README.read_text(encoding="utf-8").split("\n## Measure\n")[1].partition("\n## ")[0]
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(part))


def page(sections: Sequence[dict[str, Any]]) -> str:
    """Return the page, which needs no other file and leads to none."""
    import jinja2  # noqa: PLC0415  optional

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["ours"] = OURS
    return environment.get_template("page.html.j2").render(sections=sections, measured=explain())


def _fail(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; return 0 if there was something to write."""
    parser = argparse.ArgumentParser(prog="python -m perf report", description=__doc__)
    parser.add_argument("results", nargs="*", type=Path, metavar="RESULT.json")
    parser.add_argument("--output", type=Path, default=PAGES, metavar="FOLDER")
    options = parser.parse_args(arguments)
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        return _fail(f"the report needs {', '.join(absent)}: pip install '.[perf]'")
    paths = options.results or sorted(RESULTS.glob("*/*.json"))
    if not paths:
        return _fail(f"{RESULTS} has no results: run python -m perf run on a machine with a GPU")
    try:
        results = [load(path) for path in paths]
    except ValueError as error:
        return _fail(str(error))
    folder = options.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    sections = [section(*pair) for pair in newest(results)]
    (folder / "index.html").write_text(page(sections), encoding="utf-8")
    sys.stdout.write(f"{folder / 'index.html'}\n")
    return 0
