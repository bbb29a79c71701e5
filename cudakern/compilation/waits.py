"""Messages about work that takes long: after two seconds, then every ten; none if CUDAKERN_QUIET=1.

What a kind of work has to do with is told once in a process.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from cudakern.compilation.cache import one_line, survey
from cudakern.process import forks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: The kinds of work: what a message adds to the name of the work.
KERNELS = "kernels are compiled at their first use and kept in {}"
ZIGLANG = "ziglang may take a minute at its first start; what it makes is kept in {}"

INTERVAL = 10.0  # seconds between two lines about the same work

_unsaid = {KERNELS, ZIGLANG}
_silenced: set[str] = set()
_last = [0.0]  # when a line was told, by the monotonic clock


def make_announcer(kind: str, doing: str) -> Callable[[], None]:
    """Return a function that says what is still going on, such as "compiling gather.cu".

    It is called again and again, by any thread, and says so every ten seconds.
    """
    begun = time.monotonic()

    def say() -> None:
        now = time.monotonic()
        if kind in _unsaid:
            _say(kind, doing)
        elif kind not in _silenced and now - _last[0] >= INTERVAL:
            _tell(f"still {one_line(doing)}, {now - begun:.0f} s so far")

    return say


@contextmanager
def announce(kind: str, doing: str, so_far: Callable[[], str] | None = None) -> Iterator[None]:
    """Say what goes on inside of a block if it takes long, then ``so_far`` every ten seconds."""
    ended = _thread.allocate_lock()
    ended.acquire()

    def watch() -> None:
        if ended.acquire(timeout=forks.LATE):
            return
        _say(kind, doing)
        while so_far is not None and not ended.acquire(timeout=INTERVAL):
            _tell(so_far())

    with suppress(OSError):  # there is no room for a thread
        forks.start(watch)
    try:
        yield
    finally:
        ended.release()


def silence(kind: str) -> None:
    """Say nothing about a kind from now on: something else shows it."""
    _unsaid.discard(kind)
    _silenced.add(kind)


def _say(kind: str, doing: str) -> None:
    try:
        _unsaid.remove(kind)  # of several threads, one can
    except KeyError:
        return
    with suppress(Exception):  # there is no folder
        remark = kind.format(one_line(survey().writable or "a folder of this process"))
        _tell(f"still {one_line(doing)}; {remark} (CUDAKERN_QUIET=1 ends this message)")


def _tell(text: str) -> None:
    _last[0] = time.monotonic()
    if os.environ.get("CUDAKERN_QUIET", "0") != "1":
        with suppress(Exception):  # a stream may be closed, missing or somebody's own
            sys.stderr.write(f"cudakern: {text}\n")
            sys.stderr.flush()
