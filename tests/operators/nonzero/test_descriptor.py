"""nonzero-coordinates through descriptors: the documented example, any legal one, strides."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
from cudakern import DataType, FeatureLevel
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.nonzero import (
    COORDINATE_STRIDES,
    DENSITIES,
    Outputs,
    expected_coordinates,
    laid_out,
    random_elements,
)
from tests.helpers.places import Buffer, get, same_bytes
from tests.helpers.rows import each
from tests.helpers.samples import examples, is_thorough
from tests.helpers.type_table import MORE, SMALL
from tests.operators.descriptors import change, element_strides
from tests.operators.nonzero.rules import nonzero

pytestmark = PLAIN_UNLESS_THOROUGH

EXTENDED = FeatureLevel.EXTENDED
LEVELS = [FeatureLevel.LEVEL_6_4, EXTENDED]
COORDINATES = "output_coordinates_tensor"


def effective_rank(sizes):
    """How many dimensions there are without leading ones of size 1."""
    while sizes[:1] == (1,):
        sizes = sizes[1:]
    return len(sizes)


@st.composite
def descriptors(draw, level):
    """Draw a legal descriptor: every number of coordinates, tensors of different ranks."""
    extended = level is EXTENDED
    kinds = sorted(MORE if extended else SMALL) if is_thorough() else ["FLOAT32", "FLOAT16"]
    rank = draw(st.integers(0 if extended else 1, 8))
    leading = draw(st.integers(0, rank))
    longest = {0: 1, 1: 3000, 2: 70, 3: 15}.get(rank - leading, 4 if rank - leading < 6 else 3)
    low = st.sampled_from([0] + [1] * 19) if extended else st.just(1)
    rest = [draw(st.integers(min(1, draw(low)), longest)) for _ in range(rank - leading)]
    sizes = (*(1,) * leading, *rest)
    width = draw(st.integers(max(1, effective_rank(sizes)), max(1, rank)))
    shape = (*(1,) * draw(st.integers(0, 6)), prod(sizes), width)
    desc = nonzero(
        sizes,
        (1,) * draw(st.integers(1, 8)),
        shape,
        draw(st.sampled_from(kinds)),
        coordinate_kind=draw(st.sampled_from(["UINT32", "INT64"] if extended else ["UINT32"])),
    )
    if draw(st.booleans()):
        desc = change(desc, "input_tensor", strides=draw(element_strides(sizes)))
    if draw(st.booleans()):
        names = [name for name in COORDINATE_STRIDES if min(COORDINATE_STRIDES[name](1, 1)) > 0]
        strides = COORDINATE_STRIDES[draw(st.sampled_from(names))](*shape[-2:])
        strides = (*draw(element_strides(shape[:-2], output=True)), *strides)
        desc = change(desc, COORDINATES, strides=strides)
    elif draw(st.booleans()):
        desc = change(desc, COORDINATES, strides=draw(element_strides(shape, output=True)))
    return desc


def layout_of(tensor):
    return laid_out(tensor.sizes, tensor.element_strides, tensor.data_type.itemsize)


def input_of(tensor, place, rng, density):
    """Return an input as an array and as a flat buffer."""
    dtype, layout = tensor.data_type.numpy, layout_of(tensor)
    elements = random_elements(rng, (layout.nbytes // dtype.itemsize,), dtype, density)
    buffer = Buffer(elements.tobytes(), place)
    return buffer.view(layout.shape, dtype, layout.strides), buffer.view(elements.shape, dtype)


def outputs_of(desc, place):
    """Return poisoned outputs for a descriptor."""
    count, coordinates = desc.output_count_tensor, desc.output_coordinates_tensor
    dtype = coordinates.data_type.numpy
    return Outputs(layout_of(count), layout_of(coordinates), dtype, place)


def rows_of(desc, x):
    """Return the rows that the descriptor asks for."""
    rows = expected_coordinates(x)
    return rows[:, rows.shape[1] - desc.output_coordinates_tensor.sizes[-1] :]


@each("level", LEVELS)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_any_legal_descriptor(place, level, data):
    draw = data.draw
    desc = draw(descriptors(level), "descriptor")
    rng = np.random.default_rng(draw(st.integers(0, 2**32), "seed"))
    density = draw(st.sampled_from(DENSITIES), "density")
    x, flat = input_of(desc.input_tensor, place, rng, density)
    rows = rows_of(desc, x)
    operator = ck.compile_operator(desc, level)
    given = flat if draw(st.booleans(), "flat input") else x
    if draw(st.booleans(), "give out"):
        outputs = outputs_of(desc, place)
        which = draw(st.sampled_from(["arrays", "flat", "flat coordinates"]), "outputs")
        pair = outputs.flat if which == "flat" else outputs.pair
        pair = (pair[0], outputs.flat[1]) if which == "flat coordinates" else pair
        found = operator(given, out=pair)
        assert all(map(lambda a, b: a is b, found, pair))
        outputs.assert_hold(rows)
        return
    count, coordinates = operator(given)
    assert same_bytes(count, np.full(desc.output_count_tensor.sizes, len(rows), np.uint32))
    tensor = desc.output_coordinates_tensor
    assert (coordinates.shape, coordinates.dtype) == (tensor.sizes, tensor.data_type.numpy)
    found = get(coordinates).reshape(tensor.sizes[-2:])[: len(rows)]
    assert np.array_equal(found, rows)
    if tensor.strides is not None and coordinates.size:
        steps = zip(tensor.sizes, coordinates.strides, layout_of(tensor).strides, strict=True)
        assert all(n == 1 or a == b for n, a, b in steps)


@each("sizes", [(0,), (3, 0), (1, 0, 1), (1, 1, 0, 4, 0)])
@each("coordinate_kind", ["UINT32", "INT64"])
def test_nothing_to_search_at_the_extended_level(place, sizes, coordinate_kind):
    width = len(sizes)
    desc = nonzero(sizes, (1, 1), (1, 0, width), "INT64", coordinate_kind=coordinate_kind)
    operator = ck.compile_operator(desc, EXTENDED)
    x = Buffer(b"", place).view(sizes, np.int64)
    count, coordinates = operator(x)
    assert same_bytes(count, np.zeros((1, 1), np.uint32))
    assert same_bytes(coordinates, np.zeros((1, 0, width), DataType[coordinate_kind].numpy))
    outputs = outputs_of(desc, place)
    for _ in range(2):
        operator(x, out=outputs.flat)
    outputs.assert_hold(np.zeros((0, width)))
