"""Rules Z1 to Z8: descriptors that break one, or none, and in which order they are checked."""

from __future__ import annotations

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc
from tests.helpers.type_table import MORE, SMALL
from tests.operators.descriptors import change


def nonzero(
    x, count, coordinates, kind="FLOAT32", *, count_kind="UINT32", coordinate_kind="UINT32"
):
    """Build a descriptor from three tuples of sizes."""
    return ck.NonzeroCoordinatesOperatorDesc(
        TensorDesc(DataType[kind], x),
        TensorDesc(DataType[count_kind], count),
        TensorDesc(DataType[coordinate_kind], coordinates),
    )


EXTENDED = FeatureLevel.EXTENDED
EARLY, LATE = FeatureLevel.LEVEL_3_1, FeatureLevel.LEVEL_6_4
FIRST, FOUR = FeatureLevel.LEVEL_3_0, FeatureLevel.LEVEL_4_0
MOST = 2**32 - 1

COUNT, COORDINATES = "output_count_tensor", "output_coordinates_tensor"
ONES = (1, 1, 1, 1)
LEGAL = nonzero((3, 4), (1,), (12, 2))
LEGAL_4 = nonzero((1, 1, 3, 4), ONES, (1, 1, 12, 2))
BINDING = [(LEGAL, ["input_tensor", COUNT, COORDINATES])]
SINCE = {"3_0": [LEGAL_4]}


# Each breaks the rule that its name starts with at a level; of the others at most later ones, where
# numbers of dimensions leave no choice.
BROKEN = [
    ("Z1-64-bits-at-6_4", nonzero((3, 4), (1,), (12, 2), "INT64"), LATE),
    ("Z2-signed", change(LEGAL, COUNT, data_type=DataType.INT32), LATE),
    ("Z2-two-counts", nonzero((3, 4), (2,), (12, 2)), LATE),
    ("Z2-two-counts-at-3_1", change(LEGAL_4, COUNT, sizes=(1, 1, 2, 1)), EARLY),
    ("Z2-no-count-at-extended", nonzero((3, 4), (0,), (12, 2)), EXTENDED),
    ("Z3-64-bits", change(LEGAL, COORDINATES, data_type=DataType.INT64), LATE),
    ("Z4-two-before-the-rows", nonzero((3, 4), (1,), (2, 12, 2)), LATE),
    ("Z4-two-in-the-second-dimension", change(LEGAL_4, COORDINATES, sizes=(1, 2, 12, 2)), FOUR),
    ("Z4-none-at-extended", nonzero((3, 4), (1,), (0, 12, 2)), EXTENDED),
    ("Z5-a-row-too-few", nonzero((3, 4), (1,), (11, 2)), LATE),
    ("Z5-transposed", nonzero((3, 4), (1,), (2, 12)), LATE),
    ("Z5-one-row-at-3_1", change(LEGAL_4, COORDINATES, sizes=(1, 1, 1, 2)), EARLY),
    ("Z6-less-than-the-effective-rank", nonzero((3, 4), (1,), (12, 1)), LATE),
    ("Z6-more-than-the-dimensions", nonzero((3, 4), (1,), (12, 3)), LATE),
    ("Z6-a-1-that-does-not-lead", nonzero((1, 3, 1, 4), (1,), (12, 2)), LATE),
    ("Z6-more-at-3_1", change(LEGAL_4, COORDINATES, sizes=(1, 1, 12, 5)), EARLY),
    ("Z6-no-width-at-extended", nonzero((1, 1), (1,), (1, 0)), EXTENDED),
    ("Z6-two-of-a-scalar-at-extended", nonzero((), (1,), (1, 2)), EXTENDED),
    ("Z6-size-of-0-counts-at-extended", nonzero((1, 0, 1), (1,), (0, 1)), EXTENDED),
    ("Z7-2^32-elements-at-extended", nonzero((2**16, 2**16), (1,), (2**32, 2)), EXTENDED),
    ("Z8-count-of-another-rank", change(LEGAL_4, COUNT, sizes=(1,) * 5), EARLY),
    ("Z8-coordinates-of-another-rank", change(LEGAL_4, COORDINATES, sizes=(1, 1, 1, 12, 2)), FIRST),
]
FIELDS = {
    "Z1-64-bits-at-6_4": "input_tensor.data_type",
    "Z2-signed": f"{COUNT}.data_type",
    "Z3-64-bits": f"{COORDINATES}.data_type",
    "Z2-two-counts": f"{COUNT}.sizes",
    "Z4-two-before-the-rows": f"{COORDINATES}.sizes",
    "Z5-a-row-too-few": f"{COORDINATES}.sizes",
    "Z6-more-than-the-dimensions": f"{COORDINATES}.sizes",
    "Z7-2^32-elements-at-extended": "input_tensor.sizes",
    "Z8-count-of-another-rank": "tensors",
}
LEGAL_CASES = [
    ("two-dimensions", LEGAL, LATE),
    ("four-dimensions-at-3_0", LEGAL_4, FIRST),
    ("Z1-five", nonzero((1, 1, 1, 3, 4), (*ONES, 1), (1, 1, 1, 12, 2)), EARLY),
    ("Z1-one-dimension", nonzero((12,), (1,), (12, 1)), LATE),
    ("Z1-no-dimension", nonzero((), (1,), (1, 1)), EXTENDED),
    ("Z2-eight-dimensions", nonzero((3, 4), (1,) * 8, (12, 2)), LATE),
    ("Z3-int64", nonzero((3, 4), (1,), (12, 2), coordinate_kind="INT64"), EXTENDED),
    ("Z5-no-rows", nonzero((3, 0), (1,), (0, 2)), EXTENDED),
    *((f"Z6-{n}-of-4", nonzero((1, 1, 12, 5), ONES, (1, 1, 60, n)), EARLY) for n in (2, 3, 4)),
    *((f"Z6-{n}-of-all-ones", nonzero(ONES, ONES, (1, 1, 1, n)), EARLY) for n in (1, 4)),
    ("Z6-eight-dimensions", nonzero((2,) * 8, (1,), (256, 8)), LATE),
    ("Z6-a-1-between", nonzero((1, 3, 1, 4), (1,), (12, 3)), LATE),
    ("Z7-most-coordinates", nonzero((MOST,), (1,), (MOST, 1)), LATE),
    ("Z8-ranks-differ-at-4_0", nonzero((1, 3, 4), (1, 1), (12, 2)), FOUR),
]
# Descriptors with several broken rules: the first in order is reported.
ORDER = [
    ("T2", change(nonzero((3, 4), (0,), (12, 2)), "input_tensor", data_type=0), LATE),
    ("T10", change(nonzero((3, 4), (2,), (12, 2)), COORDINATES, strides=(1, 1)), LATE),
    ("Z1", nonzero((3, 4), (2,), (12,), "INT64"), EARLY),
    ("Z2", nonzero((3, 4), (2,), (12,), "INT64", coordinate_kind="INT32"), LATE),
    ("Z3", nonzero((3, 4), (1,), (2, 3, 9), "INT64", coordinate_kind="INT32"), LATE),
    ("Z4", nonzero((3, 4), (1,), (2, 3, 9), "INT64"), LATE),
    ("Z5", nonzero((3, 4), (1,), (3, 9), "INT64"), LATE),
    ("Z6", nonzero((3, 4), (1,), (12, 9), "INT64"), LATE),
    ("Z8", nonzero((1, 1, 1, 3, 4), ONES, (1, 1, 12, 2), "INT64"), EARLY),
]
#: Typed from the pages: the rows of coordinates that are not undefined.
PRINTED = [
    [[0, 0, 0], [0, 0, 3], [0, 1, 1], [0, 1, 3]],
    [[0, 5], [1, 0], [1, 2]],
]


def of_rank(rank, level):
    """Yield a descriptor for each tensor of so many dimensions, and the rule that it breaks.

    Each tensor has its own: 4 or 5 at 3_x, up to 8 from 4_0.
    """
    others = (1,) * 5 if rank == 5 else ONES  # equal, as Z8 wants them at 3_x
    for k, (rule, least) in enumerate([("Z1", 0), ("Z2", 1), ("Z3", 2)]):
        sizes = [others] * 3
        sizes[k] = (1,) * rank
        if rank > 8 or (rank == 0 and level is not EXTENDED):
            expected = "T3"
        else:
            expected = None if (rank in {4, 5} if level < FOUR else rank >= least) else rule
        yield nonzero(*sizes), expected


def of_type(kind, level):
    """Yield a descriptor for each tensor of a type; what types may be, and the rule for others."""
    extended = level is EXTENDED
    yield nonzero((1, 1, 3, 4), ONES, (1, 1, 12, 2), kind), MORE if extended else SMALL, "Z1"
    wide = {"INT64"} if extended else set()
    yield change(LEGAL_4, COUNT, data_type=DataType[kind]), {"UINT32"}, "Z2"
    yield change(LEGAL_4, COORDINATES, data_type=DataType[kind]), {"UINT32"} | wide, "Z3"
