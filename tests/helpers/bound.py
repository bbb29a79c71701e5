"""Bound launches: tables without entries of other tests, and what launches are given."""

from __future__ import annotations

from cudakern.engines import engine_for
from cudakern.engines.base import Launch
from cudakern.operators import binding
from cudakern.process.caches import clear_caches


class _Tables:
    """Empties all tables when an attribute is set, and when monkeypatch undoes that."""

    emptied = False

    def __setattr__(self, name, value):
        clear_caches()

    def __delattr__(self, name):
        clear_caches()


def forget(monkeypatch):
    """Have calls bind all launches anew, and again after the test."""
    monkeypatch.setattr(_Tables(), "emptied", True)


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
    monkeypatch.setattr(binding, "engine_for", lambda place: _Listed(engine_for(place), addresses))
    return addresses
