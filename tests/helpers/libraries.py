"""The libraries of the extra ``interop``, whose tests are left out where they are missing."""

from __future__ import annotations

from importlib.util import find_spec

LIBRARIES = ("dask", "distributed", "jax", "numba", "scipy", "torch")
ABSENT = [library for library in LIBRARIES if find_spec(library) is None]
