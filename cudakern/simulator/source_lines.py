"""Where an instruction stands in the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.names import is_header, without_folder

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


def own_first(stack: tuple[Source, ...]) -> tuple[Source, ...]:
    """Return the user's own lines, then those of the headers of CUDA, CuPy, libcu++ and CUB."""
    return tuple(sorted(stack, key=lambda place: is_header(place[0])))


def shown(stack: tuple[Source, ...]) -> str:
    """Return a stack, own lines first, as messages show it.

    Examples
    --------
    >>> from cudakern.simulator.source_lines import shown
    >>> shown((("k.cu", 12), ("k.cu", 30), ("/usr/local/cuda/include/cub/util_ptx.cuh", 345)))
    'k.cu:12 (called at k.cu:30; in cub/util_ptx.cuh:345)'
    """
    if not stack:
        return "an unknown line"
    first, *rest = stack
    calls = [place for place in rest if is_header(first[0]) or not is_header(place[0])]
    groups = {"called at": calls, "in": [place for place in rest if place not in calls]}
    told = [
        f"{how} {', '.join(f'{without_folder(file)}:{line}' for file, line in places)}"
        for how, places in groups.items()
        if places
    ]
    return f"{without_folder(first[0])}:{first[1]}" + (f" ({'; '.join(told)})" if told else "")
