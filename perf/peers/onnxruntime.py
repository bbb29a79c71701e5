"""ONNX Runtime: models of one node each, bound to the arrays of CuPy, or of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cudakern.operators.arrays.native import address_of
from perf.cases.base import Module
from perf.peers import base
from perf.peers.base import MissingPeerError, Peer, Prepared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perf.cases.base import Array, Workload
    from perf.cases.gather import GatherWorkload
    from perf.cases.gather_nd import GatherNDWorkload
    from perf.cases.nonzero_coordinates import NonzeroWorkload
    from perf.cases.one_hot import OneHotWorkload
    from perf.cases.reduce import ReduceWorkload

#: Of the models; every operator here has had its present form since.
OPSET = 18
#: Version of the format that goes with it, so that older runtimes read it.
IR_VERSION = 8

_WAITS = "waits for the GPU at the end"
_REDUCTIONS = {"sum": "ReduceSum", "max": "ReduceMax", "log_sum_exp": "ReduceLogSumExp"}


@dataclass(frozen=True, slots=True)
class Node:
    """A model of one node."""

    operator: str  # as ONNX calls it
    constants: dict[str, np.ndarray[Any, Any]]  # inputs behind the arrays, by name
    attributes: dict[str, Any]
    result: str  # type of the output

    def model(self, inputs: Sequence[Array]) -> Any:  # noqa: ANN401  an onnx.ModelProto
        """Return the model for inputs like these."""
        from onnx import helper, numpy_helper  # noqa: PLC0415  optional

        names = [f"input{k}" for k in range(len(inputs))]
        kind = helper.np_dtype_to_tensor_dtype
        values = [
            helper.make_tensor_value_info(name, kind(np.dtype(array.dtype)), array.shape)
            for name, array in zip(names, inputs, strict=True)
        ]
        output = helper.make_tensor_value_info("output", kind(np.dtype(self.result)), None)
        node = helper.make_node(
            self.operator, [*names, *self.constants], ["output"], **self.attributes
        )
        constants = [numpy_helper.from_array(value, key) for key, value in self.constants.items()]
        graph = helper.make_graph([node], self.operator, values, [output], constants)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


@dataclass(frozen=True)
class RuntimePeer(Peer):
    """ONNX Runtime."""

    name = "onnxruntime"

    xp: Module  # CuPy or NumPy
    session: Callable[[bytes], Any]  # of a model; None where the provider has no such node
    device: str  # of the arrays: ``"cuda"`` or ``"cpu"``
    version: str

    def reduce(self, workload: ReduceWorkload, x: Array) -> Prepared | None:
        """Prepare ReduceSum, ReduceMax, ReduceLogSumExp or ArgMax."""
        axes = workload.axes
        if workload.function == "argmax":
            node = Node("ArgMax", {}, {"axis": axes[0], "keepdims": 0}, "int64")
        elif workload.function in _REDUCTIONS:
            constants = {"axes": np.array(axes, "int64")}
            operator = _REDUCTIONS[workload.function]
            node = Node(operator, constants, {"keepdims": 0}, workload.dtype)
        else:
            return None
        return self._prepare(workload, node, (x,))

    def nonzero_coordinates(self, workload: NonzeroWorkload, x: Array) -> Prepared | None:
        """Prepare NonZero."""
        different = base.note_type(workload.result, "int64")
        note = base.join_notes(different, "a row for each axis", base.ALLOCATES)
        return self._prepare(workload, Node("NonZero", {}, {}, "int64"), (x,), note)

    def gather(self, workload: GatherWorkload, x: Array, indices: Array) -> Prepared | None:
        """Prepare Gather."""
        node = Node("Gather", {}, {"axis": workload.axis}, workload.dtype)
        return self._prepare(workload, node, (x, indices))

    def gather_nd(self, workload: GatherNDWorkload, x: Array, indices: Array) -> Prepared | None:
        """Prepare GatherND, whose indices are int64, as all of the cases are."""
        node = Node("GatherND", {}, {"batch_dims": workload.batch_dims}, workload.dtype)
        return self._prepare(workload, node, (x, indices))

    def one_hot(self, workload: OneHotWorkload, indices: Array) -> Prepared | None:
        """Prepare OneHot."""
        constants = {
            "depth": np.array(workload.depth, "int64"),
            "values": np.array([0, 1], workload.dtype),
        }
        node = Node("OneHot", constants, {"axis": workload.axis}, workload.dtype)
        return self._prepare(workload, node, (indices,))

    def _prepare(
        self, workload: Workload, node: Node, inputs: tuple[Array, ...], note: str = ""
    ) -> Prepared | None:
        """Return the call of a session whose inputs and output are bound."""
        if not all(array.flags.c_contiguous for array in inputs):
            return None
        session = self.session(node.model(inputs).SerializeToString())
        if session is None:
            return None
        binding, device = session.io_binding(), self.device
        for k, array in enumerate(inputs):
            binding.bind_input(
                f"input{k}", device, 0, array.dtype.type, array.shape, address_of(array)
            )
        out = None if node.operator == "NonZero" else workload.outputs(self.xp)[0]
        if out is None:
            binding.bind_output("output", device, 0)
        else:
            binding.bind_output("output", device, 0, out.dtype.type, out.shape, address_of(out))

        def call(_keep: tuple[Array, ...] = inputs) -> Any:  # noqa: ANN401  an array or OrtValue
            session.run_with_iobinding(binding)
            return binding.get_outputs()[0] if out is None else out

        return Prepared(call, base.join_notes(note, _WAITS), captures=False)


def sessions(runtime: Module, provider: str, options: Callable[[], dict[str, str]]) -> Any:  # noqa: ANN401
    """Return the function that makes sessions of a provider, which has to run all nodes itself."""

    def session(model: bytes) -> Any:  # noqa: ANN401
        settings = runtime.SessionOptions()
        settings.log_severity_level = 4  # fatal: missing nodes are expected
        if provider != "CPUExecutionProvider":
            settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        try:
            started = runtime.InferenceSession(model, settings, providers=[(provider, options())])
        except Exception:  # noqa: BLE001  its errors have no other class in common
            return None
        return started if started.get_providers()[0] == provider else None

    return session


def find() -> list[Peer]:
    """Return the peer, or raise MissingPeerError."""
    try:
        import onnx  # noqa: F401, PLC0415  optional
        import onnxruntime as runtime  # noqa: PLC0415  likewise
    except ImportError as error:
        message = f"{error.name} is not installed; run: pip install onnx onnxruntime-gpu"
        raise MissingPeerError(message) from error
    cupy = base.require_cupy()
    if "CUDAExecutionProvider" not in runtime.get_available_providers():
        message = "this onnxruntime has no CUDA; run: pip install onnxruntime-gpu"
        raise MissingPeerError(message)

    def options() -> dict[str, str]:
        return {"user_compute_stream": str(cupy.cuda.get_current_stream().ptr)}

    make = sessions(runtime, "CUDAExecutionProvider", options)
    probe = Node("ReduceSum", {"axes": np.zeros(1, "int64")}, {"keepdims": 0}, "float32")
    if make(probe.model([np.zeros(1, "float32")]).SerializeToString()) is None:
        raise MissingPeerError(
            "onnxruntime cannot start its CUDA provider; "
            "run: pip install 'onnxruntime-gpu[cuda,cudnn]'"
        )
    return [RuntimePeer(cupy, make, "cuda", runtime.__version__)]
