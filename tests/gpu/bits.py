"""Results whose bits are the same on a GPU and in the simulator, since each step's rounding is."""

from __future__ import annotations

from functools import partial

import numpy as np

import cudakern as ck
from cudakern.values.dtypes import bfloat16
from tests.gpu.calls import assert_are, outputs
from tests.helpers.places import put

#: A shape and an axis for each way to reduce.
WAYS = (((60_000,), 0), ((300, 1001), 0), ((300, 1001), 1), ((5000, 33), 1), ((9000, 8), 0))
FUNCTIONS = ("sum", "average", "l1", "l2", "multiply", "sum_square")
DTYPES = ("float16", "float64", "complex64")


def values(shape, dtype):
    """Return numbers around 1, of which also a product is finite, of either sign."""
    rng = np.random.default_rng(7)
    x = rng.lognormal(0, 0.01, shape) * rng.choice([-1, 1], shape)
    if np.dtype(dtype).kind == "c":
        x = x * np.exp(1j * rng.uniform(0, 2 * np.pi, shape))
    return x.astype(dtype)


def bits(place):
    """Yield a check of each function, data type and way."""

    def check(function, dtype, shape, axis):
        x = values(shape, dtype)
        expected = np.asarray(ck.reduce(x, function, axis))  # an array of NumPy: the simulator
        out = outputs((expected,), place)
        ck.reduce(put(x, place), function, axis, out=out[0])
        assert_are(out, (expected,))

    pairs = [(function, "float32") for function in FUNCTIONS]
    pairs += [("sum", dtype) for dtype in filter(None, (*DTYPES, bfloat16()))]
    for function, dtype in pairs:
        for shape, axis in WAYS:
            label = f"{function} of {np.dtype(dtype)}, {list(shape)}, axis {axis}"
            yield label, partial(check, function, dtype, shape, axis)
