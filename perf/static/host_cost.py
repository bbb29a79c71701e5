"""Python cost of a warm call in microseconds, without its kernel: the floor for small workloads.

Beside each function with NumPy arrays stands one of NumPy that does the same to the same arguments,
with its work; beside calls with CuPy arrays, the making of one such array over known memory. What
allocates its results is called with CuPy arrays where there is a device.
Budgets are for a reference machine. On a slower one they grow with the time of a fixed piece of
Python.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import cudakern as ck
from cudakern._commands import console
from cudakern.engines import use
from cudakern.engines.cuda.library import device_count, import_cupy
from cudakern.errors import EngineUnavailableError
from perf.cases import SMALL
from perf.engines import NullEngine
from perf.peers.cupy import CupyNew, CupyPeer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from perf.cases.base import Workload

#: What is timed. Its budget: microseconds on the reference machine, beyond so many times what
#: stands beside it.
Call = Callable[[], object]
Budget = tuple[float, float]
#: How many times the making of an array a call with CuPy arrays may take, or of its new results.
CUPY_TIMES = 1.8
#: Microseconds that a compiled operator may take with NumPy arrays, and a function beyond a call of
#: NumPy, if that has one. On other machines calls were up to 1.5 times as slow where the yardstick
#: was not.
COMPILED_BUDGET, FUNCTION_BUDGET = 5.5, 4.0
CALLS = 10_000
REPEATS = 11
#: How often all is measured, as long as a budget is broken.
ATTEMPTS = 6
#: What `yardstick` takes on the reference machine, in microseconds.
REFERENCE_YARDSTICK = 0.65


@dataclass(frozen=True, slots=True)
class Row:
    """What a call costs."""

    name: str
    microseconds: float
    #: Microseconds of what stands beside it: a bare call of NumPy, or the making of an array.
    beside: float | None
    budget: float  # microseconds on the reference machine,
    times: float = 0.0  # beyond so many times what stands beside it

    def limit(self, scale: float) -> float:
        """Return what the call may take on a machine so many times as slow as the reference."""
        return self.budget * scale + self.times * (self.beside or 0.0)

    def fault(self, scale: float) -> str | None:
        """Return how the budget is broken, in a line; None if it is kept."""
        limit = self.limit(scale)
        if self.microseconds <= limit:
            return None
        return f"{self.name}: {self.microseconds:.2f} us, more than {limit:.2f}"


def cupy_stand_in(array: np.ndarray[Any, Any]) -> Any:  # noqa: ANN401  CuPy has no types
    """Return a CuPy array with a NumPy array's layout over memory that is never touched."""
    cupy = import_cupy()
    memory = cupy.cuda.UnownedMemory(array.__array_interface__["data"][0], array.nbytes, array, 0)
    pointer = cupy.cuda.MemoryPointer(memory, 0)
    return cupy.ndarray(array.shape, array.dtype, pointer, array.strides)


def make_array() -> Call:
    """Return what makes a CuPy array of 16 elements over known memory."""
    known = cupy_stand_in(np.zeros(16, np.float32))
    shape, dtype, memory, ndarray = known.shape, known.dtype, known.data, import_cupy().ndarray
    return lambda: ndarray(shape, dtype, memory)  # a lambda, as the calls are


def least_microseconds(calls: Iterable[Call]) -> dict[Call, float]:
    """Return the least mean time of each call, in microseconds, over rounds that have all calls."""
    for call in calls:
        call()
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(REPEATS):
        for call in least:
            least[call] = min(least[call], timeit.timeit(call, number=CALLS) / CALLS * 1e6)
    return least


def yardstick() -> tuple[object, ...]:
    """Do a fixed piece of work such as calls are made of: attributes, calls, a dict, a tuple."""
    known = {"shape": 1, "strides": 2, "dtype": 3}
    return tuple(
        [
            (known.get(name), isinstance(name, str), name.upper, len(name))
            for name in ("shape", "strides", "dtype", "shape")
        ]
    )


def scale_of(microseconds: float) -> float:
    """Return how many times as slow a machine is whose yardstick takes so long; 1 at least."""
    return max(1.0, microseconds / REFERENCE_YARDSTICK)


def call_of(workload: Workload, convert: Callable[[Any], Any], *, allocates: bool = False) -> Call:
    """Return a workload's call with one kind of array, into given results or new ones."""
    inputs = [*map(convert, workload.inputs(np, 0))]
    return workload.call(inputs, () if allocates else [*map(convert, workload.outputs(np))])


def numpy_call(workload: Workload, *, allocates: bool = False) -> Call | None:
    """Return a call of NumPy that does the same, as CuPy would; None if there is none."""
    peers = (CupyNew(np), CupyPeer(np)) if allocates else (CupyPeer(np),)
    inputs = workload.inputs(np, 0)
    return next((found.call for peer in peers if (found := peer.prepare(workload, inputs))), None)


def compiled_of(convert: Callable[[Any], Any]) -> dict[str, Call]:
    """Return calls of compiled operators with one kind of array."""
    sizes = ((64, 16), (1, 32), (32, 16), (1,), (1024, 2), (1, 16))
    f32, i32, u32 = ck.DataType.FLOAT32, ck.DataType.INT32, ck.DataType.UINT32
    kinds = (f32, i32, f32, u32, u32, f32)
    table, places, rows, *pair, row = map(ck.TensorDesc, kinds, sizes)
    arrays = [convert(np.zeros(s, k.numpy)) for k, s in zip(kinds, sizes, strict=True)]
    x, indices, out, *coordinates, total = arrays
    gather = ck.compile_operator(
        ck.GatherOperatorDesc(table, places, rows, axis=0, index_dimensions=1)
    )
    find = ck.compile_operator(ck.NonzeroCoordinatesOperatorDesc(table, *pair))
    add = ck.compile_operator(ck.ReduceOperatorDesc(ck.ReduceFunction.SUM, table, row, (0,)))
    found = tuple(coordinates)
    return {
        "compiled gather": lambda: gather(x, indices, out=out),
        "compiled nonzero_coordinates": lambda: find(x, out=found),
        "compiled reduce": lambda: add(x, out=total),
    }


def calls() -> Iterator[tuple[str, Call, Call | None, Budget]]:
    """Yield calls with their names, what stands beside them if anything, and their budgets."""
    kinds: list[tuple[str, Callable[[Any], Any]]] = [("NumPy", lambda array: array)]
    array = None
    try:
        array = make_array()
        kinds.append(("CuPy", cupy_stand_in))
    except EngineUnavailableError:  # CuPy, whose arrays need no GPU for this, is absent
        pass
    for kind, convert in kinds:
        on_host = kind == "NumPy"
        for operator, workload in SMALL.items():
            for allocates in (False, True) if on_host or device_count() else (False,):
                name = f"{operator}{', new results' * allocates}, {kind} arrays"
                times = CUPY_TIMES * (len(workload.results) if allocates else 1)
                beside = numpy_call(workload, allocates=allocates) if on_host else array
                budget = (FUNCTION_BUDGET, 1.0) if on_host else (0.0, times)
                yield name, call_of(workload, convert, allocates=allocates), beside, budget
        for name, call in compiled_of(convert).items():
            budget = (COMPILED_BUDGET, 0.0) if on_host else (0.0, CUPY_TIMES)
            yield f"{name}, {kind} arrays", call, None if on_host else array, budget


def measure() -> tuple[list[Row], float]:
    """Return what calls cost, and how many times as slow as the reference this machine is."""
    with use(NullEngine()):
        found = [*calls()]
        timed = [yardstick, *(call for _, *pair, _ in found for call in pair if call)]
        least = dict.fromkeys(timed, float("inf"))
        for _ in range(ATTEMPTS):  # others may keep the machine busy for a while
            again = least_microseconds(timed)
            least = {call: min(least[call], again[call]) for call in least}
            rows = [
                Row(name, least[call], beside and least[beside], *budget)
                for name, call, beside, budget in found
            ]
            scale = scale_of(least[yardstick])
            if not any(row.fault(scale) for row in rows):
                break
    return rows, scale


def show(costs: list[Row], scale: float) -> None:
    """Print what was measured."""
    console.show(f"Python cost of a call without its kernel, budgets times {scale:.2f} here")
    rows = []
    for cost in costs:
        figures = (cost.microseconds, cost.beside, cost.limit(scale))
        rows.append((cost.name, *("-" if us is None else f"{us:.2f}" for us in figures)))
    console.show_table(rows, ("call", "us", "beside it, us", "budget, us"))
