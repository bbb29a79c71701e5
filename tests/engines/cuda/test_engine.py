"""The CUDA engine's own logic, on a stand-in for CuPy: argument buffers, devices, caches, errors.

What only a driver can show is shown by the operators' tests on a GPU.
"""

from __future__ import annotations

import inspect
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cudakern as ck
from cudakern.compilation import nvrtc
from cudakern.engines import kernel_files
from cudakern.engines.base import KernelSpec
from cudakern.engines.cuda import library
from cudakern.engines.cuda.engine import CudaEngine
from tests.helpers import oracle
from tests.helpers.every_function import CASES, run
from tests.helpers.recorded_cupy import on_device, recorded
from tests.helpers.rows import each

X = np.arange(120, dtype=np.float32).reshape(10, 12)
INDICES = np.array([3, -1, 99, 0, 7], np.int32)


def on(device, *arrays):
    """Return copies of arrays on a device."""
    return [on_device(array.copy(), device) for array in arrays]


@pytest.fixture(params=[True, False], ids=["driver", "by value"])
def either(request, tmp_path):
    """Return what is recorded where CuPy has the driver's function, and where it does not."""
    with recorded(tmp_path, has_driver=request.param) as record:
        yield record


@each("mode", ["clamp", "wrap", "fill", "raise"])
@each("axis", [0, 1])
def test_gather_runs_on_the_device_of_its_arrays(either, mode, axis):
    indices = INDICES if mode != "raise" else INDICES % 10
    x, i = on(1, X, indices)
    result = ck.gather(x, i, axis, **oracle.options(mode, 2))
    assert type(result) is either.cupy.ndarray
    assert result.device.id == 1
    assert np.array_equal(result.get(), oracle.gather(X, indices, axis, mode, 2))
    assert {launch[0] for launch in either.launches} == {1}
    assert either.cupy.cuda.get_device_id() == 0, "the current device is given back"


def test_the_current_stream_of_the_arrays_device_counts(either):
    cuda = either.cupy.cuda
    with cuda.Device(1), cuda.Stream() as there, cuda.Device(0), cuda.Stream() as here:
        for device in (1, 0, 1, 0):  # new calls, then known ones
            ck.gather(*on(device, X, INDICES))
        assert cuda.get_current_stream() is here
    assert either.order == [("launch", stream.ptr) for stream in (there, here) * 2]


def test_many_threads_share_a_prepared_launch(either):
    outputs = [on_device(np.zeros((5, 12), np.float32), k % 2) for k in range(40)]

    def call(k):
        x, i = on(k % 2, X + k, INDICES)
        for _ in range(5):
            ck.gather(x, i, out=outputs[k])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(40)))
    assert len(either.launches) == 200
    for k, out in enumerate(outputs):
        assert np.array_equal(out.get(), oracle.gather(X + k, INDICES, 0))


def test_a_specialisation_is_compiled_once_and_loaded_once_per_device(record, monkeypatch):
    for _ in range(3):
        for device in (0, 1):
            ck.gather(*on(device, X, INDICES))
            ck.gather(*on(device, X[:, :8], INDICES[:2]))
    assert [device for device, _ in record.loaded] == [0, 1]
    (program,) = record.programs
    assert program.options == ("--gpu-architecture=sm_90", "-std=c++17")
    monkeypatch.setenv("CUDAKERN_LINEINFO", "1")
    ck.gather(*on(0, X[:3], INDICES))
    _, other = record.programs
    assert other.options == (*program.options, "-lineinfo")


def test_kernels_compile_at_the_same_time_and_each_once(record, monkeypatch):
    both, compiled_for, asked = threading.Barrier(2, timeout=30), kernel_files.file_for_gpu, []

    def wait(spec, capability):
        asked.append(spec)
        both.wait()  # a lock around all compilations would wait here for ever
        return compiled_for(spec, capability)

    monkeypatch.setattr(kernel_files, "file_for_gpu", wait)
    specs = [KernelSpec("gather", "rows", f"ck_{k % 2}", ()) for k in range(8)]
    engine = CudaEngine()
    with ThreadPoolExecutor(8) as pool:
        kernels = list(pool.map(lambda spec: engine.kernel(spec, 0), specs))
    assert len(asked) == len(record.loaded) == len({*map(id, kernels)}) == 2


def test_a_driver_of_an_older_major_version_is_named(record, monkeypatch):
    major = int(nvrtc.version().split(".")[0])
    with monkeypatch.context() as patch:
        patch.setattr(record.cupy.cuda.runtime, "driverGetVersion", lambda: 1000 * major - 920)
        with pytest.raises(ck.EngineUnavailableError) as error:
            ck.gather(*on(0, X, INDICES))
    assert (
        "cudakern: NVRTC must not be for a later major version of CUDA than the driver, which is "
        f"for {major - 1}.8; got NVRTC {nvrtc.version()} ({nvrtc.library_path()})"
    ) in str(error.value)
    ck.gather(*on(0, X, INDICES))


def test_compiled_operator_runs_where_its_arrays_are(record):
    case = CASES["compiled gather"]
    for device in (0, 1, 0):
        (result,) = run(case, lambda a, device=device: on_device(a, device))
        assert np.array_equal(result.get(), case.expected)
    (result,) = run(case, np.asarray)
    assert np.array_equal(result, case.expected)
    assert [device for device, *_ in record.launches] == [0, 1, 0]


def test_grids_are_cut_to_what_a_device_holds(record, monkeypatch):
    multiprocessors = {(16, 0): 5, (16, 1): 2}  # by CUDA's number of the attribute, and device
    monkeypatch.setattr(
        record.cupy.cuda.runtime, "deviceGetAttribute", lambda *which: multiprocessors[which]
    )
    x = np.arange(2**18, dtype=np.int32) % 3
    for device in (0, 1):
        count, rows = ck.nonzero_coordinates(*on(device, x))
        assert np.array_equal(rows.get()[: int(count[0])], np.argwhere(x))
    assert [grid for _, _, grid, *_ in record.launches] == [(15, 1, 1), (6, 1, 1)]


def test_shared_memory_is_cut_to_what_a_device_has(record, monkeypatch):
    numbers = {(16, 0): 132, (97, 0): 227 * 1024, (16, 1): 80, (97, 1): 96 * 1024}
    monkeypatch.setattr(
        record.cupy.cuda.runtime, "deviceGetAttribute", lambda *which: numbers[which]
    )
    x = np.arange(140 * 2**15, dtype=np.float32).reshape(140, -1)
    indices = np.arange(0, 2**15, 5, dtype=np.int32)
    for device in (0, 1):
        assert np.array_equal(ck.gather(*on(device, x, indices), 1).get(), x[:, indices])
    taken = [(grid, shared) for _, _, grid, _, shared in record.launches]
    assert taken == [((1, 132, 1), 227 * 1024), ((1, 80, 1), 96 * 1024)]


def test_debug_waits_and_names_each_launch(record, monkeypatch, capsys):
    ck.gather(*on(0, X, INDICES))
    assert not record.waits
    ck.clear_caches()
    monkeypatch.setenv("CUDAKERN_DEBUG", "1")
    ck.gather(*on(0, X, INDICES))
    assert record.waits == [(0, 2)]
    assert capsys.readouterr().err == (
        "cudakern: ck_gather_rows_w16_i32_clamp_o32 grid=(1, 1, 1) block=(256, 1, 1) done\n"
    )


@each(
    ("raised", "error", "text"),
    [
        ("cudaErrorInsufficientDriver: too old", ck.EngineUnavailableError, "driver or device is"),
        ("cudaErrorNoDevice: none", ck.EngineUnavailableError, "start it with --gpus all"),
        (
            "Failed to find CUDA headers",
            ck.EngineUnavailableError,
            r"pip install 'cudakern\[cuda12\]'",
        ),
        ("cudaErrorIllegalAddress", RuntimeError, "^cudaErrorIllegalAddress$"),
    ],
)
def test_driver_errors_say_what_to_do(record, monkeypatch, raised, error, text):
    def fail(**_arguments):
        raise RuntimeError(raised)

    monkeypatch.setattr(record.cupy, "RawModule", fail)
    with pytest.raises(error, match=text) as caught:
        CudaEngine().kernel(KernelSpec("gather", "rows", "ck_x", ()), 0)
    assert type(caught.value) is error


def test_cupy_has_the_drivers_function():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    head, *_ = inspect.getdoc(cupy.cuda.driver.launchKernel).splitlines()
    assert re.findall(r"(\w+)[,)]", head) == [
        *["f", "grid_dim_x", "grid_dim_y", "grid_dim_z", "block_dim_x", "block_dim_y"],
        *["block_dim_z", "shared_mem_bytes", "stream", "kernel_params", "extra"],
    ], "launches take the slower way, or none"
    assert hasattr(cupy.RawKernel, "kernel"), "which is read to load it"
    assert hasattr(cupy.ndarray, "_c_contiguous"), "calls take longer"


def test_absent_cupy_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ck.EngineUnavailableError, match=r"pip install 'cudakern\[cuda12\]'"):
        library.import_cupy()
    assert library.device_count() == 0
