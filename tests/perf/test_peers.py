"""Peers give what NumPy gives, and say where the type of a result is another one."""

import importlib.util
import itertools
import re
import sys
import time
import types
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from perf import peers
from perf.cases import CASES
from perf.cases.reduce import ReduceWorkload
from perf.peers import cub, cuda_compute, cupy, onnxruntime, torch
from perf.peers.base import MissingPeerError
from tests.helpers import peer_libraries as fakes

ELEMENTS = 2**12
WORKLOADS = {
    f"{case.name}, {line.workload.title}": line.workload.shrunk(ELEMENTS)
    for case in CASES
    for line in case.lines
}
# Beyond the matrix: what somebody could take for rows, and maxima, which a library may have.
WORKLOADS |= {
    "R, rows that are columns": ReduceWorkload("sum", (32, 48), (1,), "float32", transposed=True),
    "R, maximum": ReduceWorkload("max", (100,), (0,), "float32"),
    "R, maxima of rows": ReduceWorkload("max", (32, 48), (1,), "float32"),
}


def cub_peer(library):
    peer = cub.CubPeer(np, lambda: library, lambda: fakes.STREAM)
    assert peer.ready()
    return peer


def compare(workload, prepared, inputs, rows_of):
    """Call twice, into outputs that were written before, and check."""
    prepared.call()
    found, outputs = prepared.call(), workload.outputs(np)
    expected = outputs[-1]
    if workload.operator == "nonzero_coordinates":
        found = rows_of(found)
        outputs[0][...], expected = len(found), expected[: len(found)]
    found = found if isinstance(found, np.ndarray) else found.numpy()
    if found.dtype != expected.dtype:
        assert f"{found.dtype.name} in place of {expected.dtype.name}" in prepared.note
    assert found.shape == expected.shape
    if workload.operator == "reduce" and found.dtype.kind == "f":
        wide, axes = inputs[0].astype(np.float64), workload.axes
        is_log = workload.function == "log_sum_exp"
        right = np.log(np.exp(wide).sum(axes)) if is_log else getattr(wide, workload.function)(axes)
        tolerance = {2: 2e-3, 4: 1e-5, 8: 1e-12}[found.dtype.itemsize]
        np.testing.assert_allclose(found, right, rtol=tolerance)
    else:
        expected[...] = found
        np.testing.assert_array_equal(expected, found)  # which the other dtype can hold
        workload.check(np, inputs, outputs)


def rows(found):
    """Coordinates of a count and an array with room for more, or of these alone."""
    if isinstance(found, tuple):
        count, coordinates = found
        return coordinates[: int(count[0])]
    return found


#: Folders of CUB within CuPy.
HEADERS = ("libcudacxx", "cub", "thrust")
CORE = fakes.Accelerators()
#: Peers, what takes the rows out of what they find, and the operators that they have at least.
PEERS = {
    "cudakern, argwhere": (cupy.OwnArgwhere(), rows, "Z"),
    "cupy": (cupy.CupyPeer(np), rows, "RZGO"),
    "cupy, CUB off": (cupy.CupyWithoutCub(np, CORE), rows, "R"),
    "cupy, rows of eye": (cupy.CupyIdentity(np), rows, "O"),
    "cub": (cub_peer(fakes.CubLibrary()), rows, "RZG"),
    "cuda.compute": (
        cuda_compute.ComputePeer(fakes.compute(), np, fakes.STREAM, predicates=True, version="1.0"),
        rows,
        "RZ",
    ),
    "onnx.reference": (
        onnxruntime.RuntimePeer(np, fakes.ReferenceSession, "cpu", "1.0"),
        np.transpose,
        "RZGO",
    ),
}
if importlib.util.find_spec("onnxruntime"):
    import onnxruntime as runtime

    session = onnxruntime.sessions(runtime, "CPUExecutionProvider", dict)
    runs = onnxruntime.RuntimePeer(np, session, "cpu", runtime.__version__)
    PEERS["onnxruntime"] = (runs, lambda found: found.numpy().T, "RZGO")
if importlib.util.find_spec("torch"):
    import torch as library

    kinds = (torch.TorchPeer, torch.TorchStatic, torch.TorchGather, torch.TorchScatter)
    for kind, operators in zip(kinds, ("RZGO", "Z", "G", "O"), strict=True):
        PEERS[kind.name] = (kind(library, None), rows, operators)


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_computes_what_numpy_does(name):
    peer, rows_of, operators = PEERS[name]
    offered = set()
    for title, workload in WORKLOADS.items():
        inputs = workload.inputs(np, seed=3)
        prepared = peer.prepare(workload, inputs)
        if prepared is None:
            continue
        offered.add(title[0])
        try:
            compare(workload, prepared, inputs, rows_of)
        except Exception as error:
            error.add_note(title)
            raise
    assert offered == set(operators)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_maximum_can_be_negative(dtype):
    workload, inputs = ReduceWorkload("max", (9,), (0,), dtype), (np.arange(-10, -1, dtype=dtype),)
    for peer, rows_of, _ in PEERS.values():
        prepared = peer.prepare(workload, inputs)
        if prepared:
            compare(workload, prepared, inputs, rows_of)


def test_indices_out_of_range_are_nobodys():
    beyond = [p for p in WORKLOADS.values() if getattr(p, "pattern", "") == "out_of_range"]
    assert beyond
    for (peer, *_), workload in itertools.product(PEERS.values(), beyond):
        assert peer.prepare(workload, workload.inputs(np, seed=3)) is None


def test_cub_is_off_during_the_call_alone():
    workload = WORKLOADS["R-1, [2^28] f32 sum"]
    seen = []

    def total(*_, **__):
        seen.append((CORE.routines, CORE.reductions))

    xp = types.SimpleNamespace(__version__="14.2.0", empty=np.empty, sum=total)
    peer = cupy.CupyWithoutCub(xp, CORE)
    peer.prepare(workload, workload.inputs(np, seed=3)).call()
    assert seen == [([], [])]
    assert (CORE.routines, CORE.reductions) == (["cub"], ["cub"])


def test_cub_source_has_the_functions_that_the_peer_asks_for():
    text = cub.SOURCE.read_text()
    names = {name for name in re.findall(r'extern "C" int (\w+)\(', text) if name[-1] != "_"}
    for macro, text_of in re.findall(r"^(SUM|SELECT|GATHER)\(([^)]*)\)$", text, re.MULTILINE):
        arguments = [part.strip() for part in text_of.split(",")]
        if macro == "SELECT":
            names.add(f"nonzero_{arguments[0]}_{arguments[4]}_{arguments[2]}")
        else:
            names.add(f"{macro.lower()}_{arguments[0]}")
    asked = {"version", *cub.REDUCTIONS}
    asked |= {f"nonzero_{k}_{n}_{r}" for k, n in cub.NONZERO for r in ("uint32", "int64")}
    asked |= {f"gather_{8 * nbytes}" for nbytes in cub.GATHERED_BYTES}
    assert names == asked


def test_cub_reports_an_error_code_and_scratch():
    workload = WORKLOADS["R-1, [2^28] f32 sum"]
    inputs = workload.inputs(np, seed=3)
    peer = cub_peer(fakes.CubLibrary())
    assert peer.version == "3.5.0"
    assert peer.prepare(workload, inputs).scratch_bytes == fakes.SCRATCH
    failing = types.SimpleNamespace(version=lambda: 0, sum_float32=lambda *_arguments: 2)
    with pytest.raises(RuntimeError, match="CUDA error 2"):
        cub_peer(failing).prepare(workload, inputs)


def package(folder, version):
    """A CuPy with headers of CUB."""
    for name in HEADERS:
        (folder / "_core/include/cupy/_cccl" / name).mkdir(parents=True, exist_ok=True)
    return types.SimpleNamespace(__file__=str(folder / "__init__.py"), __version__=version)


@pytest.fixture
def nvcc(tmp_path, monkeypatch):
    """Return a function that installs an nvcc: it does what is given, after --version."""
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))

    def install(script):
        compiler = tmp_path / "bin" / "nvcc"
        compiler.parent.mkdir()
        compiler.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit\n{script}\n')
        compiler.chmod(0o700)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", "")
            assert cub.nvcc() == compiler
        return compiler

    return install


def finished(made):
    """Return the library when it is there."""
    while not (library := made.library()):
        time.sleep(0.01)
    return library


def build(*arguments):
    return finished(cub.Build(*arguments))


def test_cub_is_compiled_with_the_headers_that_cupy_brings(nvcc, tmp_path):
    compiler = nvcc('echo note >&2; echo "error: $*" >&2; exit 2')
    cupy = package(tmp_path / "cupy", "14.2.0")
    folders = [f"-I{tmp_path}/cupy/_core/include/cupy/_cccl/{name}" for name in HEADERS]
    with pytest.raises(MissingPeerError) as caught:
        build(compiler, "sm_90", cupy)
    message = str(caught.value)
    assert message.startswith("nvcc cannot compile cub.cu: error: ")
    assert "\n" not in message
    assert re.findall(r"-I.*?(?= -|$)", message) == folders
    assert not list((tmp_path / "cache").glob("*.so"))


def test_nvcc_works_in_the_background_and_not_for_ever(nvcc, tmp_path, monkeypatch):
    monkeypatch.setattr(cub, "LIMIT", 0.5)
    compiler = nvcc(f"echo $$ > '{tmp_path}/pid'; exec sleep 60")
    made = cub.Build(compiler, "sm_90", package(tmp_path / "cupy", "14.2.0"))
    peer = cub.CubPeer(np, made.library, lambda: fakes.STREAM)
    assert not peer.ready()
    with pytest.raises(MissingPeerError, match=r"nvcc takes more than 0.5 s for cub.cu"):
        finished(made)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_nvcc_ends_with_who_started_it(nvcc, tmp_path):
    compiler = nvcc(f"echo $$ > '{tmp_path}/pid'; exec sleep 60")
    made = cub.Build(compiler, "sm_90", package(tmp_path / "cupy", "14.2.0"))
    while not (tmp_path / "pid").exists():
        time.sleep(0.01)
    del made
    assert not list((tmp_path / "cache").iterdir())
    ended = time.monotonic() + 10  # of a process that somebody else has to reap
    while Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists():
        assert time.monotonic() < ended
        time.sleep(0.01)


def test_a_library_is_compiled_once(nvcc, tmp_path):
    log = tmp_path / "log"
    compiler = nvcc(
        f'echo "$*" >> "{log}"; while [ "$1" != -o ]; do shift; done; echo built > "$2"'
    )
    cupy = package(tmp_path / "cupy", "14.2.0")
    library = build(compiler, "sm_90", cupy)
    assert build(compiler, "sm_90", cupy) == library
    assert library.read_text().startswith("built\n")
    others = {
        build(compiler, "sm_80", cupy),
        build(compiler, "sm_90", package(tmp_path / "cupy", "14.3.0")),
        build(compiler, "sm_90", package(tmp_path / "elsewhere", "14.2.0")),
    }
    assert len(others - {library}) == 3
    found = re.findall(r"-arch=(\w+)", log.read_text())
    assert found == ["sm_90", "sm_80", "sm_90", "sm_90"]


@pytest.mark.skipif(not importlib.util.find_spec("cupy"), reason="CuPy is not installed")
def test_cupy_brings_all_headers_that_cub_source_includes():
    folders = cub.headers(importlib.import_module("cupy"))
    included = re.findall(r"#include <((?:cub|cuda)/.+)>", cub.SOURCE.read_text())
    assert "cuda/iterator" in included
    for header in included:
        assert any((folder / header).is_file() for folder in folders), header


def test_missing_libraries_have_a_reason_in_one_line(monkeypatch):
    for name in ("cupy", "torch", "onnx", "onnxruntime", "cuda"):
        monkeypatch.setitem(sys.modules, name, None)
    found, missing = peers.present()
    assert found == []
    assert set(missing) == {"cupy", "torch", "cub", "cuda.compute", "onnxruntime"}
    for reason in missing.values():
        assert "pip install" in reason
        assert "\n" not in reason


def test_a_library_that_fails_when_it_starts_is_missing(monkeypatch):
    error = OSError("cannot open\nshared object")
    monkeypatch.setattr(cupy, "find", mock.Mock(side_effect=error))
    reason = peers.present()[1]["cupy"]
    assert reason == "cannot be started: OSError: cannot open shared object"
