"""Anybody's kernels in the simulator: CuPy's RawKernel on NumPy arrays."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from cudakern.engines.simulator import sessions
from cudakern.engines.simulator.arguments import pack
from cudakern.engines.simulator.host_kernel import MAX_SHARED_BYTES
from cudakern.engines.simulator.kernel_text import KernelText
from cudakern.engines.simulator.options import parse_options
from cudakern.engines.simulator.raw_library import KernelLibrary, check_constructor
from cudakern.errors import BindingError, DTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cudakern.engines.base import Grid
    from cudakern.engines.simulator.host_kernel import HostKernel
    from cudakern.engines.simulator.raw_module import RawModule

#: Dynamic shared memory of a block that needs no asking for.
_DEFAULT_SHARED_BYTES = 48 * 1024


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
        check_constructor(code, backend, translate_cucomplex, enable_cooperative_groups, jitify)
        given: object = name
        if not isinstance(given, str):
            message = f"RawKernel: name must be a str; got {name!r:.60}"
            raise DTypeError(message)
        self.name = name
        self.code = code
        self.options = tuple(options)
        flags, lines = parse_options("RawKernel", options)
        text = KernelText(f"{_plain(name)}.cu", code, (), flags, lines)
        self._library = KernelLibrary(text, (name,))
        self._max_shared = _DEFAULT_SHARED_BYTES

    @classmethod
    def of_module(
        cls, module: RawModule, library: KernelLibrary, entry: str, name: str
    ) -> RawKernel:
        """Return a kernel of a module, whose library has it as ``entry``."""
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
            bool, float for double.
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


def _plain(name: str) -> str:
    """Return the part of a name expression that can name a file."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name.split("<", 1)[0]) or "kernel"
