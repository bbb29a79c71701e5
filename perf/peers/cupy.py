"""CuPy: what its users would write. And our own search that waits for the count."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import cudakern as ck
from perf.peers.base import (
    ALLOCATES,
    WAITS,
    Peer,
    Prepared,
    allocating,
    join_notes,
    note_type,
    require_cupy,
)
from perf.results import OURS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perf.cases.base import Array, Module, Workload
    from perf.cases.gather import GatherWorkload
    from perf.cases.gather_nd import GatherNDWorkload
    from perf.cases.nonzero_coordinates import NonzeroWorkload
    from perf.cases.one_hot import OneHotWorkload
    from perf.cases.reduce import ReduceWorkload

#: Largest identity matrix that one-hot rows are taken from, in bytes.
TABLE_BYTES = 2**25
#: Elements of data and results up to which the host decides how long a call takes: of more, neither
#: a wait nor an allocation counts for much.
MOST_ELEMENTS = 2**18


class CupyBase(Peer):
    """CuPy, without any operator; NumPy has the same functions."""

    def __init__(self, xp: Module) -> None:
        self._xp, self.version = xp, str(xp.__version__)


class CupyPeer(CupyBase):
    """CuPy with the accelerators that it has by default."""

    name = "cupy"

    def _output(self, workload: Workload) -> Array:
        (out,) = workload.outputs(self._xp)
        return out

    def reduce(self, workload: ReduceWorkload, x: Array) -> Prepared:
        """Prepare cupy.sum, max or argmax; log_sum_exp has to be put together."""
        xp, axes, out = self._xp, workload.axes, self._output(workload)
        if workload.function == "log_sum_exp":
            return self._log_sum_exp(workload, x, out)
        calls: dict[str, Callable[[], Array]] = {
            "sum": lambda: xp.sum(x, axis=axes, dtype=x.dtype, out=out),
            "max": lambda: xp.max(x, axis=axes, out=out),
            "argmax": lambda: xp.argmax(x, axis=axes[0], out=out),
        }
        return Prepared(calls[workload.function])

    def _log_sum_exp(self, workload: ReduceWorkload, x: Array, out: Array) -> Prepared:
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

    def nonzero_coordinates(self, workload: NonzeroWorkload, x: Array) -> Prepared:
        """Prepare cupy.argwhere."""
        xp = self._xp
        note = join_notes(note_type(workload.result, "int64"), WAITS, ALLOCATES)
        return Prepared(lambda: xp.argwhere(x), note, captures=False)

    def gather(self, workload: GatherWorkload, x: Array, indices: Array) -> Prepared:
        """Prepare cupy.take."""
        xp, axis, out = self._xp, workload.axis, self._output(workload)
        return Prepared(lambda: xp.take(x, indices, axis=axis, out=out))

    def gather_nd(self, workload: GatherNDWorkload, x: Array, indices: Array) -> Prepared:
        """Prepare indexing with an array for each axis, of which one is for batches."""
        key = fancy_key(self._xp.arange, workload, indices)
        return Prepared(lambda: x[key], ALLOCATES, scratch_bytes=key[0].nbytes)

    def one_hot(self, workload: OneHotWorkload, indices: Array) -> Prepared:
        """Prepare a comparison of the indices with all classes."""
        xp, axis, out = self._xp, workload.axis, self._output(workload)
        shape = [workload.depth if k == axis else 1 for k in range(indices.ndim + 1)]
        classes = xp.arange(workload.depth, dtype=indices.dtype).reshape(shape)
        spread = xp.expand_dims(indices, axis)
        return Prepared(lambda: xp.equal(spread, classes, out=out), scratch_bytes=classes.nbytes)


class CupyNew(CupyPeer):
    """CuPy where a result is allocated by each call, and coordinates are those of nonzero."""

    name = "cupy, new results"

    def _output(self, workload: Workload) -> None:
        """Return None, which CuPy's functions take for no output."""

    def prepare(self, workload: Workload, inputs: Sequence[Array]) -> Prepared | None:
        """Prepare calls of one function of CuPy's on few elements."""
        several = getattr(workload, "function", "") == "log_sum_exp"
        if several or workload.operator == "gather_nd" or workload.size > MOST_ELEMENTS:
            return None
        return allocating(super().prepare(workload, inputs))

    def nonzero_coordinates(self, workload: NonzeroWorkload, x: Array) -> Prepared:
        """Prepare cupy.nonzero."""
        return replace(super().nonzero_coordinates(workload, x), call=lambda: self._xp.nonzero(x))

    def one_hot(self, workload: OneHotWorkload, indices: Array) -> Prepared:
        """Prepare a comparison, whose result is bool."""
        note = note_type(workload.dtype, "bool")
        return replace(super().one_hot(workload, indices), note=note)


class CupyWithoutCub(Peer):
    """CuPy's own reduction kernels."""

    name = "cupy, CUB off"

    def __init__(self, xp: Module, accelerators: Any) -> None:  # noqa: ANN401  cupy._core
        self._cupy, self.version = CupyPeer(xp), str(xp.__version__)
        self._core = accelerators

    def reduce(self, workload: ReduceWorkload, x: Array) -> Prepared:
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

    def one_hot(self, workload: OneHotWorkload, indices: Array) -> Prepared | None:
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


class OwnNew(Peer):
    """cudakern where each call allocates its results."""

    name = f"{OURS}, new results"
    version = ck.__version__

    def prepare(self, workload: Workload, inputs: Sequence[Array]) -> Prepared | None:
        """Prepare the call for few elements."""
        if workload.size > MOST_ELEMENTS:
            return None
        return Prepared(workload.call(inputs, ()), ALLOCATES)


class OwnArgwhere(Peer):
    """cudakern.argwhere, or nonzero."""

    version = ck.__version__

    def __init__(self, function: Callable[[Array], object] = ck.argwhere) -> None:
        self._function, self.name = function, f"{OURS}, {function.__name__}"

    def nonzero_coordinates(self, workload: NonzeroWorkload, x: Array) -> Prepared | None:
        """Prepare the call for few elements."""
        if x.size > MOST_ELEMENTS:
            return None
        note = join_notes(note_type(workload.result, "int64"), WAITS, ALLOCATES)
        return Prepared(lambda: self._function(x), note, captures=False)


def fancy_key(
    arange: Callable[..., Array], workload: GatherNDWorkload, indices: Array
) -> tuple[Array, ...]:
    """Return what x is indexed with: positions along the batch axis, if any, then components."""
    batches = [arange(indices.shape[0], dtype=indices.dtype).reshape(-1, 1)]
    components = (indices[..., k] for k in range(indices.shape[-1]))
    return (*batches[: workload.batch_dims], *components)


def find() -> list[Peer]:
    """Return the peers that need CuPy alone, or raise MissingPeerError."""
    cupy = require_cupy()
    core = cupy._core  # noqa: SLF001  its accelerators are set there alone
    of_cupy = [CupyPeer(cupy), CupyNew(cupy), CupyWithoutCub(cupy, core), CupyIdentity(cupy)]
    return [*of_cupy, OwnNew(), OwnArgwhere(), OwnArgwhere(ck.nonzero)]
