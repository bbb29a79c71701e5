"""Calls of the package, with the errors that type checkers must report.

`test_static_types.py` has mypy and pyright check this file. A line with a comment for both must
have an error, since they report comments that silence nothing. The error `call-overload` of mypy
comes with a list of all overloads; others name the wrong argument. Functions named `integers` also
run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
from numpy.typing import NDArray

import cudakern as ck

if TYPE_CHECKING:
    import cupy

# CuPy has no types, and may be absent.
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false


class Tensor:
    """Stands for an array of PyTorch or JAX, on the host or a device."""

    def __dlpack__(self, stream: int | None = None) -> object:
        """Share the memory."""


class DeviceArray:
    """Stands for an array of Numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """Address, shape and dtype."""
        return {}


def lookups(x: NDArray[np.float16], indices: NDArray[np.int32], flags: NDArray[np.bool]) -> None:
    """Gather keeps x's dtype; out is returned."""
    assert_type(ck.gather(x, indices), NDArray[np.float16])
    assert_type(ck.gather(x, [1, 2], 0, mode="fill", fill_value=np.float16(2)), NDArray[np.float16])
    assert_type(ck.gather(x, 1, mode="raise", negative="invalid", out=None), NDArray[np.float16])
    assert_type(ck.gather([1, 2], [[0]]), NDArray[Any])
    assert_type(ck.gather((5.0, True), indices), NDArray[Any])
    assert_type(ck.gather(x, indices, out=np.empty_like(x)), NDArray[np.float16])
    assert_type(ck.gather(flags, indices, out=np.empty_like(flags)), NDArray[np.bool])
    assert_type(ck.gather_nd(x, indices[:, None]), NDArray[np.float16])
    assert_type(ck.gather_nd([1, 2], [[0]], batch_dims=0), NDArray[Any])


def wrong_lookups(x: NDArray[np.float16]) -> None:
    """Each line has an error."""
    ck.gather(x, 1, mode="clip")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.gather(x, 1, negative="no")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.gather(x, 1, 0, "fill")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    ck.gather(x, 1, fill_value="0")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.gather(x, None)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.gather(None, 1)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.gather(x, 1, out=[0])  # type: ignore[type-var]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.gather_nd(x, 1, axis=0)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


def searches(x: NDArray[np.bool]) -> None:
    """Coordinates are int64 or of the requested dtype."""
    assert_type(ck.argwhere(x), NDArray[np.int64])
    assert_type(ck.argwhere([[0, 1]]), NDArray[np.int64])
    assert_type(ck.nonzero(x, size=3), tuple[NDArray[np.int64], ...])
    found = ck.nonzero_coordinates(x, size=2, dtype=np.int64)
    assert_type(found, ck.NonzeroCoordinates[NDArray[np.integer[Any]]])
    assert_type(found.coordinates, NDArray[np.integer[Any]])
    assert_type(
        ck.nonzero_coordinates(x, dtype="int64", out=found),
        ck.NonzeroCoordinates[NDArray[np.integer[Any]]],
    )


def wrong_searches(x: NDArray[np.bool], tensor: Tensor) -> None:
    """Each line has an error."""
    ck.argwhere(None)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.nonzero(x, 3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    ck.nonzero(x, fill_value=0.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.nonzero_coordinates(x, size=2.0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.nonzero_coordinates(tensor, out=tensor)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.nonzero_coordinates(x).rows.sum()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


def vectors(indices: NDArray[np.uint8]) -> None:
    """The dtype is float32 unless values or a dtype are given."""
    assert_type(ck.one_hot(indices, 5, axis=0), NDArray[np.float32])
    assert_type(ck.one_hot([1, 2], 5), NDArray[np.float32])
    assert_type(ck.one_hot(indices, 5, dtype=np.int16, values=(0, 1)), NDArray[np.int16])
    assert_type(ck.one_hot(indices, 5, dtype="int8"), NDArray[Any])
    assert_type(ck.one_hot(indices, 5, values=(False, True)), NDArray[Any])


def wrong_vectors(indices: NDArray[np.uint8]) -> None:
    """Each line has an error."""
    ck.one_hot(indices)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    ck.one_hot(indices, "5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.one_hot(indices, 5, negative="wrap")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.one_hot(indices, 5, dtype=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]


def reductions(
    x: NDArray[np.float16], integers: NDArray[np.int8], function: ck.ReduceFunction
) -> None:
    """Positions are int64; floats keep their dtype."""
    assert_type(ck.reduce(x, "argmax"), NDArray[np.int64])
    assert_type(ck.reduce([1, 2], ck.ReduceFunction.ARGMIN), NDArray[np.int64])
    assert_type(ck.reduce(x, "log_sum", (0, 1), keepdims=True), NDArray[np.float16])
    assert_type(ck.reduce(x, ck.ReduceFunction.MAX, nan="ignore"), NDArray[np.float16])
    assert_type(ck.reduce(integers, "sum", 0, initial=5), NDArray[Any])
    assert_type(ck.reduce(integers, "sum", dtype=np.int64), NDArray[np.int64])
    assert_type(ck.reduce(integers, "sum", dtype="int64"), NDArray[Any])
    assert_type(ck.reduce(x, function), NDArray[Any])
    scalar = np.empty((), np.float32)
    assert_type(ck.reduce(x, "average", out=scalar), np.ndarray[tuple[()], np.dtype[np.float32]])


def wrong_reductions(x: NDArray[np.float32], word: str) -> None:
    """Each line has an error."""
    ck.reduce(x)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    ck.reduce(x, "mean")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.reduce(x, word)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.reduce(x, "sum", "rows")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.reduce(x, "sum", [0])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.reduce(x, "sum", keepdims=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.reduce(x, "max", nan="omit")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.reduce(x, "sum", initial="0")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.reduce(x, "sum", out=[0.0])  # type: ignore[type-var]  # pyright: ignore[reportArgumentType, reportCallIssue]


N, ZERO, SMALL = np.int64(1), np.int64(0), np.uint8(2)


def integers() -> None:
    """NumPy's integers are integers of functions."""
    x = np.ones((2, 2), np.float32)
    ck.gather(x, [0], ZERO)
    ck.gather_nd(x, [[0]], batch_dims=ZERO)
    ck.nonzero(x, size=SMALL, fill_value=N)
    ck.nonzero_coordinates(x, size=SMALL)
    ck.one_hot([0], SMALL, axis=ZERO)
    ck.reduce(x, "sum", ZERO)
    ck.reduce(x, "sum", (ZERO, N))


def integers_of_descriptors() -> None:
    """They are integers of descriptors, too, whose fields are Python's."""
    kind = ck.DataType.FLOAT32
    x = ck.TensorDesc(kind, np.array([2, 2]), [SMALL, N], np.int16(16), SMALL * SMALL)
    assert_type(x.sizes, tuple[int, ...])
    assert_type(x.strides, tuple[int, ...] | None)
    assert_type(x.total_tensor_size_in_bytes, int | None)
    assert_type(x.guaranteed_base_offset_alignment, int)
    column, pair = ck.TensorDesc(kind, (SMALL, N)), ck.TensorDesc(kind, [N, SMALL])
    indices = ck.TensorDesc(ck.DataType.INT64, (SMALL, N))
    gather = ck.GatherOperatorDesc(x, indices, x, axis=N, index_dimensions=ZERO)
    assert_type((gather.axis, gather.index_dimensions), tuple[int, int])
    tuples = ck.GatherNDOperatorDesc(x, indices, x, N, indices_dimension_count=N)
    assert_type((tuples.input_dimension_count, tuples.indices_dimension_count), tuple[int, int])
    batched = ck.GatherND1OperatorDesc(x, indices, x, SMALL, SMALL, batch_dimension_count=N)
    assert_type(batched.batch_dimension_count, int)
    assert_type(ck.OneHotOperatorDesc(indices, pair, x, axis=N).axis, int)
    total = ck.ReduceOperatorDesc("sum", x, column, [N])
    assert_type(total.function, ck.ReduceFunction)
    assert_type(total.axes, tuple[int, ...])
    last = ck.AxisDirection.DECREASING
    assert_type(ck.ArgmaxOperatorDesc(x, indices, (N,), last).axes, tuple[int, ...])
    assert_type(ck.ArgminOperatorDesc(x, indices, [N], axis_direction=last).axes, tuple[int, ...])


def integers_of_the_simulator() -> None:
    """They are integers of launches, and of what observes these."""
    code = 'extern "C" __global__ void f(int* x) { x[threadIdx.x] = 1; }'
    kernel, x = ck.simulator.RawKernel(code, "f"), ck.simulator.empty((SMALL, N), np.int32)
    kernel.max_dynamic_shared_size_bytes = np.int64(1024)
    kernel.preferred_shared_memory_carveout = ZERO
    with ck.simulator.checked(seed=SMALL, resident_blocks=N, strict=np.True_):
        kernel((N, N), (SMALL,), (x,), shared_mem=np.int32(16))
    with ck.simulator.traffic(blocks=N), ck.simulator.in_place_of_cupy(devices=SMALL):
        kernel((N,), (SMALL,), (ck.simulator.empty(SMALL, np.int32),))


def integers_over_dask() -> None:
    """They are integers over dask arrays."""
    import cudakern.dask as cd  # noqa: PLC0415  it may be absent

    x = np.ones((2, 2), np.float32)
    cd.gather(x, [0], ZERO)
    cd.gather_nd(x, [[0]], batch_dims=ZERO)
    cd.nonzero(x, size=SMALL, fill_value=N)
    cd.nonzero_coordinates(x, size=SMALL)
    cd.one_hot([0], SMALL, axis=ZERO)
    cd.reduce(x, "sum", ZERO)
    cd.reduce(x, "sum", (ZERO, N))


def no_integers(
    x: NDArray[np.float32], desc: ck.TensorDesc, kernel: ck.simulator.RawKernel
) -> None:
    """Each line has an error."""
    import cudakern.dask as cd  # noqa: PLC0415  it may be absent

    ck.gather(x, 1, 0.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.gather_nd(x, 1, batch_dims="0")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.nonzero(x, size=2.0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.one_hot([0], 2, axis=None)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.reduce(x, "sum", (0, "1"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    cd.gather(x, 1, 0.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    cd.one_hot([0], None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ck.TensorDesc(ck.DataType.FLOAT32, (2, 0.5))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ck.GatherOperatorDesc(desc, desc, desc, "0", 1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ck.ReduceOperatorDesc("mean", desc, desc, (0,))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    kernel([1], (1,), ())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    kernel((1,), (0.5,), ())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    kernel((1,), (1,), (), shared_mem=None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ck.simulator.empty("2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ck.simulator.checked(seed="0")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ck.simulator.in_place_of_cupy(devices=2.0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def compiled(desc: ck.GatherOperatorDesc, x: NDArray[np.float32]) -> None:
    """A compiled operator returns out."""
    op = ck.compile_operator(desc)
    assert_type(op, ck.CompiledOperator)
    assert_type(op(x, [[0, 1]]), Any)
    assert_type(op.initialize(x), ck.CompiledOperator)
    assert_type(ck.minimum_tensor_size_in_bytes(desc.input_tensor), int)


def wrong_compiled(desc: ck.GatherOperatorDesc, x: NDArray[np.float32]) -> None:
    """Each line has an error."""
    ck.compile_operator(ck.GatherOperatorDesc)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ck.compile_operator(desc)(x, None)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    ck.compile_operator(desc)(x, out=5)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ck.compile_operator(desc, "6_4")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def anywhere(
    tensor: Tensor,
    pair: tuple[Tensor, Tensor],
    function: ck.ReduceFunction,
    op: ck.CompiledOperator,
) -> None:
    """A tensor's type does not name its place, so results are Any; out is returned."""
    assert_type(ck.gather(tensor, tensor), Any)
    assert_type(ck.gather(DeviceArray(), DeviceArray()), Any)
    assert_type(ck.gather([5, 6], DeviceArray()), Any)
    assert_type(ck.gather_nd([5, 6], tensor), Any)
    assert_type(ck.gather(tensor, tensor, out=tensor), Tensor)
    assert_type(ck.gather_nd(tensor, tensor, mode="wrap"), Any)
    assert_type(ck.gather_nd(tensor, [[0]], out=tensor), Tensor)
    assert_type(ck.argwhere(tensor), Any)
    assert_type(ck.nonzero(tensor), tuple[Any, ...])
    assert_type(ck.nonzero_coordinates(tensor).count, Any)
    assert_type(ck.nonzero_coordinates(tensor, out=pair), ck.NonzeroCoordinates[Tensor])
    assert_type(ck.one_hot(tensor, 5, values=tensor, negative="invalid"), Any)
    assert_type(ck.one_hot(tensor, 5, out=tensor), Tensor)
    assert_type(ck.reduce(tensor, "sum"), Any)
    assert_type(ck.reduce(tensor, function, out=tensor), Tensor)
    assert_type(op(tensor, tensor, out=tensor), Tensor)
    assert_type(op(tensor, out=pair), tuple[Tensor, Tensor])
    taken: NDArray[np.float16] = ck.gather(tensor, tensor)  # Any is compatible with every type
    assert_type(taken, NDArray[np.float16])


def cupy_arrays(x: cupy.ndarray) -> None:
    """CuPy has no types, so its arrays and all results from them are Any."""
    assert_type(ck.gather(x, x), Any)
    assert_type(ck.gather([5, 6], x), Any)
    assert_type(ck.argwhere(x), Any)
    assert_type(ck.reduce(x, "sum"), Any)
    assert_type(ck.gather(x, x, out=x), Any)
