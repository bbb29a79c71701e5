"""PyTorch, on the arrays of CuPy, or of NumPy where there is no GPU."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from perf.peers import base
from perf.peers.base import MissingPeerError, Peer, Prepared
from perf.peers.cupy import MOST_ELEMENTS, fancy_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perf.cases.base import Array, Module, Workload
    from perf.cases.gather import GatherWorkload
    from perf.cases.gather_nd import GatherNDWorkload
    from perf.cases.nonzero_coordinates import NonzeroWorkload
    from perf.cases.one_hot import OneHotWorkload
    from perf.cases.reduce import ReduceWorkload


class TorchBase(Peer):
    """PyTorch, without any operator.

    It works on the current stream of `cupy`, which is None for arrays of NumPy.
    """

    def __init__(self, torch: Module, cupy: Module | None) -> None:
        self._torch, self._cupy = torch, cupy
        self.version = str(torch.__version__)

    def prepare(self, workload: Workload, inputs: Sequence[Array]) -> Prepared | None:
        """Return the call on the stream that is current now."""
        if self._cupy is None:
            return super().prepare(workload, [self._tensor(array) for array in inputs])
        cuda = self._torch.cuda
        stream = cuda.ExternalStream(self._cupy.cuda.get_current_stream().ptr)
        with cuda.stream(stream):
            prepared = super().prepare(workload, [self._tensor(array) for array in inputs])
        if prepared is None:
            return None

        def call(work: Callable[[], Any] = prepared.call) -> Any:  # noqa: ANN401  a tensor
            cuda.set_stream(stream)
            return work()

        return replace(prepared, call=call)

    def _tensor(self, array: Array) -> Any:  # noqa: ANN401
        """Return a tensor in an array's memory."""
        if array.dtype == "bool":  # which not every version passes on
            return self._torch.from_dlpack(array.view("uint8")).view(self._torch.bool)
        return self._torch.from_dlpack(array)

    def _functions(self, workload: ReduceWorkload) -> dict[str, Callable[..., Any]]:
        """Return the reductions over the axes of a workload, by our names."""
        torch, axes, dtype = self._torch, workload.axes, getattr(self._torch, workload.dtype)
        return {
            "sum": lambda x, **out: torch.sum(x, axes, dtype=dtype, **out),
            "max": lambda x, **out: torch.amax(x, axes, **out),
            "argmax": lambda x, **out: torch.argmax(x, axes[0], **out),
            "log_sum_exp": lambda x, **out: torch.logsumexp(x, axes, **out),
        }

    def _output(self, workload: Workload, like: Any) -> Any:  # noqa: ANN401
        ((shape, dtype),) = workload.results
        return self._torch.empty(shape, dtype=getattr(self._torch, dtype), device=like.device)


class TorchPeer(TorchBase):
    """Eager PyTorch."""

    name = "torch"

    def reduce(self, workload: ReduceWorkload, x: Array) -> Prepared:
        """Prepare torch.sum, amax, argmax or logsumexp."""
        function, out = self._functions(workload)[workload.function], self._output(workload, x)
        note = "allocates what it needs" if workload.function == "log_sum_exp" else ""
        return Prepared(lambda: function(x, out=out), note)

    def nonzero_coordinates(self, workload: NonzeroWorkload, x: Array) -> Prepared:
        """Prepare torch.nonzero."""
        torch = self._torch
        note = base.join_notes(base.note_type(workload.result, "int64"), base.WAITS, base.ALLOCATES)
        return Prepared(lambda: torch.nonzero(x), note, captures=False)

    def gather(self, workload: GatherWorkload, x: Array, indices: Array) -> Prepared:
        """Prepare torch.index_select."""
        torch, axis, out = self._torch, workload.axis, self._output(workload, x)
        return Prepared(lambda: torch.index_select(x, axis, indices, out=out))

    def gather_nd(self, workload: GatherNDWorkload, x: Array, indices: Array) -> Prepared:
        """Prepare indexing with a tensor for each axis, of which one is for batches."""
        key = fancy_key(partial(self._torch.arange, device=x.device), workload, indices)
        return Prepared(lambda: x[key], base.ALLOCATES, scratch_bytes=key[0].nbytes)

    def one_hot(self, workload: OneHotWorkload, indices: Array) -> Prepared | None:
        """Prepare torch.nn.functional.one_hot, which has int64 along the last axis alone."""
        one_hot, depth = self._torch.nn.functional.one_hot, workload.depth
        if workload.axis != indices.ndim:
            return None
        note = base.join_notes(base.note_type(workload.dtype, "int64"), base.ALLOCATES)
        return Prepared(lambda: one_hot(indices, depth), note)


class TorchNew(TorchPeer):
    """PyTorch where a result is allocated by each call, and coordinates are those of each axis."""

    name = "torch, new results"

    def _output(self, workload: Workload, like: Any) -> None:  # noqa: ANN401
        """Return None, which PyTorch's functions take for no output."""

    def prepare(self, workload: Workload, inputs: Sequence[Array]) -> Prepared | None:
        """Prepare calls on few elements of functions that could write into an output."""
        if workload.operator in {"gather_nd", "one_hot"} or workload.size > MOST_ELEMENTS:
            return None
        return base.allocating(super().prepare(workload, inputs))

    def nonzero_coordinates(self, workload: NonzeroWorkload, x: Array) -> Prepared:
        """Prepare torch.nonzero for tuples."""
        prepared, torch = super().nonzero_coordinates(workload, x), self._torch
        return replace(prepared, call=lambda: torch.nonzero(x, as_tuple=True))


class TorchStatic(TorchBase):
    """torch.nonzero_static."""

    name = "torch, nonzero_static"

    def nonzero_coordinates(self, workload: NonzeroWorkload, x: Array) -> Prepared:
        """Prepare the call with the true count, which leaves nothing to be filled.

        With a size of 0 it would not read x.
        """
        torch = self._torch
        count = max(1, int(torch.count_nonzero(x)))
        out = torch.empty((count, x.ndim), dtype=torch.int64, device=x.device)
        different = base.note_type(workload.result, "int64")
        note = base.join_notes(different, "is told the true count beforehand, returns none")
        return Prepared(lambda: torch.nonzero_static(x, size=count, out=out), note)


class TorchGather(TorchBase):
    """torch.gather of whole rows."""

    name = "torch, gather"

    def gather(self, workload: GatherWorkload, x: Array, indices: Array) -> Prepared:
        """Prepare torch.gather with indices that are the same along all other axes."""
        torch, axis, out = self._torch, workload.axis, self._output(workload, x)
        wide = indices.long()
        along = [-1 if k == axis else 1 for k in range(x.ndim)]
        picks = wide.reshape(along).expand(out.shape)
        widens = wide.dtype != indices.dtype
        note = "indices are widened to int64 beforehand" if widens else ""
        scratch = wide.nbytes if widens else 0
        return Prepared(lambda: torch.gather(x, axis, picks, out=out), note, scratch_bytes=scratch)


class TorchScatter(TorchBase):
    """Zeros, and ones scattered over them."""

    name = "torch, memset + scatter"

    def one_hot(self, workload: OneHotWorkload, indices: Array) -> Prepared:
        """Prepare zero_ and scatter_."""
        axis, out = workload.axis, self._output(workload, indices)
        places = indices.unsqueeze(axis)
        return Prepared(lambda: out.zero_().scatter_(axis, places, 1))


class TorchCompiled(TorchBase):
    """Reductions through torch.compile."""

    name = "torch.compile"
    _workload: Workload | None = None
    _function: Any = None

    def reduce(self, workload: ReduceWorkload, x: Array) -> Prepared:
        """Prepare the compiled function; its first call compiles."""
        if workload != self._workload:  # once for all of its data
            self._torch.compiler.reset()  # the limit of compilations counts all workloads together
            function = self._functions(workload)[workload.function]
            self._function = self._torch.compile(function, dynamic=False)
            self._workload = workload
        compiled = self._function
        return Prepared(lambda: compiled(x), base.ALLOCATES)


def find() -> list[Peer]:
    """Return PyTorch's peers, or raise MissingPeerError."""
    try:
        import torch  # noqa: PLC0415  optional, and seconds
    except ImportError as error:
        message = "PyTorch is not installed; run: pip install torch"
        raise MissingPeerError(message) from error
    cupy = base.require_cupy()
    if not torch.cuda.is_available():
        raise MissingPeerError("this PyTorch has no CUDA; install one from download.pytorch.org")
    kinds = (TorchPeer, TorchNew, TorchStatic, TorchGather, TorchScatter, TorchCompiled)
    return [kind(torch, cupy) for kind in kinds]
