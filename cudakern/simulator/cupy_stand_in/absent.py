"""What is said about names that the stand-in does not have."""

from __future__ import annotations

PAGE = "cudakern/simulator/cupy_stand_in/README.md"


def absent(name: str, instead: str = "") -> str:
    """Return the message about a name of CuPy, such as ``cupy.fft.config``, that is not there."""
    instead = instead or "move that part out, to where a GPU is, or compute it on cupy.asnumpy(x)"
    return f"in_place_of_cupy has no {name}; {instead}; {PAGE} lists what it has"


def only_in_numpy(name: str) -> str:
    """Return the message about a name that NumPy has and CuPy does not have either."""
    other = "numpy" + name.removeprefix("cupy")
    return f"CuPy has no {name}, nor has in_place_of_cupy; {other} takes cupy.asnumpy(x)"
