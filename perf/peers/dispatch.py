"""A peer whose operators are methods, and why a peer is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from cudakern.engines.cuda import device_count, import_cupy
from cudakern.errors import EngineUnavailableError
from perf.cases.gather import GatherProblem
from perf.cases.gather_nd import GatherNDProblem
from perf.cases.nonzero_coordinates import NonzeroProblem
from perf.cases.one_hot import OneHotProblem
from perf.cases.reduce import ReduceProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.cases.base import Array, Module, Problem
    from perf.peers.base import Prepared


class MissingPeerError(Exception):
    """A library cannot be used; the text says in one line why, and what to install."""


class Dispatch:
    """A peer that has an operator where it overrides the method of that name."""

    name: ClassVar[str]

    def prepare(self, problem: Problem, inputs: Sequence[Array]) -> Prepared | None:
        """Return the call for a problem's inputs, or None where it has no such operator."""
        match problem:
            case ReduceProblem():
                return self.reduce(problem, *inputs)
            case NonzeroProblem():
                return self.nonzero(problem, *inputs)
            case GatherProblem() if problem.pattern != "out_of_range":
                return self.gather(problem, *inputs)
            case GatherNDProblem():
                return self.gather_nd(problem, *inputs)
            case OneHotProblem():
                return self.one_hot(problem, *inputs)
        return None

    def reduce(self, problem: ReduceProblem, x: Array) -> Prepared | None:
        """Prepare a reduction."""
        del problem, x
        return None

    def nonzero(self, problem: NonzeroProblem, x: Array) -> Prepared | None:
        """Prepare the coordinates of what is not zero."""
        del problem, x
        return None

    def gather(self, problem: GatherProblem, x: Array, indices: Array) -> Prepared | None:
        """Prepare a gather whose indices are all valid: nobody else takes the nearest valid one."""
        del problem, x, indices
        return None

    def gather_nd(self, problem: GatherNDProblem, x: Array, indices: Array) -> Prepared | None:
        """Prepare a gather of slices."""
        del problem, x, indices
        return None

    def one_hot(self, problem: OneHotProblem, indices: Array) -> Prepared | None:
        """Prepare a one-hot encoding."""
        del problem, indices
        return None


def require_cupy() -> Module:
    """Return CuPy, whose arrays peers are given.

    Raises
    ------
    MissingPeerError
        It is not installed, or there is no device for it.
    """
    try:
        cupy = import_cupy()
    except EngineUnavailableError as error:
        raise MissingPeerError(str(error)) from error
    if device_count() == 0:
        raise MissingPeerError("no CUDA device can be used")
    return cupy


def remarks(*parts: str) -> str:
    """Return the parts that are not empty as one note."""
    return "; ".join(part for part in parts if part)


def other_type(ours: str, theirs: str) -> str:
    """Return a remark on a result's type where it is not ours."""
    return "" if ours == theirs else f"{theirs} in place of {ours}"
