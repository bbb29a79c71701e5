"""A mixture of experts: each token goes to its best expert, which takes up to a capacity."""

from __future__ import annotations

import numpy as np
import pytest

import cudakern as ck
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import put, same_bytes


def mixture(tokens, gates, experts, capacity):
    """Run each token through its best expert, or drop it if that is full; return the loads, too."""
    gate = ck.reduce(gates, "max", axis=1)
    expert = ck.reduce(gates, "argmax", axis=1)
    chosen = ck.one_hot(expert, len(experts), dtype="int64")
    load = ck.reduce(chosen, "sum", axis=0)
    slot = ck.gather_nd(chosen.cumsum(axis=0), expert[:, None], batch_dims=1) - 1

    # Tokens sorted by expert, then those in the slots of each; -1 where a slot is empty.
    in_order = ck.nonzero(chosen.T, size=len(tokens))[1]
    slots = np.arange(capacity, like=load)
    token = ck.gather(in_order, (load.cumsum() - load)[:, None] + slots)
    token = np.where(slots < load[:, None], token, -1)

    batches = ck.gather(tokens, token, mode="fill", negative="invalid")
    results = np.stack([run(batch) for run, batch in zip(experts, batches, strict=True)])
    of_token = ck.gather_nd(results, np.stack([expert, slot], axis=1), mode="fill")
    return gate[:, None] * of_token, load


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
