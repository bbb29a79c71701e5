"""The console of the commands: with rich and without, on a terminal and elsewhere."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout

import pytest

from cudakern._commands import console
from cudakern.display.styled_text import Span, Style
from tests.helpers.rows import each

ROWS = [("[a]", "1"), ("b", "2 :x:\n[/bold] [bold]3"), ("cccc", "pip install 'cudakern[cuda12]'")]
PLAIN = """\
  [a]   1
  b     2 :x:
        [/bold] [bold]3
  cccc  pip install 'cudakern[cuda12]'
"""
BORDERS = """\
┌──────┬────────────────────────────────┐
│ [a]  │ 1                              │
│ b    │ 2 :x:                          │
│      │ [/bold] [bold]3                │
│ cccc │ pip install 'cudakern[cuda12]' │
└──────┴────────────────────────────────┘
"""
WRAPPED = """\
┌──────┬────────────────────┐
│ [a]  │ 1                  │
│ b    │ 2 :x:              │
│      │ [/bold] [bold]3    │
│ cccc │ pip install        │
│      │ 'cudakern[cuda12]' │
└──────┴────────────────────┘
"""


class Terminal(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self):
        return True

    @property
    def text(self):
        """Return what was written, without colours and movements of the cursor."""
        return re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", self.getvalue())


@pytest.fixture
def terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return Terminal()


@pytest.fixture
def rich():
    """Skip the test without the package rich."""
    return pytest.importorskip("rich", reason="rich is not installed")


@pytest.fixture
def no_rich(monkeypatch):
    monkeypatch.setattr(console, "HAS_RICH", False)


def test_a_table_in_a_file(capsys):
    console.show_table(ROWS)
    console.show_table(ROWS, ("[x]", "value"))
    assert capsys.readouterr().out == f"{PLAIN}  [x]   value\n{PLAIN}"


@pytest.mark.usefixtures("rich", "terminal")
@each("columns, text", [(80, BORDERS), (41, BORDERS), (29, WRAPPED), (28, PLAIN)])
def test_a_table_on_a_terminal(monkeypatch, columns, text):
    monkeypatch.setenv("COLUMNS", str(columns))
    with redirect_stdout(Terminal()) as shown:
        console.show_table(ROWS)
    # The terminal itself breaks lines that are longer.
    assert shown.text == text


@pytest.mark.usefixtures("rich")
def test_headings_on_a_terminal(terminal):
    with redirect_stdout(terminal):
        console.show_table([("1", "")], ("[x]", "[y]"))
    lines = terminal.text.splitlines()
    assert lines[1:4:2] == ["┃ [x] ┃ [y] ┃", "│ 1   │     │"]


LONG = "as printed: [G8] :x: " + "long " * 40 + "'cudakern[cuda12]' [bold]x[/]"


@pytest.mark.parametrize("has_rich", [False, True])
def test_a_text_is_printed_as_it_is(terminal, monkeypatch, has_rich):
    monkeypatch.setattr(console, "HAS_RICH", has_rich and console.HAS_RICH)
    monkeypatch.setenv("COLUMNS", "60")
    with redirect_stdout(terminal):
        console.show(LONG, "bold red")
    assert terminal.text == f"{LONG}\n"
    assert (terminal.text != terminal.getvalue()) is console.HAS_RICH


LINES = [(Span("race", Style.FIRST), Span(": [bold]x[/] é"))]


def test_a_text_with_colours_of_its_own(terminal, monkeypatch, capsys):
    console.show_lines(LINES)
    assert capsys.readouterr().out == "race: [bold]x[/] é\n"
    pytest.importorskip("rich", reason="rich is not installed")
    monkeypatch.setenv("COLUMNS", "8")
    with redirect_stdout(terminal):
        console.show_lines(LINES)
    assert terminal.text == "race: [bold]x[/] é\n"
    assert terminal.getvalue().startswith("\x1b[1;31mrace\x1b[0m: ")
    monkeypatch.setenv("NO_COLOR", "1")
    with redirect_stdout(terminal):
        console.show_lines(LINES)
    assert "31m" not in terminal.getvalue().split("\n")[1]


def work():
    with console.progress("compiling", 2, "kernels") as done:
        done("[a]")
        done("[b]")


@pytest.mark.usefixtures("no_rich")
def test_a_terminal_without_rich(terminal):
    with redirect_stdout(terminal):
        console.show_table(ROWS)
        work()
        with (  # noqa: PT012
            pytest.raises(KeyboardInterrupt),
            console.progress("packing", 2, "kernels") as done,
        ):
            done("[a]")
            raise KeyboardInterrupt
    whole = "\rcompiling 0/2\rcompiling 1/2\rcompiling 2/2\n"
    assert terminal.getvalue() == f"{PLAIN}{whole}\rpacking 0/2\rpacking 1/2\n"


@pytest.mark.usefixtures("rich")
def test_progress_on_a_terminal(terminal):
    with redirect_stdout(terminal):
        work()
    last = terminal.text.splitlines()[-1]
    assert re.fullmatch(r"\r?compiling ━+ 2/2 0:00:0\d \[b\] *", last)


def test_progress_elsewhere(capsys):
    work()
    assert capsys.readouterr().out == ""


def test_what_standard_output_cannot_encode_is_escaped():
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with redirect_stdout(output):
        console.show("é")
        console.show_lines(LINES)
    output.flush()
    assert output.buffer.getvalue() == b"\\xe9\nrace: [bold]x[/] \\xe9\n"


@pytest.mark.usefixtures("rich")
def test_what_a_terminal_cannot_encode_is_escaped(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with redirect_stdout(output):
        console.show("é")
        console.show_lines(LINES)
        console.show_table([["é"]])
    output.flush()
    assert output.buffer.getvalue().count(b"\\xe9") == 3
