"""CuPy's RawKernel and RawModule: the simulator's, called with the stand-in's arrays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator import raw
from cudakern.simulator.cupy_stand_in.absent import absent
from cudakern.simulator.cupy_stand_in.arrays import ndarray
from cudakern.simulator.cupy_stand_in.memory import BaseMemory, MemoryPointer, plain
from cudakern.simulator.ptx.compile import target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

#: Of `RawKernel.attributes`, those that only a GPU's machine code has.
_UNKNOWN = (
    "binary_version",
    "cache_mode_ca",
    "const_size_bytes",
    "local_size_bytes",
    "num_regs",
    "preferred_shared_memory_carveout",
)


def argument(value: Any) -> Any:  # noqa: ANN401  whatever a kernel is called with
    """Return an argument of a kernel as the simulator takes it.

    As in CuPy, an array of NumPy's is a value if it has one element; TypeError if it has more.
    """
    if isinstance(value, ndarray):
        return plain(value)
    if isinstance(value, MemoryPointer):
        return value.bytes_from_here()
    if isinstance(value, np.ndarray):
        if value.size != 1:
            message = f"CuPy's kernels take cupy.ndarray; got a NumPy array of shape {value.shape}"
            message += "; use cupy.asarray"
            raise TypeError(message)
        return value.reshape(-1)[0]
    return value


def as_options(owner: str, options: object) -> tuple[str, ...]:
    """Return options of a compiler; TypeError unless they are a tuple, as CuPy demands."""
    if options is None:
        return ()
    if not isinstance(options, tuple):
        message = f"cupy.{owner}: options must be a tuple; got {type(options).__name__}"
        raise TypeError(message)
    return options


def _made(make: Callable[[], Any]) -> Any:  # noqa: ANN401
    return make()


class RawKernel(raw.RawKernel):
    """A kernel given as CUDA C++, which the simulator runs.

    Parameters
    ----------
    code, name, options, backend, translate_cucomplex, enable_cooperative_groups, jitify
        As in CuPy.
    """

    file_path = None
    _made: Callable[[], RawKernel]

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,  # noqa: FBT001, FBT002
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ) -> None:
        super().__init__(
            code,
            name,
            as_options("RawKernel", options),
            backend,
            translate_cucomplex=translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups,
            jitify=bool(jitify),
        )
        self.backend = backend
        self._made = partial(
            RawKernel,
            code,
            name,
            self.options,
            backend,
            translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups,
            jitify=jitify,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Be made anew where this is unpickled."""
        return _made, (self._made,)

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Iterable[Any],
        *,
        shared_mem: int = 0,
        stream: object = None,
    ) -> None:
        """Run the kernel, at once in whatever stream. Numbers below 1 count as 1, as in CuPy."""
        del stream
        sizes: dict[str, object] = {"grid": grid, "block": block}
        for name, value in sizes.items():
            if not isinstance(value, tuple):
                message = f"{self.name}: CuPy takes {name} as a tuple; got {type(value).__name__}"
                raise TypeError(message)
        grid, block = (tuple(max(1, int(n)) for n in counts) for counts in (grid, block))
        super().__call__(grid, block, tuple(map(argument, args)), shared_mem=shared_mem)

    @property
    def attributes(self) -> dict[str, int]:
        """What is known without a GPU's machine code."""
        names = "max_threads_per_block", "shared_size_bytes", "max_dynamic_shared_size_bytes"
        known = {name: getattr(self, name) for name in names}
        return {**known, "ptx_version": self.ptx_version}

    @property
    def max_threads_per_block(self) -> int:
        """Threads that a block can have."""
        return 1024

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory of a block."""
        return self._library.any_kernel(self.name).static_shared

    @property
    def ptx_version(self) -> int:
        """The architecture that the PTX is for."""
        return int("".join(filter(str.isdigit, target())))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name in _UNKNOWN:
            message = absent(f"cupy.RawKernel.{name}", "only a GPU's machine code has one")
        else:
            message = absent(f"cupy.RawKernel.{name}")
        raise AttributeError(message, name=name, obj=self)


class RawModule(raw.RawModule):
    """Kernels given as CUDA C++ or PTX, which the simulator runs.

    Parameters
    ----------
    code, path, options, backend, translate_cucomplex, enable_cooperative_groups, name_expressions, jitify
        As in CuPy. ``path`` is not that of a cubin.
    """  # noqa: E501

    def __init__(
        self,
        code: str | None = None,
        *,
        path: str | Path | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool | None = None,
    ) -> None:
        super().__init__(
            code=code,
            path=path,
            options=as_options("RawModule", options),
            backend=backend,
            translate_cucomplex=translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups,
            name_expressions=name_expressions,
            jitify=bool(jitify),
        )
        self.backend = backend
        self.file_path = path
        self._made = partial(
            RawModule,
            code,
            path=path,
            options=self.options,
            backend=backend,
            translate_cucomplex=translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups,
            name_expressions=name_expressions,
            jitify=jitify,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Be made anew where this is unpickled."""
        return _made, (self._made,)

    def compile(self, log_stream: object = None) -> None:
        """Compile, with the errors of a kernel's call."""
        del log_stream
        super().compile()

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name, or by one of the ``name_expressions``."""
        self._library.symbol(name)
        kernel = RawKernel.of_module(self, self._library, name)
        kernel.backend = self.backend
        kernel._made = partial(RawModule.get_function, self, name)  # noqa: SLF001  of this file
        return kernel

    def get_global(self, name: str) -> MemoryPointer:  # type: ignore[override]
        """Return the pointer to a ``__device__`` or ``__constant__`` variable."""
        return MemoryPointer(BaseMemory(super().get_global(name)), 0)
