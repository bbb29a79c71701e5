"""What the descriptors of reduce, argmax and argmin keep: functions, axes, directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cudakern as ck
from cudakern import ReduceFunction
from tests.helpers.reduce import FUNCTIONS
from tests.operators.reduce.rules import (
    ARG_DESCS,
    ARGMAX,
    ARGMIN,
    DECREASING,
    INCREASING,
    LEGAL,
    arg,
    of_function,
)

EACH = pytest.mark.parametrize("desc", [LEGAL, ARGMAX, ARGMIN], ids=lambda desc: desc.operator)


@pytest.mark.parametrize("operator", ARG_DESCS)
@pytest.mark.parametrize("direction", [2, -1, None, "increasing"])
def test_axis_direction_is_one_of_two(operator, direction):
    with pytest.raises(ck.DescriptorError) as caught:
        arg(operator, (3, 4), (1,), direction).validate()
    assert (caught.value.operator, caught.value.field) == (operator, "axis_direction")
    message = f"{operator}: axis_direction must be INCREASING or DECREASING; got {direction!r}"
    assert str(caught.value) == message


def test_values_are_those_of_directml():
    assert (INCREASING, DECREASING) == (0, 1)
    assert arg("argmax", (3, 4), (1,), 1).axis_direction is DECREASING
    for value, name in enumerate(FUNCTIONS):
        found = {of_function(value).function, of_function(name).function}
        assert found == {ReduceFunction[name.upper()]} == {value}


@pytest.mark.parametrize("axes", [[1, 0], (1, 0), np.array([1, 0], np.uint32), iter((1, 0))])
def test_axes_are_kept_as_given(axes):
    desc = replace(LEGAL, axes=axes)
    assert desc.axes == (1, 0)
    assert all(type(axis) is int for axis in desc.axes)
    assert hash(desc) == hash(replace(LEGAL, axes=(1, 0)))
    assert desc != replace(LEGAL, axes=(0, 1))


@pytest.mark.parametrize("axes", [1, None, (0.5,), (1.0,), "01", ((0,),)])
@EACH
def test_axes_are_integers(desc, axes):
    with pytest.raises(ck.DTypeError) as caught:
        replace(desc, axes=axes)
    name = type(desc).__name__
    assert str(caught.value) == f"{name}: axes must be a sequence of integers; got {axes!r}"
