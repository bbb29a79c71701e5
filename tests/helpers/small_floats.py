"""Half and bfloat16 as NumPy and ml_dtypes have them, and rounding to them done in float64."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

RNG = np.random.default_rng(16)


@dataclass(frozen=True)
class Kind:
    """A float of 2 bytes: what CUDA calls it, and how it is made."""

    header: str
    name: str
    device: str
    pair: str
    dtype: np.dtype
    mantissa: int
    least: int  # exponent of the least normal number

    @property
    def macros(self):
        """What a kernel for both kinds is compiled with; NAME is part of functions' names."""
        return (("T", self.device), ("T2", self.pair))

    def text(self, text):
        return f"#include <{self.header}>\n" + text.replace("NAME", self.name)

    def rounded(self, exact):
        """Return float64 values that fit the kind, next to the given ones."""
        exact = np.asarray(exact, np.float64)
        exponent = np.frexp(exact)[1].astype(np.int64) - 1
        # Infinity has no exponent, and what is added to it does not matter.
        step = np.ldexp(1.0, np.maximum(exponent, self.least).clip(-200, 200) - self.mantissa)
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.where(np.isfinite(exact), np.rint(exact / step) * step, exact)
        limit = 2.0 ** (2 - self.least)
        return np.where(np.abs(near) >= limit, np.copysign(np.inf, near), near)

    def exactly_rounded(self, exact):
        """Return what `rounded` returns, for one Fraction."""
        if exact == 0:
            return 0.0
        exponent = int(np.frexp(float(exact))[1]) - 1
        step = Fraction(2) ** (max(exponent, self.least) - self.mantissa)
        return float(self.rounded(float(round(exact / step) * step)))


HALF = Kind("cuda_fp16.h", "half", "__half", "__half2", np.dtype(np.float16), 10, -14)
BF16 = Kind(
    "cuda_bf16.h",
    "bfloat16",
    "__nv_bfloat16",
    "__nv_bfloat162",
    np.dtype(ml_dtypes.bfloat16),
    7,
    -126,
)
KINDS = pytest.mark.parametrize("kind", [HALF, BF16], ids=lambda kind: kind.name)
ALL = np.arange(2**16, dtype=np.uint16)


def values(kind, bits):
    """Return the values of 16-bit patterns in float64."""
    with np.errstate(invalid="ignore"):
        return bits.view(kind.dtype).astype(np.float64)


def assert_same(kind, got, expected, what=""):
    """Check 16-bit patterns against float64 values: NaN for NaN, zeros by their sign too."""
    got = values(kind, got)
    np.testing.assert_array_equal(got, expected, what)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]), what)


def floats(kind):
    """Return float32 values: at random, next to every value of the kind, and between them."""
    with np.errstate(invalid="ignore", over="ignore"):
        exact = values(kind, ALL).astype(np.float32)
        finite = np.sort(exact[np.isfinite(exact)].astype(np.float64))
        halfway = ((finite[1:] + finite[:-1]) / 2).astype(np.float32)
        near = [
            np.nextafter(f, np.float32(to), dtype=np.float32)
            for f in (exact, halfway)
            for to in (-np.inf, np.inf)
        ]
        random = RNG.integers(0, 2**32, 2**17, dtype=np.uint32).view(np.float32)
        edges = np.array([65504, 65519.996, 65520, 3.3895314e38, 3.4e38, -3.4e38], np.float32)
    return np.concatenate([exact, halfway, *near, random, edges])


def operands(count):
    """Return patterns for `count` operands: specials with each other, the rest at random."""
    edge = np.array([0, 1, 2, 0x03FF, 0x0400, 0x007F, 0x0080, 0x3C00, 0x3F80, 0x7BFF, 0x7C00])
    edge = np.concatenate([edge, [0x7F7F, 0x7F80, 0x7FFF, 0x4248, 0x3555]])
    edge = np.concatenate([edge, edge | 0x8000]).astype(np.uint16)
    grid = np.stack(np.meshgrid(*[edge] * count)).reshape(count, -1)
    random = RNG.integers(0, 2**16, (count, 2**16), dtype=np.uint16)
    # Of like size, so that sums cancel.
    like = random[:, : 2**14] & 0x03FF | random[:1, : 2**14] & 0x7C00
    both = np.concatenate([grid, random, like], axis=1)
    return np.ascontiguousarray(both[:, : both.shape[1] // 256 * 256]).astype(np.uint16)
