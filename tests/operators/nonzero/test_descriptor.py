"""nonzero-coordinates through descriptors: numbers of coordinates, ranks that differ, strides."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from cudakern import DataType, FeatureLevel
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.nonzero import (
    COORDINATE_STRIDES,
    Outputs,
    expected_coordinates,
    laid_out,
    random_elements,
)
from tests.helpers.places import Buffer, get, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import covering
from tests.operators.descriptors import change
from tests.operators.nonzero.rules import COORDINATES, nonzero

pytestmark = PLAIN_UNLESS_THOROUGH

#: Sizes of x, of the count and of the coordinates: as many of a row as x has dimensions, or fewer
#: if the first ones are of size 1.
SIZES = [
    ((400,), (1,), (400, 1)),
    ((3, 50), (1, 1, 1), (1, 1, 150, 2)),
    ((1, 1, 12, 5), (1,), (60, 2)),
    ((1, 1, 12, 5), (1, 1), (1, 60, 3)),
    ((2, 3, 1, 2, 2, 1, 3, 2), (1,) * 8, (*(1,) * 6, 144, 8)),
    ((1, 1), (1,), (1, 1)),
]
#: Steps between elements of x, from those of a contiguous one of such sizes in memory.
X_STRIDES = {
    "packed": lambda _sizes, steps: steps,
    "padded": lambda _sizes, steps: tuple(3 * step for step in steps),
    "reversed": lambda sizes, _steps: tuple(int(np.prod(sizes[:d])) for d in range(len(sizes))),
    "one element": lambda _sizes, steps: (0,) * len(steps),
}
ASCENDING = [name for name, strides in COORDINATE_STRIDES.items() if min(strides(1, 1)) > 0]


def layout_of(tensor):
    return laid_out(tensor.sizes, tensor.element_strides, tensor.data_type.itemsize)


def outputs_of(desc, place):
    """Return poisoned outputs for a descriptor."""
    count, coordinates = desc.output_count_tensor, desc.output_coordinates_tensor
    dtype = coordinates.data_type.numpy
    return Outputs(layout_of(count), layout_of(coordinates), dtype, place)


@each("flat", [False, True])
@each(("sizes", "steps", "name"), covering(SIZES, X_STRIDES, ASCENDING))
def test_strides_of_the_descriptor(place, sizes, steps, name, flat):
    desc = nonzero(*sizes)
    steps = X_STRIDES[steps](sizes[0], desc.input_tensor.element_strides)
    *before, rows, width = sizes[2]
    strides = (*(999,) * len(before), *COORDINATE_STRIDES[name](rows, width))
    desc = change(change(desc, "input_tensor", strides=steps), COORDINATES, strides=strides)
    layout, dtype = layout_of(desc.input_tensor), np.dtype(np.float32)
    elements = random_elements(np.random.default_rng(4), (layout.nbytes // 4,), dtype, 0.5)
    buffer = Buffer(elements.tobytes(), place)
    x = buffer.view(layout.shape, dtype, layout.strides)
    found = expected_coordinates(x)[:, -width:]
    operator, outputs = ck.compile_operator(desc), outputs_of(desc, place)
    given = buffer.view(elements.shape, dtype) if flat else x
    for pair in (outputs.flat if flat else outputs.pair, (outputs.pair[0], outputs.flat[1])):
        assert all(map(lambda a, b: a is b, operator(given, out=pair), pair))
        outputs.assert_hold(found)
    count, coordinates = operator(given)
    assert same_bytes(count, np.full(sizes[1], len(found), np.uint32))
    assert coordinates.shape == sizes[2]
    assert np.array_equal(get(coordinates).reshape(rows, width)[: len(found)], found)
    wanted = layout_of(desc.output_coordinates_tensor).strides
    steps = zip(sizes[2], coordinates.strides, wanted, strict=True)
    assert all(n == 1 or a == b for n, a, b in steps)


@each("sizes", [(0,), (3, 0), (1, 0, 1), (1, 1, 0, 4, 0)])
@each("kind", ["UINT32", "INT64"])
def test_nothing_to_search_at_the_extended_level(place, sizes, kind):
    width = len(sizes)
    desc = nonzero(sizes, (1, 1), (1, 0, width), "INT64", coordinate_kind=kind)
    operator = ck.compile_operator(desc, FeatureLevel.EXTENDED)
    x = Buffer(b"", place).view(sizes, np.int64)
    count, coordinates = operator(x)
    assert same_bytes(count, np.zeros((1, 1), np.uint32))
    assert same_bytes(coordinates, np.zeros((1, 0, width), DataType[kind].numpy))
    outputs = outputs_of(desc, place)
    for _ in range(2):
        operator(x, out=outputs.flat)
    outputs.assert_hold(np.zeros((0, width)))
