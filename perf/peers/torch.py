"""PyTorch, on the arrays of CuPy, or of NumPy where there is no GPU."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from perf.peers.base import (
    ALLOCATES,
    WAITS,
    MissingPeerError,
    Peer,
    Prepared,
    other_type,
    remarks,
    require_cupy,
)
from perf.peers.cupy import fancy_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perf import cases
    from perf.cases.base import Array, Module, Workload

_WIDENED = "indices are widened to int64 beforehand"


class TorchBase(Peer):
    """PyTorch, with none of its functions.

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

    def _empty(self, shape: Sequence[int], dtype: str, like: Any) -> Any:  # noqa: ANN401
        kind = getattr(self._torch, dtype)
        return self._torch.empty(tuple(shape), dtype=kind, device=like.device)

    def _wide(self, indices: Any) -> tuple[Any, str]:  # noqa: ANN401
        """Return indices of int64, and a remark if they were of another type."""
        if indices.dtype == self._torch.int64:
            return indices, ""
        return indices.long(), _WIDENED


class TorchPeer(TorchBase):
    """Eager PyTorch."""

    name = "torch"

    def reduce(self, workload: cases.ReduceWorkload, x: Array) -> Prepared | None:
        """Prepare torch.sum, amax, argmax or logsumexp."""
        torch, axes = self._torch, workload.axes
        out = self._empty(workload.result_shape, workload.out_dtype, x)
        if workload.function == "sum":
            return Prepared(lambda: torch.sum(x, axes, dtype=out.dtype, out=out))
        if workload.function == "max":
            return Prepared(lambda: torch.amax(x, axes, out=out))
        if workload.function == "argmax":
            return Prepared(lambda: torch.argmax(x, axes[0], out=out))
        if workload.function == "log_sum_exp":
            return Prepared(lambda: torch.logsumexp(x, axes, out=out), "allocates what it needs")
        return None

    def nonzero_coordinates(self, workload: cases.NonzeroWorkload, x: Array) -> Prepared:
        """Prepare torch.nonzero."""
        torch = self._torch
        note = remarks(other_type(workload.result, "int64"), WAITS, ALLOCATES)
        return Prepared(lambda: torch.nonzero(x), note, captures=False)

    def gather(self, workload: cases.GatherWorkload, x: Array, indices: Array) -> Prepared:
        """Prepare torch.index_select."""
        torch, axis = self._torch, workload.axis
        out = self._empty(workload.result_shape, workload.dtype, x)
        before, behind = workload.shape[:axis], workload.shape[axis + 1 :]
        flat, picks = out.view(*before, -1, *behind), indices.reshape(-1)

        def call() -> Any:  # noqa: ANN401
            torch.index_select(x, axis, picks, out=flat)
            return out

        return Prepared(call)

    def gather_nd(self, workload: cases.GatherNDWorkload, x: Array, indices: Array) -> Prepared:
        """Prepare indexing with a tensor for each axis."""
        key = fancy_key(partial(self._torch.arange, device=x.device), workload, indices)
        scratch = sum(grid.nbytes for grid in key[: workload.batch_dims])
        return Prepared(lambda: x[key], ALLOCATES, scratch_bytes=scratch)

    def one_hot(self, workload: cases.OneHotWorkload, indices: Array) -> Prepared | None:
        """Prepare torch.nn.functional.one_hot, which has int64 along the last axis alone."""
        one_hot, depth = self._torch.nn.functional.one_hot, workload.depth
        if workload.axis != indices.ndim:
            return None
        wide, widened = self._wide(indices)
        note = remarks(other_type(workload.dtype, "int64"), ALLOCATES, widened)
        return Prepared(lambda: one_hot(wide, depth), note)


class TorchStatic(TorchBase):
    """torch.nonzero_static."""

    name = "torch, nonzero_static"

    def nonzero_coordinates(self, workload: cases.NonzeroWorkload, x: Array) -> Prepared:
        """Prepare the call with the true count, which leaves nothing to be filled."""
        torch = self._torch
        count = int(torch.count_nonzero(x))
        out = self._empty((count, x.ndim), "int64", x)
        different = other_type(workload.result, "int64")
        note = remarks(different, "is told the true count beforehand, returns none")
        return Prepared(lambda: torch.nonzero_static(x, size=count, out=out), note)


class TorchGather(TorchBase):
    """torch.gather of whole rows."""

    name = "torch, gather"

    def gather(self, workload: cases.GatherWorkload, x: Array, indices: Array) -> Prepared:
        """Prepare torch.gather with indices that are the same along all other axes."""
        torch, axis = self._torch, workload.axis
        out = self._empty(workload.result_shape, workload.dtype, x)
        before, behind = workload.shape[:axis], workload.shape[axis + 1 :]
        wide, widened = self._wide(indices)
        picks = wide.reshape(*(1 for _ in before), -1, *(1 for _ in behind))
        spread = picks.expand(*before, -1, *behind)
        flat = out.view(*before, -1, *behind)

        def call() -> Any:  # noqa: ANN401
            torch.gather(x, axis, spread, out=flat)
            return out

        return Prepared(call, widened, scratch_bytes=wide.nbytes if widened else 0)


class TorchScatter(TorchBase):
    """Zeros, and ones scattered over them."""

    name = "torch, memset + scatter"

    def one_hot(self, workload: cases.OneHotWorkload, indices: Array) -> Prepared:
        """Prepare zero_ and scatter_."""
        axis = workload.axis
        out = self._empty(workload.result_shape, workload.dtype, indices)
        wide, widened = self._wide(indices)
        places = wide.unsqueeze(axis)
        scratch = wide.nbytes if widened else 0
        return Prepared(
            lambda: out.zero_().scatter_(axis, places, 1), widened, scratch_bytes=scratch
        )


class TorchCompiled(TorchBase):
    """Reductions through torch.compile."""

    name = "torch.compile"
    _workload: Workload | None = None
    _function: Any = None

    def reduce(self, workload: cases.ReduceWorkload, x: Array) -> Prepared | None:
        """Prepare the compiled function; its first call compiles."""
        torch, axes = self._torch, workload.axes
        kind = getattr(torch, workload.out_dtype)
        functions: dict[str, Callable[[Any], Any]] = {
            "sum": lambda x: torch.sum(x, axes, dtype=kind),
            "log_sum_exp": lambda x: torch.logsumexp(x, axes),
            "max": lambda x: torch.amax(x, axes),
            "argmax": lambda x: torch.argmax(x, axes[0]),
        }
        if workload.function not in functions:
            return None
        if workload != self._workload:  # once for all of its data
            torch.compiler.reset()  # the limit of compilations counts all workloads together
            self._function = torch.compile(functions[workload.function], dynamic=False)
            self._workload = workload
        compiled = self._function
        return Prepared(lambda: compiled(x), ALLOCATES)


def find() -> list[Peer]:
    """Return PyTorch's peers, or raise MissingPeerError."""
    try:
        import torch  # noqa: PLC0415  optional, and seconds
    except ImportError as error:
        message = "PyTorch is not installed; run: pip install torch"
        raise MissingPeerError(message) from error
    cupy = require_cupy()
    if not torch.cuda.is_available():
        raise MissingPeerError("this PyTorch has no CUDA; install one from download.pytorch.org")
    kinds = (TorchPeer, TorchStatic, TorchGather, TorchScatter, TorchCompiled)
    return [kind(torch, cupy) for kind in kinds]
