"""Which line of its source a library's code is of, by DWARF 4: what ``-g1`` has compilers write."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Names of DWARF 4: tag, attributes, forms, opcodes of line programs.
_INLINED = 0x1D
_LOW_PC, _HIGH_PC, _RANGES, _CALL_FILE, _CALL_LINE, _LINES = 0x11, 0x12, 0x55, 0x58, 0x59, 0x10
_ADDRESS, _STRING, _BLOCK, _EXPRESSION, _INDIRECT = 0x01, 0x08, 0x09, 0x18, 0x16
_LENGTHS = {0x0A: "B", 0x03: "H", 0x04: "I"}  # of blocks
_FIXED = {
    0x01: "Q",
    0x05: "H",
    0x06: "I",
    0x07: "Q",
    0x0B: "B",
    0x0C: "B",
    0x0E: "I",
    0x10: "I",
    0x11: "B",
    0x12: "H",
    0x13: "I",
    0x14: "Q",
    0x17: "I",
    0x19: "",
    0x20: "Q",
}
_SIGNED, _UNSIGNED, _REFERENCE = 0x0D, 0x0F, 0x15
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2  # of opcodes that begin with a zero
_LAST_ADDRESS = 2**64 - 1


def same_code(one: Path, other: Path) -> bool:
    """Return whether two libraries have the same code, at the same place."""
    sections = [_sections(path.read_bytes()) for path in (one, other)]
    first, second = (known.get(".text") for known in sections)
    return first is not None and first == second


def line_of(path: Path, address: int, file: str) -> int | None:
    """Return the line of ``file`` that code is of, itself or by what is inlined into it.

    ``address`` counts from the library's start. None stands for code of other files.
    """
    sections = _sections(path.read_bytes())
    parts = [sections[f".debug_{name}"].data for name in ("line", "info", "abbrev")]
    ranges = sections.get(".debug_ranges", _Section(0, b"")).data
    for unit in _units(parts[1], parts[2]):
        calls = [entry for entry in unit if entry.tag == _INLINED and entry.holds(address, ranges)]
        files, row = _row_at(parts[0], unit[0].values[_LINES], address)
        if row is None:
            continue
        places = [row, *((c.values[_CALL_FILE], c.values[_CALL_LINE]) for c in reversed(calls))]
        return next((line for number, line in places if files.get(number) == file), None)
    return None


class _Section(NamedTuple):
    address: int
    data: bytes


def _sections(elf: bytes) -> dict[str, _Section]:
    """Return the sections of an ELF file of 64 bits and this machine's byte order."""
    start, _, _, _, _, size, count, names = struct.unpack_from("QIHHHHHH", elf, 40)
    headers = [struct.unpack_from("IIQQQQIIQQ", elf, start + size * i) for i in range(count)]
    texts = headers[names][4]
    result = {}
    for name, _, _, address, offset, length, *_ in headers:
        text = elf[texts + name : elf.index(b"\0", texts + name)].decode()
        result[text] = _Section(address, elf[offset : offset + length])
    return result


@dataclass
class _Reader:
    """Numbers and texts, one after the other."""

    data: bytes
    at: int = 0

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from(f"={form}", self.data, self.at)
        self.at += struct.calcsize(f"={form}")
        return int(value)

    def unsigned(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.take("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:  # noqa: PLR2004
                return value

    def signed(self) -> int:
        start = self.at
        value, bits = self.unsigned(), 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        value = self.data[self.at : end].decode(errors="replace")
        self.at = end + 1
        return value

    def value(self, form: int) -> int:
        """Take an attribute's value; 0 stands for what is no number."""
        if form in _FIXED:
            return self.take(_FIXED[form]) if _FIXED[form] else 1
        if form == _INDIRECT:
            return self.value(self.unsigned())
        if form == _STRING:
            self.text()
        elif form == _SIGNED:
            return self.signed()
        elif form in {_UNSIGNED, _REFERENCE}:
            return self.unsigned()
        else:
            size = self.take(_LENGTHS[form]) if form in _LENGTHS else self.unsigned()
            self.at += size
        return 0


@dataclass
class _Entry:
    """What a unit tells of a function, or of something else."""

    tag: int
    unit: _Entry | None
    values: dict[int, int] = field(default_factory=dict)
    forms: dict[int, int] = field(default_factory=dict)

    def holds(self, address: int, ranges: bytes) -> bool:
        """Return whether an address is one of its code."""
        if _RANGES not in self.values:
            low, high = self.values.get(_LOW_PC, 0), self.values.get(_HIGH_PC, 0)
            high += low if self.forms.get(_HIGH_PC) != _ADDRESS else 0
            return low <= address < high
        reader = _Reader(ranges, self.values[_RANGES])
        base = self.unit.values.get(_LOW_PC, 0) if self.unit else 0
        while True:
            low, high = reader.take("Q"), reader.take("Q")
            if low == high == 0:
                return False
            if low == _LAST_ADDRESS:
                base = high
            elif base + low <= address < base + high:
                return True


def _units(info: bytes, abbreviations: bytes) -> Iterator[list[_Entry]]:
    """Yield the entries of each unit, outer ones before inner ones."""
    reader = _Reader(info)
    while reader.at < len(info):
        end = reader.take("I") + reader.at
        reader.at += 2  # the version
        forms = _forms(_Reader(abbreviations, reader.take("I")))
        reader.at += 1  # the size of addresses
        entries: list[_Entry] = []
        while reader.at < end:
            code = reader.unsigned()
            if code == 0:
                continue
            tag, attributes = forms[code]
            entry = _Entry(tag, entries[0] if entries else None, {}, dict(attributes))
            for name, form in attributes:
                entry.values[name] = reader.value(form)
            entries.append(entry)
        yield entries


def _forms(reader: _Reader) -> dict[int, tuple[int, list[tuple[int, int]]]]:
    """Return tag, attributes and their forms, by the numbers that entries have for them."""
    result = {}
    while code := reader.unsigned():
        tag = reader.unsigned()
        reader.at += 1  # whether it has children
        attributes = []
        while (pair := (reader.unsigned(), reader.unsigned())) != (0, 0):
            attributes.append(pair)
        result[code] = tag, attributes
    return result


def _row_at(
    lines: bytes, start: int, address: int
) -> tuple[dict[int, str], tuple[int, int] | None]:
    """Return a unit's files by number, and the file and the line that an address has."""
    program = _LineProgram(_Reader(lines, start))
    before: tuple[int, tuple[int, int]] | None = None
    for at, place, ends in program.rows():
        if before is not None and before[0] <= address < at:
            return program.files, before[1]
        before = None if ends else (at, place)
    return program.files, None


class _LineProgram:
    """What makes the table of a unit's lines."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._end = reader.take("I") + reader.at
        reader.at += 2  # the version
        program = reader.take("I") + reader.at
        self._least, _, _, self._line_base, self._line_range, self._special = map(
            reader.take, "BBBbBB"
        )
        #: How many operands opcodes have.
        self._counts = [reader.take("B") for _ in range(self._special - 1)]
        while reader.text():  # folders
            pass
        self.files: dict[int, str] = {}
        while name := reader.text():
            self.files[len(self.files) + 1] = name
            for _ in range(3):  # folder, time, size
                reader.unsigned()
        reader.at = program
        self._begin()

    def _begin(self) -> None:
        self._at, self._file, self._line = 0, 1, 1

    def rows(self) -> Iterator[tuple[int, tuple[int, int], bool]]:
        """Yield addresses, file and line of the code from there on, whether none is left there."""
        while self._reader.at < self._end:
            opcode = self._reader.take("B")
            ends = opcode == 0 and self._extended()
            if opcode >= self._special:
                steps, more = divmod(opcode - self._special, self._line_range)
                self._at += self._least * steps
                self._line += self._line_base + more
            elif opcode > _COPY:
                self._standard(opcode)
            if ends or opcode == _COPY or opcode >= self._special:
                yield self._at, (self._file, self._line), ends
            if ends:
                self._begin()

    def _extended(self) -> bool:
        """Carry out an opcode that begins with a zero; return whether the code ends there."""
        after = self._reader.unsigned() + self._reader.at
        opcode = self._reader.take("B")
        if opcode == _SET_ADDRESS:
            self._at = self._reader.take("Q")
        self._reader.at = after
        return opcode == _END_SEQUENCE

    def _standard(self, opcode: int) -> None:
        """Carry out an opcode that makes no row."""
        if opcode == _ADVANCE_PC:
            self._at += self._least * self._reader.unsigned()
        elif opcode == _ADVANCE_LINE:
            self._line += self._reader.signed()
        elif opcode == _SET_FILE:
            self._file = self._reader.unsigned()
        elif opcode == _CONST_ADD_PC:
            self._at += self._least * ((255 - self._special) // self._line_range)
        elif opcode == _FIXED_ADVANCE_PC:
            self._at += self._reader.take("H")
        else:
            for _ in range(self._counts[opcode - 1]):
                self._reader.unsigned()
