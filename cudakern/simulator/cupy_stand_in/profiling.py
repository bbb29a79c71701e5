"""cupyx.profiler, and NVTX: times of this machine, and ranges that are not recorded."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

#: How long `benchmark` goes on at most: on a GPU 10,000 calls, its default, take less.
_MOST_SECONDS = 10.0


def do_nothing(*_: object, **__: object) -> None:
    """Do nothing."""


@contextmanager
def profile() -> Iterator[None]:
    """Do nothing."""
    yield


class time_range(ContextDecorator, AbstractContextManager["time_range"]):  # noqa: N801  CuPy's name
    """A range of time that is not recorded."""

    def __init__(
        self,
        message: str | None = None,
        color_id: int | None = None,
        argb_color: int | None = None,
        sync: bool = False,
    ) -> None:
        del message, color_id, argb_color, sync

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


class _Times:
    """Seconds that `benchmark` measured by the clock of this machine."""

    def __init__(self, name: str, times: list[float]) -> None:
        self.name = name
        self.cpu_times = np.array(times)
        self.gpu_times = np.array([times])
        self.devices = (0,)

    def to_str(self, show_gpu: bool = False) -> str:
        return f"{self.name:<20}:    CPU: {self.cpu_times.mean() * 1e6:9.3f} us, in the simulator"

    def __str__(self) -> str:
        return self.to_str()


def benchmark(
    func: Callable[..., object],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] = {},
    n_repeat: int = 10000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = float("inf"),
    devices: object = None,
) -> _Times:
    """Time a function on this machine, ``n_repeat`` times but at most for ten seconds."""
    end = time.perf_counter() + _MOST_SECONDS
    for _ in range(n_warmup):
        if time.perf_counter() < end:
            func(*args, **kwargs)
    times: list[float] = []
    start = time.perf_counter()
    end = min(end, start + max_duration)
    while len(times) < n_repeat and (not times or time.perf_counter() < end):
        before = time.perf_counter()
        func(*args, **kwargs)
        times.append(time.perf_counter() - before)
    return _Times(name or str(getattr(func, "__name__", "func")), times)
