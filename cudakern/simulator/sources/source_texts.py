"""The texts of the files that reports name, and where in a line an array is indexed."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.header_files import is_header

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cudakern.simulator.sources.source_lines import SourceLine
    from cudakern.simulator.sources.text_to_ptx import Ptx

#: The texts of files, by the library whose lines they are and the name that reports have for them.
Sources = dict[tuple[str, str], str]
#: Longer ones are not shown.
_MOST_BYTES, _MOST_LINES = 2**24, 2**18
_DIRECTIVE = re.compile(r'[ \t]*#[ \t]*(?:line[ \t]+)?(\d{1,9})(?:[ \t]+"([^"]*)")?')
#: What is in brackets; and what assigns to an element, whose brackets are filled with "#".
_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_ASSIGNMENT = re.compile(r"[#\s]+(?:\.\w+[#\s]*)*(?P<operation>[-+*/%&|^]|<<|>>)?=(?!=)")


def find_index_column(code: str, name: str, access: str) -> int | None:
    """Return where in a line an array is first indexed for an access, from 1; None if it is not."""
    pattern = rf"(?<![\w.]){re.escape(name)}\s*(?=\[)"
    matches = [*re.finditer(pattern, code)] if name else []
    flat, before = code, ""
    while flat != before:
        flat, before = _BRACKETS.sub(lambda match: "#" * len(match[0]), flat), flat
    assigned = {  # what is within an index is only read
        match: None if flat[match.start()] == "#" else _ASSIGNMENT.match(flat, match.end())
        for match in matches
    }
    fitting = matches
    if access == "write":
        fitting = [match for match, by in assigned.items() if by]
    elif access == "read":
        fitting = [match for match, by in assigned.items() if not by or by["operation"]]
    return next((match.start() + 1 for match in (*fitting, *matches)), None)


def add_texts(sources: Sources, library: str, ptx: Ptx, stack: Iterable[SourceLine]) -> None:
    """Add the texts of the user's own files that a stack names."""
    for file, _ in stack:
        if (library, file) not in sources and not is_header(file):
            sources[library, file] = find_text(ptx.code, ptx.source, file)


def find_line(sources: Sources, library: str, source: SourceLine | None) -> str:
    """Return the text of a line, empty if it is not known."""
    file, number = source or ("", 0)
    lines = sources.get((library, file), "").split("\n")
    return lines[number - 1].rstrip() if 0 < number <= len(lines) else ""


def _part_of(text: str, source: str, file: str) -> str:
    """Return what ``#line`` directives say is of a file, at its lines; empty if nothing is."""
    lines: list[str] = []
    at, number = source, 0
    for line in text.split("\n"):
        directive = _DIRECTIVE.match(line)
        if directive is not None:
            number = int(directive[1]) - 1
            at = directive[2] or at
            continue
        if at == file and number < _MOST_LINES:
            lines += [""] * (number + 1 - len(lines))
            lines[number] = line
        number += 1
    return "\n".join(lines)


def find_text(code: str, source: str, file: str) -> str:
    r"""Return the text of a file, whose lines end in ``"\n"``; empty if it is not to be found."""
    text = _part_of(code.replace("\r\n", "\n"), source, file)
    if text:
        return text
    path = Path(file)
    with suppress(OSError, ValueError):
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            return path.read_text(encoding="utf-8", errors="replace")
    return ""
