"""Data types of reduce: DirectML's tables at every level, and what the function takes and gives."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from cudakern import DataType, FeatureLevel
from cudakern.operators.reduce.function import as_function
from cudakern.operators.reduce.types import ReduceFunction, result_type
from tests.helpers.type_table import FLOATS, INDEX, MORE, NAMES, SMALL, expected_rule
from tests.operators.descriptors import verdict
from tests.operators.reduce.rules import ARG_DESCS, arg, reduce

INT32, INT64 = {"INT32", "UINT32"}, {"INT64", "UINT64"}
COMPLEX = {"COMPLEX64", "COMPLEX128"}
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
ORDERED = {"argmax", "argmin", "max", "min", "log_sum_exp"}
FLOAT_RESULTS = {name for name, table in INPUTS.items() if table is FLOATING}
SIZES, AXES = (1, 2, 3, 4), (1, 3)


def rows():
    """Give each level its row: that of the last level which has one."""
    for function, table in INPUTS.items():
        legal = set()
        for level in FeatureLevel:
            legal = table.get(level.label, legal)
            if level is FeatureLevel.EXTENDED:
                legal = MORE - COMPLEX if function in ORDERED else MORE
            yield pytest.param(function, level, legal, id=f"{function}-{level.name}")


@pytest.mark.parametrize(("function", "level", "legal"), list(rows()))
def test_inputs_of_each_level(function, level, legal):
    found, expected = {}, {}
    for kind in NAMES:
        whole = level is FeatureLevel.EXTENDED and kind in INTEGERS | {"BOOL"}
        result = "FLOAT64" if whole and function in FLOAT_RESULTS else None
        expected[kind] = expected_rule(kind, legal, "R10", level.name)
        found[kind] = verdict(reduce(function, SIZES, AXES, kind, result), level)
        if function in ARG_DESCS and level >= FeatureLevel.LEVEL_3_0:
            assert verdict(arg(function, SIZES, AXES, kind=kind), level) == found[kind]
    assert found == expected


@pytest.mark.parametrize("function", ARG_DESCS)
@pytest.mark.parametrize("level", FeatureLevel, ids=lambda level: level.name)
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


def category(kind):
    return 0 if kind == "BOOL" else 1 if kind in INTEGERS else 3 if kind in COMPLEX else 2


def may_give(function, kind, result):
    """Return whether a function of a type may give another one."""
    if function in ARG_DESCS:
        return category(result) == 1
    least = category(kind)
    if function in FLOAT_RESULTS:
        least = max(least, 2)
    if function in {"l1", "l2"}:
        least = min(least, 2)
    return category(result) >= least


@pytest.mark.parametrize("function", INPUTS)
def test_results_at_the_extended_level(function):
    """As the function's, and the function refuses the same ones."""
    for kind in sorted(MORE - (COMPLEX if function in ORDERED else set())):
        for result in sorted(MORE):
            legal = may_give(function, kind, result)
            desc = reduce(function, SIZES, AXES, kind, result)
            assert verdict(desc, FeatureLevel.EXTENDED) == (None if legal else "R9")
            arguments = as_function(function), DataType[kind], DataType[result]
            if legal:
                assert result_type(*arguments) is DataType[result]
            else:
                with pytest.raises(
                    ck.DTypeError, match=f"reduce: dtype must be .*; got {result.lower()}"
                ):
                    result_type(*arguments)


@pytest.mark.parametrize("function", INPUTS)
def test_result_if_none_is_asked_for(function):
    for kind in sorted(MORE - (COMPLEX if function in ORDERED else set())):
        expected = kind
        if function in ARG_DESCS:
            expected = "INT64"
        elif function in FLOAT_RESULTS and category(kind) < 2:
            expected = "FLOAT64"
        elif kind == "BOOL" and function in {"sum", "l1", "sum_square"}:
            expected = "INT64"
        assert result_type(as_function(function), DataType[kind]).name == expected


@pytest.mark.parametrize("function", sorted(ORDERED))
@pytest.mark.parametrize("kind", sorted(COMPLEX))
@pytest.mark.parametrize("requested", [None, "INT64", "COMPLEX128"])
def test_complex_numbers_have_no_order(function, kind, requested):
    with pytest.raises(ck.DTypeError) as caught:
        result_type(as_function(function), DataType[kind], requested and DataType[requested])
    assert str(caught.value) == (
        f"reduce: x.dtype must be real for {function}: complex numbers have no order; "
        f"got {kind.lower()}"
    )


def test_functions_have_names_and_values():
    for value, name in enumerate(INPUTS):
        member = ReduceFunction(value)
        assert member.label == name
        for given in (name, np.str_(name), member, value, np.int8(value)):
            assert as_function(given) is member
    assert len(ReduceFunction) == len(INPUTS) == 12
