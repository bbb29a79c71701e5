"""Exit statuses of commands, and the signals that end them."""

from __future__ import annotations

import signal

USAGE = 2
#: A shell adds this to the number of a signal.
SIGNALLED = 128
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
