"""How reports write characters and numbers."""

from __future__ import annotations

#: Columns of a tab, as in ``html/page.css``.
TAB = 4


def escape_unprintable(text: str, kept: str = "\t\n") -> str:
    r"""Return a text in which every character can be seen.

    A character that is not printed becomes an escape sequence, unless it is kept: some move a
    terminal's cursor, or change the direction of text.

    Examples
    --------
    >>> from cudakern.display.characters import escape_unprintable
    >>> print(escape_unprintable("a\x00b\u202e"))
    a\x00b\u202e
    """
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text
    )


def format_count(count: int, noun: str, ending: str = "s") -> str:
    """Return a number of things."""
    return f"{count:,} {noun}{'' if count == 1 else ending}"
