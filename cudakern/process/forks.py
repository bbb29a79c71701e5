"""Locks that outlive forks and signals' handlers, and work that these do not divide."""

from __future__ import annotations

import _thread
import atexit
import errno
import os
import threading
import time
from threading import Condition, RLock
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
#: NVRTC needs some hundred KiB of stack, which not every thread of a program has.
_STACK_BYTES = 16 << 20
#: Seconds after which a thread that waits looks for signals, which do not always wake it.
PATIENCE = 0.1
LATE = 2.0  # seconds after which a thread that waits says what for


class Lock:
    """A lock that is free in a forked process, unless the thread that forked holds it.

    No other thread exists there. The thread that holds it can take it again: a signal's handler or
    a finaliser may ask for it anywhere.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        _alive[id(self)] = self

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Free the lock of a thread that does not exist in this process."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = RLock()


class AwaitedLock(Lock):
    """A lock for whose release a fork waits: what it guards is whole in the forked process."""

    def __init__(self) -> None:
        super().__init__()
        _awaited.append(self)


class Cancelled:
    """A flag that tells work that nobody waits for its result any more."""

    def __init__(self) -> None:
        self.word = bytearray(b"0\0")  # a string of C, whose code looks for "1"

    def __bool__(self) -> bool:
        """Return whether the work can stop."""
        return self.word.startswith(b"1")

    def cancel(self, *, cancelled: bool = True) -> None:
        """Set the flag, or clear it. A signal's handler may call this."""
        self.word[:1] = b"1" if cancelled else b"0"


def start(function: Callable[[], None]) -> None:
    """Run a function on a thread with a large stack; raise OSError if there is no room for one."""
    with _starting:
        before = threading.stack_size(_STACK_BYTES)
        try:
            # A Thread's start waits for it: for ever in a process that is forked then.
            _thread.start_new_thread(function, ())
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
        finally:
            threading.stack_size(before)


def run_to_completion(
    work: Callable[[Cancelled], T],
    late: Callable[[], None] | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> T:
    """Call a function that neither a signal's handler nor a fork divides; return its result.

    It runs on a thread of its own, where no handler runs, and a fork waits until it has ended. So a
    forked process has all of the work or nothing of it. The caller calls ``meanwhile``, then waits
    and runs handlers; if a handler raises, the work must stop. The caller calls ``late`` again and
    again once the work takes long. If all work is to stop, it still waits for what has begun.

    Raises what the function raises, OSError without room, KeyboardInterrupt if all work is to stop.
    """
    if stopping:
        raise KeyboardInterrupt
    process, running, cancelled = os.getpid(), threading.Lock(), Cancelled()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            with _running_work:
                results.append(work(cancelled))
        except BaseException as error:  # noqa: BLE001  raised below
            errors.append(error)
        running.release()

    running.acquire()
    begun = time.monotonic()
    try:
        start(run)
        if meanwhile is not None:
            meanwhile()
        while not running.acquire(timeout=PATIENCE):
            if os.getpid() != process:  # a handler has forked, and the thread is not here
                return run_to_completion(work, late)
            if stopping:
                cancelled.cancel()
            if late is not None and time.monotonic() - begun > LATE:
                late()
    finally:
        cancelled.cancel()
    if errors:
        raise errors[0]
    return results[0]


class _RunningWork:
    """Counts the work that a fork, or the end of the process, waits for."""

    def __init__(self) -> None:
        self.forget()
        atexit.register(self._end)

    def __enter__(self) -> None:
        with self._ended:
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._ended:
            self._running -= 1
            self._ended.notify_all()

    def stop(self) -> None:
        """Wait until no work is under way, and let none begin."""
        self._ended.acquire()
        self._ended.wait_for(lambda: not self._running)

    def go_on(self) -> None:
        """Let work begin again."""
        self._ended.release()

    def forget(self) -> None:
        """Be as in a new process."""
        self._ended, self._running = Condition(), 0

    def _end(self) -> None:
        self.stop()
        self.go_on()


_alive: WeakValueDictionary[int, Lock] = WeakValueDictionary()
_awaited: list[AwaitedLock] = []
_held: list[AwaitedLock] = []  # by a fork
_running_work = _RunningWork()
#: Tells the work of all threads, to which no signal's handler comes, that the program is to end.
stopping = Cancelled()
#: Held while a thread starts: the size of stacks is a setting of the process.
_starting = Lock()


def _stop() -> None:
    """Take the locks that a fork waits for, then wait for work, which may import more of them."""
    while True:
        for lock in _awaited[len(_held) :]:
            lock.__enter__()
            _held.append(lock)
        _running_work.stop()
        if len(_held) == len(_awaited):
            return
        _running_work.go_on()


def _release() -> None:
    while _held:
        _held.pop().__exit__()


def _go_on() -> None:
    _running_work.go_on()
    _release()


def _begin_anew() -> None:
    _running_work.forget()
    _release()
    for lock in filter(None, [reference() for reference in _alive.valuerefs()]):
        lock.renew()


os.register_at_fork(before=_stop, after_in_parent=_go_on, after_in_child=_begin_anew)
