"""The memory of a module's variables, which live once, whatever of the module is compiled."""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING

from cudakern.simulator.ptx.contents import RED_ZONE
from cudakern.simulator.runtime import abi
from cudakern.values.layout import round_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cudakern.simulator.ptx.contents import Contents, StoredAddress, Variable


class ModuleVariables:
    """Memory for variables, and the runtime's table of them, which ``shared`` has some of already.

    Those that lead to functions are not shared: plain and checked launches have other functions.
    """

    def __init__(self, contents: Contents, shared: ModuleVariables | None = None) -> None:
        variables = contents.variables
        self.structures: dict[str, ctypes.Structure] = {}
        self._starts: dict[str, int] = {}
        if shared is not None:
            kept = (v.name for v in variables if not v.holds_functions)
            self._starts = {name: shared.structures[name].start for name in kept}
        new = [variable for variable in variables if variable.name not in self._starts]
        self._allocate(new)
        rows = (abi.VariableStruct * (len(variables) + 1))()
        for row, variable in zip(rows, variables, strict=False):
            row.name, row.start = variable.name.encode(), self._starts[variable.name]
            row.bytes, row.is_constant = variable.bytes, variable.is_constant
            self.structures[variable.name] = row
        self.table = rows[0]
        self._rows = rows
        #: Where addresses of functions are to be stored yet, by the variables that have them.
        self.lacking_functions = {
            v.name: [a for a in v.addresses if a[2] not in self._starts]
            for v in variables
            if v.holds_functions
        }
        for variable in new:
            self._store(variable.name, variable.addresses, self._starts)

    def take_functions(self, functions: Mapping[str, int]) -> None:
        """Store addresses of functions in the variables that have them."""
        if functions:
            for name, addresses in self.lacking_functions.items():
                self._store(name, addresses, functions)
            self.lacking_functions = {}

    def _allocate(self, variables: Iterable[Variable]) -> None:
        """Give variables their place, and the initial bytes."""
        ends, end, alignment = {}, RED_ZONE, mmap.PAGESIZE
        for variable in variables:
            start = round_up(end, variable.alignment)
            ends[variable.name] = start
            end = start + max(variable.bytes, 1) + RED_ZONE
            alignment = max(alignment, variable.alignment)
        if not ends:
            return
        size = end + alignment - mmap.PAGESIZE
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._memory = (ctypes.c_char * size).from_buffer(memory)
        base = round_up(ctypes.addressof(self._memory), alignment)
        self._starts |= {name: base + start for name, start in ends.items()}
        for variable in variables:
            content = bytes.fromhex(variable.content)
            ctypes.memmove(self._starts[variable.name], content, len(content))

    def _store(
        self,
        name: str,
        addresses: Iterable[StoredAddress],
        known: Mapping[str, int],
    ) -> None:
        for offset, size, target, more in addresses:
            if target in known:
                word = (known[target] + more) % 2 ** (8 * size)
                ctypes.memmove(self._starts[name] + offset, word.to_bytes(size, "little"), size)
