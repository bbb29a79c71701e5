"""The benchmark matrix: 37 cases of five operators, how time grows with size, shapes between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf.cases import gather, gather_nd, nonzero_coordinates, one_hot, reduce, shapes
from perf.cases.gather import GatherWorkload
from perf.cases.gather_nd import GatherNDWorkload
from perf.cases.nonzero_coordinates import NonzeroWorkload
from perf.cases.one_hot import OneHotWorkload
from perf.cases.reduce import ReduceWorkload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perf.cases.base import Case

__all__ = [
    "CASES",
    "SHAPES",
    "SWEEPS",
    "GatherNDWorkload",
    "GatherWorkload",
    "NonzeroWorkload",
    "OneHotWorkload",
    "ReduceWorkload",
    "find",
]

_MODULES = (reduce, nonzero_coordinates, gather, gather_nd, one_hot)
#: By name: R-1 to R-10, Z-1 to Z-9, G-1 to G-10, O-1 to O-8.
CASES: tuple[Case, ...] = tuple(
    sorted(
        (case for module in _MODULES for case in module.CASES),
        key=lambda case: ("RZGO".index(case.name[0]), int(case.name[2:])),
    )
)
#: One for each operator; its lines are one workload at growing sizes.
SWEEPS: tuple[Case, ...] = tuple(module.SWEEP for module in _MODULES)
#: S-1 to S-7.
SHAPES: tuple[Case, ...] = shapes.CASES


def find(names: Iterable[str]) -> tuple[Case, ...]:
    """Return cases, sweeps and shapes by name, or all; ValueError is raised for an unknown name."""
    known = {case.name: case for case in CASES + SWEEPS + SHAPES}
    names = tuple(names) or tuple(known)
    for name in names:
        if name not in known:
            message = f"case must be one of {', '.join(known)}; got {name!r}"
            raise ValueError(message)
    return tuple(known[name] for name in names)
