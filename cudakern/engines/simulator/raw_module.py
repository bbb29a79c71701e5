"""Modules of anybody's kernels in the simulator: CuPy's RawModule on NumPy arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.engines.simulator.kernel_text import KernelText
from cudakern.engines.simulator.listing import kernel_names
from cudakern.engines.simulator.options import parse_options
from cudakern.engines.simulator.raw import RawKernel
from cudakern.engines.simulator.raw_library import KernelLibrary, check_constructor
from cudakern.errors import BindingError
from cudakern.forks import Lock

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


class RawModule:
    """Kernels given as CUDA C++, as cupy.RawModule.

    Parameters
    ----------
    code : str, optional
        CUDA C++; this or ``path``.
    path : str or Path, optional
        A file with CUDA C++.
    options : sequence of str, optional
        As of `RawKernel`.
    backend, translate_cucomplex, enable_cooperative_groups, jitify
        As of `RawKernel`.
    name_expressions : sequence of str, optional
        Instances of templates that are wanted, such as ``"scale<float>"``.

    Raises
    ------
    BindingError
        Neither or both of ``code`` and ``path`` were given, or an option is not known.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = "template <typename T> __global__ void fill(T* x, T a) { x[threadIdx.x] = a; }"
    >>> module = ck.simulator.RawModule(code=code, name_expressions=["fill<int>"])
    >>> x = np.empty(3, np.int32)
    >>> module.get_function("fill<int>")((1,), (3,), (x, np.int32(7)))
    >>> x
    array([7, 7, 7], dtype=int32)
    """

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | Path | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise BindingError("RawModule", "code", "must be given, or path; exactly one of them")
        source = "module.cu" if path is None else str(path)
        text = code if path is None else Path(path).read_text(encoding="utf-8")
        check_constructor(text, backend, translate_cucomplex, enable_cooperative_groups, jitify)
        self.code = str(text)
        self.options = tuple(options)
        self.name_expressions = tuple(name_expressions or ())
        flags, lines = parse_options("RawModule", options)
        if path is not None:
            flags = (f"-iquote{Path(path).absolute().parent}", *flags)
        self._text = KernelText(source, self.code, (), flags, lines)
        self._library: KernelLibrary | None = None
        self._names: dict[str, str] = {}
        self._lock = Lock()

    def compile(self) -> None:
        """Compile for plain launches; KernelCompileError if that fails."""
        library = self._listed()
        if library.entries:
            library.kernel(library.entries[0], checked=False)

    def _listed(self) -> KernelLibrary:
        with self._lock:
            if self._library is None:
                self._names = kernel_names(self._text)
                self._names.update({name: name for name in self.name_expressions})
                entries = tuple(dict.fromkeys(self._names.values()))
                self._library = KernelLibrary(self._text, entries)
            return self._library

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name, or by one of the ``name_expressions``.

        Raises
        ------
        BindingError
            The module has no such kernel.
        """
        library = self._listed()
        entry = self._names.get(name)
        if entry is None:
            known = ", ".join(self._names) or "none"
            requirement = f"must be one of the module's kernels ({known}); got {name!r}"
            raise BindingError("RawModule", "name", requirement)
        return RawKernel.of_module(self, library, entry, name)

    def get_global(self, name: str) -> np.ndarray:
        """Return the bytes of a ``__device__`` or ``__constant__`` variable, to read and to write.

        Returns
        -------
        numpy.ndarray
            Of dtype uint8; a view of the variable, which ``.view(dtype)`` gives its type.

        Raises
        ------
        BindingError
            The module has no such variable.
        """
        library = self._listed()
        return library.variable(name)
