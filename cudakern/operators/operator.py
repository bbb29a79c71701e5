"""What an operator is to the rest of the package: one object, found by the name of its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cudakern.engines.base import KernelSpec
from cudakern.operators.descriptor import OperatorDesc
from cudakern.operators.examples import Example
from cudakern.process.lazy import load

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The folders of all operators: each has a module ``operator`` with an OPERATOR.
FOLDERS = sorted(path.parent.name for path in Path(__file__).parent.glob("*/operator.py"))


@dataclass(frozen=True)
class Operator:
    """An operator: its functions, kernels, descriptors and examples."""

    name: str  # in messages, of its kernels' source, of its cache and of its benchmarks
    functions: tuple[Callable[..., Any], ...]  # that are public
    specialisations: Callable[[], Iterable[KernelSpec]]  # of its kernels
    descriptors: tuple[type[OperatorDesc], ...]
    examples: Callable[[], Iterable[Example]]  # that the pages of the descriptors have

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.functions[0].__module__.split(".")[-2]


def operators() -> Iterator[Operator]:
    """Yield all operators."""
    for folder in FOLDERS:
        yield load(f"cudakern.operators.{folder}.operator").OPERATOR


def specialisations() -> Iterator[KernelSpec]:
    """Yield the kernels of all operators; of reduce, those that its plan lists."""
    return chain.from_iterable(operator.specialisations() for operator in operators())


def examples() -> Iterator[Example]:
    """Yield the examples of all operators' pages."""
    return chain.from_iterable(operator.examples() for operator in operators())
