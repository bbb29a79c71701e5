"""Anybody's kernels in the simulator: CuPy's RawKernel and RawModule on NumPy arrays."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import lru_cache
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cudakern.engines.simulator import sessions
from cudakern.engines.simulator.arguments import pack
from cudakern.engines.simulator.engine import SimulatorEngine
from cudakern.engines.simulator.kernel_text import KernelText
from cudakern.engines.simulator.listing import kernel_names
from cudakern.engines.simulator.options import parse_options
from cudakern.engines.simulator.variables import copy_variables, variable_of
from cudakern.errors import BindingError, DTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

    from cudakern.engines.base import Grid
    from cudakern.engines.simulator.host_kernel import HostKernel

#: Dynamic shared memory of a block that needs no asking for.
_DEFAULT_SHARED_BYTES = 48 * 1024
_MAX_SHARED_BYTES = 227 * 1024


@lru_cache(maxsize=1)
def _engine() -> SimulatorEngine:
    return SimulatorEngine()


class _Library:
    """Kernels compiled together, at first use, for plain and for observed launches."""

    def __init__(self, code: KernelText, entries: tuple[str, ...]) -> None:
        self.code = code
        self.entries = entries
        self._lock = threading.Lock()
        self._launching = threading.Lock()
        self._compiled: dict[bool, dict[str, HostKernel]] = {}

    def kernel(self, entry: str, *, checked: bool) -> HostKernel:
        with self._lock:
            kernels = self._compiled.get(checked)
            if kernels is None:
                made = _engine().compile_kernels(self.code, self.entries, checked=checked)
                kernels = dict(zip(self.entries, made, strict=True))
                for others in self._compiled.values():
                    copy_variables(next(iter(others.values())), made[0])
                self._compiled[checked] = kernels
        return kernels[entry]

    def variable(self, name: str) -> np.ndarray:
        if not self.entries:
            raise BindingError("RawModule", "name", "must be of a module with kernels; it has none")
        return variable_of(self.kernel(self.entries[0], checked=False), name)

    @contextmanager
    def same_variables(self, kernel: HostKernel) -> Iterator[None]:
        """Have a checked kernel find the variables as plain launches left them, and vice versa."""
        plain = self._compiled.get(False)
        if plain is None:
            yield
            return
        other = next(iter(plain.values()))
        with self._launching:
            copy_variables(other, kernel)
            yield
            copy_variables(kernel, other)


def _triple(name: str, argument: str, sizes: Any) -> Grid:  # noqa: ANN401
    given = sizes if isinstance(sizes, tuple | list) else (sizes,)
    try:
        found = tuple(index(size) for size in given)
    except TypeError:
        found = ()
    if not 1 <= len(found) <= len("xyz"):
        requirement = f"must be a tuple of one to three integers; got {sizes!r:.60}"
        raise BindingError(name, argument, requirement)
    x, y, z = (*found, 1, 1)[:3]
    return x, y, z


class RawKernel:
    """A kernel given as CUDA C++, which runs on NumPy arrays as cupy.RawKernel does on CuPy's.

    Parameters
    ----------
    code : str
        CUDA C++.
    name : str
        Name of the ``__global__`` function, or an expression such as ``"scale<float>"``.
    options : sequence of str, optional
        ``-D``, ``-U``, ``-I`` and ``-std`` have their effect; what concerns the GPU's code has
        none here; anything else is an error.
    backend, translate_cucomplex, enable_cooperative_groups, jitify
        As in CuPy. Only the default of the last three is supported.

    Raises
    ------
    DTypeError
        The code is no string.
    BindingError
        An option is not known.

    Notes
    -----
    It is compiled at the first call, or by `compile`. A launch ends before the call returns.
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        _check(code, backend, translate_cucomplex, enable_cooperative_groups, jitify)
        given: object = name
        if not isinstance(given, str):
            message = f"RawKernel: name must be a str; got {name!r:.60}"
            raise DTypeError(message)
        self.name = name
        self.code = code
        self.options = tuple(options)
        flags, lines = parse_options("RawKernel", options)
        text = KernelText(f"{_plain(name)}.cu", code, (), flags, lines)
        self._library = _Library(text, (name,))
        self._max_shared = _DEFAULT_SHARED_BYTES

    @classmethod
    def _of(cls, module: RawModule, library: _Library, entry: str, name: str) -> RawKernel:
        kernel = cls.__new__(cls)
        kernel.name, kernel.code, kernel.options = name, module.code, module.options
        kernel._library, kernel._entry = library, entry  # noqa: SLF001
        kernel._max_shared = _DEFAULT_SHARED_BYTES  # noqa: SLF001
        return kernel

    _entry: str | None = None

    def compile(self) -> None:
        """Compile for plain launches.

        Raises
        ------
        KernelCompileError
            It names what the simulator does not have, or the compiler's first error.
        """
        self._kernel(checked=False)

    def _kernel(self, *, checked: bool) -> HostKernel:
        return self._library.kernel(self._entry or self.name, checked=checked)

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Dynamic shared memory that a launch may ask for; a GPU's default is 48 KiB."""
        return self._max_shared

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, value: int) -> None:
        if not 0 <= value <= _MAX_SHARED_BYTES:
            requirement = f"must lie in [0, {_MAX_SHARED_BYTES}]; got {value}"
            raise BindingError(self.name, "max_dynamic_shared_size_bytes", requirement)
        self._max_shared = value

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Iterable[Any],
        *,
        shared_mem: int = 0,
    ) -> None:
        """Run the kernel.

        Parameters
        ----------
        grid, block : tuple of int
            Blocks of the grid and threads of a block, in one to three dimensions.
        args : iterable
            NumPy arrays, which the kernel gets the address of, and scalars: NumPy's of the
            parameter's size, Python's integers for integers of any size, bool, float for double.
        shared_mem : int, optional
            Dynamic shared memory of a block, in bytes.

        Raises
        ------
        BindingError
            No GPU could run the launch, or an argument does not fit its parameter.
        DTypeError
            An argument is no NumPy array and no scalar.
        KernelCompileError
            The kernel does not compile.
        SimulatorError
            The kernel misbehaved.
        """
        grid = _triple(self.name, "grid", grid)
        block = _triple(self.name, "block", block)
        if shared_mem > self._max_shared:
            requirement = (
                f"must be at most max_dynamic_shared_size_bytes, {self._max_shared}, "
                f"which can be set; got {shared_mem}"
            )
            raise BindingError(self.name, "shared_mem", requirement)
        observed = bool(sessions.active)
        kernel = self._kernel(checked=observed)
        packed = pack(kernel, tuple(args), operands=observed)
        if observed:
            shape = (grid, block, shared_mem)
            places = (packed.offsets, packed.places)
            with self._library.same_variables(kernel):
                sessions.observe(kernel, shape, packed.parameters, packed.operands, *places)
        else:
            kernel.launcher(grid, block, shared_mem, packed.offsets)(packed.parameters)


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
        _check(text, backend, translate_cucomplex, enable_cooperative_groups, jitify)
        self.code = str(text)
        self.options = tuple(options)
        self.name_expressions = tuple(name_expressions or ())
        flags, lines = parse_options("RawModule", options)
        if path is not None:
            flags = (f"-iquote{Path(path).absolute().parent}", *flags)
        self._text = KernelText(source, self.code, (), flags, lines)
        self._library: _Library | None = None
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()

    def compile(self) -> None:
        """Compile for plain launches; KernelCompileError if that fails."""
        library = self._listed()
        if library.entries:
            library.kernel(library.entries[0], checked=False)

    def _listed(self) -> _Library:
        with self._lock:
            if self._library is None:
                self._names = kernel_names(self._text)
                self._names.update({name: name for name in self.name_expressions})
                entries = tuple(dict.fromkeys(self._names.values()))
                self._library = _Library(self._text, entries)
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
        return RawKernel._of(self, library, entry, name)  # noqa: SLF001

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


def _check(
    code: object,
    backend: str,
    translate_cucomplex: bool,  # noqa: FBT001
    enable_cooperative_groups: bool,  # noqa: FBT001
    jitify: bool,  # noqa: FBT001
) -> None:
    if not isinstance(code, str):
        message = f"RawKernel: code must be a str; got {type(code).__name__}"
        raise DTypeError(message)
    if backend not in {"nvrtc", "nvcc"}:
        raise BindingError("RawKernel", "backend", f"must be nvrtc or nvcc; got {backend!r}")
    for name, given in (
        ("translate_cucomplex", translate_cucomplex),
        ("enable_cooperative_groups", enable_cooperative_groups),
        ("jitify", jitify),
    ):
        if given:
            raise BindingError("RawKernel", name, "must be False: the simulator does not have it")


def _plain(name: str) -> str:
    """Return the part of a name expression that can name a file."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name.split("<", 1)[0]) or "kernel"
