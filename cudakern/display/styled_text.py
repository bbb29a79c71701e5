"""Text with styles, and how it is shown: plain, by a terminal, by rich."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.text import Text


class Style(Enum):
    """How a part of a text stands out: ANSI's number and rich's name for it."""

    PLAIN = ("", "")
    STRONG = ("1", "bold")
    QUIET = ("36", "cyan")
    FIRST = ("1;31", "bold red")
    OTHER = ("1;34", "bold blue")


class Span(NamedTuple):
    """A part of a line, in one style."""

    text: str
    style: Style = Style.PLAIN


Line = tuple[Span, ...]


def as_text(lines: Iterable[Line]) -> str:
    """Return lines without their styles."""
    return "\n".join("".join(span.text for span in line) for line in lines)


def as_ansi(lines: Iterable[Line]) -> str:
    """Return lines with ANSI's codes for their styles."""
    return "\n".join("".join(map(_ansi, line)) for line in lines)


def _ansi(span: Span) -> str:
    number, _ = span.style.value
    return f"\x1b[{number}m{span.text}\x1b[0m" if number else span.text


def as_rich(lines: Iterable[Line]) -> Text:
    """Return lines as rich prints them."""
    from rich.text import Text  # noqa: PLC0415  optional

    spans = (Text.assemble(*((text, style.value[1]) for text, style in line)) for line in lines)
    return Text("\n").join(spans)
