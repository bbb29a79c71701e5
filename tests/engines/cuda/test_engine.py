"""The CUDA engine's own logic, on a stand-in for CuPy: argument buffers, devices, caches, errors.

What only a driver can show is shown by the operators' tests on a GPU.
"""

from __future__ import annotations

import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cudakern as ck
from cudakern.engines import nvrtc
from cudakern.engines.base import KernelSpec
from cudakern.engines.cuda import engine as cuda
from cudakern.engines.cuda import library
from cudakern.engines.cuda.engine import CudaEngine
from cudakern.engines.sources import KernelSource
from tests.helpers import fake_cupy, oracle


@pytest.fixture(params=[True, False], ids=["by address", "by value"])
def cupy(request, tmp_path):
    """Put the stand-in in CuPy's place, with two devices, and start with empty tables."""
    with fake_cupy.installed(tmp_path, by_address=request.param) as fake:
        yield fake


X = np.arange(120, dtype=np.float32).reshape(10, 12)
INDICES = np.array([3, -1, 99, 0, 7], np.int32)


def on(device, *arrays):
    """Return arrays on a device of the stand-in."""
    return [fake_cupy.Array(array.copy(), device) for array in arrays]


@pytest.mark.parametrize("mode", ["clamp", "wrap", "fill", "raise"])
@pytest.mark.parametrize("axis", [0, 1])
def test_gather_runs_on_the_device_of_its_arrays(cupy, mode, axis):
    indices = INDICES if mode != "raise" else INDICES % 10
    x, i = on(1, X, indices)
    result = ck.gather(x, i, axis, **oracle.options(mode, 2))
    assert isinstance(result, fake_cupy.Array)
    assert result.data.device_id == 1
    assert np.array_equal(result.get(), oracle.gather(X, indices, axis, mode, 2))
    assert {launch[0] for launch in cupy.state.launches} == {1}
    assert cupy.state.current == 0, "the current device is given back"


def test_a_specialisation_is_compiled_once_and_loaded_once_per_device(cupy):
    for _ in range(3):
        for device in (0, 1):
            ck.gather(*on(device, X, INDICES))
            ck.gather(*on(device, X[:, :8], INDICES[:2]))
    assert [device for device, _ in cupy.state.loaded] == [0, 1]
    (program,) = cupy.state.programs
    assert program.options == ("--gpu-architecture=sm_90", "-std=c++17")


def test_line_info_is_another_kernel(cupy, monkeypatch):
    ck.gather(*on(0, X, INDICES))
    monkeypatch.setenv("CUDAKERN_LINEINFO", "1")
    ck.gather(*on(0, X[:3], INDICES))
    first, second = cupy.state.programs
    assert second.options == (*first.options, "-lineinfo")


def test_kernels_compile_at_the_same_time_and_each_once(cupy, monkeypatch):
    both, compile_program = threading.Barrier(2, timeout=30), nvrtc.compile_program

    def wait(program):
        both.wait()  # a lock around all compilations would wait here for ever
        return compile_program(program)

    monkeypatch.setattr(nvrtc, "compile_program", wait)
    specs = [KernelSpec("gather", "rows", f"ck_{k % 2}", ()) for k in range(8)]
    engine = CudaEngine()
    with ThreadPoolExecutor(8) as pool:
        kernels = list(pool.map(lambda spec: engine.kernel(spec, 0), specs))
    assert len(cupy.state.programs) == len({*map(id, kernels)}) == 2


def test_a_driver_of_an_older_major_version_is_named(cupy, monkeypatch):
    monkeypatch.setattr(cupy.cuda.runtime, "driverGetVersion", lambda: 12080)
    monkeypatch.setattr(nvrtc, "version", lambda: "13.0.1")
    monkeypatch.setattr(nvrtc, "library_path", lambda: "libnvrtc.so.13")
    with pytest.raises(ck.EngineUnavailableError) as error:
        ck.gather(*on(0, X, INDICES))
    assert (
        "cudakern: NVRTC must not be for a later major version of CUDA than the driver, which is "
        "for 12.8; got NVRTC 13.0.1 (libnvrtc.so.13)"
    ) in str(error.value)
    monkeypatch.setattr(cupy.cuda.runtime, "driverGetVersion", lambda: 14000)
    ck.gather(*on(0, X, INDICES))


def test_a_kernel_is_loaded_during_a_capture(cupy):
    cupy.state.stream = cupy.state.stream_of(77)
    cupy.state.capturing.add(77)
    x, i, out = on(0, X, INDICES, np.zeros((5, 12), np.float32))
    ck.gather(x, i, out=out)
    assert cupy.state.capture_mode == 0, "the mode is given back"
    assert np.array_equal(out.get(), oracle.gather(X, INDICES, 0))


def test_many_threads_share_a_prepared_launch(cupy):
    outputs = [fake_cupy.Array(np.zeros((5, 12), np.float32), k % 2) for k in range(40)]

    def call(k):
        x, i = on(k % 2, X + k, INDICES)
        for _ in range(5):
            ck.gather(x, i, out=outputs[k])

    cupy.state.current = 0
    # The stand-in has one current device for all threads, so the devices take turns.
    for parity in (0, 1):
        cupy.state.current = parity
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(call, range(parity, 40, 2)))
    for k, out in enumerate(outputs):
        assert np.array_equal(out.get(), oracle.gather(X + k, INDICES, 0))


def test_compiled_operator_runs_where_its_arrays_are(cupy):
    tensor = ck.TensorDesc(ck.DataType.FLOAT32, (10, 12))
    desc = ck.GatherOperatorDesc(
        tensor,
        ck.TensorDesc(ck.DataType.INT32, (1, 5)),
        ck.TensorDesc(ck.DataType.FLOAT32, (5, 12)),
        axis=0,
        index_dimensions=1,
    )
    operator = ck.compile_operator(desc)
    expected = oracle.gather(X, INDICES, 0)
    for device in (0, 1):
        out = fake_cupy.Array(np.empty((5, 12), np.float32), device)
        for _ in range(2):
            assert operator(*on(device, X, INDICES[None]), out=out) is out
        assert np.array_equal(out.get(), expected)
    host = operator(X, INDICES[None])
    assert np.array_equal(host, expected)
    assert len(cupy.state.launches) == 4


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ((0, 1, 0), "gather: indices must be where x is, on CUDA device 0; got CUDA device 1"),
        ((0, None, 0), "gather: indices must be where x is, on CUDA device 0; got the host"),
        ((None, 0, 0), "gather: indices must be where x is, on the host; got CUDA device 0"),
        ((0, 0, 1), "out must be where the inputs are, on CUDA device 0; got CUDA device 1"),
        ((0, 0, None), "out must be where the inputs are, on CUDA device 0; got the host"),
        ((None, None, 1), "out must be where the inputs are, on the host; got CUDA device 1"),
    ],
)
def test_mixed_places_are_named(cupy, places, message):
    arrays = [X, INDICES, np.empty((5, 12), np.float32)]
    x, i, out = (
        array if place is None else on(place, array)[0]
        for array, place in zip(arrays, places, strict=True)
    )
    with pytest.raises(ck.BindingError) as error:
        ck.gather(x, i, out=out)
    assert message in str(error.value)
    assert not cupy.state.launches


@pytest.mark.parametrize(("device", "blocks"), [(0, 15), (1, 6)])
def test_grids_are_cut_to_what_a_device_holds(cupy, device, blocks):
    x = np.arange(2**18, dtype=np.int32) % 3
    count, rows = ck.nonzero_coordinates(*on(device, x))
    (launch,) = cupy.state.launches
    assert launch[2] == (blocks, 1, 1)
    assert np.array_equal(rows.get()[: count.get()[0]], np.argwhere(x))


def test_debug_waits_and_names_each_launch(cupy, monkeypatch, capsys):
    ck.gather(*on(0, X, INDICES))
    assert not cupy.state.waits
    ck.clear_caches()
    monkeypatch.setenv("CUDAKERN_DEBUG", "1")
    ck.gather(*on(0, X, INDICES))
    assert cupy.state.waits == [(0, 2)]
    assert capsys.readouterr().err == (
        "cudakern: ck_gather_rows_w16_i32_clamp_o32 grid=(1, 1, 1) block=(256, 1, 1) done\n"
    )


@pytest.mark.usefixtures("cupy")
def test_compiler_errors_are_translated(monkeypatch):
    broken = KernelSource("gather.cu", "#error no\n", "0" * 64)
    monkeypatch.setattr(cuda, "load_source", lambda _name: broken)
    monkeypatch.setattr(nvrtc, "load_source", lambda _name: broken)
    with pytest.raises(ck.KernelCompileError) as error:
        CudaEngine().kernel(KernelSpec("gather", "rows", "ck_x", (("CK_RANK", "2"),)), 0)
    assert error.value.source == "gather.cu"
    assert "-std=c++17" in error.value.options
    assert "#error directive" in error.value.log
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        ("cudaErrorInsufficientDriver: too old", "no CUDA driver or device is visible"),
        ("cudaErrorNoDevice: none", "start it with --gpus all"),
        ("Failed to find CUDA headers", "pip install '.[cuda12]'"),
    ],
)
def test_driver_errors_say_what_to_do(cupy, raised, text):
    def fail(**_arguments):
        raise RuntimeError(raised)

    cupy.RawModule = fail
    with pytest.raises(ck.EngineUnavailableError, match="cudakern: ") as error:
        CudaEngine().kernel(KernelSpec("gather", "rows", "ck_x", ()), 0)
    assert text in str(error.value)


def test_other_errors_stay_what_they_are(cupy):
    def fail(**_arguments):
        raise RuntimeError("cudaErrorIllegalAddress")

    cupy.RawModule = fail
    with pytest.raises(RuntimeError, match="cudaErrorIllegalAddress"):
        CudaEngine().kernel(KernelSpec("gather", "rows", "ck_x", ()), 0)


def test_the_stand_in_does_not_pass_for_a_pointer_of_cupy():
    assert not library.takes_addresses(fake_cupy.make())
    assert not library.takes_addresses(types.SimpleNamespace())


def test_absent_cupy_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ck.EngineUnavailableError, match=r"pip install '\.\[cuda12\]'"):
        library.import_cupy()
    assert library.device_count() == 0
