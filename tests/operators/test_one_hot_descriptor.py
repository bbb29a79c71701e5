"""Rules O1 to O7 and the type tables of the one-hot descriptor, at every feature level."""

from __future__ import annotations

from dataclasses import replace

import pytest

import cudakern as ck
from cudakern import DataType, FeatureLevel
from tests.helpers.descriptors import broken_rule, change
from tests.helpers.one_hot import one_hot
from tests.helpers.type_table import NAMES, TABLE, expected_rule

EXTENDED = FeatureLevel.EXTENDED
LEVELS = [level for level in FeatureLevel if level >= FeatureLevel.LEVEL_2_0]
EARLY, LATE = FeatureLevel.LEVEL_2_1, FeatureLevel.LEVEL_6_4

ONES = (1, 1, 1, 1)
LEGAL = one_hot((3, 1), (1, 2), (3, 4), 1)
LEGAL_4 = one_hot((1, 1, 3, 1), (1, 1, 1, 2), (1, 1, 3, 4), 3)


def four(kind="FLOAT32", index_kind="UINT32"):
    """Build a legal descriptor of four dimensions."""
    return one_hot((1, 1, 3, 1), (1, 1, 1, 2), (1, 1, 3, 4), 3, kind, index_kind)


# Each breaks the rule that its name starts with, and no other, at a level.
BROKEN = [
    ("O1-values-of-another-rank", one_hot((3, 1), (2,), (3, 4), 1), LATE),
    ("O1-indices-of-another-rank", one_hot((1, 3, 1), (1, 2), (3, 4), 1), LATE),
    ("O1-output-of-another-rank", one_hot((3, 1), (1, 2), (1, 3, 4), 1), LATE),
    ("O1-five-dimensions-at-2_1", one_hot((1,) * 5, (1, 1, 1, 1, 2), (1,) * 5, 4), EARLY),
    ("O2-types-differ", change(LEGAL, "output_tensor", data_type=DataType.INT32), LATE),
    ("O2-widths-differ", change(LEGAL_4, "output_tensor", data_type=DataType.FLOAT16), EARLY),
    ("O3-axis-is-the-rank", replace(LEGAL, axis=2), LATE),
    ("O3-axis-is-large", replace(LEGAL, axis=2**32 - 1), LATE),
    ("O3-axis-counts-from-the-end", replace(LEGAL, axis=-1), LATE),
    ("O3-early-level", replace(LEGAL_4, axis=4), EARLY),
    ("O4-axis-size-of-indices", one_hot((3, 4), (1, 2), (3, 4), 1), LATE),
    ("O4-other-size", one_hot((2, 1), (1, 2), (3, 4), 1), LATE),
    ("O4-other-size-of-1", one_hot((1, 1), (1, 2), (3, 4), 1), LATE),
    ("O4-another-axis", one_hot((3, 1), (1, 2), (3, 4), 0), LATE),
    ("O4-early-level", one_hot((1, 1, 3, 2), (1, 1, 1, 2), (1, 1, 3, 4), 3), EARLY),
    ("O6-one-value", one_hot((3, 1), (1, 1), (3, 4), 1), LATE),
    ("O6-early-level", one_hot((1, 1, 3, 1), ONES, (1, 1, 3, 4), 3), EARLY),
    ("O7-integers-at-2_0", four("INT32"), FeatureLevel.LEVEL_2_0),
    ("O7-64-bits-at-4_0", four("INT64"), FeatureLevel.LEVEL_4_0),
    ("O7-signed-indices-at-2_1", four(index_kind="INT32"), EARLY),
    ("O7-16-bit-indices", four(index_kind="UINT16"), LATE),
    ("O7-float-indices", four(index_kind="FLOAT32"), LATE),
]
FIELDS = {
    "O1-values-of-another-rank": "tensors",
    "O2-types-differ": "output_tensor.data_type",
    "O3-axis-is-the-rank": "axis",
    "O4-other-size": "indices_tensor.sizes",
    "O6-one-value": "values_tensor.sizes",
    "O7-64-bits-at-4_0": "values_tensor.data_type",
    "O7-float-indices": "indices_tensor.data_type",
}


@pytest.mark.parametrize(("case", "desc", "level"), BROKEN, ids=[row[0] for row in BROKEN])
def test_broken_rule_is_reported(case, desc, level):
    with pytest.raises(ck.DescriptorError) as caught:
        desc.validate(level)
    error = caught.value
    assert (error.operator, error.rule) == ("one_hot", case[:2])
    assert error.field == FIELDS.get(case, error.field)
    assert str(error).startswith(f"one_hot: {error.field} ")
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize(
    ("desc", "level"),
    [
        pytest.param(LEGAL, LATE, id="two-dimensions"),
        pytest.param(LEGAL, FeatureLevel.LEVEL_3_0, id="two-dimensions-at-3_0"),
        pytest.param(LEGAL_4, FeatureLevel.LEVEL_2_0, id="four-dimensions-at-2_0"),
        pytest.param(one_hot((1, 4), (1, 2), (3, 4), 0), LATE, id="O3-first-axis"),
        pytest.param(one_hot((1,), (2,), (9,), 0), LATE, id="O4-one-index"),
        pytest.param(one_hot((3, 1), (1, 2), (3, 1), 1), LATE, id="O5-depth-of-1"),
        pytest.param(one_hot((3, 1), (2, 1), (3, 4), 1), LATE, id="O6-along-the-first-dimension"),
        pytest.param(one_hot((3, 1), (3, 5), (3, 4), 1), LATE, id="O6-more-than-two"),
        pytest.param(one_hot((1, 1, 3, 1), (1, 1, 3, 1), (1, 1, 3, 4), 3), EARLY, id="O6-at-2_1"),
    ],
)
def test_legal_descriptor_is_accepted(desc, level):
    assert desc.validate(level) is None


@pytest.mark.parametrize("level", [FeatureLevel.LEVEL_1_0, 0x1000])
def test_the_operator_exists_from_2_0_on(level):
    with pytest.raises(ck.DescriptorError) as caught:
        LEGAL_4.validate(level)
    assert caught.value.field == "feature_level"


def test_default_feature_level_is_the_last_one_of_directml():
    assert one_hot((3, 1), (1, 2), (3, 4), 1, "INT64").validate() is None
    assert broken_rule(one_hot((3, 1), (1, 2), (3, 4), 1, "BOOL")) == "T2"


def test_rule_5_follows_from_the_tensors_own():
    """A size of 0 is no size before the operator is asked; at the extended level it is legal."""
    desc = one_hot((3, 1), (1, 2), (3, 0), 1)
    assert broken_rule(desc) == "T4"
    assert broken_rule(desc, EXTENDED) is None


@pytest.mark.parametrize(
    ("rank", "level"),
    [
        pytest.param(rank, level, id=f"{rank}-{level.name}")
        for rank in range(10)
        for level in LEVELS
        if 1 <= rank <= 8 or level is not EXTENDED
    ],
)
def test_number_of_dimensions(rank, level):
    """4 below feature level 3_0, where tensors have 4 or 5; 1 to 8 from there."""
    if level < FeatureLevel.LEVEL_3_0:
        expected = {4: None, 5: "O1"}.get(rank, "T3")
    else:
        expected = None if 1 <= rank <= 8 else "T3"
    ones, two = (1,) * rank, (*(1,) * (rank - 1), 2)[:rank]
    assert broken_rule(one_hot(ones, two, two, rank - 1), level) == expected


# Descriptors with several broken rules: the first in order is reported.
WRONG_T = {"strides": (1,)}
ORDER = [
    ("T2", change(change(LEGAL, "indices_tensor", data_type=0), "values_tensor", sizes=(1, 0))),
    ("T4", change(change(LEGAL, "values_tensor", sizes=(1, 0)), "output_tensor", data_type=0)),
    ("T16", change(change(LEGAL, "indices_tensor", flags=2), "values_tensor", data_type=0)),
    ("T14", change(LEGAL, "values_tensor", flags=2, guaranteed_base_offset_alignment=3)),
    ("T11", change(LEGAL, "values_tensor", total_tensor_size_in_bytes=1, flags=2)),
    ("T5", change(LEGAL, "indices_tensor", strides=(1,), total_tensor_size_in_bytes=1)),
    ("T5", replace(change(LEGAL, "output_tensor", **WRONG_T), axis=9)),
    ("T10", change(replace(LEGAL, axis=9), "output_tensor", strides=(0, 1))),
    ("T13", one_hot((65536, 1), (2,), (65536, 65536), 9)),
    ("O1", one_hot((3, 1), (1,), (3, 4), 9, index_kind="FLOAT32")),
    ("O1", change(one_hot((3, 1), (2,), (3, 4), 1), "output_tensor", data_type=DataType.INT8)),
    ("O2", change(replace(LEGAL, axis=9), "output_tensor", data_type=DataType.INT8)),
    ("O3", one_hot((3, 3), (1, 1), (3, 4), 9, index_kind="FLOAT32")),
    ("O4", one_hot((3, 3), (1, 1), (3, 4), 1, index_kind="FLOAT32")),
    ("O6", one_hot((3, 1), (1, 1), (3, 4), 1, index_kind="FLOAT32")),
]


@pytest.mark.parametrize(("rule", "desc"), ORDER)
def test_first_broken_rule_is_reported(rule, desc):
    assert broken_rule(desc) == rule


def test_type_tables_are_checked_last_and_the_indices_first():
    wrong = change(four("INT64", "INT32"), "values_tensor", sizes=ONES)
    assert broken_rule(wrong, FeatureLevel.LEVEL_2_0) == "O6"
    right = four("INT64", "INT32")
    for level, field in [
        (FeatureLevel.LEVEL_2_1, "indices_tensor.data_type"),
        (FeatureLevel.LEVEL_3_0, "values_tensor.data_type"),
    ]:
        with pytest.raises(ck.DescriptorError) as caught:
            right.validate(level)
        assert (caught.value.rule, caught.value.field) == ("O7", field)
    assert broken_rule(right, FeatureLevel.LEVEL_4_1) is None


@pytest.mark.parametrize("level", [level.name for level in LEVELS])
@pytest.mark.parametrize("kind", NAMES)
def test_data_types_of_each_level(kind, level):
    expected = expected_rule(kind, TABLE[level][0], "O7", level)
    assert broken_rule(four(kind), FeatureLevel[level]) == expected


@pytest.mark.parametrize("level", [level.name for level in LEVELS])
@pytest.mark.parametrize("kind", NAMES)
def test_index_types_of_each_level(kind, level):
    expected = expected_rule(kind, TABLE[level][1], "O7", level)
    assert broken_rule(four("FLOAT16", kind), FeatureLevel[level]) == expected
