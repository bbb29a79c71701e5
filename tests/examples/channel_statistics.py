"""Mean and variance of each channel of images (N, C, H, W)."""

from __future__ import annotations

import cudakern as ck

ALL_BUT_CHANNELS = (0, 2, 3)


def channel_statistics(images):
    """Return means and variances of 8-bit images; all sums are exact."""
    count = images.size // images.shape[1]
    total = ck.reduce(images, "sum", ALL_BUT_CHANNELS, dtype="int64")
    squares = ck.reduce(images, "sum_square", ALL_BUT_CHANNELS, dtype="int64")
    # Squares about the integer nearest to the mean are small: nothing below overflows or cancels.
    near = (2 * total + count) // (2 * count)
    rest = (total - count * near) / count
    return total / count, (squares - near * (2 * total - count * near)) / count - rest**2


def normalise(images):
    """Give each channel the mean 0 and the variance 1."""
    count = images.size // images.shape[1]
    centred = images - ck.reduce(images, "average", ALL_BUT_CHANNELS, keepdims=True)
    deviation = ck.reduce(centred, "l2", ALL_BUT_CHANNELS, keepdims=True) / count**0.5
    return centred / deviation


if __name__ == "__main__":
    from cupy_or_numpy import xp  # beside this file

    images = xp.arange(2 * 3 * 4 * 4, dtype=xp.uint8).reshape(2, 3, 4, 4)
    mean, variance = channel_statistics(images)
    print("means:", mean, "variances:", variance)
