"""Patches of a kernel's text between the steps of a compiler, for the checked mode.

A compiler with ``-fsanitize=thread`` calls ``__tsan_*`` before every access to memory. Two things
are missing for the simulator, and are put into the compiler's own output here: space between shared
arrays, into assembly, and the accesses as the source has them, into LLVM's intermediate language,
where clang has split vectors and left out copies.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RED_ZONE", "pad_shared", "patch_ir"]

#: Bytes after each thread-local variable.
RED_ZONE = 64

_SECTION = re.compile(r'\s*\.(?:push)?section\s+([^\s,]+)(?:\s*,\s*"([^"]*)")?')
_OTHER_SECTION = re.compile(r"\s*\.(?:text|data|bss|popsection|previous|subsection)\b")
_LABEL = re.compile(r'\s*(?!\.L)(?:"[^"]+"|[\w.$]+)\s*:')
_DATA = re.compile(
    r"\s*\.(?:zero|skip|space|fill|\d*byte|value|short|h?word|long|int|quad|octa|ascii|asciz"
    r"|string\d*|base64|float|single|double|[us]leb128)\b"
)

_POINTER = r'(?:[%@](?:"[^"]*"|[\w.$-]+)|(?:getelementptr|inttoptr)\b.*?\)|null)'
_BYTES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "float": 4, "double": 8, "ptr": 8}
_STEP = rf"getelementptr (?:\w+ )*\(?({'|'.join(_BYTES)}), ptr ([%@][^\s,]+), i\d+ (-?\d+)"
_GEP = re.compile(_STEP)
_ASSIGNED = re.compile(r"  (%[^\s=]+) = (.*)")
_CALLBACK = re.compile(
    rf"  (?:tail )?call void @__tsan_(read|write)(\d+)\(ptr [^%@]*?({_POINTER})\).*, !dbg !(\d+)"
)
_ACCESS = re.compile(r"  (?:%\S+ = load|store) .*, align (\d+)")
_DEBUG_RECORD = re.compile(r"\s*(?:#dbg_|(?:tail )?call void @llvm\.dbg\.)")
#: What other threads may run at, or wait for.
_SYNCHRONISES = re.compile(
    r"  (?:%\S+ = )?(?:(?:tail |musttail |notail )?call|invoke|fence|atomicrmw|cmpxchg)\b"
    r"(?!.* @(?:llvm\.|__tsan_(?:unaligned_|volatile_)*(?:read|write)))"
)
_COPY = re.compile(r"  (?:tail )?call void @llvm\.(memcpy|memmove|memset)\.[\w.]+\((.*?), i1 .*?\)")
_CONSTANT = re.compile(r"^(@\S+) = (?:\w+(?:\(\w*\))? )*constant ", re.MULTILINE)
_LOCATION = re.compile(r", !dbg !\d+")
_SIZES = (16, 8, 4, 2, 1)


def pad_shared(assembly: str) -> str:
    """Put zeros after every thread-local variable, so that overruns do not end in the next one.

    Parameters
    ----------
    assembly : str
        What g++ or clang wrote for ELF.

    Returns
    -------
    str
        The same with `RED_ZONE` more bytes after each variable, whose size stays as it was.
    """
    lines = assembly.split("\n")
    ends = []  # last lines of variables
    is_shared = is_open = False
    for number, line in enumerate(lines):
        section = _SECTION.match(line)
        if section is not None or _OTHER_SECTION.match(line):
            is_shared = section is not None and _is_thread_local(section[1], section[2] or "")
            is_open = False
        elif is_shared and _LABEL.match(line):
            ends.append(number)  # until its data come, if any
            is_open = True
        elif is_open and _DATA.match(line):
            ends[-1] = number
    for number in ends:
        if _DATA.match(lines[number]):
            lines[number] += f"\n\t.zero\t{RED_ZONE}"
    return "\n".join(lines)


def _is_thread_local(name: str, flags: str) -> bool:
    return "T" in flags or name.startswith((".tbss", ".tdata"))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A callback, and the access that it announces."""

    number: int
    pointer: str
    offset: int
    size: int
    align: int


@dataclass(slots=True)
class _Function:
    """Lines of a function, as far as they are understood."""

    lines: list[str]
    start: int
    stop: int
    defined: dict[str, int] = field(default_factory=dict)
    steps: dict[str, tuple[str, int]] = field(default_factory=dict)
    locals: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for number in range(self.start, self.stop):
            assigned = _ASSIGNED.match(self.lines[number])
            if assigned is not None:
                self.defined[assigned[1]] = number
                step = _step(assigned[2])
                if step is not None:
                    self.steps[assigned[1]] = step
                if assigned[2].startswith("alloca "):
                    self.locals.add(assigned[1])

    def root(self, pointer: str) -> tuple[str, int]:
        """Return what a pointer is a constant number of bytes away from, and that number."""
        total = 0
        step = _step(pointer) or self.steps.get(pointer)
        while step is not None:
            pointer, offset = step
            total += offset
            step = self.steps.get(pointer)
        return pointer, total


def _step(value: str) -> tuple[str, int] | None:
    gep = _GEP.match(value)
    if gep is None or value[gep.end() :].startswith(", i"):  # one with further indices
        return None
    return gep[2], int(gep[3]) * _BYTES[gep[1]]


def _functions(lines: list[str]) -> Iterator[_Function]:
    start = None
    for number, line in enumerate(lines):
        if line.startswith("define "):
            start = number
        elif line == "}" and start is not None:
            yield _Function(lines, start, number)
            start = None


def patch_ir(ir: str) -> str:
    """Make the callbacks of a kernel's accesses those of the source's accesses.

    Accesses that clang split, such as that of a ``float4``, become one again: accesses of one
    place in the source which lie side by side and of which the first is aligned to all of them.
    Copies and fills of memory, which have no callbacks, get some.

    Parameters
    ----------
    ir : str
        What clang wrote as text with ``-fsanitize=thread -g -S -emit-llvm`` and
        ``-mllvm -tsan-instrument-memintrinsics=0``.

    Returns
    -------
    str
        The same, to be compiled without ``-fsanitize=thread``.
    """
    lines = ir.split("\n")
    constants = set(_CONSTANT.findall(ir))
    for function in _functions(lines):
        for pieces in _candidates(function):
            _merge(function, pieces)
        _announce_copies(function, constants)
    text = "\n".join(lines)
    declared = set(re.findall(r"^declare .*?@(__tsan_\w+)\(", text, re.MULTILINE))
    called = set(re.findall(r"call void @(__tsan_(?:read|write)(?:\d+|_range))\(", text))
    return (
        text.rstrip("\n")
        + "".join(
            f"\ndeclare void @{name}(ptr{', i64' if name.endswith('range') else ''})"
            for name in sorted(called - declared)
        )
        + "\n"
    )


def _candidates(function: _Function) -> list[list[_Piece]]:
    """Return the accesses of one kind, source location and base between two synchronisations."""
    groups: dict[tuple[str, str, str, int], list[_Piece]] = defaultdict(list)
    epoch = 0
    for number in range(function.start + 1, function.stop):
        line = function.lines[number]
        callback = _CALLBACK.match(line)
        if callback is not None:
            kind, size, pointer, location = callback.groups()
            root, offset = function.root(pointer)
            align = _alignment(function, number + 1)
            piece = _Piece(number, pointer, offset, int(size), align)
            groups[kind, location, root, epoch].append(piece)
        elif not line.startswith("  ") or _SYNCHRONISES.match(line):
            epoch += 1  # a new block, too
    return [group for group in groups.values() if len(group) > 1]


def _alignment(function: _Function, number: int) -> int:
    """Return the alignment of the access at a line, or after the debug records there."""
    while _DEBUG_RECORD.match(function.lines[number]):
        number += 1
    access = _ACCESS.match(function.lines[number])
    return 1 if access is None else int(access[1])


def _merge(function: _Function, pieces: list[_Piece]) -> None:
    starts: dict[int, _Piece] = {}
    for piece in pieces:
        starts.setdefault(piece.offset, piece)
    for first in sorted(starts.values(), key=lambda piece: piece.offset):
        for total in (size for size in _SIZES if first.size < size <= first.align):
            parts = _fill(starts, first.offset, first.offset + total)
            if parts:
                _replace(function, parts, total)
                for part in parts:
                    del starts[part.offset]
                break


def _fill(starts: dict[int, _Piece], start: int, stop: int) -> list[_Piece]:
    """Return the pieces that fill these bytes, or none."""
    parts = []
    while start < stop and start in starts:
        parts.append(starts[start])
        start += starts[start].size
    return parts if start == stop else []


def _replace(function: _Function, parts: list[_Piece], total: int) -> None:
    """Announce the access of several pieces once, before the earliest of them if possible."""
    lines = function.lines
    lead = parts[0]
    call = re.sub(r"(@__tsan_[a-z]+)\d+", rf"\g<1>{total}", lines[lead.number], count=1)
    earliest = min(part.number for part in parts)
    defined = function.defined.get(lead.pointer, -1)
    # A definition further down in the text may belong to a block that runs before this one.
    is_later = defined > earliest and all(line.startswith("  ") for line in lines[earliest:defined])
    for part in parts:
        lines[part.number] = "  ; merged"
    if is_later:
        lines[defined] += "\n" + call
    else:
        lines[earliest] = call


def _announce_copies(function: _Function, constants: set[str]) -> None:
    for number in range(function.start + 1, function.stop):
        copy = _COPY.match(function.lines[number])
        if copy is None:
            continue
        arguments = _split(copy[2])
        location = _LOCATION.search(function.lines[number], copy.end())
        size = arguments[2].split()[-1]
        accesses = [("write", arguments[0])]
        if copy[1] != "memset":
            accesses.insert(0, ("read", arguments[1]))
        calls = []
        for kind, argument in accesses:
            pointer = re.search(rf"{_POINTER}$", argument)
            if pointer is None or size == "0":
                continue
            root = function.root(pointer[0])[0]
            if root in function.locals or root in constants:
                continue
            align = re.search(r"\balign (\d+)", argument)
            call = f"_range(ptr {pointer[0]}, i64 {size})"
            if size in map(str, _SIZES) and int(align[1] if align else 1) >= int(size):
                call = f"{size}(ptr {pointer[0]})"
            calls.append(f"  call void @__tsan_{kind}{call}{location[0] if location else ''}\n")
        function.lines[number] = "".join(calls) + function.lines[number]


def _split(arguments: str) -> list[str]:
    """Return what commas separate, but for those in parentheses."""
    parts = [""]
    depth = 0
    for letter in arguments:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
