"""Small calls as a whole, host and GPU, beside what CuPy does for the same. A model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table

from perf.cases.base import Problem
from perf.cases.gather import GatherProblem
from perf.cases.gather_nd import GatherNDProblem
from perf.cases.nonzero_coordinates import NonzeroProblem
from perf.cases.one_hot import OneHotProblem
from perf.cases.reduce import ReduceProblem
from perf.model.time import predict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perf.model.gpus import Gpu
    from perf.model.work import Work

#: Microseconds that the driver takes to launch a kernel: NVIDIA/cuda-python, issue 1959.
DRIVER = 1.6
#: Microseconds that CuPy takes on the host for a kernel, without the driver: half of the least that
#: cupy/cupy, issue 8092, has for a reduction, which is two. An estimate.
CUPY_HOST = 8.0
#: Microseconds for which the host waits for a copy of a word, beyond the kernels: an estimate.
SYNCHRONISATION = 8.0
_INDEXING, _CUB = "_core/_routines_indexing.pyx", "cuda/cub.pyx"


@dataclass(frozen=True, slots=True)
class Small:
    """A call of at most 64 KiB, and the way that CuPy takes for the same, by its sources.

    Attributes
    ----------
    problem : Problem
        The call.
    host : str
        What `perf.host_cost` calls one like it.
    cupy : str
        The call of CuPy.
    launches, synchronisations, allocations : int
        Kernels and fills that CuPy launches; how often the host waits; memory that it asks its
        pool for.
    source : str
        Where that is read, below ``cupy/`` of CuPy 14.
    """

    problem: Problem
    host: str
    cupy: str
    launches: int
    synchronisations: int
    allocations: int
    source: str


def _reduced(function: str, shape: tuple[int, ...], axis: int) -> ReduceProblem:
    return ReduceProblem(function, shape, (axis,), "float32")  # type: ignore[arg-type]


def _searched(size: int, dtype: str) -> NonzeroProblem:
    return NonzeroProblem((size,), dtype, 0.1, "random", "uint32")


_REDUCE, _FIND = 'reduce(x, "sum", 0, out=out)', "nonzero_coordinates(x, out=out)"
#: Above 512 elements argwhere counts in blocks of as many, scans the counts, waits for the last
#: and writes; what is no bool is compared with zero before. CUB reduces more than 4096 elements in
#: two kernels. Index arrays are put together in an array of zeros, an array at a time.
SMALL = (
    Small(_reduced("sum", (2**14,), 0), _REDUCE, "x.sum()", 2, 0, 2, f"{_CUB}: device_reduce"),
    Small(
        _reduced("argmax", (2**14,), 0),
        _REDUCE,
        "x.argmax()",
        *(3, 0, 3),
        f"{_CUB}: device_reduce",
    ),
    Small(
        _reduced("sum", (1024, 16), 1),
        _REDUCE,
        "x.sum(1)",
        *(1, 0, 2),
        f"{_CUB}: device_segmented_reduce",
    ),
    Small(_reduced("sum", (1024, 16), 0), _REDUCE, "x.sum(0)", 1, 0, 1, "_core/_reduction.pyx"),
    Small(_searched(2**16, "bool"), _FIND, "argwhere(x)", 3, 1, 3, f"{_INDEXING}: argwhere, scan"),
    Small(
        _searched(2**14, "float32"),
        _FIND,
        "argwhere(x)",
        *(4, 1, 4),
        f"{_INDEXING}: argwhere, scan",
    ),
    Small(
        GatherProblem((1024, 16), 0, (1024,), "float32", "int32", "random"),
        "gather(x, indices, out=out)",
        "x.take(indices, 0)",
        *(1, 0, 1),
        f"{_INDEXING}: _take",
    ),
    Small(
        GatherNDProblem((32, 32, 16), (1024, 2), 0, "float32", "int32"),
        "gather_nd(x, indices, out=out)",
        "x[i, j]",
        *(4, 0, 2),
        f"{_INDEXING}: _getitem_multiple",
    ),
    Small(
        OneHotProblem((1024,), 16, 1, "float32", "int32"),
        "one_hot(indices, 16, out=out)",
        "equal(indices[:, None], arange(16))",
        *(2, 0, 2),
        "_creation/ranges.py, _core/_kernel.pyx",
    ),
)


def cupy_microseconds(small: Small, gpu: Gpu) -> float:
    """Return what CuPy's call takes until its result can be used: the slower of host and GPU."""
    host = small.launches * (CUPY_HOST + DRIVER)
    last = gpu.launch + gpu.latency
    return host + last + small.synchronisations * SYNCHRONISATION


def table_of(work_of: Callable[[Problem], Work], hosts: Mapping[str, float], gpu: Gpu) -> Table:
    """Return the table of small calls; ``hosts`` has what Python takes for a call, by its name."""
    table = Table(title=f"{gpu.name}: calls of up to 64 KiB, microseconds (model, no measurement)")
    for heading in ("call", "host", "launch", "kernel", "in all"):
        table.add_column(heading, justify="left" if heading == "call" else "right")
    for heading in ("CuPy", "launches", "waits", "allocations", "in all", "source"):
        table.add_column(heading, justify="left" if heading in {"CuPy", "source"} else "right")
    for small in SMALL:
        found = predict(work_of(small.problem), gpu)
        host, kernel = hosts[small.host], found.total - gpu.launch
        ours = (host, DRIVER + gpu.launch, kernel, host + DRIVER + found.total)
        counts = (small.launches, small.synchronisations, small.allocations)
        table.add_row(
            f"{small.problem.operator} {small.problem.title}",
            *(f"{figure:.1f}" for figure in ours),
            small.cupy,
            *map(str, counts),
            f"{cupy_microseconds(small, gpu):.0f}",
            small.source,
        )
    return table


def hosts_of(rows: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return what calls of `perf.host_cost` with NumPy arrays take, by their names without that."""
    suffix = ", NumPy arrays"
    return {name.removesuffix(suffix): time for name, time in rows if name.endswith(suffix)}
