"""Integers are integers and flags are flags: in every function, over dask, in every descriptor."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from importlib import import_module
from inspect import signature

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.libraries import ABSENT
from tests.helpers.operator_samples import functions, rooms, rows
from tests.helpers.refused import assert_refused
from tests.helpers.rows import each
from tests.operators.gather.rules import LEGAL as GATHER

X = np.arange(12, dtype=np.float32).reshape(3, 4)


class Scalar:
    """A tensor without dimensions as PyTorch has them: a bool is an integer, too."""

    def __init__(self, value, dtype):
        self.value, self.dtype = value, dtype

    def __index__(self):
        return int(self.value)

    def __bool__(self):
        return bool(self.value)

    def __repr__(self):
        return f"tensor({self.value})"


TENSOR_OF_BOOL = Scalar(value=True, dtype="torch.bool")
NO_INTEGERS = [True, False, np.True_, np.False_, np.array(object=True), TENSOR_OF_BOOL]
NO_FLAGS = [0, 1, 2, np.int64(1), 1.0, "True", "", None, [], np.array([True]),
            np.array(object=True), TENSOR_OF_BOOL]  # fmt: skip
INTEGERS = [1, np.int8(1), np.uint64(1), np.array(1), Scalar(1, "torch.int64")]
EQUALS = rows("EQUALS")


def takes(*annotations):
    """Return what takes the value of a parameter and returns the last result, by parameter."""

    def last(call, library, value):
        found = call(library, value)
        return found[-1] if isinstance(found, tuple) else found

    return {
        name: partial(last, EQUALS[name][0])
        for function in functions()
        for p in signature(function).parameters.values()
        for name in [f"{function.__name__}: {p.name}"]
        if p.annotation in annotations
    }


TAKES_INTEGER = takes("Integer", "Integer | None", "Axes")
TAKES_FLAG = takes("Flag")
MODULES = {"ck": ck}
if "dask" not in ABSENT:
    MODULES["dask"] = import_module("cudakern.dask")
LIBRARIES = each("library", MODULES.values())


@LIBRARIES
@each("value", NO_INTEGERS)
@each("name", TAKES_INTEGER)
def test_a_flag_is_no_integer(launches, library, name, value):
    requirement = "an int, a tuple of ints or None" if name == "reduce: axis" else "an int"
    text = f"{name} must be {requirement}; got {value!r}"
    assert_refused(ck.DTypeError, text, lambda: TAKES_INTEGER[name](library, value))
    assert not launches


@LIBRARIES
@each("value", NO_INTEGERS)
def test_a_flag_is_no_axis_among_several(library, value):
    for axes in ((value,), (0, value), (value, -2)):
        text = f"reduce: axis must be an int, a tuple of ints or None; got {axes!r}"
        assert_refused(ck.DTypeError, text, lambda axes=axes: library.reduce(X, "sum", axes))


@LIBRARIES
@each("value", INTEGERS)
@each("name", TAKES_INTEGER)
def test_integers_of_all_kinds_are_integers(library, name, value):
    found, expected = (np.asarray(TAKES_INTEGER[name](library, v)) for v in (value, 1))
    assert np.array_equal(found, expected)


@LIBRARIES
@each("value", NO_FLAGS)
@each("name", TAKES_FLAG)
def test_an_integer_is_no_flag(launches, library, name, value):
    flag = bool(np.any(value))
    expected = np.asarray(TAKES_FLAG[name](library, flag))  # an equal flag has a plan already
    assert np.array_equal(np.asarray(TAKES_FLAG[name](library, np.bool_(flag))), expected)
    launches.clear()
    text = f"{name} must be True or False; got {value!r}"
    assert_refused(ck.ArgumentError, text, lambda: TAKES_FLAG[name](library, value))
    assert not launches


#: Of an operator's own; 8 is none of any.
WRONG_AXES = {
    "gather: axis": [2, -3, 2**64, np.int8(2)],
    "one_hot: axis": [2, -3],
    "reduce: axis": [2, -3, (0, 2), (-3,), (0, 0), (1, -1)],
}


@LIBRARIES
@each("name", [name for name in TAKES_INTEGER if name.endswith(": axis")])
def test_a_wrong_axis_is_numpys_error_too(library, name):
    for axis in (8, *WRONG_AXES.get(name, [])):
        text = f"{name} must  ... ; got  ... "
        call = partial(TAKES_INTEGER[name], library, axis)
        error = assert_refused(ck.ArgumentError, text, call)
        assert isinstance(error, np.exceptions.AxisError)
        assert isinstance(error, IndexError)
    with pytest.raises(np.exceptions.AxisError, match="axis must be None or \\(\\) for a scalar"):
        library.reduce(1.5, "sum", 0)


@LIBRARIES
@each("flag", [False, True])
def test_a_flag_is_a_scalar(library, flag):
    found = library.gather(X, [9], mode="fill", fill_value=flag)
    assert np.array_equal(np.asarray(found), np.full((1, 4), flag))
    assert np.asarray(library.nonzero([0], size=1, fill_value=flag)[0]) == flag
    assert np.asarray(library.reduce([1], "sum", initial=flag)) == 1 + flag


TENSOR = GATHER.input_tensor
#: One of each class, and a tensor.
DESCRIPTORS = {
    type(desc): desc for _, room in rooms("rules") for _, desc, _ in room.LEGAL_CASES[::-1]
} | {ck.TensorDesc: TENSOR}
#: Each field of a descriptor that is an integer, or has some.
FIELDS = [
    (desc, field.name, field.type)
    for desc in DESCRIPTORS.values()
    for field in fields(desc)
    if field.type != "TensorDesc"
]
#: Those that are members of an enumeration, which a rule holds against it.
BY_RULE = {"function": "R1", "axis_direction": None}


@each("value", NO_INTEGERS)
@each(("desc", "field", "kind"), FIELDS)
def test_a_flag_is_no_field_of_a_descriptor(desc, field, kind, value):
    value = (value,) if kind.startswith("tuple") else value
    if field in BY_RULE:
        with pytest.raises(ck.DescriptorError) as caught:
            replace(desc, **{field: value}).validate()
        assert (caught.value.field, caught.value.rule) == (field, BY_RULE[field])
        assert str(caught.value).removesuffix(" [R1]").endswith(f"; got {value!r}")
    else:
        text = f"{type(desc).__name__}: {field} must be  ... ; got {value!r}"
        assert_refused(ck.DTypeError, text, lambda: replace(desc, **{field: value}))


@each("value", [*NO_INTEGERS, float(ck.FeatureLevel.LEVEL_6_4)])
def test_a_flag_is_no_feature_level(value):
    for call in (GATHER.validate, lambda level: ck.compile_operator(GATHER, level)):
        with pytest.raises(ck.ArgumentError, match="feature_level must be a FeatureLevel, such as"):
            call(value)
