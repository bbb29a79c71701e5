"""`cupyx.jit`: kernels in Python, which the CuPy that is installed translates to CUDA C++.

Its own translator serves: it needs no GPU, and no other would take just what it takes. Without
CuPy there is no `cupyx.jit`. CuPy's modules are in Python's table only while they are imported and
while they translate.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from functools import cache, update_wrapper
from importlib.machinery import PathFinder
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.process.forks import Lock
from cudakern.simulator.cupy_stand_in.absent import absent
from cudakern.simulator.cupy_stand_in.arrays import ndarray
from cudakern.simulator.cupy_stand_in.devices import Device, properties
from cudakern.simulator.cupy_stand_in.kernel_text import INCLUDE
from cudakern.simulator.cupy_stand_in.names import MODULES
from cudakern.simulator.cupy_stand_in.raw import RawModule
from cudakern.values.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_ROOTS = ("cupy", "cupy_backends", "cupyx")
#: The folder above, since the one below has a `cupy/carray.cuh`, which is not CuPy's.
_HEADERS = (f"-I{INCLUDE.parent}", f"--pre-include={INCLUDE.name}/cudakern_jit.cuh")
_lock = Lock()
_real: dict[str, ModuleType] = {}  # CuPy's modules, as far as they have been imported


def is_installed() -> bool:
    """Return whether there is a CuPy that can translate."""
    return PathFinder.find_spec("cupyx") is not None


@contextmanager
def _real_modules() -> Iterator[None]:
    """Have Python's table hold CuPy's modules, and find more of them."""
    with _lock:
        ours = {n: m for n, m in [*sys.modules.items()] if n.partition(".")[0] in _ROOTS}
        finders = [f for f in sys.meta_path if type(f).__module__.startswith("cudakern.")]
        for name in ours:
            del sys.modules[name]
        for finder in finders:
            sys.meta_path.remove(finder)
        sys.modules.update(_real)
        try:
            yield
        finally:
            for name in [n for n in sys.modules if n.partition(".")[0] in _ROOTS]:
                _real[name] = sys.modules.pop(name)
            sys.modules.update(ours)
            sys.meta_path[:0] = finders


def _load(name: str) -> ModuleType:
    """Return a module of CuPy's."""
    if name not in _real:
        with _real_modules():
            importlib.import_module(name)
    return _real[name]


@cache
def _load_translator() -> ModuleType:
    """Return CuPy's translator, which finds CuPy's functions and the simulator's device."""
    constants: Any = _load("cupyx.jit._internal_types")
    functions: Any = _load("cupyx.jit._builtin_funcs")
    constants.Constant.obj = property(lambda constant: _as_cupys(constant._obj))  # noqa: SLF001
    capability = lambda: Device().compute_capability  # noqa: E731
    functions.device = SimpleNamespace(get_compute_capability=capability)
    lanes = properties()["warpSize"]
    core: Any = _load("cupy._core")
    core._get_warpsize, core._full_mask = lambda: lanes, lambda: (1 << lanes) - 1  # noqa: SLF001
    return _load("cupyx.jit._compile")


def _as_cupys(value: Any) -> Any:
    """Return what CuPy has in place of a module or a function of the stand-in, or else the value.

    CuPy's modules must be in Python's table.
    """
    if isinstance(value, ModuleType):
        is_ours = MODULES.get(value.__name__) is value
        return importlib.import_module(value.__name__) if is_ours else value
    if not callable(value) or isinstance(value, type):
        return value
    for name, module in [*MODULES.items()]:
        for key, own in [*vars(module).items()]:
            if own is value:
                return getattr(importlib.import_module(name), key)
    return value


class JitModule(ModuleType):
    """The module that stands for `cupyx.jit`: CuPy's, but for what launches kernels."""

    def __init__(self) -> None:
        super().__init__("cupyx.jit", "What in_place_of_cupy has of cupyx.jit.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not is_installed():
            raise AttributeError(absent(f"cupyx.jit.{name}"), name=name, obj=self)
        value = rawkernel if name == "rawkernel" else getattr(_load("cupyx.jit"), name)
        return self.__dict__.setdefault(name, value)

    def missing(self, name: str) -> str:
        """Return how to import a name: none is a module of its own."""
        return absent(f"cupyx.jit.{name}", f"write: from cupyx.jit import {name}")


def rawkernel(*, mode: str = "cuda", device: bool = False) -> Callable[[Any], Any]:
    """Return a decorator that makes a kernel of a function."""
    if device:  # called by kernels alone
        kind: Any = _load("cupyx.jit._interface")._JitRawKernel  # noqa: SLF001
        return lambda function: update_wrapper(kind(function, mode, device), function)
    return lambda function: JitKernel(function, mode)


class JitKernel:
    """A kernel in Python, which is translated once for the types of its arguments."""

    def __init__(self, function: Any, mode: str) -> None:
        update_wrapper(self, function)
        self._function, self._mode = function, mode
        self._kernels: dict[Any, tuple[str, Any]] = {}

    def __call__(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        shared_mem: int = 0,
        stream: object = None,
    ) -> None:
        """Run the kernel."""
        types = tuple(map(self._type_of, args))
        if types not in self._kernels:
            self._kernels[types] = self._translate(types)
        scalars = _load("cupyx.jit._cuda_types").Scalar
        given = [
            value if not isinstance(type_, scalars) else _as_scalar(type_.dtype, value)
            for value, type_ in zip(args, types, strict=True)
        ]
        _, kernel = self._kernels[types]
        kernel(tuple(grid), tuple(block), given, shared_mem=shared_mem, stream=stream)

    def _type_of(self, value: Any) -> Any:
        if isinstance(value, ndarray):
            low, high = Layout(value.shape, value.strides, value.itemsize).span
            is_small = high - low < 1 << 31
            kinds = _load("cupyx.jit._cuda_types")
            return kinds.CArray(value.dtype, value.ndim, value.flags.c_contiguous, is_small)
        if np.isscalar(value):
            rules = _load("cupyx.jit._cuda_typerules")
            return rules.get_ctype_from_scalar(self._mode, value)
        message = f"{type(value)} is not supported for RawKernel"
        raise TypeError(message)

    def _translate(self, types: tuple[Any, ...]) -> tuple[str, Any]:
        compiler, kinds = _load_translator(), _load("cupyx.jit._cuda_types")
        with _real_modules():
            made = compiler.transpile(
                self._function, ['extern "C"', "__global__"], self._mode, types, kinds.void
            )
        if made.backend != "nvrtc":
            instead = "NVRTC does not compile Thrust: write a loop, or take jit.cub"
            raise NotImplementedError(absent("cupyx.jit.thrust", instead))
        module = RawModule(
            code=made.code,
            options=(*made.options, *_HEADERS),
            enable_cooperative_groups=made.enable_cooperative_groups,
            jitify=made.jitify,
        )
        return made.code, module.get_function(made.func_name)

    def __getitem__(self, sizes: tuple[Any, Any]) -> Callable[..., None]:
        grid, block = (size if isinstance(size, tuple) else (size, 1, 1) for size in sizes)
        return lambda *args, **kwargs: self(grid, block, args, **kwargs)

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The texts that CuPy has made, by types."""
        return {types: code for types, (code, _) in self._kernels.items()}

    @property
    def cached_code(self) -> str:
        """The first text."""
        return next(iter(self.cached_codes.values()))


def _as_scalar(dtype: Any, value: Any) -> Any:
    return np.float32(value) if dtype.char == "e" else dtype.type(value)
