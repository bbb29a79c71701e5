"""Shapes between those of the matrix, for which plans may choose badly: S-1 to S-9."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf.cases.base import Case, Workload, case
from perf.cases.gather import GatherWorkload
from perf.cases.nonzero_coordinates import NonzeroWorkload
from perf.cases.reduce import ReduceWorkload

if TYPE_CHECKING:
    from cudakern.operators.annotations import FunctionName


def _columns(function: FunctionName, rows: int, columns: int, dtype: str = "float32") -> Workload:
    return ReduceWorkload(function, (rows, columns), (0,), dtype)


def _rows(function: FunctionName, rows: int, columns: int, dtype: str = "float32") -> Workload:
    return ReduceWorkload(function, (rows, columns), (1,), dtype)


def _search(size: int, dtype: str = "bool") -> Workload:
    return NonzeroWorkload((size,), dtype, 0.5, "random", "uint32")


def _last_axis(
    rows: int, columns: int, count: int | None = None, dtype: str = "float32"
) -> Workload:
    """Return a gather of a number of elements of each row: as many as it has, 256 at least."""
    shape, count = (rows, columns), count or max(columns, 256)
    return GatherWorkload(shape, 1, (count,), dtype, "int32", "random")


def _spliced(rows: int, columns: int, dtype: str) -> Workload:
    return GatherWorkload((rows, columns), 0, (rows,), dtype, "int32", "random")


def _turned(rows: int, columns: int, dtype: str = "bool") -> Workload:
    return NonzeroWorkload((rows, columns), dtype, 0.5, "random", "uint32", transposed=True)


CASES: tuple[Case, ...] = (
    case(
        "S-1",
        "columns of odd widths",
        _columns("sum", 600, 1001),
        _columns("argmax", 600, 1001),
        _columns("sum", 100, 10007),
        _columns("sum", 6000, 1001),
        _columns("sum", 1000, 10007),
        _columns("sum", 4096, 4095),
    ),
    case(
        "S-2",
        "narrow columns",
        _columns("max", 2**24, 3, "uint8"),
        _columns("max", 2**22, 33, "uint8"),
        _columns("max", 2**19, 200, "uint8"),
        _columns("sum", 2**22, 33, "float16"),
    ),
    case(
        "S-3",
        "few long rows",
        _rows("sum", 63, 4096),
        _rows("sum", 64, 4096),
        _rows("sum", 256, 4096),
        _rows("sum", 529, 2**16),
        _rows("sum", 600, 2**16),
    ),
    case(
        "S-4",
        "searches of middle size",
        *(_search(2**k) for k in (13, 16, 18, 20, 22, 24)),
        _search(2**20, "float32"),
    ),
    case(
        "S-5",
        "last axis, short rows",
        _last_axis(2**16, 64),
        _last_axis(2**15, 256),
        _last_axis(2**13, 1024),
    ),
    case(
        "S-6", "rows off 16 bytes", _spliced(2**16, 1001, "float32"), _spliced(2**20, 33, "float16")
    ),
    case(
        "S-7",
        "places of 8-bit integers",
        ReduceWorkload("argmax", (2**28,), (0,), "int8"),
        _rows("argmax", 2**16, 4096, "uint8"),
    ),
    case(
        "S-8",
        "last axis, long rows",
        _last_axis(2**12, 2**16, dtype="float16"),
        _last_axis(2**15, 2**13),
        _last_axis(2**14, 2**14),
        _last_axis(2**13, 2**15),
        _last_axis(2**10, 2**18),
        _last_axis(2**12, 2**16, 2**12),
        _last_axis(2**12, 2**16, 2**14),
        _last_axis(2**12, 2**16, 2**17),
        _last_axis(2**12, 10_007),
        _last_axis(2**12, 2**15, dtype="float64"),
    ),
    case(
        "S-9",
        "searches of columns, and around 2^26 elements",
        *(_turned(2**k, 2**k) for k in (9, 10, 11, 12)),
        _turned(2**14, 2**14, "float16"),
        _turned(2**10, 2**18),
        _search(2**26),
        _search(2**27),
    ),
)
