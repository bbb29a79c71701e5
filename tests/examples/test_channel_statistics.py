"""Mean and variance of each channel of images (N, C, H, W)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.examples.channel_statistics import ALL_BUT_CHANNELS, channel_statistics, normalise
from tests.helpers.places import get, put, same_bytes
from tests.helpers.rows import each

pytestmark = pytest.mark.device


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
    # Whole numbers, 16 * 64 in a channel, with a whole mean: only the last two steps round.
    images = np.random.default_rng(6).integers(-9, 10, (16, 3, 8, 8)).astype(np.float32)
    images[0, :, 0, 0] += 5 * 1024 - images.sum(ALL_BUT_CHANNELS)
    centred = images - 5
    deviation = np.sqrt((centred * centred).sum(ALL_BUT_CHANNELS, keepdims=True)) / np.float32(32)
    assert same_bytes(normalise(put(images, place)), centred / deviation)
