"""How many instructions a main loop may have for each 16 bytes that it moves.

An H200 that copies within its memory has time for 124 of a lane. Half of that is the budget, since
the rest of a kernel and waiting take time as well. Loops that need more are listed with the reason;
above 124, arithmetic decides how fast they are, wherever memory could give whole sectors at once.
The figures were read from code for several architectures, with some percent of room.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cudakern.engines.base import KernelSpec

MOST, HARD_MOST = 62, 124


class Allowance(NamedTuple):
    """What kernels may have more, by a pattern of their entry points, and why.

    `by_arithmetic` says that it may be more than `HARD_MOST`.
    """

    entries: str
    most: int
    reason: str
    by_arithmetic: bool = False


_PLACES = "each element finds its place in x from an index of its own"
_WIDE_PLACES = f"{_PLACES}, in 64 bits"
_FILLED = f"{_PLACES}, or is filled"
_WIDE_FILLED = f"{_WIDE_PLACES}, or is filled"
_TRANSPOSES = "elements of a column lie side by side, their bits belong to rows"
_WIDE_TRANSPOSES = f"{_TRANSPOSES}, whose places have 64 bits"
#: The first that fits counts.
ALLOWANCES = (
    Allowance(r"gather_packed_w1_.*_fill_o32", 235, _FILLED, by_arithmetic=True),
    Allowance(r"gather_packed_w1_.*_o32", 152, _PLACES, by_arithmetic=True),
    Allowance(r"gather_packed_w2_.*_fill_o32", 146, _FILLED, by_arithmetic=True),
    Allowance(r"gather_packed_w2_.*_o32", 102, _PLACES),
    Allowance(r"gather_packed_w4_.*_fill_o32", 96, _FILLED),
    Allowance(r"gather_packed_w4_.*_o32", 75, _PLACES),
    Allowance(r"gather_packed_w8_.*_fill_o32", 70, _FILLED),
    Allowance(r"gather_packed_w8_.*_o32", 65, _PLACES),
    Allowance(r"gather_packed_w1_.*_fill_o64", 295, _WIDE_FILLED, by_arithmetic=True),
    Allowance(r"gather_packed_w1_.*_o64", 232, _WIDE_PLACES, by_arithmetic=True),
    Allowance(r"gather_packed_w2_.*_fill_o64", 222, _WIDE_FILLED, by_arithmetic=True),
    Allowance(r"gather_packed_w2_.*_o64", 180, _WIDE_PLACES, by_arithmetic=True),
    Allowance(r"gather_packed_w4_.*_fill_o64", 160, _WIDE_FILLED, by_arithmetic=True),
    Allowance(r"gather_packed_w4_.*_o64", 140, _WIDE_PLACES, by_arithmetic=True),
    Allowance(r"gather_packed_w8_.*_o64", 118, _WIDE_PLACES),
    Allowance(r"gather_nd_packed_w1_.*_o32", 290, _PLACES, by_arithmetic=True),
    Allowance(r"gather_nd_packed_w2_.*_o32", 205, _PLACES, by_arithmetic=True),
    Allowance(r"gather_nd_packed_w4_.*_o32", 155, _PLACES, by_arithmetic=True),
    Allowance(r"gather_nd_packed_w8_.*_o32", 120, _PLACES),
    Allowance(r"gather_nd_packed_w1_.*_o64", 405, _WIDE_PLACES, by_arithmetic=True),
    Allowance(r"gather_nd_packed_w2_.*_o64", 320, _WIDE_PLACES, by_arithmetic=True),
    Allowance(r"gather_nd_packed_w4_.*_o64", 260, _WIDE_PLACES, by_arithmetic=True),
    Allowance(r"gather_nd_packed_w8_.*_o64", 205, _WIDE_PLACES, by_arithmetic=True),
    Allowance(r"gather_nd_spliced_.*_o64", 65, _WIDE_PLACES),
    Allowance(r"gather_scalars_.*_wrap_o64", 120, f"{_WIDE_PLACES}, and is wrapped"),
    Allowance(r"gather_scalars_.*_o64", 85, _WIDE_PLACES),
    Allowance(r"gather_nd_strided_r8_w16_.*_o32", 75, "offsets of several dimensions"),
    Allowance(r"_strided_r(4|16)_w16_.*_o64", 115, "offsets of several dimensions, in 64 bits"),
    Allowance(r"one_hot_planes_", 95, "each vector of 16 bytes finds its plane and column anew"),
    Allowance(r"coordinates_columns_w1_.*_o32", 195, _TRANSPOSES, by_arithmetic=True),
    Allowance(r"coordinates_columns_w2_.*_o32", 122, _TRANSPOSES),
    Allowance(r"coordinates_columns_w[48]_.*_o32", 80, _TRANSPOSES),
    Allowance(r"coordinates_columns_w1_.*_o64", 260, _WIDE_TRANSPOSES, by_arithmetic=True),
    Allowance(r"coordinates_columns_w2_.*_o64", 185, _WIDE_TRANSPOSES, by_arithmetic=True),
    Allowance(r"coordinates_columns_w[48]_.*_o64", 140, _WIDE_TRANSPOSES, by_arithmetic=True),
    Allowance(r"coordinates_parts_.*_o32", 120, _TRANSPOSES),
    Allowance(r"coordinates_parts_.*_o64", 180, _WIDE_TRANSPOSES, by_arithmetic=True),
    Allowance(
        r"(vectors|reduce_columns)_log_sum_exp_.*_f64_",
        335,
        "an exponential in float64 for each element",
        by_arithmetic=True,
    ),
    Allowance(
        r"log_sum_exp_.*_f64_",
        135,
        "an exponential in float64 for each element",
        by_arithmetic=True,
    ),
    Allowance(r"log_sum_exp_b?f16_", 90, "8 elements to a vector, an exponential each"),
    Allowance(r"stream_arg(max|min)_b?f16_.*_o64", 80, "8 elements, with places of 64 bits"),
    Allowance(r"(stream|warps)_arg(max|min)_b?f16_", 70, "8 elements, with their places"),
    Allowance(r"vectors_arg(max|min)_b?f16_", 85, "8 elements, with their places"),
    Allowance(r"reduce_columns_l1_i8_", 124, "as the next, made positive"),
    Allowance(r"reduce_columns_.*_[biu]8_", 100, "a state each for 16 bytes, which may be missing"),
    Allowance(r"reduce_columns_arg(max|min)_", 80, "8 elements, with their places"),
    Allowance(r"vectors_.*_r[38]_", 115, "offsets of several dimensions beside the loads"),
    Allowance(r"_l1_c64_", 85, "a square root for each element"),
)


def max_per_vector(spec: KernelSpec) -> int:
    """Return how many instructions the main loop of a kernel may have for 16 bytes."""
    fitting = (a.most for a in ALLOWANCES if re.search(a.entries, spec.entry))
    return next(fitting, MOST)
