"""Rules N1 to N9 and the type tables of the gather_nd descriptors, at every feature level."""

from __future__ import annotations

from dataclasses import replace

import pytest

import cudakern as ck
from cudakern import DataType, FeatureLevel
from tests.helpers.descriptors import change
from tests.helpers.gather_nd_descriptors import gather_nd, newer, verdict
from tests.helpers.type_table import NAMES, TABLE, expected_rule

EXTENDED = FeatureLevel.EXTENDED
LEVELS = [*FeatureLevel]
EARLY, LATE = FeatureLevel.LEVEL_2_1, FeatureLevel.LEVEL_6_4
FIRST = FeatureLevel.LEVEL_3_0  # of the operator with batch dimensions
LEVEL_4_0 = FeatureLevel.LEVEL_4_0

LEGAL = gather_nd((3, 4), (2, 1), (2, 4), (2, 2))
LEGAL_4 = gather_nd((1, 3, 4, 5), (1, 1, 6, 2), (1, 1, 6, 5), (3, 2))
BATCH = gather_nd((2, 3, 4), (2, 5, 1), (2, 5, 4), (3, 3), 1)
BATCH_4 = gather_nd((1, 2, 3, 4), (1, 2, 5, 1), (1, 2, 5, 4), (3, 3), 1)
FIVE = (3, 4, 5, 6, 7)
ONES = (1,) * 4

# Each breaks the rule that its name starts with, and no other, at a level.
BROKEN = [
    ("N1-indices-of-another-rank", gather_nd((3, 4), (1, 2, 1), (2, 4), (2, 2)), LATE),
    ("N1-output-of-another-rank", gather_nd((3, 4), (2, 1), (1, 2, 4), (2, 2)), LATE),
    ("N1-input-of-another-rank", gather_nd((1, 3, 4), (2, 1), (2, 4), (2, 2)), LATE),
    ("N1-five-dimensions-at-2_1", gather_nd((1,) * 5, (1,) * 5, (1,) * 5, (1, 1)), EARLY),
    ("N1-output-of-five-at-2_1", change(LEGAL_4, "output_tensor", sizes=(1, 1, 1, 6, 5)), EARLY),
    ("N1-batch", change(BATCH, "indices_tensor", sizes=(1, 2, 5, 1)), FIRST),
    ("N2-types-differ", change(LEGAL, "output_tensor", data_type=DataType.INT32), LATE),
    ("N2-types-of-one-size", change(LEGAL, "output_tensor", data_type=DataType.UINT32), EXTENDED),
    ("N2-halves", change(LEGAL_4, "output_tensor", data_type=DataType.FLOAT16), EARLY),
    ("N2-batch", change(BATCH, "input_tensor", data_type=DataType.INT8), FIRST),
    ("N2-64-bits-at-4_0", gather_nd((3,), (1,), (1,), (1, 1), None, "INT64"), LEVEL_4_0),
    ("N2-signed-at-2_1", gather_nd(ONES, ONES, ONES, (4, 1), index_kind="INT32"), EARLY),
    ("N2-16-bit-indices", gather_nd((3,), (1,), (1,), (1, 1), index_kind="UINT16"), LATE),
    ("N2-float-indices", gather_nd((3,), (1,), (1,), (1, 1), index_kind="FLOAT32"), LATE),
    ("N2-bool-indices", gather_nd((3,), (1,), (1,), (1, 1), index_kind="BOOL"), EXTENDED),
    ("N3-no-input-dimension", replace(LEGAL, input_dimension_count=0), LATE),
    ("N3-no-index-dimension", replace(LEGAL, indices_dimension_count=0), LATE),
    ("N3-input-beyond-the-rank", replace(LEGAL, input_dimension_count=3), LATE),
    ("N3-indices-beyond-the-rank", replace(LEGAL, indices_dimension_count=3), LATE),
    ("N3-negative", replace(LEGAL, input_dimension_count=-1), LATE),
    ("N3-large", replace(LEGAL, indices_dimension_count=2**32 - 1), LATE),
    ("N3-early-level", replace(LEGAL_4, input_dimension_count=5), EARLY),
    ("N3-early-level-indices", replace(LEGAL_4, indices_dimension_count=0), EARLY),
    ("N3-scalars", gather_nd((), (), (), (0, 0)), EXTENDED),
    ("N4-negative", replace(BATCH, batch_dimension_count=-1), LATE),
    ("N4-large", replace(BATCH, batch_dimension_count=2**32 - 1), LATE),
    ("N4-all-of-both", gather_nd((2, 3), (2, 3), (2, 3), (2, 2), 2), LATE),
    ("N4-all-of-the-input", gather_nd((1, 2, 3), (2, 3, 1), (1, 2, 3), (2, 3), 2), LATE),
    ("N4-all-of-the-indices", gather_nd((2, 3, 4), (1, 1, 2), (1, 2, 4), (3, 1), 1), LATE),
    ("N4-early-level", replace(BATCH_4, batch_dimension_count=3), FIRST),
    ("N5-beyond-the-input", gather_nd((3, 4), (2, 3), (1, 2), (2, 2)), LATE),
    ("N5-beyond-what-counts", gather_nd((1, 4), (2, 2), (1, 2), (1, 2)), LATE),
    ("N5-beyond-the-batch", gather_nd((2, 3), (2, 2), (1, 2), (2, 2), 1), LATE),
    ("N5-no-component", gather_nd((1, 4), (2, 0), (2, 4), (1, 2)), EXTENDED),
    ("N5-early-level", gather_nd((1, 1, 3, 4), (1, 1, 6, 3), (1, 1, 1, 6), (2, 2)), EARLY),
    ("N6-input", gather_nd((2, 3, 4), (1, 2, 1), (1, 2, 4), (2, 2)), LATE),
    ("N6-indices", gather_nd((1, 3, 4), (2, 2, 1), (1, 2, 4), (2, 2)), LATE),
    ("N6-batch", gather_nd((3, 2, 3, 4), (1, 2, 5, 1), (1, 2, 5, 4), (3, 3), 1), FIRST),
    ("N6-empty", gather_nd((0, 3, 4), (1, 2, 1), (1, 2, 4), (2, 2)), EXTENDED),
    ("N6-early-level", gather_nd((2, 3, 4, 5), (1, 1, 6, 2), (1, 1, 6, 5), (3, 2)), EARLY),
    ("N7-one-batch", gather_nd((2, 3, 4), (3, 5, 1), (3, 5, 4), (3, 3), 1), LATE),
    ("N7-no-broadcasting", gather_nd((2, 3, 4), (1, 5, 1), (1, 5, 4), (3, 3), 1), LATE),
    ("N7-input-is-1", gather_nd((1, 3, 4), (2, 5, 1), (2, 5, 4), (3, 3), 1), LATE),
    ("N7-second-batch", gather_nd((2, 3, 4), (2, 5, 1), (1, 2, 5), (3, 3), 2), LATE),
    ("N7-permuted", gather_nd((2, 3, 4), (3, 2, 1), (1, 3, 2), (3, 3), 2), LATE),
    ("N7-early-level", gather_nd((1, 2, 3, 4), (1, 3, 5, 1), (1, 3, 5, 4), (3, 3), 1), FIRST),
    ("N8-three", gather_nd((3, 4, 5), (2, 2, 1), (2, 4, 5), (3, 3)), LATE),
    ("N8-by-one", gather_nd((3, 4, 5, 6), (1, 2, 2, 1), (2, 4, 5, 6), (4, 3)), LATE),
    ("N8-batch", gather_nd((2, 3, 4, 5), (2, 1, 1, 1), (2, 1, 4, 5), (4, 4), 1), FIRST),
    ("N8-eight", gather_nd((1,) * 8, (1,) * 8, (1,) * 8, (8, 8), 5), LATE),
    ("N8-early-level", gather_nd((3, 4, 5, 6), (1, 2, 2, 1), (2, 4, 5, 6), (4, 3)), EARLY),
    ("N9-tuples", gather_nd((3, 4), (2, 1), (3, 4), (2, 2)), LATE),
    ("N9-copied", gather_nd((3, 4), (2, 1), (2, 3), (2, 2)), LATE),
    ("N9-permuted", gather_nd((3, 4), (2, 1), (4, 2), (2, 2)), LATE),
    ("N9-aligned-left", gather_nd((3, 4), (2, 2), (2, 1), (2, 2)), LATE),
    ("N9-leading-size", gather_nd((3, 4), (2, 2), (2, 2), (2, 2)), LATE),
    ("N9-formula-as-printed", gather_nd(FIVE, (1, 1, 1, 2, 3), (1, 2, 5, 6, 7), (5, 3)), LATE),
    ("N9-batch-size", change(BATCH, "output_tensor", sizes=(1, 5, 4)), FIRST),
    ("N9-batch-twice", gather_nd((1, 2, 3), (1, 2, 1), (1, 2, 2), (2, 2), 1), LATE),
    ("N9-empty", gather_nd((3, 4), (0, 1), (1, 4), (2, 2)), EXTENDED),
    ("N9-early-level", change(LEGAL_4, "output_tensor", sizes=(1, 1, 5, 6)), EARLY),
]
FIELDS = {
    "N1": "tensors",
    "N2": "output_tensor.data_type",
    "N2-64-bits-at-4_0": "input_tensor.data_type",
    "N2-signed-at-2_1": "indices_tensor.data_type",
    "N2-16-bit-indices": "indices_tensor.data_type",
    "N2-float-indices": "indices_tensor.data_type",
    "N2-bool-indices": "indices_tensor.data_type",
    "N3": "input_dimension_count",
    "N3-no-index-dimension": "indices_dimension_count",
    "N3-indices-beyond-the-rank": "indices_dimension_count",
    "N3-large": "indices_dimension_count",
    "N3-early-level-indices": "indices_dimension_count",
    "N4": "batch_dimension_count",
    "N5": "indices_tensor.sizes",
    "N6": "input_tensor.sizes",
    "N6-indices": "indices_tensor.sizes",
    "N7": "indices_tensor.sizes",
    "N8": "output_tensor.sizes",
    "N9": "output_tensor.sizes",
}
# The older operator's rules are the newer one's without batch dimensions.
AS_NEWER = [
    (f"{case}-as-newer", newer(desc), max(level, FIRST))
    for case, desc, level in BROKEN
    if type(desc) is ck.GatherNDOperatorDesc and not case.endswith("2_1")
]
CASES = BROKEN + AS_NEWER


@pytest.mark.parametrize(("case", "desc", "level"), CASES, ids=[row[0] for row in CASES])
def test_broken_rule_is_reported(case, desc, level):
    with pytest.raises(ck.DescriptorError) as caught:
        desc.validate(level)
    error = caught.value
    field = FIELDS.get(case.removesuffix("-as-newer"), FIELDS[case[:2]])
    assert (error.operator, error.rule, error.field) == ("gather_nd", case[:2], field)
    assert str(error).startswith(f"gather_nd: {field} must ")
    assert str(error).endswith(f" [{case[:2]}]")
    assert len(str(error).splitlines()) == 1


LEGAL_CASES = [
    pytest.param(LEGAL, LATE, id="two-dimensions"),
    pytest.param(LEGAL, FIRST, id="two-dimensions-at-3_0"),
    pytest.param(LEGAL_4, EARLY, id="four-dimensions-at-2_1"),
    pytest.param(BATCH, FIRST, id="batch-at-3_0"),
    pytest.param(BATCH_4, LATE, id="batch-in-four-dimensions"),
    pytest.param(gather_nd(FIVE, (1, 1, 1, 2, 3), (1, 1, 2, 6, 7), (5, 3)), LATE, id="N9-page"),
    pytest.param(gather_nd((1, 4), (2, 1), (1, 2), (1, 2)), LATE, id="N3-input-1"),
    pytest.param(gather_nd((3, 4), (1, 2), (1, 1), (2, 1)), LATE, id="N3-indices-1"),
    pytest.param(gather_nd((3,), (1,), (1,), (1, 1)), LATE, id="N3-both-1"),
    pytest.param(gather_nd((2, 3), (2, 1), (1, 2), (2, 2), 1), LATE, id="N4-at-its-limit"),
    pytest.param(gather_nd((2, 3), (4, 1), (4, 3), (2, 2), 0), LATE, id="N4-no-batch"),
    pytest.param(gather_nd((3, 4), (2, 2), (1, 2), (2, 2)), LATE, id="N5-at-its-limit"),
    pytest.param(gather_nd((2, 3, 4), (2, 5, 2), (1, 2, 5), (3, 3), 1), LATE, id="N5-batch"),
    pytest.param(gather_nd((1, 3, 4), (1, 2, 1), (1, 2, 4), (2, 2)), LATE, id="N6-ones"),
    pytest.param(gather_nd((2, 3, 4), (2, 3, 1), (1, 2, 3), (3, 3), 2), LATE, id="N7-two"),
    pytest.param(gather_nd((3, 4, 5), (1, 2, 1), (2, 4, 5), (3, 2)), LATE, id="N8-at-its-limit"),
    pytest.param(gather_nd((1,) * 8, (1,) * 8, (1,) * 8, (8, 8), 6), LATE, id="N8-eight"),
    pytest.param(gather_nd((3, 4), (0, 1), (0, 4), (2, 2)), EXTENDED, id="no-tuples"),
    pytest.param(gather_nd((0, 4), (0, 1), (0, 4), (2, 2)), EXTENDED, id="no-tuples-of-nothing"),
    pytest.param(gather_nd((3, 0), (2, 1), (2, 0), (2, 2)), EXTENDED, id="nothing-copied"),
    pytest.param(gather_nd((0, 3, 4), (0, 5, 1), (0, 5, 4), (3, 3), 1), EXTENDED, id="no-batch"),
]


@pytest.mark.parametrize(("desc", "level"), LEGAL_CASES)
def test_legal_descriptor_is_accepted(desc, level):
    assert desc.validate(level) is None
    if type(desc) is ck.GatherNDOperatorDesc:
        assert newer(desc).validate(max(level, FIRST)) is None


def test_default_feature_level_is_the_last_one_of_directml():
    sizes = (3, 1), (2, 1), (2, 1)
    assert gather_nd(*sizes, (2, 2), 0, "INT64", "INT64").validate() is None
    with pytest.raises(ck.DescriptorError) as caught:
        gather_nd(*sizes, (2, 2), 0, "BOOL").validate()
    assert caught.value.rule == "T2"


@pytest.mark.parametrize(
    ("batch", "label"), [(None, "1_0"), (None, "2_0"), (0, "1_0"), (0, "2_0"), (0, "2_1")]
)
def test_an_operator_that_a_level_does_not_have(batch, label):
    """Whatever else is wrong: the level is reported first."""
    level, since = FeatureLevel[f"LEVEL_{label}"], "2_1" if batch is None else "3_0"
    for desc in (
        gather_nd(ONES, ONES, ONES, (4, 1), batch),
        gather_nd((0,) * 9, (), ONES, (9, 9), batch, "INT4", "FLOAT32"),
    ):
        with pytest.raises(ck.DescriptorError) as caught:
            desc.validate(level)
        assert (caught.value.field, caught.value.rule) == ("feature_level", None)
        assert f"must be at least {since}; got {label}" in str(caught.value)


@pytest.mark.parametrize("batch", [None, 0], ids=["older", "newer"])
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("rank", range(10))
def test_number_of_dimensions(rank, level, batch):
    """4 at feature level 2_1, where tensors have 4 or 5; 1 to 8 from 3_0."""
    if level < (EARLY if batch is None else FIRST):
        expected = "feature_level"
    elif level == EARLY:
        expected = {4: None, 5: "N1"}.get(rank, "T3")
    elif rank == 0 and level is EXTENDED:
        expected = "N3"  # scalars exist there, but tuples need a dimension
    else:
        expected = None if 1 <= rank <= 8 else "T3"
    ones = (1,) * rank
    assert verdict(gather_nd(ones, ones, ones, (rank, min(rank, 1)), batch), level) == expected


# Descriptors with several broken rules: the first in order is reported.
WRONG = gather_nd((3, 4), (2, 1), (5, 5), (9, 9), 9, "INT8", "INT8")
ORDER = [
    ("T2", change(change(LEGAL, "input_tensor", data_type=0), "indices_tensor", sizes=(2, 0))),
    ("T4", change(change(LEGAL, "indices_tensor", sizes=(2, 0)), "output_tensor", data_type=0)),
    ("T16", change(change(LEGAL, "input_tensor", flags=2), "indices_tensor", data_type=0)),
    ("T3", change(change(LEGAL, "input_tensor", sizes=(0,) * 9), "output_tensor", sizes=())),
    ("T11", change(LEGAL, "input_tensor", total_tensor_size_in_bytes=1, flags=2)),
    ("T5", change(WRONG, "indices_tensor", strides=(1,))),
    ("T5", change(replace(WRONG, indices_dimension_count=0), "output_tensor", strides=(1,))),
    ("T10", change(WRONG, "output_tensor", strides=(1, 1))),
    ("T13", gather_nd((65536, 65536), (2, 1), (5, 5), (9, 9), 9)),
    ("N1", gather_nd((3, 4), (2,), (5, 5), (9, 9), 9, index_kind="INT8")),
    (
        "N1",
        change(
            change(LEGAL, "indices_tensor", sizes=(2,)), "output_tensor", data_type=DataType.INT16
        ),
    ),
    ("N2", change(WRONG, "output_tensor", data_type=DataType.FLOAT32)),
    (
        "N2",
        change(replace(BATCH, batch_dimension_count=9), "output_tensor", data_type=DataType.INT16),
    ),
    ("N3", WRONG),
    ("N3", replace(WRONG, input_dimension_count=2)),
    ("N4", replace(WRONG, input_dimension_count=2, indices_dimension_count=2)),
    ("N4", gather_nd((2, 3), (1, 5), (5, 5), (1, 1), 1, index_kind="INT8")),
    ("N5", gather_nd((2, 3), (1, 5), (5, 5), (1, 1), 0, index_kind="INT8")),
    ("N5", gather_nd((2, 3), (3, 2), (5, 5), (2, 2), 1, index_kind="INT8")),
    ("N6", gather_nd((2, 3, 4), (3, 5, 1), (5, 5, 5), (2, 2), 1, index_kind="INT8")),
    ("N7", gather_nd((2, 3, 4, 5), (3, 5, 1, 1), (6, 6, 6, 6), (4, 4), 1, index_kind="INT8")),
    ("N8", gather_nd((3, 4, 5), (2, 2, 1), (5, 5, 5), (3, 3), 0, index_kind="INT8")),
    ("N9", gather_nd((3, 4), (2, 1), (5, 5), (2, 2), 0, index_kind="INT8")),
    ("N9", gather_nd((3, 4), (2, 1), (5, 5), (2, 2), None, index_kind="INT8")),
]


@pytest.mark.parametrize(("rule", "desc"), ORDER)
def test_first_broken_rule_is_reported(rule, desc):
    assert verdict(desc) == rule


def test_type_tables_are_checked_last_and_the_data_first():
    wrong = gather_nd((1, 1, 3, 4), ONES, (1, 1, 5, 5), (2, 2), None, "INT64", "INT32")
    assert verdict(wrong, EARLY) == "N9"
    right = change(wrong, "output_tensor", sizes=(1, 1, 1, 4))
    with pytest.raises(
        ck.DescriptorError, match=r"input_tensor.data_type must .* at 2_1; got INT64"
    ):
        right.validate(EARLY)
    right = change(
        change(right, "input_tensor", data_type=DataType.INT16),
        "output_tensor",
        data_type=DataType.INT16,
    )
    with pytest.raises(ck.DescriptorError, match=r"indices_tensor.data_type .* at 2_1; got INT32"):
        right.validate(EARLY)
    assert verdict(right, FIRST) is None


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("operand", ["data", "indices"])
@pytest.mark.parametrize("batch", [None, 0], ids=["older", "newer"])
def test_data_types_of_each_level(batch, operand, kind, level):
    """T2 for what is no data type of a tensor at the level, else the operators' own N2."""
    kinds = (kind, "UINT32") if operand == "data" else ("FLOAT16", kind)
    desc = gather_nd((1, 1, 3, 4), (1, 1, 5, 1), (1, 1, 5, 4), (2, 2), batch, *kinds)
    allowed = TABLE[level.name][0 if operand == "data" else 1]
    expected = expected_rule(kind, allowed, "N2", level.name)
    if level < (EARLY if batch is None else FIRST):
        expected = "feature_level"
    assert verdict(desc, level) == expected
