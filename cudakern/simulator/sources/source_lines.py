"""Where an instruction stands in the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudakern.simulator.ptx.header_files import is_header, without_folder

if TYPE_CHECKING:
    import ctypes

#: A file and a line.
SourceLine = tuple[str, int]


def read_stack(pointer: ctypes._Pointer[ctypes.Structure]) -> tuple[SourceLine, ...]:
    """Return file and line of a site, then of the calls that it was inlined through."""
    if not pointer:
        return ()
    site = pointer.contents
    if not site.stack:
        return ((site.file.decode(errors="replace"), site.line),) if site.file else ()
    lines = site.stack.decode(errors="replace").split("\n")
    parts = (line.rpartition(":") for line in lines)
    return tuple((file, int(number)) for file, _, number in parts)


def read_own_stack(pointer: ctypes._Pointer[ctypes.Structure]) -> tuple[SourceLine, ...]:
    """Return the stack of a site: the user's own lines, then those of CUDA's and CuPy's headers."""
    return tuple(sorted(read_stack(pointer), key=lambda line: is_header(line[0])))


def describe_stack(stack: tuple[SourceLine, ...]) -> str:
    """Return a stack, own lines first, as messages show it.

    Examples
    --------
    >>> from cudakern.simulator.sources.source_lines import describe_stack
    >>> header = "/usr/local/cuda/include/cub/util_ptx.cuh"
    >>> describe_stack((("k.cu", 12), ("k.cu", 30), (header, 345)))
    'k.cu:12 (called at k.cu:30; in cub/util_ptx.cuh:345)'
    """
    if not stack:
        return "an unknown line"
    first, *rest = stack
    calls = [line for line in rest if is_header(first[0]) or not is_header(line[0])]
    groups = {"called at": calls, "in": [line for line in rest if line not in calls]}
    parts = [
        f"{how} {', '.join(f'{without_folder(file)}:{line}' for file, line in lines)}"
        for how, lines in groups.items()
        if lines
    ]
    return f"{without_folder(first[0])}:{first[1]}" + (f" ({'; '.join(parts)})" if parts else "")


def read_column(pointer: ctypes._Pointer[ctypes.Structure]) -> int | None:
    """Return where in the line of a site its statement begins, from 1."""
    return (pointer.contents.column or None) if pointer else None
