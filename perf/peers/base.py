"""What a peer is: another library that does the same work, timed beside us."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cudakern.engines.cuda.library import device_count, import_cupy
from cudakern.errors import EngineUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.cases.base import Array, Module, Workload

ALLOCATES, WAITS = "allocates its result", "waits for the count"


class MissingPeerError(Exception):
    """A library cannot be used; the text says in one line why, and what to install."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call of a peer that is ready to be timed."""

    call: Callable[[], Any]  # returns the result, in whatever array type the peer has
    note: str = ""  # how its work differs from ours; empty if it is the same
    captures: bool = True  # whether a graph can capture it: it neither synchronises nor reads back
    scratch_bytes: int = 0  # memory that was allocated beforehand for intermediate data


class Peer:
    """A library with the operators that its methods of these names prepare.

    Such a method takes a workload and its inputs. It returns the call, or None where the library
    has no such operator. It allocates the result if the library can write into a given array.
    """

    name: str  # as results call it: ``"cupy"``, ``"torch"``, ``"cub"``,
    version: str  # of the library, once it is ready

    def ready(self) -> bool:
        """Return whether it can be used yet; MissingPeerError says why it never can be."""
        return True

    def prepare(self, workload: Workload, inputs: Sequence[Array]) -> Prepared | None:
        """Return the call, on the current stream, or None where it has no such operator."""
        method = getattr(self, workload.operator, None)
        # No other library takes the nearest valid index.
        if method is None or getattr(workload, "pattern", "") == "out_of_range":
            return None
        prepared: Prepared | None = method(workload, *inputs)
        return prepared


def require_cupy() -> Module:
    """Return CuPy, whose arrays peers are given, or raise MissingPeerError if it has no device."""
    try:
        cupy = import_cupy()
    except EngineUnavailableError as error:
        raise MissingPeerError(str(error)) from error
    if device_count() == 0:
        raise MissingPeerError("no CUDA device can be used")
    return cupy


def join_notes(*parts: str) -> str:
    """Return the parts that are not empty as one note."""
    return "; ".join(part for part in parts if part)


def allocating(prepared: Prepared | None) -> Prepared | None:
    """Return a call with the note that it allocates its result."""
    if prepared is None or ALLOCATES in prepared.note:
        return prepared
    return replace(prepared, note=join_notes(prepared.note, ALLOCATES))


def note_type(ours: str, theirs: str) -> str:
    """Return a remark on a result's type where it is not ours."""
    return "" if ours == theirs else f"{theirs} in place of {ours}"
