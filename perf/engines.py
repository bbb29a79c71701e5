"""Engines in place of a real one, or around it, that show its launches."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from cudakern.engines import use
from cudakern.operators.nonzero import plan as nonzero_plan
from cudakern.process.caches import clear_caches
from cudakern.simulator import traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from cudakern.engines.base import Engine, KernelSpec, Launch, T, Tensor
    from cudakern.simulator import KernelTraffic
    from perf.cases.base import Workload


class NullEngine:
    """Compiles nothing and launches nothing; keeps the launches that it prepares."""

    name = "null"

    def __init__(self) -> None:
        self.launches: list[Launch] = []

    def compile(self, spec: KernelSpec, device: int) -> Path:  # noqa: ARG002
        """Return the file that is always empty."""
        return Path(os.devnull)

    def prepare(
        self, launch: Launch, device: int, tensors: Sequence[Tensor] = ()
    ) -> Callable[..., None]:
        """Return a callable that takes the addresses and does nothing."""
        del device, tensors
        self.launches.append(launch)
        return lambda *_addresses: None

    def current_device(self) -> int:
        """Return 0."""
        return 0

    def is_captured(self, device: int) -> bool:  # noqa: ARG002
        """Return False."""
        return False

    def temporary(self, device: int, make: Callable[[], T]) -> T:  # noqa: ARG002
        """Return what a call makes for itself."""
        return make()


def launch_of(workload: Workload) -> Launch:
    """Return the launch of a workload's call, which does not run."""
    call = workload.call(workload.blank(np), workload.outputs(np))
    engine = NullEngine()
    with use(engine):
        call()
    return engine.launches[-1]


@contextmanager
def planned_with(plan: ModuleType, **constants: Any) -> Iterator[None]:  # noqa: ANN401
    """Have an operator plan all calls anew with other constants, and again afterwards."""
    clear_caches()
    try:
        with mock.patch.multiple(plan, **constants):
            yield
    finally:
        clear_caches()


@contextmanager
def planned_as(workload: Workload) -> Iterator[None]:
    """Have smaller workloads take two launches if this one does."""
    clear_caches()
    least = nonzero_plan.COUNTED_SIZE if launch_of(workload).first is None else 0
    with planned_with(nonzero_plan, COUNTED_SIZE=least):
        yield


def kernel_traffic(workload: Workload, blocks: int | None = None) -> list[KernelTraffic]:
    """Return what a workload's kernels move in the simulator; `blocks` of each run, or all."""
    call = workload.call(workload.inputs(np, 0), workload.outputs(np))
    with traffic(blocks=blocks) as report:
        call()
    return report.kernels


class RecordingEngine:
    """An engine around another; `launches` has all launches since it was cleared."""

    def __init__(self, engine: Engine) -> None:
        self.name, self.compile, self._prepare = engine.name, engine.compile, engine.prepare
        self.current_device, self.temporary = engine.current_device, engine.temporary
        self.is_captured = engine.is_captured
        self.launches: list[Launch] = []

    def prepare(
        self, launch: Launch, device: int, tensors: Sequence[Tensor] = ()
    ) -> Callable[..., None]:
        """Prepare a launch, which is noted each time it runs."""
        run, note = self._prepare(launch, device, tensors), self.launches.append

        def call(*addresses: int) -> None:
            note(launch)
            run(*addresses)

        return call
