"""What programs take of CuPy's private modules, and of its settings."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from math import prod as multiply
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.cupy_stand_in.absent import absent
from cudakern.simulator.cupy_stand_in.parameters import c_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class PerformanceWarning(RuntimeWarning):
    """A warning of slow work, which the stand-in never gives."""

    __module__ = "cupy._util"


def get_typename(dtype: Any, type_decls: object = None) -> str:
    """Return what CUDA C++ calls a dtype, of which none has declarations."""
    if dtype is None:
        message = "dtype is None"
        raise ValueError(message)
    kind = np.dtype(dtype)
    return f"{'thrust::' if kind.kind == 'c' else ''}{c_type(kind)}"


def prod(args: Iterable[int]) -> int:
    """Return the product of integers."""
    return multiply(map(int, args))


def clp2(x: int) -> int:
    """Return the least power of two that is not below a number."""
    return 1 << (x - 1).bit_length() if x > 0 else 0


def get_size(size: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return a size as a tuple."""
    if size is None:
        return ()
    return tuple(size) if isinstance(size, list | tuple) else (int(size),)  # type: ignore[arg-type]


def normalize_axis_index(axis: int, ndim: int) -> int:
    """Return an axis counted from the first; AxisError if there is none."""
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def get_accelerators() -> list[str]:
    """Return the libraries that compute: none."""
    return []


def set_accelerators(accelerators: Sequence[str]) -> None:
    """Do nothing: NumPy computes."""


def experimental(api_name: str) -> None:
    """Do nothing: nothing warns."""


def get_cuda_path() -> None:
    """Return None: no toolkit is needed."""


class _Errors(threading.local):
    """A thread's setting of what an error in linear algebra does, which has no effect."""

    linalg = "ignore"


_errors = _Errors()


def geterr() -> dict[str, str | None]:
    """Return what errors do."""
    return {**dict.fromkeys(("divide", "over", "under", "invalid")), "linalg": _errors.linalg}


def seterr(
    *,
    divide: None = None,
    over: None = None,
    under: None = None,
    invalid: None = None,
    linalg: str | None = None,
) -> dict[str, str | None]:
    """Keep what errors do in ``linalg``; NotImplementedError for others, as in CuPy."""
    before = geterr()
    others = {"divide": divide, "over": over, "under": under, "invalid": invalid}
    given = [name for name, value in others.items() if value is not None]
    if given or linalg not in {None, "ignore", "raise"}:
        message = "cupyx.seterr: linalg alone must be given, ignore or raise; got "
        raise NotImplementedError(message + ", ".join(given or [repr(linalg)]))
    _errors.linalg = linalg or _errors.linalg
    return before


@contextmanager
def errstate(
    *,
    divide: None = None,
    over: None = None,
    under: None = None,
    invalid: None = None,
    linalg: str | None = None,
) -> Iterator[None]:
    """Set what errors do inside of a block, as `seterr`."""
    before = seterr(divide=divide, over=over, under=under, invalid=invalid, linalg=linalg)
    try:
        yield
    finally:
        seterr(**before)  # type: ignore[arg-type]


class PlanCache:
    """The plans of Fourier transforms: none, for NumPy makes them."""

    def __init__(self) -> None:
        self._size, self._memsize = 16, -1

    def get_size(self) -> int:
        """Return the number of plans that it may have."""
        return self._size

    def set_size(self, size: int) -> None:
        """Keep a number, which has no effect."""
        self._size = size

    def get_memsize(self) -> int:
        """Return the number of bytes that it may have, -1 for any."""
        return self._memsize

    def set_memsize(self, memsize: int) -> None:
        """Keep a number, which has no effect."""
        self._memsize = memsize

    def get_curr_size(self) -> int:
        """Return 0."""
        return 0

    get_curr_memsize = get_curr_size

    def clear(self) -> None:
        """Do nothing."""

    def show_info(self) -> None:
        """Print that there are none."""
        print("no plans: NumPy transforms")  # noqa: T201


_PLANS = PlanCache()


class _Settings(ModuleType):
    """The module that stands for ``cupy.fft.config``, whose attributes programs set."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(self.missing(name), name=name, obj=self)

    def missing(self, name: str) -> str:
        return absent(f"{self.__name__}.{name}", "NumPy transforms: there is no callback")


FFT_CONFIG = _Settings("cupy.fft.config")
vars(FFT_CONFIG).update(
    enable_nd_planning=True,
    use_multi_gpus=False,
    get_plan_cache=lambda: _PLANS,
    clear_plan_cache=_PLANS.clear,
    get_plan_cache_size=_PLANS.get_size,
    set_plan_cache_size=_PLANS.set_size,
    get_plan_cache_max_memsize=_PLANS.get_memsize,
    set_plan_cache_max_memsize=_PLANS.set_memsize,
    show_plan_cache_info=_PLANS.show_info,
    set_cufft_gpus=lambda gpus: None,
)
