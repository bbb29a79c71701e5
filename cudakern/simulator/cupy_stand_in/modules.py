"""The modules that stand for CuPy's, and when they do."""

from __future__ import annotations

import importlib
import sys
from contextlib import AbstractContextManager, ContextDecorator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from cudakern.errors import ArgumentError, KernelCompileError
from cudakern.process.caches import clear_caches
from cudakern.process.forks import Lock
from cudakern.process.lazy import SIMULATED, load
from cudakern.simulator.cupy_stand_in import (
    cupyx_scipy,
    devices,
    functions,
    internals,
    jit,
    memory,
    profiling,
    randoms,
)
from cudakern.simulator.cupy_stand_in.absent import absent
from cudakern.simulator.cupy_stand_in.arrays import make_empty, ndarray
from cudakern.simulator.cupy_stand_in.devices import add_devices, remove_devices
from cudakern.simulator.cupy_stand_in.elementwise import ElementwiseKernel
from cudakern.simulator.cupy_stand_in.names import MODULES, NAMES, OLD
from cudakern.simulator.cupy_stand_in.raw import RawKernel, RawModule
from cudakern.simulator.cupy_stand_in.reduction import ReductionKernel
from cudakern.values.validation import as_extent

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOTS = ("cupy", "cupy_backends", "cupyx")
#: The version of CuPy whose names these are.
VERSION = "14.2.0"


def _take(module: ModuleType, names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names.split()}


_STREAMS = _take(devices, "Event ExternalStream Stream get_current_stream get_elapsed_time")
_MEMORY = _take(
    memory, "BaseMemory Memory MemoryPointer MemoryPool UnownedMemory alloc set_allocator"
)
_MEMORY["get_allocator"] = lambda: memory.alloc
_MEMORY["malloc_managed"] = _MEMORY["malloc_async"] = memory.alloc
_PINNED = _take(memory, "PinnedMemory PinnedMemoryPointer PinnedMemoryPool alloc_pinned_memory")
_PINNED["set_pinned_memory_allocator"] = memory.set_allocator
#: What `memcpy` is told of its addresses.
_WAYS = ("HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice", "Default")
#: The version of CUDA that CuPy 14 has at least.
_CUDA_VERSION = 12090
_CAPTURE_MODES = ("Global", "ThreadLocal", "Relaxed")
_NVTX = ("Mark", "MarkC", "RangeEnd", "RangePop", "RangePush", "RangePushC", "RangeStart")
_OWN_FUNCTIONS = (
    "array asarray ascontiguousarray asfarray asfortranarray asnumpy clear_memo "
    "empty_like from_dlpack frombuffer fuse get_array_module in1d load memoize msort show_config "
    "ufunc vectorize"
)

#: Modules below cupy that have nothing but names of NumPy's.
_AS_NUMPY = "exceptions fft lib lib.stride_tricks linalg polynomial polynomial.polynomial "
_AS_NUMPY += "polynomial.polyutils"
_KERNELS = {
    kind.__name__: kind for kind in (ElementwiseKernel, RawKernel, RawModule, ReductionKernel)
}
_ACCELERATORS = {
    f"{verb}_{work}_accelerators": getattr(internals, f"{verb}_accelerators")
    for verb in ("get", "set")
    for work in ("elementwise", "reduction", "routine")
}
_CORE = {
    "ndarray": ndarray,
    **_take(functions, "array ascontiguousarray asfortranarray"),
}
#: Names of cupy.testing besides NumPy's.
_TESTING = """
    assert_array_equal assert_array_list_equal assert_warns fix_random for_CF_orders
    for_all_dtypes for_all_dtypes_combination
    for_complex_dtypes for_dtypes for_dtypes_combination for_float_dtypes for_int_dtypes
    for_int_dtypes_combination for_orders for_signed_dtypes for_signed_dtypes_combination
    for_unsigned_dtypes for_unsigned_dtypes_combination generate_seed
    installed multi_gpu numpy_cupy_allclose numpy_cupy_array_almost_equal
    numpy_cupy_array_almost_equal_nulp numpy_cupy_array_equal numpy_cupy_array_less
    numpy_cupy_array_list_equal numpy_cupy_array_max_ulp numpy_cupy_equal numpy_cupy_raises
    numpy_satisfies parameterize product product_dict shaped_arange shaped_linspace shaped_random
    shaped_reverse_arange slow with_requires
"""
TESTING = frozenset(_TESTING.split())


def _refuse_handle() -> None:
    instead = "the handle is for a library of a GPU's: x @ y and cupy.linalg do without"
    raise NotImplementedError(absent("cupy.cuda.device.get_cublas_handle", instead))


_OF_CUPYX = "empty_like_pinned rsqrt scatter_add scatter_max scatter_min zeros_like_pinned"

#: What the modules have of their own, by their full names; other names of NAMES are NumPy's.
OWN: dict[str, dict[str, Any]] = {
    "cupy": {
        **_KERNELS,
        "NINF": -np.inf,
        "__version__": VERSION,
        SIMULATED: True,
        "asanyarray": functions.asarray,
        "empty": make_empty,
        "fromDlpack": functions.from_dlpack,
        "is_available": lambda: True,
        "ndarray": ndarray,
        **_take(functions, _OWN_FUNCTIONS),
        "get_default_memory_pool": lambda: memory.POOL,
        "get_default_pinned_memory_pool": lambda: memory.PINNED_POOL,
        **{name: functions.adapt_from_numpy(name, getattr(np, new)) for name, new in OLD.items()},
        **{n: getattr(np.exceptions, n) for n in NAMES["exceptions"] if hasattr(np.exceptions, n)},
    },
    "cupy._core": {
        **_KERNELS,
        **_CORE,
        **_ACCELERATORS,
        **_take(functions, "from_dlpack ufunc"),
        "get_size": internals.get_size,
    },
    "cupy._core._accelerator": _ACCELERATORS,
    "cupy._core._kernel": {"ElementwiseKernel": ElementwiseKernel, "ufunc": functions.ufunc},
    "cupy._core._reduction": {"ReductionKernel": ReductionKernel},
    "cupy._core._scalar": {"get_typename": internals.get_typename},
    "cupy._core.core": {
        **_CORE,
        "ElementwiseKernel": ElementwiseKernel,
        "_ndarray_base": ndarray,
    },
    "cupy._core.internal": {
        **_take(internals, "clp2 get_size prod"),
        "_normalize_axis_index": internals.normalize_axis_index,
        "prod_sequence": internals.prod,
    },
    "cupy._core.raw": {"RawKernel": RawKernel, "RawModule": RawModule},
    "cupy._util": {
        **_take(internals, "PerformanceWarning experimental"),
        **_take(functions, "clear_memo memoize"),
    },
    "cupy.cuda": {
        "get_cuda_path": internals.get_cuda_path,
        "get_nvcc_path": internals.get_cuda_path,
        **_take(devices, "Device get_device_id"),
        "is_available": lambda: True,
        "profile": profiling.profile,
        "using_allocator": memory.using_allocator,
        **_STREAMS,
        **_MEMORY,
        **_PINNED,
    },
    "cupy.cuda.compiler": {"CompileException": KernelCompileError},
    "cupy.cuda.device": {
        **_take(devices, "Device get_device_id"),
        "get_cublas_handle": _refuse_handle,
        "get_compute_capability": lambda: devices.Device().compute_capability,
    },
    "cupy.cuda.memory": {**_MEMORY, "OutOfMemoryError": MemoryError},
    "cupy.cuda.nvtx": {"available": False, **dict.fromkeys(_NVTX, profiling.do_nothing)},
    "cupy.cuda.pinned_memory": _PINNED,
    "cupy.cuda.profiler": dict.fromkeys(("start", "stop"), profiling.do_nothing),
    "cupy.cuda.runtime": {
        "CUDARuntimeError": devices.CUDARuntimeError,
        **{
            f"cudaDevAttr{name}": number
            for name, (number, _) in devices.ATTRIBUTES.items()
            if not name.startswith("ComputeCapability")  # as in CuPy
        },
        "deviceGetAttribute": devices.device_attribute,
        "deviceSynchronize": lambda: None,
        "driverGetVersion": lambda: _CUDA_VERSION,
        "eventRecord": devices.record_event,
        "getDevice": devices.get_device_id,
        "getDeviceCount": devices.device_count,
        "getDeviceProperties": devices.properties,
        "is_hip": False,
        "memGetInfo": lambda: devices.Device().mem_info,
        "memcpy": memory.memcpy,
        "memcpy2DAsync": memory.memcpy_2d,
        "memcpyAsync": lambda dst, src, size, kind, stream: memory.memcpy(dst, src, size, kind),
        **{f"memcpy{way}": kind for kind, way in enumerate(_WAYS)},
        "runtimeGetVersion": lambda: _CUDA_VERSION,
        "setDevice": devices.use_device,
        **{f"streamCaptureMode{mode}": number for number, mode in enumerate(_CAPTURE_MODES)},
        "streamIsCapturing": lambda stream: False,
        "streamSynchronize": lambda stream: None,
        "streamWaitEvent": devices.wait_for_event,
    },
    "cupy.cuda.stream": _STREAMS,
    **{f"cupy.{name}": {} for name in _AS_NUMPY.split()},
    "cupy.fft": {"config": internals.FFT_CONFIG},
    "cupy.testing": {},  # see TESTING
    "cupy.random": {
        **_take(randoms, "RandomState Generator default_rng get_random_state"),
        **dict.fromkeys(("MRG32k3a", "Philox4x3210", "XORWOW"), np.random.Philox),
    },
    "cupy.typing": {"ArrayLike": ArrayLike, "DTypeLike": DTypeLike, "NDArray": NDArray},
    "cupyx": {
        **_take(functions, _OF_CUPYX),
        "empty_pinned": np.empty,
        "get_runtime_info": functions.describe,
        **_take(internals, "errstate geterr seterr"),
        "zeros_pinned": np.zeros,
    },
    "cupyx.time": {"repeat": profiling.benchmark},
    "cupyx.profiler": _take(profiling, "benchmark profile time_range"),
}


class _StandIn(ModuleType):
    """A module of the stand-in: what it has of its own, submodules, and names of NumPy's."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"What in_place_of_cupy has of {name}.")
        self.__dict__.update(OWN[name])
        self.__path__: list[str] = []
        root, _, below = name.partition(".")
        self._below = below
        self._names = NAMES.get(below, frozenset()) if root == "cupy" else frozenset()

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # CuPy has none: `import *` brings what is public
            return [public for public in dir(self) if not public.startswith("_")]
        full = f"{self.__name__}.{name}"
        if full in MODULES:
            value: Any = MODULES[full]
        elif self._below == "testing" and name in TESTING:
            value = getattr(load("cudakern.simulator.cupy_stand_in.testing"), name)
        elif name in self._names and hasattr(self._numpy(), name):
            value = getattr(self._numpy(), name)
            if self._below == "random":
                value = value if isinstance(value, type) else randoms.wrap_draw(name, value)
            elif self._below == "testing":
                value = functions.wrap_assertion(value)
            else:
                value = functions.adapt_from_numpy(name, value)
        else:
            raise AttributeError(self.missing(name), name=name, obj=self)
        return self.__dict__.setdefault(name, value)

    def missing(self, name: str) -> str:
        full = f"{self.__name__}.{name}"
        if name.startswith("_") or name == "core" or not hasattr(self._numpy(), name):
            return absent(full)
        other = "numpy" + full.removeprefix("cupy")
        return f"CuPy has no {full}, nor has in_place_of_cupy; {other} takes cupy.asnumpy(x)"

    def _numpy(self) -> Any:
        """Return the module of NumPy that has the names, if there is one."""
        if not self.__name__.startswith("cupy.") and self.__name__ != "cupy":
            return None
        try:
            return importlib.import_module(f"numpy.{self._below}".rstrip("."))
        except ImportError:
            return None

    def __dir__(self) -> list[str]:
        below = f"{self.__name__}."
        inside = {n.removeprefix(below) for n in MODULES if n.startswith(below)}
        there = self._numpy()
        here = {name for name in self._names if hasattr(there, name)}
        here |= TESTING if self._below == "testing" else set()
        return sorted({*self.__dict__, *here, *(name for name in inside if "." not in name)})


_made = {name: _StandIn(name) for name in OWN}
MODULES.update(_made)
MODULES.update({name: cupyx_scipy.ScipyModule(name) for name in cupyx_scipy.MODULE_NAMES})
MODULES["cupy.fft.config"] = internals.FFT_CONFIG
if jit.is_installed():
    MODULES["cupyx.jit"] = jit.JitModule()


class _Finder(MetaPathFinder, Loader):
    """Finds the stand-in's modules, and refuses other ones of CuPy's by their names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        if fullname in cupyx_scipy.MODULE_NAMES:
            cupyx_scipy.require_scipy()
        if fullname not in MODULES:
            parent, _, name = fullname.rpartition(".")
            there: Any = MODULES.get(parent)
            message = absent(fullname) if there is None else there.missing(name)
            asker = sys._getframe(1).f_back  # noqa: SLF001  beyond Python's search
            if asker is not None and asker.f_globals.get("__name__") == "importlib.util":
                return None  # as its find_spec does then
            # Without a name: of one that has it, Python keeps the message to itself.
            raise ModuleNotFoundError(message)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return MODULES[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is made."""


_finder = _Finder()
_lock = Lock()
#: For each block, what was imported before the first of them.
_blocks: list[dict[str, ModuleType]] = []


def _take_modules() -> dict[str, ModuleType]:
    """Take all of CuPy's modules, real or not, out of Python's table; return them."""
    names = [name for name in [*sys.modules] if name.partition(".")[0] in _ROOTS]
    return {name: sys.modules.pop(name) for name in names}


def _install() -> dict[str, ModuleType]:
    """Have Python find the stand-in, and the operators run on its arrays in the simulator."""
    before = _take_modules()
    sys.meta_path.insert(0, _finder)
    try:
        importlib.import_module("cupy")  # the operators look whether it is imported
    except BaseException:
        _remove(before)
        raise
    clear_caches()  # bound launches are those of another engine
    return before


def _remove(before: dict[str, ModuleType]) -> None:
    if not sys.meta_path:  # None when the process ends
        return
    sys.meta_path.remove(_finder)
    _take_modules()
    sys.modules.update(before)
    clear_caches()


class _Block(ContextDecorator, AbstractContextManager[ModuleType, None]):
    """A block that goes on to the end of the process unless it is left before, silently."""

    def __init__(self, devices: int) -> None:
        self._devices = devices

    def _recreate_cm(self) -> _Block:
        return _Block(self._devices)

    def __enter__(self) -> ModuleType:
        with _lock:
            _blocks.append(_blocks[0] if _blocks else _install())
        add_devices(self._devices)
        return MODULES["cupy"]

    def __exit__(self, *_: object) -> None:
        remove_devices(self._devices)
        with _lock:
            before = _blocks.pop()
            if not _blocks:
                _remove(before)


def in_place_of_cupy(*, devices: SupportsIndex = 1) -> AbstractContextManager[ModuleType, None]:
    """Have ``import cupy`` give NumPy's arrays and the simulator's kernels, inside of the block.

    Code written for CuPy runs unchanged, without a GPU and without CuPy: its RawKernel, RawModule,
    ElementwiseKernel and ReductionKernel run in the simulator, where `checked` and `traffic` see
    them; its arrays are NumPy's.

    Parameters
    ----------
    devices : int, optional
        How many there are. Arrays are made on the current one of the thread, `cupy.cuda.Device`
        makes one current, and no device reaches the memory of another.

    Returns
    -------
    context manager
        Its block has the module that ``import cupy`` gives. Without an end, the block goes on to
        that of the process.

    Notes
    -----
    What was imported as cupy before, real or not, stays what it is, and is what ``import cupy``
    gives after the block. Modules that were imported inside of the block keep the stand-in. All
    threads of the process see it. Blocks may be nested: the largest number of devices counts. The
    operators of this package take its arrays, and run in the simulator.

    ``cudakern/simulator/cupy_stand_in/README.md`` lists what there is. Anything else raises
    AttributeError or ImportError with its full name.

    Examples
    --------
    >>> import cudakern as ck
    >>> with ck.simulator.in_place_of_cupy(), ck.simulator.checked():
    ...     import cupy as cp
    ...
    ...     code = 'extern "C" __global__ void f(int* x) { x[threadIdx.x + 1] = 0; }'
    ...     cp.RawKernel(code, "f")((1,), (4,), (cp.ones(4, cp.int32),))
    Traceback (most recent call last):
    cudakern.errors.SimulatorError: f: out_of_bounds: f.cu:1: ...
    """
    count = as_extent("in_place_of_cupy", "devices", devices)
    if count == 0:
        raise ArgumentError("in_place_of_cupy", "devices", "must be at least 1; got 0")
    return _Block(count)
