"""HTML for notebooks: in their own colours, light or dark, without scripts and files."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from cudakern.display.characters import escape_unprintable, format_count
from cudakern.display.styled_text import Style

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cudakern.display.styled_text import Line, Span

_LINE = "1px solid rgba(128,128,128,.4)"
_TABLE = "border-collapse:collapse;margin:.3em 0"
_CELL = f"border:0;border-bottom:{_LINE};padding:.15em 1.2em .15em 0;vertical-align:top;text-align:"
_TEXT = "font:inherit;font-family:monospace;margin:.3em 0;white-space:pre-wrap;"
_TEXT += "word-break:normal;overflow-wrap:anywhere"
#: Columns of a text with excerpts.
COLUMNS = 110
_BOX = "margin-bottom:.6em;overflow-x:auto"
#: Only lines have colours, which are seen on light and on dark pages; text has none.
_STYLES = {
    Style.STRONG: "font-weight:bold",
    Style.QUIET: "opacity:.75",
    Style.FIRST: "border-bottom:2px solid #e5484d;font-weight:bold",
    Style.OTHER: "border-bottom:2px solid #8e4ec6;font-weight:bold",
}


class Number(str):
    """A text that stands on the right of its column."""

    __slots__ = ()


def render_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    head = f"<tr>{''.join(map(_cell, headings, ['th'] * len(headings)))}</tr>" if headings else ""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<table style="{_TABLE}"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _cell(text: str, tag: str = "td") -> str:
    side = "right;white-space:nowrap" if isinstance(text, Number) else "left"
    return f'<{tag} style="{_CELL}{side}">{escape(escape_unprintable(text))}</{tag}>'


def render_lines(lines: Iterable[Line]) -> str:
    """Return lines of text with styles."""
    text = "\n".join("".join(map(_span, line)) for line in lines)
    return f'<pre style="{_TEXT}">{text}</pre>'


def _span(span: Span) -> str:
    text = escape(span.text)
    return f'<span style="{_STYLES[span.style]}">{text}</span>' if span.style in _STYLES else text


def render_paragraph(text: str) -> str:
    """Return a line of text."""
    return f"<div>{escape(escape_unprintable(text))}</div>"


def render_box(title: str, *parts: str, more: str = "") -> str:
    """Return what a notebook shows: a title, parts of HTML, and a remark."""
    heading = f"<div><b>{escape(escape_unprintable(title))}</b></div>" if title else ""
    remark = f'<div style="opacity:.75">{escape(escape_unprintable(more))}</div>' if more else ""
    return f'<div style="{_BOX}">{heading}{"".join(parts)}{remark}</div>'


def say_left_out(*counts: tuple[int, str]) -> str:
    """Return a remark on how much of a report a notebook does not show, if anything."""
    left = [format_count(count, f"more {noun}") for count, noun in counts if count]
    return f"and {' and '.join(left)}: report.html(path) shows all" if left else ""
