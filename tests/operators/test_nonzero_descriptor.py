"""Rules Z1 to Z8 and the type table of the nonzero-coordinates descriptor, at every level."""

from __future__ import annotations

import pytest

import cudakern as ck
from cudakern import DataType, FeatureLevel
from tests.helpers.descriptors import broken_rule, change
from tests.helpers.nonzero_descriptors import nonzero
from tests.helpers.type_table import MORE, NAMES, SMALL, expected_rule

EXTENDED = FeatureLevel.EXTENDED
LEVELS = [level for level in FeatureLevel if level >= FeatureLevel.LEVEL_3_0]
EARLY, LATE = FeatureLevel.LEVEL_3_1, FeatureLevel.LEVEL_6_4
FIRST, FOUR = FeatureLevel.LEVEL_3_0, FeatureLevel.LEVEL_4_0
MOST = 2**32 - 1

COUNT, COORDINATES = "output_count_tensor", "output_coordinates_tensor"
ONES = (1, 1, 1, 1)
LEGAL = nonzero((3, 4), (1,), (12, 2))
LEGAL_4 = nonzero((1, 1, 3, 4), ONES, (1, 1, 12, 2))


# Each breaks the rule that its name starts with at a level; of the others at most later ones, where
# numbers of dimensions leave no choice.
BROKEN = [
    ("Z1-three-dimensions-at-3_0", nonzero((1, 3, 4), ONES, (1, 1, 12, 2)), FIRST),
    ("Z1-three-dimensions-at-3_1", nonzero((1, 3, 4), ONES, (1, 1, 12, 2)), EARLY),
    ("Z1-six-dimensions-at-3_1", nonzero((*ONES, 3, 4), ONES, (1, 1, 12, 2)), EARLY),
    ("Z1-64-bits-at-6_4", nonzero((3, 4), (1,), (12, 2), "INT64"), LATE),
    ("Z1-double-at-4_1", nonzero((3, 4), (1,), (12, 2), "FLOAT64"), FeatureLevel.LEVEL_4_1),
    ("Z2-signed", change(LEGAL, COUNT, data_type=DataType.INT32), LATE),
    ("Z2-64-bits", change(LEGAL, COUNT, data_type=DataType.UINT64), LATE),
    ("Z2-64-bits-at-extended", change(LEGAL, COUNT, data_type=DataType.INT64), EXTENDED),
    ("Z2-signed-at-3_0", change(LEGAL_4, COUNT, data_type=DataType.INT32), FIRST),
    ("Z2-two-counts", nonzero((3, 4), (2,), (12, 2)), LATE),
    ("Z2-two-counts-in-the-first-dimension", nonzero((3, 4), (2, 1), (12, 2)), LATE),
    ("Z2-two-counts-at-3_1", change(LEGAL_4, COUNT, sizes=(1, 1, 2, 1)), EARLY),
    ("Z2-no-count-at-extended", nonzero((3, 4), (0,), (12, 2)), EXTENDED),
    ("Z2-no-dimension-at-extended", nonzero((3, 4), (), (12, 2)), EXTENDED),
    ("Z2-one-dimension-at-3_1", change(LEGAL_4, COUNT, sizes=(1,)), EARLY),
    ("Z2-six-dimensions-at-3_0", change(LEGAL_4, COUNT, sizes=(1,) * 6), FIRST),
    ("Z3-64-bits", change(LEGAL, COORDINATES, data_type=DataType.INT64), LATE),
    ("Z3-signed-at-extended", change(LEGAL, COORDINATES, data_type=DataType.INT32), EXTENDED),
    ("Z3-64-bits-at-3_0", change(LEGAL_4, COORDINATES, data_type=DataType.INT64), FIRST),
    ("Z3-one-dimension", nonzero((12,), (1,), (12,)), LATE),
    ("Z3-one-dimension-at-4_0", nonzero((12,), (1,), (12,)), FOUR),
    ("Z3-one-dimension-at-extended", nonzero((12,), (1,), (12,)), EXTENDED),
    ("Z3-no-dimension-at-extended", nonzero((), (1,), ()), EXTENDED),
    ("Z3-three-dimensions-at-3_1", change(LEGAL_4, COORDINATES, sizes=(1, 12, 2)), EARLY),
    ("Z3-six-dimensions-at-3_0", change(LEGAL_4, COORDINATES, sizes=(*ONES, 12, 2)), FIRST),
    ("Z4-two-before-the-rows", nonzero((3, 4), (1,), (2, 12, 2)), LATE),
    ("Z4-two-in-the-first-dimension", change(LEGAL_4, COORDINATES, sizes=(2, 1, 12, 2)), EARLY),
    ("Z4-two-in-the-second-dimension", change(LEGAL_4, COORDINATES, sizes=(1, 2, 12, 2)), FOUR),
    ("Z4-none-at-extended", nonzero((3, 4), (1,), (0, 12, 2)), EXTENDED),
    ("Z5-a-row-too-few", nonzero((3, 4), (1,), (11, 2)), LATE),
    ("Z5-a-row-too-many", nonzero((3, 4), (1,), (13, 2)), LATE),
    ("Z5-transposed", nonzero((3, 4), (1,), (2, 12)), LATE),
    ("Z5-one-row-at-3_1", change(LEGAL_4, COORDINATES, sizes=(1, 1, 1, 2)), EARLY),
    ("Z5-one-row-of-none-at-extended", nonzero((3, 0), (1,), (1, 2)), EXTENDED),
    ("Z6-less-than-the-effective-rank", nonzero((3, 4), (1,), (12, 1)), LATE),
    ("Z6-more-than-the-dimensions", nonzero((3, 4), (1,), (12, 3)), LATE),
    ("Z6-a-1-that-does-not-lead", nonzero((1, 3, 1, 4), (1,), (12, 2)), LATE),
    ("Z6-trailing-ones", nonzero((3, 1, 1), (1,), (3, 2)), LATE),
    ("Z6-two-of-one-dimension", nonzero((12,), (1,), (12, 2)), LATE),
    ("Z6-less-at-3_0", change(LEGAL_4, COORDINATES, sizes=(1, 1, 12, 1)), FIRST),
    ("Z6-more-at-3_1", change(LEGAL_4, COORDINATES, sizes=(1, 1, 12, 5)), EARLY),
    ("Z6-no-width-at-extended", nonzero((1, 1), (1,), (1, 0)), EXTENDED),
    ("Z6-no-width-of-a-scalar-at-extended", nonzero((), (1,), (1, 0)), EXTENDED),
    ("Z6-two-of-a-scalar-at-extended", nonzero((), (1,), (1, 2)), EXTENDED),
    ("Z6-size-of-0-counts-at-extended", nonzero((1, 0, 1), (1,), (0, 1)), EXTENDED),
    ("Z7-2^32-elements-at-extended", nonzero((2**16, 2**16), (1,), (2**32, 2)), EXTENDED),
    ("Z8-input-of-another-rank", change(LEGAL_4, "input_tensor", sizes=(*ONES, 12)), EARLY),
    ("Z8-count-of-another-rank", change(LEGAL_4, COUNT, sizes=(1,) * 5), EARLY),
    ("Z8-coordinates-of-another-rank", change(LEGAL_4, COORDINATES, sizes=(1, 1, 1, 12, 2)), FIRST),
]
FIELDS = {
    "Z1-three-dimensions-at-3_0": "input_tensor.sizes",
    "Z1-64-bits-at-6_4": "input_tensor.data_type",
    "Z2-signed": f"{COUNT}.data_type",
    "Z2-two-counts": f"{COUNT}.sizes",
    "Z2-one-dimension-at-3_1": f"{COUNT}.sizes",
    "Z3-64-bits": f"{COORDINATES}.data_type",
    "Z3-one-dimension": f"{COORDINATES}.sizes",
    "Z4-two-before-the-rows": f"{COORDINATES}.sizes",
    "Z5-a-row-too-few": f"{COORDINATES}.sizes",
    "Z6-more-than-the-dimensions": f"{COORDINATES}.sizes",
    "Z7-2^32-elements-at-extended": "input_tensor.sizes",
    "Z8-count-of-another-rank": "tensors",
}


@pytest.mark.parametrize(("case", "desc", "level"), BROKEN, ids=[row[0] for row in BROKEN])
def test_broken_rule_is_reported(case, desc, level):
    with pytest.raises(ck.DescriptorError) as caught:
        desc.validate(level)
    error = caught.value
    assert (error.operator, error.rule) == ("nonzero_coordinates", case[:2])
    assert error.field == FIELDS.get(case, error.field)
    assert str(error).startswith(f"nonzero_coordinates: {error.field} ")
    assert len(str(error).splitlines()) == 1


def test_messages_say_what_is_required_and_found():
    messages = {
        nonzero((3, 4), (1,), (11, 2)): "must have a row for each of 12 elements; got 11 rows",
        nonzero((1, 3, 4), (1,), (12, 1)): "must be 2 to 3 in the last dimension; got 1",
    }
    for desc, message in messages.items():
        with pytest.raises(ck.DescriptorError, match=message):
            desc.validate()


@pytest.mark.parametrize(
    ("desc", "level"),
    [
        pytest.param(LEGAL, LATE, id="two-dimensions"),
        pytest.param(LEGAL, FOUR, id="two-dimensions-at-4_0"),
        pytest.param(LEGAL_4, FIRST, id="four-dimensions-at-3_0"),
        pytest.param(nonzero((1, 1, 1, 3, 4), (*ONES, 1), (1, 1, 1, 12, 2)), EARLY, id="Z1-five"),
        pytest.param(nonzero((12,), (1,), (12, 1)), LATE, id="Z1-one-dimension"),
        pytest.param(nonzero((), (1,), (1, 1)), EXTENDED, id="Z1-no-dimension"),
        pytest.param(nonzero((3, 4), (1,) * 8, (12, 2)), LATE, id="Z2-eight-dimensions"),
        pytest.param(
            nonzero((3, 4), (1,), (12, 2), coordinate_kind="INT64"), EXTENDED, id="Z3-int64"
        ),
        pytest.param(nonzero((3, 4), (1,), (*(1,) * 6, 12, 2)), LATE, id="Z3-eight-dimensions"),
        pytest.param(nonzero((3, 0), (1,), (0, 2)), EXTENDED, id="Z5-no-rows"),
        *(
            pytest.param(nonzero((1, 1, 12, 5), ONES, (1, 1, 60, n)), EARLY, id=f"Z6-{n}-of-4")
            for n in (2, 3, 4)
        ),
        *(
            pytest.param(nonzero(ONES, ONES, (1, 1, 1, n)), EARLY, id=f"Z6-{n}-of-all-ones")
            for n in (1, 4)
        ),
        pytest.param(nonzero((2,) * 8, (1,), (256, 8)), LATE, id="Z6-eight-dimensions"),
        pytest.param(nonzero((1, 3, 1, 4), (1,), (12, 3)), LATE, id="Z6-a-1-between"),
        pytest.param(nonzero((MOST,), (1,), (MOST, 1)), LATE, id="Z7-most-coordinates"),
        pytest.param(nonzero((1, MOST), (1,), (MOST, 2)), EXTENDED, id="Z7-most-elements"),
        pytest.param(nonzero((1, 3, 4), (1, 1), (12, 2)), FOUR, id="Z8-ranks-differ-at-4_0"),
    ],
)
def test_legal_descriptor_is_accepted(desc, level):
    assert desc.validate(level) is None


@pytest.mark.parametrize("level", [FeatureLevel.LEVEL_1_0, 0x2100])
def test_the_operator_exists_from_3_0_on(level):
    with pytest.raises(ck.DescriptorError) as caught:
        LEGAL_4.validate(level)
    assert caught.value.field == "feature_level"


def test_default_feature_level_is_the_last_one_of_directml():
    assert LEGAL.validate() is None
    with pytest.raises(ck.DescriptorError) as caught:
        nonzero((3, 4), (1,), (12, 2), "BOOL").validate()
    assert caught.value.rule == "T2"


@pytest.mark.parametrize(
    ("x", "coordinates"),
    [
        pytest.param((2**16, 2**16), (2**32, 2), id="input"),
        pytest.param((1, 2**31), (2**31, 2), id="coordinates"),
    ],
)
def test_rule_7_follows_from_the_tensors_own(x, coordinates):
    assert broken_rule(nonzero(x, (1,), coordinates)) == "T13"


def test_binding_order_is_input_count_coordinates():
    fields = [name for name, _ in (*LEGAL.inputs(), *LEGAL.outputs())]
    assert fields == ["input_tensor", COUNT, COORDINATES]
    assert hash(LEGAL) == hash(nonzero((3, 4), (1,), (12, 2)))


@pytest.mark.parametrize(
    ("rank", "level"),
    [
        pytest.param(rank, level, id=f"{rank}-{level.name}")
        for rank in range(10)
        for level in LEVELS
    ],
)
@pytest.mark.parametrize(
    ("field", "rule", "least"),
    [("input_tensor", "Z1", 0), (COUNT, "Z2", 1), (COORDINATES, "Z3", 2)],
)
def test_number_of_dimensions(field, rule, least, rank, level):
    """Each tensor's own: 4 or 5 at 3_x, up to 8 from 4_0."""
    early = level < FOUR
    others = (1,) * 5 if rank == 5 else ONES  # equal, as Z8 wants them at 3_x
    sizes = dict.fromkeys(("input_tensor", COUNT, COORDINATES), others)
    sizes[field] = (1,) * rank
    if rank > 8 or (rank == 0 and level is not EXTENDED):
        expected = "T3"
    else:
        expected = None if (rank in {4, 5} if early else rank >= least) else rule
    assert broken_rule(nonzero(*sizes.values()), level) == expected


# Descriptors with several broken rules: the first in order is reported.
ORDER = [
    ("T2", change(nonzero((3, 4), (0,), (12, 2)), "input_tensor", data_type=0), LATE),
    ("T4", change(nonzero((3, 4), (0,), (12, 2)), COORDINATES, data_type=0), LATE),
    ("T10", change(nonzero((3, 4), (2,), (12, 2)), COORDINATES, strides=(1, 1)), LATE),
    ("T16", change(nonzero((3, 4), (2,), (12, 2)), COORDINATES, flags=1), LATE),
    ("Z1", nonzero((3, 4), (2,), (12,), "INT64"), EARLY),
    ("Z2", nonzero((3, 4), (2,), (12,), "INT64", coordinate_kind="INT32"), LATE),
    ("Z3", nonzero((3, 4), (1,), (2, 3, 9), "INT64", coordinate_kind="INT32"), LATE),
    ("Z4", nonzero((3, 4), (1,), (2, 3, 9), "INT64"), LATE),
    ("Z5", nonzero((3, 4), (1,), (3, 9), "INT64"), LATE),
    ("Z6", nonzero((3, 4), (1,), (12, 9), "INT64"), LATE),
    ("Z6", nonzero((2**16, 2**16), (1,), (2**32, 3)), EXTENDED),
    ("Z6", nonzero((1, 1, 1, 3, 4), ONES, (1, 1, 12, 1)), EARLY),
    ("Z8", nonzero((1, 1, 1, 3, 4), ONES, (1, 1, 12, 2), "INT64"), EARLY),
]


@pytest.mark.parametrize(("rule", "desc", "level"), ORDER)
def test_first_broken_rule_is_reported(rule, desc, level):
    assert broken_rule(desc, level) == rule


LEVEL_NAMES = [level.name for level in LEVELS]


@pytest.mark.parametrize("level", LEVEL_NAMES)
@pytest.mark.parametrize("kind", NAMES)
def test_data_types_of_each_level(kind, level):
    expected = expected_rule(kind, MORE if level == "EXTENDED" else SMALL, "Z1", level)
    desc = nonzero((1, 1, 3, 4), ONES, (1, 1, 12, 2), kind)
    assert broken_rule(desc, FeatureLevel[level]) == expected


@pytest.mark.parametrize("level", LEVEL_NAMES)
@pytest.mark.parametrize("kind", NAMES)
def test_output_types_of_each_level(kind, level):
    wide = {"INT64"} if level == "EXTENDED" else set()
    for field, rule, allowed in [(COUNT, "Z2", {"UINT32"}), (COORDINATES, "Z3", {"UINT32"} | wide)]:
        expected = expected_rule(kind, allowed, rule, level)
        desc = change(LEGAL_4, field, data_type=DataType[kind])
        assert broken_rule(desc, FeatureLevel[level]) == expected
