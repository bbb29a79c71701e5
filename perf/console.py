"""Where commands print: rich's console and progress bars, which take every text as it is."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

#: Columns where standard output is no terminal.
_WIDTH = 200


def new_console(**options: Any) -> Console:  # noqa: ANN401  rich's
    """Return a console that looks for no markup, and breaks no lines but those in tables.

    Titles and errors have square brackets; rich would take them for markup.
    """
    width = None if sys.stdout.isatty() else _WIDTH
    options = {"width": width, **options}
    return Console(markup=False, emoji=False, highlight=False, soft_wrap=True, **options)


def new_progress(console: Console, **options: Any) -> Progress:  # noqa: ANN401  rich's
    """Return a progress bar, behind a description of what is done now."""
    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, **options)
