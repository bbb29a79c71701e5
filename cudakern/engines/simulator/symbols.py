"""What a compiled kernel says about itself: source lines of its code, names of its variables.

Read by pyelftools, which is optional, from the library's ELF symbols and its DWARF 4 or 5.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cudakern.engines.simulator.dwarf import Frame, LineTable
from cudakern.errors import EngineUnavailableError

__all__ = ["Frame", "Object", "Symbols"]

#: A kernel sees these headers; what happens inside of them is its caller's doing.
_OWN_HEADERS = frozenset(
    {"ck_sim_entries.hpp", *(path.name for path in Path(__file__).parent.glob("*.hpp"))}
)
#: The functions that toolchain.py appends to a kernel's text.
_OWN_FUNCTIONS = frozenset({"ck_sim_entry", "ck_sim_parameters"})
_INTERNAL = re.compile(
    r"ck_sim|_ZZ?NK?6ck_sim|_ZT|_ZGV|__|_sub_|_GLOBAL__|_DYNAMIC$|_GLOBAL_OFFSET_TABLE_$|\."
)
#: Parts of a mangled name. A copy that the compiler makes is named like the original, a dot, more.
_NESTED = re.compile(r"_ZN[rVK]*")
_LENGTH = re.compile(r"L?(\d+)")
_END_OF_LOCAL = re.compile(r"(?:_\d|__\d+_)?(?:\..*)?$")
_WRITABLE = 1  # SHF_WRITE
_END_OF_NESTED = re.compile(r"E(?:\..*)?$")


@dataclass(frozen=True, slots=True)
class Object:
    """A variable or a function.

    Attributes
    ----------
    name : str
        As in the source, without namespaces and arguments.
    offset : int
        In the block of thread-local variables; for all others the virtual address in the file.
    size : int
        Bytes.
    """

    name: str
    offset: int
    size: int


def _import_elffile() -> Any:  # noqa: ANN401  optional
    try:
        from elftools.elf import elffile  # type: ignore[import,unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        message = (
            "cudakern: the simulator's checked mode must read what a compiled kernel says about "
            "itself and pyelftools is missing; run: pip install 'cudakern[simulator]'"
        )
        raise EngineUnavailableError(message) from error
    return elffile.ELFFile


def _components(symbol: str) -> list[str]:
    """Return the names that a C++ symbol consists of, such as ``["ck", "tile"]``."""
    if not symbol.startswith("_Z"):
        return [symbol.split(".", 1)[0]]
    if symbol.startswith("_ZZ"):  # of a function: its encoding, E, the variable's name
        return [_last_name(symbol, _END_OF_LOCAL) or symbol]
    nested = _NESTED.match(symbol)
    position = 2 if nested is None else nested.end()
    found = []
    while name := _name_at(symbol, position):
        found.append(name[0])
        position = name[1]
    if nested is not None and symbol[position : position + 1] == "I":  # of a class template
        found += filter(None, [_last_name(symbol, _END_OF_NESTED)])
    return [name for name in found if not name.startswith("_GLOBAL__N")] or [symbol]


def _name_at(symbol: str, position: int) -> tuple[str, int] | None:
    length = _LENGTH.match(symbol, position)
    if length is None:
        return None
    end = length.end() + int(length[1])
    return (symbol[length.end() : end], end) if end <= len(symbol) else None


def _last_name(symbol: str, ending: re.Pattern[str]) -> str | None:
    """Return the name that follows an E and reaches up to the ending."""
    for match in re.finditer("E", symbol):
        name = _name_at(symbol, match.end())
        if name is not None and ending.match(symbol, name[1]):
            return name[0]
    return None


class Symbols:
    """The symbols and source lines of a kernel's library. Everything is read when first asked for.

    Parameters
    ----------
    path : Path
        An ELF library made with ``-g``.

    Raises
    ------
    EngineUnavailableError
        pyelftools is missing.
    """

    def __init__(self, path: Path) -> None:
        self._open = _import_elffile()
        self._path = path

    def frames(self, address: int) -> tuple[Frame, ...]:
        """Return where a call stands in the source, from the innermost inlined function outwards.

        Parameters
        ----------
        address : int
            Virtual address in the file that the call returns to.

        Returns
        -------
        tuple of Frame
            The last one is the function's own. What lies in the simulator's headers is left out, so
            the first is the caller's line; empty where nothing remains.
        """
        return tuple(
            frame
            for frame in self._lines.frames(address - 1)
            if frame.line != 0
            and frame.file not in _OWN_HEADERS
            and frame.function not in _OWN_FUNCTIONS
        )

    def shared_objects(self) -> tuple[Object, ...]:
        """Return the thread-local variables: a kernel's static ``__shared__`` ones."""
        return self._named("STT_TLS")

    def data_objects(self) -> tuple[Object, ...]:
        """Return the other variables, writable or not, without those of compiler and simulator."""
        return self._named("STT_OBJECT")

    def variables(self, name: str | None = None) -> dict[str, Object]:
        """Return the same by symbol: all, or those of a name, with or without its namespaces."""
        return {
            symbol: Object(_components(symbol)[-1], value, size)
            for symbol, sort, value, size in self._symbols
            if sort == "STT_OBJECT" and _is_users(symbol) and (name is None or _has(symbol, name))
        }

    def is_writable(self, item: Object) -> bool:
        """Return whether a variable lies in memory that can be written."""
        return any(start <= item.offset < end for start, end in self._writable)

    def holds_addresses(self, item: Object) -> bool:
        """Return whether a variable holds addresses of the library from the start."""
        return any(item.offset <= place < item.offset + item.size for place in self._relocated)

    def functions(self) -> tuple[Object, ...]:
        """Return the functions."""
        return self._named("STT_FUNC")

    def address_of(self, name: str) -> int:
        """Return the virtual address of a variable, or else of a function.

        Parameters
        ----------
        name : str
            As in the source, with its namespaces (``"ck::table"``) or without, or the symbol.

        Raises
        ------
        KeyError
            There is none, or there are several.
        """
        for kind in ("STT_OBJECT", "STT_FUNC"):
            found = {
                value
                for symbol, sort, value, _ in self._symbols
                if sort == kind and _has(symbol, name)
            }
            if len(found) == 1:
                return found.pop()
            if found:
                message = f"{name} must name one symbol of {self._path.name}; got {len(found)}"
                raise KeyError(message)
        message = f"{name} must name a symbol of {self._path.name}; it has none"
        raise KeyError(message)

    def _named(self, kind: str) -> tuple[Object, ...]:
        return tuple(
            sorted(
                (
                    Object(_components(symbol)[-1], value, size)
                    for symbol, sort, value, size in self._symbols
                    if sort == kind and _is_users(symbol)
                ),
                key=lambda item: item.offset,
            )
        )

    @cached_property
    def _elf(self) -> Any:  # noqa: ANN401
        return self._open(io.BytesIO(self._path.read_bytes()))

    @cached_property
    def _symbols(self) -> tuple[tuple[str, str, int, int], ...]:
        """Return name, type, value and size of every symbol that is defined and has a size."""
        table = self._elf.get_section_by_name(".symtab")
        table = table or self._elf.get_section_by_name(".dynsym")
        return tuple(
            (symbol.name, symbol["st_info"]["type"], symbol["st_value"], symbol["st_size"])
            for symbol in (() if table is None else table.iter_symbols())
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_size"] > 0
        )

    @cached_property
    def _writable(self) -> tuple[tuple[int, int], ...]:
        return tuple(
            (section["sh_addr"], section["sh_addr"] + section["sh_size"])
            for section in self._elf.iter_sections()
            if section["sh_flags"] & _WRITABLE and not section.name.startswith(".data.rel.ro")
        )

    @cached_property
    def _relocated(self) -> tuple[int, ...]:
        sections = (self._elf.get_section_by_name(name) for name in (".rela.dyn", ".relr.dyn"))
        return tuple(
            relocation["r_offset"]
            for section in sections
            if section is not None
            for relocation in section.iter_relocations()
        )

    @cached_property
    def _lines(self) -> LineTable:
        return LineTable(self._elf)


def _has(symbol: str, name: str) -> bool:
    return symbol == name or f"::{'::'.join(_components(symbol))}".endswith(f"::{name}")


def _is_users(symbol: str) -> bool:
    return _INTERNAL.match(symbol) is None and (symbol.startswith("_Z") or "." not in symbol)
