"""What is said about names that the stand-in does not have."""

from __future__ import annotations


def absent(name: str, instead: str = "") -> str:
    """Return the message about a name of CuPy, such as ``cupy.fft.config``, that is not there."""
    instead = instead or "move that part out, to where a GPU is, or compute it on cupy.asnumpy(x)"
    page = "cudakern/simulator/cupy_stand_in/README.md"
    return f"in_place_of_cupy has no {name}; {instead}; {page} lists what it has"
