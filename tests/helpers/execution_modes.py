"""Kernels in a mode of execution that a test names."""

from __future__ import annotations

from contextlib import contextmanager

from cudakern.simulator.libraries import execution_mode


@contextmanager
def force(mode):
    """Run kernels that are loaded inside of the context in a mode."""
    before, execution_mode.chosen = execution_mode.chosen, mode
    try:
        yield
    finally:
        execution_mode.chosen = before
