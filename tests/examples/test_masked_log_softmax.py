"""Logarithms of probabilities among the elements that a mask lets through."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.masked_log_softmax import masked_log_softmax
from tests.helpers.places import get, put
from tests.helpers.reduce_bounds import Arithmetic, enclose_log_sum_exp
from tests.helpers.rows import each

pytestmark = pytest.mark.device


@each("axis", [-1, 1])
@each("dtype", ["float32", "float64"])
def test_masked_log_softmax(place, axis, dtype):
    rng = np.random.default_rng(3)
    scores = (rng.standard_normal((4, 6, 33)) * 30).astype(dtype)
    mask = rng.random(scores.shape) < 0.4
    mask[1, 2] = mask[1, :, 2] = False  # of nothing, all are -inf
    found = masked_log_softmax(put(scores, place), put(mask, place), axis)
    assert found.dtype == dtype
    found, mask, scores = (np.moveaxis(array, axis, -1) for array in (get(found), mask, scores))
    rows = np.where(mask, scores, -np.inf).astype(np.longdouble)
    with np.errstate(invalid="ignore"):  # -inf - -inf
        total = enclose_log_sum_exp(rows, Arithmetic(dtype))
        low, high = ((rows - end[..., None]).astype(dtype) for end in (total.high, total.low))
    assert (found[~mask] == -np.inf).all()
    assert ((low <= found) & (found <= high))[mask].all()
