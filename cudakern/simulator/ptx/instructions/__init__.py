"""The table of instructions, by the chapters of the PTX ISA manual."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from cudakern.simulator.ptx.forms import Table

#: Each has ``FORMS``, and ``HEADER``: the C++ that they use.
CHAPTERS = (
    *("integers", "compare", "logic", "video"),
    *("floats", "halves", "conversions", "matrix"),
    *("warps", "barriers", "atomics", "half_atomics", "asynchronous", "miscellaneous"),
)


@cache
def table() -> Table:
    """Return the table."""
    modules = [import_module(f"{__name__}.{name}") for name in CHAPTERS]
    return Table((one, module.HEADER) for module in modules for one in module.FORMS)
