"""Where an instruction stands in the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes


Source = tuple[str, int]


def stack_of(pointer: ctypes._Pointer[ctypes.Structure]) -> tuple[Source, ...]:
    """Return file and line of a site, then of the calls that it was inlined through."""
    if not pointer:
        return ()
    site = pointer.contents
    if not site.stack:
        return ((site.file.decode(errors="replace"), site.line),) if site.file else ()
    lines = site.stack.decode(errors="replace").split("\n")
    places = (line.rpartition(":") for line in lines)
    return tuple((file, int(number)) for file, _, number in places)
