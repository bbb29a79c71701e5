"""The simulator engine: CUDA kernels on the host's processor, on NumPy arrays."""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.engines import kernel_files
from cudakern.engines.cuda.library import import_cupy
from cudakern.engines.kernel_text import load_source
from cudakern.errors import BindingError
from cudakern.simulator.launching import observation
from cudakern.simulator.launching.launch_parameters import PackedArguments
from cudakern.simulator.launching.operands import Operand
from cudakern.simulator.libraries.execution_mode import is_fast
from cudakern.simulator.libraries.loader import ModuleLoader
from cudakern.simulator.libraries.toolchain import Toolchain, find_toolchain
from cudakern.simulator.runtime.limits import POINTER_BYTES
from cudakern.simulator.sources.text_to_ptx import Ptx, find_target, ptx_of_program
from cudakern.values import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cudakern.engines.base import KernelSpec, Launch, T, Tensor
    from cudakern.simulator.libraries.loaded import LoadedKernel


def ptx_of(spec: KernelSpec) -> Ptx:
    """Return the PTX of a specialisation, compiled as its machine code is."""
    return ptx_of_program(spec.source, kernel_files.text_of(spec), spec.entry)


def operands_of(tensors: Sequence[Tensor], addresses: Sequence[int]) -> tuple[Operand, ...]:
    """Return the operands of an operator's launch; its outputs count as unwritten before."""
    return tuple(
        Operand(
            tensor.name,
            address,
            tensor.layout,
            # An address does not say where its allocation starts, so it is taken to be near.
            (address + tensor.layout.span[0]) % 16 - tensor.layout.span[0],
            parameter_offset=POINTER_BYTES * i,
            read_only=not tensor.written,
            unwritten=tensor.written and not tensor.read,
            no_addresses=True,
        )
        for i, (tensor, address) in enumerate(zip(tensors, addresses, strict=True))
    )


class _Workspaces(threading.local):
    """The workspaces of a thread, whose launches run one after the other."""

    def __init__(self) -> None:
        self.by_size: dict[int, np.ndarray[Any, Any]] = {}


class SimulatorEngine:
    """Runs the PTX that NVRTC makes of a kernel, observed or not."""

    name = "simulator"

    def __init__(self) -> None:
        self._loader = ModuleLoader()
        self._kernels: dict[tuple[KernelSpec, str, Toolchain, str, bool, bool], LoadedKernel] = {}
        self._workspaces = _Workspaces()

    def kernel(
        self, spec: KernelSpec, *, checked: bool = False, fast: bool = False
    ) -> LoadedKernel:
        """Return a kernel, compiling it at first use: for checked launches, or for large ones."""
        key = (
            spec,
            load_source(spec.source).digest,
            find_toolchain(),
            find_target(),
            checked,
            fast,
        )
        kernel = self._kernels.get(key)
        if kernel is None:
            module = self._loader.load(ptx_of(spec), checked=checked, fast=fast)
            kernel = self._kernels.setdefault(key, module.kernel(spec.entry, spec.source))
        return kernel

    def compile(self, spec: KernelSpec, device: int) -> Path:  # noqa: ARG002  there is one host
        """Return the file of a specialisation, compiling it unless it is there."""
        return self._loader.compile(ptx_of(spec), spec.entry)

    def current_device(self) -> int:
        """Return the current device of this thread in what stands for CuPy."""
        return int(import_cupy().cuda.runtime.getDevice())

    def workspace(self, nbytes: int) -> int:
        """Return the address of memory for a launch that is to follow on this thread."""
        by_size = self._workspaces.by_size
        memory = by_size.get(nbytes)
        if memory is None:
            memory = by_size[nbytes] = np.zeros(nbytes // 8, np.uint64)
        return int(memory.__array_interface__["data"][0])

    def is_captured(self, device: int) -> bool:  # noqa: ARG002
        """Return False: there are no graphs."""
        return False

    def temporary(self, device: int, make: Callable[[], T]) -> T:  # noqa: ARG002
        """Return memory that a call makes for itself."""
        return make()

    def prepare(
        self, launch: Launch, device: int, tensors: Sequence[Tensor] = ()
    ) -> Callable[..., None]:
        """Compile what the launch needs; the result takes the addresses of the arrays."""
        del device
        workspace, scratch = launch.workspace, launch.scratch
        runs = [self._prepared(part, tensors) for part in launch.parts[:-1]]
        if runs:  # they have written what the last one reads
            tensors = (*tensors[:-1], tensors[-1]._replace(read=True, written=False))
        runs.append(self._prepared(launch, tensors))

        def call(*addresses: int) -> None:
            if workspace is not None:
                addresses = (*addresses, self.workspace(workspace) if workspace else 0)
            if scratch is not None:
                memory = np.empty(scratch // 8, np.uint64)
                memory[: launch.zeros // 8] = 0
                addresses = (*addresses, int(memory.ctypes.data) if scratch else 0)
            # Launches of a signal's handler meanwhile get others, as does the next if this fails.
            workspaces, self._workspaces.by_size = self._workspaces.by_size, {}
            if all(run(addresses) for run in runs):
                self._workspaces.by_size = workspaces

        return call

    def _prepared(
        self, launch: Launch, tensors: Sequence[Tensor]
    ) -> Callable[[Sequence[int]], bool]:
        """Compile a kernel; the result launches it, and returns whether it has run to its end."""
        pack, tail = struct.Struct(f"={launch.pointers}Q").pack, launch.arguments.data
        shared = min(launch.shared_bytes, layout.SHARED_BYTES)
        size = (launch.grid_on(layout.MULTIPROCESSORS), launch.block, shared)

        def load(*, checked: bool) -> LoadedKernel:
            fast = not checked and is_fast(size[0], size[1])
            kernel = self.kernel(launch.kernel, checked=checked, fast=fast)
            nbytes = POINTER_BYTES * launch.pointers + len(tail)
            if kernel.parameter_sizes != (nbytes,):
                requirement = f"must fill the kernel's parameters of {kernel.parameter_sizes} bytes"
                raise BindingError(kernel.name, "arguments", f"{requirement}; got {nbytes}")
            return kernel

        run = None if observation.active else load(checked=False).launcher(*size)

        def call(addresses: Sequence[int]) -> bool:
            nonlocal run
            parameters = pack(*addresses) + tail
            if observation.active:
                operands = operands_of(tensors, addresses)
                arguments = PackedArguments(parameters, (0,), operands, pointers_alone=True)
                return observation.observe(load(checked=True), size, arguments)
            if run is None:
                run = load(checked=False).launcher(*size)
            run(parameters)
            return True

        return call


ENGINE = SimulatorEngine()
