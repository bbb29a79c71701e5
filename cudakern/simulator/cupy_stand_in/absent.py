"""What is said about names that the stand-in does not have."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cudakern.errors import is_inside

if TYPE_CHECKING:
    from collections.abc import Callable

#: Called with each name that is asked for and not there, and with the file and line that asked.
listeners: list[Callable[[str, str, int], None]] = []


def absent(name: str, instead: str = "") -> str:
    """Return the message about a name of CuPy, such as ``cupy.fft.config``, that is not there."""
    if listeners:
        _tell(name)
    instead = instead or "move that part out, to where a GPU is, or compute it on cupy.asnumpy(x)"
    page = "cudakern/simulator/cupy_stand_in/README.md"
    return f"in_place_of_cupy has no {name}; {instead}; {page} lists what it has"


def _tell(name: str) -> None:
    frame = sys._getframe(2)  # noqa: SLF001  whoever asked
    while frame.f_back is not None and is_inside(frame, "importlib"):
        frame = frame.f_back
    if not name.rpartition(".")[2].startswith("__"):
        for listener in [*listeners]:
            listener(name, frame.f_code.co_filename, frame.f_lineno)
