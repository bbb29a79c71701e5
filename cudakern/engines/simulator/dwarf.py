"""The debug information of a compiled kernel: which source line a call came from.

DWARF 4 and 5 as g++ and clang write them, by way of pyelftools, whose objects come in from outside:
it is optional. symbols.py is what the rest of the simulator uses.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

#: Of pyelftools, which is optional, or an attribute of one.
_Entry: TypeAlias = Any
_CPLUSPLUS = frozenset({0x04, 0x1A, 0x21, 0x2B, 0x3A, 0x3B})  # DW_LANG_C_plus_plus and its versions
_DWARF_5 = 5
#: What can have code inside, other than functions and calls that were inlined.
_NESTING = frozenset(
    {"DW_TAG_namespace", "DW_TAG_class_type", "DW_TAG_structure_type", "DW_TAG_lexical_block"}
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in the source: of some code, or of the inlined call that it came from."""

    function: str
    file: str
    line: int


@dataclass(slots=True)
class _Scope:
    """A function's code, or that of a call which was inlined into it."""

    entry: _Entry
    unit: _Unit
    ranges: tuple[tuple[int, int], ...]
    inlined: list[_Scope] = field(default_factory=list)

    def range_of(self, address: int) -> tuple[int, int] | None:
        return next((pair for pair in self.ranges if pair[0] <= address < pair[1]), None)


def _within(scopes: list[_Scope], address: int) -> _Scope | None:
    return next((scope for scope in scopes if scope.range_of(address) is not None), None)


def _value(entry: _Entry, name: str) -> _Entry:
    attribute = entry.attributes.get(name)
    return None if attribute is None else attribute.value


class _Unit:
    """One compilation unit."""

    def __init__(self, dwarf: _Entry, unit: _Entry) -> None:
        self._dwarf = dwarf
        self._unit = unit
        self._top = unit.get_top_DIE()
        self.is_cplusplus = _value(self._top, "DW_AT_language") in _CPLUSPLUS

    def functions(self) -> list[_Scope]:
        """Return the functions that have code."""
        found: list[_Scope] = []
        self._collect(self._top, None, found)
        return found

    def _collect(self, parent: _Entry, scope: _Scope | None, found: list[_Scope]) -> None:
        for entry in parent.iter_children():
            if entry.tag in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
                ranges = self._ranges(entry)
                if not ranges:  # a declaration, or what inlined copies refer to
                    if entry.has_children and scope is None:
                        self._collect(entry, None, found)
                    continue
                inner = _Scope(entry, self, ranges)
                if entry.tag == "DW_TAG_subprogram":
                    found.append(inner)
                elif scope is not None:
                    scope.inlined.append(inner)
                if entry.has_children:
                    self._collect(entry, inner, found)
            elif entry.tag in _NESTING and entry.has_children:
                self._collect(entry, scope, found)

    def _ranges(self, entry: _Entry) -> tuple[tuple[int, int], ...]:
        low = _value(entry, "DW_AT_low_pc")
        high = entry.attributes.get("DW_AT_high_pc")
        if low is not None and high is not None:
            end = high.value if high.form == "DW_FORM_addr" else low + high.value
            return ((low, end),) if end > low else ()
        offset = _value(entry, "DW_AT_ranges")
        if offset is None:
            return ()
        base = _value(self._top, "DW_AT_low_pc") or 0
        pairs = []
        lists = self._dwarf.range_lists()
        for item in lists.get_range_list_at_offset(offset, cu=self._unit):
            if hasattr(item, "base_address"):
                base = item.base_address
            else:
                start = 0 if item.is_absolute else base
                pairs.append((start + item.begin_offset, start + item.end_offset))
        return tuple(pair for pair in pairs if pair[0] < pair[1])

    def name(self, entry: _Entry) -> str:
        """Return the name of a function, which can stand at what the entry refers to."""
        while True:
            name = _value(entry, "DW_AT_name")
            if name is not None:
                return str(name.decode())
            for reference in ("DW_AT_abstract_origin", "DW_AT_specification"):
                if reference in entry.attributes:
                    entry = entry.get_DIE_from_attribute(reference)
                    break
            else:
                return "?"

    def call(self, entry: _Entry) -> tuple[str, int]:
        """Return where an inlined call stands."""
        number = _value(entry, "DW_AT_call_file")
        return ("" if number is None else self._file(number)), _value(entry, "DW_AT_call_line") or 0

    @cached_property
    def _lines(self) -> tuple[list[int], list[tuple[int, int] | None]]:
        """Return the line table: addresses, and file and line from each of them on."""
        rows = []
        for entry in self._program.get_entries():
            state = entry.state
            if state is not None:
                place = None if state.end_sequence else (state.file, state.line)
                rows.append((state.address, place))
        rows.sort(key=lambda row: (row[0], row[1] is not None))  # one ends where another starts
        return [address for address, _ in rows], [place for _, place in rows]

    @cached_property
    def _program(self) -> _Entry:
        return self._dwarf.line_program_for_CU(self._unit)

    def line(self, address: int, limits: tuple[int, int]) -> tuple[int, str, int]:
        """Return an address with its file and line.

        Optimised code can have line 0: that of none. It is then its nearest neighbour's within the
        limits, first among those before it, or 0 if these have none either.
        """
        addresses, places = self._lines
        here = bisect_right(addresses, address) - 1
        first = max(bisect_right(addresses, limits[0]) - 1, 0)
        last = bisect_right(addresses, limits[1] - 1)
        for index in (*range(here, first - 1, -1), *range(here + 1, last)):
            place = places[index]
            if place is not None and place[1] != 0:
                return (
                    address if index == here else addresses[index],
                    self._file(place[0]),
                    place[1],
                )
        return address, "", 0

    def _file(self, number: int) -> str:
        """Return a file's name as the source gave it, by ``#line`` or ``#include``."""
        return self._files[number] if number < len(self._files) else ""

    @cached_property
    def _files(self) -> list[str]:
        header = self._program.header
        folders = [_text(item) for item in header["include_directory"]]
        build = _text(_value(self._top, "DW_AT_comp_dir") or b"")
        files = []
        if header.version < _DWARF_5:  # both count from 1; folder 0 is the one of the build
            folders.insert(0, build)
            files.append("")
        for entry in header["file_entry"]:
            name = _text(entry.name)
            folder = folders[entry.dir_index] if entry.dir_index < len(folders) else ""
            name = posixpath.normpath(posixpath.join(folder, name))
            files.append(name.removeprefix(f"{build}/") if build else name)
        return files


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


class LineTable:
    """Where code comes from.

    Parameters
    ----------
    elf : ELFFile
        A library made with ``-g``, as pyelftools opened it.
    """

    def __init__(self, elf: _Entry) -> None:
        self._elf = elf

    @cached_property
    def _functions(self) -> list[_Scope]:
        if not self._elf.has_dwarf_info():
            return []
        dwarf = self._elf.get_dwarf_info()
        units = [_Unit(dwarf, unit) for unit in dwarf.iter_CUs()]
        return [scope for unit in units if unit.is_cplusplus for scope in unit.functions()]

    def frames(self, address: int) -> tuple[Frame, ...]:
        """Return where the code at an address comes from, innermost inlined call first."""
        function = _within(self._functions, address)
        limits = None if function is None else function.range_of(address)
        if function is None or limits is None:
            return ()
        unit = function.unit
        address, file, line = unit.line(address, limits)
        scopes: list[_Scope] = []
        scope: _Scope | None = function
        while scope is not None:
            scopes.append(scope)
            scope = _within(scope.inlined, address)
        frames = []
        for scope in reversed(scopes):
            frames.append(Frame(unit.name(scope.entry), file, line))
            file, line = unit.call(scope.entry)
        return tuple(frames)
