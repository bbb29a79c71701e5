"""Global variables of a compiled kernel."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from cudakern.engines.simulator.sessions import symbols_of
from cudakern.errors import BindingError

if TYPE_CHECKING:
    from cudakern.engines.simulator.host_kernel import HostKernel


def variable_of(kernel: HostKernel, name: str) -> np.ndarray:
    """Return the bytes of a ``__device__`` or ``__constant__`` variable, as a view.

    Raises
    ------
    BindingError
        The kernel's library has no such variable.
    """
    symbols = symbols_of(kernel.path)
    objects = symbols.data_objects()
    found = next((o for o in objects if o.name == name.rsplit("::", 1)[-1]), None)
    if found is None:
        known = ", ".join(o.name for o in objects) or "none"
        requirement = f"must be one of the module's variables ({known}); got {name!r}"
        raise BindingError("RawModule", "name", requirement)
    entry = kernel.entry.value or 0
    base = entry - symbols.address_of(f"ck_sim_entry_{kernel.number}")
    memory = (ctypes.c_uint8 * found.size).from_address(base + found.offset)
    return np.ctypeslib.as_array(memory)
