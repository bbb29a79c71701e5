"""Arrays of plain launches that the runtime copies into guarded memory, which catches overruns."""

from __future__ import annotations

import ctypes
import struct
import weakref
from typing import TYPE_CHECKING

import numpy as np

from cudakern.simulator.runtime.abi_parser import read_constant

if TYPE_CHECKING:
    from cudakern.simulator.launching.launch_parameters import PackedArguments
    from cudakern.simulator.libraries.loaded import LoadedKernel

#: Of an allocation.
_MOST_BYTES = read_constant("runtime/guarded_arrays.hpp", "kMostGuardedBytes")


#: Owners of memory that kernels may have kept the addresses of, by their ids.
_kept: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()


def pack_guarded_arrays(arguments: PackedArguments, kernel: LoadedKernel) -> bytes | None:
    """Return the arrays of a launch that the runtime may guard, in its form; None for none.

    It guards the whole allocation that an array lies in, and only one that NumPy made. It guards
    none from the first launch on that may keep an address of it, which must not be a copy's.
    """
    words: list[int] = []
    any_kept = bool(_kept)
    for position, offset, address, array in arguments.arrays:
        owner, base = array, array.base
        while isinstance(base, np.ndarray):
            owner, base = base, base.base
        if position in kernel.kept_parameters:
            _kept[id(owner)] = owner
            any_kept = True
        nbytes = owner.nbytes
        if nbytes <= _MOST_BYTES and base is None and owner.flags.owndata:
            if any_kept and _kept.get(id(owner)) is owner:
                continue
            start = address if owner is array else owner.__array_interface__["data"][0]
            words += (position, offset, start, nbytes)
    if not words:
        return None
    module = kernel.module
    variables = ctypes.addressof(module.variable_table)
    head = (variables, len(module.variables), len(words) // 4)
    return struct.pack(f"{3 + len(words)}Q", *head, *words)
