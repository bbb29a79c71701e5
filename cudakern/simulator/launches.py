"""A kernel compiled for checked launches; and what may be wrong with any launch."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import TYPE_CHECKING

from cudakern.errors import BindingError, SimulatorError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cudakern.engines.base import Grid

#: A GPU's limits.
_MAX_THREADS = 1024
_MAX_BLOCK = (1024, 1024, 64)
_MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_SHARED_BYTES = 227 * 1024
MAX_PARAMETER_BYTES = 32764
_MAX_CHECKED_PARAMETER_BYTES = 4096


class ParameterKind(IntEnum):
    """What a kernel's parameter is, as in cuda_host.hpp and translate.py."""

    OTHER = 0
    POINTER = 1
    INTEGER = 2
    FLOATING = 3
    #: An address or an integer of its size: PTX does not tell them apart.
    WORD = 4


class Report(ctypes.Structure):
    """What a failed launch leaves behind, as in scheduler.hpp."""

    _fields_ = (
        ("kind", ctypes.c_char * 32),
        ("message", ctypes.c_char * 480),
        ("block", ctypes.c_uint32 * 3),
        ("thread", ctypes.c_uint32 * 3),
    )


class HostKernel:
    """A kernel compiled for checked launches. It stays loaded until the process ends.

    Attributes
    ----------
    name : str
        Name of its entry point.
    parameter_sizes : tuple of int
        Bytes of each of its parameters.
    parameter_kinds : tuple of ParameterKind
        What each of them is.
    entry : ctypes.c_void_p
        Where it starts.
    runtime : ctypes.CDLL
        What runs it.
    path, number : Path, int
        The library it was loaded from, and which of its kernels it is.
    """

    def __init__(
        self,
        name: str,
        runtime: ctypes.CDLL,
        library: ctypes.CDLL,
        number: int,
        path: Path,
    ) -> None:
        self.name = name
        self.number = number
        self.path = path
        self.runtime = runtime
        self.entry = ctypes.cast(library[f"ck_sim_entry_{number}"], ctypes.c_void_p)
        found = ctypes.POINTER(ctypes.c_uint32)()
        count = library[f"ck_sim_parameters_{number}"](ctypes.byref(found))
        self.parameter_sizes = tuple(found[:count])
        self.parameter_kinds = tuple(map(ParameterKind, found[count : 2 * count]))

    def required_bytes(self, offsets: Sequence[int]) -> int:
        """Return how many bytes parameters at these offsets take; BindingError if that is wrong."""
        most = _MAX_CHECKED_PARAMETER_BYTES
        return required_bytes(self.name, self.parameter_sizes, offsets, most)


def required_bytes(name: str, sizes: Sequence[int], offsets: Sequence[int], most: int) -> int:
    """Return how many bytes parameters of these sizes take at offsets, or raise BindingError."""
    if len(offsets) != len(sizes):
        requirement = f"must be {len(sizes)} parameters; got {len(offsets)}"
        raise BindingError(name, "arguments", requirement)
    required = max((start + size for start, size in zip(offsets, sizes, strict=True)), default=0)
    if required > most:
        requirement = f"must have at most {most} bytes; got {required}"
        raise BindingError(name, "arguments", requirement)
    return required


def check_shape(name: str, grid: Grid, block: Grid, shared_bytes: int) -> None:
    """Raise BindingError for a launch that no GPU could run."""
    threads = block[0] * block[1] * block[2]
    inside = all(
        1 <= size <= limit
        for size, limit in zip((*grid, *block), (*_MAX_GRID, *_MAX_BLOCK), strict=True)
    )
    if not inside or threads > _MAX_THREADS:
        requirement = (
            f"must have 1 to {_MAX_THREADS} threads a block, at most {_MAX_BLOCK}, "
            f"and a grid of 1 to {_MAX_GRID}"
        )
        raise BindingError(name, "launch", f"{requirement}; got grid {grid}, block {block}")
    if not 0 <= shared_bytes <= MAX_SHARED_BYTES:
        requirement = f"must have at most {MAX_SHARED_BYTES} bytes of shared memory"
        raise BindingError(name, "launch", f"{requirement}; got {shared_bytes}")


def error_of(name: str, report: Report) -> SimulatorError:
    """Return the error that a report stands for."""
    return SimulatorError(
        report.kind.decode(),
        name,
        tuple(report.block),
        tuple(report.thread),
        report.message.decode(errors="replace"),
    )
