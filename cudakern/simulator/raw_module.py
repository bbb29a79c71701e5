"""Modules of anybody's kernels in the simulator: CuPy's RawModule on NumPy arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cudakern.errors import BindingError
from cudakern.simulator.ptx.compile import Code
from cudakern.simulator.raw_kernel import RawKernel
from cudakern.simulator.raw_library import KernelLibrary, check_constructor

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


class RawModule:
    """Kernels given as CUDA C++ or PTX, as cupy.RawModule.

    Parameters
    ----------
    code : str, optional
        CUDA C++, or PTX, such as ``numba.cuda.compile_ptx`` gives; this or ``path``.
    path : str or Path, optional
        A file with PTX or, unlike in CuPy, with CUDA C++.
    options : sequence of str, optional
        As of `RawKernel`.
    backend, translate_cucomplex, enable_cooperative_groups, jitify
        As of `RawKernel`.
    name_expressions : sequence of str, optional
        Instances of templates that are wanted, such as ``"scale<float>"``, and variables
        (``"&ns::table"``).

    Raises
    ------
    BindingError
        Neither or both of ``code`` and ``path`` were given, the file holds no text, or an argument
        is not supported.
    OSError
        The file cannot be read.

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
        text = code if path is None else _read(Path(path))
        expressions = tuple(name_expressions or ())
        self.options = check_constructor("RawModule", text, options, expressions, backend, jitify)
        self.code = str(text)
        self.name_expressions = expressions
        self.enable_cooperative_groups = enable_cooperative_groups
        self._library = KernelLibrary(
            "RawModule",
            Code(
                "module.cu" if path is None else str(path),
                self.code,
                self.options,
                expressions,
                None if path is None else Path(path),
                translate_cucomplex,
            ),
        )

    def compile(self) -> None:
        """Compile for plain launches.

        Raises
        ------
        KernelCompileError
            It has NVRTC's first error.
        EngineUnavailableError
            NVRTC or a C++ compiler is missing.
        """
        self._library.module()

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name, by its symbol, or by one of the ``name_expressions``.

        A function in a namespace is found by its qualified name, and by its own if only one has it.

        Raises
        ------
        BindingError
            The module has no such kernel.
        KernelCompileError
            It has NVRTC's first error.
        """
        self._library.symbol(name)
        return RawKernel.of_module(self, self._library, name)

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
        return self._library.variable(name)


def _read(path: Path) -> str:
    """Return the text of a file."""
    content = path.read_bytes().rstrip(b"\0")
    try:
        return content.decode()
    except UnicodeDecodeError:
        found = "machine code" if content.startswith(b"\x7fELF") else "other bytes"
        requirement = f"must be a file of CUDA C++ or PTX in UTF-8; got {found}"
        raise BindingError("RawModule", "path", requirement) from None
