"""What is reduced in tests: values for each function, shapes, axes."""

from __future__ import annotations

from math import prod

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from tests.helpers.reduce import EXTREMES, POSITIONS, category

_SPECIALS = [np.nan, np.inf, -np.inf, 0.0, -0.0]
#: Of logarithms to base 2 of the absolute factors of a product, so that hardly one overflows.
_FACTORS = 100
#: What changes no result, or its sign, beside one subnormal number.
NEUTRAL = {"multiply": -1, "log_sum_exp": -1000}


def random_values(rng, shape, dtype, function):
    """Return an array of values that a function is interesting for; at times of infinities, NaNs.

    Few different ones for what looks for positions, and positive ones for logarithms, as a rule.
    """
    dtype = np.dtype(dtype)
    size = prod(shape)
    if category(dtype) == 0:
        return (rng.random(shape) < rng.choice([0.05, 0.5, 0.99])).astype(dtype)
    if category(dtype) == 1:
        info = np.iinfo(dtype)
        low, high = rng.choice([(-3, 3), (-100, 100), (info.min, info.max)])
        bounds = max(int(low), info.min), min(int(high), info.max)
        values = rng.integers(*bounds, shape, dtype, endpoint=True)
        return np.where(values == 0, 1, values) if function == "multiply" else values
    if rng.random() < 0.2:
        return subnormal_values(rng, shape, dtype, function)
    if category(dtype) == 3:
        values = np.zeros(shape, dtype)
        values.real = random_values(rng, shape, values.real.dtype, function)
        if function in EXTREMES and rng.random() < 0.5:  # the imaginary part decides
            values.real = rng.integers(0, 2, shape)
        if function == "multiply":
            turn = np.exp(1j * rng.uniform(0, 7, shape)).astype(dtype)
            with np.errstate(invalid="ignore"):
                return values * turn
        values.imag = random_values(rng, shape, values.real.dtype, function)
        return values
    values = _floats(rng, shape, function, size)
    if rng.random() < 0.2 and size:
        where = rng.integers(size, size=1 + int(size * rng.choice([0, 0.01, 0.5])))
        values.reshape(-1)[where] = rng.choice(rng.choice(_SPECIALS, 2), where.size)
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(dtype)


def subnormal_values(rng, shape, dtype, function):
    """Return subnormal numbers, or those whose squares are; few among others for products."""
    numbers = ml_dtypes.finfo(dtype)
    steps = rng.integers(0 if function == "log_sum" else -15, 16, shape)
    if category(dtype) == 3:
        steps = steps + 1j * rng.integers(-15, 16, shape)
    power = 0.5 if function in {"l2", "sum_square"} else 1
    values = steps * (float(numbers.smallest_normal) ** power / 16)
    if function in NEUTRAL:
        few = rng.random(shape) < 1 / max((1, *shape))
        values = np.where(few, values, NEUTRAL[function])
    return values.astype(dtype)


def _floats(rng, shape, function, size):
    form = rng.integers(4)
    signs = rng.choice([-1.0, 1.0], shape) if form else np.ones(shape)
    if function == "multiply":
        return signs * np.exp2(rng.uniform(-1, 1, shape) * min(1, _FACTORS / max(size, 1)))
    if function == "log_sum_exp":
        return rng.normal(rng.choice([0, 90, -1000]), rng.choice([1e-3, 3, 50]), shape)
    if function == "log_sum":
        signs = np.ones(shape) if form != 1 else signs
    if form == 3 or (function in POSITIONS and form == 2):
        return signs * rng.integers(0, 9, shape)
    if form == 2:
        return signs * np.exp2(rng.uniform(-30, 12, shape))
    return signs * rng.random(shape)


@st.composite
def axes_of(draw, rank):
    """Draw an axis argument: none, all, one, some in any order, from the front or the back."""
    form = draw(st.sampled_from(["all", "one", "some", "some", "no"]))
    if form == "all" or rank == 0:
        return draw(st.sampled_from([None, ()])) if rank == 0 else None
    signed = st.integers(-rank, rank - 1)
    if form == "one":
        return draw(signed)
    if form == "no":
        return ()
    return tuple(draw(st.lists(signed, unique_by=lambda d: d % rank, min_size=1, max_size=rank)))


@st.composite
def small_shapes(draw):
    """Draw (shape, axis) of any rank."""
    rank = draw(st.integers(0, 8))
    low = st.sampled_from([0] + [1] * 24)
    longest = 3 if rank > 4 else 7
    shape = tuple(draw(st.integers(min(1, draw(low)), longest)) for _ in range(rank))
    return shape, draw(axes_of(rank))


_FEW = (1, 5)
#: Sizes from and to, and axes: what each kernel variant is made for.
_LARGE = {
    "rows": ([(1, 60), (9, 600)], [-1]),
    "long rows": ([_FEW, (600, 12_000)], [-1]),
    "short rows": ([(1, 4000), (1, 9)], [1]),
    "columns": ([(1, 900), (1, 70)], [0]),
    "middle": ([_FEW, (1, 200), (2, 40)], [1]),
    "planes": ([_FEW, _FEW, (1, 40), (1, 90)], [(0, 2, 3)]),
    "pieces": ([_FEW, (1, 9), _FEW, (1, 300)], [(1, 3), (3, 1), (0, 2), (-4, -2), (2, 3), (0, 1)]),
}


@st.composite
def large_shapes(draw):
    """Draw (shape, axis) of rows, columns and what lies between."""
    sizes, axes = _LARGE[draw(st.sampled_from(list(_LARGE)))]
    return tuple(draw(st.integers(*size)) for size in sizes), draw(st.sampled_from(axes))
