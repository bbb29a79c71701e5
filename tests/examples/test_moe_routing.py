"""A mixture of experts: each token goes to its best expert, which takes up to a capacity."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.moe_routing import mixture
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import put, same_bytes

pytestmark = pytest.mark.device


def one_by_one(tokens, gates, factors, capacity):
    """Return the same of experts that multiply by these factors, and what each of them gets."""
    result, load = np.zeros_like(tokens), np.zeros(len(factors), np.int64)
    batches = np.zeros((len(factors), capacity, *tokens.shape[1:]), tokens.dtype)
    for token, weights, row in zip(tokens, gates, result, strict=True):
        best = np.argmax(weights)
        if load[best] < capacity:
            batches[best, load[best]] = token
            row[...] = weights[best] * (token * factors[best])
        load[best] += 1
    return result, load, *batches


@PLAIN_UNLESS_THOROUGH
@pytest.mark.parametrize("capacity", [1, 12, 100])
def test_moe_routing(place, capacity):
    rng = np.random.default_rng(0)
    factors = [1, -2, 3, 0.5, 7]
    tokens, gates = rng.random((67, 6), np.float32), rng.random((67, 5), np.float32)
    gates[:, 1] += 0.3
    gates[:, 4] = 0  # nobody likes the last expert
    batches = []
    experts = [lambda batch, by=factor: batches.append(batch) or batch * by for factor in factors]
    found = (*mixture(put(tokens, place), put(gates, place), experts, capacity), *batches)
    expected = one_by_one(tokens, gates, factors, capacity)
    assert all(map(same_bytes, found, expected))
    assert len(found) == len(expected)
