"""Rules R1 to R10: descriptors that break one, or none, and in which order they are checked."""

from __future__ import annotations

from dataclasses import replace

import cudakern as ck
from cudakern import AxisDirection, DataType, FeatureLevel, ReduceFunction, TensorDesc
from tests.operators.descriptors import change, rule_of_rank

INCREASING, DECREASING = AxisDirection.INCREASING, AxisDirection.DECREASING
ARG_DESCS = {"argmax": ck.ArgmaxOperatorDesc, "argmin": ck.ArgminOperatorDesc}


def reduced(sizes, axes):
    """Return the sizes of the output."""
    return tuple(1 if d in axes else n for d, n in enumerate(sizes))


def reduce(function, x, axes, kind="FLOAT32", result=None, out=None):
    """Build a descriptor from sizes; of the output, the right ones unless others are given."""
    member = ReduceFunction[function.upper()] if isinstance(function, str) else function
    result = result or ("UINT32" if function in ARG_DESCS else kind)
    return ck.ReduceOperatorDesc(member, *_tensors(x, axes, kind, result, out), axes)


def arg(operator, x, axes, direction=INCREASING, kind="FLOAT32", result="UINT32", out=None):
    """Build a descriptor of argmax or argmin likewise."""
    return ARG_DESCS[operator](*_tensors(x, axes, kind, result, out), axes, direction)


def _tensors(x, axes, kind, result, out):
    out = reduced(x, axes) if out is None else out
    return TensorDesc(DataType[kind], x), TensorDesc(DataType[result], out)


EXTENDED = FeatureLevel.EXTENDED
FIRST, EARLY, LATE = FeatureLevel.LEVEL_1_0, FeatureLevel.LEVEL_2_1, FeatureLevel.LEVEL_6_4
THREE = FeatureLevel.LEVEL_3_0
OUT = "output_tensor"

LEGAL = reduce("sum", (3, 4), (1,))
LEGAL_4 = reduce("sum", (1, 2, 3, 4), (1, 3))
ARGMAX = arg("argmax", (3, 4), (1,))
ARGMIN = arg("argmin", (3, 4), (0,), DECREASING)
BINDING = [(desc, ["input_tensor", "output_tensor"]) for desc in (LEGAL, ARGMAX)]
SINCE = {
    "1_0": [LEGAL_4],
    "3_0": [arg("argmax", (1, 2, 3, 4), (1,)), arg("argmin", (1, 2, 3, 4), (1,))],
}


def of_function(function, desc=LEGAL):
    return replace(desc, function=function)


# Each breaks the rule that its name starts with, and no other, at a level.
BROKEN = [
    ("R1-behind-the-last", of_function(12), LATE),
    ("R1-no-such-name", of_function("mean"), LATE),
    ("R1-fraction", of_function(10.0), LATE),
    ("R1-none", of_function(None), LATE),
    ("R2-output-without-the-axis", reduce("sum", (3, 4), (1,), out=(3,)), LATE),
    ("R2-scalar-output-at-extended", reduce("sum", (3, 4), (0, 1), out=()), EXTENDED),
    ("R2-of-argmin", arg("argmin", (3, 4), (1,), out=(3,)), LATE),
    ("R2-five-dimensions-at-2_1", reduce("sum", (1, 1, 1, 3, 4), (3,)), EARLY),
    ("R3-axis-is-the-rank", replace(LEGAL, axes=(2,)), LATE),
    ("R3-axis-counts-from-the-end", replace(LEGAL, axes=(-1,)), LATE),
    ("R3-of-argmax", replace(ARGMAX, axes=(2,)), LATE),
    ("R3-scalar-at-extended", reduce("sum", (), (0,)), EXTENDED),
    ("R5-twice", reduce("sum", (3, 4), (1, 1)), LATE),
    ("R5-more-axes-than-dimensions", reduce("sum", (3, 4), (0, 1, 0)), LATE),
    ("R5-of-argmin", arg("argmin", (3, 4), (0, 0)), LATE),
    ("R8-axis-is-kept", reduce("sum", (3, 4), (1,), out=(3, 4)), LATE),
    ("R8-another-axis", reduce("sum", (3, 4), (1,), out=(1, 4)), LATE),
    ("R8-no-axes", reduce("sum", (3, 4), (), out=(3, 1)), LATE),
    ("R8-none-at-extended", reduce("sum", (3, 4), (1,), out=(3, 0)), EXTENDED),
    ("R9-another-type", reduce("sum", (3, 4), (1,), result="INT32"), LATE),
    ("R9-another-sign", reduce("sum", (3, 4), (1,), "INT32", "UINT32"), LATE),
    ("R9-float-to-integer-at-extended", reduce("sum", (3, 4), (1,), result="INT64"), EXTENDED),
    ("R9-128-is-no-int8-at-extended", arg("argmax", (3, 129), (1,), result="INT8"), EXTENDED),
    ("R9-2^31-is-no-int32", arg("argmax", (2**15, 2**16 + 1), (0, 1), result="INT32"), LATE),
    ("R9-2^31-is-no-int32-for-reduce",
     reduce("argmin", (2**15, 2**16 + 1), (0, 1), result="INT32"), LATE),
    ("R10-double", reduce("sum", (3, 4), (1,), "FLOAT64"), LATE),
    ("R10-short-index", arg("argmin", (3, 4), (1,), result="UINT16"), LATE),
    ("R10-complex-at-extended", reduce("log_sum_exp", (3, 4), (1,), "COMPLEX64"), EXTENDED),
    ("T4-maximum-of-nothing-at-extended", reduce("max", (3, 0), (1,)), EXTENDED),
    ("T4-argmin-of-nothing-at-extended", arg("argmin", (0, 4), (0,)), EXTENDED),
]  # fmt: skip
FIELDS = {
    "R1-behind-the-last": "function",
    "R2-output-without-the-axis": "tensors",
    "R3-axis-is-the-rank": "axes",
    "R5-twice": "axes",
    "R8-another-axis": "output_tensor.sizes",
    "R9-another-type": "output_tensor.data_type",
    "R9-2^31-is-no-int32": "output_tensor.data_type",
    "R9-float-to-integer-at-extended": "output_tensor.data_type",
    "R10-double": "input_tensor.data_type",
    "R10-short-index": "output_tensor.data_type",
    "R10-complex-at-extended": "input_tensor.data_type",
    "T4-maximum-of-nothing-at-extended": "input_tensor.sizes",
}
LEGAL_CASES = [
    ("two-dimensions", LEGAL, LATE),
    ("four-dimensions-at-1_0", LEGAL_4, FIRST),
    ("argmax", ARGMAX, LATE),
    ("argmin-at-3_0", ARGMIN, THREE),
    ("argmin-of-reduce-at-1_0", reduce("argmin", (1, 1, 3, 4), (3,)), FIRST),
    ("R2-eight-dimensions", reduce("sum", (2,) * 8, range(8)), LATE),
    ("R2-no-dimension", reduce("max", (), ()), EXTENDED),
    ("R4-not-sorted", reduce("sum", (1, 2, 3, 4), (3, 0, 1)), FIRST),
    ("R7-no-axes", reduce("sum", (3, 4), ()), LATE),
    ("R7-no-axes-at-1_0", reduce("argmax", (1, 2, 3, 4), ()), FIRST),
    ("R7-no-axes-of-argmin", arg("argmin", (3, 4), ()), LATE),
    ("R8-axis-of-one-element", reduce("sum", (3, 1), (1,)), LATE),
    ("R8-sum-of-nothing", reduce("sum", (3, 0), (1,)), EXTENDED),
    ("R8-nothing-from-nothing", reduce("max", (3, 0), (0,)), EXTENDED),
    ("R10-complex-maximum", reduce("max", (3, 4), (1,), "COMPLEX64"), EXTENDED),
    ("R10-complex-argmin", arg("argmin", (3, 4), (1,), kind="COMPLEX128"), EXTENDED),
    ("R9-127", arg("argmax", (3, 128), (1,), result="INT8"), EXTENDED),
    ("R9-uint32-always", arg("argmax", (2, 2**31 - 1), (0, 1), result="UINT32"), LATE),
]
# Descriptors with several broken rules: the first in order is reported.
WRONG = reduce("sum", (3, 4), (1, 1, 7), "FLOAT64", "INT8", out=(3,))
ORDER = [
    ("T2", change(of_function(12, WRONG), "input_tensor", data_type=0), LATE),
    ("T13", replace(reduce("sum", (2**16, 2**16), (9,)), function=12), LATE),
    ("R1", of_function(12, WRONG), LATE),
    ("R2", WRONG, LATE),
    ("R3", change(WRONG, OUT, sizes=(3, 4)), LATE),
    ("R5", change(replace(WRONG, axes=(1, 1, 0)), OUT, sizes=(3, 4)), LATE),
    ("R8", change(replace(WRONG, axes=(1,)), OUT, sizes=(3, 4)), LATE),
    ("R9", change(replace(WRONG, axes=(1,)), OUT, sizes=(3, 1)), LATE),
    ("R10", reduce("sum", (3, 4), (1,), "FLOAT64"), LATE),
    ("R3", arg("argmax", (3, 4), (2, 2), 5, "FLOAT64", "FLOAT16"), LATE),
    ("R9", arg("argmax", (3, 0), (1,), 5, "COMPLEX64", "FLOAT16"), EXTENDED),
    ("T4", arg("argmax", (3, 0), (1,), 5, "COMPLEX64", "INT8"), EXTENDED),
    (None, arg("argmax", (3, 4), (1,), 5, "FLOAT64", "FLOAT16"), LATE),
]
#: Typed from the pages.
PRINTED = [
    [[6, 6, 9]],
    [[6], [7], [8]],
    [[21]],
    *[[[1, 2, 1]], [[2], [2], [1]], [[7]], [0], [4]],  # argmax
    *[[[0, 1, 2]], [[0], [1], [0]], [[4]], [0], [4]],  # argmin
]


def of_rank(rank, level):
    """Yield descriptors of so many dimensions, and the rule that they break."""
    expected = None if rank == 0 and level is EXTENDED else rule_of_rank("R2", rank, level)
    sizes = (2,) * rank
    yield reduce("sum", sizes, range(rank)), expected
    if level >= THREE:
        yield arg("argmin", sizes, range(rank)), expected


of_type = None  # `test_types.py` has those of each function
