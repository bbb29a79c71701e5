"""The parts of a PTX module."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from cudakern.simulator.ptx.header_files import is_header

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Bytes of the types of PTX that registers and memory hold.
TYPE_BYTES = {
    **{f"{kind}{8 * n}": n for kind in "bus" for n in (1, 2, 4, 8)},
    **dict.fromkeys(("f16", "bf16", "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2"), 2),
    **dict.fromkeys(("f16x2", "bf16x2", "u16x2", "s16x2", "f32", "tf32"), 4),
    **dict.fromkeys(("f64", "f32x2"), 8),
    **dict.fromkeys(("pred", "e2m1x2"), 1),
    "b128": 16,
}
#: How many elements vectors have.
LANES = {"v2": 2, "v4": 4, "v8": 8}
#: The header that NVRTC includes in every text.
_OWN_HEADER = "__nv_nvrtc_builtin_header.h"
_MAX_DIGITS = 9  # of a register's number
SourceLine = tuple[str, int]  # file, number
#: Innermost first: the line of an instruction, then the calls that were inlined around it.
Stack = tuple[SourceLine, ...]


@dataclass(frozen=True, slots=True)
class Register:
    """An operand that is a name: a register, special register, variable, label or function."""

    name: str  # as declared; those of inner scopes have a suffix
    offset: int = 0  # what is added to it
    negated: bool = False  # whether a predicate stands with an exclamation mark


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: an integer, or the bits of a float of so many bytes (0 for an integer)."""

    value: int
    float_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """What stands in brackets: a register, variable or constant, and an offset in bytes."""

    base: Register | Immediate


@dataclass(frozen=True, slots=True)
class Vector:
    """Operands in braces or, for arguments of calls, in parentheses."""

    items: tuple[Operand, ...]


Operand = Register | Immediate | Address | Vector


@lru_cache(maxsize=4096)
def _lines_in(stack: Stack) -> tuple[list[SourceLine], SourceLine | None]:
    lines = (line for line in stack if not line[0].endswith(_OWN_HEADER))
    own = [line for line, _ in groupby(lines)]
    return own, next((line for line in own if not is_header(line[0])), [*own, None][0])


class Instruction(NamedTuple):
    """One instruction."""

    name: str  # with all modifiers, such as "ld.global.u32"
    operands: tuple[Operand, ...]  # a second result, behind |, follows the first one
    guard: Register | None  # the predicate that it is executed under
    pairs: int  # how many of the operands are second results
    line: int  # in the PTX text
    stack: Stack  # in the source, as far as the PTX has them
    columns: tuple[int, ...]  # of each line of the stack, from 1; 0 if unknown

    @property
    def words(self) -> list[str]:
        """The opcode and its modifiers."""
        return self.name.split(".")

    @property
    def source_lines(self) -> list[SourceLine]:
        """The lines of the stack that are not in NVRTC's own header; equal neighbours once."""
        return _lines_in(self.stack)[0]

    @property
    def source_line(self) -> SourceLine | None:
        """The innermost line of the user's own; of a header if there is none."""
        return _lines_in(self.stack)[1]

    @property
    def column(self) -> int:
        """Where in `source_line` the statement or expression begins, from 1; 0 if unknown."""
        line = self.source_line
        return self.columns[self.stack.index(line)] if line else 0


@dataclass(frozen=True, slots=True)
class Label:
    """A point in the text to branch to."""

    name: str


@dataclass(frozen=True, slots=True)
class Targets:
    """A table of labels (``.branchtargets``), of functions (``.calltargets``), or a prototype."""

    name: str  # unique in its function
    labels: tuple[str, ...]  # labels or functions
    prototype: Function | None = None  # the declaration of a called function


@dataclass(frozen=True, slots=True)
class Declaration:
    """A variable, register or parameter."""

    space: str  # "reg" "global" "const" "shared" "local" "param"
    type: str  # of an element
    name: str  # unique in its function
    alignment: int  # in bytes
    size: int  # in bytes, of all vectors; 0 for an array without a size
    initial: tuple[Operand, ...] = ()  # constants, or names of variables and functions with offsets
    linkage: str = ""  # "extern" "visible" "weak" "common", or none
    registers: int = 0  # how many, where a name stands for several, such as %r<9>
    is_pointer: bool = False  # whether a parameter is declared as a pointer


Statement = Instruction | Label | Targets | Declaration


@dataclass(slots=True)
class Function:
    """An entry, which can be launched, or a function."""

    name: str  # its symbol
    is_entry: bool
    parameters: list[Declaration] = field(default_factory=list)
    results: list[Declaration] = field(default_factory=list)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)  # "reqntid": (32, 1, 1)
    body: list[Statement] | None = None  # None for a declaration
    line: int = 0  # in the PTX text
    linkage: str = ""


@dataclass(slots=True)
class Module:
    """A PTX module: its variables and functions by name."""

    version: tuple[int, int] = (0, 0)
    target: str = ""
    variables: dict[str, Declaration] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)


def numbered(name: str) -> Iterator[tuple[str, int]]:
    """Yield the registers that a name may mean: ``%r12`` is 12 of %r, or 2 of %r1."""
    for end in range(len(name) - 1, max(len(name) - _MAX_DIGITS, 1) - 1, -1):
        if not name[end].isdecimal():
            return
        if name[end] != "0" or end == len(name) - 1:
            yield name[:end], int(name[end:])
