"""What an error for bad input must be like."""

from __future__ import annotations

import pytest

import cudakern as ck

BASES = {
    ck.ArgumentError: ck.DescriptorError,
    ck.BindingError: ValueError,
    ck.DTypeError: TypeError,
    ck.IndexRangeError: IndexError,
}


def assert_named(operator, call, error, text):
    """The call raises an error of the class, in one line that names the operator."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    message = str(caught.value)
    assert text in message
    assert "\n" not in message
    assert message.startswith(f"{operator}: ")
    assert isinstance(caught.value, ck.CudakernError)
    assert isinstance(caught.value, BASES[error])
    assert error is not ck.ArgumentError or caught.value.rule is None
