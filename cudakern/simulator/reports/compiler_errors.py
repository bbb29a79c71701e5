"""The source lines around a compiler's first error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudakern.display.characters import TAB, escape_unprintable, format_count
from cudakern.display.styled_text import Span, Style
from cudakern.simulator.reports.user_files import Origins, describe_place
from cudakern.simulator.sources.source_texts import find_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.display.styled_text import Line
    from cudakern.errors import KernelCompileError

#: Lines of source around the one that a compiler names.
_AROUND = 2
#: How a compiler reports an error: where, in which words, and with a copy of the line.
_ERROR = re.compile(
    r"^(?P<file>[^\n]+?)(?:\((?P<line>\d+)\)|:(?P<other>\d+)): (?:catastrophic )?error\b[^\n]*"
    r"(?:\n  (?P<code>[^\n]*)\n  (?P<before>\s*)\^)?",
    re.MULTILINE,
)


def excerpt_error(error: KernelCompileError) -> Iterator[Line]:
    """Yield the source lines around a compiler's first error, if it names one."""
    errors = [*_ERROR.finditer(error.log)]
    if not errors:
        return
    first = errors[0]
    number = int(first["line"] or first["other"])
    text = find_text(error.text, error.source, first["file"])
    start = max(1, number - _AROUND)
    around = text.removesuffix("\n").split("\n")[start - 1 : number + _AROUND]
    if not text or number >= start + len(around):  # perhaps the log has the line
        around, start = [first["code"]] if first["code"] else [], number
    width = len(str(start + len(around) - 1))
    for at, line in enumerate(around, start):
        mark = ">" if at == number else " "
        yield (Span(f"{mark} {at:>{width}} | {escape_unprintable(line).expandtabs(TAB)}"),)
        if at == number and first["before"] is not None:
            column = len((first["code"] or "")[: len(first["before"])].expandtabs(TAB))
            yield Span(f"  {'':{width}} | {'':{column}}"), Span("^", Style.STRONG)
    place = first["file"], number
    origin = Origins({("", place[0]): text}, error).find("", place)
    if origin is not None:
        yield (Span(describe_place(place, origin)),)
    if len(errors) > 1:
        yield (Span(f"and {format_count(len(errors) - 1, 'more error')}: error.log has all"),)
