"""CuPy: what its users would write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from perf.peers.base import Prepared
from perf.peers.dispatch import Dispatch, other_type, remarks, require_cupy
from perf.peers.own import OwnArgwhere

if TYPE_CHECKING:
    from collections.abc import Callable

    from perf.cases.base import Array, Module
    from perf.cases.gather import GatherProblem
    from perf.cases.gather_nd import GatherNDProblem
    from perf.cases.nonzero_coordinates import NonzeroProblem
    from perf.cases.one_hot import OneHotProblem
    from perf.cases.reduce import ReduceProblem
    from perf.peers.base import Peer

#: Largest identity matrix that one-hot rows are taken from, in bytes.
TABLE_BYTES = 2**25


class CupyPeer(Dispatch):
    """CuPy with the accelerators that it has by default.

    Parameters
    ----------
    xp : module
        cupy, or numpy, whose functions are the same.
    """

    name = "cupy"

    def __init__(self, xp: Module) -> None:
        self._xp = xp

    @property
    def version(self) -> str:
        """Of CuPy."""
        return str(self._xp.__version__)

    def reduce(self, problem: ReduceProblem, x: Array) -> Prepared | None:
        """Prepare cupy.sum, max or argmax; log_sum_exp has to be put together."""
        xp, axes = self._xp, problem.axes
        (out,) = problem.outputs(xp)
        if problem.function == "sum":
            return Prepared(lambda: xp.sum(x, axis=axes, dtype=out.dtype, out=out))
        if problem.function == "max" and out.dtype == x.dtype:
            return Prepared(lambda: xp.max(x, axis=axes, out=out))
        if problem.function == "argmax" and len(axes) == 1:
            found = xp.empty(problem.kept, dtype="int64")
            note = other_type(problem.out_dtype, "int64")
            return Prepared(lambda: xp.argmax(x, axis=axes[0], out=found), note)
        if problem.function == "log_sum_exp" and out.dtype == x.dtype:
            return self._log_sum_exp(problem, x, out)
        return None

    def _log_sum_exp(self, problem: ReduceProblem, x: Array, out: Array) -> Prepared:
        xp, axes = self._xp, problem.axes
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

    def nonzero(self, problem: NonzeroProblem, x: Array) -> Prepared:
        """Prepare cupy.argwhere."""
        xp = self._xp
        note = remarks(
            other_type(problem.result, "int64"), "waits for the count", "allocates its result"
        )
        return Prepared(lambda: xp.argwhere(x), note, captures=False)

    def gather(self, problem: GatherProblem, x: Array, indices: Array) -> Prepared:
        """Prepare cupy.take."""
        xp, axis = self._xp, problem.axis
        (out,) = problem.outputs(xp)
        return Prepared(lambda: xp.take(x, indices, axis=axis, out=out))

    def gather_nd(self, problem: GatherNDProblem, x: Array, indices: Array) -> Prepared:
        """Prepare indexing with an array for each axis."""
        key = fancy_key(self._xp, problem, indices)
        scratch = sum(grid.nbytes for grid in key[: problem.batch_dims])
        return Prepared(lambda: x[key], "allocates its result", scratch_bytes=scratch)

    def one_hot(self, problem: OneHotProblem, indices: Array) -> Prepared:
        """Prepare a comparison of the indices with all classes."""
        xp = self._xp
        (out,) = problem.outputs(xp)
        axis = problem.axis % out.ndim
        shape = [problem.depth if k == axis else 1 for k in range(out.ndim)]
        classes = xp.arange(problem.depth, dtype=indices.dtype).reshape(shape)
        spread = xp.expand_dims(indices, axis)
        return Prepared(lambda: xp.equal(spread, classes, out=out), scratch_bytes=classes.nbytes)


class CupyWithoutCub(Dispatch):
    """CuPy's own reduction kernels."""

    name = "cupy, CUB off"

    def __init__(self, xp: Module, accelerators: Any) -> None:  # noqa: ANN401  cupy._core
        self._cupy = CupyPeer(xp)
        self._core = accelerators

    @property
    def version(self) -> str:
        """Of CuPy."""
        return self._cupy.version

    def reduce(self, problem: ReduceProblem, x: Array) -> Prepared | None:
        """Prepare the reduction; CuPy looks up its accelerators at each call."""
        prepared = self._cupy.reduce(problem, x)
        if prepared is None:
            return None
        return replace(prepared, call=self._without_cub(prepared.call))

    def _without_cub(self, call: Callable[[], Array]) -> Callable[[], Array]:
        core = self._core

        def without_cub() -> Array:
            routines, reductions = (
                core.get_routine_accelerators(),
                core.get_reduction_accelerators(),
            )
            core.set_routine_accelerators([])
            core.set_reduction_accelerators([])
            try:
                return call()
            finally:
                core.set_routine_accelerators(routines)
                core.set_reduction_accelerators(reductions)

        return without_cub


class CupyIdentity(Dispatch):
    """Rows of an identity matrix, another way to one-hot."""

    name = "cupy, rows of eye"

    def __init__(self, xp: Module) -> None:
        self._xp = xp

    @property
    def version(self) -> str:
        """Of CuPy."""
        return str(self._xp.__version__)

    def one_hot(self, problem: OneHotProblem, indices: Array) -> Prepared | None:
        """Prepare cupy.take from an identity matrix that fits."""
        xp = self._xp
        (out,) = problem.outputs(xp)
        is_last = problem.axis % out.ndim == out.ndim - 1
        if not is_last or problem.depth**2 * out.dtype.itemsize > TABLE_BYTES:
            return None
        table = xp.eye(problem.depth, dtype=out.dtype)
        note = "reads an identity matrix that is made beforehand"
        return Prepared(
            lambda: xp.take(table, indices, axis=0, out=out), note, scratch_bytes=table.nbytes
        )


def fancy_key(xp: Module, problem: GatherNDProblem, indices: Array) -> tuple[Array, ...]:
    """Return what x is indexed with: positions along the batch axes, then the components."""
    leading, batches = problem.indices_shape[:-1], problem.batch_dims
    grids = []
    for axis in range(batches):
        shape = [1] * len(leading)
        shape[axis] = leading[axis]
        grids.append(xp.arange(leading[axis], dtype=indices.dtype).reshape(shape))
    return (*grids, *(indices[..., k] for k in range(problem.indices_shape[-1])))


def find() -> list[Peer]:
    """Return the peers that need CuPy alone, or raise MissingPeerError."""
    cupy = require_cupy()
    core = cupy._core  # noqa: SLF001  its accelerators are set there alone
    return [CupyPeer(cupy), CupyWithoutCub(cupy, core), CupyIdentity(cupy), OwnArgwhere()]
