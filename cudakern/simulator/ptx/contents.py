"""The entries and variables of a module, as they are kept beside its libraries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

#: Bytes around variables in checked launches, at least: to run over one is to be found.
RED_ZONE = 128
#: Offset in a variable, bytes of the word there, what it is the address of, what is added.
StoredAddress = tuple[int, int, str, int]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a module in memory, with its initial value."""

    name: str
    bytes: int
    alignment: int
    is_constant: bool
    content: str  # hexadecimal, without zeros at its end
    addresses: tuple[StoredAddress, ...]
    holds_functions: bool  # whether its initial value leads to functions, which libraries have


@dataclass(frozen=True, slots=True)
class Contents:
    """The entries and variables of a module."""

    entries: tuple[str, ...]
    #: Those that call functions by address, or pass addresses on: they share a library, so that
    #: each knows the functions of the others.
    joined: tuple[str, ...]
    variables: tuple[Variable, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Self:
        """Return what `to_json` has given."""
        variables = (
            Variable(**{**row, "addresses": tuple(map(tuple, row["addresses"]))})
            for row in record["variables"]
        )
        return cls(tuple(record["entries"]), tuple(record["joined"]), tuple(variables))
