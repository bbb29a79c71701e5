"""The rules of every descriptor at every feature level; each operator's room has its tables."""

from __future__ import annotations

import pytest

import cudakern as ck
from cudakern import FeatureLevel
from tests.helpers.operator_samples import rooms
from tests.helpers.rows import each
from tests.helpers.type_table import NAMES, expected_rule
from tests.operators.descriptors import verdict
from tests.operators.gather import rules as of_gather
from tests.operators.gather.rules import gather
from tests.operators.gather_nd import rules as of_gather_nd
from tests.operators.nonzero.rules import nonzero
from tests.operators.one_hot import rules as of_one_hot
from tests.operators.one_hot.rules import one_hot
from tests.operators.reduce.rules import arg, reduce

EXTENDED, LATE = FeatureLevel.EXTENDED, FeatureLevel.LEVEL_6_4
ROOMS = {operator.name: room for operator, room in rooms("rules")}
EACH_ROOM = each("room", ROOMS.values())
EACH_LEVEL = each("level", FeatureLevel)


@each(("operator", "room"), [*rooms("rules")])
def test_every_descriptor_has_rows(operator, room):
    tables = {
        "BROKEN": {type(desc) for _, desc, _ in room.BROKEN},
        "LEGAL_CASES": {type(desc) for _, desc, _ in room.LEGAL_CASES},
        "SINCE": {type(desc) for descs in room.SINCE.values() for desc in descs},
    }
    assert all(found == {*operator.descriptors} for found in tables.values()), tables


@each(
    ("room", "case", "desc", "level"),
    [pytest.param(room, *row, id=row[0]) for room in ROOMS.values() for row in room.BROKEN],
)
def test_broken_rule_is_reported(room, case, desc, level):
    """A case is named after its rule; the tables have the fields of some."""
    rule = case.partition("-")[0]
    with pytest.raises(ck.DescriptorError) as caught:
        desc.validate(level)
    error, field = caught.value, room.FIELDS.get(case.removesuffix("-as-newer"))
    assert (error.operator, error.rule) == (desc.operator, rule)
    assert error.field == (field or room.FIELDS.get(rule) or error.field)
    assert str(error).startswith(f"{desc.operator}: {error.field} must ")
    assert str(error).endswith(f" [{rule}]")
    assert "\n" not in str(error)


@each(
    ("desc", "level"),
    [pytest.param(*rest, id=case) for room in ROOMS.values() for case, *rest in room.LEGAL_CASES],
)
def test_legal_descriptor_is_accepted(desc, level):
    assert desc.validate(level) is None


@each(
    ("rule", "desc", "level"), [(*row, LATE)[:3] for room in ROOMS.values() for row in room.ORDER]
)
def test_first_broken_rule_is_reported(rule, desc, level):
    with pytest.raises(ck.DescriptorError) as caught:
        desc.validate(level)
    assert caught.value.rule == rule


@EACH_ROOM
@EACH_LEVEL
def test_number_of_dimensions(room, level):
    for rank in range(10):
        for desc, expected in room.of_rank(rank, level):
            since = type(desc).introduced
            found = verdict(desc, level)
            assert found == (expected if level >= since else "feature_level"), desc


@EACH_LEVEL
@each("room", [r for r in ROOMS.values() if r.of_type])
def test_types_of_each_level(room, level):
    """T2 for a type that no tensor has at the level, and otherwise the operator's own rule."""
    for kind in NAMES:
        for desc, legal, rule in room.of_type(kind, level):
            expected = expected_rule(kind, legal, rule, level.name)
            if level < type(desc).introduced:
                expected = "feature_level"
            assert verdict(desc, level) == expected, desc


def test_default_feature_level_is_the_last_one_of_directml():
    assert gather((3,), (2,), (2,), 0, 1, "INT64").validate() is None
    assert reduce("sum", (3, 4), (1,), "INT64").validate() is None
    booleans = gather((3,), (2,), (2,), 0, 1, "BOOL")
    assert verdict(booleans) == "T2"
    assert booleans.validate(EXTENDED) is None


@EACH_LEVEL
@each(
    ("since", "descs"), [(level, d) for room in ROOMS.values() for level, d in room.SINCE.items()]
)
def test_an_operator_that_a_level_does_not_have(since, descs, level):
    """The level is reported first, whatever else is wrong. It may be given as a number."""
    for desc in descs:
        for given in (level, int(level)):
            if level >= FeatureLevel[f"LEVEL_{since}"]:
                assert verdict(desc, given) != "feature_level"
                continue
            with pytest.raises(ck.DescriptorError) as caught:
                desc.validate(given)
            assert (caught.value.field, caught.value.rule) == ("feature_level", None)
            assert f"must be at least {since}; got {level.label}" in str(caught.value)


# Which field's type is wrong first, at which level.
TYPES_IN_ORDER = [
    (of_gather.LEGAL_4, {"input_tensor": "INT32", "indices_tensor": "INT32"}, "1_0", "input"),
    (of_gather.LEGAL_4, {"input_tensor": "INT32", "indices_tensor": "INT32"}, "2_1", "indices"),
    (of_gather_nd.LEGAL_4, {"input_tensor": "INT64", "indices_tensor": "INT32"}, "2_1", "input"),
    (of_gather_nd.LEGAL_4, {"input_tensor": "INT16", "indices_tensor": "INT32"}, "3_0", None),
    (of_one_hot.LEGAL_4, {"indices_tensor": "INT32", "values_tensor": "INT64"}, "2_1", "indices"),
    (of_one_hot.LEGAL_4, {"indices_tensor": "INT32", "values_tensor": "INT64"}, "3_0", "values"),
    (of_one_hot.LEGAL_4, {"indices_tensor": "INT32", "values_tensor": "INT64"}, "4_1", None),
]


@each(("desc", "kinds", "label", "first"), TYPES_IN_ORDER)
def test_type_tables_are_checked_last_and_in_order(desc, kinds, label, first):
    level = FeatureLevel[f"LEVEL_{label}"]
    data = kinds.get("input_tensor") or kinds["values_tensor"]
    for field, kind in {**kinds, "output_tensor": data}.items():
        desc = of_gather.change(desc, field, data_type=ck.DataType[kind])
    if first is None:
        assert desc.validate(level) is None
        return
    with pytest.raises(
        ck.DescriptorError, match=f"{first}_tensor.data_type must be .* at {label};"
    ):
        desc.validate(level)
    sizes = (9, *desc.output_tensor.sizes[1:])
    with pytest.raises(ck.DescriptorError, match=r"\.sizes must"):
        of_gather.change(desc, "output_tensor", sizes=sizes).validate(level)


MESSAGES = {
    "gather: output_tensor.sizes must be (2, 4) for axis=0, index_dimensions=1; got (4, 2) [G9]": (
        gather((3, 4), (1, 2), (4, 2), 0, 1)
    ),
    "nonzero_coordinates: output_coordinates_tensor.sizes must have a row for each of 12 elements; "
    "got 11 rows [Z5]": nonzero((3, 4), (1,), (11, 2)),
    "nonzero_coordinates: output_coordinates_tensor.sizes must be 2 to 3 in the last dimension; "
    "got 1 [Z6]": nonzero((1, 3, 4), (1,), (12, 1)),
    "reduce: axes must lie in [0, 1]; got (0, 2) [R3]": reduce("sum", (3, 4), (0, 2)),
    "reduce: axes must name no axis twice; got (1, 1) [R5]": reduce("sum", (3, 4), (1, 1)),
    "argmax: output_tensor.sizes must be (3, 1) for axes=(1,); got (1, 4) [R8]": (
        arg("argmax", (3, 4), (1,), out=(1, 4))
    ),
    "argmin: output_tensor.data_type must hold indices up to 2147516415; got INT32 [R9]": (
        arg("argmin", (2**15, 2**16 + 1), (1, 0), result="INT32")
    ),
    "gather: input_tensor.data_type must be INT8 to INT64, UINT8 to UINT64 or FLOAT16 to FLOAT64; "
    "got BFLOAT16; FeatureLevel.EXTENDED has it [T2]": gather(
        (3, 4), (1, 2), (2, 4), 0, 1, kind="BFLOAT16"
    ),
    "gather: indices_tensor.data_type must be INT32, INT64, UINT32 or UINT64 at 6_4; "
    "got INT8 [G3]": gather((3, 4), (1, 2), (2, 4), 0, 1, index_kind="INT8"),
}


@each("text", MESSAGES)
def test_messages_say_what_is_required_and_found(text):
    with pytest.raises(ck.DescriptorError) as caught:
        MESSAGES[text].validate()
    assert str(caught.value) == text


@each(("desc", "fields"), [row for room in ROOMS.values() for row in room.BINDING])
def test_binding_order(desc, fields):
    assert [name for name, _ in (*desc.inputs(), *desc.outputs())] == fields


def test_rules_that_follow_from_the_tensors_own():
    """O5, a size of 0, is T4 unless the level is the extended one; Z7 is T13 there, too."""
    depth_0 = one_hot((3, 1), (1, 2), (3, 0), 1)
    assert verdict(depth_0) == "T4"
    assert verdict(depth_0, EXTENDED) is None
    assert verdict(nonzero((2**16, 2**16), (1,), (2**32, 2))) == "T13"
    assert verdict(nonzero((1, 2**31), (1,), (2**31, 2))) == "T13"
