"""Global variables of loaded kernels: of PTX modules, and of libraries for checked launches."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from cudakern.engines.simulator.ptx.names import qualified
from cudakern.engines.simulator.sessions import symbols_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudakern.engines.simulator.host_kernel import HostKernel
    from cudakern.engines.simulator.ptx.module import Module


def view_of(address: int, nbytes: int) -> np.ndarray:
    """Return memory as an array of bytes."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))


def copy_to_checked(module: Module, kernel: HostKernel) -> None:
    """Have a checked kernel's library start with what a module's variables hold."""
    for plain, checked in _pairs(module, kernel):
        checked[...] = plain


def copy_from_checked(kernel: HostKernel, module: Module) -> None:
    """Have a module's variables hold what a checked kernel has left in those of its library."""
    for plain, checked in _pairs(module, kernel):
        plain[...] = checked


def _pairs(module: Module, kernel: HostKernel) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the bytes of variables that both have and that can be copied."""
    symbols = symbols_of(kernel.path)
    known = {qualified(symbol): item for symbol, item in symbols.variables().items()}
    base = (kernel.entry.value or 0) - symbols.address_of(f"ck_sim_entry_{kernel.number}")
    for symbol, variable in module.variables.items():
        item = known.get(qualified(symbol))
        if item is None or item.size != variable.nbytes or not item.size:
            continue  # one of the compilers dropped it
        if symbols.is_writable(item) and not symbols.holds_addresses(item):
            yield view_of(variable.address, item.size), view_of(base + item.offset, item.size)
