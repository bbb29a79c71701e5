"""Output of commands: plain text; on a terminal with the package rich, colours and tables."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from itertools import count, zip_longest
from typing import TYPE_CHECKING

from cudakern.compilation.waits import KERNELS, announce, silence
from cudakern.display.styled_text import Span, as_rich, as_text

try:
    from rich.console import Console
    from rich.measure import Measurement
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Table
    from rich.text import Text
except ImportError:
    HAS_RICH = False
else:
    HAS_RICH = True

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cudakern.display.styled_text import Line

_GAP = "  "


def _rich_console() -> Console | None:
    """Return rich's console if standard output is a terminal and rich is installed."""
    console = Console() if HAS_RICH else None
    return console if console is not None and console.is_terminal else None


def show(text: str, style: str = "") -> None:
    """Print a text as it is; ``style`` is one of rich's, such as ``"bold"``."""
    console = _rich_console()
    if console is None:
        sys.stdout.write(f"{_encodable(text)}\n")
    else:
        console.print(Text(_encodable(text), style), soft_wrap=True)


def show_lines(lines: Iterable[Line]) -> None:
    """Print lines of text with styles, which a terminal shows."""
    console = _rich_console()
    if console is None:
        show(as_text(lines))
    else:
        encodable = [tuple(Span(_encodable(text), style) for text, style in line) for line in lines]
        console.print(as_rich(encodable), soft_wrap=True)


def _encodable(text: str) -> str:
    """Return a text with escape sequences for characters that standard output cannot encode."""
    coding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(coding, "backslashreplace").decode(coding)


def show_table(rows: Sequence[Sequence[str]], headings: Sequence[str] = ()) -> None:
    """Print rows of cells, which may have several lines; no word is broken.

    There are borders if the terminal is wide enough for them, with the last column wrapped.
    """
    lines = [
        line
        for row in ([headings] if headings else []) + [*rows]
        for line in zip_longest(*(cell.split("\n") for cell in row), fillvalue="")
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    console = _rich_console()
    if console is not None:
        table = Table(show_header=bool(headings))
        for i, heading in enumerate(headings or [""] * len(widths)):
            table.add_column(Text(heading), no_wrap=i < len(widths) - 1)
        for row in rows:
            table.add_row(*(Text(_encodable(cell)) for cell in row))
        needed = Measurement.get(console, console.options.update(width=sys.maxsize), table)
        if needed.minimum <= console.width:
            console.print(table)
            return
    padded = (
        (cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )
    show("\n".join(f"{_GAP}{_GAP.join(cells)}".rstrip() for cells in padded))


@contextmanager
def progress(title: str, total: int, units: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal how much work is done; yield a function for the name of each part done.

    Elsewhere, say on standard error that the work goes on if it takes long, and every ten seconds
    how many of the ``units``, such as kernels, are done.
    """
    console = _rich_console()
    if console is not None or sys.stdout.isatty():
        silence(KERNELS)
    if console is not None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[name]}", markup=False),
        )
        with Progress(*columns, console=console, auto_refresh=False) as bar:  # no thread
            task = bar.add_task(title, total=total, name="")
            yield lambda name: bar.update(task, advance=1, name=name, refresh=True)
    elif sys.stdout.isatty():
        done = count()

        def say(_name: str) -> None:
            sys.stdout.write(f"\r{title} {next(done)}/{total}")
            sys.stdout.flush()

        try:
            say("")
            yield say
        finally:
            sys.stdout.write("\n")
    else:
        names: list[str] = []
        title = f"{title} {total} {units}"
        with announce(KERNELS, title, lambda: f"{len(names)} of {total} {units}"):
            yield names.append
