"""Global variables of a compiled kernel."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from cudakern.engines.simulator.sessions import symbols_of
from cudakern.errors import BindingError

if TYPE_CHECKING:
    from cudakern.engines.simulator.host_kernel import HostKernel
    from cudakern.engines.simulator.symbols import Object


def variable_of(kernel: HostKernel, name: str) -> np.ndarray:
    """Return the bytes of a ``__device__`` or ``__constant__`` variable, as a view.

    Raises
    ------
    BindingError
        The kernel's library has no such variable, or several.
    """
    symbols = symbols_of(kernel.path)
    found = [*symbols.variables(name).values()]
    if len(found) != 1:
        known = ", ".join(dict.fromkeys(o.name for o in symbols.data_objects())) or "none"
        requirement = f"must be one of the module's variables ({known}); got {name!r}"
        if found:
            requirement = f"must be that of one variable; {len(found)} are called {name!r}"
        raise BindingError("RawModule", "name", requirement)
    view = _view(kernel, found[0])
    view.flags.writeable = symbols.is_writable(found[0])
    return view


def copy_variables(source: HostKernel, target: HostKernel) -> None:
    """Copy what kernels can write from one library of a text to another one."""
    symbols, others = symbols_of(source.path), symbols_of(target.path)
    known = others.variables()
    for symbol, item in symbols.variables().items():
        other = known.get(symbol)
        if other is None or other.size != item.size:
            continue  # the compiler dropped it in one of them
        if symbols.is_writable(item) and not symbols.holds_addresses(item):
            _view(target, other)[...] = _view(source, item)


def _view(kernel: HostKernel, item: Object) -> np.ndarray:
    entry = kernel.entry.value or 0
    base = entry - symbols_of(kernel.path).address_of(f"ck_sim_entry_{kernel.number}")
    memory = (ctypes.c_uint8 * item.size).from_address(base + item.offset)
    return np.ctypeslib.as_array(memory)
