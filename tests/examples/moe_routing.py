"""A mixture of experts: each token goes to its best expert, unless that has no room left."""

from __future__ import annotations

import numpy as np

import cudakern as ck


def mixture(tokens, gates, experts, capacity):
    """Run each token through its best expert, or drop it if that is full; also return the loads."""
    gate = ck.reduce(gates, "max", axis=1)
    expert = ck.reduce(gates, "argmax", axis=1)
    chosen = ck.one_hot(expert, len(experts), dtype="int64")
    load = ck.reduce(chosen, "sum", axis=0)
    slot = ck.gather_nd(chosen.cumsum(axis=0), expert[:, None], batch_dims=1) - 1

    # Tokens sorted by expert, then the token in each slot of each expert, or -1 if it is empty.
    in_order = ck.nonzero(chosen.T, size=len(tokens))[1]
    slots = np.arange(capacity, like=load)
    token = ck.gather(in_order, (load.cumsum() - load)[:, None] + slots)
    token = np.where(slots < load[:, None], token, -1)

    batches = ck.gather(tokens, token, mode="fill", negative="invalid")
    results = np.stack([run(batch) for run, batch in zip(experts, batches, strict=True)])
    of_token = ck.gather_nd(results, np.stack([expert, slot], axis=1), mode="fill")
    return gate[:, None] * of_token, load


if __name__ == "__main__":
    from cupy_or_numpy import xp  # beside this file

    tokens = xp.array([[1, 2], [3, 4], [5, 6]], dtype=xp.float32)
    gates = xp.array([[0.75, 0.25], [0.5, 0.25], [0.25, 1]], dtype=xp.float32)
    experts = [lambda batch: batch * 10, lambda batch: -batch]
    result, load = mixture(tokens, gates, experts, capacity=1)
    print("loads of the experts:", load, "and, with room for one token each, the results:")
    print(result)
