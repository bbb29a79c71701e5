"""Rules O1 to O7: descriptors that break one, or none, and in which order they are checked."""

from __future__ import annotations

from dataclasses import replace

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc
from tests.helpers.type_table import TABLE
from tests.operators.descriptors import change, rule_of_rank


def one_hot(indices, values, out, axis, kind="FLOAT32", index_kind="UINT32"):
    """Build a descriptor from three tuples of sizes."""
    return ck.OneHotOperatorDesc(
        TensorDesc(DataType[index_kind], indices),
        TensorDesc(DataType[kind], values),
        TensorDesc(DataType[kind], out),
        axis,
    )


EXTENDED = FeatureLevel.EXTENDED
EARLY, LATE = FeatureLevel.LEVEL_2_1, FeatureLevel.LEVEL_6_4

ONES = (1, 1, 1, 1)
LEGAL = one_hot((3, 1), (1, 2), (3, 4), 1)


def four(kind="FLOAT32", index_kind="UINT32"):
    """Build a legal descriptor of four dimensions."""
    return one_hot((1, 1, 3, 1), (1, 1, 1, 2), (1, 1, 3, 4), 3, kind, index_kind)


LEGAL_4 = four()
BINDING = [(LEGAL, ["indices_tensor", "values_tensor", "output_tensor"])]
SINCE = {"2_0": [LEGAL_4]}


# Each breaks the rule that its name starts with, and no other, at a level.
BROKEN = [
    ("O1-values-of-another-rank", one_hot((3, 1), (2,), (3, 4), 1), LATE),
    ("O1-indices-of-another-rank", one_hot((1, 3, 1), (1, 2), (3, 4), 1), LATE),
    ("O2-types-differ", change(LEGAL, "output_tensor", data_type=DataType.INT32), LATE),
    ("O2-widths-differ", change(LEGAL_4, "output_tensor", data_type=DataType.FLOAT16), EARLY),
    ("O3-axis-is-the-rank", replace(LEGAL, axis=2), LATE),
    ("O3-axis-counts-from-the-end", replace(LEGAL, axis=-1), LATE),
    ("O4-axis-size-of-indices", one_hot((3, 4), (1, 2), (3, 4), 1), LATE),
    ("O4-other-size", one_hot((2, 1), (1, 2), (3, 4), 1), LATE),
    ("O4-another-axis", one_hot((3, 1), (1, 2), (3, 4), 0), LATE),
    ("O6-one-value", one_hot((3, 1), (1, 1), (3, 4), 1), LATE),
]
FIELDS = {
    "O1-values-of-another-rank": "tensors",
    "O2-types-differ": "output_tensor.data_type",
    "O3-axis-is-the-rank": "axis",
    "O4-other-size": "indices_tensor.sizes",
    "O6-one-value": "values_tensor.sizes",
}
LEGAL_CASES = [
    ("two-dimensions", LEGAL, LATE),
    ("four-dimensions-at-2_0", LEGAL_4, FeatureLevel.LEVEL_2_0),
    ("O3-first-axis", one_hot((1, 4), (1, 2), (3, 4), 0), LATE),
    ("O4-one-index", one_hot((1,), (2,), (9,), 0), LATE),
    ("O6-along-the-first-dimension", one_hot((3, 1), (2, 1), (3, 4), 1), LATE),
    ("O6-more-than-two", one_hot((3, 1), (3, 5), (3, 4), 1), LATE),
    ("O6-at-2_1", one_hot((1, 1, 3, 1), (1, 1, 3, 1), (1, 1, 3, 4), 3), EARLY),
]
# Descriptors with several broken rules: the first in order is reported.
WRONG_T = {"strides": (1,)}
ORDER = [
    ("T2", change(change(LEGAL, "indices_tensor", data_type=0), "values_tensor", sizes=(1, 0))),
    ("T5", replace(change(LEGAL, "output_tensor", **WRONG_T), axis=9)),
    ("T13", one_hot((65536, 1), (2,), (65536, 65536), 9)),
    ("O1", one_hot((3, 1), (1,), (3, 4), 9, index_kind="FLOAT32")),
    ("O2", change(replace(LEGAL, axis=9), "output_tensor", data_type=DataType.INT8)),
    ("O3", one_hot((3, 3), (1, 1), (3, 4), 9, index_kind="FLOAT32")),
    ("O4", one_hot((3, 3), (1, 1), (3, 4), 1, index_kind="FLOAT32")),
    ("O6", one_hot((3, 1), (1, 1), (3, 4), 1, index_kind="FLOAT32")),
]
#: Typed from the pages.
PRINTED = [
    [[[[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]]],
    [[[[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]]]],
    [[[[2, 4, 4, 4], [4, 4, 4, 2], [4, 4, 2, 4]]]],
    [[[[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]]],
]


def of_rank(rank, level):
    """Yield a descriptor of so many dimensions, and the rule that it breaks."""
    ones, two = (1,) * rank, (*(1,) * (rank - 1), 2)[:rank]
    if 0 < rank < 9 or level is not EXTENDED:
        yield one_hot(ones, two, two, rank - 1), rule_of_rank("O1", rank, level)


def of_type(kind, level):
    """Yield a descriptor for each operand of a type; what types may be, and the rule for others."""
    data, indices = TABLE[level.name]
    yield four(kind), data, "O7"
    yield four("FLOAT16", kind), indices, "O7"
