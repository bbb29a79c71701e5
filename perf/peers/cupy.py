"""CuPy: what its users would write. And our own search that waits for the count."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import cudakern as ck
from perf.peers.base import ALLOCATES, WAITS, Peer, Prepared, join_notes, note_type, require_cupy
from perf.results import OURS

if TYPE_CHECKING:
    from collections.abc import Callable

    from perf import cases
    from perf.cases.base import Array, Module

#: Largest identity matrix that one-hot rows are taken from, in bytes.
TABLE_BYTES = 2**25
#: Elements up to which `OwnArgwhere` is timed: of more, the wait is a small part.
MOST_ELEMENTS = 2**18


class CupyBase(Peer):
    """CuPy, without any operator; NumPy has the same functions."""

    def __init__(self, xp: Module) -> None:
        self._xp, self.version = xp, str(xp.__version__)


class CupyPeer(CupyBase):
    """CuPy with the accelerators that it has by default."""

    name = "cupy"

    def reduce(self, workload: cases.ReduceWorkload, x: Array) -> Prepared:
        """Prepare cupy.sum, max or argmax; log_sum_exp has to be put together."""
        xp, axes = self._xp, workload.axes
        (out,) = workload.outputs(xp)
        if workload.function == "log_sum_exp":
            return self._log_sum_exp(workload, x, out)
        calls: dict[str, Callable[[], Array]] = {
            "sum": lambda: xp.sum(x, axis=axes, dtype=out.dtype, out=out),
            "max": lambda: xp.max(x, axis=axes, out=out),
            "argmax": lambda: xp.argmax(x, axis=axes[0], out=out),
        }
        return Prepared(calls[workload.function])

    def _log_sum_exp(self, workload: cases.ReduceWorkload, x: Array, out: Array) -> Prepared:
        xp, axes = self._xp, workload.axes
        work = xp.empty_like(x)
        peak = xp.empty_like(out)
        wide = peak.reshape([1 if k in axes else size for k, size in enumerate(x.shape)])

        def call() -> Array:
            xp.max(x, axis=axes, out=peak)
            xp.subtract(x, wide, out=work)
            xp.exp(work, out=work)
            xp.sum(work, axis=axes, out=out)
            xp.log(out, out=out)
            return xp.add(out, peak, out=out)

        note = "six calls, with an intermediate array as large as x"
        return Prepared(call, note, scratch_bytes=work.nbytes + peak.nbytes)

    def nonzero_coordinates(self, workload: cases.NonzeroWorkload, x: Array) -> Prepared:
        """Prepare cupy.argwhere."""
        xp = self._xp
        note = join_notes(note_type(workload.result, "int64"), WAITS, ALLOCATES)
        return Prepared(lambda: xp.argwhere(x), note, captures=False)

    def gather(self, workload: cases.GatherWorkload, x: Array, indices: Array) -> Prepared:
        """Prepare cupy.take."""
        xp, axis = self._xp, workload.axis
        (out,) = workload.outputs(xp)
        return Prepared(lambda: xp.take(x, indices, axis=axis, out=out))

    def gather_nd(self, _: cases.GatherNDWorkload, x: Array, indices: Array) -> Prepared:
        """Prepare indexing with an array for each axis, of which one is for batches."""
        key = fancy_key(self._xp.arange, indices)
        return Prepared(lambda: x[key], ALLOCATES, scratch_bytes=key[0].nbytes)

    def one_hot(self, workload: cases.OneHotWorkload, indices: Array) -> Prepared:
        """Prepare a comparison of the indices with all classes."""
        xp = self._xp
        (out,) = workload.outputs(xp)
        axis = workload.axis
        shape = [workload.depth if k == axis else 1 for k in range(out.ndim)]
        classes = xp.arange(workload.depth, dtype=indices.dtype).reshape(shape)
        spread = xp.expand_dims(indices, axis)
        return Prepared(lambda: xp.equal(spread, classes, out=out), scratch_bytes=classes.nbytes)


class CupyWithoutCub(Peer):
    """CuPy's own reduction kernels."""

    name = "cupy, CUB off"

    def __init__(self, xp: Module, accelerators: Any) -> None:  # noqa: ANN401  cupy._core
        self._cupy, self.version = CupyPeer(xp), str(xp.__version__)
        self._core = accelerators

    def reduce(self, workload: cases.ReduceWorkload, x: Array) -> Prepared:
        """Prepare the reduction; CuPy looks up its accelerators at each call."""
        prepared = self._cupy.reduce(workload, x)
        core, with_cub = self._core, prepared.call

        def without_cub() -> Array:
            routines = core.get_routine_accelerators()
            reductions = core.get_reduction_accelerators()
            core.set_routine_accelerators([])
            core.set_reduction_accelerators([])
            try:
                return with_cub()
            finally:
                core.set_routine_accelerators(routines)
                core.set_reduction_accelerators(reductions)

        return replace(prepared, call=without_cub)


class CupyIdentity(CupyBase):
    """Rows of an identity matrix, another way to one-hot."""

    name = "cupy, rows of eye"

    def one_hot(self, workload: cases.OneHotWorkload, indices: Array) -> Prepared | None:
        """Prepare cupy.take from an identity matrix that fits."""
        xp = self._xp
        (out,) = workload.outputs(xp)
        is_last = workload.axis == indices.ndim
        if not is_last or workload.depth**2 * out.dtype.itemsize > TABLE_BYTES:
            return None
        table = xp.eye(workload.depth, dtype=out.dtype)
        return Prepared(
            lambda: xp.take(table, indices, axis=0, out=out),
            "reads an identity matrix that is made beforehand",
            scratch_bytes=table.nbytes,
        )


class OwnArgwhere(Peer):
    """cudakern.argwhere."""

    name = f"{OURS}, argwhere"
    version = ck.__version__

    def nonzero_coordinates(self, workload: cases.NonzeroWorkload, x: Array) -> Prepared | None:
        """Prepare the call for few elements."""
        if x.size > MOST_ELEMENTS:
            return None
        note = join_notes(note_type(workload.result, "int64"), WAITS, ALLOCATES)
        return Prepared(lambda: ck.argwhere(x), note, captures=False)


def fancy_key(arange: Callable[..., Array], indices: Array) -> tuple[Array, ...]:
    """Return what x is indexed with: positions along the batch axis, then the components."""
    batches = arange(indices.shape[0], dtype=indices.dtype).reshape(-1, 1)
    return (batches, *(indices[..., k] for k in range(indices.shape[-1])))


def find() -> list[Peer]:
    """Return the peers that need CuPy alone, or raise MissingPeerError."""
    cupy = require_cupy()
    core = cupy._core  # noqa: SLF001  its accelerators are set there alone
    return [CupyPeer(cupy), CupyWithoutCub(cupy, core), CupyIdentity(cupy), OwnArgwhere()]
