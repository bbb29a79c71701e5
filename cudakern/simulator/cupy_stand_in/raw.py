"""CuPy's RawKernel and RawModule: the simulator's, called with the stand-in's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cudakern.simulator.cupy_stand_in.absent import absent
from cudakern.simulator.cupy_stand_in.arrays import ndarray
from cudakern.simulator.cupy_stand_in.devices import CUDARuntimeError, device_count, get_device_id
from cudakern.simulator.cupy_stand_in.memory import BaseMemory, MemoryPointer, view_as_numpy
from cudakern.simulator.launching import raw


def convert_argument(value: Any) -> Any:
    """Return an argument of a kernel as the simulator takes it.

    As in CuPy, an array of NumPy's is a value, and must have one element.
    """
    if device_count() > 1 and isinstance(value, ndarray | MemoryPointer):
        there, here = value.device.id, get_device_id()
        if there != here:
            message = f"cudaErrorIllegalAddress: an argument is on device {there}; "
            raise CUDARuntimeError(message + f"the kernel runs on the current device, {here}")
    if isinstance(value, ndarray):
        return view_as_numpy(value)
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


class RawKernel(raw.RawKernel):
    """A kernel given as CUDA C++, which the simulator runs.

    Parameters
    ----------
    code, name, options, backend, translate_cucomplex, enable_cooperative_groups, jitify
        As in CuPy.
    """

    __slots__ = ()
    _has_values = False  # which NumPy's are, and scalars by then

    def _checked_arguments(self, args: Any, count: int) -> tuple[Any, ...]:
        return tuple(map(convert_argument, super()._checked_arguments(args, count)))

    def __getattr__(self, name: str) -> Any:
        why = "only a GPU's machine code has one" if name in raw.ONLY_ON_GPU else ""
        raise AttributeError(absent(f"cupy.RawKernel.{name}", why), name=name, obj=self)


class RawModule(raw.RawModule):
    """Kernels given as CUDA C++ or PTX, which the simulator runs.

    Parameters
    ----------
    code, path, options, backend, translate_cucomplex, enable_cooperative_groups, name_expressions, jitify
        As in CuPy. ``path`` is not that of a cubin.
    """  # noqa: E501

    __slots__ = ()

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its symbol, or by one of the ``name_expressions``."""
        return RawKernel.of_module(self._given, self._library, name)

    def get_global(self, name: str) -> MemoryPointer:  # type: ignore[override]
        """Return the pointer to a ``__device__`` or ``__constant__`` variable."""
        return MemoryPointer(BaseMemory(super().get_global(name)), 0)
