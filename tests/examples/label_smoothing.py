"""Smoothed targets of a classifier; an ignored label has zeros for all classes."""

from __future__ import annotations

import cudakern as ck

IGNORED = -100


def smooth(labels, classes, smoothing):
    """Return targets that spread some of each label's weight over all classes."""
    off = smoothing / classes
    return ck.one_hot(labels, classes, values=(off, off + 1 - smoothing), negative="invalid")


if __name__ == "__main__":
    from cupy_or_numpy import xp  # beside this file

    print("labels 2 and ignored:")
    print(smooth(xp.array([2, IGNORED]), 4, 0.2))
