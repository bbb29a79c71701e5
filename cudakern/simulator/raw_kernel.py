"""Anybody's kernels in the simulator: CuPy's RawKernel on NumPy arrays."""

from __future__ import annotations

import re
from operator import index
from typing import TYPE_CHECKING, Any

from cudakern.errors import BindingError, DTypeError
from cudakern.simulator.arguments import pack
from cudakern.simulator.launches import MAX_SHARED_BYTES, MAX_STATIC_SHARED_BYTES
from cudakern.simulator.ptx.compile import Code
from cudakern.simulator.raw_library import KernelLibrary, check_constructor
from cudakern.simulator.reports import sessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cudakern.engines.base import Grid
    from cudakern.simulator.raw_module import RawModule

_FUNCTION = re.compile(r"[A-Za-z_$][\w$]*(?:::[A-Za-z_$][\w$]*)*")


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
        CUDA C++, or PTX.
    name : str
        Name of the ``__global__`` function, or an expression such as ``"scale<float>"``.
    options : sequence of str, optional
        NVRTC's.
    backend, translate_cucomplex, enable_cooperative_groups, jitify
        As in CuPy. NVRTC compiles for either backend; ``jitify`` must be False.

    Raises
    ------
    DTypeError
        The code or the name is no string.
    BindingError
        An option is no string, or another argument is not supported.

    Notes
    -----
    It is compiled at the first call, or by `compile`, with the options and headers that CuPy
    gives NVRTC. A launch ends before the call returns.

    Examples
    --------
    >>> import numpy as np
    >>> import cudakern as ck
    >>> code = '''extern "C" __global__ void add(const float* x, float* y, float a) {
    ...   y[threadIdx.x] = x[threadIdx.x] + a;
    ... }'''
    >>> add = ck.simulator.RawKernel(code, "add")
    >>> x, y = np.arange(4, dtype=np.float32), np.empty(4, np.float32)
    >>> add((1,), (4,), (x, y, np.float32(0.5)))
    >>> y
    array([0.5, 1.5, 2.5, 3.5], dtype=float32)
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
        given: object = name
        if not isinstance(given, str):
            message = f"RawKernel: name must be a str; got {name!r:.60}"
            raise DTypeError(message)
        self.options = check_constructor("RawKernel", code, options, (name,), backend, jitify)
        self.name = name
        self.code = code
        self.enable_cooperative_groups = enable_cooperative_groups
        # What is no function's name must be an instance of a template.
        wanted = () if _FUNCTION.fullmatch(name) else (name,)
        given_code = Code(
            f"{_plain(name)}.cu",
            code,
            self.options,
            wanted,
            translate_cucomplex=translate_cucomplex,
        )
        self._library = KernelLibrary("RawKernel", given_code)

    _max_shared: int | None = None

    @classmethod
    def of_module(cls, module: RawModule, library: KernelLibrary, name: str) -> RawKernel:
        """Return a kernel of a module."""
        kernel = cls.__new__(cls)
        kernel.name, kernel.code, kernel.options = name, module.code, module.options
        kernel.enable_cooperative_groups = module.enable_cooperative_groups
        kernel._library = library  # noqa: SLF001
        return kernel

    def compile(self) -> None:
        """Compile for plain launches.

        Raises
        ------
        KernelCompileError
            It has NVRTC's first error, or names what the simulator does not execute.
        BindingError
            There is no such kernel.
        EngineUnavailableError
            NVRTC or a C++ compiler is missing.
        """
        self._library.kernel(self.name)

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Dynamic shared memory that a launch may ask for.

        By default it is what static shared memory leaves of 48 KiB, as on a GPU.
        """
        if self._max_shared is not None:
            return self._max_shared
        kernel = self._library.kernel(self.name, checked=bool(sessions.active))
        return max(0, MAX_STATIC_SHARED_BYTES - kernel.static_shared)

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, value: int) -> None:
        if not 0 <= value <= MAX_SHARED_BYTES:
            requirement = f"must lie in [0, {MAX_SHARED_BYTES}]; got {value}"
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
            For pointers NumPy arrays, whose addresses the kernel gets, addresses or None. Else
            scalars: NumPy's of the parameter's size, Python's integers for integers of any size,
            bool, float for double. For structures by value NumPy's records, or arrays of one.
        shared_mem : int, optional
            Dynamic shared memory of a block, in bytes.

        Raises
        ------
        BindingError
            No GPU could run the launch, or an argument does not fit its parameter.
        DTypeError
            An argument is no NumPy array and no scalar.
        KernelCompileError
            The kernel does not compile, or has what the simulator does not execute.
        EngineUnavailableError
            NVRTC or a C++ compiler is missing.
        SimulatorError
            The kernel misbehaved.
        """
        grid = _triple(self.name, "grid", grid)
        block = _triple(self.name, "block", block)
        observed = bool(sessions.active)
        kernel = self._library.kernel(self.name, checked=observed)
        self._check_shared(shared_mem, kernel.static_shared)
        size = (grid, block, shared_mem)
        if observed:
            names = self._library.parameter_names(self.name)
            packed = pack(self.name, kernel, tuple(args), operands=True, names=names)
            where = (packed.operands, packed.places, packed.offsets)
            cooperative = self.enable_cooperative_groups
            sessions.observe(sessions.Launch(kernel, size, packed.parameters, *where, cooperative))
            return
        packed = pack(self.name, kernel, tuple(args), operands=False)
        launch = kernel.launcher(*size, packed.offsets, cooperative=self.enable_cooperative_groups)
        launch(packed.parameters)

    def _check_shared(self, asked: int, static: int) -> None:
        """Raise BindingError for more dynamic shared memory than a launch may ask for."""
        most = self._max_shared
        if most is None:
            most = max(0, MAX_STATIC_SHARED_BYTES - static)
        if asked > most:
            requirement = (
                f"must be at most max_dynamic_shared_size_bytes, {most}, which can be set; "
                f"got {asked}"
            )
            raise BindingError(self.name, "shared_mem", requirement)


def _plain(name: str) -> str:
    """Return the part of a name expression that can name a file."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name.split("<", 1)[0]) or "kernel"
