"""What raw kernels and modules share: text that is compiled once, and its variables."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from cudakern.engines import nvrtc
from cudakern.simulator.engine import SimulatorEngine
from cudakern.simulator.kernel_text import KernelText
from cudakern.simulator.listing import kernel_names
from cudakern.simulator.options import parse_options
from cudakern.simulator.ptx import compile as compiling
from cudakern.simulator.ptx.module import Module
from cudakern.simulator.ptx.names import called, qualified
from cudakern.simulator.variables import copy_from_checked, copy_to_checked, view_of
from cudakern.errors import BindingError, DTypeError
from cudakern.forks import Lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from cudakern.simulator.launches import HostKernel
    from cudakern.simulator.ptx.module import Kernel


@lru_cache(maxsize=1)
def _engine() -> SimulatorEngine:
    return SimulatorEngine()


@dataclass(frozen=True)
class _Plain:
    """What plain launches use.

    Attributes
    ----------
    module : Module
        The loaded PTX.
    symbols : dict of str to str
        Of each name expression.
    """

    module: Module
    symbols: dict[str, str]

    def symbol(self, name: str) -> str | None:
        """Return the kernel that a name means; None if there is no such one, or several."""
        entries = [*self.module.kernels, *self.module.refused]
        found = [self.symbols[name]] if name in self.symbols else called(name, entries)
        return found[0] if len(found) == 1 else None

    @cached_property
    def names(self) -> list[str]:
        """What the kernels are called."""
        expressions = {symbol: name for name, symbol in self.symbols.items()}
        entries = (*self.module.kernels, *self.module.refused)
        return [expressions.get(symbol, qualified(symbol)) for symbol in entries]


class KernelLibrary:
    """Kernels compiled together, at first use, for plain and for observed launches.

    Parameters
    ----------
    owner : str
        What errors name: ``"RawKernel"`` or ``"RawModule"``.
    code : Code
        The text; it may be PTX.
    only : str, optional
        The one kernel that is wanted of it.
    """

    def __init__(self, owner: str, code: compiling.Code, only: str | None = None) -> None:
        self.owner = owner
        self.code = code
        self._only = only
        self._lock = Lock()
        self._launching = Lock()
        self._plain: _Plain | None = None
        self._kernels: dict[str, Kernel] = {}
        self._checked: dict[str, HostKernel] | None = None
        self._checked_names: dict[str, str] = {}

    @property
    def plain(self) -> _Plain:
        """What plain launches use, compiled at first use."""
        with self._lock:
            if self._plain is None:
                self._plain = self._compiled()
                for kernel in list((self._checked or {}).values())[:1]:
                    copy_from_checked(kernel, self._plain.module)
            return self._plain

    def _compiled(self) -> _Plain:
        code = self.code
        if compiling.is_ptx(code.text):
            return _Plain(_engine().module(compiling.ptx_of_text(code.text, code.source)), {})
        ptx = compiling.ptx_of_code(code)
        symbols = nvrtc.lowered_names(ptx.text()) if code.expressions else {}
        return _Plain(_engine().module(ptx), symbols)

    def kernel(self, name: str) -> Kernel:
        """Return a kernel for plain launches, which errors call by this name.

        Raises
        ------
        BindingError
            There is no such kernel.
        KernelCompileError
            It has what the simulator does not execute.
        """
        found = self._kernels.get(name)
        if found is None:
            made = self.plain.module.kernel(self.symbol(name), self.code.source).under(name)
            found = self._kernels.setdefault(name, made)
        return found

    def symbol(self, name: str) -> str:
        """Return the symbol of a kernel; BindingError if there is no such one."""
        symbol = self.plain.symbol(name)
        if symbol is None:
            what = "module" if self.owner == "RawModule" else "text"
            known = ", ".join(self.plain.names) or "none"
            requirement = f"must be one of the {what}'s kernels ({known}); got {name!r}"
            raise BindingError(self.owner, "name", requirement)
        return symbol

    def checked_kernel(self, name: str) -> HostKernel:
        """Return a kernel for observed launches."""
        with self._lock:
            if self._checked is None:
                names = self._listed()
                entries = tuple(dict.fromkeys(names.values()))
                made = _engine().compile_kernels(self._text, entries)
                if self._plain is not None and made:
                    copy_to_checked(self._plain.module, made[0])
                self._checked = dict(zip(entries, made, strict=True))
                self._checked_names = names
            entry = self._checked_names.get(name) or self._checked_names.get(qualified(name))
            if entry is None:
                known = ", ".join(self._checked_names) or "none"
                requirement = f"must be one of the kernels to be checked ({known}); got {name!r}"
                raise BindingError(self.owner, "name", requirement)
            return self._checked[entry]

    @cached_property
    def _text(self) -> KernelText:
        """The text for the host's compiler.

        Raises
        ------
        BindingError
            It cannot be compiled so.
        """
        code = self.code
        if compiling.is_ptx(code.text):
            requirement = "must be CUDA C++ in checked and traffic; got PTX"
            raise BindingError(self.owner, "code", requirement)
        if code.translate_cucomplex:
            requirement = "must be False in checked and traffic"
            raise BindingError(self.owner, "translate_cucomplex", requirement)
        flags, lines = parse_options(self.owner, code.options)
        if code.path is not None:
            flags = (f"-iquote{code.path.absolute().parent}", *flags)
        return KernelText(code.source, code.text, (), flags, lines)

    def _listed(self) -> dict[str, str]:
        if self._only is not None:
            return {self._only: self._only}
        names = kernel_names(self._text)
        return names | {name: name for name in self.code.expressions}

    def variable(self, name: str) -> np.ndarray:
        """Return the bytes of a variable that plain launches use."""
        variables = self.plain.module.variables
        symbol = self.plain.symbols.get(name)
        found = called(name, list(variables)) if symbol is None else [symbol]
        if len(found) != 1:
            known = ", ".join(map(qualified, variables)) or "none"
            requirement = f"must be one of the module's variables ({known}); got {name!r}"
            if found:
                requirement = f"must be that of one variable; {len(found)} are called {name!r}"
            raise BindingError("RawModule", "name", requirement)
        variable = variables[found[0]]
        return view_of(variable.address, variable.nbytes)

    @contextmanager
    def same_variables(self, kernel: HostKernel) -> Iterator[None]:
        """Have a checked kernel find the variables as plain launches left them, and vice versa."""
        plain = self._plain
        if plain is None:
            yield
            return
        with self._launching:
            copy_to_checked(plain.module, kernel)
            yield
            copy_from_checked(kernel, plain.module)


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
