"""What a PTX module is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: With which NVRTC starts every text.
_OWN_HEADER = "__nv_nvrtc_builtin_header.h"
_MAX_DIGITS = 9  # of a register's number
Place = tuple[str, int]
#: Innermost first: the line of an instruction, then the calls that were inlined around it.
Stack = tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Register:
    """A register, special register, variable, label or function: an operand that is a name.

    Attributes
    ----------
    name : str
        As declared; those of inner scopes have a suffix.
    offset : int
        What is added to it.
    negated : bool
        Whether a predicate stands with an exclamation mark.
    """

    name: str
    offset: int = 0
    negated: bool = False


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


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    name : str
        With all modifiers, such as ``"ld.global.u32"``.
    operands : tuple of Operand
        In order. A second result, behind ``|``, follows the first one.
    guard : Register or None
        The predicate that it is executed under.
    pairs : int
        How many of the operands are second results.
    line : int
        In the PTX text.
    stack : Stack
        In the source, as far as the PTX tells.
    """

    name: str
    operands: tuple[Operand, ...]
    guard: Register | None
    pairs: int
    line: int
    stack: Stack

    @property
    def words(self) -> list[str]:
        """The opcode and its modifiers."""
        return self.name.split(".")

    @property
    def places(self) -> list[Place]:
        """The lines of the stack that are not in NVRTC's own header; equal neighbours once."""
        own = (one for one in self.stack if not one[0].endswith(_OWN_HEADER))
        return [place for place, _ in groupby(own)]

    @property
    def place(self) -> Place | None:
        """The innermost line that is not in NVRTC's own header."""
        return next((one for one in self.stack if not one[0].endswith(_OWN_HEADER)), None)


@dataclass(frozen=True, slots=True)
class Label:
    """A place to branch to."""

    name: str


@dataclass(frozen=True, slots=True)
class Targets:
    """A table of labels (``.branchtargets``), of functions (``.calltargets``), or a prototype.

    Attributes
    ----------
    name : str
        Unique in its function.
    labels : tuple of str
        Labels or functions.
    prototype : Function or None
        What a called function is declared like.
    """

    name: str
    labels: tuple[str, ...]
    prototype: Function | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, register or parameter.

    Attributes
    ----------
    space : str
        ``"reg" "global" "const" "shared" "local" "param"``.
    type : str
        Of an element.
    name : str
        Unique in its function.
    alignment, size : int
        In bytes; the size is 0 for an array without one, and counts vectors.
    initial : tuple
        Elements: constants, or names of variables and functions with offsets.
    linkage : str
        ``"extern" "visible" "weak" "common"`` or empty.
    registers : int
        How many, where a name stands for several, such as ``%r<9>``.
    is_pointer : bool
        Whether a parameter is declared as a pointer.
    """

    space: str
    type: str
    name: str
    alignment: int
    size: int
    initial: tuple[Operand, ...] = ()
    linkage: str = ""
    registers: int = 0
    is_pointer: bool = False


Statement = Instruction | Label | Targets | Variable


@dataclass(slots=True)
class Function:
    """An entry or a function.

    Attributes
    ----------
    name : str
        Its symbol.
    is_entry : bool
        Whether it can be launched.
    parameters, results : list of Variable
        Of its declaration.
    directives : dict of str to tuple of int
        Such as ``"reqntid": (32, 1, 1)``.
    body : list of Statement or None
        None for a declaration.
    line : int
        In the PTX text.
    """

    name: str
    is_entry: bool
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    body: list[Statement] | None = None
    line: int = 0
    linkage: str = ""


@dataclass(slots=True)
class Module:
    """A PTX module: its variables and functions by name."""

    version: tuple[int, int] = (0, 0)
    target: str = ""
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)


def numbered(name: str) -> Iterator[tuple[str, int]]:
    """Yield what a name may be among several registers: ``%r12`` is 12 of %r, or 2 of %r1."""
    for end in range(len(name) - 1, max(len(name) - _MAX_DIGITS, 1) - 1, -1):
        if not name[end].isdecimal():
            return
        if name[end] != "0" or end == len(name) - 1:
            yield name[:end], int(name[end:])
