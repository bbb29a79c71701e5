"""What the kernels of reduce are told, read back, and a model of who takes which element."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import numpy as np

from cudakern._dtypes import DataType
from cudakern._layout import Layout, packed_strides, prepare_division
from cudakern.engines.base import THREADS
from cudakern.operators.reduce.plan import ReduceProblem, Reduction
from cudakern.operators.reduce.types import ReduceFunction, result_type

_WARPS = THREADS // 32
_FIELDS = {
    "stream": ("rows", "length", "part", "units", "share"),
    "warps": ("rows", "length", "part", "units", "share"),
    "tiles": ("nbytes", "slabs", "tile_bytes"),
    "columns": ("nbytes", "rows", "share", "columns"),
    "vectors": ("units", "length", "share", "step"),
    "strided": ("units", "length", "share", "step"),
}


def problem(shape, axes=None, kind="FLOAT32", function="SUM", *, strides=None, phase=0, out=None,
            dtype=None, **options):  # fmt: skip
    """Return a problem over all axes by default; strides of x and out in bytes, packed by default.

    Sizes of out along the axes are 1.
    """
    axes = tuple(range(len(shape))) if axes is None else axes
    kind, function = DataType[kind], ReduceFunction[function]
    result = result_type(function, kind, dtype and DataType[dtype])
    x = Layout(shape, strides or packed_strides(shape, kind.itemsize), kind.itemsize, phase)
    sizes = tuple(1 if k in axes else size for k, size in enumerate(shape))
    written = Layout(sizes, out or packed_strides(sizes, result.itemsize), result.itemsize)
    initial = options.pop("initial", None)
    reduction = Reduction(function, kind, result, has_initial=initial is not None, **options)
    return ReduceProblem(reduction, x, written, axes, initial)


class _Reader:
    """Reads the fields of an argument struct, one after another."""

    def __init__(self, data, bits):
        self.data, self.bits = data, bits

    def __call__(self, code):
        code = f"={code}".replace("O", "Q" if self.bits == 64 else "I")
        found = struct.unpack_from(code, self.data)
        self.data = self.data[struct.calcsize(code) :]
        return found

    def divisor(self, code="O"):
        found = self(f"{code}{code}II")
        assert found == prepare_division(found[0], self.bits if code == "O" else 32)
        return found[0]

    def dimensions(self, rank, operands):
        """Return (size, stride of each operand) for those that are not of size 1."""
        found = [(self.divisor(), *map(self.signed, self(f"{operands}O"))) for _ in range(rank)]
        return tuple(d for d in found if d[0] > 1)

    def signed(self, offset):
        """Return an offset, which is written modulo the range of its type."""
        half = 1 << (self.bits - 1)
        return (offset + half) % (2 * half) - half


def arguments_of(plan):
    """Return what a kernel is told, by the names that the structs in ``kernels/common`` have."""
    macros, found = dict(plan.kernel.defines), SimpleNamespace()
    read = _Reader(plan.arguments, 64 if macros["CK_OFFSET_T"] == "ck::uint64" else 32)
    rank, variant = int(macros.get("CK_RANK", 0)), plan.variant
    (found.reduced,) = read("q")
    if rank:
        found.kept = read.dimensions(rank, 2)
        found.along = read.dimensions(rank, 1 if variant in {"stream", "warps"} else 2)
    found.splits = 1 if variant == "tiles" else read.divisor()
    if variant in {"stream", "warps"}:
        found.parts = read.divisor()
    if variant == "columns":
        found.ranges = read.divisor()
    for name in _FIELDS[variant]:
        (value,) = read("O")
        setattr(found, name, read.signed(value) if name == "step" else value)
    if variant == "tiles":
        found.tile_slabs, found.rows, found.slab_bytes, shift = read("4I")
        found.lanes, found.columns = 1 << shift, read.divisor("I")
    elif variant == "columns":
        found.step, found.span, found.across = read.divisor(), read.divisor("I"), read.divisor("I")
        found.width, found.groups, found.parts, found.period = read("4I")
    elif variant in {"vectors", "strided"}:
        shift, found.along_first = read("2I")
        found.width = 1 << shift
    assert len(read.data) < 8
    assert not any(read.data)
    return found


def taken(given, plan):
    """Return what is taken in by a launch: (offset in out, offset in x, place), one in a row."""
    a, item = arguments_of(plan), given.x.itemsize
    width = int(dict(plan.kernel.defines).get("CK_WIDTH", item))
    block = np.arange(plan.grid[0])
    if plan.variant in {"stream", "warps"}:
        teams = np.arange(block.size * (_WARPS if plan.variant == "warps" else 1))
        row, split, nth, i = _grid(teams, a.splits, a.share, a.part)
        unit = split * a.share + nth
        piece, part = np.divmod(unit, a.parts)
        element = part * a.part + i
        exists = (row < a.rows) & (unit < a.units) & (element < a.length)
        kept, along = _offsets(row, a.kept, 2), _offsets(piece, a.along, 1)
        return _rows(
            exists, kept[1], kept[0] + along[0] + element * item, piece * a.length + element
        )
    if plan.variant == "tiles":
        rows = a.rows * (width // item if a.columns == 1 else 1)
        tile, _, slab, i = _grid(block, 1, a.tile_slabs, rows * a.columns)
        row, column = np.divmod(i, a.columns)
        out = ((tile * a.tile_slabs + slab) * a.columns + column) * given.out.itemsize
        x = tile * a.tile_bytes + slab * a.slab_bytes + i * item
        return _rows(tile * a.tile_slabs + slab < a.slabs, out, x, row)
    if plan.variant == "columns":
        at, split, nth, i = _grid(block, a.splits, a.share, a.width)
        slab, part = np.divmod(at, a.ranges)
        row, column = split * a.share + nth, part * a.width + i
        out = (slab * a.columns + column) * given.out.itemsize
        x = ((slab * a.rows + row) * a.columns + column) * item
        return _rows((row < a.rows) & (column < a.columns), out, x, row)
    tile, split, nth, i = _grid(block, a.splits, a.share, a.width * width // item)
    unit, element = tile * a.width + i * item // width, split * a.share + nth
    kept, along, i = _offsets(unit, a.kept, 2), _offsets(element, a.along, 2), i % (width // item)
    exists = (unit < a.units) & (element < a.length)
    return _rows(exists, kept[1] + i * a.step, kept[0] + along[0] + i * item, along[1])


def must_be_taken(given):
    """Return the same for every element of x."""
    index = np.indices(given.x.shape, np.int64).reshape(len(given.x.shape), given.x.size)
    place = np.zeros(given.x.size, np.int64)
    for axis in given.axes:
        place = place * given.x.shape[axis] + index[axis]
    written = [0 if k in given.axes else s for k, s in enumerate(given.out.strides)]
    offsets = ((index.T * strides).sum(1) for strides in (written, given.x.strides))
    return np.stack([*offsets, place], 1)


def _grid(teams, splits, share, elements):
    """Return the result of each team, which of its shares that is, and two more counters."""
    result, split = np.divmod(teams[:, None, None], splits)
    return result, split, np.arange(share)[:, None], np.arange(elements)


def _offsets(index, dimensions, operands):
    found = [np.zeros_like(index) for _ in range(operands)]
    for size, *strides in reversed(dimensions):
        index, coordinate = np.divmod(index, size)
        found = [f + coordinate * s for f, s in zip(found, strides, strict=True)]
    return found


def _rows(exists, *columns):
    exists, *columns = np.broadcast_arrays(exists, *columns)
    return np.stack([column[exists] for column in columns], 1)
