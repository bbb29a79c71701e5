"""Rules G1 to G9: descriptors that break one, or none, and in which order they are checked."""

from __future__ import annotations

from dataclasses import replace

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc
from tests.helpers.type_table import TABLE
from tests.operators.descriptors import change, rule_of_rank


def gather(x, indices, out, axis, count, kind="FLOAT32", index_kind="UINT32"):
    """Build a descriptor from three tuples of sizes."""
    return ck.GatherOperatorDesc(
        TensorDesc(DataType[kind], x),
        TensorDesc(DataType[index_kind], indices),
        TensorDesc(DataType[kind], out),
        axis,
        count,
    )


EXTENDED = FeatureLevel.EXTENDED
EARLY, LATE = FeatureLevel.LEVEL_2_1, FeatureLevel.LEVEL_6_4

LEGAL = gather((3, 4), (1, 2), (2, 4), 0, 1)
LEGAL_4 = gather((1, 1, 3, 4), (1, 1, 1, 2), (1, 1, 2, 4), 2, 1)
BINDING = [(LEGAL, ["input_tensor", "indices_tensor", "output_tensor"])]
SINCE = {"1_0": [LEGAL_4]}

# Each breaks the rule that its name starts with, and no other, at a level.
BROKEN = [
    ("G1-indices-of-another-rank", gather((3, 4), (2,), (2, 4), 0, 1), LATE),
    ("G1-output-of-another-rank", gather((3, 4), (1, 2), (1, 2, 4), 0, 1), LATE),
    ("G2-types-differ", change(LEGAL, "output_tensor", data_type=DataType.INT32), LATE),
    ("G2-signs-differ", change(LEGAL_4, "output_tensor", data_type=DataType.FLOAT16), EARLY),
    ("G4-axis-is-the-rank", replace(LEGAL, axis=2), LATE),
    ("G4-axis-counts-from-the-end", replace(LEGAL, axis=-1), LATE),
    ("G5-more-than-the-rank", replace(LEGAL, index_dimensions=3), LATE),
    ("G5-negative", replace(LEGAL, index_dimensions=-1), LATE),
    ("G6-leading-size", gather((3, 4), (2, 2), (2, 4), 0, 1), LATE),
    ("G6-no-index-dimension", gather((3, 4), (1, 2), (1, 4), 0, 0), LATE),
    ("G7-axis-kept-in-place", gather((2, 3), (1, 1), (2, 1), 1, 0), LATE),
    ("G7-as-large-as-the-input", gather((2, 3), (1, 1), (2, 3), 0, 0), LATE),
    ("G8-axis-too-low", gather((1, 3), (1, 2), (2, 3), 0, 2), LATE),
    ("G8-cropped-size-is-not-1", gather((2, 3, 3), (1, 1, 2), (3, 1, 2), 2, 2), LATE),
    ("G8-early-level", gather((2, 1, 1, 3), (1, 1, 1, 2), (1, 1, 1, 2), 3, 2), EARLY),
    ("T4-nothing-to-choose-from", gather((0, 4), (1, 2), (2, 4), 0, 1), EXTENDED),
    ("G9-axis-size", gather((3, 4), (1, 2), (3, 4), 0, 1), LATE),
    ("G9-permuted", gather((3, 4), (1, 2), (4, 2), 0, 1), LATE),
    ("G9-two-index-dimensions", gather((1, 3, 3), (1, 1, 2), (1, 3, 2), 2, 2), LATE),
]
FIELDS = {
    "G2-types-differ": "output_tensor.data_type",
    "G4-axis-is-the-rank": "axis",
    "G5-negative": "index_dimensions",
    "G6-leading-size": "indices_tensor.sizes",
    "G7-axis-kept-in-place": "output_tensor.sizes",
    "T4": "input_tensor.sizes",
    "G9-axis-size": "output_tensor.sizes",
}
LEGAL_CASES = [
    ("two-dimensions", LEGAL, LATE),
    ("four-dimensions-at-1_0", LEGAL_4, FeatureLevel.LEVEL_1_0),
    ("G4-last-axis", gather((3, 4), (1, 2), (3, 2), 1, 1), LATE),
    ("G5-as-many-as-the-rank", gather((1, 4), (2, 3), (2, 3), 1, 2), LATE),
    ("G7-first-axis", gather((2, 3), (1, 1), (1, 3), 0, 0), LATE),
    ("G7-at-2_1", gather((2, 3, 4, 5), (1,) * 4, (1, 2, 3, 5), 2, 0), EARLY),
    ("G8-cropped-1", gather((1, 1, 3), (1, 4, 5), (1, 4, 5), 2, 2), LATE),
    ("G8-at-its-limit", gather((1, 5, 3), (1, 2, 2), (2, 2, 3), 1, 2), LATE),
]
# Descriptors with several broken rules: the first in order is reported.
WRONG_T = {"strides": (1,)}
ORDER = [
    ("T2", change(change(LEGAL, "input_tensor", data_type=0), "indices_tensor", sizes=(1, 0))),
    ("T5", replace(change(LEGAL, "output_tensor", **WRONG_T), axis=9)),
    ("T5", change(gather((3,), (2,), (2, 4), 9, 9, "INT8", "INT8"), "output_tensor", **WRONG_T)),
    ("T13", gather((65536, 65536), (1, 2), (3, 3), 9, 9)),
    ("G1", gather((3, 4), (2,), (2, 4), 9, 9, index_kind="FLOAT32")),
    ("G2", change(replace(LEGAL, axis=9), "output_tensor", data_type=DataType.INT8)),
    ("G4", replace(LEGAL, axis=9, index_dimensions=9)),
    ("G5", gather((3, 4), (2, 2), (5, 5), 0, 3)),
    ("G6", gather((3, 4), (2, 2), (5, 5), 0, 1)),
    ("G7", gather((3, 4), (1, 1), (5, 5), 0, 0, index_kind="UINT8")),
    ("G8", gather((1, 3), (1, 2), (5, 5), 0, 2)),
    ("G9", gather((3, 4), (1, 2), (5, 5), 0, 1, index_kind="UINT8")),
]
#: Typed from the pages, in the order of the examples.
PRINTED = [
    [14, 12, 14, 11, 13],
    [[1, 2], [3, 4], [3, 4], [5, 6]],
    [[2, 1], [4, 3], [6, 5]],
    [[[1, 3]], [[4, 6]], [[7, 9]]],
    [[[1, 2], [3, 4]], [[3, 4], [5, 6]]],
]


def of_rank(rank, level):
    """Yield a descriptor of so many dimensions, and the rule that it breaks."""
    ones = (1,) * rank
    if 0 < rank < 9 or level is not EXTENDED:
        yield gather(ones, ones, ones, rank - 1, 1), rule_of_rank("G1", rank, level)


def of_type(kind, level):
    """Yield a descriptor for each operand of a type; what types may be, and the rule for others."""
    sizes = (1, 1, 1, 3), (1, 1, 1, 2), (1, 1, 1, 2)
    data, indices = TABLE[level.name]
    yield gather(*sizes, 3, 1, kind), data, "G2"
    yield gather(*sizes, 3, 1, "FLOAT16", kind), indices, "G3"
