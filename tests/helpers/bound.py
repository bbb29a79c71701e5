"""Bound launches: tables without entries of other tests, and what launches are given."""

from __future__ import annotations

from cudakern.engines import engine_for
from cudakern.engines.base import Launch
from cudakern.operators import binding
from cudakern.operators.gather import function as gather
from cudakern.operators.gather_nd import function as gather_nd
from cudakern.operators.nonzero import function as nonzero
from cudakern.operators.one_hot import function as one_hot
from cudakern.operators.reduce import function as reduce
from cudakern.process.caches import Table, clear_caches

BINDINGS = (
    gather._look_up.binding,  # noqa: SLF001
    gather_nd._look_up.binding,  # noqa: SLF001
    nonzero._binding,  # noqa: SLF001
    one_hot._binding,  # noqa: SLF001
    reduce._binding,  # noqa: SLF001
)


def forget(monkeypatch):
    """Have functions bind all launches anew until the test ends."""
    for function_binding in BINDINGS:
        monkeypatch.setattr(function_binding, "table", Table())


def limit_blocks(monkeypatch, blocks):
    """Have searches take so many blocks at most; their kernels are those that others have."""

    def grid_on(launch, multiprocessors):
        del multiprocessors
        return (min(launch.grid[0], blocks), 1, 1) if launch.most_resident else launch.grid

    monkeypatch.setattr(Launch, "grid_on", grid_on)
    forget(monkeypatch)


class _Listed:
    """An engine whose launches put the addresses of their arrays into a list."""

    def __init__(self, engine, given):
        self._engine, self._given = engine, given

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def prepare(self, launch, place, tensors=()):
        run = self._engine.prepare(launch, place, tensors)

        def call(*addresses):
            self._given.append(addresses)
            run(*addresses)

        return call


def launched(monkeypatch):
    """Return a list that gets the addresses of the arrays of each launch, inputs first."""
    addresses = []
    forget(monkeypatch)
    clear_caches()  # of compiled operators, too
    monkeypatch.setattr(binding, "engine_for", lambda place: _Listed(engine_for(place), addresses))
    return addresses
