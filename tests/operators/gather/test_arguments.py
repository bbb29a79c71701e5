"""What gather answers to wrong arguments of its own, word by word."""

from __future__ import annotations

import numpy as np

import cudakern as ck
from tests.helpers.refused import assert_refused, refusals
from tests.helpers.rows import each

X = np.arange(6, dtype=np.float32).reshape(2, 3)
I = np.array([0, -1], np.int32)  # noqa: E741  as in the operator's formula
MODE = "mode must be 'clamp', 'wrap', 'fill' or 'raise'; got "
NEGATIVE = "negative must be 'from_end' or 'invalid'; got "
#: Words of other libraries and misspelt ones, and what is meant.
MEANT = {
    "clip": "clamp", "CLAMP": "clamp", "nearest": "clamp", "promise_in_bounds": "clamp",
    "constant": "fill", "filled": "fill", "error": "raise", "modulo": "wrap", "clop": "clamp",
    "nearst": "clamp", "errors": "raise", "wrp": "wrap",
}  # fmt: skip


def call(x=X, indices=I, axis=0, **options):
    return lambda: ck.gather(x, indices, axis, **options)


TABLES = {
    ck.ArgumentError: {
        "axis must lie in [-2, 1]; got 2": call(axis=2),
        "axis must lie in [-2, 1]; got -3": call(axis=-3),
        **{f"{MODE}{k!r}; did you mean {v!r}?": call(mode=k) for k, v in MEANT.items()},
        **{f"{MODE}{word!r}": call(mode=word) for word in ("mirror", "reflect", "mod", "r")},
        f"{MODE}['clamp']": call(mode=["clamp"]),
        f"{MODE}None": call(mode=None),
        f"{MODE}array([[0., 1., 2.], [3., 4., 5.]], dtype=float32)": call(mode=X),
        f"{NEGATIVE}'from-end'; did you mean 'from_end'?": call(negative="from-end"),
        f"{NEGATIVE}array([ 0, -1], dtype=int32)": call(negative=I),
        "negative must be 'from_end' for mode='clamp'; got 'invalid'": call(negative="invalid"),
        "fill_value must come with mode='fill'; got 0 with mode='clamp'": call(fill_value=0),
        "fill_value must come with mode='fill'; got None with mode='wrap'": call(
            mode="wrap", fill_value=None
        ),
    },
    ck.DTypeError: {
        "axis must be an int; got 1.5": call(axis=1.5),
        "axis must be an int; got (0,); did you mean 0?": call(axis=(0,)),
        "axis must be an int; got [-1]; did you mean -1?": call(axis=[-1]),
        "axis must be an int; got (0, 1)": call(axis=(0, 1)),
        "axis must be an int; got inf": call(axis=float("inf")),
        "axis must be an int; got 'last'; did you mean -1?": call(axis="last"),
        "axis must be an int; got 'depth'": call(axis="depth"),
        "fill_value must be a scalar; got shape (2,)": call(mode="fill", fill_value=[1, 2]),
    },
    ck.BindingError: {
        "out must have shape (2, 2) for axis=1; got (2, 3)": call(axis=1, out=X.copy())
    },
    ck.IndexRangeError: {
        "indices[1] must lie in [-3, 2] for x.shape[1]=3; got 3": call(X, [0, 3], 1, mode="raise")
    },
}


@each(("error", "text", "call"), refusals(TABLES))
def test_answer(error, text, call):
    assert_refused(error, f"gather: {text}", call)


def test_an_argument_error_is_a_descriptor_error_without_a_rule():
    error = assert_refused(ck.ArgumentError, "gather: axis ... ; got 2", call(axis=2))
    assert isinstance(error, ck.DescriptorError)
    assert (error.operator, error.field, error.rule) == ("gather", "axis", None)
