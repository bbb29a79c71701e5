"""How reports write characters and numbers."""

from __future__ import annotations

#: Columns of a tab, as in ``html/page.css``.
TAB = 4


def visible(text: str, kept: str = "\t\n") -> str:
    r"""Return a text in which every character can be seen.

    What is not printed, such as what moves a terminal's cursor or changes the direction of text,
    becomes an escape sequence, unless it is one of those that are kept.

    Examples
    --------
    >>> from cudakern.display.characters import visible
    >>> print(visible("a\x00b\u202e"))
    a\x00b\u202e
    """
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text
    )


def plural(count: int, noun: str, ending: str = "s") -> str:
    """Return a number of things."""
    return f"{count:,} {noun}{'' if count == 1 else ending}"
