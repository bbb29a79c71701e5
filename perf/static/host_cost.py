"""Python cost of a warm call in microseconds, without its kernel: the floor for small workloads.

Beside each call stands one of NumPy that does the same to the same arguments, with its work.
Budgets are for a reference machine. On a slower one they grow with the time of a fixed piece of
Python.
"""

from __future__ import annotations

import timeit
from dataclasses import dataclass
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

#: Microseconds that a compiled operator may take, and a function beyond a bare call of NumPy. One
#: takes 2.0 to 2.3 on the reference machine; on others calls were up to 1.5 times as slow where the
#: yardstick was not.
COMPILED_BUDGET, FUNCTION_BUDGET = 3.6, 8.0
CALLS = 10_000
REPEATS = 11
#: How often all is measured, as long as a budget is broken.
ATTEMPTS = 3
#: What `yardstick` takes on the reference machine, in microseconds.
REFERENCE_YARDSTICK = 0.65
_YARDSTICK, _BARE = "yardstick", "NumPy instead of "
#: The call that allocates its result, which with CuPy needs a device.
_ALLOCATING = 'reduce(x, "sum", 0)'


@dataclass(frozen=True, slots=True)
class Row:
    """What a call costs."""

    name: str
    microseconds: float
    numpy: float | None  # microseconds of a bare call of NumPy with the same arguments
    #: Microseconds on the reference machine: of a compiled operator in all, of a function beyond
    #: the call of NumPy. None: there is no NumPy call to compare with.
    budget: float | None

    def limit(self, scale: float) -> float | None:
        """Return what the call may take on a machine so many times as slow as the reference."""
        if self.budget is None:
            return None
        compiled = self.name.startswith("compiled")
        return self.budget * scale + (0.0 if compiled else self.numpy or 0.0)

    def fault(self, scale: float) -> str | None:
        """Return how the budget is broken, in a line; None if it is kept."""
        limit = self.limit(scale)
        if limit is None or self.microseconds <= limit:
            return None
        return f"{self.name}: {self.microseconds:.2f} us, more than {limit:.2f}"


def cupy_stand_in(array: np.ndarray[Any, Any]) -> Any:  # noqa: ANN401  CuPy has no types
    """Return a CuPy array with a NumPy array's layout over memory that is never touched."""
    cupy = import_cupy()
    memory = cupy.cuda.UnownedMemory(array.__array_interface__["data"][0], array.nbytes, array, 0)
    pointer = cupy.cuda.MemoryPointer(memory, 0)
    return cupy.ndarray(array.shape, array.dtype, pointer, array.strides)


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
    budgets: dict[str, float | None] = {}
    with use(NullEngine()):
        for kind, convert in (("NumPy", lambda array: array), ("CuPy", cupy_stand_in)):
            try:
                calls = calls_of(convert)
            except EngineUnavailableError:  # CuPy, whose arrays need no GPU for this, is absent
                continue
            bare = kind == "NumPy"
            if not bare and not device_count():
                del calls[_ALLOCATING]
            for name, (call, compared) in calls.items():
                compiled = name.startswith("compiled")
                title = f"{name}, {kind} arrays"
                timed[title] = call
                if bare:
                    timed[_BARE + title] = compared
                budgets[title] = COMPILED_BUDGET if compiled else FUNCTION_BUDGET if bare else None
        least = dict.fromkeys(timed, float("inf"))
        for _ in range(ATTEMPTS):  # others may keep the machine busy for a while
            again = least_microseconds(timed)
            least = {name: min(least[name], again[name]) for name in timed}
            rows = [
                Row(name, least[name], least.get(_BARE + name), b) for name, b in budgets.items()
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
        figures = (cost.microseconds, cost.numpy, cost.limit(scale))
        rows.append((cost.name, *("-" if us is None else f"{us:.2f}" for us in figures)))
    console.show_table(rows, ("call", "us", "NumPy, us", "budget, us"))
