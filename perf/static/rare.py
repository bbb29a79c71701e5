"""Kernels of reduce that are not listed: of one of what makes a kernel rare, or of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cudakern._dtypes import DataType
from cudakern.operators.reduce.plan import Reduction
from cudakern.operators.reduce.types import ReduceFunction, result_type

if TYPE_CHECKING:
    from cudakern.engines.base import KernelSpec


def one(
    variant: str,
    function: str,
    kind: str,
    *,
    result: str | None = None,
    wide: bool = False,
    rank: int = 0,
    width: int = 0,
    **options: Any,  # noqa: ANN401  of a Reduction
) -> KernelSpec:
    """Return the kernel of a variant, by the names of function and data types."""
    of, x = ReduceFunction[function], DataType[kind]
    found = result_type(of, x, DataType[result] if result else None)
    return Reduction(of, x, found, **options).specialise(variant, wide=wide, rank=rank, width=width)


def rare() -> list[KernelSpec]:
    """Return a choice of them."""
    return [
        one("stream", "SUM", "FLOAT32", wide=True, rank=1),
        one("stream", "ARGMAX", "FLOAT16", wide=True, rank=8, ignore_nan=True),
        one("warps", "ARGMIN", "FLOAT64", wide=True, rank=1),
        one("warps", "AVERAGE", "BFLOAT16", wide=True, rank=3),
        one("tiles", "MAX", "INT8", wide=True, width=1),
        one("tiles", "ARGMAX", "FLOAT32", wide=True, width=16, last_index=True),
        one("columns", "SUM", "FLOAT16", wide=True, width=16),
        one("columns", "ARGMIN", "FLOAT32", wide=True, width=16, ignore_nan=True),
        one("vectors", "L2", "FLOAT32", wide=True, rank=1, width=16),
        one("vectors", "ARGMAX", "FLOAT32", wide=True, rank=3, width=16),
        one("vectors", "L2", "BOOL", wide=True, rank=3, width=8),
        one("vectors", "MAX", "FLOAT16", wide=True, rank=3, width=16),
        one("warps", "L1", "COMPLEX64", rank=1),
        one("strided", "SUM", "INT64", wide=True, rank=1, width=8),
        one("strided", "ARGMIN", "FLOAT32", wide=True, rank=8, width=4, last_index=True),
        one("strided", "SUM", "COMPLEX128", rank=8, width=16),
        one("strided", "LOG_SUM_EXP", "FLOAT64", rank=8, width=8),
        one("stream", "MAX", "FLOAT32", rank=3, ignore_nan=True),
        one("stream", "LOG_SUM_EXP", "FLOAT32", rank=8),
        one("warps", "ARGMAX", "INT64", rank=3, last_index=True),
        one("vectors", "MIN", "BFLOAT16", rank=3, width=16, ignore_nan=True),
        one("vectors", "SUM", "FLOAT64", rank=8, width=16),
        one("stream", "SUM", "FLOAT32", result="FLOAT64", rank=1),
        one("tiles", "SUM", "INT8", result="INT64", width=1),
        one("columns", "SUM", "FLOAT16", result="FLOAT32", width=16),
        one("vectors", "SUM", "INT8", result="FLOAT32", rank=1, width=4),
        one("warps", "L1", "COMPLEX64", result="FLOAT32", rank=1),
        one("stream", "SUM", "FLOAT32", rank=1, has_initial=True),
        one("warps", "MAX", "BFLOAT16", rank=1, ignore_nan=True, has_initial=True),
        one("tiles", "MIN", "INT8", result="FLOAT64", width=1, has_initial=True),
        one("columns", "MULTIPLY", "FLOAT32", result="COMPLEX64", width=16, has_initial=True),
        one("vectors", "SUM", "FLOAT16", rank=1, width=16, has_initial=True),
        one("strided", "MULTIPLY", "COMPLEX128", wide=True, rank=8, width=16, has_initial=True),
    ]
