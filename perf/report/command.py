"""Make a page, with pictures, of what was measured.

The page has the newest result of each GPU, beside the times of the one before. Without arguments,
it takes all results in the folders under ``perf/results/``.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import io
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf.report.table import row
from perf.results import OURS, load
from perf.timing.environment import slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perf.results import Result

HERE = Path(__file__).resolve().parent
RESULTS, README = HERE.parent / "results", HERE.parent / "README.md"
PAGES = RESULTS / "report"
PACKAGES = ("jinja2", "matplotlib", "rich")
DPI = 100


def newest(results: Iterable[Result]) -> list[tuple[Result, Result | None]]:
    """Return the newest result of each GPU, and the one before; the newest GPU comes first."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in sorted(results, key=lambda result: result.date, reverse=True):
        groups.setdefault((result.engine, str(result.gpu.get("name"))), []).append(result)
    return [(group[0], group[1] if len(group) > 1 else None) for group in groups.values()]


def section(result: Result, before: Result | None, folder: Path) -> dict[str, Any]:
    """Save the pictures of a result and return what the page says of it."""
    old = {(line.case, line.line): line for line in before.lines} if before else {}
    cells = [row(result, line, old.get((line.case, line.line))) for line in result.lines]
    return {
        "title": result.gpu.get("name") or result.engine,
        "facts": _facts(result, before),
        "warnings": result.warnings(),
        "headings": [*cells[0]] if cells else [],
        "rows": [
            (not line.checked or line.is_wrong, [*texts.values()])
            for line, texts in zip(result.lines, cells, strict=True)
        ],
        "pictures": _pictures(result, folder) if result.is_measurement else [],
    }


def _facts(result: Result, before: Result | None) -> dict[str, str]:
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


def _pictures(result: Result, folder: Path) -> list[dict[str, str]]:
    from perf.report import pictures  # noqa: PLC0415  Matplotlib is optional

    folder.mkdir(parents=True, exist_ok=True)
    saved = []
    for name, figure in pictures.figures(result).items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI)
        file = f"{slug(str(result.gpu.get('name')))}-{name}.png"
        (folder / file).write_bytes(buffer.getvalue())
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        caption = pictures.CAPTIONS[name.partition("-")[0]]
        saved.append({"file": file, "data": data, "caption": caption})
    return saved


def page(sections: Sequence[dict[str, Any]], folder: Path) -> str:
    """Return the page, which needs no other file."""
    import jinja2  # noqa: PLC0415  optional

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined
    )
    readme = Path(os.path.relpath(README, folder)).as_posix()
    template = environment.get_template("page.html.j2")
    return template.render(sections=sections, ours=OURS, readme=readme)


def _fail(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page and its pictures; return 0 if there was something to write."""
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
    sections = [section(*pair, folder) for pair in newest(results)]
    (folder / "index.html").write_text(page(sections, folder), encoding="utf-8")
    sys.stdout.write(f"{folder / 'index.html'}\n")
    return 0
