"""What commands of perf print on: texts come out as they are."""

from __future__ import annotations

import io

import pytest
from rich.table import Table

from perf.console import new_console, new_progress


@pytest.mark.parametrize(
    "text",
    ["pip install 'cudakern[cuda12]'", "[4096] u8 [bold]x[/bold]", "[/]", ":x: :smile:", "a\\"],
)
def test_no_text_is_markup(text):
    printed, terminal = io.StringIO(), io.StringIO()
    console = new_console(file=printed)
    table = Table(title=text, caption=text)
    table.add_column(text)
    table.add_row(text)
    console.print(table)
    console.print(text)
    found = [line.strip("│┃ ") for line in printed.getvalue().splitlines()]
    assert found.count(text) == 5
    with new_progress(new_console(file=terminal, force_terminal=True)) as progress:
        progress.add_task(text, total=1)
    assert text in terminal.getvalue()


def test_lines_are_not_broken():
    printed = io.StringIO()
    text = "without torch: run pip install " + 300 * "x" + " 'x[torch]'"
    new_console(file=printed).print(text)
    assert printed.getvalue() == f"{text}\n"
