"""Rules N1 to N9: descriptors that break one, or none, and in which order they are checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import cudakern as ck
from cudakern import DataType, FeatureLevel, TensorDesc
from tests.helpers.type_table import TABLE
from tests.operators.descriptors import change, rule_of_rank


def gather_nd(x, indices, out, counts, batch=None, kind="FLOAT32", index_kind="UINT32"):
    """Build a descriptor from three tuples of sizes and the two dimension counts.

    Without a batch dimension count it is the older operator's.
    """
    tensors = (
        TensorDesc(DataType[kind], x),
        TensorDesc(DataType[index_kind], indices),
        TensorDesc(DataType[kind], out),
    )
    if batch is None:
        return ck.GatherNDOperatorDesc(*tensors, *counts)
    return ck.GatherND1OperatorDesc(*tensors, *counts, batch)


def newer(desc, batch=0):
    """Return a descriptor of the older operator as one with batch dimensions."""
    return ck.GatherND1OperatorDesc(
        desc.input_tensor,
        desc.indices_tensor,
        desc.output_tensor,
        desc.input_dimension_count,
        desc.indices_dimension_count,
        batch,
    )


EXTENDED = FeatureLevel.EXTENDED
EARLY, LATE = FeatureLevel.LEVEL_2_1, FeatureLevel.LEVEL_6_4
FIRST = FeatureLevel.LEVEL_3_0  # of the operator with batch dimensions

LEGAL = gather_nd((3, 4), (2, 1), (2, 4), (2, 2))
LEGAL_4 = gather_nd((1, 3, 4, 5), (1, 1, 6, 2), (1, 1, 6, 5), (3, 2))
BATCH = gather_nd((2, 3, 4), (2, 5, 1), (2, 5, 4), (3, 3), 1)
BATCH_4 = gather_nd((1, 2, 3, 4), (1, 2, 5, 1), (1, 2, 5, 4), (3, 3), 1)
FIVE = (3, 4, 5, 6, 7)
ONES = (1,) * 4
BINDING = [(LEGAL, ["input_tensor", "indices_tensor", "output_tensor"])]
SINCE = {
    "2_1": [
        gather_nd((1,) * 4, (1,) * 4, (1,) * 4, (4, 1)),
        gather_nd((0,) * 9, (), (1,) * 4, (9, 9), None, "INT4", "FLOAT32"),
    ],
    "3_0": [
        gather_nd((1,) * 4, (1,) * 4, (1,) * 4, (4, 1), 0),
        gather_nd((0,) * 9, (), (1,) * 4, (9, 9), 0, "INT4", "FLOAT32"),
    ],
}

# Each breaks the rule that its name starts with, and no other, at a level.
BROKEN = [
    ("N1-indices-of-another-rank", gather_nd((3, 4), (1, 2, 1), (2, 4), (2, 2)), LATE),
    ("N1-output-of-another-rank", gather_nd((3, 4), (2, 1), (1, 2, 4), (2, 2)), LATE),
    ("N1-output-of-five-at-2_1", change(LEGAL_4, "output_tensor", sizes=(1, 1, 1, 6, 5)), EARLY),
    ("N1-batch", change(BATCH, "indices_tensor", sizes=(1, 2, 5, 1)), FIRST),
    ("N2-types-differ", change(LEGAL, "output_tensor", data_type=DataType.INT32), LATE),
    ("N2-halves", change(LEGAL_4, "output_tensor", data_type=DataType.FLOAT16), EARLY),
    ("N2-batch", change(BATCH, "input_tensor", data_type=DataType.INT8), FIRST),
    ("N3-no-input-dimension", replace(LEGAL, input_dimension_count=0), LATE),
    ("N3-no-index-dimension", replace(LEGAL, indices_dimension_count=0), LATE),
    ("N3-input-beyond-the-rank", replace(LEGAL, input_dimension_count=3), LATE),
    ("N3-indices-beyond-the-rank", replace(LEGAL, indices_dimension_count=3), LATE),
    ("N3-large", replace(LEGAL, indices_dimension_count=2**32 - 1), LATE),
    ("N3-scalars", gather_nd((), (), (), (0, 0)), EXTENDED),
    ("N4-negative", replace(BATCH, batch_dimension_count=-1), LATE),
    ("N4-all-of-both", gather_nd((2, 3), (2, 3), (2, 3), (2, 2), 2), LATE),
    ("N4-all-of-the-input", gather_nd((1, 2, 3), (2, 3, 1), (1, 2, 3), (2, 3), 2), LATE),
    ("N5-beyond-the-input", gather_nd((3, 4), (2, 3), (1, 2), (2, 2)), LATE),
    ("N5-beyond-what-counts", gather_nd((1, 4), (2, 2), (1, 2), (1, 2)), LATE),
    ("N5-beyond-the-batch", gather_nd((2, 3), (2, 2), (1, 2), (2, 2), 1), LATE),
    ("N5-no-component", gather_nd((1, 4), (2, 0), (2, 4), (1, 2)), EXTENDED),
    ("N6-input", gather_nd((2, 3, 4), (1, 2, 1), (1, 2, 4), (2, 2)), LATE),
    ("N6-indices", gather_nd((1, 3, 4), (2, 2, 1), (1, 2, 4), (2, 2)), LATE),
    ("N6-batch", gather_nd((3, 2, 3, 4), (1, 2, 5, 1), (1, 2, 5, 4), (3, 3), 1), FIRST),
    ("N7-one-batch", gather_nd((2, 3, 4), (3, 5, 1), (3, 5, 4), (3, 3), 1), LATE),
    ("N7-no-broadcasting", gather_nd((2, 3, 4), (1, 5, 1), (1, 5, 4), (3, 3), 1), LATE),
    ("N7-permuted", gather_nd((2, 3, 4), (3, 2, 1), (1, 3, 2), (3, 3), 2), LATE),
    ("N8-three", gather_nd((3, 4, 5), (2, 2, 1), (2, 4, 5), (3, 3)), LATE),
    ("N8-batch", gather_nd((2, 3, 4, 5), (2, 1, 1, 1), (2, 1, 4, 5), (4, 4), 1), FIRST),
    ("N8-eight", gather_nd((1,) * 8, (1,) * 8, (1,) * 8, (8, 8), 5), LATE),
    ("T4-nothing-to-choose-from", gather_nd((0, 4), (2, 1), (2, 4), (2, 2)), EXTENDED),
    ("T4-behind-a-batch", gather_nd((2, 0, 4), (2, 5, 1), (2, 5, 4), (3, 3), 1), EXTENDED),
    ("N9-tuples", gather_nd((3, 4), (2, 1), (3, 4), (2, 2)), LATE),
    ("N9-copied", gather_nd((3, 4), (2, 1), (2, 3), (2, 2)), LATE),
    ("N9-aligned-left", gather_nd((3, 4), (2, 2), (2, 1), (2, 2)), LATE),
    ("N9-formula-as-printed", gather_nd(FIVE, (1, 1, 1, 2, 3), (1, 2, 5, 6, 7), (5, 3)), LATE),
    ("N9-batch-size", change(BATCH, "output_tensor", sizes=(1, 5, 4)), FIRST),
    ("N9-batch-twice", gather_nd((1, 2, 3), (1, 2, 1), (1, 2, 2), (2, 2), 1), LATE),
]
FIELDS = {
    "N1": "tensors",
    "N2": "output_tensor.data_type",
    "N3": "input_dimension_count",
    "N3-no-index-dimension": "indices_dimension_count",
    "N3-indices-beyond-the-rank": "indices_dimension_count",
    "N3-large": "indices_dimension_count",
    "N4": "batch_dimension_count",
    "N5": "indices_tensor.sizes",
    "N6": "input_tensor.sizes",
    "N6-indices": "indices_tensor.sizes",
    "N7": "indices_tensor.sizes",
    "N8": "output_tensor.sizes",
    "T4": "input_tensor.sizes",
    "N9": "output_tensor.sizes",
}
LEGAL_CASES = [
    ("two-dimensions", LEGAL, LATE),
    ("four-dimensions-at-2_1", LEGAL_4, EARLY),
    ("batch-at-3_0", BATCH, FIRST),
    ("batch-in-four-dimensions", BATCH_4, LATE),
    ("N9-page", gather_nd(FIVE, (1, 1, 1, 2, 3), (1, 1, 2, 6, 7), (5, 3)), LATE),
    ("N3-input-1", gather_nd((1, 4), (2, 1), (1, 2), (1, 2)), LATE),
    ("N3-both-1", gather_nd((3,), (1,), (1,), (1, 1)), LATE),
    ("N4-no-batch", gather_nd((2, 3), (4, 1), (4, 3), (2, 2), 0), LATE),
    ("N5-at-its-limit", gather_nd((3, 4), (2, 2), (1, 2), (2, 2)), LATE),
    ("N5-batch", gather_nd((2, 3, 4), (2, 5, 2), (1, 2, 5), (3, 3), 1), LATE),
    ("N6-ones", gather_nd((1, 3, 4), (1, 2, 1), (1, 2, 4), (2, 2)), LATE),
    ("N8-at-its-limit", gather_nd((3, 4, 5), (1, 2, 1), (2, 4, 5), (3, 2)), LATE),
    ("N8-eight", gather_nd((1,) * 8, (1,) * 8, (1,) * 8, (8, 8), 6), LATE),
    ("no-tuples", gather_nd((3, 4), (0, 1), (0, 4), (2, 2)), EXTENDED),
    ("nothing-copied", gather_nd((3, 0), (2, 1), (2, 0), (2, 2)), EXTENDED),
    ("no-batch", gather_nd((0, 3, 4), (0, 5, 1), (0, 5, 4), (3, 3), 1), EXTENDED),
]
# The older operator's rules are the newer one's without batch dimensions.
BROKEN += [
    (f"{case}-as-newer", newer(desc), max(level, FIRST))
    for case, desc, level in BROKEN
    if type(desc) is ck.GatherNDOperatorDesc and not case.endswith("2_1")
]
LEGAL_CASES += [
    (f"{case}-as-newer", newer(desc), max(level, FIRST))
    for case, desc, level in LEGAL_CASES
    if type(desc) is ck.GatherNDOperatorDesc
]
# Descriptors with several broken rules: the first in order is reported.
WRONG = gather_nd((3, 4), (2, 1), (5, 5), (9, 9), 9, "INT8", "INT8")
ORDER = [
    ("T2", change(change(LEGAL, "input_tensor", data_type=0), "indices_tensor", sizes=(2, 0))),
    ("T5", change(replace(WRONG, indices_dimension_count=0), "output_tensor", strides=(1,))),
    ("T13", gather_nd((65536, 65536), (2, 1), (5, 5), (9, 9), 9)),
    ("N1", gather_nd((3, 4), (2,), (5, 5), (9, 9), 9, index_kind="INT8")),
    (
        "N1",
        change(
            change(LEGAL, "indices_tensor", sizes=(2,)), "output_tensor", data_type=DataType.INT16
        ),
    ),
    ("N2", change(WRONG, "output_tensor", data_type=DataType.FLOAT32)),
    (
        "N2",
        change(replace(BATCH, batch_dimension_count=9), "output_tensor", data_type=DataType.INT16),
    ),
    ("N3", WRONG),
    ("N4", replace(WRONG, input_dimension_count=2, indices_dimension_count=2)),
    ("N5", gather_nd((2, 3), (1, 5), (5, 5), (1, 1), 0, index_kind="INT8")),
    ("N5", gather_nd((2, 3), (3, 2), (5, 5), (2, 2), 1, index_kind="INT8")),
    ("N6", gather_nd((2, 3, 4), (3, 5, 1), (5, 5, 5), (2, 2), 1, index_kind="INT8")),
    ("N7", gather_nd((2, 3, 4, 5), (3, 5, 1, 1), (6, 6, 6, 6), (4, 4), 1, index_kind="INT8")),
    ("N8", gather_nd((3, 4, 5), (2, 2, 1), (5, 5, 5), (3, 3), 0, index_kind="INT8")),
    ("N9", gather_nd((3, 4), (2, 1), (5, 5), (2, 2), 0, index_kind="INT8")),
]
#: Typed from the pages, in the order of the examples; where a page has sizes alone, what NumPy's
#: own indexing gives.
PRINTED = [
    [[2, 3], [0, 1]],
    [[[[0, 3], [7, 4], [9, 10]]]],
    [[[[2, 3], [4, 5]]]],
    [[np.arange(2520).reshape(3, 4, 5, 6, 7)[[2, 0], [3, 1], [4, 2]].tolist()]],
    None,  # without numbers: `test_documented_batches`
]


def of_rank(rank, level):
    """Yield descriptors of so many dimensions, and the rule that each breaks.

    Scalars exist at the extended level, but tuples need a dimension.
    """
    ones = (1,) * rank
    for batch in (None, 0):
        if level < (EARLY if batch is None else FIRST):
            expected = "feature_level"
        else:
            scalars = rank == 0 and level is EXTENDED
            expected = "N3" if scalars else rule_of_rank("N1", rank, level)
        yield gather_nd(ones, ones, ones, (rank, min(rank, 1)), batch), expected


def of_type(kind, level):
    """Yield a descriptor for each operand of a type; what types may be, and the rule for others."""
    sizes = (1, 1, 3, 4), (1, 1, 5, 1), (1, 1, 5, 4)
    data, indices = TABLE[level.name]
    for batch in (None, 0):
        if level >= (EARLY if batch is None else FIRST):
            yield gather_nd(*sizes, (2, 2), batch, kind), data, "N2"
            yield gather_nd(*sizes, (2, 2), batch, "FLOAT16", kind), indices, "N2"
