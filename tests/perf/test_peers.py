"""Peers that run without a GPU give NumPy's results, and say where a result has another type."""

from __future__ import annotations

import importlib.util
import sys
from unittest import mock

import numpy as np

import cudakern as ck
from perf import peers
from perf.cases import CASES
from perf.cases.reduce import ReduceWorkload
from perf.peers import cupy, onnxruntime, torch
from tests.helpers.rows import each

WORKLOADS = {
    f"{case.name}, {line.workload.title}": line.workload.shrink(2**12)
    for case in CASES
    for line in case.lines
}
# Beyond the matrix: columns that a peer could take for rows, and maxima, which peers may have.
WORKLOADS |= {
    "R, rows that are columns": ReduceWorkload("sum", (32, 48), (1,), "float32", transposed=True),
    "R, maximum": ReduceWorkload("max", (100,), (0,), "float32"),
    "R, maxima of rows": ReduceWorkload("max", (32, 48), (1,), "float32"),
    "R, negative maxima": ReduceWorkload("max", (9,), (0,), "float32"),
}


def compare(workload, prepared, inputs, rows_of):
    """Call twice, so that the outputs are written over, and check the result."""
    prepared.call()
    found, outputs = prepared.call(), workload.outputs(np)
    expected = outputs[-1]
    if workload.operator == "nonzero_coordinates":
        found = rows_of(found)
        outputs[0][...], expected = len(found), expected[: len(found)]
    found = found.numpy() if hasattr(found, "numpy") else np.asarray(found)
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


def same(found):
    return found


def stack(found):
    return np.stack(found, axis=-1)


def of_pair(found):
    return found.coordinates[: int(found.count[0])]


#: Letters of operators that some peers must have.
KNOWN = "RZGO"
#: Peers, the function that takes the rows out of their results, and such letters of theirs.
PEERS = {
    "cudakern, argwhere": (cupy.OwnArgwhere(), same, "Z"),
    "cudakern, nonzero": (cupy.OwnArgwhere(ck.nonzero), stack, "Z"),
    "cudakern, new results": (cupy.OwnNew(), of_pair, "RZGO"),
    "cupy": (cupy.CupyPeer(np), same, "RZGO"),
    "cupy, new results": (cupy.CupyNew(np), stack, "RZGO"),
    "cupy, CUB off": (cupy.CupyWithoutCub(np, mock.Mock()), same, "R"),
    "cupy, rows of eye": (cupy.CupyIdentity(np), same, "O"),
}
if importlib.util.find_spec("onnxruntime"):
    import onnxruntime as runtime

    sessions = onnxruntime.sessions(runtime, "CPUExecutionProvider", dict)
    peer = onnxruntime.RuntimePeer(np, sessions, "cpu", runtime.__version__)
    PEERS["onnxruntime"] = (peer, lambda found: found.numpy().T, "RZGO")
if importlib.util.find_spec("torch"):
    import torch as library

    kinds = (torch.TorchPeer, torch.TorchStatic, torch.TorchGather, torch.TorchScatter)
    for kind, operators in zip(kinds, ("RZGO", "Z", "G", "O"), strict=True):
        PEERS[kind.name] = (kind(library, None), same, operators)
    PEERS[torch.TorchNew.name] = (torch.TorchNew(library, None), stack, "RZG")


@each("name", PEERS)
def test_a_peer_computes_what_numpy_does(name):
    peer, rows_of, operators = PEERS[name]
    offered = set()
    for title, workload in WORKLOADS.items():
        inputs = workload.inputs(np, seed=3)
        if "negative" in title:
            inputs = (np.arange(-10, -1, dtype=workload.dtype),)
        prepared = peer.prepare(workload, inputs)
        if prepared is None:
            continue
        ours = name.startswith("cudakern")  # no other library takes the nearest valid index
        assert ours or getattr(workload, "pattern", "") != "out_of_range", title
        offered.add(title[0])
        try:
            compare(workload, prepared, inputs, rows_of)
        except Exception as error:
            error.add_note(title)
            raise
    assert offered & set(KNOWN) == set(operators)


def test_missing_libraries_have_a_reason_in_one_line(monkeypatch):
    for name in ("cupy", "torch", "onnx", "onnxruntime", "cuda"):
        monkeypatch.setitem(sys.modules, name, None)
    found, missing = peers.find_peers()
    assert found == []
    assert set(missing) == {"cupy", "torch", "cub", "cuda.compute", "onnxruntime"}
    assert all("pip install" in reason and "\n" not in reason for reason in missing.values())
    error = OSError("cannot open\nshared object")
    monkeypatch.setattr(cupy, "find", mock.Mock(side_effect=error))
    reason = "cannot be started: OSError: cannot open shared object"
    assert peers.find_peers()[1]["cupy"] == reason
