"""Embedding vectors of padded sentences: padding gives zeros."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.padded_embedding import embed, embed_with_padding_token
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import put, same_bytes

pytestmark = pytest.mark.device


@PLAIN_UNLESS_THOROUGH
@pytest.mark.parametrize("padding", [-1, 0, 3])
def test_padded_embedding(place, padding):
    rng = np.random.default_rng(1)
    table = rng.standard_normal((9, 5), np.float32)
    lengths = np.array([7, 1, 0, 4])
    is_padding = np.arange(7) >= lengths[:, None]
    tokens = rng.choice([token for token in range(9) if token != padding], (4, 7))
    tokens[is_padding] = padding
    given = put(table, place), put(tokens, place)
    found = embed(*given) if padding == -1 else embed_with_padding_token(*given, padding)
    assert same_bytes(found, np.where(is_padding[..., None], np.float32(0), table[tokens]))
