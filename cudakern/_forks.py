"""What threads hold or do when a process forks; locks that a signal's handler can take again."""

from __future__ import annotations

import os
from threading import Condition, RLock
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


class Undivided:
    """Work that a fork waits for: a forked process would have the half of it."""

    def __init__(self) -> None:
        self._ended, self._running = Condition(), 0
        os.register_at_fork(
            before=self._await, after_in_parent=self._go_on, after_in_child=self._forget
        )

    def __enter__(self) -> None:
        """Begin a piece of work, on whatever thread."""
        with self._ended:
            self._running += 1

    def __exit__(self, *_: object) -> None:
        """End it."""
        with self._ended:
            self._running -= 1
            self._ended.notify_all()

    def _await(self) -> None:
        self._ended.acquire()
        self._ended.wait_for(lambda: not self._running)

    def _go_on(self) -> None:
        self._ended.release()

    def _forget(self) -> None:
        self._ended, self._running = Condition(), 0


_alive: WeakValueDictionary[int, Lock] = WeakValueDictionary()


def _renew_all() -> None:
    for reference in _alive.valuerefs():
        lock = reference()
        if lock is not None:
            lock.renew()


os.register_at_fork(after_in_child=_renew_all)
