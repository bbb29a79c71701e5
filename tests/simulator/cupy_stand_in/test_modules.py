"""What ``import cupy`` gives inside the block and after it."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator.cupy_stand_in import profiling
from cudakern.simulator.cupy_stand_in.modules import OWN, TESTING
from cudakern.simulator.cupy_stand_in.names import MODULES
from tests.helpers.processes import printed
from tests.helpers.rows import each

IMPORTS = """
import cupy
import cupyx
import cupy.cuda as cuda
import cupy.cuda.nvtx as nvtx
import cupyx.profiler
from cupy import RawKernel, ElementwiseKernel, ndarray, zeros, cuda, linalg, random
from cupy.cuda import Device, Stream, Event, runtime
from cupy.cuda.runtime import getDeviceCount
from cupy.cuda.stream import get_current_stream
from cupy.cuda.memory import MemoryPool
from cupy.lib.stride_tricks import as_strided
from cupy.linalg import norm
from cupy.random import default_rng
from cupy.typing import ArrayLike, DTypeLike, NDArray
from cupyx import scatter_add, rsqrt
import cupy.fft.config
from cupyx.profiler import benchmark, time_range
"""


@each("line", IMPORTS.split("\n")[1:-1])
def test_imports(cp, line):
    names = {}
    exec(line, names)  # noqa: S102
    assert sys.modules["cupy"] is cp is MODULES["cupy"]
    assert importlib.util.find_spec("cupy") is not None
    assert len(names) > 1


REFUSED = [
    ("from cupy import no_such_name", "in_place_of_cupy has no cupy.no_such_name;"),
    ("from cupy import geomspace", "CuPy has no cupy.geomspace, nor has in_place_of_cupy;"),
    ("import cupy_backends.cuda", "in_place_of_cupy has no cupy_backends;"),
    ("import cupy.sparse", "in_place_of_cupy has no cupy.sparse;"),
    ("from cupy.cuda import texture", "no cupy.cuda.texture; textures are not executed"),
    ("import cupy; cupy.cuda.nccl", "in_place_of_cupy has no cupy.cuda.nccl;"),
    ("import cupy.cuda.nccl", "no cupy.cuda.nccl; move that part out"),
    ("from cupy.cuda import nccl", "no cupy.cuda.nccl; move that part out"),
    ("from cupy.core import core", "no cupy.core; it is cupy._core by now"),
    ("import cupy; cupy.core", "no cupy.core; it is cupy._core by now"),
    ("import cupyx.optimizing", "no cupyx.optimizing; leave it out"),
    ("import cupyx; cupyx.allow_synchronize", "no cupyx.allow_synchronize; leave it out"),
    ("from cupy.testing import gpu", "no cupy.testing.gpu; leave it out"),
    ("import cupy; cupy.cuda.MemoryAsyncPool()", "MemoryAsyncPool; nothing is pooled: leave it"),
    ("import cupy; cupy.cuda.memory_hook", "memory_hook; nothing is pooled: leave it out"),
    ("import cupy; cupy.cuda.Device(0).cublas_handle", "Device.cublas_handle; it is a library"),
    ("import cupy; cupy.fft.config.set_cufft_callbacks", "no cupy.fft.config.set_cufft_callbacks;"),
    ("import cupyx; cupyx.seterr(divide='raise')", "linalg alone must be given.*; got divide"),
    ("import cupyx.distributed", "no cupyx.distributed; move that part out"),
    ("import cupy; cupy.cuda.runtime.cudaAddressModeClamp", "textures are not executed: have"),
    ("import cupy; cupy.cuda.device.get_cublas_handle()", "the handle is for a library of a GPU"),
    ("import cupy; cupy.cuda.get_hipcc_path", "no cupy.cuda.get_hipcc_path; there is no CUDA"),
    ("import cupy; cupy.cuda.Graph", "no cupy.cuda.Graph; launch without a graph"),
    ("import cupy; cupy.cuda.UnownedThing", "an annotation needs no class if it is a text"),
    ("import cupy; cupy.cuda.cusolver", "it is a library for GPUs"),
    ("import cupy; cupy.no_such_name", "GPU is, or compute it on cupy.asnumpy"),
    ("import cupy; cupy.geomspace(1, 2)", "CuPy has no cupy.geomspace, nor has in_place_of_cupy;"),
    ("import cupy; cupy.linalg.multi_dot", "CuPy has no cupy.linalg.multi_dot, nor has"),
    ("import cupy; cupy.cuda.Stream().begin_capture()", "no cupy.cuda.Stream.begin_capture;"),
    ("import cupy; cupy.RawKernel('', 'f').num_regs", "no cupy.RawKernel.num_regs;"),
    ("import cupy; cupy.cuda.Device(1)", "cudaErrorInvalidDevice: in_place_of_cupy has the device"),
    (
        "import cupy; cupy.cuda.runtime.getDeviceProperties(0)['clockRate']",
        r"no cupy.cuda.runtime.getDeviceProperties\(0\)\['clockRate'\]; the modelled GPU has name",
    ),
]


@each("line, message", REFUSED)
def test_what_is_not_there_is_named(cp, line, message):
    del cp
    errors = (ImportError, AttributeError, KeyError, NotImplementedError, RuntimeError)
    with pytest.raises(errors, match=message):
        exec(line, {})  # noqa: S102


def test_hasattr_and_dir(cp):
    assert not hasattr(cp, "no_such_name")
    assert not hasattr(cp, "__no_such_name__")
    names = dir(cp)
    assert {"zeros", "RawKernel", "linalg", "cuda", "ndarray", "__version__"} <= {*names}
    assert all(hasattr(cp, name) for name in names)


@each("module", ["cupy", "cupy.linalg", "cupy.fft", "cupy.random", "cupyx"])
def test_star_imports(module):
    line, names, theirs = f"from {module} import *", {}, {}
    with ck.simulator.in_place_of_cupy():
        exec(line, names)  # noqa: S102
    if module == "cupy":
        assert {"zeros", "sum", "RawKernel", "linalg", "float32", "ndarray"} <= {*names}
    pytest.importorskip("cupy")
    exec(line, theirs)  # noqa: S102
    assert {*names} - {*theirs} <= {"Generator", "jit", "profiler"}  # CuPy imports them at need


def test_what_was_there_before_comes_back():
    before = {name: m for name, m in sys.modules.items() if name.startswith("cupy")}
    finders = [*sys.meta_path]
    with ck.simulator.in_place_of_cupy() as outer:
        import cupy.linalg  # noqa: PLC0415

        with ck.simulator.in_place_of_cupy() as inner:
            assert inner is outer is cupy
        assert sys.modules["cupy"] is outer
        with pytest.raises(ZeroDivisionError), ck.simulator.in_place_of_cupy():
            raise ZeroDivisionError
        assert sys.modules["cupy.linalg"] is cupy.linalg
    assert {name: m for name, m in sys.modules.items() if name.startswith("cupy")} == before
    assert sys.meta_path == finders
    with ck.simulator.in_place_of_cupy() as again:
        assert again is outer


def test_a_real_cupy_comes_back():
    pytest.importorskip("cupy")
    program = """
import cupy, cupyx.profiler
import cudakern as ck
real, profiler, array = cupy, cupyx.profiler, cupy.ndarray
with ck.simulator.in_place_of_cupy():
    import cupy
    assert cupy is not real and cupy.ndarray is not array
    assert cupy.arange(3).sum().item() == 3
import cupy, cupyx.profiler
print(cupy is real, cupyx.profiler is profiler, cupy.ndarray is array)
"""
    assert printed(program).split() == ["True"] * 3


def test_blocks_of_several_threads():
    def work(_):
        for _ in range(20):
            with ck.simulator.in_place_of_cupy():
                import cupy  # noqa: PLC0415

                assert cupy is MODULES["cupy"]

    with ThreadPoolExecutor(4) as pool:
        [*pool.map(work, range(4))]
    assert sys.modules.get("cupy") is not MODULES["cupy"]


def test_it_can_decorate():
    @ck.simulator.in_place_of_cupy()
    def total():
        import cupy as cp  # noqa: PLC0415

        return int(cp.ones(3).sum())

    assert [total(), total()] == [3, 3]


def test_nothing_of_it_is_imported_before():
    program = """
import sys, cudakern as ck
ck.simulator.RawKernel, ck.simulator.checked
print([name for name in sys.modules if "cupy_stand_in" in name])
"""
    assert printed(program) == "[]\n"


def test_modules_that_were_imported_inside_keep_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    text = "import cupy\n\ndef total(x):\n    return cupy.asarray(x).sum().item()\n"
    (tmp_path / "research_of_mine.py").write_text(text, encoding="utf-8")
    with ck.simulator.in_place_of_cupy():
        import research_of_mine  # noqa: PLC0415
    monkeypatch.delitem(sys.modules, "research_of_mine")
    assert research_of_mine.total([1, 2]) == 3


def test_streams_events_and_the_device(cp):
    stream = cp.cuda.Stream(non_blocking=True)
    start, stop, called = cp.cuda.Event(), cp.cuda.Event(), []
    assert cp.cuda.get_current_stream() == cp.cuda.Stream.null
    with stream as entered:
        assert cp.cuda.get_current_stream() is entered is stream
        with cp.cuda.Stream(null=True):
            assert cp.cuda.get_current_stream() == cp.cuda.Stream.null
        assert stream.record(start) is start
        stream.wait_event(start)
        stream.add_callback(lambda *arguments: called.append(arguments), "a")
        stream.launch_host_func(called.append, "b")
    assert called == [(stream, 0, "a"), "b"]
    assert cp.cuda.get_current_stream() == cp.cuda.Stream.null
    stop.record(stream)
    stop.synchronize()
    stream.synchronize()
    assert cp.cuda.get_elapsed_time(start, stop) >= 0
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="must be recorded"):
        cp.cuda.get_elapsed_time(start, cp.cuda.Event())
    assert stream.done
    assert start.done
    assert stream.is_non_blocking
    assert stream != cp.cuda.Stream()
    assert cp.cuda.ExternalStream(stream.ptr) == stream
    previous = stream.use()
    assert cp.cuda.get_current_stream() == stream
    cp.cuda.Stream.null.use()
    assert previous is not None
    with cp.cuda.Device(0) as device:
        device.synchronize()
        device.use()
    assert device.id == int(device) == cp.cuda.get_device_id() == 0
    assert device == cp.cuda.Device()
    assert device.attributes["MultiProcessorCount"] == 132
    properties = cp.cuda.runtime.getDeviceProperties(0)
    assert (properties["warpSize"], properties["maxThreadsPerBlock"]) == (32, 1024)
    assert cp.cuda.runtime.getDeviceCount() == 1
    assert cp.cuda.is_available()
    assert cp.is_available()
    free, total = device.mem_info
    assert free == total == cp.cuda.runtime.memGetInfo()[1]


@each("arch", ["80", "sm_90"])
def test_compute_capability(cp, monkeypatch, arch):
    monkeypatch.setenv("CUDAKERN_ARCH", arch)
    assert cp.cuda.Device(0).compute_capability == arch.removeprefix("sm_")
    assert cp.cuda.runtime.getDeviceProperties(0)["major"] == int(arch[-2])


def test_pools_and_pinned_memory(cp):
    pool, pinned = cp.get_default_memory_pool(), cp.get_default_pinned_memory_pool()
    pool.set_limit(size=2**30)
    assert pool.get_limit() == 2**30
    pool.free_all_blocks()
    pinned.free_all_blocks()
    assert (pool.used_bytes(), pool.total_bytes(), pinned.n_free_blocks()) == (0, 0, 0)
    cp.cuda.set_allocator(cp.cuda.MemoryPool(cp.cuda.malloc_managed).malloc)
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ones(3)
    memory = cp.cuda.alloc_pinned_memory(x.nbytes)
    host = np.frombuffer(memory, x.dtype, x.size)
    assert x.get(out=host) is host
    assert host.tolist() == [1, 1, 1]
    import cupyx  # noqa: PLC0415

    assert type(cupyx.zeros_pinned(3)) is np.ndarray


def test_decorators_and_profilers(cp, capsys):
    from cupyx.profiler import benchmark, profile, time_range  # noqa: PLC0415

    calls = []

    @cp.memoize(for_each_device=True)
    def kernel(name):
        calls.append(name)
        return name

    assert [kernel("a"), kernel("a"), kernel("b")] == ["a", "a", "b"]
    assert calls == ["a", "b"]
    cp.clear_memo()
    kernel("a")
    assert calls == ["a", "b", "a"]

    @cp.fuse(kernel_name="f")
    def fused(x, y):
        return cp.sqrt(x) + y

    @cp.fuse
    def plain(x):
        return x + 1

    @time_range("range", color_id=1)
    def ranged():
        return plain(fused(cp.asarray([4.0]), 1))

    with profile(), time_range("block"), cp.cuda.profile():
        assert ranged().get().tolist() == [4]
    result = benchmark(ranged, n_repeat=3, n_warmup=1)
    assert result.cpu_times.shape == (3,)
    assert result.gpu_times.shape == (1, 3)
    assert "ranged" in str(result)
    cp.cuda.nvtx.RangePush("a")
    cp.cuda.nvtx.RangePop()
    cp.show_config()
    assert "stand-in for CuPy" in capsys.readouterr().out


def test_no_benchmark_goes_on_for_minutes(cp, monkeypatch):
    from cupyx.profiler import benchmark  # noqa: PLC0415

    monkeypatch.setattr(profiling, "_MOST_SECONDS", 0)
    calls = []
    assert benchmark(calls.append, (cp,)).cpu_times.shape == (1,)
    assert len(calls) == 1


def _signature(value):
    """Return the names of parameters; without a signature, read them in the docstring."""
    try:
        parameters = inspect.signature(value).parameters.values()
        return [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"]
    except (TypeError, ValueError):
        head = (value.__doc__ or "").partition("\n")[0]
    if "(" not in head:
        return None
    words = head.partition("(")[2].rpartition(")")[0].split(",")
    names = [word.partition("=")[0].split()[-1].lstrip("*") for word in words if word.strip()]
    return [name for name in names if name and name not in {"self", "kwargs", "\\"}]


OURS = [
    (name, key)
    for name, own in OWN.items()
    for key, value in own.items()
    if callable(value) and not (isinstance(value, type) and issubclass(value, BaseException))
] + [("cupy.testing", key) for key in sorted(TESTING)]
#: Names that are not compared: generators, for which NumPy's stand in; and functions with other
#: names for parameters that are positional in CuPy's source.
OTHERWISE = {
    "cupy": {"fromDlpack", "ndarray", "ufunc"},
    "cupy._core": {"ndarray", "ufunc"},
    "cupy._core._kernel": {"ufunc"},
    "cupy._core.core": {"ndarray", "_ndarray_base"},
    "cupy.cuda.nvtx": {*OWN["cupy.cuda.nvtx"]},
    "cupy.random": {"Generator", "MRG32k3a", "Philox4x3210", "RandomState", "XORWOW"},
    "cupy.cuda.profiler": {"start", "stop"},
}


@each("name, key", OURS)
def test_parameters_are_those_of_cupy(name, key):
    pytest.importorskip("cupy")
    real = importlib.import_module(name)
    if key in OTHERWISE.get(name, ()):
        return
    theirs = _signature(getattr(real, key))
    ours = _signature(getattr(MODULES[name], key))
    if theirs is None or ours is None:
        return
    assert ours[: len(theirs)] == theirs


@each("name", OWN)
def test_every_name_is_one_of_cupy(name):
    pytest.importorskip("cupyx.jit")  # an attribute of cupyx once it is imported
    real = importlib.import_module(name)
    assert isinstance(real, ModuleType)
    assert [key for key in dir(MODULES[name]) if not hasattr(real, key) and key[0] != "_"] == []


@each(
    "line",
    [
        "block = in_place_of_cupy(); block.__enter__()",
        "in_place_of_cupy().__enter__()",
        "def block():\n  with in_place_of_cupy(): yield\nopened = block(); next(opened)",
    ],
)
def test_a_block_that_goes_on_to_the_end_of_the_process(line):
    program = f"""
import sys
from cudakern.simulator import in_place_of_cupy
{line}
import cupy
print(cupy.arange(3).device, cupy.cuda.Stream() is not None)
sys.stderr = sys.stdout"""
    assert printed(program) == "<CUDA Device 0> True\n"
