"""Boxes that a detector has found of one class."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.boxes_of_class import boxes_of, first_boxes_of
from tests.helpers.checked import PLAIN_UNLESS_THOROUGH
from tests.helpers.places import put, same_bytes

pytestmark = pytest.mark.device


@PLAIN_UNLESS_THOROUGH
@pytest.mark.parametrize("wanted", [0, 3, 7])
def test_boxes_of_class(place, wanted):
    rng = np.random.default_rng(7)
    boxes = rng.random((50, 4), np.float32)
    classes = rng.integers(0, 5, 50, np.int32)
    expected = boxes[classes == wanted]
    given = put(boxes, place), put(classes, place), wanted
    assert same_bytes(boxes_of(*given), expected)
    padded = np.pad(expected, ((0, 12), (0, 0)))[:12]
    assert same_bytes(first_boxes_of(*given, 12), padded)
