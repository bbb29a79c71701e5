"""Python cost of a warm call in microseconds, without its kernel: the floor for small workloads.

Beside each call with NumPy arrays stands one of NumPy that does the same to the same arguments,
with its work; beside calls with CuPy arrays, the making of one such array over known memory.
Budgets are for a reference machine. On a slower one they grow with the time of a fixed piece of
Python.
"""

from __future__ import annotations

import timeit
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import cudakern as ck
from cudakern._commands import console
from cudakern.engines import use
from cudakern.engines.cuda.library import device_count, import_cupy
from cudakern.errors import EngineUnavailableError
from perf.engines import NullEngine

if TYPE_CHECKING:
    from collections.abc import Callable

#: How many times the making of an array a call with CuPy arrays may take.
CUPY_TIMES = 1.8
#: Microseconds that a compiled operator may take with NumPy arrays, and a function beyond a bare
#: call of NumPy. On other machines calls were up to 1.5 times as slow where the yardstick was not.
COMPILED_BUDGET, FUNCTION_BUDGET = 5.5, 5.0
CALLS = 10_000
REPEATS = 11
#: How often all is measured, as long as a budget is broken.
ATTEMPTS = 3
#: What `yardstick` takes on the reference machine, in microseconds.
REFERENCE_YARDSTICK = 0.65
_YARDSTICK, _ARRAY, _BARE = "yardstick", "an array of CuPy's", "NumPy instead of "
#: The call that allocates its result, which with CuPy needs a device.
_ALLOCATING = 'reduce(x, "sum", 0)'


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


def make_array() -> Callable[[], object]:
    """Return what makes a CuPy array of 16 elements over known memory."""
    known = cupy_stand_in(np.zeros(16, np.float32))
    return partial(import_cupy().ndarray, known.shape, known.dtype, known.data)


def least_microseconds(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least mean time of each call, in microseconds, over rounds that have all calls."""
    for call in calls.values():
        call()
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(REPEATS):
        for name, call in calls.items():
            least[name] = min(least[name], timeit.timeit(call, number=CALLS) / CALLS * 1e6)
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


def calls_of(convert: Callable[[Any], Any]) -> dict[str, tuple[Callable[[], object], ...]]:
    """Return calls with one kind of array by name, each with one of NumPy that does the same."""
    sizes = ((64, 16), (1, 32), (32, 16))
    kinds = (ck.DataType.FLOAT32, ck.DataType.INT32, ck.DataType.FLOAT32)
    tensors = [ck.TensorDesc(k, s) for k, s in zip(kinds, sizes, strict=True)]
    desc = ck.GatherOperatorDesc(tensors[0], tensors[1], tensors[2], axis=0, index_dimensions=1)
    operator = ck.compile_operator(desc)
    host = [np.zeros(s, k.numpy) for k, s in zip(kinds, sizes, strict=True)]
    x, indices, out = map(convert, host)
    coordinates = convert(np.zeros(1, np.uint32)), convert(np.zeros((1024, 2), np.uint32))
    pair = [ck.TensorDesc(ck.DataType.UINT32, array.shape) for array in coordinates]
    finder = ck.compile_operator(ck.NonzeroCoordinatesOperatorDesc(tensors[0], *pair))
    flat, tuples = convert(host[1][0]), convert(host[1].T)
    columns = convert(np.zeros(16, np.float32))
    row = ck.TensorDesc(ck.DataType.FLOAT32, (1, 16))
    adder = ck.compile_operator(ck.ReduceOperatorDesc(ck.ReduceFunction.SUM, tensors[0], row, (0,)))
    total = convert(np.zeros((1, 16), np.float32))
    depths, classes = np.arange(16, dtype=np.int32), flat[:, None]

    def take() -> object:
        return x.take(flat, 0, out=out, mode="clip")

    def find() -> object:
        return np.nonzero(x)

    return {
        "compiled gather": (lambda: operator(x, indices, out=out), take),
        "gather(x, indices, out=out)": (lambda: ck.gather(x, flat, out=out), take),
        "gather_nd(x, indices, out=out)": (
            lambda: ck.gather_nd(x, tuples, out=out),
            lambda: x[(flat,)],
        ),
        "one_hot(indices, 16, out=out)": (
            lambda: ck.one_hot(flat, 16, out=out),
            lambda: np.equal(classes, depths, out=out, casting="unsafe"),
        ),
        "nonzero_coordinates(x, out=out)": (
            lambda: ck.nonzero_coordinates(x, out=coordinates),
            find,
        ),
        "compiled nonzero_coordinates": (lambda: finder(x, out=coordinates), find),
        'reduce(x, "sum", 0, out=out)': (
            lambda: ck.reduce(x, "sum", 0, out=columns),
            lambda: x.sum(0, out=columns),
        ),
        _ALLOCATING: (lambda: ck.reduce(x, "sum", 0), lambda: x.sum(0)),
        "compiled reduce": (
            lambda: adder(x, out=total),
            lambda: x.sum(0, keepdims=True, out=total),
        ),
    }


def measure() -> tuple[list[Row], float]:
    """Return what calls cost, and how many times as slow as the reference this machine is."""
    timed: dict[str, Callable[[], object]] = {_YARDSTICK: yardstick}
    budgets: dict[str, tuple[str, float, float]] = {}
    with use(NullEngine()):
        for name, (call, compared) in calls_of(lambda array: array).items():
            title = f"{name}, NumPy arrays"
            timed[title], timed[_BARE + title] = call, compared
            is_function = not name.startswith("compiled")
            budget = FUNCTION_BUDGET if is_function else COMPILED_BUDGET
            budgets[title] = _BARE + title, budget, float(is_function)
        try:
            calls = calls_of(cupy_stand_in)
            timed[_ARRAY] = make_array()
        except EngineUnavailableError:  # CuPy, whose arrays need no GPU for this, is absent
            calls = {}
        for name, (call, _) in calls.items():
            if name != _ALLOCATING or device_count():
                title = f"{name}, CuPy arrays"
                timed[title], budgets[title] = call, (_ARRAY, 0.0, CUPY_TIMES)
        least = dict.fromkeys(timed, float("inf"))
        for _ in range(ATTEMPTS):  # others may keep the machine busy for a while
            again = least_microseconds(timed)
            least = {name: min(least[name], again[name]) for name in timed}
            rows = [
                Row(name, least[name], least[beside], *limits)
                for name, (beside, *limits) in budgets.items()
            ]
            scale = scale_of(least[_YARDSTICK])
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
