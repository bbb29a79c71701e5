"""The benchmark matrix: cases of all operators, how time grows with size, shapes between.

Each operator has a module of its name here, with

- CASES, rows of the matrix, named by the operator's letter and a number;
- SWEEP, one case, whose lines are one workload at growing sizes;
- SMALL, a workload for what calls cost on the host, about 1024 elements;
- SIMULATED, workloads whose time in the simulator is compared with NumPy's, besides SMALL;
- GRAPHS, calls of each of its functions over dask arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cudakern.operators.operator import operators
from perf.cases import shapes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from perf.cases.base import Case, Workload

#: By operator.
MODULES: dict[str, ModuleType] = {
    operator.name: import_module(f"perf.cases.{operator.name}") for operator in operators()
}
SMALL: dict[str, Workload] = {name: module.SMALL for name, module in MODULES.items()}
_UNSORTED: list[Case] = [case for module in MODULES.values() for case in module.CASES]
_LETTERS = [*dict.fromkeys(case.name[0] for case in _UNSORTED)]
#: By letter, in the order of the operators, and number.
CASES: tuple[Case, ...] = tuple(
    sorted(_UNSORTED, key=lambda case: (_LETTERS.index(case.name[0]), int(case.name[2:])))
)
#: One for each operator.
SWEEPS: tuple[Case, ...] = tuple(module.SWEEP for module in MODULES.values())
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
