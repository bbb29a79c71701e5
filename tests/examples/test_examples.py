"""The examples on random data, compared with NumPy or exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.examples.beam_reordering import extend, reorder
from tests.examples.boxes_of_class import boxes_of, first_boxes_of
from tests.examples.channel_statistics import ALL_BUT_CHANNELS, channel_statistics, normalise
from tests.examples.label_smoothing import IGNORED, smooth
from tests.examples.masked_log_softmax import masked_log_softmax
from tests.examples.moe_routing import mixture
from tests.examples.padded_embedding import embed, embed_with_padding_token
from tests.examples.voxel_grid import voxels
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import get, put, same_bytes
from tests.helpers.reduce_bounds import Arithmetic, enclose_log_sum_exp
from tests.helpers.rows import each

pytestmark = pytest.mark.device


@PLAIN_UNLESS_THOROUGH
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


@PLAIN_UNLESS_THOROUGH
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


@PLAIN_UNLESS_THOROUGH
@each("classes", [5, 130])
def test_label_smoothing(place, classes):
    labels = np.random.default_rng(8).integers(0, classes, (3, 20))
    labels[:, ::4] = IGNORED
    expected = np.full((3, 20, classes), 0.1 / classes, np.float32)
    for place_of_label in np.argwhere(labels != IGNORED):
        expected[(*place_of_label, labels[tuple(place_of_label)])] = 0.1 / classes + 1 - 0.1
    assert same_bytes(smooth(put(labels, place), classes, 0.1), expected)


def one_by_one(tokens, gates, factors, capacity):
    """Return the results of experts that multiply by these factors, and the load of each."""
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
@each("capacity", [1, 12, 100])
def test_moe_routing(place, capacity):
    rng = np.random.default_rng(0)
    factors = [1, -2, 3, 0.5, 7]
    tokens, gates = rng.random((67, 6), np.float32), rng.random((67, 5), np.float32)
    gates[:, 1] += 0.3
    gates[:, 4] = 0  # no token chooses the last expert
    batches = []
    experts = [lambda batch, by=factor: batches.append(batch) or batch * by for factor in factors]
    found = (*mixture(put(tokens, place), put(gates, place), experts, capacity), *batches)
    expected = one_by_one(tokens, gates, factors, capacity)
    assert all(map(same_bytes, found, expected))
    assert len(found) == len(expected)


@PLAIN_UNLESS_THOROUGH
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


@PLAIN_UNLESS_THOROUGH
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


def test_channel_statistics(place):
    images = np.random.default_rng(5).integers(0, 256, (2, 3, 40, 50), np.uint8)
    images[:, 2] = 255
    found = channel_statistics(put(images, place))
    for channel, mean, variance in zip(images.swapaxes(0, 1), *map(get, found), strict=True):
        values = [int(value) for value in channel.ravel()]
        exact = Fraction(sum(values), len(values))
        assert mean == float(exact)
        squares = Fraction(sum(value * value for value in values), len(values))
        assert variance == pytest.approx(float(squares - exact * exact), rel=1e-15, abs=0)


@each("values", [(0, 255), (254, 255), (255, 255)])
def test_channel_statistics_of_many_pixels(values):
    row = np.array([*values] * 2500, np.uint8)
    mean, variance = channel_statistics(np.broadcast_to(row, (1, 1, 5000, 5000)))
    assert (mean.item(), variance.item()) == (np.mean(values), np.var(values))


def test_normalise(place):
    # Each channel has 16 * 64 integers with an integral mean: only the last two steps round.
    images = np.random.default_rng(6).integers(-9, 10, (16, 3, 8, 8)).astype(np.float32)
    images[8:] = 10 - images[:8]
    centred = images - 5
    deviation = np.sqrt((centred * centred).sum(ALL_BUT_CHANNELS, keepdims=True)) / np.float32(32)
    assert same_bytes(normalise(put(images, place)), centred / deviation)


@each("axis", [-1, 1])
@each("dtype", ["float32", "float64"])
def test_masked_log_softmax(place, axis, dtype):
    rng = np.random.default_rng(3)
    scores = (rng.standard_normal((4, 6, 33)) * 30).astype(dtype)
    mask = rng.random(scores.shape) < 0.4
    mask[1, 2] = mask[1, :, 2] = False  # where nothing is let through, all are -inf
    found = masked_log_softmax(put(scores, place), put(mask, place), axis)
    assert found.dtype == dtype
    found, mask, scores = (np.moveaxis(array, axis, -1) for array in (get(found), mask, scores))
    rows = np.where(mask, scores, -np.inf).astype(np.longdouble)
    with np.errstate(invalid="ignore"):  # -inf - -inf
        total = enclose_log_sum_exp(rows, Arithmetic(dtype))
        low, high = ((rows - end[..., None]).astype(dtype) for end in (total.high, total.low))
    assert (found[~mask] == -np.inf).all()
    assert ((low <= found) & (found <= high))[mask].all()
