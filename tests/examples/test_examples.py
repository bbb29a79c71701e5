"""The smaller examples on random data, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.beam_reordering import extend, reorder
from tests.examples.boxes_of_class import boxes_of, first_boxes_of
from tests.examples.label_smoothing import IGNORED, smooth
from tests.examples.moe_routing import mixture
from tests.examples.padded_embedding import embed, embed_with_padding_token
from tests.examples.voxel_grid import voxels
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import get, put, same_bytes
from tests.helpers.rows import each

pytestmark = [pytest.mark.device, PLAIN_UNLESS_THOROUGH]


def test_beam_reordering(place):
    rng = np.random.default_rng(4)
    histories = rng.integers(0, 1000, (3, 4, 9))
    caches = rng.standard_normal((2, 3, 4, 5, 8)).astype(np.float16)
    parents, words = rng.integers(0, 4, (3, 4)), rng.integers(0, 1000, (3, 4))
    found = extend(*(put(array, place) for array in (histories, parents, words)))
    batch = np.arange(3)[:, None]
    assert same_bytes(found, np.dstack([histories[batch, parents], words]))
    found = reorder(put(caches, place), put(parents, place))
    assert same_bytes(found, caches[:, batch, parents])


@each("wanted", [0, 3, 7])
def test_boxes_of_class(place, wanted):
    rng = np.random.default_rng(7)
    boxes = rng.random((50, 4), np.float32)
    classes = rng.integers(0, 5, 50, np.int32)
    expected = boxes[classes == wanted]
    given = put(boxes, place), put(classes, place), wanted
    assert same_bytes(boxes_of(*given), expected)
    padded = np.pad(expected, ((0, 12), (0, 0)))[:12]
    assert same_bytes(first_boxes_of(*given, 12), padded)


@each("classes", [5, 130])
def test_label_smoothing(place, classes):
    labels = np.random.default_rng(8).integers(0, classes, (3, 20))
    labels[:, ::4] = IGNORED
    expected = np.full((3, 20, classes), 0.1 / classes, np.float32)
    for place_of_label in np.argwhere(labels != IGNORED):
        expected[(*place_of_label, labels[tuple(place_of_label)])] = 0.1 / classes + 1 - 0.1
    assert same_bytes(smooth(put(labels, place), classes, 0.1), expected)


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


@each("capacity", [1, 12, 100])
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


@each("padding", [-1, 0, 3])
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


@each("spare", [-1, 0, 1, 300])
def test_voxel_grid(place, spare):
    rng = np.random.default_rng(2)
    density = rng.standard_normal((8, 9, 10), np.float32) - 1
    features = rng.standard_normal((8, 9, 10, 3), np.float32)
    occupied = np.argwhere(density > 0)
    capacity = len(occupied) + spare
    cells, vectors, overflows = voxels(put(density, place), put(features, place), capacity)
    kept = occupied[:capacity]
    padding = ((0, capacity - len(kept)), (0, 0))
    assert same_bytes(cells, np.pad(kept, padding, constant_values=-1))
    assert same_bytes(vectors, np.pad(features[tuple(kept.T)], padding))
    assert get(overflows).tolist() == [spare < 0]
