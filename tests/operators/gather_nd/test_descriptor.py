"""gather_nd through descriptors: the documented examples, padding dimensions, strides."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest

import cudakern as ck
from cudakern import FeatureLevel
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import get, put
from tests.helpers.rows import each
from tests.helpers.samples import covering
from tests.operators.descriptors import Tensors, change, integers, strided, verdict
from tests.operators.gather_nd.rules import gather_nd, newer

pytestmark = [PLAIN_UNLESS_THOROUGH, pytest.mark.device]

EXTENDED = FeatureLevel.EXTENDED
FIELDS = ("input_tensor", "indices_tensor", "output_tensor")
PADDED = np.arange(8).reshape(1, 2, 2, 2)


def expected_result(x, indices, sizes, counts, batch=0):
    """Compute the operator coordinate by coordinate, in Python's integers; indices clamp.

    ``sizes`` are the output's; all three tensors have as many dimensions.
    """
    rank, (input_count, index_count) = x.ndim, counts
    first = rank - input_count + batch  # the input's dimension that component 0 selects from
    tuple_size = indices.shape[-1]
    copied = input_count - batch - tuple_size
    result = np.empty(sizes, x.dtype)
    for c in product(*map(range, sizes)):
        o = c[rank - (index_count - 1 + copied) :]
        m, s = o[: index_count - 1], o[index_count - 1 :]
        selected = []
        for k in range(tuple_size):
            extent = x.shape[first + k]
            value = int(indices[(*(0,) * (rank - index_count), *m, k)])
            value += extent if value < 0 else 0
            selected.append(min(max(value, 0), extent - 1))
        result[c] = x[(*(0,) * (rank - input_count), *o[:batch], *selected, *s)]
    return result


def run_poisoned(desc, x, indices, place="host", level=FeatureLevel.LEVEL_6_4):
    """Return what the operator writes over an output of another value than x has."""
    out = put(np.full(desc.output_tensor.sizes, 111, x.dtype), place)
    result = ck.compile_operator(desc, level)(put(x, place), put(indices, place), out=out)
    assert result is out
    return get(out)


def test_the_older_operator_at_its_own_level():
    desc = gather_nd(PADDED.shape, (1, 1, 2, 2), (1, 1, 2, 2), (3, 2))
    x, indices = PADDED.astype(np.float32), np.array([[[[0, 1], [1, 0]]]], np.uint32)
    result = run_poisoned(desc, x, indices, level=FeatureLevel.LEVEL_2_1)
    assert result.tolist() == [[[[2, 3], [4, 5]]]]
    with pytest.raises(ck.DescriptorError, match="feature_level must be at least 3_0; got 2_1"):
        ck.compile_operator(newer(desc), FeatureLevel.LEVEL_2_1)


def test_documented_batches(place):
    """Indices {1, 3, 4, 5, 6, 7} with two batch dimensions: tuples of 7 have no input.

    Nine dimensions would be needed. Those of up to four have one.
    """
    indices = (1, 3, 4, 5, 6, 7)
    assert verdict(gather_nd((3, 4, 2, 2, 2, 2), indices, (1, 1, 3, 4, 5, 6), (6, 5), 2)) == "N5"
    widest = (3, 4, 2, 2, 2, 2, 2, 2), (1, 1, *indices), (1, 1, 1, 1, 3, 4, 5, 6)
    assert verdict(gather_nd(*widest, (8, 5), 2)) == "N5"
    x, shape = np.arange(12 * 24, dtype=np.float32).reshape(3, 4, 2, 3, 1, 4), (*indices[:5], 4)
    tuples = np.random.default_rng(3).integers(-5, 6, shape).astype(np.int32)
    sizes = (1, 1, 3, 4, 5, 6)
    desc = gather_nd(x.shape, shape, sizes, (6, 5), 2, index_kind="INT32")
    expected = expected_result(x, tuples, sizes, (6, 5), 2)
    np.testing.assert_array_equal(run_poisoned(desc, x, tuples, place), expected, strict=True)


# Input, indices, result and batch, each without padding dimensions.
PADDING = [
    pytest.param((3, 4), (2, 1), (2, 4), 0, id="rows"),
    pytest.param((3, 4), (2,), (), 0, id="one-element"),
    pytest.param((5,), (3, 2, 1), (3, 2), 0, id="elements"),
    pytest.param((2, 3, 4), (1,), (3, 4), 0, id="one-slice"),
    pytest.param((2, 3, 4), (2, 5, 1), (2, 5, 4), 1, id="batch"),
    pytest.param((2, 3), (2, 1), (2,), 1, id="batch-of-elements"),
    pytest.param((1, 3), (1, 2, 1), (1, 2), 1, id="batch-of-one"),
    pytest.param((2, 3, 4, 2), (2, 3, 5, 1), (2, 3, 5, 2), 2, id="two-batches"),
]


@each("rank", [0, 4, 5, 8])
@each(("x_shape", "index_shape", "shape", "batch"), PADDING)
def test_padding_dimensions(x_shape, index_shape, shape, batch, rank):
    """Each tensor has as many as it needs; ``rank`` 0 means as few as possible."""
    shapes = x_shape, index_shape, shape
    rank = rank or max(map(len, shapes))
    sizes = [(1,) * (rank - len(s)) + s for s in shapes]
    counts = len(x_shape), len(index_shape)
    desc = gather_nd(*sizes, counts, batch, "UINT16", "INT64")
    for field in FIELDS:  # a stride along one element means nothing
        tensor = getattr(desc, field)
        steps = zip(tensor.sizes, tensor.element_strides, strict=True)
        desc = change(desc, field, strides=tuple(991 if n == 1 else step for n, step in steps))
    x = np.arange(1, prod(x_shape) + 1, dtype=np.uint16).reshape(sizes[0])
    indices = np.random.default_rng(1).integers(-4, 5, sizes[1])
    expected = expected_result(x, indices, sizes[2], counts, batch)
    np.testing.assert_array_equal(run_poisoned(desc, x, indices), expected, strict=True)


# Strides of input {2, 3, 4, 5}, indices {1, 2, 6, 2} and output {1, 2, 6, 5}, a batch of two.
SIZES = (2, 3, 4, 5), (1, 2, 6, 2), (1, 2, 6, 5)
PACKED = (60, 20, 5, 1), (24, 12, 2, 1), (60, 30, 5, 1)
X_STRIDES = {
    "padded": (200, 50, 11, 2),
    "broadcast-batch": (0, 20, 5, 1),
    "broadcast-axis": (60, 0, 5, 1),
    "broadcast-row": (60, 20, 5, 0),
    "one-element": (0, 0, 0, 0),
    "reversed": (1, 2, 6, 24),
    "axes-swapped": (60, 5, 15, 1),
    "sheared": (2, 1, 1, 1),
}
INDEX_STRIDES = {
    "padded": (999, 40, 5, 2),
    "components-apart": (7, 1, 2, 12),
    "one-component": (24, 12, 2, 0),
    "one-index": (0, 0, 0, 0),
    "sheared": (0, 12, 1, 1),
}
OUT_STRIDES = {
    "padded": (999, 80, 12, 2),
    "rows-apart": (999, 48, 8, 1),
    "batches-between-rows": (999, 30, 60, 1),
    "reversed": (0, 1, 2, 12),
    "rows-inside": (1, 30, 1, 6),
}
STRIDED = [
    PACKED,
    *((strides, *PACKED[1:]) for strides in X_STRIDES.values()),
    *((PACKED[0], strides, PACKED[2]) for strides in INDEX_STRIDES.values()),
    *((*PACKED[:2], strides) for strides in OUT_STRIDES.values()),
    ((1, 8, 24, 2), (0, 2, 4, 31), (0, 1, 10, 2)),
]


@each("flat", [False, True])
@each(("strides", "kind"), covering(STRIDED, ["INT8", "FLOAT64"]))
def test_strides_of_the_descriptor(place, strides, kind, flat):
    desc = strided(gather_nd(*SIZES, (4, 3), 1, kind, "INT64"), *strides)
    tensors = Tensors(desc, place, integers(7, 1, 113), integers(8, -6, 7))
    tensors.run(flat=flat)
    x, indices, out = map(get, tensors.arrays)
    tensors.assert_written(expected_result(x, indices, out.shape, (4, 3), 1))


# Input, indices, output, dimension counts, batch.
EMPTY = [
    pytest.param((3, 4), (0, 1), (0, 4), (2, 2), 0, id="no-tuples"),
    pytest.param((0, 4), (0, 1), (0, 4), (2, 2), 0, id="no-tuples-of-nothing"),
    pytest.param((3, 0), (2, 1), (2, 0), (2, 2), 0, id="empty-rows"),
    pytest.param((0, 3, 4), (0, 2, 1), (0, 2, 4), (3, 3), 1, id="no-batch"),
    pytest.param((2, 0, 3, 4), (2, 0, 5, 2), (1, 2, 0, 5), (4, 4), 2, id="no-second-batch"),
]


@each(("x", "indices", "out", "counts", "batch"), EMPTY)
def test_empty_tensors_at_the_extended_level(x, indices, out, counts, batch):
    desc = gather_nd(x, indices, out, counts, batch)
    assert verdict(desc) == "T4"
    operator = ck.compile_operator(desc, feature_level=EXTENDED)
    arrays = np.ones(x, np.float32), np.zeros(indices, np.uint32)
    result = operator(*arrays)
    assert (result.shape, result.dtype) == (out, np.float32)
    buffer = np.full(8, -1, np.float32)
    assert operator(*arrays, out=buffer) is buffer
    assert buffer.tolist() == [-1] * 8
