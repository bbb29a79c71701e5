"""NVTX ranges of the public calls, which profilers show: domain ``cudakern``, ``cudakern:gather``.

Whether a tool listens is decided once, at import. If none does, the decorators return their
arguments, and the package nvtx is not imported.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
R = TypeVar("R")

DOMAIN = "cudakern"


def _find_domain() -> Any:  # noqa: ANN401  nvtx has no types
    """Return the domain that a tool listens to, or None."""
    if not os.environ.get("NVTX_INJECTION64_PATH"):  # of the tool's library that NVTX loads
        return None
    try:
        import nvtx  # noqa: PLC0415  optional
    except ImportError:
        return None
    domain = nvtx.get_domain(DOMAIN)
    # The domain that replaces it if no tool listens registers nothing.
    return None if domain.get_registered_string(DOMAIN) is None else domain


_domain = _find_domain()


@cache
def _attributes(operator: str) -> Any:  # noqa: ANN401
    return _domain.get_event_attributes(message=f"{DOMAIN}:{operator}")


def _make_range(function: Callable[P, R], operator_of: Callable[..., str]) -> Callable[P, R]:
    """Make each call of a function a range; ``operator_of`` takes its arguments."""
    if _domain is None:
        return function

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        _domain.push_range(_attributes(operator_of(*args)))
        try:
            return function(*args, **kwargs)
        finally:
            _domain.pop_range()

    return call


def nvtx_range(operator: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that makes each call of a function a range ``cudakern:<operator>``."""
    return lambda function: _make_range(function, lambda *_: operator)


def nvtx_range_of_method(method: Callable[P, R]) -> Callable[P, R]:
    """Make each call of a method a range named after the operator of its descriptor."""
    return _make_range(method, lambda self, *_: str(self.desc.operator))


@contextmanager
def mark_range(name: str, payload: int) -> Iterator[None]:
    """Make the block a range of this name, with a number that the tool shows beside it."""
    if _domain is None:
        yield
        return
    _domain.push_range(_domain.get_event_attributes(message=name, payload=payload))
    try:
        yield
    finally:
        _domain.pop_range()
