"""Pictures and a page of what was measured. ``python -m perf.report [RESULT.json ...]``.

Of each GPU, the newest result is shown and compared with the one before. Without arguments, the
results are those in the folders under ``perf/results/``.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import io
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf import summary
from perf.environment import slug
from perf.results import OURS, Result, best_peer, load
from perf.summary import digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.results import LineResult, Timing

HERE = Path(__file__).resolve().parent
RESULTS, PAGES, README = HERE / "results", HERE / "report", HERE / "README.md"
PACKAGES = ("jinja2", "matplotlib", "rich")
#: How many lines the terminal shows.
FURTHEST = 5
DPI = 100
CAPTIONS = {
    "ratio": "How many times faster than the best peer: above 1 we are faster. Pale and hatched: "
    "the intervals from p10 to p90 overlap, so the difference is not significant.",
    "fraction": "Fraction of the ceiling that applies, or time where latency decides; how much it "
    "is at the right.",
    "roofline": "Rate against size, with the ceilings measured in the same run. Peers are pale.",
    "growth": "Time against size. A gap: there is no time.",
    "change": "How many times faster than in the result before: above 1 it is faster now.",
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the page: its file, its bytes in base64 and what is said below it."""

    file: str
    data: str
    title: str
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    """What the page has of one GPU; without pictures and peers if nothing was measured."""

    title: str
    result: Result
    facts: dict[str, str]
    differences: dict[str, list[str]]
    peers: list[str]
    rows: list[dict[str, Any]]
    pictures: list[Picture]
    measured: bool
    drifted: bool


def section(result: Result, before: Result | None, folder: Path) -> Section:
    """Save the pictures of a result and return what the page says of it."""
    measured = summary.is_measurement(result)
    if before is not None and not summary.is_measurement(before):
        before = None
    return Section(
        str(result.gpu.get("name") or result.engine),
        result,
        _facts(result, before),
        _differences(summary.compare(before, result)) if measured and before else {},
        summary.contenders(result)[1:] if measured else [],
        [_row(result, line) for line in result.lines],
        _pictures(result, before, folder) if measured else [],
        measured=measured,
        drifted=measured and abs(result.drift or 0) > summary.MAX_DRIFT,
    )


def _differences(changes: summary.Changes) -> dict[str, list[str]]:
    found = {
        "new lines": changes.new,
        "lines that are gone": changes.gone,
        "lines without a time in one of the two": changes.untimed,
    }
    return {
        name: [f"{line.case} {line.line}" for line in lines]
        for name, lines in found.items()
        if lines
    }


def _facts(result: Result, before: Result | None) -> dict[str, str]:
    units = {"l2_bytes": 2**20, "memory_bytes": 2**30}
    names = {"l2_bytes": "L2, MiB", "memory_bytes": "memory, GiB"}
    facts = {"date": result.date, "commit": result.commit, "engine": result.engine}
    for name, value in result.gpu.items():
        shown = digits(value / units[name]) if value and name in units else str(value)
        facts[f"GPU {names.get(name, name.replace('_', ' '))}"] = shown
    facts["versions"] = ", ".join(f"{name} {value}" for name, value in result.versions.items())
    if summary.is_measurement(result):
        facts["ceilings, TB/s"] = ", ".join(
            f"{name} {value / 1e12:.2f}" if value else f"{name} unknown"
            for name, value in result.ceilings.items()
        )
        drift = summary.NAN if result.drift is None else result.drift
        facts["drift of the copy ceiling"] = _percent(drift) or "unknown"
        if before is not None:
            driver = before.gpu.get("driver")
            facts["compared with"] = f"{before.date}, commit {before.commit}, driver {driver}"
    return facts


def _row(result: Result, line: LineResult) -> dict[str, Any]:
    """Return the cells of a line, as text."""
    ours, best = summary.timing(line), best_peer(line)
    share = summary.share_of_goal(result, line)
    noted = line.timings.get(OURS)
    wrong = noted is not None and noted.note.startswith("WRONG")
    return {
        "case": line.case,
        "line": line.line,
        "flaw": "wrong" if wrong else "" if line.checked else "not checked",
        "ours": summary.interval(ours) if ours else "no time",
        "fraction": _percent(summary.fraction(result, line)),
        "goal": summary.goal(line),
        "reached": "" if math.isnan(share) else "yes" if share >= 1 else "no",
        "cache": _cache(ours),
        "method": ours.method if ours else "",
        "host": digits(ours.host_us) if ours and ours.host_us is not None else "",
        "peers": {name: _peer(line, name) for name in line.timings},
        "best": best[0] if best else "",
        "notes": [
            f"{name}: {note}" for name, timing in line.timings.items() for note in _notes(timing)
        ],
        "kernel": line.kernel,
    }


def _percent(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1%}"


def _cache(timing: Timing | None) -> str:
    if timing is None:
        return ""
    warm = "" if timing.warm_us is None else f", warm {digits(timing.warm_us)} us"
    return f"{'cold' if timing.cold else 'warm'}{warm}"


def _peer(line: LineResult, name: str) -> str:
    timing, ours = summary.timing(line, name), summary.timing(line)
    if timing is None:
        return "no time"
    text = digits(timing.median_us)
    if ours is None:
        return text
    ratio = summary.ratio(timing, ours)
    return f"{text} ({digits(ratio.value)}x{'' if ratio.is_significant else ', overlap'})"


def _notes(timing: Timing) -> list[str]:
    scratch = f"{timing.scratch_bytes:,} bytes of scratch" if timing.scratch_bytes else ""
    return [text for text in (timing.note, scratch) if text]


def _pictures(result: Result, before: Result | None, folder: Path) -> list[Picture]:
    from perf import charts  # noqa: PLC0415  Matplotlib is optional

    folder.mkdir(parents=True, exist_ok=True)
    gpu = slug(str(result.gpu.get("name")))
    pictures = []
    for name, figure in charts.figures(result, before).items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI)
        file = f"{gpu}-{name}.png"
        (folder / file).write_bytes(buffer.getvalue())
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        kind, _, operator = name.partition("-")
        title = f"{kind.capitalize()}{operator and ', '}{operator}"
        pictures.append(Picture(file, data, title, CAPTIONS[kind]))
    return pictures


def page(sections: Sequence[Section], folder: Path) -> str:
    """Return the page, which needs no other file."""
    import jinja2  # noqa: PLC0415  optional

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    readme = Path(os.path.relpath(README, folder)).as_posix()
    template = environment.get_template("report.html.j2")
    return template.render(sections=sections, ours=OURS, readme=readme, limit=summary.MAX_DRIFT)


def show(sections: Sequence[Section], folder: Path) -> None:
    """Print the lines that are furthest below their goals, and where the page is."""
    from rich.table import Table  # noqa: PLC0415  optional

    from perf.console import new_console  # noqa: PLC0415  needs rich, too

    console = new_console()
    for entry in sections:
        gpu = f"{entry.title}, {entry.result.date}"
        lines = summary.furthest_below(entry.result, FURTHEST) if entry.measured else []
        if not entry.measured:
            console.print(f"{gpu}: no measurement (engine {entry.result.engine})")
        elif not lines:
            console.print(f"{gpu}: no line with a goal and a time is below its goal")
        else:
            table = Table(title=f"Furthest below the goal: {gpu}")
            for heading in ("line", "us (p10-p90)", "fraction", "goal", "of the goal"):
                table.add_column(heading, justify="left" if heading == "line" else "right")
            for line in lines:
                row, share = _row(entry.result, line), summary.share_of_goal(entry.result, line)
                texts = f"{line.case} {line.line}", row["ours"], row["fraction"], row["goal"]
                table.add_row(*texts, f"{share:.0%}")
            console.print(table)
        if entry.result.incomplete:
            console.print(f"{gpu}: the run is incomplete: {entry.result.incomplete}")
    saved = sum(len(entry.pictures) for entry in sections)
    console.print(f"{folder / 'index.html'}, pictures beside it: {saved}")


def _load(path: Path) -> Result:
    try:
        return load(path)
    except (OSError, ValueError) as error:
        message = str(error.strerror or error) if isinstance(error, OSError) else str(error)
        text = f"{path}: {message.removeprefix(f'{path}: ')}"
        raise ValueError(text) from error


def _fail(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page and its pictures; return 0 if there was something to write."""
    parser = argparse.ArgumentParser(prog="python -m perf.report", description=__doc__)
    parser.add_argument("results", nargs="*", type=Path, metavar="RESULT.json")
    parser.add_argument("--output", type=Path, default=PAGES, metavar="FOLDER")
    options = parser.parse_args(arguments)
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        return _fail(f"the report needs {', '.join(absent)}: pip install '.[perf]'")
    paths = options.results or sorted(RESULTS.glob("*/*.json"))
    if not paths:
        return _fail(f"{RESULTS} has no results: run python -m perf.run on a machine with a GPU")
    try:
        results = [_load(path) for path in paths]
    except ValueError as error:
        return _fail(str(error))
    folder = options.output.resolve()
    sections = [section(*pair, folder) for pair in summary.newest(results)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(page(sections, folder), encoding="utf-8")
    show(sections, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
