"""Logarithms of probabilities among the elements that a mask lets through."""

from __future__ import annotations

import numpy as np

import cudakern as ck


def masked_log_softmax(scores, mask, axis=-1):
    """Return log-probabilities; those of masked elements are -inf."""
    total = ck.reduce(np.where(mask, scores, -np.inf), "log_sum_exp", axis, keepdims=True)
    return np.where(mask, scores - total, -np.inf)


if __name__ == "__main__":
    from cupy_or_numpy import xp  # beside this file

    scores = xp.array([[2, 1, 0], [5, 6, 7]], dtype=xp.float32)
    mask = xp.array([[True, True, False], [False, False, False]])
    print("log-probabilities; of the second row all is masked:")
    print(masked_log_softmax(scores, mask).round(3))
