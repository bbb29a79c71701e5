"""cuda.compute of the package cuda-cccl: CUB behind Python, compiled at run time."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import warnings
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from perf.cases.base import Module
from perf.peers.base import MissingPeerError, Peer, Prepared, require_cupy

if TYPE_CHECKING:
    from collections.abc import Callable

    from perf.cases.base import Array
    from perf.cases.nonzero_coordinates import NonzeroWorkload
    from perf.cases.reduce import ReduceWorkload


@dataclass(frozen=True)
class ComputePeer(Peer):
    """cuda.compute of a version of the package cuda-cccl."""

    name = "cuda.compute"

    compute: Module
    xp: Module  # CuPy
    stream: Any  # the current one whenever its ``__cuda_stream__`` is asked
    predicates: bool  # whether functions in Python can be compiled: needs numba-cuda-mlir
    version: str

    def reduce(self, workload: ReduceWorkload, x: Array) -> Prepared | None:
        """Prepare reduce_into for all elements, segmented_reduce for rows."""
        kinds = self.compute.OpKind
        operations = {"sum": kinds.PLUS, "max": kinds.MAXIMUM}
        first = len(workload.shape) - len(workload.axes)
        is_rows = workload.axes == tuple(range(first, len(workload.shape)))
        if workload.function not in operations or not is_rows or not x.flags.c_contiguous:
            return None
        start, kind = 0.0, np.dtype("float32" if workload.dtype == "float16" else workload.dtype)
        if workload.function == "max":
            kind = np.dtype(workload.dtype)
            start = np.iinfo(kind).min if kind.kind in "iu" else -np.inf
        (out,) = workload.outputs(self.xp)
        arguments = {"d_in": x.reshape(-1), "d_out": out.reshape(-1)}
        arguments |= {"op": operations[workload.function], "h_init": np.full(1, start, kind)}
        if first == 0:
            algorithm = self.compute.make_reduce_into(**arguments)
            return self._prepare(algorithm, arguments | {"num_items": x.size}, out, "")
        rows, columns = prod(workload.shape[:first]), prod(workload.shape[first:])
        offsets = self.xp.arange(rows + 1, dtype="int64") * columns
        arguments |= {"start_offsets_in": offsets[:-1], "end_offsets_in": offsets[1:]}
        algorithm = self.compute.make_segmented_reduce(**arguments)
        note = "reads where rows begin and end"
        return self._prepare(algorithm, arguments | {"num_segments": rows}, out, note)

    def nonzero_coordinates(self, workload: NonzeroWorkload, x: Array) -> Prepared | None:
        """Prepare select of a counting iterator, for vectors."""
        if not self.predicates or len(workload.shape) != 1:
            return None
        _, coordinates = workload.outputs(self.xp)
        counts = self.xp.empty(2, dtype="uint32")  # it partitions, and counts a second part too

        def is_nonzero(position):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  compiled for the GPU
            return x[position] != 0

        arguments = {
            "d_in": self.compute.CountingIterator(np.dtype(workload.result).type(0)),
            "d_out": coordinates.reshape(-1),
            "d_num_selected_out": counts,
            "cond": is_nonzero,
        }
        select = self.compute.make_select(**arguments)
        arguments["num_items"] = x.size
        return self._prepare(select, arguments, (counts[:1], coordinates), "")

    def _prepare(
        self, algorithm: Callable[..., Any], arguments: dict[str, Any], result: object, note: str
    ) -> Prepared:
        """Return the call of an algorithm that is asked for its scratch memory first."""
        stream = self.stream
        nbytes = int(algorithm(temp_storage=None, stream=stream, **arguments))
        scratch = self.xp.empty(max(1, nbytes), dtype="uint8")

        def call() -> object:
            algorithm(temp_storage=scratch, stream=stream, **arguments)
            return result

        return Prepared(call, note, scratch_bytes=nbytes)


class _CurrentStream:
    """CuPy's current stream, in the protocol of streams."""

    def __init__(self, cupy: Module) -> None:
        self._current = cupy.cuda.get_current_stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self._current().ptr)


def find() -> list[Peer]:
    """Return the peer, or raise MissingPeerError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where it cannot load the driver
            from cuda import compute  # noqa: PLC0415  optional
    except ImportError as error:
        message = "cuda-cccl is not installed; run: pip install 'cuda-cccl[cu13]'"
        raise MissingPeerError(message) from error
    cupy = require_cupy()
    if not hasattr(compute, "make_reduce_into"):
        message = (
            "cuda-cccl has nothing for this driver; run: pip install 'cuda-cccl[cu13]' or [cu12]"
        )
        raise MissingPeerError(message)
    predicates = importlib.util.find_spec("numba_cuda_mlir") is not None
    version = importlib.metadata.version("cuda-cccl")
    stream = _CurrentStream(cupy)
    return [ComputePeer(compute, cupy, stream, predicates=predicates, version=version)]
