"""Kernels of users in the simulator, beside the same loops in C++ and, if installed, POCL."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.simulator import RawModule
from cudakern.simulator.libraries.toolchain import find_toolchain
from perf.static import pocl
from perf.static.comparison import OURS, Comparison
from perf.static.user_kernels import F32, I32, SOURCE, kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perf.static.comparison import Prepare
    from perf.static.user_kernels import Ready, UserKernel

CPP, POCL = "C++", "POCL"
#: Options of the loops in C++.
OPTIONS = ("-O2", "-march=native")


def cpp_launcher() -> Ready:
    """Return what runs the loops in C++ instead of a kernel."""
    toolchain = find_toolchain()
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/loops.so"
        own = ("-nostdlib++",) if toolchain.is_zig else ()  # which would compile one first
        command = [*toolchain.command, *OPTIONS, *own, "-shared", "-fPIC", "-o", library]
        subprocess.run([*command, str(SOURCE.with_suffix(".cpp")), "-lm"], check=True)
        functions = ctypes.CDLL(library)

    def ready(kernel: UserKernel, arguments: Sequence[Any]) -> Callable[[], object]:
        types: dict[type, Callable[[Any], Any]] = {
            np.ndarray: lambda array: ctypes.c_void_p(array.ctypes.data),
            F32: ctypes.c_float,
            I32: ctypes.c_int,
        }
        size = I32(arguments[kernel.output].size)
        given = [types[type(argument)](argument) for argument in (*arguments, size)]
        return partial(functions[kernel.name], *given)

    return ready


def simulator_launcher() -> Ready:
    """Return what runs a kernel in the simulator."""
    module = RawModule(path=str(SOURCE))

    def ready(kernel: UserKernel, arguments: Sequence[Any]) -> Callable[[], object]:
        return partial(module.get_function(kernel.name), kernel.grid, kernel.block, arguments)

    return ready


def comparisons(n: int, rng: np.random.Generator) -> list[Comparison]:
    """Return what is compared over about n elements."""
    everybody = {OURS: simulator_launcher(), CPP: cpp_launcher()}
    with_pocl = pocl.launcher(SOURCE.read_text(encoding="utf-8"))
    if with_pocl is not None:
        everybody[POCL] = with_pocl
    compared = []
    for kernel in kernels(n, rng):
        contenders: dict[str, Prepare] = {
            name: partial(kernel.prepare, ready) for name, ready in everybody.items()
        }
        if kernel.name in pocl.LACKING:
            contenders.pop(POCL, None)
        compared.append(Comparison(kernel.title, contenders, kernel.expected))
    return compared
