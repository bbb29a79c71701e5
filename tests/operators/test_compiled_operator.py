"""Compiled operators: how they bind arrays and buffers, rules T14 to T20, and what they keep."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import cudakern as ck
from cudakern import DataType, FeatureLevel
from tests.helpers.bindings import (
    DESC,
    EXPECTED,
    EXTENDED,
    FIELDS,
    INDICES,
    OWNED,
    POISON,
    STRIDED,
    X,
    assert_refused,
    change,
    memory,
    operands,
    typed,
    view,
)
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import HOST
from tests.helpers.rows import each
from tests.operators.descriptors import Tensors, integers
from tests.operators.gather.rules import gather

pytestmark = PLAIN_UNLESS_THOROUGH


@each("flat", [*product([False, True], repeat=3)])
def test_arrays_with_the_sizes_and_strides_or_flat_buffers(flat):
    tensors = Tensors(STRIDED, HOST, integers(1, -99, 99), integers(2, 0, 3))
    ways = zip(tensors.arrays, tensors.flat, strict=True)
    x, indices, out = (way[f] for way, f in zip(ways, flat, strict=True))
    assert ck.compile_operator(STRIDED)(x, indices, out=out) is out
    assert tensors.outside().size
    tensors.assert_written(tensors.arrays[0][tensors.arrays[1][0]])


@each("position", range(3))
def test_t17_flat_buffer_holds_the_total_size(position):
    field = FIELDS[position]
    desc = change(DESC, field, total_tensor_size_in_bytes=100)
    operator = ck.compile_operator(desc)
    arrays = operands()
    given = arrays[position].flatten()
    np.testing.assert_array_equal(operator(*arrays[:2], out=arrays[2]), EXPECTED)
    arrays = operands()
    arrays[position] = np.resize(given, 24)
    assert_refused(operator, arrays, field, "T17")
    arrays[position] = np.resize(given, 25)
    result = operator(*arrays[:2], out=arrays[2])
    np.testing.assert_array_equal(result.ravel()[:16], EXPECTED.ravel())
    assert np.all(result.ravel()[16:] == POISON)


def test_t17_minimum_is_rounded_to_four_bytes():
    operator = ck.compile_operator(gather((1, 3), (1, 3), (1, 3), 1, 1, "FLOAT16"))
    indices = np.array([[2, 1, 0]], np.uint32)
    out = np.full((1, 3), POISON, np.float16)
    assert_refused(operator, [np.ones(3, np.float16), indices, out], "input_tensor", "T17")
    assert operator(np.arange(4, dtype=np.float16), indices, out=out).tolist() == [[2, 1, 0]]


def read_only(array):
    array.flags.writeable = False
    return array


def shifted(count):
    return lambda array: view(memory(), count, array)


X_IS, INDICES_ARE, OUT_IS = range(3)
# Which operand, what is given in its place, the rule.
REFUSED = [
    pytest.param(X_IS, lambda a: a.view(np.int32), None, id="x-other-kind"),
    pytest.param(INDICES_ARE, lambda a: a.astype(np.int32), None, id="indices-signed"),
    pytest.param(OUT_IS, lambda a: a.view(np.uint32), None, id="out-other-kind"),
    pytest.param(X_IS, lambda a: a.reshape(4, 3), None, id="x-shape"),
    pytest.param(INDICES_ARE, lambda a: a.reshape(4, 1), None, id="indices-shape"),
    pytest.param(X_IS, np.asfortranarray, None, id="x-order"),
    pytest.param(OUT_IS, np.transpose, None, id="out-transposed"),
    pytest.param(OUT_IS, lambda a: np.hstack([a, a])[:, :4], None, id="out-padded"),
    pytest.param(X_IS, lambda a: np.repeat(a.ravel(), 2)[::2], None, id="x-flat-spread"),
    pytest.param(X_IS, lambda a: a.ravel()[:11], "T17", id="x-flat-short"),
    pytest.param(OUT_IS, lambda a: a.ravel()[:15], "T17", id="out-flat-short"),
    pytest.param(OUT_IS, read_only, None, id="out-read-only"),
    pytest.param(X_IS, shifted(8), "T15", id="x-at-8"),
    pytest.param(INDICES_ARE, shifted(12), "T15", id="indices-at-12"),
    pytest.param(OUT_IS, shifted(20), "T15", id="out-at-20"),
]


@each("warm", [False, True])
@each(("position", "given", "rule"), REFUSED)
def test_array_that_does_not_fit_is_refused(position, given, rule, warm):
    operator = ck.compile_operator(DESC)
    if warm:
        operator(X, INDICES)
    arrays = operands()
    arrays[position] = given(arrays[position])
    assert_refused(operator, arrays, FIELDS[position], rule)


@each(
    ("offsets", "level"),
    [
        *product([(16, 32, 48), (0, 0, 16), (240, 16, 208)], [FeatureLevel.LEVEL_6_4]),
        *product([(4, 8, 12), (8, 4, 4), (20, 28, 36)], [EXTENDED]),
    ],
)
def test_t15_addresses_that_are_accepted(offsets, level):
    """Of read-only inputs, too."""
    buffers = [memory() for _ in offsets]
    x, indices, out = (view(*row) for row in zip(buffers, offsets, operands(), strict=True))
    ck.compile_operator(DESC, level)(read_only(x), read_only(indices), out=out)
    np.testing.assert_array_equal(out, EXPECTED)
    assert np.all(buffers[2][: offsets[2]] == POISON)
    assert np.all(buffers[2][offsets[2] + 64 :] == POISON)


@each("made", ["view", "as_strided"])
@each("position", range(3))
def test_t14_offset_in_the_buffer_is_a_multiple_of_what_is_guaranteed(position, made):
    desc = change(DESC, FIELDS[position], guaranteed_base_offset_alignment=32)
    operator = ck.compile_operator(desc)
    for offset, legal in ((0, True), (16, False), (32, True), (48, False), (64, True)):
        arrays = operands()
        like = arrays[position]
        buffer = np.zeros(64, like.dtype)  # owns its memory: offsets count from its start
        if made == "view":
            arrays[position] = view(buffer, offset, like)
        else:
            arrays[position] = as_strided(buffer[offset // 4 :], like.shape, like.strides)
            arrays[position][...] = like
        if legal:
            operator(*arrays[:2], out=arrays[2])
            np.testing.assert_array_equal(arrays[2], EXPECTED)
        else:
            assert_refused(operator, arrays, FIELDS[position], "T14")


def test_t19_inputs_may_overlap_each_other():
    x = np.array([[2, 0, 0, 1], [5, 6, 7, 8], [9, 10, 11, 12]], np.uint32)
    result = ck.compile_operator(typed(DESC, "UINT32"))(x, x[:1])
    np.testing.assert_array_equal(result, x[[2, 0, 0, 1]], strict=True)


def test_inputs_may_be_lists_of_the_dtype():
    operator = ck.compile_operator(typed(DESC, "INT64", "INT64"))
    result = operator(X.astype(np.int64).tolist(), [[2, 0, -3, 1]])
    np.testing.assert_array_equal(result, EXPECTED.astype(np.int64), strict=True)


class Subclass(np.ndarray):
    pass


def test_out_itself_is_returned():
    operator = ck.compile_operator(DESC)
    for kind in (np.ndarray, Subclass):
        out = operands()[2].view(kind)
        assert operator(X, INDICES, out=out) is out
        np.testing.assert_array_equal(np.asarray(out), EXPECTED)


@each("strides", [None, (4, 1), (1, 4), (7, 1), (1, 5), (9, 2)])
@each("kind", ["INT8", "FLOAT32"])
def test_out_is_allocated_with_the_sizes_and_strides_of_the_descriptor(kind, strides):
    desc = change(typed(DESC, kind), "output_tensor", strides=strides)
    least = ck.minimum_tensor_size_in_bytes(desc.output_tensor)
    desc = change(desc, "output_tensor", total_tensor_size_in_bytes=least + 3)
    dtype = DataType[kind].numpy
    operator = ck.compile_operator(desc)
    first = operator(X.astype(dtype), INDICES)
    assert isinstance(first, np.ndarray)
    assert first.strides == tuple(s * dtype.itemsize for s in strides or (4, 1))
    second = operator(np.zeros((3, 4), dtype), INDICES)
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, EXPECTED.astype(dtype), strict=True)
    assert not second.any()


def test_t16_owned_indices_and_all_inputs_owned():
    desc = change(DESC, "indices_tensor", flags=OWNED)
    indices = INDICES.copy()
    operator = ck.compile_operator(desc).initialize(indices)
    indices[...] = 0
    np.testing.assert_array_equal(operator(X), EXPECTED)
    desc = change(desc, "input_tensor", flags=OWNED)
    x, indices, out = operands()
    operator = ck.compile_operator(desc).initialize(x, indices)
    x[...], indices[...] = 0, 0
    assert operator(out=out) is out
    np.testing.assert_array_equal(out, EXPECTED)
    np.testing.assert_array_equal(operator(), EXPECTED)


def test_t16_initialize_leaves_the_operator_as_it_was():
    operator = ck.compile_operator(change(DESC, "input_tensor", flags=OWNED))
    ready = operator.initialize(X), operator.initialize(X + 100)
    for one, added in (*zip(ready, (0, 100), strict=True), (ready[0], 0)):
        np.testing.assert_array_equal(one(INDICES), EXPECTED + added)
    assert_refused(operator, [INDICES, operands()[2]], "input_tensor", "T16")


@each(("position", "given", "rule"), [row for row in REFUSED if row.values[0] != OUT_IS])
def test_t16_owned_input_must_fit(position, given, rule):
    operator = ck.compile_operator(change(DESC, FIELDS[position], flags=OWNED))
    with pytest.raises(ck.BindingError) as caught:
        operator.initialize(given(operands()[position]))
    assert (caught.value.field, caught.value.rule) == (FIELDS[position], rule)


def test_operator_is_immutable():
    operator = ck.compile_operator(DESC, feature_level=FeatureLevel.LEVEL_5_0)
    assert operator.desc == DESC
    assert operator.feature_level is FeatureLevel.LEVEL_5_0
    for name in ("desc", "feature_level"):
        with pytest.raises(AttributeError):
            setattr(operator, name, None)
