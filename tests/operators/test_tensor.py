"""Tensor descriptors: each of the rules T1 to T16 broken alone, and what is legal."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc, TensorFlags
from tests.helpers.rows import each
from tests.helpers.samples import examples

GATHER = ck.GatherOperatorDesc(
    TensorDesc(DataType.FLOAT32, (3, 4)),
    TensorDesc(DataType.UINT32, (1, 2)),
    TensorDesc(DataType.FLOAT32, (2, 4)),
    axis=0,
    index_dimensions=1,
)
LARGE = 2**32 - 1
X, INDICES, OUT = "input_tensor", "indices_tensor", "output_tensor"
TOTAL, ALIGN = "total_tensor_size_in_bytes", "guaranteed_base_offset_alignment"


def change(field, **values):
    return replace(GATHER, **{field: replace(getattr(GATHER, field), **values)})


def gather_of(input_sizes, index_sizes, output_sizes, **output):
    return ck.GatherOperatorDesc(
        TensorDesc(DataType.FLOAT32, input_sizes),
        TensorDesc(DataType.UINT32, index_sizes),
        TensorDesc(DataType.FLOAT32, output_sizes, **output),
        axis=0,
        index_dimensions=1,
    )


def spread(field, sizes, strides):
    """A legal gather whose output has these sizes, with strides on one of its tensors."""
    desc = gather_of(sizes, (1,) * (len(sizes) - 1) + sizes[:1], sizes)
    return replace(desc, **{field: replace(getattr(desc, field), strides=strides)})


SIZED_TYPES = [("FLOAT32", 32), ("FLOAT16", 16), ("UINT8", 8), ("INT64", 64), ("INT4", 4)]


@st.composite
def layouts(draw, max_rank, max_size, max_stride):
    sizes = draw(st.lists(st.integers(1, max_size), min_size=1, max_size=max_rank))
    strides = draw(st.lists(st.integers(0, max_stride), min_size=len(sizes), max_size=len(sizes)))
    return tuple(sizes), tuple(strides)


def offsets(sizes, strides):
    """Element offsets of all coordinates, each computed as rule T7 says."""
    for coordinate in product(*map(range, sizes)):
        yield sum(c * s for c, s in zip(coordinate, strides, strict=True))


@settings(deadline=None, max_examples=examples(150))
@given(layouts(4, 5, 40), st.sampled_from(SIZED_TYPES))
def test_minimum_tensor_size_reaches_the_farthest_element(layout, data_type):
    name, bits = data_type
    size = -(-(max(offsets(*layout)) + 1) * bits // 8)
    desc = TensorDesc(DataType[name], *layout)
    assert ck.minimum_tensor_size_in_bytes(desc) == size + -size % 4


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_null_strides_are_the_packed_ones(sizes):
    """T6, T7: null strides and explicit row-major ones describe the same tensor."""
    strides = [prod(sizes[k + 1 :]) for k in range(len(sizes))]
    assert list(offsets(sizes, strides)) == list(range(prod(sizes)))
    null, explicit = (TensorDesc(DataType.UINT8, sizes, given) for given in (None, strides))
    minimum = ck.minimum_tensor_size_in_bytes
    assert minimum(null) == minimum(explicit) == (prod(sizes) + 3) // 4 * 4


EXTENDED = FeatureLevel.EXTENDED
# Rule and case, tensor, its changed fields: the last of them is what the rule speaks of; a level.
BROKEN = [
    ("T2-no-such-value", INDICES, {"data_type": 14}),
    ("T2-negative", INDICES, {"data_type": -1}),
    ("T4-zero-size", X, {"sizes": (0, 4)}),
    ("T4-no-indices", INDICES, {"sizes": (1, 0)}),
    ("T4-zero-output", OUT, {"sizes": (2, 0)}),
    ("T4-negative-size", X, {"sizes": (-3, 4)}),
    ("T5-too-few", X, {"strides": (1,)}),
    ("T5-too-many", X, {"strides": (4, 1, 1)}),
    ("T5-none-at-all", X, {"strides": ()}),
    ("T5-negative", INDICES, {"strides": (2, -1)}),
    ("T5-33-bits", X, {"strides": (2**32, 1)}),
    ("T5-output-33-bits", OUT, {"strides": (2**32, 1)}),
    ("T10-stride-zero", OUT, {"strides": (0, 1)}),
    ("T10-sheared", OUT, {"strides": (3, 1)}),
    ("T10-interleaved", OUT, {"strides": (2, 2)}),
    ("T11-one-less", X, {TOTAL: 47}),
    ("T11-zero", X, {TOTAL: 0}),
    ("T11-output", OUT, {TOTAL: 31}),
    ("T11-strides-count", X, {"strides": (5, 1), TOTAL: 48}),
    ("T11-no-wrap-at-32-bits", X, {"strides": (LARGE, 1), TOTAL: 2**32}),
    ("T14-24", X, {ALIGN: 24}),
    ("T14-small", X, {ALIGN: 2}),
    ("T14-minus", OUT, {ALIGN: -4}),
    ("T16-no-such-flag", X, {"flags": 2}),
    ("T16-one-flag-too-many", INDICES, {"flags": 3}),
    ("T16-output", OUT, {"flags": TensorFlags.OWNED_BY_DML}),
    *((f"T2-{kind}-extended", X, {"data_type": kind}, EXTENDED) for kind in (0, 12, 13, 14)),
    ("T4-negative-extended", X, {"sizes": (-1, 4)}, EXTENDED),
]


def assert_reported(desc, rule, field, level=FeatureLevel.LEVEL_6_4):
    with pytest.raises(ck.DescriptorError) as caught:
        desc.validate(level)
    error = caught.value
    assert (error.operator, error.rule, error.field) == ("gather", rule, field)
    message = str(error)
    assert len(message.splitlines()) == 1
    assert message.startswith(f"gather: {field} ")


@each(("case", "tensor", "values", "level"), [(*c, ())[:4] for c in BROKEN])
def test_broken_rule_is_reported(case, tensor, values, level):
    desc, rule = change(tensor, **values), case.split("-")[0]
    assert_reported(desc, rule, f"{tensor}.{list(values)[-1]}", *([level] if level else []))
    with pytest.raises(ck.DescriptorError):
        ck.compile_operator(desc)


@each("tensor", [X, INDICES, OUT])
@each("given", [None, (3, 4)])
def test_t1_something_else_than_a_tensor_is_reported(tensor, given):
    assert_reported(replace(GATHER, **{tensor: given}), "T1", tensor)


@each("strides", [None, (0, 0)])
def test_t13_more_than_32_bits_of_elements_are_reported(strides):
    desc = gather_of((65536, 65536), (1, 2), (2, 65536))
    desc = replace(desc, input_tensor=replace(desc.input_tensor, strides=strides))
    assert_reported(desc, "T13", f"{X}.sizes")


LEGAL = {
    "as it is": GATHER,
    "T6-explicitly-packed": change(X, strides=(4, 1)),
    "T6-output-explicitly-packed": change(OUT, strides=(4, 1)),
    "T8-broadcast-rows": change(X, strides=(0, 1)),
    "T8-broadcast-all": change(X, strides=(0, 0)),
    "T8-broadcast-indices": change(INDICES, strides=(0, 0)),
    "T8-padded": change(X, strides=(7, 1)),
    "T8-permuted": change(X, strides=(1, 3)),
    "T8-output-permuted": change(OUT, strides=(1, 2)),
    "T8-output-padded": change(OUT, strides=(9, 2)),
    "T9-sheared": change(X, strides=(3, 1)),
    "T5-widest-stride": change(X, strides=(LARGE, 1)),
    "T10-interleaved-apart": change(OUT, strides=(3, 2)),
    "T11-minimum": change(X, total_tensor_size_in_bytes=48),
    "T12-49-bytes": change(X, total_tensor_size_in_bytes=49),
    "T12-35-bytes": change(OUT, total_tensor_size_in_bytes=35),
    "T13-most-elements": gather_of((65535, 65537), (1, 2), (2, 65537)),
    "T14-4": change(X, guaranteed_base_offset_alignment=4),
    "T14-4096": change(OUT, guaranteed_base_offset_alignment=4096),
    "T16-owned-input": change(X, flags=TensorFlags.OWNED_BY_DML),
    "T16-owned-indices": change(INDICES, flags=1),
    **{
        f"T10-stride-{stride}-of-1-in-{sizes}": spread(
            OUT, sizes, tuple(stride if size == 1 else 1 for size in sizes)
        )
        for sizes in [(1, 4), (4, 1), (1, 1)]
        for stride in (0, 3, LARGE)
    },
}


@each("desc", LEGAL.values(), ids=LEGAL)
def test_legal_tensor_is_accepted(desc):
    assert desc.validate() is None


def has_rule(desc):
    try:
        desc.validate()
    except ck.DescriptorError as error:
        return error.rule
    return None


@settings(deadline=None, max_examples=examples(300))
@given(layouts(4, 4, 14))
def test_t10_is_exact_and_concerns_outputs_alone(layout):
    addresses = list(offsets(*layout))
    overlapping = len(set(addresses)) < len(addresses)
    assert has_rule(spread("output_tensor", *layout)) == ("T10" if overlapping else None)
    assert has_rule(spread("input_tensor", *layout)) is None


def test_tensor_desc_takes_lists_and_arrays_is_hashable_and_does_not_change():
    tuples = TensorDesc(DataType.UINT8, (2, 3), (3, 1))
    lists = TensorDesc(data_type=DataType.UINT8, sizes=[2, 3], strides=[3, 1])
    arrays = TensorDesc(DataType(5), np.array([2, 3]), np.array([3, 1], np.uint32))
    assert len({tuples, lists, arrays}) == 1
    assert lists.sizes == (2, 3)
    assert tuples != TensorDesc(DataType.UINT8, (2, 3), (1, 2))
    with pytest.raises(FrozenInstanceError):
        tuples.sizes = ()


class Odd:
    """What no class should be like."""

    def __eq__(self, other):
        return np.ones(3, bool)

    def __index__(self):
        raise ZeroDivisionError

    def __repr__(self):
        raise ZeroDivisionError

    __hash__ = None


ODD = {
    "a string": "1",
    "NaN": float("nan"),
    "a list": [1, 2],
    "a dict": {},
    "an array": np.ones(2, int),
    "structures": np.zeros(2, [("a", "i4")]),
    "a structure": np.zeros(1, [("a", "i4")])[0],
    "a structure's dtype": np.dtype([("a", "i4")]),
    "a masked element": np.ma.masked,
    "a date": np.datetime64("2020"),
    "an object of an odd class": Odd(),
    "an integer that Python does not print": 10**5000,
}
FIELDS = [field.name for field in fields(TensorDesc)]


@each("odd", ODD)
@each("field", [*FIELDS[:1], *FIELDS[3:]])
def test_values_must_be_integers(field, odd):
    with pytest.raises(ck.DTypeError, match=rf"^TensorDesc: {field} must be an? \w.*; got [^\n]+$"):
        replace(GATHER.input_tensor, **{field: ODD[odd]})
    huge = isinstance(ODD[odd], int)
    sizes = "an int of at most 128 bits; got one of" if huge else "a sequence of integers; got"
    with pytest.raises(ck.DTypeError, match=rf"^TensorDesc: sizes must be {sizes} "):
        replace(GATHER.input_tensor, sizes=(ODD[odd],))
    with pytest.raises(ck.DTypeError, match=r"^GatherOperatorDesc: axis must be an int.*; got "):
        replace(GATHER, axis=ODD[odd])


@each(("values", "rule"), [({"data_type": 14}, "T2"), ({"strides": (1,)}, "T5"), (None, None)])
def test_minimum_size_of_what_is_no_tensor(values, rule):
    tensor = values and replace(GATHER.input_tensor, **values)
    with pytest.raises((ck.DescriptorError, ck.DTypeError), match="must ") as caught:
        ck.minimum_tensor_size_in_bytes(tensor)
    assert getattr(caught.value, "rule", None) == rule
