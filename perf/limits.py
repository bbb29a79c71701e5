"""What ends a command before it is done: its minutes, and SIGTERM, which does what Ctrl-C does."""

from __future__ import annotations

import argparse
import math
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def parse_minutes(text: str) -> float:
    """Return the minutes that an argument gives."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        message = f"must be a positive number; got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return value


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Have SIGTERM, which ``timeout`` sends, end what runs inside like Ctrl-C."""

    def interrupt(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # ``timeout`` sends it twice
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
