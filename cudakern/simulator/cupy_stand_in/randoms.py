"""cupy.random: NumPy's generators, with CuPy's dtypes. The numbers are not those of a GPU."""

from __future__ import annotations

from functools import cache, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator.cupy_stand_in.arrays import require_device, to_cupy, to_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

#: Functions that return what they return in NumPy, or take a dtype as NumPy's do.
_AS_NUMPY = frozenset({"bytes", "choice", "integers", "permutation", "seed", "shuffle"})
#: Functions that refuse arrays of NumPy's.
_STRICT = frozenset({"normal", "permutation", "shuffle"})
_INTEGERS = frozenset({"randint", "random_integers"})


def wrap_draw(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy's that draws, with a dtype as in CuPy."""

    @wraps(function)
    def draw(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if name in _STRICT and isinstance(value, np.ndarray):
                require_device(f"cupy.random.{name}", value)
        if name in _AS_NUMPY:
            return to_cupy(function(*to_numpy(args), **to_numpy(kwargs)))
        if name in _INTEGERS:
            result = function(*to_numpy(args), **to_numpy(kwargs))
            return to_cupy(result) if isinstance(result, np.ndarray) else int(result)
        dtype = kwargs.pop("dtype", None)
        if args and _is_dtype(args[-1]):
            *args, dtype = args  # type: ignore[assignment]
        result = np.asarray(function(*to_numpy(tuple(args)), **to_numpy(kwargs)))
        return to_cupy(result if dtype is None else result.astype(dtype))

    return draw


def _is_dtype(value: object) -> bool:
    return isinstance(value, str | np.dtype) or (
        isinstance(value, type) and issubclass(value, np.generic | int | float)
    )


class _Drawing:
    """A generator of NumPy's whose arrays are the stand-in's."""

    _source: Any

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._source, name)
        return wrap_draw(name, value) if callable(value) else value


class RandomState(_Drawing):
    """A generator of the old sort."""

    def __init__(self, seed: Any = None, method: int = 0) -> None:
        self._source = np.random.RandomState(to_numpy(seed))


class Generator(_Drawing):
    """A generator of the new sort."""

    def __init__(self, bit_generator: Any) -> None:
        self._source = np.random.Generator(bit_generator)


def default_rng(seed: Any = None) -> Generator:
    """Return a generator."""
    if isinstance(seed, Generator):
        return seed
    is_source = isinstance(seed, np.random.BitGenerator)
    return Generator(seed if is_source else np.random.PCG64(to_numpy(seed)))


@cache
def get_random_state() -> RandomState:
    """Return the generator that the module's functions draw from."""
    state = RandomState.__new__(RandomState)
    state._source = np.random.mtrand._rand  # noqa: SLF001
    return state
