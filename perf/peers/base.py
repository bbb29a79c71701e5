"""What a peer is: another library that solves the same problem, timed beside us."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.cases.base import Array, Problem


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call of a peer that is ready to be timed.

    Attributes
    ----------
    call : callable
        Does the work and returns the result, in whatever array type the peer has.
    note : str
        In what its work differs from ours: another type of the result, an intermediate copy. Empty
        if it is the same.
    captures : bool
        Whether the call can be captured into a graph: it neither synchronises nor reads back.
    scratch_bytes : int
        Memory that was allocated beforehand for intermediate data.
    """

    call: Callable[[], Any]
    note: str = ""
    captures: bool = True
    scratch_bytes: int = 0


class Peer(Protocol):
    """A library with some of the operators."""

    @property
    def name(self) -> str:
        """As results call it: ``"cupy"``, ``"torch"``, ``"cub"``, ..."""

    @property
    def version(self) -> str:
        """Of the library."""

    def prepare(self, problem: Problem, inputs: Sequence[Array]) -> Prepared | None:
        """Return the call for a problem's inputs, or None where it has no such operator.

        The result is allocated here wherever the library can write into a given array. What it
        compiles or tunes at its first call is done by that call. It works on the stream that is
        current now, and is called where that is still so.
        """
