"""What raw kernels and modules share: text that is compiled once, and its variables."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from cudakern._forks import Lock
from cudakern.engines import nvrtc
from cudakern.errors import BindingError, DTypeError
from cudakern.simulator.engine import ENGINE
from cudakern.simulator.parameter_names import parameter_names
from cudakern.simulator.ptx import compile as compiling
from cudakern.simulator.ptx.names import called, qualified
from cudakern.simulator.reports import sessions

if TYPE_CHECKING:
    from cudakern.simulator.ptx.module import Kernel, Module


class KernelLibrary:
    """Kernels compiled together, at first use: for plain and for observed launches, of one PTX.

    Errors name ``owner``, RawKernel or RawModule. The text of the code may be PTX.
    """

    def __init__(self, owner: str, code: compiling.Code) -> None:
        self.owner = owner
        self.code = code
        self._lock = Lock()
        self._ptx: compiling.Ptx | None = None
        self._symbols: dict[str, str] = {}  # of name expressions
        self._modules: dict[bool, Module] = {}
        self._kernels: dict[tuple[str, bool], Kernel] = {}

    def module(self, *, checked: bool = False) -> Module:
        """Return the module for plain or for observed launches, compiled at first use."""
        with self._lock:
            if checked not in self._modules:
                if self._ptx is None:
                    self._ptx = self._compiled()
                self._modules[checked] = ENGINE.module(self._ptx, checked=checked)
            return self._modules[checked]

    def _compiled(self) -> compiling.Ptx:
        code = self.code
        if compiling.is_ptx(code.text):
            return compiling.ptx_of_text(code.text, code.source)
        ptx = compiling.ptx_of_code(code)
        self._symbols = nvrtc.lowered_names(ptx.text()) if code.expressions else {}
        return ptx

    def _any_module(self) -> Module:
        """Return a module that is there, or else the one that the next launch takes."""
        found = list(self._modules.values())
        return found[0] if found else self.module(checked=bool(sessions.active))

    def kernel(self, name: str, *, checked: bool = False) -> Kernel:
        """Return a kernel for plain or for observed launches, which errors call by this name.

        BindingError tells that there is no such kernel, KernelCompileError that it has what the
        simulator does not execute.
        """
        found = self._kernels.get((name, checked))
        if found is None:
            module = self.module(checked=checked)
            made = module.kernel(self.symbol(name), self.code.source).under(name)
            found = self._kernels.setdefault((name, checked), made)
        return found

    def symbol(self, name: str) -> str:
        """Return the symbol of a kernel; BindingError if there is no such one."""
        module = self._any_module()
        entries = [*module.kernels, *module.refused]
        found = [self._symbols[name]] if name in self._symbols else called(name, entries)
        if len(found) == 1:
            return found[0]
        expressions = {symbol: name for name, symbol in self._symbols.items()}
        names = [expressions.get(symbol, qualified(symbol)) for symbol in entries]
        what = "module" if self.owner == "RawModule" else "text"
        known = ", ".join(names) or "none"
        requirement = f"must be one of the {what}'s kernels ({known}); got {name!r}"
        raise BindingError(self.owner, "name", requirement)

    def parameter_names(self, name: str) -> tuple[str, ...]:
        """Return what the text calls a kernel's parameters, as far as that is found."""
        text = self.code.text
        return () if compiling.is_ptx(text) else parameter_names(text, qualified(name))

    def variable(self, name: str) -> np.ndarray:
        """Return the bytes of a variable."""
        variables = self._any_module().variables
        symbol = self._symbols.get(name)
        found = called(name, list(variables)) if symbol is None else [symbol]
        if len(found) != 1:
            known = ", ".join(map(qualified, variables)) or "none"
            requirement = f"must be one of the module's variables ({known}); got {name!r}"
            if found:
                requirement = f"must be that of one variable; {len(found)} are called {name!r}"
            raise BindingError("RawModule", "name", requirement)
        variable = variables[found[0]]
        memory = (ctypes.c_uint8 * variable.nbytes).from_address(variable.address)
        return np.ctypeslib.as_array(memory)


def check_constructor(
    owner: str,
    code: object,
    options: object,
    names: tuple[object, ...],
    backend: str,
    jitify: bool,  # noqa: FBT001
) -> tuple[str, ...]:
    """Return the options of one of CuPy's constructors; raise an error for what cannot be."""
    if not isinstance(code, str):
        message = f"{owner}: code must be a str; got {type(code).__name__}"
        raise DTypeError(message)
    if backend not in {"nvrtc", "nvcc"}:
        raise BindingError(owner, "backend", f"must be nvrtc or nvcc; got {backend!r}")
    if jitify:
        raise BindingError(owner, "jitify", "must be False: the simulator does not have it")
    if isinstance(options, str) or not isinstance(options, Iterable):
        raise BindingError(owner, "options", f"must be a sequence of strings; got {options!r:.60}")
    given = tuple(options)
    argument = "name" if owner == "RawKernel" else "name_expressions"
    for field, texts in (("options", given), (argument, names), ("code", (code,))):
        for text in texts:
            if not isinstance(text, str):
                raise BindingError(owner, field, f"must be strings; got {text!r:.60}")
            if not _is_plain(text) or (field != "code" and "\n" in text):
                requirement = "must be text that UTF-8 can hold, without NUL"
                more = "" if field == "code" else " or line breaks"
                raise BindingError(owner, field, f"{requirement}{more}")
            if not text and field == argument:
                raise BindingError(owner, field, "must not be empty")
    return given


def _is_plain(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
