"""Smoothed targets of a classifier; a label to be ignored is off everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.label_smoothing import IGNORED, smooth
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import put, same_bytes

pytestmark = pytest.mark.device


@PLAIN_UNLESS_THOROUGH
@pytest.mark.parametrize("classes", [5, 130])
def test_label_smoothing(place, classes):
    labels = np.random.default_rng(8).integers(0, classes, (3, 20))
    labels[:, ::4] = IGNORED
    expected = np.full((3, 20, classes), 0.1 / classes, np.float32)
    for place_of_label in np.argwhere(labels != IGNORED):
        expected[(*place_of_label, labels[tuple(place_of_label)])] = 0.1 / classes + 1 - 0.1
    assert same_bytes(smooth(put(labels, place), classes, 0.1), expected)
