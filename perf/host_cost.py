"""Python cost of a warm call in microseconds, without its kernel. ``python -m perf.host_cost``.

The engine is replaced by one that launches nothing, so the figure is the floor for small problems.
NumPy arrays serve everywhere; where CuPy is installed, CuPy arrays too, which need no GPU for this.
"""

from __future__ import annotations

import timeit
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
from rich.console import Console
from rich.table import Table

import cudakern as ck
from cudakern.engines.cuda import import_cupy
from cudakern.errors import EngineUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cudakern.engines.base import Launch

GOAL_MICROSECONDS = 3.0
CALLS = 20_000
REPEATS = 7


class NullEngine:
    """Compiles nothing and launches nothing."""

    name = "null"

    def prepare(self, launch: Launch, device: int, tensors: object = ()) -> Callable[..., None]:
        """Return a callable that takes the addresses and does nothing."""
        del launch, device, tensors
        return lambda *_addresses: None

    def workspace(self, device: int, nbytes: int) -> int:
        """Return the address of no memory."""
        del device, nbytes
        return 0


def cupy_stand_in(array: np.ndarray[Any, Any]) -> Any:  # noqa: ANN401  CuPy has no types
    """Return a CuPy array with a NumPy array's layout over memory that is never touched."""
    cupy = import_cupy()
    memory = cupy.cuda.UnownedMemory(array.__array_interface__["data"][0], array.nbytes, array, 0)
    pointer = cupy.cuda.MemoryPointer(memory, 0)
    return cupy.ndarray(array.shape, array.dtype, pointer, array.strides)


def microseconds(call: Callable[[], object]) -> float:
    """Return the best mean time of a call, in microseconds."""
    call()
    return min(timeit.repeat(call, number=CALLS, repeat=REPEATS)) / CALLS * 1e6


def measure(kind: str, convert: Callable[[Any], Any]) -> list[tuple[str, float]]:
    """Return what calls cost with one kind of array."""
    sizes = ((64, 16), (1, 32), (32, 16))
    kinds = (ck.DataType.FLOAT32, ck.DataType.INT32, ck.DataType.FLOAT32)
    tensors = [ck.TensorDesc(k, s) for k, s in zip(kinds, sizes, strict=True)]
    desc = ck.GatherOperatorDesc(tensors[0], tensors[1], tensors[2], axis=0, index_dimensions=1)
    operator = ck.compile_operator(desc)
    host = [np.zeros(s, k.numpy) for k, s in zip(kinds, sizes, strict=True)]
    x, indices, out = map(convert, host)
    found = convert(np.zeros(1, np.uint32)), convert(np.zeros((1024, 2), np.uint32))
    pair = [ck.TensorDesc(ck.DataType.UINT32, array.shape) for array in found]
    finder = ck.compile_operator(ck.NonzeroCoordinatesOperatorDesc(tensors[0], *pair))
    flat, tuples = convert(host[1][0]), convert(host[1].T)
    columns = convert(np.zeros(16, np.float32))
    row = ck.TensorDesc(ck.DataType.FLOAT32, (1, 16))
    adder = ck.compile_operator(ck.ReduceOperatorDesc(ck.ReduceFunction.SUM, tensors[0], row, (0,)))
    total = convert(np.zeros((1, 16), np.float32))
    calls: dict[str, Callable[[], object]] = {
        "compiled gather": lambda: operator(x, indices, out=out),
        "gather(x, indices, out=out)": lambda: ck.gather(x, flat, out=out),
        "gather_nd(x, indices, out=out)": lambda: ck.gather_nd(x, tuples, out=out),
        "one_hot(indices, 16, out=out)": lambda: ck.one_hot(flat, 16, out=out),
        "nonzero_coordinates(x, out=out)": lambda: ck.nonzero_coordinates(x, out=found),
        "compiled nonzero_coordinates": lambda: finder(x, out=found),
        'reduce(x, "sum", 0, out=out)': lambda: ck.reduce(x, "sum", 0, out=columns),
        'reduce(x, "sum", 0)': lambda: ck.reduce(x, "sum", 0),
        "compiled reduce": lambda: adder(x, out=total),
    }
    return [(f"{name}, {kind} arrays", microseconds(call)) for name, call in calls.items()]


def main() -> None:
    """Measure and print."""
    with mock.patch("cudakern.operators.base.engine_for", return_value=NullEngine()):
        rows = measure("NumPy", lambda array: array)
        try:
            rows += measure("CuPy", cupy_stand_in)
        except EngineUnavailableError:
            rows.append(("CuPy arrays: CuPy is not installed", float("nan")))
    x, indices = np.zeros((64, 16), np.float32), np.zeros(32, np.int32)
    rows.append(
        ("for comparison: numpy.take, with its work", microseconds(lambda: x.take(indices, 0)))
    )
    table = Table(title="Python cost of a warm call, null engine")
    table.add_column("call")
    table.add_column("us", justify="right")
    for name, value in rows:
        table.add_row(name, f"{value:.2f}")
    console = Console()
    console.print(table)
    console.print(f"goal for a compiled operator: {GOAL_MICROSECONDS} us")


if __name__ == "__main__":
    main()
