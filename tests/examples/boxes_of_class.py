"""Boxes that a detector has found of one class."""

from __future__ import annotations

import cudakern as ck


def boxes_of(boxes, classes, wanted):
    """Return the boxes of a class."""
    (rows,) = ck.nonzero(classes == wanted)
    return ck.gather(boxes, rows)


def first_boxes_of(boxes, classes, wanted, size):
    """Return ``size`` boxes of a class, zeros for missing ones; nothing waits for their number."""
    (rows,) = ck.nonzero(classes == wanted, size=size)
    return ck.gather(boxes, rows, mode="fill", negative="invalid")


if __name__ == "__main__":
    from cupy_or_numpy import xp  # beside this file

    boxes = xp.array([[0, 0, 2, 2], [1, 1, 4, 3], [5, 5, 6, 9]], dtype=xp.float32)
    classes = xp.array([7, 2, 7], dtype=xp.int32)
    print("boxes of class 7:", boxes_of(boxes, classes, 7).tolist())
    print("room for 3, no wait:", first_boxes_of(boxes, classes, 7, 3).tolist())
