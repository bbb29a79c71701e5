"""Half and bfloat16 as NumPy and ml_dtypes have them, and rounding to them done in float64."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest


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
