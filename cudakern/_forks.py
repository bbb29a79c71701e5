"""Locks that keep neither a forked process waiting nor a signal's handler."""

from __future__ import annotations

import os
from threading import RLock
from weakref import WeakValueDictionary


class Lock:
    """A lock that is free in a forked process: the thread that held it does not exist there.

    The thread that holds it can take it again: a signal's handler, or a finaliser, may come to it
    anywhere.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        _alive[id(self)] = self

    def __enter__(self) -> None:
        """Wait for the lock and take it."""
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self._lock.release()

    def renew(self) -> None:
        """Be free."""
        self._lock = RLock()


_alive: WeakValueDictionary[int, Lock] = WeakValueDictionary()


def _renew_all() -> None:
    for reference in _alive.valuerefs():
        lock = reference()
        if lock is not None:
            lock.renew()


os.register_at_fork(after_in_child=_renew_all)
