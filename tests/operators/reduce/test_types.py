"""Legal arguments of reduce, argmax and argmin: data types at each level, functions, axes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

import cudakern as ck
from cudakern import DataType, FeatureLevel, ReduceFunction
from cudakern.operators.reduce.types import as_function, result_type
from tests.helpers import reduce as oracle
from tests.helpers.refused import assert_refused
from tests.helpers.rows import each
from tests.helpers.type_table import FLOATS, INDEX, MORE, NAMES, SMALL, expected_rule
from tests.operators.descriptors import verdict
from tests.operators.reduce.rules import (
    ARG_DESCS,
    ARGMAX,
    ARGMIN,
    DECREASING,
    INCREASING,
    LEGAL,
    arg,
    of_function,
    reduce,
)

INT32, INT64 = {"INT32", "UINT32"}, {"INT64", "UINT64"}
INTEGERS = INT32 | INT64 | {"INT16", "INT8", "UINT16", "UINT8"}
#: What the input of a function may be from a level on.
ARG = {"1_0": FLOATS, "2_1": SMALL, "4_1": SMALL | INT64}
EXTREME = {"1_0": FLOATS, "2_1": FLOATS | INT32, "3_0": SMALL, "5_0": SMALL | INT64}
ADDED = {"1_0": FLOATS, "2_1": FLOATS | INT32, "5_0": FLOATS | INT32 | INT64}
NORM = {"1_0": FLOATS, "5_0": FLOATS | INT32 | INT64}
FLOATING = {"1_0": FLOATS}
INPUTS = {
    "argmax": ARG, "argmin": ARG, "average": FLOATING, "l1": NORM, "l2": FLOATING,
    "log_sum": FLOATING, "log_sum_exp": FLOATING, "max": EXTREME, "min": EXTREME,
    "multiply": ADDED, "sum": ADDED, "sum_square": NORM,
}  # fmt: skip
SIZES, AXES = (1, 2, 3, 4), (1, 3)
EACH_FUNCTION = each("function", INPUTS)
EACH_LEVEL = each("level", FeatureLevel)


def is_legal(function, kind):
    return oracle.is_legal(function, DataType[kind].numpy)


@EACH_LEVEL
@EACH_FUNCTION
def test_inputs_of_each_level(function, level):
    """A level without a row of its own has that of the last one which has."""
    table, rules, expected = INPUTS[function], {}, {}
    legal = table[max(label for label in table if label <= level.label)]
    if level is FeatureLevel.EXTENDED:
        legal = {kind for kind in MORE if is_legal(function, kind)}
    for kind in NAMES:
        whole = level is FeatureLevel.EXTENDED and kind in INTEGERS | {"BOOL"}
        result = "FLOAT64" if whole and function in oracle.FLOATING else None
        expected[kind] = expected_rule(kind, legal, "R10", level.name)
        rules[kind] = verdict(reduce(function, SIZES, AXES, kind, result), level)
        if function in ARG_DESCS and level >= FeatureLevel.LEVEL_3_0:
            assert verdict(arg(function, SIZES, AXES, kind=kind), level) == rules[kind]
    assert rules == expected


@each("function", ARG_DESCS)
@EACH_LEVEL
def test_indices_of_each_level(function, level):
    legal = {"UINT32"} if level < FeatureLevel.LEVEL_3_0 else INDEX
    rule = "R10"
    if level is FeatureLevel.EXTENDED:
        legal, rule = INTEGERS, "R9"
    for kind in NAMES:
        expected = expected_rule(kind, legal, rule, level.name)
        assert verdict(reduce(function, SIZES, AXES, result=kind), level) == expected
        if level >= FeatureLevel.LEVEL_3_0:
            assert verdict(arg(function, SIZES, AXES, result=kind), level) == expected


def may_give(function, kind, result):
    """Return whether a function of a type may give another one."""
    least, wanted = (oracle.category(DataType[name].numpy) for name in (kind, result))
    if function in ARG_DESCS:
        return wanted == 1
    if function in oracle.FLOATING:
        least = max(least, 2)
    if function in {"l1", "l2"}:
        least = min(least, 2)
    return wanted >= least


@EACH_FUNCTION
def test_results_at_the_extended_level(function):
    for kind, result in product(sorted(MORE), repeat=2):
        rule = None if is_legal(function, kind) else "R10"
        if rule is None and not may_give(function, kind, result):
            rule = "R9"
        desc = reduce(function, SIZES, AXES, kind, result)
        assert verdict(desc, FeatureLevel.EXTENDED) in {rule, "R9" if rule else None}


@EACH_FUNCTION
def test_result_if_none_is_asked_for(function):
    for kind in filter(partial(is_legal, function), MORE):
        expected = oracle.result_dtype(function, DataType[kind].numpy)
        assert result_type(as_function(function), DataType[kind]).numpy == expected


def test_functions_have_names_and_the_values_of_directml():
    for value, name in enumerate(INPUTS):
        member = ReduceFunction[name.upper()]
        assert (member, member.label) == (value, name)
        for spelling in (name, np.str_(name), member):
            assert as_function(spelling) is of_function(spelling).function is member
        for number in (value, np.int8(value)):
            assert of_function(number).function is member
    assert len(ReduceFunction) == len(INPUTS) == 12


@each("operator", ARG_DESCS)
def test_axis_direction_is_one_of_two(operator):
    assert (INCREASING, DECREASING) == (0, 1)
    assert arg(operator, (3, 4), (1,), 1).axis_direction is DECREASING
    meant = {"increasing": "INCREASING", "DML_AXIS_DIRECTION_DECREASING": "DECREASING"}
    for direction in (2, -1, None, "up", *meant):
        with pytest.raises(ck.DescriptorError) as caught:
            arg(operator, (3, 4), (1,), direction).validate()
        assert (caught.value.operator, caught.value.field) == (operator, "axis_direction")
        text = f"{operator}: axis_direction must be INCREASING or DECREASING; got {direction!r}"
        if direction in meant:
            text += f"; did you mean AxisDirection.{meant[direction]}?"
        assert str(caught.value) == text


@each("axes", [[1, 0], (1, 0), np.array([1, 0], np.uint32), iter((1, 0))])
def test_axes_are_kept_as_given(axes):
    desc = replace(LEGAL, axes=axes)
    assert desc.axes == (1, 0)
    assert all(type(axis) is int for axis in desc.axes)
    assert hash(desc) == hash(replace(LEGAL, axes=(1, 0)))
    assert desc != replace(LEGAL, axes=(0, 1))


@each("axes", [1, None, (0.5,), (1.0,), "01", ((0,),)])
@each("desc", [LEGAL, ARGMAX, ARGMIN])
def test_axes_are_integers(desc, axes):
    text = f"{type(desc).__name__}: axes must be a sequence of integers; got {axes!r}"
    text += "; did you mean (1,)?" if axes == 1 else ""
    assert_refused(ck.DTypeError, text, lambda: replace(desc, axes=axes))
