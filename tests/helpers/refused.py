"""What an error for bad input must be like."""

from __future__ import annotations

import re
import tracemalloc
from contextlib import contextmanager
from importlib import import_module

import pytest

import cudakern as ck
from cudakern.errors import AxisError

WRONG_AXIS = re.compile(r"\w+: axis must (lie in|name no axis twice|be None or \(\) for)")
BASES = {
    ck.ArgumentError: ck.DescriptorError,
    ck.BindingError: ValueError,
    ck.DTypeError: TypeError,
    ck.IndexRangeError: IndexError,
}


def refusals(tables):
    """Return parameters (error, text, call) from tables of texts and calls by class of error.

    A list has several calls with the same answer.
    """
    return [
        (error, text, call)
        for error, table in tables.items()
        for text, calls in table.items()
        for call in (calls if isinstance(calls, list) else [calls])
    ]


@contextmanager
def nothing_allocated():
    """Within, nothing is allocated that counts; modules that calls import are there before."""
    for name in ("ml_dtypes", "numpy.ma"):
        import_module(name)
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def assert_refused(error, text, call):
    """The call raises an error of the class, whose one line is the text; return the error.

    In the text, " ... " stands for anything. A wrong axis is NumPy's error as well.
    """
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    wrong_axis = error is ck.ArgumentError and WRONG_AXIS.match(message)
    assert type(caught.value) is (AxisError if wrong_axis else error)
    assert re.fullmatch(".*".join(map(re.escape, text.split(" ... "))), message)
    assert "\n" not in message
    assert isinstance(caught.value, ck.CudakernError)
    assert isinstance(caught.value, BASES[error])
    assert error is not ck.ArgumentError or caught.value.rule is None
    return caught.value
