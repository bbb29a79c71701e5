"""The exceptions: their classes, their messages, and their pickles."""

from __future__ import annotations

import builtins
import copy
import pickle
import re

import numpy as np
import pytest

import cudakern as ck
from cudakern.errors import AxisError
from tests.helpers.readmes import section
from tests.helpers.rows import each

ERRORS = [
    (ck.CudakernError("broken"), Exception, "broken"),
    (ck.DescriptorError("gather", "axis", "must be 0; got 1", "G4"), ValueError,
     "gather: axis must be 0; got 1 [G4]"),
    (ck.DescriptorError("gather", "mode", "must be 'clamp'"), ValueError,
     "gather: mode must be 'clamp'"),
    (ck.ArgumentError("gather", "mode", "must be 'clamp'"), ck.DescriptorError,
     "gather: mode must be 'clamp'"),
    (AxisError("gather", "must lie in [-2, 1]; got 2", 2, 2), ck.ArgumentError,
     "gather: axis must lie in [-2, 1]; got 2"),
    (AxisError("reduce", "must name no axis twice; got (0, 0)", (0, 0), 1),
     np.exceptions.AxisError, "reduce: axis must name no axis twice; got (0, 0)"),
    (ck.BindingError("gather", "out", "must not overlap x", "T19"), ValueError,
     "gather: out must not overlap x [T19]"),
    (ck.DTypeError("gather: axis must be an int; got 1.5"), TypeError,
     "gather: axis must be an int; got 1.5"),
    (ck.IndexRangeError("gather: indices[0]"), IndexError, "gather: indices[0]"),
    (ck.EngineUnavailableError("cudakern: no driver"), RuntimeError, "cudakern: no driver"),
    (ck.KernelCompileError("gather.cu", ("-O2",), "note\ngather.cu(3): error: no\n"), RuntimeError,
     "gather.cu: the kernel must compile; gather.cu(3): error: no"),
    (ck.SimulatorError("deadlock", "ck_x", (1, 0, 0), (2, 0, 0), "nobody runs"), RuntimeError,
     "ck_x: nobody runs (block (1, 0, 0), thread (2, 0, 0))"),
]  # fmt: skip


@each("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@each(("error", "base", "text"), ERRORS)
def test_error_has_its_base_says_one_line_and_survives_pickling(error, base, text, protocol):
    assert isinstance(error, ck.CudakernError)
    assert str(error) == text
    error = copy.deepcopy(error)
    error.add_note("seen in the second batch")
    again = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301  our own bytes
    assert again.__notes__ == ["seen in the second batch"]
    assert type(again) is type(error)
    assert isinstance(again, base)
    assert str(again) == text
    assert vars(again) == vars(error)
    assert again.args == error.args == (text,) or not isinstance(error, ValueError)


@each("travel", [lambda e: e, copy.copy, copy.deepcopy])
def test_a_wrong_axis_is_numpys_error_too(travel):
    with pytest.raises(IndexError) as caught:
        ck.gather([1, 2], [0], axis=-2)
    error = travel(caught.value)
    for kind in (ck.ArgumentError, np.exceptions.AxisError, ValueError, IndexError):
        assert isinstance(error, kind)
    assert (error.operator, error.field, error.rule) == ("gather", "axis", None)
    assert (error.axis, error.ndim) == (-2, 1)
    assert str(error) == "gather: axis must lie in [-1, 0]; got -2"
    assert repr(error) == f"AxisError('{error}')"


def test_the_page_lists_each_error_with_its_base():
    assert all(getattr(ck, name) for name in ck.__all__)
    text = section("cudakern/operators/reference.md", "## Errors")
    named = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \| ", text, re.MULTILINE))
    kinds = {name: value for name, value in vars(ck).items() if isinstance(value, type)}
    errors = {name for name, kind in kinds.items() if issubclass(kind, ck.CudakernError)}
    assert {*named, "CudakernError"} == errors
    for name, base in named.items():
        assert issubclass(kinds[name], kinds.get(base) or getattr(builtins, base))
