"""A report as one page for a browser, which needs no network and, but to sort, no script."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.display.characters import escape_unprintable
from cudakern.errors import BindingError, EngineUnavailableError, describe_value, dtype_error
from cudakern.simulator.reports.html import findings, traffic

if TYPE_CHECKING:
    import os

    from jinja2 import Template

    from cudakern.simulator.reports.report import Report

_HERE = Path(__file__).parent
_NAME = "report.html"
#: Where a word can be broken.
_PART = re.compile(r"(?<=[_/])(?=[^_/])")


def render(report: Report) -> str:
    """Return the page of a report."""
    kind = "findings" if report.kernels is None else "traffic"
    view = (findings if kind == "findings" else traffic).build_view(report)
    style, script = ((_HERE / f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    # No other script runs, and the page asks no network for anything.
    digest = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    template = find_template()
    return template.render(
        kind=kind,
        view=view,
        style=style,
        script=script,
        digest=digest,
        name=report.script or "cudakern",
        version=metadata.version("cudakern"),
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    )


def write(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page; DTypeError or BindingError if no such file can be written."""
    try:
        file = Path(path)
    except TypeError:
        message = f"must be a str or a Path; got {describe_value(path)}"
        raise dtype_error(_NAME, "path", message) from None
    if file.is_dir() or not file.parent.is_dir():
        requirement = f"must be a file in a folder that is there; got {describe_value(file, str)}"
        raise BindingError(_NAME, "path", requirement)
    file.write_text(page, encoding="utf-8")


def find_template() -> Template:
    """Return the template of all pages; EngineUnavailableError without jinja2."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  an extra
        from markupsafe import Markup  # noqa: PLC0415  comes with jinja2
    except ImportError:
        message = "cudakern: report.html needs jinja2; run: pip install 'cudakern[simulator]'"
        raise EngineUnavailableError(message) from None

    def breakable(text: str) -> str:
        """Return a name or a path that may go on in the next line."""
        return Markup("<wbr>").join(_PART.split(escape_unprintable(text)))

    def finalize(value: object) -> object:
        """Return what an expression of a template shows; markup stays as it is."""
        return escape_unprintable(value) if type(value) is str else value

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = breakable
    return environment.get_template("page.html.j2")
