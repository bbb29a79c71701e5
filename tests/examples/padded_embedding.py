"""Embedding vectors of padded sentences: padding gives zeros."""

from __future__ import annotations

import numpy as np

import cudakern as ck


def embed(table, tokens):
    """Look up the vectors of tokens; -1 is padding."""
    return ck.gather(table, tokens, mode="fill", negative="invalid")


def embed_with_padding_token(table, tokens, padding):
    """Look up the vectors of tokens, of which one is padding."""
    return embed(table, np.where(tokens == padding, -1, tokens))


if __name__ == "__main__":
    from cupy_or_numpy import xp  # beside this file

    table = xp.array([[1, 2], [3, 4], [5, 6]], dtype=xp.float32)
    print("the sentences 2 0 and 1, padded:")
    print(embed(table, xp.array([[2, 0], [1, -1]])))
